"""Experiments played ahead, on means drawn from all that the relations allow; for `lsdt.plan`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from lsdt.errors import InvalidInput, Unsupported
from lsdt.identification.inquiry import Inquiry
from lsdt.kernel import Purpose, RunTotals, Setting, new_stream
from lsdt.policies import mean_prior, means_of_any_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.policies import Policy, StoppingRule
    from lsdt.problems import Rewards
    from lsdt.side_information import SideInformation

_MOST_ARMS = 1_000  # whose means are drawn; the candidates and some others, if there are more
_BATCHES = 10
# If arms were beaten in a log, this many times as many means are drawn; those with a beaten arm on top go.
_DRAWN = 20
_FEWEST = 10  # of different means that are kept; otherwise only the arms that were not beaten have means
_POWER = 0.9  # of the classical test


class LikelyMeans(NamedTuple):
    """Mean vectors that satisfy all relations, a row each, of some arms."""

    arms: NDArray[np.int64]
    means: NDArray[np.float64]

    def of(self, arms: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the means of some of the arms."""
        return np.ascontiguousarray(self.means[:, np.searchsorted(self.arms, arms)])


def likely_means(
    found: CandidateSet, law: Rewards, between: tuple[float, float] | None, runs: int, seed: int
) -> LikelyMeans:
    """Draw mean vectors from all that the relations allow; of the candidates alone if there are many arms.

    If it is not said where means lie, the numbers of similar and of dissimilar pairs say how far they spread.
    Draws that filled [0, 1] would have larger gaps than most problems, and plans would be too optimistic.
    Arms that were beaten in a log are never the best.
    """
    side, candidates = found.side, np.sort(found.arms)
    arms = np.arange(side.n_arms) if side.n_arms <= _MOST_ARMS else candidates
    if side.beaten is None or len(arms) == len(candidates):
        return LikelyMeans(arms, _drawn(side, arms, law, between, runs, seed))
    means = _drawn(side, arms, law, between, _DRAWN * runs, seed)
    means = means[np.isin(arms[means.argmax(axis=1)], candidates)]
    if len(means) < min(_FEWEST, runs):
        return LikelyMeans(candidates, _drawn(side, candidates, law, between, runs, seed))
    return LikelyMeans(arms, means[np.arange(runs) % len(means)])


def _drawn(
    side: SideInformation,
    arms: NDArray[np.int64],
    law: Rewards,
    between: tuple[float, float] | None,
    runs: int,
    seed: int,
) -> NDArray[np.float64]:
    """Draw means of these arms that satisfy all relations, a row each."""
    rng, bounded = np.random.default_rng([seed, 1]), law.model.family == "bernoulli"
    low, high = (0.0, 1.0) if between is None else between
    has_box = bounded or between is not None
    means = means_of_any_width(side, bounded, arms, runs) if between is None else None
    if means is not None:
        return means
    prior = mean_prior(side, has_box, arms, high - low)
    if prior is not None:
        draws = prior.draws[rng.permutation(len(prior.draws))[np.arange(runs) % len(prior.draws)]]
        return low + (high - low) * draws if has_box else draws
    is_free = side.ranges is None and side.n_similar + side.n_dissimilar == 0
    if is_free and has_box:
        return rng.uniform(low, high, (runs, len(arms)))
    if is_free:
        raise InvalidInput(
            "nothing says how far apart means are: give means_between=(low, high), the lowest and the "
            "highest mean that are possible"
        )
    wider = "" if between is None else "; allow a wider range"
    raise Unsupported(
        "no means were found that satisfy all relations"
        + (f" and lie between {low:g} and {high:g}{wider}" if has_box else "")
        + "; check epsilon, and the relations with lsdt.candidate_set(side, method='exact')"
    )


def played_out(
    rule: StoppingRule, likely: LikelyMeans, delta: float, most: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Let ``'identify'`` play each mean vector until the best arm is known, or for at most `most` tries.

    Returns the tries of every run, and how many arms could then still be the best.
    """
    means = likely.of(rule.arms)
    runs = [rule.play_out(row, delta, most, (seed, run)) for run, row in enumerate(means)]
    tries, left = np.array(runs, np.int64).T
    return tries, left


def regret_of(
    policy: Policy,
    side: SideInformation,
    law: Rewards,
    found: CandidateSet | None,
    likely: LikelyMeans,
    horizons: Sequence[int],
    seed: int,
) -> NDArray[np.float64]:
    """Return the regret of a policy on each mean vector (row) at each horizon (column, ascending)."""
    key = new_stream(seed, 0, Purpose.POLICY)
    ready = policy.begin(side, law.model, horizons[-1], key, found if policy.on == "propagation" else None)
    if law.law is None:
        raise InvalidInput("a plan can simulate only the laws of lsdt.rewards that have a formula")
    if not np.isin(ready.arms, likely.arms).all():
        raise Unsupported(
            f"{policy.label} plays arms that cannot be the best, and no means were drawn for these, as there "
            f"are very many or a log beat them; plan for {policy.name}@propagation"
        )
    regret = np.empty((len(likely.means), len(horizons)))
    for run, drawn in enumerate(likely.means):
        means = np.zeros(side.n_arms)
        means[likely.arms] = drawn
        totals = RunTotals(
            new_stream(seed, run, Purpose.REWARD),
            np.zeros(2, np.int64),
            np.zeros(2),
            np.array(horizons, np.int64),
            np.zeros(len(horizons)),
            np.zeros(len(horizons)),
            np.zeros(0, np.int64),
        )
        world = Setting(ready.arms, means, drawn.max() - means, law.law, law.scale, law.shape)
        player = ready.player.with_key(new_stream(seed, run, Purpose.POLICY))
        player.play(world, totals, horizons[-1])
        regret[run] = totals.regret
    return regret


def left_with_pairs(
    side: SideInformation, likely: LikelyMeans, n_pairs: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ask about the `n_pairs` best next pairs of each mean vector, or as many as can help.

    Which pair is the next depends on the answers so far, but for a tenth of the pairs at a time. Returns for
    each mean vector how many pairs were asked about, and how many candidates are then left.
    """
    assert side.epsilon is not None
    runs = []
    for drawn in likely.means:
        mean = dict(zip(map(side.label, likely.arms.tolist()), drawn.tolist(), strict=True))
        inquiry, asked = Inquiry(side, answers="similar"), 0
        while asked < n_pairs:
            pairs = inquiry.next(min(max(n_pairs // _BATCHES, 1), n_pairs - asked)).pairs
            if not pairs:
                break
            for a, b in pairs:
                inquiry.tell(a, b, "similar" if abs(mean[a] - mean[b]) < side.epsilon else "dissimilar")
            asked += len(pairs)
        runs.append((asked, len(inquiry.found.arms)))
    asked_about, left = np.array(runs, np.int64).T
    return asked_about, left


def classical_tries(n_arms: int, sigma: float, tolerance: float, delta: float) -> int:
    """Return how many tries tests of every arm against the best one need, by the sample-size formula.

    Each of the K arms gets n = 2 sigma^2 (z(1 - delta / (K - 1)) + z(.9))^2 / tolerance^2 tries, so that a
    one-sided test of each pair, at a level that Bonferroni divides, finds a difference as large as the
    tolerance with a probability of .9.
    """
    if n_arms == 1:
        return 0
    quantiles = ndtri(_POWER) - ndtri(delta / (n_arms - 1))
    each: int = math.ceil(2.0 * (sigma * quantiles / tolerance) ** 2)
    return n_arms * each
