"""A site that was away for longer than its lease: the others went on, and it must catch up and count again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit.language.sentence import parse_watch
from tacit.recording.stream import Recording
from tests.runtime.live import Live, RecordedBatch

WATCH = "CREATE WATCH w AS SELECT SUM(v) AS s FROM t WINDOW LAST 4 SECONDS EVERY 1 SECOND ALERT WHEN s > 20 MARGIN 1"
SECONDS = 60


@pytest.mark.parametrize("crash", [False, True])
def test_a_site_that_others_went_on_without_catches_up(tmp_path: Path, crash: bool) -> None:
    t = np.repeat(np.arange(SECONDS), 2) * 1_000_000
    value = 1.0 + np.arange(2 * SECONDS) % 7
    columns = np.stack([value, np.ones(2 * SECONDS)], axis=1)[:, : len(parse_watch(WATCH).statistics)]
    recording = Recording.from_arrays(t=t, site=np.tile([0, 1], SECONDS), present=columns)
    recording = replace(recording, key=np.arange(2 * SECONDS), centred=np.empty((2 * SECONDS, 0)))
    live = Live(tmp_path, ("a", "b"), "t", {"ts": "timestamp", "v": "double"})
    live.ask(WATCH)

    def feed(name: str, begin: int, end: int) -> None:
        place = live.names.index(name)
        live.batch(name, RecordedBatch(recording, np.arange(2 * begin + place, 2 * end + place, 2)))

    for name in live.names:
        feed(name, 0, 10)
    live.settle()
    watch = next(iter(live.coordinator.watches.values()))
    assert watch.settlement is not None
    assert watch.settlement.settled == 8
    feed("a", 10, 30)
    for _ in range(60):  # b says nothing, and its lease runs out
        live.agents["a"].tick({})
        live.pump(0.5)
    assert watch.settlement.settled == 28
    if crash:
        live.crash_site("b")
    live.settle(4)  # b hears how far the others are before it has read on
    feed("b", 10, 20)
    live.settle(4)
    feed("b", 20, 40)
    feed("a", 30, 40)
    live.settle()
    assert watch.settlement.settled == 38
    assert watch.state.value == "valid"
    exact = value[2 * 35 : 2 * 39].sum()
    ((side, said),) = [(each.side, each.value) for each in watch.said.values()]
    assert (side == 1) == (exact > 20), (exact, said)
