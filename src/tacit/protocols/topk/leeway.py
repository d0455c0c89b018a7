"""How leeway is shared out (seed 002, section 3.2 and 4.3): Algorithm 3.1, and the policies for its parameters.

The leeway of an object is what its score, summed over the nodes that take part, has above the sum of their borders.
Each node gets a part of it. An object inside must get at least what any object outside gets, at every node: all parts
are therefore made from those of the member with the least leeway, from which members differ upwards and others
downwards.

Scores that are whole numbers change by whole numbers, and a fraction of leeway is of no use to anyone. So parts are
rounded down, and the coordinator keeps the rest, from which it can help whoever is short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.vocabulary import BoolArray, FloatArray, OptionError

__all__ = ["SHARES", "Policy", "parts"]

SHARES = ("auto", "even", "proportional")
_SMALL = 1e-3  # of the largest score: below it epsilon counts as small
_RESERVE, _RESERVE_LARGE = 0.5, 0.25  # what the coordinator keeps of the leeway then, and else


@dataclass(frozen=True, slots=True)
class Policy:
    """What the coordinator keeps of each leeway (``reserve``, the seed's F_0), and how sites share the rest.

    Left open, a small epsilon means half of it and shares in proportion to updates, a large one a quarter and even
    shares. The seed keeps nothing with a large epsilon, which is best where nobody then needs to speak at all; a
    quarter costs a twentieth there, and saves up to two fifths where scores move a lot (docs/BENCHMARKS.md).
    """

    reserve: float | None = None
    shares: str = "auto"

    def checked(self) -> Policy:
        """The same policy; OptionError for one that there is not."""
        if self.shares not in SHARES:
            raise OptionError(f"there are no shares named '{self.shares}'; choose {', '.join(SHARES)}")
        if self.reserve is not None and not 0.0 <= self.reserve <= 1.0:
            raise OptionError(f"the coordinator's reserve is {self.reserve:g}, but must be from 0 to 1")
        return self

    def kept(self, epsilon: float, largest: float) -> float:
        """What the coordinator keeps of one unit of leeway, when all share or when it settles with one site alone."""
        if self.reserve is not None:
            return self.reserve
        return _RESERVE if _is_small(epsilon, largest) else _RESERVE_LARGE

    def fractions(self, epsilon: float, largest: float, rates: FloatArray) -> tuple[float, FloatArray]:
        """What the coordinator and the sites get of one unit of leeway, together 1.

        >>> Policy().fractions(0.0, 100.0, np.array([3.0, 1.0]))
        (0.5, array([0.375, 0.125]))
        >>> Policy().fractions(10.0, 100.0, np.array([3.0, 1.0]))
        (0.25, array([0.375, 0.375]))
        """
        small, reserve = _is_small(epsilon, largest), self.kept(epsilon, largest)
        even = self.shares == "even" or (self.shares == "auto" and not small)
        weights = np.ones(len(rates)) if even or not rates.sum() > 0 else rates
        return reserve, (1.0 - reserve) * weights / weights.sum()


def _is_small(epsilon: float, largest: float) -> bool:
    return epsilon < _SMALL * largest or epsilon == 0.0


def parts(leeway: FloatArray, member: BoolArray, fractions: FloatArray, quantum: float) -> FloatArray:
    """What each object gets of its leeway at each site, (objects, sites); the rest is the coordinator's.

    With the least leeway of a member called m: at every site, and at the coordinator, every member gets at least as
    much as the one with m, and every other object at most as much, provided that no other object has more than m.

    >>> parts(np.array([7.0, 4.0, -2.0]), np.array([True, True, False]), np.array([0.25, 0.25]), 1.0)
    array([[1., 1.],
           [1., 1.],
           [0., 0.]])
    """
    least = leeway[member].min()
    base = _down(fractions * least, quantum) if least >= 0 else fractions * least
    more = leeway - least
    share = _down(np.abs(more)[:, None] * fractions, quantum)
    return np.asarray(base + np.where(more < 0, -1.0, 1.0)[:, None] * share)


def _down(amount: FloatArray, quantum: float) -> FloatArray:
    return np.asarray(np.floor(amount / quantum) * quantum) if quantum else amount
