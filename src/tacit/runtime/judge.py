"""An omniscient observer of a live system on one machine: what the sites held, against what was published.

It sees every site's vectors as they are closed, which no part of the system does, and says afterwards whether every
answer that was called valid was within its promise. For demonstrations and tests.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.functions.evaluate import value
from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition, Track
from tacit.functions.truth import may_say_met, may_say_not_met, tracking_error
from tacit.language.sentence import parse_watch
from tacit.language.shape import Shape, shape_of
from tacit.runtime.store import Store, unpack
from tacit.vocabulary import FloatArray
from tacit.vocabulary.answers import MET
from tacit.wire.control import Measure

__all__ = ["Judge", "Verdict"]

TOLERANCE = 1e-9  # relative: sums are rounded

Held = tuple[FloatArray, FloatArray | None, int]
"""What a site held of each group at a pane, its weights, and how many groups it knew."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one watch: panes that were judged, wrong ones, how often the truth crossed, and how often that was told."""

    watch: str
    panes: int
    wrong: tuple[str, ...]
    crossings: int
    alerts: int

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "watch": self.watch, "panes": self.panes, "wrong": list(self.wrong), "crossings": self.crossings,
            "alerts": self.alerts,
        }  # fmt: skip


class Judge:
    """Collects what sites hold (``witness`` is called by their agents), and judges once all is over."""

    def __init__(self) -> None:
        self._held: dict[int, dict[int, dict[int, Held]]] = {}  # by watch, pane and site
        self._keys: dict[tuple[int, int], Sequence[str]] = {}  # by watch and site
        self._lock = threading.Lock()

    def witness(
        self, site: int, watch: int, pane: int, vectors: FloatArray, weights: FloatArray | None, keys: Sequence[str]
    ) -> None:
        """A site closed a pane."""
        with self._lock:
            panes = self._held.setdefault(watch, {})
            panes.setdefault(pane, {})[site] = (vectors.copy(), None if weights is None else weights.copy(), len(keys))
            self._keys[watch, site] = keys

    def verdicts(self, store: Store) -> list[Verdict]:
        """What to say of every watch that is in the store."""
        rows = store.all("SELECT number, lineage, text, centres, units FROM watches WHERE centres IS NOT NULL")
        return [self._judge(store, *row) for row in rows if row[0] in self._held]

    def _judge(self, store: Store, number: int, lineage: int, text: str, centres: bytes, units: bytes) -> Verdict:
        plan = parse_watch(text)
        shape = shape_of(plan, Measure(unpack(centres), unpack(units)))
        said = _Said(store, lineage, shape)
        wrong: list[str] = []
        judged = crossings = 0
        before: dict[str, bool] = {}
        spans = store.all("SELECT first, last, state, roster FROM spans WHERE watch = ? ORDER BY first", (number,))
        for first, last, state, roster in spans:
            for pane in range(first, last + 1):
                truth = self._truth(number, pane, json.loads(roster), shape)
                if truth is None:
                    continue
                crossings += _crossings(shape, truth, before)
                if state in ("valid", "filling"):
                    judged += 1
                    wrong += [f"pane {pane}{': ' + key if key else ''}: {why}" for key, why in said.wrong(pane, truth)]
        alerts = store.one("SELECT COUNT(*) FROM alerts WHERE watch = ?", (plan.name,))
        return Verdict(plan.name, judged, tuple(wrong), crossings, 0 if alerts is None else alerts[0])

    def _truth(self, number: int, pane: int, roster: Sequence[int], shape: Shape) -> dict[str, FloatArray] | None:
        """The global vector of every group, in the units of the data; None where a site's is not known."""
        held = self._held[number].get(pane, {})
        if any(site not in held for site in roster):
            return None
        sums: dict[str, FloatArray] = {}
        total: dict[str, float] = {}
        for site in roster:
            vectors, weights, count = held[site]
            for group, key in enumerate(self._keys[number, site][:count]):
                sums[key] = sums.get(key, 0.0) + vectors[group]
                total[key] = total.get(key, 0.0) + (1.0 if weights is None else float(weights[group]))
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                key: each * shape.scale / (total[key] if shape.form.weighted else 1.0) for key, each in sums.items()
            }  # fmt: skip


class _Said:
    """What was published of each group at each pane."""

    def __init__(self, store: Store, lineage: int, shape: Shape) -> None:
        self._shape = shape
        rows = store.all("SELECT key, pane, side, value FROM changes WHERE lineage = ? ORDER BY pane", (lineage,))
        self._changes: dict[str, list[tuple[int, int, float]]] = {}
        for key, pane, side, said in rows:
            self._changes.setdefault(key, []).append((pane, side, np.nan if said is None else said))
        nowhere = np.full((1, shape.monitor.dimension), np.nan if shape.form.weighted else 0.0)
        goal = shape.form.goal
        expression = goal.expression if isinstance(goal, Comparison | Track) else shape.form.outputs[0][1]
        self._nothing = (int(shape.monitor.answers(nowhere)[0]), float(value(expression, nowhere * shape.scale)[0]))

    def wrong(self, pane: int, truth: Mapping[str, FloatArray]) -> list[tuple[str, str]]:
        found = []
        for key, vector in truth.items():
            side, said = self._at(key, pane)
            point = vector[None, :]
            goal = self._shape.form.goal
            if isinstance(goal, Track):
                right = bool(tracking_error(goal, point, np.array([said]))[0] <= 1.0 + TOLERANCE)
            else:
                wide = _widened(goal, point)
                right = bool((may_say_met(wide, point) if side == MET else may_say_not_met(wide, point))[0])
            if not right:
                found.append(
                    (key, f"said {said if isinstance(goal, Track) else side}, and the statistics are {vector}")
                )
        return found

    def _at(self, key: str, pane: int) -> tuple[int, float]:
        last = self._nothing
        for changed, side, said in self._changes.get(key, ()):
            if changed > pane:
                break
            last = (side, said)
        return last


def _crossings(shape: Shape, truth: Mapping[str, FloatArray], before: dict[str, bool]) -> int:
    """How many groups have crossed the threshold, by more than the margin, at this pane."""
    goal = shape.form.goal
    if isinstance(goal, Track):
        return 0
    crossed = 0
    for key, vector in truth.items():
        point = vector[None, :]
        was = before.get(key, False)
        now = not bool(may_say_not_met(goal, point)[0]) if not was else bool(may_say_met(goal, point)[0])
        crossed += now != was
        before[key] = now
    return crossed


def _widened(goal: Condition, point: FloatArray) -> Condition:
    """The same condition with margins wider by a rounding error."""
    match goal:
        case Comparison(expression, operator, threshold, margin):
            size = float(np.nan_to_num(np.abs(value(expression, point))).max(initial=abs(threshold)))
            return Comparison(expression, operator, threshold, margin + TOLERANCE * (1.0 + size))
        case AllOf(parts):
            return AllOf(tuple(_widened(part, point) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(_widened(part, point) for part in parts))
