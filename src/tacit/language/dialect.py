"""Our dialect of SQL: Spark's, read by sqlglot, with ``MARGIN`` after a comparison.

The clauses of a watch (WINDOW, ALERT, TRACK …) are cut out of the token stream by ``clauses``; everything inside a
clause that is an expression is read here, as Spark SQL. Functions are kept by name instead of being turned into
sqlglot's own nodes, so that what reaches Spark is what was written. Every failure is a SentenceError with a place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar, NoReturn

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parser import Parser
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from tacit.language.places import Source, closest
from tacit.vocabulary.errors import SentenceError

__all__ = ["KEYWORDS", "Margin", "Tacit", "quoted", "read_condition", "read_item", "tokenize"]

KEYWORDS = (
    "SELECT", "FROM", "WHERE", "WINDOW", "LAST", "SINCE", "EVERY", "ROWS", "GROUP BY", "ALERT", "WHEN", "TRACK",
    "WITHIN", "PERCENT", "MARGIN", "SKETCH", "AND", "OR", "NOT", "BETWEEN", "AS",
)  # fmt: skip
OPERATORS = {
    *(TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD, TokenType.AND, TokenType.OR),
    *(TokenType.GT, TokenType.GTE, TokenType.LT, TokenType.LTE, TokenType.EQ, TokenType.NEQ, TokenType.NOT),
}
HINTS = {
    TokenType.COMMA: "join conditions with AND or OR",
    TokenType.PERCENT: "a margin is a number of its own, not a share of another",
}
MISTAKEN = {
    "=>": "did you mean >=?",
    "=<": "did you mean <=?",
    "WITHIN": "a condition has a MARGIN; WITHIN belongs to TRACK",
    "WITH": "write MARGIN 0.1 right after the comparison",
}
OPENERS = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}


class Margin(exp.Expression):
    """``comparison MARGIN number``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class _MisreadError(ParseError):
    """sqlglot stopped: which token it stood at (none at the end) and which came before."""

    def __init__(self, message: str, current: Token, previous: Token) -> None:
        super().__init__(message)
        self.current, self.previous = current, previous


class TacitParser(SparkParser):
    """Spark's parser; functions stay as they are named, operands remember where they start."""

    FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., exp.Expr | None]]] = {
        name: parser
        for name, parser in SparkParser.FUNCTION_PARSERS.items()
        if name in {"CAST", "TRY_CAST", "EXTRACT", "POSITION", "OVERLAY", "SUBSTRING", "SUBSTR", "TRIM"}
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., exp.Expr | None]]] = {
        name: parser for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name in {"CASE", "IF"}
    }
    margins = False  # MARGIN is a keyword only inside ALERT WHEN

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        raise _MisreadError(message, self._curr, self._prev)

    def read(self, method: Callable[[Parser], exp.Expr | None], tokens: Sequence[Token], text: str) -> exp.Expr | None:
        return self._parse(method, list(tokens), text)[0]

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        this = super()._parse_equality(parse_is)
        if this is not None and self.margins and self._match_text_seq("MARGIN"):
            return self.expression(Margin(this=this, expression=self._parse_bitwise()))
        return this

    def _parse_unary(self) -> exp.Expr | None:
        start = self._curr
        this = super()._parse_unary()
        if this is not None and "start" not in this.meta and not isinstance(this, exp.Column):
            this.update_positions(start)
        return this


