"""The statements that a coordinator is asked, as values. ``statements`` reads them from text."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from tacit.language.plan import WatchPlan

__all__ = [
    "AlterWatch",
    "Change",
    "CreateWatch",
    "DropSite",
    "DropWatch",
    "ExplainWatch",
    "PauseWatch",
    "ResumeWatch",
    "ShowAlerts",
    "ShowChanges",
    "ShowSites",
    "ShowWatch",
    "ShowWatches",
    "Statement",
]


@dataclass(frozen=True, slots=True)
class CreateWatch:
    """``CREATE WATCH name AS SELECT …``: ``plan.text`` is the sentence itself."""

    plan: WatchPlan


@dataclass(frozen=True, slots=True)
class ExplainWatch:
    """``EXPLAIN WATCH name AS SELECT …``; without ``AS …`` there is no plan, and a watch of that name is meant."""

    name: str
    plan: WatchPlan | None = None


@dataclass(frozen=True, slots=True)
class DropWatch:
    """``DROP WATCH [IF EXISTS] name``."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropSite:
    """``DROP SITE name``: it left for good; from the next pane on its last data does not count any more."""

    name: str


@dataclass(frozen=True, slots=True)
class PauseWatch:
    """``PAUSE WATCH name``: nothing is kept until it is resumed."""

    name: str


@dataclass(frozen=True, slots=True)
class ResumeWatch:
    """``RESUME WATCH name``."""

    name: str


@dataclass(frozen=True, slots=True)
class ShowWatches:
    """``SHOW WATCHES``: all, a line each."""


@dataclass(frozen=True, slots=True)
class ShowWatch:
    """``SHOW WATCH name``: everything about one."""

    name: str


@dataclass(frozen=True, slots=True)
class ShowSites:
    """``SHOW SITES``."""


@dataclass(frozen=True, slots=True)
class ShowAlerts:
    """``SHOW ALERTS [FOR name] [LIMIT n]``, the newest first."""

    name: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ShowChanges:
    """``SHOW CHANGES [FOR name] [LIMIT n]``: new values that are tracked and new orders, the newest first."""

    name: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """``MARGIN n``, ``THRESHOLD n`` or ``WITHIN n [PERCENT]`` of ALTER WATCH, and where it stands."""

    what: str  # "margin", "threshold", "within"
    number: Decimal  # as it was written: 0.10 stays 0.10
    percent: bool = False
    line: int = field(default=1, compare=False)
    column: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class AlterWatch:
    """``ALTER WATCH name SET change, change …``; ``altered`` gives the sentence that comes of it."""

    name: str
    changes: tuple[Change, ...]


Statement = (
    CreateWatch
    | ExplainWatch
    | DropWatch
    | DropSite
    | PauseWatch
    | ResumeWatch
    | ShowWatches
    | ShowWatch
    | ShowSites
    | ShowAlerts
    | ShowChanges
    | AlterWatch
)
