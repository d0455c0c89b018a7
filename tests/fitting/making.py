"""Sites and regions for the tests of fitting."""

from __future__ import annotations

import numpy as np

from tacit.fitting import Mixture, ZoneProblem
from tacit.geometry import HalfSpaces


def octagon(size: float, at: np.ndarray | None = None) -> HalfSpaces:
    angles = np.arange(8) * (np.pi / 4)
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return HalfSpaces(normals, normals @ (np.zeros(2) if at is None else at) + size)


def covariance(rng: np.random.Generator, dimension: int) -> np.ndarray:
    """Long in some directions, thin in others."""
    turned, _ = np.linalg.qr(rng.normal(size=(dimension, dimension)))
    return np.asarray((turned * rng.uniform(0.1, 1.5, dimension) ** 2) @ turned.T)


def mixture(rng: np.random.Generator, dimension: int, parts: int, *, apart: float = 1.0) -> Mixture:
    middle = rng.normal(size=dimension)
    return Mixture(
        rng.uniform(0.3, 1.0, parts),
        middle + apart * rng.normal(size=(parts, dimension)),
        np.array([covariance(rng, dimension) for _ in range(parts)]),
    )


def problem(seed: int, sites: int, *, parts: int = 1, size: float = 1.5, anchored: bool = True) -> ZoneProblem:
    """Sites in the plane whose mean is in the middle of an octagon, with uneven weights."""
    rng = np.random.default_rng(seed)
    mixtures = [mixture(rng, 2, int(rng.integers(1, parts + 1))) for _ in range(sites)]
    weights = rng.uniform(0.5, 2.0, sites)
    means = np.array([each.mean() for each in mixtures])
    region = octagon(size, weights @ means / weights.sum())
    return ZoneProblem(region, mixtures, weights, means if anchored else None)
