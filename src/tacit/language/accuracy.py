"""SKETCH [EPSILON share] [DELTA probability]: how closely sketches count, and how surely."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from sqlglot.tokenizer_core import Token, TokenType

from tacit.functions.goals import Accuracy
from tacit.language.clauses import Clause, Sentence
from tacit.language.places import Source, closest
from tacit.language.words import Words
from tacit.sketches.parameters import LEAST, split

__all__ = ["COUNTERS_MAX", "read_accuracy", "refuse_sketch_clause"]

COUNTERS_MAX = 10_000_000  # of one sketch: a site keeps one for every watch, and sends it when it must
EXAMPLE = "SKETCH EPSILON 0.01 DELTA 0.01"
MEANT = {
    **dict.fromkeys(("ERROR", "EPS", "ACCURACY", "PRECISION", "WITHIN", "WIDTH"), "EPSILON"),
    **dict.fromkeys(("PROBABILITY", "CONFIDENCE", "DEPTH", "FAILURE"), "DELTA"),
}


def read_accuracy(source: Source, clause: Clause | None, default: Accuracy) -> Accuracy:
    """What SKETCH says; what it does not say is as in ``default``."""
    if clause is None:
        return default
    words = Words(source, clause.tokens, after=clause.keyword)
    found: dict[str, tuple[Token, float]] = {}
    while words.rest:
        first = words.rest[0]
        name = words.take("EPSILON", "DELTA")
        if name is None:
            raise _unexpected(source, words, first)
        word = name.text.upper()
        if word in found:
            raise source.error(f"{word} stands here a second time", name)
        found[word] = _share(source, words, word)
    accuracy = Accuracy(
        found["EPSILON"][1] if "EPSILON" in found else default.epsilon,
        found["DELTA"][1] if "DELTA" in found else default.delta,
    )
    sketch = split(accuracy.epsilon, accuracy.delta)
    if sketch.depth * sketch.width > COUNTERS_MAX:
        raise source.error(
            f"a sketch of {sketch.depth:,} rows by {sketch.width:,} counters is more than a site keeps"
            f" ({COUNTERS_MAX:,})",
            found["EPSILON"][0] if "EPSILON" in found else clause.keyword,
            "write a larger EPSILON",
        )
    return accuracy


def refuse_sketch_clause(source: Source, sentence: Sentence) -> None:
    """Raises where SKETCH stands in a watch whose statistics are kept as they are."""
    if "SKETCH" in sentence.clauses:
        raise source.error(
            "this watch needs no sketch: its statistics are kept exactly",
            sentence.clauses["SKETCH"].keyword,
            "leave SKETCH out, or write GROUP BY key HAVING COUNT(*) > 1000 for frequent items",
        )


def _share(source: Source, words: Words, word: str) -> tuple[Token, float]:
    example = f"write {word} 0.01"
    if words.sees("="):
        raise source.error("did not expect = here", words.rest[0], f"{word} 0.01 is written without it")
    start = words.rest[0] if words.rest else None
    sign = words.take("-", "+")
    if start is None or not words.rest:
        raise words.missing("a number", example)
    token = words.advance()
    try:
        number = Decimal(token.text) if token.token_type == TokenType.NUMBER else Decimal("NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if number.is_nan():
        raise source.error(f"expected a number after {word}, not {token.text}", token, example)
    percent = words.take("PERCENT", "%")
    if percent is not None:
        nearest = f"write {word} {number / 100:f}" if 0 < number < 100 else example
        raise source.error(f"{word} is a share, not a percentage", percent, nearest)
    value = -float(number) if sign is not None and sign.text == "-" else float(number)
    if not 0 < value < 1:
        shown = f"{'-' if value < 0 else ''}{number}"
        raise source.error(f"{word} {shown} is not between 0 and 1", start, example)
    if value < LEAST:
        raise source.error(f"{word} {number} is less than a sketch can have, which is {LEAST}", start, example)
    return start, value


def _unexpected(source: Source, words: Words, found: Token) -> Exception:
    meant = MEANT.get(found.text.upper()) or closest(found.text, ("EPSILON", "DELTA"))
    hint = f"did you mean {meant}?" if meant else f"write {EXAMPLE}"
    return source.error(f"did not expect {found.text} after {words.last.text}", found, hint)
