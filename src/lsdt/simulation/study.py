"""Replications: one draw of the problem, played by every policy."""

from __future__ import annotations

import math
import threading
import warnings
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._progress import without_progress
from lsdt._validation import LARGEST_REWARD, check_sizes, checked_choice
from lsdt.errors import InvalidInput, Unsupported
from lsdt.kernel.drivers import Ledger, Setting
from lsdt.kernel.random import Purpose, new_stream, new_streams
from lsdt.kernel.rewards import RECORDED_LAW, RewardModel
from lsdt.policies.offline import OfflineSteps
from lsdt.policies.policy import Player, Policy
from lsdt.problems.problems import Instance, Problem, UniformProblem
from lsdt.side_information import from_means
from lsdt.simulation.priors import draw_prior, learn_prior
from lsdt.simulation.single_reward_kernel import draw_one, draw_several_recorded
from lsdt.simulation.workers import Stopped, event_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.kernel.jit import Array
    from lsdt.policies.policy import Begun
    from lsdt.policies.prior import Prior
    from lsdt.simulation.competitors import Competitor
    from lsdt.simulation.priors import StudyPrior
    from lsdt.simulation.workers import Token

_NO_SIDE: Any = None  # where nobody would look at it
_CHUNK_SECONDS = 0.2  # Ctrl-C waits for a chunk to end
_FIRST_STEPS = 2_000_000  # rounds times arms of the first chunk


class Study(NamedTuple):
    """A whole simulation, as every worker gets it; `plays_after` is None where plays do not count."""

    problem: Problem
    competitors: list[Competitor]
    checkpoints: NDArray[np.int64]
    per_horizon: bool
    seed: int
    plays_after: int | None
    token: Token
    prior: StudyPrior | None = None


class Outcomes(NamedTuple):
    """Results of some replications: arrays over (replication, policy, ...)."""

    regret: NDArray[np.float64]
    reward: NDArray[np.float64]
    plays: NDArray[np.int64]
    offline_seconds: NDArray[np.float64]
    online_seconds: NDArray[np.float64]

    def rows(self, which: Any) -> Outcomes:
        """Return the results of some of the replications."""
        return Outcomes(*(array[which] for array in self))

    def cell(self, row: int, column: int) -> Outcomes:
        """Return the part for one policy in one replication."""
        return Outcomes(*(array[row, column : column + 1] for array in self))  # type: ignore[arg-type]


class Replication(NamedTuple):
    """One draw of the problem, and the random streams, of which every policy gets a copy."""

    number: int
    instance: Instance
    gaps: NDArray[np.float64]
    policy_stream: Array
    reward_stream: Array
    found: OfflineSteps
    prior: Prior | None


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
    )


def play_block(study: Study, first: int, last: int) -> tuple[int, Outcomes]:
    """Play the replications ``first .. last - 1``: the job of a worker."""
    stop = event_of(study.token)
    _load_compiled(study)
    played = empty_outcomes(study, last - first)
    beginnings = _Beginnings()
    means_do = study.prior is None and not any(each.uses_side for each in study.competitors)
    with without_progress():  # the study shows its own
        for row, number in enumerate(range(first, last)):
            replication = _draw_replication(study, number, means_do and row > 0)
            for column, competitor in enumerate(study.competitors):
                try:
                    out = played.cell(row, column)
                    _play_competitor(study, competitor, replication, stop, out, beginnings)
                except Unsupported as error:
                    raise Unsupported(f"{error} (in replication {number})") from None
    return first, played


