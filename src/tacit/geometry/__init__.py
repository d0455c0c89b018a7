"""Convex shapes: containment that errs on the safe side, margins, averages of zones, pictures."""

from tacit.geometry.boxes import Box, interval
from tacit.geometry.ellipsoids import Ellipsoid
from tacit.geometry.half_spaces import HalfSpaces
from tacit.geometry.minkowski import average_of_rows, average_of_vertices, fits, rows_fit, vertices_fit
from tacit.geometry.polytopes import Polygon, Polytope
from tacit.geometry.serial import shape_of
from tacit.geometry.shapes import Shape

__all__ = [
    "Box",
    "Ellipsoid",
    "HalfSpaces",
    "Polygon",
    "Polytope",
    "Shape",
    "average_of_rows",
    "average_of_vertices",
    "fits",
    "interval",
    "rows_fit",
    "shape_of",
    "vertices_fit",
]
