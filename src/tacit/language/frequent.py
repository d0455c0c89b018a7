"""Frequent items: GROUP BY key HAVING COUNT(*) > n [MARGIN m [PERCENT]] [SKETCH …].

The answer is the set of the keys that more than n rows have, counted on sketches. Whatever else HAVING can say is
refused: a sketch counts rows, one key per row, and says of none how small it is.
"""

from __future__ import annotations

import math

from sqlglot import exp

from tacit.functions.expressions import Variable
from tacit.functions.goals import Accuracy, Comparison, Frequent
from tacit.language.accuracy import read_accuracy
from tacit.language.clauses import Sentence, split_list
from tacit.language.conditions import EQUALITIES, lower_condition
from tacit.language.dialect import Margin, quoted, read_condition
from tacit.language.grouping import Groups
from tacit.language.lowering import Lowering
from tacit.language.places import Source
from tacit.language.plan import ByKey
from tacit.language.rows import SKETCHED, function_name, has_aggregate, unwrapped
from tacit.language.selection import Item
from tacit.language.texts import bare
from tacit.language.tokens import is_word
from tacit.vocabulary.errors import SentenceError

__all__ = ["DEFAULT", "HavingClause"]

DEFAULT = Accuracy(epsilon=0.01, delta=0.01)
NEAREST = "write GROUP BY key HAVING COUNT(*) > 10000"


