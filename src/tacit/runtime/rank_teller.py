"""From what a ranking's settlement publishes to what people are told: the lists, and who entered and who left.

A member that enters or leaves is an alert. Where scores are promised (RANKED WITHIN), another order is told too, as a
change. The id of both follows from the watch, the pane and the list, so that one that is raised again after a crash has
the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.functions.expressions import Variable
from tacit.functions.goals import Frequent, Top
from tacit.language.plan import WatchPlan
from tacit.runtime.alert_documents import ALERT, CHANGE, Document, alert_id, document_of
from tacit.runtime.provisional import Replaced
from tacit.runtime.store import Write
from tacit.vocabulary import Answer
from tacit.vocabulary.keys import key_values

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
        self.replaced: list[Replaced] = []  # what was said before, of all that was said anew; whoever notes it takes it
        self._last: object = None  # the lists of the last answer: of panes in a row they mostly are the same ones

    def tell(self, answer: Answer) -> tuple[list[Write], list[Document]]:
        """What is to be stored, and the alerts and changes."""
        if answer.lists is None or answer.lists is self._last:
            return [], []
        self._last = answer.lists
        pane = answer.pane if answer.first is None else answer.first
        writes: list[Write] = []
        alerts: list[Document] = []
        for name in sorted({*self.said, *answer.lists}):
            before, now = self.said.get(name, {}), self._shown(answer.lists.get(name, {}))
            if list(before.items()) == list(now.items()):
                continue
            another, moved = set(before) != set(now), list(before) != list(now)
            promised = self.goal.ranked is not None
            if another or promised or self._estimates:
                self.replaced.append((pane, name, self.said.get(name)))
                self.said[name] = now
                if not now:
                    del self.said[name]
            if another or promised or (moved and self._estimates):
                told = (self.lineage, pane, name, json.dumps(list(now.items())))
                writes.append(("INSERT OR REPLACE INTO rankings VALUES (?, ?, ?, ?)", told))
            if another or (moved and promised):
                alerts.append(self._alert(answer, pane, name, before, now))
        return writes, alerts

    def begin_anew(self) -> None:
        """What was last said was taken back: compare with what was said before it."""
        self._last = None

    def correct(self, answer: Answer, told: Mapping[str, str]) -> list[Document]:
        """Alerts of lists of which people were last told other members, as of panes that were not final."""
        found = []
        for name, members in told.items():
            now, before = self.said.get(name, {}), dict.fromkeys(json.loads(members), 0.0)
            if set(now) != set(before):
                document = self._alert(answer, answer.pane, name, before, now)
                found.append({**document, "id": f"{document['id']}-c", "correction": True})
        return found

    def _shown(self, members: Mapping[str, float]) -> dict[str, float]:
        """The smallest are ranked with the sign changed."""
        return {key: score if self.goal.largest else 0.0 - score for key, score in members.items()}

    def _alert(
        self, answer: Answer, pane: int, name: str, before: Mapping[str, float], now: Mapping[str, float]
    ) -> Document:
        return document_of(
            answer,
            kind=ALERT if set(before) != set(now) else CHANGE,
            id=alert_id(self.lineage, self.plan.name, pane, name, *now),
            watch=self.plan.name,
            pane=pane,
            pane_us=self.pane_us,
            group=name if self.goal.per else None,
            entered=[key for key in now if key not in before],
            left=[key for key in before if key not in now],
            ranking=list(now.items()),
        )


def list_rows(plan: WatchPlan, said: Lists, kinds: Sequence[str], most: int) -> list[dict[str, Any]]:
    """The lists as rows: rank, object, score, and the list where there are several.

    Without RANKED WITHIN nothing is promised of scores: ``counted`` is what they were when they were last counted.
    """
    assert isinstance(plan.goal, Top | Frequent)
    goal = _SET if isinstance(plan.goal, Frequent) else plan.goal
    cut = len(kinds) - goal.per  # the last parts of a key name its list
    rows: list[dict[str, Any]] = []
    for name, members in sorted(said.items()):
        for rank, (key, score) in enumerate(members.items(), 1):
            row: dict[str, Any] = {
                "rank": rank,
                "object": key_values(key, kinds[:cut]),
                "value": score,
                "counted": score,
            }
            if goal.ranked is None and goal.using != "topico":
                row["value"] = None
            if goal.per:
                row["group"] = key_values(name, kinds[cut:])
            rows.append(row)
            if len(rows) >= most:
                return rows
    return rows
