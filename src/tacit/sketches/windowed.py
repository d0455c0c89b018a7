"""What all sketches over a sliding window share: a clock, cells that count, and how many of them become one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Self

from tacit.sketches.cells import BucketCells, Cells
from tacit.sketches.clock import Clock
from tacit.sketches.gathering import BucketGathering, Gathering
from tacit.sketches.random_wave_cells import RandomWaveCells, RandomWaveGathering
from tacit.sketches.sketch import Sketch, check_joins, check_lineage
from tacit.vocabulary import MergeError

__all__ = ["WindowedSketch"]

_BY_ROWS = (
    "sketches of windows by rows cannot be merged: which rows of one stream came before which of another is not kept, "
    "so the last rows of all together are not known; use windows by time"
)


class WindowedSketch(Sketch):
    """A sketch of what came in a sliding window."""

    _clock: Clock

    @property
    @abstractmethod
    def _counters(self) -> list[Cells]:
        """All its cells, array by array."""

    @classmethod
    @abstractmethod
    def _assembled(cls, lineage: Any, clock: Clock, counters: list[Cells]) -> Self:
        """A sketch of this lineage with these cells."""

    @classmethod
    def merge_all(cls, sketches: Iterable[Self]) -> Self:
        """A new sketch of all streams together: one level, however many there are (none if it is one).

        Sketches that come in a list are open, and are merged as they are. From any other iterable, such as a generator
        that opens them, they are taken one after the other: at most two are open at a time, and of the rest is kept
        what their bytes would be. The result is the same.
        """
        if isinstance(sketches, Sequence):
            return cls._merge_open(sketches)
        coming = iter(sketches)
        waiting = list(islice(coming, 2))
        return cls._merge_coming(waiting, coming) if len(waiting) > 1 else cls._merge_open(waiting)

    @classmethod
    def _merge_open(cls, parts: Sequence[Self]) -> Self:
        check_lineage(cls, parts)
        _check_window(parts[0]._clock)
        if len(parts) == 1:
            return parts[0]._alone()
        clock = parts[0]._clock.merged(part._clock for part in parts[1:])
        alike = zip(*(part._counters for part in parts), strict=True)
        counters = [type(each[0]).merged(each, clock.horizon) for each in alike]
        return cls._assembled(parts[0].lineage, clock, counters)

    @classmethod
    def _merge_coming(cls, waiting: list[Self], coming: Iterator[Self]) -> Self:
        check_lineage(cls, waiting)
        clock, lineage = Clock(waiting[0]._clock.window), waiting[0].lineage
        _check_window(clock)
        gatherings = [_gathering(each) for each in waiting[0]._counters]
        while waiting:
            part = waiting.pop(0)
            check_joins(cls, lineage, part)
            clock = clock.merged([part._clock])
            for gathering, cells in zip(gatherings, part._counters, strict=True):
                gathering.add(cells, clock.horizon)
            del part  # before the next one is opened
            waiting += islice(coming, 1)
        return cls._assembled(lineage, clock, [each.merged(clock.horizon) for each in gatherings])

    def _alone(self) -> Self:
        """What one alone is merged to."""
        return type(self).from_bytes(self.to_bytes())


def _check_window(clock: Clock) -> None:
    if clock.window.by == "rows":
        raise MergeError(_BY_ROWS)


def _gathering(cells: Cells) -> Gathering[Any]:
    if isinstance(cells, RandomWaveCells):
        return RandomWaveGathering(cells)
    assert isinstance(cells, BucketCells)
    return BucketGathering(cells)
