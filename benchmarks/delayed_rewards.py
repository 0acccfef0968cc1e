"""How often `stopping` is wrong, and how long it takes, where the delay of a reward depends on the reward.

A click is known at once, that there is none only later. Run it for the table in docs/handbook/identify.md:

    python benchmarks/delayed_rewards.py [RUNS]
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import lsdt
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.stopping import StoppingRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEVER = 10**9
_STEP = 5  # asks between two looks


class Case(NamedTuple):
    """Arms with coins for rewards, and after how many more asks a reward of 0 and one of 1 is told.

    Delays are the same for all arms, or one for each. ``share`` is the share of asks whose reward is late at
    all.
    """

    name: str
    means: tuple[float, ...]
    zeros_late: int | tuple[int, ...] = 0
    ones_late: int | tuple[int, ...] = 0
    share: float = 1.0
    side: lsdt.SideInformation | None = None
    tolerance: float = 0.1


class Outcome(NamedTuple):
    """For every run the ask after which the rule said stop (-1: never), and whether it named a bad arm."""

    tries: NDArray[np.int64]
    wrong: NDArray[np.bool_]


def outcomes(
    case: Case, runs: int, most: int, count_pending: bool, delta: float = 0.05, seed: int = 0
) -> Outcome:
    """Play `ts` in many runs side by side, and look every 5 asks until the rule says stop.

    Thompson sampling takes pending rewards for the mean of their arm so far, as an agent does. Without
    `count_pending` the rule sees only rewards that were told.
    """
    rng, means = np.random.default_rng(seed), np.asarray(case.means)
    side = lsdt.SideInformation(len(means)) if case.side is None else case.side
    rule = StoppingRule(side, RewardModel("bernoulli", 0.5), case.tolerance)
    counts, pending = (np.zeros((runs, len(means)), np.int64) for _ in range(2))
    sums = np.zeros((runs, len(means)))
    late = np.array([np.broadcast_to(each, len(means)) for each in (case.zeros_late, case.ones_late)])
    told_at: dict[int, list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]] = {}
    tries, wrong, going = np.full(runs, -1), np.zeros(runs, bool), np.arange(runs)
    for ask in range(1, most + 1):
        told, total, open_ = counts[going], sums[going], pending[going]
        overall = (total.sum(axis=1) + 0.5 * (told.sum(axis=1) == 0)) / np.maximum(told.sum(axis=1), 1)
        wins = total + open_ * np.where(told > 0, total / np.maximum(told, 1), overall[:, None])
        losses = np.maximum(told + open_ - wins, 0.0)
        arms = rng.beta(1.0 + wins, 1.0 + losses).argmax(axis=1)
        rewards = (rng.random(len(going)) < means[arms]).astype(np.int64)
        delay = np.where(rng.random(len(going)) < case.share, late[rewards, arms], 0)
        pending[going, arms] += 1
        for each in np.unique(delay):
            which = delay == each
            told_at.setdefault(ask + int(each), []).append((going[which], arms[which], rewards[which]))
        for rows, chosen, values in told_at.pop(ask, []):
            counts[rows, chosen] += 1
            pending[rows, chosen] -= 1
            sums[rows, chosen] += values
        if ask % _STEP:
            continue
        left = []
        for run in going.tolist():
            verdict = rule.judge(counts[run], sums[run], pending[run] if count_pending else None)
            if verdict.delta > delta:
                left.append(run)
                continue
            tries[run] = ask
            wrong[run] = means[rule.arms[verdict.leader]] < means.max() - case.tolerance - 1e-12
        going = np.array(left, np.int64)
        if not left:
            break
    return Outcome(tries, wrong)


def _cases() -> list[tuple[Case, int, int]]:
    """Return the cases, after how many asks a run is given up, and one in how many runs is played."""
    means = np.linspace(0.1, 0.6, 8)
    eight = tuple(means.tolist())
    whole = lsdt.from_means(means, 0.1)
    half = whole.reveal(0.5, 0.5, seed=1)
    return [
        (Case("no delay", (0.5, 0.3)), 20_000, 1),
        (Case("zeros 100 late", (0.5, 0.3), 100), 20_000, 1),
        (Case("zeros 1,000 late", (0.5, 0.3), 1_000), 20_000, 1),
        (Case("zeros never told", (0.5, 0.3), NEVER), 2_000, 1),
        (Case("ones 1,000 late", (0.5, 0.3), 0, 1_000), 20_000, 1),
        (Case("zeros 1,000 and ones 100 late", (0.5, 0.3), 1_000, 100), 20_000, 1),
        (Case("zeros 1,000 late, in a third of the asks", (0.5, 0.3), 1_000, 0, 1 / 3), 20_000, 1),
        (Case("what misleads at once, the rest 1,000 late", (0.5, 0.3), (0, 1_000), (1_000, 0)), 20_000, 5),
        (Case("8 arms, all relations, zeros 1,000 late", eight, 1_000, side=whole), 10_000, 4),
        (Case("8 arms, half of the relations, zeros 100 late", eight, 100, side=half), 10_000, 4),
        (Case("8 arms, half of the relations, zeros 1,000 late", eight, 1_000, side=half), 10_000, 4),
    ]


def _shown(found: Outcome) -> str:
    stopped = found.tries[found.tries > 0]
    half = f"{np.median(stopped):7,.0f}" if len(stopped) else "      -"
    return f"  {100 * found.wrong.mean():5.1f}%  {100 * len(stopped) / len(found.tries):5.1f}%  {half}"


def main() -> None:
    """Print a line per case: wrong, stopped and median asks to stop, before and after."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    print("runs; wrong, stopped and median asks by told rewards alone; and by every decision asked for")
    for case, most, one_in in _cases():
        told, every = (outcomes(case, runs // one_in, most, counted) for counted in (False, True))
        print(f"{case.name:<48}{runs // one_in:>6}{_shown(told)}   |{_shown(every)}", flush=True)


if __name__ == "__main__":
    main()
