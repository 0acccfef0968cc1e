"""`lsdt.replay`: replay policies on a log, over many splits of its users."""

from __future__ import annotations

import os
import uuid
import warnings
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._progress import without_progress
from lsdt._validation import checked_flag, checked_jobs, checked_replications, checked_seed, checked_share
from lsdt.errors import InconsistentSideInformation, InvalidInput, Unsupported, counted, suggest
from lsdt.kernel import GENERATOR, require_memory
from lsdt.policies import OfflineSteps, checked_horizon, weight_of_prior
from lsdt.ratings import from_ratings, relations_asked, relations_of
from lsdt.replays.log_rows import log_rows
from lsdt.replays.result import ReplayResult, notes_of
from lsdt.replays.splits import BOUNDED, ReplayStudy, empty_results, load_compiled, play_split
from lsdt.side_information import SideInformation
from lsdt.simulation import BestTrainingMean, Token, checked_competitors, rounds_to_record, run_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lsdt._progress import Progress
    from lsdt.ratings import RatingLog
    from lsdt.replays.log_rows import LogRows
    from lsdt.replays.splits import Remark
    from lsdt.side_information import ArmId

_BYTES_PER_SPLIT = 1000.0  # a rough guess at the size of a call and its small results, for the memory check

# Arguments of `lsdt.from_ratings` for each word.
_OPTIONS: dict[str, dict[str, Any]] = {
    "interval": {"rule": "interval"},
    "paper": {"rule": "paper", "search": "paper"},
}


