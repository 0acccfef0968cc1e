"""Simulation: many replications of a problem for many policies; replays of recorded ratings."""

from lsdt.policies.warm_start import teach
from lsdt.simulation.replaying import Replayed, replay_once
from lsdt.simulation.result import SimulationResult
from lsdt.simulation.simulate import simulate

__all__ = ["Replayed", "SimulationResult", "replay_once", "simulate", "teach"]
