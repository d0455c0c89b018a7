"""Any sketch from its bytes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice

from tacit.sketches.bloom import BloomFilter
from tacit.sketches.count_min import CountMin
from tacit.sketches.deterministic_wave import DeterministicWave
from tacit.sketches.dyadic import DyadicCountMin
from tacit.sketches.dyadic_ecm import DyadicEcm
from tacit.sketches.ecm import EcmSketch
from tacit.sketches.exponential_histogram import ExponentialHistogram
from tacit.sketches.randomized_wave import RandomizedWave
from tacit.sketches.serial import damaged, kind_of
from tacit.sketches.sketch import Sketch
from tacit.vocabulary import OptionError

__all__ = ["load", "load_merged"]

_ALL: tuple[type[Sketch], ...] = (
    CountMin, DyadicCountMin, BloomFilter, ExponentialHistogram, DeterministicWave, RandomizedWave, EcmSketch, DyadicEcm
)  # fmt: skip
_KINDS = {each.KIND: each for each in _ALL}


def load(data: bytes) -> Sketch:
    """The sketch that wrote these bytes, of whatever kind it is; DataError when they were cut or changed.

    >>> sketch = CountMin(width=30, depth=3)
    >>> sketch.update("so2")
    >>> load(sketch.to_bytes())
    CountMin(width=30, depth=3, seed=0, conservative=False, total=1)
    """
    return _class_of(data).from_bytes(data)


def load_merged(many: Iterable[bytes]) -> Sketch:
    """One sketch of all that these bytes are sketches of, opened one after the other and not all at once.

    >>> sketch = CountMin(width=30, depth=3)
    >>> sketch.update("so2")
    >>> load_merged([sketch.to_bytes()] * 3)
    CountMin(width=30, depth=3, seed=0, conservative=False, total=3)
    """
    coming = iter(many)
    few = list(islice(coming, 3))
    if not few:
        raise OptionError("there must be at least one sketch to merge")
    kind = _class_of(few[0])
    if len(few) < 3:  # two are open at once in any case, and then it is faster
        return kind.merge_all([load(each) for each in few])
    return kind.merge_all(load(each) for each in chain(few, coming))


def _class_of(data: bytes) -> type[Sketch]:
    kind = _KINDS.get(kind_of(data))
    if kind is None:
        raise damaged("there is no such kind of sketch")
    return kind
