"""Simulation: many replications of a problem for many policies."""

from lsdt.simulation.result import SimulationResult
from lsdt.simulation.simulate import simulate

__all__ = ["SimulationResult", "simulate"]
