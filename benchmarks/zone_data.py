"""Sites for the benchmark of fitted zones: generated ones like the seed's Figures 1 and 2, and Beijing's stations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.fitting import Mixture
from tacit.geometry import HalfSpaces

__all__ = ["Samples", "air", "elongated", "octagon"]

WEEK_US = 7 * 86_400_000_000


@dataclass(frozen=True)
class Samples:
    """What sites have seen, and what they will see: one matrix for each site."""

    names: tuple[str, ...]
    seen: tuple[NDArray[np.float64], ...]
    later: tuple[NDArray[np.float64], ...]

    def first(self, count: int) -> Samples:
        """Of the first so many sites."""
        return Samples(self.names[:count], self.seen[:count], self.later[:count])


def octagon(size: float, at: NDArray[np.float64]) -> HalfSpaces:
    """{x : distance from a point, in eight directions, at most size}."""
    angles = np.arange(8) * (np.pi / 4)
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return HalfSpaces(normals, normals @ at + size)


def elongated(
    sites: int, rng: np.random.Generator, *, seen: int, later: int, dimension: int = 2
) -> tuple[list[Mixture], Samples]:
    """Sites are long in one direction each, in turn along the axes; lengths differ, and some are bent."""
    made = []
    for k in range(sites):
        way = np.eye(dimension)[k % dimension] + rng.normal(0.0, 0.12, dimension)
        long, middle = rng.uniform(0.7, 1.3), rng.normal(0.0, 3.0, dimension)
        bend = rng.normal(0.0, 0.2, dimension) if k % 3 == 0 else np.zeros(dimension)
        means, parts = [], []
        for side in (-1.0, 1.0):
            axis = (way + side * bend) / np.linalg.norm(way + side * bend)
            length = long * (0.5 if bend.any() else 1.0)
            means.append(middle + (side * 0.75 * long * axis if bend.any() else 0.0))
            parts.append(0.09**2 * np.eye(dimension) + (length**2 - 0.09**2) * np.outer(axis, axis))
        made.append(Mixture(np.ones(2), np.array(means), np.array(parts)))
    names = tuple(f"site {k + 1}" for k in range(sites))
    drawn = [(each.draw(seen, rng), each.draw(later, rng)) for each in made]
    return made, Samples(names, tuple(d[0] for d in drawn), tuple(d[1] for d in drawn))


def air(file: Path | None, columns: Sequence[str], rng: np.random.Generator, hours: int) -> Samples:
    """Hourly readings of the stations: of Beijing, or generated; even weeks are seen, odd weeks come later.

    Hours in which a station misses one of the columns are left out.
    """
    if file is None:
        return _generated(len(columns), rng, hours)
    import pyarrow.parquet as pq

    table = pq.read_table(file, columns=["station", "ts", *columns]).to_pandas()
    wide = table.pivot(index="ts", columns="station", values=list(columns)).dropna()
    times = wide.index.to_numpy().astype("datetime64[us]").astype(np.int64)
    stations = tuple(sorted(set(wide.columns.get_level_values(1))))
    even = (times // WEEK_US) % 2 == 0
    points = [np.stack([wide[(c, s)].to_numpy(dtype=np.float64) for c in columns], axis=1) for s in stations]
    return Samples(stations, tuple(p[even] for p in points), tuple(p[~even] for p in points))


def _generated(dimension: int, rng: np.random.Generator, hours: int) -> Samples:
    """Readings that are never below 0 and have long tails; weather is shared, each station has its own mix of it."""
    stations = 12
    level = rng.normal(3.0, 0.35, (stations, dimension))
    pull = rng.uniform(0.2, 0.6, (stations, dimension))
    own = rng.uniform(0.15, 0.6, (stations, dimension))

    def draw() -> tuple[NDArray[np.float64], ...]:
        weather = rng.normal(size=(hours, dimension))
        return tuple(
            np.exp(level[s] + pull[s] * weather + own[s] * rng.normal(size=(hours, dimension))) for s in range(stations)
        )

    return Samples(tuple(f"station {s + 1}" for s in range(stations)), draw(), draw())
