"""How far every site has drifted towards the edge of its zone, over time: what a plot shows of the silence.

The answer to "how far" is a share: 0 at the estimate, 1 where the site must speak. It is the smallest s for which the
ball over the estimate and a drift 1/s times as long is still proved to be on one side; such balls are nested, so s is
found by halving. Drifts need the slacks, which only a running protocol knows, so the replay is run once more and
stopped at every sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tacit.functions.monitor import Monitor, Zones
from tacit.recording.engine import Engine
from tacit.recording.fitted_engine import FittedEngine
from tacit.recording.physical import Physical
from tacit.recording.updates import Updates
from tacit.vocabulary import BoolArray, FloatArray, IntArray

__all__ = ["Drifts", "drifts_along"]

SAMPLES = 1_500
HALVINGS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Drifts:
    """The share of the way to its zone's edge that every site has gone; nan where it has no weight."""

    time: IntArray  # (k,)
    share: FloatArray  # (k, sites)


def drifts_along(
    physical: Physical,
    updates: Updates,
    group: int,
    *,
    protocol: str,
    policy: str,
    seed: int,
    samples: int = SAMPLES,
    ticks: IntArray | None = None,
    fitted: bool = False,
) -> Drifts:
    """Sample the drifts of one group's sites evenly in time."""
    wanted = np.linspace(int(updates.time[0]), int(updates.time[-1]), samples).astype(np.int64)
    ends = np.flatnonzero(updates.last)
    step = np.searchsorted(updates.time[ends], wanted, side="right") - 1
    at = ends[np.unique(np.maximum(step, 0))]
    if fitted:
        return _fitted_drifts(FittedEngine(physical, updates, policy=policy, seed=seed), physical, updates.time[at], at)
    engine = _Stopping(physical, updates, protocol=protocol, policy=policy, seed=seed, ticks=ticks)
    zones = physical.monitor.zones(len(at))
    moved = np.empty((len(at), physical.sites, physical.dimension))
    there = np.empty((len(at), physical.sites), dtype=np.bool_)
    for k, _ in enumerate(engine.stops(at)):
        held = engine.zones  # as they were made, not made anew: zones depend on what was seen before them
        zones.estimate[k], zones.answer[k] = held.estimate[group], held.answer[group]
        zones.radius[k], zones.state[k] = held.radius[group], held.state[group]
        moved[k], there[k] = engine.moved(group)
    share = np.stack([_shares(physical.monitor, zones, moved[:, site]) for site in range(physical.sites)], axis=1)
    return Drifts(updates.time[at], np.where(there, share, np.nan))


def _fitted_drifts(engine: FittedEngine, physical: Physical, time: IntArray, at: IntArray) -> Drifts:
    """The same where each site has a zone of its own."""
    share = [_shares(physical.monitor, *engine.look()) for _ in engine.stops(at)]
    return Drifts(time, np.array(share).reshape(len(at), physical.sites))


def _shares(monitor: Monitor, zones: Zones, moved: FloatArray) -> FloatArray:
    """How far each drift ``moved`` from its estimate is on its way to the edge; each row has a zone of its own."""
    rows = np.arange(len(zones.answer))
    low, high = np.zeros(len(rows)), np.ones(len(rows))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = monitor.inside(zones, rows, zones.estimate + moved / middle[:, None])
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return np.asarray(np.where((moved == 0).all(axis=1), 0.0, high))


class _Stopping(Engine):
    """The engine, run in stretches; in between all sites are settled and can be looked at."""

    _begun = False

    def stops(self, at: IntArray) -> Iterator[int]:
        """Run up to and with each of these updates, which end steps."""
        whole = self.updates
        self._place_windows()
        self._initialise()
        self._begun = True
        for begin, end in pairwise([0, *(at + 1).tolist()]):
            part = slice(begin, end)
            self.updates = Updates(
                whole.site[part], whole.lo[part], whole.hi[part], whole.time[part], whole.last[part], whole.panes
            )
            self._seen[:], self._origin = -1, begin  # updates are numbered anew
            self.run()
            yield end - 1

    def moved(self, group: int) -> tuple[FloatArray, BoolArray]:
        """u - e of every site as the kernels compute it, and which sites have a weight to divide by."""
        d = self.physical.dimension
        held = self._common + self._local[:, group]
        mass = held[:, :d] - self._anchor[:, group]
        if not self.physical.weighted:
            return mass * self.books.spread, np.ones(len(held), dtype=np.bool_)
        mass -= (held[:, d] - self._anchor_weight[:, group])[:, None] * np.nan_to_num(self.zones.estimate[group])
        there = held[:, d] > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(there[:, None], mass / held[:, d : d + 1], 0.0)), there

    def _place_windows(self) -> None:
        if not self._begun:
            super()._place_windows()

    def _initialise(self) -> None:
        if not self._begun:
            super()._initialise()
