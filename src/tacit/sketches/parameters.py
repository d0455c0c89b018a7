"""How large a sketch must be for what is asked of it: the split of the seed's Theorems 1 to 3 that needs least space.

A point query on an ECM-sketch errs by at most epsilon ||a||_1 when its Count-Min has epsilon / (1 + epsilon) and its
window counters have epsilon; an inner product by at most epsilon ||a||_1 ||b||_1 when they have
epsilon / (1 + epsilon) and sqrt(1 + epsilon) - 1. Counters that will be merged over h levels start with an error from
which (1 + error)^(h + 1) - 1 is what they may have in the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from tacit.vocabulary import OptionError

__all__ = ["LEAST", "Counter", "Query", "Shape", "merged_error", "split", "unmerged_error"]

Counter = Literal["histogram", "wave", "random_wave"]
Query = Literal["point", "inner_product"]

LEAST = 1e-9
"""The least error and the least probability of a sketch with a sliding window."""
_LEAST_SHARE = 1e-100


@dataclass(frozen=True, slots=True)
class Shape:
    """The errors and failure probabilities of both parts, and the rows and cells that follow."""

    epsilon_cells: float
    epsilon_window: float
    delta_cells: float
    delta_window: float

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, (np.integer, np.floating)):  # their bytes are those of floats, so they are floats
                object.__setattr__(self, each.name, float(value))

    @property
    def depth(self) -> int:
        """Rows of the Count-Min array."""
        return max(1, math.ceil(math.log(1 / self.delta_cells)))

    @property
    def width(self) -> int:
        """Cells of each row."""
        return math.ceil(math.e / self.epsilon_cells)


def split(
    epsilon: float, delta: float, *, query: Query = "point", counter: Counter = "histogram", levels: int = 0
) -> Shape:
    """The smallest sketch with which the query errs by at most epsilon, except with probability delta.

    ``levels`` is how many times one above the other sketches will be merged.

    >>> shape = split(0.1, 0.1)
    >>> shape.depth, shape.width, shape.epsilon_window
    (3, 30, 0.1)
    >>> round(split(0.1, 0.1, query="inner_product").epsilon_window, 4)
    0.0488
    >>> round(split(0.1, 0.1, levels=8).epsilon_window, 4)
    0.0106
    """
    check_share("epsilon", epsilon)
    check_share("delta", delta)
    _check_levels(levels)
    if query not in ("point", "inner_product"):
        raise OptionError(f"a sketch is made for the query point or inner_product, and {query!r} is neither")
    if counter not in ("histogram", "wave", "random_wave"):
        raise OptionError(f"a sketch counts with a histogram, a wave or a random_wave, and {counter!r} is none of them")
    if counter == "random_wave":
        if query == "inner_product":
            raise OptionError("randomized waves give no guarantee for inner products; use a histogram or a wave")
        return Shape(epsilon / (1 + epsilon), epsilon, delta / 2, delta / 2)
    window = epsilon if query == "point" else math.sqrt(1 + epsilon) - 1
    return Shape(epsilon / (1 + epsilon), unmerged_error(window, levels), delta, 0.0)


def merged_error(error: float, levels: int) -> float:
    """What the relative error of a window counter grows to when it is merged over so many levels.

    >>> merged_error(0.25, 2)
    0.953125
    """
    try:
        return (1 + error) ** (levels + 1) - 1 if levels else error
    except OverflowError:
        return math.inf


def unmerged_error(error: float, levels: int) -> float:
    """What a window counter must start with to have this relative error after so many levels of merging.

    >>> round(merged_error(unmerged_error(0.1, 8), 8), 9)
    0.1
    """
    if _check_levels(levels) == 0:
        return error
    start = math.expm1(math.log1p(error) / (levels + 1))
    steps = 0
    while merged_error(start, levels) > error:  # by the smallest steps; 1 + start may not see very many of these
        start = max(0.0, min(math.nextafter(start, 0.0), start - math.ldexp(math.ulp(start), steps // 4096 - 1)))
        steps += 1
    return start


def _check_levels(levels: int) -> int:
    if not isinstance(levels, (int, np.integer)) or levels < 0:
        raise OptionError(f"sketches are merged over 0 levels or more, not over {levels}")
    return levels


def check_share(name: str, value: float) -> None:
    """OptionError unless 0 < value < 1, and not so small that nothing can be divided by it."""
    if not isinstance(value, (int, float, np.integer, np.floating)) or not 0 < value < 1:
        raise OptionError(f"{name} of a sketch is between 0 and 1, and {value} is not")
    if value < _LEAST_SHARE:
        raise OptionError(f"{name} of a sketch is at least {_LEAST_SHARE}, and {value} is less")
