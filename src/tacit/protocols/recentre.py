"""Recentring: a site that leaves its zone says where its new centre is, and needs no answer.

Every site has a centre c_i, and is silent while v_i - c_i is in its zone. Leaving it, the site chooses a new centre so
near that its vector is inside again, and says it: one message. The coordinator keeps e, the mean of the centres, and
the answer f(e). The zones (functions/roaming.py) are proved: as long as the one that all sites hold covers e, the
answer is within its error, and nobody is told anything. When it does not, all get a new one, which is n messages.

Any centre is sound, so a site is free to choose it well. One that wanders should take its vector itself, to have all of
the zone around it. One that swings about a mean should move its centre as little as it must, for its vector will come
back. A site finds out which it is by watching what each choice would have cost it; this costs no message.

Sites that move more have larger zones: with scales s_i whose mean is 1 the mean of the v_i - c_i is in Z if each is in
s_i Z. Moves that come to a site at random take s in the ratio of their spread to the power 2/3.

These machines are synchronous: what is said is heard before anything else happens.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from tacit.functions.evaluate import value
from tacit.functions.expressions import Expression
from tacit.functions.roaming import Costs, RoamingZone, best_zone
from tacit.vocabulary import BoolArray, FloatArray
from tacit.vocabulary.errors import ZoneError

__all__ = ["Recentring", "Roamer"]

DEPTHS = (0.0, 0.4, 0.8)  # how far out in its zone a vector may lie after a report, for the sake of its mean
_MEMORY = 200.0  # steps over which a site's mean is taken
_FADE = 0.995  # of what choices would have cost, by the step
_RECENT = 30  # moves that zones are made for
_WIDE = 2.0 ** np.arange(-10.0, 8.0)
_NEAR = 2.0 ** np.arange(-2.0, 2.5, 0.5)
_TRIED = 0.3  # the weight of the last period in what costs are
_IDLE = 0.3  # of its reach e is taken to have gone, at least
_WORTH = 2.0  # refreshes that a better zone must save to be told without need
_PATIENCE = 3  # reports of every site before that is looked at


class Roamer:
    """A site's half, for one vector."""

    def __init__(self, start: FloatArray) -> None:
        self.centre = np.array(start, dtype=np.float64)
        self.zone: RoamingZone | None = None
        self.scale = 1.0
        self._mean, self._seen = self.centre.copy(), 1.0
        self._centres = np.repeat(self.centre[None], len(DEPTHS), axis=0)  # where each choice would have led
        self._cost = np.zeros(len(DEPTHS))

    def told(self, zone: RoamingZone, scale: float) -> None:
        """All sites have a new zone."""
        self.zone, self.scale = zone, scale

    def look(self, vector: FloatArray) -> FloatArray | None:
        """The new centre, when the vector has left the zone."""
        self._seen = min(self._seen + 1.0, _MEMORY)
        self._mean += (vector - self._mean) / self._seen
        self._cost *= _FADE
        for k in np.flatnonzero(~self._inside(vector - self._centres)):
            self._cost[k] += 1.0
            self._centres[k] = self._chosen(vector, DEPTHS[k])
        return self.recheck(vector)

    def recheck(self, vector: FloatArray) -> FloatArray | None:
        """As ``look``, at the same moment, with a zone that has come since."""
        if self._inside((vector - self.centre)[None])[0]:
            return None
        self.centre = self._chosen(vector, DEPTHS[int(np.argmin(self._cost))])
        return self.centre

    def _inside(self, moves: FloatArray) -> BoolArray:
        assert self.zone is not None
        return self.zone.contains(moves / self.scale)

    def _chosen(self, vector: FloatArray, depth: float) -> FloatArray:
        """On the way from the vector to its mean, so far that the vector is at this depth of the zone."""
        away = vector - self._mean
        if depth == 0.0 or not away.any():
            return np.array(vector)
        assert self.zone is not None
        share = min(1.0, depth * self.scale * float(self.zone.distances(away[None])[0]))
        chosen = np.asarray(vector - share * away)
        return chosen if self._inside((vector - chosen)[None])[0] else np.array(vector)


@dataclass(slots=True)
class _Period:
    """What happened since all sites got their zone."""

    began: int
    reports: int = 0
    looked: int = 0