class Tacit(Spark):
    """The dialect itself, on top of Spark's."""

    class Tokenizer(Spark.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()  # EXPLAIN and SHOW are words like any other, not raw commands

    Parser = TacitParser

    class Generator(SparkGenerator):
        def margin_sql(self, expression: Margin) -> str:
            return f"{self.sql(expression, 'this')} MARGIN {self.sql(expression, 'expression')}"


def tokenize(source: Source) -> list[Token]:
    """The tokens of a script; comments are left out."""
    try:
        return Tacit().tokenize(source.text)
    except TokenError as error:
        missing = re.search(r"Missing (.+) from \d+:(\d+)", str(error.__cause__ or error))
        if missing:
            quote = missing.group(1)
            name = "text" if quote in "'\"" else "name"
            raise source.error(
                f"a {name} that starts with {quote} never ends", int(missing.group(2)), f"close it with {quote}"
            ) from None
        comment = source.text.rfind("/*")
        if comment >= 0 and "*/" not in source.text[comment:]:
            raise source.error("a comment that starts with /* never ends", comment, "close it with */") from None
        raise source.error("this cannot be read as SQL", error.start or 0) from None


def read_item(source: Source, tokens: Sequence[Token], after: Token) -> exp.Expr:
    """One item of a list: an expression, with an alias perhaps. ``after`` is the token it follows."""
    if tokens and tokens[-1].token_type == TokenType.ALIAS:
        raise source.error("a name is missing after AS", source.end_of(tokens[-1]))
    return _read(source, tokens, after, Parser._parse_expression, margins=False)


def read_condition(source: Source, tokens: Sequence[Token], after: Token, *, margins: bool) -> exp.Expr:
    """An expression without an alias; with ``margins``, MARGIN may follow each comparison."""
    return _read(source, tokens, after, Parser._parse_disjunction, margins=margins)


def quoted(node: exp.Expr) -> str:
    """A tree as a message quotes it. What Spark is given is never this, but the text that was written."""
    try:
        return node.sql(dialect=Tacit, comments=False, normalize_functions=False, unsupported_level=ErrorLevel.IGNORE)
    except (ValueError, TypeError, AttributeError, LookupError):
        return "this"  # a tree of a kind that has no text


def _read(
    source: Source,
    tokens: Sequence[Token],
    after: Token,
    method: Callable[[Parser], exp.Expr | None],
    *,
    margins: bool,
) -> exp.Expr:
    if not tokens:
        raise source.error(f"nothing follows {after.text}", source.end_of(after))
    parser = TacitParser(error_level=ErrorLevel.IMMEDIATE, dialect=Tacit())
    parser.margins = margins
    try:
        tree = parser.read(method, tokens, source.text)
    except _MisreadError as error:
        raise _explained(source, error, tokens) from None
    except RecursionError:
        raise source.error("this is nested too deeply", tokens[0]) from None
    except (ParseError, ValueError, TypeError, AttributeError, LookupError, AssertionError):
        # sqlglot meets some impossible token sequences with Python's own errors; to the user they are all the same.
        raise source.error("this cannot be read as an expression", tokens[0]) from None
    if tree is None:
        raise source.error(f"did not expect {tokens[0].text} here", tokens[0])
    return tree


def _is_decimal_comma(before: Token | None, at: Token, tokens: Sequence[Token]) -> bool:
    """Is this the comma of ``10,5``, without blanks?"""
    after = next((token for token in tokens if token.start == at.end + 1), None)
    numbers = before and before.token_type == after.token_type == TokenType.NUMBER if after else False
    return at.token_type == TokenType.COMMA and bool(numbers) and before is not None and before.end + 1 == at.start


def _explained(source: Source, error: _MisreadError, tokens: Sequence[Token]) -> SentenceError:
    """What sqlglot found, in the user's words."""
    at, before = error.current, error.previous
    if not at:
        last = tokens[-1]
        return source.error(f"something is missing after {last.text}", source.end_of(last))
    unfinished = before and before.token_type in OPERATORS
    if unfinished or "Required argument" in str(error) or "Expected" in str(error):
        return source.error(f"something is missing before {at.text}", at)
    if at.token_type in OPENERS and before and before.token_type == TokenType.VAR:
        at = before
    meant = closest(at.text, KEYWORDS) if at.token_type == TokenType.VAR else None
    if meant and meant != at.text.upper():
        return source.error(f"did not expect {at.text} here", at, f"did you mean {meant}?")
    if _is_decimal_comma(before, at, tokens):
        return source.error(f"did not expect {at.text} here", at, "decimals are written with a point")
    if at.text == "=" and before and before.text.upper() == "MARGIN":
        return source.error("did not expect = here", at, "MARGIN 0.1 is written without it")
    if at.text.upper() in MISTAKEN:
        return source.error(f"did not expect {at.text} here", at, MISTAKEN[at.text.upper()])
    operand = at.token_type in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING)
    hint = "is a comma or an operator missing before it?" if operand else HINTS.get(at.token_type)
    return source.error(f"did not expect {at.text} here", at, hint)
