"""What every kind of watch brings to the judge: what is true at a pane, and what contradicts it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tacit.language.plan import WatchPlan
from tacit.verify.keys import Key
from tacit.verify.question import Question
from tacit.verify.rows import Rows
from tacit.verify.values import key_kinds

__all__ = ["ROUNDING", "Complaint", "PaneTruths", "Said", "Truth"]

ROUNDING = 1e-9
"""Relative: sums of doubles depend on the order in which they are added."""

Complaint = tuple[Key, str]
"""The group, and what is wrong with what was said of it."""


@dataclass(slots=True)
class Said:
    """What was published, as of a pane: by group the side (1: met) and the value, by list the members with scores."""

    sides: dict[Key, tuple[int, float | None]] = field(default_factory=dict)
    lists: dict[Key, dict[Key, float]] = field(default_factory=dict)


class PaneTruths(ABC):
    """What is true at some panes."""

    @abstractmethod
    def complaints(self, pane: int, said: Said) -> list[Complaint]:
        """What is beyond the promise of a valid answer at this pane."""

    def forced(self, pane: int) -> Mapping[Key, bool | None]:
        """Of a condition, by group: must it be called met (True), not met (False), or either (None)?"""
        return {}

    def can_be_judged(self, pane: int) -> bool:
        """Is there a promise at this pane?"""
        return True


class Truth(ABC):
    """The truth of one kind of watch, computed from the sources alone."""

    kind: ClassVar[str]

    def __init__(self, rows: Rows, question: Question) -> None:
        self.rows, self.question = rows, question
        self.key_kinds = key_kinds(rows, question)  # of the parts of a group's key

    @staticmethod
    @abstractmethod
    def fits(plan: WatchPlan) -> bool:
        """Is a watch of this kind?"""

    @abstractmethod
    def at(self, panes: Sequence[int], sites: Sequence[str]) -> PaneTruths:
        """What is true at these panes, by the rows of these sites."""
