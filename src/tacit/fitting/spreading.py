"""Directions spread evenly, and how much of a normal distribution is within a radius."""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc, gammaln, ndtri
from scipy.stats import qmc

from tacit.vocabulary import FloatArray

__all__ = ["FAR", "chi_density", "chi_within", "directions_of", "rays"]

FAR = 40.0  # standard deviations: nothing is beyond


def rays(dimension: int, count: int, seed: int) -> FloatArray:
    """Unit vectors spread evenly over all directions, in opposite pairs.

    >>> rays(1, 1024, 0).tolist()
    [[1.0], [-1.0]]
    """
    if dimension == 1:
        return np.array([[1.0], [-1.0]])
    if dimension == 2:
        angles = np.arange(count) * (2 * np.pi / count) + np.pi / count
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    half = 2 ** max(1, int(np.ceil(np.log2(count / 2))))
    points = qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng(seed)).random(half)
    steps = ndtri(np.clip(points, 1e-12, 1 - 1e-12))
    steps /= np.linalg.norm(steps, axis=1)[:, None]
    return np.concatenate([steps, -steps])


def chi_within(radius: FloatArray, dimension: int) -> FloatArray:
    """How much of the standard normal distribution is within the radius.

    >>> round(float(chi_within(np.array(1.959964), 1)), 6)
    0.95
    """
    return np.asarray(gammainc(dimension / 2, radius**2 / 2))


def chi_density(radius: FloatArray, dimension: int) -> FloatArray:
    """Its derivative by the radius."""
    half = dimension / 2
    with np.errstate(divide="ignore"):
        log = (dimension - 1) * np.log(radius) if dimension > 1 else np.zeros(np.shape(radius))
    return np.asarray(np.exp(log - radius**2 / 2 - (half - 1) * np.log(2) - gammaln(half)))


def directions_of(dimension: int, count: int) -> FloatArray:
    """Evenly spread unit vectors, as many as asked for."""
    if dimension == 1:
        return np.array([[1.0], [-1.0]])
    if dimension == 2:
        angles = np.arange(count) * (2 * np.pi / count)
        return np.round(np.stack([np.cos(angles), np.sin(angles)], axis=1), 15)
    if dimension == 3 and count == 12:
        return _icosahedron()
    if dimension == 3:
        steps = np.arange(count) + 0.5
        height = 1 - 2 * steps / count
        turn = np.pi * (1 + 5**0.5) * steps
        ring = np.sqrt(1 - height**2)
        return np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)
    if count == 2 * dimension:
        return np.vstack([np.eye(dimension), -np.eye(dimension)])
    simplex = np.vstack([np.eye(dimension), -np.ones((1, dimension)) / np.sqrt(dimension)])
    return np.vstack([simplex, rays(dimension, 2 * count, 0)])[: max(count, dimension + 1)]


def _icosahedron() -> FloatArray:
    golden = (1 + 5**0.5) / 2
    corners = [np.roll([0.0, a, b * golden], k) for k in range(3) for a in (-1, 1) for b in (-1, 1)]
    return np.asarray(np.array(corners) / np.hypot(1.0, golden))
