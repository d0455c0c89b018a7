"""The balancer: every case of a resolution, followed by hand on a sum of three sites with the threshold 10."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.protocols.messages import AdjustSlack, NewEstimate, Reply, Request, Snapshot
from tacit.protocols.policies import POLICIES, policy_named
from tacit.protocols.threshold import TRANSITIONS, Phase
from tacit.vocabulary import ProtocolError
from tests.protocols.watches import answer, balancer, rows, talk


def started(sites=3, first=(0, 0, 0), **options):
    """A balancer that has collected these vectors at pane 0."""
    machine = balancer(sites, **options)
    held = [rows(value) for value in first]
    talk(machine, machine.collect_all(0), held)
    return machine


def test_initialisation_asks_everyone_and_tells_everyone_the_estimate():
    machine = balancer(3)
    requests = machine.collect_all(0)
    assert [request.site for request in requests] == [0, 1, 2]
    assert machine.phase is Phase.ASKING
    messages = talk(machine, requests, [rows(1), rows(2), rows(4)])
    assert [type(message) for message in messages] == [NewEstimate] * 3
    assert all(message.estimates == [[7.0]] and message.version == 1 and message.sites == 3 for message in messages)
    assert (machine.zones.answer[0], machine.phase, machine.full_syncs) == (0, Phase.MONITORING, 1)


def test_reporters_that_balance_each_other_ask_nobody():
    machine = started()
    messages = machine.start(1, [(0, rows(6)), (1, rows(-6))])
    assert [(type(message), message.site, message.slacks.tolist()) for message in messages] == [
        (AdjustSlack, 0, [[-6.0]]), (AdjustSlack, 1, [[6.0]]),
    ]  # fmt: skip
    assert machine.books.slack.sum() == 0


def test_one_more_site_is_asked_until_it_balances():
    machine = started()
    (request,) = machine.start(1, [(0, rows(4))])
    assert isinstance(request, Request)
    messages = machine.receive(answer(request, rows(-3)))
    assert [type(message) for message in messages] == [AdjustSlack] * 2
    assert machine.books.slack[:, 0, 0].tolist() == [-3.5, 3.5, 0.0]
    assert machine.versions.tolist() == [2, 2, 1]


def test_exhaustion_gives_a_new_estimate_to_all_and_no_slack():
    machine = started()
    machine.books.slack[:, 0, 0] = [-1, 1, 0]
    messages = talk(machine, machine.start(1, [(0, rows(12))]), [rows(12), rows(2), rows(1)])
    assert [type(message) for message in messages] == [NewEstimate] * 3
    assert (machine.zones.estimate[0, 0], machine.zones.answer[0]) == (15.0, 1)
    assert not machine.books.slack.any()
    assert machine.books.collected[:, 0, 0].tolist() == [12, 2, 1]


def test_several_groups_are_resolved_side_by_side_in_one_message_per_site():
    machine = balancer(3, groups=3)
    talk(machine, machine.collect_all(0), [rows(0, 0, 0)] * 3)
    held = [rows(4, 0, 30), rows(-3, 4, 0), rows(0, -3, 0)]
    messages = talk(machine, machine.start(1, [(0, rows(4, 30, groups=[0, 2])), (1, rows(4, groups=[1]))]), held)
    adjusted = {message.site: message.groups.tolist() for message in messages if isinstance(message, AdjustSlack)}
    renewed = [message for message in messages if isinstance(message, NewEstimate)]
    assert all(message.groups.tolist() == [2] for message in renewed)
    assert len(renewed) == 3
    assert {group for groups in adjusted.values() for group in groups} == {0, 1}
    assert machine.zones.answer.tolist() == [0, 0, 1]
    assert np.abs(machine.books.slack.sum(axis=0)).max() == 0


def test_a_violation_waits_while_a_resolution_is_under_way():
    machine = started()
    machine.start(1, [(0, rows(4))])
    with pytest.raises(ProtocolError, match="waits for its end"):
        machine.start(2, [(1, rows(4))])
    with pytest.raises(ProtocolError, match="under way"):
        machine.grow(5)


def test_late_doubled_and_foreign_replies_change_nothing():
    machine = started()
    (request,) = machine.start(1, [(0, rows(4))])
    foreign = Reply(2, request.number, 1, rows(-3))
    old = Reply(request.site, request.number - 1, 1, rows(-3))
    assert machine.receive(foreign) == machine.receive(old) == ()
    reply = answer(request, rows(-3))
    assert machine.receive(reply)
    slack = machine.books.slack.copy()
    assert machine.receive(reply) == ()
    assert (machine.books.slack == slack).all()


def test_an_answer_about_other_groups_is_refused():
    machine = balancer(2, groups=2)
    talk(machine, machine.collect_all(0), [rows(0, 0)] * 2)
    (request,) = machine.start(1, [(0, rows(9, 9))])
    with pytest.raises(ProtocolError, match="site 1 answered other groups"):
        machine.receive(Reply(1, request.number, 1, rows(1)))


def test_abandoning_has_no_effect():
    machine = started()
    machine.start(1, [(0, rows(4))])
    machine.abandon()
    assert machine.phase is Phase.MONITORING
    assert machine.awaited == ()
    assert not machine.books.slack.any()
    assert machine.versions.tolist() == [1, 1, 1]
    assert machine.start(1, [(0, rows(4))])


def test_weights_share_what_must_be_balanced():
    machine = balancer(2, weighted=True)
    talk(machine, machine.collect_all(0), [rows(6, weights=[1]), rows(18, weights=[3])])
    assert machine.zones.estimate[0, 0] == 6.0
    held = [rows(15, weights=[1]), rows(9, weights=[3])]
    messages = talk(machine, machine.start(1, [(0, held[0])]), held)
    assert [type(message) for message in messages] == [AdjustSlack] * 2
    assert machine.books.slack[:, 0, 0].tolist() == [-9.0, 9.0]


def test_a_site_without_weight_hands_all_its_drift_to_the_others():
    machine = balancer(2, weighted=True)
    talk(machine, machine.collect_all(0), [rows(4, weights=[1]), rows(8, weights=[1])])
    held = [rows(0, weights=[0]), rows(8, weights=[1])]
    messages = talk(machine, machine.start(1, [(0, held[0])]), held)
    assert len(messages) == 2
    mass = machine.books.drift_mass(0, held[0], machine.zones.estimate)
    assert mass.tolist() == [[0.0]]


def test_the_last_weight_that_goes_leaves_no_value():
    machine = balancer(2, weighted=True)
    talk(machine, machine.collect_all(0), [rows(20, weights=[1]), rows(20, weights=[1])])
    empty = [rows(0, weights=[0]), rows(0, weights=[0])]
    messages = talk(machine, machine.start(1, [(0, empty[0])]), empty)
    assert [type(message) for message in messages] == [NewEstimate] * 2
    assert machine.zones.answer.tolist() == [2]


def test_a_site_that_could_not_be_asked_is_told_what_was_collected_instead():
    machine = started(first=(1, 1, 1))
    machine.available[2] = False
    messages = talk(machine, machine.start(1, [(0, rows(40))]), [rows(40), rows(1), rows(99)])
    assert [type(message) for message in messages] == [NewEstimate, NewEstimate, Snapshot]
    assert messages[2].collected.sums.tolist() == [[1.0]]
    assert machine.zones.estimate[0, 0] == 42.0


def test_a_site_lost_between_two_groups_counts_with_what_it_sent():
    machine = balancer(3, groups=2)
    talk(machine, machine.collect_all(0), [rows(1, 1)] * 3)
    machine.available[2] = False
    messages = machine.start(1, [(2, rows(50, groups=[0])), (0, rows(50, groups=[1]))])
    messages = talk(machine, messages, [rows(1, 50), rows(1, 1), rows(50, 77)])
    assert machine.zones.estimate[:, 0].tolist() == [52.0, 52.0]
    kinds = {message.site: type(message) for message in messages}
    assert kinds == {0: NewEstimate, 1: NewEstimate, 2: Snapshot}


def test_sites_join_and_leave_between_resolutions():
    machine = started()
    machine.grow(4)
    machine.books.roster[:] = [True, False, True, True]
    machine.available[:] = machine.books.roster
    messages = talk(machine, machine.collect_all(1), [rows(1), rows(100), rows(2), rows(3)])
    assert [message.site for message in messages] == [0, 2, 3]
    assert all(message.sites == 3 for message in messages)
    assert machine.zones.estimate[0, 0] == 6.0
    assert machine.books.spread == 3.0


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None)  # kernels are compiled on first use
@given(data=st.data())
def test_balancing_keeps_convexity_and_the_answer(name, data):
    """Whatever happens, slacks sum to 0, the mean drift is the total, and a settled answer is right."""
    sites, groups = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    policy = policy_named(name, sites=sites, groups=groups, dimension=1, rng=np.random.default_rng(1))
    machine = balancer(sites, groups=groups, policy=policy, margin=data.draw(st.sampled_from([0.0, 2.0])))
    vectors = st.lists(st.integers(-20, 20), min_size=groups, max_size=groups).map(lambda v: rows(*v))
    talk(machine, machine.collect_all(0), [data.draw(vectors) for _ in range(sites)])
    everything = np.arange(groups)
    phases = {machine.phase}
    for pane in range(1, 4):
        held = [data.draw(vectors) for _ in range(sites)]
        reports = []
        for site, mine in enumerate(held):
            mass = machine.books.drift_mass(site, mine, machine.zones.estimate)
            drift = machine.zones.estimate + mass * sites
            outside = np.flatnonzero(~machine.monitor.inside(machine.zones, everything, drift) & (mass != 0)[:, 0])
            if len(outside):
                reports.append((site, rows(*mine.sums[outside, 0], groups=outside.tolist())))
        if reports:
            talk(machine, machine.start(pane, reports), held)
            phases.add(machine.phase)
        masses = sum(machine.books.drift_mass(site, mine, machine.zones.estimate) for site, mine in enumerate(held))
        total = sum(mine.sums for mine in held)
        np.testing.assert_allclose(machine.zones.estimate + masses, total, atol=1e-9)
        np.testing.assert_allclose(machine.books.slack.sum(axis=0), 0.0, atol=1e-9)
        margin = machine.monitor.goal.margin
        for side, value in zip(machine.zones.answer.tolist(), total[:, 0].tolist(), strict=True):
            assert value > 10 - margin if side == 1 else value <= 10 + margin
    assert phases <= {phase for phase, _ in TRANSITIONS}
