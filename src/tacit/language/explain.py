"""EXPLAIN WATCH: what a plan watches, on which statistics, and in which form, as a dictionary and as text.

The predicted cost needs numbers about the data, which the language has not; whoever has them hands them in as
``predicted`` (name to number), and they are shown beside the plan.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacit.functions.entropies import as_entropy
from tacit.functions.expressions import Binary, ChiSquare, Expression, InformationGain, Opaque, Unary
from tacit.functions.forms import opaques
from tacit.functions.goals import AllOf, AnyOf, Comparison, Frequent, Goal, SketchGoal, Top, Track, comparisons
from tacit.functions.polynomials import as_fraction, degree_of
from tacit.language.plan import ByKey, ByMember, Every, WatchPlan, Window
from tacit.language.sketch_words import describe_sketches, sketch_call, sketch_goal_text, sketch_kind, sketch_lines

__all__ = [
    "describe",
    "every_text",
    "explain_text",
    "form_of",
    "goal_expressions",
    "goal_text",
    "readable",
    "window_text",
]

UNITS_US = (
    ("week", 604_800_000_000), ("day", 86_400_000_000), ("hour", 3_600_000_000), ("minute", 60_000_000),
    ("second", 1_000_000), ("millisecond", 1_000), ("microsecond", 1),
)  # fmt: skip
FORMULA_MAX = 100  # longer ones say less than their form does
DEGREES = ("constant", "affine", "quadratic")
_EXACT, _REGION, _BALL = "half-space, exact", "convex region, or half-space at its nearest point, or ball", "ball"
_CURVED = "curvature, by bounds of the Hessian in a box, or ball"
_ZONES = {
    "constant": _EXACT, "affine": _EXACT, "ratio of affine": _EXACT, "quadratic": _REGION, "entropy": _BALL,
    "square root of quadratic": _REGION, "information gain": _BALL, "a Python function with a bound": _BALL,
    "a Python function without a bound": _BALL,
}  # fmt: skip


def describe(plan: WatchPlan, *, predicted: Mapping[str, float] | None = None) -> dict[str, object]:
    """The plan as plain values, ready for JSON."""
    names = [statistic.name for statistic in plan.statistics]
    expressions = dict(plan.outputs)
    sketches = isinstance(plan.goal, SketchGoal)
    return {
        "watch": plan.name,
        "table": plan.table,
        "where": plan.where,
        "shape": _shape(plan),
        "goal": goal_text(plan.goal, names, expressions),
        "margins": [goal.margin for goal in _with_margins(plan.goal)],
        "outputs": [
            {"name": name, "formula": formula, "form": "sketch" if sketches else form_of(expression)}
            for (name, expression), (_, formula) in zip(plan.outputs, _formulas(plan, names), strict=True)
        ],
        "forms": [form_of(expression) for expression in goal_expressions(plan.goal)],
        "statistics": [
            {"name": statistic.name, "count": statistic.count, "nonnegative": statistic.nonnegative}
            for statistic in plan.statistics
        ],
        "centres": list(plan.centres),
        "window": window_text(plan.window, with_value=_counts_values(plan)),
        "every": every_text(plan.window.every),
        "groups": _groups_text(plan),
        "columns": sorted({use.name for use in plan.columns}),
        "zones": None if isinstance(plan.goal, Top | SketchGoal) else _zone_words(plan),
        "protocol": _ranking_words(plan.goal) if isinstance(plan.goal, Top) else None,
        "sketch": describe_sketches(plan, plan.goal) if isinstance(plan.goal, SketchGoal) else None,
        "unsound": [node.name for node in _opaque(plan) if node.unsound],
        "predicted": dict(predicted) if predicted is not None else None,
    }


def explain_text(plan: WatchPlan, *, predicted: Mapping[str, float] | None = None) -> str:
    """The plan as a few lines for people.

    >>> from tacit.language.sentence import parse_watch
    >>> plan = parse_watch("EXPLAIN WATCH w AS SELECT AVG(x) AS m FROM t WINDOW LAST 1 HOUR ALERT WHEN m > 3")
    >>> print(explain_text(plan))
    watch w on t
      keeps       m > 3 (threshold)
      m           sum(x) / count(x): ratio of affine
      window      last 1 hour
      panes       every 36 seconds
      statistics  sum(x)
                  count(x)
      zones       half-space, exact
    """
    names = [statistic.name for statistic in plan.statistics]
    expressions = dict(plan.outputs)
    lines: list[tuple[str, str]] = [("keeps", f"{goal_text(plan.goal, names, expressions)} ({_shape(plan)})")]
    if isinstance(plan.goal, SketchGoal):
        lines += [(name, f"{_bare(formula)}, as the sketches estimate it") for name, formula in _formulas(plan, names)]
    else:
        lines += [(name, _formula(value, names)) for name, value in plan.outputs]
    known = {id(value) for value in expressions.values()}
    for value in goal_expressions(plan.goal):
        if id(value) not in known:
            lines.append(("compares", _formula(value, names)))
    if plan.where and all(key.where == plan.where for key in plan.arguments):
        lines.append(("where", plan.where))
    lines.append(("window", window_text(plan.window, with_value=_counts_values(plan))))
    lines.append(("panes", f"every {every_text(plan.window.every)}"))
    if (groups := _groups_text(plan)) is not None:
        lines.append(("groups", groups))
    if isinstance(plan.goal, SketchGoal):
        lines += sketch_lines(plan, plan.goal)
    else:
        lines += [("statistics" if index == 0 else "", name) for index, name in enumerate(names)]
        if isinstance(plan.goal, Top):
            lines.append(("protocol", _ranking_words(plan.goal)))
        else:
            lines.append(("zones", _zone_words(plan)))
    lines += [("unsound", f"{node.name} has no proved bound") for node in _opaque(plan) if node.unsound]
    for index, (what, number) in enumerate((predicted or {}).items()):
        lines.append(("predicted" if index == 0 else "", f"{what}: {number:,.6g}"))
    width = max(12, *(len(left) + 2 for left, _ in lines))
    on = " and ".join(plan.tables)
    return "\n".join([f"watch {plan.name} on {on}", *(f"  {left:<{width}}{right}" for left, right in lines)])


def _with_margins(goal: Goal | Top | SketchGoal) -> list[Comparison] | list[Frequent]:
    return [goal] if isinstance(goal, Frequent) else comparisons(goal)


def _formulas(plan: WatchPlan, names: list[str]) -> list[tuple[str, str]]:
    """Each output with its formula; x0 of a value that is read off sketches is the call itself."""
    call = sketch_call(plan)
    return [(name, readable(expression, names if call is None else [call])) for name, expression in plan.outputs]


def _formula(expression: Expression, names: list[str]) -> str:
    text = _bare(readable(expression, names))
    return f"{text}: {form_of(expression)}" if len(text) <= FORMULA_MAX else f"{form_of(expression)}"


def form_of(expression: Expression) -> str:
    """The form in which an expression can be bounded: the simpler, the tighter.

    >>> from tacit.functions.expressions import Variable
    >>> form_of(Variable(0) / Variable(1)), form_of(Unary("sqrt", Variable(0) * Variable(1)))
    ('ratio of affine', 'square root of quadratic')
    """
    if isinstance(expression, Unary) and expression.operator == "sqrt":
        return f"square root of {form_of(expression.operand)}"
    fraction = as_fraction(expression)
    if fraction is not None:
        above, below = degree_of(fraction.numerator()), degree_of(fraction.denominator())
        if below == 0:
            return _degree(above)
        return f"ratio of {_degree(max(above, below))}"
    if isinstance(expression, InformationGain):
        return "information gain"
    if isinstance(expression, ChiSquare):
        return "chi-square"
    if isinstance(expression, Opaque):
        return "a Python function without a bound" if expression.lipschitz is None else "a Python function with a bound"
    if as_entropy(expression) is not None:
        return "entropy"
    return "general"


def _zone_words(plan: WatchPlan) -> str:
    """Which zones can be proved; where they are made, the largest is taken."""
    if isinstance(plan.grouping, ByMember):
        return "ball"
    words = {_ZONES.get(form_of(each), _CURVED) for each in goal_expressions(plan.goal)}
    return "; ".join(sorted(words))


def _shape(plan: WatchPlan) -> str:
    if isinstance(plan.goal, Top):
        return "ranking"
    if isinstance(plan.goal, SketchGoal):
        return sketch_kind(plan.goal)
    return "tracking" if isinstance(plan.goal, Track) else "threshold"


def _ranking_words(goal: Top) -> str:
    """Which protocol keeps a ranking, and why."""
    if goal.using == "topico":
        return "topico: sites tell each other their candidates every pane, as asked for; no promise at every pane"
    if not goal.largest:
        return "coordinator, with every group known to it: a group that has just come may be the smallest"
    return "coordinator: sites speak when a group outside may have overtaken one inside"


def _degree(degree: int) -> str:
    return DEGREES[degree] if degree < len(DEGREES) else f"polynomial of degree {degree}"


def readable(expression: Expression, names: list[str]) -> str:
    """The formula with the statistics by name.

    >>> from tacit.functions.expressions import Variable
    >>> readable(Variable(0) / Variable(1), ["sum(x)", "count(x)"])
    '(sum(x) / count(x))'
    """
    if isinstance(expression, Unary):
        inner = readable(expression.operand, names)
        return f"-{inner}" if expression.operator == "neg" else f"{expression.operator}({_bare(inner)})"
    if isinstance(expression, Binary):
        left, right = readable(expression.left, names), readable(expression.right, names)
        if expression.operator in ("+", "-", "*", "/"):
            return f"({left} {expression.operator} {right})"
        return f"{expression.operator}({_bare(left)}, {_bare(right)})"
    if isinstance(expression, (InformationGain, ChiSquare)):
        cells = (expression.c11, expression.c12, expression.c21, expression.c22)
        name = "information_gain" if isinstance(expression, InformationGain) else "chi_square"
        return f"{name}({', '.join(readable(cell, names) for cell in cells)})"
    if isinstance(expression, Opaque):
        return f"{expression.name}({', '.join(_bare(readable(part, names)) for part in expression.arguments)})"
    text = str(expression)
    return names[int(text[1:])] if text.startswith("x") and text[1:].isdigit() else text


def _bare(text: str) -> str:
    """Without the outer parentheses, where they enclose everything."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and index < len(text) - 1:
            return text
    return text[1:-1]


