"""Any sketch from its bytes."""

from __future__ import annotations

from tacit.sketches import bloom, count_min, dyadic, randomized_wave
from tacit.sketches.serial import damaged, kind_of
from tacit.sketches.sketch import Sketch

__all__ = ["load"]

_KINDS: dict[int, type[Sketch]] = {
    count_min.KIND: count_min.CountMin,
    dyadic.KIND: dyadic.DyadicCountMin,
    bloom.KIND: bloom.BloomFilter,
    randomized_wave.KIND: randomized_wave.RandomizedWave,
}


def load(data: bytes) -> Sketch:
    """The sketch that wrote these bytes, of whatever kind it is; DataError when they were cut or changed.

    >>> from tacit.sketches import CountMin
    >>> sketch = CountMin(width=30, depth=3)
    >>> sketch.update("so2")
    >>> load(sketch.to_bytes())
    CountMin(width=30, depth=3, seed=0, conservative=False, total=1)
    """
    kind = _KINDS.get(kind_of(data))
    if kind is None:
        raise damaged("there is no such kind of sketch")
    return kind.from_bytes(data)
