"""Every sketch as one kind of case: how it is made, fed and asked, what the truth is, and what it promises.

A stream is a list of arrivals (key, time, count) with times that do not decrease; each case takes of it what its sketch
sees. Time 0 is before all arrivals, and by rows the number of a row is its time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from tacit import sketches

KEYS = range(12)
WINDOW = 40
LENGTHS = (1, 7, 25, WINDOW)
Arrival = tuple[int, int, int]


@dataclass(frozen=True)
class Case(ABC):
    """What all cases have; each kind below fills in the rest."""

    name: str
    kind: type
    options: dict[str, Any]
    changes: dict[str, Any] = field(default_factory=dict)
    """One other value for each option that belongs to the lineage."""
    make_with: str = ""
    """The class method that makes it; the class itself unless told."""
    epsilon: float = 0.0
    delta: float = 0.0
    merges: bool = True
    lossless: bool = True
    """Merging gives exactly what one sketch of all streams would answer."""
    sourced: bool = False
    """Streams need a source each."""

    def make(self, source: int = 0, **changes: Any) -> Any:
        """A new one."""
        options = self.options | ({"source": source} if self.sourced else {}) | changes
        return (getattr(self.kind, self.make_with) if self.make_with else self.kind)(**options)

    def fed(self, stream: list[Arrival], source: int = 0, **changes: Any) -> Any:
        """A new one that has seen a stream."""
        sketch = self.make(source, **changes)
        self.feed(sketch, stream)
        return sketch

    @abstractmethod
    def feed(self, sketch: Any, stream: list[Arrival]) -> None:
        """All at once."""

    @abstractmethod
    def feed_slowly(self, sketch: Any, stream: list[Arrival]) -> None:
        """One by one."""

    @abstractmethod
    def questions(self) -> list[tuple[Any, ...]]:
        """What is asked: arguments of ``estimate``."""

    def wrong(self) -> list[Any]:
        """Arrivals that it refuses."""
        return [
            (1, 5, -1),
            (1, 5, 0.5),
            (1, 5, 2**63),
            (1, 5, None),
            (1, 5, "2"),
            *self.wrong_keys(),
            *self.wrong_times(),
        ]

    def wrong_keys(self) -> list[Any]:
        """Arrivals of what is no key."""
        return [(None, 5, 1), (1.5, 5, 1), (2**64, 5, 1), ((1, 2), 5, 1)]

    def wrong_times(self) -> list[Any]:
        """Arrivals at what is no time."""
        return []

    @abstractmethod
    def truth(self, stream: list[Arrival], question: tuple[Any, ...]) -> float:
        """The right answer."""

    @abstractmethod
    def allowed(self, stream: list[Arrival], question: tuple[Any, ...], levels: int) -> float:
        """By how much an answer may be off after so many levels of merging, except with probability delta."""

    def ask(self, sketch: Any, question: tuple[Any, ...], **at: int) -> float:
        """What it answers; a window also for a later time."""
        return float(sketch.estimate(*question, **at))

    def answers(self, sketch: Any) -> list[float]:
        """All that it answers."""
        return [self.ask(sketch, question) for question in self.questions()]

    def certain(self, sketch: Any, question: tuple[Any, ...]) -> tuple[float, float]:
        """Between what the truth is always, without exception."""
        return 0.0, float("inf")


class Keyed(Case):
    """Counts of keys of the whole stream: never too low."""

    def feed(self, sketch, stream):
        sketch.update_many([key for key, _, _ in stream], [count for _, _, count in stream])

    def feed_slowly(self, sketch, stream):
        for key, _, count in stream:
            sketch.update(key, count)

    def questions(self):
        return [(key,) for key in KEYS]

    def truth(self, stream, question):
        return sum(count for key, _, count in stream if key == question[0])

    def allowed(self, stream, question, levels):
        return self.epsilon * sum(count for _, _, count in stream)

    def certain(self, sketch, question):
        return 0.0, sketch.upper_bound(*question)


class Ranged(Keyed):
    """Counts of ranges of keys of the whole stream: never too low."""

    def wrong_keys(self):
        return [*super().wrong_keys(), (-1, 5, 1), (256, 5, 1), ("a", 5, 1)]

    def questions(self):
        return [(lo, hi) for lo in KEYS for hi in (lo, lo + 3, 200)]

    def ask(self, sketch, question):
        return float(sketch.range_count(*question))

    def truth(self, stream, question):
        return sum(count for key, _, count in stream if question[0] <= key <= question[1])

    def certain(self, sketch, question):
        return 0.0, sketch.range_count(*question)


class Member(Case):
    """Whether a key came: never wrong when it says no."""

    def wrong(self):
        return self.wrong_keys()

    def feed(self, sketch, stream):
        sketch.update_many([key for key, _, count in stream if count])

    def feed_slowly(self, sketch, stream):
        for key, _, count in stream:
            if count:
                sketch.update(key)

    def questions(self):
        return [(key,) for key in KEYS]

    def ask(self, sketch, question):
        return float(sketch.contains(*question))

    def truth(self, stream, question):
        return float(any(key == question[0] for key, _, count in stream if count))

    def allowed(self, stream, question, levels):
        return 0.0

    def certain(self, sketch, question):
        return 0.0, float(sketch.contains(*question))


class Windowed(Case):
    """Counts of a sliding window: within epsilon of the truth, either way."""

    def wrong_keys(self):
        return []

    def wrong_times(self):
        return [] if self.by_rows else [(1, time, 1) for time in (None, 1.5, "5", 2**60 + 1, -(2**61), 2**70)]

    @property
    def by_rows(self) -> bool:
        return self.options["window"].by == "rows"

    def feed(self, sketch, stream):
        times, counts = [time for _, time, _ in stream], [count for _, _, count in stream]
        if self.by_rows:
            sketch.update_many(counts=counts)
        else:
            sketch.update_many(times, counts)

    def feed_slowly(self, sketch, stream):
        for _, time, count in stream:
            if self.by_rows:
                sketch.update(count=count)
            else:
                sketch.update(time, count)

    def questions(self):
        return [(length,) for length in LENGTHS]

    def inside(self, stream, length):
        """The arrivals of the last part of the stream."""
        if self.by_rows:
            return stream[-length:]
        now = max((time for _, time, _ in stream), default=0)
        return [arrival for arrival in stream if arrival[1] > now - length]

    def truth(self, stream, question):
        return sum(count for _, _, count in self.inside(stream, question[-1]))

    def error(self, levels):
        """The relative error of one counter."""
        return self.epsilon if self.lossless else sketches.merged_error(self.epsilon, levels)

    def allowed(self, stream, question, levels):
        return self.error(levels) * self.truth(stream, question)

    def certain(self, sketch, question):
        if self.delta:
            return 0.0, float("inf")
        return sketch.lower_bound(*question), sketch.upper_bound(*question)


class WindowedKeys(Windowed):
    """Counts of keys of a sliding window: off by epsilon of all arrivals of the range at most, but for delta."""

    def wrong_keys(self):
        return Case.wrong_keys(self)

    def feed(self, sketch, stream):
        keys, counts = [key for key, _, _ in stream], [count for _, _, count in stream]
        sketch.update_many(keys, None if self.by_rows else [time for _, time, _ in stream], counts)

    def feed_slowly(self, sketch, stream):
        for key, time, count in stream:
            sketch.update(key, None if self.by_rows else time, count)

    def questions(self):
        return [(key, length) for key in list(KEYS)[:6] for length in LENGTHS[1:]]

    def truth(self, stream, question):
        return sum(count for key, _, count in self.inside(stream, question[1]) if key == question[0])

    def allowed(self, stream, question, levels):
        window, cells = self.error(levels), self.epsilon / (1 + self.epsilon)
        return max(window, (1 + window) * cells) * Windowed.truth(self, stream, question)

    def certain(self, sketch, question):
        return 0.0, float("inf") if self.sourced else sketch.upper_bound(*question)


class WindowedRanges(WindowedKeys):
    """Counts of ranges of keys of a sliding window: off by epsilon of all arrivals of the time, but for delta."""

    def wrong_keys(self):
        return [*super().wrong_keys(), (-1, 5, 1), (256, 5, 1), ("a", 5, 1)]

    def questions(self):
        return [(lo, hi, length) for lo, hi in ((0, 0), (0, 3), (2, 9), (5, 200)) for length in LENGTHS[1:]]

    def ask(self, sketch, question, **at):
        return float(sketch.range_count(*question, **at))

    def truth(self, stream, question):
        lo, hi, length = question
        return sum(count for key, _, count in self.inside(stream, length) if lo <= key <= hi)

    def allowed(self, stream, question, levels):
        start = math.sqrt(1 + self.epsilon) - 1
        window = sketches.merged_error(start, levels)
        return (window + (1 + window) * start) * Windowed.truth(self, stream, question)

    def certain(self, sketch, question):
        lo, hi, length = question
        return 0.0, sketch.upper_bound(lo, length) if lo == hi else float("inf")


def named(case: Case) -> str:
    """The name of a case, for pytest."""
    return case.name
