"""A coordinator and its sites in one process, without Spark and sockets: batches come from a recording.

The same objects as live, joined by lists instead of streams. Everything that crosses is bytes.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import numpy as np

from tacit.functions.statistics import shifted
from tacit.language.plan import WatchPlan
from tacit.recording.stream import Recording
from tacit.runtime.coordinator import Addressed, Coordinator
from tacit.runtime.kept_watch import Tuning
from tacit.runtime.pane_clock import TableClock
from tacit.runtime.site_agent import SiteAgent
from tacit.runtime.site_store import SiteStore
from tacit.runtime.site_table import SiteTable
from tacit.runtime.site_watch import Witness
from tacit.runtime.store import Store
from tacit.transport.limits import MESSAGE_BYTES
from tacit.vocabulary.batches import PaneDeltas, RowBlock, SampleRows
from tacit.vocabulary.keys import group_label
from tacit.wire.codec import encode, open_envelope
from tacit.wire.control import Opening
from tacit.wire.frames import decode_frame, encode_frame

__all__ = ["Live", "RecordedBatch", "batches_of", "label"]


class RecordedBatch:
    """Some rows of a recording as a micro-batch. ``plan`` must be the one that the recording was prepared for."""

    def __init__(self, recording: Recording, rows: np.ndarray, max_time: int | None = None) -> None:
        self._recording, self._at = recording, rows
        self.rows, self.no_time = len(rows), 0
        self.max_time = max_time if max_time is not None else int(recording.t[rows].max()) if len(rows) else None

    def draw_centres(self, plan: WatchPlan) -> tuple[float | None, ...]:
        drawn = []
        for column in self._recording.centred[self._at].T:
            finite = column[np.isfinite(column)]
            drawn.append(float(finite[0]) if len(finite) else None)
        return tuple(drawn)

    def _values(self, plan: WatchPlan, centres: Sequence[float], absent: bool = False) -> np.ndarray:
        recording = self._recording
        rows = recording.absent if absent else recording.present
        return shifted(rows[self._at], plan.shifts, np.array(recording.centres), np.array(centres))

    def _entries(self, plan: WatchPlan, centres: Sequence[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple]:
        """Row (a place in ``_at``), group and values of every entry, and the keys of the groups."""
        recording = self._recording
        row, values = np.arange(len(self._at)), self._values(plan, centres)
        if recording.member is not None:
            sizes = np.diff(recording.member_ptr)[self._at]
            absent = self._values(plan, centres, absent=True)
            own = [recording.member[recording.member_ptr[at] : recording.member_ptr[at + 1]] for at in self._at]
            group = np.concatenate([np.zeros(0, np.int64), *(np.append(0, each.astype(np.int64) + 1) for each in own)])
            row = np.repeat(row, sizes + 1)
            whole = group == 0
            entries = np.where(whole[:, None], absent[row], (values - absent)[row])
            return row, group, entries, ("", *(json.dumps([key]) for key in recording.groups))
        if recording.group is None:
            return row, np.zeros(len(self._at), dtype=np.int64), values, ("",)
        return row, recording.group[self._at].astype(np.int64), values, recording.keys

    def pane_outcomes(self, wanted) -> list[PaneDeltas]:
        found = []
        for plan, centres, length in wanted:
            row, group, values, keys = self._entries(plan, centres)
            sub = self._recording.t[self._at][row] // length
            pairs, inverse = np.unique(np.stack([sub, group]), axis=1, return_inverse=True)
            rows = np.bincount(inverse, minlength=pairs.shape[1])
            sums = np.zeros((pairs.shape[1], len(plan.statistics)))
            np.add.at(sums, inverse, values)
            found.append(PaneDeltas(pairs[0], pairs[1], rows, sums, keys))
        return found

    def row_block(self, plan, centres) -> RowBlock:
        # A recording is in order already, and its place in it stands for the hash.
        row, group, values, keys = self._entries(plan, centres)
        return RowBlock(self._recording.t[self._at][row], self._at[row].astype(np.int64), group, values, keys)

    def sample(self, plan, centres, lo_us, hi_us, count) -> SampleRows:
        t = self._recording.t[self._at]
        inside = np.flatnonzero((t >= lo_us) & (t < hi_us))
        keys = self._recording.key[self._at][inside]
        least = inside[np.argsort(keys, kind="stable")[:count]]
        values = self._values(plan, centres)[least]
        return SampleRows(self._recording.key[self._at][least], values, self._recording.centred[self._at][least])


def label(group: list | None) -> str:
    """A group of an alert as replays call it; empty without GROUP BY."""
    return "" if group is None else group_label(group)


def batches_of(recording: Recording, site: int, cuts: Sequence[int], end_us: int) -> list[RecordedBatch]:
    """A site's rows in order, cut into batches; a last one only moves its clock to the end."""
    rows = np.flatnonzero(recording.site == site)
    parts = np.split(rows, [cut for cut in cuts if 0 < cut < len(rows)])
    return [
        *(RecordedBatch(recording, part) for part in parts if len(part)),
        RecordedBatch(recording, rows[:0], end_us),
    ]


