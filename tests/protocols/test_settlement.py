"""The coordinator on the clock of panes: claims, numbers that were overtaken, and words that are said again."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.protocols.messages import (
    Heartbeat,
    HeartbeatAnswer,
    Hello,
    Leave,
    NewEstimate,
    Reply,
    Report,
    Request,
    Snapshot,
)
from tacit.protocols.settlement import TRANSITIONS, Phase, Settlement
from tacit.vocabulary import ProtocolError, State
from tests.protocols.watches import answer, balancer, rows


class Coordinator:
    """A settlement whose sites are played by the test."""

    def __init__(self, sites: int = 2, **options: float) -> None:
        self.machine = Settlement(balancer(sites), expected=sites, **options)
        self.now = 0.0

    def hear(self, *messages):
        """Deliver messages; what is said in return, without answers to heartbeats."""
        said = [out for message in messages for out in self.machine.receive(message, self.now)]
        return [message for message in said if not isinstance(message, HeartbeatAnswer)]

    def tick(self, seconds):
        self.now += seconds
        return list(self.machine.tick(self.now))

    def start(self, *values):
        """Everyone holds pane 0 and is collected."""
        requests = self.hear(*(Hello(site, 1, 0, 0) for site in range(len(values))))
        return self.hear(*(answer(request, rows(values[request.site])) for request in requests))

    @property
    def published(self):
        return [(a.first, a.pane, a.state, a.sides.tolist()) for a in self.machine.published]


@pytest.fixture
def coordinator():
    """Two sites, settled at pane 0 with the estimate 2 of a sum with the threshold 10."""
    machine = Coordinator(2)
    machine.start(1, 1)
    return machine


def claim(site, pane, version=1):
    return Heartbeat(site, 0, pane, pane, version)


def test_it_waits_for_all_expected_sites_and_a_pane_that_all_hold():
    coordinator = Coordinator(3)
    assert coordinator.hear(Hello(0, 1, 0, 4), Hello(1, 1, 2, 3)) == []
    requests = coordinator.hear(Hello(2, 1, 0, -1), Heartbeat(2, 0, 3, -1, 0))
    assert [(type(request), request.pane) for request in requests] == [(Request, 2)] * 3
    assert coordinator.machine.phase is Phase.COLLECTING


def test_an_expected_site_that_left_before_the_start_is_not_waited_for():
    coordinator = Coordinator(2)
    coordinator.hear(Hello(0, 1, 0, 0), Hello(1, 1, 0, 0 - 1))
    requests = coordinator.hear(Leave(1, 1))
    assert [type(message) for message in requests] == [Leave, Request]


def test_a_site_that_closes_no_pane_is_left_out_when_fewer_are_expected_and_joins_when_it_does():
    coordinator = Coordinator(3)
    assert coordinator.hear(Hello(0, 1, 0, 0), Hello(1, 1, 0, 0), Hello(2, 1, 0, -1), claim(2, -1, version=0)) == []
    assert coordinator.tick(1) == []
    coordinator.machine.expect(1)
    requests = coordinator.tick(1)
    assert [(request.site, request.pane) for request in requests] == [(0, 0), (1, 0)]
    coordinator.hear(*(answer(request, rows(1)) for request in requests))
    assert coordinator.machine.roster == (0, 1)
    assert coordinator.published == [(0, 0, State.VALID, [0])]
    requests = coordinator.hear(claim(2, 1, version=0), Heartbeat(0, 0, 1, 0, 1), Heartbeat(1, 0, 1, 0, 1))
    assert [(request.site, request.pane) for request in requests] == [(0, 1), (1, 1), (2, 1)]


def test_a_pane_is_settled_when_all_have_claimed_it(coordinator):
    coordinator.hear(claim(0, 3))
    assert coordinator.machine.settled == 0
    coordinator.hear(claim(1, 2))
    assert coordinator.published == [(0, 0, State.VALID, [0]), (1, 2, State.VALID, [0])]


def test_a_claim_under_another_version_does_not_count(coordinator):
    coordinator.hear(claim(0, 3), claim(1, 3, version=0), claim(1, 3, version=2))
    assert coordinator.machine.settled == 0


def test_silence_is_not_a_claim(coordinator):
    coordinator.hear(claim(0, 3))
    coordinator.tick(5)
    assert coordinator.machine.settled == 0


def test_a_report_waits_for_the_claims_of_the_others(coordinator):
    report = Report(0, 1, 1, 1, rows(20))
    assert coordinator.hear(report) == []
    (request,) = coordinator.hear(claim(1, 1))
    assert isinstance(request, Request)
    messages = coordinator.hear(answer(request, rows(1)))
    assert [type(message) for message in messages] == [NewEstimate] * 2
    assert coordinator.published[-1] == (1, 1, State.VALID, [1])


def test_a_report_that_arrives_during_a_resolution_is_resolved_after_it():
    coordinator = Coordinator(3)
    coordinator.start(1, 1, 1)
    coordinator.hear(Report(0, 1, 1, 1, rows(5)), claim(1, 1))
    (request,) = coordinator.hear(claim(2, 1))
    later = Report(3 - request.site, 1, 2, 1, rows(7))
    assert coordinator.hear(later) == []
    coordinator.hear(answer(request, rows(-9)))
    assert coordinator.machine.settled == 1
    assert coordinator.machine.phase is Phase.SETTLING
    messages = coordinator.hear(*(claim(site, 2, version=2) for site in (0, request.site)))
    assert messages, "the later report is taken up once the others have claimed its pane"


def test_requests_are_said_again_until_they_are_answered(coordinator):
    coordinator.hear(Report(0, 1, 1, 1, rows(20)))
    (request,) = coordinator.hear(claim(1, 1))
    assert coordinator.tick(0.5) == []
    assert coordinator.tick(0.6) == [request]
    assert coordinator.tick(0.5) == []


def test_a_zone_that_was_lost_comes_again_as_a_snapshot(coordinator):
    assert coordinator.hear(Heartbeat(1, 0, 0, -1, 0)) == []
    coordinator.now = 1.5
    (snapshot,) = coordinator.hear(Heartbeat(1, 0, 0, -1, 0))
    assert isinstance(snapshot, Snapshot)
    assert (snapshot.version, snapshot.pane, snapshot.estimates.tolist()) == (1, 0, [[2.0]])


def test_a_site_that_comes_back_is_sent_a_snapshot_at_once(coordinator):
    (snapshot,) = coordinator.hear(Hello(1, 2, 0, 0))
    assert isinstance(snapshot, Snapshot)


def test_a_site_that_lost_the_next_pane_leads_to_a_fresh_collection(coordinator):
    coordinator.hear(claim(0, 8))
    requests = coordinator.hear(Hello(1, 2, 5, 8))
    assert [request.pane for request in requests] == [5, 5]
    coordinator.hear(*(answer(request, rows(9)) for request in requests))
    assert coordinator.published == [(0, 0, State.VALID, [0]), (1, 4, State.UNKNOWN, []), (5, 5, State.VALID, [1])]


def test_a_long_backlog_leads_to_a_fresh_collection_at_the_newest_pane():
    coordinator = Coordinator(2, backlog=10)
    coordinator.start(1, 1)
    assert coordinator.hear(Heartbeat(0, 0, 30, 0, 1)) == []
    requests = coordinator.hear(Heartbeat(1, 0, 20, 0, 1))
    assert [request.pane for request in requests] == [20, 20]


def test_an_expired_lease_makes_answers_stale_and_the_others_go_on(coordinator):
    coordinator.tick(8)
    coordinator.hear(claim(0, 2))
    coordinator.tick(3)
    assert coordinator.machine.stale == (1,)
    assert coordinator.machine.state is State.STALE
    assert coordinator.published[-1] == (1, 2, State.STALE, [0])


def test_panes_that_passed_without_a_site_are_settled_once_more_when_it_is_back(coordinator):
    """Site 1 crossed the threshold at pane 1 and went back at pane 3, and nobody else could know."""
    coordinator.hear(claim(0, 0), claim(1, 0))
    coordinator.tick(8)
    coordinator.hear(claim(0, 4))
    coordinator.tick(3)
    coordinator.hear(claim(0, 4))
    assert coordinator.published[1:] == [(1, 4, State.STALE, [0])]
    assert (coordinator.machine.settled, coordinator.machine.final) == (4, 0)
    requests = coordinator.hear(Hello(1, 2, 0, 5))
    assert [(type(request), request.pane) for request in requests] == [(Request, 1), (Request, 1)]
    zones = coordinator.hear(*(answer(request, rows(1 if request.site == 0 else 20)) for request in requests))
    assert coordinator.published[2:] == [(1, 1, State.VALID, [1])]
    assert coordinator.machine.state is State.STALE, "panes 2 to 4 are not settled with everybody yet"
    coordinator.hear(*(claim(zone.site, 2, zone.version) for zone in zones))
    requests = coordinator.hear(claim(0, 5, 2), Report(1, 1, 3, 2, rows(1)))
    coordinator.hear(*(answer(request, rows(1)) for request in requests))
    assert coordinator.published[3:] == [(2, 2, State.VALID, [1]), (3, 3, State.VALID, [0])]
    coordinator.hear(claim(0, 5, 3), claim(1, 5, 3))
    assert coordinator.published[-2:] == [(4, 4, State.VALID, [0]), (5, 5, State.VALID, [0])]
    assert [answer.late for answer in coordinator.machine.published[-2:]] == [True, False]
    assert coordinator.machine.state is State.VALID
    assert coordinator.machine.final == coordinator.machine.settled == 5


def test_what_is_provisional_is_kept_at_the_sites(coordinator):
    coordinator.tick(8)
    coordinator.hear(claim(0, 4))
    coordinator.tick(3)
    (told,) = coordinator.machine.receive(claim(0, 4), coordinator.now)
    assert (told.settled, told.final) == (4, 0)


def test_no_answer_is_valid_without_a_required_site_and_all_are_made_good_when_it_comes():
    coordinator = Coordinator(2)
    coordinator.machine.require(frozenset({0, 1, 2}))
    coordinator.start(1, 1)
    coordinator.hear(claim(0, 3), claim(1, 3))
    assert coordinator.published == [(0, 0, State.STALE, [0]), (1, 3, State.STALE, [0])]
    assert coordinator.machine.published[-1].stale == (2,)
    assert coordinator.hear(Hello(2, 1, 0, -1), Heartbeat(2, 0, -1, -1, 0)) == [], "it holds no pane yet"
    requests = coordinator.hear(Heartbeat(2, 0, 0, -1, 0))
    assert [(request.site, request.pane) for request in requests] == [(0, 0), (1, 0), (2, 0)]
    zones = coordinator.hear(*(answer(request, rows(1)) for request in requests))
    coordinator.hear(*(claim(zone.site, 4, zone.version) for zone in zones))
    assert coordinator.published[2:] == [(0, 0, State.VALID, [0]), (1, 3, State.VALID, [0]), (4, 4, State.VALID, [0])]
    assert coordinator.machine.roster == (0, 1, 2)


def test_answers_go_on_without_a_site_that_will_never_answer_and_nothing_is_kept_for_it(coordinator):
    coordinator.machine.require(frozenset({0, 1}), hopeless=frozenset({1}))
    coordinator.tick(8)
    coordinator.hear(claim(0, 4))
    coordinator.tick(3)
    assert coordinator.published[-1] == (1, 4, State.STALE, [0])
    assert coordinator.machine.final == 4


def idle(site, pane, own, version=1):
    return Heartbeat(site, 0, pane, pane, version, pane - own)


def test_panes_that_an_idle_site_closed_by_the_time_of_others_are_provisional(coordinator):
    coordinator.hear(claim(0, 6), idle(1, 6, own=2))
    assert coordinator.published[1:] == [(1, 2, State.VALID, [0]), (3, 6, State.STALE, [0])]
    assert coordinator.machine.published[-1].stale == coordinator.machine.idle == (1,)
    assert coordinator.machine.final == 2
    coordinator.hear(claim(0, 8), idle(1, 8, own=2))
    assert coordinator.published[-1] == (7, 8, State.STALE, [0])
    coordinator.hear(Hello(1, 2, 0, 2), Heartbeat(1, 0, 2, -1, 0))  # rows came: it went back to what is its own
    assert coordinator.machine.phase is Phase.GATHERING
    requests = coordinator.hear(Heartbeat(1, 0, 3, -1, 0))
    assert [request.pane for request in requests] == [3, 3]
    coordinator.hear(*(answer(request, rows(9)) for request in requests))
    assert coordinator.published[-1] == (3, 3, State.VALID, [1])
    coordinator.hear(claim(0, 9, 2), claim(1, 9, 2))
    assert coordinator.published[-2:] == [(4, 8, State.VALID, [1]), (9, 9, State.VALID, [1])]


def test_where_skipping_is_allowed_late_settlement_goes_back_no_further_than_that():
    coordinator = Coordinator(2, backlog=3)
    coordinator.start(1, 1)
    coordinator.tick(8)
    coordinator.hear(claim(0, 8))
    coordinator.tick(3)
    assert (coordinator.machine.settled, coordinator.machine.final) == (8, 5)
    requests = coordinator.hear(Hello(1, 2, 0, 8))
    assert [request.pane for request in requests] == [6, 6]


def test_a_coordinator_that_starts_again_still_owes_what_it_owed(coordinator):
    coordinator.tick(8)
    coordinator.hear(claim(0, 4))
    coordinator.tick(3)
    old = coordinator.machine
    fresh = Settlement(old.resolver, expected=1)
    fresh.resume(old.settled, old.standing, old.sessions, old.left, coordinator.now, final=old.final, front=old.front)
    assert fresh.state is State.STALE
    coordinator.machine = fresh
    requests = coordinator.hear(Heartbeat(0, 0, 6, 6, 1), Heartbeat(1, 0, 6, 6, 1))
    assert [(type(request), request.pane) for request in requests] == [(Request, 1), (Request, 1)]


def test_an_answer_in_whose_making_a_site_was_stale_is_stale():
    coordinator = Coordinator(3)
    coordinator.start(1, 1, 1)
    coordinator.tick(8)
    coordinator.hear(Report(0, 1, 1, 1, rows(20)), claim(1, 1))
    (request,) = coordinator.tick(3)
    assert coordinator.machine.stale == (2,)
    coordinator.hear(Heartbeat(2, 0, 0, 0, 1))
    assert coordinator.machine.stale == ()
    coordinator.hear(answer(request, rows(1)))
    requests = coordinator.machine.resolver.awaited
    coordinator.hear(*(answer(request, rows(1)) for request in requests))
    assert coordinator.published[-1] == (1, 1, State.STALE, [1])


def test_a_collection_that_loses_a_site_is_begun_again_without_it():
    coordinator = Coordinator(2)
    coordinator.start(1, 1)
    coordinator.now = 5.0
    first, second = coordinator.hear(Hello(2, 1, 0, 1), claim(0, 1), Heartbeat(1, 0, 1, 0, 1))[:2]
    coordinator.hear(answer(first, rows(1)), answer(second, rows(1)))
    assert coordinator.machine.phase is Phase.COLLECTING
    coordinator.tick(6)
    coordinator.hear(claim(0, 1), claim(1, 0))
    coordinator.tick(5)
    assert coordinator.machine.phase is Phase.COLLECTING
    assert coordinator.machine.roster == (0, 1), "a site that was never collected does not count"


def test_a_leave_takes_effect_at_the_next_pane_and_is_said_back(coordinator):
    assert coordinator.hear(Leave(1, 1)) == [Leave(1, 1)]
    assert coordinator.machine.roster == (0, 1)
    (request,) = coordinator.hear(claim(0, 1))
    coordinator.hear(answer(request, rows(30)))
    assert coordinator.machine.roster == (0,)
    assert coordinator.published[-1] == (1, 1, State.VALID, [1])


def test_a_site_that_comes_and_leaves_while_all_are_asked_without_it_is_let_go_later(coordinator):
    """When the collection is given up it counts again, until the next one."""
    coordinator.hear(Leave(1, 1))
    coordinator.hear(claim(0, 1))
    assert coordinator.machine.phase is Phase.COLLECTING
    coordinator.hear(Hello(1, 2, 0, 0))
    assert coordinator.hear(Leave(1, 2)) == [Leave(1, 2)]
    (request,) = coordinator.hear(Hello(0, 2, 2, 3))  # it has lost the pane that it was asked for
    assert request.pane == 2
    coordinator.hear(answer(request, rows(30)))
    assert coordinator.machine.roster == (0,)
    assert coordinator.published[-1] == (2, 2, State.VALID, [1])


def test_hellos_that_a_leave_has_overtaken_change_nothing(coordinator):
    coordinator.hear(Leave(1, 1), claim(0, 1))
    coordinator.hear(Hello(1, 1, 0, 0))
    assert 1 not in coordinator.machine.roster or coordinator.machine.phase is Phase.COLLECTING
    early = Coordinator(1)
    early.hear(Leave(4, 2), Hello(4, 2, 0, 0), Hello(4, 1, 0, 0))
    assert early.hear(Hello(0, 1, 0, 0))[0].site == 0
    assert early.machine.roster == (0,)


def test_words_of_unknown_sites_are_ignored(coordinator):
    words = (Report(7, 1, 1, 1, rows(9)), Reply(7, 1, 1, rows(9)))
    assert coordinator.hear(*words) == []
    assert coordinator.machine.roster == (0, 1)


def test_a_site_that_thinks_it_counts_is_told_that_it_does_not(coordinator):
    assert coordinator.hear(claim(7, 9)) == [Leave(7, 0)]
    coordinator.hear(Hello(7, 2, 0, 0), Leave(7, 2))
    assert coordinator.hear(claim(7, 9)) == [Leave(7, 2)]


def test_a_report_of_another_watch_is_refused(coordinator):
    with pytest.raises(ProtocolError):
        coordinator.hear(Report(0, 1, 1, 1, rows(1, 2, 3)))
    assert coordinator.machine.phase is Phase.SETTLING


def test_a_slow_newcomer_does_not_stop_the_others(coordinator):
    coordinator.hear(Hello(2, 1, 0, -1))
    coordinator.hear(claim(0, 20), claim(1, 20))
    assert coordinator.machine.settled == 20
    coordinator.hear(Hello(2, 1, 3, 4))
    coordinator.hear(claim(0, 30), claim(1, 30))
    assert coordinator.machine.settled == 30


def test_every_phase_is_reached_and_left():
    assert {phase for phase, _ in TRANSITIONS} == set(TRANSITIONS.values()) == set(Phase)


def test_the_roster_of_an_answer_is_the_one_it_was_made_for(coordinator):
    assert coordinator.machine.published[0].roster == (0, 1)
    np.testing.assert_array_equal(coordinator.machine.published[0].estimates, [[2.0]])


def test_a_site_with_an_absurd_number_is_refused_and_changes_nothing(coordinator):
    with pytest.raises(ProtocolError, match="number 1099511627776"):
        coordinator.hear(Hello(1 << 40, 1, 0, 0))
    coordinator.hear(claim(0, 1), claim(1, 1))
    assert coordinator.machine.settled == 1


def test_a_heartbeat_among_many_does_what_one_alone_does():
    def told(many: bool):
        coordinator = Coordinator(2)
        coordinator.start(1, 1)
        said = []
        for beat in (claim(0, 1), claim(1, 1, 0), claim(1, 1), claim(0, 3), claim(1, 2)):
            coordinator.now += 2.0
            if many:
                out = coordinator.machine.beat(beat.site, beat.closed, beat.silent, beat.version, coordinator.now)
            else:
                out = coordinator.hear(beat)
            said.append([type(message) for message in out])
        return said, coordinator.published, coordinator.machine.newest

    assert told(many=True) == told(many=False)
    assert told(many=True)[1][-1][1] == 2


def test_a_heartbeat_among_many_of_an_unknown_site_is_left_to_receive(coordinator):
    assert coordinator.machine.beat(7, 1, 1, 1, 0.0) is None


def test_what_must_be_stored_anew_is_known_by_the_membership(coordinator):
    machine = coordinator.machine
    before = machine.membership
    coordinator.hear(claim(0, 1), claim(1, 1))
    assert machine.membership == before
    coordinator.hear(Hello(2, 1, 0, 1))
    assert machine.membership > before
    before = machine.membership
    coordinator.hear(Leave(1, 1))
    assert machine.membership > before


def test_while_all_are_asked_anew_nobody_is_given_a_zone_of_who_may_count(coordinator):
    """It would have the version of the old zones, and stay when the collection comes to nothing."""
    coordinator.hear(claim(0, 1), claim(1, 1))
    requests = coordinator.hear(Hello(2, 1, 1, 2), Heartbeat(2, 0, 2, 1, 0), claim(0, 2), claim(1, 2))
    assert coordinator.machine.phase is Phase.COLLECTING
    assert [request.site for request in requests] == [0, 1, 2]
    coordinator.now += 100.0
    assert coordinator.hear(Heartbeat(0, 0, 2, 2, 0)) == []  # it has lost its zone
    said = coordinator.hear(Leave(2, 1), Heartbeat(0, 0, 2, 2, 0))
    assert all(each.sites == 2 for each in said if isinstance(each, Snapshot))
