"""What a site says at once: claims that a new zone lets it make need not wait for the next heartbeat."""

from __future__ import annotations

import numpy as np

from tacit.protocols.messages import AdjustSlack, Broadcast, Heartbeat, Request, Rows
from tacit.runtime.speech import bundled, claims_more
from tacit.wire.codec import decode
from tacit.wire.control import Beats, Counts, Tallies


class Machine:
    silent = 7


ONE = np.zeros(1, dtype=np.int64)


def test_a_zone_that_lets_a_site_go_on_is_followed_by_a_claim():
    assert claims_more(Machine(), AdjustSlack(0, 2, 6, ONE, np.zeros((1, 1))))
    assert not claims_more(Machine(), AdjustSlack(0, 2, 7, ONE, np.zeros((1, 1))))
    assert claims_more(Machine(), Broadcast(0, 1, 2, 7, Rows(ONE, np.zeros((1, 1)), np.empty(0))))
    assert not claims_more(Machine(), Request(0, 1, 8, ONE))


def test_heartbeats_of_many_watches_are_one_message():
    counts = Counts(5, 1, 0, None)
    beats = [(3, Heartbeat(1, 0, 9, 8, 2)), (4, Heartbeat(1, 1, 9, 9, 5))]
    tallies, together = map(decode, bundled(1, beats, [(3, counts)]))
    assert tallies == Tallies((3,), (counts,))
    assert together == Beats(1, (3, 4), (0, 1), (9, 9), (8, 9), (2, 5), (0, 0))
    assert bundled(1, []) == []
