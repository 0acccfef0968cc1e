"""When the best m arms are known, or all arms within the tolerance of the best.

The evidence is that of `parts.mixture_evidence`: the logarithm of one product over all arms, which at the
true means reaches log(1 / delta) at any time with a probability of at most delta. A set of arms is named when
every explanation by which it would be wrong has at least that much evidence against it. An explanation is an
arm i, its mean q, a reading of the relations (`lsdt.candidates`, `read_bounds`), and what it claims beside
them; the proof is in docs/theory/stopping.md.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates import MutualBounds, candidate_set, nothing_known, read_bounds
from lsdt.errors import ContradictionWarning, InconsistentSideInformation, Unsupported
from lsdt.kernel import copy_state
from lsdt.policies.beyond.identify import first_state
from lsdt.policies.parts.evidence_tangents import learn_all
from lsdt.policies.parts.gap_rows import fill_plays
from lsdt.policies.parts.pair_evidence import put_free, reward_divergence, strongest_rivals
from lsdt.policies.tolerance import cannot_hold, tolerance_of, too_far_apart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.kernel import RewardModel
    from lsdt.policies.beyond.identify import IdentifyState
    from lsdt.side_information import SideInformation

# `evidence_fields` moves bounds by a share of 1e-9, inwards where they are negative: this moves them back.
_GIVE = 3e-9
_FORCED = 12.0  # as for the policy ``'identify'``: nothing is forced before round 144 K
_MOST_TO_TRY = 8  # arms proposed at once, for batches; chosen by eye
ALL = "all"
_CONTRADICTION = "the relations contradict one another, so that none of them was used"


class TopVerdict(NamedTuple):
    """What rewards say about the best arms.

    Attributes
    ----------
    named : array of int
        The arms to name, best first as far as one can tell.
    arms : array of int
        The arms that may be among them.
    rivals, against : array of int
        Pairs of arms: the first may be better than the second, which is named, by too much; each arm named
        with its strongest rival. For all arms within the tolerance, a pair of equal arms says that one is
        left out that may be within it.
    evidence : array of float
        The logarithm of the evidence against each of these; where relations exclude all, there is none.
    to_try : array of int
        Arms to try next, the most telling one first.
    """

    named: NDArray[np.int64]
    arms: NDArray[np.int64]
    rivals: NDArray[np.int64]
    against: NDArray[np.int64]
    evidence: NDArray[np.float64]
    to_try: NDArray[np.int64]

    @property
    def least(self) -> float:
        """The evidence against the strongest explanation."""
        return float(self.evidence.min(initial=math.inf))

    @property
    def delta(self) -> float:
        """The least delta at which the arms are known: the rule holds for all of them at once."""
        return min(1.0, math.exp(-self.least))


_Case = tuple[
    int, int, int, float
]  # an explanation: which state, the rival, the arm it is better than, its mean


class _Explained(NamedTuple):
    """States that have learned the rewards, one for each reading, and what they make of every arm.

    ``free[r, i]`` is the evidence against reading r at the mean of arm i that suits it best, ``point[r, i]``.
    """

    states: list[IdentifyState]
    free: NDArray[np.float64]
    point: NDArray[np.float64]


class TopStoppingRule:
    """Says which arms are the best m but for a tolerance, or all within it, and whether that is known.

    Parameters
    ----------
    side : SideInformation
        What is known of the arms. Relations that contradict one another, or put means further apart than
        rewards from 0 to 1 can be, are not used at all.
    rewards : RewardModel
        What rewards are like; sigma is a known bound. Tails heavier than a Gaussian's are refused.
    tolerance : float or None
        How far below the m-th best arm those named may lie; by default epsilon.
    top : int or 'all'
        How many arms; ``'all'`` for all arms within the tolerance of the best.
    among : array of int, optional
        The arms that are asked about, in order; by default all. The others count as if they did not exist.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> from lsdt.kernel.rewards import RewardModel
    >>> from lsdt.policies.top_stopping import TopStoppingRule
    >>> rule = TopStoppingRule(lsdt.SideInformation(3), RewardModel("bernoulli", .5), tolerance=.1, top=2)
    >>> verdict = rule.judge(np.array([60, 60, 60]), np.array([55., 50., 5.]))
    >>> verdict.named.tolist(), verdict.delta < 1e-6
    ([0, 1], True)
    """

    def __init__(
        self,
        side: SideInformation,
        rewards: RewardModel,
        tolerance: float | None,
        top: int | str,
        among: NDArray[np.int64] | None = None,
    ) -> None:
        if rewards.tail is not None:
            raise Unsupported(
                "when to stop is known for rewards from 0 to 1 and for sub-Gaussian ones, and these have "
                "heavier tails: no sigma bounds them"
            )
        self.tolerance, self.top, self.note = tolerance_of(side, tolerance), top, ""
        self.is_bounded = rewards.family == "bernoulli"
        side = side if among is None else side.subset(map(side.label, among.tolist()))
        self.arms = np.arange(side.n_arms)
        if top != ALL:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ContradictionWarning)  # the note says it
                try:
                    found = candidate_set(side, top=int(top))
                    is_sound = found.conflict is None
                except InconsistentSideInformation:
                    is_sound = False
            if is_sound:
                self.arms = np.asarray(found.arms).copy()
            else:
                self.note = _CONTRADICTION
        if not self.note:
            known = read_bounds(side, self.arms)
            if known.contradiction:
                self.note = _CONTRADICTION
            elif self.is_bounded and cannot_hold(known.least_spread):
                self.note = f"{too_far_apart(known.least_spread)}, so that none of them was used"
        if self.note:
            self.arms, known = np.arange(side.n_arms), nothing_known(side.n_arms)
        if top == ALL:
            near = ~(known.lower.max(axis=1) > self.tolerance * (1.0 + _GIVE)).all(axis=0)
            self.arms = self.arms[near]  # of the others, some arm lies further above in every reading
            known = known._replace(
                lower=known.lower[:, near][:, :, near],
                upper=known.upper[:, near][:, :, near],
                part=known.part[near],
            )
        self._known = known
        made = (rewards.family, rewards.sigma)
        self._states = self._make(known.lower, *made)
        if top == ALL:
            self._near = self._make(np.maximum(known.lower, -self.tolerance), *made)
            self._best = self._make(np.maximum(known.lower, 0.0), *made)
        self.arms = self.arms if among is None else among[self.arms]

    def _make(self, lower: NDArray[np.float64], family: str, sigma: float) -> list[IdentifyState]:
        """Return a state for each reading, nothing played yet."""
        n_arms = len(self.arms)
        indptr, indices = np.arange(n_arms + 1) * n_arms, np.tile(np.arange(n_arms), n_arms)
        states = []
        for low, high in zip(lower, self._known.upper, strict=True):
            low = np.where(low < 0.0, low * (1.0 + _GIVE), low)
            high = np.where(high < 0.0, high * (1.0 - _GIVE), high)
            bounds = MutualBounds(indptr, indices, low.ravel().copy(), high.ravel().copy())
            states.append(first_state(bounds, family, sigma, self.tolerance))
        return states

    def judge(
        self, counts: NDArray[np.int64], sums: NDArray[np.float64], pending: NDArray[np.int64] | None = None
    ) -> TopVerdict:
        """Return what rewards say.

        Parameters
        ----------
        counts, sums : array
            How many rewards of every arm were told, and their sums.
        pending : array of int, optional
            How many decisions of every arm have no reward yet. Those of rewards in [0, 1] count at whatever
            hurts the conclusion most; unbounded ones do not count, and must not be late because of what they
            are.
        """
        learned = [self._with(state, counts, sums, pending) for state in self._states]
        explained = _explain(learned)
        estimate, reading = self._estimates(explained)
        if self.top == ALL:
            return self._judge_all(explained, estimate, counts, sums, pending)
        n_named = min(int(self.top), len(self.arms))
        named = self._choose(estimate, reading, n_named)
        verdict = self._judge_named(explained, named, estimate)
        plays = learned[0].tallies
        by_mean = np.where(plays.counts > 0, plays.means, -math.inf)
        other = np.argsort(-by_mean, kind="stable")[:n_named]
        if set(other.tolist()) != set(named.tolist()) and (plays.counts > 0).sum() >= n_named:
            second = self._judge_named(explained, other, estimate)
            verdict = max(verdict, second, key=lambda one: one.least)
        return verdict

    def _with(
        self,
        start: IdentifyState,
        counts: NDArray[np.int64],
        sums: NDArray[np.float64],
        pending: NDArray[np.int64] | None,
    ) -> IdentifyState:
        """Return a state that has learned these rewards, and knows which decisions have none yet."""
        state: IdentifyState = copy_state(start)
        state.tallies.counts[:] = counts[self.arms]
        state.tallies.sums[:] = sums[self.arms]
        if pending is not None and self.is_bounded:
            state.pending[:] = pending[self.arms]
            state.tallies.counts[:] += state.pending
        learn_all(state)
        fill_plays(state.rows, state.tallies.counts)
        return state

    def _estimates(self, explained: _Explained) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return likely means of all arms, -inf where nothing is known, and the likely reading of each part.

        The likely reading has the least evidence against it, at the arm that speaks most against it.
        """
        part, n_readings = self._known.part, len(explained.states)
        _, number = np.unique(part, return_inverse=True)
        worst = np.full((n_readings, int(number.max()) + 1), -math.inf)
        for against, free in zip(worst, explained.free, strict=True):
            np.maximum.at(against, number, free)
        reading = worst.argmin(axis=0)[number]
        at = np.arange(len(self.arms))
        estimate = explained.point[reading, at]
        played = explained.states[0].tallies.counts > 0
        lower, upper = self._known.lower[reading, at], self._known.upper[reading, at]
        is_tied = (np.isfinite(lower) | np.isfinite(upper)) & played
        return np.where(is_tied.any(axis=1), estimate, -math.inf), reading

    def _choose(
        self, estimate: NDArray[np.float64], reading: NDArray[np.int64], n_named: int
    ) -> NDArray[np.int64]:
        """Return the arms with the largest estimates such that none left out is known to lie above one."""
        at = np.arange(len(self.arms))
        is_above = self._known.upper[reading, at] < 0.0  # row i marks the arms above arm i
        n_above, chosen = is_above.sum(axis=1), []
        is_free = np.ones(len(self.arms), bool)
        for _ in range(n_named):
            ready = np.flatnonzero(is_free & (n_above == 0))
            best = int(ready[np.argmax(estimate[ready])])
            chosen.append(best)
            is_free[best] = False
            n_above -= is_above[:, best]
        return np.array(chosen)

    def _judge_named(
        self, explained: _Explained, named: NDArray[np.int64], estimate: NDArray[np.float64]
    ) -> TopVerdict:
        """Return the evidence against every arm left out being better than one named by too much."""
        rivals = np.setdiff1d(np.arange(len(self.arms)), named)
        value, cases = _strongest(explained, rivals, named, self.tolerance)
        order = np.argsort(value, kind="stable")
        order = order[np.isfinite(value[order])]
        listed = [cases[at] for at in order.tolist()]
        return TopVerdict(
            self.arms[named],
            self.arms,
            self.arms[np.array([rival for _, rival, _, _ in listed], np.int64)],
            self.arms[named[order]],
            value[order],
            self.arms[self._to_try(explained.states, listed, estimate)],
        )

    def _judge_all(
        self,
        explained: _Explained,
        estimate: NDArray[np.float64],
        counts: NDArray[np.int64],
        sums: NDArray[np.float64],
        pending: NDArray[np.int64] | None,
    ) -> TopVerdict:
        """Name the arms that are not known to lie below the tolerance; see the theory page."""
        near = _explain([self._with(state, counts, sums, pending) for state in self._near])
        best = _explain([self._with(state, counts, sums, pending) for state in self._best])
        every = np.arange(len(self.arms))
        left_out = near.free.min(axis=0)  # evidence against being within the tolerance of the best
        taken_in, cases = _strongest(best, every, every, 2.0 * self.tolerance)
        is_named = taken_in >= left_out
        value = np.where(is_named, taken_in, left_out)
        order = np.argsort(value, kind="stable")
        order = order[np.isfinite(value[order])]
        listed = []
        for arm in order.tolist():
            reading = int(near.free[:, arm].argmin())
            out = (len(best.states) + reading, arm, -1, float(near.point[reading, arm]))
            listed.append(cases[arm] if is_named[arm] else out)
        named = every[is_named]
        return TopVerdict(
            self.arms[named[np.argsort(-estimate[named], kind="stable")]],
            self.arms,
            self.arms[np.array([rival for _, rival, _, _ in listed], np.int64)],
            self.arms[order],
            value[order],
            self.arms[self._to_try(best.states + near.states, listed, estimate)],
        )

    def _to_try(
        self,
        states: list[IdentifyState],
        cases: list[_Case],
        estimate: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Return the arm that tells most about each of some explanations: a state, a rival, an arm, a mean.

        The reward of an arm tells as much as its likely mean differs, by KL, from what the explanation makes
        of it. An arm that was hardly played comes first.
        """
        counts = states[0].tallies.counts
        fewest = int(counts.argmin())
        if counts[fewest] < math.sqrt(counts.sum() / len(counts)) - _FORCED:
            return np.array([fewest])
        chosen: dict[int, None] = {}
        for which, rival, other, q in cases[:_MOST_TO_TRY]:
            telling = reward_divergence(states[which], rival, other, self._gap(other), q, estimate)
            if telling.max(initial=0.0) > 0.0:
                # Of equal ones the arm played most: each new arm takes away some evidence.
                best = np.flatnonzero(telling >= telling.max() * (1.0 - 1e-9))
                chosen[int(best[np.argmax(counts[best])])] = None
            else:
                chosen[min((rival, rival if other < 0 else other), key=lambda arm: counts[arm])] = None
        return np.array(list(chosen) or [fewest])

    def _gap(self, other: int) -> float:
        return 0.0 if other < 0 else self.tolerance * (2.0 if self.top == ALL else 1.0)


def _explain(states: list[IdentifyState]) -> _Explained:
    found = [put_free(state) for state in states]
    return _Explained(states, np.array([one[0] for one in found]), np.array([one[1] for one in found]))


def _strongest(
    explained: _Explained, rivals: NDArray[np.int64], named: NDArray[np.int64], tolerance: float
) -> tuple[NDArray[np.float64], list[_Case]]:
    """Return, for each named arm, the evidence against its strongest rival in any reading, and that case."""
    found = [
        strongest_rivals(state, rivals, named, tolerance, free, point)
        for state, free, point in zip(*explained, strict=True)
    ]
    values = np.array([one[0] for one in found])
    which = values.argmin(axis=0)
    cases = [
        (reading, int(found[reading][2][at]), int(named[at]), float(found[reading][1][at]))
        for at, reading in enumerate(which.tolist())
    ]
    return values[which, np.arange(len(named))], cases
