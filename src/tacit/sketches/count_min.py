"""How often each key came, in a table of counters: the Count-Min sketch (seed, section 3).

Every key has one cell in each of d rows of w cells, and counts in all of them. Other keys can only add to a cell, so
the smallest of a key's cells is never below its true count. In one row the others add (total - count) / w to a key's
cell on average, so by Markov's inequality they add e times as much with probability at most 1/e, and in all rows at
once with probability at most e^-d.

Cormode and Muthukrishnan, An improved data stream summary: the Count-Min sketch and its applications, 2005.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tacit.sketches._kernels_count_min import add_conservatively, add_counts, add_ones, smallest
from tacit.sketches.counts import MOST, Counts, check_counts, check_total, exact_sum, whole
from tacit.sketches.hashing import Key, Keys, check_seed, check_words, fingerprints, row_words
from tacit.sketches.parameters import check_share
from tacit.sketches.serial import Writer, damaged, open_sealed, seal
from tacit.sketches.sketch import Sketch, check_lineage
from tacit.vocabulary import IntArray, MergeError, OptionError, WordArray

__all__ = ["CountMin", "at_least"]

CELLS_MOST = 2**28
DEPTH_MOST = 64
_NONE = np.empty(0, dtype=np.uint64)
_WHOLE_KEY = np.uint64(0)


@dataclass(frozen=True, slots=True)
class CountMinLineage:
    """What two Count-Min sketches must have in common so that their cells mean the same keys."""

    width: int
    depth: int
    seed: int
    conservative: bool


class CountMin(Sketch):
    """Counts of keys. Never under-counts; over-counts by at most epsilon * total, except with probability delta.

    Here epsilon = e / width and delta = e^-depth, for each key on its own. (Cells are chosen by 32 bits, which makes
    two keys share one with probability (1 + (width / 2^32)^2) / width: the difference is far below what rounding the
    width up gives.)

    With ``conservative``, only those cells of a key are raised that are below its estimate and its new count. That
    over-counts less, and keeps both promises: a cell is never below the count of any key that it has, and never above
    what it would be without. Merging adds the cells, which keeps both promises too, but the merged sketch
    can over-count more than one that had seen both streams. How much a conservative sketch over-counts depends on the
    order of arrivals; what it promises does not.

    >>> sketch = CountMin.for_error(0.1, 0.05)
    >>> sketch
    CountMin(width=28, depth=3, seed=0, conservative=False, total=0)
    >>> sketch.update("so2", 4)
    >>> sketch.update_many(["no2", "so2", "o3"])
    >>> sketch.estimate("so2"), sketch.estimate("co"), sketch.total
    (5, 0, 7)
    """

    KIND: ClassVar[int] = 1

    def __init__(self, *, width: int, depth: int, seed: int = 0, conservative: bool = False) -> None:
        self.width = whole("width", width, 1, CELLS_MOST)
        self.depth = whole("depth", depth, 1, DEPTH_MOST)
        if self.width * self.depth > CELLS_MOST:
            raise OptionError(f"a sketch of {width} x {depth} cells is larger than 2^28 cells; allow a larger error")
        self.seed = check_seed(seed)
        self.conservative = bool(conservative)
        self._cells = np.zeros((self.depth, self.width), dtype=np.uint64)
        self._rows = row_words(self.seed, self.depth)
        self._total = 0

    @classmethod
    def for_error(cls, epsilon: float, delta: float, *, seed: int = 0, conservative: bool = False) -> Self:
        """The smallest one that over-counts a key by at most epsilon * total, except with probability delta.

        >>> CountMin.for_error(0.001, 0.01)
        CountMin(width=2719, depth=5, seed=0, conservative=False, total=0)
        >>> CountMin.for_error(2, 0.01)
        Traceback (most recent call last):
            ...
        tacit.vocabulary.errors.OptionError: epsilon of a sketch is between 0 and 1, and 2 is not
        """
        check_share("epsilon", epsilon)
        check_share("delta", delta)
        width, depth = math.ceil(math.e / epsilon), math.ceil(math.log(1 / delta))
        return cls(width=width, depth=depth, seed=seed, conservative=conservative)

    def __repr__(self) -> str:
        shape = f"width={self.width}, depth={self.depth}, seed={self.seed}"
        return f"CountMin({shape}, conservative={self.conservative}, total={self._total})"

    @property
    def lineage(self) -> CountMinLineage:
        """What another one must have in common with this one to be merged with it."""
        return CountMinLineage(self.width, self.depth, self.seed, self.conservative)

    @property
    def epsilon(self) -> float:
        """The share of the total by which a key is over-counted at most, except with probability ``delta``."""
        return math.e / self.width * (1 + (self.width / 2**32) ** 2)

    @property
    def delta(self) -> float:
        """The probability with which a key is over-counted by more than ``epsilon`` * total."""
        return math.exp(-self.depth)

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return self._total

    @property
    def cells(self) -> WordArray:
        """The counters, one row under the other; a view that cannot be written."""
        view = self._cells.view()
        view.flags.writeable = False
        return view

    def update(self, key: Key, count: int = 1) -> None:
        """Count one key."""
        self.update_many([key], [count])

    def update_many(self, keys: Keys, counts: Counts | None = None) -> None:
        """Count many keys, each once or as often as its count says.

        >>> sketch = CountMin(width=30, depth=3)
        >>> sketch.update_many(np.array([4, 4, 9]), [1, 2, 3])
        >>> sketch.estimate_many([4, 9, 5])
        array([3, 3, 0])
        """
        self.update_words(fingerprints(keys, seed=self.seed), counts)

    def update_words(self, words: WordArray, counts: Counts | None = None) -> None:
        """Count keys that are 64 bits already, as ``fingerprints`` and Spark's ``xxhash64`` give them."""
        words = check_words(words)
        weights = check_counts(counts, len(words))
        total = check_total(self._total + (len(words) if weights is None else exact_sum(weights)))
        if self.conservative:
            add_conservatively(self._cells, self._rows, words, _NONE if weights is None else weights)
        elif weights is None:
            add_ones(self._cells, self._rows, words, _WHOLE_KEY)
        else:
            add_counts(self._cells, self._rows, words, weights, _WHOLE_KEY)
        self._total = total

    def estimate(self, key: Key) -> int:
        """How often the key came: never below the truth."""
        return int(self.estimate_many([key])[0])

    def estimate_many(self, keys: Keys) -> IntArray:
        """How often each key came: never below the truth."""
        return self.estimate_words(fingerprints(keys, seed=self.seed))

    def estimate_words(self, words: WordArray) -> IntArray:
        """As ``estimate_many``, of keys that are 64 bits already."""
        words = check_words(words)
        out = np.empty(len(words), dtype=np.uint64)
        smallest(self._cells, self._rows, words, _WHOLE_KEY, out)
        return out.view(np.int64)

    def lower_bound(self, key: Key) -> int:
        """What the key came at least, except with probability ``delta``.

        The others add at most epsilon * (total - count) to its smallest cell.

        >>> sketch = CountMin(width=28, depth=3)
        >>> sketch.update(7, 1000), sketch.update(8, 50)
        (None, None)
        >>> sketch.lower_bound(7), sketch.estimate(7)
        (995, 1000)
        """
        return at_least(self.estimate(key), self._total, self.epsilon)

    def upper_bound(self, key: Key) -> int:
        """What the key came at most: its estimate, always."""
        return self.estimate(key)

    def inner_product(self, other: Self) -> int:
        """The sum over all keys of their counts here times their counts there: an estimate that is never below it.

        It is above by at most epsilon times both totals, except with probability ``delta``. Conservative sketches
        have no inner products.

        >>> left, right = CountMin(width=30, depth=3), CountMin(width=30, depth=3)
        >>> left.update_many([1, 1, 2]), right.update_many([1, 2, 2])
        (None, None)
        >>> left.inner_product(right)
        4
        """
        check_lineage(type(self), [self, other])
        if self.conservative:
            raise OptionError(
                "a conservative sketch has no inner products: its cells can be below the sum of their keys' counts; "
                "make it with conservative=False"
            )
        return min(_dot(mine, its) for mine, its in zip(self._cells, other._cells, strict=True))

    def self_join_size(self) -> int:
        """The sum of the squares of all keys' counts, with the error of ``inner_product``."""
        return self.inner_product(self)

    @classmethod
    def merge_all(cls, sketches: Iterable[Self]) -> Self:
        """A new sketch of all that these counted; with plain ones it is what one sketch of all streams would be.

        >>> left, right = CountMin(width=30, depth=3), CountMin(width=30, depth=4)
        >>> left.merge(right)
        Traceback (most recent call last):
            ...
        tacit.vocabulary.errors.LineageMismatch: these sketches cannot be merged: they differ in depth (3 and 4);
        make them alike
        """
        parts = list(sketches)
        check_lineage(cls, parts)
        total = sum(sketch._total for sketch in parts)
        if total > MOST:
            raise MergeError(f"a sketch counts up to 2^63 - 1, and these have {total} together; merge fewer")
        first = parts[0]
        merged = cls(width=first.width, depth=first.depth, seed=first.seed, conservative=first.conservative)
        for sketch in parts:
            merged._cells += sketch._cells
        merged._total = total
        return merged

    def to_bytes(self) -> bytes:
        """Its shape, seed and cells.

        >>> sketch = CountMin(width=30, depth=3)
        >>> sketch.update("so2")
        >>> len(sketch.to_bytes()), CountMin.from_bytes(sketch.to_bytes()).estimate("so2")
        (107, 1)
        """
        writer = Writer()
        writer.integers(self.width, self.depth, self.seed, int(self.conservative), self._total)
        writer.words(self._cells.ravel())
        return seal(self.KIND, writer)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The sketch that wrote these bytes; DataError when they were cut or changed."""
        reader = open_sealed(data, cls.KIND)
        width, depth, seed, conservative, total = reader.integers(5)
        cells = reader.words()
        reader.done()
        if not (width >= 1 and 1 <= depth <= DEPTH_MOST and width * depth == len(cells) <= CELLS_MOST):
            raise damaged("its cells are not what its shape says")
        table = cells.reshape(depth, width)
        sums = [exact_sum(row) for row in table]
        fits = max(sums) <= total if conservative else set(sums) == {total}
        if conservative not in (0, 1) or not 0 <= total <= MOST or not fits:
            raise damaged("its cells are not what its total says")
        sketch = cls(width=width, depth=depth, seed=seed, conservative=bool(conservative))
        sketch._cells, sketch._total = table, total
        return sketch


def at_least(estimate: int, total: int, epsilon: float) -> int:
    """The least count from which the others, epsilon * (total - count) at most, bring a key to its estimate."""
    if epsilon >= 1:
        return 0
    least = (estimate - epsilon * total) / (1 - epsilon)
    return max(0, math.ceil(least - 1e-9 * abs(least)))


def _dot(left: WordArray, right: WordArray) -> int:
    if exact_sum(left) * int(right.max()) <= MOST:
        return int(np.dot(left, right))
    return sum(mine * its for mine, its in zip(left.tolist(), right.tolist(), strict=True))
