"""What all sketches share: they merge within one lineage, are bytes and back, and travel as their bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

from tacit.vocabulary import LineageMismatch, OptionError

__all__ = ["Sketch", "check_joins", "check_lineage"]


class Sketch(ABC):
    """A small summary of a stream, with an error that is known before the stream is."""

    KIND: ClassVar[int]
    """What its bytes say that they are."""

    @property
    @abstractmethod
    def lineage(self) -> Any:
        """What another sketch must have in common with this one to be merged with it: a frozen dataclass."""

    @classmethod
    @abstractmethod
    def merge_all(cls, sketches: Iterable[Self]) -> Self:
        """A new sketch of all that was counted by these, of which there is at least one."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """This sketch as bytes, which ``from_bytes`` reads back."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The sketch that wrote these bytes."""

    def merge(self, other: Self) -> Self:
        """A new sketch of all that was counted by either; neither of the two changes."""
        return type(self).merge_all([self, other])

    def __reduce__(self) -> tuple[Callable[[bytes], Self], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)


def check_lineage(kind: type[Sketch], sketches: Sequence[Sketch]) -> None:
    """OptionError when there is nothing to merge, LineageMismatch when two sketches differ, naming in what.

    >>> check_lineage(Sketch, [])
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: there must be at least one sketch to merge
    """
    if not sketches:
        raise OptionError("there must be at least one sketch to merge")
    check_joins(kind, sketches[0].lineage, sketches[0])
    for sketch in sketches[1:]:
        check_joins(kind, sketches[0].lineage, sketch)


def check_joins(kind: type[Sketch], lineage: Any, sketch: Sketch) -> None:
    """LineageMismatch when a sketch is not of this kind or lineage, naming in what it differs."""
    if not isinstance(sketch, kind):
        raise LineageMismatch(
            f"a {kind.__name__} is merged with others of its kind, not with a {type(sketch).__name__}"
        )
    other = sketch.lineage
    pairs = [(each.name, getattr(lineage, each.name), getattr(other, each.name)) for each in fields(lineage)]
    told = ", ".join(f"{name} ({mine} and {its})" for name, mine, its in pairs if mine != its)
    if told:
        raise LineageMismatch(f"these sketches cannot be merged: they differ in {told}; make them alike")
