"""What cells have by chance is taken off: right on average, and never beyond the promise of the sketch."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.functions.goals import Accuracy, InnerProduct, SelfJoin
from tacit.protocols.gauges.making import gauge_of, shape_of
from tacit.sketches.hashing import fingerprints, places_of, row_words

ACCURACIES = [(0.02, 0.1), (0.05, 0.05), (0.15, 0.15), (0.5, 0.3), (0.95, 0.6)]
SEEDS = 120


def counts_of(rng: np.random.Generator, kind: str) -> np.ndarray:
    """How often each of some keys came."""
    match kind:
        case "one key":
            return np.array([1_000.0])
        case "all different":
            return np.ones(2_000)
        case "zipf":
            return np.floor(5_000.0 / np.arange(1, 1_001))
        case _:
            return rng.integers(1, 100, int(rng.integers(2, 60))).astype(np.float64)


def cells_of(counts: np.ndarray, first: int, seed: int, goal, rng: np.random.Generator) -> np.ndarray:
    """Cells of keys that are numbered from ``first`` on, off as far as window counters may be."""
    shape = shape_of(goal)
    words = fingerprints(np.arange(first, first + len(counts)), seed=seed)
    cells = np.zeros(shape.depth * shape.width)
    for places in places_of(words, row_words(seed, shape.depth), shape.width).T:
        np.add.at(cells, places, counts)
    off = shape.epsilon_window * rng.choice([-1.0, 1.0], cells.shape) * rng.integers(0, 2)
    return cells * (1.0 + off)


@pytest.mark.parametrize("kind", ["one key", "all different", "zipf", "some"])
@pytest.mark.parametrize(("epsilon", "delta"), ACCURACIES)
def test_the_promise_of_the_sketch_holds(epsilon, delta, kind):
    failed = {"self-join": 0, "product": 0}
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, 5])
        goal, other = SelfJoin(0.1, Accuracy(epsilon, delta)), InnerProduct(0.1, Accuracy(epsilon, delta))
        left, right, shift = counts_of(rng, kind), counts_of(rng, kind), int(rng.choice([0, 3, 5_000]))
        mine, theirs = cells_of(left, 0, seed, goal, rng), cells_of(right, shift, seed, other, rng)
        truth, rows = float((left**2).sum()), float(left.sum())
        off = gauge_of(goal).value(mine[None]) - truth
        assert off >= -epsilon * rows**2
        failed["self-join"] += off > epsilon * rows**2
        met = min(len(left), len(right) + shift) - shift
        truth = float((left[shift : shift + met] * right[:met]).sum()) if met > 0 else 0.0
        off = gauge_of(other).value(np.concatenate([mine, theirs])[None]) - truth
        assert off >= -epsilon * rows * right.sum()
        failed["product"] += off > epsilon * rows * right.sum()
    for count in failed.values():
        assert count <= SEEDS * delta + 4.0 * np.sqrt(SEEDS * delta)


def test_it_is_right_on_average():
    """A single row, as the least of several is below the average."""
    truth, found, plain = 0.0, [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        goal = SelfJoin(0.1, Accuracy(0.15, 0.5))
        counts = counts_of(rng, "zipf")
        shape = shape_of(goal)
        assert shape.depth == 1
        places = places_of(fingerprints(np.arange(len(counts)), seed=seed), row_words(seed, 1), shape.width)[:, 0]
        cells = np.bincount(places, weights=counts, minlength=shape.width)
        truth = float((counts**2).sum())
        found.append(gauge_of(goal).value(cells[None]))
        plain.append(gauge_of(goal, zone="norms").value(cells[None]))
    assert abs(np.mean(found) / truth - 1.0) < 4.0 * np.std(found) / truth / np.sqrt(len(found))
    assert np.mean(plain) / truth > 2.0
