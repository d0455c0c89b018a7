"""Cells that are merged one after the other, so that not all have to be open at once.

What a part is merged by is its events: the halves of its buckets (``exponential_histogram``). They are kept packed, in
about the bytes that the part is written in, and unpacked a few cells at a time when all parts are there.

Events that have expired are left out. What has is known for all parts only in the end, at the horizon of the latest of
them; until then it is the horizon of those that came. Cutting early at one horizon and in the end at a later one leaves
what cutting once at the later one does: a bucket that ends after the later one gives the same event at its end under
both, and its other half is at the end of the next older bucket, or at the first arrival, and stays if that is after the
later horizon. So the result is, to the last bit, that of merging all at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np

from tacit.sketches._kernels_logs import times_from_gaps, times_to_gaps
from tacit.sketches.cells import BucketCells, Cells, Logs, merge_logs
from tacit.sketches.serial import Reader, Writer

__all__ = ["BucketGathering", "Gathering"]

_CELLS_AT_ONCE = 16


C = TypeVar("C", bound=Cells)


class Gathering(ABC, Generic[C]):
    """Cells of one shape that come one after the other."""

    @abstractmethod
    def add(self, part: C, horizon: int) -> None:
        """One part more; what came by the horizon is gone for good. The part is not needed any more."""

    @abstractmethod
    def merged(self, horizon: int) -> C:
        """The cells of all parts together; only once, and not before the last horizon."""


class BucketGathering(Gathering[BucketCells]):
    """Of exponential histograms and deterministic waves."""

    def __init__(self, like: BucketCells) -> None:
        self._made = like.empty()
        self._bounds = [*range(0, like.depth * like.width, _CELLS_AT_ONCE), like.depth * like.width]
        self._packed: list[list[bytes]] = [[] for _ in self._bounds[1:]]

    def add(self, part: BucketCells, horizon: int) -> None:
        """Keep the events, packed: few cells in each piece."""
        self._made.levels = max(self._made.levels, 1 + part.levels)
        events = part.events(horizon)
        for pieces, (lo, hi) in zip(self._packed, pairwise(self._bounds), strict=True):
            start, end = events.offsets[lo], events.offsets[hi]
            piece = Logs(events.offsets[lo : hi + 1] - start, events.times[start:end], events.sizes[start:end])
            pieces.append(_packed(piece, horizon + part.length))

    def merged(self, horizon: int) -> BucketCells:
        """A few cells are merged after the other, and of these only the buckets kept until all are there."""
        made, found = self._made, []
        for number, (lo, hi) in enumerate(pairwise(self._bounds)):
            few = made.empty(cells=hi - lo)
            few.count(_after(merge_logs([_unpacked(each) for each in self._packed[number]]), horizon))
            found.append((few.totals, *few.buckets(horizon)))
            self._packed[number] = []
        totals, logs, starts = zip(*found, strict=True)
        made.restore(np.concatenate(totals), np.concatenate(starts), _joined(logs))
        return made


def _packed(logs: Logs, now: int) -> bytes:
    gaps = np.empty(len(logs.times), dtype=np.uint64)
    times_to_gaps(logs.offsets, logs.times, now, gaps)
    writer = Writer()
    writer.integers(now)
    for each in (np.diff(logs.offsets).astype(np.uint64), gaps, logs.sizes.astype(np.uint64)):
        writer.words(each)
    return writer.content()


def _unpacked(content: bytes) -> Logs:
    reader = Reader(content)
    (now,) = reader.integers(1)
    counts, gaps, sizes = (reader.words() for _ in range(3))
    logs = Logs.empty(len(counts), len(gaps))
    np.cumsum(counts.astype(np.int64), out=logs.offsets[1:])
    times_from_gaps(logs.offsets, gaps, now, np.iinfo(np.int64).min // 2, logs.times)
    logs.sizes[:] = sizes.astype(np.int64)
    return logs


def _after(logs: Logs, horizon: int) -> Logs:
    """What came after the horizon."""
    stays = logs.times > horizon
    offsets = np.append(0, np.cumsum(stays))[logs.offsets]
    return Logs(offsets, logs.times[stays], logs.sizes[stays])


def _joined(parts: tuple[Logs, ...]) -> Logs:
    """The cells of all parts, one part after the other."""
    counts = np.concatenate([np.diff(each.offsets) for each in parts])
    times, sizes = np.concatenate([each.times for each in parts]), np.concatenate([each.sizes for each in parts])
    return Logs(np.append(0, np.cumsum(counts)), times, sizes)
