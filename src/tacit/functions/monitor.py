"""A goal made ready to be watched: answers at the estimate, zones around it, and the proof that a ball is inside.

The promise: ``inside`` is True only when every feasible point of the ball over estimate and drift gives the group's
answer, margins included. Undecided is False: it costs a message, never a wrong answer.

>>> import numpy as np
>>> from tacit.functions.expressions import Variable
>>> from tacit.functions.goals import Comparison
>>> goal = Comparison(Variable(0) / Variable(1), ">", 0.5)
>>> monitor = Monitor(goal, [Variable(0) / Variable(1)], 2, nonnegative=np.array([True, True]))
>>> zones = monitor.zones(1)
>>> monitor.refresh(zones, np.array([0]), np.array([[10.0, 40.0]]))
>>> zones.answer
array([0], dtype=int8)
>>> monitor.inside(zones, np.array([0, 0]), np.array([[12.0, 40.0], [40.0, 40.0]]))
array([ True, False])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.functions import _kernels_forms as layout
from tacit.functions._kernels import inside_many, radius_many
from tacit.functions.convex import ConvexZone, ZoneMaker
from tacit.functions.evaluate import opaque_value, value
from tacit.functions.expressions import Expression, Opaque
from tacit.functions.form_arrays import Space, form_size
from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition, Goal, Track, comparisons
from tacit.functions.questions import ask, ask_condition
from tacit.functions.roaming import RoamingZone
from tacit.functions.shapes import All, Ask, Question
from tacit.functions.splitting import SplitZone
from tacit.functions.statistics import Moment
from tacit.functions.tables import (
    NORMED,
    REJECT,
    STATE_ANCHORS,
    STATE_BOUND,
    STATE_CONVEX,
    TRAIL,
    Tables,
    Zones,
    convex_size,
)
from tacit.functions.tracking import Told, TrackZones
from tacit.functions.watch_tables import TableBuilder
from tacit.functions.zone_rows import ZoneRows, convex_row, nothing_row, roaming_row
from tacit.vocabulary.arrays import BoolArray, FloatArray, IntArray
from tacit.vocabulary.errors import OptionError, ProtocolError

__all__ = ["CENTRED", "CENTRED_MOST", "FACES_MOST", "FITTED", "Monitor", "Tables", "Zones"]

NOT_MET, MET, UNKNOWN = 0, 1, 2
CENTRED = "centred"  # the kind of zones that recentring has (protocols/centres.py)
FITTED, FACES_MOST = "fitted", 40  # that fitted zones have (protocols/fitted.py), and how many faces, at most
CENTRED_MOST = 48  # statistics of a vector that sites can recentre; zones of more are never made
_CONVEX_MOST = 256  # groups refreshed at once; making the zones of more would take long


class Monitor:
    """The mathematics of one watch, for any number of groups. Points are in scaled coordinates z, x = z * scale."""

    def __init__(
        self,
        goal: Goal,
        outputs: Sequence[Expression | tuple[str, Expression]],
        dimension: int,
        *,
        nonnegative: Sequence[bool] | BoolArray | None = None,
        moments: Sequence[Moment] = (),
        simplex: Sequence[int] | None = None,
        scale: FloatArray | None = None,
        zone: str = "ball",
    ) -> None:
        self.goal, self.dimension = goal, dimension
        self.outputs = tuple(output[1] if isinstance(output, tuple) else output for output in outputs)
        self.scale = np.ones(dimension) if scale is None else np.ascontiguousarray(scale, dtype=np.float64)
        known = np.zeros(dimension) if nonnegative is None else np.asarray(nonnegative, dtype=np.float64)
        self.space = Space.of(dimension, self.scale, known, simplex, moments)
        self._builder = TableBuilder(self.space)
        feasible = self.space.feasible()
        if isinstance(goal, Track):
            low, high = Question(True, False, False, 0, None), Question(False, False, False, 1, None)
            both = All((ask(goal.expression, low, feasible), ask(goal.expression, high, feasible)))
            asked: dict[int, Ask] = {MET: both}
            entry = (REJECT, self._builder.add(both), REJECT)
        else:
            asked = {side: ask_condition(goal, bool(side), feasible) for side in (NOT_MET, MET)}
            entry = (self._builder.add(asked[NOT_MET]), self._builder.add(asked[MET]), REJECT)
        makers = {side: ZoneMaker(each, dimension, feasible) for side, each in asked.items()}
        self.centred: TrackZones | None = None
        width = 1
        if zone == CENTRED and dimension <= CENTRED_MOST:
            self.centred = TrackZones(goal, dimension, feasible, plain=True)
            width = max(convex_size(self.centred.parts_most, dimension), convex_size(NORMED + 2, dimension))
        if zone == FITTED:
            width = convex_size(FACES_MOST, dimension)
        # Is an estimate what all sites said as of one pane? Of centres that move one by one it is not.
        self.is_collected = zone not in (CENTRED, FITTED)
        kind = "auto" if zone == FITTED else zone
        self._rows = ZoneRows(kind, {} if zone in ("ball", CENTRED) else makers, self.scale, width)
        self._builder.convex_width = self._rows.width
        self.tables: Tables = self._builder.tables(entry)
        self._programs = self._builder.compiled
        for opaque, _ in self._programs.opaques:
            if opaque.lipschitz is None and not opaque.unsound:
                raise OptionError(f"{opaque.name} needs a Lipschitz constant, or unsound=True: then answers say so")
        self.sound = not any(opaque.lipschitz is None for opaque, _ in self._programs.opaques)
        questions = [node.question for node in self._builder.nodes]
        self._bounds = np.array([q.static() or 0.0 if q.recipe is None else 0.0 for q in questions])
        self._moving = [k for k, q in enumerate(questions) if q.recipe is None and q.threshold is None]
        self._factor_rows = np.array(list(self._builder.factor_forms.values()), dtype=np.int64)

    @property
    def convex(self) -> bool:
        """Are there convex zones beside balls?"""
        return bool(self._rows.makers)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of zones that were made so far, most often made first."""
        return tuple(kind for kind, _ in self._rows.used.most_common()) or ("ball",)

    def zone_sizes(self, estimate: FloatArray, spread: FloatArray | None = None) -> dict[str, float]:
        """How far drifts can go from an estimate (d,) in each kind of zone that there is, in usual drifts (``spread``).

        The largest is the one that ``auto`` takes; a half-space or region that is exact is taken before a ball.
        """
        zones, first = self.zones(1), np.zeros(1, dtype=np.int64)
        self.refresh(zones, first, estimate[None], make=False)
        return self._rows.sizes(self.tables, zones, 0, self._sides(estimate), spread)

    def made(self, kind: str) -> None:
        """Zones of this kind were made elsewhere, and count."""
        self._rows.used[kind] += 1

    def region(self, estimate: FloatArray, spread: FloatArray | None = None) -> ConvexZone | None:
        """The convex zone around an estimate (d,), in statistics, not units; None where there is none but balls."""
        zones, first = self.zones(1), np.zeros(1, dtype=np.int64)
        self.refresh(zones, first, estimate[None], make=False)
        return self._rows.region(zones, 0, self._sides(estimate), spread)

    def _sides(self, estimate: FloatArray) -> tuple[float, float]:
        """Between which a tracked value may be."""
        if not isinstance(self.goal, Track):
            return (0.0, 0.0)
        low, high = self.goal.right_for(self.tracked(estimate[None]))
        return float(low[0]), float(high[0])

    def put_centred(self, zones: Zones, group: int, told: Told) -> None:
        """The group, whose estimate is known, has a zone for recentring."""
        zone = told.zone
        if isinstance(zone, SplitZone):
            row = convex_row(zone.whole, self.scale, 1.0 - zone.share)
        else:
            row = roaming_row(zone, self.scale) if isinstance(zone, RoamingZone) else nothing_row()
        self._rows.put(self.tables, zones, np.array([group]), row[None])
        self._rows.used[told.kind] += 1

    @property
    def plain(self) -> bool:
        """May ``move`` (_kernels.py) be used: no margins, and only answer, signs and radius depend on the estimate?"""
        programs = any(node.program >= 0 for node in self._builder.nodes) or self._rows.width > 1
        moving = isinstance(self.goal, Track) or self._moving or self._builder.dishes or self._programs.anchors
        return not (programs or moving) and all(each.margin == 0.0 for each in comparisons(self.goal))

    def values(self, points: FloatArray) -> FloatArray:
        """The outputs (k, n) at each point; nan is undefined."""
        x = self._x(points)
        return (
            np.stack([value(output, x) for output in self.outputs], axis=1) if self.outputs else np.empty((len(x), 0))
        )

    def tracked(self, points: FloatArray) -> FloatArray:
        """The tracked expression at each point."""
        assert isinstance(self.goal, Track)
        return value(self.goal.expression, self._x(points))

    def answers(self, points: FloatArray) -> NDArray[np.int8]:
        """1 met (or defined, when tracking), 0 not met, 2 unknown: a value that decides is missing."""
        if isinstance(self.goal, Track):
            return np.where(np.isnan(self.tracked(points)), UNKNOWN, MET).astype(np.int8)
        return _kleene(self.goal, self._x(points))

    def zones(self, groups: int) -> Zones:
        """Room for the groups' zones; every group is unknown until its first refresh."""
        return Zones(
            np.zeros((groups, self.dimension)),
            np.full(groups, UNKNOWN, dtype=np.int8),
            np.zeros(groups),
            np.zeros((groups, self._builder.state_size)),
            np.zeros(TRAIL, dtype=np.int64),
            np.zeros(self.dimension),
        )

    def grown(self, zones: Zones, groups: int, estimate: float) -> Zones:
        """The zones with room for more groups, up to this number; the new ones have this number as every estimate."""
        known = len(zones.answer)
        if groups <= known:
            return zones
        fresh = self.zones(groups - known)
        self.refresh(fresh, np.arange(groups - known), np.full((groups - known, self.dimension), estimate), make=False)
        parts = [np.concatenate([old, new]) for old, new in zip(zones[:4], fresh[:4], strict=True)]
        return Zones(parts[0], parts[1].astype(np.int8), parts[2], parts[3], zones.trail, zones.work)

    def grown_alike(self, zones: Zones, groups: int) -> Zones:
        """The zones with room for more groups, up to this number; the new ones are like group 0."""
        known = len(zones.answer)
        if groups <= known:
            return zones
        parts = [np.concatenate([old, np.repeat(old[:1], groups - known, axis=0)]) for old in zones[:4]]
        return Zones(parts[0], parts[1].astype(np.int8), parts[2], parts[3], zones.trail, zones.work)

    def copy_first(self, zones: Zones, groups: IntArray) -> None:
        """The zones of these groups become that of group 0."""
        for table in zones[:4]:
            table[groups] = table[0]

    def refresh(
        self,
        zones: Zones,
        groups: IntArray,
        estimates: FloatArray,
        spread: FloatArray | None = None,
        *,
        make: bool = True,
    ) -> None:
        """Move the groups to new estimates: answer, bounds and safe radius follow.

        Convex zones are made for drifts whose components are as large as ``spread`` (d,), if that is known; without
        ``make`` there are balls, until zones come from whoever made them (``put_zone_rows``).
        """
        groups = np.ascontiguousarray(groups, dtype=np.int64)
        estimates = np.ascontiguousarray(np.atleast_2d(estimates), dtype=np.float64)
        if not len(groups):
            return
        zones.estimate[groups] = estimates
        zones.answer[groups] = self.answers(estimates)
        bounds, signs, forms, anchors = self.tables.nodes[0, STATE_BOUND : STATE_ANCHORS + 1]
        sides = self.goal.right_for(self.tracked(estimates)) if isinstance(self.goal, Track) else None
        zones.state[groups, bounds + 1 : bounds + 1 + len(self._bounds)] = self._bounds
        for k in self._moving:
            question = self._builder.nodes[k].question
            zones.state[groups, bounds + 1 + k] = question.bound(self._thresholds(question, estimates, sides))
        if len(self._factor_rows):
            at = np.sign(self._at(self.tables.numbers[self._factor_rows], estimates))
            zones.state[groups, signs : signs + at.shape[1]] = at
        for dish in self._builder.dishes:
            thresholds = self._thresholds(dish.question, estimates, sides)
            packed = dish.forms(self.space, estimates, dish.question.bound(thresholds))
            start = forms + dish.first * form_size(self.dimension)
            zones.state[groups, start : start + packed.shape[1]] = packed
        if self._programs.anchors:
            zones.state[groups, anchors : anchors + self._programs.anchors] = self._anchors(estimates)
        zones.state[groups, self.tables.nodes[0, STATE_CONVEX]] = 0.0
        radius_many(self.tables, zones, groups)
        many = not make or len(groups) > _CONVEX_MOST
        for k, g in enumerate(() if many or not self._rows.makers else groups.tolist()):
            between = (0.0, 0.0) if sides is None else (float(sides[0][k]), float(sides[1][k]))
            self._rows.write(self.tables, zones, g, between, spread)

    def zone_rows(self, zones: Zones, groups: IntArray) -> FloatArray:
        """The convex zones of these groups as numbers (k, n), to be told to others."""
        return self._rows.rows(self.tables, zones, groups)

    def check_zone_rows(self, groups: IntArray, rows: FloatArray) -> None:
        """Refuse zones that these groups of this watch cannot have."""
        if rows.size and (len(rows) != len(groups) or rows.shape[1] > self._rows.width):
            raise ProtocolError(f"zones came with {rows.shape[1]} numbers each, which this watch's zones cannot have")

    def put_zone_rows(self, zones: Zones, groups: IntArray, rows: FloatArray) -> None:
        """Take convex zones that were told, after ``refresh`` with ``make=False``."""
        self._rows.put(self.tables, zones, groups, rows)

    def inside(self, zones: Zones, groups: IntArray, drifts: FloatArray) -> BoolArray:
        """Is the drift in the group's convex zone, or, without one, its ball proved to be on the answer's side?"""
        groups = np.ascontiguousarray(groups, dtype=np.int64)
        drifts = np.ascontiguousarray(np.atleast_2d(drifts), dtype=np.float64)
        result = np.empty(len(groups), dtype=np.bool_)
        inside_many(self.tables, zones, groups, drifts, result)
        return result

    def _x(self, points: FloatArray) -> FloatArray:
        return np.atleast_2d(np.asarray(points, dtype=np.float64)) * self.scale

    def _thresholds(
        self, question: Question, estimates: FloatArray, sides: tuple[FloatArray, FloatArray] | None
    ) -> FloatArray:
        """What the question's bound starts from, for each estimate."""
        if question.threshold is not None:
            return np.full(len(estimates), question.threshold)
        assert sides is not None
        return sides[question.side]

    def _at(self, forms: FloatArray, points: FloatArray) -> FloatArray:
        """The value of each form (n, size) at each point (k, d): (k, n)."""
        d = self.dimension
        start = layout.HEADER + d
        quadratic = forms[:, start : start + d * d].reshape(-1, d, d)
        result = forms[:, layout.AT_ZERO] + points @ forms[:, layout.HEADER : start].T
        return np.asarray(result + np.einsum("ki,nij,kj->kn", points, quadratic, points))

    def _anchors(self, estimates: FloatArray) -> FloatArray:
        """Each user function at the estimate: its value, its Lipschitz constant, its arguments."""
        x = self._x(estimates)
        anchors = np.zeros((len(x), self._programs.anchors))
        for opaque, slot in self._programs.opaques:
            arguments = [value(argument, x) for argument in opaque.arguments]
            anchors[:, slot] = opaque_value(opaque, arguments)
            anchors[:, slot + 1] = _steepness(opaque, arguments) if opaque.lipschitz is None else opaque.lipschitz
            anchors[:, slot + 2 : slot + 2 + len(arguments)] = np.stack(arguments, axis=1)
        return anchors


