"""Which comparison of a condition made it begin to hold, or cease to: alerts name that one.

When the condition begins to hold, it is the first comparison, in the order of the sentence, that has become true and
made a part joined by OR, or the last part joined by AND, true. When it ceases to hold, it is the first that was true
and is not any more. Where several joined parts have changed, the first of them is looked into.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition, comparisons

__all__ = ["deciding", "holds"]


def holds(comparison: Comparison, value: float) -> bool:
    """Is the comparison true of this value of its expression? Without a value (nan) it is not.

    >>> from tacit.functions.expressions import Variable
    >>> holds(Comparison(Variable(0), ">=", 2.0), 2.0), holds(Comparison(Variable(0), "<", 2.0), float("nan"))
    (True, False)
    """
    match comparison.operator:
        case ">":
            return value > comparison.threshold
        case ">=":
            return value >= comparison.threshold
        case "<":
            return value < comparison.threshold
        case "<=":
            return value <= comparison.threshold
    raise ValueError(f"unknown comparison {comparison.operator}")


def deciding(condition: Condition, before: Sequence[float], now: Sequence[float]) -> int:
    """The number of the comparison that made the condition what it is now, counted from 0 in the sentence's order.

    ``before`` and ``now`` are the values of all comparisons when the condition was last looked at, and now.

    >>> from tacit.functions.expressions import Variable
    >>> either = AnyOf((Comparison(Variable(0), ">", 1.0), Comparison(Variable(1), "<", 2.0)))
    >>> deciding(either, [0.0, 5.0], [0.0, 1.0]), deciding(either, [0.0, 1.0], [0.0, 5.0])
    (1, 1)
    """
    tree, first = condition, 0
    while isinstance(tree, AllOf | AnyOf):
        met = _is_met(tree, iter(now[first:]))
        fitting: list[tuple[Condition, int]] = []
        turned: list[tuple[Condition, int]] = []
        for part in tree.parts:
            if _is_met(part, iter(now[first:])) == met:
                fitting.append((part, first))
                if _is_met(part, iter(before[first:])) != met:
                    turned.append((part, first))
            first += len(comparisons(part))
        tree, first = (turned or fitting)[0]
    return first


def _is_met(condition: Condition, values: Iterator[float]) -> bool:
    """Does the condition hold? The values are those of its comparisons, in order."""
    if isinstance(condition, Comparison):
        return holds(condition, float(next(values)))
    parts = [_is_met(part, values) for part in condition.parts]
    return all(parts) if isinstance(condition, AllOf) else any(parts)