def replay(
    log: Any,
    policies: Any,
    *,
    horizon: int | None = None,
    splits: int = 20,
    train: float | None = None,
    test: float | None = None,
    test_log: Any = None,
    chronological: bool = False,
    side: str | Callable[[RatingLog], SideInformation] | SideInformation | None = "interval",
    epsilon: float | str = "auto",
    relations: str | None = None,
    prior_weight: float = 0.0,
    clip: float = 0.0,
    checkpoints: int | Sequence[int] | None = None,
    seed: int = 0,
    n_jobs: int = -1,
    progress: Progress = None,
) -> ReplayResult:
    """Estimate from recorded ratings what policies would have earned.

    The users are divided at random, many times: side information and priors come from those trained on, and
    all policies are replayed on the same others in the same order. Alternatively, policies are trained on the
    earliest ratings (`chronological`) or tested on a separate log (`test_log`). A policy that cannot use
    the side information of a split is left out there, and ``notes`` say so. Results do not depend on the
    number of workers. After Ctrl-C, the finished splits are returned as a partial result.

    Parameters
    ----------
    log : RatingLog, EventLog, path, dataframe or array
        Ratings that users gave to items: the result of `lsdt.ratings.read_log`, whose options say how a log
        is read, or anything that it reads with its default options. Or the events that
        `lsdt.ratings.read_events` returns, whose items were chosen with known probabilities (its
        `propensity`), or else uniformly at random.
    policies : list
        Names, strings such as ``'ts@paper:prior_weight=1'``, `lsdt.Policy` values or policies of your own, as
        in `lsdt.simulate`; ``'best_training_mean'`` and ``'always:ITEM'`` as baselines.
    horizon : int, optional
        Number of rounds; fewer are played if the log ends. By default half the average number of answers per
        item.
    splits : int
        How often the users are divided.
    train : float, optional
        The share of the users that is trained on, a tenth by default; with `chronological` the share of the
        ratings, the earliest; with `test_log` the share of the users in `log`, by default all.
    test : float, optional
        The share of the users that is tested on; by default all others. With the same `test` and `seed`, the
        same users are tested in the same order whatever `train` is, so that replays with more and less
        training can be compared split by split.
    test_log : RatingLog, EventLog, path, dataframe or array, optional
        Ratings or events to test on; `log` is then used for training only. Items that are not rated in both
        are left out. A user who is in both logs counts as two.
    chronological : bool
        Whether to train on the earliest ratings, and to test users in the order of their first rating after
        those; the log must have times (``read_log(..., time='timestamp')``). Every split then tests another
        random half of the users (or the share `test`), so that intervals can be computed; a single split
        tests all.
    side : {'interval', 'paper'}, SideInformation, callable or None
        What is known about the items: what `lsdt.from_ratings` finds in the ratings trained on, by the rule
        of that name (``'paper'`` with the paper's search for epsilon); what your function returns for these
        ratings; one value for all splits; or None for nothing. It is computed only if a policy uses it, and
        its epsilon is on the scale from 0 to 1.
    epsilon : float or 'auto'
        For ``'interval'`` and ``'paper'``, as in `lsdt.from_ratings`.
    relations : {'ranges', 'threshold'}, optional
        For ``'interval'``, as in `lsdt.from_ratings`: ranges by default, a threshold if an epsilon is
        given. Ranges are used by policies on the candidates of ``'order'`` and ``'propagation'``
        (``'ts@order'``), not by those of the paper.
    prior_weight : float
        The probability with which policies learn each rating trained on before their first round; 0, the
        default, means no prior. A policy's own ``prior_weight`` takes precedence.
    clip : float
        The smallest propensity that is used; smaller ones are raised to it. 0 leaves all as they are.
    checkpoints : int or list of int, optional
        Rounds at which rewards are recorded, as in `lsdt.simulate`.
    seed : int
        The same seed gives the same result, bit for bit.
    n_jobs, progress
        As in `lsdt.simulate`.

    Returns
    -------
    ReplayResult
        ``summary()``, ``difference(first, second)``, ``matched(policy)``, ``notes``, and everything that a
        `SimulationResult` has.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> liking = rng.random((2000, 5)) < [.2, .3, .4, .5, .7]
    >>> shown = np.where(rng.random((2000, 5)) < .5, liking, np.nan)
    >>> result = lsdt.replay(shown, ["ucb1", "best_training_mean", "always:0"], horizon=400, splits=5)
    >>> result.summary()[["reward", "rounds"]].round(2)
                        reward  rounds
    policy
    ucb1                  0.55   400.0
    best_training_mean    0.69   400.0
    always 0              0.19   400.0
    """
    in_order, n_splits = checked_flag(chronological, "chronological"), checked_replications(splits, "splits")
    smallest = checked_share(clip, "clip")
    with without_progress():
        rows = log_rows(log, smallest)
        test_rows = None if test_log is None else log_rows(test_log, smallest)
    training, rows, about = _own_training(rows, test_rows, train, in_order)
    listed = checked_competitors(policies)
    weight = checked_share(prior_weight, "prior_weight")
    side_of = _checked_side(side, epsilon, relations)
    if training is None:
        n_training = _checked_training(0.1 if train is None else train, rows, listed, side_of, weight)
    else:
        n_training = _own_share(train if test_log is not None else None, training)
    n_tested = _checked_tested(test, rows, n_training if training is None else 0, in_order and n_splits > 1)
    last = _default_horizon(rows, n_tested) if horizon is None else checked_horizon(horizon)
    assert last is not None
    notes = about
    if horizon is None and last < rows.n_items:
        notes += (
            f"By default {counted(last, 'round')} are played, half the average number of answers per item, "
            f"but there are {rows.n_items:,} items: a policy on all of them cannot try each once. Keep fewer "
            "items (min_ratings or top of read_log), or ask for more rounds (horizon).",
        )
    study = ReplayStudy(
        rows,
        listed,
        side_of,
        last,
        rounds_to_record(last, None, checkpoints),
        n_training,
        n_tested,
        weight,
        checked_seed(seed),
        Token(uuid.uuid4().hex, os.getpid()),
        notes,
        training,
        in_order,
        _steps_of(side_of, listed),
        last * n_splits,
    )
    return _replay_splits(study, n_splits, checked_jobs(n_jobs), progress)


