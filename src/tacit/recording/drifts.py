"""How far every site has drifted towards the edge of its zone, over time: what a plot shows of the silence.

The answer to "how far" is a share: 0 at the estimate, 1 where the site must speak. It is the smallest s for which the
ball over the estimate and a drift 1/s times as long is still proved to be on one side; such balls are nested, so s is
found by halving. The drifts themselves need the slacks, which only the protocol knows: the replay is run once more
with an eye on one group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.functions.monitor import Monitor
from tacit.protocols._kernels import PER_KEY, PER_MEMBER
from tacit.recording.engine import Engine
from tacit.recording.physical import Physical
from tacit.recording.updates import Updates
from tacit.vocabulary import BoolArray, FloatArray, IntArray

__all__ = ["Drifts", "drifts_along"]

SAMPLES = 1_500
HALVINGS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Drifts:
    """The share of the way to its zone's edge that every site has gone; nan where it holds nothing."""

    time: IntArray  # (k,)
    share: FloatArray  # (k, sites)


def drifts_along(
    physical: Physical, updates: Updates, group: int, *, protocol: str, policy: str, seed: int, samples: int = SAMPLES
) -> Drifts:
    """Sample the drifts of one group's sites evenly in time."""
    engine = _Traced(physical, updates, protocol=protocol, policy=policy, seed=seed)
    engine.follow(group)
    engine.run()
    wanted = np.linspace(int(updates.time[0]), int(updates.time[-1]), samples).astype(np.int64)
    ends = np.flatnonzero(updates.last)
    step = np.searchsorted(updates.time[ends], wanted, side="right") - 1
    at = ends[np.unique(np.maximum(step, 0))]
    zone = np.searchsorted([update for update, _ in engine.estimate_trace], at, side="right") - 1
    estimate = np.array([estimate for _, estimate in engine.estimate_trace])[zone]
    sums = _prefix_sums(physical, group)
    shares = np.full((len(at), physical.sites), np.nan)
    for site in range(physical.sites):
        held = _held(updates, site, at, sums)
        trace = engine.anchor_trace[site]
        which = np.searchsorted([update for update, _, _ in trace], at, side="right") - 1
        anchor = np.array([anchor for _, anchor, _ in trace])[which]
        weight = np.array([weight for _, _, weight in trace])[which]
        moved = _moved(physical, held, anchor, weight, estimate, engine.books.spread)
        there = held.any(axis=1)
        shares[there, site] = _shares(physical.monitor, estimate[there], moved[there])
    return Drifts(updates.time[at], shares)


def _shares(monitor: Monitor, estimate: FloatArray, moved: FloatArray) -> FloatArray:
    """How far each drift ``estimate + moved`` is on its way to the edge; each row has a zone of its own."""
    zones = monitor.zones(len(estimate))
    rows = np.arange(len(estimate))
    monitor.refresh(zones, rows, estimate)
    low, high = np.zeros(len(rows)), np.ones(len(rows))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = monitor.inside(zones, rows, estimate + moved / middle[:, None])
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return np.asarray(np.where((moved == 0).all(axis=1), 0.0, high))


def _moved(
    physical: Physical, held: FloatArray, anchor: FloatArray, weight: FloatArray, estimate: FloatArray, spread: float
) -> FloatArray:
    """u - e, as the kernels compute it."""
    d = physical.dimension
    mass = held[:, :d] - anchor
    if not physical.weighted:
        return mass * spread
    mass -= (held[:, d] - weight)[:, None] * np.nan_to_num(estimate)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(held[:, d:] > 0, mass / held[:, d:], 0.0)


def _held(updates: Updates, site: int, at: IntArray, sums: FloatArray) -> FloatArray:
    """The site's window sums after each of these updates."""
    mine = np.flatnonzero(updates.site == site)
    where = np.searchsorted(mine, at, side="right") - 1
    held = np.zeros((len(at), sums.shape[1]))
    known = where >= 0
    update = mine[where[known]]
    held[known] = sums[updates.hi[update]] - sums[updates.lo[update]]
    return held


def _prefix_sums(physical: Physical, group: int) -> FloatArray:
    """Sums of what each row, and all before it, add to the group."""
    rows = physical.rows
    if physical.mode == PER_KEY:
        rows = rows * (physical.group == group)[:, None]
    elif physical.mode == PER_MEMBER:
        has: BoolArray = np.zeros(len(rows), dtype=np.bool_)
        owner = np.repeat(np.arange(len(rows)), np.diff(physical.pointer))
        has[owner[physical.member == group]] = True
        rows = physical.shared + rows * has[:, None]
    return np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])


class _Traced(Engine):
    """The engine, noting every anchor and estimate of one group."""

    def follow(self, group: int) -> None:
        """Before ``run``: the group to note."""
        self._followed, self._now = group, -1
        self.estimate_trace: list[tuple[int, FloatArray]] = []
        self.anchor_trace: list[list[tuple[int, FloatArray, float]]] = [
            [(-1, self._anchor[site, group].copy(), float(self._anchor_weight[site, group]))]
            for site in range(self.physical.sites)
        ]

    def _resolve(self, update: int, violations: int) -> None:
        self._now = update
        super()._resolve(update, violations)

    def _set_anchor(self, site: int, groups: IntArray) -> None:
        super()._set_anchor(site, groups)
        if self._followed in groups:
            anchor, weight = self._anchor[site, self._followed].copy(), float(self._anchor_weight[site, self._followed])
            self.anchor_trace[site].append((self._now, anchor, weight))

    def _record(self, update: int, groups: IntArray) -> None:
        super()._record(update, groups)
        if self._followed in groups:
            self.estimate_trace.append((update, self.zones.estimate[self._followed].copy()))
