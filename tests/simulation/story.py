"""Tell what happened in the run of a seed: python -m tests.simulation.story SEED [FROM TO] (simulated seconds)."""

from __future__ import annotations

import sys

from tacit.protocols.messages import Message
from tacit.transport import SimulatedNetwork
from tacit.wire import COORDINATOR, HEARTBEATS, kind_of
from tests.simulation.judge import judge
from tests.simulation.schedules import schedule_of

TABLES = {"rows", "groups", "estimates", "slacks", "collected", "everyone", "site"}


def tell(seed: int, first: float, last: float) -> None:
    """Print every message but heartbeats, every answer, and the verdict."""
    send = SimulatedNetwork.send

    def say(network: SimulatedNetwork, source: int, message: Message) -> None:
        if first <= network.now <= last and kind_of(message) not in HEARTBEATS:
            fields = {name: getattr(message, name) for name in message.__dataclass_fields__ if name not in TABLES}
            ends = f"coordinator to {message.site}" if source == COORDINATOR else f"{source} to coordinator"
            print(f"{network.now:8.3f}  {ends:16}  {kind_of(message)} {fields}")
        send(network, source, message)

    SimulatedNetwork.send = say  # type: ignore[method-assign]
    schedule = schedule_of(seed)
    print(schedule)
    simulation, wrong = judge(schedule)
    for when, answer in simulation.published:
        if first <= when <= last:
            sides = "".join(map(str, answer.sides.tolist()))
            panes = f"panes {answer.first} to {answer.pane}"
            print(f"{when:8.3f}  {answer.state.value} for {panes}: {sides} over {answer.roster}, stale {answer.stale}")
    print("\n".join(wrong) if wrong else "nothing was wrong")


if __name__ == "__main__":
    span = [float(argument) for argument in sys.argv[2:4]] or [0.0, float("inf")]
    tell(int(sys.argv[1]), *span)
