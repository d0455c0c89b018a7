"""How probable are zones {A x <= c_i} under the sites' mixtures, and how that changes with each limit.

All sites share the normals A, so one call answers for all of them (``Likelihood.of``). Three ways to the same number:

*plane* (d = 2): Green's theorem turns the integral over a polygon into one along its edges, and for a normal density
that is Owen's function T. Seen from the part's mean, in the coordinates where the part is round, an edge at (signed)
distance h that runs from s1 to s2 hides the mass T(h, s2/h) - T(h, s1/h) behind it; what no edge hides is inside:

    P = [mean inside] - sum over edges of T(h, s2/h) - T(h, s1/h),      dP/dh = phi(h) (Phi(s2) - Phi(s1)).

*rays* (any d): along a ray from the part's mean the zone is one stretch, and its mass has the closed form of the chi
distribution. The mean over rays spread evenly (Sobol's points, or the two directions of a line, where it is exact) is
the probability. Unlike counting points inside, it is continuous in the limits and has a derivative.

*sides* (boxes, where parts have no correlation): a product of differences of normal distribution functions, exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, owens_t

from tacit.fitting.mixtures import Mixture
from tacit.fitting.spreading import FAR, chi_density, chi_within, rays
from tacit.vocabulary import FloatArray, IntArray, OptionError

__all__ = ["Likelihood", "Plane", "Rays", "Sides"]

RAYS = 1024
ENTRIES_MAX = 4_000_000  # of an array over sites, parts, rays and rows
PARALLEL = 1e-12
NEAREST = 1e-8  # standard deviations


class Likelihood(ABC):
    """Probabilities of zones with the same normals, one for each site.

    >>> sites = [Mixture.normal(np.zeros(1), np.eye(1))]
    >>> shared = Likelihood.of(sites, np.array([[1.0], [-1.0]]))
    >>> probability, slopes = shared(np.array([[1.959964, 1.959964]]))
    >>> probability.round(6).tolist(), slopes.round(4).tolist()
    ([0.95], [[0.0584, 0.0584]])
    """

    def __init__(self, mixtures: Sequence[Mixture], normals: FloatArray) -> None:
        sites, rows = len(mixtures), len(normals)
        parts = max(each.parts for each in mixtures)
        dimension = normals.shape[1]
        if any(each.dimension != dimension for each in mixtures):
            raise OptionError(f"all mixtures must have {dimension} dimensions, as the region has")
        self.weights = np.zeros((sites, parts))  # a part that is not there has weight 0
        self.offsets = np.zeros((sites, parts, rows))  # A mean
        self.white = np.zeros((sites, parts, rows, dimension))  # A L
        self.white[:] = normals
        for i, each in enumerate(mixtures):
            k = each.parts
            self.weights[i, :k] = each.weights
            self.offsets[i, :k] = each.means @ normals.T
            self.white[i, :k] = np.einsum("md,kde->kme", normals, each.factors())
        self.sizes = np.linalg.norm(self.white, axis=3)

    @staticmethod
    def of(mixtures: Sequence[Mixture], normals: FloatArray, *, seed: int = 0, directions: int = RAYS) -> Likelihood:
        """The best way for these normals and mixtures."""
        dimension = normals.shape[1]
        if dimension == 2:
            return Plane(mixtures, normals)
        one_axis = (np.count_nonzero(normals, axis=1) == 1).all()
        if one_axis and all(_diagonal(each) for each in mixtures):
            return Sides(mixtures, normals)
        return Rays(mixtures, normals, rays(dimension, directions, seed))

    def __call__(self, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities (n,) and their derivatives by each limit (n, m), for limits (n, m)."""
        values, slopes = self._parts(limits[:, None, :] - self.offsets)
        chance = np.clip((self.weights * values).sum(axis=1), 0.0, 1.0)
        return chance, np.einsum("nk,nkm->nm", self.weights, slopes)

    @abstractmethod
    def _parts(self, room: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same for each part, (n, k) and (n, k, m), from ``room`` = c - A mean."""


class Plane(Likelihood):
    """Polygons, by Green's theorem; exact to 1e-8."""

    def __init__(self, mixtures: Sequence[Mixture], normals: FloatArray) -> None:
        super().__init__(mixtures, normals)
        unit = self.white / self.sizes[..., None]
        along = np.stack([-unit[..., 1], unit[..., 0]], axis=-1)  # counter-clockwise with the normal outside
        self.cosine = np.einsum("nkad,nkbd->nkab", unit, unit)  # of rows a and b
        self.sine = np.einsum("nkbd,nkad->nkab", unit, along)  # of row b along edge a
        self.opens = self.sine > PARALLEL
        self.closes = self.sine < -PARALLEL
        self.parallel = ~(self.opens | self.closes)
        diagonal = np.arange(len(normals))
        self.parallel[..., diagonal, diagonal] = False

    def _parts(self, room: FloatArray) -> tuple[FloatArray, FloatArray]:
        h = room / self.sizes
        # Seen from a corner the edges' angles are 0/0, so no edge comes nearer than this; P moves by less than 1e-8.
        h = np.where(np.abs(h) < NEAREST, NEAREST, h)
        gap = h[..., None, :] - self.cosine * h[..., :, None]  # room of row b at the foot of edge a
        with np.errstate(divide="ignore", invalid="ignore"):
            end = gap / self.sine
        high = np.where(self.opens, end, np.inf).min(axis=-1)
        low = np.where(self.closes, end, -np.inf).max(axis=-1)
        missing = (high <= low) | (self.parallel & (gap < 0.0)).any(axis=-1)
        high, low = np.where(missing, 0.0, high), np.where(missing, 0.0, low)
        behind = owens_t(h, high / h) - owens_t(h, low / h)
        values = (h >= 0.0).all(axis=-1) - np.where(missing, 0.0, behind).sum(axis=-1)
        slopes = _phi(h) * np.where(missing, 0.0, ndtr(high) - ndtr(low)) / self.sizes
        return np.clip(values, 0.0, 1.0), slopes


class Rays(Likelihood):
    """Any dimension: closed form along each ray, evenly spread rays. Sites are taken a few at a time."""

    def __init__(self, mixtures: Sequence[Mixture], normals: FloatArray, directions: FloatArray) -> None:
        super().__init__(mixtures, normals)
        self.dimension = normals.shape[1]
        self.directions = directions
        each = self.weights.shape[1] * len(directions) * len(normals)
        self.at_once = max(1, ENTRIES_MAX // each)
        self._kept = self._speeds(slice(None)) if self.at_once >= len(mixtures) else None

    def _speeds(self, sites: slice) -> FloatArray:
        """How fast A x grows along each ray: (n, k, rays, m)."""
        return np.asarray(np.einsum("nkmd,rd->nkrm", self.white[sites], self.directions))

    def _parts(self, room: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self._kept is not None:
            return self._some(room, self._kept)
        cuts = [slice(k, k + self.at_once) for k in range(0, len(room), self.at_once)]
        found = [self._some(room[cut], self._speeds(cut)) for cut in cuts]
        return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])

    def _some(self, room: FloatArray, speeds: FloatArray) -> tuple[FloatArray, FloatArray]:
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = room[..., None, :] / speeds
        far, near = np.where(speeds > 0.0, ends, np.inf), np.where(speeds < 0.0, ends, -np.inf)
        last, first = far.argmin(axis=-1), near.argmax(axis=-1)
        outer = np.clip(_take(far, last), 0.0, FAR)
        inner = np.clip(_take(near, first), 0.0, FAR)
        # A row that the ray runs along decides all or nothing.
        outside = (room < 0.0).any() and ((speeds == 0.0) & (room[..., None, :] < 0.0)).any(axis=-1)
        missing = (outer <= inner) | outside
        mass = np.where(missing, 0.0, chi_within(outer, self.dimension) - chi_within(inner, self.dimension))
        slopes = np.zeros(room.shape)
        at = (np.arange(room.size // room.shape[-1]) * room.shape[-1]).reshape(room.shape[:-1])[..., None]
        for rows, radius, where in ((last, outer, outer < FAR), (first, inner, inner > 0.0)):
            # The far end adds density / speed; the near end's speed is below 0, which is its sign.
            step = np.abs(_take(speeds, rows))
            with np.errstate(divide="ignore", invalid="ignore"):
                part = np.where(missing | ~where, 0.0, chi_density(radius, self.dimension) / step)
            slopes += np.bincount((at + rows).ravel(), part.ravel(), minlength=room.size).reshape(room.shape)
        return mass.mean(axis=-1), slopes / len(self.directions)


class Sides(Likelihood):
    """Boxes along the axes under parts without correlation; exact."""

    def __init__(self, mixtures: Sequence[Mixture], normals: FloatArray) -> None:
        super().__init__(mixtures, normals)
        self.axis = np.abs(normals).argmax(axis=1)
        self.up = normals[np.arange(len(normals)), self.axis] > 0.0
        self.dimension = normals.shape[1]

    def _parts(self, room: FloatArray) -> tuple[FloatArray, FloatArray]:
        h = room / self.sizes
        sides = np.empty((*h.shape[:-1], self.dimension))
        slopes = np.zeros(h.shape)
        for axis in range(self.dimension):
            above, below = (np.flatnonzero((self.axis == axis) & (self.up == way)) for way in (True, False))
            high = h[..., above].min(axis=-1) if len(above) else np.full(h.shape[:-1], FAR)
            low = -h[..., below].min(axis=-1) if len(below) else np.full(h.shape[:-1], -FAR)
            sides[..., axis] = np.maximum(ndtr(high) - ndtr(low), 0.0)
            for rows, end in ((above, high), (below, -low)):
                if len(rows):
                    tight = rows[h[..., rows].argmin(axis=-1)]
                    np.put_along_axis(slopes, tight[..., None], np.where(high > low, _phi(end), 0.0)[..., None], -1)
        for m, axis in enumerate(self.axis):
            slopes[..., m] *= np.delete(sides, axis, axis=-1).prod(axis=-1)
        return sides.prod(axis=-1), slopes / self.sizes


def _diagonal(mixture: Mixture) -> bool:
    return bool((mixture.covariances * (1 - np.eye(mixture.dimension)) == 0.0).all())


def _phi(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))


def _take(values: FloatArray, index: IntArray) -> FloatArray:
    return np.asarray(np.take_along_axis(values, index[..., None], axis=-1)[..., 0])
