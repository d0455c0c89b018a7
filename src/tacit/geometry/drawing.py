"""Outlines of shapes in the plane and in space, and zones over each site's data. The only user of matplotlib here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from tacit.geometry.boxes import Box
from tacit.geometry.ellipsoids import Ellipsoid
from tacit.geometry.half_spaces import HalfSpaces
from tacit.geometry.polytopes import Polytope
from tacit.geometry.shapes import Shape
from tacit.vocabulary import FloatArray, OptionError

__all__ = ["draw", "outline", "zones_figure"]

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
ROUND = 200  # points of a curved outline
DOTS = 4_000  # of each site, at most


def outline(shape: Shape, window: Box) -> FloatArray:
    """The corners of a shape of the plane, around and back to the first; what is without end ends at the window.

    >>> square = HalfSpaces(np.array([[1.0, 0.0]]), np.array([0.5]))
    >>> outline(square, Box(np.zeros(2), np.ones(2))).max(axis=0).round(6).tolist()
    [0.5, 1.0]
    """
    if isinstance(shape, Ellipsoid):
        angles = np.linspace(0.0, 2 * np.pi, ROUND)
        circle = np.stack([np.cos(angles), np.sin(angles)])
        return shape.centre + np.linalg.solve(shape.factor, circle).T
    corners = _polytope(shape, window).vertices
    return np.vstack([corners, corners[:1]])


def draw(
    axes: Any, shape: Shape, window: Box, *, colour: str = BLUE, style: str = "-", label: str | None = None
) -> None:
    """The outline of a shape on axes of the plane, or its faces on axes of space."""
    if shape.dimension == 2:
        around = outline(shape, window)
        axes.plot(around[:, 0], around[:, 1], color=colour, linestyle=style, linewidth=1.6, label=label)
    elif shape.dimension == 3:
        found = _ball(shape) if isinstance(shape, Ellipsoid) else _polytope(shape, window)
        faces = Poly3DCollection(
            [found.vertices[each] for each in found.facets],
            facecolor=colour, edgecolor=colour if style == "-" else "none", alpha=0.15, linewidth=0.4, label=label,
        )  # fmt: skip
        axes.add_collection3d(faces)
    else:
        raise OptionError(f"shapes are drawn in 2 and 3 dimensions, not in {shape.dimension}")


def zones_figure(
    samples: Sequence[FloatArray], zones: Sequence[Shape], region: Shape, names: Sequence[str], labels: Sequence[str]
) -> Figure:
    """The seed's Figure 4: one panel for each site, its data under its zone, and the region of the mean, dashed."""
    columns = min(4, len(samples))
    rows = -(-len(samples) // columns)
    figure = Figure(figsize=(3.6 * columns, 3.4 * rows), layout="constrained")
    window = _window(samples, region)
    space = region.dimension == 3
    for k, (points, zone, name) in enumerate(zip(samples, zones, names, strict=True)):
        axes: Any = figure.add_subplot(rows, columns, k + 1, projection="3d" if space else None)
        shown = points[:: max(1, -(-len(points) // DOTS))]
        axes.scatter(*shown.T, s=2, color=GREY, alpha=0.35, linewidths=0)
        draw(axes, region, window, colour=ORANGE, style="--", label="region of the mean")
        draw(axes, zone, window, colour=BLUE, label="zone")
        axes.set_title(f"{name}: {zone.contains(points).mean():.2%} inside", fontsize=9)
        for side, (label, low, high) in zip("xyz", zip(labels, window.low, window.high, strict=True), strict=False):
            axes.set(**{f"{side}label": label, f"{side}lim": (low, high)})
        axes.tick_params(labelsize=7)
        if k == 0:
            axes.legend(fontsize=7, frameon=False)
    return figure


def _window(samples: Sequence[FloatArray], region: Shape) -> Box:
    """All data but the farthest thousandth, and the region where it ends."""
    points = np.concatenate(list(samples))
    low, high = np.quantile(points, 0.0005, axis=0), np.quantile(points, 0.9995, axis=0)
    sides = np.eye(region.dimension)
    ends = np.stack([-region.support(-sides), region.support(sides)])
    room = (high - low) * 2
    low = np.minimum(low, np.where(np.isfinite(ends[0]), np.maximum(ends[0], low - room), low))
    high = np.maximum(high, np.where(np.isfinite(ends[1]), np.minimum(ends[1], high + room), high))
    pad = 0.05 * np.where(high > low, high - low, 1.0)
    return Box(low - pad, high + pad)


def _polytope(shape: Shape, window: Box) -> Polytope:
    if isinstance(shape, Polytope):
        return shape
    if isinstance(shape, Box):
        return shape.polytope()
    if isinstance(shape, HalfSpaces):
        if shape.is_bounded():
            return shape.polytope()
        ends = window.half_spaces()
        return HalfSpaces(
            np.vstack([shape.normals, ends.normals]), np.concatenate([shape.limits, ends.limits])
        ).polytope()
    raise OptionError(f"a {type(shape).__name__} has no outline")


def _ball(shape: Ellipsoid) -> Polytope:
    steps = np.arange(ROUND) + 0.5
    height = 1 - 2 * steps / ROUND
    angle = np.pi * (1 + 5**0.5) * steps
    ring = np.sqrt(1 - height**2)
    return shape.inscribed(np.stack([ring * np.cos(angle), ring * np.sin(angle), height], axis=1))
