"""The slow obvious twin: the coordinator's protocol for AVG(a) / AVG(b) > T, event by event, in plain Python.

It shares no code with tacit's engine. Numbers are floats, vectors are lists, a window is a deque; each event is added,
the rows that expire are taken away, the ball is tested, and a violation is resolved at once by least recently used
balancing. Benchmarks measure against it, and a test holds its message counts equal to the engine's.

A site's vector is (sum a, count a, sum b, count b), weighted by its rows. f > T is q(x) = x0 x3 - T x1 x2 > 0 where the
denominators are positive. In units z, x = z * scale, q is k z0 z3 - l z1 z2, which the turned coordinates
(z0 ± z3) / sqrt 2, (z1 ± z2) / sqrt 2 make a sum of squares: its extremes on a ball solve one equation in one unknown.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["Ratio", "Twin"]

Vector = list[float]
MET, NOT_MET, UNKNOWN = "met", "not met", "unknown"
_HALF = math.sqrt(0.5)


@dataclass(frozen=True, slots=True)
class Ratio:
    """AVG(a) / AVG(b) > threshold over vectors in units of ``scale``."""

    threshold: float
    scale: tuple[float, float, float, float]

    def answer(self, z: Vector) -> str:
        """The side of a point; unknown where the ratio has no value."""
        a, n, b, m = (z[j] * self.scale[j] for j in range(4))
        if not (n and b and m):
            return UNKNOWN
        return MET if (a / n) / (b / m) > self.threshold else NOT_MET

    def inside(self, answer: str, e: Vector, u: Vector) -> bool:
        """Does the answer hold on the whole ball over e and u?"""
        if answer == UNKNOWN:
            return u == e
        c = [0.5 * (e[j] + u[j]) for j in range(4)]
        r = 0.5 * math.sqrt(sum((u[j] - e[j]) ** 2 for j in range(4)))
        if r == 0.0:
            return True
        if c[2] <= r or (answer == MET and min(c[1], c[3]) <= r):
            return False  # a denominator could be 0, where only "not met" is right; sums could also change sign
        sign = -1.0 if answer == MET else 1.0  # sign * q must stay below 0
        k = sign * self.scale[0] * self.scale[3]
        m = -sign * self.threshold * self.scale[1] * self.scale[2]
        value = k * c[0] * c[3] + m * c[1] * c[2]
        bends = (0.5 * k, -0.5 * k, 0.5 * m, -0.5 * m)
        slopes = (
            k * (c[3] + c[0]) * _HALF, k * (c[3] - c[0]) * _HALF,
            m * (c[2] + c[1]) * _HALF, m * (c[2] - c[1]) * _HALF,
        )  # fmt: skip
        steep = math.sqrt(slopes[0] ** 2 + slopes[1] ** 2 + slopes[2] ** 2 + slopes[3] ** 2)
        if value + r * steep + r * r * max(bends) < 0.0:
            return True
        if value > 0.0:
            return False
        return value + _greatest(bends, slopes, r) < 0.0


def _greatest(bends: Sequence[float], slopes: Sequence[float], r: float) -> float:
    """The greatest sum of slope s + bend s^2 over |s| <= r: the multiplier at which |s| = r, by Newton on 1 / |s|."""
    mu = max(max(bends), *(b + abs(g) / (2.0 * r) for b, g in zip(bends, slopes, strict=True))) + 1e-300
    for _ in range(50):
        size = bent = 0.0
        for b, g in zip(bends, slopes, strict=True):
            if g != 0.0:
                s = g / (2.0 * (mu - b))
                size += s * s
                bent += s * s / (mu - b)
        size = math.sqrt(size)
        if size <= r * (1.0 + 1e-13):
            break
        mu += (size - r) / r * size * size / bent
    return mu * r * r + sum(g * g / (4.0 * (mu - b)) for b, g in zip(bends, slopes, strict=True) if g != 0.0)


@dataclass(slots=True)
class _Site:
    """One site: its window, its sums and what was agreed with the coordinator."""

    rows: deque[tuple[int, Vector]] = field(default_factory=deque)
    sums: Vector = field(default_factory=lambda: [0.0] * 4)
    weight: float = 0.0
    anchor: Vector = field(default_factory=lambda: [0.0] * 4)  # collected minus slack
    anchor_weight: float = 0.0
    told: bool = True  # it said that its window is empty
    used: int = 0  # when it last took part in balancing


class Twin:
    """Replays (time, site, contributions) and counts messages by kind."""

    def __init__(self, ratio: Ratio, sites: int, window_us: int) -> None:
        self.ratio, self.window_us = ratio, window_us
        self.sites = [_Site() for _ in range(sites)]
        self.estimate: Vector = [math.nan] * 4
        self.answer = UNKNOWN
        self.answers: list[tuple[int, str]] = []
        self.messages: Counter[str] = Counter(init=sites, new_estimate=sites)
        self.violations = 0
        self.full_syncs = 0
        self._clock = 0

    def run(self, events: Iterable[tuple[int, int, Vector]]) -> Counter[str]:
        """All events in order; a row leaves its window before the arrivals of the instant at which it expires."""
        leaving: deque[tuple[int, int]] = deque()
        for time_us, site, row in events:
            while leaving and leaving[0][0] <= time_us:
                instant = leaving[0][0]
                expired = set()
                while leaving and leaving[0][0] == instant:
                    expired.add(leaving.popleft()[1])
                for number in sorted(expired):
                    self._expire(number, instant)
                    self._check(number)
            self._add(site, time_us, row)
            leaving.append((time_us + self.window_us, site))
            self._check(site)
        return self.messages

    def _add(self, number: int, time_us: int, row: Vector) -> None:
        site = self.sites[number]
        site.rows.append((time_us, row))
        for j in range(4):
            site.sums[j] += row[j]
        site.weight += 1.0

    def _expire(self, number: int, instant: int) -> None:
        site = self.sites[number]
        while site.rows and site.rows[0][0] + self.window_us <= instant:
            _, row = site.rows.popleft()
            for j in range(4):
                site.sums[j] -= row[j]
            site.weight -= 1.0

    def _mass(self, site: _Site) -> Vector:
        """How far the site moved since it was collected, slack included, times its weight."""
        change = site.weight - site.anchor_weight
        mass = [site.sums[j] - site.anchor[j] for j in range(4)]
        if change != 0.0 and not math.isnan(self.estimate[0]):
            mass = [mass[j] - change * self.estimate[j] for j in range(4)]
        return mass

    def _check(self, number: int) -> None:
        site = self.sites[number]
        mass = self._mass(site)
        still = not any(mass) and not (math.isnan(self.estimate[0]) and site.weight != site.anchor_weight)
        if site.weight > 0.0:
            site.told = False
            if still:
                return
            u = [self.estimate[j] + mass[j] / site.weight for j in range(4)]
            if self.answer != UNKNOWN and self.ratio.inside(self.answer, self.estimate, u):
                return
        elif still and site.told:
            return
        self._resolve(number)

    def _resolve(self, reporter: int) -> None:
        """Balance the reporter with as few others as possible, else collect everyone."""
        self.violations += 1
        self.messages["report"] += 1
        members: dict[int, Vector] = {}
        total, weight = [0.0] * 4, 0.0
        joining = reporter
        while True:
            site = self.sites[joining]
            members[joining] = self._mass(site)
            total = [total[j] + members[joining][j] for j in range(4)]
            weight += site.weight
            if weight > 0.0 and self.answer != UNKNOWN:
                u = [self.estimate[j] + total[j] / weight for j in range(4)]
                if self.ratio.inside(self.answer, self.estimate, u):
                    return self._adjust(members, total, weight)
            others = [number for number in range(len(self.sites)) if number not in members]
            if not others:
                return self._collect()
            joining = min(others, key=lambda number: self.sites[number].used)
            self.messages["request"] += 1
            self.messages["reply"] += 1

    def _adjust(self, members: dict[int, Vector], total: Vector, weight: float) -> None:
        for number in sorted(members):
            site, mass = self.sites[number], members[number]
            self._clock += 1
            site.used = self._clock
            for j in range(4):
                site.anchor[j] += mass[j] - site.weight * (total[j] / weight)
            site.told = site.weight == 0.0
            self.messages["adjust_slack"] += 1

    def _collect(self) -> None:
        self.full_syncs += 1
        weight = sum(site.weight for site in self.sites)
        for site in self.sites:
            site.anchor, site.anchor_weight = list(site.sums), site.weight
            site.told = site.weight == 0.0
            self.messages["new_estimate"] += 1
        if weight > 0.0:
            self.estimate = [sum(site.sums[j] for site in self.sites) / weight for j in range(4)]
            self.answer = self.ratio.answer(self.estimate)
        else:
            self.estimate, self.answer = [math.nan] * 4, UNKNOWN
