"""How messages travel: in memory, through a simulated network with faults from a seed, or over gRPC."""

import os

# gRPC writes its own log to the terminal, from C++. What a user must know, tacit says; set the variable to see more.
# It is read when gRPC is imported, and whoever imports it from here comes through this door first.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
# Whoever forks here becomes another program at once (PySpark starts Java so). gRPC's own work at a fork, which is for
# those who go on as they are, crashes one such child in ten while a stream is in use, and then Spark does not start.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

from tacit.transport.memory import MemoryNetwork
from tacit.transport.ranking_simulation import RankingSimulation
from tacit.transport.simulated import Faults, Outage, Partition, SimulatedNetwork
from tacit.transport.simulation import Simulation, Streams
from tacit.transport.sketch_simulation import FrequentSimulation, GaugeSimulation
from tacit.transport.stage import Stage, Stay, Timing

__all__ = [
    "Faults",
    "FrequentSimulation",
    "GaugeSimulation",
    "MemoryNetwork",
    "Outage",
    "Partition",
    "RankingSimulation",
    "SimulatedNetwork",
    "Simulation",
    "Stage",
    "Stay",
    "Streams",
    "Timing",
]
