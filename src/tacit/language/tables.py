"""FROM: the table of a watch, or the two of an inner product, and the names that may stand before their columns."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from tacit.language.clauses import Clause
from tacit.language.places import Source, closest
from tacit.language.refusals import refuse_from
from tacit.language.tokens import is_word

__all__ = ["Table", "read_tables"]

JOINS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI", "OUTER", ",")
CLAUSES = ("WINDOW", "WHERE", "GROUP BY", "HAVING", "ALERT", "TRACK", "EVERY", "SKETCH")


@dataclass(frozen=True, slots=True)
class Table:
    """A table that FROM names: ``alias`` (its last name, where no other is given) may stand before its columns."""

    name: str
    alias: str
    at: Token


def read_tables(source: Source, clause: Clause, *, several: bool) -> tuple[Table, ...]:
    """The tables in order; more than one only where ``several`` are allowed, and then two."""
    rest = list(clause.tokens)
    if not rest:
        raise source.error("FROM names no table", source.end_of(clause.keyword))
    tables = [_table(source, rest, several=several)]
    while rest:
        comma = rest.pop(0)
        if len(tables) == 2:
            raise refuse_from(source, comma, several=True)
        if not rest:
            raise source.error("something is missing after the comma", source.end_of(comma))
        other = _table(source, rest, several=several)
        if other.alias.casefold() == tables[0].alias.casefold():
            raise source.error(
                f"{other.alias} stands for two tables",
                other.at,
                f"give one of them another name, as in FROM {tables[0].name} a, {other.name} b",
            )
        tables.append(other)
    return tuple(tables)


def _table(source: Source, rest: list[Token], *, several: bool) -> Table:
    """Takes one table from what is left of FROM, up to a comma that may stand there."""

    def ends() -> bool:
        if rest and is_word(rest[0], *JOINS) and not (several and rest[0].text == ","):
            raise refuse_from(source, rest[0], several=several)
        return not rest or rest[0].token_type == TokenType.COMMA

    first = rest[0]
    if first.token_type == TokenType.L_PAREN:
        raise source.error("a watch has no subqueries", first, "put the condition into WHERE")
    parts = [_name_part(source, rest.pop(0))]
    while rest and rest[0].token_type == TokenType.DOT:
        dot = rest.pop(0)
        if not rest:
            raise source.error("a name is missing after the dot", source.end_of(dot))
        parts.append(_name_part(source, rest.pop(0)))
    alias = parts[-1]
    if not ends():
        explicit = is_word(rest[0], "AS")
        if explicit and len(rest) == 1:
            raise source.error("a name is missing after AS", source.end_of(rest[0]))
        meant = closest(rest[0].text, CLAUSES)
        if not explicit and len(rest) > 1 and rest[1].token_type != TokenType.COMMA and meant:
            raise source.error(f"did not expect {rest[0].text} here", rest[0], f"did you mean {meant}?")
        if explicit:
            rest.pop(0)
        alias = _name_part(source, rest.pop(0))
    if not ends():
        meant = closest(rest[0].text, CLAUSES)
        raise source.error(
            f"did not expect {rest[0].text} after the table", rest[0], f"did you mean {meant}?" if meant else None
        )
    return Table(".".join(parts), alias, first)


def _name_part(source: Source, token: Token) -> str:
    words = token.token_type == TokenType.IDENTIFIER or token.text.replace("_", "").isalnum()
    if not words or token.token_type in (TokenType.STRING, TokenType.NUMBER, TokenType.RAW_STRING):
        raise source.error(f"expected the name of a table here, not {token.text}", token)
    return token.text
