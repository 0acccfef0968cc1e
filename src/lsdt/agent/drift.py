"""Arms whose mean has changed: a test that may be looked at as often as one likes.

Cut the rewards of an arm in two after the s-th. If its mean theta never changed, the mixture martingales (of
docs/theory/stopping.md) of both parts, M(theta; first s) M(theta; the others), are one martingale, and the
least of that product over theta is below it. So is the mean of these over many s with weights that sum to 1.
By Ville it ever reaches K / risk with a probability of at most risk / K, and of K arms that never change any
is ever listed with a probability of at most `risk`, however arms are chosen and however often one looks.

Both least values are known in closed form. With Gaussian weights a = n^2 / (2 sigma^2 (n + 1)) it is that of
two parabolas; for rewards from 0 to 1 it lies at the mean of all rewards. Cuts are at 16 places in every
octave of plays, from the 16th reward on. So 16 numbers per doubling are kept of an arm, and a cut is never
further from the change than one part in 16.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import checked_share
from lsdt.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.kernel.rewards import RewardModel

CUTS = 16  # in an octave
_BITS = 4  # of 16
_MOST_BITS = 60
_COLUMNS: dict[str, Any] = {
    "arm": object,
    "evidence": np.float64,
    "plays_before": np.int64,
    "mean_before": np.float64,
    "plays_after": np.int64,
    "mean_after": np.float64,
}
# A count of so many bits is a cut if none of these is set.
_BELOW = [(1 << max(bits - _BITS - 1, 0)) - 1 for bits in range(_MOST_BITS + 4)]


def place_of_cut(number: int) -> int:
    """Return after how many rewards the cut of a number is.

    Examples
    --------
    >>> from lsdt.agent.drift import place_of_cut
    >>> [place_of_cut(number) for number in (0, 1, 15, 16, 17, 32)]
    [16, 17, 31, 32, 34, 64]
    """
    octave, step = divmod(number, CUTS)
    return (CUTS + step) << octave


def n_cuts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many cuts lie within so many rewards."""
    octave = np.maximum(np.frexp(counts.astype(np.float64))[1] - _BITS - 1, 0)
    return np.where(counts < CUTS, 0, CUTS * octave + (counts >> octave) - CUTS + 1)


