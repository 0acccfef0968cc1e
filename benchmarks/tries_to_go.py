"""How near `tries_to_go` comes to what really happens: the table in docs/handbook/identify.md.

    python benchmarks/tries_to_go.py [PROBLEMS, 15 by default]

`identify` is played on problems with known means (K = 100, delta 0.05, tolerance and epsilon 0.1). After 0,
30 and 300 tries, unless it has stopped, its estimate is compared with the median of five real continuations.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

import lsdt

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARMS, DELTA, TOLERANCE = 100, 0.05, 0.1
LOOKS = (0, 30, 300)
CONTINUATIONS, MOST = 5, 20_000  # a continuation is cut off after so many tries
FACTOR = 3.0  # what counts as near
SETTINGS = {  # the share of the relations that is known, and the family of rewards
    "complete, Gaussian": (1.0, "gaussian"),
    "half of the relations, Bernoulli": (0.5, "bernoulli"),
    "a fifth of the relations, Bernoulli": (0.2, "bernoulli"),
}


def has_stopped(agent: lsdt.Agent) -> bool:
    """Return whether the best arm is known."""
    return agent.stopping(DELTA, TOLERANCE).stop


def go_on(agent: lsdt.Agent, means: NDArray[np.float64], law: str, most: int, seed: list[int]) -> int:
    """Play until the best arm is known, `most` tries at most; return how many it took, to within 1%."""
    rng, look = np.random.default_rng(seed), 1
    for tries in range(1, most + 1):
        decision = agent.ask()
        mean = means[decision.arm]
        agent.tell(decision, float(rng.normal(mean) if law == "gaussian" else rng.random() < mean))
        if tries >= look:
            if has_stopped(agent):
                return tries
            look = tries + max(tries // 100, 1)
    return most


def trials(name: str, number: int) -> list[tuple[float | None, float]]:
    """Return the estimates for one problem, None where there is none, each with the real median."""
    share, law = SETTINGS[name]
    means = np.random.default_rng([number, 5]).uniform(0.1, 0.9, ARMS)
    side = lsdt.from_means(means, TOLERANCE)
    side = side if share == 1.0 else side.reveal(share, share, seed=number)
    rewards = lsdt.rewards.gaussian(1.0) if law == "gaussian" else law
    agent = lsdt.Agent(side, "identify", rewards=rewards, seed=number)
    found: list[tuple[float | None, float]] = []
    for before, until in zip((0, *LOOKS), LOOKS, strict=False):
        if until > before:
            go_on(agent, means, law, until - before, [number, until])
        if has_stopped(agent):
            break
        blob, estimate = agent.snapshot(), agent.stopping(DELTA, TOLERANCE).tries_to_go
        real = [
            go_on(lsdt.Agent.restore(blob), means, law, MOST, [number, until, run])
            for run in range(CONTINUATIONS)
        ]
        found.append((estimate, float(np.median(real))))
    return found


def row(name: str, found: list[tuple[float | None, float]]) -> str:
    """Return a row of the table."""
    known = [(estimate, real) for estimate, real in found if estimate is not None]
    near = sum(real / FACTOR <= estimate <= real * FACTOR for estimate, real in known)
    high = sum(estimate > real * FACTOR for estimate, real in known)
    median = np.median([real for _, real in found])
    share = f" ({near / len(known):.0%})" if known else ""
    return f"| {name} | {len(found)} | {len(known)} | {near}{share} | {high} | {median:,.0f} tries |"


def main() -> None:
    """Print the table."""
    n_problems, every = int(sys.argv[1]) if len(sys.argv) > 1 else 15, []
    print("| setting | trials | estimates | within three times | too high | median real run, of all trials |")
    print("|---|---|---|---|---|---|")
    for name in SETTINGS:
        found = [trial for number in range(n_problems) for trial in trials(name, number)]
        every += found
        print(row(name, found), flush=True)
    print(row("all", every))


if __name__ == "__main__":
    main()
