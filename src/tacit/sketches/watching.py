"""Sketches as watches use them: shapes that fold into one another, and what a cell array folds to.

The split of ``parameters.py`` needs least space, and frequent keys use it. A value that follows from all cells at once
is better served by another one: what sites send does not depend on how exact their window counters are, and every
bucket that expires moves a cell by up to that error. So such a watch gives its window counters a quarter of the error,
and nearly all of it to the cells.

Widths are powers of two. A key's cell in a row of w cells is its cell in a row of 2w cells halved (``cell_of``
multiplies), so the cells of a narrow row are sums of neighbours of a wide one, and one sketch serves every watch on the
same keys that asks for no more rows, no more cells and no longer a window.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.sketches.parameters import Query, Shape, check_share
from tacit.vocabulary import FloatArray, OptionError

__all__ = ["folded", "watch_shape"]

_SHARES: dict[Query, float] = {"point": 1.0, "inner_product": 0.25}


def watch_shape(epsilon: float, delta: float, *, query: Query = "point") -> Shape:
    """A shape with which the query errs by at most epsilon, except with probability delta.

    By the seed's Lemma 3 a point query errs by (1 + e_window) e_cells where e_window <= e_cells / (1 - e_cells), by its
    Lemma 4 an inner product by (1 + e_window)^2 e_cells where e_cells >= 1 - 1 / (1 + e_window)^2.

    >>> shape = watch_shape(0.15, 0.15, query="inner_product")
    >>> shape.depth, shape.width, round(shape.epsilon_window, 4)
    (2, 32, 0.0181)
    """
    check_share("epsilon", epsilon)
    check_share("delta", delta)
    window = _SHARES[query] * (epsilon if query == "point" else math.sqrt(1 + epsilon) - 1)
    cells = epsilon / ((1 + window) if query == "point" else (1 + window) ** 2)
    width = 1 << math.ceil(math.log2(math.e / cells))
    exact = math.e / width
    while math.ceil(math.e / exact) > width:
        exact = math.nextafter(exact, 1.0)
    return Shape(exact, window, delta, 0.0)


def folded(cells: FloatArray, depth: int, width: int) -> FloatArray:
    """The cells (depth, width) of a sketch with fewer rows and cells, from those of one on the same keys.

    >>> folded(np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]), 1, 2)
    array([[3., 7.]])
    """
    rows, wide = cells.shape
    if depth > rows or wide % width:
        raise OptionError(f"a sketch of {rows} rows by {wide} cells does not fold to {depth} by {width}")
    return np.asarray(cells[:depth].reshape(depth, width, wide // width).sum(axis=2))
