"""The entry of replays: a log, policies, splits of the users."""

from __future__ import annotations

import os
import uuid
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import checked_jobs, checked_replications, checked_seed, checked_share
from lsdt.errors import InvalidInput, counted, suggest
from lsdt.kernel.memory import require_memory
from lsdt.policies.prior import weight_of_prior
from lsdt.policies.situation import checked_horizon
from lsdt.ratings.from_ratings import from_ratings
from lsdt.replays.log_rows import material_of
from lsdt.replays.notes import notes_of
from lsdt.replays.result import ReplayResult
from lsdt.replays.splits import BOUNDED, ReplayStudy, empty_results, load_compiled, play_split
from lsdt.side_information import SideInformation
from lsdt.simulation.competitors import contenders
from lsdt.simulation.references import BestTrainingMean
from lsdt.simulation.simulate import rounds_to_record
from lsdt.simulation.workers import Token, run_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lsdt.ratings.log import RatingLog
    from lsdt.replays.log_rows import Material

_BYTES_PER_SPLIT = 1000.0  # the call that plays it, and what it answers

# What `lsdt.from_ratings` is asked for by a word.
_OPTIONS: dict[str, dict[str, Any]] = {
    "interval": {"rule": "interval"},
    "paper": {"rule": "paper", "search": "paper"},
}


def replay(
    log: Any,
    policies: Any,
    *,
    user: str | None = "user",
    item: str = "item",
    rating: str = "rating",
    propensity: str | None = None,
    method: str = "auto",
    rounds: int | None = None,
    train: float = 0.1,
    splits: int = 20,
    side: str | Callable[[RatingLog], SideInformation] | SideInformation | None = "interval",
    epsilon: float | str = "auto",
    prior_weight: float = 0.0,
    clip: float = 0.0,
    duplicates: str = "error",
    scale: tuple[float, float] | None = None,
    checkpoints: int | Sequence[int] | None = None,
    seed: int = 0,
    n_jobs: int = -1,
    progress: bool | Callable[[float], None] | None = None,
) -> ReplayResult:
    """Estimate what policies would have earned, out of ratings that were given before.

    The users are divided at random, many times: side information and priors come from those trained on,
    and the policies are replayed on the others, the same ones in the same order for all of them. Results do
    not depend on the number of workers. Interrupted by Ctrl-C, the splits that are finished come back as a
    partial result.

    Parameters
    ----------
    log : path, dataframe, RatingLog, EventLog or array
        Ratings or events, one a row; or users by items, NaN where a user did not rate an item.
    policies : list
        Names, words such as ``'ts@paper:prior_weight=1'``, `lsdt.Policy` values or policies of your own, as
        of `lsdt.simulate`; ``'best_training_mean'`` and ``'always:ITEM'`` to measure them by.
    user, item, rating, propensity : str
        Names of the columns; ``user=None`` where every event is of another user.
    method : {'auto', 'matrix', 'uniform', 'propensity'}
        What the log is: ratings that users gave to items (``'matrix'``), events whose items were chosen
        uniformly at random, or with known probabilities. By default ``'propensity'`` where there is a column
        of them, else ``'matrix'``.
    rounds : int, optional
        Rounds to play, fewer where the log ends; by default half of the answers that an item has on average.
    train : float
        The share of the users that is trained on.
    splits : int
        How often the users are divided.
    side : {'interval', 'paper'}, SideInformation, callable or None
        What is known of the items: what `lsdt.from_ratings` finds in the ratings trained on, by the rule of
        that name (``'paper'`` with the paper's search for epsilon); what a function of yours, called with
        these ratings, returns; the same in all splits; or nothing. It is asked for only where a policy looks
        at it, and its epsilon is on the scale from 0 to 1.
    epsilon : float or 'auto'
        For ``'interval'`` and ``'paper'``, as of `lsdt.from_ratings`.
    prior_weight : float
        The weight with which policies learn the ratings trained on before their first round; 0, the default,
        means without. A policy's own ``prior_weight`` goes before it.
    clip : float
        The smallest propensity that is believed; smaller ones are taken for it. 0 believes all.
    duplicates : {'error', 'last', 'mean'}
        What to do where a user rated an item twice, for ``'matrix'``.
    scale : tuple of float, optional
        The ends of the scale of ratings; by default the smallest and the largest.
    checkpoints : int or list of int, optional
        Rounds at which rewards are recorded, as of `lsdt.simulate`.
    seed : int
        The same seed gives the same result, bit for bit.
    n_jobs, progress
        As of `lsdt.simulate`.

    Returns
    -------
    ReplayResult
        ``summary()``, ``difference(first, second)``, ``matched(policy)``, ``notes``, and all that a
        `SimulationResult` has.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> liking = rng.random((2000, 5)) < [.2, .3, .4, .5, .7]
    >>> shown = np.where(rng.random((2000, 5)) < .5, liking, np.nan)
    >>> result = lsdt.replay(shown, ["ucb1", "best_training_mean", "always:0"], rounds=400, splits=5)
    >>> result.summary()[["reward", "rounds"]].round(2)
                        reward  rounds
    policy
    ucb1                  0.55   400.0
    best_training_mean    0.69   400.0
    always 0              0.19   400.0
    """
    columns = {"user": user, "item": item, "rating": rating, "propensity": propensity}
    material = material_of(log, columns, method, checked_share(clip, "clip"), duplicates, scale)
    listed = contenders(policies)
    weight = checked_share(prior_weight, "prior_weight")
    side_of = _checked_side(side, epsilon)
    n_training = _checked_training(train, material, listed, side_of, weight)
    asked = _default_rounds(material, n_training) if rounds is None else checked_horizon(rounds)
    assert asked is not None
    study = ReplayStudy(
        material,
        listed,
        side_of,
        asked,
        rounds_to_record(asked, None, checkpoints),
        n_training,
        weight,
        checked_seed(seed),
        Token(uuid.uuid4().hex, os.getpid()),
    )
    return _replayed(study, checked_replications(splits, "splits"), checked_jobs(n_jobs), progress)


