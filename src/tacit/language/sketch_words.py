"""What is said to people of a watch on sketches: its goal, what a site keeps for it, and what is promised."""

from __future__ import annotations

import math

from tacit.functions.goals import Frequent, InnerProduct, Quantile, SelfJoin, SketchGoal
from tacit.language.plan import WatchPlan
from tacit.sketches.parameters import Query, Shape
from tacit.sketches.watching import watch_shape

__all__ = [
    "describe_sketches",
    "sketch_call",
    "sketch_goal_text",
    "sketch_guarantee",
    "sketch_kind",
    "sketch_lines",
    "sketch_shape",
]

_KINDS: dict[type[SketchGoal], str] = {
    Frequent: "frequent items", SelfJoin: "self-join size", InnerProduct: "inner product", Quantile: "quantile",
}  # fmt: skip


def sketch_kind(goal: SketchGoal) -> str:
    """What kind of a watch it is, in two words at most."""
    return _KINDS[type(goal)]


def sketch_goal_text(goal: SketchGoal, name: str | None = None) -> str:
    """What is kept; ``name`` is what SELECT calls the value.

    >>> from tacit.functions.goals import Accuracy
    >>> sketch_goal_text(Frequent(10_000.0, 500.0, Accuracy(0.01, 0.01)))
    'the keys with more than 10,000 rows, margin 500'
    >>> sketch_goal_text(SelfJoin(0.15, Accuracy(0.05, 0.05)), "f2")
    'f2 within 15 percent'
    """
    if isinstance(goal, Frequent):
        margin = f", margin {_amount(goal.margin)}" if goal.margin else ""
        return f"the keys with more than {_amount(goal.threshold)} rows{margin}"
    if isinstance(goal, Quantile):
        return f"{name or 'quantile'}, of which the rank is within {_percent(goal.within)} percent of the rows"
    return f"{name or sketch_kind(goal)} within {_percent(goal.within)} percent"


def sketch_call(plan: WatchPlan) -> str | None:
    """The aggregate as it was called, which x0 stands for; None of frequent items, where x0 is COUNT(*)."""
    if not plan.arguments:
        return None
    arguments = [key.expression for key in plan.arguments]
    if isinstance(plan.goal, Quantile):
        return f"quantile({', '.join(arguments)}, {plan.goal.phi:g})"
    return f"{'self_join_size' if isinstance(plan.goal, SelfJoin) else 'inner_product'}({', '.join(arguments)})"


def sketch_shape(goal: SketchGoal) -> Shape:
    """How large the array of each sketch is: ceil(ln 1/delta) rows of at least e/epsilon counters, a power of two."""
    asked: Query = "inner_product" if isinstance(goal, SelfJoin | InnerProduct) else "point"
    return watch_shape(goal.accuracy.epsilon, goal.accuracy.delta, query=asked)


def sketch_guarantee(goal: SketchGoal) -> str:
    """What is promised of a valid answer; rows are those of all sites in the window.

    >>> from tacit.functions.goals import Accuracy
    >>> print(sketch_guarantee(SelfJoin(0.15, Accuracy(0.05, 0.05))))
    with probability at least 0.95 off by at most 15 percent of (the truth + 0.05 * rows^2), and 0.05 * rows^2 more \
(rows: of all sites in the window)
    """
    return " ".join(_guarantee(goal))


def _guarantee(goal: SketchGoal) -> list[str]:
    """The promise in lines."""
    sure, epsilon = f"with probability at least {_amount(1.0 - goal.accuracy.delta)}", _amount(goal.accuracy.epsilon)
    if isinstance(goal, Frequent):
        low, high = _amount(goal.threshold - goal.margin), _amount(goal.threshold + goal.margin)
        return [
            f"{sure} a key in the answer has more than {low} - {epsilon} * rows,",
            f"a key outside it fewer than {high} + {epsilon} * rows (rows: of all sites in the window)",
        ]
    within = _percent(goal.within)
    if isinstance(goal, Quantile):
        return [
            f"by the digests of all sites its rank is within {within} percent of the rows of the rank asked for,",
            f"which is always within {epsilon} * rows of the truth (rows: of all sites in the window)",
        ]
    rows, whose = (
        ("rows^2", "of all sites")
        if isinstance(goal, SelfJoin)
        else ("rows * rows", "of one side and of the other, of all sites")
    )
    return [
        f"{sure} off by at most {within} percent of (the truth + {epsilon} * {rows}),",
        f"and {epsilon} * {rows} more (rows: {whose} in the window)",
    ]


def sketch_lines(plan: WatchPlan, goal: SketchGoal) -> list[tuple[str, str]]:
    """The lines of EXPLAIN WATCH that other watches do not have."""
    shape, lines = sketch_shape(goal), []
    apart = any(key.where != plan.where for key in plan.arguments)
    for index, key in enumerate(plan.arguments):
        of = f" of {key.table}" if len(plan.tables) > 1 else ""
        where = f" where {key.where}" if apart and key.where else ""
        lines.append(("counts" if index == 0 else "", f"{key.expression}{of}{where}"))
    many = "two sketches of" if len(plan.keys) > 1 else "a sketch of"
    each = f"{many} {shape.depth:,} row{'s'[: shape.depth > 1]} by {shape.width:,} counters"
    accuracy = f"epsilon {_amount(goal.accuracy.epsilon)}, delta {_amount(goal.accuracy.delta)}"
    if isinstance(goal, Quantile):
        accuracy = f"epsilon {_amount(goal.accuracy.epsilon)}"
        each = f"of each pane at most {math.ceil(1 / goal.accuracy.epsilon):,} values, evenly by rank"
    lines.append(("each site", f"{each} ({accuracy})"))
    lines += [("guarantee" if index == 0 else "", text) for index, text in enumerate(_guarantee(goal))]
    return lines


def describe_sketches(plan: WatchPlan, goal: SketchGoal) -> dict[str, object]:
    """The sketches as plain values, ready for JSON."""
    shape = sketch_shape(goal)
    return {
        "epsilon": goal.accuracy.epsilon,
        "delta": goal.accuracy.delta,
        "rows": shape.depth,
        "counters": shape.width,
        "keys": [{"table": key.table, "expression": key.expression, "where": key.where} for key in plan.keys],
        "guarantee": sketch_guarantee(goal),
    }


def _amount(number: float) -> str:
    """Whole numbers whole, with commas.

    >>> _amount(12345678.0), _amount(0.015)
    ('12,345,678', '0.015')
    """
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.9g}"


def _percent(share: float) -> str:
    return f"{100.0 * share:.9g}"
