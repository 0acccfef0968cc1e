"""The table of arms, and the arms to recommend."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import checked_whole
from lsdt.agent.anytime_intervals import intervals_of
from lsdt.agent.posterior import certainty_of, posterior_of, standing_of, top_certainty_of
from lsdt.errors import InvalidInput, counted

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.agent.posterior import Posterior, Standing
    from lsdt.side_information import ArmId


_ROUNDING = 1e-6  # of an interval's width: what is less cannot be seen beside it


class Held(Protocol):
    """An agent whose learner can be locked for copying; slow work happens after that."""

    def held(self) -> AbstractContextManager[Learner]:
        """Keep other threads from changing the learner."""


class ArmEstimate(NamedTuple):
    """What is known about the mean of an arm, with two 95% intervals: the posterior's, and one for all times.

    ``mean`` is that of the rewards told. ``low`` and ``high`` are for one look; for rewards from 0 to 1
    every pending decision counts as 0 in the one and as 1 in the other. ``anytime_low`` and
    ``anytime_high`` hold at all looks together, and for rewards that come late because of what they are: a
    pending decision counts as 0 in the lower end and as 1 in the upper one. Where rewards are unbounded,
    the latter use the rewards before the arm's first open decision, in the order asked. Known rewards (a
    prior) do not count in them.

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
        The posterior probability that it is the best of the arms the agent plays on: the share of the mean
        vectors, drawn given relations and rewards, in which it is. Its own pending decisions count as 0 if
        that makes it less likely (for rewards from 0 to 1): clicks may have been told, and their absence
        not yet.
    runners_up : list of ArmEstimate
        The next best, by posterior mean.
    text : str
        The same in a sentence, with what it rests on: relations and rewards, or rewards alone, and why.

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


class TopRecommendation(NamedTuple):
    """The arms to recommend, of the arms that the agent plays on.

    Attributes
    ----------
    arms : list of ArmEstimate
        The arms, the best posterior mean first.
    certainty : float
        The posterior probability that they are the best ones: the share of the mean vectors, drawn given
        relations and rewards, in which no other arm is above one of them. Their pending decisions count as 0
        if that makes it less likely. Among very many arms, and without relations, means are drawn given each
        arm's own rewards.
    text : str
        The same in a sentence.

    Examples
    --------
    >>> import lsdt
    >>> agent = lsdt.Agent(lsdt.SideInformation(3, arm_ids=["tea", "juice", "milk"]), policy="ts")
    >>> for arm, mean in (("tea", .1), ("juice", .9), ("milk", .8)):
    ...     for number in range(100):
    ...         agent.observe(arm, float(number < 100 * mean))
    >>> found = agent.best(top=2)
    >>> found.arm_ids, found.certainty > .99
    (['juice', 'milk'], True)
    """

    arms: list[ArmEstimate]
    certainty: float
    text: str

    @property
    def arm_ids(self) -> list[ArmId]:
        """The arms."""
        return [arm.arm_id for arm in self.arms]

    def _repr_html_(self) -> str:
        return fields_card(self)


def arms_frame(agent: Held) -> pd.DataFrame:
    """Return a row per arm, as the next decision will find it; see `Agent.to_frame`."""
    with agent.held() as learner:
        frame, standing = _told_frame(learner), standing_of(learner)
    found = posterior_of(learner, standing)
    score = frame.attrs["score"]
    frame = frame.assign(estimate=found.mean, low=found.low, high=found.high)
    frame.attrs["score"] = score
    return frame


def _told_frame(learner: Learner) -> pd.DataFrame:
    """Return a row per arm, without the estimates."""
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


def _estimates(
    learner: Learner, found: Posterior, arms: NDArray[np.int64], plays: NDArray[np.int64]
) -> list[ArmEstimate]:
    by_posterior = (column[arms] for column in (found.mean, found.low, found.high, plays))
    columns = zip(arms, *by_posterior, *intervals_of(learner, arms), strict=True)
    return [
        ArmEstimate(
            learner.side.label(int(arm)),
            float(mean),
            float(start),
            float(end),
            int(n_plays),
            float(lowest),
            float(highest),
        )
        for arm, mean, start, end, n_plays, lowest, highest in columns
    ]


def top_recommendation(agent: Held, top: int) -> TopRecommendation:
    """Return the arms to recommend; see `Agent.best`."""
    with agent.held() as learner:
        standing = standing_of(learner)
        plays, n_told = learner.counts.copy(), learner.n_told
    n_alive = len(standing.alive)
    checked_whole(top, "top", 1, n_alive, ", the number of arms in play")
    found = posterior_of(learner, standing)
    order = _by_mean(standing, found)
    with agent.held():
        arms = _estimates(learner, found, order[:top], plays)
    certainty = top_certainty_of(learner, standing, order, top)
    names = ", ".join(_called(learner, arm.arm_id) for arm in arms)
    text = (
        f"arms {names} after {counted(n_told, 'reward')}: the best {top} of {counted(n_alive, 'arm')} with "
        f"probability {certainty:.0%}"
    )
    return TopRecommendation(arms, certainty, f"{text}, by {found.basis}" if found.basis else text)


def _by_mean(standing: Standing, found: Posterior) -> NDArray[np.int64]:
    """Return the arms in play by posterior mean, largest first; unknown ones last."""
    alive = standing.alive
    means = found.mean[alive]
    if standing.scores is not None:  # plain means say little under heavy tails
        means = np.nan_to_num(standing.scores[alive], nan=-math.inf)
    order: NDArray[np.int64] = alive[np.lexsort((-means, ~found.is_known[alive]))]
    return order


def _low_text(arm: ArmEstimate) -> str:
    """Return the lower end of an interval in words; 0 where it differs from that by rounding only."""
    is_zero = abs(arm.low) < _ROUNDING * (arm.high - arm.low)
    return f"{0.0 if is_zero else arm.low:.4g}"


def recommendation(agent: Held, n_runners_up: int) -> Recommendation:
    """Return the arm to recommend; see `Agent.best`."""
    if isinstance(n_runners_up, bool) or not isinstance(n_runners_up, int) or n_runners_up < 0:
        raise InvalidInput(f"n_runners_up must be a whole number of at least 0; got {n_runners_up!r}")
    with agent.held() as learner:
        standing = standing_of(learner)
        plays, n_told = learner.counts.copy(), learner.n_told
    found, alive = posterior_of(learner, standing), standing.alive
    order = found.with_leader(_by_mean(standing, found))
    with agent.held():  # intervals that hold at all times may be of a later one
        best, *others = _estimates(learner, found, order[: n_runners_up + 1], plays)
    certainty = certainty_of(learner, standing, order)
    rewards = counted(n_told, "reward")
    if learner.prior:
        rewards += f" and {int(learner.prior.counts.sum()):,} known before"
    text = (
        f"arm {_called(learner, best.arm_id)}: mean {best.mean:.4g} ({_low_text(best)} to {best.high:.4g}) "
        f"after {best.plays:,} of {rewards}; the best of {counted(len(alive), 'arm')} with probability "
        f"{certainty:.0%}"
    )
    if found.basis:
        text += f", by {found.basis}"
    n_pending = int(standing.pending[order[0]])
    if n_pending:
        text += f"; {counted(n_pending, 'decision')} of it without a reward yet, counted at the worst"
    return Recommendation(*best, certainty, others, text)


def _called(learner: Learner, arm: ArmId) -> str:
    """Return an arm's title and id, or its id alone."""
    side = learner.side
    return repr(arm if side.titles is None else side.show(side.index(arm)))