def goal_text(goal: Goal | Top | SketchGoal, names: list[str], outputs: Mapping[str, Expression] | None = None) -> str:
    """What is kept, in the words of the sentence where SELECT gave it a name."""
    if isinstance(goal, SketchGoal):
        return sketch_goal_text(goal, next(iter(outputs or {}), None))
    if isinstance(goal, (AllOf, AnyOf)):
        word = " AND " if isinstance(goal, AllOf) else " OR "
        texts = [goal_text(part, names, outputs) for part in goal.parts]
        return word.join(
            f"({text})" if isinstance(part, (AllOf, AnyOf)) else text
            for part, text in zip(goal.parts, texts, strict=True)
        )
    named = [name for name, value in (outputs or {}).items() if value is goal.expression]
    text = named[0] if named else _bare(readable(goal.expression, names))
    if isinstance(goal, Top):
        within = f", within {goal.within:g}" if goal.within else ""
        ranked = f", scores within {goal.ranked:g}" if goal.ranked is not None else ""
        which = "largest" if goal.largest else "smallest"
        return f"the {'group' if goal.k == 1 else f'{goal.k:,} groups'} with the {which} {text}{within}{ranked}"
    if isinstance(goal, Track):
        return f"{text} within {goal.within:g}{' percent' if goal.percent else ''}"
    margin = f" margin {goal.margin:g}" if goal.margin else ""
    return f"{text} {goal.operator} {goal.threshold:g}{margin}"


