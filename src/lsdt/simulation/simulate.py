"""`lsdt.simulate`: play policies against a problem, many times."""

from __future__ import annotations

import os
import uuid
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import checked_flag, checked_jobs, checked_replications, checked_seed, checked_whole
from lsdt.errors import InvalidInput
from lsdt.kernel import require_memory
from lsdt.policies import MOST_ROUNDS, checked_horizon
from lsdt.problems import checked_problem
from lsdt.simulation.competitors import checked_competitors
from lsdt.simulation.priors import checked_prior
from lsdt.simulation.result import SimulationResult, check_same_study
from lsdt.simulation.study import Outcomes, Study, empty_outcomes, play_block
from lsdt.simulation.workers import Token, n_workers, run_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from lsdt.problems import Problem

_DEFAULT_CHECKPOINTS = 100  # enough for a smooth curve
# How replications are divided among workers. More blocks balance the load and let progress show sooner; fewer
# save the cost of starting a block.
_BLOCKS = 64  # usual number of blocks
_BLOCK_STEPS = 10_000_000  # short replications are joined up to this many rounds times arms times policies,
_BLOCKS_PER_WORKER = 8  # while at least this many blocks per worker remain


def simulate(
    problem: Problem,
    policies: Any,
    horizon: int | None = None,
    replications: int = 100,
    seed: int = 0,
    n_jobs: int = -1,
    *,
    horizons: Sequence[int] | None = None,
    checkpoints: int | Sequence[int] | None = None,
    plays: bool = True,
    plays_after: int = 0,
    prior: Any = None,
    prior_weight: float = 1.0,
    keep_arms: bool = False,
    add_to: SimulationResult | None = None,
    progress: bool | Callable[[float], None] | None = None,
) -> SimulationResult:
    """Play policies against a problem, many times, and count their regret.

    Every policy meets the same problems and the same reward noise; results do not depend on the number of
    workers, nor on which other policies take part. After Ctrl-C, the finished replications are returned as a
    partial result.

    Parameters
    ----------
    problem : problem of `lsdt.problems`
        What is played.
    policies : list
        Names, strings such as ``'ucb1@paper:alpha=8'``, `lsdt.Policy` values, or policies of your own: an
        object with ``select()`` and ``update(arm, reward)``, which is copied for every replication, or a
        function that returns one when it is called with a situation (``n_arms``, ``side``, ``rewards``,
        ``horizon``, ``epsilon``) and a NumPy Generator.
    horizon : int
        Number of rounds.
    replications : int
        How often everything is repeated.
    seed : int
        The same seed gives the same result, bit for bit.
    n_jobs : int
        Threads to use; -1 is all cores. Inside ``joblib.parallel_config(...)``, the number of workers of its
        backend.
    horizons : list of int, optional
        Instead of `horizon`: policies that depend on the horizon are run once for each; the others once,
        recorded at each.
    checkpoints : int or list of int, optional
        Rounds at which regret and reward are recorded: how many, evenly spaced, or which. By default 100.
    plays : bool
        Whether to count plays per arm.
    plays_after : int
        Count plays only after this many rounds.
    prior : int, or known rewards, optional
        What policies learn before the first round: a number of rewards per arm, drawn from the problem in
        each replication; or, if the problem is the same in all of them, ratings or a pair of lists, arms and
        rewards. It counts neither as rounds nor as plays. By default nothing is known.
    prior_weight : float
        The probability with which each known reward is learned, above 0 and up to 1. A policy's own
        ``lsdt.Policy(..., prior_weight=...)`` takes precedence; with 0 it starts without the prior.
    keep_arms : bool
        Whether to keep the arm of every round, for ``result.arms(policy)``. Rounds are then played one by one
        from Python, which takes some ten microseconds more each.
    add_to : SimulationResult, optional
        The result of the same study with fewer replications, or an interrupted one. Only the replications
        that it lacks are played, and all are returned; they are those of one study with `replications`.
    progress : bool or function, optional
        Whether to show a progress bar; by default on a terminal when the run takes more than two seconds. A
        function is called with the finished share, from 0 to 1, instead.

    Returns
    -------
    SimulationResult
        ``regret(policy)``, ``to_frame()``, ``summary()``, ``difference(first, second)``, ``save(path)``.

    Examples
    --------
    >>> import lsdt
    >>> problem = lsdt.problems.uniform(n_arms=100, low=.1, high=1., epsilon=.1)
    >>> result = lsdt.simulate(problem, ["lsdt_csi", "ucb1"], horizon=1000, replications=20)
    >>> result.regret("lsdt_csi").shape
    (20, 100)
    >>> bool(result.regret("lsdt_csi")[:, -1].mean() < result.regret("ucb1")[:, -1].mean())
    True
    >>> more = lsdt.simulate(
    ...     problem, ["lsdt_csi", "ucb1"], horizon=1000, replications=30, add_to=result
    ... )
    >>> more.replications, bool((more.regret("ucb1")[:20] == result.regret("ucb1")).all())
    (30, True)
    """
    problem = checked_problem(problem)
    listed = checked_competitors(policies)
    study = Study(
        problem,
        listed,
        rounds_to_record(horizon, horizons, checkpoints),
        horizons is not None,
        checked_seed(seed),
        _checked_plays(plays, plays_after),
        Token(uuid.uuid4().hex, os.getpid()),
        checked_prior(prior, prior_weight, problem, listed, checked_seed(seed)),
        checked_flag(keep_arms, "keep_arms"),
    )
    replications = checked_replications(replications)
    if add_to is not None:
        check_same_study(study, replications, add_to)
    study = study._replace(rounds=replications * int(study.checkpoints[-1]))
    _check_memory(study, replications)
    finished = np.zeros(replications, bool)
    played = empty_outcomes(study, replications)
    if add_to is not None:
        finished[add_to.numbers] = True
        for whole, values in zip(played, add_to.arrays, strict=True):
            whole[add_to.numbers] = values
    partial = _run(study, played, finished, checked_jobs(n_jobs), progress)
    if partial and not finished.any():
        raise KeyboardInterrupt
    if partial:
        done = int(finished.sum())
        warnings.warn(f"interrupted: {done} of {replications} replications are finished", stacklevel=2)
    return SimulationResult.of_study(study, played, finished, partial)


