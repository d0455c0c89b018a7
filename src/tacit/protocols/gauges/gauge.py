"""What a value must offer to be kept true by gauges.

Every site i has an array v_i (the cells of its sketch, say), and the value is a function of their mean v. At a
*sounding* all arrays are collected; from their mean the coordinator takes a *bearing*, which it tells to every site.
From then on site i computes a few numbers, its *gauges* g_i, from its bearing, its array now and its array then. Each
gauge is a convex function of the array, so that the gauge of the mean is at most the mean of the gauges. As long as

    mean over the sites of g_i  <=  the limits of the bearing,   for every gauge,

the value that was said is right. A site is silent while g_i + slack_i <= limits; the slacks of all sites sum to 0.
That is the geometric method (the seed's section 6.1) with zones that are known in closed form: one comparison per gauge
in place of a ball in as many dimensions as the sketch has cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.vocabulary import FloatArray, ProtocolError

__all__ = ["Bearing", "Gauge", "told"]

CAUTION = 1e-9
"""Limits are taken closer by this share of the value, so that rounding cannot make a wrong answer valid."""


@dataclass(frozen=True, slots=True, eq=False)
class Bearing:
    """What all sites are told: the limits of the gauges, and what the gauges are computed from. And the value.

    Where there is none it is nan, and sites are told 0: they compute nothing from it.
    """

    limits: FloatArray
    numbers: FloatArray
    value: float

    def row(self) -> FloatArray:
        """All of it as one row of numbers, to be told.

        >>> Bearing(np.array([1.0]), np.array([2.0, 3.0]), 4.0).row()
        array([4., 1., 2., 3.])
        """
        return np.concatenate([[np.nan_to_num(self.value)], self.limits, self.numbers])


def told(gauge: Gauge, row: FloatArray) -> Bearing:
    """The bearing that was told as a row of numbers.

    >>> from tacit.protocols.gauges.self_join import SelfJoinNorms
    >>> told(SelfJoinNorms(1, 2, 0.1), np.array([4.0, 1.0, 2.0, 3.0])).limits
    array([1., 2.])
    """
    if row.shape != (1 + gauge.gauges + gauge.numbers,) or not np.isfinite(row).all():
        raise ProtocolError("the coordinator told a bearing that does not fit the watch")
    return Bearing(row[1 : 1 + gauge.gauges], row[1 + gauge.gauges :], float(row[0]))


class Gauge(Protocol):
    """A value and its gauges."""

    @property
    def size(self) -> int:
        """How long the array of a site is."""

    @property
    def gauges(self) -> int:
        """How many gauges there are."""

    @property
    def numbers(self) -> int:
        """How many numbers they are computed from."""

    def value(self, arrays: FloatArray) -> float:
        """The value of these arrays (sites, size)."""

    def tolerance(self, arrays: FloatArray) -> float:
        """How far what is said may be from the value of these arrays; of a quantile its rank."""

    def bearing(self, arrays: FloatArray) -> Bearing:
        """From what was collected: (sites, size)."""

    def read(self, bearing: Bearing, array: FloatArray, collected: FloatArray) -> FloatArray:
        """The gauges of a site with this array, from which that one was collected."""
