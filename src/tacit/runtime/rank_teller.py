"""From what a ranking's settlement publishes to what people are told: the lists, and who entered and who left.

Where scores are promised (RANKED WITHIN), another order is told, too. The id of an alert follows from the watch, the
pane and the list, so that one that is raised again after a crash has the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tacit.functions.expressions import Variable
from tacit.functions.goals import Frequent, Top
from tacit.language.plan import WatchPlan
from tacit.runtime.answers import alert_id
from tacit.runtime.store import Write
from tacit.vocabulary import Answer
from tacit.vocabulary.calendar import iso_time
from tacit.vocabulary.keys import key_label

__all__ = ["Lists", "RankTeller", "list_rows"]

Lists = dict[str, dict[str, float]]
"""By the name of a list its members, the first in rank first, with the scores that were last counted."""


_SET = Top(Variable(0), 1)
"""Frequent keys are told as the one list of a ranking is."""


class RankTeller:
    """Compares each published answer with what was said before."""

    def __init__(self, plan: WatchPlan, lineage: int, pane_us: int, said: Lists) -> None:
        assert isinstance(plan.goal, Top | Frequent)
        self.plan, self.lineage, self.pane_us, self.said = plan, lineage, pane_us, said
        self.goal = _SET if isinstance(plan.goal, Frequent) else plan.goal
        self._estimates = self.goal.using == "topico"
        self._last: object = None  # the lists of the last answer: of panes in a row they mostly are the same ones

    def tell(self, answer: Answer) -> tuple[list[Write], list[dict[str, Any]]]:
        """What is to be stored, and the alerts."""
        if answer.lists is None or answer.lists is self._last:
            return [], []
        self._last = answer.lists
        pane = answer.pane if answer.first is None else answer.first
        writes: list[Write] = []
        alerts: list[dict[str, Any]] = []
        for name in sorted({*self.said, *answer.lists}):
            before, now = self.said.get(name, {}), self._shown(answer.lists.get(name, {}))
            if list(before.items()) == list(now.items()):
                continue
            another, moved = set(before) != set(now), list(before) != list(now)
            promised = self.goal.ranked is not None
            if another or promised or self._estimates:
                self.said[name] = now
            if not now:
                self.said.pop(name, None)
            if another or promised or (moved and self._estimates):
                told = (self.lineage, pane, name, json.dumps(list(now.items())))
                writes.append(("INSERT OR REPLACE INTO rankings VALUES (?, ?, ?, ?)", told))
            if another or (moved and promised):
                alerts.append(self._alert(pane, name, before, now))
        return writes, alerts

    def _shown(self, members: Mapping[str, float]) -> dict[str, float]:
        """The smallest are ranked with the sign changed."""
        return {key: score if self.goal.largest else 0.0 - score for key, score in members.items()}

    def _alert(self, pane: int, name: str, before: Mapping[str, float], now: Mapping[str, float]) -> dict[str, Any]:
        return {
            "id": alert_id(self.lineage, self.plan.name, pane, name),
            "watch": self.plan.name,
            "at": iso_time((pane + 1) * self.pane_us),
            "pane": pane,
            "side": None,
            "value": None,
            "group": key_label(name) if self.goal.per else None,
            "entered": [key_label(key) for key in now if key not in before],
            "left": [key_label(key) for key in before if key not in now],
            "ranking": [[key_label(key), score] for key, score in now.items()],
        }


def list_rows(plan: WatchPlan, said: Lists, most: int) -> list[dict[str, Any]]:
    """The lists as rows: rank, object, score, and the list where there are several.

    Without RANKED WITHIN nothing is promised of scores: ``counted`` is what they were when they were last counted.
    """
    assert isinstance(plan.goal, Top | Frequent)
    goal = _SET if isinstance(plan.goal, Frequent) else plan.goal
    rows: list[dict[str, Any]] = []
    for name, members in sorted(said.items()):
        for rank, (key, score) in enumerate(members.items(), 1):
            row: dict[str, Any] = {"rank": rank, "object": key_label(key), "value": score, "counted": score}
            if goal.ranked is None and goal.using != "topico":
                row["value"] = None
            if goal.per:
                row["group"] = key_label(name)
            rows.append(row)
            if len(rows) >= most:
                return rows
    return rows
