"""What has no zones is said in one sentence, and the caller falls back to the ball."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.fitting import Mixture, ZoneProblem, faces_of, fit_clustered, fit_joint, fit_vertices, region_rows, saturated
from tacit.geometry import Box, Ellipsoid, HalfSpaces, interval
from tacit.vocabulary import DataError, OptionError, ZoneError
from tests.fitting.making import octagon, problem

ONE = Mixture.normal(np.zeros(2), np.eye(2))
EMPTY = HalfSpaces(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([-1.0, -1.0]))
LINE = Mixture.normal(np.zeros(1), np.eye(1))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ZoneProblem(EMPTY, [ONE]), ZoneError, "region is empty.*use the ball"),
        (lambda: ZoneProblem(EMPTY, [ONE], anchors=np.zeros((1, 2))), ZoneError, "estimate.*use the ball"),
        (lambda: ZoneProblem(octagon(1.0), [ONE], anchors=np.full((1, 2), 2.0)), ZoneError, "estimate.*use the ball"),
        (lambda: ZoneProblem(octagon(1.0), [ONE], anchors=np.array([[1.0, 0.0]])), ZoneError, "estimate.*use the ball"),
        (lambda: ZoneProblem(octagon(1.0), [ONE], anchors=np.array([[np.nan, 0.0]])), OptionError, "finite"),
        (lambda: ZoneProblem(octagon(1.0), [ONE], anchors=np.zeros((2, 2))), OptionError, "1 points of 2"),
        (lambda: ZoneProblem(octagon(1.0), [LINE]), OptionError, "2 dimensions"),
        (lambda: ZoneProblem(octagon(1.0), []), OptionError, "at least one site"),
        (lambda: ZoneProblem(octagon(1.0), [ONE], np.zeros(1)), OptionError, "above 0"),
        (lambda: ZoneProblem(HalfSpaces(np.array([[1.0, 0], [2, 0]]), np.ones(2)), [ONE]), OptionError, "twice"),
        (lambda: fit_vertices(problem(0, 2), 2), OptionError, "at least 3"),
        (lambda: fit_clustered(problem(0, 3), fan=1), OptionError, "at least 2"),
        (lambda: fit_joint(problem(0, 3), np.zeros((5, 2, 2))), OptionError, "simultaneous"),
        (lambda: fit_joint(problem(0, 3), np.full((5, 3, 2), np.nan)), DataError, "missing"),
        (lambda: faces_of("octagon", 3), OptionError, "no members in 3"),
        (lambda: faces_of("interval", 2), OptionError, "no members in 2"),
        (lambda: faces_of("polytope", 2, 2), OptionError, "more than 2 faces"),
        (lambda: faces_of("circle", 2), OptionError, "no family of shapes named 'circle'"),
        (lambda: region_rows(Ellipsoid(np.zeros(2), np.eye(2)), "box", around=np.full(2, 3.0), spread=np.ones(2)),
         ZoneError, "not inside.*use the ball"),
        (lambda: region_rows(Ellipsoid(np.zeros(2), np.eye(2)), "polytope", faces=3, around=np.array([-0.9, 0.0]),
                             spread=np.ones(2)), ZoneError, "cannot hold the estimate"),
        (lambda: region_rows(interval(0.0, 1.0), "interval", around=np.array([0.5]), spread=np.zeros(1)),
         OptionError, "spread"),
        (lambda: saturated(_none, [3, 4]), ZoneError, "none of the numbers"),
        (lambda: saturated(_none, [3], gain=-1.0), OptionError, "gain"),
    ],
)  # fmt: skip
def test_refused(make: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()  # type: ignore[operator]


def _none(count: int) -> object:
    raise ZoneError(f"no zones with {count}")


def test_an_anchor_that_only_a_wrong_zone_could_hold() -> None:
    """Anchors may be far outside the region as long as their mean is inside; the zones follow them."""
    task = ZoneProblem(
        Box(-np.ones(2), np.ones(2)).half_spaces(), [ONE, ONE], anchors=np.array([[9.0, 9.0], [-9.0, -9.0]])
    )
    from tacit.fitting import fit_dual

    fit = fit_dual(task)
    assert all(zone.contains(anchor[None])[0] for zone, anchor in zip(fit.zones, task.anchors, strict=True))
