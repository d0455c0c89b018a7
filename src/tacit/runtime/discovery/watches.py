"""Two watches that make sense for the data: one that alerts now and then, one that tracks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.language import parse
from tacit.runtime.discovery.measures import measures_of, plain_name, values_of
from tacit.runtime.discovery.sample import Sample
from tacit.runtime.discovery.sites import quoted_name
from tacit.runtime.discovery.times import micros_of
from tacit.vocabulary.arrays import FloatArray, IntArray
from tacit.vocabulary.errors import SentenceError

__all__ = ["Suggestion", "suggest_watches"]

SECOND_US = 1_000_000
# A window, its words, and the words of a step that suits it.
LADDER = (
    (60, "1 MINUTE", "5 SECONDS"),
    (300, "5 MINUTES", "15 SECONDS"),
    (900, "15 MINUTES", "1 MINUTE"),
    (3_600, "1 HOUR", "5 MINUTES"),
    (21_600, "6 HOURS", "15 MINUTES"),
    (86_400, "1 DAY", "1 HOUR"),
    (604_800, "7 DAYS", "6 HOURS"),
    (2_592_000, "30 DAYS", "1 DAY"),
)
ROWS_WANTED = 24  # of a site, in a window
QUANTILE = 0.9


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The text of ``watches.sql``, and the columns that are watched."""

    text: str
    columns: tuple[str, ...]


def suggest_watches(sample: Sample, table: str, time: str, site: str | None, sites: int) -> Suggestion:
    """A threshold at what the mean of a window seldom reaches, and a mean that is tracked; counts without numbers."""
    times = np.asarray(micros_of(sample.rows[time]).fill_null(0).to_numpy(), dtype=np.int64)
    window_s, window, every = _window(times, sites)
    numbers = measures_of(sample, time, site)
    if not numbers:
        return Suggestion(_counts(times, table, window_s, window, every), ())
    first, second = numbers[0], numbers[-1] if len(numbers) == 1 else numbers[1]
    means = _means(sample, first, times, window_s)
    threshold = _rounded(float(np.quantile(means, QUANTILE)))
    margin = _rounded(max(_spread(means) * 0.1, abs(threshold) * 0.001, 1e-6))
    within = _rounded(max(_spread(_means(sample, second, times, window_s)) * 0.5, 1e-6))
    named = plain_name(first), plain_name(second)
    text = f"""\
-- In nine of ten windows of the data that was looked at, the mean of {first} was below {threshold:g}.
CREATE WATCH high_{named[0]} AS
  SELECT AVG({quoted_name(first)}) AS mean FROM {table}
  WINDOW LAST {window} EVERY {every}
  ALERT WHEN mean > {threshold:.12g} MARGIN {margin:.12g};

-- Always known to within {within:g}, whatever happens at the sites.
CREATE WATCH {named[1]}_now AS
  SELECT AVG({quoted_name(second)}) AS mean FROM {table}
  WINDOW LAST {window} EVERY {every}
  TRACK mean WITHIN {within:.12g};
"""
    try:
        parse(text)
    except SentenceError:  # a name that is a word of SQL
        text = text.replace(f"({first})", f"(`{first}`)").replace(f"({second})", f"(`{second}`)")
        parse(text)
    return Suggestion(text, (first, second))


def _counts(times: IntArray, table: str, window_s: int, window: str, every: str) -> str:
    per_window = (
        np.bincount((times - times.min()) // (window_s * SECOND_US)) if _fits(times, window_s) else [len(times)]
    )
    typical = max(1, int(np.quantile(np.asarray(per_window), QUANTILE)))
    return f"""\
-- No column holds numbers to watch, so rows are counted.
CREATE WATCH busy AS
  SELECT COUNT(*) AS rows_seen FROM {table}
  WINDOW LAST {window} EVERY {every}
  ALERT WHEN rows_seen > {typical} MARGIN {max(1, typical // 50)};

CREATE WATCH rows_now AS
  SELECT COUNT(*) AS rows_seen FROM {table}
  WINDOW LAST {window} EVERY {every}
  TRACK rows_seen WITHIN {max(1, typical // 10)};
"""


def _window(times: IntArray, sites: int) -> tuple[int, str, str]:
    """A window in which a site has some rows, by the usual time between two rows of the sample."""
    ordered = np.unique(times)
    gap_s = float(np.median(np.diff(ordered))) / SECOND_US if len(ordered) > 1 else 1.0
    # Sites that measure at the same moments share their times; others take turns.
    shared = len(times) / max(len(ordered), 1) >= sites / 2
    wanted_s = gap_s * (1 if shared else sites) * ROWS_WANTED
    return next((each for each in LADDER if each[0] >= wanted_s), LADDER[-1])


def _means(sample: Sample, name: str, times: IntArray, window_s: int) -> FloatArray:
    """The means of the sample's windows; of single rows, where there are few windows."""
    values = values_of(sample, name)
    known = np.isfinite(values)
    values = values[known]
    if not _fits(times, window_s):
        return values
    number = (times[known] - times.min()) // (window_s * SECOND_US)
    _unique, inverse = np.unique(number, return_inverse=True)
    means: FloatArray = np.bincount(inverse, values) / np.bincount(inverse)
    return means if len(means) >= 10 else values


def _fits(times: IntArray, window_s: int) -> bool:
    span = int(times.max() - times.min())
    return 10 * window_s * SECOND_US <= span <= 10_000_000 * window_s * SECOND_US


def _spread(values: FloatArray) -> float:
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high - low) or float(np.std(values))


def _rounded(value: float) -> float:
    return float(f"{value:.2g}") if abs(value) < 100 else float(f"{value:.3g}")
