"""The questions of a goal as the arrays that kernels read, with the scale of the coordinates folded in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction as Number

import numpy as np

from tacit.functions import _kernels_entropy as entropy_layout
from tacit.functions._kernels_shortcut import QUICK_HEADER
from tacit.functions.expressions import Expression
from tacit.functions.form_arrays import Coefficients, Dish, Space, form_size, pack_forms, tracked_fraction
from tacit.functions.polynomials import Factor, Polynomial
from tacit.functions.program import compile_programs
from tacit.functions.shapes import (
    All,
    Any_,
    Ask,
    Case,
    Question,
    Recipe,
    known_nonnegative,
    polynomial_nonnegative,
)
from tacit.functions.tables import (
    ACCEPT,
    BY_ENTROPY,
    BY_FORM,
    BY_PROGRAM,
    COLUMNS,
    MOMENT_LAST,
    REJECT,
    Tables,
)
from tacit.vocabulary.arrays import FloatArray

SHORTCUT_FORMS, SHORTCUT_DIMENSION = 4, 16

__all__ = ["TableBuilder"]


@dataclass
class Node:
    """A question with its place in the walk; a form below 0 depends on the estimate."""

    question: Question
    on_true: int = ACCEPT
    on_false: int = REJECT
    form: int = 0
    factors: tuple[int, int] = (0, 0)
    part: tuple[int, int] = (0, 0)
    linear: int = 0
    program: int = -1


@dataclass
class TableBuilder:
    """Collects the questions of a watch."""

    space: Space
    nodes: list[Node] = field(default_factory=list)
    forms: list[FloatArray] = field(default_factory=list)
    factors: list[tuple[int, int, int, int]] = field(default_factory=list)
    factor_forms: dict[Factor, int] = field(default_factory=dict)
    terms: list[FloatArray] = field(default_factory=list)
    linear: list[FloatArray] = field(default_factory=list)
    programs: list[Expression] = field(default_factory=list)
    dishes: list[Dish] = field(default_factory=list)
    dynamic_forms: int = 0
    convex_width: int = 1  # the numbers of a group's convex zone, at most
    state_size: int = 0
    monotone: bool = True

    def add(self, asked: Ask, on_true: int = ACCEPT, on_false: int = REJECT) -> int:
        """Wire the questions from the last to the first; returns the first."""
        match asked:
            case Question():
                self.nodes.append(self._node(asked, on_true, on_false))
                return len(self.nodes)  # row 0 of the table is its head
            case All(parts):
                for part in reversed(parts):
                    on_true = self.add(part, on_true, on_false)
                return on_true
            case Any_(parts):
                for part in reversed(parts):
                    on_false = self.add(part, on_true, on_false)
                return on_false
            case Case(condition, then, otherwise):
                self.monotone = False
                return self.add(condition, self.add(then, on_true, on_false), self.add(otherwise, on_true, on_false))
        raise TypeError(f"not a question: {asked!r}")

    def _node(self, question: Question, on_true: int, on_false: int) -> Node:
        node = Node(question, on_true, on_false)
        if question.fraction is not None:
            below = question.fraction.below
            needed = [(factor, below.count(factor)) for factor in dict.fromkeys(below)]
            needed += [(factor, 0) for factor in question.fraction.needs if factor not in below]
            node.factors = self._factors(needed)
            if question.threshold is None:
                node.form = self._dynamic_form(tracked_fraction(question), question, 0)
            else:
                node.form = self._static_form(question)
        elif question.recipe is not None:
            node.factors = self._factors([(factor, 0) for factor in question.needs])
            node.form = self._dynamic_form(question.recipe, question, question.which)
        elif question.entropy is not None:
            self._entropy(question, node)
        else:
            assert question.expression is not None
            node.program = len(self.programs)
            self.programs.append(question.expression)
        return node

    def _dynamic_form(self, recipe: Recipe, question: Question, which: int) -> int:
        """Forms of recipes are numbered -1, -2, … in the order in which they are refreshed."""
        for dish in self.dishes:
            if dish.recipe is recipe:
                return -1 - dish.first - which
        self.dishes.append(
            Dish(
                recipe,
                question,
                self.dynamic_forms,
                [
                    Coefficients.of(polynomial, self.space.scale).arrays(self.space.dimension)
                    for polynomial in recipe.polynomials
                ],
            )
        )
        self.dynamic_forms += recipe.forms
        return -1 - self.dishes[-1].first - which

    def _factors(self, needed: Sequence[tuple[Factor, int]]) -> tuple[int, int]:
        first = len(self.factors)
        feasible = self.space.feasible()
        for factor, times in needed:
            if factor not in self.factor_forms:
                self.factor_forms[factor] = self.form(Coefficients.of(factor.polynomial(), self.space.scale))
            slot = list(self.factor_forms).index(factor)
            known = known_nonnegative(factor, feasible)
            self.factors.append((self.factor_forms[factor], int(known), times % 2, slot))
        return first, len(self.factors)

    def form(self, coefficients: Coefficients, *, sign_only: bool = True) -> int:
        """Keep a form; returns its row. Where only its sign matters, it may be scaled to whole numbers."""
        whole = coefficients.whole() if sign_only else None
        quadratic, linear, constant = (whole or coefficients).arrays(self.space.dimension)
        sizes = (np.array([np.linalg.norm(quadratic)]), np.array([np.linalg.norm(linear)]), np.array([abs(constant)]))
        grid = np.array([1.0 if whole else 0.0])
        packed = pack_forms(self.space, quadratic[None], linear[None], np.array([constant]), sizes, grid)
        self.forms.append(packed[0])
        return len(self.forms) - 1

    def _static_form(self, question: Question) -> int:
        assert question.fraction is not None
        assert question.threshold is not None
        bound = float(question.bound(np.array([question.threshold]))[0])
        sense = Number(1 if question.above else -1)
        difference = {monomial: sense * number for monomial, number in question.fraction.numerator().items()}
        if math.isfinite(bound):
            for monomial, number in question.fraction.denominator().items():
                difference[monomial] = difference.get(monomial, Number(0)) - sense * Number(bound) * number
        return self.form(Coefficients.of({m: n for m, n in difference.items() if n}, self.space.scale))

    def _entropy(self, question: Question, node: Node) -> None:
        assert question.entropy is not None
        assert question.pairing is not None
        d, scale = self.space.dimension, self.space.scale
        first = len(self.terms)
        for number, u, v in question.pairing.pairs:
            self.terms.append(self._term(number, dict(u), dict(v)))
        for number, u in question.pairing.singles:
            _, direction, offset = Coefficients.of(dict(u), scale).arrays(d)
            if direction.any() or offset not in (0.0, 1.0):  # h(0) = h(1) = 0
                self.terms.append(self._term(number, dict(u), None))
        node.part = (first, len(self.terms))
        _, rest, rest_at_zero = Coefficients.of(question.entropy.rest, scale).arrays(d)
        _, total, total_at_zero = Coefficients.of(question.entropy.total, scale).arrays(d)
        node.linear = len(self.linear)
        self.linear.append(np.concatenate([[rest_at_zero, total_at_zero], rest, total]))
        asked = question.static()
        finite = asked is not None and math.isfinite(asked)
        if total.any() and not (question.strict and finite and self._vanishes_with_total(question)):
            factor = Factor(tuple(sorted(question.entropy.total.items())))
            node.factors = self._factors([(factor, 1)])

    def _term(self, number: Number, u: Polynomial, v: Polynomial | None) -> FloatArray:
        """One row of Tables.terms; a pair when there is a ``v``."""
        d, scale, normal = self.space.dimension, self.space.scale, self.space.plane[: self.space.dimension]
        row = np.zeros(entropy_layout.VECTORS + 2 * d)
        row[entropy_layout.WEIGHT], row[entropy_layout.PAIR] = float(number), 0.0 if v is None else 1.0
        along = []
        for k, polynomial in enumerate((u, v or {})):
            _, direction, row[entropy_layout.OFFSET_U + k] = Coefficients.of(polynomial, scale).arrays(d)
            row[entropy_layout.VECTORS + k * d : entropy_layout.VECTORS + (k + 1) * d] = direction
            flat = direction - normal * (normal @ direction)
            constant = np.linalg.norm(flat) <= 1e-14 * np.linalg.norm(direction)
            along.append(np.zeros(d) if constant else flat)
        row[entropy_layout.NORM_UU], row[entropy_layout.NORM_VV] = (float(a @ a) * (1.0 + 1e-14) for a in along)
        row[entropy_layout.NORM_UV] = float(along[0] @ along[1])
        return row

    def _vanishes_with_total(self, question: Question) -> bool:
        """Where the total is 0 so are all arguments: a strict inequality then cannot hold there."""
        assert question.entropy is not None
        total = set(question.entropy.total)
        pieces = [argument for _, argument in question.entropy.terms] + [question.entropy.rest]
        feasible = self.space.feasible()
        return (
            () not in total
            and all(set(p) <= total for p in pieces)
            and polynomial_nonnegative(question.entropy.total, feasible)
        )

    def shortcut_size(self) -> int:
        """Numbers per group for a few forms; none where there are no forms, or their matrices are large."""
        d = self.space.dimension
        forms = any(node.question.fraction or node.question.recipe for node in self.nodes)
        return 1 + (SHORTCUT_FORMS * (QUICK_HEADER + d + d * d) if forms and d <= SHORTCUT_DIMENSION else 0)

    def tables(self, entry: tuple[int, int, int]) -> Tables:
        """The arrays of everything collected."""
        d, space = self.space.dimension, self.space
        self.compiled = compile_programs(self.programs)
        size = form_size(d)
        numbers = [*self.forms]
        terms, linear = len(numbers), len(numbers) + len(self.terms)
        constants = linear + len(self.linear)
        numbers += [np.pad(row, (0, size - len(row))) for row in (*self.terms, *self.linear)]
        numbers += [np.pad([number], (0, size - 1)) for number in self.compiled.constants]
        lists = [np.array(self.factors, dtype=np.int64).reshape(-1, 4)]
        code = len(self.factors)
        operands = code + len(self.compiled.code)
        moments = operands + len(self.compiled.operands)
        lists.append(self.compiled.placed(constants, operands))
        lists.append(np.pad(self.compiled.operands[:, None], ((0, 0), (0, 3))))
        rows = np.array([(m.count, m.first, m.square, 0) for m in space.moments], dtype=np.int64).reshape(-1, 4)
        lists.append(rows)
        nodes = np.zeros((1 + len(self.nodes), COLUMNS), dtype=np.int64)
        for row, node in zip(nodes[1:], self.nodes, strict=True):
            question = node.question
            kind = BY_PROGRAM if node.program >= 0 else BY_ENTROPY if question.entropy else BY_FORM
            part = node.part[0] + terms, node.part[1] + terms
            if node.program >= 0:
                part = self.compiled.start[node.program] + code, self.compiled.stop[node.program] + code
            row[:] = (
                kind, node.on_true, node.on_false, question.strict, question.lenient, node.form, *node.factors,
                question.above, *part, node.linear + linear,
            )  # fmt: skip
        widths = (
            1 + len(self.nodes), len(self.factor_forms), self.dynamic_forms * size, self.compiled.anchors,
            self.shortcut_size(), self.convex_width,
        )  # fmt: skip
        starts = [0, *np.cumsum(widths).tolist()]
        self.state_size = starts[-1]
        nodes[0, : MOMENT_LAST + 1] = (*entry, self.monotone, *starts[:-1], moments, moments + len(rows))
        scale = np.where(rows[:, 0] >= 0, space.scale[rows[:, 0]], 1.0) if len(rows) else np.zeros(0)
        factors = space.scale[rows[:, 1]] ** 2 / (scale * space.scale[rows[:, 2]])
        return Tables(
            nodes,
            np.ascontiguousarray(np.concatenate(lists)),
            np.array(numbers).reshape(-1, size),
            np.concatenate([space.plane, space.nonnegative, space.scale, factors]),
        )
