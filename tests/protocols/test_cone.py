"""Drifts between the safe ball and a proved tip need no question: their balls are covered by those two."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.protocols._kernels_quiet import in_cone
from tacit.vocabulary import FloatArray


def _in_hull(drift: FloatArray, tip: FloatArray, radius: float) -> bool:
    """The obvious way: is the drift a share of the tip, and the rest of something within the radius?"""
    shares = np.linspace(0.0, 1.0, 100_001)[:, None]
    return bool((np.linalg.norm(drift - shares * tip, axis=1) <= (1.0 - shares[:, 0]) * radius).any())


def _in_cone(drift: FloatArray, tip: FloatArray, radius: float) -> bool:
    return bool(in_cone(drift @ drift, drift @ tip, tip @ tip, radius**2))


@settings(deadline=None)  # kernels may have to be compiled
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 6), st.floats(0.01, 0.95), st.floats(0.0, 1.0), st.floats(0.0, 1.3),
    st.sampled_from([1e-6, 1.0, 1e6]),
)  # fmt: skip
def test_the_balls_of_the_cone_are_covered(
    seed: int, d: int, radius: float, share: float, off: float, unit: float
) -> None:
    rng = np.random.default_rng(seed)
    tip = rng.normal(size=d)
    tip *= unit / np.linalg.norm(tip)
    aside = rng.normal(size=d)
    aside /= np.linalg.norm(aside)
    radius *= unit
    drift = share * tip + off * (1.0 - share) * radius * aside
    if not _in_cone(drift, tip, radius):
        return
    assert _in_hull(drift, tip, radius * (1.0 + 1e-6))
    points = rng.normal(size=(300, d))
    points *= rng.choice([1.0, 0.7], size=(300, 1)) / np.linalg.norm(points, axis=1)[:, None]
    points = 0.5 * drift + points * 0.5 * np.linalg.norm(drift)
    square = np.einsum("ij,ij->i", points, points)
    assert ((square <= radius**2 * (1.0 + 1e-9)) | (square <= points @ tip + 1e-9 * unit**2)).all()


@pytest.mark.middle
def test_the_cone_is_no_smaller_than_the_hull() -> None:
    """Behind the circle where it touches the ball, and but for rounding, the cone is all of the hull."""
    rng = np.random.default_rng(5)
    tip, radius, held, agreed = np.array([2.0, 0.0, 0.0]), 0.6, 0, 0
    for drift in rng.uniform(-1.0, 2.2, (1000, 3)) * [1.0, 0.3, 0.3]:
        if drift @ tip >= radius**2 and _in_hull(drift, tip, radius * (1.0 - 1e-3)):
            held += 1
            agreed += _in_cone(drift, tip, radius)
    assert held > 100
    assert agreed == held


def test_without_a_tip_or_a_radius_nothing_is_known() -> None:
    assert not in_cone(1.0, 1.0, -1.0, 0.5)
    assert not in_cone(1.0, 0.5, 4.0, 0.0)
    assert not in_cone(np.nan, 0.5, 4.0, 0.1)
    assert not in_cone(np.inf, np.inf, np.inf, 0.1)
