"""How many faces or vertices are enough: more of them until that gains next to nothing, as in the seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from tacit.fitting.problem import ZoneFit
from tacit.vocabulary import OptionError, ZoneError

__all__ = ["saturated"]

Fit = TypeVar("Fit", bound=ZoneFit)
GAIN = 1e-3


def saturated(fit: Callable[[int], Fit], counts: Iterable[int], *, gain: float = GAIN) -> tuple[int, Fit]:
    """The first of the rising counts after which the probability of silence grows by less than ``gain``, and its fit.

    A count with which there are no zones (too few vertices to hold an anchor, say) is passed over; ZoneError when
    that is so for all of them.
    """
    if not np.isfinite(gain) or gain < 0.0:
        raise OptionError(f"the gain that is too small must be a number of at least 0, not {gain}")
    best: tuple[int, Fit] | None = None
    for count in counts:
        try:
            found = fit(count)
        except ZoneError:
            continue
        if best is not None and found.objective - best[1].objective < np.log1p(gain):
            return best
        best = (count, found)
    if best is None:
        raise ZoneError("none of the numbers of faces or vertices gave zones; use the ball")
    return best
