"""The two solvers against each other, against what is known, and against every zone they might have missed nearby."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.fitting import Mixture, ZoneFit, ZoneProblem, common_limits, fit_dual, fit_general, fit_mixture
from tacit.fitting.likelihood import Likelihood
from tacit.fitting.problem import log_chance
from tacit.geometry import Box, HalfSpaces, interval, rows_fit
from tests.fitting.making import mixture, octagon, problem
from tests.tiers import parametrize_in_tiers


def proved(task: ZoneProblem, fit: ZoneFit) -> None:
    """What every fit must be: exactly safe, holding its anchors, and as good as it says."""
    assert task.weights is not None
    assert rows_fit(fit.zones, task.weights, task.region)
    if task.anchors is not None:
        for zone, anchor in zip(fit.zones, task.anchors, strict=True):
            assert zone.contains(anchor[None])[0]
    chances, _ = Likelihood.of(task.mixtures, task.region.normals)(fit.limits)
    assert fit.chances == pytest.approx(chances)
    assert task.counts is not None
    assert fit.objective == pytest.approx(log_chance(chances, task.counts))


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("anchored", [True, False])
@parametrize_in_tiers("seed", range(3), in_test=1)
def test_dual_equals_general_at_ten_sites(seed: int, anchored: bool, parts: int) -> None:
    task = problem(seed, 10, parts=parts, anchored=anchored)
    dual, general = fit_dual(task), fit_general(task)
    proved(task, dual)
    proved(task, general)
    assert dual.objective >= general.objective - 0.01 * abs(general.objective)


def test_two_intervals_as_on_paper() -> None:
    """Equal weights and one dimension: at the best limits both slopes are the price."""
    sites = [Mixture.normal(np.zeros(1), np.eye(1)), Mixture.normal(np.ones(1), 4 * np.eye(1))]
    task = ZoneProblem(interval(-2.0, 3.0).half_spaces(), sites)
    fit = fit_dual(task)
    chances, slopes = Likelihood.of(sites, task.region.normals)(fit.limits)
    logs = slopes / chances[:, None]
    assert logs[0] == pytest.approx(logs[1], rel=1e-2)
    assert fit.prices is not None
    assert fit.prices * 0.5 == pytest.approx(logs[0], rel=1e-2)
    assert task.shares @ fit.limits == pytest.approx(task.region.limits, abs=1e-9)


@pytest.mark.parametrize("solver", [fit_dual, fit_general])
def test_no_trade_between_two_sites_is_better(solver: object) -> None:
    """Optimality in the plain sense: moving a little of a row from one site to another never gains."""
    task = problem(5, 4, parts=1)
    fit = solver(task)  # type: ignore[operator]
    shared = Likelihood.of(task.mixtures, task.region.normals)
    assert task.counts is not None
    for row in range(8):
        for one in range(4):
            for other in range(4):
                moved = fit.limits.copy()
                moved[one, row] += 0.02 / task.shares[one]
                moved[other, row] -= 0.02 / task.shares[other]
                if task.floors() is None or (moved >= task.floors()).all():
                    assert log_chance(shared(moved)[0], task.counts) <= fit.objective + 1e-4


def test_fitted_zones_are_better_than_one_shape_for_all() -> None:
    for seed in range(3):
        task = problem(seed, 10, parts=2, anchored=False)
        shared = Likelihood.of(task.mixtures, task.region.normals)
        assert task.counts is not None
        common = log_chance(shared(common_limits(task))[0], task.counts)
        assert fit_dual(task).objective > common * 0.8


@pytest.mark.parametrize("solver", [fit_dual, fit_general])
def test_more_than_two_dimensions(solver: object) -> None:
    rng = np.random.default_rng(8)
    sites = [mixture(rng, 3, 2) for _ in range(4)]
    centre = np.mean([each.mean() for each in sites], axis=0)
    task = ZoneProblem(Box(centre - 2, centre + 2).half_spaces(), sites, anchors=np.array([s.mean() for s in sites]))
    shared = Likelihood.of(sites, task.region.normals)
    fit = solver(task, likelihood=shared)  # type: ignore[operator]
    assert task.weights is not None
    assert rows_fit(fit.zones, task.weights, task.region)
    assert task.counts is not None
    assert fit.objective > log_chance(shared(common_limits(task))[0], task.counts) + 0.05


def test_weights_matter() -> None:
    """A site that hardly counts may have nearly all the room it wants."""
    sites = [Mixture.normal(np.zeros(2), np.eye(2))] * 2
    fit = fit_dual(ZoneProblem(octagon(2.0), sites, np.array([1.0, 1e-3])))
    assert fit.chances[1] > 0.999
    assert fit.chances[0] > 0.85
    even = fit_dual(ZoneProblem(octagon(2.0), sites))
    assert even.chances[0] == pytest.approx(even.chances[1], abs=1e-3)


def test_one_site_gets_the_region() -> None:
    task = ZoneProblem(octagon(2.0), [Mixture.normal(np.zeros(2), np.eye(2))])
    assert fit_dual(task).limits[0] == pytest.approx(task.region.limits, abs=1e-9)


def test_an_anchor_far_from_the_data_is_held() -> None:
    sites = [Mixture.normal(np.zeros(2), 0.01 * np.eye(2))] * 3
    anchors = np.array([[1.5, 0.0], [-1.0, 0.2], [0.3, 0.4]])
    task = ZoneProblem(octagon(1.0), sites, anchors=anchors)
    for fit in (fit_dual(task), fit_general(task)):
        proved(task, fit)
        assert fit.chances.min() > 0.9


def test_an_estimate_next_to_the_boundary() -> None:
    rng = np.random.default_rng(2)
    sites = [mixture(rng, 2, 1) for _ in range(5)]
    for gap in (1e-3, 1e-6, 1e-9):
        anchors = np.tile([1.0 - gap, 0.0], (5, 1))
        task = ZoneProblem(octagon(1.0), sites, anchors=anchors)
        proved(task, fit_dual(task))
        proved(task, fit_general(task))


@pytest.mark.parametrize("seed", [220, 255])
def test_a_first_step_that_is_too_long_is_not_the_end(seed: int) -> None:
    """Little room: the slopes are steep, and a step along them ends where all probabilities are 0 and all is flat."""
    rng = np.random.default_rng(seed)
    sites = [mixture(rng, 2, 2, apart=3.0) for _ in range(5)]
    task = ZoneProblem(octagon(0.15, np.mean([each.mean() for each in sites], axis=0)), sites)
    general, dual = fit_general(task), fit_dual(task)
    assert general.objective == pytest.approx(dual.objective, rel=0.01)


def test_units_of_the_data_do_not_matter() -> None:
    """Columns in millionths and in millions: rows are not mistaken for one another, and zones are the same."""
    task = problem(2, 4, parts=2)
    unit = np.array([1e-6, 1e6])
    sites = [Mixture(m.weights, m.means * unit, m.covariances * unit * unit[:, None]) for m in task.mixtures]
    assert task.anchors is not None
    region = HalfSpaces(task.region.normals / unit, task.region.limits)
    scaled = ZoneProblem(region, sites, task.weights, task.anchors * unit)
    assert fit_dual(scaled).objective == pytest.approx(fit_dual(task).objective, rel=1e-3)
    assert fit_general(scaled).objective == pytest.approx(fit_general(task).objective, rel=1e-3)


def test_a_column_that_does_not_vary_has_zones() -> None:
    rng = np.random.default_rng(4)
    seen = [rng.normal(size=(80, 2)) for _ in range(3)]
    for each in seen:
        each[:, 1] = 2.0
    sites = [fit_mixture(each, 2, seed=0) for each in seen]
    anchors = np.array([each.mean(axis=0) for each in seen])
    task = ZoneProblem(octagon(1.5, anchors.mean(axis=0)), sites, anchors=anchors)
    fit = fit_dual(task)
    proved(task, fit)
    assert fit.chances.min() > 0.7
    for zone, each in zip(fit.zones, seen, strict=True):
        assert zone.contains(each).mean() > 0.7
