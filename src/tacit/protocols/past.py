"""What a site remembers of its own vectors, for zones that are fitted to it: the last panes, and the mixture they make.

The mixture is told when the site has something to say anyhow: after it was first made, when the vectors have left it,
and once in a while in any case, for what is said may be lost. A site that is silent does not tell it.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from tacit.fitting.drift import drifted
from tacit.fitting.mixtures import Mixture, fit_mixture
from tacit.protocols.messages import Fit
from tacit.vocabulary import DataError, FloatArray

__all__ = ["EVERY", "Past"]

EVERY = 128  # panes between looks
_KEPT = 4  # times as many vectors
_AGAIN = 16  # looks after which it is told anyhow
_PARTS = 3
_ALIKE = 24  # neighbours that resemble each other: windows overlap


class Past:
    """The last vectors of one site."""

    def __init__(self, site: int, every: int = EVERY) -> None:
        self._site, self._every, self._number, self._looks = site, every, 0, 0
        self._vectors: deque[FloatArray] = deque(maxlen=_KEPT * every)
        self._seen = 0
        self._mixture: Mixture | None = None
        self._told = False

    def take(self, pane: int, vector: FloatArray) -> None:
        """A pane was closed with this vector (d,)."""
        self._vectors.append(vector)
        self._seen += 1
        if self._seen % self._every:
            return
        self._looks += 1
        self._told = self._told and self._looks % _AGAIN != 0
        vectors = np.array(self._vectors)
        if not np.isfinite(vectors).all():
            return
        newest = vectors[-self._every :]
        if self._mixture is None or drifted(self._mixture, newest, independent=max(2, self._every // _ALIKE)):
            try:
                self._mixture = fit_mixture(vectors, _PARTS, seed=self._site)
            except DataError:  # too few that differ
                return
            self._told = False

    def news(self, pane: int) -> tuple[Fit, ...]:
        """What is to be told of the mixture, beside what is said as of this pane."""
        mixture = self._mixture
        if mixture is None or self._told:
            return ()
        self._told = True
        self._number += 1
        return (Fit(self._site, self._number, pane, mixture.weights, mixture.means, mixture.covariances),)