def _own_training(
    rows: LogRows, test_rows: LogRows | None, train: Any, in_order: bool
) -> tuple[LogRows | None, LogRows, tuple[str, ...]]:
    """Return the separate log to train on, or None; the log to test on; and notes about them."""
    logs = [rows] if test_rows is None else [rows, test_rows]
    about = list(filter(None, dict.fromkeys(each.source.note for each in logs)))
    if test_rows is None and not in_order:
        return None, rows, tuple(about)
    if test_rows is None:
        share = checked_share(0.1 if train is None else train, "train")
        training, tested = rows.divide_by_time(share)
        n_early, n_late = len(training.rows.items), len(tested.rows.items)
        about.append(f"The earliest {n_early:,} ratings are trained on, the {n_late:,} later ones tested.")
    else:
        training, tested = rows, test_rows
        if in_order:
            tested = tested.in_order_of_time()
    ends = min(training.low, tested.low), max(training.high, tested.high)
    common = set(_rated(training)) & set(_rated(tested))
    if not common:
        raise InvalidInput("no item is both in the ratings trained on and in those tested")
    left_out = len(set(training.item_ids) | set(tested.item_ids)) - len(common)
    if left_out:
        about.append(
            f"{counted(left_out, 'item')} without ratings to train on, or without ratings to test on, "
            f"{'is' if left_out == 1 else 'are'} left out."
        )
    about.append(
        "Intervals are for policies with this training data: they do not cover how other training data would "
        "have changed the result."
    )
    training, tested = (each.of_items(common).with_scale(*ends) for each in (training, tested))
    return training, tested, tuple(about)


def _rated(log: LogRows) -> list[ArmId]:
    counts = np.bincount(log.rows.items, minlength=log.n_items)
    return [name for name, count in zip(log.item_ids, counts.tolist(), strict=True) if count]


def _own_share(train: Any, training: LogRows) -> int:
    """Return how many users of a separate training log to train on; by default all."""
    share = 1.0 if train is None else checked_share(train, "train")
    n_training = round(share * training.n_users)
    if n_training < 1:
        raise InvalidInput(
            f"train must leave users to train on; got {train!r} of {counted(training.n_users, 'user')}"
        )
    return n_training


def _steps_of(side: Any, listed: list[Any]) -> OfflineSteps | None:
    """Return the offline steps, computed once, if all splits share their side information; otherwise None."""
    if not isinstance(side, SideInformation):
        return None
    steps = OfflineSteps(side)
    for competitor in listed:
        with suppress(Unsupported, InconsistentSideInformation):  # every split reports it
            steps.of(competitor.on)
    return steps


def _replay_splits(study: ReplayStudy, splits: int, n_jobs: int, progress: Any) -> ReplayResult:
    """Play all splits and return the result of the finished ones."""
    cells = splits * len(study.competitors)
    require_memory(
        8.0 * cells * (2 * len(study.checkpoints) + study.log.n_items) + _BYTES_PER_SPLIT * splits,
        f"recording {cells:,} replays",
        "use fewer splits, or fewer checkpoints",
    )
    load_compiled(study)
    played, answers = empty_results(study, splits)
    finished = np.zeros(splits, bool)
    remarks: dict[int, list[Remark]] = {}

    def take(part: Any) -> int:
        number, outcomes, found, said = part
        remarks[number] = said
        for whole, values in (*zip(played, outcomes, strict=True), *zip(answers, found, strict=True)):
            whole[number] = values[0]
        finished[number] = True
        return 1

    calls = [partial(play_split, study, number) for number in range(splits)]
    interrupted = run_parts(calls, study.token, splits, "splits", n_jobs, progress, take)
    if interrupted and not finished.any():
        raise KeyboardInterrupt
    if interrupted:
        warnings.warn(f"interrupted: {int(finished.sum())} of {splits} splits are finished", stacklevel=3)
    numbers = np.flatnonzero(finished)
    _refuse_failure(remarks, study)
    notes, serious = notes_of(study, answers.rows(numbers), remarks)
    for note in serious:
        warnings.warn(note, stacklevel=3)
    return ReplayResult(
        [competitor.label for competitor in study.competitors],
        study.checkpoints,
        numbers,
        interrupted,
        splits,
        study.seed,
        GENERATOR,
        _describe(study),
        [competitor.describe(BOUNDED) for competitor in study.competitors],
        False,
        played.rows(numbers),
        answers.rows(numbers),
        [*serious, *notes],
    )


