"""Bounds of gradients and Hessians hold at every point of the box, for random trees.

The twin differentiates trees by the schoolbook's rules, symbol by symbol, and evaluates what comes out with NumPy.
"""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tacit.functions.curvature import Curvature, Span, curvature, least_above, positive_part
from tacit.functions.evaluate import value
from tacit.functions.expressions import (
    Binary,
    ChiSquare,
    Constant,
    Expression,
    InformationGain,
    Unary,
    Variable,
)

D = 3


def derivative(tree: Expression, j: int) -> Expression:
    match tree:
        case Constant():
            return Constant(0.0)
        case Variable(index=index):
            return Constant(float(index == j))
        case Unary(operator=operator, operand=t):
            return outer(operator, t) * derivative(t, j)
        case Binary("+", a, b):
            return derivative(a, j) + derivative(b, j)
        case Binary("-", a, b):
            return derivative(a, j) - derivative(b, j)
        case Binary("*", a, b):
            return derivative(a, j) * b + a * derivative(b, j)
        case Binary("/", a, b):
            return derivative(a, j) / b - a * derivative(b, j) / (b * b)
        case Binary("pow", a, Constant(value=p)):
            return p * a ** (p - 1.0) * derivative(a, j)
    raise TypeError(tree)


def outer(operator: str, t: Expression) -> Expression:
    match operator:
        case "neg":
            return Constant(-1.0)
        case "abs":  # asked only where there is no kink
            return t / Unary("abs", t)
        case "nonnegative" | "unit":  # 1 inside, 0 outside
            inside = t if operator == "nonnegative" else 1.0 - t * t
            return 0.5 + 0.5 * inside / Unary("abs", inside)
        case "sqrt":
            return 0.5 / Unary("sqrt", t)
        case "exp":
            return Unary("exp", t)
        case "log":
            return 1.0 / t
        case "sin":
            return Unary("cos", t)
        case "cos":
            return -Unary("sin", t)
        case "tanh":
            return 1.0 - Unary("tanh", t) * Unary("tanh", t)
        case "sigmoid":
            return Unary("sigmoid", t) * (1.0 - Unary("sigmoid", t))
        case "xlogx":
            return (Unary("log", t) + 1.0) / float(np.log(2.0))
    raise TypeError(operator)


numbers = st.floats(-3, 3, allow_nan=False).map(lambda x: round(x, 3))
leaves = st.integers(0, D - 1).map(Variable) | numbers.map(Constant)
OPERATORS = ("neg", "abs", "sqrt", "exp", "log", "sin", "cos", "tanh", "sigmoid", "xlogx", "nonnegative", "unit")


def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return (
        st.builds(Unary, st.sampled_from(OPERATORS), inner)
        | st.builds(Binary, st.sampled_from("+-*/"), inner, inner)
        | st.builds(lambda t: t * t, inner)
        | st.builds(lambda t, p: Binary("pow", t, Constant(p)), inner, st.sampled_from([2.0, 3.0, 4.0, 0.5, -1.0, 2.5]))
    )


trees = st.recursive(leaves, grown, max_leaves=8)
corners = st.lists(st.tuples(numbers, st.floats(0, 1.5)), min_size=D, max_size=D)


def holds(tree: Expression, found: Curvature, points: np.ndarray) -> None:
    """Every bound at every point, up to what the twin itself rounds."""

    def within(span: Span, got: np.ndarray, what: str) -> None:
        size = 1e-9 * (1.0 + np.abs(got) + np.maximum(np.abs(span.low), np.abs(span.high)))
        known = np.isfinite(got)  # the twin overflows on the way, or divides 0 by 0
        assert (got >= span.low - size)[known].all(), f"{what} of {tree}: {got} below {span.low}"
        assert (got <= span.high + size)[known].all(), f"{what} of {tree}: {got} above {span.high}"

    at = value(tree, points)
    assert np.isfinite(at).all(), f"{tree} has a bound and no value"
    within(found.value, at, "value")
    for i in range(D):
        slope = derivative(tree, i)
        within(Span(found.gradient.low[i], found.gradient.high[i]), value(slope, points), f"slope {i}")
        for j in range(D):
            bend = Span(found.hessian.low[i, j], found.hessian.high[i, j])
            within(bend, value(derivative(slope, j), points), f"bend {i}{j}")


@settings(max_examples=400, deadline=None)
@given(tree=trees, corner=corners, seed=st.integers(0, 99))
def test_bounds_hold_at_every_point(tree: Expression, corner: list[tuple[float, float]], seed: int) -> None:
    low = np.array([at for at, _ in corner])
    high = low + [width for _, width in corner]
    found = curvature(tree, low, high)
    if found is not None:
        dice = np.random.default_rng(seed)
        inner = low + (high - low) * dice.random((40, D))
        holds(tree, found, np.concatenate([inner, [low, high]]))


