"""A policy: what users ask for (`Policy`, or one word, `parse_policy`), and what then plays (`Player`)."""

from __future__ import annotations

from time import perf_counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from lsdt._html import card, facts, html_table
from lsdt._validation import checked_share
from lsdt.candidates import read_ranges
from lsdt.errors import InvalidInput
from lsdt.kernel import (
    STREAM_WORDS,
    Purpose,
    check_values,
    compile_seconds,
    pack,
    pack_many,
    state_of,
    unpack,
)
from lsdt.policies.offline import checked_on, offline_step
from lsdt.policies.registry import BUILT_IN, WHERE_TO_READ, refuse_prior, specification_of
from lsdt.policies.situation import Situation
from lsdt.policies.specification import Specification
from lsdt.side_information import SideInformation, subset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lsdt.candidates import CandidateClasses, CandidateSet
    from lsdt.kernel import Array, Entries, Packed, ReplayLog, ReplayTrace, RewardModel, RunTotals, Setting

_TOSS = int(Purpose.TOSS)


class Player:
    """A compiled policy between two rounds; arms are numbered as in its situation.

    Attributes
    ----------
    packed : Packed
        The whole state, key of the random streams included, in one buffer.
    flags : array of bool
        One for every arm: all may be played. Nothing changes them, and copies share them.
    round : int
        The number of the round at hand, from 0 on.
    """

    __slots__ = ("_one", "_state_class", "entries", "flags", "packed", "round")

    def __init__(
        self, entries: Entries, packed: Packed, state_class: type, n_arms: int, flags: Array | None = None
    ) -> None:
        self.entries = entries
        self.packed = packed
        self.flags = np.ones(n_arms, np.bool_) if flags is None else flags
        self.round = 0
        self._state_class = state_class
        self._one: tuple[Array, Array, Array] | None = None

    def select(self, flags: Array | None = None) -> int:
        """Ask for the arm to play in this round, of all or of those that are flagged; the ask counts."""
        arm = self.select_in(self.packed, self.round, flags)
        self.asked_in(self.packed, self.round, arm, flags)
        return arm

    def select_in(self, packed: Packed, number: int, flags: Array | None = None) -> int:
        """Return the arm to play in a round, by a state of this policy, which stays as it is."""
        return self.entries.select(*packed, number, flags is None, self.flags if flags is None else flags)

    def asked_in(self, packed: Packed, number: int, arm: int, flags: Array | None = None) -> None:
        """Count in a state of this policy that it was asked in a round; an invalid arm is not counted."""
        if self.entries.asked is not None and 0 <= arm < len(self.flags):
            allowed = self.flags if flags is None else flags
            self.entries.asked(*packed, number, flags is None, allowed, arm)

    def update(self, arm: int, reward: float) -> None:
        """Learn the reward of this round, and go on to the next."""
        self.teach_one(self.packed, self.round, _TOSS, arm, reward)
        self.round += 1

    @property
    def is_loaded(self) -> bool:
        """Whether the rounds of a study run as compiled code."""
        return getattr(self.entries.play, "loaded", None) is not None

    def play(self, setting: Setting, totals: RunTotals, rounds: int) -> None:
        """Play many rounds of a study."""
        self.entries.play(*self.packed, self.flags, setting, totals, rounds)

    def replay(self, replay_log: ReplayLog, trace: ReplayTrace, rounds: int) -> None:
        """Play many rounds on a log."""
        self.entries.replay(*self.packed, self.flags, replay_log, trace, rounds)

    def teach_one(self, packed: Packed, number: int, purpose: int, arm: int, reward: float) -> None:
        """Teach a state of this policy one reward."""
        numbers, arms, rewards = self._row_of_one(number, arm, reward)
        self.entries.teach(*packed, numbers, purpose, arms, rewards)

    def expect(self, packed: Packed, numbers: Array, arms: Array, rewards: Array) -> None:
        """Let a state that runs ahead learn what stands in for the rewards of pending decisions."""
        if self.entries.expect is None:
            self.entries.teach(*packed, numbers, _TOSS, arms, rewards)
        elif len(arms):
            self.entries.expect(*packed, int(numbers[-1]), arms, rewards)

    def expect_one(self, packed: Packed, number: int, arm: int, reward: float) -> None:
        """Let a state that runs ahead learn what stands in for the reward of one more decision."""
        self.expect(packed, *self._row_of_one(number, arm, reward))

    def _row_of_one(self, number: int, arm: int, reward: float) -> tuple[Array, Array, Array]:
        """Return one decision as arrays; new ones for every reward would cost more than learning it."""
        if self._one is None:
            self._one = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)
        numbers, arms, rewards = self._one
        numbers[0], arms[0], rewards[0] = number, arm, reward
        return self._one

    def copy(self) -> Player:
        """Return an independent player that continues from here."""
        player = self._with(self.packed.copy())
        player.round = self.round
        return player

    def with_key(self, key: Array) -> Player:
        """Return a player of its own that draws from other streams; this one is before its first round."""
        return self._with(self.packed.with_key(key))

    def _with(self, packed: Packed) -> Player:
        return Player(self.entries, packed, self._state_class, len(self.flags), self.flags)

    @property
    def state(self) -> Any:
        """The state as views into the buffer, for looking at."""
        return state_of(self._state_class, *self.packed)

    def take(self, content: Array, places: Mapping[str, str | int]) -> None:
        """Continue from the checked words of a saved state; this player is before its first round."""
        key = self.packed.buffer[:STREAM_WORDS].view(np.uint64)
        self.packed = unpack(self.state, key, content, places)


