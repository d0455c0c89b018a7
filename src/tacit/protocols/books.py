"""What is remembered of every site: the vector last collected from it, its weight then, and its slack.

Two forms of the same algebra (ALGORITHMS.md, section 1):

- *sums*: the global vector is the total of the sites' sums. Every site has weight 1, and the drift is
  u_i = e + n D_i with n sites, so that the mean of the u_i is the total.
- *weighted*: the global vector is the total of the sums divided by the total of the weights (means, weighted by a
  shared count that varies), and u_i = e + D_i / w_i.

In both, D_i = m_i - (m'_i - slack_i) - (w_i - w'_i) e is the *drift mass*, m the sums; the middle term is 0 with fixed
weights.
Convexity: the sum of all D_i plus the collected state is the global vector, whenever the slacks sum to 0.

With ``template`` (GROUP BY EACH) group 0 stands for every group that has no number yet: a new group begins as a copy of
it, and in what a site says of all its groups those that are left out are like it. Without, they are those of no rows.
"""

from __future__ import annotations

import numpy as np

from tacit.functions.no_rows import NOTHING
from tacit.protocols.messages import Rows
from tacit.vocabulary import BoolArray, FloatArray, IntArray, ProtocolError

__all__ = ["Books", "estimate_of", "spelled_out"]

_NO_WEIGHTS = np.empty(0)


