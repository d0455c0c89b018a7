"""A resolution of several rounds never waits for a site that was lost, or that left, between two of them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tacit.protocols.messages import Message
from tacit.protocols.settlement import Settlement
from tacit.protocols.topk.bout import Rules
from tacit.protocols.topk.challenger import Challenger
from tacit.protocols.topk.messages import Showing
from tacit.protocols.topk.objects import Objects
from tacit.protocols.topk.ranker import Ranker
from tacit.protocols.topk.score_tables import Scores
from tacit.vocabulary import State

A = '["a"]'


class Two:
    """A coordinator and two sites; what a site shows can be held back."""

    def __init__(self) -> None:
        self.hub = Settlement(Ranker(Rules(1, 0.0, 1.0), 2, per=True), expected=2, lease=4.0)
        self.objects = [Objects(), Objects()]
        self.sites = [Challenger(site, partial(self._table, site), relief=0) for site in range(2)]
        self.now, self.slow, self.gone = 0.0, -1, -1
        self.held_back: list[Message] = []

    def _table(self, site: int, _name: str) -> Objects:
        return self.objects[site]

    def say(self, *messages: Message) -> None:
        queue = list(messages)
        while queue:
            message = queue.pop(0)
            if isinstance(message, Showing) and message.site == self.slow:
                self.held_back.append(message)
                continue
            for answer in self.hub.receive(message, self.now):
                if answer.site != self.gone:
                    queue += self.sites[answer.site].receive(answer)

    def close(self, site: int, pane: int, **scores: float) -> None:
        places = [self.objects[site].add(f'["{key}"]') for key in scores]
        changed = Scores("x", np.array(places), np.array(list(scores.values())), np.ones(len(scores), dtype=np.int64))
        self.say(*self.sites[site].close_pane(pane, [changed], 1), *self.sites[site].heartbeat())


@pytest.mark.parametrize("leaves", [False, True])
def test_nobody_waits_for_a_site_that_went_between_two_rounds(leaves: bool) -> None:
    two = Two()
    two.slow = 0
    two.say(*(site.hello() for site in two.sites))
    two.close(0, 0, a=5.0, c=4.0, d=3.0, e=2.0, f=1.0)
    two.close(1, 0, b=9.0, g=8.0, h=7.0, i=6.0, a=1.0)
    two.say(*two.sites[0].heartbeat(), *two.sites[1].heartbeat())
    assert len(two.held_back) == 1  # site 1 has shown its largest, site 0 has not; then all are asked for both
    if leaves:
        two.say(*two.sites[1].leave())
    two.now, two.gone = 10.0, 1
    two.say(two.sites[0].heartbeat()[0])
    two.hub.tick(two.now)
    two.slow = -1
    two.say(*two.held_back)
    two.now = 12.0
    two.say(*two.sites[0].heartbeat())
    last = two.hub.published[-1]
    assert (last.state, last.lists) == (State.VALID if leaves else State.STALE, {"x": {A: 5.0}})
