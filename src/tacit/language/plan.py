"""A watch, understood: what the parser hands to the pipelines and to the protocols."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.functions.expressions import Expression
from tacit.functions.goals import Goal, Top
from tacit.functions.statistics import Moment, Shift, Statistic

__all__ = ["ByKey", "ByMember", "ColumnUse", "Every", "Grouping", "WatchPlan", "Window"]

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Every:
    """The step of a watch's time: exactly one of the two is set."""

    rows: int | None = None
    duration_us: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Which rows count.

    kind "rows": the last ``rows`` rows of each site that pass WHERE; "time": event time in (now - duration, now];
    "since": from the last start of the UTC calendar ``unit`` (minute, hour, day, week, month, year); "all": from the
    start.
    """

    kind: str
    every: Every
    rows: int | None = None
    duration_us: int | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class ByKey:
    """GROUP BY expressions: a row belongs to the one group of its key (NULL keys form a group, as in Spark)."""

    expressions: tuple[str, ...]  # Spark SQL
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ByMember:
    """GROUP BY EACH(list) AS name: one group per member; every row of the window counts in every group."""

    expression: str  # Spark SQL of an array
    name: str


Grouping = ByKey | ByMember


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column the sentence names, where it stands, and whether it must be a number there."""

    name: str
    line: int
    column: int
    role: str  # "number", "boolean", "array", "any"


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """One CREATE WATCH … AS SELECT …, checked and lowered."""

    name: str
    text: str
    table: str
    outputs: tuple[tuple[str, Expression], ...]  # SELECT aliases, in order (group columns left out)
    goal: Goal | Top
    statistics: tuple[Statistic, ...]
    moments: tuple[Moment, ...]
    centres: tuple[str, ...]  # Spark SQL whose rough mean is measured and subtracted before squares are summed
    window: Window
    shifts: tuple[Shift, ...] = ()  # how sums around some centres become sums around others
    where: str | None = None  # Spark SQL
    grouping: Grouping | None = None
    columns: tuple[ColumnUse, ...] = field(default=())
    explain: bool = False  # EXPLAIN WATCH

    @property
    def watched(self) -> Goal:
        """The condition, or the value that is tracked; a ranking has neither."""
        assert not isinstance(self.goal, Top)
        return self.goal
