"""An agent: the policies of the simulator, live.

Every change goes the same way. The agent checks what it is given and decides on events, which changes
nothing; `_accept` hands them to the journal, which applies them (or will, when they are read back); and the
answer is given when the journal has written them.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from lsdt._progress import progress_of
from lsdt._validation import checked_flag, checked_seed, checked_whole, checked_word
from lsdt.agent import extension, opening, snapshot
from lsdt.agent.auto_policy import choose_policy, with_remark
from lsdt.agent.decisions import (
    Decision,
    allowed_flags,
    checked_age,
    checked_reward,
    decision_key,
    is_forced,
    lost_decisions,
    mark_forced,
    mark_later,
    pack_flags,
)
from lsdt.agent.drift import drift_frame
from lsdt.agent.durations import checked_seconds
from lsdt.agent.explanation import explain_arm
from lsdt.agent.floors import checked_floors
from lsdt.agent.half_life import checked_half_life
from lsdt.agent.halt import PAUSED, STOPPED, Halt, checked_signature, checked_tolerance
from lsdt.agent.journal import EVERY, Batch, Journal, SharedJournal
from lsdt.agent.learner import Learner
from lsdt.agent.lift import lift_frame
from lsdt.agent.merge import RewardTally, checked_agents, joint_delta
from lsdt.agent.recommendation import (
    Recommendation,
    TopRecommendation,
    arms_frame,
    recommendation,
    top_recommendation,
)
from lsdt.agent.stopping import Stopping, likely_tallies, stopping, top_stopping
from lsdt.agent.suspects import suspects_frame
from lsdt.agent.top_stopping import TopStopping, checked_top
from lsdt.agent.units import assignment_of, checked_unit, row_of
from lsdt.errors import InvalidInput, Paused, StoreFailed, StoreLocked, Unsupported, counted
from lsdt.policies import OfflineSteps, checked_horizon, checked_weight, offline_step
from lsdt.problems import Rewards, checked_rewards
from lsdt.side_information import SideInformation, with_epsilon
from lsdt.storage import FORKED, Event, Kind, event_of, now, watch_forks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import timedelta

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent.extension import Extension
    from lsdt.agent.units import Assignment
    from lsdt.candidates import CandidateSet, Explanation
    from lsdt.kernel import RewardModel
    from lsdt.policies import Policy
    from lsdt.side_information import ArmId
    from lsdt.storage import Entry, Lease, Store

# Decisions of one ask: this many took 17 s (ucb1, 100 arms), so more is most likely a typing error.
_MOST_AT_ONCE = 10**6
# To estimate a propensity, whose standard error is then at most 0.016; they took 2 ms (ts, 100 arms).
_DRAWS = 1_000
_MOST_DRAWS = 10**7  # a standard error of 0.0002, after 40 s
# Each loop's share of the time before the first decision. Rough: they only move the progress bar.
_PARTS = {"arms (intervals)": (0.0, 0.1), "arms (closure)": (0.1, 0.4), "arms (bounds)": (0.4, 1.0)}
_TELL, _OBSERVE, _CANCEL, _EXPIRE = map(int, (Kind.TELL, Kind.OBSERVE, Kind.CANCEL, Kind.EXPIRE))
_RETIRE, _MERGE, _REPLACE, _ERASE = map(int, (Kind.RETIRE, Kind.MERGE, Kind.REPLACE, Kind.ERASE))
_ASK = int(Kind.ASK)
_PAUSE, _RESUME, _STOP = map(int, (Kind.PAUSE, Kind.RESUME, Kind.STOP))
_TOLERANCE, _CREATE = map(int, (Kind.TOLERANCE, Kind.CREATE))
_REPEATS = ("refuse", "ignore", "replace")


_ONCE = (None,)


def _checked_draws(propensity: Any) -> int:
    """Return the number of draws to estimate a propensity from."""
    whole = isinstance(propensity, (bool, np.bool_, int, np.integer))
    if not whole or not 0 <= propensity <= _MOST_DRAWS:
        raise InvalidInput(
            f"propensity must be True, False, or a number of draws up to {_MOST_DRAWS:,}; got {propensity!r}"
        )
    return _DRAWS if propensity is True else int(propensity)


class AgentStatus(NamedTuple):
    """What an agent can do, and why.

    Attributes
    ----------
    name : {'open', 'paused', 'stopped', 'following', 'failed', 'closed'}
        ``'open'`` takes everything; ``'paused'`` refuses `ask` alone; ``'stopped'`` answers every ask with
        one arm; ``'following'`` only reads a log that others write; ``'failed'`` and ``'closed'`` refuse
        every change.
    reason : str
        Why it is not open, in words.
    arm_id : str, int or None
        The arm that a stopped agent answers.

    Examples
    --------
    >>> import lsdt
    >>> with lsdt.Agent.open("memory://", "drinks", side=lsdt.SideInformation(2), policy="ucb1") as agent:
    ...     agent.status.name
    ...     agent.stop(1, reason="known well enough")
    ...     agent.status.name, agent.status.arm_id, agent.ask().arm
    'open'
    ('stopped', 1, 1)
    >>> agent.status
    AgentStatus(name='closed', reason='the agent is closed; open it again', arm_id=None)
    """

    name: str
    reason: str = ""
    arm_id: ArmId | None = None


_OPEN = AgentStatus("open")
_CLOSED = AgentStatus("closed", "the agent is closed; open it again")
_FOLLOWING = AgentStatus("following", "this agent only follows a log that others write")
# Set before every change and taken back after it: whatever stops a change in the middle leaves it here.
_INTERRUPTED = AgentStatus(
    "failed",
    "the agent was interrupted in the middle of a change, and may be half changed; open it again from its "
    "store, or restore a snapshot",
)


class Proposal(NamedTuple):
    """An accepted extension: its time, a hash of the new side information, and the learner before it."""

    time: int
    mark: int
    before: Learner


class Agent:
    """Chooses arms live: ask, play, tell.

    Rewards may be told late, in any order, or never; what is pending is taken into account when the next arm
    is chosen. The choices are those of the simulator for the same seed. Several threads may use one agent.
    `Agent.open` makes one that keeps everything in a store and survives its process.

    Parameters
    ----------
    side : SideInformation
        What is known of the arms.
    policy : str or Policy
        ``'auto'``, a name of `lsdt.policies.available()`, with where it plays and parameters if need be, as
        in ``'ts@propagation'`` or ``'ucb1:alpha=8'``, or an `lsdt.Policy`; `policy_reason` says why.
    epsilon : float, optional
        The threshold between similar and dissimilar, where the side information does not have it.
    rewards : {'bernoulli', 'gaussian'} or Rewards
        What rewards are like: ``'bernoulli'`` for any that lie between 0 and 1.
    horizon : int, optional
        How many rounds there will be, for policies that need to know.
    seed : int
        The same seed, asks and tells give the same decisions.
    prior : ratings, or a pair of lists (arms, rewards), optional
        Rewards that are known already, learned before the first decision: a log of ratings (put on the scale
        from 0 to 1 for ``'bernoulli'`` rewards, left as it is for others), or arms and what each paid. They
        count neither as plays nor as decisions.
    prior_weight : float
        How much known rewards count: each is learned with this probability, above 0 and up to 1. A policy
        with a weight of its own, ``lsdt.Policy(..., prior_weight=...)``, goes by that.
    forget : int, str or timedelta, optional
        The half-life of rewards, where means may change: in rounds (``500``), or in time (``'3 days'``, a
        timedelta). After it a reward counts half, in steps of a quarter. By default nothing fades.
    floor : dict, optional
        The least share of decisions for some arms, candidates or not: ``{"control": .1}`` plays the arm
        ``"control"`` at random with probability 0.1, and besides whenever the policy chooses it.
    holdout : dict, optional
        One arm and a share, ``{"control": .05}``: this share of all units always gets the arm. Decisions
        without a unit get it at random, as with a floor.
    replace_within : float, str or timedelta, optional
        For how long after it was told a reward may be replaced (``tell(..., repeat="replace")``): in
        seconds, or as in ``'2 hours'``. Until then it counts as pending for guarantees.
    sticky : float, str or timedelta, optional
        For how long a unit keeps its arm, counted from when it got it: in seconds, or as in ``'30 days'``. By
        default for as long as the experiment runs.
    tolerance : float, optional
        How far below the best arm the one that `stopping` names may lie, where it is not said there; by
        default epsilon.
    progress : bool, function or None
        Show how far the offline step is, as of `lsdt.candidate_set`.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_means([.2, .5, .55, .9], epsilon=.2, arm_ids=["a", "b", "c", "d"])
    >>> agent = lsdt.Agent(side, policy="ucb1", rewards="bernoulli", seed=0)
    >>> decision = agent.ask()
    >>> decision.number, decision.arm_id
    (0, 'a')
    >>> agent.tell(decision, 1)
    >>> blob = agent.snapshot()
    >>> lsdt.Agent.restore(blob).ask().arm_id
    'b'
    """

    def __init__(
        self,
        side: SideInformation,
        policy: str | Policy = "auto",
        epsilon: float | None = None,
        rewards: str | Rewards = "bernoulli",
        horizon: int | None = None,
        seed: int = 0,
        *,
        prior: Any = None,
        prior_weight: float = 1.0,
        forget: int | str | timedelta | None = None,
        floor: dict[ArmId, float] | None = None,
        holdout: dict[ArmId, float] | None = None,
        replace_within: float | str | timedelta | None = None,
        sticky: float | str | timedelta | None = None,
        tolerance: float | None = None,
        progress: bool | Callable[[float], None] | None = None,
    ) -> None:
        if not isinstance(side, SideInformation):
            raise InvalidInput(f"an agent needs a SideInformation; got {type(side).__name__}")
        side = with_epsilon(side, epsilon)
        law = checked_rewards(rewards).model
        rounds, seed, half_life = checked_horizon(horizon), checked_seed(seed), checked_half_life(forget)
        floors, within = (
            checked_floors(side, floor, holdout),
            checked_seconds(replace_within, "replace_within"),
        )
        steps = OfflineSteps(side)
        with progress_of(progress, _PARTS):
            forgets = half_life is not None
            chosen, reason = choose_policy(policy, side, law, rounds, steps, forgets=forgets)
            micros = None if within is None else round(1e6 * within)
            learner = Learner(
                side, chosen, law, rounds, seed, steps=steps, forget=half_life, replace_within=micros
            )
        learner.learn_prior(prior, checked_weight(prior_weight))
        learner.floors, kept = floors, checked_seconds(sticky, "sticky")
        learner.sticky = None if kept is None else round(1e6 * kept)
        learner.tolerance = checked_tolerance(tolerance)
        learner.is_auto, learner.policy_reason = policy == "auto", with_remark(reason, learner.remark)
        self._start(learner, Journal())

    def _start(self, learner: Learner, journal: Journal) -> None:
        self._learner, self._journal = learner, journal
        self._keeps = type(journal) is not Journal  # whether events go into a log
        self._lock = RLock()
        self._status = _OPEN
        self.autocommit = True
        self._in_group = False
        self.on_applied: Callable[[Sequence[Event | Entry]], None] | None = None  # called with applied events
        self._offline: tuple[SideInformation, CandidateSet | None] | None = None  # cached for `candidates`
        self._offline_lock = RLock()
        watch_forks(self)

    @classmethod
    def _of(cls, learner: Learner, journal: Journal) -> Agent:
        agent = cls.__new__(cls)
        agent._start(learner, journal)
        return agent

    def forked(self) -> None:
        """Prepare for use in a forked child: an agent without a store is a copy; one with a store refuses."""
        self._lock, self._offline_lock = RLock(), RLock()  # threads of the parent may hold the others
        if self._keeps:
            self._status = AgentStatus("failed", FORKED)
        else:
            self._journal = Journal(self._journal.units)  # with its own epoch: the parent keeps the other

    def __reduce__(self) -> tuple[Callable[[bytes], Agent], tuple[bytes]]:
        """Copy (`copy.copy`, `copy.deepcopy`) and pickle an agent without a store as its snapshot."""
        if self._keeps:
            raise Unsupported(
                "an agent with a store is neither copied nor pickled: its log has one writer. "
                "Agent.restore(agent.snapshot()) is a copy in memory; another process opens the store with "
                "Agent.open when this one has closed it"
            )
        return type(self).restore, (self.snapshot(),)

    @property
    def status(self) -> AgentStatus:
        """Whether the agent makes decisions and takes changes, and if not, why."""
        halt = self._learner.halt
        if halt is None or self._status is not _OPEN:
            return self._status
        arm = self.side.label(halt.arm) if halt.arm >= 0 else None
        return AgentStatus(halt.name, halt.text(self.side), arm)

    @property
    def halt(self) -> Halt | None:
        """The pause or the stop that is in force, as far as the log was read; None while there is none."""
        return self._learner.halt

    def state(self) -> Learner:
        """Return a copy of everything that was learned: tallies, pending decisions, the policy's state.

        For looking at: what is done to it does not change the agent.
        """
        with self._lock:
            return self._learner.copy()

    @property
    def side(self) -> SideInformation:
        """What is known of the arms."""
        return self._learner.side

    @property
    def policy(self) -> Policy:
        """The policy that chooses."""
        return self._learner.policy

    @property
    def rewards(self) -> RewardModel:
        """What rewards are like."""
        return self._learner.rewards

    @property
    def horizon(self) -> int | None:
        """How many rounds there will be, where that is known."""
        return self._learner.horizon

    @property
    def seed(self) -> int:
        """The seed of all random numbers."""
        return self._learner.seed

    @property
    def lease(self) -> Lease | None:
        """The right to write to the log; None without a store."""
        return self._journal.lease

    @property
    def journal(self) -> Journal:
        """Where events go."""
        return self._journal

    @property
    def epoch(self) -> int:
        """The epoch of the decisions made from now on: 64 bits, drawn at random at each opening."""
        return self._journal.epoch

    @property
    def is_auto(self) -> bool:
        """Whether the policy was chosen for the user."""
        return self._learner.is_auto

    @property
    def policy_reason(self) -> str:
        """Why it is this policy."""
        return self._learner.policy_reason

    @property
    def forget(self) -> str | None:
        """The half-life of rewards, such as ``'500 rounds'``; None where they do not fade."""
        fading = self._learner.fading
        return None if fading is None else str(fading.half_life)

    @property
    def floor(self) -> dict[ArmId, float]:
        """The least shares of arms; empty without floors."""
        return self._floor_options().get("floor", {})

    @property
    def holdout(self) -> dict[ArmId, float]:
        """The arm of the holdout and its share; empty without one."""
        return self._floor_options().get("holdout", {})

    @property
    def replace_within(self) -> float | None:
        """For how many seconds after it was told a reward may be replaced; None where it may not."""
        revisions = self._learner.revisions
        return None if revisions is None else revisions.within / 1e6

    @property
    def sticky(self) -> float | None:
        """For how many seconds a unit keeps its arm; None for as long as the experiment runs."""
        return None if self._learner.sticky is None else self._learner.sticky / 1e6

    @property
    def tolerance(self) -> float | None:
        """The tolerance of `stopping` where none is given; None for epsilon."""
        return self._learner.tolerance

    def _floor_options(self) -> dict[str, dict[ArmId, float]]:
        learner = self._learner
        return {} if learner.floors is None else learner.floors.as_options(learner.side)

    @property
    def n_told(self) -> int:
        """The number of rewards learned, observed ones included."""
        return self._learner.n_told

    @property
    def n_changes(self) -> int:
        """How many events there were that change what is known or which arms are in play: all but asks."""
        return self._learner.n_changes

    @property
    def n_asked(self) -> int:
        """The number of decisions."""
        return self._learner.n_asked

    @property
    def n_pending(self) -> int:
        """The number of pending decisions."""
        return len(self._learner.pending)

    @property
    def arms_in_play(self) -> list[ArmId]:
        """The arms that the policy chooses from: its candidates, without retired arms."""
        learner = self._learner
        return [learner.side.label(arm) for arm in learner.in_play().tolist()]

    # ---------------------------------------------------------------- asking and telling

    @overload
    def ask(
        self,
        n: None = None,
        *,
        allowed: Any = None,
        propensity: bool | int = False,
        distinct: bool = False,
        unit: str | None = None,
    ) -> Decision: ...
    @overload
    def ask(
        self, n: int, *, allowed: Any = None, propensity: bool | int = False, distinct: bool = False
    ) -> list[Decision]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        allowed: Any = None,
        propensity: bool | int = False,
        distinct: bool = False,
        unit: str | None = None,
    ) -> Decision | list[Decision]:
        """Return the arm to play next, or `n` of them at once.

        Parameters
        ----------
        n : int, optional
            How many; they come as a list, and are spread as if each had paid its arm's mean so far.
        allowed : list of arms, or array of flags, optional
            The arms that may be played this time, for example those in stock. If no candidate is among them,
            the policy plays those that were beaten in a log only by arms that are not allowed.
        propensity : bool or int
            Whether to estimate the probability of the choice, for policies that draw: from 1,000 draws, or
            as many as you say. It is at least one in that many, and so too large for very unlikely arms.
        distinct : bool
            Whether the `n` arms must all be different, as on a page that shows several. Each is chosen among
            those not chosen yet, and its propensity is the probability given these. If fewer than `n` arms
            may be played, that is an error, and nothing is decided.
        unit : str, optional
            Who asks, such as ``'user-17'``: a unit keeps the arm that it gets first, for as long as `sticky`
            says. Every ask is a decision of its own, to be told a reward; guarantees count a unit once. A
            unit whose arm has retired gets another one.

        Notes
        -----
        A paused agent raises `lsdt.errors.Paused`. A stopped one answers its arm, whatever units had before,
        without floors and holdouts, and with a propensity of 1; see `stop`.

        Examples
        --------
        >>> import lsdt
        >>> agent = lsdt.Agent(lsdt.SideInformation(4, arm_ids=list("abcd")), policy="ts")
        >>> sorted(each.arm_id for each in agent.ask(4, distinct=True))
        ['a', 'b', 'c', 'd']
        >>> first, other, again = (agent.ask(unit=unit) for unit in ("user-17", "user-18", "user-17"))
        >>> first.arm == again.arm, first.number, again.number
        (True, 4, 6)
        """
        n_draws = 0 if propensity is False else _checked_draws(propensity)
        if unit is not None:
            if n is not None:
                raise InvalidInput(f"a unit asks for one decision at a time; leave n out; got n={n!r}")
            return self._ask_unit(checked_unit(unit), allowed, n_draws)
        if n is not None:
            one = isinstance(n, bool) or not isinstance(n, (int, np.integer))
            if one or not 1 <= n <= _MOST_AT_ONCE:
                raise InvalidInput(f"n must be a whole number from 1 to {_MOST_AT_ONCE:,}; got {n!r}")
        if distinct is not False:
            checked_flag(distinct, "distinct")
        events: list[Event] = []
        with self._lock:
            if self._status is not _OPEN:
                self._refuse()
            learner, journal = self._learner, self._journal
            if learner.halt is not None:
                self._check_halt(learner.halt, allowed, n if distinct else 1)
                allowed, distinct = None, False
            flags, everything = (None, None) if allowed is None else self._allowed_flags(allowed)
            if distinct and n is not None:
                self._check_distinct(self._n_playable(learner, flags, everything), n)
            if journal.is_shared:
                journal.reserve_numbers(1 if n is None else n)
            try:
                for _ in _ONCE if n is None else range(n):
                    number = journal.next_number(learner)
                    event = self._decide(learner, number, now(), flags, n_draws, everything)
                    self._accept(event)
                    events.append(event)
                    if distinct:  # the log has the mask of each, so replicas and restored agents follow
                        flags = np.ones(len(learner.arms), bool) if flags is None else flags
                        everything = np.ones(self.side.n_arms, bool) if everything is None else everything
                        everything[event.arm] = False
                        local = learner.local_index(event.arm)
                        if local >= 0:  # else it has a floor, and the policy does not play it
                            flags[local] = False
            except InvalidInput:  # no arm may be played, or a policy of the user's own is wrong
                if self._keeps:  # the decisions before it are open, and the log must have them
                    self._finish(events)
                raise
            if self._keeps:
                self._finish(events)
        if n is None:
            return learner.decision(event, journal.epoch)
        return [learner.decision(each, journal.epoch) for each in events]

    def _check_halt(self, halt: Halt, allowed: Any, n_distinct: int | None) -> None:
        """Refuse to decide while paused, and what the one arm of a stopped agent cannot answer."""
        if halt.name == PAUSED:
            raise Paused(
                f"this experiment is {halt.text(self.side)}; rewards are still learned, and resume() goes on"
            )
        arm = self.side.label(halt.arm)
        if allowed is not None and not allowed_flags(self.side, allowed)[halt.arm]:
            raise InvalidInput(
                f"this experiment is stopped with {arm!r}, which is not allowed now; allow it, or stop with "
                "another arm"
            )
        if n_distinct is not None and n_distinct > 1:
            raise InvalidInput(
                f"this experiment is stopped with {arm!r}, so there are no {n_distinct} different arms; ask "
                "for one"
            )

    def _check_distinct(self, n_playable: int, n: int) -> None:
        """Refuse to name more different arms than may be played."""
        if n <= n_playable:
            return
        what = f"{n} different arms were asked for, and {n_playable} may be played"
        if self.policy.on == "all":
            raise InvalidInput(f"{what}; ask for at most {n_playable}, or allow more arms")
        name = "ts@all" if self.rewards.family == "bernoulli" else "ts_gaussian@all"
        raise InvalidInput(
            f"{what}: this policy plays on candidates for the best arm alone ({self.policy.on!r}); ask for "
            f"at most {n_playable}, or begin an agent with policy={name!r}, and ask({n}, distinct=True, "
            f"allowed=lsdt.candidate_set(side, top={n}).arm_ids) of it: these may be among the best {n}"
        )

    def _ask_unit(self, unit: str, allowed: Any, n_draws: int) -> Decision:
        """Return a decision with the unit's arm, or assign one."""
        with self._lock:
            if self._status is not _OPEN:
                self._refuse()
            journal = self._journal
            token = journal.units.token(unit)
            if self._learner.halt is not None:
                self._check_halt(self._learner.halt, allowed, 1)
                allowed = None
            flags, everything = (None, None) if allowed is None else self._allowed_flags(allowed)
            while True:
                if journal.is_shared:
                    journal.reserve_numbers(1)
                learner, before = self._learner, self._unit_row(token)
                event, value = self._unit_event(unit, before, flags, everything, n_draws)
                self._accept(event)
                if value != before or (isinstance(journal, SharedJournal) and token in journal.units.unsure):
                    journal.assign(token, value, before, event.number)
                if not self._keeps:
                    break
                if not (journal.is_shared and self.autocommit):
                    self._finish([event])
                    break
                # Written at once, also inside a group: only the log knows whether another agent was faster.
                within, self._in_group = self._in_group, False
                try:
                    is_taken = self._finish([event]) > 0
                finally:
                    self._in_group = within
                if not is_taken:
                    break
                self._learner.release_pending([event.number])
        return learner.decision(event, journal.epoch)

    def _unit_row(self, token: bytes) -> bytes | None:
        """Return the row of a unit; for services with a shared log, from the cache alone."""
        units = self._journal.units
        return units.find(token) if self.autocommit or not self._journal.is_shared else units.rows.get(token)

    def _unit_event(
        self,
        unit: str,
        row: bytes | None,
        flags: NDArray[np.bool_] | None,
        everything: NDArray[np.bool_] | None,
        n_draws: int,
    ) -> tuple[Event, bytes]:
        """Return the ask event of a unit, and the unit's row after it."""
        learner, time = self._learner, now()
        known = None if row is None else assignment_of(row)
        if learner.halt is not None and known is not None and row is not None:  # it keeps the arm for later
            number = self._journal.next_number(learner)
            return event_of((_ASK, time, number, learner.halt.arm, 1.0, mark_later(known.number))), row
        if row is not None and known is not None and self._keeps_arm(known, time):
            arm = self.side.index(known.arm_id)
            if everything is not None and not everything[arm]:
                raise InvalidInput(
                    f"this unit has the arm {known.arm_id!r}, which is not allowed now; allow it, or ask "
                    "without the unit"
                )
            number = self._journal.next_number(learner)
            return event_of((_ASK, time, number, arm, known.propensity, mark_later(known.number))), row
        word = unit.encode("utf-8", "surrogatepass")
        number = self._journal.next_number(learner)
        event = self._decide(learner, number, time, flags, n_draws, everything, word)
        arm_id = learner.arm_id(event.arm)
        if known is None:
            return event, row_of(arm_id, number, time, event.reward)
        # A unit counts once, also if it gets another arm; of which replicas learn from the log.
        row = row_of(arm_id, known.number, time, event.reward)
        return event._replace(data=mark_later(known.number, moved=True)), row

    def _keeps_arm(self, known: Assignment, time: int) -> bool:
        """Return whether a unit keeps its arm: not for longer than agreed, nor when the arm has retired."""
        learner = self._learner
        if learner.sticky is not None and time >= known.time + learner.sticky:
            return False
        return learner.retired is None or not learner.retired[self.side.index(known.arm_id)]

    def erase_unit(self, unit: str, *, by: str = "") -> bool:
        """Forget who a unit is, and return whether it was known.

        Its decisions and rewards stay in the log, where nothing says whose they are. If it asks again it is a
        new unit. Copies stay: backups, snapshots of an agent without a store, and pages that the database has
        not overwritten yet. The log keeps `by`, who did it.

        Examples
        --------
        >>> import lsdt
        >>> agent = lsdt.Agent(lsdt.SideInformation(5), policy="ts")
        >>> decision = agent.ask(unit="user-17")
        >>> agent.erase_unit("user-17"), agent.erase_unit("user-17")
        (True, False)
        """
        token, signed = self.unit_hash(unit), checked_signature(by, "").to_bytes()
        with self._changing():
            if self._keeps and self.autocommit:
                self._write()  # what is queued may be about this unit
            row = self._journal.units.erase(token)
            if row is not None:
                self._record([Event(_ERASE, now(), assignment_of(row).number, data=signed)])
            return row is not None

    def unit_hash(self, unit: str) -> bytes:
        """Return the keyed hash that stands for a unit in the store of this agent."""
        return self._journal.units.token(checked_unit(unit))

    def _allowed_flags(self, allowed: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return a flag for every arm that the policy plays on, and one for every arm."""
        everything = allowed_flags(self.side, allowed)
        return everything[self._learner.arms], everything

    def _decide(
        self,
        learner: Learner,
        number: int,
        time: int,
        flags: NDArray[np.bool_] | None,
        n_draws: int,
        everything: NDArray[np.bool_] | None,
        unit: bytes | None = None,
    ) -> Event:
        """Return the event of a decision, also where only arms are allowed that others beat in a log."""
        if flags is None or everything is None or flags.any():
            return learner.decide(number, time, flags, n_draws, everything=everything, unit=unit)
        among = self._among_beaten(learner, everything)
        event = among.decide(number, time, everything[among.arms], n_draws, everything=everything, unit=unit)
        data = pack_flags(flags)  # as the learner itself will read them
        return event._replace(data=mark_forced(data) if is_forced(event.data) else data)

    def _among_beaten(self, learner: Learner, everything: NDArray[np.bool_]) -> Learner:
        """Return a learner that plays beaten arms whose beaters are not allowed; refuse if there are none."""
        among = extension.prepare_allowed(learner, everything)
        if among is None:
            raise Unsupported(
                "none of the allowed arms can be the best: a relation excludes each, or an allowed arm beat "
                "it in a log. Allow one of agent.arms_in_play, use a policy on all arms, such as 'ts@all', "
                "or find the candidates among those that are left: agent.extend(side.subset(arms))"
            )
        return among

    def _n_playable(
        self, learner: Learner, flags: NDArray[np.bool_] | None, everything: NDArray[np.bool_] | None
    ) -> int:
        if flags is None or everything is None or flags.any():
            return learner.n_playable(flags)
        among = self._among_beaten(learner, everything)
        return among.n_playable(everything[among.arms])

    def tell(self, decision: Decision | int, reward: float, *, repeat: str = "refuse") -> None:
        """Learn the reward of a decision; decisions may be told in any order.

        Parameters
        ----------
        decision : Decision or int
            What `ask` returned, or its number. A decision that was made after the backup or the snapshot from
            which this agent goes on is refused (`lsdt.errors.LostDecision`). A number alone cannot be told
            from the same number given again: it stands for the decision that the log has.
        reward : float
            What the arm paid, finite; from 0 to 1 for ``'bernoulli'`` rewards.
        repeat : {'refuse', 'ignore', 'replace'}
            What to do when the decision was told before, or expired with a reward. ``'replace'`` puts this
            reward in the place of the earlier one, for as long as the agent's `replace_within` allows.

        Examples
        --------
        >>> import lsdt
        >>> agent = lsdt.Agent(lsdt.SideInformation(2), policy="ts", replace_within="1 day")
        >>> decision = agent.ask()
        >>> agent.tell(decision, 1)
        >>> agent.tell(decision, 0, repeat="replace")          # the order was cancelled
        >>> float(agent.to_frame()["mean"][decision.arm])
        0.0
        """
        value = checked_reward(reward, self._learner.rewards)
        number, epoch = decision_key(decision)
        if not isinstance(repeat, str) or repeat != "refuse":  # an array compares by element
            self._check_repeat(repeat, _REPEATS)
        with self._lock:
            if self._status is not _OPEN:
                self._refuse()
            if epoch != self._journal.epoch:
                self._check_epochs([decision])
            arm = self._learner.pending.arms.get(number)
            if arm is None or number in self._journal.closing:
                if repeat == "replace":
                    event = self._replacement(number, value)
                    self._record([] if event is None else [event])
                else:
                    self._not_pending(number, repeat)
                return
            data = None
            if self._learner.later or self._journal.is_shared:
                data = self._learner.end_data(number)
            event = event_of((_TELL, now(), number, arm, value, data))
            self._accept(event)
            if self._keeps and self._finish([event]):  # another agent was faster
                if repeat == "replace":
                    again = self._replacement(number, value)
                    self._record([] if again is None else [again])
                else:
                    self._not_pending(number, repeat)

    def _check_repeat(self, repeat: Any, words: tuple[str, ...]) -> None:
        """Refuse unknown words, and replacing rewards without `replace_within`."""
        checked_word(repeat, "repeat", words)
        if repeat == "replace" and self._learner.revisions is None:
            raise Unsupported(
                "this agent's rewards are final once they are told; begin one with replace_within=, as in "
                "lsdt.Agent(side, replace_within='1 day')"
            )

    def _replacement(self, number: int, reward: float) -> Event | None:
        """Return the event that replaces the reward of a closed decision; None if it is the same reward."""
        if self.autocommit and self._journal.is_shared:
            self.refresh()
        revisions = self._learner.revisions
        assert revisions is not None, "checked before"
        found, time = revisions.entries.get(number), now()
        if found is None or found.time + revisions.within <= time:
            self._not_pending(number, "ignore")
            if number in self._journal.closing:
                raise StoreLocked(f"the reward of decision {number} is being written; try again")
            raise InvalidInput(
                f"decision {number} cannot be corrected: it was cancelled, or told more than "
                f"{revisions.within / 1e6:g} s ago"
            )
        return None if found.reward == reward else event_of((_REPLACE, time, number, found.arm, reward, None))

    def tell_many(
        self, rewards: Iterable[tuple[Decision | int, float]], *, repeat: str = "ignore"
    ) -> tuple[int, int]:
        """Learn many rewards, all checked before any is learned; return how many were new, and repeated.

        Repeated is a decision that was told or cancelled before, or comes twice; the first reward counts.

        Parameters
        ----------
        rewards : iterable of (decision, reward)
            As `tell` takes them.
        repeat : {'ignore', 'replace'}
            What to do with decisions that were told before. Rewards that replace others count as new; those
            that come too late for that, or say the same, as repeated. Of several for one decision the last
            one counts.

        Examples
        --------
        >>> import lsdt
        >>> agent = lsdt.Agent(lsdt.SideInformation(2), policy="ucb1")
        >>> first, second = agent.ask(2)
        >>> agent.tell_many([(first, 1), (second, 0), (first, 1)])
        (2, 1)
        """
        try:
            pairs = [(decision, reward) for decision, reward in rewards]
        except (TypeError, ValueError):
            raise InvalidInput(
                f"rewards must be pairs of a decision and its reward, as in [(decision, 1)]; got {rewards!r}"
            ) from None
        if not isinstance(repeat, str) or repeat != "ignore":
            self._check_repeat(repeat, _REPEATS[1:])
        model = self._learner.rewards
        checked = [(decision_key(one)[0], checked_reward(reward, model)) for one, reward in pairs]
        with self._lock:
            if self._status is not _OPEN:
                self._refuse()
            self._check_epochs([one for one, _ in pairs])
            events: dict[int, Event] = {}
            time, arms, closing = now(), self._learner.pending.arms, self._journal.closing
            replaced: dict[int, Event] = {}
            for number, value in checked:
                arm = arms.get(number)
                if arm is None or number in closing:
                    self._not_pending(number, "ignore")
                    if repeat == "replace":
                        with suppress(InvalidInput):  # too late: the first reward counts
                            event = self._replacement(number, value)
                            replaced.pop(number, None)  # of several in one call, the last one counts
                            if event is not None:
                                replaced[number] = event
                elif number not in events or repeat == "replace":
                    data = self._learner.end_data(number)
                    events[number] = event_of((_TELL, time, number, arm, value, data))
            n_new = len(events) + len(replaced)
            n_new -= self._record([*events.values(), *replaced.values()])
        return n_new, len(checked) - n_new

    def _is_open(self, number: int) -> bool:
        """Return whether a decision is pending, as far as this agent has read the log."""
        return number in self._learner.pending and number not in self._journal.closing

    def _check_epochs(self, decisions: Sequence[Decision | int]) -> None:
        """Refuse decisions that are not in the log: their numbers may have been given again."""
        own = self._journal.epoch
        others = [each for each in decisions if isinstance(each, Decision) and each.epoch not in (own, None)]
        lost = self._unknown(others)
        if self.autocommit and self._journal.is_shared and (lost or self._has_unread(decisions)):
            self.refresh()  # another agent may have made it just now
            lost = self._unknown(lost)
        if lost:
            raise lost_decisions(lost, [f"decision {each.number}" for each in lost])

    def _unknown(self, decisions: list[Decision]) -> list[Decision]:
        epoch_of = self._learner.epochs.of
        return [each for each in decisions if epoch_of(each.number) != each.epoch]

    def _has_unread(self, decisions: Sequence[Decision | int]) -> bool:
        """Return whether any of the numbers is unknown in the log read so far."""
        numbers = (decision_key(each)[0] for each in decisions)
        return any(self._is_unknown(number) for number in numbers)

    def _is_unknown(self, number: int) -> bool:
        learner = self._learner
        return not (
            number in learner.pending
            or number in self._journal.closing
            or learner.epochs.of(number) is not None
        )

    def _not_pending(self, number: int, repeat: str) -> None:
        if self._is_unknown(number):
            raise InvalidInput(
                f"decision {number} was never asked for; {self._learner.n_asked} were, numbered from 0"
            )
        if repeat == "refuse":
            raise InvalidInput(
                f"decision {number} was told or cancelled before; repeat='ignore' passes over such rewards"
            )

    def observe(self, arm: ArmId, reward: float) -> None:
        """Learn a reward that came without being asked for; the arm is an id or index.

        Whether a reward is observed must not depend on it: to observe clicks alone makes every mean 1.
        """
        value = checked_reward(reward, self.rewards)
        with self._changing():
            self._record([Event(_OBSERVE, now(), -1, self.side.index(arm), value)])

    def cancel(self, decision: Decision | int) -> None:
        """Give up waiting for the reward of a decision: it was never played, or will never be known.

        What is cancelled must not depend on the reward: to cancel whatever was not clicked would leave the
        clicks alone, and means of 1. Close such decisions with their reward, or let them `expire` with one.
        """
        if not self.cancel_many([decision]):  # another agent was faster
            self._refuse_closed(decision_key(decision)[0])

    def cancel_many(self, decisions: Iterable[Decision | int]) -> int:
        """Give up waiting for many decisions, all checked before any is given up; return how many."""
        try:
            listed = list(decisions)
        except TypeError:
            raise InvalidInput(f"decisions must be a list of what ask returned; got {decisions!r}") from None
        numbers = list(dict.fromkeys(decision_key(each)[0] for each in listed))
        with self._changing():
            self._check_epochs(listed)
            for number in numbers:
                if not self._is_open(number):
                    self._refuse_closed(number)
            return self._close(numbers, _CANCEL, None)

    def _refuse_closed(self, number: int) -> None:
        n_others = len(self._learner.pending)
        others = "1 other is" if n_others == 1 else f"{n_others:,} others are"
        raise InvalidInput(f"decision {number} is not pending; {others}")

    def cancel_before(self, decision: Decision | int, *, most: int | None = None) -> int:
        """Give up waiting for all decisions before this one, and return how many there were.

        Parameters
        ----------
        decision : Decision or int
            What `ask` returned, or its number.
        most : int, optional
            Close at most this many, the oldest first. A program that must not be held up for long calls it
            until it returns fewer.
        """
        number, _ = decision_key(decision)
        with self._changing():
            self._check_epochs([decision])
            return self._close(self._first(self._learner.pending.before(number), most), _CANCEL, None)

    def _first(self, numbers: Iterator[int], most: int | None) -> list[int]:
        """Return at most `most` of the numbers, without those that are being closed."""
        limit = None if most is None else checked_whole(most, "most", 1)
        closing = self._journal.closing
        return list(islice((number for number in numbers if number not in closing), limit))

    def expire(self, older_than: float, reward: float | None = None, *, most: int | None = None) -> int:
        """Close the decisions that are older than this many seconds, and return how many there were.

        Parameters
        ----------
        older_than : float
            Seconds.
        reward : float, optional
            What to learn for each, such as 0 for "was not clicked"; by default nothing, as `cancel` does,
            which is right only if what was never told does not depend on its reward.
        most : int, optional
            Close at most this many, the oldest first.
        """
        value = None if reward is None else checked_reward(reward, self.rewards)
        limit = now() - round(1e6 * checked_age(older_than, "older_than"))
        with self._changing():
            return self._close(self._first(self._learner.pending.older_than(limit), most), _EXPIRE, value)

    def _close(self, numbers: list[int], kind: int, reward: float | None) -> int:
        """Close pending decisions with one kind of event; return how many."""
        arm_of, data_of, time = self._learner.pending.arm, self._learner.end_data, now()
        events = [
            Event(kind, time, number, arm_of(number) or 0, reward, data_of(number)) for number in numbers
        ]
        return len(events) - self._record(events)

    def retire(self, arm: ArmId, *, reason: str = "", by: str = "") -> None:
        """Never choose an arm again. What it paid stays known, and relations through it still count.

        `reinstate` brings it back; `extend`, with side information that lacks arms, retires many at once.

        Arms that are out only because this one beat them in a log come back, as by `extend`. By relations
        candidates stay as they are: the arms that may be the best of all. That
        loses nothing while the best arm stays. Where it may be the best one that goes, find the candidates of
        those that are left:

        >>> import lsdt
        >>> side = lsdt.from_means([.1, .3, .5, .7, .9], epsilon=.25, arm_ids=list("abcde"))
        >>> agent = lsdt.Agent(side)
        >>> agent.arms_in_play
        ['a', 'e']
        >>> agent.extend(side.subset(list("abcd"))).retired
        ['e']
        >>> agent.arms_in_play
        ['a', 'd']

        The log keeps `reason`, and `by`, who did it.
        """
        signature = checked_signature(by, reason)
        with self._changing_in_step():
            index = self.side.index(arm)
            halt = self._learner.halt
            if halt is not None and halt.arm == index:
                raise InvalidInput(
                    f"the experiment is stopped with {arm!r}; stop it with another arm first, or resume it"
                )
            before = self._learner
            after = extension.prepare_retirement(before, index)
            if after is not None:
                time = now()
                event = Event(int(Kind.EXTEND), time)
                if self._keeps:
                    event = extension.extension_event(before, after, [], time, signature)
                self._record([event], after)
            if (after or self._learner).is_last(index):
                raise InvalidInput(f"{arm!r} is the last arm in play; an agent needs one")
            self._record([Event(_RETIRE, now(), -1, index, 1.0, signature.to_bytes())])

    def reinstate(self, arm: ArmId, *, reason: str = "", by: str = "") -> None:
        """Bring a retired arm back into play, with all that is known about it.

        Examples
        --------
        >>> import lsdt
        >>> agent = lsdt.Agent(lsdt.SideInformation(2, arm_ids=["tea", "juice"]), policy="ucb1")
        >>> agent.retire("tea")
        >>> agent.arms_in_play
        ['juice']
        >>> agent.reinstate("tea")
        >>> agent.arms_in_play
        ['tea', 'juice']
        """
        signed = checked_signature(by, reason).to_bytes()
        with self._changing_in_step():
            index, retired = self.side.index(arm), self._learner.retired
            if retired is None or not retired[index]:
                raise InvalidInput(f"{arm!r} has not retired; agent.to_frame() says which arms have")
            self._record([Event(_RETIRE, now(), -1, index, 0.0, signed)])

    # ---------------------------------------------------------------- pausing and stopping
    # What changes nothing is not recorded, except in a shared log: others may have done something that is not
    # read yet, and without a `resume` in the log their `pause` would stay in force.

    def pause(self, *, reason: str = "", by: str = "") -> None:
        """Make no decisions until `resume`: `ask` raises `lsdt.errors.Paused`.

        For when something is wrong, such as a price or a page. What asks then falls back on what it does when
        the experiment cannot be reached. Rewards of earlier decisions are learned meanwhile, and decisions
        expire. To show one arm instead, `stop` with it.

        Parameters
        ----------
        reason : str
            Why, on one line; refused asks say it.
        by : str
            Who does it, for the log.

        Examples
        --------
        >>> import lsdt
        >>> agent = lsdt.Agent(lsdt.SideInformation(2), policy="ucb1")
        >>> decision = agent.ask()
        >>> agent.pause(reason="wrong prices")
        >>> agent.tell(decision, 1)
        >>> agent.status.name
        'paused'
        >>> agent.resume()
        >>> agent.ask().number
        1
        """
        signed = checked_signature(by, reason).to_bytes()
        with self._changing_in_step():
            halt = self._learner.halt
            if halt is None or halt.name != PAUSED or self._journal.is_shared:
                self._record([Event(_PAUSE, now(), data=signed)])

    def stop(self, arm: ArmId, *, reason: str = "", by: str = "") -> None:
        """Answer every ask with one arm from now on, until `resume`: the experiment is over.

        Programs go on asking and telling as before. Every ask is a decision in the log with a propensity of
        1, on this arm whatever units, floors and holdouts had; the policy does not choose it. Rewards that
        are told are learned; nothing else is. Units that had an arm get it back after `resume`.

        Parameters
        ----------
        arm : str or int
            The arm, candidate or not; one that has not retired.
        reason, by
            As `pause` takes them.

        Examples
        --------
        >>> import lsdt
        >>> agent = lsdt.Agent(lsdt.SideInformation(3, arm_ids=["tea", "juice", "mate"]), policy="ucb1")
        >>> agent.stop("juice", by="alice")
        >>> [decision.arm_id for decision in agent.ask(3)]
        ['juice', 'juice', 'juice']
        """
        signed = checked_signature(by, reason).to_bytes()
        with self._changing_in_step():
            index, learner = self.side.index(arm), self._learner
            if learner.retired is not None and learner.retired[index]:
                raise InvalidInput(f"{arm!r} has retired; reinstate it first, or stop with another arm")
            halt = learner.halt
            is_new = halt is None or (halt.name, halt.arm) != (STOPPED, index)
            if is_new or self._journal.is_shared:
                self._record([Event(_STOP, now(), -1, index, None, signed)])

    def resume(self, *, reason: str = "", by: str = "") -> None:
        """Make decisions again, after a pause or a stop."""
        signed = checked_signature(by, reason).to_bytes()
        with self._changing_in_step():
            if self._learner.halt is not None or self._journal.is_shared:
                self._record([Event(_RESUME, now(), data=signed)])

    def set_tolerance(self, tolerance: float | None, *, reason: str = "", by: str = "") -> None:
        """Set the tolerance of `stopping` where none is given there; None for epsilon.

        It may be set at any time, also after a look at the rewards: the guarantee holds for all tolerances
        together.

        Examples
        --------
        >>> import lsdt
        >>> agent = lsdt.Agent(lsdt.SideInformation(2), policy="ts")     # no epsilon
        >>> agent.set_tolerance(.02)
        >>> agent.stopping().tolerance
        0.02
        """
        signed, value = checked_signature(by, reason).to_bytes(), checked_tolerance(tolerance)
        with self._changing_in_step():
            if self._learner.tolerance != value or self._journal.is_shared:
                self._record([Event(_TOLERANCE, now(), -1, -1, value, signed)])

    def sign_creation(self, by: str) -> None:
        """Write down who made the experiment. For services."""
        signed = checked_signature(by, "").to_bytes()
        with self._changing():
            self._record([Event(_CREATE, now(), data=signed)])

    def merge(
        self, others: Agent | bytes | Iterable[Agent | bytes], *, reason: str = "", by: str = ""
    ) -> int:
        """Learn the rewards that other agents were told for the same arms, and return their number.

        Counts add up. Decisions stay apart: what is pending stays with the agent that was asked, and counts
        at its worst in `stopping` of this one for good, so close decisions before agents are merged. The
        prior of this agent counts once, as before, and those of the others do not count. Arms are known by
        their ids (without ids, by their numbers); this agent must have all arms of the others, and the same
        rewards. An agent is merged once: it, copies of it (by `snapshot`), and those that hold its rewards
        are refused the second time.

        Parameters
        ----------
        others : Agent, bytes, or a list of these
            The agents, or their snapshots.
        reason, by : str, optional
            Why, and who did it, for the log.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(2, arm_ids=["tea", "juice"])
        >>> here, there = (lsdt.Agent(side, policy="ucb1", seed=seed) for seed in range(2))
        >>> for agent in (here, there):
        ...     for reward in (1, 0, 1):
        ...         agent.tell(agent.ask(), reward)
        >>> here.merge(there)
        3
        >>> here.to_frame().plays.sum(), there.to_frame().plays.sum()
        (np.int64(6), np.int64(3))
        """
        listed, signature = checked_agents(others, Agent), checked_signature(by, reason)
        with self._changing_in_step():
            delta = joint_delta(self._learner, listed)
            self._record([Event(_MERGE, now(), data=delta.to_bytes(signature))])
            return delta.n_told

    def _tally(self) -> RewardTally:
        """Return what another agent may learn from this one."""
        with self._lock:
            learner = self._learner
            return RewardTally(learner.side, learner.rewards, learner.tally_delta())

    def pending_numbers(self) -> list[int]:
        """Return the numbers of the decisions whose rewards are not known yet."""
        with self._lock:
            return self._learner.pending.numbers()

    def pending_times(self) -> list[tuple[int, int]]:
        """Return number and time of every pending decision, as asked: microseconds since 1970."""
        with self._lock:
            return [(number, time) for number, _, time in self._learner.pending.entries()]

    # ---------------------------------------------------------------- one change at a time

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock for a change; refuse if the agent takes none."""
        with self._lock:
            if self._status is not _OPEN:
                self._refuse()
            yield

    @contextmanager
    def _changing_in_step(self) -> Iterator[None]:
        """Hold the lock for a change that must rest on the newest state of a shared log.

        With a shared log, what others wrote is read first, and the change is written at once, also inside a
        group: it counts only when it is read back.
        """
        with self._changing():
            if not self._journal.is_shared or not self.autocommit:  # a service writes by itself
                yield
                return
            self.refresh()
            before, self._in_group = self._in_group, False
            try:
                yield
            finally:
                self._in_group = before

    def _refuse(self) -> None:
        if self._status.name == "following":
            raise StoreLocked(self._status.reason)
        raise StoreFailed(self._status.reason)

    def _accept(self, event: Event, after: Learner | None = None) -> None:
        """Hand an event to the journal. Every change made by this agent goes through here."""
        self._status = _INTERRUPTED
        self._learner = self._journal.accept(self._learner, event, after)
        self._status = _OPEN

    def _finish(self, events: Sequence[Event]) -> int:
        """Wait until accepted events are durable, unless `autocommit` is off; see `_record`."""
        if self.on_applied is not None and events and not self._journal.is_shared:
            self.on_applied(events)
        return self._write() if self.autocommit and not self._in_group else 0

    def _record(self, events: Sequence[Event], after: Learner | None = None) -> int:
        """Accept events, and wait until they are durable.

        Returns how many of them are repeats: of a shared log, others may have closed the same decisions.
        """
        for event in events:
            self._accept(event, after)
        return self._finish(events) if self._keeps else 0

    def _write(self) -> int:
        """Write accepted events; with a shared log, read them back."""
        self._status = _INTERRUPTED
        try:
            n_repeats = self._journal.write(self._learner)
        except StoreFailed as error:
            self._status = AgentStatus("failed", str(error))
            raise
        self._status = _OPEN
        if self._journal.is_shared:
            self._read_back(wait=True)
        return n_repeats

    def refresh(self) -> None:
        """Apply new events of a shared log; do nothing without one."""
        with self._lock:
            if self._status not in (_OPEN, _FOLLOWING):
                self._refuse()
            self._read_back(wait=False)

    def _read_back(self, *, wait: bool) -> None:
        journal, before = self._journal, self._status
        if isinstance(journal, SharedJournal):
            while True:
                self._status = _INTERRUPTED  # what was read and not applied would be missed
                try:
                    entries = journal.read_new(wait=wait)
                except Exception:
                    self._status = before  # nothing was read
                    raise
                if entries:
                    self._apply_entries(entries)
                self._status = before
                if not entries:
                    return
                if self.on_applied is not None:
                    self.on_applied(entries)

    def apply_entries(self, entries: Sequence[Entry]) -> None:
        """Apply the next events of a shared log, read by the caller.

        For services, which read the logs of many agents at once.
        """
        with self._lock:
            before = self._status
            if before not in (_OPEN, _FOLLOWING):
                self._refuse()
            self._status = _INTERRUPTED
            self._apply_entries(entries)
            self._status = before
            if self.on_applied is not None:
                self.on_applied(entries)

    def _apply_entries(self, entries: Sequence[Entry]) -> None:
        assert isinstance(self._journal, SharedJournal)
        self._learner = self._journal.read_back(self._learner, entries)

    def drain(self) -> Batch:
        """Return the events that were accepted and not written, and a snapshot where one is due.

        For services, which set ``agent.autocommit = False``, write the batches of many agents in one
        transaction, and answer when it is committed. If that fails, the agent must be opened again.
        """
        with self._lock:
            if self._status is not _OPEN:
                self._refuse()
            self._status = _INTERRUPTED
            batch = self._journal.drain(self._learner)
            self._status = _OPEN
            return batch

    def release(self, events: Sequence[Event]) -> None:
        """Forget drained events of a shared log that will not be written after all."""
        with self._changing():
            if isinstance(self._journal, SharedJournal):
                self._journal.release(self._learner, events)

    @contextmanager
    def group(self) -> Iterator[None]:
        """Write everything inside together: one wait for the disk instead of one per call.

        Nothing inside is sure to be kept before the end. Without a store it changes nothing.

        Examples
        --------
        >>> import lsdt
        >>> agent = lsdt.Agent.open("memory://", "drinks", side=lsdt.SideInformation(3), policy="ucb1")
        >>> with agent.group():
        ...     for decision in agent.ask(3):
        ...         agent.tell(decision, 1)
        >>> agent.n_told
        3
        """
        with self._lock:
            before, self._in_group = self._in_group, True
            try:
                yield
            finally:
                self._in_group = before
                if self.autocommit and not before and self._keeps and self._status is _OPEN:
                    self._write()

    # ---------------------------------------------------------------- what was learned

    def to_frame(self) -> pd.DataFrame:
        """Return a row per arm: id, plays, mean, the policy's score, status, prior, estimate.

        ``mean`` is that of the arm's own rewards. ``estimate``, ``low`` and ``high`` are what `best` says of
        it: the posterior mean by relations and the rewards of all arms, and a 95% interval. Plays and means
        are those of rewards that were told; pending decisions are not in them.
        """
        return arms_frame(self)

    @overload
    def best(self, n_runners_up: int = 3, *, top: None = None) -> Recommendation: ...
    @overload
    def best(self, n_runners_up: int = 3, *, top: int) -> TopRecommendation: ...
    def best(self, n_runners_up: int = 3, *, top: int | None = None) -> Recommendation | TopRecommendation:
        """Return the arm to recommend: the best posterior mean, how sure that is, and the runners-up.

        With `top`, return that many arms, and the probability that together they are the best.

        Estimates rest on relations and the rewards of all arms together. Other threads may ask and tell
        meanwhile; what they tell does not count. See docs/handbook/live.md.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(1, 2)], epsilon=.1)
        >>> agent = lsdt.Agent(side, policy="ts")
        >>> for number in range(100):
        ...     agent.observe(0, float(number < 80))
        ...     agent.observe(2, float(number < 30))
        >>> best = agent.best()
        >>> best.text.endswith("by relations and rewards")
        True
        >>> unplayed = next(arm for arm in [best, *best.runners_up] if arm.arm_id == 1)
        >>> .7 < unplayed.mean < .9                     # arm 1 is similar to arm 0
        True
        """
        if top is not None:
            return top_recommendation(self, top)
        return recommendation(self, n_runners_up)

    @contextmanager
    def held(self) -> Iterator[Learner]:
        """Keep other threads from changing what was learned, for as long as it is being read."""
        with self._lock:
            yield self._learner

    def why(self, arm: ArmId) -> Explanation:
        """Return why an arm is played, or is not: in words, with the relations that it rests on.

        Parameters
        ----------
        arm : str or int
            The id of the arm (without ids, its number).

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(3, similar=[(0, 1), (0, 2)], dissimilar=[(1, 2)])
        >>> print(lsdt.Agent(side, policy="ts@paper").why(0))
        arm 0 cannot be the best: it is similar to 1 and 2, which are dissimilar. Were 0 the best, both would
        lie less than epsilon below it, hence be similar.
        """
        index = self.side.index(arm)
        found = self.candidates()
        with self._lock:
            return explain_arm(self._learner, found, index)

    def candidates(self) -> CandidateSet | None:
        """Return the candidates of the policy's offline step, with proofs; None if it has none.

        Found when it is first asked for, and then kept: decisions do not need it.
        """
        learner = self._learner
        with self._offline_lock:
            known = self._offline
            if known is None or known[0] is not learner.side:
                known = self._offline = learner.side, offline_step(learner.side, learner.policy.on)
            return known[1]

    def arm_statistics(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return how many rewards of every arm are known, their mean and variance; NaN where too few."""
        with self._lock:
            counts, sums = self._learner.tallies()
            counts, sums, squares = counts.copy(), sums.copy(), self._learner.all_squares().copy()
        known, several = np.where(counts > 0, counts, 1), np.maximum(counts - 1, 1)
        means = np.where(counts > 0, sums / known, np.nan)
        within = np.maximum(squares - sums**2 / known, 0.0)
        return counts, means, np.where(counts > 1, within / several, np.nan)

    @overload
    def stopping(
        self, delta: float = 0.05, tolerance: float | None = None, top: Literal[1] = 1
    ) -> Stopping: ...
    @overload
    def stopping(
        self, delta: float = 0.05, tolerance: float | None = None, *, top: int | str
    ) -> Stopping | TopStopping: ...
    def stopping(
        self, delta: float = 0.05, tolerance: float | None = None, top: int | str = 1
    ) -> Stopping | TopStopping:
        """Return whether it is known which arm is the best, and which arm that is.

        Parameters
        ----------
        delta : float
            The accepted probability of naming an arm that lies more than the tolerance below the best one. It
            holds for all looks together, however often one looks and however arms are chosen.
        tolerance : float, optional
            How far below the best arm the one named may lie, in rewards; by default that of the agent, else
            epsilon.
        top : int or 'all'
            How many arms to name: each of them is then within the tolerance of the arm that is in truth the
            `top`-th best. ``'all'`` names all arms within the tolerance of the best, and none more than twice
            as far below. A policy on candidates plays arms that may be the best alone; use one on all arms.

        Returns
        -------
        Stopping, or TopStopping if `top` is not 1
            ``stop``, ``arm_id``, ``delta`` (the level reached), ``rivals`` (who is still open, and how much
            evidence is missing), ``tries_to_go`` (an estimate).

        Notes
        -----
        It is about the arms that have not retired. As with `extend`, what was said before an arm retired
        holds at its level, and so does what is said after it, but not both together.

        It holds if relations do, if rewards keep their means, and if sigma is no less than it is in truth.
        Known rewards (`prior`) do not count. Other threads may ask and tell meanwhile; what they tell does
        not count.

        Rewards in [0, 1] may come late because of what they are, such as a click at once and its absence an
        hour later: a pending decision counts at the reward that hurts the conclusion most, and so holds it up
        until it is told or expires with a reward. What is cancelled does not count, and what is observed
        does, so neither may depend on the reward. A reward that may still be replaced (`replace_within`)
        counts as pending. Unbounded rewards must not be late because of what they
        are. See docs/handbook/identify.md.
        """
        with self._lock:
            learner = self._learner
            counts, sums = learner.settled_tallies()
            pending, likely = learner.unsettled_counts(), likely_tallies(learner)
            tolerance = learner.tolerance if tolerance is None else tolerance
            retired = learner.retired
        n_retired = 0 if retired is None else int(retired.sum())
        which = checked_top(top, learner.side.n_arms - n_retired)
        if which != 1:
            return top_stopping(learner, counts, sums, pending, delta, tolerance, which, retired)
        return stopping(learner, counts, sums, pending, likely, delta, tolerance, retired)

    def lift(self, control: ArmId | None = None, risk: float = 0.05) -> pd.DataFrame:
        """Return how much better each arm is than a control, with intervals that hold at all times.

        A row for each arm in play with a reward, the highest mean first: ``arm``, ``plays``, ``mean``,
        ``lift`` (its mean less that of the control), ``low`` and ``high``. All rows hold together, at all
        looks, but for a probability of `risk`, however arms are chosen and however late rewards are told.
        ``attrs["control"]`` is the row of the control itself: arm, plays, mean. Of a unit only the first
        decision counts, in all columns.

        Parameters
        ----------
        control : str or int, optional
            The arm to compare with; by default the one that has a floor or a holdout.
        risk : float
            The accepted probability that any interval is ever wrong.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(2, arm_ids=["control", "red"])
        >>> agent = lsdt.Agent(side, policy="ts", floor={"control": .2})
        >>> for number in range(2000):
        ...     decision = agent.ask()
        ...     agent.tell(decision, float(number % 10 < (6 if decision.arm_id == "red" else 3)))
        >>> row = agent.lift().iloc[0]
        >>> row.arm, bool(row.low > 0)
        ('red', True)
        """
        with self._lock:
            return lift_frame(self._learner, control, risk)

    def suspects(self, risk: float = 0.05) -> pd.DataFrame:
        """Return the relations that the rewards so far contradict, strongest first.

        A row each: the arms, the relation, ``evidence`` (the log-likelihood ratio of any means against the
        likeliest that satisfy it), means and plays of both, and ``returns``: the arms that the triangle rule
        (for a better pair or a range, the order of the arms) would let back in without this relation. Where
        there are ranges, ``low`` and ``high`` are the ends of those suspected. Listed are those with evidence
        of at least log(relations compared / risk): looked at once, the probability to list a right one is
        about `risk`.
        """
        with self._lock:
            return suspects_frame(self._learner, risk)

    def drift(self, risk: float = 0.05) -> pd.DataFrame:
        """Return the arms whose mean has changed, the clearest first.

        A row each: the arm, ``evidence`` (a logarithm), and plays and mean before and after the likeliest
        moment of the change. Of arms that never change, any is ever listed with a probability of at most
        `risk`, however often one looks, and however late rewards are told: each arm's rewards are taken in
        the order asked, up to its first decision that is still open. Arms that are not played cannot be
        noticed: see `forget`. Counted are this agent's own rewards, whether they fade or not; those of agents
        merged into it are not.

        A decision that is never closed blocks its arm. ``attrs["blocked"]`` of the answer lists the arms of
        which at least 100 plays, and at least as many as were counted, wait: arm, number of the open
        decision, seconds since it was asked for, plays behind it. Beyond 4,096, plays are left out of the
        test. Tell or `cancel` the decision, or let decisions `expire` with a reward.

        Whether a decision is cancelled, and whether a reward is observed and when, must not depend on the
        reward. Observed rewards stand where they were observed.

        Examples
        --------
        >>> import lsdt
        >>> agent = lsdt.Agent(lsdt.SideInformation(2, arm_ids=["tea", "juice"]), policy="ts")
        >>> for number in range(120):
        ...     agent.observe("tea", float(number < 60))
        >>> agent.drift()[["arm", "plays_before", "mean_before", "mean_after"]]
           arm  plays_before  mean_before  mean_after
        0  tea            60          1.0         0.0
        """
        with self._lock:
            return drift_frame(self._learner, risk)

    def extend(self, side: SideInformation, *, reason: str = "", by: str = "") -> Extension:
        """Go on with other side information: more relations, more arms, or others. What was learned stays.

        Arms are known by their ids (without ids, by their numbers). Those that are missing in `side` retire:
        what they paid stays known, and so do their relations, unless these exclude an arm that may be the
        best of the rest. Arms that had retired stay so until `reinstate`. Candidates are found again; the
        answer says what changed. Pending decisions stay pending. The log keeps `reason`, and `by`,
        who did it.
        """
        with self._lock:
            proposal = self.propose_extension(side, reason=reason, by=by)
            made = self.extension_outcome(proposal)
            assert made is not None  # nothing waits for a commit here
            return made

    def propose_extension(self, side: SideInformation, *, reason: str = "", by: str = "") -> Proposal:
        """Accept an extension; `extension_outcome` returns its result.

        For services: with a shared log and without `autocommit`, that is known only when it was read back.
        """
        signature = checked_signature(by, reason)
        with self._changing_in_step():
            before, time = self._learner, now()
            after, gone = extension.prepare(before, side)
            if self._journal.is_shared and not extension.keeps_numbers(before, after):
                raise Unsupported(
                    "events of a shared log name arms by number, and others may be writing some: list the "
                    "agent's arms first, in their order, and new ones behind them"
                )
            event = Event(int(Kind.EXTEND), time)
            if self._keeps:
                event = extension.extension_event(before, after, gone, time, signature)
            self._record([event], after)
            return Proposal(time, extension.side_mark(after.side), before)

    def extension_outcome(self, proposal: Proposal) -> Extension | None:
        """Return what an extension changed; None until it is applied.

        Of two agents that extend at the same time the first one does; the other is told to try again.
        """
        with self._lock:
            journal = self._journal
            if isinstance(journal, SharedJournal):
                if journal.own_extension < proposal.time:
                    return None
                if journal.own_side_mark != proposal.mark:
                    raise StoreLocked(
                        f"another replica extended {journal.cursor.name!r} at the same time; try again"
                    )
            return extension.changes(proposal.before, self._learner)

    # ---------------------------------------------------------------- keeping

    def snapshot(self) -> bytes:
        """Return everything as bytes, side information included; `Agent.restore` goes on bit for bit.

        An agent with a store keeps it there too, and is opened from it the next time; without `autocommit`,
        with what is written down next.
        """
        with self._lock:
            if self._status is _FOLLOWING:
                return snapshot.to_bytes(self._learner)
        with self._changing():
            if self._in_group and self._journal.is_shared:
                self._write()  # else what the group did so far would not be in it
            blob = self._journal.take_snapshot(self._learner)
            if self.autocommit and not self._in_group and self._keeps:
                self._write()
            return blob

    @classmethod
    def restore(cls, blob: bytes) -> Agent:
        """Return the agent of a snapshot; refuse damaged and unknown ones.

        Restore snapshots from trusted sources only: a crafted one can decide what the agent plays.
        """
        learner, units = snapshot.with_units(blob)
        return cls._of(learner, Journal(units))

    @classmethod
    def open(
        cls,
        store: str | Store,
        name: str,
        side: SideInformation | None = None,
        *,
        shared: bool = False,
        durability: str = "full",
        snapshot_every: int = EVERY,
        **options: Any,
    ) -> Agent:
        """Open an experiment in a store: create it, or go on where it stopped.

        Everything is in the store: side information, configuration, prior, extensions, and every ask and tell
        before the call returns. To open an existing experiment its name is enough; options that are given
        must be those that it was made with.

        Parameters
        ----------
        store : str or Store
            A URL: ``sqlite:///file.db``, ``postgresql://user@host/database``, ``memory://``; or an open store
            of `lsdt.storage.open_store`.
        name : str
            The name of the experiment. A store holds many.
        side : SideInformation, optional
            What is known of the arms, for a new one.
        shared : bool
            Whether other processes may decide for the same experiment at the same time: then each reads what
            the others write, and all of them learn the same. Needs ``postgresql://``, or ``memory://`` in one
            process.
        durability : {'full', 'process'}
            Whether a call waits until the disk has it (``'full'``), or only until the operating system has:
            faster, and safe against the death of the process, not of the machine.
        snapshot_every : int
            Take a snapshot after this many events, so that opening is fast; 0 for never.
        **options
            Those of `Agent`: policy, epsilon, rewards, horizon, seed, prior, prior_weight, forget, floor,
            holdout, replace_within, sticky, tolerance. The prior is learned when the agent is new, and not
            looked at again.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(2, arm_ids=["tea", "juice"])
        >>> agent = lsdt.Agent.open("memory://doc", "drinks", side=side, policy="ucb1")
        >>> agent.tell(agent.ask(), 1)
        >>> agent.close()
        >>> lsdt.Agent.open("memory://doc", "drinks")
        Agent(ucb1, 2 arms, 1 reward)
        """
        every = checked_whole(snapshot_every, "snapshot_every", 0)
        opened = opening.opened_store(store, durability=durability)

        def new(side: SideInformation) -> tuple[str, bytes]:
            agent = cls(side, **options)
            return opening.about(side, agent, options), agent.snapshot()

        try:
            opening.ensure_experiment(opened, name, side, new)
            find = opening.open_shared if shared else opening.open_local
            agent = cls._of(*find(opened, name, every))
        except BaseException:
            opened.close()
            raise
        try:
            opening.check_same(opened, name, agent, side, options)
        except BaseException:
            agent._let_go()
            raise
        return agent

    @classmethod
    def follow(cls, store: str | Store, name: str) -> Agent:
        """Return an agent that follows the log of an experiment and writes nothing.

        It answers `best`, `stopping`, `to_frame` and all else that only looks; `refresh` reads what is new.

        Parameters
        ----------
        store : str or Store
            As `open` takes it. A URL is opened for reading only, also while another process writes.
        name : str
            The name of an experiment that exists.

        Examples
        --------
        >>> import lsdt
        >>> agent = lsdt.Agent.open("memory://followed", "drinks", lsdt.SideInformation(2), policy="ucb1")
        >>> other = lsdt.Agent.follow("memory://followed", "drinks")
        >>> agent.tell(agent.ask(), 1)
        >>> other.refresh()
        >>> other.n_told
        1
        """
        opened = opening.opened_store(store, read_only=True)
        try:
            agent = cls._of(*opening.open_shared(opened, name, 0, follow=True))
        except BaseException:
            opened.close()
            raise
        agent._status = _FOLLOWING
        return agent

    def close(self) -> None:
        """Take a last snapshot and let the store go; without a store, or a second time, do nothing."""
        with self._lock:
            status = self._status
            if self._journal.lease is None and status is not _FOLLOWING:
                return
            is_whole = False
            try:
                if status is _OPEN and self.autocommit:
                    self._write()
                is_whole = status is _OPEN
            finally:
                self._status = _CLOSED if status in (_OPEN, _FOLLOWING) else status
                self._journal.close(self._learner if is_whole else None)

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Forgotten: nothing is lost, but the next opening applies what has no snapshot.
        if hasattr(self, "_journal"):
            with suppress(Exception):
                self._let_go()

    def _let_go(self) -> None:
        """Give lease and store back, without writing anything more."""
        if self._journal.lease is not None:
            self._journal.close(None)

    def __repr__(self) -> str:
        pending = len(self._learner.pending)
        waiting = f", {pending} pending" if pending else ""
        size, told = counted(self.side.n_arms, "arm"), counted(self.n_told, "reward")
        halted = "" if self._learner.halt is None else f", {self._learner.halt.name}"
        return f"Agent({self.policy.label}, {size}, {told}{waiting}{halted})"

    def _repr_html_(self) -> str:
        from lsdt.agent.card import agent_card

        with self._lock:
            return agent_card(self._learner, repr(self))
