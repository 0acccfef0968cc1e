"""When it is known which arm is the best: a rule that is valid at any time and for any way of sampling.

The rule is proved in docs/theory/stopping.md, the evidence is that of `parts.mixture_evidence`.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.errors import ContradictionWarning, Unsupported
from lsdt.kernel import Purpose, copy_state, new_stream
from lsdt.policies.beyond.identify import first_state
from lsdt.policies.offline import offline_step
from lsdt.policies.parts.evidence_tangents import learn_all
from lsdt.policies.parts.gap_rows import fill_plays, list_plays
from lsdt.policies.parts.leaders import name_leader, none_can_reach
from lsdt.policies.parts.play_ahead import Ahead, play_ahead, play_out
from lsdt.policies.parts.tallies import Tallies
from lsdt.policies.tolerance import (
    cannot_hold,
    least_spread,
    sized_bounds,
    tolerance_of,
    too_far_apart,
    unknown_gaps,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.kernel import RewardModel
    from lsdt.policies.beyond.identify import IdentifyState
    from lsdt.side_information import SideInformation

__all__ = ["Ahead", "StoppingRule", "Verdict"]

_MOST_RIVALS = 16  # of the last judgement, looked at before all are; one or two mostly do
# What `learn_all` changes; the rest of a state is shared, as copying it takes longer than a quick look.
_LEARNED = ("pending", "tops", "base", "top_base", "lowest", "lowest_sum", "total")


class Verdict(NamedTuple):
    """What rewards say about the arms that may be the best.

    Attributes
    ----------
    leader : int
        The place of the leader among `arms`.
    arms : array of int
        The arms that may be the best.
    evidence : array of float
        The logarithm of the evidence against each of them being better than the leader by more than the
        tolerance; infinite for the leader itself, and where relations exclude it.
    against_leader : float
        The logarithm of the evidence against the leader being the best.
    """

    leader: int
    arms: NDArray[np.int64]
    evidence: NDArray[np.float64]
    against_leader: float

    @property
    def least(self) -> float:
        """The evidence against the strongest rival."""
        return float(self.evidence.min(initial=math.inf))

    @property
    def delta(self) -> float:
        """The least delta at which the leader is known: the rule holds for all of them at once."""
        return min(1.0, math.exp(-self.least))

    @property
    def error(self) -> float:
        """An estimate of the probability that the leader is not within the tolerance; no guarantee.

        All explanations count with the likelihood that is left to them, the leader's own among them.
        """
        lead = np.exp(np.clip(self.against_leader - self.evidence, -700.0, 700.0))
        odds = float(lead[np.isfinite(self.evidence)].sum())
        return odds / (1.0 + odds)


class StoppingRule:
    """Says which arm is the best but for a tolerance, and whether that is known.

    Parameters
    ----------
    side : SideInformation
        What is known of the arms. Relations that contradict one another, or put means further apart than
        rewards from 0 to 1 can be, are not used at all.
    rewards : RewardModel
        What rewards are like; sigma is a known bound. Tails heavier than a Gaussian's are refused.
    tolerance : float, optional
        How far below the best arm the one named may lie; by default epsilon.
    found : CandidateSet, optional
        The candidates by propagation, where they are known already.
    among : array of int, optional
        The arms that are asked about, in order; by default all. The others count as if they did not exist.

    Attributes
    ----------
    arms : array of int
        The arms that may be the best.
    tolerance : float
        The tolerance.
    note : str
        What a user should know of the rule here; mostly empty.
    is_bounded : bool
        Whether rewards lie in [0, 1], so that pending ones can be counted at their worst.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.kernel.rewards import RewardModel
    >>> from lsdt.policies.stopping import StoppingRule
    >>> side = lsdt.SideInformation(2)
    >>> rule = StoppingRule(side, RewardModel("bernoulli", .5), tolerance=.1)
    >>> verdict = rule.judge(np.array([50, 50]), np.array([45., 5.]))
    >>> verdict.leader, verdict.delta < 1e-10
    (0, True)
    """

    def __init__(
        self,
        side: SideInformation,
        rewards: RewardModel,
        tolerance: float | None,
        found: CandidateSet | None = None,
        among: NDArray[np.int64] | None = None,
    ) -> None:
        if rewards.tail is not None:
            raise Unsupported(
                "when to stop is known for rewards from 0 to 1 and for sub-Gaussian ones, and these have "
                "heavier tails: no sigma bounds them"
            )
        self.tolerance, self.note = tolerance_of(side, tolerance), ""
        self.is_bounded = rewards.family == "bernoulli"
        side = side if among is None else side.subset(map(side.label, among.tolist()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ContradictionWarning)  # the note says it
            found = offline_step(side, "propagation") if found is None else found
        assert found is not None
        self.arms = np.asarray(found.arms).copy()
        if found.conflict is None:
            bounds = sized_bounds(side, found.mutual_bounds)
            if self.is_bounded and cannot_hold(least_spread(bounds)):
                self.note = f"{too_far_apart(least_spread(bounds))}, so that none of them was used"
        else:
            self.note = "the relations contradict one another, so that none of them was used"
        if self.note:
            self.arms = np.arange(side.n_arms)
            bounds = unknown_gaps(side.n_arms)
        self._state = copy_state(first_state(bounds, rewards.family, rewards.sigma, self.tolerance))
        self.arms = self.arms if among is None else among[self.arms]
        # The strongest rivals of the last judgement, and the means at which they were strongest. One tuple,
        # because several threads may judge.
        self._last: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None

    def judge(
        self, counts: NDArray[np.int64], sums: NDArray[np.float64], pending: NDArray[np.int64] | None = None
    ) -> Verdict:
        """Return the verdict of the rewards.

        Parameters
        ----------
        counts, sums : array
            How many rewards of every arm were told, and their sums.
        pending : array of int, optional
            How many decisions of every arm have no reward yet. Rewards in [0, 1] may be told late because of
            what they are: pending ones count at whatever hurts the conclusion most, for each rival and each
            mean by itself. Nothing can be said of unbounded ones, which do not count; then the rule holds if
            no delay depends on the reward.
        """
        state = self._with(counts, sums, pending)
        fill_plays(state.rows, state.tallies.counts)
        named = name_leader(state)
        self._last = named.order[:_MOST_RIVALS].copy(), named.point
        return Verdict(named.leader, self.arms, named.evidence, named.own)

    def is_out_of_reach(
        self,
        counts: NDArray[np.int64],
        sums: NDArray[np.float64],
        goal: float,
        pending: NDArray[np.int64] | None = None,
    ) -> bool:
        """Say whether it takes no judgement to see that `judge` would find less evidence than `goal`.

        Parameters
        ----------
        counts, sums, pending : array
            As for `judge`.
        goal : float
            The evidence that is needed, as a logarithm.

        Returns
        -------
        bool
            True only if `judge` would find less. The rivals that were strongest when it was last called are
            looked at, each with the mean that it was strongest with, so that this costs a fraction of a
            judgement, and mostly settles whether to go on.
        """
        if self._last is None:
            return False
        state = self._with(counts, sums, pending)
        list_plays(state.rows, state.tallies.counts)
        return bool(none_can_reach(state, goal, *self._last))

    def tries_to_go(self, counts: NDArray[np.int64], sums: NDArray[np.float64], delta: float) -> Ahead:
        """Return about how many more tries the policy ``'identify'`` needs, or why that cannot be said."""
        state = self._with(counts, sums)
        fill_plays(state.rows, state.tallies.counts)
        return play_ahead(state, -math.log(delta))

    def play_out(
        self, means: NDArray[np.float64], delta: float, most: int, key: tuple[int, int]
    ) -> tuple[int, int]:
        """Let the policy ``'identify'`` play arms with these means, in the order of `arms`.

        Returns after how many tries the best arm is known, at most `most`, and how many arms could then still
        be the best. `key` is a seed and the number of the run.
        """
        state: IdentifyState = copy_state(self._state)
        return play_out(state, means, -math.log(delta), most, new_stream(*key, Purpose.REWARD))

    def _with(
        self, counts: NDArray[np.int64], sums: NDArray[np.float64], pending: NDArray[np.int64] | None = None
    ) -> IdentifyState:
        """Return a state that has learned these rewards, and knows which decisions have none yet."""
        fresh: IdentifyState = self._state
        rows = fresh.rows._replace(
            played=fresh.rows.played.copy(), equivalence_class=fresh.rows.equivalence_class.copy()
        )
        learned = {name: getattr(fresh, name).copy() for name in _LEARNED}
        tallies = Tallies(*(each.copy() for each in fresh.tallies))
        state = fresh._replace(tallies=tallies, rows=rows, **learned)
        state.tallies.counts[:] = counts[self.arms]
        state.tallies.sums[:] = sums[self.arms]
        if pending is not None and self.is_bounded:
            state.pending[:] = pending[self.arms]
            state.tallies.counts[:] += state.pending
        learn_all(state)
        return state
