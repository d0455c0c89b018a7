"""Small helpers on the tokens of a sentence: words, brackets, commas."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

__all__ = ["CLOSING", "NOT_WORDS", "OPENING", "Tokens", "is_quoted_name", "is_word", "nesting", "split_commas"]

Tokens = tuple[Token, ...]

OPENING = {TokenType.L_PAREN: ")", TokenType.L_BRACKET: "]", TokenType.L_BRACE: "}", TokenType.CASE: "END"}
CLOSING = {TokenType.R_PAREN: ")", TokenType.R_BRACKET: "]", TokenType.R_BRACE: "}", TokenType.END: "END"}
NOT_WORDS = {TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.RAW_STRING, TokenType.SEMICOLON}


def is_word(token: Token, *words: str) -> bool:
    """Is the token one of these words, unquoted?"""
    return token.token_type not in NOT_WORDS and token.text.upper() in words


def is_quoted_name(token: Token, text: str) -> bool:
    """Is the token a name in backticks, or, where only a name can stand, in double quotes?

    ``text`` is the script. To Spark "x" is a text like 'x'; to most other systems it is a name.
    """
    in_double_quotes = token.token_type == TokenType.STRING and text[token.start : token.start + 1] == '"'
    return token.token_type == TokenType.IDENTIFIER or in_double_quotes


def nesting(tokens: Sequence[Token]) -> list[int]:
    """How many brackets (or CASE … END) enclose each token; a bracket stands outside itself."""
    depths: list[int] = []
    open_: list[str] = []
    for token in tokens:
        closing = CLOSING.get(token.token_type)
        if closing is not None and open_ and open_[-1] == closing:
            open_.pop()
        depths.append(len(open_))
        if token.token_type in OPENING:
            open_.append(OPENING[token.token_type])
    return depths


def split_commas(tokens: Sequence[Token]) -> list[tuple[Token | None, Tokens]]:
    """The pieces between the outer commas, each with the comma before it."""
    depths = nesting(tokens)
    commas = [i for i, token in enumerate(tokens) if token.token_type == TokenType.COMMA and depths[i] == 0]
    starts = [-1, *commas]
    stops = [*commas, len(tokens)]
    return [
        (tokens[start] if start >= 0 else None, tuple(tokens[start + 1 : stop]))
        for start, stop in zip(starts, stops, strict=True)
    ]
