"""Slow, obvious twins of the window counters: every arrival is kept, every rule is followed to the letter."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import pairwise


class ExactWindow:
    """All times, in order; late ones at the latest time."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.latest: float = -math.inf
        self.merged = False

    def update(self, time: int, count: int = 1) -> None:
        if time >= self.latest:
            self.latest = time
        self.times += [int(self.latest)] * count

    def after(self, start: int) -> int:
        return len(self.times) - bisect_right(self.times, start)


class EagerHistogram(ExactWindow):
    """The exponential histogram as defined: two buckets become one as soon as there are too many; none expires."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.k = math.ceil(1 / epsilon)
        self.sizes: dict[int, list[int]] = {}  # of each size the ends, oldest first

    def update(self, time: int, count: int = 1) -> None:
        before = len(self.times)
        super().update(time, count)
        for end in self.times[before:]:
            size, most = 1, self.k + 1
            self.sizes.setdefault(1, []).append(end)
            while len(self.sizes[size]) > most:
                self.sizes.setdefault(2 * size, []).append(self.sizes[size][1])
                del self.sizes[size][:2]
                size, most = 2 * size, (self.k + 1) // 2 + 1

    def buckets(self) -> list[tuple[int, int]]:
        """(end, size), newest first."""
        return [(end, size) for size in sorted(self.sizes) for end in reversed(self.sizes[size])]

    def bounds(self, start: int) -> tuple[int, int]:
        if not self.times or start < self.times[0]:
            return len(self.times), len(self.times)
        inside = [size for end, size in self.buckets() if end > start]
        if not inside:
            return 0, 0
        return sum(inside[:-1]) + (not self.merged or inside[-1] == 1), sum(inside)

    def settle(self) -> None:
        """What has been counted came from a merge: its buckets end where those of a merge do."""
        self.merged = True
        ends = merged_ends(self)
        for size in sorted(self.sizes):
            self.sizes[size] = [ends.pop(0) for _ in self.sizes[size]][::-1]

    def check_invariant(self, epsilon: float) -> None:
        newer = 0
        for _, size in self.buckets():
            assert size == 1 or size <= 2 * epsilon * newer * (1 + 1e-12)
            newer += size


class SlowWave(ExactWindow):
    """The deterministic wave as it is defined: which ranks are known is tried rank by rank."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.m = 4
        while self.m < math.ceil(1 / (2 * epsilon)) + 1:
            self.m *= 2

    def known(self) -> list[int]:
        total = len(self.times)
        found = [0]
        for rank in range(1, total + 1):
            power = rank & -rank
            if rank > total - 2 * self.m * power:
                found.append(rank)
        return found

    def bounds(self, start: int) -> tuple[int, int]:
        total = len(self.times)
        if not self.times or start < self.times[0]:
            return total, total
        known = self.known()
        low = max(rank for rank in known if rank == 0 or self.times[rank - 1] <= start)
        high = min((rank for rank in known if rank and self.times[rank - 1] > start), default=total + 1)
        return total - high + (not self.merged or high - low == 1), total - low

    def settle(self) -> None:
        """What has been counted came from a merge: its buckets end where those of a merge do."""
        self.merged = True
        for rank, end in zip(self.known()[:0:-1], merged_ends(self), strict=True):
            self.times[rank - 1] = end

    def buckets(self) -> list[tuple[int, int]]:
        """(end, size), newest first."""
        known = self.known()
        return [(self.times[high - 1], high - low) for low, high in pairwise(known)][::-1]


def merged_ends(twin: EagerHistogram | SlowWave) -> list[int]:
    """Between the newest arrival of each bucket and the next one: half-way, or a third where the newer bucket is half.

    At the newest where it is a single one, or the newer bucket is one. Newest bucket first.
    """
    ends, before, newer = [], 0, 1
    for _, size in twin.buckets():
        newest = twin.times[-1 - before]
        gap = twin.times[-before] - newest if before and size > 1 and newer > 1 else 0
        parts = {newer: 2, 2 * newer: 3}[size] if gap else 1
        ends.append(newest + (gap + newest % parts) // parts)
        before, newer = before + size, size
    return ends


def events(twin: EagerHistogram | SlowWave) -> list[tuple[int, int]]:
    """The buckets as arrivals (time, how many): half of each at its end and half at its start."""
    buckets = twin.buckets()
    starts = [end for end, _ in buckets[1:]] + twin.times[:1]
    made = []
    for (end, size), start in zip(buckets, starts, strict=True):
        made += [(end, size - size // 2), (start, size // 2)]
    return sorted((time, count) for time, count in made if count)