class ReadyPolicy(NamedTuple):
    """A policy ready for its first round.

    ``player`` has ``select()`` and ``update(arm, reward)``; arm i of the player is arm ``arms[i]`` of the
    problem. ``seconds`` is what the offline part took. ``remark`` is what users should know of how it plays
    here, mostly nothing.
    """

    player: Any
    arms: NDArray[np.int64]
    seconds: float
    remark: str = ""


class Policy:
    """A policy with its parameters.

    Parameters
    ----------
    name : str
        One of `lsdt.policies.available()`.
    on : str, optional
        On which arms it plays: ``'all'`` of them (the default), or those that a `method` of
        `lsdt.candidate_set` leaves, such as ``'paper'``, the paper's offline step, or ``'propagation'``,
        which leaves fewer. Policies that take such a step by themselves have no choice.
    label : str, optional
        What tables and figures call it; by default made of name and parameters.
    prior_weight : float, optional
        Where rewards are known before the first round (a prior), the weight with which this policy learns
        them, from 0 (none of them) to 1; by default what the agent or the study says.
    **parameters
        Parameters of the policy; ``lsdt.Policy(name).parameters`` shows them with their values.

    Examples
    --------
    >>> import lsdt
    >>> lsdt.Policy("ucb1", on="paper", alpha=8.)
    Policy('ucb1 on paper (alpha=8)')
    >>> lsdt.Policy("lsdt_psi").parameters["lambda_"]
    0.125
    """

    __slots__ = ("_given", "_specification", "label", "name", "on", "parameters", "prior_weight")

    def __init__(
        self,
        name: str,
        /,
        on: str | None = None,
        label: str | None = None,
        prior_weight: float | None = None,
        **parameters: Any,
    ) -> None:
        if not isinstance(name, str):
            refuse_object(name)
        self._specification = specification_of(name)
        self.name = name
        if on is not None and self._specification.offline:
            raise InvalidInput(
                f"{name} always plays on {self._specification.offline!r}, by its own offline step; leave "
                f"on={on!r} out"
            )
        self.on = self._specification.offline or checked_on("all" if on is None else on)
        self.parameters = self._specification.checked(parameters)
        self._given = {key: self.parameters[key] for key in parameters if key in self.parameters}
        self.prior_weight = None if prior_weight is None else checked_share(prior_weight, "prior_weight")
        if self.prior_weight and self.why_no_prior:
            refuse_prior(name, self.why_no_prior)
        self.label = self._default_label() if label is None else str(label)

    def _default_label(self) -> str:
        where = "" if self.on == "all" or self._specification.offline else f" on {self.on}"
        own = {} if self.prior_weight is None else {"prior_weight": self.prior_weight}
        values = ", ".join(
            f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
            for key, value in (self._given | own).items()
        )
        return self.name + where + (f" ({values})" if values else "")

    @property
    def randomised(self) -> bool:
        """Whether its choice is drawn at random."""
        return self._specification.draws(self.parameters)

    @property
    def score_name(self) -> str:
        """What its score of an arm is."""
        declared = self._specification
        return "truncated mean" if declared.truncates(self.parameters) else declared.score_name

    @property
    def eliminates(self) -> bool:
        """Whether it drops arms for good; its state then has ``alive`` and ``gone_at``."""
        return self._specification.eliminates

    @property
    def learns_from_sums(self) -> bool:
        """Whether the count and the sum of each arm's rewards are all that it learns from them."""
        declared = self._specification
        return declared.learns_from_sums and not declared.truncates(self.parameters)

    @property
    def counts_asks(self) -> bool:
        """Whether its choice depends on how often it was asked, not only on the rewards learned."""
        return self._specification.asked is not None

    @property
    def forgets(self) -> bool:
        """Whether it can play on rewards that fade with time."""
        return self._specification.fill is not None

    @property
    def why_no_prior(self) -> str:
        """Why it cannot start with known rewards; empty where it can."""
        return self._specification.why_no_prior

    @property
    def uses_side(self) -> bool:
        """Whether it plays differently for different side information."""
        return self.on != "all" or not self.counts_arms_only

    @property
    def _is_built_in(self) -> bool:
        """Whether it starts as declared here; a subclass may start differently."""
        return type(self) is Policy and self.name in BUILT_IN

    @property
    def counts_arms_only(self) -> bool:
        """Whether it uses nothing about its arms but their number; False for classes of users."""
        needs = self._specification.needs - {"horizon"}
        return self._is_built_in and not needs and not self._specification.offline

    @property
    def uses_horizon(self) -> bool:
        """Whether it plays differently for different horizons."""
        return "horizon" in self._specification.needs

    def keep_start(self, player: Player, content: Array | None) -> Packed:
        """Return a copy of a state before its first round; let the player go on from `content`, if given."""
        start = player.packed.copy()
        if content is not None:
            player.take(content, self._specification.places)
        return start

    def refill(self, player: Player, start: Packed, counts: Array, sums: Array) -> None:
        """Let a player continue from a state before its first round, filled with these rewards."""
        assert self._specification.fill is not None
        player.packed = start.copy()
        self._specification.fill(player.state, counts, sums)

    def resolve(self, rewards: RewardModel) -> dict[str, Any]:
        """Return all parameters for these rewards: sigma, and what depends on it, worked out."""
        return self._specification.resolve(self.parameters, rewards)

    def _resolved(self, rewards: RewardModel) -> SimpleNamespace:
        """Return the parameters as `prepare` takes them: None where a number does not apply."""
        none = {parameter.name: None for parameter in self._specification.parameters}
        return SimpleNamespace(**none | self.resolve(rewards))

    def describe(self, rewards: RewardModel) -> dict[str, Any]:
        """Return the policy as plain data: title, where it plays, all parameters."""
        return {
            "policy": self.name,
            "title": self._specification.title,
            "on": self.on,
            "parameters": self.resolve(rewards),
        }

    def begin(
        self,
        side: SideInformation,
        rewards: RewardModel,
        horizon: int | None,
        key: Array,
        found: CandidateSet | None = None,
        content: Array | None = None,
    ) -> ReadyPolicy:
        """Run the offline part and return a player for the first round.

        Parameters
        ----------
        side : SideInformation
            What is known of the arms.
        rewards : RewardModel
            What is known of the rewards.
        horizon : int or None
            Number of rounds, where it is known.
        key : array of four uint64
            The key of the policy's random streams, from `lsdt.kernel.random.new_stream`.
        found : CandidateSet, optional
            The offline step of this policy, where it was taken already.
        content : array, optional
            The words of a state that was kept, instead of one before the first round.
        """
        started = perf_counter()
        with compile_seconds() as compilation:
            arms = np.arange(side.n_arms)
            saved = 0.0
            if self.on != "all":
                if found is None:
                    found = offline_step(side, self.on)
                else:
                    saved = found.seconds
                assert found is not None
                arms = found.arms.copy()  # writable, as compiled code knows it
            declared = self._specification
            own = found if declared.offline else None
            known = read_ranges(side) if declared.follows_pairs else side
            situation = Situation(subset(known, arms), rewards, horizon, own)
            situation.require(declared.needs, self.label)
            state = declared.prepare(situation, self._resolved(rewards))
            if self.name not in BUILT_IN:
                check_values(state, declared.state)
            packed = pack(state, key) if content is None else unpack(state, key, content, declared.places)
            player = Player(declared.entries(), packed, declared.state, len(arms))
            remark = "" if declared.remark is None else declared.remark(state)
        return ReadyPolicy(player, arms, perf_counter() - started - compilation.seconds + saved, remark)

    def player_on(self, n_arms: int, rewards: RewardModel, horizon: int | None, key: Array) -> Player:
        """Return a player for the first round on `n_arms` arms, if nothing else is known about them."""
        declared = self._specification
        situation = Situation(SideInformation(n_arms), rewards, horizon)
        situation.require(declared.needs, self.label)
        state = declared.prepare(situation, self._resolved(rewards))
        return Player(declared.entries(), pack(state, key), declared.state, n_arms)

    @property
    def prepares_many(self) -> bool:
        """Whether `players_on` can be called: only for built-in policies, whose states need no check."""
        return self._is_built_in and self._specification.prepare_many is not None

    def players_on(self, classes: CandidateClasses, rewards: RewardModel, keys: Array) -> list[Player]:
        """Return players for the first rounds of many replications, one for each key."""
        declared = self._specification
        assert declared.prepare_many is not None
        state = declared.prepare_many(classes, self._resolved(rewards))
        entries = declared.entries()
        flags = np.ones(classes.n_arms.max(), np.bool_)
        made = zip(pack_many(state, keys), classes.n_arms.tolist(), strict=True)
        return [Player(entries, packed, declared.state, n_arms, flags[:n_arms]) for packed, n_arms in made]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        parameters = tuple(sorted(self.parameters.items(), key=str))
        return self.name, self.on, self.label, self.prior_weight, parameters

    def __reduce__(self) -> tuple[Any, ...]:
        on = None if self._specification.offline else self.on
        return _rebuild, (self.name, on, self.label, self._given, self.prior_weight)

    def __repr__(self) -> str:
        return f"Policy({self.label!r})"

    def _repr_html_(self) -> str:
        known = {"plays on": self.on, "weight of a prior": self.prior_weight}
        about = {"rule": self._specification.rule, "reference": self._specification.reference}
        parameters = html_table(("parameter", "value"), list(self.parameters.items()))
        return card("Policy", self.label, facts(known | about), parameters)


