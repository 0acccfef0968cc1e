"""Replays of Jester or ratings like it: side information from some users, policies tested on others."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.errors import InvalidFile, InvalidInput, counted
from lsdt.policies import Policy
from lsdt.ratings import (
    file_fingerprint,
    load_jester,
    look_alike,
    pair_statistics,
    search_epsilon,
    where_to_get_jester,
)
from lsdt.replays import replay
from lsdt.reproduce.framework.wording import (
    CKL_UCB_SQUARED,
    CKL_UCB_SQUARED_FLOOR,
    LSDT_PSI,
    TS,
    TS_ON_B0,
    UCB1,
    UCB1_ON_B0,
)
from lsdt.reproduce.paper.jester.jester_grid import grid_rows
from lsdt.simulation import best_training_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsdt.ratings import EpsilonSearch, PairStatistics, RatingLog
    from lsdt.replays import ReplayResult
    from lsdt.reproduce.framework.experiment import Setting, Tables, Work
    from lsdt.side_information import SideInformation

    Row = dict[str, Any]

TS_PRIOR, UCB1_PRIOR = "TS, with prior", "UCB1 (alpha 2), with prior"
BEST_IN_TRAINING, BEST_IN_HINDSIGHT = "always best training mean", "always best in hindsight"
_CKL_UCBS = (CKL_UCB_SQUARED, CKL_UCB_SQUARED_FLOOR)
NAMED = (LSDT_PSI, UCB1_ON_B0, *_CKL_UCBS, TS, UCB1)  # the policies that the paper names, in Section 6.3
INFORMED = (LSDT_PSI, UCB1_ON_B0, *_CKL_UCBS, TS_ON_B0)  # policies that use side information
OTHERS = (TS_ON_B0, BEST_IN_TRAINING, TS_PRIOR, UCB1_PRIOR, BEST_IN_HINDSIGHT)

_TABLES = ("runs", "searches", "paths", "grids")
_REPLAY_SHARE = 0.4  # of the time, for the progress bar; searches and grids take the rest


def policies_of(setting: Setting, control: bool) -> dict[str, Any]:
    """Return the policies to replay, by label; two of them take the training ratings as a prior."""
    # The squared difference of means stands for the divergence: a Gaussian one with 2 sigma^2 = 1.
    squared: dict[str, Any] = {"divergence": "gaussian", "sigma": np.sqrt(0.5)}
    policies = {
        LSDT_PSI: Policy("lsdt_psi", lambda_=setting["lambda"]),
        UCB1_ON_B0: Policy("ucb1", on="paper"),
        CKL_UCB_SQUARED: Policy("ckl_ucb", **squared),
        CKL_UCB_SQUARED_FLOOR: Policy("ckl_ucb", floor="mean", **squared),
        TS: Policy("ts"),
        UCB1: Policy("ucb1"),
        TS_ON_B0: Policy("ts", on="paper"),
        BEST_IN_TRAINING: best_training_mean(),
        TS_PRIOR: Policy("ts", prior_weight=1.0),
        UCB1_PRIOR: Policy("ucb1", prior_weight=1.0),
    }
    return {label: policy for label, policy in policies.items() if label in INFORMED or not control}


def split_tables(setting: Setting, work: Work) -> Tables:
    """Return every policy's mean rating in every split, and what the search for epsilon found there."""
    import pandas as pd

    ratings = _load(setting["data"], work)
    check_sizes(ratings, setting)
    tables: dict[str, list[Row]] = {name: [] for name in _TABLES}
    groups = len(setting["training"])
    for number, training in enumerate(setting["training"]):
        own = work.stretch(number / groups, (number + 1) / groups)
        group = _GroupReplay(ratings, setting, training)
        for name, rows in group.rows(own).items():
            tables[name] += rows
    data = {
        "data": setting["data"]["name"],
        "synthetic": setting["data"]["sha256"] is None,
        "users": ratings.n_users,
        "least_rated": float(ratings.counts().min() / ratings.n_users),
    }
    return {**{name: pd.DataFrame(rows) for name, rows in tables.items()}, "data": pd.DataFrame([data])}


def _load(data: dict[str, Any], work: Work) -> RatingLog:
    """Return the ratings of a setting; raise an error if the file is not the one it was made for."""
    if data["sha256"] is None:
        return look_alike(work.seed, data["users"])
    if work.jester is None:
        raise InvalidInput(
            f"this part needs the file {data['name']!r}; give its path. {where_to_get_jester()}"
        )
    if file_fingerprint(work.jester) != data["sha256"]:
        raise InvalidInput(
            f"{str(work.jester)!r} is not the file {data['name']!r} that the setting was made for; its "
            "content differs"
        )
    return load_jester(work.jester)


