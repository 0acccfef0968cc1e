"""What relations and a warm start bring on long horizons, alone and together, on problems made of Jester.

    python benchmarks/jester_warm_start.py PATH --splits 20 --horizon 10000

PATH is the published file, which is not part of this project: `lsdt.ratings.where_to_get_jester()` says where
it is. In every split 5% of the users make the relations (ranges), the same 5% or another 5% are the prior,
and the arms pay as all others rated. All replications of a split share one prior: what it gets wrong by
chance, it gets wrong in all of them. So splits are what to average over, not replications.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import lsdt

POLICIES = ["ts@order", "imed@order", "ts", "imed"]


def regrets(log, split, options):
    """Regret of every policy: cold, warm from the ratings of the relations, warm from others."""
    users = np.random.default_rng([options.seed, split]).permutation(log.n_users)
    size = round(options.share * log.n_users)
    same, other, rest = (
        log.of_users(np.sort(part)) for part in (users[:size], users[size : 2 * size], users[2 * size :])
    )
    problem = lsdt.problems.from_ratings(rest, lsdt.from_ratings(same, relations=options.relations))
    found = {}
    for name, prior in (("cold", None), ("same ratings", same), ("other ratings", other)):
        result = lsdt.simulate(
            problem, options.policies, horizon=options.horizon, replications=1, seed=split, prior=prior,
            n_jobs=1,
        )  # fmt: skip
        for policy in result.policies:
            found[policy, name] = float(result.regret(policy)[0, -1])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", help="the published Jester ratings: jester-data-1 as zip, xls or csv")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    parser.add_argument("--relations", default="ranges", choices=("ranges", "threshold"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    log = lsdt.ratings.load_jester(options.path)
    rows = [regrets(log, split, options) for split in range(options.splits)]
    print("| policy | cold | warm, ratings of the relations | warm, other ratings |")
    print("|---|---|---|---|")
    for policy in dict.fromkeys(policy for policy, _ in rows[0]):
        cells = []
        for name in ("cold", "same ratings", "other ratings"):
            values = np.array([row[policy, name] for row in rows])
            half = 2.0 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            cells.append(f"{values.mean():.0f} ({values.mean() - half:.0f} to {values.mean() + half:.0f})")
        print(f"| {policy} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
