"""A system with watches of every kind on both clocks, and a kill every few seconds that waits for no recovery.

    python -m tests.end_to_end.kill_story --kills 300 --seed 1

Sites, their Java, the coordinator and the links are killed at moments from the seed, so also while they start, while
they catch up, and while others are down. What was killed is started again after a moment from the seed. When all kills
are done, everything is started, the rows end, and ``tacit.verify`` judges every pane and every alert; it has looked all
the while, so it also notices what was called valid and was changed later. The exit code is 1 unless nothing is wrong,
lost, doubled or left out, no pane is in a gap, and every answer has become valid.
"""

from __future__ import annotations

import argparse
import heapq
import json
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import tacit
from tacit.runtime.config import load_config
from tacit.verify.following import Follower
from tacit.verify.verdict import Verdict
from tacit.vocabulary import TacitError
from tests.end_to_end.every_kind import SCHEMA, sentences, steps_table, write_rows
from tests.end_to_end.feeding import BASE_S
from tests.end_to_end.system import LinkedSystem

__all__ = ["KillStory", "Outcome", "tell"]

SITES = ("north", "south")
KINDS = ("site", "java", "coordinator", "link")
EVERY_S = 12.0
RECORDED_STEPS_EACH_S = 2  # event time is faster than the clock, so that there is always something to catch up with
BURST, BURST_EVERY = 120, 60  # every so many seconds so many steps come at once
END_S = 600.0  # for everything to come back and be settled; nothing that goes well takes nearly as long
_SECOND = 1_000_000

TABLES = f"""[tables.recorded]
source = "files"
path = "recorded/{{site}}"
format = "parquet"
schema = "{SCHEMA}"
time = "ts"
watermark = "0 seconds"
clock = "event"
idle_seconds = 20

[tables.now]
source = "files"
path = "now/{{site}}"
format = "parquet"
schema = "{SCHEMA}"
time = "ts"
watermark = "4 seconds"
clock = "wall"
"""


@dataclass(frozen=True, slots=True)
class Blow:
    """What is killed, when (in seconds from the start), and how long until it is started or mended again."""

    at_s: float
    kinds: tuple[str, ...]  # the first of these that there is
    site: str
    pause_s: float


def blows(kills: int, seed: int, every_s: float) -> Iterator[Blow]:
    """All kills of a seed, one about every so many seconds."""
    dice = np.random.default_rng(seed)
    for number in range(kills):
        at_s = every_s * (number + 1 + float(dice.uniform(-0.4, 0.4)))
        kinds = tuple(dice.permutation(KINDS).tolist())
        yield Blow(at_s, kinds, SITES[int(dice.integers(len(SITES)))], float(dice.uniform(0.0, 4.0)))


