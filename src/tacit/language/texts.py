"""The text of row expressions, as it was written: what Spark reads is the user's own words.

sqlglot's tree is for understanding; its own text of a tree may differ from what was written in ways that Spark sees.
So the pieces of a sentence that Spark computes are cut from its tokens: comments go, spaces shrink, the table's name
before a column goes, and under GROUP BY EACH the word PRESENT becomes TRUE or FALSE.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tacit.language.places import Source
from tacit.language.tokens import Tokens, is_word, nesting, split_commas

__all__ = ["Texts", "bare"]

LITERALS = (TokenType.STRING, TokenType.RAW_STRING)


class Texts:
    """Cuts and writes the pieces of one sentence.

    >>> from tacit.language.dialect import tokenize
    >>> source = Source("t.x+ /* why */ 'A'")
    >>> tokens = tuple(tokenize(source))
    >>> texts = Texts(source, tokens, ["t"])
    >>> texts.write(tokens), texts.normal(tokens)
    ("x+ 'A'", "x + 'A'")
    """

    def __init__(self, source: Source, tokens: Sequence[Token], tables: Collection[str] = ()) -> None:
        self._source = source
        self._tokens = tuple(tokens)
        self._depths = nesting(self._tokens)
        self._tables = {table.casefold() for table in tables}
        self._index: dict[int, int] = {}
        for index, token in enumerate(self._tokens):
            self._index.setdefault(token.start, index)

    def arguments(self, call: exp.Anonymous) -> list[Tokens]:
        """The tokens of each argument of a call."""
        inner, _ = self._enclosed(self._index[call.meta["start"]] + 1)
        if not inner:
            return []
        return [piece[1:] if len(piece) > 1 and is_word(piece[0], "ALL") else piece for _, piece in split_commas(inner)]

    def condition(self, call: exp.Anonymous) -> Tokens:
        """The tokens of the condition in FILTER (WHERE …) after a call."""
        _, after = self._enclosed(self._index[call.meta["start"]] + 1)
        while not is_word(self._tokens[after], "FILTER"):  # a call in parentheses, or with IGNORE NULLS
            after += 1
        inner, _ = self._enclosed(after + 1)
        return inner[1:] if is_word(inner[0], "WHERE") else inner

    def write(self, tokens: Tokens, *, present: bool | None = None) -> str:
        """Spark SQL on one line; ``present`` replaces the word PRESENT."""
        kept, starts = self._kept(tokens)
        words: list[str] = []
        for index, token in enumerate(kept):
            if index and starts[index] > kept[index - 1].end + 1:
                words.append(" ")
            if present is not None and _is_present(kept, index):
                words.append("TRUE" if present else "FALSE")
            else:
                words.append(self._source.between(token, token))
        return "".join(words)

    def normal(self, tokens: Tokens) -> str:
        """Equal for expressions that differ only in case, spaces, outer parentheses and the table's name."""
        return " ".join(
            self._source.between(token, token) if token.token_type in LITERALS else token.text.casefold()
            for token in self._kept(tokens)[0]
        )

    def _kept(self, tokens: Tokens) -> tuple[list[Token], list[int]]:
        """Without the table's name before a column, and each stretch of text once (5L is read as three tokens).

        With each token goes where it starts, or the name that was left out before it: the space before that one stays.
        """
        tokens = bare(tokens)
        kept: list[Token] = []
        starts: list[int] = []
        dropped: Token | None = None
        for index, token in enumerate(tokens):
            if dropped is not None and token.token_type == TokenType.DOT:
                continue
            if kept and kept[-1].start == token.start:
                continue
            dotted = index + 1 < len(tokens) and tokens[index + 1].token_type == TokenType.DOT
            after_dot = index > 0 and tokens[index - 1].token_type == TokenType.DOT
            if dotted and not after_dot and token.text.casefold() in self._tables:
                dropped = token
                continue
            kept.append(token)
            starts.append(token.start if dropped is None else dropped.start)
            dropped = None
        return kept, starts

    def _enclosed(self, opening: int) -> tuple[Tokens, int]:
        """What stands in the parentheses that open at this index, and the index after them."""
        closing = opening + 1
        while self._depths[closing] > self._depths[opening]:
            closing += 1
        return self._tokens[opening + 1 : closing], closing + 1


def bare(tokens: Tokens) -> Tokens:
    """The tokens without parentheses around all of them."""
    while len(tokens) > 2 and tokens[0].token_type == TokenType.L_PAREN:
        depths = nesting(tokens)
        if any(depth == 0 for depth in depths[1:-1]) or tokens[-1].token_type != TokenType.R_PAREN:
            return tokens
        tokens = tokens[1:-1]
    return tokens


def _is_present(tokens: Sequence[Token], index: int) -> bool:
    """Is this the word PRESENT by itself, neither a part of a name nor a function?"""
    neighbours = [tokens[index - 1]] if index else []
    neighbours += [tokens[index + 1]] if index + 1 < len(tokens) else []
    dotted = any(neighbour.token_type == TokenType.DOT for neighbour in neighbours)
    called = index + 1 < len(tokens) and tokens[index + 1].token_type == TokenType.L_PAREN
    return is_word(tokens[index], "PRESENT") and not dotted and not called