class Live:
    """``pump`` carries everything that is to be carried; ``batch`` hands a site rows; crashes are methods."""

    tuning = Tuning(gather=1e9, backlog=1 << 40)

    def __init__(
        self,
        folder: Path,
        names: Sequence[str],
        table: str,
        columns: dict[str, str],
        *,
        protocol: str = "coordinator",
        witness: Witness | None = None,
        tables: Mapping[str, Sequence[str]] | None = None,
        delays_us: Mapping[str, int] | None = None,
        clock: str = "event",
    ) -> None:
        """``tables`` says which tables a site has, where that is not the one; all have the same columns."""
        self.witness = witness
        self.tables = dict.fromkeys(names, (table,)) if tables is None else tables
        self.delays_us = {} if delays_us is None else delays_us
        self.folder, self.names, self.table, self.columns, self.protocol = folder, names, table, columns, protocol
        self.now = 0.0
        self.message_bytes = MESSAGE_BYTES  # what the link of a site that starts takes
        self.wall_us = 1 << 60  # the sites' clock: later than all rows, unless a test turns it
        self.clock = clock
        self.published: dict[int, list] = {}
        self.alerts: list[dict] = []
        self.agents: dict[str, SiteAgent] = {}
        self.numbers: dict[str, int] = {}
        self.to_coordinator: list[tuple[str, bytes]] = []
        self.batches = dict.fromkeys(names, 0)  # of the first table
        self.more_batches: dict[tuple[str, str], int] = {}  # of others
        self.start_coordinator()
        for name in names:
            self.start_site(name)

    def start_coordinator(self) -> None:
        self.store = Store(self.folder / "coordinator")
        self.coordinator = Coordinator(
            self.store, now=self.now, expected=self.names, protocol=self.protocol, tuning=self.tuning, wall=lambda: 0.0
        )

    def crash_coordinator(self) -> None:
        """What was not committed is gone, and so are all links."""
        self.store.close()
        self.to_coordinator.clear()
        for agent in self.agents.values():
            agent.link_down()
        self.numbers.clear()
        self.start_coordinator()
        for name in self.running():
            self.link(name)

    def start_site(self, name: str) -> None:
        tables = [
            SiteTable(each, self.columns, TableClock(self.delays_us.get(each, 0), self.clock, 0))
            for each in self.tables[name]
        ]
        agent = SiteAgent(
            name, SiteStore(self.folder / name), tables, release="test",
            say=lambda frame, name=name: bool(self.to_coordinator.append((name, frame))) or True,
            wall_us=lambda: self.wall_us, witness=self.witness, message_bytes=self.message_bytes,
        )  # fmt: skip
        self.agents[name] = agent
        self.link(name)

    def crash_site(self, name: str) -> None:
        self.agents.pop(name).store.close()
        self.close_link(name)
        self.start_site(name)

    def cut(self, name: str) -> None:
        """A site's link breaks: what is on its way is lost, until it is linked again."""
        self.agents[name].link_down()
        self.close_link(name)

    def close_link(self, name: str) -> None:
        """The coordinator loses a link, and what was on its way."""
        self.to_coordinator = [(who, frame) for who, frame in self.to_coordinator if who != name]
        if name in self.numbers:
            self.coordinator.close(self.numbers.pop(name), self.now)

    def link(self, name: str) -> None:
        (data,) = decode_frame(self.agents[name].opening())
        opening = open_envelope(data)[2]
        assert isinstance(opening, Opening)
        self.say(self.open_link(name, opening))

    def open_link(self, name: str, opening: Opening) -> list[Addressed]:
        """The coordinator has a link to a site: what it says to that."""
        number, out = self.coordinator.open(name, opening, self.now)
        self.numbers[name] = number
        return out

    def running(self) -> list[str]:
        """The sites whose processes run."""
        return list(self.agents)

    def link_all(self, but: Container[str] = ()) -> None:
        """Link every site that has no link."""
        for name in [name for name in self.names if name in self.running() and name not in (*self.numbers, *but)]:
            self.link(name)

    def ask(self, text: str) -> list[dict]:
        results, out = self.coordinator.ask(text, self.now)
        self.say(out)
        return results

    def commit(self) -> None:
        writes, alerts = self.coordinator.take(self.now)
        self.alerts += alerts
        sql = "INSERT OR IGNORE INTO alerts (id, watch, document, kind) VALUES (?, ?, ?, ?)"
        writes += [
            (sql, (alert["id"], alert["watch"], json.dumps(alert), alert.get("kind", "alert"))) for alert in alerts
        ]
        self.store.commit(writes)

    def say(self, out: list[Addressed]) -> None:
        self.commit()
        names = {number: name for name, number in self.numbers.items()}
        for site, watch, message in out:
            if site in names:
                self.agents[names[site]].receive(encode_frame([encode(message, watch)]))

    def batch(self, name: str, batch: RecordedBatch, table: str | None = None) -> None:
        if table not in (None, self.table):
            number = self.more_batches.get((name, table), 0)
            self.agents[name].take_batch(table, "checkpoint", number, batch)
            self.more_batches[name, table] = number + 1
            return
        self.agents[name].take_batch(self.table, "checkpoint", self.batches[name], batch)
        self.batches[name] += 1

    def pump(self, seconds: float = 0.0) -> None:
        """Until nothing is said any more; then the time passes."""
        while self.to_coordinator:
            name, frame = self.to_coordinator.pop(0)
            out = []
            for data in decode_frame(frame):
                watch, _, message = open_envelope(data)
                out += self.coordinator.receive(self.numbers[name], watch, message, self.now)
            self.say(out)
        self.now += seconds
        self.say(self.coordinator.tick(self.now))

    def settle(self, rounds: int = 30, idle: Sequence[str] = ()) -> None:
        """Heartbeats and time, until everybody has heard everything; in these tables there is nothing new."""
        for _ in range(rounds):
            for agent in self.agents.values():
                agent.tick(dict.fromkeys(idle, True))
            self.pump(0.5)
