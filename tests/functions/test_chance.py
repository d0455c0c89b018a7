"""The a-priori bounds against simulated stationary streams: the observed frequency stays below each of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tacit.functions.chance import broadcast_messages, collected_messages, hoeffding, markov, rate
from tacit.vocabulary.arrays import FloatArray

Draw = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]
WINDOWS = 4_000


def _bernoulli(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    return (rng.random((*shape, 3)) < np.array([0.1, 0.5, 0.9])).astype(np.float64)


def _dependent(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Components that move together: the bounds ask nothing of them."""
    x = rng.random((*shape, 1))
    return np.concatenate([x, 4.0 * x, x**2, 1.0 - x], axis=-1)


def _skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    return np.minimum(rng.exponential(1.0, (*shape, 2)), 8.0)


STREAMS = {"bernoulli": _bernoulli, "dependent": _dependent, "skewed": _skewed}


def _moments(draw: Draw) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and variance from many draws (rounded up a little), and the range."""
    sample = draw(np.random.default_rng(99), (400_000,))
    return sample.mean(axis=0), 1.01 * sample.var(axis=0), sample.max(axis=0) - sample.min(axis=0)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("items", [20, 100])
@pytest.mark.parametrize("old", [False, True])
def test_frequency_below_bounds(name: str, items: int, old: bool) -> None:
    draw, rng = STREAMS[name], np.random.default_rng(7)
    mean, variance, spread = _moments(draw)
    windows = draw(rng, (WINDOWS, items)).mean(axis=1)
    reference = draw(rng, (WINDOWS, items)).mean(axis=1) if old else mean
    deviation = np.linalg.norm(windows - reference, axis=1)
    size = np.sqrt(variance.sum() / items)
    said = {"markov": 0, "hoeffding": 0}
    for distance in size * np.array([0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0]):
        frequency = float(np.mean(deviation > distance))
        noise = 3.0 * np.sqrt(max(frequency * (1.0 - frequency), 1.0 / WINDOWS) / WINDOWS)
        for bound_name, bound in (
            ("markov", float(markov(variance, items, distance, old=old))),
            ("hoeffding", float(hoeffding(variance, spread, items, distance, old=old))),
        ):
            assert frequency <= bound + noise
            said[bound_name] += bound < 0.9
    assert min(said.values()) > 0, "a bound that never says anything proves nothing"


def test_hoeffding_wins_far_away_and_markov_near() -> None:
    variance, spread = [0.25, 0.25], [1.0, 1.0]
    assert hoeffding(variance, spread, 500, 0.4) < 1e-6 < markov(variance, 500, 0.4)
    assert markov([1e-4, 1e-4], 500, 0.01) < 0.02
    assert hoeffding([1e-4, 1e-4], spread, 500, 0.01) > 0.9


def test_norm_form_wins_in_many_dimensions() -> None:
    d = 200
    by_components = 2 * d * np.exp(-2.0 * 50 * 3.0**2 / d)
    assert hoeffding(np.full(d, 0.01), np.ones(d), 100, 3.0) < by_components


def test_what_does_not_move_never_violates() -> None:
    assert markov([0.0, 0.0], 10, 0.1) == 0.0
    assert hoeffding([0.0, 0.0], [0.0, 0.0], 10, 0.1) == 0.0
    assert rate([0.0], 10, 0.0) == 0.0


def test_broadcasting_over_groups() -> None:
    variance = np.array([[0.1, 0.2], [1.0, 2.0]])
    both = markov(variance, 10, np.array([1.0, 2.0]))
    assert both.shape == (2,)
    assert both[1] == markov(variance[1], 10, 2.0)


@pytest.mark.parametrize("ratio", [0.2, 0.5, 1.0])
def test_rate_is_the_right_size_for_a_walk(ratio: float) -> None:
    """Drift of a sliding window, reset at each exit: the estimate is within a factor of three of the count."""
    rng = np.random.default_rng(3)
    items, length = 200, 60_000
    rows = rng.normal(size=(length + items, 2))
    window = np.cumsum(rows, axis=0)
    v = (window[items:] - window[:-items]) / items
    distance = ratio * np.sqrt(2.0 / items)
    exits, anchor = 0, v[0]
    for point in v:
        if np.hypot(*(point - anchor)) > distance:
            exits, anchor = exits + 1, point
    expected = float(rate([1.0, 1.0], items, distance)) * length / items
    assert expected / 3.0 <= exits <= expected * 3.0


def test_costs() -> None:
    assert collected_messages(2, sites=10) == 58
    assert broadcast_messages(1, sites=10) == 9
