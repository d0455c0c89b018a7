"""What a watch means, written a second time beside its sentence, for the twin to compute."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.twin.order import Row
from tests.twin.windows import Window

Values = dict[str, float]


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of a value with a number, and its margin."""

    value: str
    sign: str
    threshold: float
    margin: float = 0.0

    def excess(self, values: Values) -> float:
        """How far the value is on the side that meets the comparison; NaN without a value."""
        above = values[self.value] - self.threshold
        return above if self.sign in (">", ">=") else -above

    def holds(self, values: Values, margins: int = 0) -> bool:
        """Whether it is met when the threshold is ``margins`` margins easier to meet."""
        excess, least = self.excess(values), -margins * self.margin
        return excess >= least if "=" in self.sign else excess > least


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conditions joined by AND."""

    parts: tuple[Condition, ...]

    def holds(self, values: Values, margins: int = 0) -> bool:
        """Whether all are met."""
        return all(part.holds(values, margins) for part in self.parts)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Conditions joined by OR."""

    parts: tuple[Condition, ...]

    def holds(self, values: Values, margins: int = 0) -> bool:
        """Whether one is met."""
        return any(part.holds(values, margins) for part in self.parts)


Condition = Compare | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Track:
    """TRACK value WITHIN e [PERCENT]. ``start`` is the value of no rows: 0 of a sum or count, NaN of a mean."""

    value: str
    within: float
    percent: bool = False
    start: float = math.nan


@dataclass(frozen=True, slots=True)
class Grouping:
    """GROUP BY key, or with ``each`` GROUP BY EACH(list): ``of`` gives the key or the list of a row."""

    of: Callable[[Row], Any]
    each: bool = False

    def members(self, row: Row) -> Sequence[Any]:
        """The groups that the row makes exist."""
        return [m for m in self.of(row) or [] if m is not None] if self.each else [self.of(row)]


@dataclass(frozen=True, slots=True)
class Watch:
    """A sentence, and what it means: window, values of a group's rows, goal, WHERE and GROUP BY."""

    name: str
    data: str
    sentence: str
    window: Window
    values: Callable[[list[Row], Any], Values]  # of the rows of the group, and which group it is
    goal: Condition | Track
    where: Callable[[Row], bool] = lambda row: True
    grouping: Grouping | None = None
