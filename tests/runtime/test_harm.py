"""What an admitted site can say that no correct one says, and data at the edges: only that stream or watch suffers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit.protocols.messages import Heartbeat, Hello
from tacit.runtime.kept_watch import KeptWatch
from tacit.vocabulary import ProtocolError, SentenceError
from tacit.vocabulary.batches import LARGEST
from tacit.wire.codec import decode, encode
from tacit.wire.control import Beats, Counts, Offer, Sample, Tallies
from tests.runtime.light import COLUMNS, rows
from tests.runtime.live import Live
from tests.runtime.test_coordinator import BY_K, HOT, OTHER, SITES, feed, shown


@pytest.fixture
def live(tmp_path: Path) -> Live:
    return Live(tmp_path, SITES, "d", COLUMNS)


def sample(statistics: int, centres: int = 0, m: int = 1) -> Sample:
    return Sample(np.arange(m), np.ones((m, statistics)), np.ones(centres), np.ones((m, centres)))


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (Offer(0, 100, 101, "", sample(7)), "a sample with 7 statistics and 0 centres for the watch hot, which has 2"),
        (Offer(0, 100, 101, "", sample(2, 3)), "2 statistics and 3 centres"),
        (Offer(0, 100, 101, "", sample(2, 0, 65)), "a sample of 65 rows"),
        (Offer(0, -(1 << 62), 101, "", None), "beyond all times"),
        (Offer(0, 1 << 60, 1 << 60, "", None), "beyond all times"),
        (Offer(0, None, 1 << 60, "", None), "beyond all times"),
    ],
)
def test_an_offer_that_cannot_be_ends_its_stream_only(live: Live, offer: Offer, words: str) -> None:
    live.ask(HOT)
    north = live.numbers["north"]
    with pytest.raises(ProtocolError, match=words):
        live.coordinator.receive(north, 1, replace(offer, site=north), live.now)
    feed(live, range(100, 130), 5)
    live.settle(10)
    assert (shown(live)["state"], shown(live)["sites"]) == ("valid", list(SITES))


@pytest.mark.parametrize(
    "message",
    [
        Offer(0, -(1 << 63), 1, "", None),
        Offer(0, 1, (1 << 63) - 1, "", None),
        Counts((1 << 64) - 1, 0, 0, None),
        Counts(0, 0, 1 << 63, None),
        Counts(0, 0, 0, None, 1 << 63),
        Counts(0, 0, 0, -(1 << 63)),
        Tallies((1,), (Counts(1 << 63, 0, 0, None),)),
        Beats(0, (1,), (0,), ((1 << 63) - 1,), (0,), (0,), (0,)),
        Beats(0, (1,), (0,), (0,), (-(1 << 63),), (0,), (0,)),
        Hello(0, 1, 0, (1 << 63) - 1),
        Heartbeat(0, 0, 0, (1 << 63) - 1, 0),
    ],
)
def test_numbers_that_cannot_be_are_no_message(message) -> None:
    with pytest.raises(ProtocolError, match="garbled on its way"):
        decode(encode(message))


def test_panes_beyond_all_times_are_refused(live: Live) -> None:
    live.ask(HOT)
    feed(live, range(100, 130), 5)
    north, far = live.numbers["north"], 1 << 61
    for message in (
        Hello(north, 9, 0, far), Heartbeat(north, 0, far, 0, 1), Beats(north, (1,), (0,), (far,), (0,), (1,), (0,)),
        Beats(north, (1,), (0,), (0,), (far,), (1,), (0,)), Tallies((1,), (Counts(1, 1, 1, far),)),
    ):  # fmt: skip
        with pytest.raises(ProtocolError, match="beyond all times"):
            live.coordinator.receive(north, 1, message, live.now)
    feed(live, range(130, 140), 5)
    assert shown(live)["pane"] == 138


@pytest.mark.parametrize("size", [1e150, 1e308])
def test_values_at_the_edge_of_numbers_are_measured_in_a_unit_that_is_one(live: Live, size: float) -> None:
    live.ask(HOT)
    live.batch("north", rows(HOT, range(100, 101), size))
    live.batch("south", rows(HOT, range(100, 101), -size))
    feed(live, range(101, 130), 5)
    units = shown(live)["measure"]["units"]
    assert np.isfinite(units).all()
    if size > LARGEST:
        assert all("too large to be computed with" in problem for problem in shown(live)["problems"].values())
        assert sorted(shown(live)["problems"]) == ["north", "south"]
    else:
        assert (shown(live)["state"], shown(live)["problems"]) == ("valid", {})
        assert shown(live)["answer"][0]["value"] == 5.0


def test_a_watch_that_fails_does_so_alone(live: Live, monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    live.ask(HOT)
    live.ask(OTHER)
    feed(live, range(100, 130), 5)
    tick = KeptWatch.tick

    def broken(self, *args):
        if self.plan.name == "hot":
            raise OverflowError("cannot convert float infinity to integer")
        return tick(self, *args)

    monkeypatch.setattr(KeptWatch, "tick", broken)
    live.pump(0.1)
    feed(live, range(130, 150), 11)
    assert (shown(live)["state"], shown(live, "other")["state"]) == ("failed", "valid")
    assert "OverflowError: cannot convert float" in shown(live)["problems"]["coordinator"]
    assert [(alert["watch"], alert["side"]) for alert in live.alerts] == [("other", "above")]
    for change in ("PAUSE WATCH hot", "RESUME WATCH hot", "ALTER WATCH hot SET THRESHOLD 9"):
        with pytest.raises(SentenceError, match="hot has failed and cannot go on"):
            live.ask(change)
    assert sum("is kept no more" in record.message for record in caplog.records) == 1
    monkeypatch.undo()
    live.crash_coordinator()
    feed(live, range(150, 152), 11)
    assert shown(live)["state"] == "valid"
    assert {alert["watch"] for alert in live.alerts} == {"hot", "other"}


def test_a_watch_whose_answer_cannot_be_told_does_so_alone(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.ask(HOT)
    live.ask(OTHER)
    feed(live, range(100, 130), 5)
    publish = KeptWatch._publish

    def broken(self, answer):
        if self.plan.name == "hot":
            raise ValueError("no")
        publish(self, answer)

    monkeypatch.setattr(KeptWatch, "_publish", broken)
    feed(live, range(130, 150), 11)
    assert (shown(live)["state"], shown(live, "other")["state"]) == ("failed", "valid")
    assert [alert["watch"] for alert in live.alerts] == ["other"]


def test_too_many_groups_end_that_watch_only(live: Live, monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    monkeypatch.setattr("tacit.runtime.kept_watch.GROUPS_MAX", 3)
    live.ask(BY_K)
    live.batch("north", rows(BY_K, range(100, 130), 1, keys=["a", "b"]))
    live.batch("south", rows(BY_K, range(100, 130), 2, keys=["c", "d"]))
    live.settle(60)
    assert shown(live, "by_k")["state"] == "failed"  # and no stream has ended of it
    assert "more than 3 groups" in shown(live, "by_k")["problems"]["coordinator"]
    assert sum("is kept no more" in record.message for record in caplog.records) == 1
    live.batch("north", rows(BY_K, range(130, 150), 1, keys=["e", "f"]))
    live.settle(60)
    assert max(len(agent.watches[1].waiting) for agent in live.agents.values()) <= 2
