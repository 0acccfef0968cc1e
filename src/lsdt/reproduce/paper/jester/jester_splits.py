"""Splits of the users of Jester or its look-alike: side information from some, policies tested on others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import InvalidFile, InvalidInput, counted
from lsdt.kernel.random import Purpose, new_stream
from lsdt.policies.always import constant
from lsdt.policies.policy import Policy
from lsdt.policies.prior import learn_rewards
from lsdt.ratings.datasets.jester import fingerprint, load_jester, where_to_get_jester
from lsdt.ratings.datasets.look_alike import look_alike
from lsdt.ratings.rules.epsilon import search_epsilon
from lsdt.ratings.statistics.pairs import pair_statistics
from lsdt.replays import replay_once
from lsdt.replays.splits import BOUNDED
from lsdt.reproduce.framework.wording import CKL_UCB_SQUARED, LSDT_PSI, TS, TS_ON_B0, UCB1, UCB1_ON_B0
from lsdt.reproduce.paper.jester.jester_grid import grid_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lsdt.policies.always import Always
    from lsdt.ratings.log import RatingLog
    from lsdt.ratings.rules.epsilon import EpsilonSearch
    from lsdt.reproduce.framework.experiment import Setting, Tables, Work

    Rows = dict[str, list[dict[str, Any]]]

TS_PRIOR, UCB1_PRIOR = "TS, with prior", "UCB1 (alpha 2), with prior"
BEST_IN_TRAINING, BEST_IN_HINDSIGHT = "always best training mean", "always best in hindsight"
NAMED = (LSDT_PSI, UCB1_ON_B0, CKL_UCB_SQUARED, TS, UCB1)  # by the paper, in Section 6.3
INFORMED = (LSDT_PSI, UCB1_ON_B0, CKL_UCB_SQUARED, TS_ON_B0)  # those that use side information
OTHERS = (TS_ON_B0, BEST_IN_TRAINING, TS_PRIOR, UCB1_PRIOR, BEST_IN_HINDSIGHT)

_TABLES = ("runs", "searches", "paths", "grids")


def policies_of(setting: Setting) -> dict[str, Policy | Always]:
    """Return the policies that learn, by label. Two of them start with the training ratings."""
    # The squared difference of means stands for the divergence: a Gaussian one with 2 sigma^2 = 1.
    squared: dict[str, Any] = {"divergence": "gaussian", "sigma": np.sqrt(0.5)}
    return {
        LSDT_PSI: Policy("lsdt_psi", lambda_=setting["lambda"]),
        UCB1: Policy("ucb1"),
        TS: Policy("ts"),
        CKL_UCB_SQUARED: Policy("ckl_ucb", **squared),
        UCB1_ON_B0: Policy("ucb1", on="paper"),
        TS_ON_B0: Policy("ts", on="paper"),
        TS_PRIOR: Policy("ts"),
        UCB1_PRIOR: Policy("ucb1"),
    }


class JesterStudy(NamedTuple):
    """What all splits share: ratings from 0 to 1, the scale they were on, the setting, the seed."""

    unit: RatingLog
    scale: tuple[float, float]
    best: int  # the item with the best mean of all users
    setting: Setting
    seed: int


class JesterSplit(NamedTuple):
    """A random order of the users: the first are trained on, the last are tested.

    `lsdt.replay` tests everybody who is not trained on. Here as many users are tested whatever the share
    trained on, and the same ones, so that shares can be compared split by split.
    """

    run: int
    users: NDArray[np.int64]
    tested: NDArray[np.int64]
    means: NDArray[np.float64]  # of the users tested

    @property
    def best(self) -> int:
        """The item with the best mean of the users tested."""
        return int(np.nanargmax(self.means))


def split_tables(setting: Setting, work: Work) -> Tables:
    """Return what every policy earned in every split, and what the search for epsilon found there."""
    import pandas as pd

    ratings = _ratings(setting["data"], work)
    check_sizes(ratings, setting)
    best = int(np.nanargmax(ratings.means()))
    unit = ratings.unit()
    study = JesterStudy(unit, (ratings.low, ratings.high), best, setting, work.seed)
    found: Rows = {name: [] for name in _TABLES}
    for number, split in enumerate(_splits(study, work.n_jobs), start=1):
        for name, rows in split.items():
            found[name] += rows
        work.done(number / setting["splits"])
    data = {
        "data": setting["data"]["name"],
        "synthetic": setting["data"]["sha256"] is None,
        "users": ratings.n_users,
        "least_rated": float(ratings.counts().min() / ratings.n_users),
    }
    return {**{name: pd.DataFrame(rows) for name, rows in found.items()}, "data": pd.DataFrame([data])}


def _ratings(data: dict[str, Any], work: Work) -> RatingLog:
    """Return the ratings of a setting; refuse another file than the one it was made for."""
    if data["sha256"] is None:
        return look_alike(work.seed, data["users"])
    if work.jester is None:
        raise InvalidInput(
            f"this part needs the file {data['name']!r}; give its path. {where_to_get_jester()}"
        )
    if fingerprint(work.jester) != data["sha256"]:
        raise InvalidInput(
            f"{str(work.jester)!r} is not the file {data['name']!r} that the setting was made for; its "
            "content differs"
        )
    return load_jester(work.jester)


def _splits(study: JesterStudy, n_jobs: int) -> Iterator[Rows]:
    """Yield the results of all splits in order; the first runs alone, since it may compile."""
    import joblib

    yield _one_split(study, 0)
    parallel = joblib.Parallel(n_jobs, require="sharedmem", return_as="generator")
    yield from parallel(joblib.delayed(_one_split)(study, run) for run in range(1, study.setting["splits"]))


def check_sizes(ratings: RatingLog, setting: Setting) -> None:
    """Refuse ratings with too few users for a split."""
    name, users, tested = setting["data"]["name"], ratings.n_users, setting["test_users"]
    sizes = [_training_size(users, training) for training in setting["training"]]
    if min(sizes) < 1 or max(sizes) + tested > users:
        raise InvalidInput(
            f"{name!r} has {counted(users, 'user')}; {max(sizes):,} to train on and {tested:,} others to "
            f"test on are wanted. {where_to_get_jester()}"
        )
    silent = int((np.diff(ratings.starts) == 0).sum())
    if silent >= min(*sizes, tested):
        raise InvalidFile(
            f"in {name!r} {silent:,} of {counted(users, 'user')} rated no joke (all their cells are 99); "
            f"fewer than {min(*sizes, tested):,} may. {where_to_get_jester()}"
        )


def _training_size(users: int, training: dict[str, Any]) -> int:
    return int(training["share"] * users)


def _one_split(study: JesterStudy, run: int) -> Rows:
    """Shuffle the users; every policy, however trained, meets the same test users in the same order."""
    users = np.random.default_rng((study.seed, run)).permutation(study.unit.n_users)
    tested = users[-study.setting["test_users"] :]
    split = JesterSplit(run, users, tested, study.unit.of_users(tested).means())
    found: Rows = {name: [] for name in _TABLES}
    for training in study.setting["training"]:
        about = {"run": run, "training": training["share"], "alpha": training["alpha"]}
        known = study.unit.of_users(users[: _training_size(len(users), training)])
        statistics, resolution = pair_statistics(known), study.setting["resolution"]
        search = search_epsilon(statistics, training["alpha"], study.setting["start"], resolution)
        labels = INFORMED if training["control"] else (*NAMED, *OTHERS)
        found["runs"] += [{**about, **row} for row in _play_policies(study, split, known, search, labels)]
        described = _describe_search(study, split, search)
        found["searches"].append({**about, "control": training["control"], **described})
        found["paths"] += [
            {**about, "epsilon": tried.epsilon, "candidates": tried.candidates} for tried in search.path
        ]
        found["grids"] += [{**about, **row} for row in grid_rows(statistics, training["alpha"], resolution)]
    return found


def _play_policies(
    study: JesterStudy, split: JesterSplit, known: RatingLog, search: EpsilonSearch, labels: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """Replay some policies on the test users."""
    rounds, stream = study.setting["rounds"], new_stream(study.seed, split.run, Purpose.POLICY)
    fixed = {BEST_IN_TRAINING: int(np.nanargmax(known.means())), BEST_IN_HINDSIGHT: split.best}
    policies = policies_of(study.setting) | {
        label: constant(search.side.label(item)) for label, item in fixed.items()
    }
    low, high = study.scale
    for label in labels:
        begun = policies[label].begin(search.side, BOUNDED, rounds, stream.copy(), search.found)
        if label in (TS_PRIOR, UCB1_PRIOR):
            learn_rewards(begun, known.items, known.ratings)
        played = replay_once(begun, study.unit, rounds, split.tested)
        rating = low + (high - low) * played.mean
        yield {"policy": label, "rating": rating, "matched": played.matched, "spent": played.spent}


def _describe_search(study: JesterStudy, split: JesterSplit, search: EpsilonSearch) -> dict[str, Any]:
    """Return what the search found, and whether it kept the best item."""
    side, kept = search.side, search.found.arms
    pairs = side.n_arms * (side.n_arms - 1) // 2
    low, high = study.scale
    return {
        "epsilon": search.epsilon,
        "candidates": len(kept),
        "tried": len(search.path),
        "inconsistent": search.n_inconsistent,
        "similar": side.n_similar,
        "dissimilar": side.n_dissimilar,
        "unknown": pairs - side.n_similar - side.n_dissimilar,
        "best_kept": study.best in kept,
        "best_of_tested_kept": split.best in kept,
        "lost": (high - low) * float(np.nanmax(split.means) - np.nanmax(split.means[kept])),
    }
