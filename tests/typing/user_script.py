"""What a user would write; `mypy --strict` passes on it, and reads types, not Any.

`make test` checks it, `tests/test_typing.py` runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

import numpy as np
from numpy.typing import NDArray

import lsdt

if TYPE_CHECKING:
    from collections.abc import Sequence


def drinks() -> lsdt.SideInformation:
    side = lsdt.SideInformation(
        3,
        similar=[("tea", "coffee"), ("coffee", "cocoa")],
        dissimilar=[("tea", "cocoa")],
        arm_ids=["tea", "coffee", "cocoa"],
        epsilon=0.2,
    )
    assert_type(side.n_arms, int)
    assert_type(side.epsilon, float | None)
    return side


def candidates(side: lsdt.SideInformation) -> Sequence[str | int]:
    found = lsdt.candidate_set(side, method="auto")
    assert_type(found, lsdt.CandidateSet)
    assert_type(found.arms, NDArray[np.int64])
    why = found.explain("coffee")
    assert_type(why, lsdt.Explanation)
    assert_type(why.text, str)
    return found.arm_ids


def live(side: lsdt.SideInformation) -> str | int:
    agent = lsdt.Agent(side, policy=lsdt.Policy("ucb1"), rewards="bernoulli", seed=1)
    decision = agent.ask()
    assert_type(decision, lsdt.Decision)
    assert_type(agent.ask(2), list[lsdt.Decision])
    agent.tell(decision, 1.0)
    assert_type(agent.best(), lsdt.Recommendation)
    return decision.arm_id


def study() -> NDArray[np.float64]:
    problem = lsdt.problems.uniform(n_arms=5, epsilon=0.2, rewards=lsdt.rewards.gaussian(sigma=1.0))
    result = lsdt.simulate(problem, ["ucb1"], horizon=20, replications=2)
    assert_type(result, lsdt.SimulationResult)
    return result.regret("ucb1")


def errors() -> str:
    try:
        lsdt.SideInformation(2, similar=[(0, 0)])
    except lsdt.errors.InvalidInput as error:
        return str(error)
    return ""


if __name__ == "__main__":
    assert candidates(drinks()) == ["tea", "cocoa"]
    assert live(drinks()) in ("tea", "coffee", "cocoa")
    assert study().shape[0] == 2
    assert "0" in errors()