def _replayed(study: ReplayStudy, splits: int, n_jobs: int, progress: Any) -> ReplayResult:
    """Play all splits and put together what is finished."""
    import joblib

    cells = splits * len(study.contenders)
    require_memory(
        8.0 * cells * (2 * len(study.checkpoints) + study.material.n_items) + _BYTES_PER_SPLIT * splits,
        f"recording {cells:,} replays",
        "use fewer splits, or fewer checkpoints",
    )
    load_compiled(study)
    played, answers = empty_results(study, splits)
    finished = np.zeros(splits, bool)

    def take(part: Any) -> int:
        number, rounds, said = part
        for whole, values in (*zip(played, rounds, strict=True), *zip(answers, said, strict=True)):
            whole[number] = values[0]
        finished[number] = True
        return 1

    calls = [joblib.delayed(play_split)(study, number) for number in range(splits)]
    interrupted = run_parts(calls, study.token, splits, "splits", n_jobs, progress, take)
    if interrupted and not finished.any():
        raise KeyboardInterrupt
    if interrupted:
        warnings.warn(f"interrupted: {int(finished.sum())} of {splits} splits are finished", stacklevel=3)
    numbers = np.flatnonzero(finished)
    notes, serious = notes_of(study, answers.rows(numbers))
    for note in serious:
        warnings.warn(note, stacklevel=3)
    return ReplayResult(
        [contender.label for contender in study.contenders],
        study.checkpoints,
        numbers,
        interrupted,
        splits,
        study.seed,
        _described(study),
        [contender.describe(BOUNDED) for contender in study.contenders],
        False,
        played.rows(numbers),
        answers.rows(numbers),
        [*serious, *notes],
    )


def _checked_training(train: Any, material: Material, listed: list[Any], side: Any, weight: float) -> int:
    """Return the number of users to train on; there must be some where anything is learned from them."""
    users = material.n_users
    n_training = round(checked_share(train, "train") * users)
    primed = any(weight_of_prior(contender, weight) > 0.0 for contender in listed)
    informed = callable(side) and any(each.uses_side for each in listed)
    learned = informed or primed or any(isinstance(each, BestTrainingMean) for each in listed)
    if (learned and n_training < 1) or n_training >= users:
        raise InvalidInput(
            f"train must leave users to train on and users to test on; got {train!r} of "
            f"{counted(users, 'user')}"
        )
    return n_training


def _default_rounds(material: Material, n_training: int) -> int:
    """Return half of the answers that an item has, on average, among the users tested."""
    answers = len(material.rows.items) if material.taken is None else float(material.taken.sum())
    tested = 1.0 - n_training / material.n_users
    return max(int(tested * answers / (2 * material.n_items)), 1)


def _checked_side(side: Any, epsilon: Any) -> Any:
    """Return side information, or what makes it out of training ratings."""
    if isinstance(side, str) and side in _OPTIONS:
        return partial(from_ratings, epsilon=epsilon, **_OPTIONS[side])
    if not isinstance(epsilon, str) or epsilon != "auto":
        raise InvalidInput(f"epsilon is for side='interval' and side='paper'; got {epsilon!r} beside another")
    if side is None or isinstance(side, SideInformation) or callable(side):
        return side
    raise InvalidInput(
        f"side must be {', '.join(map(repr, _OPTIONS))}, a SideInformation, a function that makes one of "
        f"training ratings, or None; got {side!r}" + suggest(str(side), _OPTIONS)
    )


def _described(study: ReplayStudy) -> dict[str, Any]:
    material, side = study.material, study.side
    told = {"item_ids": list(material.item_ids)} if material.n_items <= 1000 else {}
    return {
        "kind": "replay",
        "method": material.method,
        "users": material.n_users,
        "trained_on": study.n_training,
        "n_arms": material.n_items,
        "ratings": len(material.rows.items),
        "scale": [material.low, material.high],
        "clip": material.clip,
        "prior_weight": study.prior_weight,
        "side": _side_text(side),
        **told,
    }


def _side_text(side: Any) -> str:
    if side is None or isinstance(side, SideInformation):
        return repr(side)
    options = getattr(side, "keywords", {})
    return (
        f"{options['rule']} rule, epsilon {options['epsilon']}" if options else "a function of the training"
    )
