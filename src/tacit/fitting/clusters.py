"""Many sites by a tree: alike sites together, zones from the top down, many small problems instead of a large one.

Where a zone lies costs nothing (a zone may move with its site's mean, if the moves cancel), so sites are alike when
their distributions have the same shape: the distance is that of their central moments, each as a length. From the top,
a cluster's zone is shared out among its parts: the parts' Minkowski average, *weighted by the weight of the sites under
each*, must be inside the cluster's zone. (Unweighted, as the seed reads, is unsound: C = [-1, 1], S_1 = [-0.5, 0.5] and
a zone [-1.5, 1.5] for sites 2 and 3 average to the whole of C, but the mean of the three can be 1.17.) Whatever the
tree says, the zones of all sites together are proved at the end against the region itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from tacit.fitting.general import fit_general
from tacit.fitting.likelihood import Likelihood
from tacit.fitting.mixtures import Mixture
from tacit.fitting.problem import ZoneFit, ZoneProblem
from tacit.fitting.repair import finished
from tacit.geometry import HalfSpaces
from tacit.vocabulary import FloatArray, IntArray, OptionError

__all__ = ["fit_clustered", "moment_vectors"]

Solver = Callable[[ZoneProblem], ZoneFit]
ROUGH = partial(fit_general, tolerance=1e-4)  # a part's share need not be righter than the tree is
THIRD = 0.5  # third moments count half: they are the less certain ones


def moment_vectors(mixtures: Sequence[Mixture]) -> FloatArray:
    """Central moments as lengths: the root of the covariance matrix, and cube roots of the third moments by axis.

    >>> moment_vectors([Mixture.normal(np.ones(1), 4 * np.eye(1))]).tolist()
    [[2.0, 0.0]]
    """
    found = []
    for each in mixtures:
        values, axes = np.linalg.eigh(each.covariance())
        root = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
        corner = np.triu_indices(each.dimension)
        double = np.where(corner[0] == corner[1], 1.0, np.sqrt(2.0))  # entries that stand in the matrix twice
        offset = each.means - each.mean()
        within = np.einsum("kii->ki", each.covariances)
        third = each.weights @ (offset**3 + 3 * offset * within)
        found.append(np.concatenate([root[corner] * double, THIRD * np.cbrt(third)]))
    return np.array(found)


def fit_clustered(problem: ZoneProblem, *, fan: int = 10, alike: float = 0.1, solver: Solver = ROUGH) -> ZoneFit:
    """Zones by a tree of clusters with at most ``fan`` parts each.

    A cluster whose sites differ by less than ``alike`` of their size shares one shape, moved to each site's mean and
    stretched, row by row, to its spread.
    """
    if fan < 2:
        raise OptionError(f"a cluster is cut into at least 2 parts, not {fan}")
    moments = moment_vectors(problem.mixtures)
    limits = np.empty((len(problem.mixtures), len(problem.region.limits)))
    tree = _Tree(problem, moments, fan, alike, solver, limits)
    tree.share_out(np.arange(len(problem.mixtures)), problem.region.limits)
    return finished(problem, limits, Likelihood.of(problem.mixtures, problem.region.normals), steps=tree.steps)


class _Tree:
    """The descent: who is in a cluster, and which limits it has."""

    def __init__(
        self, problem: ZoneProblem, moments: FloatArray, fan: int, alike: float, solver: Solver, limits: FloatArray
    ) -> None:
        self.problem, self.moments, self.fan, self.alike, self.solver = problem, moments, fan, alike, solver
        self.limits, self.steps = limits, 0
        self.means = np.array([each.mean() for each in problem.mixtures])
        self.spreads = problem.spreads()

    def share_out(self, members: IntArray, limits: FloatArray) -> None:
        """Give every member its limits, from those of the cluster."""
        if len(members) == 1:
            self.limits[members[0]] = limits
            return
        if self._uniform(members) and self._same_shape(members, limits):
            return
        parts = self._cut(members)
        fit = self.solver(self._problem(parts, limits))
        self.steps += fit.steps
        for part, zone in zip(parts, fit.zones, strict=True):
            self.share_out(part, zone.limits)

    def _cut(self, members: IntArray) -> list[IntArray]:
        if len(members) <= self.fan:
            return [members[k : k + 1] for k in range(len(members))]
        joined = linkage(self.moments[members], method="ward")
        label = fcluster(joined, self.fan, criterion="maxclust")
        parts = [members[label == each] for each in np.unique(label)]
        if len(parts) > 1:
            return parts
        return [each for each in np.array_split(members, self.fan) if len(each)]  # all of them alike

    def _uniform(self, members: IntArray) -> bool:
        found = self.moments[members]
        middle = found.mean(axis=0)
        apart = float(np.linalg.norm(found - middle, axis=1).max())
        return apart <= self.alike * float(np.linalg.norm(middle))

    def _same_shape(self, members: IntArray, limits: FloatArray) -> bool:
        """One shape, moved to each mean and stretched to each spread; False where an anchor would be outside."""
        shares = self.problem.shares[members] / self.problem.shares[members].sum()
        rows = self.means[members] @ self.problem.region.normals.T
        spreads = self.spreads[members]
        made = rows + (limits - shares @ rows) / (shares @ spreads) * spreads
        floors = self.problem.floors()
        if floors is not None and (made < floors[members]).any():
            return False
        self.limits[members] = made
        return True

    def _problem(self, parts: list[IntArray], limits: FloatArray) -> ZoneProblem:
        weights, anchors = self.problem.weights, self.problem.anchors
        assert weights is not None
        assert self.problem.counts is not None
        return ZoneProblem(
            HalfSpaces(self.problem.region.normals, limits),
            [self._pooled(part) for part in parts],
            np.array([weights[part].sum() for part in parts]),
            None if anchors is None else np.array([weights[p] @ anchors[p] / weights[p].sum() for p in parts]),
            np.array([self.problem.counts[part].sum() for part in parts]),
        )

    def _pooled(self, part: IntArray) -> Mixture:
        """What a member looks like: all members' parts, around the cluster's mean."""
        mixtures = [self.problem.mixtures[i] for i in part]
        if len(mixtures) == 1:
            first: Mixture = mixtures[0]
            return first
        shares = self.problem.shares[part] / self.problem.shares[part].sum()
        centre = shares @ self.means[part]
        moved = [each.means - self.means[i] + centre for i, each in zip(part, mixtures, strict=True)]
        return Mixture(
            np.concatenate([each.weights for each in mixtures]),
            np.concatenate(moved),
            np.concatenate([each.covariances for each in mixtures]),
        )