def _rebuild(
    name: str, on: str | None, label: str, given: dict[str, Any], prior_weight: float | None = None
) -> Policy:
    return Policy(name, on, label, prior_weight, **given)


def refuse_object(policy: Any) -> NoReturn:
    """Raise an error that says how to name a policy, and how to register one of your own."""
    if isinstance(policy, Specification):
        raise InvalidInput(
            f"call lsdt.policies.register(specification) first, then ask for {policy.name!r} by name"
        )
    own = ""
    if isinstance(policy, type) or callable(policy) or hasattr(policy, "select"):
        own = (
            "; a policy of your own has to be compiled: declare it with lsdt.policies.register, then ask for "
            f"it by name ({WHERE_TO_READ}); as it is, lsdt.simulate and lsdt.replay play it"
        )
    shown = policy.__name__ if isinstance(policy, type) else type(policy).__name__
    kind = "the class" if isinstance(policy, type) else "a value of kind"
    raise InvalidInput(
        "a policy is asked for by name, such as 'ts' or 'ts@propagation', or is an lsdt.Policy; got "
        f"{kind} {shown}{own}"
    )


def parse_policy(word: str) -> Policy:
    """Return the policy that a word means: ``name[@where][:parameter=value,...]``.

    Examples
    --------
    >>> from lsdt.policies.policy import parse_policy
    >>> parse_policy("ucb1@paper:alpha=8")
    Policy('ucb1 on paper (alpha=8)')
    """
    head, _, tail = word.partition(":")
    name, at, where = head.partition("@")
    parameters: dict[str, Any] = {}
    for part in filter(None, tail.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise InvalidInput(f"a parameter is written name=value; got {part!r} in {word!r}")
        if key.strip() in parameters:
            raise InvalidInput(f"{key.strip()!r} is given twice in {word!r}")
        parameters[key.strip()] = value.strip() if key.strip() in ("label", "on") else _value(value.strip())
    if not name:
        raise InvalidInput(f"a policy begins with its name; got {word!r}")
    where = where or parameters.pop("on", "")
    if at and not where:
        raise InvalidInput(f"say after @ on which arms {name!r} plays, as in {name}@paper")
    return Policy(name, on=where or None, label=parameters.pop("label", None), **parameters)


def _value(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word
