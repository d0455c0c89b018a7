"""Stationary streams for kernel rates: a watch, and rows on which it stays silent once its windows are full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.language import parse_watch
from tacit.language.plan import WatchPlan
from tacit.recording.stream import Recording
from tacit.vocabulary import FloatArray

__all__ = ["CASES", "Case", "recording_of"]

SITES, WINDOW, TERMS = 10, 2_000, 1_000


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of watch: what is selected, the condition, the contributions of rows, and the rate it must reach."""

    name: str
    select: str
    condition: str
    contributions: Callable[[np.random.Generator, int], FloatArray]
    bar_millions: float | None = None
    grouped: bool = False

    def plan(self) -> WatchPlan:
        """The watch over the last WINDOW rows."""
        each = "GROUP BY EACH(terms) AS term " if self.grouped else ""
        return parse_watch(
            f"CREATE WATCH w AS SELECT {self.select} AS f FROM t WINDOW LAST {WINDOW} ROWS {each}"
            f"ALERT WHEN f {self.condition}"
        )


def _pair(rng: np.random.Generator, rows: int) -> FloatArray:
    return np.rint(rng.gamma([4.0, 8.0], 5.0, (rows, 2)))


def _with_nulls(rng: np.random.Generator, rows: int) -> FloatArray:
    values, there = _pair(rng, rows), rng.random((rows, 2)) > 0.02
    return np.stack([values[:, 0] * there[:, 0], there[:, 0], values[:, 1] * there[:, 1], there[:, 1]], axis=1)


def _moments(rng: np.random.Generator, rows: int) -> FloatArray:
    x = rng.normal(0.0, 3.0, rows)
    return np.stack([np.ones(rows), x, x * x], axis=1)


def _products(rng: np.random.Generator, rows: int) -> FloatArray:
    x, y = rng.normal(0.0, 1.0, (2, rows))
    y = 0.3 * x + 0.95 * y
    return np.stack([np.ones(rows), x * y, x, y, x * x, y * y], axis=1)


def _table(rng: np.random.Generator, rows: int) -> FloatArray:
    return np.eye(4)[rng.choice(4, rows, p=[0.08, 0.12, 0.2, 0.6])]


def _labels(rng: np.random.Generator, rows: int) -> FloatArray:
    label = rng.random(rows) < 0.2
    none = np.zeros(rows)
    return np.stack([label, none, ~label, none], axis=1).astype(np.float64)


CASES = (
    Case("ratio of sums, d=2", "SUM(a) / SUM(b)", "> 1.5", _pair, 20.0),
    Case("ratio of averages with NULLs (quadratic), d=4", "AVG(a) / AVG(b)", "> 1.5", _with_nulls, 20.0),
    Case("STDDEV, d=3 with its count", "STDDEV(a)", "> 6", _moments, 20.0),
    Case("CORR, d=6 with its count", "CORR(a, b)", "> 0.8", _products),
    Case("information gain, one 2x2 table", "INFORMATION_GAIN(a > 0, b > 0)", "> 0.2", _table, 5.0),
    Case(
        f"information gain, {TERMS:,} groups by member", "INFORMATION_GAIN(a > 0, PRESENT)", "> 0.2", _labels,
        grouped=True,
    ),
)  # fmt: skip


def recording_of(case: Case, rows: int, seed: int = 0) -> Recording:
    """Rows of SITES sites in turn, a second apart."""
    rng = np.random.default_rng(seed)
    present = case.contributions(rng, rows)
    t, site = np.arange(rows, dtype=np.int64) * 1_000_000, np.arange(rows) % SITES
    names = [str(k) for k in range(SITES)]
    if not case.grouped:
        return Recording.from_arrays(t, site, present, sites=names)
    members = np.minimum(rng.zipf(1.4, (rows, 20)) - 1, TERMS - 1)
    absent = present[:, [1, 0, 3, 2]]
    return Recording.from_arrays(
        t, site, present, absent=absent, members=list(members), sites=names, groups=[str(k) for k in range(TERMS)]
    )
