r"""How often a site will speak, before anything runs: the seed's performance analysis (section 5), derived in full.

**Model.** One site, a window of N independent items X_1 … X_N of the same distribution in R^d (items are rows, or panes
of a window by time). v is their mean, D the distance from the estimate e to the threshold set. The site's drift is
u = e + (v - v'), v' being the window that was collected. If |u - e| <= D, the ball B(e, u) lies in the ball of radius
D around e: its centre is |u - e| / 2 from e and so is its radius, and both together are at most D. So

    P(violation) <= P(|v - v'| > D).

We put a *certified* safe radius, never more than the true distance, in place of D: the bounds stay bounds.

Two cases. *Fresh*: v' = E v (the seed's simplified model, which says e = v' = E v). *Old*: v' is itself a window of N
other items. Then v - v' has twice the variance of v, and in every bound below N becomes N / 2, because each only uses
that the deviation is a sum of independent terms: N terms (X_i - E X)/N when fresh, 2N terms ±(X_i - E X)/N when old.

**Markov** (on the square of the norm, hence Chebyshev's): E|v - E v|^2 = sum_j Var(X_j) / N, so

    P <= sum_j Var(X_j) / (N D^2),            old: twice that.

Nothing is asked of the components: they may depend on each other.

**Hoeffding**, X_j in [a_j, b_j], r_j = b_j - a_j, R^2 = sum_j r_j^2. Two correct vector forms; we take the smaller.

- *By components.* If |v - E v| > D then |v_j - E v_j| > D r_j / R for some j, since the squares of the right sides sum
  to D^2. Hoeffding for each and the union bound: P <= 2 d exp(-2 N D^2 / R^2), where d counts the components with
  r_j > 0. (Shares in proportion to r_j make all exponents equal; D / sqrt(d) each is never better in the exponent.)
- *By the norm.* Changing one item moves |v - E v| by at most R / N, so McDiarmid's inequality gives
  P(|v - E v| >= E|v - E v| + t) <= exp(-2 N t^2 / R^2), and E|v - E v| <= s = sqrt(sum_j Var(X_j) / N) by Jensen.
  Hence, for D > s, P <= exp(-2 N (D - s)^2 / R^2): no factor 2 d, better when d is large.

The seed's own Hoeffding form lost its digits; it reads as exp(-2 (D^2 - sum_j Var(X_j) / N)^2 / d) for components in
[0, 1]. That is Hoeffding over the d squares (v_j - E v_j)^2: right only for components independent of each other and
D^2 > sum_j Var(X_j) / N, and it tends to exp(-2 D^4 / d), not to 0, as the window grows. The forms above need no
independent components and fall exponentially in N.

**How many.** A bound of 1 says nothing about how often. The number of violations per window of a drift that walks at
random has a plain estimate: Wald's identity says a walk with independent steps of mean square q leaves a ball of radius
D after D^2 / q steps on average (at least). Each item changes v by (new - old) / N, so q = 2 sum_j Var(X_j) / N^2 and N
items make 2 sum_j Var(X_j) / (N D^2) violations: Markov's bound for the old case, without the cap at 1. ``rate`` uses
it, at most one per item, unless a Hoeffding form proves that there are fewer. It is an estimate; the bounds are not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tacit.vocabulary.arrays import FloatArray

__all__ = [
    "balanced_messages",
    "broadcast_messages",
    "collected_messages",
    "hoeffding",
    "markov",
    "rate",
    "together_messages",
]


def markov(variance: ArrayLike, items: ArrayLike, distance: ArrayLike, *, old: bool = True) -> FloatArray:
    """P(violation) per site and window <= sum of variances / (N D^2), doubled for an old window; at most 1.

    ``variance`` has the components last; the other arguments broadcast against the rest.

    >>> float(markov([0.5, 0.5], 100, 0.5, old=False))
    0.04
    >>> float(markov([0.5, 0.5], 100, 0.5))
    0.08
    """
    return np.minimum(1.0, _exits(variance, _count(items, old), distance))


def hoeffding(
    variance: ArrayLike, spread: ArrayLike, items: ArrayLike, distance: ArrayLike, *, old: bool = True
) -> FloatArray:
    """P(violation) per site and window for bounded components, ``spread`` = b - a: the smaller vector form; at most 1.

    >>> bool(hoeffding([0.25], [1.0], 1000, 0.1, old=False) < 1e-7)
    True
    >>> float(hoeffding([0.25], [1.0], 10, 0.1))
    1.0
    """
    n, d = _count(items, old), np.asarray(distance, dtype=np.float64)
    ranges = np.asarray(spread, dtype=np.float64)
    square = (ranges**2).sum(axis=-1)
    moving = np.count_nonzero(ranges, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        by_components = 2.0 * moving * np.exp(-2.0 * n * d * d / square)
        beyond = np.maximum(0.0, d - np.sqrt(np.asarray(variance, dtype=np.float64).sum(axis=-1) / n))
        by_norm = np.exp(-2.0 * n * beyond * beyond / square)
    bound = np.where(square > 0.0, np.minimum(by_components, by_norm), 0.0)
    return np.where(d > 0.0, np.minimum(1.0, bound), 1.0)


def rate(
    variance: ArrayLike, items: ArrayLike, distance: ArrayLike, spread: ArrayLike | None = None, *, old: bool = True
) -> FloatArray:
    """Estimated violations per site and window: Wald's walk, at most one per item, less where Hoeffding proves it.

    >>> round(float(rate([1.0], 100, 0.1)), 9)
    2.0
    >>> float(rate([1.0], 100, 0.0))
    100.0
    """
    walk = np.minimum(_exits(variance, _count(items, old), distance), np.asarray(items, dtype=np.float64))
    if spread is None:
        return walk
    proved = hoeffding(variance, spread, items, distance, old=old)
    return np.where(proved < 1.0, np.minimum(walk, proved), walk)


def balanced_messages(violations: float) -> float:
    """The coordinator's cost when each violation is balanced with one more site: report, request, reply, two slacks.

    >>> balanced_messages(10)
    50.0
    """
    return 5.0 * violations


def together_messages(violations: float) -> float:
    """The coordinator's cost when the sites that violate at one step balance among themselves: report and slack each.

    >>> together_messages(10)
    20.0
    """
    return 2.0 * violations


def collected_messages(violations: float, sites: int) -> float:
    """The coordinator's cost when nobody balances: report, everyone else asked and answering, a new estimate for all.

    >>> collected_messages(1, sites=12)
    35.0
    """
    return violations * (3.0 * sites - 1.0)


def broadcast_messages(violations: float, sites: int) -> float:
    """The decentralised protocol's cost: each violation is told to every other site.

    >>> broadcast_messages(2, sites=12)
    22.0
    """
    return violations * (sites - 1.0)


def _count(items: ArrayLike, old: bool) -> FloatArray:
    return np.asarray(items, dtype=np.float64) * (0.5 if old else 1.0)


def _exits(variance: ArrayLike, n: FloatArray, distance: ArrayLike) -> FloatArray:
    total = np.asarray(variance, dtype=np.float64).sum(axis=-1)
    square = np.asarray(distance, dtype=np.float64) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        exits = total / (n * square)
    return np.where(total > 0.0, exits, 0.0)
