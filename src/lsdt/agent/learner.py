"""What an agent has learned: the state of its policy, and what every arm paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.kernel.checksums import checksum
from lsdt.kernel.random import Purpose, new_stream
from lsdt.kernel.state import state_of
from lsdt.policies.policy import Begun
from lsdt.policies.prior import learn_rewards, prior_of, weight_of_prior
from lsdt.side_information.io.arrays import as_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from lsdt.kernel.rewards import RewardModel
    from lsdt.kernel.state import Packed
    from lsdt.policies import Policy
    from lsdt.policies.offline import OfflineSteps
    from lsdt.side_information import SideInformation
    from lsdt.side_information.arms import ArmId

_TOSS, _PRIOR = int(Purpose.TOSS), int(Purpose.PRIOR)
_MOST_AT_ONCE = 10**6  # rewards that are written out to be learned again


class PriorTallies(NamedTuple):
    """What was known before the first decision: of every arm how many rewards, their sum and their squares'.

    The arrays are empty where nothing was known. ``mark`` is a checksum of the single rewards.
    """

    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]
    weight: float
    mark: str

    def __bool__(self) -> bool:
        return len(self.counts) > 0

    def renumber(self, places: NDArray[np.int64], n_arms: int) -> PriorTallies:
        """Return the same for arms that are numbered `places` among `n_arms` now."""
        if not self:
            return self
        tallies = (self.counts, self.sums, self.squares)
        counts, sums, squares = (renumber_tally(tally, places, n_arms) for tally in tallies)
        return self._replace(counts=counts, sums=sums, squares=squares)


NOTHING_KNOWN = PriorTallies(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), 0.0, "")


def renumber_tally(tally: NDArray[Any], places: NDArray[np.int64], n_arms: int) -> NDArray[Any]:
    """Return a tally of arms that are numbered `places` among `n_arms` now."""
    new = np.zeros(n_arms, tally.dtype)
    new[places] = tally
    return new


class Learner:
    """A policy at work, and the tallies of what it was told.

    The policy numbers the arms that it plays from 0; arm i of the policy is arm ``arms[i]`` of the side
    information. Random numbers are drawn from a stream of their own in every round, which is the number of
    the decision, so a learner draws what replication 0 of a study with the same seed draws.

    Parameters
    ----------
    side : SideInformation
        What is known of the arms.
    policy : Policy
        The policy.
    rewards : RewardModel
        What rewards are like.
    horizon : int or None
        How many rounds there will be.
    seed : int
        Seed of all random streams.
    state : array, optional
        The words of a state that was kept, instead of one before the first round.
    steps : OfflineSteps, optional
        Offline steps on this side information, of which some may have been taken.

    Attributes
    ----------
    player : Player
        The policy at work: its compiled functions and its state.
    arms : array of int
        The arms that the policy plays on.
    counts, sums, squares : array
        How many rewards of every arm were told, their sums, and the sums of their squares.
    prior : PriorTallies
        The rewards that were known before the first decision.
    """

    def __init__(
        self,
        side: SideInformation,
        policy: Policy,
        rewards: RewardModel,
        horizon: int | None,
        seed: int,
        state: NDArray[np.float64] | None = None,
        steps: OfflineSteps | None = None,
    ) -> None:
        self.side, self.policy, self.rewards, self.horizon, self.seed = side, policy, rewards, horizon, seed
        key = new_stream(seed, 0, Purpose.POLICY)
        found = None if steps is None else steps.of(policy.on)
        begun = policy.begin(side, rewards, horizon, key, found, content=state)
        self.player, self.arms = begun.player, begun.arms
        self._place = None
        if len(self.arms) < side.n_arms:
            self._place = np.full(side.n_arms, -1)
            self._place[self.arms] = np.arange(len(self.arms))
        self.counts, self.sums = np.zeros(side.n_arms, np.int64), np.zeros(side.n_arms)
        self.squares = np.zeros(side.n_arms)
        self.prior = NOTHING_KNOWN
        self._is_randomised = policy.randomised  # asked for in every decision
        self._sure = None if self._is_randomised else 1.0
        self._ids = side.arm_ids

    @property
    def words(self) -> NDArray[np.float64]:
        """The whole state of the policy as one array."""
        words: NDArray[np.float64] = self.player.packed.words()
        return words

    def place(self, arm: int) -> int:
        """Return the policy's number of an arm; -1 if the policy does not play it."""
        return arm if self._place is None else int(self._place[arm])

    def label(self, arm: int) -> ArmId:
        """Return the id of an arm, or its index when there are no ids."""
        return arm if self._ids is None else self._ids[arm]

    def _arm(self, place: int) -> int:
        return place if self._place is None else int(self.arms[place])

    # ---------------------------------------------------------------- choices

    def select(
        self,
        number: int,
        flags: NDArray[np.bool_] | None,
        pending: Sequence[tuple[int, int]] = (),
        n_draws: int = 0,
    ) -> tuple[int, float | None]:
        """Return the arm of a decision, and the probability of choosing it.

        While decisions are pending, the arm is chosen on a copy of the state that has learned, for each of
        them, the mean of its arm so far. So ten asks before the first tell do not all name the same arm, and
        nothing that was not observed enters the state itself.

        Parameters
        ----------
        number : int
            The number of the decision, which is the round of the policy.
        flags : array of bool, optional
            Which of the policy's arms may be played.
        pending : list of (number, arm)
            The decisions whose rewards are not known yet.
        n_draws : int
            Estimate the probability, for policies that draw, from so many draws (0: do not).
        """
        if not pending and not n_draws:
            return self._arm(self._select(self.player.packed, number, flags)), self._sure
        packed = self._with_pending(pending) if pending else self.player.packed
        estimate = n_draws > 0 and self._is_randomised
        chances = self._chances(packed, number, flags, n_draws) if estimate else None
        chosen = self._select(packed, number, flags)
        if pending:  # the state itself moves on too: epochs, turns
            self._select(self.player.packed, number, flags)
        return self._arm(chosen), self._sure if chances is None else float(chances[chosen])

    def _select(self, packed: Packed, number: int, flags: NDArray[np.bool_] | None) -> int:
        entries = self.player.entries
        if flags is None:
            chosen = entries.select(*packed, number)
        else:
            chosen = entries.select_allowed(*packed, number, flags)
        if not 0 <= chosen < len(self.arms) or (flags is not None and not flags[chosen]):
            raise InvalidInput(
                f"the policy {self.policy.label!r} selected {chosen} of {len(self.arms)} arms: not allowed"
            )
        return int(chosen)

    def _chances(
        self, packed: Packed, number: int, flags: NDArray[np.bool_] | None, n_draws: int
    ) -> NDArray[np.float64]:
        """Estimate how likely each arm is to be chosen, the choice itself counted as one of the draws."""
        allowed = np.ones(len(self.arms), bool) if flags is None else flags
        stream = new_stream(self.seed, number, Purpose.PROPENSITY)
        counts: NDArray[np.float64] = self.player.entries.count_choices(*packed, allowed, stream, n_draws)
        return (counts + 1.0) / (n_draws + 1.0)

    def _with_pending(self, pending: Iterable[tuple[int, int]]) -> Packed:
        """Return a copy of the state that has learned the means so far of what is pending."""
        packed: Packed = self.player.packed.copy()
        placed = [(number, self.place(arm)) for number, arm in pending]
        in_play = np.array([pair for pair in placed if pair[1] >= 0], np.int64).reshape(-1, 2)
        if len(in_play):
            numbers, arms = np.ascontiguousarray(in_play.T)
            self.player.entries.teach(*packed, numbers, _TOSS, arms, self._means()[arms])
        return packed

    def _means(self) -> NDArray[np.float64]:
        """Return the mean of every arm; of all arms where none is known, and 1/2 or 0 where nothing is."""
        all_counts, all_sums = self.tallies()
        counts, sums = all_counts[self.arms], all_sums[self.arms]
        n_known = int(all_counts.sum())
        if n_known:
            overall = float(all_sums.sum() / n_known)
        else:
            overall = 0.5 if self.rewards.family == "bernoulli" else 0.0
        return np.where(counts > 0, sums / np.maximum(counts, 1), overall)

    # ---------------------------------------------------------------- learning

    def learn(self, arm: int, reward: float, number: int, purpose: int) -> None:
        """Learn a reward; `number` and `purpose` say which stream to toss with, if the policy tosses."""
        self.squares[arm] += reward * reward
        place = arm if self._place is None else int(self._place[arm])
        if place >= 0:
            player = self.player
            player.entries.tell(*player.packed, number, purpose, place, reward, self.counts, self.sums, arm)
        else:  # an arm that is not in play: the policy has no use for the reward, but it is counted
            self.counts[arm] += 1
            self.sums[arm] += reward

    def learn_prior(self, prior: Any, weight: float) -> None:
        """Learn what is known before the first decision."""
        if prior is None:
            if self.policy.prior_weight:
                raise InvalidInput(
                    f"{self.policy.label!r} has a prior_weight, and there is no prior; give one, or leave "
                    "prior_weight out"
                )
            return
        own = weight_of_prior(self.policy, weight)
        if own == 0.0:
            return
        known = prior_of(prior, self.side, self.rewards).thinned(own, self.seed, 0, Purpose.THINNING)
        mark = f"{checksum([as_words(part) for part in known]):016x}"
        counts, sums = known.tallies(self.side.n_arms)
        squares = np.bincount(known.arms, np.square(known.rewards), self.side.n_arms).astype(np.float64)
        self.prior = PriorTallies(counts, sums, squares, own, mark)
        learn_rewards(Begun(self.player, self.arms, 0.0), *known)

    def tallies(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the number of rewards of every arm and their sum, those known before included."""
        if not self.prior:
            return self.counts, self.sums
        return self.counts + self.prior.counts, self.sums + self.prior.sums

    def all_squares(self) -> NDArray[np.float64]:
        """Return the sum of the squares of every arm's rewards, those known before included."""
        return self.squares + self.prior.squares if self.prior else self.squares

    def transfer(
        self,
        side: SideInformation,
        policy: Policy,
        places: NDArray[np.int64],
        steps: OfflineSteps | None = None,
    ) -> Learner:
        """Return a learner on other side information that knows the rewards this one knows.

        Arm i is arm ``places[i]`` of the new side information. The state of a policy depends on rewards
        through counts and sums per arm, so learning these again loses nothing but the tosses of Thompson
        sampling, which are made anew. (Where it depends on more, the policy says so: `single_rewards`.)
        """
        new = Learner(side, policy, self.rewards, self.horizon, self.seed, steps=steps)
        tallies = (self.counts, self.sums, self.squares)
        new.counts, new.sums, new.squares = (renumber_tally(each, places, side.n_arms) for each in tallies)
        new.prior = self.prior.renumber(places, side.n_arms)
        all_counts, all_sums = new.tallies()
        counts, sums = all_counts[new.arms], all_sums[new.arms]
        are_binary = self.rewards.family == "bernoulli" and bool((sums == np.rint(sums)).all())
        new._learn_tallies(counts, sums, are_binary)
        return new

    def _learn_tallies(self, counts: NDArray[np.int64], sums: NDArray[np.float64], are_binary: bool) -> None:
        """Learn rewards of which the policy's arms have a count and a sum: ones first, or all the mean."""
        ends = np.cumsum(counts)
        for first in range(0, int(ends[-1]), _MOST_AT_ONCE):
            numbers = np.arange(first, min(first + _MOST_AT_ONCE, int(ends[-1])))
            arms = np.searchsorted(ends, numbers, side="right")
            if are_binary:
                rewards = (numbers - (ends - counts)[arms] + 0.5 < sums[arms]).astype(np.float64)
            else:
                rewards = sums[arms] / counts[arms]
            self.player.entries.teach(*self.player.packed, numbers, _PRIOR, arms, rewards)

    # ---------------------------------------------------------------- what the policy thinks

    def scores(self) -> NDArray[np.float64]:
        """Return what the policy thinks of every arm; NaN for arms that it does not play."""
        scores = np.full(self.side.n_arms, np.nan)
        scores[self.arms] = self.player.entries.scores(*self.player.packed, len(self.arms))
        return scores

    def state_at(self, number: int, pending: list[tuple[int, int]]) -> Any:
        """Return the policy's state as a decision finds it: what is pending is counted, epochs have ended."""
        packed = self._with_pending(pending)
        self.player.entries.select(*packed, number)
        return state_of(type(self.player.state), *packed)
