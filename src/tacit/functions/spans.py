"""Intervals of arrays, rounded outward: every operation encloses the exact result of every choice of its operands.

A bound that grows beyond what a double holds is infinite, which is no bound; nan never stands for "all is well".

>>> x = Span(np.array(1.0), np.array(2.0))
>>> bool((x * x - x).low <= -1.0), bool((x * x - x).high >= 3.0)
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.vocabulary.arrays import FloatArray

__all__ = ["Span", "exactly", "monotone", "waves", "widened"]

_LIBM = 8.0  # exp, log, tanh … of NumPy are right to within four units in the last place
_FAR = 1e6  # beyond it the waves of sine and cosine are not told apart


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """All arrays between two, component by component."""

    low: FloatArray
    high: FloatArray

    def __add__(self, other: Span | float) -> Span:
        other = _lift(other)
        return _outward(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Span | float) -> Span:
        other = _lift(other)
        return _outward(self.low - other.high, self.high - other.low)

    def __rsub__(self, other: float) -> Span:
        return _lift(other) - self

    def __neg__(self) -> Span:
        return Span(-self.high, -self.low)

    def __mul__(self, other: Span | float) -> Span:
        other = _lift(other)
        ends = (self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high)
        low = np.minimum(np.minimum(ends[0], ends[1]), np.minimum(ends[2], ends[3]))
        high = np.maximum(np.maximum(ends[0], ends[1]), np.maximum(ends[2], ends[3]))
        return _outward(low, high)

    __radd__ = __add__
    __rmul__ = __mul__

    def inverse(self) -> Span:
        """1 / x, of what has no 0 in it."""
        return _outward(1.0 / self.high, 1.0 / self.low)

    def square(self) -> Span:
        """x * x, which is never below 0."""
        far, near = np.maximum(np.abs(self.low), np.abs(self.high)), np.maximum(np.maximum(self.low, -self.high), 0.0)
        squared = _outward(near * near, far * far)
        return Span(np.maximum(squared.low, 0.0), squared.high)

    def outer(self, other: Span) -> Span:
        """All products of a component of one and a component of the other."""
        return Span(self.low[:, None], self.high[:, None]) * Span(other.low[None, :], other.high[None, :])

    @property
    def positive(self) -> bool:
        """Is all of it above 0?"""
        return bool((self.low > 0.0).all())

    @property
    def negative(self) -> bool:
        """Is all of it below 0?"""
        return bool((self.high < 0.0).all())

    @property
    def finite(self) -> bool:
        """Is every bound a number?"""
        return bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())


def exactly(value: float | FloatArray) -> Span:
    """What is known without error."""
    array = np.asarray(value, dtype=np.float64)
    return Span(array, array)


def monotone(function: Callable[[FloatArray], FloatArray], t: Span, *, falls: bool = False) -> Span:
    """The range of one of NumPy's functions that only rises, or only falls."""
    at_low, at_high = function(t.low), function(t.high)
    return widened(at_high, at_low) if falls else widened(at_low, at_high)


def waves(t: Span, shift: float) -> Span:
    """The range of sin(t + shift) for a shift of 0 or a quarter turn."""
    low, high = float(t.low) + shift, float(t.high) + shift
    everything = Span(np.asarray(-1.0), np.asarray(1.0))
    if not (low > -_FAR and high < _FAR):
        return everything
    slack = 1e-9  # far more than what was rounded above and what pi leaves out
    ends = sorted((math.sin(low), math.sin(high)))
    crest = math.floor((high + slack - math.pi / 2) / (2 * math.pi)) >= (low - slack - math.pi / 2) / (2 * math.pi)
    trough = math.floor((high + slack + math.pi / 2) / (2 * math.pi)) >= (low - slack + math.pi / 2) / (2 * math.pi)
    found = Span(np.asarray(ends[0] - slack), np.asarray(ends[1] + slack))
    return Span(
        everything.low if trough else np.maximum(found.low, -1.0),
        everything.high if crest else np.minimum(found.high, 1.0),
    )


def widened(low: FloatArray, high: FloatArray, units: float = _LIBM) -> Span:
    """Further apart by some units in the last place."""
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    return _outward(low - units * np.spacing(np.abs(low)), high + units * np.spacing(np.abs(high)))


def _lift(value: Span | float) -> Span:
    return value if isinstance(value, Span) else exactly(value)


def _outward(low: FloatArray, high: FloatArray) -> Span:
    low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return Span(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))
