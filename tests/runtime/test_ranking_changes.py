"""Rankings live that are altered, paused, resumed and kept by topico; sites that are away, and scores too large."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.protocols.messages import Heartbeat, Hello
from tacit.vocabulary import ProtocolError
from tests.runtime.judge import Judge
from tests.runtime.live import Live, RecordedBatch, label
from tests.runtime.recordings import recorded

SITES = ("s0", "s1", "s2")
COLUMNS = {"k": "string", "x": "bigint"}
SECOND = 1_000_000
WATCH = (
    "CREATE WATCH w AS SELECT k, COUNT(*) AS n FROM d WINDOW LAST {window} SECONDS EVERY 1 SECOND GROUP BY k"
    " ORDER BY n DESC LIMIT 2{more}"
)


class Fed:
    """Three sites; every second brings rows of which the test knows everything."""

    def __init__(self, folder: Path, *, window: int = 10, more: str = "", watch: str = WATCH) -> None:
        self.judge = Judge()
        self.live = Live(folder, SITES, "d", COLUMNS, witness=self.judge.witness)
        self.sentence = watch.format(window=window, more=more)
        self.plan = parse_watch(self.sentence)
        self.live.ask(self.sentence)
        self.window, self.second = window, 0
        self.rows: list[tuple[int, str]] = []

    def feed(self, seconds: int, counts: dict[str, int], *, away: tuple[str, ...] = ()) -> None:
        """So many rows of each key at each site and second."""
        for _ in range(seconds):
            for name in SITES:
                if name in away:
                    continue
                keys = [key for key, many in counts.items() for _ in range(many)]
                t = np.full(len(keys), self.second * SECOND, dtype=np.int64)
                owner = np.full(len(keys), SITES.index(name), dtype=np.int32)
                columns = {"k": keys, "x": [1] * len(keys)}
                recording = recorded(self.plan, t, owner, columns, SITES)
                self.live.batch(name, RecordedBatch(recording, np.arange(len(keys)), (self.second + 1) * SECOND))
                self.rows += [(self.second, key) for key in keys]
            self.second += 1
            self.live.settle(3)

    @property
    def members(self) -> list[str]:
        (shown,) = self.live.ask("SHOW WATCH w")
        return sorted(label(row["object"]) for row in shown["watch"]["answer"])

    @property
    def state(self) -> str:
        (shown,) = self.live.ask("SHOW WATCH w")
        return str(shown["watch"]["state"])

    def truth(self) -> Counter[str]:
        return Counter(key for at, key in self.rows if at >= self.second - self.window)

    def judged(self) -> int:
        """The panes that were judged; none may be wrong."""
        self.live.commit()
        verdicts = self.judge.verdicts(self.live.store)
        assert [verdict.wrong for verdict in verdicts] == [()] * len(verdicts)
        return sum(verdict.panes for verdict in verdicts)


def test_another_error_while_it_runs(tmp_path: Path) -> None:
    fed = Fed(tmp_path, more=" WITHIN 100")
    fed.feed(6, {"a": 3, "b": 2, "c": 1})
    assert fed.members == ["a", "b"]
    fed.feed(15, {"a": 3, "b": 1, "c": 2})
    assert fed.members == ["a", "b"]  # 60 against 30 is within 100
    before = len(fed.live.alerts)
    fed.live.ask("ALTER WATCH w SET WITHIN 5")
    fed.feed(4, {"a": 3, "b": 1, "c": 2})
    assert (fed.members, fed.state) == (["a", "c"], "valid")
    (alert,) = fed.live.alerts[before:]
    assert (alert["entered"], alert["left"], alert["side"], alert["value"]) == ([["c"]], [["b"]], None, None)
    assert [name for name, _ in alert["ranking"]] == [["a"], ["c"]]
    assert fed.judged() > 15


def test_paused_and_resumed(tmp_path: Path) -> None:
    fed = Fed(tmp_path)
    fed.feed(6, {"a": 3, "b": 2, "c": 1})
    fed.live.ask("PAUSE WATCH w")
    fed.feed(3, {"a": 1, "b": 1, "c": 9})
    assert fed.state == "paused"
    fed.live.crash_coordinator()
    assert fed.state == "paused"
    fed.live.ask("RESUME WATCH w")
    fed.feed(4, {"a": 1, "b": 0, "c": 9})
    assert (fed.state, fed.members) == ("valid", ["a", "c"])


def test_a_coordinator_that_crashes_goes_on(tmp_path: Path) -> None:
    fed = Fed(tmp_path)
    fed.feed(5, {"a": 3, "b": 2, "c": 1})
    fed.live.crash_coordinator()
    assert fed.members == ["a", "b"]
    fed.feed(12, {"a": 3, "b": 1, "c": 2})
    assert (fed.state, fed.members) == ("valid", ["a", "c"])
    assert fed.judged() > 10


def test_a_site_that_is_away_is_named_and_comes_back(tmp_path: Path) -> None:
    fed = Fed(tmp_path)
    fed.feed(6, {"a": 3, "b": 2, "c": 1})
    fed.live.cut("s2")
    fed.live.now += 60.0
    fed.feed(8, {"a": 3, "b": 1, "c": 4}, away=("s2",))
    (shown,) = fed.live.ask("SHOW WATCH w")
    assert (shown["watch"]["state"], [each["site"] for each in shown["watch"]["stale"]]) == ("stale", ["s2"])
    fed.live.link("s2")
    fed.feed(12, {"a": 1, "b": 1, "c": 4})
    assert (fed.state, fed.members) == ("valid", ["a", "c"])
    assert fed.judged() > 5


def test_two_rankings_share_their_windows(tmp_path: Path) -> None:
    fed = Fed(tmp_path)
    fed.feed(4, {"a": 3, "b": 2, "c": 1})
    fed.live.ask(fed.sentence.replace("WATCH w", "WATCH v").replace("LIMIT 2", "LIMIT 1"))
    fed.feed(4, {"a": 1, "b": 9, "c": 1})
    (shown,) = fed.live.ask("SHOW WATCH v")
    assert [label(row["object"]) for row in shown["watch"]["answer"]] == ["b"]
    assert fed.members == ["a", "b"]
    assert len({id(watch.data) for watch in fed.live.agents["s0"].watches.values()}) == 1
    assert fed.judged() > 8


def test_topico_has_the_true_list_when_counts_stand_still(tmp_path: Path) -> None:
    fed = Fed(tmp_path, window=100, more=" USING topico")
    fed.feed(4, {"a": 3, "b": 2, "c": 1})
    fed.feed(6, {"a": 1, "b": 0, "c": 5})
    fed.feed(6, {})
    (shown,) = fed.live.ask("SHOW WATCH w")
    rows = {label(row["object"]): row["value"] for row in shown["watch"]["answer"]}
    assert rows == dict(fed.truth().most_common(2))
    assert (shown["watch"]["state"], shown["watch"]["protocol"]) == ("filling", "topico")
    assert "an estimate" in shown["watch"]["guarantee"]
    fed.live.crash_coordinator()
    fed.live.crash_site("s1")
    fed.feed(4, {})
    (shown,) = fed.live.ask("SHOW WATCH w")
    assert {label(row["object"]): row["value"] for row in shown["watch"]["answer"]} == rows


@pytest.mark.parametrize("more", ["", " USING topico"])
def test_keys_that_need_care(tmp_path: Path, more: str) -> None:
    fed = Fed(tmp_path, more=more)
    fed.feed(6, {'he said "no"': 3, "ü, ö": 2, "": 1})
    assert fed.members == ["'ü, ö'", 'he said "no"']


@pytest.mark.parametrize("more", ["", " USING topico"])
def test_a_clock_may_leap_over_years(tmp_path: Path, more: str) -> None:
    """Nobody walks through forty million panes one by one, and none of them is skipped."""
    fed = Fed(tmp_path, more=more)
    fed.feed(5, {"a": 3, "b": 2, "c": 1})
    fed.second += 40_000_000
    fed.feed(8, {"x": 3, "y": 2, "a": 1})
    fed.live.settle(40)
    assert fed.members == ["x", "y"]


def test_a_version_beyond_all_ends_the_stream_that_said_it(tmp_path: Path) -> None:
    fed = Fed(tmp_path)
    fed.feed(4, {"a": 3, "b": 2, "c": 1})
    site = fed.live.numbers["s2"]
    for version in (2**63 - 1, 2**64 - 1):
        with pytest.raises(ProtocolError, match="told a zone of version"):
            fed.live.coordinator.receive(site, 1, Heartbeat(site, 1, 3, 3, version), fed.live.now)
    fed.feed(8, {"a": 3, "b": 2, "c": 1})
    assert (fed.state, fed.members) == ("valid", ["a", "b"])


def test_what_a_site_calls_its_session_ends_with_its_stream(tmp_path: Path) -> None:
    fed = Fed(tmp_path)
    fed.feed(4, {"a": 3, "b": 2, "c": 1})
    site = fed.live.numbers["s2"]
    fed.live.say(fed.live.coordinator.receive(site, 1, Hello(site, 2**40, 2_000, 2_000), fed.live.now))
    fed.live.crash_site("s2")
    fed.live.settle(20)
    fed.feed(8, {"a": 3, "b": 2, "c": 1})
    assert (fed.state, fed.members) == ("valid", ["a", "b"])