class Cuts:
    """The sums of every arm's rewards up to each cut; those that came from other agents do not count.

    Attributes
    ----------
    sums : dict
        By arm, the sum at each of its cuts so far.
    others : pair of arrays, or None
        How many rewards of every arm other agents learned, and their sums.
    """

    __slots__ = ("others", "sums")

    def __init__(self) -> None:
        self.sums: dict[int, list[float]] = {}
        self.others: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None

    def follow(self, arm: int, count: int, total: float) -> None:
        """See what an arm's rewards come to after one more; called for counts from 16 on."""
        if self.others is not None:
            count, total = count - int(self.others[0][arm]), total - float(self.others[1][arm])
        if count >= CUTS and not count & _BELOW[count.bit_length()]:
            self.sums.setdefault(arm, []).append(total)

    def follow_many(self, learner: Learner, arms: NDArray[np.int64], rewards: NDArray[np.float64]) -> None:
        """See many rewards that the learner is about to count."""
        before, sums = learner.counts, learner.sums
        after = before + np.bincount(arms, minlength=len(before))
        if self.others is not None:
            before, after = before - self.others[0], after - self.others[0]
        passes = n_cuts(after) > n_cuts(before)
        if not passes.any():
            return
        counted = dict.fromkeys(np.flatnonzero(passes).tolist())
        now = {arm: [int(learner.counts[arm]), float(sums[arm])] for arm in counted}
        chosen = passes[arms]
        for arm, reward in zip(arms[chosen].tolist(), rewards[chosen].tolist(), strict=True):
            tally = now[arm]
            tally[0] += 1
            tally[1] += reward
            if tally[0] >= CUTS:
                self.follow(arm, int(tally[0]), tally[1])

    def add_others(self, counts: NDArray[np.int64], sums: NDArray[np.float64]) -> None:
        """Leave rewards out that the learner counts and other agents were told."""
        known = self.others
        self.others = (counts, sums) if known is None else (known[0] + counts, known[1] + sums)

    def renumber(self, places: NDArray[np.int64], n_arms: int) -> Cuts:
        """Return the same for arms that are numbered `places` among `n_arms` now."""
        new = Cuts()
        new.sums = {int(places[arm]): list(sums) for arm, sums in self.sums.items()}
        if self.others is not None:
            counts, sums = np.zeros(n_arms, np.int64), np.zeros(n_arms)
            counts[places], sums[places] = self.others
            new.others = counts, sums
        return new

    def own(self, learner: Learner) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return how many rewards of every arm this agent was told itself, and their sums."""
        if self.others is None:
            return learner.counts, learner.sums
        return learner.counts - self.others[0], learner.sums - self.others[1]


class Change(NamedTuple):
    """An arm whose mean has changed: evidence, and plays and mean before and after the likeliest moment."""

    arm: int
    evidence: float
    plays_before: int
    mean_before: float
    plays_after: int
    mean_after: float


def changed_arms(learner: Learner, risk: float) -> list[Change]:
    """Return the arms whose mean has changed, the clearest first; see `Agent.drift`."""
    accepted = checked_share(risk, "risk")
    if accepted == 0.0:
        raise InvalidInput("risk must be above 0: no rewards show a change for certain; got 0")
    if learner.rewards.tail is not None:
        raise Unsupported("whether a mean has changed is tested for rewards with Gaussian tails only")
    cuts = learner.cuts.sums
    if not cuts:
        return []
    arms, lengths = np.array(list(cuts)), np.array([len(sums) for sums in cuts.values()])
    starts = np.cumsum(lengths) - lengths
    places = _places_of_cuts(np.arange(lengths.sum()) - np.repeat(starts, lengths))
    kept = np.fromiter(chain.from_iterable(cuts.values()), np.float64, len(places))
    counts, sums = (tally[arms] for tally in learner.cuts.own(learner))
    values = cut_evidence(places, kept, np.repeat(counts, lengths), np.repeat(sums, lengths), learner.rewards)
    most = np.maximum.reduceat(values, starts)
    evidence = most + np.log(np.add.reduceat(np.exp(values - np.repeat(most, lengths)), starts))
    changes = []
    for at in np.flatnonzero(evidence >= math.log(learner.side.n_arms / accepted)).tolist():
        cut = int(starts[at] + values[starts[at] : starts[at] + lengths[at]].argmax())
        first, before = int(places[cut]), float(kept[cut])
        second, after = int(counts[at]) - first, float(sums[at]) - before
        means = before / first, after / max(second, 1)
        changes.append(Change(int(arms[at]), float(evidence[at]), first, means[0], second, means[1]))
    return sorted(changes, key=lambda change: -change.evidence)


def drift_frame(learner: Learner, risk: float) -> pd.DataFrame:
    """Return a row per arm whose mean has changed; see `Agent.drift`."""
    import pandas as pd

    rows = [(learner.side.label(change.arm), *change[1:]) for change in changed_arms(learner, risk)]
    if rows:
        return pd.DataFrame(rows, columns=list(_COLUMNS))
    # Mostly there is none, and a watch looks often: to convert an empty frame takes milliseconds.
    return pd.DataFrame({name: np.empty(0, kind) for name, kind in _COLUMNS.items()})


def _places_of_cuts(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `place_of_cut` of many numbers."""
    places: NDArray[np.int64] = (CUTS + numbers % CUTS) << (numbers // CUTS)
    return places


def cut_evidence(
    places: NDArray[np.int64],
    kept: NDArray[np.float64],
    counts: NDArray[np.int64],
    totals: NDArray[np.float64],
    rewards: RewardModel,
) -> NDArray[np.float64]:
    """Return, for each cut, the logarithm of its weight and of the evidence that the mean changed there.

    A cut is after so many rewards of an arm, `places`; up to it they come to `kept`, and all `counts` of them
    to `totals`.
    """
    octave = np.frexp(places.astype(np.float64))[1] - _BITS - 1
    weights = -np.log(CUTS * (octave + 1.0) * (octave + 2.0))
    first, second = places.astype(np.float64), (counts - places).astype(np.float64)
    rest = totals - kept
    if rewards.family == "bernoulli":
        return weights + _of_unit_rewards(first, kept, second, rest)
    a, b = (n**2 / (2.0 * rewards.sigma**2 * (n + 1.0)) for n in (first, second))
    apart = kept / first - rest / np.maximum(second, 1.0)
    evidence: NDArray[np.float64] = a * b / (a + b) * apart**2 - 0.5 * (np.log1p(first) + np.log1p(second))
    return weights + evidence


def _of_unit_rewards(first: Any, wins: Any, second: Any, more: Any) -> NDArray[np.float64]:
    from scipy.special import betaln, xlog1py, xlogy

    wins, more = np.clip(wins, 0.0, first), np.clip(more, 0.0, second)
    n = first + second
    mean = np.clip((wins + more) / n, 0.0, 1.0)
    parts = (betaln(s + 0.5, m - s + 0.5) - betaln(0.5, 0.5) for m, s in ((first, wins), (second, more)))
    evidence: NDArray[np.float64] = sum(parts) - xlogy(wins + more, mean) - xlog1py(n - wins - more, -mean)
    return evidence
