"""A site's half: what it says, what it keeps, and what it ignores."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.protocols.claims import TRANSITIONS, Phase
from tacit.protocols.messages import (
    AdjustSlack,
    Broadcast,
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
from tacit.protocols.site import Site
from tacit.vocabulary import ProtocolError
from tests.protocols.watches import rows, sum_above

ZERO = np.zeros(1, dtype=np.int64)


def one(value: float) -> np.ndarray:
    return np.array([[float(value)]])


def zone(version=1, pane=0, estimate=0.0, sites=2):
    return NewEstimate(0, version, pane, sites, ZERO, one(estimate))


@pytest.fixture
def site():
    """A site with the zone around 0 of a sum over two sites, at pane 0."""
    machine = Site(0, sum_above(10), 1)
    machine.close_pane(0, one(0))
    machine.receive(zone())
    return machine


def test_without_a_zone_it_says_hello_with_every_heartbeat_and_claims_nothing():
    machine = Site(3, sum_above(10), 1)
    assert machine.hello() == Hello(3, 1, 0, -1)
    assert machine.close_pane(0, one(99)) == ()
    assert machine.heartbeat() == (Hello(3, 1, 0, 0), Heartbeat(3, 0, 0, -1, 0))
    assert machine.phase is Phase.WAITING


def test_inside_its_zone_it_is_silent_and_claims(site):
    assert site.close_pane(1, one(5)) == ()
    assert site.heartbeat() == (Heartbeat(0, 0, 1, 1, 1),)
    assert site.phase is Phase.CHECKING


def test_outside_it_reports_that_pane_and_claims_nothing_later(site):
    (report,) = site.close_pane(1, one(6))
    assert isinstance(report, Report)
    assert (report.pane, report.version, report.rows.sums.tolist()) == (1, 1, [[6.0]])
    assert site.close_pane(2, one(0)) == ()
    assert (site.silent, site.phase) == (0, Phase.BLOCKED)
    assert site.heartbeat()[1] is report


def test_a_newer_zone_lets_it_check_again_from_that_pane_on(site):
    site.close_pane(1, one(6))
    site.close_pane(2, one(9))
    (report,) = site.receive(AdjustSlack(0, 2, 1, ZERO, one(-3)))
    assert (report.pane, report.version, report.number) == (2, 2, 2)
    assert site.receive(AdjustSlack(0, 3, 2, ZERO, one(-9))) == ()
    assert site.silent == 2


def test_a_zone_that_skips_a_version_or_is_old_changes_nothing(site):
    site.close_pane(1, one(6))
    for version in (0, 1, 3):
        assert site.receive(AdjustSlack(0, version, 1, ZERO, one(-6))) == ()
        assert site.receive(zone(version, 1, 6)) == ()
    assert (site.version, site.phase) == (1, Phase.BLOCKED)


def test_a_new_estimate_collects_what_was_held_at_its_pane_not_now(site):
    site.close_pane(1, one(6))
    site.close_pane(2, one(8))
    site.receive(zone(2, pane=1, estimate=6))
    assert site.drifts(2).tolist() == [[6 + 2 * (8 - 6)]]


def test_it_answers_as_of_the_pane_it_is_asked_for(site):
    site.close_pane(1, one(2))
    site.close_pane(2, one(3))
    (reply,) = site.receive(Request(0, 7, 1, ZERO))
    assert isinstance(reply, Reply)
    assert (reply.number, reply.pane, reply.rows.sums.tolist()) == (7, 1, [[2.0]])


def test_asked_for_a_pane_it_does_not_hold_it_says_what_it_holds(site):
    for pane in range(1, 5):
        site.close_pane(pane, one(0))
    site.receive(HeartbeatAnswer(0, settled=3))
    assert site.receive(Request(0, 7, 1, ZERO)) == (Hello(0, 1, 3, 4),)


def test_a_crash_loses_the_zone_and_keeps_the_vectors(site):
    site.close_pane(1, one(2))
    site.forget_zone()
    assert site.hello() == Hello(0, 2, 0, 1)
    assert site.phase is Phase.WAITING
    snapshot = Snapshot(0, 4, 0, 2, one(1), rows(1), one(0.5))
    assert site.receive(snapshot) == ()
    assert (site.version, site.silent) == (4, 1)
    assert site.drifts(1).tolist() == [[1 + 2 * (2 - 1 + 0.5)]]


def test_an_old_snapshot_does_not_turn_the_clock_back(site):
    site.close_pane(1, one(1))
    same = Snapshot(0, 1, 0, 2, one(0), rows(0), one(0))
    assert site.receive(same) == ()
    assert site.silent == 1
    site.receive(AdjustSlack(0, 2, 1, ZERO, one(-1)))
    site.receive(same)
    assert site.version == 2


def test_after_a_gap_only_what_is_held_without_holes_is_offered(site):
    site.close_pane(1, one(0))
    site.close_pane(9, one(0))
    assert site.hello() == Hello(0, 1, 9, 9)
    with pytest.raises(ProtocolError, match="closed pane 9 after pane 9"):
        site.close_pane(9, one(0))


def test_history_is_bounded():
    machine = Site(0, sum_above(10), 1, history=3)
    for pane in range(6):
        machine.close_pane(pane, one(0))
    assert machine.hello() == Hello(0, 1, 3, 5)


def test_it_says_leave_until_that_is_said_back(site):
    assert site.leave() == (Leave(0, 1),)
    assert site.heartbeat() == (Leave(0, 1),)
    site.receive(Leave(0, 0))
    assert not site.left
    site.receive(Leave(0, 1))
    assert site.left
    assert site.heartbeat() == ()


def test_told_that_it_left_in_an_earlier_session_it_says_hello(site):
    site.forget_zone()
    assert site.receive(Leave(0, 1)) == (site.hello(),)
    assert site.receive(Leave(0, 2)) == ()


def test_a_broadcast_moves_the_estimate_of_all_and_collects_its_origin():
    machine = Site(1, sum_above(10), 1)
    machine.close_pane(0, one(2))
    everyone = ((0, rows(1)), (1, rows(2)))
    machine.receive(Snapshot(1, 1, 0, 2, one(3), rows(2), one(0), everyone))
    machine.close_pane(1, one(1))
    assert machine.receive(Broadcast(1, 0, 3, 1, rows(9))) == ()
    assert machine.version == 1
    (report,) = machine.receive(Broadcast(1, 0, 2, 1, rows(9)))
    assert (report.pane, report.version) == (1, 2)
    assert machine.receive(Broadcast(1, 1, 3, 1, report.rows)) == ()
    assert machine.drifts(1).tolist() == [[10.0]]
    assert machine.silent == 1


def test_a_site_that_loses_its_weight_says_so_even_when_its_drift_is_0():
    machine = Site(0, sum_above(1), 1, weighted=True)
    machine.close_pane(0, one(5), np.array([1.0]))
    machine.receive(zone(estimate=5))
    (report,) = machine.close_pane(1, one(0), np.array([0.0]))
    assert report.rows.weights.tolist() == [0.0]
    assert machine.receive(AdjustSlack(0, 2, 1, ZERO, one(0))) == ()
    assert machine.close_pane(2, one(0), np.array([0.0])) == ()
    assert machine.silent == 2


def test_after_a_snapshot_it_cannot_know_whether_its_lost_weight_was_told():
    """It may be the only site that was known to have weight, though none was collected from it."""
    machine = Site(0, sum_above(1), 1, weighted=True)
    machine.close_pane(0, one(5), np.array([1.0]))
    machine.receive(Snapshot(0, 3, 0, 2, one(5), rows(0, weights=[0]), one(0)))
    (report,) = machine.close_pane(1, one(0), np.array([0.0]))
    assert report.rows.weights.tolist() == [0.0]


def test_the_first_weight_after_none_is_reported_even_when_its_sum_is_0():
    machine = Site(0, sum_above(-1), 1, weighted=True)
    machine.close_pane(0, one(0), np.array([0.0]))
    machine.receive(zone(estimate=np.nan))
    assert machine.close_pane(1, one(0), np.array([0.0])) == ()
    (report,) = machine.close_pane(2, one(0), np.array([1.0]))
    assert report.pane == 2


@pytest.mark.parametrize(
    "wrong",
    [
        AdjustSlack(0, 2, 0, ZERO, np.zeros((1, 2))),
        AdjustSlack(0, 2, 0, np.array([5]), np.zeros((1, 1))),
        NewEstimate(0, 2, 0, 2, np.arange(2), np.zeros((2, 1))),
        Snapshot(0, 2, 0, 2, np.zeros((1, 2)), rows(0), np.zeros((1, 1))),
        Snapshot(0, 2, 0, 2, np.zeros((1, 1)), rows(0, 0), np.zeros((1, 1))),
    ],
)
def test_a_zone_of_another_watch_is_refused_and_changes_nothing(site, wrong):
    with pytest.raises(ProtocolError):
        site.receive(wrong)
    assert (site.version, site.silent) == (1, 0)


def test_every_phase_is_reached_and_left():
    assert {phase for phase, _ in TRANSITIONS} == set(Phase)
    assert {phase for targets in TRANSITIONS.values() for phase in targets} == set(Phase)
