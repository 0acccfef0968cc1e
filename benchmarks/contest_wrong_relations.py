"""Regret when some relations are wrong, and how often the best arm is out at the end.

    python benchmarks/contest_wrong_relations.py --replications 200 --horizon 10000 --seed 0

Means and relations are redrawn in every run; all policies meet the same ones, and the same noise. An arm is
out when the policy cannot play it any more (triangles), or when the hypothesis that it is the best, with
the mean it has, costs more than log T (LSDT-Watchful).
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import lsdt
from lsdt.kernel.drivers import RunTotals, Setting
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.beyond import lsdt_watchful
from lsdt.side_information.layouts.subset import subset

N_ARMS, EPSILON, BERNOULLI_LAW = 100, 0.1, 1
REVEALED = {
    "half": (0.5, 0.5),
    # Near pairs are known more often: of similar ones most, of dissimilar ones those about epsilon apart.
    "by distance": (lambda d: np.exp(-d), lambda d: np.minimum(1.0, 0.8 / np.maximum(d, 1e-9))),
}
COMPETITORS = {
    "ts": (lsdt.Policy("ts"), None),
    "kl_ucb": (lsdt.Policy("kl_ucb"), None),
    "ts on triangles, risk .01": (lsdt.Policy("ts"), 0.01),
    "ts on triangles, risk .1": (lsdt.Policy("ts"), 0.1),
    "ts on B0 (all relations believed)": (lsdt.Policy("ts"), 0.0),
    "lsdt_watchful, audit=0": (lsdt.Policy("lsdt_watchful", audit=0.0), None),
    "lsdt_watchful": (lsdt.Policy("lsdt_watchful"), None),
}


def draw(seed, run, rate, revealed):
    rng = np.random.default_rng([seed, run])
    means = rng.uniform(0.1, 1.0, N_ARMS)
    key = int(rng.integers(2**62))
    side = lsdt.from_means(means, EPSILON).reveal(*REVEALED[revealed], seed=key)
    return means, side.corrupt(rate, seed=key + 1)


def playable(side, rate, risk):
    """The arms that are left: all, those of the plain triangle rule (risk 0), or those at a risk."""
    if risk is None:
        return np.arange(N_ARMS)
    if risk == 0.0:
        return lsdt.candidate_set(side, "triangles", max_wrong="auto").arms.copy()
    return lsdt.candidate_set(side, "triangles", wrong_rate=rate, risk=risk).arms.copy()


def is_out(policy, ready, arms, means, horizon):
    best = int(means.argmax())
    if policy.name != "lsdt_watchful":
        return best not in arms
    state = ready.player.state
    leader, _, second = lsdt_watchful.best_two(state)
    cost = lsdt_watchful.price_left(state, best, leader, second)
    cost += lsdt_watchful.rising_cost(state, best, means[best], math.inf)
    return cost + lsdt_watchful.falling_cost(state, best, means[best]) > math.log(horizon)


def play(policy, risk, seed, run, rate, revealed, horizon):
    """Regret after a tenth of the rounds and after all, and whether the best arm is out."""
    means, side = draw(seed, run, rate, revealed)
    arms = playable(side, rate, risk)
    model = RewardModel("bernoulli", 0.5)
    ready = policy.begin(subset(side, arms), model, horizon, new_stream(seed, run, 1))
    checkpoints = np.array([max(horizon // 10, 1), horizon])
    none = np.zeros(0, np.int64)
    stream, clock = new_stream(seed, run, 2), np.zeros(2, np.int64)
    totals = RunTotals(stream, clock, np.zeros(2), checkpoints, np.zeros(2), np.zeros(2), none)
    setting = Setting(arms, means, means.max() - means, BERNOULLI_LAW, 0.5, 0.0)
    ready.player.play(setting, totals, horizon)
    return (*totals.regret, is_out(policy, ready, arms, means, horizon))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--revealed", choices=REVEALED, default="half")
    parser.add_argument("--rates", type=float, nargs="*", default=[0.0, 0.001, 0.01, 0.05])
    parser.add_argument("--only", default="", help="a part of the policy's name")
    options = parser.parse_args()
    for rate in options.rates:
        for label, (policy, risk) in COMPETITORS.items():
            if options.only not in label:
                continue

            def one(run, policy=policy, risk=risk, rate=rate):
                return play(policy, risk, options.seed, run, rate, options.revealed, options.horizon)

            with ThreadPoolExecutor(2) as workers:
                early, late, out = np.array(list(workers.map(one, range(options.replications))), float).T
            margin = 1.96 * late.std(ddof=1) / math.sqrt(options.replications)
            print(
                f"{rate:6.1%} wrong | {label:34} | {early.mean():6.1f} | {late.mean():6.1f} +- {margin:4.1f} "
                f"| 95%: {np.quantile(late, 0.95):6.1f} | out {out.mean():.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
