"""Frames that wait to be written to a stream: bounded, so that a slow reader cannot eat this process's memory."""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ["Outbox"]


class Outbox:
    """A queue with one writer's end and one reader's end, in one event loop.

    >>> outbox = Outbox(frames=2, volume=10)
    >>> outbox.put(b"123456789"), outbox.put(b"12"), outbox.put(b"1")
    (True, False, True)
    """

    def __init__(self, *, frames: int, volume: int) -> None:
        self._frames, self._volume = frames, volume
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._finished = False
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, *frames: bytes) -> bool:
        """Take frames, all or none; False when there is no room. What comes at once, alone, always finds room."""
        size = sum(map(len, frames))
        if self._waiting and (len(self._waiting) + len(frames) > self._frames or self._size + size > self._volume):
            return False
        self._waiting.extend(frames)
        self._size += size
        self._news.set()
        return True

    async def get(self) -> bytes | None:
        """The next frame; waits for one. None when all are taken and no more will come."""
        while not self._waiting:
            if self._finished:
                return None
            self._news.clear()
            await self._news.wait()
        frame = self._waiting.popleft()
        self._size -= len(frame)
        return frame

    def finish(self) -> None:
        """No more frames will come."""
        self._finished = True
        self._news.set()

    def clear(self) -> None:
        """Drop everything: the stream is gone."""
        self._waiting.clear()
        self._size = 0
