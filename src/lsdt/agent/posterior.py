"""What is known of every arm's mean: by its own rewards, and by relations and the rewards of all arms.

Without relations every arm has a posterior that rests on its own rewards alone (`free_posterior`).
With relations the means are drawn together (`lsdt.policies.mean_posterior`): the prior is flat on the mean
vectors that satisfy all relations, and rewards count as they do without. Where that cannot be done, or where
the rewards contradict the relations, the former is what is shown, and `Posterior.basis` says so.

**Pending decisions.** Where clicks are told at once and their absence only later, what was told is far too
good. Posterior means are those of the rewards told; but for rewards from 0 to 1 an interval runs from where
it begins if every pending decision pays 0 to where it ends if every one pays 1, and an arm is as likely the
best as it is with its own pending decisions at 0 (`certainty_of`).
"""

from __future__ import annotations

import math
from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from lsdt.kernel import evenly_spread
from lsdt.policies import mean_prior, posterior_draws

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.kernel import RewardModel
    from lsdt.policies import MeanPrior
    from lsdt.side_information import SideInformation

    Floats = NDArray[np.float64]

# Of the posterior of the best arm: its probability of being the best was off by at most 0.0002 in 300 random
# cases of up to 50 arms.
_SLICES = 200
_GUARD = math.log(2.0 / 0.05)  # for the 95% intervals, as in those of ratings
# Arms without relations whose chances of being the best are computed: bounds time and memory to 1,000 x 200
# values, and arms further behind hardly change the product.
_MOST_COMPARED = 1_000
_MOST_DRAWN = 150  # arms whose means are drawn together, in 0.4 s; 300 took 1 s, and 600 3.4
_ENDS = (0.025, 0.975)  # of 95% intervals
_WEIGHTS = 2.0 ** np.arange(1, 10)  # of the prior of an arm, in rewards: only its order of magnitude matters
_MOST_KEPT = 4  # answers: as told, pending decisions at 0, at 1, and at 0 for the leader alone
# How likely rewards that fit right relations are to look as if they did not. Less would go on trusting wrong
# relations for longer.
_DOUBT = 1e-3
_ERRORS_APART = 3.0  # standard errors between two means that draws tell apart; the draws are not independent


class Standing(NamedTuple):
    """A copy of the parts of a learner that estimates need; the learner may go on meanwhile.

    Attributes
    ----------
    side, rewards : SideInformation, RewardModel
        The arms and their relations, and what rewards are like.
    alive : array of int
        The arms in play.
    counts, sums, squares : array
        How many rewards of every arm are known, their sums and those of their squares; those known before
        included, and what is left of those that fade.
    scores : array or None
        The policy's score of every arm, where that is not its mean: for heavy tails.
    pending : array
        How many decisions of every arm have no reward yet; none for unbounded rewards, of which nothing can
        be said before they are told.
    """

    side: SideInformation
    rewards: RewardModel
    alive: NDArray[np.int64]
    counts: Floats
    sums: Floats
    squares: Floats
    scores: Floats | None
    pending: Floats

    def with_pending(self, pending: Floats, reward: float) -> Standing:
        """Return a copy in which these pending decisions were told this reward, 0 or 1."""
        told = reward * pending
        return self._replace(counts=self.counts + pending, sums=self.sums + told, squares=self.squares + told)


def standing_of(learner: Learner) -> Standing:
    """Copy what estimates need; the caller holds the learner's lock."""
    alive = learner.arms
    if learner.policy.eliminates:
        alive = alive[np.asarray(learner.state_now().alive) == 1]
    if learner.retired is not None and not learner.retired[alive].all():
        alive = alive[~learner.retired[alive]]
    counts, sums = learner.tallies()
    scores = None if learner.policy.learns_from_sums else learner.scores()
    tallies = counts.astype(np.float64), sums.copy(), learner.all_squares().copy()
    pending = learner.open_counts().astype(np.float64)
    if learner.rewards.family != "bernoulli":
        pending[:] = 0.0
    return Standing(learner.side, learner.rewards, alive, *tallies, scores, pending)


# ---------------------------------------------------------------- by an arm's own rewards


_MOST_FREE = 1_000_000  # numbers drawn from posteriors by rewards alone, of all arms together: some 20 ms


