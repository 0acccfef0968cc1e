"""An agent: the policies of the simulator, live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from lsdt._validation import checked_seed, checked_word
from lsdt.agent import extension, journals, known_rewards, snapshot
from lsdt.agent.auto_policy import chosen_policy
from lsdt.agent.decisions import Decision, allowed_flags, checked_reward, decision_number
from lsdt.agent.known_rewards import NOTHING_KNOWN
from lsdt.agent.pending import Pending
from lsdt.agent.recommendation import Recommendation, arms_frame, recommendation
from lsdt.agent.suspects import suspects_frame
from lsdt.errors import InvalidInput, Unsupported, counted
from lsdt.kernel.random import new_stream
from lsdt.policies.prior import checked_weight
from lsdt.policies.situation import checked_horizon
from lsdt.problems.problems import POLICY_STREAM
from lsdt.problems.rewards import Rewards, checked_rewards
from lsdt.side_information import SideInformation
from lsdt.side_information.layouts.subset import with_epsilon

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent.extension import Extension
    from lsdt.kernel.rewards import RewardModel
    from lsdt.kernel.state import Packed
    from lsdt.policies import Policy
    from lsdt.side_information.arms import ArmId

# Keys of random streams are (seed, number, purpose). The policy's is that of replication 0 of a study with
# the same seed, so an agent plays what the simulator plays.
_PROPENSITY_STREAM = 3
_MOST_AT_ONCE = 10**6  # decisions of one ask
_MOST_DRAWS = 10**7  # to estimate a propensity from


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
        with a weight of its own, ``lsdt.Policy(..., warm=...)``, goes by that.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation.from_means([.2, .5, .55, .9], epsilon=.2, arm_ids=["a", "b", "c", "d"])
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
    ) -> None:
        if not isinstance(side, SideInformation):
            raise InvalidInput(f"an agent needs a SideInformation; got {type(side).__name__}")
        side = with_epsilon(side, epsilon)
        law = checked_rewards(rewards)
        journal = journals.opened(record, fresh=True)
        self._begin(side, policy, law.model, checked_horizon(horizon), checked_seed(seed))
        known_rewards.start_warm(self, prior, checked_weight(prior_weight))
        self._journal = journal
        self._journal.write(journals.header(self))

    def _begin(
        self,
        side: SideInformation,
        policy: str | Policy,
        model: RewardModel,
        horizon: int | None,
        seed: int,
        content: NDArray[np.float64] | None = None,
    ) -> None:
        self._auto = policy == "auto"
        self.policy, self.policy_reason = chosen_policy(policy, side, model, horizon)
        self.rewards, self.horizon, self.seed = model, horizon, seed
        self._counts, self._sums = np.zeros(side.n_arms, np.int64), np.zeros(side.n_arms)
        self._prior = NOTHING_KNOWN
        self._next, self.n_told = 0, 0
        self._journal = journals.Journal()
        self._start_policy(side, content)
        self._pending = Pending()

    def _start_policy(self, side: SideInformation, content: NDArray[np.float64] | None = None) -> None:
        """Begin the policy on some side information, with nothing learned or with a state that was kept."""
        self.side = side
        stream = new_stream(self.seed, 0, POLICY_STREAM)
        begun = self.policy.begin(side, self.rewards, self.horizon, stream, content=content)
        self._player, self._arms = begun.player, begun.arms
        self._local = None
        if len(self._arms) < side.n_arms:
            self._local = np.full(side.n_arms, -1)
            self._local[self._arms] = np.arange(len(self._arms))

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
        flags = None if allowed is None else self._allowed_locals(allowed)
        whole = isinstance(propensity, (bool, np.bool_, int, np.integer))
        if not whole or not 0 <= propensity <= _MOST_DRAWS:
            raise InvalidInput(
                f"propensity must be True, False, or a number of draws up to {_MOST_DRAWS:,}; got "
                f"{propensity!r}"
            )
        if n is None:
            return self._one(flags, propensity)
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= _MOST_AT_ONCE:
            raise InvalidInput(f"n must be a whole number from 1 to {_MOST_AT_ONCE:,}; got {n!r}")
        return [self._one(flags, propensity) for _ in range(n)]

    def _one(self, flags: NDArray[np.bool_] | None, propensity: bool | int) -> Decision:
        player = self._player
        waiting = len(self._pending) > 0
        ahead = self._pending.ahead(self) if waiting else player.packed
        chances = (
            self._estimated_chances(ahead, flags, propensity)
            if propensity and self.policy.randomised
            else None
        )
        local = self._selected(ahead, flags)
        if waiting:  # the state itself moves on too: epochs, turns; what was drawn is drawn
            self._selected(player.packed, flags)
            player.packed.buffer[:4] = ahead.buffer[:4]
        chance = None if self.policy.randomised else 1.0
        if chances is not None:
            chance = float(chances[local])
        arm = int(self._arms[local])
        decision = Decision(self._next, arm, self.side.label(arm), chance)
        self._journal.ask(decision, flags, self._arms)
        self._pending.put(self._next, arm, local)
        self._next += 1
        return decision

    def _selected(self, packed: Packed, flags: NDArray[np.bool_] | None) -> int:
        entries = self._player.entries
        local = entries.select(*packed) if flags is None else entries.select_allowed(*packed, flags)
        if not 0 <= local < len(self._arms) or (flags is not None and not flags[local]):
            raise InvalidInput(
                f"the policy {self.policy.label!r} selected {local} of {len(self._arms)} arms: not allowed"
            )
        return int(local)

    def _estimated_chances(
        self, ahead: Packed, flags: NDArray[np.bool_] | None, asked: bool | int
    ) -> NDArray[np.float64]:
        """Estimate how likely each arm is to be chosen, the choice itself counted as one of the draws."""
        draws = 1_000 if asked is True else int(asked)
        everything = np.ones(len(self._arms), bool) if flags is None else flags
        stream = new_stream(self.seed, self._next, _PROPENSITY_STREAM)
        counts: NDArray[np.float64] = self._player.entries.count_choices(*ahead, everything, stream, draws)
        return (counts + 1.0) / (draws + 1.0)

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
        value = checked_reward(reward, self.rewards)
        number = decision_number(decision)
        checked_word(repeat, "repeat", ("refuse", "ignore"))
        pending = self._pending.get(number)
        if pending is None:
            self._not_pending(number, repeat)
            return
        self._journal.tell(number, value)  # first: what cannot be written down is not learned
        self._pending.remove(number)
        self._learn(*pending, value)

    def _learn(self, arm: int, local: int, value: float) -> None:
        if local >= 0:
            self._player.entries.tell(*self._player.packed, local, value, self._counts, self._sums, arm)
        else:  # an arm that is not in play: nothing to choose, but the books are kept
            self._counts[arm] += 1
            self._sums[arm] += value
        self.n_told += 1

    def _not_pending(self, number: int, repeat: str) -> None:
        if not 0 <= number < self._next:
            raise InvalidInput(f"decision {number} was never asked for; {self._next} were, numbered from 0")
        if repeat == "refuse":
            raise InvalidInput(
                f"decision {number} was told or cancelled before; repeat='ignore' passes over such rewards"
            )

    def observe(self, arm: ArmId, reward: float) -> None:
        """Learn a reward that came without being asked for; the arm is an id or index."""
        value = checked_reward(reward, self.rewards)
        index = self.side.index(arm)
        local = index if self._local is None else int(self._local[index])
        self._journal.write({"event": "observe", "arm": index, "reward": value})
        self._learn(index, local, value)

    def cancel(self, decision: Decision | int) -> None:
        """Give up waiting for the reward of a decision: it was never played, or will never be known."""
        number = decision_number(decision)
        if self._pending.get(number) is None:
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

    def _allowed_locals(self, allowed: Any) -> NDArray[np.bool_]:
        flags = allowed_flags(self.side, allowed)[self._arms]
        if not flags.any():
            raise Unsupported(
                "none of the allowed arms can be the best, and this policy plays on candidates only; allow a "
                "candidate, or use a policy on all arms"
            )
        return flags

    # ---------------------------------------------------------------- looking, growing, keeping

    def arms(self) -> pd.DataFrame:
        """Return a row per arm: id, plays, mean, what the policy thinks of it, status, known rewards."""
        return arms_frame(self)

    def best(self, n_runners_up: int = 3) -> Recommendation:
        """Return the arm to recommend: the best posterior mean, how sure that is, and the runners-up."""
        return recommendation(self, n_runners_up)

    def suspects(self, risk: float = 0.05) -> pd.DataFrame:
        """Return the relations that the rewards so far contradict, strongest first.

        A row each: the arms, the relation, ``evidence`` (the log-likelihood ratio of any means against the
        likeliest that satisfy it), means and plays of both, and ``returns``: the arms that the triangle rule
        would let back in without this relation. Listed are those with evidence of at least log(relations
        compared / risk): looked at once, the probability to list a right one is about `risk`.
        """
        return suspects_frame(self, risk)

    def extend(self, side: SideInformation) -> Extension:
        """Go on with other side information: more relations, or more arms. What was learned stays.

        Arms are known by their ids (without ids, by their numbers); none may be missing. Candidates are found
        anew; the answer says what changed. Pending decisions stay pending.
        """
        return extension.extend(self, side)

    def snapshot(self) -> bytes:
        """Return everything as bytes, side information included; `Agent.restore` goes on bit for bit."""
        return snapshot.snapshot(self)

    @classmethod
    def restore(cls, blob: bytes, record: str | PathLike[str] | list[dict[str, Any]] | None = None) -> Agent:
        """Return the agent of a snapshot; what is damaged or unknown is refused.

        Restore snapshots from trusted sources only: whoever can write one decides what the agent plays.
        With `record`, the record that the agent had: what it holds beyond the snapshot is played again first,
        and the agent goes on writing there.
        """
        return snapshot.restore(cls, blob, record)

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
            What it began with, where it began warm; the record holds a checksum of it, and its weight.
        """
        return journals.rebuild(cls, record, side, *later, prior=prior)

    def __repr__(self) -> str:
        waiting = f", {len(self._pending)} pending" if self._pending else ""
        size, told = counted(self.side.n_arms, "arm"), counted(self.n_told, "reward")
        return f"Agent({self.policy.label}, {size}, {told}{waiting})"
