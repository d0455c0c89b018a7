"""Which column says when a row happened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacit.language.places import closest
from tacit.runtime.discovery.layout import Layout
from tacit.runtime.discovery.sample import Column, Sample
from tacit.vocabulary.errors import DataError, OptionError

__all__ = ["TimeGuess", "guess_time", "micros_of"]

TELLING = (
    "ts", "time", "timestamp", "event_time", "eventtime", "datetime", "date", "at", "when", "event_ts", "created_at",
    "created", "occurred_at", "measured_at", "recorded_at", "observed_at", "received_at", "start_time", "epoch",
    "unix_time",
)  # fmt: skip
PARTS = {"year", "month", "day", "hour", "minute"}
SECONDS = (3e8, 5e9)  # 1979 to 2128
MILLISECONDS = (3e11, 5e12)
NOT_SECONDS = "its numbers do not look like seconds since 1970"


@dataclass(frozen=True, slots=True)
class TimeGuess:
    """The column and why it was taken; the first and the last time of the sample, in microseconds."""

    name: str
    why: str
    first_us: int
    last_us: int

    def is_old(self, now_us: int) -> bool:
        """Is the newest row more than a day old?"""
        return now_us - self.last_us > 86_400_000_000


def guess_time(layout: Layout, sample: Sample, asked: str | None = None) -> TimeGuess:
    """The time column: the one that was asked for, or the likeliest. Otherwise an error that lists what there is."""
    if asked is not None:
        column = sample.column(asked)
        if column is None:
            raise OptionError(f"--time {asked}: {no_column(sample, asked)}")
        reason = _usable(sample, column)
        if reason is not None and reason != NOT_SECONDS:  # whoever asks for them may have seconds since anything
            raise OptionError(f"--time {asked}: {reason}")
        return _guess(layout, sample, column, "you said so")
    scored = [(score, column, why) for column in sample.columns for score, why in [_score(sample, column)] if score]
    if not scored:
        raise DataError(_none(sample))
    _, column, why = max(scored, key=lambda each: each[0])  # the first of equals, as max does
    return _guess(layout, sample, column, why)


def no_column(sample: Sample, name: str) -> str:
    """What to say of a column that is not there."""
    names = [each.name for each in sample.columns]
    meant = closest(name, names)
    return f"the data has no such column; {f'did you mean {meant}?' if meant else 'it has ' + ', '.join(names)}"


def micros_of(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as microseconds since 1970: numbers are seconds, texts ISO 8601, no zone is UTC."""
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return values.cast(pa.timestamp("us", tz=getattr(kind, "tz", None)), safe=False).cast(pa.int64())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        times = [None if text is None else _micros_of_text(text) for text in values.to_pylist()]
        return pa.chunked_array([pa.array(times, type=pa.int64())])
    return pc.multiply(values.cast(pa.float64()), 1e6).cast(pa.int64(), safe=False)


def _micros_of_text(text: str) -> int | None:
    moment = datetime.fromisoformat(text.strip())
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e6)


def _score(sample: Sample, column: Column) -> tuple[int, str]:
    if isinstance(_usable(sample, column), str):
        return 0, ""
    folded = re.sub(r"\W+", "_", column.name).lower()
    telling = folded in TELLING or folded.endswith(("_time", "_ts", "_at", "_timestamp", "_date"))
    rank = 30 + len(TELLING) - TELLING.index(folded) if folded in TELLING else 10 if telling else 0
    named = f", and is called {column.name}" if telling else ""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return 300 + rank, f"it holds timestamps{named}"
    if pa.types.is_string(kind):
        return 200 + rank, f"it holds times written as text{named}"
    if pa.types.is_date(kind):
        return 150 + rank, f"it holds dates{named}"
    if telling:
        return 120 + rank, f"it holds numbers that look like seconds since 1970{named}"
    values = micros_of(sample.rows[column.name]).to_pylist()
    known = [each for each in values if each is not None]
    rising = sum(a <= b for a, b in pairwise(known))
    if pa.types.is_integer(kind) and len(known) > 2 and rising >= 0.9 * (len(known) - 1):
        return 50, "it holds rising numbers that look like seconds since 1970"
    return 0, ""


def _usable(sample: Sample, column: Column) -> str | None:
    """None, or why the column cannot be a time."""
    kind = column.type
    values = pc.drop_null(sample.rows[column.name].combine_chunks())
    if len(values) == 0:
        return "it is empty"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return None
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        low, high = (float(each) for each in pc.min_max(values).as_py().values())
        if SECONDS[0] <= low and high <= SECONDS[1]:
            return None
        if MILLISECONDS[0] <= low and high <= MILLISECONDS[1]:
            return "its numbers look like milliseconds, and tacit reads numbers as seconds; divide them by 1000"
        return NOT_SECONDS
    if pa.types.is_string(kind):
        try:
            for text in values.slice(0, 1000).to_pylist():
                _micros_of_text(text)
                if not re.match(r"\s*\d{4}-", text):
                    return "its texts do not start with a year"
        except (ValueError, OverflowError):
            return "its texts are not times as 2013-03-01T00:00:00Z is one"
        return None
    return f"its type is {column.spark}, which is no time"


def _guess(layout: Layout, sample: Sample, column: Column, why: str) -> TimeGuess:
    values = sample.rows[column.name]
    if layout.kind == "parquet":
        values = pa.chunked_array([*values.chunks, *_parquet_limits(layout, column)], type=column.type)
    limits = pc.min_max(micros_of(values)).as_py()
    return TimeGuess(column.name, why, limits["min"], limits["max"])


def _parquet_limits(layout: Layout, column: Column) -> Iterator[pa.Array]:
    """The least and the greatest value of every part of every file, which Parquet files write down."""
    for path in layout.files:
        metadata = pq.read_metadata(path)
        for group in range(metadata.num_row_groups):
            parts = (metadata.row_group(group).column(index) for index in range(metadata.num_columns))
            found = next((part.statistics for part in parts if part.path_in_schema == column.name), None)
            if found is not None and found.has_min_max:
                with suppress(pa.ArrowException, TypeError):
                    yield pa.array([found.min, found.max], type=column.type)


def _none(sample: Sample) -> str:
    names = {each.name.lower() for each in sample.columns}
    listed = ", ".join(f"{each.name} ({each.spark})" for each in sample.columns)
    if len(PARTS & names) >= 3:
        parts = ", ".join(each.name for each in sample.columns if each.name.lower() in PARTS)
        return f"no column is a time, and {parts} are parts of one; write one column of them. The columns are {listed}"
    near = [
        f"{each.name}: {reason}"
        for each in sample.columns
        if re.sub(r"\W+", "_", each.name).lower() in TELLING and isinstance(reason := _usable(sample, each), str)
    ]
    hint = f" ({'; '.join(near)})" if near else ""
    return f"no column looks like a time{hint}; say which with --time COLUMN. The columns are {listed}"
