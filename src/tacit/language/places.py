"""Where things stand in a sentence: offsets to lines and columns, errors that point, and "did you mean"."""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Iterable

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from tacit.vocabulary.errors import SentenceError

__all__ = ["Place", "Source", "closest"]

Place = Token | exp.Expr | int
MESSAGE_MAX = 300  # letters
_NEAR = 5  # words that look alike, from which the one with the fewest changes is taken


class Source:
    """The text of a script, able to say where an offset, a token or a tree begins.

    >>> Source("SELECT\\n  so2").place(9)
    (2, 3)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_starts = [0, *(index + 1 for index, letter in enumerate(text) if letter == "\n")]

    def place(self, at: Place) -> tuple[int, int]:
        """Line and column, both counted from 1."""
        offset = self.offset(at)
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def error(self, message: str, at: Place, hint: str | None = None) -> SentenceError:
        line, column = self.place(at)
        return SentenceError(_printable(message), line=line, column=column, hint=_printable(hint) if hint else None)

    def end_of(self, token: Token) -> int:
        """The offset just after a token, where something that is missing would stand."""
        return token.end + 1

    def between(self, first: Token, last: Token) -> str:
        return self.text[first.start : last.end + 1]

    def offset(self, at: Place) -> int:
        """Where a token or a tree begins in the text."""
        if isinstance(at, int):
            return at
        if isinstance(at, Token):
            return at.start
        # A tree begins where its leftmost marked node does; one without marks (never seen so far) where a parent does.
        node: exp.Expr | None = at
        while node is not None:
            starts = [part.meta["start"] for part in node.walk() if part.meta.get("start") is not None]
            if starts:
                return int(min(starts))
            node = node.parent
        return 0


def _printable(message: str) -> str:
    """One short line, whatever the sentence holds that the message quotes."""
    line = "".join(letter if letter.isprintable() else " " for letter in message)
    return line if len(line) <= MESSAGE_MAX else line[: MESSAGE_MAX - 1] + "…"


def closest(word: str, candidates: Iterable[str], *, cutoff: float = 0.65) -> str | None:
    """The candidate that looks most like the word, if any does.

    >>> closest("WINDW", ["WHERE", "WINDOW"]), closest("aer", ["water", "air"], cutoff=0.6)
    ('WINDOW', 'air')
    >>> closest("ratio", ["level"]) is None
    True
    """
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    folded = word.casefold()
    found = difflib.get_close_matches(folded, by_folded, n=_NEAR, cutoff=cutoff)
    return by_folded[min(found, key=lambda each: _edits(folded, each))] if found else None


def _edits(one: str, other: str) -> int:
    """The Levenshtein distance: how many letters must be put in, taken out or changed."""
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        before, row[0] = row[0], place
        for at, theirs in enumerate(other, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (letter != theirs))
    return row[-1]
