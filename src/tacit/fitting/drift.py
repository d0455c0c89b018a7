"""Has the data left its mixture? A site asks this of its own new samples, to know when to fit anew."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from tacit.fitting.mixtures import Mixture
from tacit.vocabulary import DataError, FloatArray, OptionError

__all__ = ["drift_score", "drifted"]

POINTS = 4096


def drift_score(mixture: Mixture, samples: FloatArray) -> float:
    """How many standard errors the samples' mean log-density is from what the mixture expects of its own.

    Below 0: the samples are less likely than they should be (they moved, or spread). Above 0: they crowd together, and
    smaller zones would leave more to others.
    """
    points = np.asarray(samples, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != mixture.dimension:
        raise OptionError(f"samples must have {mixture.dimension} columns, as the mixture has")
    if not len(points) or not np.isfinite(points).all():
        raise DataError("drift is asked of at least one sample, and of numbers only")
    expected, spread = _expected(mixture)
    with np.errstate(over="ignore"):
        found = float(np.maximum(mixture.log_density(points), -1e300).mean())
    return float((found - expected) / (spread / np.sqrt(len(points))))


def drifted(mixture: Mixture, samples: FloatArray, *, independent: int | None = None, score: float = 5.0) -> bool:
    """Whether the fit should be made anew.

    ``independent`` is how many independent samples these are worth, where neighbours resemble each other (windows that
    overlap): the score shrinks by the root of it. A score of 5 is passed by chance less than once in a million times.

    >>> rng = np.random.default_rng(3)
    >>> fitted = Mixture.normal(np.zeros(2), np.eye(2))
    >>> drifted(fitted, rng.normal(0, 1, (500, 2))), drifted(fitted, rng.normal(1, 1, (500, 2)))
    (False, True)
    """
    count = len(samples) if independent is None else independent
    if not 0 < count <= max(len(samples), 1):
        raise OptionError(f"{len(samples)} samples cannot be worth {count} independent ones")
    return bool(abs(drift_score(mixture, samples)) * np.sqrt(count / max(len(samples), 1)) > score)


def _expected(mixture: Mixture) -> tuple[float, float]:
    """Mean and spread of the log-density of the mixture's own points: points of a lattice, so no dice."""
    made = qmc.Halton(mixture.dimension, scramble=False)
    made.fast_forward(1)  # the first point is 0, which the normal distribution has not
    steps = ndtri(made.random(POINTS))
    means, spreads = np.empty(mixture.parts), np.empty(mixture.parts)
    for k, (mean, factor) in enumerate(zip(mixture.means, mixture.factors(), strict=True)):
        values = mixture.log_density(mean + steps @ factor.T)
        means[k], spreads[k] = values.mean(), (values**2).mean()
    expected = float(mixture.weights @ means)
    return expected, float(np.sqrt(max(float(mixture.weights @ spreads) - expected**2, 1e-12)))