class _Beginnings:
    """Policies before their first round; those that do not look at side information begin once in a block."""

    def __init__(self) -> None:
        self._begun: dict[Any, Begun] = {}

    def of(self, competitor: Competitor, replication: Replication, horizon: int) -> Begun:
        """Return a policy of its own before its first round of a replication."""
        begun = self._begin(competitor, replication, horizon)
        if begun.remark:
            warnings.warn(begun.remark, stacklevel=2)
        return begun

    def _begin(self, competitor: Competitor, replication: Replication, horizon: int) -> Begun:
        instance, key = replication.instance, replication.policy_stream
        if not isinstance(competitor, Policy) or competitor.uses_side:
            found = replication.found.of(competitor.on)
            return competitor.begin(instance.side, instance.rewards.model, horizon, key.copy(), found)
        started = perf_counter()
        which = id(competitor), instance.rewards.model, horizon
        if which not in self._begun:
            self._begun[which] = competitor.begin(instance.side, instance.rewards.model, horizon, key.copy())
            started = perf_counter() - self._begun[which].seconds  # less what it took to compile
        begun = self._begun[which]
        return begun._replace(player=begun.player.with_key(key), seconds=perf_counter() - started)


_CHUNK_STREAMS = 256


@lru_cache(maxsize=16)
def _chunk_of_streams(seed: int, chunk: int, purpose: int) -> Array:
    """Return the streams of many replications; blocks of few share them."""
    streams = new_streams(seed, range(chunk * _CHUNK_STREAMS, (chunk + 1) * _CHUNK_STREAMS), purpose)
    streams.flags.writeable = False
    return streams


def _stream_of(seed: int, number: int, purpose: int) -> Array:
    """Return a stream of a replication, which is not to be advanced: a policy or a ledger takes a copy."""
    chunk, row = divmod(number, _CHUNK_STREAMS)
    stream: Array = _chunk_of_streams(seed, chunk, purpose)[row]
    return stream


def _draw_replication(study: Study, number: int, means_do: bool) -> Replication:
    """Draw a problem; where `means_do`, without side information if the problem can."""
    problem = study.problem
    if means_do and isinstance(problem, UniformProblem):
        instance = Instance(problem.draw_means(study.seed, number), _NO_SIDE, problem.rewards)
    else:
        instance = _checked_instance(problem.draw(study.seed, number), problem.n_arms)
    return Replication(
        number,
        instance,
        instance.means.max() - instance.means,
        _stream_of(study.seed, number, int(Purpose.POLICY)),
        _stream_of(study.seed, number, int(Purpose.REWARD)),
        OfflineSteps(instance.side),
        None if study.prior is None else draw_prior(study.prior, instance, study.seed, number),
    )


def _checked_instance(instance: Any, n_arms: int) -> Instance:
    """Return an instance, checked since a problem may be a user's own; means as compiled code takes them."""
    means = np.array(instance.means, np.float64)
    sizes = (means.shape, instance.side.n_arms)
    check_sizes(means, "means that a problem draws")
    if sizes != ((n_arms,), n_arms):
        raise InvalidInput(
            f"the problem has {n_arms} arms and drew means of shape {means.shape} and side information about "
            f"{instance.side.n_arms} arms; all must agree"
        )
    return Instance(means, instance.side, instance.rewards)


_LOADED: set[tuple[str, bool]] = set()
_LOADING = threading.Lock()


def _load_compiled(study: Study) -> None:
    """Compile or load all code before timing starts: once per process, while other threads wait."""
    with _LOADING:
        tiny = from_means([0.5], 1.0)
        for competitor in study.competitors:
            one_by_one = study.problem.rewards.law is None
            if not isinstance(competitor, Policy) or (competitor.name, one_by_one) in _LOADED:
                continue
            begun = competitor.begin(tiny, RewardModel("gaussian", 1.0), 1, new_stream(0))
            ledger = _new_ledger(new_stream(0), np.ones(1, np.int64), empty_outcomes(study, 1).cell(0, 0))
            setting = Setting(begun.arms, np.full(1, 0.5), np.zeros(1), 0, 1.0, 0.0)
            begun.player.entries.play(*begun.player.packed, setting, ledger, 0)
            if one_by_one:
                begun.player.update(begun.player.select(), 0.0)
            _LOADED.add((competitor.name, one_by_one))


