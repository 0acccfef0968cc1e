"""Simulation: many replications of a problem for many policies; replays of recorded ratings."""

from lsdt.policies.warm_start import teach
from lsdt.simulation.references import best_training_mean
from lsdt.simulation.replay import replay
from lsdt.simulation.replay_result import ReplayResult
from lsdt.simulation.replaying import Replayed, replay_once
from lsdt.simulation.result import SimulationResult
from lsdt.simulation.simulate import simulate

__all__ = [
    "ReplayResult",
    "Replayed",
    "SimulationResult",
    "best_training_mean",
    "replay",
    "replay_once",
    "simulate",
    "teach",
]
