"""What is recorded of the rows that a watch on sketches reads: for each of its sketches one plan without sketches.

A sketch counts keys, so its rows are recorded with their key as a group; a quantile's rows with their value as a
contribution. Whoever prepares recordings then needs to know nothing of sketches.

Rows without a value have a key among frequent keys, and do not count in the other sketches. Where such rows are
recorded, a second statistic says which they are, so that one sketch serves both kinds of watches.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.functions.goals import Quantile, SketchGoal
from tacit.functions.statistics import Statistic
from tacit.language.aggregates import no_value_text
from tacit.language.plan import ByKey, SketchKey, WatchPlan
from tacit.vocabulary.calendar import DAY_US, FIXED_UNITS_US

__all__ = ["live_plan", "odd_panes", "recorded_plans", "side_plans"]

_ROWS = Statistic("count(*)", "1", nonnegative=True, count=True)


def recorded_plans(plan: WatchPlan) -> tuple[WatchPlan, ...]:
    """One plan for each table that is to be recorded: the watch itself, or one for each of its sketches."""
    if not isinstance(plan.goal, SketchGoal):
        return (plan,)
    if isinstance(plan.goal, Quantile):  # what is infinite has no rank that could be told
        return tuple(_only_finite(_recorded(plan, key)) for key in plan.keys)
    return tuple(_recorded(plan, key) for key in plan.keys)


def odd_panes(plan: WatchPlan) -> bool:
    """Is a watch on sketches asked for a window that is no whole number of its panes? A sketch knows whole ones only.

    >>> from tacit.language.sentence import parse_watch
    >>> text = "CREATE WATCH w AS SELECT SELF_JOIN_SIZE(k) AS f FROM t WINDOW {} TRACK f WITHIN 5 PERCENT"
    >>> [odd_panes(parse_watch(text.format(f"LAST 10 SECONDS EVERY {n} SECONDS"))) for n in (6, 5)]
    [True, False]
    """
    window, every = plan.window, plan.window.every.duration_us
    if not isinstance(plan.goal, SketchGoal) or every is None or window.kind not in ("time", "since"):
        return False
    whole = window.duration_us if window.kind == "time" else FIXED_UNITS_US.get(window.unit or "day", DAY_US)
    return bool(int(whole or 0) % every)


def side_plans(plan: WatchPlan) -> tuple[WatchPlan, ...]:
    """The watch itself, or of an inner product one for each side, with the side's key and table."""
    if len(plan.arguments) < 2:
        return (plan,)
    return tuple(replace(plan, arguments=(key,), table=key.table, where=key.where) for key in plan.arguments)


def live_plan(plan: WatchPlan) -> WatchPlan:
    """What a live site sums by pane and key for a watch on one sketch: rows, by key or by value.

    By key also rows without a value, whoever asks: other watches on the key may want them.
    """
    key = plan.keys[0]
    recorded = _recorded(plan, key)
    if not isinstance(plan.goal, Quantile):
        return replace(recorded, where=key.where, statistics=(_ROWS, _without_value(key)))
    value = f"CAST({key.expression} AS DOUBLE)"
    return replace(recorded, grouping=ByKey((value,), ("value",)), statistics=(_ROWS,))


def _only_finite(recorded: WatchPlan) -> WatchPlan:
    (value,) = recorded.statistics
    finite = f"abs({value.present}) <= 1.7976931348623157E308"
    return replace(recorded, where=f"{recorded.where} AND {finite}" if recorded.where else finite)


def _without_value(key: SketchKey) -> Statistic:
    missing = key.missing or no_value_text(key.expression)
    return Statistic("without_value", f"CASE WHEN {missing} THEN 1D ELSE 0D END", nonnegative=True, count=True)


def _recorded(plan: WatchPlan, key: SketchKey) -> WatchPlan:
    where = [f"({part})" for part in (key.where, key.missing and f"NOT ({key.missing})") if part]
    columns = tuple(use for use in plan.columns if use.table in (None, key.table))
    value = Statistic("value", f"CAST({key.expression} AS DOUBLE)")
    counted = not isinstance(plan.goal, Quantile)
    told = () if key.missing or not counted else (_without_value(key),)
    return replace(
        plan,
        table=key.table,
        where=" AND ".join(where) or None,
        grouping=ByKey((key.expression,), ("key",), alike=True) if counted else None,
        statistics=(_ROWS if counted else value, *told),
        columns=columns,
        arguments=(),
    )
