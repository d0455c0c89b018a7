"""A watch, understood: what the parser hands to the pipelines and to the protocols."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.functions.expressions import Expression
from tacit.functions.goals import Frequent, Goal, SketchGoal, Top
from tacit.functions.statistics import Moment, Shift, Statistic

__all__ = ["ByKey", "ByMember", "ColumnUse", "Every", "Grouping", "SketchKey", "WatchPlan", "Window"]

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
    alike: bool = False  # numbers that are equal are one key, whatever their types here and at other sites


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
    table: str | None = None  # whose it is, in a sentence with two tables; None: of the only one


@dataclass(frozen=True, slots=True)
class SketchKey:
    """What a sketch counts: every row of ``table`` that counts adds one to the value of ``expression``.

    A row counts where ``where`` is true (NULL is no) and ``missing``, if there is one, is not.
    """

    table: str
    expression: str  # Spark SQL over the columns of that table; QUANTILE's is a number
    where: str | None = None  # Spark SQL over the columns of that table
    missing: str | None = None  # Spark SQL, never NULL: the expression has no value (NULL or NaN). None: NULL is a key


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """One CREATE WATCH … AS SELECT …, checked and lowered.

    A watch on sketches (its goal is a ``SketchGoal``) has ``keys``, which say what each of its sketches counts.
    Frequent items have their key as ``grouping`` too, and COUNT(*) as their one statistic. The other three have no
    statistics: in their one output x0 stands for what the sketches say, and ``arguments`` are their keys, those of an
    inner product in the order of the sentence. With two tables ``table`` and ``where`` are those of FROM's first.
    """

    name: str
    text: str
    table: str
    outputs: tuple[tuple[str, Expression], ...]  # SELECT aliases, in order (group columns left out)
    goal: Goal | Top | SketchGoal
    statistics: tuple[Statistic, ...]
    moments: tuple[Moment, ...]
    centres: tuple[str, ...]  # Spark SQL whose rough mean is measured and subtracted before squares are summed
    window: Window
    shifts: tuple[Shift, ...] = ()  # how sums around some centres become sums around others
    where: str | None = None  # Spark SQL
    grouping: Grouping | None = None
    arguments: tuple[SketchKey, ...] = ()  # of SELF_JOIN_SIZE, INNER_PRODUCT or QUANTILE
    columns: tuple[ColumnUse, ...] = field(default=())
    explain: bool = False  # EXPLAIN WATCH

    @property
    def watched(self) -> Goal:
        """The condition, or the value that is tracked by its statistics; rankings and sketches have neither."""
        assert not isinstance(self.goal, Top | SketchGoal)
        return self.goal

    @property
    def keys(self) -> tuple[SketchKey, ...]:
        """What each sketch of the watch counts: one key, or two for an inner product; () without sketches."""
        if isinstance(self.goal, Frequent):
            assert isinstance(self.grouping, ByKey)
            return (SketchKey(self.table, self.grouping.expressions[0], self.where),)
        return self.arguments

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the watch reads: one, but of an inner product perhaps two."""
        return tuple(dict.fromkeys((self.table, *(key.table for key in self.arguments))))
