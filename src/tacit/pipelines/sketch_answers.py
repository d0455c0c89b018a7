"""What the functions of ``sketch_functions`` do in Spark's workers: Arrow columns in, an Arrow column out.

Each distinct sketch of a batch is opened once and asked for all rows that have it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.pipelines.sketch_tasks import merged
from tacit.sketches import BloomFilter, DyadicCountMin, DyadicEcm, EcmSketch, Sketch, hash_ranges, load
from tacit.vocabulary import IntArray, WordArray
from tacit.vocabulary.errors import DataError, OptionError

__all__ = ["ANSWERS", "answer", "check_length", "estimate_known", "merge_group"]

_KEPT = 16


def answer(name: str, *columns: pa.Array, **named: pa.Array) -> Any:
    """Call the function of this name."""
    function = ANSWERS[name]
    try:
        bound = inspect.signature(function).bind(*columns, **named)
    except TypeError:
        raise OptionError(f"{name} takes ({', '.join(inspect.signature(function).parameters)})") from None
    return function(*bound.args, **bound.kwargs)


def ecm_estimate(sketch: pa.Array, key: pa.Array, length: pa.Array | None = None) -> pa.Array:
    """How often the key came in the last ``length`` ticks of the window, or in all of it."""
    found, known = np.zeros(len(sketch)), np.zeros(len(sketch), dtype=np.bool_)
    for (opened, *limit), rows in _asked(_windowed, sketch, key=key, length=length):
        found[rows], known[rows] = opened.estimate_many(_keys(opened, key, rows), *limit), True
    return pa.array(found, mask=~known)


def ecm_total(sketch: pa.Array, length: pa.Array | None = None) -> pa.Array:
    """How many arrivals there were."""
    return _of_each(lambda opened, *limit: opened.total(*limit), _windowed, sketch, length=length)


def ecm_self_join(sketch: pa.Array, length: pa.Array | None = None) -> pa.Array:
    """The sum of the squares of all keys' counts."""
    return _of_each(lambda opened, *limit: opened.self_join_size(*limit), _ecm, sketch, length=length)


def ecm_inner_product(a: pa.Array, b: pa.Array, length: pa.Array | None = None) -> pa.Array:
    """The sum over all keys of the product of both counts."""
    return _of_each(lambda one, two, *limit: one.inner_product(two, *limit), _ecm, a, b, length=length)


def ecm_error(sketch: pa.Array) -> pa.Array:
    """What a point query may err by now, as a share of all arrivals."""
    return _of_each(lambda opened: opened.point_error, _ecm, sketch)


def sketch_estimate(sketch: pa.Array, key: pa.Array) -> pa.Array:
    """How often the key came."""
    found, known = np.zeros(len(sketch)), np.zeros(len(sketch), dtype=np.bool_)
    for (opened,), rows in _asked(_counting, sketch, key=key):
        found[rows], known[rows] = opened.estimate_many(_keys(opened, key, rows)), True
    return pa.array(found, mask=~known)


def bloom_contains(sketch: pa.Array, key: pa.Array) -> pa.Array:
    """Whether the key was put in; always right when it says no."""
    found, known = np.zeros((2, len(sketch)), dtype=np.bool_)
    for (opened,), rows in _asked(_bloom, sketch, key=key):
        found[rows], known[rows] = opened.contains_words(_keys(opened, key, rows)), True
    return pa.array(found, mask=~known)


def sketch_merge(a: pa.Array, b: pa.Array) -> pa.Array:
    """Both as one."""
    found: list[bytes | None] = [None] * len(a)
    for both, rows in _distinct([_binary(a), _binary(b)]):
        together = merged(both)
        for row in rows:
            found[row] = together
    return pa.array(found, pa.binary())


def merge_group(sketch: pa.Array) -> bytes | None:
    """All as one; None where there is none."""
    given = _binary(sketch).drop_null().to_pylist()
    if len(given) == 1:
        load(given[0])  # what is no sketch is told, not handed on
    return merged(given) if given else None


def estimate_known(data: bytes, length: int | None, key: pa.Array) -> pa.Array:
    """How often each key came, by one sketch that was sent before."""
    opened, rows = _counting(data), np.flatnonzero(key.is_valid())
    found, known = np.zeros(len(key)), np.zeros(len(key), dtype=np.bool_)
    limit = () if length is None else (length,)
    found[rows], known[rows] = opened.estimate_many(_keys(opened, key, rows), *limit), True
    return pa.array(found, mask=~known)


ANSWERS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        bloom_contains, ecm_error, ecm_estimate, ecm_inner_product, ecm_self_join, ecm_total, sketch_estimate,
        sketch_merge,
    )
} | {"sketch_merge_all": merge_group}  # fmt: skip


