"""How many arrivals are in a sliding window, by a sample of them: the randomized wave (seed, sections 4.2 and 5.2).

``random_wave_cells`` says how it works and why it is right.

Gibbons and Tirthapura, Distributed streams algorithms for sliding windows, 2002.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from tacit.sketches.cells import Cells
from tacit.sketches.clock import Clock
from tacit.sketches.hashing import check_seed
from tacit.sketches.parameters import check_share
from tacit.sketches.random_wave_cells import RandomWaveCells
from tacit.sketches.serial import Writer, damaged, open_sealed, seal
from tacit.sketches.window import SlidingWindow
from tacit.sketches.window_counter import CounterLineage, WindowCounter, read_window, write_window
from tacit.vocabulary import OptionError

__all__ = ["RandomizedWave", "RandomizedWaveLineage"]


@dataclass(frozen=True, slots=True)
class RandomizedWaveLineage(CounterLineage):
    """What two randomized waves must have in common to be merged; their sources must differ."""

    delta: float
    seed: int


class RandomizedWave(WindowCounter):
    """Arrivals in any last part of a window, right up to epsilon times their number, except with probability delta.

    While few enough came, the count is exact. ``source`` names the stream: waves of different streams must have
    different ones, so that their samples are independent. Then they merge without loss: the merged wave answers
    exactly as if it had seen all streams. Waves of windows by rows do not merge.

    An arrival that comes late is counted at the latest time seen, and ``late`` says how many did. A large count at one
    time is drawn at once: how many of its arrivals have which level has the same distribution, but is not what one by
    one would have drawn.

    >>> from tacit.sketches import SlidingWindow
    >>> wave = RandomizedWave(window=SlidingWindow(60), epsilon=0.1, delta=0.05)
    >>> wave.update_many([1, 2, 30, 70])
    >>> wave.estimate(), wave.estimate(10), wave.lower_bound(), wave.upper_bound(), wave.estimate(now=100)
    (2.0, 1.0, 2.0, 2.0, 1.0)
    >>> wave.update(71, 10**9)
    >>> 0.9e9 <= wave.estimate(5) <= 1.1e9
    True
    """

    KIND: ClassVar[int] = 6
    CELLS: ClassVar[type[Cells]] = RandomWaveCells
    _cells: RandomWaveCells

    def __init__(self, *, window: SlidingWindow, epsilon: float, delta: float, seed: int = 0, source: int = 0) -> None:
        check_share("epsilon", epsilon)
        check_share("delta", delta)
        self._clock = Clock(window)
        self._cells = RandomWaveCells(
            depth=1,
            width=1,
            length=window.length,
            epsilon=float(epsilon),
            delta=float(delta),
            seed=check_seed(seed),
            source=source,
        )

    def __repr__(self) -> str:
        shape = f"window={self._clock.window}, epsilon={self.epsilon}, delta={self.delta}, seed={self._cells.seed}"
        return f"RandomizedWave({shape}, source={self.source})"

    @property
    def lineage(self) -> RandomizedWaveLineage:
        """What another one must have in common with this one to be merged with it."""
        return RandomizedWaveLineage(self._clock.window, self.epsilon, self.delta, self._cells.seed)

    @property
    def delta(self) -> float:
        """The probability with which an answer is off by more than epsilon."""
        return self._cells.delta

    @property
    def source(self) -> int:
        """Which stream this is; a merged wave has a new one, so that it can go on."""
        return self._cells.source

    @property
    def capacity(self) -> int:
        """How many arrivals of each level a range may have to be counted from that level on."""
        return self._cells.capacity

    def lower_bound(self, length: int | None = None, *, now: int | None = None) -> float:
        """What the truth is at least: always when all are kept, else except with probability delta."""
        return super().lower_bound(length, now=now)

    def upper_bound(self, length: int | None = None, *, now: int | None = None) -> float:
        """What the truth is at most: always when all are kept, else except with probability delta."""
        return super().upper_bound(length, now=now)

    @classmethod
    def merge_all(cls, sketches: Iterable[Self]) -> Self:
        """A new wave of all streams, exactly as if it had seen them; each must have a source of its own.

        >>> from tacit.sketches import SlidingWindow
        >>> left, right = (RandomizedWave(window=SlidingWindow(60), epsilon=0.1, delta=0.05) for _ in range(2))
        >>> left.update(5), right.update(6)
        (None, None)
        >>> left.merge(right)
        Traceback (most recent call last):
            ...
        tacit.vocabulary.errors.MergeError: two randomized waves with the source 0 drew the same levels, so their
        errors add up; make the wave of each stream with a source of its own
        """
        return super().merge_all(sketches)

    def to_bytes(self) -> bytes:
        """Its parameters and the times that are in the window."""
        writer = Writer()
        write_window(writer, self._clock.window)
        writer.integers(self._cells.seed)
        writer.floats(self.epsilon, self.delta)
        self._clock.write(writer)
        self._cells.write(writer, self.now)
        return seal(self.KIND, writer)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The wave that wrote these bytes; DataError when they were cut or changed."""
        reader = open_sealed(data, cls.KIND)
        window = read_window(*reader.integers(2))
        (seed,), (epsilon, delta) = reader.integers(1), reader.floats(2)
        try:
            made = cls(window=window, epsilon=epsilon, delta=delta, seed=seed)
        except OptionError:
            raise damaged("its parameters are none") from None
        made._clock.read(reader)
        made._cells.read(reader, made.now)
        reader.done()
        if made._cells.arrivals != made._clock.seen:
            raise damaged("it drew for other arrivals than it has seen")
        return made

    @classmethod
    def _assembled(cls, lineage: CounterLineage, clock: Clock, counters: list[Cells]) -> Self:
        assert isinstance(lineage, RandomizedWaveLineage)
        made = cls(window=lineage.window, epsilon=lineage.epsilon, delta=lineage.delta, seed=lineage.seed)
        (made._cells,) = counters  # type: ignore[assignment]
        made._clock = clock
        return made

    def _alone(self) -> Self:
        return self._assembled(
            self.lineage, self._clock.merged([]), [RandomWaveCells.merged([self._cells], self._clock.horizon)]
        )
