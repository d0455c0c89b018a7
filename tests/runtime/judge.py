"""An omniscient observer of a live system on one machine: what the sites held, against what was published.

It sees every site's vectors as they are closed, which no part of the system does, and says afterwards whether every
answer that was called valid was within its promise. For demonstrations and tests.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.functions.evaluate import value
from tacit.functions.goals import Comparison, SketchGoal, Top, Track
from tacit.functions.truth import TOLERANCE, may_say_met, may_say_not_met, tracking_error, widened
from tacit.language.plan import ByMember
from tacit.language.sentence import parse_watch
from tacit.language.shape import Shape, shape_of, zone_kind
from tacit.runtime.answers import side_of
from tacit.runtime.store import Store, unpack
from tacit.vocabulary import FloatArray
from tacit.vocabulary.answers import MET, NOT_MET
from tacit.vocabulary.keys import group_label, key_label
from tacit.wire.control import Measure
from tests.runtime.rank_judge import PublishedLists, true_lists
from tests.runtime.sketch_judge import published_of

__all__ = ["Judge", "Verdict"]

Held = tuple[FloatArray, FloatArray | None, int]
"""What a site held of each group at a pane, its weights, and how many groups it knew."""

Crossing = tuple[int, str, bool]
"""A pane, a group, and whether its condition is met from then on."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one watch: panes that were judged, wrong ones, how often the truth crossed, and when nobody was told of it."""

    watch: str
    panes: int
    wrong: tuple[str, ...]
    crossings: int
    alerts: int
    untold: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Was every answer right, and every crossing told?"""
        return not self.wrong and not self.untold

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "watch": self.watch, "panes": self.panes, "wrong": list(self.wrong), "crossings": self.crossings,
            "alerts": self.alerts, "untold": list(self.untold),
        }  # fmt: skip


class Judge:
    """Collects what sites hold (``witness`` is called by their agents), and judges once all is over."""

    def __init__(self) -> None:
        self._held: dict[int, dict[int, dict[int, Held]]] = {}  # by watch, pane and site
        self._keys: dict[tuple[int, int], Sequence[str]] = {}  # by watch and site
        self._objects: dict[tuple[int, int, int], tuple[str, ...]] = {}  # by watch, site and pane
        self._lock = threading.Lock()

    def witness(
        self, site: int, watch: int, pane: int, vectors: FloatArray, weights: FloatArray | None, keys: Sequence[str]
    ) -> None:
        """A site closed a pane."""
        with self._lock:
            panes = self._held.setdefault(watch, {})
            panes.setdefault(pane, {})[site] = (vectors.copy(), None if weights is None else weights.copy(), len(keys))
            self._keys[watch, site] = keys
            if isinstance(keys, tuple):  # of a ranking, whose objects may have other numbers later
                self._objects[watch, site, pane] = keys

    def verdicts(self, store: Store) -> list[Verdict]:
        """What to say of every watch that is in the store."""
        rows = store.all(
            "SELECT number, lineage, text, protocol, centres, units FROM watches WHERE centres IS NOT NULL"
        )
        return [self._judge(store, *row) for row in rows if row[0] in self._held]

    def _judge(
        self, store: Store, number: int, lineage: int, text: str, protocol: str, centres: bytes, units: bytes
    ) -> Verdict:
        plan = parse_watch(text)
        if isinstance(plan.goal, Top):
            return self._judge_ranking(store, number, lineage, plan.name, plan.goal)
        if isinstance(plan.goal, SketchGoal):
            return self._judge_sketch(store, number, lineage, plan.name, plan.goal)
        shape = shape_of(plan, Measure(unpack(centres), unpack(units)), zone_kind(plan, protocol))
        said = _Said(store, lineage, shape, by_member=isinstance(plan.grouping, ByMember))
        wrong: list[str] = []
        judged = 0
        crossings: list[Crossing] = []
        before: dict[str, bool] = {}
        spans = store.all("SELECT first, last, state, roster FROM spans WHERE watch = ? ORDER BY first", (number,))
        for first, last, state, roster in spans:
            for pane in range(first, last + 1):
                truth = self._truth(number, pane, json.loads(roster), shape, isinstance(plan.grouping, ByMember))
                if truth is None:
                    continue
                crossings += [(pane, key, met) for key, met in _crossings(shape, truth, before)]
                if state in ("valid", "filling"):
                    judged += 1
                    wrong += [f"pane {pane}{': ' + key if key else ''}: {why}" for key, why in said.wrong(pane, truth)]
        documents = store.all(
            "SELECT document FROM alerts WHERE watch = ? AND kind = 'alert' ORDER BY seq", (plan.name,)
        )
        alerts = [json.loads(document) for (document,) in documents]
        grouped = plan.grouping is not None
        told = {(each["pane"], group_label(each["group"]) if grouped else "", each["side"]) for each in alerts}
        named = [(pane, key_label(key) if grouped else "", side_of(plan, MET if met else NOT_MET))
                 for pane, key, met in crossings]  # fmt: skip
        return Verdict(plan.name, judged, tuple(wrong), len(crossings), len(alerts), tuple(_untold(named, told)))

    def _judge_ranking(self, store: Store, number: int, lineage: int, name: str, goal: Top) -> Verdict:
        """Of a ranking it is judged that the sets are right; every change of them is an alert by itself."""
        published, judged = PublishedLists(store, lineage, goal), 0
        wrong: list[str] = []
        spans = store.all("SELECT first, last, state, roster FROM spans WHERE watch = ? ORDER BY first", (number,))
        for first, last, state, roster in spans:
            promised = state in ("valid", "filling") and goal.using != "topico"
            for pane in range(first, last + 1) if promised else ():
                held, sites = self._held[number].get(pane, {}), json.loads(roster)
                if any(site not in held for site in sites):
                    continue
                judged += 1
                known = [(site, held[site]) for site in sites]
                truth = true_lists(
                    [(scores, rows, self._objects[number, site, pane]) for site, (scores, rows, _) in known
                     if rows is not None], goal.per,
                )  # fmt: skip
                wrong += [f"pane {pane}: {why}" for why in published.wrong(pane, truth)]
        alerts = store.one("SELECT COUNT(*) FROM alerts WHERE watch = ? AND kind = 'alert'", (name,)) or (0,)
        return Verdict(name, judged, tuple(wrong), 0, alerts[0])

    def _judge_sketch(self, store: Store, number: int, lineage: int, name: str, goal: SketchGoal) -> Verdict:
        """Of a watch on sketches it is judged that it says what the sketches of all sites do."""
        published, judged = published_of(store, lineage, goal), 0
        wrong: list[str] = []
        spans = store.all("SELECT first, last, state, roster FROM spans WHERE watch = ? ORDER BY first", (number,))
        for first, last, state, roster in spans:
            for pane in range(first, last + 1) if state in ("valid", "filling") else ():
                held, sites = self._held[number].get(pane, {}), json.loads(roster)
                if any(site not in held for site in sites):
                    continue
                judged += 1
                arrays = np.concatenate([held[site][0] for site in sites])
                names = [self._objects.get((number, site, pane), ()) for site in sites]
                wrong += [f"pane {pane}: {why}" for why in published.wrong(pane, arrays, names)]
        alerts = store.one("SELECT COUNT(*) FROM alerts WHERE watch = ? AND kind = 'alert'", (name,)) or (0,)
        return Verdict(name, judged, tuple(wrong), 0, alerts[0])

    def _truth(
        self, number: int, pane: int, roster: Sequence[int], shape: Shape, by_member: bool
    ) -> dict[str, FloatArray] | None:
        """The global vector of every group, in the units of the data; None where a site's is not known.

        Under GROUP BY EACH the first that a site holds is its part of every group that it has no rows of.
        """
        held = self._held[number].get(pane, {})
        if any(site not in held for site in roster):
            return None
        sums: dict[str, FloatArray] = {}
        total: dict[str, float] = {}
        known = {site: self._keys[number, site][: held[site][2]] for site in roster}
        everywhere = dict.fromkeys(key for site in roster for key in known[site][1:]) if by_member else {}
        for site in roster:
            vectors, weights, _ = held[site]
            places = {key: group for group, key in enumerate(known[site])}
            for key in everywhere if by_member else known[site]:
                group = places.get(key, 0)
                sums[key] = sums.get(key, 0.0) + vectors[group]
                total[key] = total.get(key, 0.0) + (1.0 if weights is None else float(weights[group]))
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                key: each * shape.scale / (total[key] if shape.form.weighted else 1.0) for key, each in sums.items()
            }  # fmt: skip


class _Said:
    """What was published of each group at each pane."""

    def __init__(self, store: Store, lineage: int, shape: Shape, *, by_member: bool) -> None:
        self._shape = shape
        rows = store.all("SELECT key, pane, side, value FROM changes WHERE lineage = ? ORDER BY pane", (lineage,))
        self._changes: dict[str, list[tuple[int, int, float]]] = {}
        for key, pane, side, said in rows:
            self._changes.setdefault(key, []).append((pane, side, np.nan if said is None else said))
        nowhere = np.full((1, shape.monitor.dimension), np.nan if shape.form.weighted else 0.0)
        goal = shape.form.goal
        expression = goal.expression if isinstance(goal, Comparison | Track) else shape.form.outputs[0][1]
        side = NOT_MET if by_member else int(shape.monitor.answers(nowhere)[0])  # of whom nothing is said, none is met
        self._nothing = (side, float(value(expression, nowhere * shape.scale)[0]))

    def wrong(self, pane: int, truth: Mapping[str, FloatArray]) -> list[tuple[str, str]]:
        found = []
        for key, vector in truth.items():
            side, said = self._at(key, pane)
            point = vector[None, :]
            goal = self._shape.form.goal
            if isinstance(goal, Track):
                right = bool(tracking_error(goal, point, np.array([said]))[0] <= 1.0 + TOLERANCE)
            else:
                wide = widened(goal, point)
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


def _crossings(shape: Shape, truth: Mapping[str, FloatArray], before: dict[str, bool]) -> list[tuple[str, bool]]:
    """The groups that have crossed the threshold, by more than the margin, at this pane, and whether it is met now."""
    goal = shape.form.goal
    if isinstance(goal, Track):
        return []
    crossed = []
    for key, vector in truth.items():
        point = vector[None, :]
        was = before.get(key, False)
        now = not bool(may_say_not_met(goal, point)[0]) if not was else bool(may_say_met(goal, point)[0])
        if now != was:
            crossed.append((key, now))
        before[key] = now
    return crossed


def _untold(crossings: Sequence[tuple[int, str, str]], alerts: Collection[tuple[int, str, str | None]]) -> list[str]:
    """The crossings (pane, group, side) without an alert: one of that side after the crossing before, until the next.

    An alert may come before the crossing that it tells of, as the truth may be said from the margin on.

    >>> _untold([(5, "", "above"), (9, "", "below"), (12, "", "above")], {(4, "", "above"), (13, "", "above")})
    ['pane 9: below']
    """
    found = []
    for at, (pane, group, side) in enumerate(crossings):
        before = max((each for each, whose, _ in crossings[:at] if whose == group), default=None)
        after = min((each for each, whose, _ in crossings[at + 1 :] if whose == group), default=None)
        if not any(
            (whose, said) == (group, side) and (before is None or told > before) and (after is None or told < after)
            for told, whose, said in alerts
        ):
            found.append(f"pane {pane}{': ' + group if group else ''}: {side}")
    return found
