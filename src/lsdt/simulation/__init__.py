"""Simulation: many replications of a problem, played by many policies.

`simulate` is the entry, `study` plays a replication, `competitors` puts all kinds of policies behind one
interface, `result` is the answer and `result_files` its folder on disk.
"""

from lsdt.simulation.competitors import best_training_mean
from lsdt.simulation.result import SimulationResult
from lsdt.simulation.simulate import simulate

__all__ = [
    "SimulationResult",
    "best_training_mean",
    "simulate",
]
