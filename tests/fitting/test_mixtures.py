"""Mixtures: fitted where there is something to fit, refused where there is not, and never degenerate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tacit.fitting import Mixture, drift_score, drifted, fit_mixture
from tacit.vocabulary import DataError, OptionError
from tests.fitting.making import mixture


def test_a_known_mixture_is_found_again() -> None:
    rng = np.random.default_rng(4)
    true = Mixture(
        np.array([0.3, 0.7]),
        np.array([[0.0, 0.0], [6.0, -4.0]]),
        np.array([[[1.0, 0.6], [0.6, 1.0]], [[0.5, 0.0], [0.0, 3.0]]]),
    )
    found = fit_mixture(true.draw(4000, rng), 5, seed=0)
    assert found.parts == 2
    order = np.argsort(found.weights)
    assert found.weights[order] == pytest.approx([0.3, 0.7], abs=0.03)
    assert found.means[order] == pytest.approx(true.means, abs=0.2)
    assert found.covariances[order] == pytest.approx(true.covariances, abs=0.25)


def test_the_same_samples_and_seed_give_the_same_mixture() -> None:
    samples = np.random.default_rng(1).gamma(2.0, size=(300, 2))
    one, two = fit_mixture(samples, 3, seed=7), fit_mixture(samples, 3, seed=7)
    assert one.means.tolist() == two.means.tolist()


def test_units_do_not_matter() -> None:
    samples = np.random.default_rng(1).normal(size=(400, 2)) + 3
    unit = np.array([1e9, 1e-9])
    one, two = fit_mixture(samples, 3, seed=7), fit_mixture(samples * unit, 3, seed=7)
    assert two.means == pytest.approx(one.means * unit)
    assert two.covariances[0] == pytest.approx(one.covariances[0] * unit * unit[:, None])


def test_density_moments_and_draws() -> None:
    rng = np.random.default_rng(2)
    found = mixture(rng, 3, 3)
    points = rng.normal(size=(20, 3))
    slow = sum(
        weight * multivariate_normal(mean, part).pdf(points)
        for weight, mean, part in zip(found.weights, found.means, found.covariances, strict=True)
    )
    assert np.exp(found.log_density(points)) == pytest.approx(slow)
    drawn = found.draw(200_000, rng)
    assert drawn.mean(axis=0) == pytest.approx(found.mean(), abs=0.03)
    assert np.cov(drawn.T) == pytest.approx(found.covariance(), abs=0.06)


def test_a_column_that_does_not_vary() -> None:
    samples = np.random.default_rng(3).normal(size=(200, 2))
    for constant in (0.0, 7.0, 1e12):
        samples[:, 1] = constant
        found = fit_mixture(samples, 3, seed=0)
        assert found.means[:, 1] == pytest.approx(constant)
        assert (found.covariances[:, 1, 1] > 0.0).all()
        assert found.covariances[:, 1, 1].max() <= 1e-12 * max(constant**2, 1.0) * 1.01
        assert (found.covariances[:, 0, 1] == 0.0).all()
    found = fit_mixture(np.full((50, 2), 3.0), 3, seed=0)
    assert found.parts == 1
    assert found.means.tolist() == [[3.0, 3.0]]


@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_few_samples_have_few_parts(count: int) -> None:
    found = fit_mixture(np.random.default_rng(5).normal(size=(count, 2)), 8, seed=0)
    assert found.parts <= max(1, count // 3)


def test_repeated_samples() -> None:
    found = fit_mixture(np.repeat(np.array([[0.0, 0.0], [1.0, 1.0]]), 50, axis=0), 8, seed=0)
    assert found.parts == 1


@pytest.mark.parametrize(
    ("samples", "error", "words"),
    [
        (np.zeros((1, 2)), DataError, "at least 2 samples, and there are 1"),
        (np.zeros((0, 2)), DataError, "at least 2 samples"),
        (np.array([[1.0, np.nan], [0.0, 1.0], [2.0, 3.0]]), DataError, "missing or infinite"),
        (np.array([[1.0, np.inf], [0.0, 1.0], [2.0, 3.0]]), DataError, "missing or infinite"),
        (np.zeros(5), OptionError, "matrix"),
    ],
)
def test_what_cannot_be_fitted(samples: np.ndarray, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        fit_mixture(samples, 2, seed=0)


@pytest.mark.parametrize(
    ("weights", "means", "covariances", "words"),
    [
        ([1.0], [[0.0]], [[[0.0]]], "positive definite"),
        ([1.0], [[0.0, 0.0]], [[[1.0, 1.0], [1.0, 1.0]]], "positive definite"),
        ([-1.0, 2.0], [[0.0], [0.0]], [[[1.0]], [[1.0]]], "at least 0"),
        ([1.0], [[np.nan]], [[[1.0]]], "finite"),
        ([1.0, 1.0], [[0.0]], [[[1.0]]], "as many weights"),
        ([1.0], [[0.0, 1.0]], [[[1.0]]], "k covariances"),
    ],
)
def test_what_is_no_mixture(weights: object, means: object, covariances: object, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Mixture(np.array(weights), np.array(means), np.array(covariances))


@pytest.mark.parametrize("seed", range(20))
def test_its_own_samples_have_not_drifted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = mixture(rng, 2, 2)
    assert not drifted(found, found.draw(400, rng))


def test_drift_is_seen_from_both_sides() -> None:
    rng = np.random.default_rng(6)
    found = mixture(rng, 2, 1)
    drawn = found.draw(400, rng)
    wide = found.mean() + (drawn - found.mean()) * 2
    narrow = found.mean() + (drawn - found.mean()) * 0.2
    assert drifted(found, wide)
    assert drift_score(found, wide) < 0.0
    assert drifted(found, narrow)
    assert drift_score(found, narrow) > 0.0
    assert drifted(found, drawn + 3.0)
    assert drifted(found, drawn + 1e200)
    assert not drifted(found, wide, independent=1)
    with pytest.raises(DataError, match="numbers only"):
        drifted(found, np.full((3, 2), np.nan))
    with pytest.raises(OptionError, match="cannot be worth"):
        drifted(found, drawn, independent=401)
    with pytest.raises(OptionError, match="2 columns"):
        drifted(found, drawn[:, :1])
