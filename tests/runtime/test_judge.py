"""The observer of `tacit demo`: it finds a crossing that nobody was told of, and an answer that was wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.language import parse_watch
from tests.runtime.judge import Judge, Verdict
from tests.runtime.live import Live, batches_of
from tests.runtime.recordings import recorded

SITES = ("s0", "s1")
S = 1_000_000
WATCH = "CREATE WATCH w AS SELECT AVG(x) AS m FROM d WINDOW LAST 5 SECONDS EVERY 1 SECOND ALERT WHEN m > 8 MARGIN 1"


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """Two sites whose mean rises above 8, falls, and rises again; ``live.judge`` has seen it."""
    judge = Judge()
    made = Live(tmp_path, SITES, "d", {"x": "double"}, witness=judge.witness)
    made.judge = judge
    made.ask(WATCH)
    seconds = np.repeat(np.arange(60), 2)
    x = np.where((seconds // 20) % 2 == 0, 12.0, 2.0)
    recording = recorded(parse_watch(WATCH), seconds * S, np.tile([0, 1], 60).astype(np.int32), {"x": x}, SITES)
    for site, name in enumerate(SITES):
        for batch in batches_of(recording, site, [30], 60 * S):
            made.batch(name, batch)
    made.settle(100)
    return made


def verdict(live: Live) -> Verdict:
    (found,) = live.judge.verdicts(live.store)
    return found


def test_every_crossing_with_its_alert_is_good(live: Live) -> None:
    assert verdict(live).is_good
    assert (verdict(live).crossings, verdict(live).alerts) == (3, 3)


def test_a_crossing_without_an_alert_is_found(live: Live) -> None:
    lost = live.alerts[1]
    live.store.commit([("DELETE FROM alerts WHERE id = ?", (lost["id"],))])
    assert not verdict(live).is_good
    (untold,) = verdict(live).untold
    assert untold.endswith(": below")
    assert int(untold.split()[1].rstrip(":")) == pytest.approx(lost["pane"], abs=2)


def test_a_wrong_answer_is_found(live: Live) -> None:
    live.store.commit([("UPDATE changes SET side = 1 - side", ())])
    assert not verdict(live).is_good
    assert verdict(live).wrong
