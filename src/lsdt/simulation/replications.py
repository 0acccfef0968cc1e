"""Replications, each one draw of the problem, and the policies that are made ready for their first round.

If the policies need only the means, many replications are drawn and prepared together by a few NumPy calls;
otherwise one after the other, so that no two large problems are in memory at once.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import check_sizes
from lsdt.candidates import candidate_classes
from lsdt.errors import InvalidInput
from lsdt.kernel import Purpose, compile_seconds, new_streams
from lsdt.policies import OfflineSteps, Player, Policy, ReadyPolicy, is_anchors
from lsdt.problems import Instance, UniformProblem, checked_instance
from lsdt.simulation.priors import draw_prior

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lsdt.candidates import CandidateClasses
    from lsdt.kernel import Array
    from lsdt.policies import Prior
    from lsdt.simulation.competitors import Competitor
    from lsdt.simulation.study import Study

_NO_SIDE: Any = None  # in place of side information that no policy reads
# Streams made at once: enough to share the cost of a NumPy call, few enough to waste little in a short study.
_CHUNK_STREAMS = 256


class Replication(NamedTuple):
    """One draw of the problem, and the random streams that every policy gets a copy of."""

    number: int
    instance: Instance
    gaps: NDArray[np.float64]
    policy_stream: Array
    reward_stream: Array
    found: OfflineSteps
    prior: Prior | None


def draw_replications(
    study: Study, numbers: range, means: NDArray[np.float64] | None
) -> Iterator[Replication]:
    """Yield the replications `numbers`; if `means` are given, use these and omit side information."""
    problem, seed = study.problem, study.seed
    gaps = None if means is None else means.max(axis=1, keepdims=True) - means
    for row, number in enumerate(numbers):
        if means is None or gaps is None:
            instance = _checked_instance(problem.draw(seed, number), problem.n_arms)
            below = instance.means.max() - instance.means
        else:
            instance, below = Instance(means[row], _NO_SIDE, problem.rewards), gaps[row]
        yield Replication(
            number,
            instance,
            below,
            _stream_of(seed, number, int(Purpose.POLICY)),
            _stream_of(seed, number, int(Purpose.REWARD)),
            OfflineSteps(instance.side),
            None if study.prior is None else draw_prior(study.prior, instance, seed, number),
        )


@lru_cache(maxsize=16)
def _chunk_of_streams(seed: int, chunk: int, purpose: int) -> Array:
    """Return the streams of a chunk of replications; cached because blocks may be smaller than a chunk."""
    streams = new_streams(seed, range(chunk * _CHUNK_STREAMS, (chunk + 1) * _CHUNK_STREAMS), purpose)
    streams.flags.writeable = False
    return streams


def _stream_of(seed: int, number: int, purpose: int) -> Array:
    """Return a replication's stream, read-only, because policies and totals advance their own copies."""
    chunk, row = divmod(number, _CHUNK_STREAMS)
    stream: Array = _chunk_of_streams(seed, chunk, purpose)[row]
    return stream


def _checked_instance(instance: Any, n_arms: int) -> Instance:
    """Check an instance, since its problem may be user-defined, and return it with means as float64."""
    instance = checked_instance(instance)
    means = np.array(instance.means, np.float64)
    sizes = (means.shape, instance.side.n_arms)
    check_sizes(means, "means that a problem draws")
    if sizes != ((n_arms,), n_arms):
        raise InvalidInput(
            f"the problem has {n_arms} arms and drew means of shape {means.shape} and side information about "
            f"{instance.side.n_arms} arms; all must agree"
        )
    return Instance(means, instance.side, instance.rewards)


