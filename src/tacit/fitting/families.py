"""Families of shapes: which half-spaces zones are made of.

Zones have the same normals as a polytope C within the admissible region. Where the region is itself a polytope with no
more faces than the family allows, C is the region: its own normals are the best there are. A curved region, or one with
more faces, is replaced by a member of the family inside it: what is lost is the room between the two, never safety.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from tacit.fitting.spreading import directions_of
from tacit.geometry import Box, Ellipsoid, HalfSpaces, Polytope
from tacit.geometry.shapes import as_vector
from tacit.vocabulary import BoolArray, FloatArray, OptionError, ZoneError

__all__ = ["FAMILIES", "Family", "Region", "faces_of", "region_rows"]

Family = Literal["interval", "triangle", "box", "octagon", "polytope"]
FAMILIES: tuple[Family, ...] = ("interval", "triangle", "box", "octagon", "polytope")
HALVINGS = 60
HAIR = 1e-9


def faces_of(family: Family, dimension: int, faces: int | None = None) -> int:
    """How many half-spaces the family has in that dimension; OptionError where it has no members.

    >>> faces_of("octagon", 2), faces_of("box", 3), faces_of("polytope", 3, 20)
    (8, 6, 20)
    """
    plane = {"triangle": 3, "octagon": 8}
    if family == "interval" and dimension == 1:
        return 2
    if family in plane and dimension == 2:
        return plane[family]
    if family == "box":
        return 2 * dimension
    if family == "polytope":
        if faces is None or faces <= dimension:
            raise OptionError(f"a polytope in {dimension} dimensions needs more than {dimension} faces, not {faces}")
        return faces
    if family not in FAMILIES:
        raise OptionError(f"there is no family of shapes named '{family}'; there are {', '.join(FAMILIES)}")
    raise OptionError(f"the family '{family}' has no members in {dimension} dimensions; use 'box' or 'polytope'")


class Region(Protocol):
    """What polytopes are fitted into: any convex set that knows its points."""

    @property
    def dimension(self) -> int: ...

    def contains(self, points: FloatArray) -> BoolArray: ...


def region_rows(
    region: Region, family: Family, *, around: FloatArray, spread: FloatArray, faces: int | None = None
) -> HalfSpaces:
    """A polytope C of the family inside the region, around a point (the estimate), as wide as the data's spread says.

    ZoneError when the point is not in the region, or the member of the family around it has no room.

    >>> disk = Ellipsoid(np.zeros(2), np.eye(2))
    >>> region_rows(disk, "octagon", around=np.zeros(2), spread=np.ones(2)).limits.round(3).tolist()[:2]
    [0.924, 0.924]
    """
    dimension = region.dimension
    count = faces_of(family, dimension, faces)
    at = as_vector(around, dimension, "the point")
    width = as_vector(spread, dimension, "the spread")
    if not (width > 0.0).all():
        raise OptionError("the spread must be above 0 in every dimension")
    if not region.contains(at[None])[0]:
        raise ZoneError("the estimate is not inside the admissible region, so no zone can hold it; use the ball")
    if isinstance(region, (Box, Polytope)):
        region = region.half_spaces()
    if isinstance(region, HalfSpaces):
        rows = region.without_twins()
        axes = (np.count_nonzero(rows.normals, axis=1) == 1).all()
        if len(rows.limits) <= count and (family != "box" or axes):
            return rows
    if isinstance(region, Ellipsoid) and family in ("octagon", "polytope") and dimension > 1:
        corners = count if dimension == 2 else max(dimension + 1, (count + 4) // 2)
        return _holding(region.inscribed(directions_of(dimension, corners)).half_spaces(), at)
    normals = _normals(family, dimension, count) / width
    return _holding(_scaled(region, normals, at), at)


def _scaled(region: Region, normals: FloatArray, at: FloatArray) -> HalfSpaces:
    """The largest {N (x - at) <= t} with its corners in the region."""
    corners = HalfSpaces(normals, np.ones(len(normals))).polytope().vertices
    low, high = 0.0, 1.0
    while region.contains(at + corners * high).all():
        low, high = high, high * 2
        if high > 1e12:
            raise ZoneError("the region has no end; zones need no shape in it")
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if region.contains(at + corners * middle).all() else (low, middle)
    return HalfSpaces(normals, normals @ at + low * (1 - HAIR))


def _holding(rows: HalfSpaces, at: FloatArray) -> HalfSpaces:
    if not rows.contains(at[None])[0]:
        raise ZoneError("this family of shapes cannot hold the estimate within the region; use more faces, or the ball")
    return rows


def _normals(family: Family, dimension: int, count: int) -> FloatArray:
    if family in ("box", "interval"):
        return np.vstack([np.eye(dimension), -np.eye(dimension)])
    return directions_of(dimension, count)
