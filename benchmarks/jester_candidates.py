"""Candidates that side information from some users of Jester leaves, and whether the best joke is among them.

    python benchmarks/jester_candidates.py PATH --splits 50 --seed 0 --shares .01 .02 .05 .1 .2

PATH is the published file, which is not part of this project: `lsdt.ratings.where_to_get_jester()` says where
it is. The users to train on are drawn at random, the same ones for all rules. The best joke is that of the
largest mean rating in the whole file.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import lsdt
from lsdt.errors import NoRelations

ALPHA = {0.02: 0.2, 0.05: 0.2, 0.1: 0.1}  # of the paper's rule, by share; the nearest share for others
RULES = ("best", "best_bootstrap", "ranges", "bootstrap", "paper", "threshold")


def side_of(rule, log, share):
    """Side information by one of the rules."""
    if rule == "paper":
        nearest = min(ALPHA, key=lambda known: abs(known - share))
        return lsdt.from_ratings(log, rule="paper", search="paper", alpha=ALPHA[nearest])
    if rule == "best":
        return lsdt.from_ratings(log)
    if rule == "best_bootstrap":
        return lsdt.from_ratings(log, interval="bootstrap")
    if rule == "bootstrap":
        return lsdt.from_ratings(log, guarantee="all", interval="bootstrap")
    return lsdt.from_ratings(log, relations=rule)


def candidates_of(rule, log, share):
    """The jokes that a rule leaves: by the paper's own step for its rule, by the strongest quick one else."""
    try:
        side = side_of(rule, log, share)
    except NoRelations:
        return list(log.item_ids)
    method = {"paper": "paper", "threshold": "auto"}.get(rule, "order")  # which is exact for ranges
    return lsdt.candidate_set(side, method).arm_ids


def training_log(log, share, seed, split):
    """The ratings of a share of the users, drawn at random."""
    users = np.random.default_rng([seed, split]).permutation(log.n_users)
    return log.of_users(np.sort(users[: round(share * log.n_users)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", help="the published Jester ratings: jester-data-1 as zip, xls or csv")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.02, 0.05, 0.1])
    parser.add_argument("--rules", nargs="+", default=RULES, choices=RULES)
    options = parser.parse_args()
    warnings.simplefilter("ignore", lsdt.ratings.RatingWarning)
    log = lsdt.ratings.load_jester(options.path)
    best = log.item_ids[int(np.argmax(log.means()))]
    print("| rule, share of users | candidates | fewest to most | best joke kept |")
    print("|---|---|---|---|")
    for share in options.shares:
        sizes, kept = {rule: [] for rule in options.rules}, dict.fromkeys(options.rules, 0)
        for split in range(options.splits):
            trained = training_log(log, share, options.seed, split)
            for rule in options.rules:
                found = candidates_of(rule, trained, share)
                sizes[rule].append(len(found))
                kept[rule] += best in found
        for rule in options.rules:
            ends = f"{min(sizes[rule])} to {max(sizes[rule])}"
            cells = [f"`{rule}`, {share:.0%}", f"{np.mean(sizes[rule]):.1f}", ends]
            print("|", " | ".join([*cells, f"{kept[rule]} of {options.splits}"]), "|", flush=True)


if __name__ == "__main__":
    main()
