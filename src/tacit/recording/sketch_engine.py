"""The replay of a watch on sketches: every site's machine and the coordinator's are the live ones.

A step closes a pane at the sites whose windows it changed; the others are as they were. What sites report at a step is
resolved before the next, as live settlements do it pane by pane, so that a replay by panes says what live sites say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.functions.goals import Frequent, InnerProduct, Quantile, SketchGoal
from tacit.language.plan import WatchPlan, Window
from tacit.protocols.frequent.candidates import Candidates
from tacit.protocols.frequent.census import Census
from tacit.protocols.frequent.lookout import Lookout
from tacit.protocols.gauges.gauger import Gauger
from tacit.protocols.gauges.making import SEED, gauge_of, points_of, shape_of, terms_of
from tacit.protocols.gauges.sounder import Sounder
from tacit.protocols.messages import Message, Reply, Report
from tacit.protocols.topk.messages import Challenge, Showing
from tacit.recording.stream import Recording
from tacit.recording.updates import Updates
from tacit.sketches.digest_stations import DigestStation, GrowingDigests, SlidingDigests
from tacit.sketches.hashing import fingerprints, places_of, row_words
from tacit.sketches.stations import CellStation, SortedStation
from tacit.sketches.window import LONGEST, SlidingWindow
from tacit.vocabulary import IntArray, State, WordArray
from tacit.vocabulary.calendar import first_pane, period_start
from tacit.wire.ledger import COORDINATOR, Ledger

__all__ = ["Said", "SketchEngine", "SketchOutcome", "sketch_window"]

_PROGRESS = 4096  # updates


@dataclass(frozen=True, slots=True)
class Said:
    """From this update on (-1: before the first): the value, or the keys with their counts."""

    update: int
    value: float
    keys: tuple[tuple[str, float], ...] = ()


@dataclass(slots=True)
class SketchOutcome:
    """What happened: what was said when, what was sent, how often sites spoke and everyone was asked."""

    ledger: Ledger = field(default_factory=Ledger)
    said: list[Said] = field(default_factory=list)
    talks: list[tuple[int, int]] = field(default_factory=list)  # by update: how many messages were sent
    violations: int = 0
    full_syncs: int = 0
    balanced: int = 0


def sketch_window(window: Window, step: str) -> SlidingWindow:
    """The window of a sketch in ticks: panes, microseconds where events are steps, or rows."""
    if window.kind == "rows":
        return SlidingWindow(int(window.rows or 1), by="rows")
    unit = int(window.every.duration_us or 1) if step == "pane" else 1
    if window.kind == "time":
        return SlidingWindow(-(-int(window.duration_us or 1) // unit))
    if window.kind == "since":
        return SlidingWindow(-(-_LONGEST_PERIOD_US[window.unit or "day"] // unit))
    return SlidingWindow(LONGEST)


_DAY_US = 86_400_000_000
_LONGEST_PERIOD_US = {
    "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "day": _DAY_US, "week": 7 * _DAY_US,
    "month": 31 * _DAY_US, "year": 366 * _DAY_US,
}  # fmt: skip


class _Clock:
    """The tick of an update, and how many ticks its window has."""

    def __init__(self, window: Window, step: str) -> None:
        self._window = window
        by_pane = step == "pane" and window.every.duration_us is not None
        self._unit = int(window.every.duration_us or 1) if by_pane else 1
        self._by_pane = by_pane

    def tick(self, time: int) -> int:
        """The pane that ends at this time, or the time itself."""
        return time // self._unit - 1 if self._by_pane else time

    def length(self, time: int) -> int | None:
        """The ticks of the window at this time; None: all that the sketch has."""
        if self._window.kind != "since":
            return None
        return max(1, self.tick(time) + 1 - self.begin(self.tick(time)))

    def begin(self, tick: int) -> int:
        """The first tick of the window at this one, where windows are since a start."""
        unit = self._window.unit or "day"
        if self._by_pane:
            return first_pane(tick, self._unit, unit)
        return int(period_start(np.array([tick]), unit)[0])

    def digests(self, window: SlidingWindow, points: int) -> DigestStation:
        """A station for quantiles in these windows."""
        if self._window.kind == "time":
            return SlidingDigests(window.length, points)
        return GrowingDigests(points, self.begin if self._window.kind == "since" else None)


class _GaugedSites:
    """Sites with gauges."""

    def __init__(
        self, goal: SketchGoal, window: SlidingWindow, clock: _Clock, recording: Recording, step: str, zone: str
    ) -> None:  # fmt: skip
        order, _ = recording.by_site
        self._goal, sites = goal, len(recording.sites)
        gauge = gauge_of(goal, zone=zone)
        self.machines = [Gauger(site, gauge) for site in range(sites)]
        self._stations: list[Any]
        if isinstance(goal, Quantile):
            self._values = recording.present[order, 0]
            exact = step == "event" or window.by == "rows"
            points = points_of(goal)
            self._stations = [
                SortedStation(window.length, points) if exact else clock.digests(window, points) for _ in range(sites)
            ]
            self._by_rows = window.by == "rows"
            self._seen = [0] * sites
            return
        self._words = _words(recording)[recording.group][order]
        self._shape = shape_of(goal)
        self._sides = 2 if isinstance(goal, InnerProduct) else 1
        self._second = recording.present[order, 0] > 0.5 if self._sides == 2 else None
        self._stations = [
            [CellStation(window, self._shape, seed=SEED) for _ in range(self._sides)] for _ in range(sites)
        ]

    def take(self, site: int, rows: slice, tick: int) -> None:
        """Into the site's sketches, or its values."""
        station = self._stations[site]
        if isinstance(self._goal, Quantile):
            if not self._by_rows:
                station.take(self._values[rows], tick)
                return
            for value in self._values[rows]:
                self._seen[site] += 1
                station.take(np.array([value]), self._seen[site])
        elif self._second is None:
            station[0].take(self._words[rows], tick)
        else:
            words, second = self._words[rows], self._second[rows]
            station[0].take(words[~second], tick)
            station[1].take(words[second], tick)

    def close(self, site: int, pane: int, tick: int, length: int | None) -> tuple[Message, ...]:
        """With the cells of its sketches, or the ranks of its values."""
        machine, station = self.machines[site], self._stations[site]
        if isinstance(self._goal, Quantile):
            array = station.array(length, self._seen[site] if self._by_rows else tick)
        else:
            depth, width = self._shape.depth, self._shape.width
            array = np.concatenate([each.cells(depth, width, length, tick) for each in station])
        return machine.close_pane(pane, array)


