"""What an agent has learned, for people: a table of arms, and the arm to recommend."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt.agent.anytime_intervals import intervals_of
from lsdt.errors import InvalidInput, counted

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.side_information.arms import ArmId

_SLICES = 200  # of the posterior of the best arm
_GUARD = math.log(2.0 / 0.05)  # for the 95% intervals, as in those of ratings
_MOST_COMPARED = 1_000  # arms whose chances of being the best are drawn for


class ArmEstimate(NamedTuple):
    """What is known of the mean of an arm, with two 95% intervals: of its posterior, and one for all times.

    ``low`` and ``high`` are for one look; ``anytime_low`` and ``anytime_high`` hold at all looks together,
    and for rewards that come late because of what they are: a pending decision counts as 0 in the lower end
    and as 1 in the upper one. Where rewards are unbounded, the latter use the rewards before the arm's first
    open decision, in the order asked. Known rewards (a prior) do not count in them.

    Attributes
    ----------
    arm_id : str or int
        The arm.
    mean : float
        Its posterior mean.
    low, high : float
        Ends of its posterior interval.
    plays : int
        How many rewards of it were told.
    anytime_low, anytime_high : float
        Ends of the interval for all times.

    Examples
    --------
    >>> import lsdt
    >>> agent = lsdt.Agent(lsdt.SideInformation(2, arm_ids=["tea", "juice"]), policy="ucb1")
    >>> for reward in (1, 0):
    ...     agent.tell(agent.ask(), reward)
    >>> agent.best().runners_up[0].arm_id
    'juice'
    """

    arm_id: ArmId
    mean: float
    low: float
    high: float
    plays: int
    anytime_low: float
    anytime_high: float

    def _repr_html_(self) -> str:
        return fields_card(self)


class Recommendation(NamedTuple):
    """The arm to recommend.

    Attributes
    ----------
    arm_id : str or int
        The arm.
    mean, low, high : float
        Mean of its posterior, with a 95% interval.
    plays : int
        How often its reward was told.
    anytime_low, anytime_high : float
        A 95% interval of its mean that holds at all times together, however often one looks; see
        `ArmEstimate` for what it makes of pending decisions.
    certainty : float
        The posterior probability that it is the best of the arms the agent plays on.
    runners_up : list of ArmEstimate
        The next best, by posterior mean.
    text : str
        The same in a sentence.

    Examples
    --------
    >>> import lsdt
    >>> agent = lsdt.Agent(lsdt.from_means([.2, .9], epsilon=.3, arm_ids=["tea", "juice"]), policy="ucb1")
    >>> for _ in range(20):
    ...     decision = agent.ask()
    ...     agent.tell(decision, float(decision.arm_id == "juice"))
    >>> agent.best().arm_id
    'juice'
    """

    arm_id: ArmId
    mean: float
    low: float
    high: float
    plays: int
    anytime_low: float
    anytime_high: float
    certainty: float
    runners_up: list[ArmEstimate]
    text: str

    def _repr_html_(self) -> str:
        from lsdt.agent.card import recommendation_card

        return recommendation_card(self)


def arms_frame(learner: Learner) -> pd.DataFrame:
    """Return a row per arm, as the next decision will find it; see `Agent.to_frame`."""
    import pandas as pd

    n_arms, counts, policy = learner.side.n_arms, learner.counts, learner.policy
    score = _means(*learner.tallies()) if policy.score_name == "mean" else learner.scores()
    frame = pd.DataFrame(
        {
            "arm": range(n_arms) if learner.side.arm_ids is None else list(learner.side.arm_ids),
            "plays": counts.copy(),
            "mean": _means(counts, learner.sums) if learner.fading is None else _means(*learner.tallies()),
            "score": score,
            "status": _statuses(learner),
            "prior": learner.prior.counts if learner.prior else np.zeros(n_arms, np.int64),
        }
    )
    if learner.fading is not None:
        frame.insert(3, "weight", learner.tallies()[0])
    titles = learner.side.titles
    if titles is not None:
        frame.insert(1, "title", pd.Series([titles.get(arm) for arm in frame["arm"]], dtype=object))
    frame.attrs["score"] = policy.score_name
    return frame


def _means(counts: NDArray[np.int64], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    means: NDArray[np.float64] = np.divide(sums, counts, np.full(len(counts), math.nan), where=counts > 0)
    return means


def _statuses(learner: Learner) -> NDArray[Any]:
    statuses = np.full(learner.side.n_arms, "eliminated offline", dtype=object)
    statuses[learner.arms] = "in play" if learner.policy.on == "all" else "candidate"
    never = learner.arms[learner.counts[learner.arms] == 0]
    statuses[never] = "never played"
    if learner.policy.eliminates:
        state = learner.state_now()
        for place in np.flatnonzero(np.asarray(state.alive) == 0):
            statuses[learner.arms[place]] = f"eliminated after {state.gone_at[place]} rewards"
    if learner.retired is not None:
        statuses[learner.retired] = "retired"
    return statuses


def _posterior(learner: Learner, arms: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shapes of Beta posteriors, or means and standard deviations of Gaussian ones.

    The Beta prior has the weight of two rewards of the overall rate. Gaussian means have a flat prior; an arm
    never told is taken to be like the others: around their average, as far apart as they are. Both are as
    narrow as the noise of the rewards allows (see `_noise_shares`).
    """
    all_counts, all_sums = learner.tallies()
    counts, sums = all_counts[arms].astype(float), all_sums[arms]
    if learner.rewards.family == "bernoulli":
        rate = (all_sums.sum() + 1.0) / (all_counts.sum() + 2.0)
        first, second = 2.0 * rate + sums, 2.0 * (1.0 - rate) + counts - sums
        shares = _noise_shares(learner, arms, first / (first + second))
        return first / shares, second / shares
    some = np.where(counts > 0.0, counts, 1.0)
    means, sigma = sums / some, learner.rewards.sigma
    told = means[counts > 0]
    centre = float(told.mean()) if len(told) else 0.0
    spread = max(float(told.std()) if len(told) else 0.0, sigma)
    unknown = counts == 0
    noise = sigma * np.sqrt(_noise_shares(learner, arms, means))
    errors = noise / np.sqrt(some)
    return np.where(unknown, centre, means), np.where(unknown, spread, errors)


