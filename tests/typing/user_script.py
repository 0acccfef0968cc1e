"""What a user would write; `mypy --strict` passes on it, and reads types, not Any.

`make test` checks it, `tests/test_typing.py` runs it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, assert_type

import numpy as np
from numpy.typing import NDArray

import lsdt
from lsdt.service.client import RemoteDecision, StoppingAnswer
from lsdt.service.server import in_background

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
    assert_type(found, lsdt.candidates.CandidateSet)
    assert_type(found.arms, NDArray[np.int64])
    why = found.explain("coffee")
    assert_type(why, lsdt.candidates.Explanation)
    assert_type(why.text, str)
    return found.arm_ids


def live(side: lsdt.SideInformation) -> str | int:
    agent = lsdt.Agent(side, policy=lsdt.Policy("ucb1"), rewards="bernoulli", seed=1)
    decision = agent.ask()
    assert_type(decision, lsdt.agent.Decision)
    assert_type(agent.ask(2), list[lsdt.agent.Decision])
    agent.tell(decision, 1.0)
    assert_type(agent.best(), lsdt.agent.Recommendation)
    return decision.arm_id


def remote(url: str) -> str | int:
    with lsdt.Client.open(url, "drinks", side=drinks(), policy="ucb1") as agent:
        assert_type(agent, lsdt.Client)
        decision = agent.ask()
        assert_type(decision, RemoteDecision)
        assert_type(agent.ask(2, propensity=True), list[RemoteDecision])
        tell: Callable[[RemoteDecision, float], None] = agent.tell
        tell(decision, 1.0)
        assert_type(agent.tell_many([(decision.id, 1)]), tuple[int, int])
        assert_type(agent.stopping(delta=0.1), StoppingAnswer)
        assert_type(agent.best(n_runners_up=1), lsdt.agent.Recommendation)
        return decision.arm_id


async def awaited(url: str) -> tuple[int, int]:
    async with await lsdt.AsyncClient.open(url, "drinks") as agent:
        assert_type(agent, lsdt.AsyncClient)
        one, many = await asyncio.gather(agent.ask(), agent.ask(2))
        assert_type(one, RemoteDecision)
        assert_type(many, list[RemoteDecision])
        assert_type(await agent.best(), lsdt.agent.Recommendation)
        return await agent.tell_many((each, 1.0) for each in (one, *many))


def wrong(plain: lsdt.Client, waiting: lsdt.AsyncClient) -> None:
    """Not run: mypy finds what is wrong in each line, or says that nothing is to be ignored."""
    plain.tell("id", "much")  # type: ignore[arg-type]
    plain.best(runners=1)  # type: ignore[call-overload]
    plain.ask("2")  # type: ignore[call-overload]
    waiting.close()  # type: ignore[unused-coroutine]


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
    with in_background() as address:
        assert remote(address) in ("tea", "coffee", "cocoa")
        assert asyncio.run(awaited(address)) == (3, 0)
    assert study().shape[0] == 2
    assert "0" in errors()