class PolicyFactory:
    """Makes policies that are ready for their first round.

    A policy that depends only on the number of its arms is made once for each number, and copied. With
    complete information from means, the offline steps of many replications are computed together, and
    policies that support it are made together.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._templates: dict[Any, Player] = {}
        self._ready: dict[tuple[int, int], ReadyPolicy] = {}
        problem = study.problem
        self._draws_means = isinstance(problem, UniformProblem) and study.prior is None
        self._is_complete = isinstance(problem, UniformProblem) and problem.is_complete
        self._on_classes: list[Policy] = []
        self._needs_side = False
        for competitor in study.competitors:
            if isinstance(competitor, Policy) and self._begins_on_classes(competitor):
                self._on_classes.append(competitor)
            else:
                self._needs_side |= competitor.uses_side or not isinstance(competitor, Policy)

    def _begins_on_classes(self, policy: Policy) -> bool:
        """Return whether a policy can be made from the classes of its candidates alone."""
        if not (self._draws_means and self._is_complete and is_anchors(policy.on)):
            return False
        once = not (self._study.per_horizon and policy.uses_horizon)
        return once and (policy.counts_arms_only or policy.prepares_many)

    def prepare(self, numbers: range) -> NDArray[np.float64] | None:
        """Make policies for these replications where possible; return the means if no policy needs more."""
        self._ready.clear()
        problem = self._study.problem
        if not isinstance(problem, UniformProblem) or not self._draws_means:
            return None
        if self._needs_side and not self._on_classes:
            return None
        means = problem.draw_means(self._study.seed, numbers)
        if self._on_classes:
            self._begin_on_classes(problem, numbers, means)
        return None if self._needs_side else means

    def _begin_on_classes(self, problem: UniformProblem, numbers: range, means: NDArray[np.float64]) -> None:
        started = perf_counter()
        with compile_seconds() as compilation:
            found = candidate_classes(means, problem.epsilon)
        offline = perf_counter() - started - compilation.seconds
        keys = np.array([_stream_of(self._study.seed, number, int(Purpose.POLICY)) for number in numbers])
        last = np.cumsum(found.n_arms)
        arms = [found.arms[end - size : end] for end, size in zip(last, found.n_arms, strict=True)]
        for competitor in self._on_classes:
            started = perf_counter()
            with compile_seconds() as compilation:
                players = self._players(competitor, found, problem, keys)
            own = perf_counter() - started - compilation.seconds
            for number, player, among in zip(numbers, players, arms, strict=True):
                self._ready[id(competitor), number] = ReadyPolicy(
                    player, among.copy(), (offline + own) / len(numbers)
                )

    def _players(
        self, policy: Policy, found: CandidateClasses, problem: UniformProblem, keys: Array
    ) -> list[Player]:
        model, horizon = problem.rewards.model, int(self._study.checkpoints[-1])
        if policy.counts_arms_only:
            made = (self._template(policy, int(n_arms), model, horizon, keys[0]) for n_arms in found.n_arms)
            return [player.with_key(key) for player, key in zip(made, keys, strict=True)]
        return policy.players_on(found, model, keys)

    def _template(self, policy: Policy, n_arms: int, model: Any, horizon: int, key: Array) -> Player:
        which = id(policy), n_arms, model, horizon
        if which not in self._templates:
            self._templates[which] = policy.player_on(n_arms, model, horizon, key)
        return self._templates[which]

    def of(self, competitor: Competitor, replication: Replication, horizon: int) -> ReadyPolicy:
        """Return a new copy of a policy, ready for the first round of a replication."""
        ready = self._begin(competitor, replication, horizon)
        if ready.remark:
            warnings.warn(ready.remark, stacklevel=2)
        return ready

    def _begin(self, competitor: Competitor, replication: Replication, horizon: int) -> ReadyPolicy:
        ready = self._ready.pop((id(competitor), replication.number), None)
        if ready is not None:
            return ready
        instance, key = replication.instance, replication.policy_stream
        found = replication.found.of(competitor.on)
        model = instance.rewards.model
        if not isinstance(competitor, Policy) or not competitor.counts_arms_only:
            return competitor.begin(instance.side, model, horizon, key.copy(), found)
        started = perf_counter()
        with compile_seconds() as compilation:
            arms = np.arange(len(instance.means)) if found is None else found.arms.copy()
            player = self._template(competitor, len(arms), model, horizon, key).with_key(key)
        seconds = perf_counter() - started - compilation.seconds + (0.0 if found is None else found.seconds)
        return ReadyPolicy(player, arms, seconds)
