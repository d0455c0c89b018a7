"""Rankings live: the alerts are those of ``replay --step pane``; after crashes every answer is right all the same."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from tacit.functions.goals import Top
from tacit.language import parse_watch
from tacit.language.plan import WatchPlan
from tacit.recording.stream import Recording
from tacit.recording.topk_replay import replay_topk
from tacit.vocabulary.keys import key_label, split_key
from tests.runtime.live import Live, batches_of, label
from tests.runtime.recordings import recorded
from tests.runtime.stories import BatchFaults, play_by_batch, settle_until
from tests.tiers import parametrize_in_tiers

SITES = ("s0", "s1", "s2", "s3")
COLUMNS = {"k": "string", "r": "string", "x": "bigint", "y": "bigint"}
GOALS = {
    "counts": "SELECT k, COUNT(*) AS n FROM d {window} GROUP BY k ORDER BY n DESC LIMIT 3",
    "within": "SELECT k, COUNT(*) AS n FROM d WHERE y > 2 {window} GROUP BY k ORDER BY n DESC LIMIT 4 WITHIN 3",
    "sums": "SELECT k, SUM(x) AS n FROM d {window} GROUP BY k ORDER BY n DESC LIMIT 2 WITHIN 5",
    "least": "SELECT k, COUNT(*) AS n FROM d {window} GROUP BY k ORDER BY n ASC LIMIT 2",
    "per": "SELECT k, r, COUNT(*) AS n FROM d {window} GROUP BY k ORDER BY n DESC LIMIT 2 PER r",
    "ranked": "SELECT k, COUNT(*) AS n FROM d {window} GROUP BY k ORDER BY n DESC LIMIT 3 RANKED WITHIN 6",
    "sum": "SELECT k, 2 * SUM(x) + COUNT(*) AS n FROM d {window} GROUP BY k ORDER BY n DESC LIMIT 3",
}
WINDOWS = (
    "WINDOW LAST 60 SECONDS EVERY 5 SECONDS", "WINDOW LAST 60 SECONDS EVERY 7 SECONDS",
    "WINDOW LAST 50 ROWS EVERY 5 SECONDS", "WINDOW SINCE START OF MINUTE EVERY 5 SECONDS", "",
)  # fmt: skip


class Story:
    """One random recording of a ranking, live."""

    def __init__(self, seed: int, folder: Path, goal: str, *, crashes: bool, seconds: int = 400) -> None:
        rng = np.random.default_rng(seed)
        window = WINDOWS[int(rng.integers(len(WINDOWS)))]
        self.sentence = f"CREATE WATCH w AS {GOALS[goal].format(window=window)}"
        self.plan: WatchPlan = parse_watch(self.sentence)
        n = int(rng.integers(50, 1500))
        t = np.sort(rng.integers(0, seconds, n)).astype(np.int64) * 1_000_000
        columns = {
            "k": [f"k{each}" for each in (rng.zipf(1.5, n) + np.arange(n) // 400) % 17],
            "r": [f"r{each}" for each in rng.integers(0, 3, n)],
            "x": rng.integers(0, 20, n).tolist(),
            "y": rng.integers(1, 9, n).tolist(),
        }
        owners = rng.choice(len(SITES), n, p=rng.dirichlet(np.ones(len(SITES)))).astype(np.int32)
        self.recording: Recording = recorded(self.plan, t, owners, columns, SITES)
        self.live = live = Live(folder, SITES, "d", COLUMNS)
        live.ask(self.sentence)
        self.pane = pane = live.coordinator.watches[1].pane_us
        end = (int(self.recording.t[-1]) // pane + 1) * pane
        queues = {}
        for k, name in enumerate(SITES):
            cuts = np.sort(rng.integers(0, n // 2 + 1, int(rng.integers(12)))).tolist()
            queues[name] = batches_of(self.recording, k, cuts, end)
        play_by_batch(live, queues, rng, BatchFaults(crash=0.1 if crashes else 0.0, cut=0.2))
        assert settle_until(live, end // pane - 1, rounds=seconds // 10)

    def truth(self, pane: int) -> dict[str, Counter[str]]:
        """The scores of all objects at the end of a pane, added up from the rows."""
        plan, recording, goal = self.plan, self.recording, self.plan.goal
        assert isinstance(goal, Top)
        assert recording.keys is not None
        found: dict[str, Counter[str]] = defaultdict(Counter)
        until = (pane + 1) * self.pane
        for site in range(len(SITES)):
            rows = np.flatnonzero((recording.site == site) & (recording.t < until))
            window = plan.window
            if window.kind == "rows":
                rows = rows[-int(window.rows or 0) :]
            elif window.kind == "time":
                rows = rows[recording.t[rows] >= until - int(window.duration_us or 0)]
            elif window.kind == "since":
                rows = rows[recording.t[rows] >= (until - 1) // 60_000_000 * 60_000_000]
            for row in rows.tolist():
                key, name = split_key(recording.keys[recording.group[row]], goal.per)
                found[name][key] += _score(goal, recording.present[row])  # type: ignore[assignment]
        return found

    def wrong(self) -> list[str]:
        """Every pane at which what was stored as valid is not within its promise."""
        goal = self.plan.goal
        assert isinstance(goal, Top)
        store, wrong = self.live.store, []
        said: dict[str, list[tuple[int, dict[str, float]]]] = defaultdict(list)
        for name, pane, members in store.all("SELECT list, pane, members FROM rankings ORDER BY pane"):
            said[name].append((pane, dict(json.loads(members))))
        spans = store.all("SELECT first, last, state FROM spans ORDER BY first")
        assert any(state in ("valid", "filling") for _, _, state in spans)
        sign = 1.0 if goal.largest else -1.0
        for first, last, state in spans:
            for pane in range(first, last + 1) if state in ("valid", "filling") else ():
                truth = self.truth(pane)
                for name in {*truth, *said}:
                    there = truth[name]
                    members = next((m for p, m in reversed(said[name]) if p <= pane), {})
                    least = min((sign * there[key] for key in members), default=0.0)
                    most = max((sign * score for key, score in there.items() if key not in members), default=-np.inf)
                    few = len(members) != min(goal.k, len(there)) or not set(members) <= set(there)
                    if few or least + goal.within < most:
                        wrong.append(f"pane {pane}, list {name}: {members}, {dict(there)}")
        return wrong


def _score(goal: Top, present: np.ndarray) -> float:
    from tacit.functions.evaluate import value

    return float(value(goal.expression, present[None, :])[0])


CASES = [(goal, seed) for seed in range(3) for goal in GOALS]
IN_TIERS = parametrize_in_tiers("goal, seed", CASES, in_test=len(GOALS))


@IN_TIERS
def test_live_is_replay(goal: str, seed: int, tmp_path: Path) -> None:
    """Whatever the batches, their order and links that break: the same alerts."""
    story = Story(seed, tmp_path, goal, crashes=False)
    replayed = replay_topk(story.plan, story.recording, step="pane", verify=True)
    assert (replayed.report.missed, replayed.report.spurious) == (0, 0)
    mine = sorted(
        (a["at"], label(a["group"]), sorted(map(label, a["entered"])), sorted(map(label, a["left"])))
        for a in story.live.alerts
    )
    theirs = sorted((a.at, a.list or "", sorted(a.entered), sorted(a.left)) for a in replayed.report.alerts)
    assert [each for each in mine if each[2] or each[3]] == theirs
    assert story.wrong() == []


@IN_TIERS
def test_after_crashes_every_answer_is_right(goal: str, seed: int, tmp_path: Path) -> None:
    """Of equals others may be chosen then, for what sites were told is lost with a coordinator."""
    story = Story(100 + seed, tmp_path, goal, crashes=True)
    assert story.wrong() == []
    ids = [alert["id"] for alert in story.live.alerts]
    assert len(ids) == len(set(ids))


def test_the_answer_is_shown_with_ranks(tmp_path: Path) -> None:
    story = Story(3, tmp_path, "per", crashes=False)
    (shown,) = story.live.ask("SHOW WATCH w")
    rows = shown["watch"]["answer"]
    assert {label(row["group"]) for row in rows} == {"r0", "r1", "r2"}
    assert [row["rank"] for row in rows[:2]] == [1, 2]
    assert key_label('["k1"]') == "k1"
    (text,) = story.live.ask("EXPLAIN WATCH w")
    assert "lists now" in text["text"]


def test_it_is_exact_again_when_altered_so(tmp_path: Path) -> None:
    story = Story(2, tmp_path, "within", crashes=False)
    story.live.ask("ALTER WATCH w SET WITHIN 0")
    story.live.settle(10)
    assert " WITHIN 0" in story.live.coordinator.find("w").plan.text
    (text,) = story.live.ask("EXPLAIN WATCH w")
    assert text["text"].count("protocol") == 1
