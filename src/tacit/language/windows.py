"""WINDOW and EVERY: which rows count, and how often the answer is looked at.

    WINDOW LAST n ROWS | LAST n unit | SINCE MIDNIGHT | SINCE START OF calendar-unit | ALL     EVERY n ROWS | n unit

Without EVERY the step is a hundredth of the window, at least one row or one second, and it goes into the window a
whole number of times; SINCE, ALL and no window at all step every minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from sqlglot.tokenizer_core import Token, TokenType

from tacit.language.clauses import Clause
from tacit.language.dialect import KEYWORDS
from tacit.language.places import Source, closest
from tacit.language.plan import SECOND_US, Every, Window
from tacit.language.tokens import is_word
from tacit.vocabulary.errors import SentenceError

__all__ = ["default_step", "read_window"]

UNITS_US = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": SECOND_US,
    "MINUTE": 60 * SECOND_US,
    "HOUR": 3_600 * SECOND_US,
    "DAY": 86_400 * SECOND_US,
    "WEEK": 604_800 * SECOND_US,
}
UNFIXED_DAYS = {"MONTH": 30, "QUARTER": 91, "YEAR": 365}
# The longest stretch between two starts, in days: EVERY may not be longer.
CALENDAR_US = {name.lower(): UNITS_US[name] for name in ("MINUTE", "HOUR", "DAY", "WEEK")} | {
    "month": 31 * UNITS_US["DAY"],
    "year": 366 * UNITS_US["DAY"],
}
DEFAULT_STEP_US = 60 * SECOND_US
LARGEST = 10**17  # rows; microseconds: some three thousand years
WORDS = ("LAST", "SINCE", "MIDNIGHT", "START", "OF", "ALL", "ROWS", *KEYWORDS)


def read_window(source: Source, window: Clause | None, every: Clause | None) -> Window:
    """The window of a watch, from its WINDOW and EVERY clauses."""
    step = _amount(_Reader(source, every), "EVERY") if every else None
    if window is None:
        return Window("all", _step(source, every, step, None))
    reader = _Reader(source, window)
    if reader.take("ALL"):
        reader.finish()
        return Window("all", _step(source, every, step, None))
    if reader.take("SINCE"):
        unit = _calendar_unit(reader)
        reader.finish()
        if step is not None and step.rows is not None:
            raise source.error(
                "EVERY counts rows but the window is a stretch of time", _first(every), "write EVERY 1 MINUTE"
            )
        return Window("since", _step(source, every, step, CALENDAR_US[unit]), unit=unit)
    if not reader.take("LAST"):
        raise _no_last(source, reader)
    length = _amount(reader, "LAST")
    if length.rows is not None:
        if step is not None and step.rows is not None and step.rows > length.rows:
            raise source.error(f"EVERY {step.rows} ROWS is longer than the window", _first(every))
        return Window("rows", step or default_step("rows", length.rows), rows=length.rows)
    if step is not None and step.rows is not None:
        raise source.error(
            "EVERY counts rows but the window is a stretch of time", _first(every), "write EVERY 10 SECONDS"
        )
    assert length.duration_us is not None
    step = _step(source, every, step, length.duration_us) if step else default_step("time", length.duration_us)
    return Window("time", step, duration_us=length.duration_us)


def default_step(kind: str, length: int | None = None) -> Every:
    """The step of a window without EVERY; its length is in rows or microseconds, for a calendar unit the longest.

    >>> default_step("rows", 1000), default_step("time", 30 * SECOND_US)
    (Every(rows=10, duration_us=None), Every(rows=None, duration_us=1000000))
    """
    if kind == "rows" and length is not None:
        return Every(rows=max(1, length // 100))
    if kind == "time" and length is not None:
        return Every(duration_us=_hundredth(length))
    return Every(duration_us=min(DEFAULT_STEP_US, length or DEFAULT_STEP_US))


def _step(source: Source, clause: Clause | None, step: Every | None, longest_us: int | None) -> Every:
    if step is None:
        return default_step("since", longest_us)
    if longest_us is not None and step.duration_us is not None and step.duration_us > longest_us:
        raise source.error("EVERY is longer than the window", _first(clause))
    return step


def _hundredth(duration_us: int) -> int:
    """About a hundredth, at least a second (or the window, if it is shorter), that divides the window."""
    steps = max(1, min(100, duration_us // SECOND_US))
    while duration_us % steps:
        steps -= 1
    return duration_us // steps


class _Reader:
    """The tokens of one clause, taken one by one."""

    def __init__(self, source: Source, clause: Clause) -> None:
        self.source, self.keyword = source, clause.keyword
        self.rest: list[Token] = list(clause.tokens)
        self.last = clause.keyword

    def take(self, *words: str) -> Token | None:
        if self.rest and is_word(self.rest[0], *words):
            return self.advance()
        return None

    def advance(self) -> Token:
        self.last = self.rest.pop(0)
        return self.last

    @property
    def next(self) -> Token | None:
        return self.rest[0] if self.rest else None

    def finish(self) -> None:
        if self.rest:
            found = self.rest[0]
            meant = closest(found.text, WORDS)
            hint = f"did you mean {meant}?" if meant and meant != found.text.upper() else None
            if found.token_type == TokenType.NUMBER:
                hint = f"the number comes first: {found.text} {self.last.text}"
            raise self.source.error(f"did not expect {found.text} after {self.last.text}", found, hint)

    def wrong(self, expected: str, choices: Sequence[str] = WORDS) -> SentenceError:
        found = self.next
        if found is None:
            return self.source.error(f"expected {expected} after {self.last.text}", self.source.end_of(self.last))
        meant = closest(found.text, choices)
        hint = f"did you mean {meant}?" if meant and meant != found.text.upper() else None
        return self.source.error(f"expected {expected} after {self.last.text}, not {found.text}", found, hint)


def _amount(reader: _Reader, word: str) -> Every:
    """``[n] ROWS`` or ``[n] unit`` to the end of the clause; without a number, one of them."""
    first = reader.next
    negative = first is not None and first.token_type == TokenType.DASH
    if negative:
        reader.advance()
    number = Decimal(1)
    if reader.next is not None and reader.next.token_type == TokenType.NUMBER:
        token = reader.advance()
        try:
            number = Decimal(token.text)
        except InvalidOperation:
            raise reader.source.error(f"{token.text} is not a number", token) from None
    elif reader.next is None or negative:
        raise reader.wrong("a number")
    if first is not None and (negative or number <= 0):
        text = f"-{number}" if negative else str(number)
        raise reader.source.error(f"{word} {text} is not a positive length", first, "write a number above 0")
    unit = reader.next
    if unit is None or not _is_unit(unit):
        unfixed = UNFIXED_DAYS.get(unit.text.upper().rstrip("S")) if unit is not None else None
        if unit is not None and unfixed:
            raise reader.source.error(
                f"a {unit.text.lower().rstrip('s')} has no fixed length", unit, f"write {word} {unfixed} DAYS"
            )
        names = [name + "S" for name in UNITS_US]
        raise reader.wrong("ROWS or a unit of time", ["ROWS", *names, *KEYWORDS])
    reader.advance()
    reader.finish()
    assert first is not None
    if is_word(unit, "ROWS", "ROW"):
        if number != number.to_integral_value() or number > LARGEST:
            raise reader.source.error(f"{number} is not a number of rows", first)
        return Every(rows=int(number))
    duration = number * UNITS_US[_singular(unit)]
    if duration != duration.to_integral_value() or duration > LARGEST:
        too = "long" if duration > LARGEST else "fine; a microsecond is the smallest step"
        raise reader.source.error(f"{word} {number} {unit.text} is too {too}", first)
    return Every(duration_us=int(duration))


def _is_unit(token: Token) -> bool:
    return is_word(token, "ROWS", "ROW") or (is_word(token, token.text.upper()) and _singular(token) in UNITS_US)


def _singular(token: Token) -> str:
    word = token.text.upper()
    return word[:-1] if word.endswith("S") else word


def _calendar_unit(reader: _Reader) -> str:
    if reader.take("MIDNIGHT"):
        return "day"
    if not reader.take("START"):
        raise reader.wrong("MIDNIGHT or START OF", ("MIDNIGHT", "START"))
    if not reader.take("OF"):
        raise reader.wrong("OF", ("OF",))
    unit = reader.take(*(name.upper() for name in CALENDAR_US))
    if unit is None:
        names = [name.upper() for name in CALENDAR_US]
        raise reader.wrong(f"{', '.join(names[:-1])} or {names[-1]}", names)
    return unit.text.lower()


def _no_last(source: Source, reader: _Reader) -> SentenceError:
    found = reader.next
    if found is not None and found.token_type in (TokenType.NUMBER, TokenType.DASH):
        rest = " ".join(token.text for token in reader.rest)
        return source.error("WINDOW says how far back: LAST is missing", found, f"write WINDOW LAST {rest}")
    return reader.wrong("LAST, SINCE or ALL", ("LAST", "SINCE", "ALL"))


def _first(clause: Clause | None) -> Token:
    assert clause is not None
    return clause.tokens[0]