@pytest.mark.parametrize("operator", [*OPERATORS, "3.0", "4.0", "0.5", "-1.5"])
def test_each_function_by_itself(operator: str) -> None:
    dice = np.random.default_rng(7)
    inner = 0.1 * (Variable(0) * Variable(1)) + 0.3 * Variable(2)
    tree = Unary(operator, inner) if operator in OPERATORS else inner ** float(operator)
    for _ in range(40):
        low = dice.uniform(0.05, 1.0, D)
        high = low + dice.uniform(0.0, 0.4, D)
        found = curvature(tree, low, high)
        assert found is not None
        holds(tree, found, low + (high - low) * dice.random((30, D)))
        wide = found.hessian.high - found.hessian.low
        twin = [[value(derivative(derivative(tree, i), j), low[None])[0] for j in range(D)] for i in range(D)]
        point = curvature(tree, low, low)
        assert point is not None
        assert (point.hessian.high - point.hessian.low <= 1e-6 * (1.0 + np.abs(twin)) + wide).all()


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 6))
def test_matrices_are_above_all_of_an_interval(seed: int, size: int) -> None:
    dice = np.random.default_rng(seed)
    middle = dice.normal(size=(size, size)) * 10.0 ** dice.integers(-3, 4)
    middle = middle + middle.T
    half = np.abs(dice.normal(size=(size, size))) * 10.0 ** dice.integers(-3, 3)
    half = half + half.T
    above = least_above(Span(middle - half, middle + half))
    part = positive_part(above)
    for _ in range(20):
        signs = dice.uniform(-1, 1, (size, size)) if dice.random() < 0.5 else dice.choice([-1.0, 1.0], (size, size))
        signs = np.triu(signs) + np.triu(signs, 1).T
        one = middle + half * signs
        tiny = 1e-12 * np.abs(above).max()
        assert np.linalg.eigvalsh(above - one).min() >= -tiny
        assert np.linalg.eigvalsh(part - one).min() >= -tiny
    assert np.linalg.eigvalsh(part).min() >= 0.0


def test_quadratics_are_exact_and_kinks_have_no_bound() -> None:
    x, y = Variable(0), Variable(1)
    low, high = np.array([-1.0, 2.0]), np.array([1.0, 3.0])
    found = curvature(x * x + 3.0 * (x * y) - y**2, low, high)
    assert found is not None
    np.testing.assert_allclose(found.hessian.low, [[2, 3], [3, -2]], rtol=1e-12)
    np.testing.assert_allclose(found.hessian.high, [[2, 3], [3, -2]], rtol=1e-12)
    for tree in (
        Unary("abs", x), Unary("sqrt", x), Unary("log", x), y / x, Unary("nonnegative", x), x**0.5,
        Binary("least", x, 0.5 * x), Unary("unit", x), Binary("pow", y, x), Constant(0.0) * Unary("log", x),
        Unary("exp", 1e6 * y), Constant(float("nan")),
    ):  # fmt: skip
        assert curvature(tree, low, high) is None, str(tree)
    for tree in (Unary("abs", y), Binary("greatest", x, y), Unary("nonnegative", y), Unary("unit", x * 0.5)):
        assert curvature(tree, low, high) is not None, str(tree)


@pytest.mark.parametrize("make", [InformationGain, ChiSquare])
def test_tables(make: type) -> None:
    cells = [Variable(0), Variable(1), Variable(2), Constant(0.4)]
    tree = make(*cells)
    dice = np.random.default_rng(5)
    for _ in range(30):
        low = dice.uniform(0.05, 1.0, D)
        high = low + dice.uniform(0.0, 0.05, D)
        found = curvature(tree, low, high)
        assert found is not None
        points = low + (high - low) * dice.random((20, D))
        at = value(tree, points)
        assert (at >= found.value.low - 1e-9).all()
        assert (at <= found.value.high + 1e-9).all()
        step = 1e-5
        for j in range(D):
            ahead, behind = points.copy(), points.copy()
            ahead[:, j] += step
            behind[:, j] -= step
            slopes = (value(tree, ahead) - value(tree, behind)) / (2 * step)
            bends = (value(tree, ahead) - 2 * at + value(tree, behind)) / step**2
            width = 1e-5 * (1 + np.abs(slopes))
            assert (slopes >= found.gradient.low[j] - width - 0.01).all()
            assert (slopes <= found.gradient.high[j] + width + 0.01).all()
            assert (bends >= found.hessian.low[j, j] - 0.01 * (1 + np.abs(bends))).all()
            assert (bends <= found.hessian.high[j, j] + 0.01 * (1 + np.abs(bends))).all()
    assert curvature(tree, np.zeros(D), np.ones(D)) is None
