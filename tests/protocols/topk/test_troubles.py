"""Sites that are away, scores that shrink, and reports that cannot be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.protocols.messages import Report, Rows
from tacit.protocols.topk.bout import Rules
from tacit.protocols.topk.messages import Challenge, Entries, Inquiry, Showing, Shown
from tacit.protocols.topk.ranker import Ranker
from tacit.vocabulary import ProtocolError
from tests.protocols.topk.fair import Fair

A, B, C = '["a"]', '["b"]', '["c"]'


@pytest.mark.middle
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32), sites=st.integers(2, 4), k=st.integers(1, 3), epsilon=st.integers(0, 2),
    ranked=st.sampled_from([np.inf, 4.0]), smallest=st.booleans(),
)  # fmt: skip
def test_a_site_that_was_away_comes_back(seed, sites, k, epsilon, ranked, smallest) -> None:
    """While one is away the others go on; when it is back the set is valid again, and so are the scores."""
    dice = np.random.default_rng(seed)
    fair = Fair(Rules(k, float(epsilon), 1.0, closed=smallest, ranked=ranked), sites, relief=int(dice.integers(0, 4)))
    held: list[tuple[int, str]] = []
    unit = -1.0 if smallest else 1.0
    gone: int | None = None
    for _ in range(40):
        if held and dice.random() < 0.45:
            site, key = held.pop(int(dice.integers(len(held))))
            fair.update(site, key, -unit, -1)
        else:
            site, key = int(dice.integers(sites)), f'["o{int(7 * dice.random() ** 2)}"]'
            held.append((site, key))
            fair.update(site, key, unit, 1)
        if dice.random() < 0.15:
            if gone is None:
                gone = int(dice.integers(sites))
                fair.away(gone)
            else:
                fair.back(gone)
                gone = None
        fair.settle()
        if dice.random() < 0.05:
            fair.search()
    if gone is not None:
        fair.back(gone)
        fair.settle()


def test_a_guard_loses_its_last_row_while_another_site_is_away() -> None:
    fair = Fair(Rules(2, 0.0, 1.0), 2)
    fair.update(0, A, 1.0)
    fair.update(1, B, 1.0)
    fair.settle()
    fair.away(1)
    fair.update(0, A, -1.0, -1)
    fair.settle()
    fair.back(1)
    fair.settle()
    assert fair.ranker.members() == (B,)


def test_who_speaks_is_there() -> None:
    fair = Fair(Rules(1, 0.0, 1.0), 2)
    fair.update(0, A, 1.0)
    fair.update(1, B, 3.0)
    fair.settle()
    fair.ranker.available[:] = False
    fair.update(0, A, 9.0)
    contest = fair.contest(0, "")
    messages = fair.ranker.start(7, {0: (contest.challenge(),)}, {0: 1})
    assert messages
    assert not isinstance(messages[0], Inquiry)


@pytest.mark.parametrize("seed", range(4))
def test_scores_that_shrink_a_million_times_leave_nothing_behind(seed: int) -> None:
    dice = np.random.default_rng(seed)
    fair = Fair(Rules(2, 0.0, 0.0), 3)
    held: list[tuple[int, str, float]] = []
    for step in range(500):
        size = 1e12 if step < 100 else 1.0
        site, key = int(dice.integers(3)), f'["o{int(dice.integers(5))}"]'
        score = size * float(np.round(1.0 + dice.random() * 1e-3, 5))
        held.append((site, key, score))
        fair.update(site, key, score)
        if len(held) > 60:
            old = held.pop(0)
            table = fair.contest(old[0], "").table
            at = table.find(old[1])
            fair.update(old[0], old[1], -old[2], -1)
            rest = [each[2] for each in held if each[:2] == old[:2]]
            table.values[at] = sum(rest)  # as windows are summed: nothing is left of what has gone
        for key in list(fair.truth[""]):
            fair.truth[""][key] = sum(each[2] for each in held if each[1] == key)  # type: ignore[assignment]
        fair.settle()
        standings = fair.ranker.list_named("")
        sums = standings.deltas[: len(standings)].sum(axis=1)
        if step > 300:
            assert np.abs(sums).max(initial=0.0) < 1e-9


def _shown(keys=(), values=(), border=0.0, relief=0.0, broken=0):
    return Shown(
        "", Entries(tuple(keys), np.array(values, dtype=float), np.ones(len(keys), np.bool_)), border, relief, broken
    )


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (_shown(), "shows nothing"),
        (_shown(relief=1.0, broken=5), "relief of what is not in"),
        (_shown([C], [1.0], relief=1.0, broken=5), "relief of what is not in"),
        (_shown([A], [np.nan]), "not finite"),
        (_shown([A], [1.0], border=np.inf), "not finite"),
    ],
)  # fmt: skip
def test_reports_that_cannot_be_are_refused_and_change_nothing(shown, reason) -> None:
    fair = Fair(Rules(1, 0.0, 1.0), 2)
    fair.update(0, A, 5.0)
    fair.update(1, B, 3.0)
    fair.settle()
    version = int(fair.ranker.versions[0])
    with pytest.raises(ProtocolError, match=reason):
        fair.ranker.check(Challenge(0, 1, 9, version, 1, (shown,)))
    fair.update(0, B, 9.0)
    fair.settle()
    assert fair.ranker.members() == (B,)


def test_reports_that_cannot_be_are_not_believed_either() -> None:
    """One may have been right when it was said; then all are asked, and nobody else's stream ends over it."""
    fair = Fair(Rules(1, 0.0, 1.0), 2)
    fair.update(0, A, 5.0)
    fair.update(1, B, 3.0)
    fair.settle()
    messages = fair.ranker.start(9, {0: (_shown([C], [1.0], relief=1.0, broken=5),)}, {0: 1})
    assert {message.site for message in messages if isinstance(message, Inquiry)} == {0, 1}


