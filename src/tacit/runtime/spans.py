"""Panes in a row that were answered in the same state by the same sites: one row of the store for all of them."""

from __future__ import annotations

import json

from tacit.runtime.store import Write
from tacit.vocabulary import Answer, State

__all__ = ["Spans"]


class Spans:
    """Of one watch, by its number."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._first = self._last = 0
        self._kind: tuple[State, tuple[int, ...], tuple[int, ...]] | None = None

    def begin_anew(self) -> None:
        """Panes that were answered are answered once more."""
        self._kind = None

    def write(self, answer: Answer, state: State) -> Write:
        """Store that the panes of an answer were answered in this state: a longer span, or a new one."""
        first = answer.pane if answer.first is None else answer.first
        kind = (state, answer.stale, answer.roster)
        if self._kind != kind or self._last + 1 != first:
            self._first, self._kind = first, kind
        self._last = answer.pane
        who = (json.dumps(answer.stale), json.dumps(answer.roster))
        return "INSERT OR REPLACE INTO spans VALUES (?, ?, ?, ?, ?, ?)", (
            self._number, self._first, self._last, state.value, *who,
        )  # fmt: skip
