"""A study: every policy plays every replication."""

from __future__ import annotations

import math
import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._progress import without_progress
from lsdt._validation import LARGEST_REWARD, checked_choice
from lsdt.errors import InvalidInput, Unsupported
from lsdt.kernel import RECORDED_LAW, RewardModel, RunTotals, Setting, compile_ahead, new_stream
from lsdt.policies import Player, Policy
from lsdt.side_information import from_means
from lsdt.simulation.priors import learn_prior
from lsdt.simulation.replications import PolicyFactory, draw_replications
from lsdt.simulation.single_reward_kernel import draw_one, draw_several_recorded
from lsdt.simulation.workers import Stopped, event_of
from lsdt.storage import watch_forks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.kernel import Array
    from lsdt.policies import ReadyPolicy
    from lsdt.problems import Instance, Problem
    from lsdt.simulation.competitors import Competitor
    from lsdt.simulation.priors import StudyPrior
    from lsdt.simulation.replications import Replication
    from lsdt.simulation.workers import Token

_CHUNK_SECONDS = 0.2  # rounds are played in chunks of about this long; Ctrl-C waits for one to end
_FIRST_STEPS = 2_000_000  # rounds times arms of the first chunk, a guess that later chunks correct
_FIRST_PYTHON_ROUNDS = 100  # the same guess for rounds in plain Python
# Rounds of a policy that is not compiled yet, played to see how long the others would take: 1 ms for ucb1.
_TRIAL_ROUNDS = 100
# Arms, over all replications and policies, that are prepared together: limits memory to a few megabytes.
_MOST_PREPARED = 500_000


class Study(NamedTuple):
    """The settings of a simulation, as sent to workers; `plays_after` is None if plays are not counted.

    With `keep_arms` the arm of every round is kept, and rounds are played one by one.
    """

    problem: Problem
    competitors: list[Competitor]
    checkpoints: NDArray[np.int64]
    per_horizon: bool
    seed: int
    plays_after: int | None
    token: Token
    prior: StudyPrior | None = None
    keep_arms: bool = False
    rounds: int = 0  # of each policy, over all replications: whether they are worth compiling


class Outcomes(NamedTuple):
    """Results of some replications: arrays over (replication, policy, ...)."""

    regret: NDArray[np.float64]
    reward: NDArray[np.float64]
    plays: NDArray[np.int64]
    offline_seconds: NDArray[np.float64]
    online_seconds: NDArray[np.float64]
    arms: NDArray[Any]

    def rows(self, which: Any) -> Outcomes:
        """Return the results of some of the replications."""
        return Outcomes(*(array[which] for array in self))

    def cell(self, row: int, column: int) -> Outcomes:
        """Return the part for one policy in one replication."""
        return Outcomes(*(array[row, column : column + 1] for array in self))  # type: ignore[arg-type]


def empty_outcomes(study: Study, replications: int) -> Outcomes:
    """Return empty arrays for the results of some replications."""
    cells = (replications, len(study.competitors))
    n_plays = study.problem.n_arms if study.plays_after is not None else 0
    at_checkpoints = (*cells, len(study.checkpoints))
    return Outcomes(
        np.full(at_checkpoints, math.nan),
        np.full(at_checkpoints, math.nan),
        np.zeros((*cells, n_plays), np.int64),
        np.zeros(cells),
        np.zeros(cells),
        np.full((*cells, int(study.checkpoints[-1]) if study.keep_arms else 0), -1, np.int32),
    )


