"""Tell what happened in a run: python -m tests.simulation.story SEED [--family NAME] [FROM TO] (simulated seconds)."""

from __future__ import annotations

import argparse

from tacit.protocols.messages import Message
from tacit.transport import SimulatedNetwork
from tacit.wire import COORDINATOR, HEARTBEATS, kind_of
from tests.simulation.families import FAMILIES

TABLES = {"rows", "groups", "estimates", "slacks", "collected", "everyone", "site", "zones"}


def tell(family: str, seed: int, first: float, last: float) -> None:
    """Print every message but heartbeats, every answer, and the verdict."""
    send = SimulatedNetwork.send

    def say(network: SimulatedNetwork, source: int, message: Message) -> None:
        if first <= network.now <= last and kind_of(message) not in HEARTBEATS:
            fields = {name: getattr(message, name) for name in message.__dataclass_fields__ if name not in TABLES}
            ends = f"coordinator to {message.site}" if source == COORDINATOR else f"{source} to coordinator"
            print(f"{network.now:8.3f}  {ends:16}  {kind_of(message)} {fields}")
        send(network, source, message)

    SimulatedNetwork.send = say  # type: ignore[method-assign]
    schedule = FAMILIES[family].schedule_of(seed)
    print(schedule)
    simulation, wrong = FAMILIES[family].judge(schedule)
    for when, answer in simulation.published:
        if first <= when <= last:
            said = "".join(map(str, answer.sides.tolist())) if answer.lists is None else answer.lists
            panes = f"panes {answer.first} to {answer.pane}"
            print(f"{when:8.3f}  {answer.state.value} for {panes}: {said} over {answer.roster}, stale {answer.stale}")
    print("\n".join(wrong) if wrong else "nothing was wrong")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.story", description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("span", type=float, nargs="*", metavar="FROM TO", default=[0.0, float("inf")])
    parser.add_argument("--family", choices=sorted(FAMILIES), default="vector")
    asked = parser.parse_args()
    tell(asked.family, asked.seed, *asked.span)