def check_sizes(ratings: RatingLog, setting: Setting) -> None:
    """Raise an error if there are too few users for a split, or too many users without a rating."""
    name, users, tested = setting["data"]["name"], ratings.n_users, setting["test_users"]
    sizes = [round(training["share"] * users) for training in setting["training"]]
    if min(sizes) < 1 or max(sizes) + tested > users:
        raise InvalidInput(
            f"{name!r} has {counted(users, 'user')}; {max(sizes):,} to train on and {tested:,} others to "
            f"test on are needed. {where_to_get_jester()}"
        )
    silent = int((np.diff(ratings.starts) == 0).sum())
    if silent >= min(*sizes, tested):
        raise InvalidFile(
            f"in {name!r} {silent:,} of {counted(users, 'user')} rated no joke (all their cells are 99); "
            f"this must be fewer than {min(*sizes, tested):,}. {where_to_get_jester()}"
        )


class _GroupReplay:
    """One way to train, a share of the users and an alpha, on all splits."""

    def __init__(self, ratings: RatingLog, setting: Setting, training: dict[str, Any]) -> None:
        self._ratings, self._setting, self._training = ratings, setting, training
        self._best = int(np.nanargmax(ratings.means()))

    def rows(self, work: Work) -> dict[str, list[Row]]:
        """Return the rows of this group, table by table."""
        result = self._replay(work.stretch(0.0, _REPLAY_SHARE))
        tables: dict[str, list[Row]] = {name: [] for name in _TABLES}
        tables["runs"] = list(self._policy_rows(result))
        searches = work.stretch(_REPLAY_SHARE, 1.0)
        for number, split in enumerate(self._searches(result, work.n_jobs), start=1):
            for name, rows in split.items():
                tables[name] += rows
            searches.done(number / result.replications)
        about = {"training": self._training["share"], "alpha": self._training["alpha"]}
        return {name: [{**about, **row} for row in rows] for name, rows in tables.items()}

    def _replay(self, work: Work) -> ReplayResult:
        """Replay the policies on all splits; Ctrl-C ends the part.

        The test users do not depend on the share trained on, so that shares can be compared split by split.
        """
        setting, users = self._setting, self._ratings.n_users
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="interrupted")
            result = replay(
                self._ratings,
                list(policies_of(setting, self._training["control"]).values()),
                horizon=setting["horizon"],
                splits=setting["splits"],
                train=self._training["share"],
                test=setting["test_users"] / users,
                side=self._side,
                checkpoints=1,
                seed=work.seed,
                n_jobs=work.n_jobs,
                progress=work.done,
            )
        if result.partial:
            raise KeyboardInterrupt
        return result

    def _side(self, log: RatingLog) -> SideInformation:
        return self._search(pair_statistics(log.unit())).side

    def _search(self, statistics: PairStatistics) -> EpsilonSearch:
        setting = self._setting
        return search_epsilon(statistics, self._training["alpha"], setting["start"], setting["resolution"])

    def _policy_rows(self, result: ReplayResult) -> Iterator[Row]:
        """Yield the mean rating per user of every policy in every split."""
        labels = policies_of(self._setting, self._training["control"])
        for column, (label, policy) in enumerate(zip(labels, result.policies, strict=True)):
            ratings, spent = result.mean_reward(policy), result.answers.spent[:, column]
            columns = zip(ratings.tolist(), result.matched(policy).tolist(), spent.tolist(), strict=True)
            for run, (rating, matched, used) in enumerate(columns):
                yield {"run": run, "policy": label, "rating": rating, "matched": matched, "spent": used}

    def _searches(self, result: ReplayResult, n_jobs: int) -> Iterator[dict[str, list[Row]]]:
        """Yield, split by split, what the search found, its path, and the whole grid."""
        import joblib

        parallel = joblib.Parallel(n_jobs, require="sharedmem", return_as="generator")
        splits = range(result.replications)
        yield from parallel(joblib.delayed(self._search_rows)(run, *result.users(run)) for run in splits)

    def _search_rows(self, run: int, trained: Any, tested: Any) -> dict[str, list[Row]]:
        statistics = pair_statistics(self._ratings.of_users(trained).unit())
        search, means = self._search(statistics), self._ratings.of_users(tested).means()
        grid = grid_rows(statistics, self._training["alpha"], self._setting["resolution"])
        hindsight = {"policy": BEST_IN_HINDSIGHT, "rating": float(np.nanmax(means))}
        tables = {
            "runs": [] if self._training["control"] else [hindsight],
            "searches": [{"control": self._training["control"], **_describe(search, means, self._best)}],
            "paths": [{"epsilon": tried.epsilon, "candidates": tried.candidates} for tried in search.path],
            "grids": list(grid),
        }
        return {name: [{"run": run, **row} for row in rows] for name, rows in tables.items()}


def _describe(search: EpsilonSearch, means: Any, best: int) -> Row:
    """Return what the search found, and whether it kept the best item of all users and of those tested."""
    side, kept = search.side, search.found.arms
    pairs = side.n_arms * (side.n_arms - 1) // 2
    return {
        "epsilon": search.epsilon,
        "candidates": len(kept),
        "tried": len(search.path),
        "inconsistent": search.n_inconsistent,
        "similar": side.n_similar,
        "dissimilar": side.n_dissimilar,
        "unknown": pairs - side.n_similar - side.n_dissimilar,
        "best_kept": best in kept,
        "best_of_tested_kept": int(np.nanargmax(means)) in kept,
        "lost": float(np.nanmax(means) - np.nanmax(means[kept])),
    }
