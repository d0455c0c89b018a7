"""Values where they are defined, nan where they are not, and gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.functions.evaluate import gradient, value
from tacit.functions.expressions import Binary, Constant, Expression, Opaque, Unary
from tests.functions.cases import CHI, CORR, ENTROPY, GAIN, NET, STDDEV, wobble, x0, x1


def at(expression: Expression, *point: float) -> float:
    return float(value(expression, np.array([point]))[0])


@pytest.mark.parametrize(
    ("expression", "point"),
    [
        (x0 / x1, (1.0, 0.0)),
        (x0 / x1, (0.0, 0.0)),
        (Unary("log", x0), (0.0,)),
        (Unary("log", x0), (-1.0,)),
        (Unary("sqrt", x0), (-1e-9,)),
        (Unary("xlogx", x0), (-1.0,)),
        (Unary("exp", x0), (1000.0,)),
        (1.0 / Unary("exp", x0), (1000.0,)),  # not 0: an overflow on the way has no value
        (x0 ** -1.0, (0.0,)),
        (x0 ** 0.5, (-2.0,)),
        (GAIN, (0.0, 0.0, 0.0, 0.0)),
        (GAIN, (-1.0, 2.0, 3.0, 4.0)),
        (CHI, (1.0, 2.0, 0.0, 0.0)),
        (STDDEV, (1.0, 3.0, 9.0)),
        (Unary("abs", x0 / x1), (1.0, 0.0)),
        (Binary("greatest", x0, x0 / x1), (1.0, 0.0)),
        (Opaque("f", wobble, (x0, x0 / x1)), (1.0, 0.0)),
    ],
    ids=str,
)  # fmt: skip
def test_undefined(expression: Expression, point: tuple[float, ...]) -> None:
    assert np.isnan(at(expression, *point))
    assert np.isnan(gradient(expression, np.array([point]))).all()


@pytest.mark.parametrize(
    ("expression", "point", "expected"),
    [
        (Unary("xlogx", x0), (0.0,), 0.0),
        (Unary("xlogx", x0), (8.0,), 24.0),
        (Unary("nonnegative", x0), (-2.0,), 0.0),
        (Unary("unit", x0), (-2.0,), -1.0),
        (Unary("sigmoid", x0), (0.0,), 0.5),
        (x0 ** 3.0, (-2.0,), -8.0),
        (x0 ** -2.0, (-2.0,), 0.25),
        (GAIN, (5.0, 0.0, 0.0, 5.0), 1.0),
        (GAIN, (5.0, 5.0, 0.0, 0.0), 0.0),  # an empty margin tells nothing
        (GAIN, (2.0, 4.0, 1.0, 2.0), 0.0),
        (CHI, (10.0, 0.0, 0.0, 10.0), 20.0),
        (STDDEV, (4.0, 10.0, 30.0), np.std([1, 2, 3, 4], ddof=1)),
        (ENTROPY, (1.0, 1.0, 2.0), 1.5),
    ],
    ids=str,
)  # fmt: skip
def test_values(expression: Expression, point: tuple[float, ...], expected: float) -> None:
    assert at(expression, *point) == pytest.approx(expected, abs=1e-12)


def test_gain_against_its_definition() -> None:
    rng = np.random.default_rng(0)
    for c in rng.uniform(0.1, 5.0, size=(50, 4)):
        p = (c / c.sum()).reshape(2, 2)
        expected = (p * np.log2(p / np.outer(p.sum(1), p.sum(0)))).sum()
        assert at(GAIN, *c) == pytest.approx(expected, abs=1e-12)


def test_correlation_against_numpy() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=40)
    y = 0.4 * x + rng.normal(size=40)
    point = (40.0, x.sum(), (x * x).sum(), y.sum(), (y * y).sum(), (x * y).sum())
    assert at(CORR, *point) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)


SMOOTH = [
    x0 * x1 - x0 / x1 + 3.0,
    Unary("exp", Unary("sin", x0)) * Unary("tanh", x1) - Unary("cos", x0 * x1),
    Unary("log", x0) * Unary("sqrt", x1) + Unary("xlogx", x0 + x1),
    Binary("pow", x0, x1) + x0**2.5 - x1 ** (-3.0),
    Binary("least", x0, x1 * 0.01) + Binary("greatest", x0, x1 + 100.0),
    Unary("abs", x0 - 10.0) + Unary("nonnegative", x1) + Unary("unit", x0 - x1 - 5.0),
    Opaque("f", wobble, (x0 * x1, x0)),
    -NET,
    Constant(2.0) * x0,
]


@pytest.mark.parametrize("expression", [*SMOOTH, GAIN, CHI, CORR, ENTROPY, STDDEV], ids=str)
def test_gradient_against_differences(expression: Expression) -> None:
    rng = np.random.default_rng(2)
    points = rng.uniform(0.5, 3.0, size=(20, 6))
    if expression is CORR:
        points[:, [2, 4]] += 30.0
    if expression is STDDEV:
        points += np.array([5.0, 0.0, 30.0, 0.0, 0.0, 0.0])
    slopes = gradient(expression, points)
    for j in range(6):
        step = np.zeros(6)
        step[j] = 1e-6
        difference = (value(expression, points + step) - value(expression, points - step)) / 2e-6
        np.testing.assert_allclose(slopes[:, j], difference, rtol=1e-4, atol=1e-6)