class _FrequentSites:
    """Sites with candidates."""

    def __init__(self, goal: Frequent, window: SlidingWindow, recording: Recording) -> None:
        order, _ = recording.by_site
        shape, sites = shape_of(goal), len(recording.sites)
        words = _words(recording)
        assert recording.group is not None
        assert recording.keys is not None
        self._keys, self._groups = recording.keys, recording.group[order].astype(np.int64)
        self._words, self._shape = words, shape
        self._apart = np.zeros(len(words), dtype=np.bool_)  # by group: of rows without a value, as live sites tell them
        if recording.statistics[1:]:
            self._apart[recording.group[recording.present[:, 1] > 0.5]] = True
        rows = row_words(SEED, shape.depth)
        self._places: IntArray = places_of(words, rows, shape.width)

        def places(keys: Sequence[str]) -> IntArray:
            return places_of(fingerprints(list(keys), seed=SEED), rows, shape.width)

        self.machines = [Lookout(site, Candidates(places, terms_of(goal).most)) for site in range(sites)]
        self._stations = [CellStation(window, shape, seed=SEED) for _ in range(sites)]
        self._came: list[list[IntArray]] = [[] for _ in range(sites)]

    def take(self, site: int, rows: slice, tick: int) -> None:
        """Into the site's sketch; which keys came is remembered until the pane is closed."""
        groups = self._groups[rows]
        self._stations[site].take(self._words[groups], tick, self._apart[groups])
        self._came[site].append(groups)

    def close(self, site: int, pane: int, tick: int, length: int | None) -> tuple[Message, ...]:
        """With its cells, and those of the keys that came that have enough rows."""
        machine, came = self.machines[site], self._came[site]
        cells = self._stations[site].cells(self._shape.depth, self._shape.width, length, tick, apart=True)
        groups = np.unique(np.concatenate(came)) if came else np.empty(0, dtype=np.int64)
        self._came[site] = []
        counts = cells[self._places[groups]].min(axis=1) if len(groups) else np.empty(0)
        seen = [self._keys[each] for each in groups[counts >= machine.candidates.floor].tolist()]
        return machine.close_pane(pane, cells, seen)


def _words(recording: Recording) -> WordArray:
    assert recording.keys is not None
    return fingerprints(list(recording.keys), seed=SEED)


