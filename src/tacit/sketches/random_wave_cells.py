"""Counters of randomized waves, many at once: what a RandomizedWave and an ECM-sketch over such waves are made of.

Each arrival gets a level l with probability 2^-(l + 1), drawn from a hash of the seed, the source and the arrival's
number. For each level the times of the newest c + 1 arrivals that have exactly this level are kept. A query finds the
finest level l from which on upwards no ring is full of times in the range: then all X arrivals of level l or higher
that are in the range are known, and the estimate is X 2^l.

Why that is right up to epsilon, except with probability delta. Let n arrivals be in the range, and h = (1 + epsilon)
ln(1 + epsilon) - epsilon, the exponent of Chernoff's bound: a sum of independent 0s and 1s with mean at most m is
(1 + epsilon) m or more with probability at most e^(-hm), and (1 - epsilon) times its mean or less no more likely.
Let m = ln(4 / delta) / h and c = ceil((1 + epsilon) m), and x = e^(-hm) = delta / 4.
- With n <= m no ring is full, and level 0 gives n itself.
- Otherwise some level k has n 2^-k in (m, 2m]. The X of level k - j has a mean above 2^j m, so it is off by more than
  epsilon with probability at most 2 x^(2^j), for all levels 0 to k together 2 (x + x^2 + x^4 + ...).
- The ring of level k has a mean of at most m in the range, so it is full with probability at most x; that of level
  k + i, with mean 2^-i m, with at most x^(i + 1). (Its exponent is (1 + epsilon)(ln(1 + epsilon) + i ln 2 - 1) + 2^-i,
  at least 2h for i = 1 and each time larger by more than h, for epsilon <= 1.) Together x + x^2 + x^3 + ...
- If nothing of that happens, the finest level of which all is known is k or finer, and it is right up to epsilon. The
  sum of all is at most 3x + 3x^2 + x^3 + 3x^4 + ... < 4x = delta.
The arrivals are drawn independently, so one wave is enough; the paper takes the median of several because its levels
are only pairwise independent. Keeping the levels apart takes a bit more than half of the room that the paper's nested
levels take for the same guarantee, and an arrival is written once.

Merging keeps the newest c + 1 of each level: exactly what one wave of all streams would have kept, so nothing is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from tacit.sketches._kernels_hash import hash_word
from tacit.sketches._kernels_random_wave import (
    LEVELS_MOST,
    collect,
    merge_rings,
    push_many,
    restore,
    wave_estimates,
)
from tacit.sketches.cells import Cells
from tacit.sketches.gathering import Gathering
from tacit.sketches.hashing import check_seed
from tacit.sketches.parameters import Counter, check_share
from tacit.sketches.serial import Reader, Writer, damaged
from tacit.sketches.window import LONGEST
from tacit.vocabulary import FloatArray, IntArray, MergeError, OptionError, WordArray

__all__ = ["RandomWaveCells", "RandomWaveGathering", "capacity_of"]

_SHIFT = 2 * LONGEST  # a time as a word, so that 0 is before all times and all starts of windows
_RINGS_MOST = 2**28
_LEAST_ERROR = 1e-4
_NO_COUNTS = np.empty(0, dtype=np.int64)


def capacity_of(epsilon: float, delta: float) -> int:
    """How many arrivals of each level are needed (the module says why).

    >>> capacity_of(0.1, 0.05)
    996
    """
    if epsilon < _LEAST_ERROR:
        raise OptionError(f"randomized waves have an error of at least {_LEAST_ERROR}, and {epsilon} is less")
    exponent = (1 + epsilon) * math.log1p(epsilon) - epsilon
    return math.ceil((1 + epsilon) * math.log(4 / delta) / exponent)


class RandomWaveCells(Cells):
    """Counters over one window, each right up to epsilon except with probability delta / depth.

    The smallest of the cells of a key is too low when one of ``depth`` counters is, so each may fail with only this
    part of delta. All rows share the levels that are drawn: an arrival's level is the same in all of its cells.
    """

    counter: ClassVar[Counter] = "random_wave"

    def __init__(
        self, *, depth: int, width: int, length: int, epsilon: float, delta: float, seed: int, source: int = 0
    ) -> None:
        super().__init__(depth=depth, width=width, length=length, epsilon=epsilon, delta=delta, seed=seed)
        check_share("delta of randomized waves", delta)
        self.capacity = capacity_of(epsilon, delta / depth)
        if depth * width * (self.capacity + 1) > _RINGS_MOST:
            raise OptionError(
                f"randomized waves with an error of {epsilon} keep {self.capacity} times of each level in each of "
                f"{depth * width} counters, which is too much; allow a larger error or use a histogram or a wave"
            )
        self._source = check_seed(source)
        self._number = np.zeros(1, dtype=np.uint64)
        self._make_rings(1)

    @property
    def source(self) -> int:
        """Which stream this is: the levels of streams with different sources are drawn independently."""
        return self._source

    @property
    def error(self) -> float:
        """The relative error of a counter, merged or not."""
        return self.epsilon

    @property
    def arrivals(self) -> int:
        """How many arrivals were counted, in the window or not."""
        return int(self._number[0])

    @property
    def nbytes(self) -> int:
        """How many bytes the rings have."""
        return int(self._rings.nbytes + self._ends.nbytes)

    def insert(self, words: WordArray, keys: WordArray, times: IntArray, counts: IntArray | None) -> None:
        """Count arrivals, whose times do not decrease."""
        stamps = (times + np.int64(_SHIFT)).view(np.uint64)
        weights = _NO_COUNTS if counts is None else counts
        drawn, width = np.zeros(LEVELS_MOST + 1, dtype=np.int64), np.uint64(self.width)
        base = np.uint64(hash_word(np.uint64(self._source % 2**64), np.uint64(self.seed % 2**64)))
        at = 0
        while True:
            at = push_many(self._rings, self._ends, words, width, keys, stamps, weights, base, self._number, at, drawn)
            if at == len(keys):
                return
            self._grow()

    def estimates(self, which: IntArray, start: int) -> FloatArray:
        """How many arrivals after the start each of these cells has."""
        return self._ask(which, start)[0]

    def bounds(self, which: IntArray, start: int) -> tuple[FloatArray, FloatArray]:
        """What the truth is at least and at most: certain while all is kept, else except with the probability."""
        estimates, kept = self._ask(which, start)
        low = np.maximum(kept, estimates / (1 + self.epsilon))
        return np.where(kept < 0, estimates, low), np.where(kept < 0, estimates, estimates / (1 - self.epsilon))

    @classmethod
    def merged(cls, parts: Sequence[Self], horizon: int) -> Self:
        """The counters of all streams, without what is at or before the horizon."""
        gathering = RandomWaveGathering(parts[0])
        for part in parts:
            gathering.add(part, horizon)
        return gathering.merged(horizon)  # type: ignore[return-value]

    def write(self, writer: Writer, now: int) -> None:
        """The arrivals of the window that ends now; what is older is left out."""
        start = np.uint64(now - self.length + _SHIFT)
        sizes = np.zeros(self._rings.shape[:2], dtype=np.int64)
        gaps = np.empty(collect(self._rings, self._ends, start, sizes, np.empty(0, dtype=np.uint64)), dtype=np.uint64)
        collect(self._rings, self._ends, start, sizes, gaps)
        used = 1 + int(max(np.flatnonzero(sizes.any(axis=0)), default=0))
        writer.integers(self._source, self.levels, self.arrivals, used)
        writer.words(np.ascontiguousarray(sizes[:, :used]).ravel().astype(np.uint64))
        writer.words(gaps)

    def read(self, reader: Reader, now: int) -> None:
        """What ``write`` wrote at the same time."""
        source, levels, arrivals, used = reader.integers(4)
        sizes, gaps = reader.words(), reader.words()
        if not (0 <= levels <= LONGEST and 0 <= arrivals <= LONGEST and 1 <= used <= LEVELS_MOST + 1):
            raise damaged("its levels are none")
        if len(sizes) != self.depth * self.width * used or (len(sizes) and int(sizes.max()) > self.capacity + 1):
            raise damaged("its levels are not what its shape says")
        table = sizes.astype(np.int64).reshape(self.depth, self.width, used)
        if int(table.sum()) != len(gaps) or (table.sum(axis=(1, 2)) > arrivals).any():
            raise damaged("its times are not as many as it says")
        self._source, self.levels, self._number[0] = source, levels, arrivals
        self._make_rings(used)
        start, length = np.uint64(now - self.length + _SHIFT), np.uint64(self.length)
        if not restore(self._rings, self._ends, start, length, table.reshape(self.depth * self.width, used), gaps):
            raise damaged("one of its times is not in the window")

    def take(self, part: RandomWaveCells, horizon: int) -> None:
        """Into each ring what another part has in it and came after the horizon."""
        rings, ends = self._rings, self._ends
        self._make_rings(max(rings.shape[1], part._rings.shape[1]))
        start = np.uint64(horizon + _SHIFT)
        merge_rings(rings, ends, part._rings, part._ends, start, self._rings, self._ends)

    def number(self, source: int, arrivals: int) -> None:
        """Go on as this source, after so many arrivals."""
        self._source, self._number[0] = source, arrivals

    def _ask(self, which: IntArray, start: int) -> tuple[FloatArray, IntArray]:
        estimates, kept = np.empty(len(which)), np.empty(len(which), dtype=np.int64)
        wave_estimates(self._rings, self._ends, which, np.uint64(start + _SHIFT), estimates, kept)
        return estimates, kept

    def _make_rings(self, levels: int) -> None:
        cells = self.depth * self.width
        self._rings: WordArray = np.zeros((cells, levels, self.capacity + 1), dtype=np.uint64)
        self._ends: WordArray = np.zeros((cells, levels), dtype=np.uint64)

    def _grow(self) -> None:
        rings, ends = self._rings, self._ends
        self._make_rings(min(LEVELS_MOST + 1, rings.shape[1] + 4))
        self._rings[:, : rings.shape[1]] = rings
        self._ends[:, : rings.shape[1]] = ends


class RandomWaveGathering(Gathering[RandomWaveCells]):
    """Randomized waves of several streams. A ring has room for the newest of all, so each part is put in as it comes.

    What has expired by a later horizon stays in its ring: it is in no answer, and is not written.
    """

    def __init__(self, like: RandomWaveCells) -> None:
        self._made = like.empty()
        self._counted: dict[int, int] = {}
        self._idle: list[int] = []

    def add(self, part: RandomWaveCells, horizon: int) -> None:
        """MergeError when two drew the same levels."""
        made = self._made
        if part.arrivals and part.source in self._counted:
            raise MergeError(
                f"two randomized waves with the source {part.source} drew the same levels, so their errors add up; "
                "make the wave of each stream with a source of its own"
            )
        if part.arrivals:
            self._counted[part.source] = part.arrivals
        else:
            self._idle.append(part.source)
        made.levels = max(made.levels, 1 + part.levels)
        made.take(part, horizon)

    def merged(self, horizon: int) -> RandomWaveCells:
        """With a source for what goes on: of all these streams together, in whatever order they came."""
        del horizon
        sources = list(self._counted) or [min(self._idle)]
        if len(sources) == 1:
            self._made.number(sources[0], sum(self._counted.values()))
        else:
            words = ((np.uint64(source % 2**64), np.uint64(count)) for source, count in self._counted.items())
            mixed = sum(int(hash_word(*each)) for each in words) % 2**64
            self._made.number(mixed - 2**63, sum(self._counted.values()))
        return self._made
