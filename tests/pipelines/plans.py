"""Watch plans made by hand, so that these tests say what a pipeline needs of one and nothing else."""

from __future__ import annotations

from typing import Any

from tacit.functions.expressions import Variable
from tacit.functions.goals import Comparison
from tacit.functions.statistics import Statistic
from tacit.language.plan import Every, WatchPlan, Window

__all__ = ["count_of", "sum_of", "watch"]


def watch(*statistics: tuple[str, ...], **parts: Any) -> WatchPlan:
    """A plan with these statistics; a window, a goal and names that no pipeline looks at."""
    return WatchPlan(
        name="w",
        text="CREATE WATCH w …",
        table="data",
        outputs=(("a", Variable(0)),),
        goal=Comparison(Variable(0), ">", 0.0),
        statistics=tuple(_statistic(*texts) for texts in statistics),
        moments=(),
        centres=parts.pop("centres", ()),
        window=parts.pop("window", Window("rows", Every(rows=1), rows=100)),
        **parts,
    )


def _statistic(name: str, present: str, absent: str = "0") -> Statistic:
    return Statistic(name, present, absent)


def sum_of(column: str) -> tuple[str, str]:
    """SUM(column): NULL and NaN are skipped."""
    return f"sum_{column}", f"CASE WHEN {column} IS NULL OR isnan({column}) THEN 0 ELSE {column} END"


def count_of(column: str) -> tuple[str, str]:
    """COUNT(column): NULL and NaN are skipped."""
    return f"count_{column}", f"CASE WHEN {column} IS NULL OR isnan({column}) THEN 0 ELSE 1 END"
