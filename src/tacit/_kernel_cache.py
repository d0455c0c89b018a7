"""Where compiled kernels are kept: a folder named by a hash of all sources that kernels are made of.

Numba notices a change only in the file of the kernel itself; a changed callee or constant in another file would leave
stale machine code. A new hash means a new folder, so that cannot happen. This runs before any kernel is imported.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from contextlib import suppress
from pathlib import Path

from tacit._cache import cache_folder

__all__ = ["are_compiled", "note_compiled", "use_numba_cache"]

_COMPILED = "all-compiled"  # the name of an empty file

_SOURCES = (
    "_jit.py",
    "functions/_kernels*.py",
    "functions/tables.py",
    "protocols/_kernels*.py",
    "recording/_kernels*.py",
    "sketches/_kernels*.py",
    "vocabulary/arrays.py",
)


def are_compiled() -> bool:
    """Were all kernels of these sources compiled here before? Then they are only loaded."""
    return (_folder() / _COMPILED).exists()


def note_compiled() -> None:
    """All kernels are compiled now."""
    with suppress(OSError):  # nobody depends on it
        _folder().mkdir(parents=True, exist_ok=True)
        (_folder() / _COMPILED).touch()


def use_numba_cache() -> Path:
    """Point Numba at the folder of these sources.

    >>> use_numba_cache().name.startswith("kernels-")
    True
    """
    folder = _folder()
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
    return folder


@functools.cache
def _folder() -> Path:
    digest = hashlib.sha256(sys.version.encode())
    here = Path(__file__).parent
    for source in sorted(path for pattern in _SOURCES for path in here.glob(pattern)):
        digest.update(source.read_bytes())
    return cache_folder() / f"kernels-{digest.hexdigest()[:16]}"