def free_posterior(standing: Standing, arms: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the shapes of Beta posteriors, or means and standard deviations of Gaussian ones.

    The Beta prior has the overall rate and a weight of two rewards or more (see `_prior_weight`). Gaussian
    means have a flat prior; an arm never told is taken to be like the others: around their average, as far
    apart as they are. Both are as narrow as the noise of the rewards allows (see `_noise_shares`).
    """
    counts, sums = standing.counts[arms], standing.sums[arms]
    if standing.rewards.family == "bernoulli":
        rate = (standing.sums.sum() + 1.0) / (standing.counts.sum() + 2.0)
        weight = _prior_weight(standing, rate)
        shares = _noise_shares(standing, arms, (2.0 * rate + sums) / (2.0 + counts))
        return weight * rate + sums / shares, weight * (1.0 - rate) + (counts - sums) / shares
    some = np.where(counts > 0.0, counts, 1.0)
    means, sigma = sums / some, standing.rewards.sigma
    told = means[counts > 0]
    centre = float(told.mean()) if len(told) else 0.0
    spread = max(float(told.std()) if len(told) else 0.0, sigma)
    unknown = counts == 0
    noise = sigma * np.sqrt(_noise_shares(standing, arms, means))
    errors = noise / np.sqrt(some)
    return np.where(unknown, centre, means), np.where(unknown, spread, errors)


def _prior_weight(standing: Standing, rate: float) -> float:
    """Return how many rewards of the overall rate the prior of an arm is worth, by how far apart arms are.

    Among arms that are nearly alike the best rate is mostly luck, and a prior of two rewards would take it
    for true. So the weight is estimated from all arms' rewards (empirical Bayes, Beta-binomial): of 2, 4, 8,
    ... 512 it is the smallest whose likelihood is at least 1 / e of the largest. The likeliest itself makes
    intervals too narrow where eight arms have to tell.
    """
    from scipy.special import betaln

    told = np.flatnonzero(standing.counts > 0.0)
    sums, counts = standing.sums[told], standing.counts[told]
    shares = _noise_shares(standing, told, (2.0 * rate + sums) / (2.0 + counts))
    wins, losses = (sums / shares)[:, None], ((counts - sums) / shares)[:, None]
    first, second = rate * _WEIGHTS, (1.0 - rate) * _WEIGHTS
    likely = (betaln(first + wins, second + losses) - betaln(first, second)).sum(axis=0)
    return float(_WEIGHTS[np.argmax(likely >= likely.max() - 1.0)])


def _noise_shares(standing: Standing, arms: NDArray[np.int64], means: Floats) -> Floats:
    """Return the variance of each arm's rewards, as a share of the largest that its rewards can have.

    Rewards from 0 to 1 with mean m vary at most as coins do, m (1 - m); others are taken to have a variance
    of at most sigma^2. Ratings in stars vary much less than coins. The variance is estimated from the
    squares of the rewards, and guarded: where all n rewards agree, a share of up to log(1 / delta) / n of
    the next ones may still lie elsewhere, so ``log(2 / delta)`` rewards at the far end count in (twice as
    many of variance sigma^2 where there is no end). Rewards that are 0 or 1 have a share of 1, and so have
    those whose tails are heavier than a Gaussian's, of which a variance says little.
    """
    counts, sums = standing.counts[arms], standing.sums[arms]
    model, shares = standing.rewards, np.ones(len(arms))
    if model.tail is not None or standing.scores is not None:
        return shares
    within = np.maximum(standing.squares[arms] - sums**2 / np.maximum(counts, 1), 0.0)
    within *= counts / np.maximum(counts - 1, 1)
    if model.family == "bernoulli":
        most = means * (1.0 - means)
        guard = _GUARD * np.maximum(means, 1.0 - means) ** 2
    else:
        most = np.full(len(arms), model.sigma**2)
        guard = 2.0 * _GUARD * most
    many = (counts > 1) & (most > 0.0)
    np.divide(within + guard, counts * most, out=shares, where=many)
    return np.minimum(shares, 1.0)


def _free_estimates(standing: Standing) -> tuple[Floats, Floats, Floats]:
    """Return mean and ends of the 95% interval of every arm by its own rewards."""
    from scipy.special import betaincinv

    first, second = free_posterior(standing, np.arange(standing.side.n_arms))
    if standing.rewards.family != "bernoulli":
        return first, first - 1.96 * second, first + 1.96 * second
    low, high = (betaincinv(first, second, end) for end in _ENDS)
    return first / (first + second), low, high


def free_certainty(standing: Standing, order: NDArray[np.int64]) -> float:
    """Return the probability that the first arm has the largest mean, by the arms' own rewards.

    That is the mean, over its posterior, of the probability that all others lie below: at the middles of
    equally likely slices of it. With very many arms, those with the largest means and those played least (the
    widest posteriors) are compared; the others are further behind, or no wider.
    """
    from scipy.special import betaincinv, ndtri

    arms = order
    if len(arms) > _MOST_COMPARED:
        half = _MOST_COMPARED // 2
        least = order[np.argpartition(standing.counts[order], half)[:half]]
        rest = np.union1d(order[1:half], least)
        arms = np.concatenate([order[:1], rest[rest != order[0]]])
    first, second = free_posterior(standing, arms)
    middles = (np.arange(_SLICES) + 0.5) / _SLICES
    is_coin = standing.rewards.family == "bernoulli"
    points = betaincinv(first[0], second[0], middles) if is_coin else first[0] + second[0] * ndtri(middles)
    return float(_chances_below(points, first[1:], second[1:], is_coin).mean())


def _chances_below(points: Floats, first: Floats, second: Floats, is_coin: bool) -> Floats:
    """Return how likely all arms with these posteriors are to lie below each point."""
    from scipy.special import betainc, ndtr

    shapes, sizes = np.unique(np.column_stack([first, second]), axis=0, return_counts=True)
    one, two = shapes[:, :1], shapes[:, 1:]
    below = betainc(one, two, points) if is_coin else ndtr((points - one) / two)
    with np.errstate(divide="ignore"):
        chances: Floats = np.exp(sizes @ np.log(below))
    return chances


# ---------------------------------------------------------------- by relations and all rewards


class Posterior(NamedTuple):
    """Estimates of all means.

    Attributes
    ----------
    mean, low, high : array
        Posterior mean of every arm, and the ends of a 95% interval.
    is_known : array of bool
        Of which arms anything is known: by rewards, or by relations that tie them to arms with rewards.
    basis : str
        What the estimates rest on, in words; empty where there are no relations.
    arms : array of int
        The arms that were drawn together; none where every arm is estimated by its own rewards.
    draws : array
        Draws of their means, a row each.
    """

    mean: Floats
    low: Floats
    high: Floats
    is_known: NDArray[np.bool_]
    basis: str
    arms: NDArray[np.int64]
    draws: Floats

    def certainty(self, standing: Standing, order: NDArray[np.int64]) -> float:
        """Return the probability that the first arm is the best of the arms in `order`.

        It is the share of the draws in which it is. Arms that were not drawn, of very many, count by their
        own rewards.
        """
        drawn = np.isin(order, self.arms)
        if not drawn[0]:
            return free_certainty(standing, order)
        means = self.draws[:, np.searchsorted(self.arms, order[drawn])]
        chances = (means.argmax(axis=1) == 0).astype(np.float64)
        if not drawn.all():
            first, second = (part[~drawn][:_MOST_COMPARED] for part in free_posterior(standing, order))
            chances *= _chances_below(means[:, 0], first, second, standing.rewards.family == "bernoulli")
        return float(chances.mean())

    def top_certainty(self, standing: Standing, order: NDArray[np.int64], top: int) -> float:
        """Return the share of the draws in which the first `top` arms of `order` are the best of all of them.

        If not all of these arms were drawn, all are drawn from posteriors by their own rewards.
        """
        if np.isin(order, self.arms).all():
            means = self.draws[:, np.searchsorted(self.arms, order)]
        else:
            first, second = free_posterior(standing, order)
            rng, size = np.random.default_rng(0), (max(_MOST_FREE // len(order), 1), len(order))
            is_coin = standing.rewards.family == "bernoulli"
            means = rng.beta(first, second, size) if is_coin else rng.normal(first, second, size)
        rest = means[:, top:].max(axis=1, initial=-np.inf)
        return float((means[:, :top].min(axis=1) >= rest).mean())

    def with_leader(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return arms in the order of their means, but with the one to recommend first.

        Means are known up to the error of the draws. Of the arms that are behind by no more than that, it is
        the one that is best in the most draws: an arm that relations exclude is never so.
        """
        drawn = order[np.isin(order, self.arms)]
        if not len(drawn) or drawn[0] != order[0]:
            return order
        means = self.draws[:, np.searchsorted(self.arms, drawn)]
        behind = means[:, :1] - means
        errors = behind.std(axis=0) / np.sqrt(len(behind))
        shares = np.bincount(means.argmax(axis=1), minlength=len(drawn))
        shares[behind.mean(axis=0) > _ERRORS_APART * errors] = -1
        leader = drawn[shares.argmax()]
        return np.concatenate([[leader], order[order != leader]])


class Posteriors:
    """The posteriors of a learner: draws from its prior, made once, and the last answers."""

    def __init__(self) -> None:
        self._lock = Lock()  # a caller that comes meanwhile waits for the same answer
        self._prior: tuple[NDArray[np.int64], MeanPrior | None] | None = None
        self._last: deque[tuple[Standing, Posterior]] = deque(maxlen=_MOST_KEPT)

    def find(self, standing: Standing) -> Posterior:
        """Return the posterior given these rewards; the same rewards give the same answer."""
        with self._lock:
            for kept, found in self._last:
                if _is_same(kept, standing):
                    return found
            self._last.append((standing, self._found(standing)))
            return self._last[-1][1]

    def _found(self, standing: Standing) -> Posterior:
        side, told = standing.side, standing.counts > 0.0
        no_arms, no_draws = np.zeros(0, np.int64), np.zeros((0, 0))
        estimates = _free_estimates(standing)
        free = Posterior(*estimates, told, "", no_arms, no_draws)
        if not told.any() or not (side.n_similar or side.n_dissimilar or side.ranges is not None):
            return free
        if standing.rewards.tail is not None or standing.scores is not None:
            return free._replace(basis="rewards alone: of heavy tails no likelihood is known")
        prior = self._prior_of(standing)
        if prior is None:
            size = "have no size in rewards, since epsilon is unknown"
            why = "contradict one another, or no means were found that satisfy them"
            why = why if side.has_epsilon else size
            return free._replace(basis=f"rewards alone: the relations {why}")
        first, second = _evidence(standing, prior)
        draws = posterior_draws(prior, first, second, _span(standing, prior))
        if _is_contradicted(draws, first, second, told[prior.arms], prior.bounded):
            why = "these contradict the relations (agent.suspects() says which)"
            return free._replace(basis=f"rewards alone: {why}")
        mean, low, high = estimates
        mean[prior.arms] = draws.mean(axis=0)
        low[prior.arms], high[prior.arms] = np.quantile(draws, _ENDS, axis=0)
        is_known, component = told.copy(), prior.relations.component
        is_known[prior.arms] = np.isin(component, component[told[prior.arms]])
        basis = "relations and rewards" if prior.has_sizes else "the order of the arms and rewards"
        return Posterior(mean, low, high, is_known, basis, prior.arms, draws)

    def _prior_of(self, standing: Standing) -> MeanPrior | None:
        arms = _drawn_together(standing)
        if self._prior is None or not np.array_equal(self._prior[0], arms):
            bounded = standing.rewards.family == "bernoulli"
            self._prior = arms, mean_prior(standing.side, bounded, arms)
        return self._prior[1]


def _is_same(one: Standing, other: Standing) -> bool:
    if one.side is not other.side:
        return False
    is_small = one.side.n_arms <= _MOST_DRAWN  # else the arms in play say which are drawn
    pairs = zip(one[3:6] if is_small else one[2:6], other[3:6] if is_small else other[2:6], strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def _drawn_together(standing: Standing) -> NDArray[np.int64]:
    """Return the arms to draw: all, or of very many those in play that matter most, and arms around them.

    Those are the arms with the largest means and the most rewards, half each; then others in play, other arms
    with rewards, and any others, evenly.
    """
    n_arms = standing.side.n_arms
    if n_arms <= _MOST_DRAWN:
        return np.arange(n_arms)
    alive, counts = standing.alive, standing.counts
    first, second = free_posterior(standing, alive)
    means = first / (first + second) if standing.rewards.family == "bernoulli" else first
    told = counts[alive] > 0.0
    best = alive[np.lexsort((-means, ~told))][: _MOST_DRAWN // 2]
    most = np.argsort(-counts, kind="stable")[: _MOST_DRAWN // 2]
    chosen = list(dict.fromkeys([*best.tolist(), *most[counts[most] > 0.0].tolist()]))
    for others in (alive, np.arange(n_arms)):
        room = _MOST_DRAWN - len(chosen)
        rest = np.setdiff1d(others, np.array(chosen, np.int64))
        chosen += evenly_spread(rest, room).tolist()
    return np.sort(np.array(chosen, np.int64))


def _evidence(standing: Standing, prior: MeanPrior) -> tuple[Floats, Floats]:
    """Return the evidence on the arms that are drawn, for `posterior_draws`.

    Arms that no links tie to others have the weak prior they have without relations: the weight of two
    rewards of the average arm, or where means have no ends, for arms without rewards, of one mean like the
    others'. Arms that links hold together share one such weight: many weak priors would make a strong one.
    """
    arms, component = prior.arms, prior.relations.component
    counts, sums = standing.counts[arms], standing.sums[arms]
    told, members = counts > 0.0, np.bincount(component)[component]
    if prior.bounded:
        rate = (sums.sum() + 1.0) / (counts.sum() + 2.0)
        rates = (sums + rate) / (counts + 1.0)
        lean = (2.0 * float(rates[told].mean() if told.any() else rate) - 1.0) / members
        shares = _noise_shares(standing, arms, rates)
        return sums / shares + lean, (counts - sums) / shares - lean
    first, second = free_posterior(standing, arms)
    precision = np.where(told, second**-2.0, 0.0)
    is_told = np.isin(component, component[told])
    return first, np.where(is_told, precision, second**-2.0 / members)


def _span(standing: Standing, prior: MeanPrior) -> float:
    """Return the least width of an interval that holds all means, for unbounded rewards.

    Similar pairs bound how far apart arms are. Without any, arms without rewards are assumed to be spread as
    widely as the others.
    """
    first, second = free_posterior(standing, prior.arms)
    told = standing.counts[prior.arms] > 0.0
    span = float((first - 2.0 * second)[told].max() - (first + 2.0 * second)[told].min())
    spread = max(float(first[told].std()), standing.rewards.sigma)
    return max(span, 0.0 if standing.side.n_similar else 4.0 * spread)


def _is_contradicted(
    draws: Floats, first: Floats, second: Floats, told: NDArray[np.bool_], bounded: bool
) -> bool:
    """Say whether rewards fit none of the means that relations allow.

    Twice the log-likelihood ratio of the observed means against the true ones is about chi-squared, with one
    degree of freedom for each arm with rewards. Draws from the posterior add about as much again.
    """
    from scipy.special import chdtri, xlog1py, xlogy  # importing scipy.stats takes longer than all of `best`

    x, a, b = draws[:, told], first[told], second[told]
    if bounded:
        a, b = np.maximum(a, 0.0), np.maximum(b, 0.0)
        seen = a / np.maximum(a + b, 1e-300)
        best = xlogy(a, seen) + xlog1py(b, -seen)
        misfits = (best - xlogy(a, np.maximum(x, 1e-300)) - xlog1py(b, -np.minimum(x, 1.0 - 1e-16))).sum(
            axis=1
        )
    else:
        misfits = 0.5 * ((x - a) ** 2 @ b)
    n_told = x.shape[1]
    return bool(misfits.mean() > 0.5 * chdtri(n_told, _DOUBT) + 0.5 * n_told)


_POSTERIORS: WeakKeyDictionary[Learner, Posteriors] = WeakKeyDictionary()
_POSTERIORS_LOCK = Lock()


def posterior_of(learner: Learner, standing: Standing) -> Posterior:
    """Return estimates of all means. Slow: do not hold the learner's lock meanwhile."""
    kept = _posteriors_of(learner)
    found, pending = kept.find(standing), standing.pending
    if not pending.any():
        return found
    least, most = (kept.find(standing.with_pending(pending, reward)) for reward in (0.0, 1.0))
    return found._replace(low=np.minimum(found.low, least.low), high=np.maximum(found.high, most.high))


def certainty_of(learner: Learner, standing: Standing, order: NDArray[np.int64]) -> float:
    """Return how likely the first arm is the best of these, whatever its own pending decisions pay."""
    kept = _posteriors_of(learner)
    certainty = kept.find(standing).certainty(standing, order)
    own = np.zeros_like(standing.pending)
    own[order[0]] = standing.pending[order[0]]
    if own.any():
        doubted = standing.with_pending(own, 0.0)
        certainty = min(certainty, kept.find(doubted).certainty(doubted, order))
    return certainty


def top_certainty_of(learner: Learner, standing: Standing, order: NDArray[np.int64], top: int) -> float:
    """Return how likely the first `top` arms are the best of these, whatever their pending decisions pay."""
    kept = _posteriors_of(learner)
    certainty = kept.find(standing).top_certainty(standing, order, top)
    own = np.zeros_like(standing.pending)
    own[order[:top]] = standing.pending[order[:top]]
    if own.any():
        doubted = standing.with_pending(own, 0.0)
        certainty = min(certainty, kept.find(doubted).top_certainty(doubted, order, top))
    return certainty


def _posteriors_of(learner: Learner) -> Posteriors:
    with _POSTERIORS_LOCK:
        return _POSTERIORS.setdefault(learner, Posteriors())
