"""Gaussian mixtures: what a site says about where its vectors have been.

A mixture is a few numbers, so it may travel where the data may not. It is fitted at the site, by scikit-learn, with the
number of parts that the Bayesian information criterion likes best.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from tacit.vocabulary import DataError, FloatArray, MachineError, OptionError

__all__ = ["Mixture", "fit_mixture"]

FLOOR = 1e-6  # of a part's variance, beside the column's own
SINGULAR = 1e-12
FEWEST = 2


@dataclass(frozen=True, eq=False)
class Mixture:
    """sum of weights[k] N(means[k], covariances[k]).

    >>> one = Mixture.normal(np.zeros(2), np.eye(2))
    >>> one.mean().tolist(), one.covariance().tolist()
    ([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])
    """

    weights: FloatArray  # (k,), sums to 1
    means: FloatArray  # (k, d)
    covariances: FloatArray  # (k, d, d)

    def __post_init__(self) -> None:
        weights, means, covariances = (
            np.array(each, dtype=np.float64) for each in (self.weights, self.means, self.covariances)
        )
        if weights.ndim != 1 or means.ndim != 2 or covariances.shape != (*means.shape, means.shape[1]):
            raise OptionError("a mixture needs k weights, k means (k, d) and k covariances (k, d, d)")
        if len(weights) != len(means) or not len(weights) or not means.shape[1]:
            raise OptionError("a mixture needs as many weights as means, at least one, in at least one dimension")
        if not all(np.isfinite(each).all() for each in (weights, means, covariances)):
            raise OptionError("the parameters of a mixture must be finite numbers")
        if (weights < 0.0).any() or not weights.sum() > 0.0:
            raise OptionError("the weights of a mixture must be at least 0 and not all 0")
        for each in covariances:
            if not _definite((each + each.T) / 2):
                raise OptionError("each covariance of a mixture must be positive definite")
        object.__setattr__(self, "weights", weights / weights.sum())
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "covariances", (covariances + covariances.transpose(0, 2, 1)) / 2)

    @classmethod
    def normal(cls, mean: FloatArray, covariance: FloatArray) -> Mixture:
        """A mixture of one part."""
        return cls(np.ones(1), np.asarray(mean)[None], np.asarray(covariance)[None])

    @property
    def dimension(self) -> int:
        return int(self.means.shape[1])

    @property
    def parts(self) -> int:
        return len(self.weights)

    def mean(self) -> FloatArray:
        return np.asarray(self.weights @ self.means)

    def covariance(self) -> FloatArray:
        """Of the whole: within the parts and between them."""
        offset = self.means - self.mean()
        between = np.einsum("k,ki,kj->ij", self.weights, offset, offset)
        return np.asarray(np.einsum("k,kij->ij", self.weights, self.covariances) + between)

    def factors(self) -> FloatArray:
        """Lower triangular L with L L' = covariance, for each part."""
        return np.asarray(np.linalg.cholesky(self.covariances))

    def log_density(self, points: FloatArray) -> FloatArray:
        """log p at each point (k, d)."""
        found = np.empty((self.parts, len(points)))
        for k, (mean, factor) in enumerate(zip(self.means, self.factors(), strict=True)):
            white = np.linalg.solve(factor, (points - mean).T)
            found[k] = -0.5 * (white**2).sum(axis=0) - np.log(np.diag(factor)).sum()
        found -= 0.5 * self.dimension * np.log(2 * np.pi)
        with np.errstate(divide="ignore"):
            return np.asarray(logsumexp(found + np.log(self.weights)[:, None], axis=0))

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Random points of the mixture."""
        part = rng.choice(self.parts, size=count, p=self.weights)
        steps = rng.standard_normal((count, self.dimension))
        return np.asarray(self.means[part] + np.einsum("nij,nj->ni", self.factors()[part], steps))

    def moved(self, by: FloatArray) -> Mixture:
        """The same mixture elsewhere."""
        return Mixture(self.weights, self.means + by, self.covariances)

    def to_arrays(self) -> dict[str, FloatArray]:
        return {"weights": self.weights, "means": self.means, "covariances": self.covariances}


def fit_mixture(samples: FloatArray, most: int, seed: int) -> Mixture:
    """The mixture of 1 to ``most`` parts that BIC likes best; the same samples and seed give the same mixture.

    Each column is measured in its own spread. Parts are not made thinner than a millionth of a column's variance, and a
    column that does not vary gets a variance of 1e-12 of its square (1e-12 where it is 0), so that it stays where it
    is. With few samples fewer parts are tried: a part needs d + 1 samples of its own. DataError where there are fewer
    than 2 samples, or values that are not numbers.

    >>> rng = np.random.default_rng(1)
    >>> two = np.concatenate([rng.normal(-5, 1, (200, 2)), rng.normal(5, 1, (200, 2))])
    >>> fit_mixture(two, 4, seed=0).parts
    2
    """
    points = np.asarray(samples, dtype=np.float64)
    if points.ndim != 2 or not points.shape[1]:
        raise OptionError(f"samples must be a matrix with a row for each, not of shape {points.shape}")
    if most < 1:
        raise OptionError(f"a mixture has at least 1 part, not {most}")
    if len(points) < FEWEST:
        raise DataError(f"a mixture needs at least {FEWEST} samples, and there are {len(points)}; use the ball instead")
    if not np.isfinite(points).all():
        raise DataError("samples have missing or infinite values; leave those rows out before a mixture is fitted")
    centre, spread = points.mean(axis=0), points.std(axis=0)
    fixed = spread <= 1e-9 * np.abs(points).max(axis=0)
    unit = np.where(fixed, 1e-6 * np.where(centre == 0.0, 1.0, np.abs(centre)), spread)
    scaled = np.where(fixed, 0.0, (points - centre) / unit)
    if fixed.all():
        return Mixture.normal(centre, np.diag(unit**2))
    parts = max(1, min(most, len(np.unique(scaled, axis=0)) // (points.shape[1] + 1)))
    best = min((_fit(scaled, k, seed) for k in range(1, parts + 1)), key=lambda each: each[0])[1]
    # Where a column does not vary, its floor is the whole of its variance.
    covariances = best.covariances * unit * unit[:, None]
    for j in np.flatnonzero(fixed):
        covariances[:, j, :] = covariances[:, :, j] = 0.0
        covariances[:, j, j] = unit[j] ** 2
    return Mixture(best.weights, best.means * unit + centre, covariances)


def _definite(covariance: FloatArray) -> bool:
    """Whatever the units of the columns: by the correlations."""
    size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    if not (size > 0.0).all():
        return False
    return bool(np.linalg.eigvalsh(covariance / size / size[:, None])[0] > SINGULAR)


def _fit(scaled: FloatArray, parts: int, seed: int) -> tuple[float, Mixture]:
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture
    except ImportError as error:
        raise MachineError("fitting mixtures needs scikit-learn; run: pip install 'tacit[site]'") from error
    model = GaussianMixture(parts, reg_covar=FLOOR, random_state=seed, max_iter=200)
    with warnings.catch_warnings():
        # A fit that is not quite converged is still a mixture; how good it is shows in its criterion.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(scaled)
    return float(model.bic(scaled)), Mixture(model.weights_, model.means_, model.covariances_)
