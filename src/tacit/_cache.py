"""One folder for what tacit may keep between runs: compiled kernels, and a launcher for Java.

It is the first of these that can be used:

1. ``TACIT_CACHE_DIR``
2. ``$XDG_CACHE_HOME/tacit``, then ``~/.cache/tacit``
3. ``tacit-<user id>`` in the folder for temporary files, if it belongs to this user alone
4. a new private temporary folder, removed when this process ends

So an empty or read-only home and read-only site-packages both work. Losing the folder costs time, never an answer.
This module stands outside the rooms: it must run before the first kernel is imported, and it needs only the
standard library.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """The folder to keep things in: it exists and can be written.

    >>> cache_folder().is_dir()
    True
    """
    chosen, xdg = os.environ.get("TACIT_CACHE_DIR", ""), os.environ.get("XDG_CACHE_HOME", "")
    return _find(chosen, xdg, os.path.expanduser("~"), tempfile.gettempdir())


@functools.cache
def _find(chosen: str, xdg: str, home: str, temporary: str) -> Path:
    for folder in _personal(chosen, xdg, home):
        if _can_write(folder):
            return folder
    shared = Path(temporary, f"tacit-{_user_id()}")
    if _can_write(shared) and _is_ours_alone(shared):
        return shared
    private = Path(tempfile.mkdtemp(prefix="tacit-"))
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return private


def _personal(chosen: str, xdg: str, home: str) -> Iterator[Path]:
    if chosen:
        yield Path(chosen).absolute()
    if os.path.isabs(xdg):
        yield Path(xdg, "tacit")
    if os.path.isabs(home) and os.path.isdir(home):  # "~" itself comes back where the user has no home
        yield Path(home, ".cache", "tacit")


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_ours_alone(folder: Path) -> bool:
    """Programs are started from here, so a folder that another user made, or may write to, is not used."""
    found = folder.lstat()
    closed = not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(found.st_mode) and closed and found.st_uid == _user_id()


def _user_id() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0
