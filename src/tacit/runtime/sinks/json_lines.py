"""Alerts as lines of a file."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from tacit.runtime.sinks.alert import as_line
from tacit.runtime.sinks.in_thread import in_thread
from tacit.runtime.sinks.sink import AlertDocument, SinkError
from tacit.vocabulary.errors import OptionError

__all__ = ["FileSink"]

LOGGER = logging.getLogger("tacit.sinks")
CHUNK = 1 << 16


class FileSink:
    """Appends a JSON line per alert and waits until the disk has it.

    The file is opened anew each time, so it may be moved away (rotated) at any moment. A last line without an end was
    cut short by a crash before its alert counted as delivered: it is taken off, and the alert comes again.
    """

    batch_max = 100

    def __init__(self, path: Path, name: str = "file") -> None:
        self.name = name
        self._path = path

    async def deliver(self, alerts: Sequence[AlertDocument]) -> None:
        text = b"".join(as_line(alert) + b"\n" for alert in alerts)
        try:
            await in_thread(lambda: self._append(text), f"sink {self.name}")
        except OSError as error:
            raise SinkError(f"{self._path} cannot be written: {error.strerror or error}", retry=True) from None

    async def close(self) -> None:
        pass

    def check(self) -> None:
        """OptionError when the file cannot be written; one that is not there is made, empty."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab"):
                pass
        except OSError as error:
            raise OptionError(
                f"the sink {self.name} cannot write to {self._path}: {error.strerror or error}; name a file in a folder"
                " where this user may write"
            ) from None

    def _append(self, text: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not self._path.exists()
        with self._path.open("ab+") as file:
            self._mend(file)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if fresh:  # the folder must know of the file, too
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _mend(self, file: BinaryIO) -> None:
        size = file.seek(0, os.SEEK_END)
        start = size
        tail = b""
        while start > 0 and b"\n" not in tail:
            step = min(CHUNK, start)
            start -= step
            file.seek(start)
            tail = file.read(step) + tail
        torn = tail[tail.rfind(b"\n") + 1 :]
        if not torn:
            return
        if _is_json(torn):  # whole, but for its end: somebody edited the file
            file.write(b"\n")
            return
        LOGGER.warning("%s ended in the middle of a line, which is taken off; its alert is written again", self._path)
        file.truncate(size - len(torn))


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
