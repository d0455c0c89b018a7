"""What all sketches share: they merge within one lineage, are bytes and back, and travel as their bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Self

from tacit.vocabulary import LineageMismatch, MergeError

__all__ = ["Sketch", "check_lineage"]


class Sketch(ABC):
    """A small summary of a stream, with an error that is known before the stream is."""

    @property
    @abstractmethod
    def lineage(self) -> Any:
        """What another sketch must have in common with this one to be merged with it: a frozen dataclass."""

    @classmethod
    @abstractmethod
    def merge_all(cls, sketches: Sequence[Self]) -> Self:
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


def check_lineage(sketches: Sequence[Sketch]) -> None:
    """MergeError when there is nothing to merge; LineageMismatch when not all are of one lineage.

    >>> check_lineage([])
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.MergeError: there is no sketch to merge; give at least one
    """
    if not sketches:
        raise MergeError("there is no sketch to merge; give at least one")
    first = sketches[0]
    for other in sketches[1:]:
        if type(other) is not type(first):
            raise LineageMismatch(
                f"a {type(first).__name__} merges only with its like, and a {type(other).__name__} is given"
            )
        pairs = [
            (each.name, getattr(first.lineage, each.name), getattr(other.lineage, each.name))
            for each in fields(first.lineage)
        ]
        differing = [f"{name} is {mine} in one and {its} in another" for name, mine, its in pairs if mine != its]
        if differing:
            raise LineageMismatch(
                f"these sketches cannot be merged: {' and '.join(differing)}; make all of them with the same"
            )
