"""Where compiled kernels are kept: a folder named by a hash of all sources that kernels are made of.

Numba notices a change only in the file of the kernel itself; a changed callee or constant in another file would leave
stale machine code. A new hash means a new folder, so that cannot happen. This runs before any kernel is imported.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from tacit._cache import cache_folder

__all__ = ["use_numba_cache"]

_SOURCES = (
    "_jit.py",
    "functions/_kernels*.py",
    "functions/tables.py",
    "protocols/_kernels*.py",
    "recording/_kernels*.py",
    "sketches/_kernels*.py",
    "vocabulary/arrays.py",
)


def use_numba_cache() -> Path:
    """Point Numba at the folder of these sources.

    >>> use_numba_cache().name.startswith("kernels-")
    True
    """
    digest = hashlib.sha256(sys.version.encode())
    here = Path(__file__).parent
    for source in sorted(path for pattern in _SOURCES for path in here.glob(pattern)):
        digest.update(source.read_bytes())
    folder = cache_folder() / f"kernels-{digest.hexdigest()[:16]}"
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
    return folder
