"""Values kept by gauges: what is claimed of one bearing is not claimed of the next; rows that are alike."""

from __future__ import annotations

import numpy as np

from tacit.protocols.gauges.gauger import Gauger
from tacit.protocols.gauges.quantile import QuantileGauge
from tacit.protocols.gauges.sounder import Sounder
from tacit.protocols.settlement import Settlement
from tacit.vocabulary import State


def test_what_a_stale_site_claimed_of_an_older_bearing_is_no_claim_of_the_new_one():
    """Site 0 claims nine panes and is not heard of; all others are asked anew; then it is there again."""
    gauge = QuantileGauge(0.5, 0.1, 2)
    arrays = np.zeros((2, 10, 3))
    arrays[:] = 100.0, 5.0, 5.0
    arrays[1, 2:] = 10_000.0, 9.0, 9.0
    arrays[0, 5:] = 100_000.0, 5.0, 5.0  # silent while 5 is said, and not while 9 is
    sites = [Gauger(0, gauge), Gauger(1, gauge)]
    settlement = Settlement(Sounder(gauge, 2), expected=2, begin=0, lease=4.0, resend=1.0, backlog=50)

    def say(messages, now, deaf=()):
        waiting = list(messages)
        while waiting:
            for answer in settlement.receive(waiting.pop(0), now):
                if answer.site not in deaf:
                    waiting += sites[answer.site].receive(answer)

    for site in sites:
        site.close_pane(0, arrays[site.site, 0])
        say([site.hello()], 0.0)
    for pane in range(1, 10):
        say(sites[0].close_pane(pane, arrays[0, pane]), 0.0)
    say(sites[0].heartbeat(), 0.0)
    assert sites[0].silent == 9
    say(sites[1].heartbeat(), 8.0, deaf=[0])
    settlement.tick(9.0)  # the lease of site 0 has run out
    for pane in (1, 2):
        say([*sites[1].close_pane(pane, arrays[1, pane]), *sites[1].heartbeat()], 9.0, deaf=[0])
    assert settlement.settled == 2
    say(sites[0].heartbeat(), 9.5, deaf=[0])  # it is there, but what it is told is lost for now
    for pane in range(3, 10):
        say([*sites[1].close_pane(pane, arrays[1, pane]), *sites[1].heartbeat()], 9.6, deaf=[0])
    for request in settlement.tick(11.0):  # what was lost is said once more
        say(sites[request.site].receive(request), 11.0)
    for step in range(6):
        say([*sites[0].heartbeat(), *sites[1].heartbeat()], 11.5 + step)
    assert settlement.settled == 9
    for answer in settlement.published:
        for pane in range(answer.first, answer.pane + 1) if answer.state is State.VALID else ():
            assert float(answer.estimates[0, 0]) == gauge.value(arrays[:, pane]), pane


def test_a_quantile_of_rows_that_are_alike_follows_them():
    """Half of the window is 5, then all of it becomes 4, in as many rows."""
    gauge = QuantileGauge(0.5, 0.05, 4)
    fives, fours = np.array([[100.0, 5.0, 5.0, 5.0, 5.0]]), np.array([100.0, 4.0, 4.0, 4.0, 4.0])
    bearing = gauge.bearing(fives)
    assert bearing.value == 5.0
    assert (gauge.read(bearing, fives[0], fives[0]) <= bearing.limits).all()
    assert not (gauge.read(bearing, fours, fives[0]) <= bearing.limits).all()
