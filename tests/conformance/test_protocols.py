"""The contract of every threshold protocol: right, silent when it can be, unharmed by doubles, joins and crashes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.vocabulary import State
from tests.protocols.lab import PROTOCOLS, Lab
from tests.protocols.watches import sum_above

pytestmark = pytest.mark.parametrize("protocol", PROTOCOLS)

walks = st.lists(st.lists(st.integers(-8, 12), min_size=3, max_size=3), min_size=1, max_size=8)
weighted_walks = st.lists(
    st.lists(st.tuples(st.integers(0, 25), st.integers(0, 3)), min_size=3, max_size=3), min_size=1, max_size=8
)


@settings(deadline=None)  # kernels are compiled on first use
@given(walk=walks, margin=st.sampled_from([0.0, 3.0]), twice=st.booleans())
def test_every_pane_is_published_and_right(protocol, walk, margin, twice):
    lab = Lab(protocol, sum_above(10, margin), 3, twice=twice)
    for vectors in walk:
        lab.close(dict(enumerate(vectors)))
    sides = lab.sides()
    assert sorted(sides) == list(range(len(walk)))
    for pane, vectors in enumerate(walk):
        total = sum(vectors)
        assert total > 10 - margin if sides[pane] == [1] else total <= 10 + margin


@settings(deadline=None)  # kernels are compiled on first use
@given(walk=weighted_walks)
def test_means_with_weights_that_vary_and_vanish_are_right(protocol, walk):
    lab = Lab(protocol, sum_above(6.0), 3, weighted=True)
    for step in walk:
        sums = {site: value * weight for site, (value, weight) in enumerate(step)}
        lab.close(sums, {site: [weight] for site, (_, weight) in enumerate(step)})
    sides = lab.sides()
    assert sorted(sides) == list(range(len(walk)))
    for pane, step in enumerate(walk):
        weight = sum(weight for _, weight in step)
        total = sum(value * weight for value, weight in step)
        assert sides[pane] == ([2] if weight == 0 else [int(total > 6.0 * weight)])


@settings(deadline=None)  # kernels are compiled on first use
@given(walk=st.lists(st.lists(st.integers(-8, 12), min_size=8, max_size=8), min_size=1, max_size=5))
def test_groups_do_not_disturb_each_other(protocol, walk):
    """Four groups together answer what each answers alone."""
    together = Lab(protocol, sum_above(5), 2, groups=4)
    alone = [Lab(protocol, sum_above(5), 2) for _ in range(4)]
    for numbers in walk:
        table = np.array(numbers).reshape(2, 4)
        together.close({0: table[0], 1: table[1]})
        for group, lab in enumerate(alone):
            lab.close({0: table[0, group], 1: table[1, group]})
    for pane in range(len(walk)):
        assert together.sides()[pane] == [lab.sides()[pane][0] for lab in alone]


def test_nobody_speaks_while_nothing_can_change(protocol):
    lab = Lab(protocol, sum_above(10), 3)
    lab.close({0: 1, 1: 1, 2: 1})
    before = lab.network.ledger.messages
    for step in range(20):
        lab.close({0: 1 + step % 2, 1: 1 - step % 3, 2: 1})
    assert lab.network.ledger.messages == before
    assert sorted(lab.sides()) == list(range(21))


def test_an_answer_on_the_threshold_does_not_livelock(protocol):
    """f(e) = T with margin 0: moving away from the threshold is silent, moving over it is seen."""
    lab = Lab(protocol, sum_above(10), 2)
    lab.close({0: 5, 1: 5})
    before = lab.network.ledger.messages
    lab.close({0: 4, 1: 5})
    lab.close({0: 3, 1: 3})
    assert lab.network.ledger.messages == before
    lab.close({0: 6, 1: 5})
    assert [side for (side,) in lab.sides().values()] == [0, 0, 0, 1]


def test_a_site_joins_without_a_pane_being_skipped(protocol):
    lab = Lab(protocol, sum_above(10), 3)
    for pane in range(3):
        lab.close({0: pane, 1: pane, 2: 0})
    newcomer = lab.sites[2].__class__(3, lab.sites[0].monitor, 1)
    lab.sites.append(newcomer)
    lab.start(3)
    for _ in range(3):
        lab.close({0: 2, 1: 2, 2: 0, 3: 8})
    assert sorted(lab.sides()) == list(range(6))
    assert lab.last.roster == (0, 1, 2, 3)
    assert lab.last.sides.tolist() == [1]


def test_a_site_leaves_and_no_longer_counts(protocol):
    lab = Lab(protocol, sum_above(10), 3)
    lab.close({0: 5, 1: 5, 2: 5})
    assert lab.last.sides.tolist() == [1]
    lab.network.send(2, lab.sites[2].leave())
    assert lab.sites[2].left
    for _ in range(2):
        lab.close({0: 5, 1: 5})
    assert (lab.last.roster, lab.last.sides.tolist(), lab.last.state) == ((0, 1), [0], State.VALID)


def test_a_site_that_left_can_come_back(protocol):
    lab = Lab(protocol, sum_above(10), 2)
    lab.close({0: 5, 1: 8})
    lab.network.send(1, lab.sites[1].leave())
    for _ in range(2):
        lab.close({0: 5})
    assert lab.last.roster == (0,)
    lab.restart(1)
    for _ in range(3):
        lab.close({0: 5, 1: 8})
    assert (lab.last.roster, lab.last.sides.tolist(), lab.last.state) == ((0, 1), [1], State.VALID)
    assert sorted(lab.sides()) == list(range(6))


def test_a_site_that_crashed_goes_on_with_a_snapshot(protocol):
    lab = Lab(protocol, sum_above(10), 2)
    lab.close({0: 1, 1: 1})
    lab.close({0: 9, 1: -7})
    lab.stop(1)
    lab.restart(1)
    assert lab.sites[1].version == lab.settlement.resolver.versions[1]
    lab.close({0: 9, 1: 9})
    assert lab.last.sides.tolist() == [1]
    assert sorted(lab.sides()) == [0, 1, 2]


def test_a_dead_site_makes_answers_stale_and_its_return_makes_them_valid(protocol):
    lab = Lab(protocol, sum_above(10), 3)
    lab.close({0: 1, 1: 1, 2: 1})
    lab.stop(2)
    lab.close({0: 2, 1: 30})
    assert lab.settlement.settled == 0
    lab.wait(11, 0, 1)
    assert (lab.last.state, lab.last.stale, lab.last.sides.tolist()) == (State.STALE, (2,), [1])
    lab.close({0: 2, 1: 2})
    assert lab.last.state is State.STALE
    lab.restart(2)
    lab.pane = 0
    for _ in range(2):
        lab.pane += 1
        lab.network.send(2, lab.sites[2].close_pane(lab.pane, np.array([[1.0]])))
    for _ in range(2):
        lab.close({0: 2, 1: 2, 2: 1})
    assert (lab.last.state, lab.last.stale, lab.last.sides.tolist(), lab.last.pane) == (State.VALID, (), [0], 4)
