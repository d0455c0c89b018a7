"""How a site's process gives memory back."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

__all__ = ["give_back_arrays"]

_MMAP_THRESHOLD = -3  # of mallopt(3)
_LARGE = 1 << 20


def give_back_arrays() -> None:
    """Arrays of a megabyte and more go back to the system as soon as they are freed.

    The GNU C library raises that size by itself up to 32 MB, after which arrays that grow leave holes between each
    other: of a ranking over two million keys they were a third of the process. Elsewhere this does nothing.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").mallopt(_MMAP_THRESHOLD, _LARGE)
