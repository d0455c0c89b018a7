"""Where the stores of these tests are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

IN_MEMORY = Path("/dev/shm")
ROOM_BYTES = 1 << 28


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory where the machine has such a file system: stories make thousands of commits, and on
    a disk each of them waits until the disk has written."""
    if not os.access(IN_MEMORY, os.W_OK) or shutil.disk_usage(IN_MEMORY).free < ROOM_BYTES:
        yield tmp_path
        return
    with TemporaryDirectory(prefix="tacit-tests-", dir=IN_MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