def play_block(study: Study, first: int, last: int) -> tuple[int, Outcomes]:
    """Play the replications ``first .. last - 1`` in a worker; return `first` and the results."""
    stop = event_of(study.token)
    _load_compiled(study)
    played = empty_outcomes(study, last - first)
    factory = PolicyFactory(study)
    step = max(_MOST_PREPARED // (study.problem.n_arms * len(study.competitors)), 1)
    with without_progress(), compile_ahead(study.rounds):  # the study shows its own
        for start in range(first, last, step):
            numbers = range(start, min(start + step, last))
            for replication in draw_replications(study, numbers, factory.prepare(numbers)):
                row, number = replication.number - first, replication.number
                for column, competitor in enumerate(study.competitors):
                    try:
                        out = played.cell(row, column)
                        _play_competitor(study, competitor, replication, stop, out, factory)
                    except Unsupported as error:
                        raise Unsupported(f"{error} (in replication {number})") from None
    return first, played


class _Loading:
    """Which policies' code this process has loaded, and a lock for loading more."""

    def __init__(self) -> None:
        self.loaded: set[tuple[str, bool]] = set()
        self.lock = threading.Lock()
        watch_forks(self)

    def forked(self) -> None:
        """Replace the lock in a child process, where the thread that may hold the old one does not exist."""
        self.lock = threading.Lock()


_LOADING = _Loading()


def _load_compiled(study: Study) -> None:
    """Compile or load all code before timing starts: once per process, while other threads wait.

    A small study is interpreted at first, and loads what is on disk.
    """
    one_by_one = study.keep_arms or study.problem.rewards.law is None
    policies = [each for each in study.competitors if isinstance(each, Policy)]
    if all((each.name, one_by_one) in _LOADING.loaded for each in policies):
        return
    with _LOADING.lock, compile_ahead(study.rounds):
        tiny = from_means([0.5], 1.0)
        for competitor in policies:
            if (competitor.name, one_by_one) in _LOADING.loaded:
                continue
            ready = competitor.begin(tiny, RewardModel("gaussian", 1.0), 1, new_stream(0))
            totals = _new_totals(new_stream(0), np.ones(1, np.int64), empty_outcomes(study, 1).cell(0, 0))
            setting = Setting(ready.arms, np.full(1, 0.5), np.zeros(1), 0, 1.0, 0.0)
            ready.player.play(setting, totals, 0)
            if one_by_one:
                ready.player.update(ready.player.select(), 0.0)
            _LOADING.loaded.add((competitor.name, one_by_one))


def _play_competitor(
    study: Study,
    competitor: Competitor,
    replication: Replication,
    stop: threading.Event,
    out: Outcomes,
    factory: PolicyFactory,
) -> None:
    """Play one policy and write its results to `out`.

    A policy that depends on the horizon is played once per horizon, and its plays are those of the longest.
    """
    if not (study.per_horizon and competitor.uses_horizon):
        runs = [study.checkpoints]
    else:
        runs = [study.checkpoints[at : at + 1] for at in range(len(study.checkpoints))]
    done = 0
    for checkpoints in runs:
        upto = done + len(checkpoints)
        out.plays[0, :] = 0
        ready = factory.of(competitor, replication, int(checkpoints[-1]))
        if study.prior is not None and replication.prior is not None:
            weight = study.prior.weight
            learn_prior(ready, competitor, replication.prior, weight, study.seed, replication.number)
        totals = _new_totals(replication.reward_stream.copy(), checkpoints, out, done)
        kept = out.arms[0] if study.keep_arms else None
        uncounted = study.plays_after or 0
        seconds = _play_rounds(ready, replication, totals, stop, competitor.label, uncounted, kept)
        out.online_seconds[0] += seconds
        out.offline_seconds[0] += ready.seconds
        done = upto


def _new_totals(stream: Array, checkpoints: NDArray[np.int64], out: Outcomes, done: int = 0) -> RunTotals:
    upto = done + len(checkpoints)
    return RunTotals(
        stream,
        np.zeros(2, np.int64),
        np.zeros(2),
        checkpoints,
        out.regret[0, done:upto],
        out.reward[0, done:upto],
        out.plays[0],
    )


def _play_rounds(
    ready: ReadyPolicy,
    replication: Replication,
    totals: RunTotals,
    stop: threading.Event,
    label: str,
    uncounted: int,
    kept: NDArray[np.int32] | None,
) -> float:
    """Play all rounds and return their seconds; plays in the first `uncounted` rounds do not count.

    The arm of every round is written to `kept`, if that is given.
    """
    instance = replication.instance
    rewards = instance.rewards
    compiled = isinstance(ready.player, Player) and rewards.law is not None and kept is None
    law = -1 if rewards.law is None else rewards.law
    setting = Setting(ready.arms, instance.means, replication.gaps, law, rewards.scale, rewards.shape)
    if rewards.records is not None:
        setting = setting._replace(starts=rewards.records.starts, recorded=rewards.records.values)
    horizon = int(totals.checkpoints[-1])
    chunk, rng = max(_FIRST_STEPS // len(ready.arms), 1), None
    if not compiled:
        chunk, rng = _FIRST_PYTHON_ROUNDS, np.random.default_rng(replication.reward_stream)
    trial = _TRIAL_ROUNDS if compiled and not ready.player.is_loaded else 0
    seconds = 0.0
    while totals.clock[0] < horizon:
        if stop.is_set():
            raise Stopped
        started = perf_counter()
        rounds = trial or chunk
        if totals.clock[0] < uncounted:
            rounds = min(rounds, uncounted - int(totals.clock[0]))
        if compiled:
            ready.player.play(setting, totals, rounds)
        else:
            _play_in_python(ready, setting, instance, totals, rounds, rng, label, kept)
        if totals.clock[0] == uncounted:
            totals.plays[:] = 0
        if totals.clock[1] < 0:
            checked_choice(int(totals.clock[0]), len(ready.arms), f"the policy {label!r}")
        passed = perf_counter() - started
        seconds += passed
        if not trial:
            chunk = max(int(rounds * min(_CHUNK_SECONDS / max(passed, 1e-9), 2.0)), 1)
        trial = 0
    return seconds


def _play_in_python(
    ready: ReadyPolicy,
    setting: Setting,
    instance: Instance,
    totals: RunTotals,
    rounds: int,
    rng: np.random.Generator | None,
    label: str,
    kept: NDArray[np.int32] | None,
) -> None:
    """Play some rounds one by one, for policies or rewards in plain Python, or to keep the arms."""
    player, rewards, clock, n_arms = ready.player, instance.rewards, totals.clock, len(ready.arms)
    policy = f"the policy {label!r}"
    for _ in range(min(rounds, int(totals.checkpoints[-1] - clock[0]))):
        chosen = checked_choice(player.select(), n_arms, policy)
        arm = int(ready.arms[chosen])
        if rewards.draw is not None and rng is not None:
            reward = _checked_reward(rewards.draw(arm, rng), arm)
        else:
            reward = _drawn(setting, arm, totals.stream)
        player.update(chosen, reward)
        totals.sums[0] += setting.gaps[arm]
        totals.sums[1] += reward
        if len(totals.plays):
            totals.plays[arm] += 1
        if kept is not None:
            kept[clock[0]] = arm
        clock[0] += 1
        if clock[0] == totals.checkpoints[clock[1]]:
            totals.regret[clock[1]], totals.reward[clock[1]] = totals.sums
            clock[1] += 1


def _drawn(setting: Setting, arm: int, stream: Array) -> float:
    """Return a reward of an arm, as the compiled rounds draw it."""
    if setting.law == RECORDED_LAW:
        return float(draw_several_recorded(setting.starts, setting.recorded, stream, np.array([arm]))[0])
    return draw_one(setting.law, setting.means[arm], setting.scale, setting.shape, stream)


def _checked_reward(reward: Any, arm: int) -> float:
    try:
        value = float(reward)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not abs(value) <= LARGEST_REWARD:
        raise InvalidInput(
            f"the reward function returned {reward!r} for arm {arm}; it must be a finite number of at most "
            f"{LARGEST_REWARD:g} in size"
        )
    return value
