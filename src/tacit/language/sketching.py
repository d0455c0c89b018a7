"""SELF_JOIN_SIZE(x), INNER_PRODUCT(x, y) and QUANTILE(x, phi): values that are read off sketches, and tracked alone.

    SELECT aggregate AS name FROM table [, table] [WHERE …] TRACK name WITHIN n PERCENT [SKETCH …]

A sketch is off by a share of what it counts, so nothing absolute can be promised of it, no side of a threshold either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tacit.functions.goals import Accuracy, InnerProduct, Quantile, SelfJoin, SketchGoal
from tacit.language.accuracy import read_accuracy
from tacit.language.aggregates import missing_text, no_value_text
from tacit.language.clauses import Sentence
from tacit.language.dialect import quoted
from tacit.language.lowering import Lowering
from tacit.language.places import Source
from tacit.language.plan import SketchKey, Window
from tacit.language.refusals import USAGES, refused_sketch
from tacit.language.rows import SKETCHED, RowReader, function_name, unwrapped
from tacit.language.selection import Item
from tacit.language.tables import Table
from tacit.language.tokens import Tokens, is_word

__all__ = ["SketchReader", "names_sketch"]

DEFAULTS = {
    "self_join_size": Accuracy(0.05, 0.05),
    "inner_product": Accuracy(0.05, 0.05),
    "quantile": Accuracy(0.01, 0.01),
}
ARITIES = {"self_join_size": 1, "inner_product": 2, "quantile": 2}
VALUES = ("SELECT", "TRACK", "ALERT", "ORDER BY", "HAVING")


def names_sketch(sentence: Sentence, *names: str) -> bool:
    """Is one of these aggregates called (without names, any of the sketches') where values stand?"""
    return bool(_named(sentence, *names))


def _named(sentence: Sentence, *names: str) -> list[Token]:
    """Where these aggregates (without names, any of the sketches') are called, in the order of VALUES."""
    wanted = [name.upper() for name in names or SKETCHED]
    return [
        token
        for word in VALUES
        if word in sentence.clauses
        for token, following in pairwise(sentence.clauses[word].tokens)
        if is_word(token, *wanted) and following.token_type == TokenType.L_PAREN
    ]


@dataclass(frozen=True, slots=True)
class _Value:
    """One of the aggregates, understood."""

    name: str
    keys: tuple[SketchKey, ...]
    phi: float | None = None


class SketchReader:
    """Reads a watch on sketches; ``wheres`` has each table's part of WHERE by the name that stands for the table."""

    def __init__(
        self,
        source: Source,
        sentence: Sentence,
        tables: Sequence[Table],
        rows: RowReader,
        lowering: Lowering,
        wheres: dict[str, str | None],
    ) -> None:
        self.source, self.sentence, self.tables = source, sentence, tables
        self.rows, self.lowering, self.wheres = rows, lowering, wheres

    def selected(self, items: Sequence[Item]) -> tuple[str, exp.Anonymous]:
        """The name of the one value, and its call; whatever stands beside it is refused."""
        found: tuple[str, exp.Anonymous] | None = None
        if not any(_calls(item.tree) for item in items):
            elsewhere = _named(self.sentence)[0]
            raise refused_sketch(self.source, elsewhere.text.casefold(), elsewhere)
        for item in items:
            tree = unwrapped(item.tree)
            calls = _calls(tree)
            if not calls:
                raise self.source.error(
                    f"a watch on a sketch keeps one value, and {quoted(tree)} is another",
                    tree,
                    "write a second watch for it",
                )
            name = function_name(calls[0])
            if isinstance(tree, exp.Filter) and unwrapped(tree.this) is calls[0]:
                raise self.source.error(
                    f"{name.upper()} has no FILTER", tree, "put the condition into WHERE: it is the only aggregate"
                )
            if tree is not calls[0]:
                raise refused_sketch(self.source, name, calls[0])
            if found is not None:
                raise self.source.error(
                    f"a watch on a sketch keeps one value, and {quoted(tree)} is a second",
                    tree,
                    "write a second watch for it",
                )
            found = item.name, calls[0]
        assert found is not None
        return found

    def refuse_clauses(self, name: str, call: exp.Anonymous) -> None:
        """Raises for the first clause that a value of the sketches cannot have."""
        what, usual = function_name(call).upper(), _usual(call)
        track = f"write TRACK {name} WITHIN {usual} PERCENT"
        others = {
            "ALERT": (f"on which side of a number {what} is cannot be kept: a sketch is itself off by a share", track),
            "GROUP BY": (
                f"{what} is kept over all rows, not for every group",
                "leave GROUP BY out, and write a watch with a WHERE for each group",
            ),
            "ORDER BY": (f"{what} is tracked, not ranked", track),
            "LIMIT": (f"{what} is tracked, not ranked", track),
            "PER": ("PER belongs to a ranking", "leave it out"),
            "USING": ("USING belongs to a ranking", "leave it out"),
        }
        for word, clause in self.sentence.clauses.items():
            if word in others:
                reason, nearest = others[word]
                raise self.source.error(reason, clause.keyword, nearest)
        if "TRACK" not in self.sentence.clauses:
            raise self.source.error(
                "the watch does not say what to keep", self.sentence.end, track.replace("write", "end it with")
            )

    def goal(
        self, name: str, call: exp.Anonymous, tracked: exp.Expr, within: exp.Expr, *, percent: bool
    ) -> tuple[SketchGoal, tuple[SketchKey, ...]]:
        """What is kept of the value that SELECT names so, and what its sketches count."""
        value = self._value(call)
        self._check_tracked(name, value, tracked)
        share = self._share(value.name, within, percent=percent)
        accuracy = read_accuracy(self.source, self.sentence.clauses.get("SKETCH"), DEFAULTS[value.name])
        if value.phi is not None:
            return Quantile(value.phi, share, accuracy), value.keys
        kind = SelfJoin if value.name == "self_join_size" else InnerProduct
        return kind(share, accuracy), value.keys

    def check_window(self, window: Window) -> None:
        """Two tables have rows of their own, and no common count of them to step by."""
        if len(self.tables) == 1 or window.every.rows is None:
            return
        clause = self.sentence.clauses.get("EVERY") or self.sentence.clauses["WINDOW"]
        raise self.source.error(
            "the rows of two tables are not counted together, so they give no step", clause.keyword,
            "write EVERY 1 SECOND",
        )  # fmt: skip

    def _check_tracked(self, name: str, value: _Value, tracked: exp.Expr) -> None:
        tree = unwrapped(tracked)
        if isinstance(tree, exp.Column) and len(tree.parts) == 1 and tree.name.casefold() == name.casefold():
            return
        calls = _calls(tree)
        if calls and tree is calls[0]:
            if self._value(calls[0]) == value:
                return
            raise self.source.error(
                f"a watch on a sketch keeps one value, and {quoted(tree)} is a second",
                tree,
                f"write TRACK {name}, or a second watch",
            )
        if calls:
            raise refused_sketch(self.source, function_name(calls[0]), calls[0])
        raise self.source.error(
            f"a watch on a sketch tracks its value as it is, not {quoted(tree)}", tree, f"write TRACK {name}"
        )

    def _share(self, name: str, within: exp.Expr, *, percent: bool) -> float:
        number = self.lowering.constant(within, "WITHIN")
        if not percent:
            reason = "a sketch is off by a share of what it counts, so no absolute error can be promised"
            if name == "quantile":
                reason = "how far a quantile is off is said of its rank, in percent of the rows"
            raise self.source.error(reason, within, f"write WITHIN {1 if name == 'quantile' else 15} PERCENT")
        if number <= 0:
            raise self.source.error(f"WITHIN {number:g} is not above 0", within, "an exact value cannot be kept")
        if number >= 100:
            raise self.source.error(f"WITHIN {number:g} PERCENT promises nothing", within, "stay below 100")
        return number / 100.0

    # The arguments

    def _value(self, call: exp.Anonymous) -> _Value:
        name = function_name(call)
        pieces = self.rows.texts.arguments(call)
        if len(call.expressions) != ARITIES[name] or len(pieces) != ARITIES[name] or not all(pieces):
            hint = None
            if name == "self_join_size" and len(call.expressions) > 1:
                written = ", ".join(quoted(each) for each in call.expressions)
                hint = f"make one key of several: SELF_JOIN_SIZE(concat_ws(' ', {written}))"
            raise self.source.error(f"{name.upper()} is written {USAGES[name]}", call, hint)
        first, *others = call.expressions
        role = "number" if name == "quantile" else "any"
        keys = [self._key(first, pieces[0], role)]
        if name == "quantile":
            return _Value(name, (keys[0][1],), self._phi(call, others[0]))
        if others:
            keys.append(self._key(others[0], pieces[1], role))
        owners = {owner for owner, _ in keys}
        unused = [table for table in self.tables if table.alias.casefold() not in owners]
        if len(self.tables) > 1 and unused:
            one, other = (table.alias for table in self.tables)
            raise self.source.error(
                f"{name.upper()} names nothing of {unused[0].alias}",
                call,
                f"write INNER_PRODUCT({one}.x, {other}.y), or leave {unused[0].alias} out of FROM",
            )
        return _Value(name, tuple(key for _, key in keys))

    def _phi(self, call: exp.Anonymous, tree: exp.Expr) -> float:
        if any(tree.find_all(exp.Column)):
            raise self.source.error("QUANTILE is written QUANTILE(x, 0.99)", call, "the share comes second, a number")
        phi = self.lowering.constant(tree, "the share of QUANTILE")
        if not 0 < phi < 1:
            hint = "the least and the greatest are extremes: COUNT_IF(x > 10) >= 1 watches them"
            if 1 < phi < 100:
                hint = f"write {phi / 100:g}"
            raise self.source.error(f"the share of QUANTILE is between 0 and 1, and {quoted(tree)} is not", tree, hint)
        return phi

    def _key(self, tree: exp.Expr, tokens: Tokens, role: str) -> tuple[str, SketchKey]:
        """The name of the table that an argument is of, and the key."""
        known = len(self.rows.named)
        row = self.rows.read(tree, tokens, role)
        named = list(dict.fromkeys(self.rows.named[known:]))
        if isinstance(unwrapped(tree), exp.Literal) or (len(self.tables) > 1 and not named):
            raise self.source.error(f"{quoted(tree)} is the same in every row", tree, "name a column")
        if len(self.tables) > 1 and len(named) > 1:
            raise self.source.error(
                f"an argument of INNER_PRODUCT is of one table, and {quoted(tree)} names {' and '.join(named)}",
                tree,
                "put what is of the other table into the other argument",
            )
        table = self.tables[0] if len(self.tables) == 1 else _of(self.tables, named[0])
        alias = table.alias.casefold()
        # Keys are told apart, not computed with: one that is a sum may be a date, which is no number.
        missing = missing_text(row, row.present) if role == "number" else no_value_text(row.present)
        return alias, SketchKey(table.name, row.present, self.wheres[alias], missing)


def _calls(tree: exp.Expr) -> list[exp.Anonymous]:
    return [call for call in tree.find_all(exp.Anonymous) if function_name(call) in SKETCHED]


def _usual(call: exp.Anonymous) -> int:
    return 1 if function_name(call) == "quantile" else 15


def _of(tables: Sequence[Table], alias: str) -> Table:
    return next(table for table in tables if table.alias.casefold() == alias)
