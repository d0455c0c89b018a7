"""Shapes from their arrays: the way back from ``to_arrays``."""

from __future__ import annotations

from collections.abc import Mapping

from tacit.geometry.boxes import Box
from tacit.geometry.ellipsoids import Ellipsoid
from tacit.geometry.half_spaces import HalfSpaces
from tacit.geometry.polytopes import Polygon, Polytope
from tacit.geometry.shapes import Shape, as_matrix
from tacit.vocabulary import FloatArray, OptionError

__all__ = ["shape_of"]


def shape_of(arrays: Mapping[str, FloatArray]) -> Shape:
    """The shape whose ``to_arrays`` gave these arrays.

    >>> import numpy as np
    >>> shape_of({"low": np.zeros(2), "high": np.ones(2)}).dimension
    2
    """
    match sorted(arrays):
        case ["limits", "normals"]:
            return HalfSpaces(arrays["normals"], arrays["limits"])
        case ["high", "low"]:
            return Box(arrays["low"], arrays["high"])
        case ["centre", "factor"]:
            return Ellipsoid(arrays["centre"], arrays["factor"])
        case ["vertices"]:
            vertices = as_matrix(arrays["vertices"], "the vertices")
            return Polygon(vertices) if vertices.shape[1] == 2 else Polytope(vertices)
        case names:
            raise OptionError(f"no shape is made of the arrays {', '.join(names) or '(none)'}")
