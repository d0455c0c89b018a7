"""Recentring: a site that leaves its zone says where its new centre is, and needs no answer.

Every site has a centre c_i, and is silent while v_i - c_i is in its zone. Leaving it, the site chooses a new centre so
near that its vector is inside again, and says it: one message. The coordinator keeps e, the mean of the centres, and
the answer. The zones (functions/tracking.py) are proved: as long as the one that all sites hold covers e, the answer is
within its error, and nobody is told anything. When it does not, all get a new one, which is n messages.

Any centre is sound, so a site is free to choose it well. One that wanders should take its vector itself, to have all of
the zone around it. One that swings about a mean should move its centre as little as it must, for its vector will come
back. A site finds out which it is by watching what each choice would have cost it; this costs no message.

Sites that move more have larger zones: with scales s_i whose mean is 1 the mean of the v_i - c_i is in Z if each is in
s_i Z. Moves that come to a site at random take s in the ratio of their spread to the power 2/3.

These machines are synchronous: what is said is heard before anything else happens.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from tacit.functions.tracking import EACH, SAY_ALL, Learned, Told, TrackedZone, TrackZones
from tacit.vocabulary import BoolArray, FloatArray, IntArray
from tacit.vocabulary.answers import MET

__all__ = ["Keeper", "Recentring", "Roamers"]

DEPTHS = (0.0, 0.4, 0.8)  # how far out in its zone a vector may lie after a report, for the sake of its mean
_MEMORY = 200.0  # steps over which a site's mean is taken
_FADE = 0.995  # of what choices would have cost, by the step
_RECENT = 30  # moves that zones are made for
_WORTH = 2.0  # refreshes that a better zone must save to be told without need
_PATIENCE = 3  # reports of every site before that is looked at
_DEBT = 3  # times the sites: messages that zones may cost beyond sending all
_PAUSE, _PAUSE_MOST = 4, 64  # times the sites: changes that are said without a zone before one is tried again


class Roamers:
    """The sites' half, for many vectors at once: of several sites, or of several groups of one."""

    def __init__(self, start: FloatArray) -> None:
        self.centres = np.array(start, dtype=np.float64)
        rows = len(self.centres)
        self.zone: TrackedZone | None = None
        self.scales = np.ones(rows)
        self._mean, self._seen = self.centres.copy(), 1.0
        self._paths = np.repeat(self.centres[None], len(DEPTHS), axis=0)  # where each choice would have led
        self._cost = np.zeros((len(DEPTHS), rows))

    def told(self, zone: TrackedZone, scales: FloatArray) -> None:
        """All have a new zone."""
        self.zone, self.scales = zone, scales

    def look(self, vectors: FloatArray) -> IntArray:
        """The rows whose vectors have left the zone; ``centres`` holds their new ones."""
        self._seen = min(self._seen + 1.0, _MEMORY)
        self._mean += (vectors - self._mean) / self._seen
        self._cost *= _FADE
        inside = self._inside((vectors - self._paths).reshape(-1, vectors.shape[1]), np.tile(self.scales, len(DEPTHS)))
        for k, out in enumerate(~inside.reshape(len(DEPTHS), -1)):
            rows = np.flatnonzero(out)
            self._cost[k, rows] += 1.0
            self._paths[k, rows] = self._chosen(vectors, rows, DEPTHS[k])
        return self.recheck(vectors)

    def recheck(self, vectors: FloatArray) -> IntArray:
        """As ``look``, at the same moment, with a zone that has come since."""
        rows = np.flatnonzero(~self._inside(vectors - self.centres, self.scales))
        choices = np.argmin(self._cost[:, rows], axis=0)
        for k in np.unique(choices):
            these = rows[choices == k]
            self.centres[these] = self._chosen(vectors, these, DEPTHS[k])
        return rows

    def _inside(self, moves: FloatArray, scales: FloatArray) -> BoolArray:
        assert self.zone is not None
        return self.zone.contains(moves / scales[:, None])

    def _chosen(self, vectors: FloatArray, rows: IntArray, depth: float) -> FloatArray:
        """On the way from each vector to its mean, so far that the vector is at this depth of the zone."""
        here = vectors[rows]
        away = here - self._mean[rows]
        if depth == 0.0 or not away.any():
            return np.array(here)
        assert self.zone is not None
        moving = np.flatnonzero(away.any(axis=1))
        chosen = np.array(here)
        far = self.zone.distances(away[moving]) * self.scales[rows[moving]]
        chosen[moving] -= np.minimum(1.0, depth * far)[:, None] * away[moving]
        fits = self._inside(here - chosen, self.scales[rows])
        return np.where(fits[:, None], chosen, here)


@dataclass(slots=True)
class _Period:
    """What happened since all sites got their zone."""

    began: int
    reports: int = 0
    looked: int = 0


