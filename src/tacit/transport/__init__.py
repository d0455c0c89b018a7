"""How messages travel: in memory, or through a simulated network with faults from a seed."""

from tacit.transport.memory import MemoryNetwork
from tacit.transport.simulated import Faults, Outage, Partition, SimulatedNetwork
from tacit.transport.simulation import Simulation, Stay, Streams, Timing

__all__ = [
    "Faults",
    "MemoryNetwork",
    "Outage",
    "Partition",
    "SimulatedNetwork",
    "Simulation",
    "Stay",
    "Streams",
    "Timing",
]