def _play_competitor(
    study: Study,
    competitor: Competitor,
    replication: Replication,
    stop: threading.Event,
    out: Outcomes,
    beginnings: _Beginnings,
) -> None:
    """Play one policy, once per horizon if it depends on the horizon; plays are those of the longest."""
    if not (study.per_horizon and competitor.uses_horizon):
        runs = [study.checkpoints]
    else:
        runs = [study.checkpoints[at : at + 1] for at in range(len(study.checkpoints))]
    done = 0
    for checkpoints in runs:
        upto = done + len(checkpoints)
        out.plays[0, :] = 0
        begun = beginnings.of(competitor, replication, int(checkpoints[-1]))
        if study.prior is not None and replication.prior is not None:
            weight = study.prior.weight
            learn_prior(begun, competitor, replication.prior, weight, study.seed, replication.number)
        ledger = _new_ledger(replication.reward_stream.copy(), checkpoints, out, done)
        seconds = _play_rounds(begun, replication, ledger, stop, competitor.label, study.plays_after or 0)
        out.online_seconds[0] += seconds
        out.offline_seconds[0] += begun.seconds
        done = upto


def _new_ledger(stream: Array, checkpoints: NDArray[np.int64], out: Outcomes, done: int = 0) -> Ledger:
    upto = done + len(checkpoints)
    return Ledger(
        stream,
        np.zeros(2, np.int64),
        np.zeros(2),
        checkpoints,
        out.regret[0, done:upto],
        out.reward[0, done:upto],
        out.plays[0],
    )


def _play_rounds(
    begun: Begun, replication: Replication, ledger: Ledger, stop: threading.Event, label: str, uncounted: int
) -> float:
    """Play all rounds and return their seconds; plays in the first `uncounted` rounds do not count."""
    instance = replication.instance
    rewards = instance.rewards
    compiled = isinstance(begun.player, Player) and rewards.law is not None
    law = -1 if rewards.law is None else rewards.law
    setting = Setting(begun.arms, instance.means, replication.gaps, law, rewards.scale, rewards.shape)
    if rewards.records is not None:
        setting = setting._replace(starts=rewards.records.starts, recorded=rewards.records.values)
    horizon = int(ledger.checkpoints[-1])
    chunk, rng = max(_FIRST_STEPS // len(begun.arms), 1), None
    if not compiled:
        chunk, rng = 100, np.random.default_rng(replication.reward_stream)
    seconds = 0.0
    while ledger.clock[0] < horizon:
        if stop.is_set():
            raise Stopped
        started = perf_counter()
        rounds = chunk if ledger.clock[0] >= uncounted else min(chunk, uncounted - int(ledger.clock[0]))
        if compiled:
            begun.player.entries.play(*begun.player.packed, setting, ledger, rounds)
        else:
            _play_in_python(begun, setting, instance, ledger, rounds, rng, label)
        if ledger.clock[0] == uncounted:
            ledger.plays[:] = 0
        if ledger.clock[1] < 0:
            checked_choice(int(ledger.clock[0]), len(begun.arms), f"the policy {label!r}")
        passed = perf_counter() - started
        seconds += passed
        chunk = max(int(rounds * min(_CHUNK_SECONDS / max(passed, 1e-9), 2.0)), 1)
    return seconds


def _play_in_python(
    begun: Begun,
    setting: Setting,
    instance: Instance,
    ledger: Ledger,
    rounds: int,
    rng: np.random.Generator | None,
    label: str,
) -> None:
    """Play some rounds one by one, for policies or rewards in plain Python."""
    player, rewards, clock, n_arms = begun.player, instance.rewards, ledger.clock, len(begun.arms)
    policy = f"the policy {label!r}"
    for _ in range(min(rounds, int(ledger.checkpoints[-1] - clock[0]))):
        chosen = checked_choice(player.select(), n_arms, policy)
        arm = int(begun.arms[chosen])
        if rewards.draw is not None and rng is not None:
            reward = _checked_reward(rewards.draw(arm, rng), arm)
        else:
            reward = _drawn(setting, arm, ledger.stream)
        player.update(chosen, reward)
        ledger.sums[0] += setting.gaps[arm]
        ledger.sums[1] += reward
        if len(ledger.plays):
            ledger.plays[arm] += 1
        clock[0] += 1
        if clock[0] == ledger.checkpoints[clock[1]]:
            ledger.regret[clock[1]], ledger.reward[clock[1]] = ledger.sums
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