class Keeper:
    """Which zone the sites should hold for one answer, and when they need another one.

    ``changes`` is how many sites change in a step, at most: what sending all would cost. Zones that cost more than that
    for long are given up for a while: then every change is said, which needs no zone.
    """

    def __init__(self, zones: TrackZones, sites: int, changes: float | None = None) -> None:
        self.zones, self.sites = zones, sites
        self.changes = float(sites) if changes is None else changes
        self.learned = Learned(float(sites))
        self.told = SAY_ALL
        self._moves: deque[FloatArray] = deque(maxlen=_RECENT)
        self._period = _Period(0)
        self._debt = 0.0  # messages beyond what sending all would have cost
        self._pause = _PAUSE * sites

    def begin(self, step: int, estimate: FloatArray, spread: FloatArray, side: int = MET) -> None:
        """All sites were asked, or there is nothing yet; ``spread`` (d,) is how far sites may be expected to move."""
        self._period = _Period(step)
        self.told = self._best(estimate, spread, side) or SAY_ALL

    def note(self, moved: FloatArray) -> None:
        """A site has reported, so far from its last report."""
        if moved.any():
            self._moves.append(moved)
        self._period.reports += 1

    def settle(self, step: int, estimate: FloatArray, spread: FloatArray, side: int = MET) -> bool:
        """All reports of a step are in: must all sites be told a zone, now in ``told``? ``side`` is the estimate's."""
        period = self._period
        if self.told.kind == EACH:
            if period.reports < self._pause:
                return False
            told = self._best(estimate, spread, side)
            if told is None:
                self._pause = min(2 * self._pause, _PAUSE_MOST * self.sites)
                period.reports = 0
            return told is not None and self._renewed(step, told)
        if self.zones.covers(self.told, estimate):
            return self._bettered(step, estimate, spread, side)
        self.learned = self._measured(step, estimate)
        saved = self.changes * (step - period.began) - period.reports - self.sites
        self._debt = max(0.0, self._debt - saved)
        if self._debt > _DEBT * self.sites:
            self._debt = 0.0
            self._pause = min(2 * self._pause, _PAUSE_MOST * self.sites)
            return self._renewed(step, SAY_ALL)
        if saved > _PAUSE * self.sites:
            self._pause = _PAUSE * self.sites
        return self._renewed(step, self._best(estimate, spread, side) or SAY_ALL)

    def _measured(self, step: int, estimate: FloatArray) -> Learned:
        period = self._period
        return self.zones.measured(self.told, self.learned, estimate, period.reports, step - period.began)

    def _renewed(self, step: int, told: Told) -> bool:
        self.told, self._period = told, _Period(step)
        return True

    def _bettered(self, step: int, estimate: FloatArray, spread: FloatArray, side: int) -> bool:
        """A zone that is worth telling, looked for once in a while."""
        n, period = self.sites, self._period
        if period.reports < _PATIENCE * n or period.reports // n == period.looked:
            return False
        period.looked = period.reports // n
        before, self.learned = self.learned, self._measured(step, estimate)
        told = self._best(estimate, spread, side)
        zone = self.told.zone
        now = self.learned.costs(self.told.kind).of(zone.radius, zone.reach)
        if told is not None and (now - told.cost) * (step - period.began) > _WORTH * n:
            return self._renewed(step, told)
        self.learned = before
        return False

    def _best(self, estimate: FloatArray, spread: FloatArray, side: int) -> Told | None:
        d = len(estimate)
        if len(self._moves) >= _RECENT // 2:
            moves = np.array(self._moves)
        elif d > 1:
            moves = np.concatenate([np.eye(d), np.ones((1, d)), 1.0 - 2.0 * np.eye(d)]) * spread
        else:
            moves = np.atleast_2d(spread)
        size = float(np.sqrt(np.square(moves).sum(axis=1).mean() / d))
        if not 0.0 < size < np.inf:
            return None
        return self.zones.best(estimate, moves / size, self.learned, side)


class Recentring:
    """The coordinator's half for one tracked answer. ``take`` reports, then ``settle`` the step."""

    def __init__(self, zones: TrackZones, centres: FloatArray) -> None:
        self.zones = zones
        self.centres = np.array(centres, dtype=np.float64)
        self.scales = np.ones(len(centres))
        self.reports = self.refreshes = 0
        self.estimate = self.centres.mean(axis=0)
        self._active = np.zeros(len(centres))
        self._keeper = Keeper(zones, len(centres))
        self._keeper.begin(0, self.estimate, self._spread())

    @property
    def told(self) -> Told:
        """What all sites hold, and what it was compared with."""
        return self._keeper.told

    @property
    def zone(self) -> TrackedZone:
        """What all sites hold."""
        return self.told.zone

    @property
    def answer(self) -> float:
        """What is said of f, within its error of the truth."""
        return self.zones.answer(self.told, self.estimate)

    def take(self, site: int, centre: FloatArray) -> None:
        """A report."""
        self._keeper.note(centre - self.centres[site])
        self.centres[site] = centre
        self._active[site] += 1.0
        self.reports += 1

    def settle(self, step: int) -> TrackedZone | None:
        """All reports of a step are in: the zone that all need now, if they need one."""
        self.estimate = self.centres.mean(axis=0)
        if not self._keeper.settle(step, self.estimate, self._spread()):
            return None
        self._rescale()
        self.refreshes += 1
        return self.zone

    def _spread(self) -> FloatArray:
        return np.full(self.centres.shape[1], np.abs(self.centres - self.estimate).mean() or 1.0)

    def _rescale(self) -> None:
        if self._active.sum() < 5 * len(self.centres):
            return
        wanted = (np.sqrt(self._active + 1.0) * self.scales) ** (2.0 / 3.0)
        self.scales = wanted / wanted.mean()
        self.scales *= 1.0 - 1e-12  # their mean must not be above 1
        self._active *= 0.98
