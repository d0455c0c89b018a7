"""What a sketch is told of each row, as native columns: the key's 64 bits, its time in ticks, how often it counts.

Only these columns go to Python. Texts and bytes are hashed by Spark itself: ``xxhash64(seed, column)`` is what
``tacit.sketches.hashing`` computes, so a sketch answers the same whoever hashed. A row whose key, time or count is NULL
has NULL here; whoever reads it leaves it out and counts it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from operator import index
from typing import SupportsIndex

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from tacit.pipelines.columns import column, resolve
from tacit.pipelines.failures import one_sentence
from tacit.pipelines.sketch_tasks import COUNT, TIME, WORD
from tacit.sketches.hashing import check_seed
from tacit.sketches.window import SlidingWindow
from tacit.vocabulary.errors import DataError, OptionError

__all__ = ["Arrivals", "Given", "Window", "arrivals", "sliding_window", "word_of"]

Given = str | Column
"""A column by its name, or an expression."""
Window = SlidingWindow | timedelta | int
"""The last so many ticks, or a length of time where times are timestamps or dates (a tick is a microsecond then)."""

_DAY_MICROS = 86_400_000_000
_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The columns of arrivals, and whether a tick of their times is a microsecond."""

    columns: tuple[Column, ...]
    in_micros: bool


def arrivals(frame: DataFrame, *, key: Given, time: Given | None, count: Given | None, seed: int) -> Arrivals:
    """The columns WORD, TIME (with a time) and COUNT (with a count) of each row; DataError for a type that is none."""
    check_seed(seed)
    columns, in_micros = [word_of(*_typed(frame, key, "key"), seed=seed).alias(WORD)], False
    if time is not None:
        ticks, in_micros = _ticks(*_typed(frame, time, "time"))
        columns.append(ticks.alias(TIME))
    if count is not None:
        value, kind, name = _typed(frame, count, "count")
        if not isinstance(kind, st.IntegralType):
            raise DataError(f"the count column {name} is {kind.simpleString()}; counts of a sketch are whole numbers")
        columns.append(value.cast("bigint").alias(COUNT))
    return Arrivals(tuple(columns), in_micros)


def word_of(value: Column, kind: st.DataType, name: str, *, seed: int) -> Column:
    """The 64 bits of a key as a BIGINT; NULL of NULL, which Spark's hash alone would give a number."""
    if isinstance(kind, (st.IntegralType, st.BooleanType)):
        return value.cast("bigint")
    if isinstance(kind, (st.StringType, st.BinaryType)):
        # What a collation holds for equal are two keys here, as they are to who hashes the bytes in Python.
        exact = value if kind.simpleString() in ("string", "binary") else value.cast("string").cast("binary")
        return sf.when(value.isNotNull(), sf.xxhash64(sf.lit(seed).cast("bigint"), exact))
    raise DataError(
        f"the key column {name} is {kind.simpleString()}; keys of a sketch are whole numbers, texts or binary, "
        f"so write CAST({name} AS STRING)"
    )


def sliding_window(window: Window, *, in_micros: bool) -> SlidingWindow:
    """The window of a sketch.

    >>> sliding_window(timedelta(seconds=2), in_micros=True)
    SlidingWindow(length=2000000, by='time')
    >>> sliding_window(timedelta(seconds=2), in_micros=False)
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: how long a tick of numeric times is only you know; give the window's length
    in ticks
    """
    if isinstance(window, SlidingWindow):
        return window
    if isinstance(window, timedelta):
        if not in_micros:
            raise OptionError("how long a tick of numeric times is only you know; give the window's length in ticks")
        return SlidingWindow(window // timedelta(microseconds=1))
    if isinstance(window, bool) or not isinstance(window, SupportsIndex):
        raise OptionError(
            f"a window is a SlidingWindow, a timedelta or a whole number of ticks, and {window!r} is none"
        )
    return SlidingWindow(index(window))


def _ticks(value: Column, kind: st.DataType, name: str) -> tuple[Column, bool]:
    if isinstance(kind, st.TimestampType):
        return sf.unix_micros(value), True
    if isinstance(kind, st.TimestampNTZType):  # as UTC, whatever the session's zone is
        return sf.timestamp_diff("MICROSECOND", sf.expr(_EPOCH), value).cast("bigint"), True
    if isinstance(kind, st.DateType):
        return sf.unix_date(value).cast("bigint") * _DAY_MICROS, True
    if isinstance(kind, st.IntegralType):
        return value.cast("bigint"), False
    advice = (
        f"write TO_TIMESTAMP({name})" if isinstance(kind, st.StringType) else "count ticks of a unit that you choose"
    )
    raise DataError(
        f"the time column {name} is {kind.simpleString()}; times of a sketch are timestamps, dates or whole numbers, "
        f"so {advice}"
    )


def _typed(frame: DataFrame, given: Given, role: str) -> tuple[Column, st.DataType, str]:
    if isinstance(given, str):
        name = resolve(frame, given, role=role)
        return column(name), frame.schema[name].dataType, name
    if not isinstance(given, Column):
        raise OptionError(f"the {role} is a column by its name, or an expression, and {given!r} is neither")
    with one_sentence():
        field = frame.select(given).schema[0]
    return given, field.dataType, field.name
