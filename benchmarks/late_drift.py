"""False alarms of `drift`, its delay, and failures of anytime intervals, where small rewards come late.

A click is known at once, that there is none only later. Run it for the tables in docs/handbook/live.md and
docs/handbook/identify.md:

    python benchmarks/late_drift.py [RUNS]
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

import lsdt

_STEP = 50  # asks between two looks
_BEFORE, _AFTER = np.array([0.5, 0.3]), np.array([0.3, 0.3])


class Launch(NamedTuple):
    """The ask after which `drift` first listed an arm (None: never), and whose interval ever failed."""

    found: int | None
    failed: list[bool]


def launch(seed: int, delay: int, rounds: int, change: int | None = None, gaussian: bool = False) -> Launch:
    """Play two arms of means 0.5 and 0.3; rewards below the mean are told `delay` asks late.

    The mean of the first arm falls to 0.3 after `change` asks. Gaussian rewards have a sigma of 1.
    """
    rng, side = np.random.default_rng([seed, 7]), lsdt.SideInformation(2, epsilon=0.1)
    law = lsdt.rewards.gaussian(1.0) if gaussian else "bernoulli"
    agent = lsdt.Agent(side, "ts_gaussian" if gaussian else "ts", rewards=law, seed=seed)
    late: dict[int, tuple[lsdt.agent.Decision, float]] = {}
    found, failed = None, np.zeros(2, bool)
    for turn in range(rounds):
        decision = agent.ask()
        means = _BEFORE if change is None or turn < change else _AFTER
        mean = means[decision.arm]
        reward = float(mean + rng.normal()) if gaussian else float(rng.random() < mean)
        if reward > mean or not delay:
            agent.tell(decision, reward)
        else:
            late[turn + delay] = decision, reward
        if turn in late:
            agent.tell(*late.pop(turn))
        if (turn + 1) % _STEP:
            continue
        if found is None and not agent.drift().empty:
            found = turn + 1
        if change is None:
            best = agent.best(1)
            for each in (best, best.runners_up[0]):
                failed[each.arm_id] |= not each.anytime_low <= means[each.arm_id] <= each.anytime_high
    return Launch(found, failed.tolist())


def main() -> None:
    """Print a line per delay and kind of rewards."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for gaussian in (False, True):
        for delay in (0, 100, 1_000):
            still = [launch(seed, delay, 2_500, gaussian=gaussian) for seed in range(runs)]
            alarms = sum(each.found is not None for each in still)
            failed = np.sum([each.failed for each in still], axis=0).tolist()
            print(
                f"gaussian={gaussian} delay={delay}: {alarms} alarms, intervals failed {failed}", flush=True
            )
    for delay in (0, 100, 1_000):
        moved = [launch(seed, delay, 4_000, change=2_000).found for seed in range(runs)]
        times = [found - 2_000 for found in moved if found is not None and found > 2_000]
        median = np.median(times) if times else np.nan
        print(f"change, delay={delay}: {len(times)} found, median {median:.0f} asks later", flush=True)


if __name__ == "__main__":
    main()
