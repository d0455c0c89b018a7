"""When a row happened: any time column as microseconds since 1970, UTC.

A number is seconds (fractions kept to the microsecond); a timestamp is its instant; a date, or a timestamp without
zone, is read as UTC; text is parsed as ISO 8601 and Spark's own forms of it. NULL, NaN and infinity are no time: such
rows are left out and counted. Text that says only a time of day, or ``now``, is refused: it would mean another
instant on another day.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from tacit.pipelines.columns import column, resolve
from tacit.vocabulary.errors import DataError

__all__ = ["TimeColumn", "time_column", "utc"]

_MICROS = 1_000_000
_YEAR_10000 = 253_402_300_800  # seconds; numbers beyond it are most likely milliseconds
_DATED = r"^\s*[+-]?\d{4,6}(-|\s*$)"


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """``micros`` is a row's time, NULL where there is none; ``bad`` the text of a value that is no time, else NULL."""

    name: str
    micros: Column
    bad: Column | None
    _complaint: str = ""

    def complain(self, count: int, first: str) -> DataError:
        """The error for ``count`` bad values of which ``first`` comes first."""
        such = "1 such value" if count == 1 else f"{count:,} such values"
        return DataError(self._complaint.format(name=self.name, first=first, such=such))


def time_column(frame: DataFrame, name: str) -> TimeColumn:
    """The time of the frame's rows, from its column ``name``; to be evaluated inside :func:`utc`."""
    name = resolve(frame, name, role="time")
    kind, value = frame.schema[name].dataType, column(name)
    if isinstance(kind, (st.TimestampType, st.TimestampNTZType, st.DateType)):
        return TimeColumn(name, sf.unix_micros(value.cast("timestamp")), None)
    if isinstance(kind, st.StringType):
        parsed = sf.when(value.rlike(_DATED), sf.try_to_timestamp(value))
        blank = sf.trim(value) == ""
        return TimeColumn(
            name,
            sf.unix_micros(parsed),
            sf.when(parsed.isNull() & ~blank, value),
            "the time column {name} holds text that is no time: '{first}' ({such}); write ISO 8601, "
            "such as 2013-03-01T00:00:00Z",
        )
    if isinstance(kind, st.NumericType):
        seconds = value.cast("bigint") if isinstance(kind, st.IntegralType) else value.cast("double")
        finite = sf.lit(True) if isinstance(kind, st.IntegralType) else sf.abs(seconds) < float("inf")
        near = seconds.between(-_YEAR_10000, _YEAR_10000)
        return TimeColumn(
            name,
            sf.when(near, sf.round(seconds * _MICROS).cast("bigint")),
            sf.when(finite & ~near, value.cast("string")),
            "the time column {name} reaches beyond the year 9999: {first} ({such}); a time in numbers is in seconds "
            "since 1970, so divide milliseconds by 1000",
        )
    raise DataError(f"the time column {name} is {kind.simpleString()}; a time is a timestamp, a date, a number or text")


@contextmanager
def utc(spark: SparkSession) -> Iterator[None]:
    """Inside, times without a zone mean UTC; the session's own zone is restored after."""
    before = spark.conf.get("spark.sql.session.timeZone")
    if before == "UTC":  # as in the sessions of live tables: each word to Java takes a millisecond
        yield
        return
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")
