"""How often real runs lie inside the intervals of `lsdt.plan`, which are to hold 90% of them.

    LSDT_JIT=always python benchmarks/calibration_of_plan.py [--problems 200] [--first 0] [--only NAME ...]

For every problem, a plan is made from its relations; then the problem itself is played once. "Inside" is the
share of problems whose tries until the best arm was known, and whose regret after 1,000 rounds, lie in
the interval; "on an end" is the part of it that equals an end, as counts of tries often do. "By the
formula" is the median, over problems, of the classical number of tries divided by that of the plan.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np

import lsdt

SEED, HORIZON = 8_000, 1_000
SETTINGS = {
    "complete": lambda: lsdt.problems.uniform(100, 0.1, 0.9, 0.1, "bernoulli"),
    "half": lambda: lsdt.problems.uniform(100, 0.1, 0.9, 0.1, "bernoulli", 0.5, 0.5),
    "a fifth": lambda: lsdt.problems.uniform(100, 0.1, 0.9, 0.1, "bernoulli", 0.2, 0.2),
    "thirty arms, half": lambda: lsdt.problems.uniform(30, 0.1, 0.9, 0.1, "bernoulli", 0.5, 0.5),
    "gaussian, half": lambda: lsdt.problems.uniform(100, 0.1, 1.0, 0.1, "gaussian", 0.5, 0.5),
}


def measure(name: str, first: int, problems: int) -> str:
    """Return a row of the table."""
    problem, started = SETTINGS[name](), process_time()
    tries, regret, ends, ratios, seconds = [], [], [], [], []
    for number in range(SEED + first, SEED + first + problems):
        instance, begun = problem.draw(number, 0), process_time()
        plan = lsdt.plan(instance.side, instance.rewards, horizons=[HORIZON], n_pairs=0, seed=number)
        seconds.append(process_time() - begun)
        _, low, high = plan.tries
        real = lsdt.identify(problem, seed=number).tries
        tries.append(low <= real <= high)
        ends.append(real in (low, high))
        ratios.append(plan.classical / plan.tries[0])
        row = plan.rounds.iloc[0]
        result = lsdt.simulate(problem, [plan.policy], HORIZON, 1, seed=number, n_jobs=1)
        regret.append(row["low"] <= result.regret(plan.policy)[0, -1] <= row["high"])
    return (
        f"| {name} | {problems} | {np.mean(tries):.3f} | {np.mean(ends):.3f} | {np.mean(regret):.3f} "
        f"| {np.median(ratios):,.0f} | {np.median(seconds):.1f} s | {process_time() - started:,.0f} s |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    given = parser.parse_args()
    print(
        "| setting | problems | tries inside | on an end | regret inside "
        "| by the formula | a plan | in all |\n" + 8 * "|---" + "|"
    )
    for name in given.only:
        print(measure(name, given.first, given.problems), flush=True)


if __name__ == "__main__":
    main()
