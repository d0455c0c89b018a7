"""How many keys are in a range, which key is at a rank, which keys and prefixes are heavy: Count-Min over a tree.

Keys are whole numbers of b bits. A Count-Min sketch for each height h of the binary tree over them counts the keys'
prefixes of b - h bits. A range takes at most two nodes of each height. Where there are so few prefixes that one cell
for each takes no more room than a sketch, there is one cell for each: from that height on all is exact.

Cormode and Muthukrishnan, An improved data stream summary: the Count-Min sketch and its applications, 2005.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tacit.sketches._kernels_count_min import add_counts, add_ones, add_prefixes, smallest
from tacit.sketches.count_min import CELLS_MOST, DEPTH_MOST, at_least
from tacit.sketches.counts import MOST, Counts, check_counts, check_total, exact_sum, whole
from tacit.sketches.hashing import Keys, check_seed, row_words
from tacit.sketches.parameters import check_share
from tacit.sketches.ranges import (
    check_phi,
    check_range,
    check_threshold,
    nodes_of,
    not_below,
    share_of,
    whole_keys,
    whole_words,
)
from tacit.sketches.serial import Writer, damaged, open_sealed, seal
from tacit.sketches.sketch import Sketch, check_lineage
from tacit.vocabulary import DataError, IntArray, MergeError, OptionError, WordArray

__all__ = ["DyadicCountMin"]

_NONE = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class DyadicCountMinLineage:
    """What two of these must have in common so that their cells mean the same keys."""

    width: int
    depth: int
    bits: int
    seed: int


class DyadicCountMin(Sketch):
    """Counts of ranges of keys, which are whole numbers 0 <= key < 2^bits. Never under-counts.

    The count of a node (a key, or all keys with a prefix) is above the truth by at most epsilon * total, except with
    probability delta, where epsilon = e / width and delta = e^-depth, and those of the top are exact. A range takes at
    most two nodes of each height below it.

    >>> sketch = DyadicCountMin.for_error(0.05, 0.01, bits=16)
    >>> sketch.update_many([3, 500, 500, 500, 40_000])
    >>> sketch.range_count(0, 999), sketch.rank(499), sketch.quantile(0.5)
    (4, 1, 500)
    >>> sketch.heavy_hitters(0.5)
    {500: 3}
    """

    KIND: ClassVar[int] = 2

    def __init__(self, *, width: int, depth: int, bits: int = 32, seed: int = 0) -> None:
        self.width = whole("width", width, 1, CELLS_MOST)
        self.depth = whole("depth", depth, 1, DEPTH_MOST)
        self.bits = whole("bits", bits, 1, 64)
        self.seed = check_seed(seed)
        self.heights = _heights(self.width, self.depth, self.bits)
        if (self.heights + 1) * self.width * self.depth > CELLS_MOST:
            raise OptionError(f"{self.heights} sketches of {width} x {depth} cells are too many; allow a larger error")
        self._cells = np.zeros((self.heights, self.depth, self.width), dtype=np.uint64)
        self._top = np.zeros(2 ** (self.bits - self.heights), dtype=np.uint64)
        self._rows = row_words(self.seed, self.heights * self.depth).reshape(self.heights, self.depth, 3)
        self._total = 0

    @classmethod
    def for_error(cls, epsilon: float, delta: float, *, bits: int = 32, seed: int = 0) -> Self:
        """The smallest one whose ranges are above the truth by at most epsilon * total, except with probability delta.

        A range takes at most two nodes of each height that is not exact. It is the sum of its nodes' smallest cells,
        so at most the sum of their cells in any one row, where the others add 2 * heights * total / width on average:
        Markov's inequality for that sum, in independent rows, gives the probability. The number of nodes costs width,
        and no depth.

        >>> DyadicCountMin.for_error(0.01, 0.01)
        DyadicCountMin(width=9243, depth=5, bits=32, seed=0, total=0)
        """
        check_share("epsilon", epsilon)
        check_share("delta", delta)
        bits = whole("bits", bits, 1, 64)
        for heights in range(1, bits + 1):
            width, depth = math.ceil(2 * heights * math.e / epsilon), math.ceil(math.log(1 / delta))
            if _heights(width, depth, bits) <= heights:
                break
        return cls(width=width, depth=depth, bits=bits, seed=seed)

    def __repr__(self) -> str:
        shape = f"width={self.width}, depth={self.depth}, bits={self.bits}, seed={self.seed}"
        return f"DyadicCountMin({shape}, total={self._total})"

    @property
    def lineage(self) -> DyadicCountMinLineage:
        """What another one must have in common with this one to be merged with it."""
        return DyadicCountMinLineage(self.width, self.depth, self.bits, self.seed)

    @property
    def epsilon(self) -> float:
        """The share of the total by which a node is above the truth at most, except with probability ``delta``."""
        return math.e / self.width * (1 + (self.width / 2**32) ** 2) if self.heights else 0.0

    @property
    def delta(self) -> float:
        """The probability with which a node is above the truth by more than ``epsilon`` * total."""
        return math.exp(-self.depth) if self.heights else 0.0

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return self._total

    def update(self, key: int, count: int = 1) -> None:
        """Count one key."""
        self.update_many([key], [count])

    def update_many(self, keys: Keys, counts: Counts | None = None) -> None:
        """Count many keys, each once or as often as its count says.

        >>> DyadicCountMin(width=8, depth=2, bits=8).update(256)
        Traceback (most recent call last):
            ...
        tacit.vocabulary.errors.DataError: keys of this sketch are whole numbers of 0 to 2^8 - 1, and 256 is not
        """
        self.update_words(whole_keys(keys, self.bits), counts)

    def update_words(self, words: WordArray, counts: Counts | None = None) -> None:
        """Count keys that are an array of words already."""
        words = whole_words(words, self.bits)
        weights = check_counts(counts, len(words))
        total = check_total(self._total + (len(words) if weights is None else exact_sum(weights)))
        for height, (cells, rows) in enumerate(zip(self._cells, self._rows, strict=True)):
            if weights is None:
                add_ones(cells, rows, words, np.uint64(height))
            else:
                add_counts(cells, rows, words, weights, np.uint64(height))
        add_prefixes(self._top, words, _NONE if weights is None else weights, np.uint64(self.heights))
        self._total = total

    def estimate(self, key: int) -> int:
        """How often the key came: never below the truth."""
        return int(self.estimate_many([key])[0])

    def estimate_many(self, keys: Keys) -> IntArray:
        """How often each key came: never below the truth."""
        return self._nodes(0, whole_keys(keys, self.bits)).view(np.int64)

    def lower_bound(self, key: int) -> int:
        """What the key came at least, except with probability ``delta``."""
        return at_least(self.estimate(key), self._total, self.epsilon)

    def upper_bound(self, key: int) -> int:
        """What the key came at most: its estimate, always."""
        return self.estimate(key)

    def range_count(self, lo: int, hi: int) -> int:
        """How many keys lo <= key <= hi came: never below the truth.

        >>> sketch = DyadicCountMin(width=20, depth=2, bits=8)
        >>> sketch.update_many(range(100), [2] * 100)
        >>> sketch.range_count(0, 255), 20 <= sketch.range_count(10, 19)
        (200, True)
        """
        check_range(lo, hi, self.bits)
        nodes, (start, stop) = nodes_of(lo, hi, self.heights)
        count = exact_sum(self._top[start:stop])
        for height, prefix in nodes:
            count += int(self._nodes(height, np.array([prefix], dtype=np.uint64))[0])
        return min(count, exact_sum(self._top[lo >> self.heights : (hi >> self.heights) + 1]))

    def rank(self, value: int) -> int:
        """How many keys are at most this one: ``range_count(0, value)``."""
        return self.range_count(0, value)

    def quantile(self, phi: float) -> int:
        """A key at this share of the order: fewer than phi * total keys (or none) are below it, always.

        At least (phi - epsilon') * total are at most it, where epsilon' is ``epsilon`` times ``heights`` (half of what
        was asked of ``for_error``), except with probability ``delta`` times ``heights``: answers choose the way, so
        that each height may fail by itself. Their hashes are independent, so that earlier answers do no other harm.

        >>> sketch = DyadicCountMin.for_error(0.05, 0.01, bits=20)
        >>> sketch.update_many(range(1000))
        >>> 450 <= sketch.quantile(0.5) <= 500
        True
        """
        check_phi(phi)
        if not self._total:
            raise DataError("a sketch that counted nothing has no quantiles; count something first")
        wanted = min(self._total, max(1, math.ceil(share_of(phi, self._total))))
        sums = np.cumsum(self._top, dtype=np.uint64)
        prefix = int(np.searchsorted(sums, np.uint64(wanted)))
        wanted -= int(sums[prefix]) - int(self._top[prefix])
        for height in reversed(range(self.heights)):
            prefix *= 2
            left = int(self._nodes(height, np.array([prefix], dtype=np.uint64))[0])
            if left < wanted:
                wanted, prefix = wanted - left, prefix + 1
        return prefix

    def heavy_hitters(self, share: float) -> dict[int, float]:
        """The keys with at least this share of the total, and how often each came, the heaviest first.

        None is missing. A key with less than (share - ``epsilon``) * total is among them with probability at most
        ``delta``. A share that is not above ``epsilon`` is refused.
        """
        found = self._heavy(share)[0]
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))

    def hierarchical_heavy_hitters(self, share: float) -> dict[tuple[int, int], float]:
        """The prefixes with at least this share of the total after what their heavy parts have is taken off.

        A prefix is named (prefix, bits), as 10.0.0.0/8 is (10, 8) of addresses of 32 bits; (0, 0) stands for all keys.
        The value is what is left of it. It is off by at most ``epsilon`` * total for itself and for each of its heavy
        parts; where all is exact, so is this.

        >>> sketch = DyadicCountMin.for_error(0.05, 0.01, bits=8)
        >>> sketch.update_many([7] * 40 + list(range(16, 32)) * 2 + list(range(100, 128)))
        >>> sketch.hierarchical_heavy_hitters(0.25)
        {(7, 8): 40, (1, 4): 32, (3, 3): 28}
        """
        return not_below(self._heavy(share), share_of(share, self._total), self.bits)

    @classmethod
    def merge_all(cls, sketches: Iterable[Self]) -> Self:
        """A new sketch of all that these counted: exactly what one sketch of all streams would be."""
        parts = list(sketches)
        check_lineage(cls, parts)
        total = sum(sketch._total for sketch in parts)
        if total > MOST:
            raise MergeError(f"a sketch counts up to 2^63 - 1, and these have {total} together; merge fewer")
        first = parts[0]
        merged = cls(width=first.width, depth=first.depth, bits=first.bits, seed=first.seed)
        for sketch in parts:
            merged._cells += sketch._cells
            merged._top += sketch._top
        merged._total = total
        return merged

    def to_bytes(self) -> bytes:
        """Its shape, seed and cells."""
        writer = Writer()
        writer.integers(self.width, self.depth, self.bits, self.seed, self._total)
        writer.words(self._top)
        writer.words(self._cells.ravel())
        return seal(self.KIND, writer)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The sketch that wrote these bytes; DataError when they were cut or changed."""
        reader = open_sealed(data, cls.KIND)
        width, depth, bits, seed, total = reader.integers(5)
        top, cells = reader.words(), reader.words()
        reader.done()
        if not (1 <= width <= CELLS_MOST and 1 <= depth <= DEPTH_MOST and 1 <= bits <= 64 and 0 <= total <= MOST):
            raise damaged("its shape is none")
        heights = _heights(width, depth, bits)
        if len(top) != 2 ** (bits - heights) or len(cells) != heights * depth * width:
            raise damaged("its cells are not what its shape says")
        tables = cells.reshape(heights, depth, width)
        if {exact_sum(top)} | {exact_sum(row) for table in tables for row in table} != {total}:
            raise damaged("its cells are not what its total says")
        sketch = cls(width=width, depth=depth, bits=bits, seed=seed)
        sketch._cells, sketch._top, sketch._total = tables, top, total
        return sketch

    def _nodes(self, height: int, prefixes: WordArray) -> WordArray:
        """The counts of nodes of one height, up to the lowest that is exact."""
        if height == self.heights:
            return self._top[prefixes]
        out = np.empty(len(prefixes), dtype=np.uint64)
        smallest(self._cells[height], self._rows[height], prefixes, np.uint64(0), out)
        return out

    def _heavy(self, share: float) -> list[dict[int, int]]:
        """The nodes of each height with at least this share of the total, and all their ancestors have it too."""
        check_threshold(share, self.epsilon)
        threshold = max(share_of(share, self._total), 0.5)
        found: list[dict[int, int]] = []
        level = self._top
        while True:
            (places,) = np.nonzero(level >= threshold)
            found.append(dict(zip(places.tolist(), level[places].tolist(), strict=True)))
            if len(level) == 1:
                break
            level = level.reshape(-1, 2).sum(axis=1, dtype=np.uint64)
        for height in reversed(range(self.heights)):
            parents = np.array(sorted(found[0]), dtype=np.uint64)
            children = np.repeat(2 * parents, 2)
            children[1::2] += np.uint64(1)
            counts = self._nodes(height, children)
            kept = counts >= threshold
            found.insert(0, dict(zip(children[kept].tolist(), counts[kept].tolist(), strict=True)))
        return found


def _heights(width: int, depth: int, bits: int) -> int:
    """How many heights, from the keys on, have more prefixes than a sketch has cells."""
    return max(0, bits - ((width * depth).bit_length() - 1))
