"""An agent: the policies of the simulator, live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from lsdt._progress import progress_of
from lsdt._validation import checked_seed, checked_word
from lsdt.agent import extension, journals, snapshot
from lsdt.agent.auto_policy import AS_TOLD, choose_policy
from lsdt.agent.decisions import Decision, Pending, allowed_flags, checked_reward, decision_number
from lsdt.agent.learner import Learner
from lsdt.agent.recommendation import Recommendation, arms_frame, recommendation
from lsdt.agent.snapshot import Contents
from lsdt.agent.stopping import Stopping, stopping
from lsdt.agent.suspects import suspects_frame
from lsdt.errors import InvalidInput, Unsupported, counted
from lsdt.kernel.random import Purpose
from lsdt.policies.offline import OfflineSteps
from lsdt.policies.prior import checked_weight
from lsdt.policies.situation import checked_horizon
from lsdt.problems.rewards import Rewards, checked_rewards
from lsdt.side_information import SideInformation
from lsdt.side_information.io.arrays import fingerprint
from lsdt.side_information.layouts.subset import with_epsilon, with_known_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent.extension import Extension
    from lsdt.kernel.rewards import RewardModel
    from lsdt.policies import Policy
    from lsdt.side_information.arms import ArmId

_MOST_AT_ONCE = 10**6  # decisions of one ask
_DRAWS = 1_000  # to estimate a propensity from
_MOST_DRAWS = 10**7
# How much of the time before the first decision each loop usually is.
_PARTS = {"arms (intervals)": (0.0, 0.1), "arms (closure)": (0.1, 0.4), "arms (bounds)": (0.4, 1.0)}
_TOSS, _OBSERVATION = int(Purpose.TOSS), int(Purpose.OBSERVATION)


class Agent:
    """Chooses arms live: ask, play, tell.

    Rewards may be told late, in any order, or never; what is pending is taken into account when the next arm
    is chosen. The choices are those of the simulator for the same seed.

    Parameters
    ----------
    side : SideInformation
        What is known of the arms.
    policy : str or Policy
        A name of `lsdt.policies.available()`, an `lsdt.Policy`, or ``'auto'``; `policy_reason` says why.
    epsilon : float, optional
        The threshold between similar and dissimilar, where the side information does not have it.
    rewards : {'bernoulli', 'gaussian'} or Rewards
        What rewards are like: ``'bernoulli'`` for any that lie between 0 and 1.
    horizon : int, optional
        How many rounds there will be, for policies that need to know.
    seed : int
        The same seed, asks and tells give the same decisions.
    record : str, path or list, optional
        Where to write down every ask and tell: a file of JSON lines, or a list. An agent can be rebuilt
        from its record.
    prior : ratings, or a pair of lists (arms, rewards), optional
        Rewards that are known already, learned before the first decision: a log of ratings (put on the scale
        from 0 to 1 for ``'bernoulli'`` rewards, left as it is for others), or arms and what each paid. They
        count neither as plays nor as decisions.
    prior_weight : float
        How much known rewards count: each is learned with this probability, above 0 and up to 1. A policy
        with a weight of its own, ``lsdt.Policy(..., prior_weight=...)``, goes by that.
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
        record: str | PathLike[str] | list[dict[str, Any]] | None = None,
        *,
        prior: Any = None,
        prior_weight: float = 1.0,
        progress: bool | Callable[[float], None] | None = None,
    ) -> None:
        if not isinstance(side, SideInformation):
            raise InvalidInput(f"an agent needs a SideInformation; got {type(side).__name__}")
        side = with_epsilon(side, epsilon)
        law = checked_rewards(rewards).model
        journal = journals.open_journal(record, fresh=True)
        rounds, seed = checked_horizon(horizon), checked_seed(seed)
        steps = OfflineSteps(side)
        with progress_of(progress, _PARTS):
            chosen, reason = choose_policy(policy, side, law, rounds, steps)
            learner = Learner(side, chosen, law, rounds, seed, steps=steps)
        learner.learn_prior(prior, checked_weight(prior_weight))
        self._take(Contents(learner, Pending(), 0, 0, policy == "auto", reason, 0))
        self._journal = journal
        self._journal.write(journals.header(learner, self._is_auto))

    def _take(self, contents: Contents) -> None:
        """Become the agent with these contents, without a record."""
        self._learner, self._pending = contents.learner, contents.pending
        self._n_asked, self.n_told = contents.n_asked, contents.n_told
        self._is_auto, self.policy_reason = contents.is_auto, contents.policy_reason
        self._journal = journals.Journal()

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
        if n is None and allowed is None and propensity is False:
            return self._decide(None, 0)
        flags = None if allowed is None else self._allowed_flags(allowed)
        whole = isinstance(propensity, (bool, np.bool_, int, np.integer))
        if not whole or not 0 <= propensity <= _MOST_DRAWS:
            raise InvalidInput(
                f"propensity must be True, False, or a number of draws up to {_MOST_DRAWS:,}; got "
                f"{propensity!r}"
            )
        n_draws = _DRAWS if propensity is True else int(propensity)
        if n is None:
            return self._decide(flags, n_draws)
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= _MOST_AT_ONCE:
            raise InvalidInput(f"n must be a whole number from 1 to {_MOST_AT_ONCE:,}; got {n!r}")
        return [self._decide(flags, n_draws) for _ in range(n)]

    def _decide(self, flags: NDArray[np.bool_] | None, n_draws: int) -> Decision:
        learner, number = self._learner, self._n_asked
        pending = self._pending.newest() if self._pending else ()
        arm, probability = learner.select(number, flags, pending, n_draws)
        decision = Decision(number, arm, learner.label(arm), probability)
        self._journal.ask(decision, flags, learner.arms)
        self._pending.put(number, arm)
        self._n_asked += 1
        return decision

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
            What `ask` returned, or its number.
        reward : float
            What the arm paid, finite; from 0 to 1 for ``'bernoulli'`` rewards.
        repeat : {'refuse', 'ignore'}
            What to do when the decision was told before.
        """
        value = checked_reward(reward, self._learner.rewards)
        number = decision_number(decision)
        if repeat != "refuse":
            checked_word(repeat, "repeat", ("refuse", "ignore"))
        arm = self._pending.arm(number)
        if arm is None:
            self._not_pending(number, repeat)
            return
        self._journal.tell(number, value)  # first: what cannot be written down is not learned
        self._pending.remove(number)
        self._learner.learn(arm, value, number, _TOSS)
        self.n_told += 1

    def _not_pending(self, number: int, repeat: str) -> None:
        if not 0 <= number < self._n_asked:
            raise InvalidInput(
                f"decision {number} was never asked for; {self._n_asked} were, numbered from 0"
            )
        if repeat == "refuse":
            raise InvalidInput(
                f"decision {number} was told or cancelled before; repeat='ignore' passes over such rewards"
            )

    def observe(self, arm: ArmId, reward: float) -> None:
        """Learn a reward that came without being asked for; the arm is an id or index."""
        value = checked_reward(reward, self.rewards)
        index = self.side.index(arm)
        self._journal.write({"event": "observe", "arm": index, "reward": value})
        self._learner.learn(index, value, self.n_told, _OBSERVATION)
        self.n_told += 1

    def cancel(self, decision: Decision | int) -> None:
        """Give up waiting for the reward of a decision: it was never played, or will never be known."""
        number = decision_number(decision)
        if self._pending.arm(number) is None:
            raise InvalidInput(f"decision {number} is not pending; {len(self._pending):,} others are")
        self._journal.write({"event": "cancel", "number": number})
        self._pending.remove(number)

    def cancel_before(self, decision: Decision | int) -> int:
        """Give up waiting for all decisions before this one, and return how many there were."""
        number = decision_number(decision)
        old = [pending for pending in self._pending.numbers() if pending < number]
        self._journal.write({"event": "cancel_before", "number": number})
        for pending in old:
            self._pending.remove(pending)
        return len(old)

    def pending_numbers(self) -> list[int]:
        """Return the numbers of the decisions whose rewards are not known yet."""
        return self._pending.numbers()

    # ---------------------------------------------------------------- what was learned

    def to_frame(self) -> pd.DataFrame:
        """Return a row per arm: id, plays, mean, what the policy thinks of it, status, known rewards."""
        return arms_frame(self._learner, self._n_asked, self._pending.newest())

    def best(self, n_runners_up: int = 3) -> Recommendation:
        """Return the arm to recommend: the best posterior mean, how sure that is, and the runners-up."""
        return recommendation(self._learner, self._n_asked, self._pending.newest(), self.n_told, n_runners_up)

    def arm_statistics(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return how many rewards of every arm are known, their mean and variance; NaN where too few."""
        counts, sums = self._learner.tallies()
        known, several = np.maximum(counts, 1), np.maximum(counts - 1, 1)
        means = np.where(counts > 0, sums / known, np.nan)
        within = np.maximum(self._learner.all_squares() - sums**2 / known, 0.0)
        return counts.copy(), means, np.where(counts > 1, within / several, np.nan)

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
        Known rewards (`prior`) do not count. See docs/identify.md.
        """
        return stopping(self._learner, delta, tolerance)

    def suspects(self, risk: float = 0.05) -> pd.DataFrame:
        """Return the relations that the rewards so far contradict, strongest first.

        A row each: the arms, the relation, ``evidence`` (the log-likelihood ratio of any means against the
        likeliest that satisfy it), means and plays of both, and ``returns``: the arms that the triangle rule
        (for a better pair or a range, the order of the arms) would let back in without this relation. Where
        there are ranges, ``low`` and ``high`` are the ends of those suspected. Listed are those with evidence
        of at least log(relations compared / risk): looked at once, the probability to list a right one is
        about `risk`.
        """
        return suspects_frame(self._learner, risk)

    def extend(self, side: SideInformation) -> Extension:
        """Go on with other side information: more relations, or more arms. What was learned stays.

        Arms are known by their ids (without ids, by their numbers); none may be missing. Candidates are found
        anew; the answer says what changed. Pending decisions stay pending.
        """
        policy, reason = self.policy, self.policy_reason
        places = extension.places_of_arms(self.side, side)
        side = with_known_epsilon(side, self.side.epsilon)
        steps = OfflineSteps(side)
        if self._is_auto:
            policy, reason = choose_policy("auto", side, self.rewards, self.horizon, steps)
        learner = extension.extend(self._learner, side, policy, places, steps)
        self._journal.write({"event": "extend", "side": fingerprint(side)})
        changes = extension.changes(self._learner, learner)
        self._pending = Pending((number, int(places[arm])) for number, arm in self._pending.entries())
        self._learner, self.policy_reason = learner, reason
        return changes

    def snapshot(self) -> bytes:
        """Return everything as bytes, side information included; `Agent.restore` goes on bit for bit."""
        return snapshot.to_bytes(
            Contents(
                self._learner,
                self._pending,
                self._n_asked,
                self.n_told,
                self._is_auto,
                self.policy_reason,
                self._journal.written,
            )
        )

    @classmethod
    def restore(cls, blob: bytes, record: str | PathLike[str] | list[dict[str, Any]] | None = None) -> Agent:
        """Return the agent of a snapshot; what is damaged or unknown is refused.

        Restore snapshots from trusted sources only: whoever can write one decides what the agent plays.
        With `record`, the record that the agent had: what it holds beyond the snapshot is played again first,
        and the agent goes on writing there.
        """
        contents = snapshot.from_bytes(blob)
        agent = cls._with(contents)
        if record is not None:
            agent._go_on(record, journals.read_events(record), contents.n_recorded, ())
        return agent

    @classmethod
    def rebuild(
        cls,
        record: str | PathLike[str] | list[dict[str, Any]],
        side: SideInformation,
        *later: SideInformation,
        prior: Any = None,
    ) -> Agent:
        """Return the agent that a record of asks and tells leads to; it goes on with the record.

        Parameters
        ----------
        record : str, path or list
            What the agent was given as `record`.
        side : SideInformation
            The one it began with.
        *later : SideInformation
            Those that it was extended with, in order.
        prior : ratings, or a pair of lists, optional
            The prior it began with, if any; the record holds a checksum of it, and its weight.
        """
        events = journals.read_events(record)
        learner, is_auto = journals.first_learner(events, side, prior)
        agent = cls._with(Contents(learner, Pending(), 0, 0, is_auto, AS_TOLD, 0))
        agent._go_on(record, events, 1, later)
        return agent

    @classmethod
    def _with(cls, contents: Contents) -> Agent:
        agent = cls.__new__(cls)
        agent._take(contents)
        return agent

    def _go_on(
        self, record: Any, events: list[dict[str, Any]], start: int, sides: Sequence[SideInformation]
    ) -> None:
        """Ask and tell again what a record holds from one event on, and go on writing there."""
        journals.replay(self, events, start, list(sides))
        self._journal = journals.open_journal(record, fresh=False, written=len(events))

    def __repr__(self) -> str:
        waiting = f", {len(self._pending)} pending" if self._pending else ""
        size, told = counted(self.side.n_arms, "arm"), counted(self.n_told, "reward")
        return f"Agent({self.policy.label}, {size}, {told}{waiting})"
