"""Polytopes as the hulls of their vertices (V-representation), and polygons, those of the plane."""

from __future__ import annotations

import numpy as np

from tacit.geometry import conversions
from tacit.geometry.half_spaces import HalfSpaces
from tacit.geometry.shapes import as_matrix, as_points
from tacit.vocabulary import BoolArray, FloatArray, IntArray, OptionError

__all__ = ["Polygon", "Polytope"]


class Polytope:
    """The hull of points with an inside; points that are no corners are dropped.

    Tests are made with half-spaces that lie within the hull, rounding included (`conversions.facet_rows`): they shave
    off at most a few units in the last place of the largest vertex.

    >>> triangle = Polytope(np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [1.0, 1.0]]))
    >>> len(triangle.vertices), triangle.contains(np.array([[1.0, 1.0], [3.0, 2.0]])).tolist()
    (3, [True, False])
    >>> triangle.margins(np.array([[1.0, 1.0]])).round(6).tolist()
    [1.0]
    """

    def __init__(self, vertices: FloatArray) -> None:
        corners, normals, facets = conversions.hull(as_matrix(vertices, "the vertices"))
        self.vertices: FloatArray = corners  # (v, d), in the plane counter-clockwise
        self.facets: IntArray = facets  # (f, d): the corners of each facet; larger facets are cut into simplices
        self.facet_normals: FloatArray = normals  # (f, d), outward, of length 1
        self._inner: HalfSpaces | None = None

    @property
    def dimension(self) -> int:
        return int(self.vertices.shape[1])

    def half_spaces(self, side: conversions.Side = "inner") -> HalfSpaces:
        """Half-spaces whose intersection lies inside the hull (``inner``) or holds it (``outer``)."""
        if side == "outer":
            return HalfSpaces(*conversions.facet_rows(self.vertices, self.facet_normals, self.facets, side))
        if self._inner is None:
            self._inner = HalfSpaces(*conversions.facet_rows(self.vertices, self.facet_normals, self.facets, side))
        return self._inner

    def contains(self, points: FloatArray) -> BoolArray:
        return self.half_spaces().contains(points)

    def margins(self, points: FloatArray) -> FloatArray:
        return self.half_spaces().margins(points)

    def support(self, directions: FloatArray) -> FloatArray:
        return np.asarray((as_points(directions, self.dimension) @ self.vertices.T).max(axis=1))

    def to_arrays(self) -> dict[str, FloatArray]:
        return {"vertices": self.vertices}


class Polygon(Polytope):
    """A polytope of the plane; its vertices go around counter-clockwise.

    >>> Polygon(np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])).area()
    6.0
    """

    def __init__(self, vertices: FloatArray) -> None:
        super().__init__(vertices)
        if self.dimension != 2:
            raise OptionError(f"a polygon lies in the plane, not in {self.dimension} dimensions")

    def area(self) -> float:
        x, y = (self.vertices - self.vertices[0]).T
        return float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2)
