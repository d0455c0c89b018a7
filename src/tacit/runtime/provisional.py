"""What a watch said of panes that are not final: taken back when these are settled once more, and told rightly then.

While a site is missing a watch goes on without it, and its answers and alerts say so. When the site is back, the panes
are settled again. What was said last before them holds again (``take_back``); an alert that comes out as it was raised
is not raised twice, one that was not raised before is raised late (``fresh``); and where the last that people were told
of a group is not what holds once all is settled, they are told that too (``RankTeller.correct``, ``Teller.correct``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tacit.runtime.alert_documents import ALERT, Document
from tacit.runtime.store import Store, Write

__all__ = ["Provisional", "Replaced", "taking_back", "told_of"]

Replaced = tuple[int, str, Any]
"""From which pane on something else was said of a key, the key, and what was said of it before (None: nothing)."""


class Provisional:
    """Of one watch, under all its numbers.

    >>> book, said = Provisional(), {"a": 2, "b": 3}
    >>> book.note([(7, "a", 1), (8, "b", None)], final=6)
    >>> book.take_back(8, said)
    >>> said
    {'a': 2}
    >>> book.take_back(7, said)
    >>> said
    {'a': 1}
    """

    def __init__(self) -> None:
        self._replaced: list[Replaced] = []  # in the order of panes
        self._raised: set[str] = set()  # the alerts and changes that were raised of panes that were not final
        self.told: dict[str, str] = {}  # by key, what people were told last since then

    def note(self, replaced: Iterable[Replaced], final: int) -> None:
        """Something else was said; what was said of panes up to ``final`` will never be taken back."""
        self._replaced += replaced
        if self._replaced and self._replaced[0][0] <= final:
            self._replaced = [each for each in self._replaced if each[0] > final]

    def take_back(self, pane: int, said: dict[str, Any]) -> None:
        """Make ``said`` what it was before this pane."""
        while self._replaced and self._replaced[-1][0] >= pane:
            _, key, before = self._replaced.pop()
            if before is None:
                said.pop(key, None)
            else:
                said[key] = before

    def fresh(self, documents: Iterable[Document], *, final: bool) -> list[Document]:
        """The alerts and changes that nobody was told yet."""
        found = []
        for document in documents:
            if document["id"] in self._raised:
                continue
            if not final or document["late"]:
                self._raised.add(document["id"])
                self._tell(document)
            found.append(document)
        return found

    def _tell(self, document: Document) -> None:
        if document["kind"] == ALERT:
            self.told[document["group"] or ""] = told_of(document)

    @property
    def is_empty(self) -> bool:
        """Was nothing told of panes that were not final, since all were?"""
        return not self._raised

    def forget(self) -> None:
        """All panes are final."""
        self._raised.clear()
        self.told.clear()

    def restore(
        self, store: Store, watch: str, final: int, replaced: Iterable[Replaced], keys: Mapping[str, str]
    ) -> None:
        """Know again what a store knows. ``keys``: by the text of a group in documents, its key."""
        self._replaced = sorted((each for each in replaced if each[0] > final), key=lambda each: each[0])
        sql = "SELECT document FROM alerts WHERE watch = ? AND json_extract(document, '$.pane') > ? ORDER BY seq"
        for (text,) in store.all(sql, (watch, final)):
            document = json.loads(text)
            self._raised.add(document["id"])
            key = keys.get(json.dumps(document["group"]))
            if key is not None and "ranking" not in document:
                self._tell({**document, "group": key})


def taking_back(lineage: int, pane: int) -> list[Write]:
    """What is to be stored when panes from this one on are settled once more."""
    numbers = "(SELECT number FROM watches WHERE lineage = ?)"
    return [
        ("DELETE FROM changes WHERE lineage = ? AND pane >= ?", (lineage, pane)),
        ("DELETE FROM rankings WHERE lineage = ? AND pane >= ?", (lineage, pane)),
        (f"DELETE FROM spans WHERE watch IN {numbers} AND first >= ?", (lineage, pane)),
        (f"UPDATE spans SET last = ? WHERE watch IN {numbers} AND last >= ?", (pane - 1, lineage, pane)),
    ]


def told_of(document: Mapping[str, Any]) -> str:
    """What an alert told: the side of a condition, or the members of a list."""
    if "ranking" in document:
        return json.dumps(sorted(key for key, _ in document["ranking"]))
    return str(document["side"])
