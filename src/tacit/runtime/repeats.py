"""What was said lately: machines say some things with every heartbeat, for they may be lost; on a stream few are.

Most of these wait for something that takes longer than a heartbeat, and a thousand sites must not say them each second.
"""

from __future__ import annotations

from tacit.protocols.messages import Hello, Message, Report
from tacit.protocols.topico import Nomination
from tacit.protocols.topk.messages import Challenge

__all__ = ["Repeats"]

_REPEATS = 4  # in a lease, of what nobody answers


class Repeats:
    """Of one watch at one site, on one link.

    >>> said = Repeats()
    >>> hello = Hello(0, session=1, oldest=0, closed=5)
    >>> [said.lately(hello, now_us, lease_s=8.0) for now_us in (0, 1_000_000, 2_000_000)]
    [False, True, False]
    """

    def __init__(self) -> None:
        self._said: dict[type[Message], tuple[tuple[int, ...], int]] = {}

    def lately(self, message: Message, now_us: int, lease_s: float) -> bool:
        """Was just this said less than a part of a lease ago? If not, it is said now."""
        match message:
            case Report() | Challenge() | Nomination():
                mark: tuple[int, ...] = (message.number, message.version)
            case Hello():
                mark = (message.session, message.oldest, int(message.closed >= message.oldest))  # has it any pane?
            case _:
                return False
        last = self._said.get(type(message))
        if last is not None and last[0] == mark and 0 <= now_us - last[1] < lease_s * 1e6 / _REPEATS:
            return True
        self._said[type(message)] = (mark, now_us)
        return False

    def forget(self) -> None:
        """The link is new."""
        self._said.clear()
