"""Replays of rankings: the kernel, the machines and the observer agree with brute force at every step."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.language import parse_watch
from tacit.recording.stream import Recording
from tacit.recording.topk_arrays import topk_rows
from tacit.recording.topk_engine import TopkEngine
from tacit.recording.topk_observer import judge_topk
from tacit.recording.topk_replay import replay_topk
from tacit.recording.updates import updates_of
from tests.tiers import parametrize_in_tiers

WINDOWS = (
    "",
    "WINDOW LAST 20 SECONDS EVERY 2 SECONDS",
    "WINDOW LAST 15 ROWS EVERY 3 ROWS",
    "WINDOW SINCE START OF MINUTE",
)


def recording_of(seed, rows, sites, objects, lists=1, *, whole=True):
    dice = np.random.default_rng(seed)
    t = np.sort(dice.integers(0, 100_000_000, rows))
    pairs = [(f"o{k}", f"l{j}") for k in range(objects) for j in range(lists)]
    group = dice.integers(0, objects, rows) * lists + dice.integers(0, lists, rows)
    group[dice.random(rows) < 0.3] = 0
    score = np.ones(rows) if whole else np.round(dice.normal(1.0, 4.0, rows), 3)
    made = Recording.from_arrays(
        t, dice.integers(0, sites, rows), np.stack([np.ones(rows), score], axis=1), group=group,
        sites=[f"s{k}" for k in range(sites)], groups=[", ".join(pair) for pair in pairs],
    )  # fmt: skip
    keys = tuple(json.dumps(pair[: 1 + (lists > 1)]) for pair in pairs)
    return Recording(**{name: getattr(made, name) for name in made.__dataclass_fields__} | {"keys": keys})


def brute(rows, updates):
    """(step, list, {object: score}, {object: rows}) after every step."""
    lo, hi = {}, {}
    values, counts = np.zeros(len(rows.keys)), np.zeros(len(rows.keys), dtype=int)
    for i, (site, low, high) in enumerate(zip(updates.site, updates.lo, updates.hi, strict=True)):
        lo[site], hi[site] = low, high
        if updates.last[i]:
            values[:], counts[:] = 0.0, 0
            for each in lo:
                own = rows.object[lo[each] : hi[each]]
                np.add.at(values, own, rows.score[lo[each] : hi[each]])
                np.add.at(counts, own, 1)
            yield i, values.copy(), counts.copy()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32), sites=st.integers(1, 4), objects=st.integers(1, 9), lists=st.integers(1, 2),
    window=st.sampled_from(WINDOWS), step=st.sampled_from(["event", "pane"]), order=st.sampled_from(["DESC", "ASC"]),
    limit=st.integers(1, 3), within=st.sampled_from([0, 2]), score=st.sampled_from(["COUNT(*)", "SUM(x)"]),
    ranked=st.sampled_from(["", "RANKED WITHIN 6"]),
)  # fmt: skip
def test_every_step_is_valid(seed, sites, objects, lists, window, step, order, limit, within, score, ranked):
    rest = f"WITHIN {within} {ranked}" + (" PER l" if lists > 1 else "")
    plan = parse_watch(
        f"CREATE WATCH w AS SELECT k, COUNT(*) AS c, SUM(x) AS s FROM t {window} GROUP BY k"
        f" ORDER BY {score} {order} LIMIT {limit} {rest}"
    )
    recording = recording_of(seed, 80, sites, objects, lists, whole=score == "COUNT(*)")
    updates = updates_of(recording, plan.window, step=step)
    rows = topk_rows(plan, recording)
    outcome = TopkEngine(rows, updates, relief=int(seed) % 4).run()
    verdict = judge_topk(rows, updates, outcome.changes)
    assert (verdict.missed, verdict.spurious) == (0, 0)
    said = {number: ({}, -1) for number in range(len(rows.lists))}
    changes = list(outcome.changes)
    for i, values, counts in brute(rows, updates):
        while changes and changes[0].update <= i:
            change = changes.pop(0)
            said[change.list] = dict(zip(change.members, change.scores, strict=True)), change.update
        for number in range(len(rows.lists)):
            own = np.flatnonzero((rows.list_of == number) & (counts > 0)).tolist()
            members = set(said[number][0])
            assert members <= set(own)
            assert len(members) == min(limit, len(own))
            least = min((values[each] for each in members), default=0.0)
            most = max((values[each] for each in own if each not in members), default=-np.inf)
            assert least + within >= most - 1e-9
            if ranked:
                assert all(abs(values[each] - score) <= 6 + 1e-9 for each, score in said[number][0].items())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), spoil=st.integers(0, 10))
def test_the_observer_sees_what_is_wrong(seed, spoil):
    """Lists that were tampered with are judged as brute force judges them."""
    plan = parse_watch(
        "CREATE WATCH w AS SELECT k, COUNT(*) AS n FROM t WINDOW LAST 20 SECONDS GROUP BY k ORDER BY n DESC LIMIT 2"
    )
    recording = recording_of(seed, 80, 2, 6)
    updates = updates_of(recording, plan.window, step="event")
    rows = topk_rows(plan, recording)
    changes = TopkEngine(rows, updates).run().changes
    kept = [change for k, change in enumerate(changes) if k % 7 != spoil % 7 or k == 0]
    verdict = judge_topk(rows, updates, kept)
    missed = spurious = 0
    worst = 0.0
    members: tuple[int, ...] = ()
    left = list(kept)
    touched = set()
    for i, values, counts in brute(rows, updates):
        while left and left[0].update <= i:
            members = left.pop(0).members
        own = np.flatnonzero(counts > 0).tolist()
        least = min((values[each] for each in members), default=np.inf)
        most = max((values[each] for each in own if each not in members), default=-np.inf)
        if members and most > -np.inf:
            worst = max(worst, most - least)
        touched.add(i)
        living = [each for each in members if counts[each] > 0]
        missed += (len(living) != min(2, len(own))) or (bool(members) and most > least)
        spurious += any(counts[each] == 0 for each in members)
    assert (verdict.missed, verdict.spurious) == (missed, spurious)
    assert verdict.max_error == pytest.approx(worst)


@parametrize_in_tiers("sites, order", [(4, "DESC"), (27, "ASC"), (100, "DESC")], in_test=1)
@pytest.mark.parametrize("within", [0, 4])
def test_no_answer_is_wrong_at_few_and_many_sites(sites, within, order):
    """Objects come, are popular for a while, and vanish with the window: also those that were in the list."""
    dice = np.random.default_rng(sites + within)
    rows, objects = 800, 40
    t = np.sort(dice.integers(0, 60_000_000, rows))
    popular = (t // 6_000_000 * 4 + dice.geometric(0.4, rows)) % objects
    made = Recording.from_arrays(
        t, dice.integers(0, sites, rows), np.ones((rows, 1)), group=popular,
        sites=[f"s{k}" for k in range(sites)], groups=[f"o{k}" for k in range(objects)],
    )  # fmt: skip
    plan = parse_watch(
        "CREATE WATCH w AS SELECT k, COUNT(*) AS n FROM t WINDOW LAST 5 SECONDS GROUP BY k"
        f" ORDER BY n {order} LIMIT 3" + (f" WITHIN {within}" if within else "")
    )
    replay = replay_topk(plan, made, verify=True)
    report = replay.report
    assert (report.missed, report.spurious) == (0, 0)
    assert report.max_error <= within
    assert report.crossings > 10
    leaving = {name for alert in report.alerts for name in alert.left}
    present = {f"o{k}" for k in popular[t > t[-1] - 5_000_000].tolist()}
    assert leaving - present  # some that were in the list have no rows any more


def test_the_report_says_who_entered_and_who_left():
    made = Recording.from_arrays(
        [0, 1_000_000, 2_000_000, 3_000_000], [0, 1, 0, 1], np.ones((4, 1)), group=[0, 1, 1, 1], groups=["a", "b"]
    )
    plan = parse_watch("CREATE WATCH w AS SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 1")
    replay = replay_topk(plan, made, verify=True)
    assert [alert.as_dict() for alert in replay.report.alerts] == [
        {"at": "1970-01-01T00:00:00Z", "entered": ["a"], "left": []},
        {"at": "1970-01-01T00:00:02Z", "entered": ["b"], "left": ["a"]},
    ]
    document = replay.report.as_dict()
    assert (document["missed"], document["spurious"], document["crossings"]) == (0, 0, 2)
    assert document["entries"]["max"] >= 1
    assert replay.final == {"": {"b": 2.0}}
    assert json.dumps(document)
