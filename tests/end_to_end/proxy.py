"""A TCP proxy on loopback that can be cut: what runs through it breaks off, and who dials is refused."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

__all__ = ["Proxy"]


class Proxy:
    """Listens from the start. ``cut`` drops every connection and takes none; ``mend`` takes them again."""

    def __init__(self, target: int, port: int) -> None:
        self.target = target
        self._lock = threading.Lock()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener: socket.socket | None = None
        self.port = port
        self.mend()

    def mend(self) -> None:
        """Listen."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen()
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        """Refuse, and drop what is there."""
        with self._lock:
            listener, self._listener = self._listener, None
            pairs, self._pairs = self._pairs, []
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for pair in pairs:
            for each in pair:
                _end(each)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            with self._lock:
                if self._listener is not listener:
                    _end(near)
                    _end(far)
                    return
                self._pairs.append((near, far))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=_carry, args=(a, b), daemon=True).start()


def _carry(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    _end(source)
    _end(target)


def _end(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
