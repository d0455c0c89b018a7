"""ALERT WHEN: comparisons joined by AND, OR and NOT, each with its margin, as a goal over the statistics.

NOT is pushed down to the comparisons, which is right under SQL's three values: a comparison without a value is not
met, and neither is its negation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from tacit.functions.expressions import Constant, Expression
from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition
from tacit.language.algebra import binary
from tacit.language.dialect import Margin, quoted
from tacit.language.lowering import Lowering
from tacit.language.rows import has_aggregate, unwrapped
from tacit.language.written import comparison_text
from tacit.vocabulary.errors import SentenceError

__all__ = ["lower_condition"]

OPERATORS: dict[type[exp.Expr], str] = {exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
FLIPPED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
NEGATED = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
EQUALITIES = (exp.EQ, exp.NullSafeEQ, exp.NEQ, exp.NullSafeNEQ)


def lower_condition(
    lowering: Lowering,
    node: exp.Expr,
    tokens: Sequence[Token] = (),
    *,
    negated: bool = False,
    margin: float = 0.0,
) -> Condition:
    """The condition over the statistics; ``negated`` when an odd number of NOTs stands before it.

    ``tokens`` are those of the condition: each comparison knows its text from them.
    """
    node = unwrapped(node)
    if isinstance(node, exp.Not):
        return lower_condition(lowering, node.this, tokens, negated=not negated, margin=margin)
    if isinstance(node, (exp.And, exp.Or)):
        parts = [lower_condition(lowering, side, tokens, negated=negated) for side in (node.this, node.expression)]
        return _joined(parts, every=isinstance(node, exp.And) != negated)
    if isinstance(node, Margin):
        return _with_margin(lowering, node, tokens, negated)
    if type(node) in OPERATORS:
        operator = NEGATED[OPERATORS[type(node)]] if negated else OPERATORS[type(node)]
        found = _comparison(lowering, node, node.this, node.expression, operator, margin)
        return replace(found, text=comparison_text(lowering.source, tokens, node, negated=negated))
    if isinstance(node, exp.Between):
        text = comparison_text(lowering.source, tokens, node, negated=negated)
        low = _comparison(lowering, node, node.this, node.args["low"], "<" if negated else ">=", margin)
        high = _comparison(lowering, node, node.this, node.args["high"], ">" if negated else "<=", margin)
        return _joined([replace(low, text=text), replace(high, text=text)], every=not negated)
    raise _not_a_comparison(lowering, node)


def _with_margin(lowering: Lowering, node: Margin, tokens: Sequence[Token], negated: bool) -> Condition:
    inner = unwrapped(node.this)
    bare = inner
    while isinstance(bare, exp.Not):
        bare = unwrapped(bare.this)
    if type(bare) not in OPERATORS and not isinstance(bare, exp.Between):
        if isinstance(bare, EQUALITIES):
            raise _not_a_comparison(lowering, bare)
        raise lowering.source.error("MARGIN belongs to one comparison", node.expression, "write it after each of them")
    margin = lowering.constant(node.expression, "MARGIN")
    if margin < 0:
        raise lowering.source.error(f"MARGIN {margin:g} is negative", node.expression, "a margin is 0 or more")
    return lower_condition(lowering, inner, tokens, negated=negated, margin=margin)


def _joined(parts: list[Condition], *, every: bool) -> Condition:
    kind = AllOf if every else AnyOf
    flat: list[Condition] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, kind) else [part])
    return kind(tuple(flat))


def _comparison(
    lowering: Lowering, node: exp.Expr, left: exp.Expr, right: exp.Expr, operator: str, margin: float
) -> Comparison:
    for side in (left, right):
        if type(unwrapped(side)) in OPERATORS:
            raise lowering.source.error(
                f"comparisons do not chain: {quoted(node)}", node, "join two comparisons with AND, or write BETWEEN"
            )
    first, second = lowering.number(left), lowering.number(right)
    if isinstance(first, Constant) and isinstance(second, Constant):
        raise lowering.source.error(f"{quoted(node)} does not depend on the data", node, "compare an aggregate")
    if isinstance(second, Constant):
        return Comparison(first, operator, second.value, margin)
    if isinstance(first, Constant):
        return Comparison(second, FLIPPED[operator], first.value, margin)
    difference: Expression = binary("-", first, second)
    return Comparison(difference, operator, 0.0, margin)


def _not_a_comparison(lowering: Lowering, node: exp.Expr) -> SentenceError:
    error = lowering.source.error
    if isinstance(node, EQUALITIES):
        left, right = quoted(node.this), quoted(node.expression)
        if isinstance(node, (exp.EQ, exp.NullSafeEQ)):
            return error(
                f"{left} = {right} cannot be kept: a value equals a number at single points only, with no room around",
                node,
                f"say how close: {left} BETWEEN {right} - 0.1 AND {right} + 0.1",
            )
        return error(
            f"{left} <> {right} cannot be kept: a value equals a number at single points only, with no room around",
            node,
            f"say which side: {left} > {right}, or {left} < {right}",
        )
    if isinstance(node, exp.Is):
        return error(
            f"{quoted(node)} cannot be kept: NULL has no room around it",
            node,
            "a comparison without a value is not met; watch COUNT(x) < 1 to be told of missing values",
        )
    if isinstance(node, exp.In):
        return error(
            f"{quoted(node)} cannot be kept: a value equals a number at single points only", node, "write BETWEEN"
        )
    if isinstance(node, exp.Boolean):
        return error(f"{quoted(node)} does not depend on the data", node, "compare an aggregate")
    if has_aggregate(node) or isinstance(node, (exp.Column, exp.Literal, exp.Neg, exp.Binary)):
        lowering.number(node)  # an unknown name in it is the better message
        text = quoted(node)
        return error(f"{text} is a number, not a condition", node, f"compare it, as in {text} > 0.5")
    return error(f"{quoted(node)} is not a comparison of aggregates", node, "use >, >=, <, <= or BETWEEN")
