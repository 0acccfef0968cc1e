"""Whether guarantees hold where rewards come late, are replaced, or come from units that return.

    python benchmarks/late_guarantees.py [RUNS]

``lift``: a control with a floor of .2 and three arms, 2,000 asks, zeros told 100 asks later than ones; in how
many launches the intervals of all arms hold at all 40 looks. ``stopping``: three arms, one of them .25 above
the others, a tolerance of .2 and delta .05, a look every 25 of 600 decisions, in four kinds of launches; in
how many a wrong arm is named, and when. The clock is ours: a decision takes a second.
"""

from __future__ import annotations

import sys

import numpy as np

import lsdt
import lsdt.agent.agent
import lsdt.agent.learner

MEANS = np.array([0.35, 0.6, 0.35])
CLICKS = np.array([0.1, 0.1, 0.14, 0.06])  # the control first
LATE, RETURNS, PAYS = 50, 0.6, 0.95


class _Clock:
    now = 10**15


def lift_holds(seed):
    """Return whether the intervals of all arms hold at all looks."""
    rng, late = np.random.default_rng([seed, 35]), []
    agent = lsdt.Agent(lsdt.SideInformation(len(CLICKS)), "ts", floor={0: 0.2}, seed=seed)
    for number in range(2_000):
        decision = agent.ask()
        if rng.random() < CLICKS[decision.arm]:
            agent.tell(decision, 1.0)
        else:
            late.append((number + 100, decision))
        while late and late[0][0] <= number:
            agent.tell(late.pop(0)[1], 0.0)
        if number % 50 == 49:
            frame = agent.lift()
            truth = CLICKS[frame["arm"].to_numpy(int)] - CLICKS[0]
            if ((truth < frame["low"]) | (truth > frame["high"])).any():
                return False
    return True


def stopped(seed, has_units, is_replaced):
    """Return the arm that is named first, and after how many decisions; None if none is."""
    rng, late, loyal = np.random.default_rng([seed, 36]), [], []
    options = {"replace_within": "60 seconds"} if is_replaced else {}
    agent = lsdt.Agent(lsdt.SideInformation(len(MEANS)), "ts", seed=seed, **options)
    for number in range(600):
        _Clock.now += 10**6
        unit, rate = (f"user-{number}" if has_units else None), None
        if loyal and rng.random() < RETURNS:
            unit, rate = loyal[rng.integers(len(loyal))], PAYS
        decision = agent.ask(unit=unit)
        paid = float(rng.random() < (MEANS[decision.arm] if rate is None else rate))
        if has_units and paid and rate is None:
            loyal.append(unit)
        if paid or is_replaced:
            agent.tell(decision, 1.0)
        if not paid:
            late.append((number + LATE, decision))
        while late and late[0][0] <= number:
            agent.tell(late.pop(0)[1], 0.0, **({"repeat": "replace"} if is_replaced else {}))
        if number % 25 == 24:
            found = agent.stopping(0.05, 0.2)
            if found.stop:
                return found.arm, number
    return None


def main():
    """Print both tables."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    for module in (lsdt.agent.agent, lsdt.agent.learner):
        module.now = lambda: _Clock.now
    held = sum(lift_holds(seed) for seed in range(5_000, 5_000 + runs))
    print(f"lift: all intervals held at all looks in {held} of {runs} launches", flush=True)
    print("| rewards | stopped | wrong | median decision of stopping |")
    for has_units, is_replaced, name in (
        (False, False, f"zeros told {LATE} decisions late"),
        (False, True, "replaced"),
        (True, False, "units, and zeros late"),
        (True, True, "units, and replaced"),
    ):
        found = [stopped(seed, has_units, is_replaced) for seed in range(6_000, 6_000 + runs)]
        times = [each[1] for each in found if each is not None]
        wrong = sum(each is not None and MEANS[each[0]] < MEANS.max() - 0.2 for each in found)
        middle = f"{np.median(times):.0f}" if times else "-"
        print(f"| {name} | {len(times)} of {runs} | {wrong} | {middle} |", flush=True)


if __name__ == "__main__":
    main()
