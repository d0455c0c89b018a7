"""Ranks of values by a few of them: deterministic, and made for windows that are unions of spans of time.

A *digest* of n values holds at most ``points`` of them, each standing for n / points neighbours in rank: the k-th is
the value of rank (k + 1/2) n / points. How many values are at most x is then known to within n / (2 points), and so is
how many are below x. Values that are alike are one value of their weight: with no more than ``points`` different ones a
digest is exact.

Errors of disjoint spans add up, and so do their values: digests of spans, of so many points each, know the ranks of all
of them to within a share 1 / (2 points) of the rows, whatever each span holds. A digest of digests adds the share of
its own points to theirs (``digest_stations.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.vocabulary import FloatArray

__all__ = ["Digest", "digest", "ranked", "united"]

Digest = tuple[FloatArray, FloatArray]
"""Values, in order, and what each of them weighs."""


def digest(values: FloatArray, weights: FloatArray, points: int) -> Digest:
    """At most ``points`` values, in order, and what each weighs; all that differ where there are no more.

    >>> digest(np.array([4.0, 1.0, 3.0, 2.0]), np.ones(4), 2)
    (array([1., 3.]), array([2., 2.]))
    >>> digest(np.array([4.0, 1.0, 4.0, 4.0]), np.ones(4), 2)
    (array([1., 4.]), array([1., 3.]))
    """
    if len(values) > 1:
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
        first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        if len(first) < len(values):
            values, weights = values[first], np.add.reduceat(weights, first)
    if len(values) <= points:
        return values, weights
    sums = np.cumsum(weights)
    ranks = (np.arange(points) + 0.5) * (sums[-1] / points)
    at = np.searchsorted(sums, ranks, side="left")
    return values[np.minimum(at, len(values) - 1)], np.full(points, sums[-1] / points)


def united(digests: Sequence[Digest], points: int) -> Digest:
    """The digest of all that these digests stand for.

    >>> united([(np.array([1.0, 2.0]), np.ones(2)), (np.array([2.0]), np.array([2.0]))], 4)
    (array([1., 2.]), array([1., 3.]))
    """
    return digest(np.concatenate([each for each, _ in digests]), np.concatenate([each for _, each in digests]), points)


def ranked(digests: Sequence[Digest], points: int) -> FloatArray:
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
