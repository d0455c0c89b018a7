"""Where compiled kernels are kept: a folder named by a hash of all kernel sources.

Numba notices a change only in the file of the kernel itself; a changed callee in another file would leave stale machine
code. A new hash means a new folder, so that cannot happen. This runs before any kernel is imported.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

__all__ = ["use_numba_cache"]


def use_numba_cache() -> Path | None:
    """Point Numba at the folder of these sources; None where no folder can be written (then nothing is cached)."""
    digest = hashlib.sha256(sys.version.encode())
    for source in sorted(Path(__file__).parent.glob("*/_kernels*.py")):
        digest.update(source.read_bytes())
    name = f"tacit-{digest.hexdigest()[:16]}"
    for base in _bases():
        folder = base if base.name == name else base / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            os.environ["NUMBA_CACHE_DIR"] = str(folder)
            if "numba" in sys.modules:
                sys.modules["numba"].config.CACHE_DIR = str(folder)
            return folder
    return None


def _bases() -> list[Path]:
    bases = []
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        path = Path(given)
        bases.append(path.parent if path.name.startswith("tacit-") else path)
    if given := os.environ.get("XDG_CACHE_HOME"):
        bases.append(Path(given) / "tacit")
    try:
        bases.append(Path.home() / ".cache" / "tacit")
    except RuntimeError:
        pass
    bases.append(Path(tempfile.gettempdir()) / f"tacit-kernels-{os.getuid() if hasattr(os, 'getuid') else 'user'}")
    return bases