class HavingClause:
    """HAVING, read as a tree before the aliases of SELECT are known."""

    def __init__(self, source: Source, sentence: Sentence) -> None:
        self.source, clauses = source, sentence.clauses
        having = clauses["HAVING"]
        _refuse_others(source, sentence)
        if "GROUP BY" not in clauses:
            raise source.error("HAVING needs groups", having.keyword, NEAREST)
        self._groups = clauses["GROUP BY"]
        tokens = bare(having.tokens)
        percent = tokens[-1] if tokens and (is_word(tokens[-1], "PERCENT") or tokens[-1].text == "%") else None
        self.percent = percent is not None
        self.tree = read_condition(source, tokens[:-1] if percent else tokens, having.keyword, margins=True)
        self._margin = self.tree.find(Margin)
        if percent is not None and self._margin is None:
            raise source.error("PERCENT belongs to MARGIN", percent, "write HAVING COUNT(*) > 10000 MARGIN 5 PERCENT")
        self.accuracy = read_accuracy(source, clauses.get("SKETCH"), DEFAULT)

    def lower(self, lowering: Lowering, groups: Groups, items: list[Item]) -> Frequent:
        """The goal, once the aliases of SELECT are known."""
        self._check_key(groups)
        for item in items:
            if not groups.is_key(item, lowering.rows) and not _counts_rows(item.tree):
                raise self._not_a_count(item.tree, item.tree)
        comparison = self._comparison(lowering)
        if comparison.operator in ("<", "<="):
            raise self.source.error(
                "nearly every key has fewer rows than that, and all of them would be in the answer",
                self.tree,
                f"list those with more: HAVING COUNT(*) > {comparison.threshold:g}",
            )
        number = comparison.threshold
        threshold = math.ceil(number) - 1.0 if comparison.operator == ">=" else number
        if threshold < 1:
            raise self.source.error(
                "every key that is there has a row, and all of them would be in the answer",
                self.tree,
                "say how many are frequent: HAVING COUNT(*) > 10000",
            )
        margin = number * comparison.margin / 100.0 if self.percent else comparison.margin
        if margin >= threshold:
            assert self._margin is not None
            shown = f"{comparison.margin:g}{' PERCENT' if self.percent else ''}"
            raise self.source.error(
                f"MARGIN {shown} promises nothing: a key without any rows might be in the answer",
                self._margin.expression,
                f"stay below {'100' if self.percent else f'{threshold:g}'}",
            )
        return Frequent(threshold, margin, self.accuracy)

    def _check_key(self, groups: Groups) -> None:
        if groups.member is not None:
            raise self.source.error(
                "members of lists are not counted on a sketch",
                self._groups.tokens[0],
                "GROUP BY a key, or watch each member with ALERT WHEN",
            )
        assert isinstance(groups.grouping, ByKey)
        keys = groups.grouping.expressions
        if len(keys) > 1:
            _, second = split_list(self.source, self._groups)[1]
            raise self.source.error(
                "a sketch counts one key", second[0], f"make one of them: GROUP BY concat_ws(' ', {', '.join(keys)})"
            )

    def _comparison(self, lowering: Lowering) -> Comparison:
        """COUNT(*) against a number."""
        for call in self.tree.find_all(exp.Anonymous):
            if has_aggregate(call) and not _counts_rows(call) and function_name(call) not in SKETCHED:
                raise self._not_a_count(call, call)
        inner = unwrapped(self.tree)
        while isinstance(inner, (exp.Not, Margin)):
            inner = unwrapped(inner.this)
        if isinstance(inner, (exp.And, exp.Or)) or any(self.tree.find_all(exp.Filter)):
            raise self.source.error(
                "HAVING compares COUNT(*) with one number, and nothing else",
                self.tree,
                "put what is said of a row into WHERE, and write one watch for each number",
            )
        if isinstance(inner, (*EQUALITIES, exp.Between, exp.In, exp.Is)):
            raise self.source.error(
                "HAVING lists the keys that more than so many rows have", inner, "write HAVING COUNT(*) > 10000"
            )
        condition = lower_condition(lowering, self.tree)
        if not isinstance(condition, Comparison) or not isinstance(condition.expression, Variable):
            raise self.source.error(
                f"{quoted(inner)} computes with the count, which a sketch only compares with a number",
                inner,
                "write HAVING COUNT(*) > 10000",
            )
        return condition

    def _not_a_count(self, tree: exp.Expr, at: exp.Expr) -> SentenceError:
        """What is not COUNT(*), with what can be kept of it."""
        tree = unwrapped(tree)
        text = quoted(tree)
        name = function_name(tree) if isinstance(tree, exp.Anonymous) else ""
        nearest = f"watch it in every group, GROUP BY key ALERT WHEN {text} > 1000"
        if name in ("count", "count_if") or isinstance(tree, exp.Filter):
            nearest = "put the condition on the rows into WHERE, and write COUNT(*)"
        elif name == "sum":
            nearest = f"rank the keys instead, ORDER BY {text} DESC LIMIT 20, or {nearest}"
        elif all(_counts_rows(call) for call in tree.find_all(exp.Anonymous) if has_aggregate(call)):
            nearest = "SELECT the key and COUNT(*)"
        return self.source.error(f"a sketch counts rows, so {text} cannot be kept on it", at, nearest)


def _counts_rows(tree: exp.Expr) -> bool:
    """Is it COUNT(*), or COUNT(1)?"""
    call = unwrapped(tree)
    if not isinstance(call, exp.Anonymous) or function_name(call) != "count" or len(call.expressions) != 1:
        return False
    return isinstance(unwrapped(call.expressions[0]), (exp.Star, exp.Literal))


def _refuse_others(source: Source, sentence: Sentence) -> None:
    told = "a key that enters or leaves is told by itself"
    others = {
        "ALERT": (f"HAVING keeps the keys that pass: {told}", "leave ALERT out, or HAVING"),
        "TRACK": (f"HAVING keeps the keys that pass: {told}", "leave TRACK out, or HAVING"),
        "ORDER BY": ("keys that pass are a set without an order", "leave ORDER BY out, or rank without HAVING"),
        "LIMIT": (
            "every key that passes is in the answer",
            "leave LIMIT out, or write ORDER BY COUNT(*) DESC LIMIT … without HAVING",
        ),
        "PER": ("PER belongs to a ranking", "leave it out"),
        "USING": ("USING belongs to a ranking", "leave it out"),
    }
    for word, clause in sentence.clauses.items():
        if word in others:
            reason, nearest = others[word]
            raise source.error(reason, clause.keyword, nearest)
