"""Rankings among peers, replayed: right once counts stand still, by broadcast and by gossip."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.protocols.topico import kendall_distance, ranked
from tacit.recording.stream import Recording
from tacit.recording.topico_replay import replay_topico
from tacit.vocabulary.errors import OptionError

TEXT = (
    "CREATE WATCH w AS SELECT k, COUNT(*) AS n FROM t WINDOW LAST 15 SECONDS EVERY 5 SECONDS"
    " GROUP BY k ORDER BY n DESC LIMIT 5 USING topico"
)

PLAIN = TEXT.removesuffix(" USING topico")


def log(seed: int, rows: int, sites: int, seconds: int) -> Recording:
    dice = np.random.default_rng(seed)
    weights = np.cumsum(1.0 / np.arange(1, 201))
    group = np.searchsorted(weights, dice.random(rows) * weights[-1])
    return Recording.from_arrays(
        np.sort(dice.integers(0, seconds * 1_000_000, rows)), dice.integers(0, sites, rows), np.ones((rows, 1)),
        group=np.minimum(group, 199), groups=[f"o{k}" for k in range(200)], sites=[f"s{k}" for k in range(sites)],
    )  # fmt: skip


def test_every_look_at_the_end_of_a_period_finds_the_truth() -> None:
    replay = replay_topico(parse_watch(TEXT), log(1, 4_000, 6, 300), verify=True)
    report = replay.report.as_dict()
    assert 0.0 < report["quality"]["kendall_mean"] < 0.24
    assert report["quality"]["entries_sent"] < report["quality"]["entries_of_everything"]
    assert report["messages"]["total"] == 6 * 5 * report["panes"]
    assert report["messages"]["by_kind"] == {"candidates": report["messages"]["total"]}
    assert len(next(iter(replay.final.values()))) == 5
    assert json.dumps(report)


def test_distances_are_those_of_brute_force() -> None:
    """Where all is sent, a peer's list is the truth at the end of the last period; what passed since then is missed."""
    recording = log(5, 300, 6, 60)
    quality = replay_topico(parse_watch(TEXT), recording, verify=True).report.as_dict()["quality"]
    assert quality["entries_sent"] == quality["entries_of_everything"]

    def truth(now: int) -> tuple[str, ...]:
        inside = recording.group[(recording.t >= now - 15_000_000) & (recording.t < now)]
        objects, counts = np.unique(inside, return_counts=True)
        keys = [recording.keys[each] for each in objects]
        return tuple(key for key, _ in ranked(dict(zip(keys, counts.tolist(), strict=True)), 5))

    ends = range(5_000_000, 60_000_001, 5_000_000)
    distances = [kendall_distance(truth(end + look * 1_000_000), truth(end)) for end in ends for look in range(5)]
    assert quality["kendall_mean"] == pytest.approx(np.mean(distances), abs=1e-4)
    assert quality["kendall_max"] == pytest.approx(max(distances), abs=1e-4)


def test_gossip_sends_less_and_knows_later() -> None:
    recording = log(2, 4_000, 12, 200)
    all_told = replay_topico(parse_watch(TEXT), recording, verify=True).report.as_dict()
    gossiped = replay_topico(parse_watch(TEXT), recording, gossip=2, seed=3, verify=True).report.as_dict()
    assert gossiped["protocol"] == "gossip"
    assert all_told["quality"]["kendall_mean"] < gossiped["quality"]["kendall_mean"] < 0.5
    again = replay_topico(parse_watch(TEXT), recording, gossip=2, seed=3, verify=True).report.as_dict()
    assert again["quality"] == gossiped["quality"]


def test_a_list_for_each_value() -> None:
    recording = log(4, 500, 3, 60)
    keys = tuple(json.dumps([f"o{k}", f"l{k % 2}"]) for k in range(200))
    fields = {name: getattr(recording, name) for name in recording.__dataclass_fields__}
    replay = replay_topico(parse_watch(TEXT + " PER l"), Recording(**fields | {"keys": keys}), verify=True)
    assert set(replay.final) == {"l0", "l1"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PLAIN.replace("WINDOW LAST 15 SECONDS EVERY 5 SECONDS", "WINDOW LAST 15 ROWS"), "WINDOW LAST 15 SECONDS"),
        (PLAIN.replace("LIMIT 5", "LIMIT 5 WITHIN 3"), "leave WITHIN out"),
    ],
)
def test_what_peers_cannot_keep_is_refused(text: str, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        replay_topico(parse_watch(text), log(1, 10, 2, 10))
