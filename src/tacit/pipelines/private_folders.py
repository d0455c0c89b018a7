"""A private folder, of a Spark or a demo: made for one process, and removed by the next if that process was killed.

Each folder holds a file ``LOCK`` that its process has locked for as long as it lives (flock ends with the process). A
folder of this user whose lock nobody holds belongs to nobody. The lock is taken before the file gets its name, so a
folder that is just being made is never taken for one that was left.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["DEMO", "SPARK", "PrivateFolder", "remove_left_folders"]

SPARK = "tacit-spark-"
DEMO = "tacit-demo-"
_LOCK = "LOCK"


class PrivateFolder:
    """A new folder among the temporary files; ``remove`` it when it is no more used."""

    def __init__(self, prefix: str = SPARK) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        draft = self.path / f".{_LOCK}"
        self._descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.rename(self.path / _LOCK)

    def remove(self) -> None:
        """Remove it, and let go of its lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            os.close(self._descriptor)


def remove_left_folders(prefix: str = SPARK) -> None:
    """Remove the folders of this user's processes that were killed; whatever is in doubt stays."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: its process lives
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
