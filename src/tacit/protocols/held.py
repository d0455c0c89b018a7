"""What a site holds of its closed panes: the newest values in memory, older ones made again when they are asked for.

A site must be able to answer for every pane that is not settled for good, and those may be many while another site is
away. So a value that does not fit into memory is let go, if somebody can make it again to the bit (``make``: the
windows that it came from are still there). Panes in a row with the same value are one *run*, held once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

__all__ = ["BYTES", "Held"]

Value = TypeVar("Value")

BYTES = 1 << 26
"""So many bytes of values are held in memory for one watch, if more can be made again."""


class Held(Generic[Value]):
    """Values of the panes ``oldest`` to the newest, without holes.

    >>> made = []
    >>> held = Held(len, lambda pane: made.append(pane) or "b" * pane, at_most=5)
    >>> for pane in range(1, 4):
    ...     held.put(pane, "a" * pane)
    >>> held[3], held[1], made, 0 in held
    ('aaa', 'b', [1], False)
    """

    def __init__(
        self,
        size: Callable[[Value], int],
        make: Callable[[int], Value] | None = None,
        *,
        at_most: int | None = None,
        panes: int | None = None,
    ) -> None:
        self.make = make
        self._size, self._panes = size, panes
        self._at_most = BYTES if at_most is None else at_most
        self._starts: list[int] = []  # the first panes of runs
        self._values: dict[int, Value] = {}  # by those
        self._bytes = 0
        self._first = 0
        self._last = -1
        self._asked: tuple[int, Value] | None = None  # a run whose value was made again, and that value

    def __contains__(self, pane: object) -> bool:
        return isinstance(pane, int) and self._first <= pane <= self._last

    def __getitem__(self, pane: int) -> Value:
        if pane not in self:
            raise KeyError(pane)
        start = self._starts[bisect_right(self._starts, pane) - 1]
        if start in self._values:
            return self._values[start]
        if self._asked is None or self._asked[0] != start:
            assert self.make is not None
            self._asked = start, self.make(pane)
        return self._asked[1]

    def __iter__(self) -> Iterator[Value]:
        """The values in memory, oldest first."""
        return iter(self._values.values())

    def __len__(self) -> int:
        return self._last - self._first + 1

    @property
    def oldest(self) -> int | None:
        """The oldest pane that is held."""
        return self._first if self._first <= self._last else None

    @property
    def whole(self) -> bool:
        """Are the values of all panes in memory?"""
        return len(self._values) == len(self._starts)

    def run(self, pane: int) -> int:
        """The last pane of the run that a pane is in."""
        at = bisect_right(self._starts, pane)
        return self._starts[at] - 1 if at < len(self._starts) else self._last

    def put(self, pane: int, value: Value, last: int | None = None) -> None:
        """The value of the next pane, and of all after it up to ``last``. After a gap older panes are forgotten."""
        if pane != self._last + 1:
            self.clear()
        if not self._starts:
            self._first = pane
        self._starts.append(pane)
        self._values[pane] = value
        self._bytes += self._size(value)
        self._last = pane if last is None else last
        if self._panes is not None:
            self.forget(self._last - self._panes + 1)
        while self.make is not None and self._bytes > self._at_most and len(self._values) > 1:
            self._let_go(next(iter(self._values)))

    def replace(self, pane: int, value: Value) -> None:
        """Another form of the value of a pane that is held."""
        start = self._starts[bisect_right(self._starts, pane) - 1]
        if start in self._values:
            self._bytes += self._size(value) - self._size(self._values[start])
            self._values[start] = value
        else:
            self._asked = start, value

    def forget(self, pane: int) -> None:
        """Panes before this one are not asked for any more."""
        if pane <= self._first:
            return
        if pane > self._last:
            last = self._last
            self.clear()
            self._first, self._last = last + 1, last
            return
        at = bisect_right(self._starts, pane) - 1
        for start in self._starts[:at]:
            self._let_go(start)
        del self._starts[:at]
        self._first = pane

    def clear(self) -> None:
        """Forget all panes."""
        self._starts.clear()
        self._values.clear()
        self._bytes, self._asked = 0, None
        self._first, self._last = 0, -1

    def _let_go(self, start: int) -> None:
        if start in self._values:
            self._bytes -= self._size(self._values.pop(start))