class Recentring:
    """The coordinator's half. ``take`` reports, then ``settle`` the step; a zone that it returns is told to all."""

    def __init__(self, expression: Expression, within: float, centres: FloatArray) -> None:
        self.expression, self.within = expression, within
        self.centres = np.array(centres, dtype=np.float64)
        self.scales = np.ones(len(centres))
        self.reports = self.refreshes = 0
        self.costs = Costs(messages=float(len(centres)))
        self.estimate = self.centres.mean(axis=0)
        self._moves: deque[FloatArray] = deque(maxlen=_RECENT)
        self._active = np.zeros(len(centres))
        self._size: float | None = None
        self._knows = False
        self._period = _Period(0)
        self.zone = self._best()

    @property
    def answer(self) -> float:
        """What is said of f, within ``within`` of the truth."""
        return float(value(self.expression, self.estimate[None])[0]) + self.zone.offset

    def take(self, site: int, centre: FloatArray) -> None:
        """A report."""
        moved = centre - self.centres[site]
        if moved.any():
            self._moves.append(moved)
        self.centres[site] = centre
        self._active[site] += 1.0
        self.reports += 1
        self._period.reports += 1

    def settle(self, step: int) -> RoamingZone | None:
        """All reports of a step are in: the zone that all need now, if they need one."""
        self.estimate = self.centres.mean(axis=0)
        if self.zone.covers(self.expression, self.estimate):
            return self._bettered(step)
        self.costs = self._measured(step, _TRIED if self._knows else 1.0)
        self._rescale()
        return self._renew(step, self._best())

    def _renew(self, step: int, zone: RoamingZone) -> RoamingZone:
        self._knows = True
        self.zone, self._period = zone, _Period(step)
        self.refreshes += 1
        return zone

    def _bettered(self, step: int) -> RoamingZone | None:
        """A zone that is worth telling, looked for once in a while."""
        n, period = len(self.centres), self._period
        if period.reports < _PATIENCE * n or period.reports // n == period.looked:
            return None
        period.looked = period.reports // n
        before, self.costs = self.costs, self._measured(step, 1.0)
        zone = self._best()
        now = self.costs.of(self.zone.radius, self.zone.reach)
        if (now - self.costs.of(zone.radius, zone.reach)) * (step - period.began) > _WORTH * n:
            return self._renew(step, zone)
        self.costs = before
        return None

    def _measured(self, step: int, weight: float) -> Costs:
        """What reports and refreshes have cost in this period, brought to a radius and a reach of 1."""
        period, zone, old = self._period, self.zone, self.costs
        time = max(1, step - period.began)
        gone = max(min(zone.turned(self.expression, self.estimate), 1e3), _IDLE)
        reports = period.reports / time * zone.radius**old.decay
        refreshes = (gone * zone.reach) ** old.decay / time
        return replace(
            old,
            reports=(1.0 - weight) * old.reports + weight * reports,
            refreshes=(1.0 - weight) * old.refreshes + weight * refreshes,
        )

    def _rescale(self) -> None:
        if self._active.sum() < 5 * len(self.centres):
            return
        wanted = (np.sqrt(self._active + 1.0) * self.scales) ** (2.0 / 3.0)
        self.scales = wanted / wanted.mean()
        self.scales *= 1.0 - 1e-12  # their mean must not be above 1
        self._active *= 0.98

    def _best(self) -> RoamingZone:
        d = self.centres.shape[1]
        if len(self._moves) >= _RECENT // 2:
            moves = np.array(self._moves)
        else:
            spread = np.abs(self.centres - self.centres.mean(axis=0)).mean() or 1.0
            moves = spread * np.concatenate([np.eye(d), np.ones((1, d)), 1.0 - 2.0 * np.eye(d)])
        moves = moves / np.sqrt(np.square(moves).sum(axis=1).mean() / d)
        sizes = _WIDE if self._size is None else self._size * _NEAR
        zone = best_zone(self.expression, self.estimate, self.within, moves, self.costs, sizes)
        for shrink in (1e-3, 1e-6, 1e-9):
            if zone is None:
                zone = best_zone(self.expression, self.estimate, self.within, moves, self.costs, _WIDE * shrink)
        if zone is None:
            raise ZoneError(f"no zone of {self.expression} can be proved around {self.estimate}; use balls")
        self._size = float((zone.high - zone.low).max() / 2.0 / np.sqrt(np.square(moves).mean(axis=0)).max())
        return zone
