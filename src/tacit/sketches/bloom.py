"""Which keys came, in a field of bits: the Bloom filter.

Every key sets k bits of m, chosen by its hash. A key whose bits are all set probably came; one with a bit that is not
set certainly did not. After n distinct keys a bit is set with probability 1 - (1 - 1/m)^(kn), which says how many keys
came when one counts the bits.

Bloom, Space/time trade-offs in hash coding with allowable errors, 1970. The rate of false positives is held by the
bound of Goel and Gupta (Small subset queries and bloom filters using ternary associative memories, 2010): it is at
most (1 - e^(-k (n + 1/2) / (m - 1)))^k, while the well-known (1 - e^(-kn/m))^k is a little too small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tacit.sketches._kernels_bloom import find_bits, set_bits
from tacit.sketches.counts import whole
from tacit.sketches.hashing import Key, Keys, check_seed, check_words, fingerprints
from tacit.sketches.parameters import check_share
from tacit.sketches.serial import Writer, damaged, open_sealed, seal
from tacit.sketches.sketch import Sketch, check_lineage
from tacit.vocabulary import BoolArray, OptionError, WordArray

__all__ = ["BloomFilter"]

BITS_MOST = 2**32 - 64
HASHES_MOST = 64
_CAPACITY_MOST = 2**40


@dataclass(frozen=True, slots=True)
class BloomFilterLineage:
    """What two Bloom filters must have in common so that their bits mean the same keys."""

    bits: int
    hashes: int
    seed: int


class BloomFilter(Sketch):
    """A set of keys. A key that was put in is always found.

    One that was not is found with probability at most ``false_positive``, as long as no more than ``capacity`` distinct
    keys were put in. (That takes the hash of a key for random bits; it is XXH64 and splitmix64, mixed with the seed.)

    >>> seen = BloomFilter.for_capacity(1000, 0.01)
    >>> seen
    BloomFilter(bits=9600, hashes=7, seed=0)
    >>> seen.update_many(["so2", "no2", "so2"])
    >>> seen.contains("so2"), "so2" in seen, seen.contains("o3")
    (True, True, False)
    >>> round(seen.estimate(), 3), seen.lower_bound()
    (2.001, 2)
    """

    KIND: ClassVar[int] = 3

    def __init__(self, *, bits: int, hashes: int, seed: int = 0) -> None:
        self.bits = whole("bits", bits, 64, BITS_MOST)
        if self.bits % 64:
            raise OptionError(f"bits of a Bloom filter are a multiple of 64, and {bits} is none")
        self.hashes = whole("hashes", hashes, 1, HASHES_MOST)
        self.seed = check_seed(seed)
        self._field = np.zeros(self.bits // 64, dtype=np.uint64)

    @classmethod
    def for_capacity(cls, capacity: int, false_positive: float = 0.01, *, seed: int = 0) -> Self:
        """The smallest one that finds a key that is not there with at most this probability.

        >>> BloomFilter.for_capacity(10**12)
        Traceback (most recent call last):
            ...
        tacit.vocabulary.errors.OptionError: a Bloom filter for 1000000000000 keys at 0.01 needs more than 2^32 bits;
        use several, each for a part of the keys
        """
        whole("capacity", capacity, 1, _CAPACITY_MOST)
        check_share("false_positive", false_positive)
        hashes = min(HASHES_MOST, max(1, round(math.log2(1 / false_positive))))
        filled = false_positive ** (1 / hashes)
        bits = 1 + hashes * (capacity + 0.5) / -math.log1p(-filled)
        if bits > BITS_MOST:
            raise OptionError(
                f"a Bloom filter for {capacity} keys at {false_positive} needs more than 2^32 bits; "
                "use several, each for a part of the keys"
            )
        return cls(bits=64 * math.ceil(bits / 64), hashes=hashes, seed=seed)

    def __repr__(self) -> str:
        return f"BloomFilter(bits={self.bits}, hashes={self.hashes}, seed={self.seed})"

    def __contains__(self, key: Key) -> bool:
        return self.contains(key)

    @property
    def lineage(self) -> BloomFilterLineage:
        """What another one must have in common with this one to be merged with it."""
        return BloomFilterLineage(self.bits, self.hashes, self.seed)

    @property
    def filled(self) -> int:
        """How many bits are set."""
        return int(np.bitwise_count(self._field).sum(dtype=np.int64))

    @property
    def false_positive(self) -> float:
        """With what probability a key that was not put in is found now.

        >>> BloomFilter.for_capacity(10).false_positive
        0.0
        """
        return float((self.filled / self.bits) ** self.hashes)

    def update(self, key: Key) -> None:
        """Put one key in."""
        self.update_many([key])

    def update_many(self, keys: Keys) -> None:
        """Put many keys in."""
        self.update_words(fingerprints(keys, seed=self.seed))

    def update_words(self, words: WordArray) -> None:
        """Put keys in that are 64 bits already, as ``fingerprints`` and Spark's ``xxhash64`` give them."""
        set_bits(self._field, np.uint64(self.bits), self.hashes, self._start, check_words(words))

    def contains(self, key: Key) -> bool:
        """Whether the key was put in: always right when it says no."""
        return bool(self.contains_many([key])[0])

    def contains_many(self, keys: Keys) -> BoolArray:
        """Whether each key was put in: always right when it says no."""
        return self.contains_words(fingerprints(keys, seed=self.seed))

    def contains_words(self, words: WordArray) -> BoolArray:
        """As ``contains_many``, of keys that are 64 bits already."""
        words = check_words(words)
        out = np.empty(len(words), dtype=np.bool_)
        find_bits(self._field, np.uint64(self.bits), self.hashes, self._start, words, out)
        return out

    def estimate(self) -> float:
        """How many distinct keys were put in, by how many bits are set; infinite when all are."""
        if self.filled == self.bits:
            return math.inf
        return abs(math.log1p(-self.filled / self.bits) / math.log1p(-1 / self.bits) / self.hashes)

    def lower_bound(self) -> int:
        """How many distinct keys were put in at least, always: each sets no more bits than there are hashes."""
        return -(-self.filled // self.hashes)

    def upper_bound(self, delta: float = 0.01) -> float:
        """How many distinct keys were put in at most, except with probability delta.

        By McDiarmid's inequality the bits that kn choices set are fewer than expected by sqrt(kn ln(1/delta) / 2) with
        at most this probability. It is infinite when so many bits are set that any number of keys could have set them.

        >>> seen = BloomFilter.for_capacity(1000, 0.01)
        >>> seen.update_many(range(1000))
        >>> seen.upper_bound(0.01) < 1100
        True
        """
        check_share("delta", delta)
        filled, slack = self.filled, math.log(1 / delta) / 2

        def possible(choices: float) -> bool:
            expected = -self.bits * math.expm1(choices * math.log1p(-1 / self.bits))
            return expected - math.sqrt(choices * slack) <= filled

        # From the first number of choices that is not possible no larger one is, although the inequality alone would
        # let in very large ones: more choices set more bits.
        low, high = 0.0, float(self.hashes)
        while possible(high):
            low, high = high, 2 * high
            if high > 64.0 * self.bits:
                return math.inf
        for _ in range(64):
            middle = (low + high) / 2
            low, high = (middle, high) if possible(middle) else (low, middle)
        return high / self.hashes

    @classmethod
    def merge_all(cls, sketches: Iterable[Self]) -> Self:
        """A new filter of all keys of these: exactly what one filter of all streams would be."""
        parts = list(sketches)
        check_lineage(cls, parts)
        first = parts[0]
        merged = cls(bits=first.bits, hashes=first.hashes, seed=first.seed)
        for sketch in parts:
            merged._field |= sketch._field
        return merged

    def to_bytes(self) -> bytes:
        """Its shape, seed and bits.

        >>> seen = BloomFilter.for_capacity(10)
        >>> seen.update("so2")
        >>> len(seen.to_bytes()), "so2" in BloomFilter.from_bytes(seen.to_bytes())
        (31, True)
        """
        writer = Writer()
        writer.integers(self.bits, self.hashes, self.seed)
        writer.raw(self._field.astype("<u8").tobytes())
        return seal(self.KIND, writer)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The filter that wrote these bytes; DataError when they were cut or changed."""
        reader = open_sealed(data, cls.KIND)
        bits, hashes, seed = reader.integers(3)
        field = reader.raw()
        reader.done()
        if not (bits == 8 * len(field) and 64 <= bits <= BITS_MOST and bits % 64 == 0 and 1 <= hashes <= HASHES_MOST):
            raise damaged("its bits are not what its shape says")
        kept = cls(bits=bits, hashes=hashes, seed=seed)
        kept._field = np.frombuffer(field, dtype="<u8").astype(np.uint64)
        return kept

    @property
    def _start(self) -> np.uint64:
        return np.uint64(self.seed % 2**64)
