"""TOPiCo: once the stream is still every peer's list is the truth; silent peers expire and are named."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.protocols.topico import Peer, kendall_distance, ranked

counts = st.dictionaries(st.sampled_from([f'["o{k}"]' for k in range(12)]), st.integers(0, 9).map(float), max_size=12)


def truth_of(tables, k):
    sums: Counter[str] = Counter()
    for table in tables:
        sums.update(table)
    return ranked({key: count for key, count in sums.items() if count > 0}, k)


def round_of(peers, pane, tables):
    said = [peer.disseminate(pane, table) for peer, table in zip(peers, tables, strict=True)]
    for peer in peers:
        for each in said:
            peer.receive(each)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(counts, min_size=3, max_size=3), min_size=1, max_size=4), st.integers(1, 4), st.integers(1, 3)
)  # fmt: skip
def test_still_counts_end_in_the_truth_whatever_was_before(stages, k, sites):
    """Each stage has other counts; the last one stands still for a few aligned rounds."""
    peers = [Peer(site, k, expiry=100) for site in range(sites)]
    pane = 0
    for stage in stages:
        round_of(peers, pane, stage[:sites])
        pane += 1
    last = stages[-1][:sites]
    for _ in range(4):
        round_of(peers, pane, last)
        pane += 1
    expected = truth_of(last, k)
    assert all(peer.answer == expected for peer in peers)


def test_a_silent_peer_expires_and_is_named():
    peers = [Peer(site, 2, expiry=3) for site in range(3)]
    tables = [{'["a"]': 5.0}, {'["b"]': 3.0}, {'["c"]': 9.0}]
    round_of(peers, 0, tables)
    assert peers[0].answer[0] == ('["c"]', 9.0)
    for pane in range(1, 5):
        round_of(peers[:2], pane, tables[:2])
    assert peers[0].missing == (2,)
    assert [key for key, _ in peers[0].answer] == ['["a"]', '["b"]']
    peers[0].receive(peers[2].disseminate(5, tables[2]))
    assert peers[0].missing == ()


def test_late_and_doubled_candidates_change_nothing():
    first, second = Peer(0, 2, expiry=10), Peer(1, 2, expiry=10)
    old = second.disseminate(0, {'["a"]': 1.0})
    new = second.disseminate(1, {'["b"]': 2.0})
    for each in (new, old, new, old):
        first.receive(each)
    assert first.answer == (('["b"]', 2.0),)


@given(st.permutations(range(6)), st.permutations(range(6)), st.integers(1, 6))
def test_the_distance_is_that_of_the_definition(one, other, k):
    a, b = tuple(map(str, one[:k])), tuple(map(str, other[:k]))
    union = sorted({*a, *b})
    total, pairs = 0.0, 0
    for i, x in enumerate(union):
        for y in union[i + 1 :]:
            pairs += 1
            known = [x in r or y in r for r in (a, b)]
            before = [
                (r.index(x) if x in r else len(r)) < (r.index(y) if y in r else len(r)) for r in (a, b)
            ]  # fmt: skip
            total += 0.5 if not all(known) else float(before[0] != before[1])
    assert np.isclose(kendall_distance(a, b), total / pairs if pairs else 0.0)
    assert kendall_distance(a, a) == 0.0
