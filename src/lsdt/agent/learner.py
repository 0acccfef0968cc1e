"""The learner: the state of the policy, and the tallies of every arm.

`Learner.decide` chooses and changes nothing; `Learner.apply` is the only way the state changes, for an event
that has just been decided and for one that is read from a log. So an agent that is restored by applying its
log is the agent that wrote it.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from itertools import islice, pairwise
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.agent import extension
from lsdt.agent.asked_order import AskedOrder
from lsdt.agent.decisions import (
    LATER_END,
    Decision,
    Pending,
    decision_of,
    is_forced,
    is_later,
    mark_forced,
    pack_flags,
    unpack_flags,
)
from lsdt.agent.epochs import Epochs
from lsdt.agent.half_life import Fading, HalfLife
from lsdt.agent.halt import PAUSED, STOPPED, Halt, signature_of
from lsdt.agent.revisions import RevisableReward, Revisions, SettledTallies
from lsdt.agent.tally_delta import TallyDelta, renumber_tally, tally_delta_of_bytes
from lsdt.errors import InvalidFile, InvalidInput, Unsupported
from lsdt.kernel import Purpose, checksum, new_stream, state_of
from lsdt.policies import ReadyPolicy, learn_rewards, prior_of, refuse_forgetting, weight_of_prior
from lsdt.side_information import as_words
from lsdt.storage import Event, Kind, event_of, now

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from lsdt.agent.floors import Floors
    from lsdt.kernel import Packed, RewardModel
    from lsdt.policies import OfflineSteps, Policy
    from lsdt.side_information import ArmId, SideInformation
    from lsdt.storage import Entry

_TOSS, _PRIOR, _OBSERVATION = int(Purpose.TOSS), int(Purpose.PRIOR), int(Purpose.OBSERVATION)
_MOST_AT_ONCE = 10**6  # rewards written out to be learned again, in arrays of some 24 MB
# The state ahead is rebuilt after every reward while fewer than 2**5 decisions are pending, and with very
# many after 2**5 rewards. Rebuilding takes time for every pending decision; until then, the latest rewards
# count as the means that stood in for them. With these values 1,000 pending decisions make an ask and a tell
# 1.7 times as slow (docs/performance.md; at most 3 times were allowed).
_FEW = 5
_MOST_LAG = 5
_FEW_WORDS = 12  # a state of up to 2**12 words, 32 kB, is copied in a few microseconds
_ASK, _OBSERVE, _EXPIRE = int(Kind.ASK), int(Kind.OBSERVE), int(Kind.EXPIRE)
_ENDS = (int(Kind.TELL), int(Kind.CANCEL), _EXPIRE)
_HALTS = {int(Kind.PAUSE): PAUSED, int(Kind.STOP): STOPPED}
_REMARKS = (int(Kind.ERASE), int(Kind.CREATE))  # which change nothing that was learned


class PriorTallies(NamedTuple):
    """Prior rewards by arm: their number, their sum, and the sum of their squares.

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
        """Return a copy with arms renumbered by `places`, among `n_arms`."""
        if not self:
            return self
        tallies = (self.counts, self.sums, self.squares)
        counts, sums, squares = (renumber_tally(tally, places, n_arms) for tally in tallies)
        return self._replace(counts=counts, sums=sums, squares=squares)


NOTHING_KNOWN = PriorTallies(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), 0.0, "")


