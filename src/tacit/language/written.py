"""The text of one comparison of ALERT WHEN, as the user wrote it: alerts name the comparison that made them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tacit.language.places import Source
from tacit.language.tokens import CLOSING, OPENING, is_word

__all__ = ["comparison_text"]


def comparison_text(source: Source, tokens: Sequence[Token], node: exp.Expr, *, negated: bool) -> str:
    """The words of a comparison without its MARGIN, on one line and without comments.

    ``tokens`` are those of the condition; ``negated``: an odd number of NOTs applies to the comparison. A NOT that
    stands further out, before a bracket, is repeated before the comparison. Empty where no text can be told apart.
    """
    start = source.offset(node)
    words: list[str] = []
    depth, ands, inverted = 0, 0, False
    before: Token | None = None
    for token in (each for each in tokens if each.start >= start):
        depth -= token.token_type in CLOSING
        if depth < 0 or (depth == 0 and is_word(token, "OR", "MARGIN")):
            break
        if depth == 0 and is_word(token, "AND"):
            if ands == 0:
                break
            ands -= 1
        ands += depth == 0 and is_word(token, "BETWEEN")
        inverted ^= depth == 0 and token.token_type == TokenType.NOT
        depth += token.token_type in OPENING
        if before is not None and token.start > before.end + 1:
            words.append(" ")
        words.append(source.between(token, token))
        before = token
    text = "".join(words)
    return f"NOT {text}" if text and negated != inverted else text
