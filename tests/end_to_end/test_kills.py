"""kill -9 of every process, and cut connections, while rows keep coming: nothing is lost, doubled or wrongly said.

Two ways to be killed. *Within the lease* everybody is back before a site counts as stale: then the panes wait, and the
whole story, every answer and every alert, is that of a replay. *Beyond the lease* the others go on without the site:
answers say so, and every answer that does not say so is true.

In every check each blow falls once and either way has two of them; `make long` has ten rounds of all of them both ways.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.end_to_end.comparing import alerts_follow_from_answers, same_as_replay
from tests.end_to_end.feeding import BASE_S, TABLES, Feeder
from tests.end_to_end.judging import (
    RANKING,
    RANKING_SENTENCE,
    SKETCH_SENTENCES,
    SKETCHED,
    WATCHES,
    Live,
    S,
    complaints,
    ranking_complaints,
    read_live,
    replayed,
    script,
    sketch_complaints,
)
from tests.end_to_end.system import LinkedSystem, until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("live")]

MANY = len(WATCHES) + 1 + len(SKETCHED)

SITES = ("north", "south")
KINDS = ("coordinator", "site", "java", "link")
PROTOCOLS = ("coordinator", "broadcast")
AFTER_S = 20.0  # beyond the lease, until everything is valid again; 5 where little else runs
PACE_S = 0.4
ROUNDS = 10


class Story:
    """A running system under load, and what is done to it."""

    def __init__(self, folder: Path, *, lease: float, seed: int, protocol: str) -> None:
        self.lease, self.dice = lease, np.random.default_rng(seed)
        watches = f"{script()}{RANKING_SENTENCE};\n{SKETCH_SENTENCES}"
        self.system = LinkedSystem(folder / "live", SITES, watches, tables=TABLES, lease=lease, protocol=protocol)
        self.feeder = Feeder(self.system.folder, SITES, seed=seed, pause_s=PACE_S)
        self.waits: list[tuple[str, float]] = []

    def __enter__(self) -> Story:
        return self

    def __exit__(self, *story: object) -> None:
        self.feeder.end()
        self.system.close()

    def begin(self) -> None:
        """Until every watch is valid for the first time."""
        self.feeder.start()
        self.system.start_all()
        until(self._all_valid, story=self._story)

    def strike(self, kind: str) -> None:
        """At a random moment of the load, one blow; what does not come back by itself is started again."""
        moment = self.feeder.steps + int(self.dice.integers(1, 8)) + float(self.dice.random())
        until(lambda: self.feeder.steps >= int(moment))
        time.sleep(PACE_S * (moment % 1.0))  # between two files, not with one
        name = SITES[int(self.dice.integers(len(SITES)))]
        match kind:
            case "coordinator":
                self.system.kill("coordinator")
                self.system.start("coordinator")
                self.system.wait_for_coordinator()
            case "site":
                self._kill_site(name)
            case "java":
                before = self.system.reads(name), self.system.batches(name)
                assert self.system.kill_java(name)
                self._wait_until_it_reads(name, *before)
            case "link":
                self._cut(name)
        self._valid_again(kind)

    def end(self) -> Live:
        """The last panes are closed, everybody ends in order, and the store is read."""
        last = self.feeder.finish()
        panes = {**{watch.name: watch.pane_us for watch in WATCHES}, RANKING: S, **dict.fromkeys(SKETCHED, S)}
        until(lambda: all(self._step(name, pane) >= last - 1 for name, pane in panes.items()), story=self._story)
        until(self._all_valid, story=self._story)
        for name in (*SITES, "coordinator"):
            # By an interrupt: a Spark that was started anew must not have taken it over.
            assert self.system.stop(name, by=signal.SIGINT) == 0, self.system.log(name)
        return read_live(self.system.store)

    def _kill_site(self, name: str) -> None:
        (java,) = self.system.javas(name)
        before = self.system.reads(name), self.system.batches(name)
        self.system.kill(name)
        until(lambda: not _runs(java), seconds=60, story=lambda: f"the Java of site {name} outlives it")
        self.system.start(name)
        self._wait_until_it_reads(name, *before)

    def _wait_until_it_reads(self, name: str, reads: int, batches: int) -> None:
        """It is linked up, its queries run, and the rows that came meanwhile are in its windows.

        The first batch may be one that Spark had planned before the blow; the next holds all that came since.
        """
        self.system.wait_for_site(name, reads + 1)
        until(lambda: self.system.batches(name) >= batches + 2, story=self._story)

    def _cut(self, name: str) -> None:
        self.system.cut(name)
        until(lambda: self.system.is_offline(name), story=self._story)
        if self.lease < 10:
            self._wait_for_stale_answers(name)
        else:
            moment = self.feeder.steps + 4
            until(lambda: self.feeder.steps >= moment)
        self.system.mend(name)
        until(lambda: self.system.is_online(name), story=self._story)

    def _wait_for_stale_answers(self, name: str) -> None:
        """Every watch counts the site as stale, and then answers a pane without it."""

        def lacking() -> dict[str, int]:
            watches = self.system.watches()
            panes = {watch: said["pane"] for watch, said in watches.items() if _lacks(said, name)}
            return panes if len(panes) == MANY else {}

        first = until(lacking, story=self._story)
        until(lambda: (now := lacking()) and all(now[watch] > first[watch] for watch in first), story=self._story)

    def _valid_again(self, kind: str) -> None:
        """All is valid, as of a later pane than when everybody was ready."""
        begin = time.monotonic()
        watches = until(self._all_watches, story=self._story)
        panes = {name: watch["pane"] or 0 for name, watch in watches.items()}

        def is_so() -> bool:
            watches = self._all_watches()
            return bool(watches) and all(
                watch["state"] == "valid" and watch["pane"] > panes[name] for name, watch in watches.items()
            )

        until(is_so, seconds=self.lease + AFTER_S, story=lambda: (kind, panes, self._story()))
        self.waits.append((kind, round(time.monotonic() - begin, 1)))

    def _all_valid(self) -> bool:
        watches = self._all_watches()
        return bool(watches) and all(watch["state"] == "valid" for watch in watches.values())

    def _all_watches(self) -> dict[str, dict[str, Any]]:
        """All that there are; nothing where nobody answers."""
        watches = self.system.watches()
        return watches if len(watches) == MANY else {}

    def _step(self, name: str, pane_us: int) -> int:
        watch = self.system.watches().get(name)
        return -1 if watch is None or watch["pane"] is None else (watch["pane"] + 1) * pane_us // 1_000_000 - BASE_S - 1

    def _story(self) -> str:
        watches = self.system.watches().values()
        said = [(watch["watch"], watch["state"], watch["pane"], watch["stale"]) for watch in watches]
        logs = [f"--- {name}\n{self.system.log(name)[-1500:]}" for name in (*SITES, "coordinator")]
        return f"{said} at step {self.feeder.steps}\n" + "\n".join(logs)


def _lacks(watch: dict[str, Any], name: str) -> bool:
    return any(each["site"] == name for each in watch["stale"])


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _run(
    folder: Path, *, lease: float, seed: int, kinds: Iterable[str], protocol: str = "coordinator"
) -> tuple[Story, Live]:  # fmt: skip
    with Story(folder, lease=lease, seed=seed, protocol=protocol) as story:
        story.begin()
        for kind in kinds:
            story.strike(kind)
        live = story.end()
        print(f"seed {seed}: valid again after", story.waits)
    rows, end_us = story.feeder.rows, (BASE_S + story.feeder.steps) * 1_000_000
    wrong = [each for watch in WATCHES for each in complaints(watch, live.told[watch.name], rows, end_us)]
    wrong += ranking_complaints(story.system.store, rows, end_us)
    wrong += sketch_complaints(story.system.store, rows, end_us)
    assert wrong == [], f"seed {seed}: {wrong[:10]}"
    ids = [alert["id"] for alert in live.alerts]
    assert len(set(ids)) == len(ids)
    sunk = [json.loads(line) for line in story.system.alerts_file.read_text().splitlines()]
    assert {each["id"]: each for each in sunk} == {each["id"]: each for each in live.alerts}
    assert list(dict.fromkeys(each["id"] for each in sunk)) == ids  # in order, and each at least once
    for watch in WATCHES:
        alerts_follow_from_answers(watch, live.told[watch.name])
    return story, live


def _kinds(seed: int) -> Iterator[str]:
    dice = np.random.default_rng([seed, 1])
    for _ in range(ROUNDS):
        yield from dice.permutation(KINDS).tolist()


def _like_the_replay(folder: Path, story: Story, live: Live, protocol: str = "coordinator") -> None:
    assert all("stale" not in told.states.values() for told in live.told.values())
    story.feeder.write_all(folder / "all.parquet")
    (folder / "replay").mkdir()
    reports = replayed(folder / "replay", folder / "all.parquet", WATCHES, protocol)
    for watch in WATCHES:
        same_as_replay(watch, live.told[watch.name], *reports[watch.name], story.feeder.steps)


def _all_made_good(live: Live) -> None:
    """Every watch was stale (the blow waited for that), and every pane was settled late with everybody."""
    for watch in WATCHES:
        states = list(live.told[watch.name].states.values())
        assert set(states) <= {"filling", "valid"}, watch.name
        assert states[-1] == "valid"


@pytest.mark.middle
def test_killed_within_the_lease_the_story_is_that_of_a_replay(tmp_path: Path) -> None:
    story, live = _run(tmp_path, lease=120, seed=11, kinds=("site", "coordinator"))
    _like_the_replay(tmp_path, story, live)


@pytest.mark.middle
def test_killed_beyond_the_lease_what_is_called_valid_is_true(tmp_path: Path) -> None:
    _, live = _run(tmp_path, lease=4, seed=12, kinds=("java", "link"))
    _all_made_good(live)


@pytest.mark.long
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_killed_often_within_the_lease(tmp_path: Path, protocol: str) -> None:
    story, live = _run(tmp_path, lease=120, seed=13, kinds=_kinds(13), protocol=protocol)
    _like_the_replay(tmp_path, story, live, protocol)


@pytest.mark.long
@pytest.mark.parametrize("protocol", [*PROTOCOLS, "recentre"])
def test_killed_often_beyond_the_lease(tmp_path: Path, protocol: str) -> None:
    _, live = _run(tmp_path, lease=4, seed=14, kinds=_kinds(14), protocol=protocol)
    _all_made_good(live)