def _checked_plays(plays: bool, after: Any) -> int | None:
    """Return the round after which plays are counted; None if they are not counted at all."""
    first = checked_whole(after, "plays_after", 0, MOST_ROUNDS)
    return first if plays else None


def _run(
    study: Study,
    played: Outcomes,
    finished: NDArray[np.bool_],
    n_jobs: int,
    progress: bool | Callable[[float], None] | None,
) -> bool:
    """Play all missing replications in blocks; return whether the user interrupted."""
    missing = int((~finished).sum())
    if not missing:
        return False
    size = _block_size(study, missing, n_workers(n_jobs, missing))
    ends = np.flatnonzero(np.diff(np.concatenate([[True], finished, [True]])))
    calls = [
        partial(play_block, study, at, min(at + size, last))
        for first, last in ends.reshape(-1, 2).tolist()
        for at in range(first, last, size)
    ]

    def take(block: tuple[int, Outcomes]) -> int:
        first, part = block
        last = first + len(part.regret)
        for whole, values in zip(played, part, strict=True):
            whole[first:last] = values
        finished[first:last] = True
        return last - first

    return run_parts(calls, study.token, missing, "replications", n_jobs, progress, take)


def _block_size(study: Study, replications: int, workers: int) -> int:
    """Return how many replications a worker gets at once: more if they are short, to save overhead."""
    steps = int(study.checkpoints[-1]) * study.problem.n_arms * len(study.competitors)
    together = min(_BLOCK_STEPS // steps, replications // (_BLOCKS_PER_WORKER * max(workers, 1)))
    return max(replications // _BLOCKS, together, 1)


def rounds_to_record(horizon: Any, horizons: Any, checkpoints: Any) -> NDArray[np.int64]:
    """Return the rounds at which a study records regret and reward, in increasing order."""
    if (horizon is None) == (horizons is None):
        raise InvalidInput("give a horizon, or a list of horizons, and not both")
    if horizons is not None:
        if checkpoints is not None:
            raise InvalidInput("with a list of horizons these are the checkpoints; leave checkpoints out")
        return _rounds(horizons, "horizons")
    last = checked_horizon(horizon)
    assert last is not None
    if checkpoints is None or isinstance(checkpoints, (int, np.integer)):
        wanted = _DEFAULT_CHECKPOINTS if checkpoints is None else checkpoints
        count = min(checked_replications(wanted, "checkpoints"), last)
        return np.array([-(-last * number // count) for number in range(1, count + 1)], np.int64)
    rounds = _rounds(checkpoints, "checkpoints")
    if rounds[-1] > last:
        raise InvalidInput(f"checkpoints must not be after the horizon {last}; got {rounds[-1]}")
    return rounds if rounds[-1] == last else np.append(rounds, last)


def _rounds(values: Any, name: str) -> NDArray[np.int64]:
    try:
        rounds = [checked_horizon(value) for value in values]
    except (TypeError, InvalidInput):
        rounds = []
    if not rounds or None in rounds:
        raise InvalidInput(f"{name} must be a list of whole numbers of at least 1; got {values!r}")
    return np.unique(np.array(rounds, np.int64))


def _check_memory(study: Study, replications: int) -> None:
    cells = replications * len(study.competitors)
    counted = study.problem.n_arms if study.plays_after is not None else 0
    kept = 0.5 * float(study.checkpoints[-1]) if study.keep_arms else 0.0
    require_memory(
        8.0 * cells * (2 * len(study.checkpoints) + counted + kept),
        f"recording {cells:,} runs",
        "use plays=False, keep_arms=False, fewer checkpoints, or fewer replications",
    )