def goal_expressions(goal: Goal | Top | SketchGoal) -> list[Expression]:
    """The expressions over statistics that a goal looks at; what is read off sketches has none."""
    return [goal.expression] if isinstance(goal, Track | Top) else [part.expression for part in comparisons(goal)]


def window_text(window: Window, *, with_value: bool = False) -> str:
    """The window in words; ``with_value``: rows without a value have no part in it."""
    if window.kind == "rows":
        which = " with a value" if with_value else ""
        return f"last {window.rows:,} row{'' if window.rows == 1 else 's'}{which} of each site"
    if window.kind == "time":
        return f"last {_duration(window.duration_us or 0)}"
    return f"since the start of the {window.unit} (UTC)" if window.kind == "since" else "everything since the start"


def _counts_values(plan: WatchPlan) -> bool:
    """Are rows without a value left out of what the watch counts, and so of its windows of rows?"""
    return isinstance(plan.goal, SketchGoal) and any(key.missing for key in plan.keys)


def every_text(every: Every) -> str:
    if every.rows is not None:
        return f"{every.rows:,} row{'' if every.rows == 1 else 's'}"
    return _duration(every.duration_us or 0)


def _duration(duration_us: int) -> str:
    for name, length in UNITS_US:
        if duration_us >= length and duration_us % length == 0:
            number = duration_us // length
            return f"{number:,} {name}{'' if number == 1 else 's'}"
    return f"{duration_us} microseconds"


def _groups_text(plan: WatchPlan) -> str | None:
    if isinstance(plan.grouping, ByKey):
        names, per = plan.grouping.names, plan.goal.per if isinstance(plan.goal, Top) else 0
        lists = f", in a list of its own for each {', '.join(names[-per:])}" if per else ""
        return f"one per {', '.join(names[: len(names) - per])}{lists}"
    if isinstance(plan.grouping, ByMember):
        return f"one per {plan.grouping.name}, each member of {plan.grouping.expression}"
    return None


def _opaque(plan: WatchPlan) -> list[Opaque]:
    found = [node for root in goal_expressions(plan.goal) for node in opaques(root)]
    return list({node.name: node for node in found}.values())