class Feeder:
    """Puts rows into the folders of both tables, a file for each site and second, until it is told to end."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._seed = folder, seed
        self.steps = 0  # of the recorded table
        self._files = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Feed from now on."""
        self._thread.start()

    def end(self) -> None:
        """Feed no more; a last row far ahead closes every recorded pane at every site."""
        self._end.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure
        for place, site in enumerate(SITES):
            last = steps_table(self._seed, place, [0], [(BASE_S + self.steps + 40) * _SECOND]).slice(0, 1)
            write_rows(self._folder / "recorded", site, "end", last)

    def _run(self) -> None:
        try:
            while not self._end.wait(1.0):
                self._feed()
        except BaseException as error:
            self.failure = error

    def _feed(self) -> None:
        many = BURST if self._files % BURST_EVERY == BURST_EVERY - 1 else RECORDED_STEPS_EACH_S
        steps = range(self.steps, self.steps + many)
        for place, site in enumerate(SITES):
            recorded = steps_table(self._seed, place, steps, [(BASE_S + step) * _SECOND for step in steps])
            write_rows(self._folder / "recorded", site, f"{self._files:06d}", recorded)
            # The rows of the second before now: none is late, however long this thread had to wait.
            now = steps_table(self._seed + 1, place, [self._files], [time.time_ns() // 1000 - _SECOND])
            write_rows(self._folder / "now", site, f"{self._files:06d}", now)
        self.steps += many
        self._files += 1


@dataclass(slots=True)
class Outcome:
    """What became of a story."""

    seed: int
    kills: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)  # of processes that nobody had killed
    verdicts: list[Verdict] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        """Is nothing wrong, lost, doubled, left out, in a gap, or still not valid?"""
        return bool(self.verdicts) and all(
            each.is_good and not each.gaps and not each.apart and not each.before for each in self.verdicts
        )

    def lines(self) -> list[str]:
        """A table of it, and the first of whatever is not as it should be."""
        from tacit.cli.verify import verdict_lines

        names = (
            "watch",
            "panes",
            "wrong",
            "crossings",
            "lost",
            "alerts",
            "doubled",
            "late",
            "left out",
            "gaps",
            "apart",
        )
        rows = [names]
        for each in self.verdicts:
            left_out = sum(last - first + 1 for first, last in each.skipped) + each.unanswered + each.before
            gaps = sum(gap.last - gap.first + 1 for gap in each.gaps)
            numbers = (
                each.panes + each.unpromised, len(each.wrong), each.crossings, len(each.lost),
                each.alerts + each.changes, len(each.doubled), each.late, left_out, gaps, sum(each.apart.values()),
            )  # fmt: skip
            rows.append((each.watch, *map(str, numbers)))
        total = [sum(int(row[column]) for row in rows[1:]) for column in range(1, len(names))]
        rows.append(("all", *map(str, total)))
        widths = [max(len(row[column]) for row in rows) for column in range(len(names))]
        table = ["  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]))) for row in rows]
        killed = ", ".join(f"{kind} {count}" for kind, count in sorted(self.kills.items()))
        ended = ", ".join(f"{name} {count}" for name, count in sorted(self.ends.items())) or "none"
        head = f"seed {self.seed}: {sum(self.kills.values())} kills in {self.seconds:.0f} s ({killed})"
        head += f"; ended by themselves: {ended}"
        return [head, *table, *verdict_lines(self.verdicts)]


class KillStory:
    """One system under load, and what is done to it. Use it in a ``with``."""

    def __init__(
        self, folder: Path, kills: int, seed: int, *, every_s: float, tell: Callable[[str], None] = lambda text: None
    ) -> None:
        self.outcome = Outcome(seed)
        self._tell, self._blows = tell, list(blows(kills, seed, every_s))
        self.system = LinkedSystem(
            folder, SITES, sentences("recorded") + sentences("now"), tables=TABLES, lease=10.0, protocol="auto"
        )
        for name in SITES:
            for table in ("recorded", "now"):
                (folder / table / name).mkdir(parents=True, exist_ok=True)
        self.feeder = Feeder(folder, seed)
        self._due: list[tuple[float, int, Callable[[], None]]] = []  # what is to be started or mended, and when
        self._count = 0
        self._cut: set[str] = set()

    def __enter__(self) -> KillStory:
        return self

    def __exit__(self, *story: object) -> None:
        self.system.close()

    def run(self) -> Outcome:
        """The whole story."""
        begin = time.monotonic()
        self.feeder.start()
        for name in ("coordinator", *SITES):
            self.system.start(name)
        with tacit.connect(self.system.address) as client:
            follower = Follower(load_config(self.system.config), client, tell=self._tell)
            for blow in self._blows:
                self._until(begin + blow.at_s, follower)
                self._strike(blow)
            self._recover(follower)
            self.outcome.seconds = time.monotonic() - begin
            self.outcome.verdicts = self._judged(follower)
        return self.outcome

    def _until(self, moment: float, follower: Follower) -> None:
        looked = 0.0
        while (now := time.monotonic()) < moment:
            while self._due and self._due[0][0] <= now:
                heapq.heappop(self._due)[2]()
            self._start_what_ended()
            if now - looked > 2.0:
                looked = now
                with suppress(TacitError):
                    follower.look()
            time.sleep(max(0.0, min(0.1, moment - time.monotonic())))

    def _strike(self, blow: Blow) -> None:
        for kind in blow.kinds:
            if self._struck(kind, blow):
                self.outcome.kills[kind] = self.outcome.kills.get(kind, 0) + 1
                self._tell(f"{blow.at_s:8.1f} s  {kind} {'' if kind == 'coordinator' else blow.site}")
                return

    def _struck(self, kind: str, blow: Blow) -> bool:
        """Kill it, if it is there."""
        name = "coordinator" if kind == "coordinator" else blow.site
        match kind:
            case "link":
                if name in self._cut:
                    return False
                self._cut.add(name)
                self.system.cut(name)
                self._later(2.0 * blow.pause_s, lambda: self._mend(name))
                return True
            case "java":
                return self.system.kill_java(name)
        if name not in self.system.running:
            return False
        self.system.kill(name)
        self._later(blow.pause_s, lambda: self.system.start(name))
        return True

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._due, (time.monotonic() + seconds, self._count, work))

    def _mend(self, name: str) -> None:
        self.system.mend(name)
        self._cut.discard(name)

    def _start_what_ended(self) -> None:
        """As an operator's supervisor does."""
        for name, process in list(self.system.running.items()):
            if process.poll() is not None:
                del self.system.running[name]
                self.outcome.ends[name] = self.outcome.ends.get(name, 0) + 1
                self._tell(f"{name} ended by itself with {process.returncode}:\n{self.system.log(name)[-600:]}")
                self._later(1.0, lambda name=name: self.system.start(name))  # type: ignore[misc]

    def _recover(self, follower: Follower) -> None:
        """Everything comes back, the rows end, and all answers become valid, or nothing moves any more."""
        self._until(time.monotonic() + 10.0, follower)
        self.feeder.end()
        end, moved, before = time.monotonic() + END_S, time.monotonic(), Counter[str]()
        while time.monotonic() < end and time.monotonic() - moved < 120.0:
            self._until(time.monotonic() + 5.0, follower)
            now = self._panes(follower)
            if now is not None and now != before:
                before, moved = now, time.monotonic()
            with suppress(TacitError):
                if follower.is_at_end() and not follower.is_provisional():
                    return
        self._tell("not everything was settled in time")

    def _panes(self, follower: Follower) -> Counter[str] | None:
        try:
            return Counter({watch["watch"]: watch["pane"] or 0 for watch in follower.client.watches()})
        except TacitError:
            return None

    def _judged(self, follower: Follower) -> list[Verdict]:
        return follower.verdicts()


def tell(
    folder: Path, kills: int, seed: int, *, every_s: float = EVERY_S, say: Callable[[str], None] = lambda text: None
) -> Outcome:
    """The outcome of the story of a seed."""
    # A folder of its own, which no argument of this process names: at the end all processes that name it are killed.
    with KillStory(folder / "live", kills, seed, every_s=every_s, tell=say) as story:
        return story.run()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=float, default=EVERY_S, help="seconds between two kills")
    parser.add_argument("--folder", type=Path, default=None, help="where the system lies; else a folder that goes")
    options = parser.parse_args(arguments)
    with ExitStack() as held:
        folder = options.folder or Path(held.enter_context(tempfile.TemporaryDirectory(prefix="kill-story-")))
        outcome = tell(
            folder, options.kills, options.seed, every_s=options.every, say=lambda text: print(text, flush=True)
        )  # fmt: skip
        (folder / "outcome.json").write_text(json.dumps([each.as_dict() for each in outcome.verdicts], indent=1))
    print("\n".join(outcome.lines()))
    return 0 if outcome.is_good else 1


def _end(_number: int, _frame: object) -> None:
    raise SystemExit(143)


if __name__ == "__main__":
    for _number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(_number, _end)  # nothing is left behind
    sys.exit(main(sys.argv[1:]))
