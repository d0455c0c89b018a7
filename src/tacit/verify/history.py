"""All that a coordinator has published of one watch, read through the client, and what was said as of every pane."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tacit.verify.keys import Key, key_of_text, key_of_values
from tacit.verify.truths.truth import Said

__all__ = ["Coordinator", "History", "RawSaid", "Span", "answered", "group_of", "history_of", "read_history"]


class Coordinator(Protocol):
    """Who is asked: a client of ``tacit.api``, or whoever else can give these pages."""

    def published(self, name: str, *, first: int = ..., after: int = ...) -> Iterator[Mapping[str, Any]]:
        """Pages of all that was published of a watch."""


@dataclass(frozen=True, slots=True)
class Span:
    """Panes in a row that were answered in the same state for the same sites."""

    version: int
    first: int
    last: int
    state: str
    sites: tuple[str, ...]
    missing: tuple[str, ...] = ()


@dataclass(slots=True)
class History:
    """What was published of one watch: by version its sentence, spans, changes, lists, and all alerts."""

    name: str
    texts: dict[int, str] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    changes: list[tuple[int, str, int, float | None]] = field(default_factory=list)
    lists: list[tuple[int, str, list[list[Any]]]] = field(default_factory=list)
    alerts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def last(self) -> int | None:
        """The last pane that was answered."""
        return max((span.last for span in self.spans), default=None)

    def by_pane(self) -> dict[int, Span]:
        """The span of every pane that was answered; of an altered watch the newest."""
        found: dict[int, Span] = {}
        for span in sorted(self.spans, key=lambda span: (span.version, span.first)):
            for pane in range(span.first, span.last + 1):
                found[pane] = span
        return dict(sorted(found.items()))

    def said_at(self, panes: Sequence[int], kinds: Sequence[str], per: int) -> Iterator[tuple[int, Said]]:
        """What was said as of each of these panes, which rise."""
        said = Said()
        changes, lists = iter(self.changes), iter(self.lists)
        change, listed = next(changes, None), next(lists, None)
        cut = len(kinds) - per
        for pane in panes:
            while change is not None and change[0] <= pane:
                _, key, side, value = change
                said.sides[key_of_text(key, kinds)] = side, value
                change = next(changes, None)
            while listed is not None and listed[0] <= pane:
                _, name, members = listed
                found = {key_of_text(key, kinds[:cut]): float(score) for key, score in members}
                said.lists[key_of_text(name, kinds[cut:])] = found
                listed = next(lists, None)
            yield pane, said


@dataclass(frozen=True, slots=True)
class RawSaid:
    """What was said as of a pane, as it is stored: by group side and value, by list its members."""

    sides: Mapping[str, tuple[int, float | None]] = field(default_factory=dict)
    lists: Mapping[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)

    def with_changes(self, changed: Changed) -> RawSaid:
        """What is said after these changes."""
        sides, lists = changed
        if not sides and not lists:
            return self
        return RawSaid({**self.sides, **sides}, {**self.lists, **lists})

    def read(self, kinds: Sequence[str], per: int) -> Said:
        """The same, as truths take it."""
        cut = len(kinds) - per
        return Said(
            {key_of_text(key, kinds): said for key, said in self.sides.items()},
            {
                key_of_text(name, kinds[cut:]): {key_of_text(key, kinds[:cut]): score for key, score in members}
                for name, members in self.lists.items()
            },
        )


Changed = tuple[dict[str, tuple[int, float | None]], dict[str, tuple[tuple[str, float], ...]]]
"""What was newly said at a pane, by group and by list."""


def answered(history: History) -> Iterator[tuple[int, Span, Changed]]:
    """Every pane that was answered, its span, and what was newly said up to it."""
    changes, lists = deque(history.changes), deque(history.lists)
    for pane, span in history.by_pane().items():
        changed: Changed = ({}, {})
        while changes and changes[0][0] <= pane:
            _, key, side, value = changes.popleft()
            changed[0][key] = side, value
        while lists and lists[0][0] <= pane:
            _, name, members = lists.popleft()
            changed[1][name] = tuple((key, float(score)) for key, score in members)
        yield pane, span, changed


def read_history(coordinator: Coordinator, name: str) -> History:
    """Everything that was published of a watch until now."""
    return history_of(name, coordinator.published(name))


def history_of(name: str, pages: Iterable[Mapping[str, Any]]) -> History:
    """What some pages say."""
    history = History(name)
    for page in pages:
        history.texts.update((each["number"], each["text"]) for each in page["versions"])
        for span in page["spans"]:
            sites, missing = tuple(span["sites"]), tuple(span["missing"])
            history.spans.append(
                Span(span["version"], span["first"], span["last"], span["state"], sites, missing)
            )  # fmt: skip
        history.changes += [(pane, key, side, value) for pane, key, side, value in page["changes"]]
        history.lists += [(pane, name, members) for pane, name, members in page["lists"]]
        history.alerts += page["alerts"]
    return history


def group_of(alert: Mapping[str, Any], kinds: Sequence[str]) -> Key:
    """The group that an alert is about: an array of values."""
    group = alert.get("group")
    return () if group is None else key_of_values(group, kinds)
