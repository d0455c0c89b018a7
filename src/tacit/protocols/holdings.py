"""What a site holds: its vectors of panes, and of each group what the coordinator last said of it."""

from __future__ import annotations

import numpy as np

from tacit.functions.monitor import Monitor, Zones
from tacit.functions.no_rows import NOTHING
from tacit.protocols.books import Books
from tacit.protocols.held import Held
from tacit.protocols.messages import Rows
from tacit.vocabulary import BoolArray, FloatArray, IntArray

__all__ = ["Holdings"]

_NO_WEIGHTS = np.empty(0)


def _nbytes(vector: tuple[FloatArray, FloatArray]) -> int:
    return vector[0].nbytes + vector[1].nbytes


class Holdings:
    """Tables by group, which grow as groups appear. With ``template`` group 0 stands for those without a number."""

    def __init__(
        self, monitor: Monitor, groups: int, *, weighted: bool, template: bool, panes: int | None = None
    ) -> None:
        self.monitor, self.weighted, self.template = monitor, weighted, template
        self._nowhere = np.nan if weighted else NOTHING  # the estimate of a group that nobody holds anything of
        self._vectors: Held[tuple[FloatArray, FloatArray]] = Held(_nbytes, panes=panes)
        self._groups = np.arange(groups)
        self._named: BoolArray = self._groups == 0
        self._everyone: dict[int, Rows] | None = None
        self._zones: Zones
        self._books: Books
        self._told: tuple[FloatArray, FloatArray]
        self._forget_groups()

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self._groups)

    def grow_groups(self, groups: int) -> None:
        """There are groups up to this number now."""
        more = groups - len(self._groups)
        if more <= 0:
            return
        self._groups = np.arange(groups)
        self._named = np.append(self._named, np.zeros(more, dtype=np.bool_))
        self._books.grow_groups(groups)
        if self.template:
            self._zones = self.monitor.grown_alike(self._zones, groups)
        else:
            self._zones = self.monitor.grown(self._zones, groups, self._nowhere)
        if self.weighted:
            sums, weights = self._told
            nothing = np.full((more, self.monitor.dimension), np.nan)
            self._told = np.concatenate([sums, nothing]), np.concatenate([weights, nothing[:, 0]])
        if self._everyone is not None:
            self._everyone = {site: self._padded(rows) for site, rows in self._everyone.items()}
        self._keep_alike()

    def _rows(self, pane: int, groups: IntArray) -> Rows:
        sums, weights = self._vector(pane)
        return Rows(groups, sums[groups], weights[groups] if self.weighted else _NO_WEIGHTS)

    def _vector(self, pane: int) -> tuple[FloatArray, FloatArray]:
        """The sums and weights of a pane that is held; groups that came later were 0, or like group 0."""
        sums, weights = self._vectors[pane]
        if (more := len(self._groups) - len(sums)) > 0:
            rows = np.repeat(sums[:1], more, axis=0) if self.template else np.full((more, sums.shape[1]), NOTHING)
            sums = np.concatenate([sums, rows])
            if self.weighted:
                weights = np.append(weights, np.repeat(weights[:1], more) if self.template else np.zeros(more))
            self._vectors.replace(pane, (sums, weights))
        return sums, weights

    def _differs(self, pane: int) -> BoolArray:
        """The groups whose vector is not that of group 0."""
        sums, weights = self._vector(pane)
        others: BoolArray = (sums != sums[0]).any(axis=1)
        return others | (weights != weights[0]) if self.weighted else others

    def _forget_groups(self) -> None:
        """No group is known to anyone: all are 0."""
        count = len(self._groups)
        self._zones = self.monitor.grown(self.monitor.zones(0), count, self._nowhere)
        self._books = Books(1, count, self.monitor.dimension, weighted=self.weighted, template=self.template)
        self._told = self._nothing_told()

    def _keep_alike(self) -> None:
        """What came of group 0 is true of all groups without a number."""
        others = np.flatnonzero(~self._named) if self.template else self._groups[:0]
        if not len(others):
            return
        self.monitor.copy_first(self._zones, others)
        self._books.copy_template(0, others)
        for rows in () if self._everyone is None else self._everyone.values():
            rows.sums[others] = rows.sums[0]
            if self.weighted:
                rows.weights[others] = rows.weights[0]
        if self.weighted:
            self._told[0][others], self._told[1][others] = self._told[0][0], self._told[1][0]

    def _padded(self, rows: Rows) -> Rows:
        """The rows as tables of all groups; those that are not named are 0, or like group 0."""
        count = len(self._groups)
        sums = np.full((count, self.monitor.dimension), NOTHING)
        weights = np.zeros(count) if self.weighted else _NO_WEIGHTS
        if len(rows.groups):
            sums[:] = rows.sums[0] if self.template else NOTHING
            sums[rows.groups] = rows.sums
            if self.weighted:
                weights[:] = rows.weights[0] if self.template else 0.0
                weights[rows.groups] = rows.weights
        return Rows(self._groups, sums, weights)

    def _nothing_told(self) -> tuple[FloatArray, FloatArray]:
        """What the coordinator is known to have accepted of each group: unknown, nan equals nothing."""
        if not self.weighted:
            return _NO_WEIGHTS, _NO_WEIGHTS
        return np.full((len(self._groups), self.monitor.dimension), np.nan), np.full(len(self._groups), np.nan)

    def _tell(self, pane: int, groups: IntArray) -> None:
        """These groups' vectors at the pane took part in making the zone that came."""
        if self.weighted:
            sums, weights = self._vector(pane) if pane in self._vectors else self._nothing_told()
            self._told[0][groups], self._told[1][groups] = sums[groups], weights[groups]
