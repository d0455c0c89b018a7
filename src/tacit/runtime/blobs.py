"""Small durable pieces of a site's state: a key, and bytes that are known to be whole.

A blob is a version byte, a checksum and a payload. Garbled bytes are noticed when they are read, not pane by pane.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.vocabulary import FloatArray, IntArray, ProtocolError

__all__ = ["Change", "Pieces", "pack", "pack_arrays", "pack_record", "unpack", "unpack_arrays", "unpack_record"]

VERSION = 1
_HEAD = struct.Struct("<BI")  # version, checksum of the payload
_SHAPE = struct.Struct("<qqq")  # entries, columns of whole numbers, columns of real numbers


@dataclass(frozen=True, slots=True)
class Change:
    """What to write under a key; None: delete it."""

    key: str
    blob: bytes | None


class Pieces:
    """What changed since the last save, and what is being saved: after a save that failed it is handed over again."""

    def __init__(self) -> None:
        self._new: dict[str, Callable[[], bytes] | None] = {}
        self._handed: dict[str, bytes | None] = {}

    def put(self, key: str, make: Callable[[], bytes]) -> None:
        """This piece is to be written; its bytes are made when they are wanted."""
        self._new[key] = make

    def delete(self, key: str) -> None:
        """This piece is to go."""
        self._new[key] = None

    def changes(self) -> list[Change]:
        """Everything that is not known to be on disk."""
        self._handed.update((key, None if make is None else make()) for key, make in self._new.items())
        self._new.clear()
        return [Change(key, blob) for key, blob in self._handed.items()]

    def saved(self) -> None:
        """What ``changes`` gave last is on disk."""
        self._handed.clear()


def pack(payload: bytes) -> bytes:
    """A blob."""
    return _HEAD.pack(VERSION, zlib.crc32(payload)) + payload


def unpack(key: str, blob: bytes) -> bytes:
    """The payload of a blob; ProtocolError unless it is whole and of this version."""
    if len(blob) < _HEAD.size:
        raise ProtocolError(f"the saved state {key!r} is cut off; delete this site's state and start again")
    version, checksum = _HEAD.unpack_from(blob)
    if version != VERSION:
        raise ProtocolError(
            f"the saved state {key!r} has version {version}, not {VERSION}; use the release that wrote it"
        )
    payload = bytes(blob[_HEAD.size :])
    if zlib.crc32(payload) != checksum:
        raise ProtocolError(f"the saved state {key!r} is garbled; delete this site's state and start again")
    return payload


def pack_arrays(whole: tuple[IntArray, ...], real: FloatArray) -> bytes:
    """A blob of columns of whole numbers and a table of real ones, all of one length."""
    parts = [_SHAPE.pack(len(real), len(whole), real.shape[1])]
    parts += [np.ascontiguousarray(column, dtype="<i8").tobytes() for column in whole]
    parts.append(np.ascontiguousarray(real, dtype="<f8").tobytes())
    return pack(b"".join(parts))


def unpack_arrays(key: str, blob: bytes, whole: int, real: int) -> tuple[list[IntArray], FloatArray]:
    """The columns and the table of a blob that must have this many columns of each sort."""
    payload = unpack(key, blob)
    entries, found, columns = _SHAPE.unpack_from(payload) if len(payload) >= _SHAPE.size else (-1, -1, -1)
    if (found, columns) != (whole, real) or len(payload) != _SHAPE.size + 8 * entries * (whole + real):
        raise ProtocolError(
            f"the saved state {key!r} is that of another watch; delete this site's state and start again"
        )
    numbers = np.frombuffer(payload, dtype="<i8", count=entries * whole, offset=_SHAPE.size)
    table = np.frombuffer(payload, dtype="<f8", offset=_SHAPE.size + 8 * entries * whole)
    return [column.astype(np.int64) for column in numbers.reshape(whole, entries)], table.reshape(entries, real).astype(
        np.float64
    )


def pack_record(record: Mapping[str, Any] | list[str]) -> bytes:
    """A blob of names and numbers."""
    return pack(json.dumps(record, separators=(",", ":")).encode())


def unpack_record(key: str, blob: bytes) -> Any:
    """What ``pack_record`` was given."""
    return json.loads(unpack(key, blob))
