"""Without loss, partitions and crashes: nearly every pane is valid, and what arrives when does not matter."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.functions.monitor import CENTRED, FITTED
from tacit.protocols.policies import POLICIES
from tacit.transport import Faults, SimulatedNetwork, Simulation, Timing
from tacit.vocabulary import Answer, State
from tests.simulation.checkers import ConvexityChecker, valid_share, wrong_answers
from tests.simulation.watches import SHAPES, Shape, Watch, make_watch
from tests.tiers import parametrize_in_tiers

PANES = 30
PROTOCOLS = ("coordinator", "broadcast", "recentre", "fitted")
RUNS = [(each, POLICIES[0]) for each in PROTOCOLS] + [("coordinator", policy) for policy in POLICIES[1:]]
SLOW = Faults(until=1e9, duplication=0.3, reordering=0.8, delay_mean=0.08)


def run(
    watch: Watch, protocol: str, policy: str, seed: int, faults: Faults, *, growing: bool = False
) -> tuple[Simulation, ConvexityChecker]:
    """A run of this watch."""
    network = SimulatedNetwork(seed, faults)
    simulation = Simulation(
        watch.monitor, watch.streams, network, protocol=protocol, policy=policy, timing=Timing(jitter=0.3, lease=60.0),
        growing=growing,
    )  # fmt: skip
    convexity = ConvexityChecker(watch)
    simulation.observers.append(convexity)
    simulation.run()
    return simulation, convexity


def made(shape: Shape, protocol: str, seed: list[int], sites: int) -> Watch:
    """A watch of this shape with the zones that the protocol has; recentring knows no weights beside the vector."""
    if protocol in ("recentre", "fitted") and shape.weighted:
        pytest.skip("weights are part of the vector")
    if protocol == "fitted" and shape.groups > 1:
        pytest.skip("zones are fitted to watches without groups")
    zone = {"recentre": CENTRED, "fitted": FITTED}.get(protocol, "ball")
    return make_watch(shape, np.random.default_rng(seed), sites=sites, panes=PANES, zone=zone)


def by_pane(simulation: Simulation) -> dict[int, Answer]:
    """The answer to every pane that was published."""
    return {
        pane: answer
        for answer in simulation.settlement.published
        for pane in range(answer.pane if answer.first is None else answer.first, answer.pane + 1)
    }


@parametrize_in_tiers("protocol, policy", RUNS, in_test=len(PROTOCOLS))
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_watch_is_valid_right_and_convex(shape, protocol, policy):
    watch = made(shape, protocol, [7, SHAPES.index(shape)], sites=4)
    simulation, convexity = run(watch, protocol, policy, 3, Faults())
    assert wrong_answers(watch, simulation.settlement.published) == []
    assert convexity.broken == []
    assert convexity.checked > PANES / 3
    assert valid_share(simulation, PANES) >= 0.99
    if protocol != "broadcast":  # whose collections end with snapshots
        assert "snapshot" not in simulation.network.ledger.by_kind()


@pytest.mark.middle
@pytest.mark.parametrize(("protocol", "policy"), RUNS)
@pytest.mark.parametrize("shape", SHAPES[::2], ids=lambda shape: shape.name)
def test_delay_reordering_and_doubles_change_no_answer(shape, protocol, policy):
    """Pane by pane the same bits: estimates, sides and state, as far as the slower run got."""
    watch = made(shape, protocol, [11, SHAPES.index(shape)], sites=3)
    quick = by_pane(run(watch, protocol, policy, 5, Faults())[0])
    slow = by_pane(run(watch, protocol, policy, 5, SLOW)[0])
    assert sorted(quick) == list(range(PANES))
    assert sorted(slow) == list(range(len(slow)))
    assert len(slow) > PANES / 4
    for pane, answer in slow.items():
        other = quick[pane]
        assert answer.state is other.state is State.VALID
        assert (answer.roster, answer.sides.tolist()) == (other.roster, other.sides.tolist())
        assert answer.estimates.tobytes() == other.estimates.tobytes()


@pytest.mark.middle
@pytest.mark.parametrize(("protocol", "policy"), RUNS)
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.groups > 1], ids=lambda shape: shape.name)
def test_groups_that_appear_are_kept_as_if_known_from_the_start(shape, protocol, policy):
    """The same bits for every group that was spoken of, and nothing wrong about those that were not."""
    watch = made(shape, protocol, [13, SHAPES.index(shape)], sites=4)
    known = by_pane(run(watch, protocol, policy, 5, Faults())[0])
    simulation, convexity = run(watch, protocol, policy, 5, Faults(), growing=True)
    grown = by_pane(simulation)
    assert wrong_answers(watch, simulation.settlement.published) == []
    assert convexity.broken == []
    assert sorted(grown) == sorted(known) == list(range(PANES))
    for pane, answer in grown.items() if protocol != "recentre" else ():  # whose new groups have balls at first
        spoken_of = len(answer.sides)
        first = known[pane].estimates[:spoken_of]  # new groups begin as those of no rows, which are -0.0
        assert (answer.estimates + 0.0).tobytes() == (first + 0.0).tobytes()
