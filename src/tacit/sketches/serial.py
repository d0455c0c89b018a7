"""Sketches as bytes: four letters, a version, the kind, a checksum, then what the kind writes.

    TSKT | version u8 | kind u8 | CRC-32 of both and of the rest u32 | fields and words

A ``Writer`` and a ``Reader`` hold the rest: whole numbers as they are needed (packed seven bits to a byte), floats and
arrays. Everything is little-endian. Bytes that were cut, changed or made by a later version get one clear DataError.

>>> writer = Writer()
>>> writer.integers(3, 2**40), writer.floats(0.5), writer.words(np.arange(3, dtype=np.uint64))
(None, None, None)
>>> data = seal(9, writer)
>>> reader = open_sealed(data, 9)
>>> reader.integers(2), reader.floats(1), reader.words(), reader.done()
([3, 1099511627776], [0.5], array([0, 1, 2], dtype=uint64), None)
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from tacit.sketches._kernels_bytes import pack_words, unpack_words
from tacit.vocabulary import ByteArray, DataError, WordArray

__all__ = ["FORMAT", "Reader", "Writer", "damaged", "kind_of", "open_sealed", "seal"]

FORMAT = 1
_HEAD = struct.Struct("<4sBBI")
_MAGIC = b"TSKT"


class Writer:
    """What a sketch writes of itself."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def integers(self, *values: int) -> None:
        """Whole numbers of 64 bits with a sign."""
        folded = [(value << 1) ^ (value >> 63) for value in values]
        self._pack(np.array([each % 2**64 for each in folded], dtype=np.uint64))

    def floats(self, *values: float) -> None:
        """Floats."""
        self._parts.append(struct.pack(f"<{len(values)}d", *values))

    def words(self, values: WordArray) -> None:
        """An array of whole numbers without sign, with its length; small ones take few bytes."""
        self.integers(len(values))
        self._pack(values)

    def raw(self, data: bytes) -> None:
        """Bytes, with their length."""
        self.integers(len(data))
        self._parts.append(data)

    def content(self) -> bytes:
        """All that was written."""
        return b"".join(self._parts)

    def _pack(self, values: WordArray) -> None:
        room = np.empty(10 * len(values), dtype=np.uint8)
        self._parts.append(room[: pack_words(values, room)].tobytes())


class Reader:
    """Reads what a Writer wrote, in the same order."""

    def __init__(self, content: bytes) -> None:
        self._data: ByteArray = np.frombuffer(content, dtype=np.uint8)
        self._at = 0

    def integers(self, count: int) -> list[int]:
        """So many whole numbers."""
        folded = [int(each) for each in self._unpack(count)]
        return [(each >> 1) ^ -(each & 1) for each in folded]

    def floats(self, count: int) -> list[float]:
        """So many floats."""
        return list(struct.unpack(f"<{count}d", self._take(8 * count)))

    def words(self) -> WordArray:
        """An array of whole numbers."""
        (count,) = self.integers(1)
        return self._unpack(count)

    def raw(self) -> bytes:
        """Bytes."""
        (count,) = self.integers(1)
        return self._take(count)

    @property
    def left(self) -> int:
        """How many bytes are not read yet: no array in them can have more numbers."""
        return len(self._data) - self._at

    def done(self) -> None:
        """DataError when something is left."""
        if self.left:
            raise damaged("there is more than it says")

    def _take(self, count: int) -> bytes:
        if not 0 <= count <= len(self._data) - self._at:
            raise damaged("it ends too early")
        self._at += count
        return self._data[self._at - count : self._at].tobytes()

    def _unpack(self, count: int) -> WordArray:
        rest = self._data[self._at :]
        if not 0 <= count <= len(rest):
            raise damaged("it ends too early")
        words = np.empty(count, dtype=np.uint64)
        used = unpack_words(rest, words)
        if used < 0:
            raise damaged("a number in it does not end")
        self._at += used
        return words


def seal(kind: int, writer: Writer) -> bytes:
    """The bytes of a sketch of this kind."""
    content = writer.content()
    return _HEAD.pack(_MAGIC, FORMAT, kind, _checksum(kind, content)) + content


def kind_of(data: bytes) -> int:
    """Which kind of sketch these bytes are.

    >>> kind_of(b"not a sketch")
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.DataError: these bytes are no sketch: they do not begin with TSKT
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise DataError(f"a sketch is read from bytes, and a {type(data).__name__} is given")
    if bytes(data[:4]) != _MAGIC:
        raise DataError("these bytes are no sketch: they do not begin with TSKT")
    if len(data) < _HEAD.size:
        raise damaged("it ends too early")
    _, version, kind, _ = _HEAD.unpack_from(data)
    if version != FORMAT:
        raise DataError(
            f"this sketch is of format {version}, and this tacit reads format {FORMAT}; use the one that wrote it"
        )
    return int(kind)


def open_sealed(data: bytes, kind: int) -> Reader:
    """The content of a sketch of this kind."""
    found = kind_of(data)
    if found != kind:
        raise DataError(
            f"these bytes are a sketch of kind {found}, and one of kind {kind} is read; use tacit.sketches.load"
        )
    content = bytes(data[_HEAD.size :])
    if _checksum(kind, content) != _HEAD.unpack_from(data)[3]:
        raise damaged("its checksum does not fit")
    return Reader(content)


def _checksum(kind: int, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(bytes([FORMAT, kind])))


def damaged(why: str) -> DataError:
    """These bytes were cut or changed on their way."""
    return DataError(f"the bytes of this sketch are damaged: {why}; take them from where they were made again")
