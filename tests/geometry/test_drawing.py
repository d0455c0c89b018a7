"""Outlines are the shapes' own, and matplotlib is loaded by the drawing alone."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tacit.geometry import Box, Ellipsoid, HalfSpaces, Shape
from tacit.geometry.drawing import draw, outline, zones_figure
from tacit.vocabulary import OptionError
from tests.geometry.making import bounded_rows

WINDOW = Box(np.full(2, -5.0), np.full(2, 5.0))


@pytest.mark.parametrize(
    "shape",
    [
        Box(-np.ones(2), np.ones(2)),
        Box(-np.ones(2), np.ones(2)).half_spaces(),
        bounded_rows(np.random.default_rng(2), 2, 4).polytope(),
        Ellipsoid(np.zeros(2), np.eye(2)),
        HalfSpaces(np.array([[1.0, 1.0]]), np.ones(1)),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_outlines_lie_on_the_boundary(shape: Shape) -> None:
    around = outline(shape, WINDOW)
    assert np.allclose(around[0], around[-1])
    inner = 0.999 * around + 0.001 * around.mean(axis=0)
    assert shape.contains(inner).all()
    on_edge = np.abs(shape.margins(around)) < 1e-6
    at_window = np.abs(WINDOW.margins(around)) < 1e-6
    assert (on_edge | at_window).all()


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_panel_for_each_site(dimension: int) -> None:
    rng = np.random.default_rng(1)
    samples = [rng.normal(size=(50, dimension)) for _ in range(5)]
    zones = [bounded_rows(rng, dimension, 3) for _ in samples]
    region = Ellipsoid(np.zeros(dimension), np.eye(dimension))
    figure = zones_figure(samples, zones, region, [f"site {k}" for k in range(5)], ("x", "y", "z")[:dimension])
    assert len(figure.axes) == 5
    assert figure.axes[0].get_title().startswith("site 0: ")
    figure.canvas.draw()


def test_four_dimensions_are_not_drawn() -> None:
    with pytest.raises(OptionError, match="2 and 3 dimensions"):
        draw(None, Box(np.zeros(4), np.ones(4)), Box(np.zeros(4), np.ones(4)))


def test_nobody_else_loads_matplotlib() -> None:
    code = (
        "import sys, tacit.geometry, tacit.fitting; sys.exit('matplotlib' in sys.modules or 'sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
