"""An agent: the policies of the simulator, live."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, overload

import numpy as np

from lsdt._progress import progress_of
from lsdt._validation import checked_seed, checked_whole, checked_word
from lsdt.agent import experiment, extension, snapshot
from lsdt.agent.auto_policy import AS_TOLD, choose_policy, with_remark
from lsdt.agent.decisions import (
    Decision,
    allowed_flags,
    checked_age,
    checked_reward,
    decision_key,
    lost_decisions,
)
from lsdt.agent.drift import drift_frame
from lsdt.agent.explanation import explain_arm
from lsdt.agent.half_life import checked_half_life
from lsdt.agent.learner import Learner, pack_flags
from lsdt.agent.merge import Told, checked_agents, joint_lesson
from lsdt.agent.recommendation import Recommendation, arms_frame, recommendation
from lsdt.agent.snapshot import Contents
from lsdt.agent.stopping import Stopping, likely_tallies, stopping
from lsdt.agent.suspects import suspects_frame
from lsdt.errors import InvalidInput, StoreFailed, Unsupported, counted
from lsdt.policies.offline import OfflineSteps, offline_step
from lsdt.policies.prior import checked_weight
from lsdt.policies.situation import checked_horizon
from lsdt.problems.rewards import Rewards, checked_rewards
from lsdt.side_information import SideInformation
from lsdt.side_information.layouts.subset import with_epsilon, with_known_epsilon
from lsdt.storage import Event, Kind, new_epoch, now
from lsdt.storage.forks import FORKED, watch_forks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import timedelta

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent.extension import Extension
    from lsdt.candidates import CandidateSet, Explanation
    from lsdt.kernel.rewards import RewardModel
    from lsdt.policies import Policy
    from lsdt.side_information.arms import ArmId
    from lsdt.storage import Entry, Lease, Store

_MOST_AT_ONCE = 10**6  # decisions of one ask
_DRAWS = 1_000  # to estimate a propensity from
_MOST_DRAWS = 10**7
EVERY = 100_000  # events between two snapshots in a store
INTERRUPTED = (
    "the agent was interrupted in the middle of a change, and may be half changed; open it again from its "
    "store, or restore a snapshot"
)
# How much of the time before the first decision each loop usually is.
_PARTS = {"arms (intervals)": (0.0, 0.1), "arms (closure)": (0.1, 0.4), "arms (bounds)": (0.4, 1.0)}


class Kept(NamedTuple):
    """A snapshot to be put into a store: the event that it belongs to, or (of replicas) a position."""

    event: Event
    blob: bytes
    position: int | None


class Taken(NamedTuple):
    """What an agent hands over to be written down, in this order."""

    events: list[Event]
    snapshot: Kept | None


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
        progress: bool | Callable[[float], None] | None = None,
    ) -> None:
        if not isinstance(side, SideInformation):
            raise InvalidInput(f"an agent needs a SideInformation; got {type(side).__name__}")
        side = with_epsilon(side, epsilon)
        law = checked_rewards(rewards).model
        rounds, seed, half_life = checked_horizon(horizon), checked_seed(seed), checked_half_life(forget)
        steps = OfflineSteps(side)
        with progress_of(progress, _PARTS):
            forgets = half_life is not None
            chosen, reason = choose_policy(policy, side, law, rounds, steps, forgets=forgets)
            learner = Learner(side, chosen, law, rounds, seed, steps=steps, forget=half_life)
        learner.learn_prior(prior, checked_weight(prior_weight))
        self._take(Contents(learner, policy == "auto", with_remark(reason, learner.remark)))

    def _take(self, contents: Contents) -> None:
        """Become the agent with these contents, without a store."""
        self._learner = contents.learner
        self._is_auto, self.policy_reason = contents.is_auto, contents.policy_reason
        self._lock = RLock()
        self._epoch = new_epoch()
        self._torn = ""
        watch_forks(self)
        self._lease: Lease | None = None
        self.autocommit = True
        self.on_events: Callable[[Sequence[Event]], None] | None = None  # called with every event to be kept
        self._gathered: list[Event] = []
        self._offline: tuple[SideInformation, CandidateSet | None] | None = None  # once somebody asks why
        self._snapshot_every, self._n_since, self._wants_snapshot = 0, 0, False

    def forked(self) -> None:
        """Go on in a forked child: an agent without a store is a copy, one with a store is refused."""
        self._lock = RLock()  # a thread of the parent may hold the other one
        self._epoch = new_epoch()  # the parent goes on with the other one, too
        if self._lease is not None:
            self._torn = FORKED

    def __reduce__(self) -> tuple[Callable[[bytes], Agent], tuple[bytes]]:
        """Copy (`copy.copy`, `copy.deepcopy`) and pickle an agent without a store as its snapshot."""
        if self._lease is not None:
            raise Unsupported(
                "an agent with a store is neither copied nor pickled: its log has one writer. "
                "Agent.restore(agent.snapshot()) is a copy in memory; another process opens the store with "
                "Agent.open when this one has closed it"
            )
        return type(self).restore, (self.snapshot(),)

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
        return self._lease

    @property
    def epoch(self) -> int:
        """The epoch of the decisions made from now on: 64 bits, drawn at random at each opening."""
        return self._epoch

    @property
    def is_auto(self) -> bool:
        """Whether the policy was chosen for the user."""
        return self._is_auto

    @property
    def forget(self) -> str | None:
        """The half-life of rewards, such as ``'500 rounds'``; None where they do not fade."""
        fading = self._learner.fading
        return None if fading is None else str(fading.half_life)

    @property
    def n_told(self) -> int:
        """How many rewards were learned, those that nobody asked for included."""
        return self._learner.n_told

    @property
    def n_asked(self) -> int:
        """How many decisions were made."""
        return self._learner.n_asked

    @property
    def n_pending(self) -> int:
        """How many decisions wait for their reward."""
        return len(self._learner.pending)

    @property
    def arms_in_play(self) -> list[ArmId]:
        """The arms that the policy chooses from: what its offline step leaves, but for those retired."""
        learner = self._learner
        return [learner.side.label(arm) for arm in learner.in_play().tolist()]

    # ---------------------------------------------------------------- asking and telling

    @overload
    def ask(self, n: None = None, *, allowed: Any = None, propensity: bool | int = False) -> Decision: ...
    @overload
    def ask(self, n: int, *, allowed: Any = None, propensity: bool | int = False) -> list[Decision]: ...
    def ask(
        self, n: int | None = None, *, allowed: Any = None, propensity: bool | int = False
    ) -> Decision | list[Decision]:
        """Return the arm to play next, or `n` of them at once.

        Parameters
        ----------
        n : int, optional
            How many; they come as a list, and are spread as if each had paid its arm's mean so far.
        allowed : list of arms, or array of flags, optional
            The arms that may be played this time, for example those in stock.
        propensity : bool or int
            Whether to estimate the probability of the choice, for policies that draw: from 1,000 draws, or
            as many as you say. It is at least one in that many, and so too large for very unlikely arms.
        """
        whole = isinstance(propensity, (bool, np.bool_, int, np.integer))
        if not whole or not 0 <= propensity <= _MOST_DRAWS:
            raise InvalidInput(
                f"propensity must be True, False, or a number of draws up to {_MOST_DRAWS:,}; got "
                f"{propensity!r}"
            )
        n_draws = _DRAWS if propensity is True else int(propensity)
        if n is not None:
            one = isinstance(n, bool) or not isinstance(n, (int, np.integer))
            if one or not 1 <= n <= _MOST_AT_ONCE:
                raise InvalidInput(f"n must be a whole number from 1 to {_MOST_AT_ONCE:,}; got {n!r}")
        with self._lock:
            if self._torn:
                self._refuse()
            flags = None if allowed is None else self._allowed_flags(allowed)
            self._torn = INTERRUPTED
            decisions: list[Decision] = []
            try:
                for _ in range(1 if n is None else n):
                    decisions.append(self._decide(flags, n_draws))
            except InvalidInput:  # nothing may be played, or a policy of a user's own is wrong
                if decisions and self._lease is not None:  # those before it are open: the log must know them
                    self._keep(self._asked(decisions, flags))
                self._torn = ""
                raise
            if self._lease is not None:
                self._keep(self._asked(decisions, flags))
            self._torn = ""
        return decisions[0] if n is None else decisions

    def _decide(self, flags: NDArray[np.bool_] | None, n_draws: int) -> Decision:
        learner, time = self._learner, now()
        number = learner.next_number
        if learner.fading is not None:
            learner.advance(time)
        arm, probability = learner.select(number, flags, n_draws)
        learner.open_decision(number, arm, time, self._epoch, flags)
        return Decision(number, arm, learner.label(arm), probability, self._epoch)

    def _asked(self, decisions: list[Decision], flags: NDArray[np.bool_] | None) -> list[Event]:
        """Return the events of decisions; their propensity is kept as the reward of an ask."""
        mask = None if flags is None else pack_flags(flags)
        times = self._learner.pending
        return [Event(Kind.ASK, times.time(n), n, arm, share, mask) for n, arm, _, share, _ in decisions]

    def _allowed_flags(self, allowed: Any) -> NDArray[np.bool_]:
        """Return a flag for every arm that the policy plays on."""
        flags = allowed_flags(self.side, allowed)[self._learner.arms]
        if not flags.any():
            raise Unsupported(
                "none of the allowed arms can be the best, and this policy plays on candidates only; allow a "
                "candidate, or use a policy on all arms"
            )
        return flags

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
        repeat : {'refuse', 'ignore'}
            What to do when the decision was told before.
        """
        value = checked_reward(reward, self._learner.rewards)
        number, epoch = decision_key(decision)
        if not isinstance(repeat, str) or repeat != "refuse":  # an array compares by element
            checked_word(repeat, "repeat", ("refuse", "ignore"))
        with self._lock:
            if self._torn:
                self._refuse()
            learner = self._learner
            if epoch != self._epoch:
                self._check_epochs([decision])
            arm = learner.pending.arm(number)
            if arm is None:
                self._not_pending(number, repeat)
                return
            self._torn = INTERRUPTED
            time = now()
            learner.close_decision(number, arm, value, time)
            if self._lease is not None:
                self._keep([Event(Kind.TELL, time, number, arm, value)])
            self._torn = ""

    def tell_many(self, rewards: Iterable[tuple[Decision | int, float]]) -> tuple[int, int]:
        """Learn many rewards, all checked before any is learned; return how many were new, and repeated.

        Repeated is a decision that was told or cancelled before, or comes twice; the first reward counts.

        Parameters
        ----------
        rewards : iterable of (decision, reward)
            As `tell` takes them.

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
        model, events = self._learner.rewards, []
        checked = [(decision_key(one)[0], checked_reward(reward, model)) for one, reward in pairs]
        with self._lock:
            if self._torn:
                self._refuse()
            learner = self._learner
            self._check_epochs([one for one, _ in pairs])
            arm_of = learner.pending.arm
            for number, _ in checked:
                if arm_of(number) is None:
                    self._not_pending(number, "ignore")
            self._torn = INTERRUPTED
            time = now()
            for number, value in checked:
                arm = arm_of(number)
                if arm is not None:
                    learner.close_decision(number, arm, value, time)
                    events.append(Event(Kind.TELL, time, number, arm, value))
            self._keep(events)
            self._torn = ""
        return len(events), len(checked) - len(events)

    def _check_epochs(self, decisions: Iterable[Decision | int]) -> None:
        """Refuse decisions that the log does not hold: their numbers may since stand for other arms."""
        own, epoch_of = self._epoch, self._learner.epochs.of
        others = [each for each in decisions if isinstance(each, Decision) and each.epoch not in (own, None)]
        lost = [each for each in others if epoch_of(each.number) != each.epoch]
        if lost:
            raise lost_decisions(lost, [f"decision {each.number}" for each in lost])

    def _not_pending(self, number: int, repeat: str) -> None:
        if not 0 <= number < self._learner.next_number:
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
            index, time = self.side.index(arm), now()
            self._torn = INTERRUPTED
            self._learner.observe(index, value, time)
            self._keep([Event(Kind.OBSERVE, time, -1, index, value)])

    def cancel(self, decision: Decision | int) -> None:
        """Give up waiting for the reward of a decision: it was never played, or will never be known.

        What is cancelled must not depend on the reward: to cancel whatever was not clicked would leave the
        clicks alone, and means of 1. Close such decisions with their reward, or let them `expire` with one.
        """
        self.cancel_many([decision])

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
                self._check_pending(number)
            self._close(numbers, Kind.CANCEL, None)
        return len(numbers)

    def _check_pending(self, number: int) -> None:
        if number not in self._learner.pending:
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
            Close at most so many, those that were asked for first. A program that must not be held up for
            long calls it until it returns fewer.
        """
        number, _ = decision_key(decision)
        with self._changing():
            self._check_epochs([decision])
            old = self._first(self._learner.pending.before(number), most)
            self._close(old, Kind.CANCEL, None)
        return len(old)

    def _first(self, numbers: Iterator[int], most: int | None) -> list[int]:
        """Return the first of some decisions that are to be closed."""
        return list(islice(numbers, None if most is None else checked_whole(most, "most", 1)))

    def expire(self, older_than: float, reward: float | None = None, *, most: int | None = None) -> int:
        """Close the decisions that were asked for longer ago than so many seconds; return how many.

        Parameters
        ----------
        older_than : float
            Seconds.
        reward : float, optional
            What to learn for each, such as 0 for "was not clicked"; by default nothing, as `cancel` does,
            which is right only if what was never told does not depend on its reward.
        most : int, optional
            Close at most so many, those that were asked for first.
        """
        value = None if reward is None else checked_reward(reward, self.rewards)
        limit = now() - round(1e6 * checked_age(older_than, "older_than"))
        with self._changing():
            old = self._first(self._learner.pending.older_than(limit), most)
            self._close(old, Kind.EXPIRE, value)
        return len(old)

    def _close(self, numbers: list[int], kind: Kind, reward: float | None) -> None:
        """Close pending decisions, all in the same way."""
        self._torn = INTERRUPTED
        learner, events = self._learner, []
        for number in numbers:
            arm = learner.pending.arm(number)
            assert arm is not None
            time = now()
            learner.close_decision(number, arm, reward, time)
            events.append(Event(kind, time, number, arm, reward))
        self._keep(events)

    def retire(self, arm: ArmId) -> None:
        """Never choose an arm again. What it paid stays known, and relations through it still count.

        `reinstate` brings it back; `extend`, with side information that lacks arms, retires many at once.

        Candidates stay as they are: the arms that may be the best of all. That loses nothing while the best
        arm stays. Where it may be the best one that goes, find the candidates of those that are left:

        >>> import lsdt
        >>> side = lsdt.from_means([.1, .3, .5, .7, .9], epsilon=.25, arm_ids=list("abcde"))
        >>> agent = lsdt.Agent(side)
        >>> agent.arms_in_play
        ['a', 'e']
        >>> agent.extend(side.subset(list("abcd"))).retired
        ['e']
        >>> agent.arms_in_play
        ['a', 'd']
        """
        with self._changing():
            index, learner = self.side.index(arm), self._learner
            if learner.is_last(index):
                raise InvalidInput(f"{arm!r} is the last arm in play; an agent needs one")
            self._torn = INTERRUPTED
            learner.retire(index, True)
            self._keep([Event(Kind.RETIRE, now(), -1, index, 1.0)])

    def reinstate(self, arm: ArmId) -> None:
        """Bring a retired arm back into play, with all that is known of it.

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
        with self._changing():
            index = self._retired_index(arm)
            self._torn = INTERRUPTED
            self._learner.retire(index, False)
            self._keep([Event(Kind.RETIRE, now(), -1, index, 0.0)])

    def _retired_index(self, arm: ArmId) -> int:
        index, retired = self.side.index(arm), self._learner.retired
        if retired is None or not retired[index]:
            raise InvalidInput(f"{arm!r} has not retired; agent.to_frame() says which arms have")
        return index

    def merge(self, others: Agent | bytes | Iterable[Agent | bytes]) -> int:
        """Learn what other agents were told of the same arms, and return how many rewards that were.

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
        listed = checked_agents(others, Agent)
        with self._changing():
            lesson = joint_lesson(self._learner, listed)
            self._torn = INTERRUPTED
            self._learner.absorb(lesson)
            if self._lease is not None:
                self._keep([Event(Kind.MERGE, now(), data=lesson.to_bytes())])
            return lesson.n_told

    def _lesson(self) -> Told:
        """Return what another agent may learn from this one."""
        with self._lock:
            learner = self._learner
            return Told(learner.side, learner.rewards, learner.lesson())

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
        """Let one thread change the agent; what is torn stays refused.

        A change sets `_torn` before its first step. Errors before that leave the agent as it was.
        """
        with self._lock:
            if self._torn:
                self._refuse()
            yield
            self._torn = ""

    def _refuse(self) -> NoReturn:
        raise StoreFailed(self._torn)

    def _keep(self, events: Sequence[Event]) -> None:
        """Write events down, and wait until they are kept; without `autocommit`, only gather them."""
        if self._lease is None:
            return
        self._gathered += events
        if self.on_events is not None:
            self.on_events(events)
        if self.autocommit:
            self._insert()
            self._commit()

    def _insert(self) -> None:
        """Insert what was gathered. What fails here is fail-stop."""
        assert self._lease is not None
        events, self._gathered = self._gathered, []
        try:
            if events and not all(self._lease.insert(events)):
                raise StoreFailed(
                    f"the log of {self._lease.name!r} has one of these decisions already: somebody else "
                    "wrote to it; open the agent again"
                )
            self._n_since += len(events)
            if self._is_snapshot_due():
                self._keep_snapshot()
        except StoreFailed as error:
            self._torn = str(error)
            raise

    def flush(self) -> None:
        """Insert what was gathered into the open transaction of the store, without waiting for its disk.

        For services, which set ``agent.autocommit = False``, flush many agents where decisions are made, call
        ``commit()`` of their store in another thread, and answer after that. While it runs they gather on.
        """
        with self._changing():
            if self._lease is not None:
                self._torn = INTERRUPTED
                self._insert()

    def take(self) -> Taken:
        """Return what was gathered, with a snapshot where one is due, for the caller to insert and commit.

        For services that insert in another thread than they decide in. What fails there is fail-stop.
        """
        with self._changing():
            events, self._gathered = self._gathered, []
            self._n_since += len(events)
            if self._lease is None or not self._is_snapshot_due():
                return Taken(events, None)
            blob = self._as_bytes()
            self._n_since, self._wants_snapshot = 0, False
            return Taken(events, Kept(Event(Kind.SNAPSHOT, now()), blob, None))

    def _is_snapshot_due(self) -> bool:
        return self._wants_snapshot or 0 < self._snapshot_every <= self._n_since

    def _keep_snapshot(self) -> bytes:
        """Put a snapshot into the open transaction."""
        assert self._lease is not None
        blob = self._as_bytes()
        self._lease.store.snapshot(self._lease, Event(Kind.SNAPSHOT, now()), blob)
        self._n_since, self._wants_snapshot = 0, False
        return blob

    def _as_bytes(self) -> bytes:
        self._learner.drop_ahead()
        return snapshot.to_bytes(Contents(self._learner, self._is_auto, self.policy_reason))

    @contextmanager
    def group(self) -> Iterator[None]:
        """Keep everything inside at once: one wait for the disk instead of one a call.

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
            before, self.autocommit = self.autocommit, False
            try:
                yield
            finally:
                self.autocommit = before
                if before and self._lease is not None and not self._torn:
                    with self._changing():
                        self._torn = INTERRUPTED
                        self._insert()
                        self._commit()

    def _commit(self) -> None:
        assert self._lease is not None
        try:
            self._lease.store.commit()
        except StoreFailed as error:
            self._torn = str(error)
            raise

    # ---------------------------------------------------------------- what was learned

    def to_frame(self) -> pd.DataFrame:
        """Return a row per arm: id, plays, mean, what the policy thinks of it, status, prior, estimate.

        ``mean`` is that of the arm's own rewards. ``estimate``, ``low`` and ``high`` are what `best` says of
        it: the posterior mean by relations and the rewards of all arms, and a 95% interval. Plays and means
        are those of rewards that were told; pending decisions are not in them.
        """
        return arms_frame(self)

    def best(self, n_runners_up: int = 3) -> Recommendation:
        """Return the arm to recommend: the best posterior mean, how sure that is, and the runners-up.

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
        with self._lock:
            learner = self._learner
        place = learner.side.index(arm)
        kept = self._offline
        if kept is None or kept[0] is not learner.side:
            kept = self._offline = learner.side, offline_step(learner.side, learner.policy.on)
        with self._lock:
            return explain_arm(learner, kept[1], place)

    def arm_statistics(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return how many rewards of every arm are known, their mean and variance; NaN where too few."""
        with self._lock:
            counts, sums = self._learner.tallies()
            counts, sums, squares = counts.copy(), sums.copy(), self._learner.all_squares().copy()
        known, several = np.where(counts > 0, counts, 1), np.maximum(counts - 1, 1)
        means = np.where(counts > 0, sums / known, np.nan)
        within = np.maximum(squares - sums**2 / known, 0.0)
        return counts, means, np.where(counts > 1, within / several, np.nan)

    def stopping(self, delta: float = 0.05, tolerance: float | None = None) -> Stopping:
        """Return whether it is known which arm is the best, and which arm that is.

        Parameters
        ----------
        delta : float
            The accepted probability of naming an arm that lies more than the tolerance below the best one. It
            holds for all looks together, however often one looks and however arms are chosen.
        tolerance : float, optional
            How far below the best arm the one named may lie, in rewards; by default epsilon.

        Returns
        -------
        Stopping
            ``stop``, ``arm_id``, ``delta`` (the level reached), ``rivals`` (who is still open, and how much
            evidence is missing), ``tries_to_go`` (an estimate).

        Notes
        -----
        It holds if relations do, if rewards keep their means, and if sigma is no less than it is in truth.
        Known rewards (`prior`) do not count. Other threads may ask and tell meanwhile; what they tell does
        not count.

        Rewards in [0, 1] may come late because of what they are, such as a click at once and its absence an
        hour later: a pending decision counts at the reward that hurts the conclusion most, and so holds it up
        until it is told or expires with a reward. What is cancelled does not count, and what is observed
        does, so neither may depend on the reward. Unbounded rewards must not be late because of what they
        are. See docs/handbook/identify.md.
        """
        with self._lock:
            learner = self._learner
            counts, sums = learner.counts.copy(), learner.sums.copy()
            pending, likely = learner.open_counts(), likely_tallies(learner)
        return stopping(learner, counts, sums, pending, likely, delta, tolerance)

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

    def extend(self, side: SideInformation) -> Extension:
        """Go on with other side information: more relations, more arms, or others. What was learned stays.

        Arms are known by their ids (without ids, by their numbers). Those that are missing in `side` retire:
        what they paid stays known, and so do their relations, unless these would keep arms out that may be
        the best of those that are left. Arms that had retired stay so until `reinstate`. Candidates are found
        anew; the answer says what changed. Pending decisions stay pending.
        """
        with self._changing():
            learner, reason, gone = self._prepared(side)
            data = snapshot.side_to_bytes(learner.side, gone) if self._lease is not None else None
            self._torn = INTERRUPTED
            changes = extension.changes(self._learner, learner)
            self._learner, self.policy_reason = learner, reason
            self._keep([Event(Kind.EXTEND, now(), data=data)])
            return changes

    def _prepared(self, side: SideInformation) -> tuple[Learner, str, list[int]]:
        """Return the learner on other side information, why it has its policy, and who retires with it."""
        wider, gone = extension.with_missing(self._learner, side, self._plan)
        learner, reason = self._extended(wider, gone)
        left = set(learner.in_play().tolist())
        if not left or left & set(gone):
            raise InvalidInput("all arms that would be in play have retired; reinstate some before")
        return learner, reason, gone

    def _plan(self, side: SideInformation, steps: OfflineSteps) -> tuple[Policy, str]:
        """Return the policy for other side information, and why."""
        if not self._is_auto:
            return self.policy, AS_TOLD
        forgets = self._learner.fading is not None
        return choose_policy("auto", side, self.rewards, self.horizon, steps, forgets=forgets)

    def _extended(self, side: SideInformation, gone: list[int]) -> tuple[Learner, str]:
        """Return the learner on other side information, some arms retired, and why it has its policy."""
        places = extension.places_of_arms(self.side, side)
        side = with_known_epsilon(side, self.side.epsilon)
        steps = OfflineSteps(side)
        policy, reason = self._plan(side, steps)
        learner = extension.extend(self._learner, side, policy, places, steps)
        for arm in gone:
            if not learner.is_last(arm):  # of replicas that take out all arms, one does not
                learner.retire(arm, True)
        return learner, with_remark(reason, learner.remark)

    def _fold(self, entries: Sequence[Entry]) -> None:
        """Be what the agent was after these events of its log."""
        first, extend = 0, int(Kind.EXTEND)
        for at in [at for at, entry in enumerate(entries) if entry[3] == extend]:
            self._learner.fold(entries[first:at])
            if experiment.goes_on_from(entries[at], self.side):
                self._learner, self.policy_reason = self._extended(*experiment.side_of(entries[at]))
            first = at + 1
        self._learner.fold(entries[first:] if first else entries)

    # ---------------------------------------------------------------- keeping

    def snapshot(self) -> bytes:
        """Return everything as bytes, side information included; `Agent.restore` goes on bit for bit.

        An agent with a store keeps it there too, and is opened from it the next time; without `autocommit`,
        with what is written down next.
        """
        with self._changing():
            if self._lease is None or not self.autocommit:
                self._wants_snapshot = self._lease is not None
                return self._as_bytes()
            self._torn = INTERRUPTED
            self._insert()
            try:
                blob = self._keep_snapshot()
            except StoreFailed as error:
                self._torn = str(error)
                raise
            self._commit()
            return blob

    @classmethod
    def restore(cls, blob: bytes) -> Agent:
        """Return the agent of a snapshot; what is damaged or unknown is refused.

        Restore snapshots from trusted sources only: whoever can write one decides what the agent plays.
        """
        return cls._with(snapshot.from_bytes(blob))

    @classmethod
    def open(
        cls,
        store: str | Store,
        name: str,
        side: SideInformation | None = None,
        *,
        durability: str = "full",
        snapshot_every: int = EVERY,
        **options: Any,
    ) -> Agent:
        """Return the agent of a name in a store: a new one, or the one that was there, where it was.

        Everything is in the store: side information, configuration, prior, extensions, and every ask and tell
        before the call returns. One that exists needs nothing but its name; what is given all the same must
        be what it was made with.

        Parameters
        ----------
        store : str or Store
            A URL: ``sqlite:///file.db``, ``postgresql://user@host/database``, ``memory://``; or an open store
            of `lsdt.storage.open_store`.
        name : str
            The name of the experiment. A store holds many.
        side : SideInformation, optional
            What is known of the arms, for a new one.
        durability : {'full', 'process'}
            Whether a call waits until the disk has it (``'full'``), or only until the operating system has:
            faster, and safe against the death of the process, not of the machine.
        snapshot_every : int
            Take a snapshot after so many events, so that opening is fast; 0 for never.
        **options
            Those of `Agent`: policy, epsilon, rewards, horizon, seed, prior, prior_weight, forget. The prior
            is learned when the agent is new, and not looked at again.

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
        opened = experiment.opened_store(store, durability)
        try:
            lease = experiment.lease_of(opened, name, lambda: cls._new(side, options))
            agent = experiment.restored(opened, lease, cls._with, cls._fold)
            experiment.check_same(opened, name, agent, side, options)
        except BaseException:
            opened.close()
            raise
        agent._write_with(lease)
        agent._snapshot_every = every
        return agent

    def _write_with(self, lease: Lease) -> None:
        """Write to a log from now on: the decisions to come are of the epoch of its writer."""
        self._lease, self._epoch = lease, lease.writer

    @classmethod
    def _new(cls, side: SideInformation | None, options: dict[str, Any]) -> tuple[str, bytes]:
        """Return what a store writes down of a new agent, and the agent as bytes."""
        if side is None:
            raise InvalidInput("give side=, the side information, to begin one")
        agent = cls(side, **options)
        return experiment.about(side, agent, options), agent.snapshot()

    def close(self) -> None:
        """Take a last snapshot and let the store go; without a store, or a second time, do nothing."""
        with self._lock:
            lease, torn = self._lease, self._torn
            if lease is None:
                return
            try:
                if not torn:
                    self.flush()
                    if self._snapshot_every and self._n_since:
                        self.snapshot()
                        self.flush()
            finally:
                self._torn = torn or "the agent is closed; open it again"
                self._lease = None
                lease.release()
                lease.store.close()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        lease = getattr(self, "_lease", None)
        if lease is not None:  # forgotten: nothing is lost, but the next opening folds what has no snapshot
            with suppress(Exception):
                lease.release()
                lease.store.close()

    @classmethod
    def _with(cls, contents: Contents) -> Agent:
        agent = cls.__new__(cls)
        agent._take(contents)
        return agent

    def __repr__(self) -> str:
        pending = len(self._learner.pending)
        waiting = f", {pending} pending" if pending else ""
        size, told = counted(self.side.n_arms, "arm"), counted(self.n_told, "reward")
        return f"Agent({self.policy.label}, {size}, {told}{waiting})"

    def _repr_html_(self) -> str:
        from lsdt.agent.card import agent_card

        with self._lock:
            return agent_card(self._learner, repr(self), self.policy_reason)
