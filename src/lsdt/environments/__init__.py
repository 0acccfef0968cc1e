"""Environments: how arms pay. `problems` says which arms there are and what is known of them."""

from lsdt.environments.rewards import (
    Rewards,
    bernoulli,
    callable,
    exponential,
    gaussian,
    laplace,
    pareto,
    student_t,
)

__all__ = ["Rewards", "bernoulli", "callable", "exponential", "gaussian", "laplace", "pareto", "student_t"]