def check_length(sketch: Sketch, length: int | None) -> None:
    """OptionError when a length is asked of a sketch that has no window."""
    if length is not None and not isinstance(sketch, (EcmSketch, DyadicEcm)):
        raise OptionError(f"a {type(sketch).__name__} counts without a window; leave the length out")


def _of_each(
    ask: Callable[..., float], opener: Callable[[bytes], Any], *sketches: pa.Array, length: pa.Array | None = None
) -> pa.Array:
    """One number for each row."""
    found, known = np.zeros(len(sketches[0])), np.zeros(len(sketches[0]), dtype=np.bool_)
    for opened, rows in _asked(opener, *sketches, length=length):
        found[rows], known[rows] = ask(*opened), True
    return pa.array(found, mask=~known)


def _asked(
    opener: Callable[[bytes], Any], *sketches: pa.Array, key: pa.Array | None = None, length: pa.Array | None = None
) -> Iterator[tuple[list[Any], IntArray]]:
    """The open sketches, then the length if there is one, and the rows that have them and no NULL."""
    if length is not None and pa.types.is_null(length.type):
        length = length.cast(pa.int64())
    if length is not None and not pa.types.is_integer(length.type):
        raise DataError(f"a length is a whole number of ticks, and {length.type} is given")
    columns = [*map(_binary, sketches), *([] if length is None else [length])]
    there = None if key is None or not key.null_count else np.asarray(key.is_valid())
    for values, rows in _distinct(columns):
        asked = rows if there is None else rows[there[rows]]
        if len(asked):
            yield [*map(opener, values[: len(sketches)]), *values[len(sketches) :]], asked


def _distinct(columns: Sequence[pa.Array]) -> Iterator[tuple[list[Any], IntArray]]:
    """Each combination of values, none of them NULL, and its rows."""
    coded = [each.dictionary_encode() for each in columns]
    codes = np.stack([each.indices.fill_null(-1).to_numpy(zero_copy_only=False) for each in coded]).astype(np.int64)
    combinations, which = np.unique(codes, axis=1, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=combinations.shape[1]))
    for number, end in enumerate(ends):
        code = combinations[:, number]
        if (code >= 0).all():
            values = [each.dictionary[int(at)].as_py() for each, at in zip(coded, code, strict=True)]
            yield values, order[ends[number - 1] if number else 0 : end]


def _keys(sketch: Any, keys: pa.Array, rows: IntArray) -> WordArray | IntArray:
    """The keys of these rows as the sketch takes them: as 64 bits, or as they are by sketches of ranges."""
    taken = keys if len(rows) == len(keys) else keys.take(pa.array(rows))
    kind = taken.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        whole: IntArray = taken.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return whole if isinstance(sketch, (DyadicCountMin, DyadicEcm)) else whole.view(np.uint64)
    if isinstance(sketch, (DyadicCountMin, DyadicEcm)):
        raise DataError(f"keys of {type(sketch).__name__} are whole numbers, and {kind} is given")
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind) or _is_large(kind)):
        raise DataError(f"a key of a sketch is a whole number, a text or binary, and {kind} is given")
    texts = taken.cast(pa.large_binary())
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1].copy()
    return hash_ranges(np.frombuffer(data or b"", dtype=np.uint8), starts, seed=sketch.lineage.seed)


def _is_large(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def _binary(sketches: pa.Array) -> pa.Array:
    kind = sketches.type
    if pa.types.is_null(kind):
        return sketches.cast(pa.binary())
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise DataError(f"a column of sketches is BINARY, and {kind} is given")
    return sketches


@lru_cache(maxsize=_KEPT)
def _open(data: bytes) -> Sketch:
    """Sketches that are only asked are kept open: the next batch often has the same."""
    return load(data)


def _opened(data: bytes, what: str, *kinds: type[Sketch]) -> Any:
    found = _open(data)
    if not isinstance(found, kinds):
        raise DataError(f"{what} is asked for, and {type(found).__name__} is given")
    return found


def _ecm(data: bytes) -> EcmSketch:
    return _opened(data, "an ECM-sketch", EcmSketch)  # type: ignore[no-any-return]


def _windowed(data: bytes) -> EcmSketch | DyadicEcm:
    return _opened(data, "an ECM-sketch", EcmSketch, DyadicEcm)  # type: ignore[no-any-return]


def _bloom(data: bytes) -> BloomFilter:
    return _opened(data, "a Bloom filter", BloomFilter)  # type: ignore[no-any-return]


def _counting(data: bytes) -> Any:
    found = _open(data)
    if not hasattr(found, "estimate_many"):
        raise DataError(f"a sketch that counts keys is asked for, and {type(found).__name__} is given")
    return found
