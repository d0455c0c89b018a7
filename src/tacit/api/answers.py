"""What a coordinator says of a watch, as values for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.vocabulary.keys import Value

__all__ = ["Answer", "Change", "Group", "Missing", "Panes", "Row", "Stale"]

Group = tuple[Value, ...]
"""The values of a group's key, () without GROUP BY: texts, numbers, booleans, None; times are texts."""


@dataclass(frozen=True, slots=True)
class Row:
    """The answer for one group: its value (None: there is none), and of a condition its side and whether it is met."""

    value: float | None
    side: str | None = None
    met: bool | None = None


@dataclass(frozen=True, slots=True)
class Stale:
    """A site of which nothing was heard for longer than its lease, and for how long."""

    site: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Missing:
    """A site that the answer goes on without: for how long, and why."""

    site: str
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class Panes:
    """A stretch of panes: their numbers, when the first begins and the last ends, and what is said of them."""

    first: int
    last: int
    begin: str
    end: str
    reason: str = ""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Panes:
        """From the document that a coordinator sends."""
        begin, end = document["from"], document["to"]
        return cls(document["first"], document["last"], begin, end, document.get("reason", ""))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a watch says now. ``rows`` holds it by group; without GROUP BY under the key (), and in ``value`` as well.

    A ranking has ``lists`` instead: by the list (PER; else ()) its objects, the first in rank first, with their scores
    (None without RANKED WITHIN, where nothing is promised of them).

    ``state`` is "filling", "valid", "resolving", "stale", "paused" or "failed"; ``as_of`` is the end of the pane
    that the answer is about (None: there is no answer yet). ``waiting_for`` names the sites that a new watch still
    waits for. ``sites`` are those that the answer speaks for, ``missing`` those that it goes on without; the panes of
    ``late`` are settled once more when these are back, and nobody can answer for those of ``gaps``: their state is
    unknown.

    >>> document = {"watch": "hot", "state": "valid", "pane": 7, "as_of": "1970-01-01T00:00:08Z", "guarantee": "right",
    ...     "stale": [], "answer": [{"value": 9.5, "side": "above", "met": True}]}
    >>> answer = Answer.of(document)
    >>> answer.value, answer.met, answer.rows
    (9.5, True, {(): Row(value=9.5, side='above', met=True)})
    """

    watch: str
    state: str
    value: float | None
    rows: Mapping[Group, Row]
    pane: int | None
    as_of: str | None
    stale: tuple[Stale, ...]
    guarantee: str
    waiting_for: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)  # by site, or "coordinator": why the watch cannot be kept
    lists: Mapping[Group, Mapping[Group, float | None]] = field(default_factory=dict)
    sites: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    late: Panes | None = None
    gaps: tuple[Panes, ...] = ()

    @property
    def met(self) -> bool | None:
        """Is the condition met? None of a watch with groups, of one that tracks, and before the first answer."""
        return self.rows[()].met if () in self.rows else None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Answer:
        """From the document that a coordinator sends."""
        rows: dict[Group, Row] = {}
        lists: dict[Group, dict[Group, float | None]] = {}
        for each in document["answer"]:
            name = tuple(each.get("group", ()))
            if "rank" in each:
                lists.setdefault(name, {})[tuple(each["object"])] = each["value"]
            else:
                rows[name] = Row(each["value"], each.get("side"), each.get("met"))
        return cls(
            watch=document["watch"],
            state=document["state"],
            value=rows[()].value if () in rows else None,
            rows=rows,
            pane=document["pane"],
            as_of=document["as_of"],
            stale=tuple(Stale(each["site"], each["seconds"]) for each in document["stale"]),
            guarantee=document["guarantee"],
            waiting_for=tuple(document.get("waiting_for", ())),
            problems=dict(document.get("problems", {})),
            lists=lists,
            sites=tuple(document.get("sites", ())),
            missing=tuple(Missing(**each) for each in document.get("missing", ())),
            late=Panes.of(document["late"]) if document.get("late") else None,
            gaps=tuple(map(Panes.of, document.get("gaps", ()))),
        )


@dataclass(frozen=True, slots=True)
class Change:
    """An answer that is new, and the alerts and changes that were told since the one before, the oldest first.

    A change is a new value of a watch that tracks, or another order of a ranking; its document is like an alert's.

    An alert is the document of docs/CONFIGURATION.md, Alerts, as a mapping; that of a ranking also says who
    ``entered``, who ``left``, and the ``ranking`` as it is then.
    """

    answer: Answer
    alerts: tuple[Mapping[str, Any], ...] = ()
    changes: tuple[Mapping[str, Any], ...] = ()