def test_lists_that_the_watch_does_not_have_are_refused() -> None:
    named = replace(_shown([A], [1.0]), list='["x"]')
    with pytest.raises(ProtocolError, match="does not have"):
        Ranker(Rules(1), 2).check(Challenge(0, 1, 0, 0, 1, (named,)))
    with pytest.raises(ProtocolError, match="does not have"):
        Ranker(Rules(1), 2, per=True).check(Challenge(0, 1, 0, 0, 1, (named, named)))
    with pytest.raises(ProtocolError, match="is a ranking"):
        Ranker(Rules(1), 2).check(Report(0, 1, 0, 0, Rows(np.array([0]), np.ones((1, 1)), np.empty(0))))


def test_a_site_that_there_is_not_is_refused() -> None:
    for site in (-1, 2):
        with pytest.raises(ProtocolError, match="no such site"):
            Ranker(Rules(1), 2).start(0, {site: (_shown([A], [1.0]),)}, {})


def test_answers_must_be_what_was_asked_for() -> None:
    fair = Fair(Rules(1, 0.0, 1.0), 2)
    fair.update(0, A, 5.0)
    messages = fair.ranker.start(0, {0: (fair.contest(0, "").challenge(),)}, {0: 1})
    (inquiry,) = messages
    assert isinstance(inquiry, Inquiry)
    with pytest.raises(ProtocolError, match="other objects"):
        fair.ranker.receive(Showing(1, inquiry.number, 0, 0, (_shown([B], [1.0]),)))
    fair.ranker.abandon()
    fair.ranker.collect_all(0)
    depth = Ranker(Rules(1, closed=True), 1)
    (asked,) = depth.collect_all(0)
    with pytest.raises(ProtocolError, match="asked for everything"):
        depth.receive(Showing(0, asked.number, 0, 0, (_shown([A], [1.0], border=1e6),)))


@pytest.mark.parametrize("key", ["[[1]]", '[{"a":1}]', "[1" + "0" * 400 + "]", "[" * 5000, "[1]", "[true]", "nothing"])
def test_odd_keys_are_keys_like_others(key: str) -> None:
    fair = Fair(Rules(1, 0.0, 1.0), 2)
    fair.update(0, key, 1.0)
    fair.update(1, '["1"]', 1.0)
    fair.settle()
    assert len(fair.ranker.members()) == 1
