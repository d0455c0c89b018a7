"""Ranks of a pane's values by a few of them: deterministic, and made for windows that are unions of panes.

A *digest* of n values holds at most ``points`` of them, each standing for n / points neighbours in rank: the k-th is
the value of rank (k + 1/2) n / points. How many values are at most x is then known to within n / (2 points). Errors of
disjoint panes add up, and so do their values, so a window of panes with digests of so many points each knows ranks to
within a share 1 / (2 points) of its rows, whatever the panes hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.vocabulary import FloatArray

__all__ = ["digest", "ranked"]


def digest(values: FloatArray, weights: FloatArray, points: int) -> tuple[FloatArray, FloatArray]:
    """At most ``points`` values, in order, and what each weighs; all of them where there are no more.

    >>> digest(np.array([4.0, 1.0, 3.0, 2.0]), np.ones(4), 2)
    (array([1., 3.]), array([2., 2.]))
    """
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    if len(values) <= points:
        return values, weights
    total = float(weights.sum())
    ranks = (np.arange(points) + 0.5) * (total / points)
    at = np.searchsorted(np.cumsum(weights), ranks, side="left")
    return values[np.minimum(at, len(values) - 1)], np.full(points, total / points)


def ranked(digests: Sequence[tuple[FloatArray, FloatArray]], points: int) -> FloatArray:
    """The weight of all digests together, and then ``points`` values that stand for it evenly (nan without any).

    >>> ranked([(np.array([1.0, 2.0]), np.ones(2)), (np.array([3.0]), np.array([2.0]))], 4)
    array([4., 1., 2., 3., 3.])
    """
    out = np.full(points + 1, np.nan)
    out[0] = 0.0
    if not digests:
        return out
    values = np.concatenate([each for each, _ in digests])
    weights = np.concatenate([each for _, each in digests])
    if not len(values):
        return out
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    ranks = (np.arange(points) + 0.5) * (sums[-1] / points)
    out[0] = sums[-1]
    out[1:] = values[order][np.minimum(np.searchsorted(sums, ranks, side="left"), len(values) - 1)]
    return out