def _refuse_failure(remarks: dict[int, list[Remark]], study: ReplayStudy) -> None:
    """Raise the first error if no policy could play in any split."""
    failed = [remark for said in remarks.values() for remark in said if not remark.played]
    if failed and len(failed) == len(remarks) * len(study.competitors):
        number = min(remarks)
        error = remarks[number][0].error
        error.args = (f"{error} (in split {number})", *error.args[1:])
        raise error


def _checked_training(train: Any, log: LogRows, listed: list[Any], side: Any, weight: float) -> int:
    """Return the number of users to train on: at least one, if any policy needs training."""
    users = log.n_users
    n_training = round(checked_share(train, "train") * users)
    primed = any(weight_of_prior(competitor, weight) > 0.0 for competitor in listed)
    informed = callable(side) and any(each.uses_side for each in listed)
    learned = informed or primed or any(isinstance(each, BestTrainingMean) for each in listed)
    if (learned and n_training < 1) or n_training >= users:
        raise InvalidInput(
            f"train must leave users to train on and users to test on; got {train!r} of "
            f"{counted(users, 'user')}"
        )
    return n_training


def _checked_tested(test: Any, log: LogRows, n_training: int, half: bool) -> int:
    """Return the number of users to test on; by default all who are not trained on, or half of them."""
    most = log.n_users - n_training
    if test is None:
        return (most + 1) // 2 if half else most
    n_tested = round(checked_share(test, "test") * log.n_users)
    if not 1 <= n_tested <= most:
        raise InvalidInput(
            f"test must leave users to test on who are not trained on; got {test!r} of "
            f"{counted(log.n_users, 'user')}, of whom {n_training:,} are trained on"
        )
    return n_tested


def _default_horizon(log: LogRows, n_tested: int) -> int:
    """Return half the average number of answers per item among the users tested, at least 1."""
    answers = len(log.rows.items) if log.acceptance is None else float(log.acceptance.sum())
    return max(int(n_tested * answers / (2 * log.n_items * log.n_users)), 1)


def _checked_side(side: Any, epsilon: Any, relations: Any) -> Any:
    """Return side information, a function that finds it in training ratings, or None."""
    if isinstance(side, str) and side in _OPTIONS:
        rules = _OPTIONS[side]
        word = relations_of(relations, rules["rule"], epsilon)
        return partial(from_ratings, epsilon=epsilon, relations=word, **rules)
    if relations is not None:
        relations_of(relations)
        raise InvalidInput(f"relations is for side='interval'; got {relations!r} with another side")
    if not isinstance(epsilon, str) or epsilon != "auto":
        raise InvalidInput(
            f"epsilon is for side='interval' and side='paper'; got {epsilon!r} with another side"
        )
    if side is None or isinstance(side, SideInformation) or callable(side):
        return side
    raise InvalidInput(
        f"side must be {', '.join(map(repr, _OPTIONS))}, a SideInformation, a function that makes one from "
        f"training ratings, or None; got {side!r}" + suggest(str(side), _OPTIONS)
    )


def _describe(study: ReplayStudy) -> dict[str, Any]:
    log, side = study.log, study.side
    items = {"item_ids": list(log.item_ids)} if log.n_items <= 1000 else {}
    return {
        "kind": "replay",
        "method": log.method,
        "users": log.n_users,
        "trained_on": study.n_training,
        "tested_on": study.n_tested,
        **({} if study.training is None else {"training_users": study.training.n_users}),
        **({"chronological": True} if study.in_order else {}),
        "n_arms": log.n_items,
        "ratings": len(log.rows.items),
        "scale": [log.low, log.high],
        "two_valued": log.is_two_valued,
        "clip": log.clip,
        "prior_weight": study.prior_weight,
        "side": _side_text(side),
        **items,
    }


def _side_text(side: Any) -> str:
    if side is None or isinstance(side, SideInformation):
        return repr(side)
    if getattr(side, "func", None) is not from_ratings:
        return "a function of the training"
    options = {"rule": "interval", "epsilon": "auto", **side.keywords}
    if options.get("guarantee") == "best":
        return "beaten items"
    if relations_asked(options) == "ranges":
        return f"{options['rule']} rule, ranges"
    return f"{options['rule']} rule, epsilon {options['epsilon']}"
