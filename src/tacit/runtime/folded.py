"""How the sum of what windows have folded is saved: in parts, for of millions of groups every copy would be felt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from tacit.runtime.blobs import Pieces, pack_arrays, unpack_arrays
from tacit.vocabulary import FloatArray, ProtocolError

__all__ = ["drop_base", "put_base", "restored_base"]

_NAME, _PART = "base/", 1 << 16  # groups in a part


def put_base(pieces: Pieces, base: Callable[[], FloatArray], dimension: int) -> None:
    """All parts are to be written, as they are when that is done."""
    for first in range(0, max(1, len(base()) // dimension), _PART):
        pieces.put(f"{_NAME}{first}", partial(_part, base, dimension, first))


def _part(base: Callable[[], FloatArray], dimension: int, first: int) -> bytes:
    return pack_arrays((), base().reshape(-1, dimension)[first : first + _PART])


def drop_base(pieces: Pieces, groups: int) -> None:
    """The parts of so many groups are to go."""
    for first in range(0, groups, _PART):
        pieces.delete(f"{_NAME}{first}")


def restored_base(saved: Mapping[str, bytes], dimension: int) -> FloatArray:
    """What was saved; ProtocolError when a part is missing. An earlier release saved it as one."""
    firsts = sorted(int(key.removeprefix(_NAME)) for key in saved if key.startswith(_NAME))
    names = [f"{_NAME}{first}" for first in firsts] or [name for name in ("base",) if name in saved]
    tables = [unpack_arrays(name, saved[name], 0, dimension)[1] for name in names]
    in_a_row = firsts == [_PART * at for at in range(len(firsts))]
    if not tables or not in_a_row or any(len(table) != _PART for table in tables[:-1]):
        raise ProtocolError("the saved sum of a watch is missing; delete this site's state and start again")
    return np.concatenate(tables).ravel()