class SketchEngine:
    """Runs a watch on sketches over a recording."""

    def __init__(
        self, plan: WatchPlan, recording: Recording, updates: Updates, *, step: str, zone: str = "auto"
    ) -> None:  # fmt: skip
        goal = plan.goal
        assert isinstance(goal, SketchGoal)
        window, count = sketch_window(plan.window, step), len(recording.sites)
        self._clock = _Clock(plan.window, step)
        self.sites: _GaugedSites | _FrequentSites
        self.resolver: Sounder | Census
        if isinstance(goal, Frequent):
            self.sites, self.resolver = _FrequentSites(goal, window, recording), Census(terms_of(goal), count)
        else:
            self.sites = _GaugedSites(goal, window, self._clock, recording, step, zone)
            self.resolver = Sounder(gauge_of(goal, zone=zone), count)
        self.updates, self.outcome = updates, SketchOutcome()
        self._start = recording.by_site[1]
        self._step, self._sent = -1, 0
        self._at: list[tuple[int, int | None]] = []  # by site: the tick and the length of its window as it is
        self._last: tuple[float | None, tuple[tuple[str, float], ...]] | None = None

    def run(self, progress: Callable[[int, int], None] | None = None) -> SketchOutcome:
        """All steps, in order."""
        updates, total = self.updates, len(self.updates.site)
        sites, his, times, last = updates.site.tolist(), updates.hi.tolist(), updates.time, updates.last.tolist()
        reached = self._start[:-1].tolist()
        touched: list[int] = []
        if total:
            self._begin(int(times[0]))
        for at in range(total):
            site, hi = sites[at], his[at]
            time = int(times[at])
            tick = self._clock.tick(time)
            if hi > reached[site]:
                self.sites.take(site, slice(reached[site], hi), tick)
                reached[site] = hi
            touched.append(site)
            self._at[site] = tick, self._clock.length(time)
            if last[at]:
                self._close(at, touched)
                touched = []
            if progress is not None and at % _PROGRESS == 0:
                progress(at, total)
        if progress is not None:
            progress(total, total)
        self.outcome.full_syncs = self.resolver.full_syncs
        self.outcome.balanced = getattr(self.resolver, "balanced", 0)
        return self.outcome

    def _begin(self, time: int) -> None:
        """Before the first row everyone holds nothing, and is asked, as live sites are."""
        self._step = 0
        self._at = [(self._clock.tick(time) - 1, self._clock.length(time))] * len(self.sites.machines)
        for site in range(len(self.sites.machines)):
            self.sites.close(site, 0, *self._at[site])
        self._deliver(self.resolver.collect_all(0))
        self._note(-1)

    def _close(self, update: int, touched: list[int]) -> None:
        """One step: those whose windows it changed look, and what they report is resolved."""
        self._sent = 0
        self._look(update, touched)
        if self._sent:
            self.outcome.talks.append((update, self._sent))

    def _look(self, update: int, touched: list[int]) -> None:
        self._step += 1
        reports: list[tuple[int, Any]] = []
        for site in dict.fromkeys(touched):
            for message in self._closed(site):
                if isinstance(message, Report | Challenge):
                    reports.append((site, message))
                    self._send(site, COORDINATOR, message)
        if reports:
            reports.sort(key=lambda report: report[0])
            self.outcome.violations += len(reports)
            self._deliver(self.resolver.resolve(self._step, reports))
            self._note(update)

    def _closed(self, site: int) -> tuple[Message, ...]:
        machine = self.sites.machines[site]
        machine.jump(self._step)
        return self.sites.close(site, self._step, *self._at[site])

    def _deliver(self, messages: tuple[Message, ...]) -> None:
        """Until nothing is left to be said."""
        waiting = list(messages)
        while waiting:
            message = waiting.pop(0)
            site = message.site
            self._send(COORDINATOR, site, message)
            if self.sites.machines[site].closed < self._step:
                self._closed(site)
            for answer in self.sites.machines[site].receive(message):
                assert isinstance(answer, Reply | Showing)
                self._send(site, COORDINATOR, answer)
                waiting += self.resolver.receive(answer)  # type: ignore[arg-type]

    def _send(self, source: int, target: int, message: Message) -> None:
        self._sent += 1
        self.outcome.ledger.add(source, target, message)

    def _note(self, update: int) -> None:
        answer = self.resolver.answer(self._step, State.VALID, (), (), self._step)
        value = float(answer.estimates[0, 0]) if len(answer.estimates) else 0.0
        keys = tuple((answer.lists or {}).get("", {}).items())
        now = (None if np.isnan(value) else value, keys)
        if now != self._last:
            self._last = now
            self.outcome.said.append(Said(update, value, keys))
