"""What Prometheus learns of single arms: the most played ones, and all others together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from lsdt.agent import Agent

    Labels = tuple[tuple[str, str], ...]
    Values = dict[str, tuple[str, list[tuple[Labels, float]]]]

_MOST_SCORED = 10_000  # arms up to which indices are computed for a scrape: some milliseconds of the agent


class ArmNumbers(NamedTuple):
    """An arm as its metrics have it; `arm` is None for all others together."""

    arm: str | None
    plays: int
    reward_sum: float
    score: float | None


def arm_numbers(agent: Agent, most: int, *, has_index: bool = True) -> list[ArmNumbers]:
    """Return the `most` arms with the most plays, the most played first, and the others together at the end.

    With `has_index`, also what the policy compares arms by, where it has such a number.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.service.arm_metrics import arm_numbers
    >>> agent = lsdt.Agent(lsdt.SideInformation(3, arm_ids=["tea", "juice", "milk"]), policy="ucb1")
    >>> for arm in ("milk", "tea", "milk", "juice", "milk"):
    ...     agent.observe(arm, 1.)
    >>> [(each.arm, each.plays) for each in arm_numbers(agent, 1)]
    [('milk', 3), (None, 2)]
    """
    with agent.held() as learner:
        side, counts, sums = learner.side, learner.counts.copy(), learner.sums.copy()
        has_index = has_index and side.n_arms <= _MOST_SCORED and learner.policy.score_name != "mean"
        scores = np.array(learner.scores(), float) if has_index else None
    first = np.argsort(-counts, kind="stable")[:most] if most * 50 > len(counts) else _largest(counts, most)
    first = first[counts[first] > 0]
    index = np.full(len(counts), np.nan) if scores is None else scores
    found = [
        ArmNumbers(str(side.label(arm)), int(counts[arm]), float(sums[arm]), _finite(float(index[arm])))
        for arm in first.tolist()
    ]
    rest = int(counts.sum()) - sum(each.plays for each in found)
    is_rest = np.ones(len(counts), bool)
    is_rest[first] = False
    return [*found, ArmNumbers(None, rest, math.fsum(sums[is_rest].tolist()) if rest else 0.0, None)]


def _largest(counts: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return where the largest counts are, the first ones among equal, without sorting all."""
    if most == 0:
        return np.empty(0, np.int64)
    least = np.partition(counts, len(counts) - most)[len(counts) - most]
    above, equal = np.flatnonzero(counts > least), np.flatnonzero(counts == least)
    chosen = np.concatenate([above, equal[: most - len(above)]])
    return chosen[np.argsort(-counts[chosen], kind="stable")]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def arm_values(agents: Iterable[tuple[str, Agent]], most: int, *, has_index: bool) -> Values:
    """Return the metrics of arms: their help, and values with their labels."""
    plays: list[tuple[Labels, float]] = []
    sums: list[tuple[Labels, float]] = []
    indices: list[tuple[Labels, float]] = []
    for name, agent in agents:
        for each in arm_numbers(agent, most, has_index=has_index):
            # An arm may be called "other", too: `rest` tells them apart.
            own: Labels = (("arm", "other"), ("rest", "true")) if each.arm is None else (("arm", each.arm),)
            labels = (("experiment", name), *own)
            plays.append((labels, float(each.plays)))
            sums.append((labels, each.reward_sum))
            if each.score is not None:
                indices.append((labels, each.score))
    return {
        "lsdt_arm_plays": ("Rewards learned, by arm: the most played ones, and the rest.", plays),
        "lsdt_arm_rewards": ("Sum of these rewards.", sums),
        "lsdt_arm_index": ("What the policy compares arms by, such as an upper bound of the mean.", indices),
    }