def refuse_replacing(policy: Policy, forget: HalfLife | None) -> None:
    """Refuse `replace_within` for fading rewards and policies that cannot relearn from counts and sums."""
    if forget is not None:
        raise Unsupported("rewards that fade cannot be replaced: leave out forget or replace_within")
    if not policy.learns_from_sums or policy.why_no_prior:
        why = policy.why_no_prior or "its truncated means need every single reward"
        raise Unsupported(
            f"rewards of {policy.name} cannot be replaced: {why}; leave replace_within out, or use another "
            "policy, such as ts or lsdt_closure"
        )


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
    forget : HalfLife, optional
        How fast rewards fade; by default they do not.
    replace_within : int, optional
        For how many microseconds a reward may be replaced; by default none may.
    is_auto : bool
        Whether the policy was chosen for the user, and may change with the side information.
    policy_reason : str
        Why it is this policy.

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
    pending : Pending
        The decisions whose rewards are not known yet.
    epochs : Epochs
        Which opening asked which decisions.
    n_asked, n_told, n_changes, next_number : int
        How many decisions were made; how many rewards were learned; how many events but asks there were; the
        number of the next decision, which is larger than `n_asked` where replicas leave gaps.
    retired : array of bool, or None
        Arms that are out of play for good; None while there are none.
    fading : Fading, or None
        What is left of the rewards; None where they do not fade.
    floors : Floors or None
        Arms with a guaranteed share; None without any.
    sticky : int or None
        For how many microseconds a unit keeps its arm; None for ever.
    halt : Halt or None
        The pause or the stop that is in force; None while decisions are made.
    tolerance : float or None
        The tolerance of `stopping` where none is given; None for epsilon.
    later : set of int
        The pending decisions of units that were there before.
    revisions : Revisions or None
        The rewards that may still be replaced; None where none ever may.
    settled : SettledTallies or None
        The rewards that count for guarantees; None where all rewards do.
    order : AskedOrder
        Each arm's own rewards in the order asked, up to its first open decision.
    identity : str
        Which agent it is, copies of it included.
    merged : tuple of str
        The agents whose rewards it counts beside its own.
    left_open : array of int, or None
        How many decisions of every arm these agents had open when they were merged: no reward of theirs will
        be told here. None while there are none.
    others : pair of arrays, or None
        How many rewards of every arm these agents were told, and their sums; None while there are none.
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
        forget: HalfLife | None = None,
        *,
        replace_within: int | None = None,
        is_auto: bool = False,
        policy_reason: str = "",
    ) -> None:
        if forget is not None and not policy.forgets:
            refuse_forgetting(policy.name)
        if replace_within is not None:
            refuse_replacing(policy, forget)
        self.side, self.policy, self.rewards, self.horizon, self.seed = side, policy, rewards, horizon, seed
        self.is_auto, self.policy_reason = is_auto, policy_reason
        key = new_stream(seed, 0, Purpose.POLICY)
        found = None if steps is None else steps.of(policy.on)
        is_rebuilt = forget is not None or replace_within is not None
        content = None if is_rebuilt else state
        ready = policy.begin(side, rewards, horizon, key, found, content=content)
        self.player, self.arms, self.remark = ready.player, ready.arms, ready.remark
        self._local = None
        if len(self.arms) < side.n_arms:
            self._local = np.full(side.n_arms, -1)
            self._local[self.arms] = np.arange(len(self.arms))
        self.counts, self.sums = np.zeros(side.n_arms, np.int64), np.zeros(side.n_arms)
        self.squares = np.zeros(side.n_arms)
        self.prior = NOTHING_KNOWN
        self.pending, self.epochs = Pending(), Epochs()
        self.n_asked, self.n_told, self.n_changes, self.next_number = 0, 0, 0, 0
        self.total = 0.0  # of all rewards, those known before included, in the order they were learned
        self.retired: NDArray[np.bool_] | None = None
        self.order, self.identity = AskedOrder(side.n_arms), token_hex(8)
        self.merged: tuple[str, ...] = ()
        self.left_open: NDArray[np.int64] | None = None
        self.others: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None
        self.floors: Floors | None = None
        self.sticky: int | None = None
        self.halt: Halt | None = None
        self.tolerance: float | None = None
        self.fading: Fading | None = None
        self.later: set[int] = set()
        self.revisions: Revisions | None = None
        self.settled: SettledTallies | None = None
        if is_rebuilt:
            self._start = policy.keep_start(self.player, state)
        if replace_within is not None:
            self.revisions = Revisions(replace_within)
            self.settled = SettledTallies(np.zeros(side.n_arms, np.int64), np.zeros(side.n_arms))
        if forget is not None:
            self.fading = Fading(forget, [np.zeros(side.n_arms) for _ in range(3)])
        self._is_randomised = policy.randomised  # looked up in every decision
        self._counts_asks = policy.counts_asks
        self._ahead: Packed | None = None
        self._ahead_mark = (0, 0)
        self._rebuilt: tuple[tuple[int, int], Packed] | None = None
        self._word_lag = (len(self.player.packed.buffer) >> _FEW_WORDS).bit_length()
        self._sure = None if self._is_randomised else 1.0
        self._ids = side.arm_ids

    def copy(self) -> Learner:
        """Return an independent learner in the same state; what never changes is shared."""
        new, places = copy(self), np.arange(self.side.n_arms)
        new.player = self.player.copy()
        new.counts, new.sums, new.squares = self.counts.copy(), self.sums.copy(), self.squares.copy()
        new.pending, new.order = self.pending.renumber(places), self.order.renumber(places, len(places))
        new.epochs, new.fading, new.later = self.epochs.copy(), copy(self.fading), set(self.later)
        new.revisions = None if self.revisions is None else self.revisions.renumber(places)
        new.settled = None if self.settled is None else self.settled.copy()
        new._forget_ahead()
        return new

    @property
    def words(self) -> NDArray[np.float64]:
        """The whole state of the policy as one array."""
        words: NDArray[np.float64] = self.player.packed.words()
        return words

    def in_play(self) -> NDArray[np.int64]:
        """Return the arms that the policy chooses from."""
        return self.arms if self.retired is None else self.arms[~self.retired[self.arms]]

    def local_index(self, arm: int) -> int:
        """Return the policy's index of an arm; -1 if the policy does not play it."""
        return arm if self._local is None else int(self._local[arm])

    # ---------------------------------------------------------------- deciding

    def decide(
        self,
        number: int,
        time: int,
        flags: NDArray[np.bool_] | None = None,
        n_draws: int = 0,
        *,
        everything: NDArray[np.bool_] | None = None,
        unit: bytes | None = None,
    ) -> Event:
        """Return the event of a decision. Changes nothing: `apply` does.

        While decisions are pending, the arm is chosen on a state that runs ahead: it has learned, for each of
        them, the mean of its arm so far. So ten asks before the first tell do not all name the same arm, and
        nothing that was not observed enters the state itself.

        Parameters
        ----------
        number : int
            The number of the decision, which is the round of the policy.
        time : int
            When it is made, in microseconds since the epoch.
        flags : array of bool, optional
            Which of the policy's arms may be played.
        n_draws : int
            Estimate the probability of the choice, for policies that draw, from this many draws (0: do not).
        everything : array of bool, optional
            Which of all arms may be played, those that the policy does not play included. For floors.
        unit : bytes, optional
            Which unit asks. For holdouts.
        """
        if self.halt is not None and self.halt.arm >= 0:
            return event_of((_ASK, time, number, self.halt.arm, 1.0, mark_forced(None)))
        if self.fading is not None and self.fading.steps_due(time, self.n_told):
            faded = self.copy()  # rare: a few times in a half-life
            faded._advance(time)
            return faded.decide(number, time, flags, n_draws, everything=everything, unit=unit)
        playable = flags if self.retired is None else self._in_play(flags)
        packed = self._state_ahead() if self.pending.arms else self.player.packed
        share = self._sure
        chosen = self._select(packed, number, playable)
        chances = None
        if n_draws and self._is_randomised:
            chances = self._chances(packed, number, playable, n_draws, chosen)
            share = chances.item(chosen)
        arm: int = chosen if self._local is None else self.arms.item(chosen)
        data = None if flags is None else pack_flags(flags)
        if self.floors is not None:
            is_open = partial(self._is_open, flags, everything)
            if chances is None and not self._is_randomised:
                chances = np.zeros(len(self.arms))
                chances[chosen] = 1.0
            chance_of = partial(self._chance_of, chances)
            arm, share, forced = self.floors.choose(self.seed, number, unit, is_open, arm, chance_of)
            data = mark_forced(data) if forced else data
        return event_of((_ASK, time, number, arm, share, data))

    def _is_open(
        self, flags: NDArray[np.bool_] | None, everything: NDArray[np.bool_] | None, arm: int
    ) -> bool:
        """Return whether an arm, played by the policy or not, may be played: masks are as of `decide`."""
        local = self.local_index(arm)
        if self.retired is not None and self.retired[arm]:
            return False
        if local >= 0 and flags is not None:
            return bool(flags[local])
        return everything is None or bool(everything[arm])

    def _chance_of(self, chances: NDArray[np.float64] | None, arm: int) -> float | None:
        """Return the probability that the policy chooses an arm; 0 if it does not play it."""
        if chances is None:
            return None
        local = self.local_index(arm)
        return chances.item(local) if local >= 0 else 0.0

    def arm_id(self, arm: int) -> ArmId:
        """Return the id of an arm, which must exist: `SideInformation.label` without its checks."""
        return arm if self._ids is None else self._ids[arm]

    def decision(self, event: Event, epoch: int) -> Decision:
        """Return the decision of an ask, as users get it."""
        _, _, number, arm, share, _ = event
        return decision_of((number, arm, arm if self._ids is None else self._ids[arm], share, epoch))

    def n_playable(self, flags: NDArray[np.bool_] | None) -> int:
        """Return how many of the policy's arms may be played, given those that are allowed."""
        left = np.ones(len(self.arms), bool) if self.retired is None else ~self.retired[self.arms]
        return int((left if flags is None else left & flags).sum())

    def _in_play(self, flags: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Return which of the policy's arms may be played, without the retired ones."""
        assert self.retired is not None
        left = ~self.retired[self.arms]
        left = left if flags is None else left & flags
        if not left.any():
            raise InvalidInput("all arms that may be played have retired; allow others")
        return left

    def _select(self, packed: Packed, number: int, flags: NDArray[np.bool_] | None) -> int:
        chosen = self.player.select_in(packed, number, flags)
        if not 0 <= chosen < len(self.arms) or (flags is not None and not flags[chosen]):
            raise InvalidInput(
                f"the policy {self.policy.label!r} selected {chosen} of {len(self.arms)} arms: not allowed"
            )
        return int(chosen)

    def _chances(
        self, packed: Packed, number: int, flags: NDArray[np.bool_] | None, n_draws: int, chosen: int
    ) -> NDArray[np.float64]:
        """Estimate how likely each arm is to be chosen; the choice itself counts as one of the draws."""
        allowed = (True, self.player.flags) if flags is None else (False, flags)
        stream = new_stream(self.seed, number, Purpose.PROPENSITY)
        counts: NDArray[np.float64] = self.player.entries.count_choices(*packed, *allowed, stream, n_draws)
        counts[chosen] += 1.0
        return counts / (n_draws + 1.0)

    # ---------------------------------------------------------------- the state that runs ahead

    def _state_ahead(self) -> Packed:
        """Return a state that has learned the means so far of what is pending.

        It is built once, learns every new ask, and is rebuilt after some tells: after each while few
        decisions are pending, after one in sixteen of those pending otherwise, and less often where the state
        is so large that a copy takes long. Until then those rewards count as the means they were taken for.
        When it is rebuilt depends only on the events, so that a restored agent chooses the same. That is why
        a state rebuilt by `decide` is kept aside until `apply` adopts it: a decision may never be applied.
        """
        if self._ahead is not None and self._ahead_mark == self._mark():
            return self._ahead
        at = (self.n_changes, self.n_asked)
        if self._rebuilt is None or self._rebuilt[0] != at:
            self._rebuilt = at, self._with_pending()
        return self._rebuilt[1]

    def _mark(self) -> tuple[int, int]:
        """Return a mark that changes when the state ahead has to be rebuilt."""
        lag = min(max(len(self.pending).bit_length() - _FEW, 0), _MOST_LAG) + self._word_lag
        return lag, self.n_changes >> lag

    def _with_pending(self) -> Packed:
        """Return a copy of the state that has learned the means so far of what is pending."""
        packed: Packed = self.player.packed.copy()
        if self._counts_asks:
            for event in self.pending.reserved.values():  # the state itself learns of these asks from the log
                self._count_ask(packed, event)
        numbers, arms = self.pending.newest()
        local = arms if self._local is None else self._local[arms]
        counts, sums = self._known_of(arms)
        means = np.full(len(arms), self._overall_mean())
        np.divide(sums, counts, out=means, where=counts > 0)
        if self._local is not None:
            inside = local >= 0
            numbers, local, means = numbers[inside], local[inside], means[inside]
        if len(local):
            self.player.expect(packed, np.ascontiguousarray(numbers), np.ascontiguousarray(local), means)
        return packed

    def _lead_ahead(self, event: Event) -> None:
        """Update the state ahead by a new decision."""
        packed = self._state_ahead()
        if packed is not self._ahead:
            self._ahead, self._ahead_mark, self._rebuilt = packed, self._mark(), None
        if self._counts_asks:
            self._count_ask(packed, event)
        local = self.local_index(event.arm)
        if local >= 0:
            self.player.expect_one(packed, event.number, local, self._mean(event.arm))

    def _count_ask(self, packed: Packed, event: Event) -> None:
        """Update a state by an ask, for policies that count their asks."""
        local = self.local_index(event.arm)
        if local < 0 or is_forced(event.data):
            return
        flags = None if event.data is None else unpack_flags(event.data, len(self.arms))
        if flags is not None and not flags[local]:
            flags = None  # made by a replica for the arms before an extension
        if self.retired is not None and not self.retired[event.arm]:
            flags = self._in_play(flags)
        self.player.asked_in(packed, event.number, local, flags)

    def _overall_mean(self) -> float:
        """Return the mean of all rewards; 1/2 or 0 where none is known."""
        n_known = self.n_told + (int(self.prior.counts.sum()) if self.prior else 0)
        if n_known:
            return self.total / n_known
        return 0.5 if self.rewards.family == "bernoulli" else 0.0

    def _mean(self, arm: int) -> float:
        """Return the mean of an arm so far; that of all arms where none is known."""
        count, total = self._known_of(arm)
        return float(total / count) if count > 0 else self._overall_mean()

    def _known_of(self, arms: Any) -> tuple[Any, Any]:
        """Return how many rewards of some arms, or of one, are known, and their sum."""
        if self.fading is not None:
            return self.fading.known_of(self, arms)
        if self.prior:
            return self.counts[arms] + self.prior.counts[arms], self.sums[arms] + self.prior.sums[arms]
        return self.counts[arms], self.sums[arms]

    def _forget_ahead(self) -> None:
        self._ahead = self._rebuilt = None

    # ---------------------------------------------------------------- applying events

    def apply(self, event: Event, epoch: int) -> Learner:
        """Change the state by one event, and return the learner after it.

        That is this one, except after an extension, which makes a new learner.

        Parameters
        ----------
        event : Event
            What happened.
        epoch : int
            Which opening of the agent, or which replica, it happened to.
        """
        kind, time, number, arm, reward, data = event
        if self.revisions is not None and kind != Kind.SNAPSHOT:  # which is of the state before it
            self._settle(time)
        if kind == _ASK:
            if self.fading is not None:
                self._advance(time)
            if self.pending.arms and number not in self.pending.reserved:  # else the state ahead knows
                self._lead_ahead(event)
            if self._counts_asks:
                self._count_ask(self.player.packed, event)
            self.pending.put(number, arm, time)
            self.epochs.add(number, epoch)
            if data is not None and is_later(data):
                self._open_later(number)
            else:
                self.order.open(number, arm)
            self.n_asked += 1
            if number >= self.next_number:
                self.next_number = number + 1
        elif kind in _ENDS:
            if self.fading is not None:
                self._advance(time)
            self.pending.remove(number)
            if self.settled is None and data is None:
                self.order.close(number, arm, reward)
            else:
                self._close(number, arm, reward, time, data is not None)
            self.n_changes += 1
            if reward is not None:
                self._learn(arm, reward, number, _TOSS)
            if not self.pending.arms:
                self._ahead = self._rebuilt = None
        elif kind == _OBSERVE:
            assert reward is not None
            if self.fading is not None:
                self._advance(time)
            self.n_changes += 1
            self.order.observe(arm, reward, self.n_told)
            if self.settled is not None:
                self.settled.add(arm, reward)
            self._learn(arm, reward, self.n_told, _OBSERVATION)
        elif kind == Kind.RETIRE:
            if reward == 0.0 or not self.is_last(arm):  # if two replicas retire the last two, one stays
                self._retire(arm, reward != 0.0)
        elif kind == Kind.SNAPSHOT:
            self._forget_ahead()  # a snapshot does not hold the state ahead
        elif kind == Kind.MERGE:
            delta = tally_delta_of_bytes(data, self.side.n_arms)
            if not {self.identity, *self.merged} & set(
                delta.agents
            ):  # if two replicas merge the same, one does
                self._absorb(delta)
        elif kind in _REMARKS:
            pass  # of an erased unit, only those who know it have something to forget
        elif kind in _HALTS:
            self.halt = Halt(_HALTS[kind], time, arm, *signature_of(data))
        elif kind == Kind.RESUME:
            self.halt = None
        elif kind == Kind.TOLERANCE:
            self.tolerance = reward
        elif kind == Kind.REPLACE:
            assert reward is not None
            self._replace(number, reward)
        elif kind == Kind.EXTEND:
            return extension.apply_extension(self, event)
        else:
            raise InvalidFile(f"the log has an event of kind {kind}, which this version does not know")
        return self

    def apply_events(self, entries: Sequence[Entry]) -> Learner:
        """Apply many events of a log, and return the learner after them.

        The same as `apply` for each, except that the rewards of long stretches are learned in one call, and
        that the state ahead is followed only from where it is rebuilt for the last time.
        """
        learner, first, last_plain = self, 0, _EXPIRE
        for at in [at for at, entry in enumerate(entries) if entry[3] > last_plain]:
            learner._apply_plain(entries[first:at])
            learner._check_arms(entries[at : at + 1], -1)
            learner = learner.apply(event_of(entries[at][3:]), entries[at].writer)
            first = at + 1
        learner._apply_plain(entries[first:] if first else entries)
        return learner

    def _check_arms(self, entries: Sequence[Entry], least: int) -> None:
        arms, n_arms = [entry[6] for entry in entries], self.side.n_arms
        if arms and not least <= min(arms) <= max(arms) < n_arms:
            raise InvalidFile(f"the log has an event of an arm that is not one of the {n_arms} arms")

    def _apply_plain(self, entries: Sequence[Entry]) -> None:
        """Apply asks, their ends and observations."""
        self._check_arms(entries, 0)
        lag = _MOST_LAG + self._word_lag
        n_asks = [entry[3] for entry in entries].count(_ASK)
        # The state ahead is certainly rebuilt after a whole number of its longest delays.
        last = (self.n_changes + len(entries) - n_asks) >> lag << lag
        if not self._counts_asks and self.revisions is None and last > self.n_changes:
            entries = self._apply_at_once(entries, last - self.n_changes)
        for entry in entries:
            self.apply(event_of(entry[3:]), entry[1])

    def _apply_at_once(self, entries: Sequence[Entry], n_changes: int) -> Sequence[Entry]:
        """Apply events up to `n_changes` changes without a state ahead; return the rest.

        Does what `apply` does, written out: a log of ten million events comes through here.
        """
        pending, order, told = self.pending, self.order, self.n_told
        rounds: list[int] = []
        arms: list[int] = []
        rewards: list[float] = []
        observed: list[bool] = []
        left, at, fading, n_asked, highest = n_changes, 0, self.fading, self.n_asked, self.next_number - 1
        add_epoch = self.epochs.add
        for _, epoch, _, kind, time, number, arm, reward, data in entries:
            at += 1
            if fading is not None:
                n_steps = fading.take_steps(time, told)
                if n_steps:
                    self._learn_lists(rounds, arms, rewards, observed)
                    rounds, arms, rewards, observed = [], [], [], []
                    fading.fade(self, n_steps)
                    self._refill()
            if kind == _ASK:
                pending.put(number, arm, time)
                add_epoch(number, epoch)
                if data is not None and is_later(data):
                    self._open_later(number)
                else:
                    order.open(number, arm)
                n_asked += 1
                if number > highest:
                    highest = number
                continue
            is_observed = kind == _OBSERVE
            if not is_observed:
                pending.remove(number)
                if data is None and self.settled is None:
                    order.close(number, arm, reward)
                else:
                    if self.settled is None:  # which begins with what was learned so far
                        self._learn_lists(rounds, arms, rewards, observed)
                        rounds, arms, rewards, observed = [], [], [], []
                    self._close(number, arm, reward, time, data is not None)
            if reward is not None:
                if is_observed:
                    order.observe(arm, reward, told)
                    if self.settled is not None:
                        self.settled.add(arm, reward)
                    number = told
                rounds.append(number)
                arms.append(arm)
                rewards.append(reward)
                observed.append(is_observed)
                told += 1
            left -= 1
            if left == 0:
                break
        self._learn_lists(rounds, arms, rewards, observed)
        self.n_told, self.n_changes = told, self.n_changes + n_changes
        self.n_asked, self.next_number = n_asked, highest + 1
        self._forget_ahead()
        return entries[at:]

    # ---------------------------------------------------------------- decisions that are not in the log yet

    def reserve_pending(self, event: Event) -> None:
        """Add a decision that is not in the log yet; only the state ahead takes it into account."""
        if self.pending:
            self._lead_ahead(event)
        self.pending.reserve(event)

    def release_pending(self, numbers: Iterable[int]) -> None:
        """Remove reserved decisions that will not be written."""
        for number in numbers:
            self.pending.release(number)
        self._forget_ahead()

    # ---------------------------------------------------------------- what events do

    def is_last(self, arm: int) -> bool:
        """Return whether no other arm is in play."""
        return set(self.in_play().tolist()) <= {arm}

    def _retire(self, arm: int, gone: bool) -> None:
        """Take an arm out of play, or back in."""
        retired = np.zeros(self.side.n_arms, bool) if self.retired is None else self.retired.copy()
        retired[arm] = gone
        self.retired = retired if retired.any() else None
        self.n_changes += 1

    def _advance(self, time: int) -> None:
        """Fade the rewards if a step is due at this time."""
        assert self.fading is not None
        n_steps = self.fading.take_steps(time, self.n_told)
        if n_steps:
            self.fading.fade(self, n_steps)
            self._refill()

    def _refill(self) -> None:
        """Refill the policy's state from the tallies."""
        counts, sums = self.tallies()
        self.policy.refill(self.player, self._start, counts[self.arms], sums[self.arms])
        self._forget_ahead()

    # ---------------------------------------------------------------- rewards that are not final

    def _open_later(self, number: int) -> None:
        """Mark a pending decision whose unit has had one before: it does not count for guarantees."""
        if number in self.pending:  # else it was closed before its ask was read
            self.later.add(number)

    def _close(self, number: int, arm: int, reward: float | None, time: int, is_later: bool) -> None:
        """Close a decision if some rewards do not count for guarantees, or not yet."""
        if is_later:
            self.later.discard(number)
            if reward is not None and self.settled is None:
                self.settled = SettledTallies(self.counts.copy(), self.sums.copy())
            if reward is not None and self.revisions is not None:
                self.revisions.entries[number] = RevisableReward(arm, reward, time, False)
            return
        assert self.settled is not None
        if reward is not None and self.revisions is not None:
            self.revisions.entries[number] = RevisableReward(arm, reward, time, True)
            return
        self.order.close(number, arm, reward)
        if reward is not None:
            self.settled.add(arm, reward)

    def _settle(self, time: int) -> None:
        """Count the rewards that can no longer be replaced at this time."""
        assert self.revisions is not None
        assert self.settled is not None
        for number, (arm, reward, _, counts) in self.revisions.take_due(time):
            if counts:
                self.order.close(number, arm, reward)
                self.settled.add(arm, reward)

    def _replace(self, number: int, reward: float) -> None:
        """Replace a reward if it is not final. That depends on times in the log, so replicas agree."""
        entries = {} if self.revisions is None else self.revisions.entries
        before = entries.get(number)
        if before is None:
            return
        arm, old = before.arm, before.reward
        entries[number] = before._replace(reward=reward)
        self.sums[arm] += reward - old
        self.squares[arm] = max(self.squares[arm] + reward * reward - old * old, 0.0)
        if self.rewards.family == "bernoulli":  # rounding must not take it out of range
            self.sums[arm] = min(max(self.sums[arm], 0.0), float(self.counts[arm]))
            self.squares[arm] = min(self.squares[arm], float(self.counts[arm]))
        self.total += reward - old
        self.n_changes += 1
        if self.policy.forgets:
            self._refill()
        else:
            self.player.packed = self._start.copy()
            self._learn_tallies(*self.tallies())
            self._forget_ahead()

    def settled_tallies(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return count and sum of each arm's rewards that count for guarantees now: copies."""
        if self.settled is None:
            return self.counts.copy(), self.sums.copy()
        found = self.settled.copy()
        for _, entry in self._due():
            if entry.counts:
                found.add(entry.arm, entry.reward)
        return found.counts, found.sums

    def told_tallies(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return count and sum of each arm's rewards so far, one for a unit: copies."""
        if self.settled is None:
            return self.counts.copy(), self.sums.copy()
        found = self.settled.copy()
        for entry in () if self.revisions is None else self.revisions.entries.values():
            if entry.counts:
                found.add(entry.arm, entry.reward)
        return found.counts, found.sums

    def unsettled_counts(self) -> NDArray[np.int64]:
        """Return how many decisions of every arm count as pending for guarantees now.

        They have no reward, or one that may still be replaced.
        """
        found = self.open_counts()
        for number in self.later:
            found[self.pending.arms[number]] -= 1
        for number, event in self.pending.reserved.items():
            if is_later(event.data) and number not in self.later:
                found[event.arm] -= 1
        if self.revisions is not None:
            n_due = sum(1 for _ in self._due())
            for entry in islice(self.revisions.entries.values(), n_due, None):
                found[entry.arm] += entry.counts
        return found

    def order_now(self) -> AskedOrder:
        """Return the rewards in the order asked, with those closed that are final by now."""
        due = [(number, entry) for number, entry in self._due() if entry.counts]
        if not due:
            return self.order
        found = self.order.renumber(np.arange(self.side.n_arms), self.side.n_arms)
        for number, entry in due:
            found.close(number, entry.arm, entry.reward)
        return found

    def end_data(self, number: int) -> bytes | None:
        """Return the data of a decision's closing event: a mark if it does not count for guarantees."""
        if number in self.later:
            return LATER_END
        reserved = self.pending.reserved.get(number)
        return LATER_END if reserved is not None and is_later(reserved.data) else None

    def since(self, number: int) -> int:
        """Return when a pending decision was asked, or when a replaceable reward was told."""
        if number in self.pending or self.revisions is None:
            return self.pending.time(number)
        return self.revisions.entries[number].time

    def _due(self) -> Iterable[tuple[int, RevisableReward]]:
        """Return the rewards that are final now and not counted yet; the next event counts them."""
        return () if self.revisions is None else self.revisions.due(now())

    # ---------------------------------------------------------------- learning

    def _learn_lists(
        self, rounds: list[int], arms: list[int], rewards: list[float], observed: list[bool]
    ) -> None:
        self._learn_many(np.array(rounds), np.array(arms), np.array(rewards, np.float64), np.array(observed))

    def _learn_many(
        self,
        rounds: NDArray[np.int64],
        arms: NDArray[np.int64],
        rewards: NDArray[np.float64],
        observed: NDArray[np.bool_],
    ) -> None:
        """Learn rewards one after the other; some were observed, the others come from decisions."""
        if not len(arms):
            return
        np.add.at(self.counts, arms, 1)
        np.add.at(self.sums, arms, rewards)
        np.add.at(self.squares, arms, rewards * rewards)
        self.total = float(np.add.accumulate(np.concatenate([[self.total], rewards]))[-1])
        local = arms
        if self._local is not None:
            local = self._local[arms]
            inside = local >= 0
            rounds, local, rewards = rounds[inside], local[inside], rewards[inside]
            observed = observed[inside]
        ends = [0, *(np.flatnonzero(np.diff(observed)) + 1).tolist(), len(local)]
        for first, last in pairwise(ends):
            if first < last:
                purpose = _OBSERVATION if observed[first] else _TOSS
                self.player.entries.teach(
                    *self.player.packed, rounds[first:last], purpose, local[first:last], rewards[first:last]
                )

    def _learn(self, arm: int, reward: float, number: int, purpose: int) -> None:
        """Learn a reward; `number` and `purpose` say which stream to toss with, if the policy tosses."""
        self.squares[arm] += reward * reward
        local: int = arm if self._local is None else self._local.item(arm)
        if local >= 0:  # the policy has no use for rewards of arms that it does not play
            self.player.teach_one(self.player.packed, number, purpose, local, reward)
        self.counts[arm] += 1
        self.sums[arm] += reward
        self.total += reward
        self.n_told += 1

    def learn_prior(self, prior: Any, weight: float) -> None:
        """Learn the prior."""
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
        self.total = float(sums.sum())
        learn_rewards(ReadyPolicy(self.player, self.arms, 0.0), *known)
        if self.fading is not None:
            self.fading.left = [counts.astype(np.float64), sums.copy(), squares.copy()]

    def tallies(self) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the number of rewards of every arm and their sum, those known before included.

        Where rewards fade, they are what is left of them, and counts need not be whole.
        """
        if self.fading is not None:
            counts, sums, _ = self.fading.now(self)
            return counts, sums
        if not self.prior:
            return self.counts, self.sums
        return self.counts + self.prior.counts, self.sums + self.prior.sums

    def all_squares(self) -> NDArray[np.float64]:
        """Return the sum of the squares of every arm's rewards, those known before included."""
        if self.fading is not None:
            return self.fading.now(self)[2]
        return self.squares + self.prior.squares if self.prior else self.squares

    def transfer(
        self,
        side: SideInformation,
        policy: Policy,
        places: NDArray[np.int64],
        steps: OfflineSteps | None = None,
        gone: Sequence[int] = (),
    ) -> Learner:
        """Return a learner on other side information with the same rewards.

        Arm i is arm ``places[i]`` of the new side information, whose arms `gone` retire. The state of a
        policy depends on rewards through counts and sums per arm, so learning these again loses only the
        tosses of Thompson sampling, which are repeated. (Policies that depend on more are refused.)
        """
        forget = None if self.fading is None else self.fading.half_life
        within = None if self.revisions is None else self.revisions.within
        new = Learner(
            side,
            policy,
            self.rewards,
            self.horizon,
            self.seed,
            steps=steps,
            forget=forget,
            replace_within=within,
            is_auto=self.is_auto,
        )
        new.revisions = None if self.revisions is None else self.revisions.renumber(places)
        new.settled = None if self.settled is None else self.settled.renumber(places, side.n_arms)
        tallies = (self.counts, self.sums, self.squares)
        new.counts, new.sums, new.squares = (renumber_tally(each, places, side.n_arms) for each in tallies)
        new.prior = self.prior.renumber(places, side.n_arms)
        new.total, new.n_changes = self.total, self.n_changes + 1
        new.n_asked, new.n_told, new.next_number = self.n_asked, self.n_told, self.next_number
        new.pending, new.epochs = self.pending.renumber(places), self.epochs.copy()
        new.floors = None if self.floors is None else self.floors.renumber(places)
        new.later, new.sticky, new.tolerance = set(self.later), self.sticky, self.tolerance
        if self.halt is not None:
            arm = self.halt.arm
            new.halt = self.halt._replace(arm=int(places[arm]) if arm >= 0 else arm)
        if self.retired is not None:
            new.retired = np.zeros(side.n_arms, bool)
            new.retired[places] = self.retired
        new.order = self.order.renumber(places, side.n_arms)
        if self.others is not None:
            counts, sums = (renumber_tally(each, places, side.n_arms) for each in self.others)
            new.others = counts, sums
        new.identity, new.merged = self.identity, self.merged
        if self.left_open is not None:
            new.left_open = renumber_tally(self.left_open, places, side.n_arms)
        if self.fading is not None and new.fading is not None:
            new.fading.clock = self.fading.clock
            left = [renumber_tally(each, places, side.n_arms) for each in self.fading.now(self)]
            new.fading.keep(new, left)
            new._refill()
        else:
            new._learn_tallies(*new.tallies())
        for arm in gone:
            if not new.is_last(arm):  # where replicas retire all arms, one stays
                new._retire(arm, True)
        return new

    def tally_delta(self) -> TallyDelta:
        """Return the tallies for other agents to learn, without the prior."""
        tallies: list[NDArray[Any]] = [self.counts.copy(), self.sums.copy(), self.squares.copy()]
        left = [each.astype(np.float64) for each in tallies] if self.fading is None else self.fading.now(self)
        agents, settled = (self.identity, *self.merged), None
        if self.settled is not None:
            settled = self.settled_tallies()
        return TallyDelta(tallies, left, self.n_told, agents, self.unsettled_counts(), settled)

    def open_counts(self) -> NDArray[np.int64]:
        """Return how many decisions of every arm have no reward, those of merged agents included."""
        pending = self.pending.counts(self.side.n_arms)
        return pending if self.left_open is None else pending + self.left_open

    def _absorb(self, delta: TallyDelta) -> None:
        """Add the tallies of other agents."""
        counts, sums, squares = delta.tallies
        left = None if self.fading is None else self.fading.now(self)
        sure_counts, sure_sums = (counts, sums) if delta.settled is None else delta.settled
        if self.settled is None and delta.settled is not None:
            self.settled = SettledTallies(self.counts.copy(), self.sums.copy())
        if self.settled is not None:
            self.settled = self.settled.plus(sure_counts, sure_sums)
        self.counts, self.sums, self.squares = self.counts + counts, self.sums + sums, self.squares + squares
        self.total += float(sums.sum())
        self.n_told += delta.n_told
        self.n_changes += 1
        self.merged = (*self.merged, *delta.agents)
        if delta.open.any():
            self.left_open = delta.open if self.left_open is None else self.left_open + delta.open
        known = self.others
        new = (sure_counts, sure_sums)
        self.others = new if known is None else (known[0] + new[0], known[1] + new[1])
        if self.fading is not None and left is not None:
            if not self.fading.half_life.in_seconds:
                self.fading.clock += delta.n_told
            self.fading.keep(self, [mine + more for mine, more in zip(left, delta.left, strict=True)])
            self._refill()
            return
        self._learn_tallies(counts, sums)
        self._forget_ahead()

    def _learn_tallies(self, all_counts: NDArray[np.int64], all_sums: NDArray[np.float64]) -> None:
        """Teach the policy from counts and sums: ones before zeros, or every reward at the mean."""
        counts, sums = all_counts[self.arms], all_sums[self.arms]
        are_binary = self.rewards.family == "bernoulli" and bool((sums == np.rint(sums)).all())
        ends = np.cumsum(counts)
        for first in range(0, int(ends[-1]), _MOST_AT_ONCE):
            numbers = np.arange(first, min(first + _MOST_AT_ONCE, int(ends[-1])))
            arms = np.searchsorted(ends, numbers, side="right")
            if are_binary:
                rewards = (numbers - (ends - counts)[arms] + 0.5 < sums[arms]).astype(np.float64)
            else:
                rewards = sums[arms] / counts[arms]
            self.player.entries.teach(*self.player.packed, numbers, _PRIOR, arms, rewards)

    # ---------------------------------------------------------------- scores

    def scores(self) -> NDArray[np.float64]:
        """Return the policy's score of every arm; NaN for arms that it does not play."""
        scores = np.full(self.side.n_arms, np.nan)
        scores[self.arms] = self.player.entries.scores(*self.player.packed, len(self.arms))
        return scores

    def state_now(self) -> Any:
        """Return the policy's state for the next decision, with pending decisions taken into account."""
        packed = self._with_pending() if self.pending else self.player.packed.copy()
        if self._counts_asks:
            number = self.next_number
            self.player.asked_in(packed, number, self.player.select_in(packed, number))
        return state_of(type(self.player.state), *packed)