def _noise_shares(
    learner: Learner, arms: NDArray[np.int64], means: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the variance of each arm's rewards, as a share of the largest that its rewards can have.

    Rewards from 0 to 1 with mean m vary at most as coins do, m (1 - m); others are taken to have a variance
    of at most sigma^2. Ratings in stars vary much less than coins. The variance is estimated from the
    squares of the rewards, and guarded: where all n rewards agree, a share of up to log(1 / delta) / n of
    the next ones may still lie elsewhere, so ``log(2 / delta)`` rewards at the far end count in (twice as
    many of variance sigma^2 where there is no end). Rewards that are 0 or 1 have a share of 1, and so have
    those whose tails are heavier than a Gaussian's, of which a variance says little.
    """
    counts, sums = (tally[arms] for tally in learner.tallies())
    model, shares = learner.rewards, np.ones(len(arms))
    if model.tail is not None or not learner.policy.learns_from_sums:
        return shares
    within = np.maximum(learner.all_squares()[arms] - sums**2 / np.maximum(counts, 1), 0.0)
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


def _estimates(learner: Learner, arms: NDArray[np.int64]) -> list[ArmEstimate]:
    from scipy.special import betaincinv

    first, second = _posterior(learner, arms)
    if learner.rewards.family == "bernoulli":
        means, low, high = (
            first / (first + second),
            betaincinv(first, second, 0.025),
            betaincinv(first, second, 0.975),
        )
    else:
        means, low, high = first, first - 1.96 * second, first + 1.96 * second
    columns = zip(arms, means, low, high, *intervals_of(learner, arms), strict=True)
    return [
        ArmEstimate(
            learner.side.label(int(arm)),
            float(mean),
            float(start),
            float(end),
            int(learner.counts[arm]),
            float(lowest),
            float(highest),
        )
        for arm, mean, start, end, lowest, highest in columns
    ]


def recommendation(learner: Learner, n_runners_up: int) -> Recommendation:
    """Return the arm to recommend; see `Agent.best`."""
    if isinstance(n_runners_up, bool) or not isinstance(n_runners_up, int) or n_runners_up < 0:
        raise InvalidInput(f"n_runners_up must be a whole number of at least 0; got {n_runners_up!r}")
    alive = learner.arms
    if learner.policy.eliminates:
        alive = alive[np.asarray(learner.state_now().alive) == 1]
    if learner.retired is not None and not learner.retired[alive].all():
        alive = alive[~learner.retired[alive]]
    first, second = _posterior(learner, alive)
    means = first / (first + second) if learner.rewards.family == "bernoulli" else first
    if not learner.policy.learns_from_sums:  # plain means say little under heavy tails
        means = np.nan_to_num(learner.scores()[alive], nan=-math.inf)
    known = learner.tallies()[0][alive] > 0
    order = alive[np.lexsort((-means, ~known))]  # an arm of which nothing is known is no recommendation
    best, *others = _estimates(learner, order[: n_runners_up + 1])
    certainty = _certainty(learner, order)
    rewards = counted(learner.n_told, "reward")
    if learner.prior:
        rewards += f" and {int(learner.prior.counts.sum()):,} known before"
    text = (
        f"arm {_called(learner, best.arm_id)}: mean {best.mean:.4g} ({best.low:.4g} to {best.high:.4g}) "
        f"after {best.plays:,} of {rewards}; the best of {counted(len(alive), 'arm')} with probability "
        f"{certainty:.0%}"
    )
    return Recommendation(*best, certainty, others, text)


def _called(learner: Learner, arm: ArmId) -> str:
    """Return what people read: the title and the id, or the id alone."""
    side = learner.side
    return repr(arm if side.titles is None else side.show(side.index(arm)))


def _certainty(learner: Learner, order: NDArray[np.int64]) -> float:
    """Return the posterior probability that the first arm has the largest mean.

    That is the mean, over its posterior, of the probability that all others lie below: at the middles of
    equally likely slices of it. Arms with equal posteriors are looked at once. With very many arms, those
    with the largest means and those played least (the widest posteriors) are compared; the others are further
    behind, or no wider.
    """
    from scipy.special import betainc, betaincinv, ndtr, ndtri

    arms = order
    if len(arms) > _MOST_COMPARED:
        half = _MOST_COMPARED // 2
        counts = learner.tallies()[0][order]
        least = order[np.argpartition(counts, half)[:half]]
        rest = np.union1d(order[1:half], least)
        arms = np.concatenate([order[:1], rest[rest != order[0]]])
    first, second = _posterior(learner, arms)
    others, sizes = np.unique(np.column_stack([first[1:], second[1:]]), axis=0, return_counts=True)
    middles = (np.arange(_SLICES) + 0.5) / _SLICES
    if learner.rewards.family == "bernoulli":
        points = betaincinv(first[0], second[0], middles)
        below = betainc(others[:, :1], others[:, 1:], points)
    else:
        points = first[0] + second[0] * ndtri(middles)
        below = ndtr((points - others[:, :1]) / others[:, 1:])
    with np.errstate(divide="ignore"):
        chances = np.exp(sizes @ np.log(below))
    return float(chances.mean())