def estimate_of(sums: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The estimate e from sums (n, k, d) and, where weights vary, weights (n, k); nan where no site has weight.

    The sites are added in their order, whatever the shape of the arrays: in the decentralised protocol every process
    computes e for itself, and all must get the same bits, or they could see e on different sides of a threshold.

    >>> estimate_of(np.array([[[1.0]], [[2.0]]]), np.array([[1.0], [3.0]]))
    array([[0.75]])
    """
    total: FloatArray = np.cumsum(sums, axis=0)[-1]
    if weights is None:
        return total
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / np.cumsum(weights, axis=0)[-1][:, None])


def spelled_out(rows: Rows, groups: IntArray) -> Rows:
    """The rows, and that of group 0, which is the first of them, for these further groups too."""
    many = len(groups)
    weights = np.append(rows.weights, np.repeat(rows.weights[:1], many))
    sums = np.concatenate([rows.sums, np.repeat(rows.sums[:1], many, axis=0)])
    return Rows(np.concatenate([rows.groups, groups]), sums, weights)


class Books:
    """Collected vectors, weights and slacks of n sites and G groups, as arrays."""

    def __init__(
        self, sites: int, groups: int, dimension: int, *, weighted: bool = False, template: bool = False
    ) -> None:
        self.weighted, self.template = weighted, template
        self.collected: FloatArray = np.full((sites, groups, dimension), NOTHING)
        self.weights: FloatArray = np.zeros((sites, groups)) if weighted else np.ones((sites, groups))
        self.slack: FloatArray = np.zeros((sites, groups, dimension))
        self.roster: BoolArray = np.ones(sites, dtype=np.bool_)

    @property
    def spread(self) -> float:
        """What a drift mass per unit of weight is multiplied by: n with sums, 1 with varying weights."""
        return 1.0 if self.weighted else float(np.count_nonzero(self.roster))

    def estimates(self, groups: IntArray) -> FloatArray:
        """The estimate e of these groups from what was collected; nan where no site has weight."""
        sums = self.collected[self.roster][:, groups]
        return estimate_of(sums, self.weights[self.roster][:, groups] if self.weighted else None)

    def check(self, rows: Rows, *, may_be_empty: bool = False) -> None:
        """Refuse rows that do not fit this watch: they come from another one, or from a broken process."""
        groups, (_, count, dimension) = rows.groups, self.collected.shape
        if not len(groups) and may_be_empty:
            return
        in_order = len(groups) == 1 or not (groups[1:] <= groups[:-1]).any()
        if not len(groups) or (groups[0] < 0 or groups[-1] >= count or not in_order):
            raise ProtocolError(f"a message names groups that a watch of {count} groups does not have in this order")
        if rows.sums.shape != (len(groups), dimension) or len(rows.weights) != (len(groups) if self.weighted else 0):
            raise ProtocolError(f"a message holds rows that a watch of {dimension} statistics cannot have")
        if not np.isfinite(rows.sums).all() or (self.weighted and not np.isfinite(rows.weights).all()):
            raise ProtocolError("a message holds statistics that are not finite")

    def drift_mass(self, site: int, rows: Rows, estimates: FloatArray) -> FloatArray:
        """D of one site for the groups of ``rows``, whose estimates are given; rounded as kernels round it."""
        mass: FloatArray = rows.sums - (self.collected[site, rows.groups] - self.slack[site, rows.groups])
        if self.weighted:
            change = rows.weights - self.weights[site, rows.groups]
            mass = mass - change[:, None] * np.nan_to_num(estimates)
        return mass

    def collect(self, site: int, rows: Rows) -> None:
        """Remember these rows as the last collected from the site; its slack for them becomes 0."""
        if not len(rows.groups):
            return
        self.collected[site, rows.groups] = rows.sums
        if self.weighted:
            self.weights[site, rows.groups] = rows.weights
        self.slack[site, rows.groups] = 0.0

    def rows_of(self, site: int) -> Rows:
        """What was collected from a site, all groups."""
        groups = np.arange(self.collected.shape[1])
        weights = self.weights[site].copy() if self.weighted else _NO_WEIGHTS
        return Rows(groups, self.collected[site].copy(), weights)

    def collect_all(self, site: int, rows: Rows) -> None:
        """Remember these rows as all that the site holds: what it left out is 0, or like group 0."""
        if self.template and (not len(rows.groups) or rows.groups[0] != 0):
            raise ProtocolError(f"site {site} left out the group that stands for all others")
        self.collected[site] = rows.sums[0] if self.template else NOTHING
        self.slack[site] = 0.0
        if self.weighted:
            self.weights[site] = rows.weights[0] if self.template else 0.0
        self.collect(site, rows)

    def grow_groups(self, groups: int) -> None:
        """Make room for groups up to this number; nobody holds anything of the new ones, but what all groups have."""
        sites, known, dimension = self.collected.shape
        if (more := groups - known) <= 0:
            return
        if self.template and known:
            collected, slack, weights = (
                np.repeat(table[:, :1], more, axis=1) for table in (self.collected, self.slack, self.weights)
            )
        else:
            collected, slack = np.full((sites, more, dimension), NOTHING), np.zeros((sites, more, dimension))
            weights = np.zeros((sites, more)) if self.weighted else np.ones((sites, more))
        self.collected = np.concatenate([self.collected, collected], axis=1)
        self.slack = np.concatenate([self.slack, slack], axis=1)
        self.weights = np.concatenate([self.weights, weights], axis=1)

    def copy_template(self, site: int, groups: IntArray) -> None:
        """What is known of group 0 at a site is known of these."""
        self.collected[site, groups] = self.collected[site, 0]
        self.weights[site, groups] = self.weights[site, 0]
        self.slack[site, groups] = self.slack[site, 0]

    def grow(self, sites: int) -> None:
        """Make room for sites up to this number; new ones are not on the roster yet."""
        more = sites - len(self.roster)
        if more <= 0:
            return
        self.collected = np.concatenate([self.collected, np.full((more, *self.collected.shape[1:]), NOTHING)])
        fresh = np.zeros if self.weighted else np.ones
        self.weights = np.concatenate([self.weights, fresh((more, self.weights.shape[1]))])
        self.slack = np.concatenate([self.slack, np.zeros((more, *self.slack.shape[1:]))])
        self.roster = np.concatenate([self.roster, np.zeros(more, dtype=np.bool_)])
