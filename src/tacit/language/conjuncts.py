"""WHERE of a sentence with two tables, taken apart: each condition that AND joins is of one of them.

What a site keeps of one table is never compared row by row with another, so a condition that names both cannot be
kept. The conditions are cut from the tokens, for what reaches Spark is what was written.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.language.clauses import Clause
from tacit.language.dialect import read_condition
from tacit.language.places import Source
from tacit.language.rows import RowReader
from tacit.language.tables import Table
from tacit.language.texts import bare
from tacit.language.tokens import Tokens, is_word, nesting

__all__ = ["split_conjuncts", "where_by_table"]


def where_by_table(
    source: Source, clause: Clause | None, tables: Sequence[Table], rows: RowReader
) -> dict[str, str | None]:
    """Spark SQL of each table's part of WHERE by the table's name in FROM, None where nothing is said of it."""
    parts: dict[str, list[str]] = {table.alias.casefold(): [] for table in tables}
    if clause is not None:
        read_condition(source, clause.tokens, clause.keyword, margins=False)  # as a whole first: its errors are better
        for tokens in split_conjuncts(clause.tokens):
            known = len(rows.named)
            tree = read_condition(source, tokens, clause.keyword, margins=False)
            text = rows.read(tree, tokens, "boolean", where="WHERE").present
            named = list(dict.fromkeys(rows.named[known:]))
            if len(named) > 1:
                raise source.error(
                    f"this condition names {' and '.join(named)}, whose rows are not compared with each other",
                    tokens[0],
                    "join conditions on one table each with AND; INNER_PRODUCT itself joins by its arguments",
                )
            for name in named or parts:
                parts[name].append(text)
    return {name: _joined(texts) for name, texts in parts.items()}


def _joined(texts: Sequence[str]) -> str | None:
    if len(texts) > 1:
        return " AND ".join(f"({text})" for text in texts)
    return texts[0] if texts else None


def split_conjuncts(tokens: Tokens) -> list[Tokens]:
    """The conditions that AND joins; an AND inside OR, CASE or a call, or of BETWEEN, does not cut.

    >>> from tacit.language.dialect import tokenize
    >>> source = Source("a.x BETWEEN 1 AND 2 AND (b.y > 3 AND (b.z OR b.u AND b.v))")
    >>> pieces = split_conjuncts(tuple(tokenize(source)))
    >>> [source.between(piece[0], piece[-1]) for piece in pieces]
    ['a.x BETWEEN 1 AND 2', 'b.y > 3', 'b.z OR b.u AND b.v']
    """
    tokens = bare(tokens)
    outer = [index for index, depth in enumerate(nesting(tokens)) if depth == 0]
    if any(is_word(tokens[index], "OR") for index in outer):
        return [tokens]
    cuts: list[int] = []
    betweens = 0
    for index in outer:
        if is_word(tokens[index], "BETWEEN"):
            betweens += 1
        elif is_word(tokens[index], "AND") and betweens:
            betweens -= 1
        elif is_word(tokens[index], "AND"):
            cuts.append(index)
    if not cuts:
        return [tokens]
    starts, stops = [0, *(cut + 1 for cut in cuts)], [*cuts, len(tokens)]
    pieces = [tokens[start:stop] for start, stop in zip(starts, stops, strict=True)]
    return [part for piece in pieces for part in split_conjuncts(piece)]
