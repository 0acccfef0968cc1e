"""How often real runs lie inside the intervals of `lsdt.plan`, which are to hold 90% of them.

    LSDT_JIT=always python benchmarks/calibration_of_plan.py [--problems 200] [--first 0] [--only NAME ...]

For every problem, a plan is made from its relations; then the problem itself is played once. "Inside" counts
the problems whose tries until the best arm was known, and whose regret after 1,000 rounds, lie in the
interval; "on an end" counts those of them that equal an end, as counts of tries often do. "By the formula" is
the classical number of tries. Only one tolerance is planned for; `lsdt.plan` says the same about it.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np

import lsdt
from lsdt.identification import brief_plan
from lsdt.problems import checked_rewards

SEED, HORIZON, RUNS = 8_000, 1_000, 100
SETTINGS = {
    "complete": lambda: lsdt.problems.uniform(100, 0.1, 0.9, 0.1, "bernoulli"),
    "half": lambda: lsdt.problems.uniform(100, 0.1, 0.9, 0.1, "bernoulli", 0.5, 0.5),
    "a fifth": lambda: lsdt.problems.uniform(100, 0.1, 0.9, 0.1, "bernoulli", 0.2, 0.2),
    "thirty arms, half": lambda: lsdt.problems.uniform(30, 0.1, 0.9, 0.1, "bernoulli", 0.5, 0.5),
    "gaussian, half": lambda: lsdt.problems.uniform(100, 0.1, 1.0, 0.1, "gaussian", 0.5, 0.5),
}


def _place(value: float, low: float, high: float) -> str:
    if value > high:
        return "above"
    if value < low:
        return "below"
    return "end" if value in (low, high) else "in"


def measure(name: str, first: int, problems: int) -> str:
    """Return a row of the table."""
    problem, started = SETTINGS[name](), process_time()
    tries, regret, planned, seconds = [], [], [], []
    for number in range(SEED + first, SEED + first + problems):
        instance, begun = problem.draw(number, 0), process_time()
        law = checked_rewards(instance.rewards)
        plan = brief_plan(instance.side, law, None, "auto", HORIZON, RUNS, number)
        seconds.append(process_time() - begun)
        planned.append(plan.tries[0])
        tries.append(_place(lsdt.identify(problem, seed=number).tries, *plan.tries[1:]))
        result = lsdt.simulate(problem, [plan.policy], HORIZON, 1, seed=number, n_jobs=1)
        lost, row = result.regret(plan.policy)[0, -1], plan.rounds.iloc[0]
        regret.append(_place(lost, row["low"], row["high"]))
    inside = [places.count("in") + places.count("end") for places in (tries, regret)]
    return (
        f"| {name} | {problems} | {inside[0]} | {tries.count('end')} | {tries.count('above')} "
        f"| {inside[1]} | {regret.count('above')} | {np.median(planned):,.0f} | {plan.classical:,} "
        f"| {np.median(seconds):.1f} s | {process_time() - started:,.0f} s |"
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
        "| setting | problems | tries inside | on an end | above | regret inside | above "
        "| tries planned, median | by the formula | a plan | in all |\n" + 11 * "|---" + "|"
    )
    for name in given.only:
        print(measure(name, given.first, given.problems), flush=True)


if __name__ == "__main__":
    main()
