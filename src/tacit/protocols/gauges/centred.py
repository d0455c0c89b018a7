"""What cells of Count-Min arrays have by chance, and why it may be taken off.

The product of two rows x and y of a Count-Min array (of one row with itself for a self-join) is above the truth J:
different keys meet in cells. With N and M the sums of the rows, and two keys in one cell with probability 1 / width, it
has J + (N M - J) / width on average. Solved for J that is

    p  =  (width x . y - N M) / (width - 1)  =  x' . y' width / (width - 1),      x' = x less the mean of its cells,

which has J on average. Centring is linear, so all that is known of means of arrays holds of centred ones.

The promise of the sketch holds of the least p of all rows as it does of the least product (the seed's Lemma 4):

- p <= x . y, for x . y <= N M. So the least p is at most J + epsilon N M, except with probability delta.
- p >= x . y - N M / (width - 1), and cells are at least (1 - w) of what they count, w the error of window counters. So
  p is at least J - (1 - (1 - w)^2) J - (1 + w)^2 N M / (width - 1), always. With width >= e (1 + w)^2 / epsilon and w
  about epsilon / 8 (sketches/watching.py) that is above J - epsilon N M. What is below 0 stands for 0, which is nearer.

How far what is said may be from p is a share theta of x' . y' + b N M. With b = 1 / width that would be the product
with all that is there by chance, and so at most J + epsilon N M; a ``SHARE`` of it costs no more than a share of the
product itself did, and with none streams whose keys are nearly all different make sites speak without end. The rows of
an array may differ in what they count, by w each, hence (1 - w)^2 / (1 + w)^2 in ``chance``.
"""

from __future__ import annotations

import numpy as np

from tacit.vocabulary import FloatArray

__all__ = ["SHARE", "CentredRows", "centred", "chance"]

SHARE = 1 / 16
"""Of what cells have by chance so much is in the tolerance."""


def centred(rows: FloatArray) -> FloatArray:
    """Rows (…, width) less their means.

    >>> centred(np.array([[1.0, 3.0], [5.0, 5.0]]))
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    return np.asarray(rows - rows.mean(axis=-1, keepdims=True))


def chance(width: int, window: float) -> float:
    """How much of the product of both sums is in the tolerance.

    >>> chance(4, 0.0), round(chance(4, 0.05), 4)
    (0.015625, 0.0128)
    """
    return SHARE * ((1.0 - window) / (1.0 + window)) ** 2 / width


class CentredRows:
    """What gauges of centred rows have in common; theirs are the width, and the error of window counters."""

    __slots__ = ()
    width: int
    window: float

    @property
    def _share(self) -> float:
        return (self.width - 1) / self.width

    @property
    def _chance(self) -> float:
        return chance(self.width, self.window)
