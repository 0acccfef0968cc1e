"""Simulation: many replications of a problem for many policies; replays of recorded ratings."""

from lsdt.simulation.replay import Replayed, replay, teach
from lsdt.simulation.result import SimulationResult
from lsdt.simulation.simulate import simulate

__all__ = ["Replayed", "SimulationResult", "replay", "simulate", "teach"]
