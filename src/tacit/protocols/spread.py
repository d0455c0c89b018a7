"""How far sites drift, component by component: what convex zones are made for.

Learned at every collection of a resolution, when the drifts of all sites are known: a mean of squares that forgets. The
same numbers come out of a replay and of a live coordinator, to the last bit.
"""

from __future__ import annotations

import numpy as np

from tacit.vocabulary import FloatArray

__all__ = ["Spread"]

_NEW = 0.3  # the weight of the last collection
_LEAST = 1e-3  # of the largest component: none is taken to stand still


class Spread:
    """The running mean of squared drifts."""

    def __init__(self) -> None:
        self.squares: FloatArray | None = None

    def note(self, drifts: FloatArray) -> None:
        """The drifts (k, d) of all sites at a collection, site by site; those without weight or move are left out."""
        usable = np.isfinite(drifts).all(axis=1) & drifts.any(axis=1)
        if usable.any():
            now = np.square(drifts[usable]).mean(axis=0)
            self.squares = now if self.squares is None else (1.0 - _NEW) * self.squares + _NEW * now

    @property
    def now(self) -> FloatArray | None:
        """The usual size of each component; None before anything was seen.

        >>> spread = Spread()
        >>> spread.note(np.array([[3.0, 0.0], [1.0, 0.0]]))
        >>> [round(float(size), 3) for size in spread.now]
        [2.238, 0.002]
        """
        if self.squares is None:
            return None
        sizes = np.sqrt(self.squares)
        return np.asarray(sizes + _LEAST * sizes.max() + 1e-300)
