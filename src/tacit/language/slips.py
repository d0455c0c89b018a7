"""Slips that sqlglot forgives and Spark does not: found by the tokens alone, before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from tacit.language.dialect import KEYWORDS
from tacit.language.places import Source
from tacit.language.tokens import CLOSING, OPENING, is_word, nesting

__all__ = ["check_slips"]

DEPTH_MAX = 60
# What text processors and other keyboards write, and what SQL has for it.
TYPOGRAPHIC = {
    **dict.fromkeys("‘’‚‛“”„‟«»′″＇＂", "'"), **dict.fromkeys("−–—‒―－", "-"), **dict.fromkeys("×∙·＊", "*"),
    "≥": ">=", "≤": "<=", "≠": "<>", "＞": ">", "＜": "<", "＝": "=", "÷": "/", "（": "(", "）": ")",
    "，": ",", "；": ";", "．": ".", "＋": "+",
}  # fmt: skip
KNOWN = {*KEYWORDS, "MIDNIGHT", "ROW", "SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS"}
NAMES = {TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER}


def check_slips(source: Source, tokens: Sequence[Token]) -> None:
    """Raises for letters that only look like SQL, for brackets that do not match, for holes between commas, for parts
    of CASE that are missing, and for a WHEN or a second sentence that stands alone.
    """
    _check_letters(source, tokens)
    _check_brackets(source, tokens)
    _check_neighbours(source, tokens)
    _check_cases(source, tokens)
    _check_strays(source, tokens)


def _check_letters(source: Source, tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.token_type in NAMES:
            continue
        for offset, letter in enumerate(token.text):
            if letter in TYPOGRAPHIC:
                plain = TYPOGRAPHIC[letter]
                what = "a typographic quotation mark" if plain == "'" else "not a sign of SQL"
                raise source.error(f"{letter} is {what}", token.start + offset, f"write {plain} instead")


def _check_strays(source: Source, tokens: Sequence[Token]) -> None:
    """WHEN outside CASE belongs to ALERT, and CREATE WATCH to the start of a sentence."""
    depths = nesting(tokens)
    for index, token in enumerate(tokens[1:], 1):
        if depths[index]:
            continue
        before = tokens[index - 1]
        if is_word(before, "CREATE") and is_word(token, "WATCH"):
            raise source.error("a second sentence starts here", before, "end the first with ;")
        if is_word(token, "WHEN") and not is_word(before, "ALERT"):
            named = index > 1 and (is_word(tokens[index - 2], "FROM", "AS") or tokens[index - 2].text == ".")
            unknown = before.token_type == TokenType.VAR and before.text.upper() not in KNOWN and not named
            if unknown:
                raise source.error(f"did not expect {before.text} before WHEN", before, "did you mean ALERT?")
            raise source.error("ALERT is missing before WHEN", token)


def _check_brackets(source: Source, tokens: Sequence[Token]) -> None:
    open_: list[Token] = []
    for token in tokens:
        if token.token_type in OPENING:
            open_.append(token)
        elif (closing := CLOSING.get(token.token_type)) is not None:
            if open_ and OPENING[open_[-1].token_type] == closing:
                open_.pop()
            elif closing != "END":  # END may also be a name
                raise source.error(f"{token.text} closes nothing", token)
        if len(open_) > DEPTH_MAX:
            raise source.error("this is nested too deeply", token)
    if open_:
        token = open_[-1]
        raise source.error(f"{token.text} is never closed", token, f"{OPENING[token.token_type]} is missing")


def _check_neighbours(source: Source, tokens: Sequence[Token]) -> None:
    for first, second in pairwise(tokens):
        both = (first.token_type, second.token_type)
        if first.token_type in (TokenType.L_PAREN, TokenType.COMMA) and second.token_type == TokenType.COMMA:
            raise source.error("something is missing before the comma", second)
        if both == (TokenType.COMMA, TokenType.R_PAREN):
            raise source.error("something is missing after the comma", second)
        apart = second.start > first.end + 1
        if apart and both in ((TokenType.GT, TokenType.GT), (TokenType.LT, TokenType.LT)):
            raise source.error(f"something is missing before {second.text}", second)
    for before, first, second in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if is_word(first, "NOT") and is_word(second, "NULL") and not is_word(before, "IS"):
            raise source.error("IS is missing before NOT NULL", first)


def _check_cases(source: Source, tokens: Sequence[Token]) -> None:
    """In CASE … END every WHEN has its THEN."""
    depths = nesting(tokens)
    for start, case in enumerate(tokens):
        if case.token_type != TokenType.CASE:
            continue
        waiting: Token | None = None
        for index in range(start + 1, len(tokens)):
            token = tokens[index]
            if depths[index] == depths[start] + 1 and is_word(token, "THEN"):
                waiting = None
            elif depths[index] <= depths[start] + 1 and is_word(token, "WHEN", "ELSE", "END"):
                if waiting is not None:
                    raise source.error(f"THEN is missing before {token.text}", token)
                waiting = token if is_word(token, "WHEN") else None
            if depths[index] == depths[start]:
                break