def _steepness(opaque: Opaque, arguments: Sequence[FloatArray]) -> FloatArray:
    """Twice the steepest slope seen around the estimate: a guess, and the watch says that it is unsound."""
    here = opaque_value(opaque, arguments)
    steepest = np.zeros_like(here)
    for step in (1e-6, 1e-3, 1e-1, 1.0):
        square = np.zeros_like(here)
        for i, argument in enumerate(arguments):
            width = step * np.maximum(1.0, np.abs(argument))
            slopes = []
            for way in (-1.0, 1.0):
                moved = list(arguments)
                moved[i] = argument + way * width
                slopes.append(np.abs(opaque_value(opaque, moved) - here) / width)
            square += np.fmax(slopes[0], slopes[1]) ** 2
        steepest = np.fmax(steepest, np.sqrt(square))
    return 2.0 * steepest


def _kleene(goal: Condition, x: FloatArray) -> NDArray[np.int8]:
    """Three-valued: a comparison without a value is unknown; AND and OR as Kleene's."""
    match goal:
        case Comparison(expression, operator, threshold):
            f = value(expression, x)
            holds = {">": f > threshold, ">=": f >= threshold, "<": f < threshold, "<=": f <= threshold}[operator]
            return np.where(np.isnan(f), UNKNOWN, holds).astype(np.int8)
        case AllOf(parts):
            answers = np.stack([_kleene(part, x) for part in parts])
            return np.where((answers == NOT_MET).any(0), NOT_MET, answers.max(0)).astype(np.int8)
        case AnyOf(parts):
            answers = np.stack([_kleene(part, x) for part in parts])
            return np.where((answers == MET).any(0), MET, answers.max(0)).astype(np.int8)
    raise TypeError(f"not a condition: {goal!r}")
