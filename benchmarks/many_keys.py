"""A ranking over millions of distinct keys at one site: its memory, and how long a pane takes.

A whole site agent with its store, and a coordinator, in one process; batches are made here, without Spark and sockets.
The first panes bring all keys, further ones rows of keys that are there. The baseline is what the same keys take as a
list and a dict of Python, without windows, scores and protocol.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.common import parser, show
from tacit.language.plan import WatchPlan
from tacit.pipelines.batches import Wanted
from tacit.runtime.coordinator import Addressed, Coordinator
from tacit.runtime.kept_watch import Tuning
from tacit.runtime.memory import give_back_arrays
from tacit.runtime.pane_clock import TableClock
from tacit.runtime.site_agent import SiteAgent
from tacit.runtime.site_store import SiteStore
from tacit.runtime.site_table import SiteTable
from tacit.runtime.store import Store
from tacit.vocabulary import InputError
from tacit.vocabulary.batches import PaneDeltas, RowBlock, SampleRows
from tacit.wire.codec import encode, open_envelope
from tacit.wire.control import Opening
from tacit.wire.frames import decode_frame, encode_frame

DESCRIPTION = "a ranking over ten million distinct keys at one site: memory, and seconds for a pane"
WATCH = (
    "CREATE WATCH top AS SELECT k, COUNT(*) AS n FROM d WINDOW {window} EVERY 1 SECOND GROUP BY k"
    " ORDER BY n DESC LIMIT 20 WITHIN 5"
)
SECOND = 1_000_000


class MadeBatch:
    """One second's rows of these clients: each key once, and the popular ones more often."""

    def __init__(self, second: int, clients: np.ndarray, dice: np.random.Generator) -> None:
        self._second, self._clients, self._dice = second, clients, dice
        self.rows, self.no_time, self.max_time = len(clients), 0, (second + 1) * SECOND

    def draw_centres(self, plan: WatchPlan) -> tuple[float | None, ...]:
        return ()

    def pane_outcomes(self, wanted: Sequence[Wanted]) -> list[PaneDeltas | InputError]:
        keys = tuple(f'["client-{client}"]' for client in self._clients.tolist())
        rows = 1 + self._dice.zipf(2.0, len(keys)) // 50
        sub = np.full(len(keys), self._second)
        return [PaneDeltas(sub, np.arange(len(keys)), rows, rows[:, None].astype(np.float64), keys) for _ in wanted]

    def row_block(self, plan: WatchPlan, centres: tuple[float, ...]) -> RowBlock:
        raise NotImplementedError

    def sample(self, plan: WatchPlan, centres: tuple[float, ...], lo_us: int, hi_us: int, count: int) -> SampleRows:
        raise NotImplementedError


class OneSite:
    """A coordinator and a site, joined by lists."""

    def __init__(self, folder: Path, sentence: str) -> None:
        self.now, self._frames, self._batch = 0.0, list[bytes](), 0
        self.store = Store(folder / "coordinator")
        self.coordinator = Coordinator(self.store, now=0.0, expected=["s"], tuning=Tuning())
        table = SiteTable("d", {"k": "string"}, TableClock(0, "event", 0))
        self.agent = SiteAgent(
            "s", SiteStore(folder / "s"), [table], release="bench",
            say=lambda frame: self._frames.append(frame) is None, wall_us=lambda: 1 << 60,
        )  # fmt: skip
        (data,) = decode_frame(self.agent.opening())
        opening = open_envelope(data)[2]
        assert isinstance(opening, Opening)
        self._number, out = self.coordinator.open("s", opening, 0.0)
        self._say(out)
        self._say(self.coordinator.ask(sentence, 0.0)[1])

    def take(self, batch: MadeBatch) -> None:
        """A batch, and all that is said because of it."""
        self.agent.take_batch("d", "bench", self._batch, batch)
        self._batch += 1
        for _ in range(4):
            self.agent.tick({})
            while self._frames:
                for data in decode_frame(self._frames.pop(0)):
                    watch, _, message = open_envelope(data)
                    self._say(self.coordinator.receive(self._number, watch, message, self.now))
            self.now += 0.5
            self._say(self.coordinator.tick(self.now))

    def _say(self, out: list[Addressed]) -> None:
        writes, _ = self.coordinator.take()
        self.store.commit(writes)
        for _, watch, message in out:
            self.agent.receive(encode_frame([encode(message, watch)]))


def main(arguments: list[str]) -> int:
    """Measure and print; 1 when there is no answer, or the process took 2 GB."""
    options = _parser().parse_args(arguments)
    keys, block = (200_000, 50_000) if options.quick else (options.keys, options.block)
    dice = np.random.default_rng(1)
    give_back_arrays()  # as a site's runner does
    rows = []
    before = _megabytes()
    with tempfile.TemporaryDirectory() as folder:
        site = OneSite(Path(folder), WATCH.format(window=options.window))
        clients, seconds = dice.permutation(np.arange(keys, dtype=np.int32)), []
        for second, first in enumerate(range(0, keys, block)):
            begin = perf_counter()
            site.take(MadeBatch(second, clients[first : first + block], dice))
            seconds.append(perf_counter() - begin)
        rows.append(("keys come", f"{keys:,}", f"{np.mean(seconds):.2f}", f"{max(seconds):.2f}", _megabytes()))
        later = []
        for second in range(len(seconds), len(seconds) + 30):
            begin = perf_counter()
            site.take(MadeBatch(second, dice.choice(clients, block // 10), dice))
            later.append(perf_counter() - begin)
        rows.append(("keys are there", f"{keys:,}", f"{np.mean(later):.2f}", f"{max(later):.2f}", _megabytes()))
        watch = site.coordinator.find("top")
    rows.append(("baseline: a list and a dict", f"{keys:,}", "", "", _as_list_and_dict(keys)))
    show(
        f"one site; the process had {before} MB before; the answer is {watch.state.value}",
        ("when", "keys", "seconds a pane", "at most", "peak MB"),
        rows,
    )
    return 0 if watch.answered is not None and (options.quick or _megabytes() < 2_000) else 1


def _as_list_and_dict(keys: int) -> int:
    """The peak of a process that has nothing but the keys, as Python would."""
    code = (
        f"keys = ['[\"client-%d\"]' % client for client in range({keys})]\n"
        "places = {key: at for at, key in enumerate(keys)}\n"
        "print(next(int(line.split()[1]) // 1024 for line in open('/proc/self/status') if 'VmHWM' in line))"
    )
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)


def _megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _parser() -> argparse.ArgumentParser:
    options = parser("many_keys", DESCRIPTION)
    options.add_argument("--keys", type=int, default=10_000_000)
    options.add_argument("--block", type=int, default=500_000, help="keys that come with a pane")
    options.add_argument("--window", default="SINCE START OF YEAR", help="as in a sentence, without WINDOW")
    return options
