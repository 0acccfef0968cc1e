"""Problems: the arms, how they pay, and what is known about them.

A problem is any object with ``n_arms``, ``rewards`` (a law or its name) and ``draw(seed, replication)``,
which returns an `Instance`. It may have a ``describe()``; otherwise it is described by the name of its class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import (
    check_kind,
    checked_count,
    checked_epsilon,
    checked_flag,
    checked_share,
    checked_size,
)
from lsdt.errors import InvalidInput
from lsdt.kernel import Purpose, seed_words
from lsdt.problems.generators import problem_generator
from lsdt.problems.rewards import Rewards, checked_rewards, recorded
from lsdt.problems.sparse_pairs import draw_pairs
from lsdt.ratings import as_log
from lsdt.side_information import SideInformation, from_means

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MOST_DRAWS = 10_000  # of means until their graph is connected; after this many it hardly ever will be
_MOST_CHECKED = 2_000  # arms; with more, comparing all pairs with the means would take too long
_TOLERANCE = 1e-9  # as in `lsdt.from_means`
_MOST_RELATIONS = 2**31  # in all; their pairs alone would take 8 GiB


class Instance(NamedTuple):
    """One draw of a problem: the means, which no policy sees, the side information, and the reward law.

    Attributes
    ----------
    means : array
        The true mean of every arm.
    side : SideInformation
        What policies are told.
    rewards : Rewards
        The law of rewards.
    """

    means: NDArray[np.float64]
    side: SideInformation
    rewards: Rewards

    def _repr_html_(self) -> str:
        return fields_card(self)


class Problem(Protocol):
    """The interface of a problem."""

    @property
    def n_arms(self) -> int:
        """Number of arms."""

    @property
    def rewards(self) -> Rewards:
        """The reward law."""

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the problem of one replication; the same arguments give the same problem."""

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data."""


@dataclass(frozen=True)
class UniformProblem:
    """Means uniform on an interval, with relations from their unit interval graph; see `uniform`."""

    n_arms: int
    low: float
    high: float
    epsilon: float
    rewards: Rewards
    p_similar: float
    p_dissimilar: float
    fixed: bool
    connected: bool

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the problem of one replication."""
        rng = self._generator(seed, replication)
        means = self._means(rng)
        side = from_means(means, self.epsilon)
        if not self.is_complete:
            side = side.reveal(self.p_similar, self.p_dissimilar, seed=int(rng.integers(2**63)))
        return Instance(means, side, self.rewards)

    @property
    def is_complete(self) -> bool:
        """Whether every relation is revealed."""
        return self.p_similar == self.p_dissimilar == 1.0

    def draw_means(self, seed: int, replications: range) -> NDArray[np.float64]:
        """Return the means of some replications, one replication per row."""
        return np.array([self._means(self._generator(seed, number)) for number in replications])

    def _generator(self, seed: int, replication: int) -> np.random.Generator:
        return problem_generator(seed, 0 if self.fixed else replication)

    def _means(self, rng: np.random.Generator) -> NDArray[np.float64]:
        for _ in range(_MOST_DRAWS):
            means = rng.uniform(self.low, self.high, self.n_arms)
            if not self.connected or np.diff(np.sort(means)).max(initial=0.0) < self.epsilon:
                return means
        raise InvalidInput(
            f"{_MOST_DRAWS:,} draws of {self.n_arms} means on [{self.low:g}, {self.high:g}] gave no "
            f"connected graph with epsilon {self.epsilon:g}; use a larger epsilon, more arms, or "
            "connected=False"
        )

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        plain = {key: value for key, value in vars(self).items() if key != "rewards"}
        return {"kind": "uniform", **plain, "rewards": self.rewards.describe()}

    def _repr_html_(self) -> str:
        return fields_card(self)


@dataclass(frozen=True)
class SparseProblem:
    """Very many arms, only few pairs of which were compared; see `sparse`."""

    n_arms: int
    relations_per_arm: float
    locality: float
    epsilon: float
    rewards: Rewards
    low: float
    high: float
    reach: float
    fixed: bool

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the problem of one replication."""
        key = (seed, 0 if self.fixed else replication, Purpose.PROBLEM)
        rng = np.random.default_rng(seed_words(*key))
        means = rng.uniform(self.low, self.high, self.n_arms)
        similar, dissimilar = self.pairs(means, int(rng.integers(2**63)))
        return Instance(
            means, SideInformation(self.n_arms, similar, dissimilar, epsilon=self.epsilon), self.rewards
        )

    def pairs(self, means: NDArray[np.float64], seed: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return similar and dissimilar pairs of arms with these means; some may be listed twice."""
        n_pairs = round(0.5 * self.n_arms * self.relations_per_arm) if self.n_arms > 1 else 0
        if n_pairs == 0:
            return np.zeros((0, 2), np.int32), np.zeros((0, 2), np.int32)
        pairs = draw_pairs(means, n_pairs, self.locality, self.reach * self.epsilon, seed)
        distance = np.abs(means[pairs[:, 0]] - means[pairs[:, 1]])
        near = distance < self.epsilon * (1.0 - _TOLERANCE)
        return pairs[near], pairs[~near]

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        plain = {key: value for key, value in vars(self).items() if key != "rewards"}
        return {"kind": "sparse", **plain, "rewards": self.rewards.describe()}

    def _repr_html_(self) -> str:
        return fields_card(self)


@dataclass(frozen=True, eq=False)
class GivenProblem:
    """One instance for all replications; see `given`."""

    instance: Instance

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.instance.means)

    @property
    def rewards(self) -> Rewards:
        """The reward law."""
        return self.instance.rewards

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the instance."""
        return self.instance

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data; the means only if they are few."""
        means, side, rewards = self.instance
        listed = {"means": means.tolist()} if len(means) <= 1000 else {}
        return {
            "kind": "given",
            "n_arms": self.n_arms,
            "side": repr(side),
            "rewards": rewards.describe(),
            **listed,
        }

    def _repr_html_(self) -> str:
        return fields_card(self)


def uniform(
    n_arms: int = 100,
    low: float = 0.1,
    high: float = 1.0,
    epsilon: float = 0.1,
    rewards: str | Rewards = "gaussian",
    p_similar: float = 1.0,
    p_dissimilar: float = 1.0,
    fixed: bool = False,
    connected: bool = False,
) -> UniformProblem:
    """Return a problem with means uniform on [low, high], as in the paper's experiments.

    Two arms are similar if their means are closer than `epsilon`.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    low, high : float
        Ends of the interval of the means.
    epsilon : float
        The threshold between similar and dissimilar.
    rewards : {'gaussian', 'bernoulli'} or Rewards
        How arms pay.
    p_similar, p_dissimilar : float
        The share of similar and of dissimilar pairs that is revealed; 1 and 1 is complete information.
    fixed : bool
        Draw means and revealed relations once for the whole study, not in every replication.
    connected : bool
        Draw means again until their similarity graph is connected, which some policies need.

    Examples
    --------
    >>> import lsdt
    >>> problem = lsdt.problems.uniform(n_arms=20, epsilon=.2, rewards="gaussian")
    >>> problem.draw(seed=0, replication=3).side
    SideInformation(20 arms, implicit, complete, epsilon=0.2)
    """
    law = checked_rewards(rewards)
    ends = _ends(low, high, law)
    shares = checked_share(p_similar, "p_similar"), checked_share(p_dissimilar, "p_dissimilar")
    return UniformProblem(
        checked_count(n_arms),
        *ends,
        checked_epsilon(epsilon),
        law,
        *shares,
        checked_flag(fixed, "fixed"),
        checked_flag(connected, "connected"),
    )


def sparse(
    n_arms: int = 100_000,
    relations_per_arm: float = 100.0,
    locality: float = 1.0,
    epsilon: float = 0.1,
    rewards: str | Rewards = "bernoulli",
    low: float = 0.1,
    high: float = 1.0,
    reach: float = 3.0,
    fixed: bool = False,
) -> SparseProblem:
    """Return a problem with very many arms, means uniform on [low, high], and few pairs that were compared.

    Every arm is compared with some others, and every comparison says correctly whether the two are similar.
    With locality 0 the other arm is any arm, with 1 it is one whose mean lies within `reach` epsilons, as in
    a catalogue whose categories hold similar things.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    relations_per_arm : float
        Average number of relations per arm; slightly fewer in practice, as pairs drawn twice count once.
    locality : float
        The share of comparisons whose second arm is near the first.
    epsilon : float
        The threshold between similar and dissimilar.
    rewards : {'gaussian', 'bernoulli'} or Rewards
        How arms pay.
    low, high : float
        Ends of the interval of the means.
    reach : float
        Largest distance between near means, in epsilons; with 1 or less near arms are all similar.
    fixed : bool
        Draw means and relations once for the whole study, not in every replication.

    Examples
    --------
    >>> import lsdt
    >>> problem = lsdt.problems.sparse(n_arms=1000, relations_per_arm=20, locality=1.)
    >>> problem.draw(seed=0, replication=0).side
    SideInformation(1,000 arms, 3,764 similar pairs, 6,055 dissimilar pairs, partial, epsilon=0.1)
    """
    law, count = checked_rewards(rewards), checked_count(n_arms)
    per_arm, width = checked_size(relations_per_arm, "relations_per_arm"), checked_size(reach, "reach")
    if not 0.0 <= per_arm * count < _MOST_RELATIONS:
        raise InvalidInput(
            "relations_per_arm must not be negative, and there may be fewer than 2**31 relations in all; got "
            f"{relations_per_arm!r} for each of {count:,} arms"
        )
    if width <= 0.0:
        raise InvalidInput(f"reach must be positive; got {reach!r}")
    share = checked_share(locality, "locality")
    return SparseProblem(
        count,
        per_arm,
        share,
        checked_epsilon(epsilon),
        law,
        *_ends(low, high, law),
        width,
        checked_flag(fixed, "fixed"),
    )


def given(
    means: ArrayLike,
    side: SideInformation | None = None,
    rewards: str | Rewards = "gaussian",
    check: bool = True,
) -> GivenProblem:
    """Return a problem with these means and this side information, the same in every replication.

    Parameters
    ----------
    means : array_like
        One finite number per arm.
    side : SideInformation, optional
        What policies know about the arms; by default nothing.
    rewards : {'gaussian', 'bernoulli'} or Rewards
        How arms pay.
    check : bool
        Whether to refuse side information that the means contradict; False for studies of wrong relations.

    Examples
    --------
    >>> import lsdt
    >>> means = [.2, .5, .6]
    >>> problem = lsdt.problems.given(means, lsdt.from_means(means, epsilon=.2), "bernoulli")
    >>> problem.n_arms
    3
    """
    law, check = checked_rewards(rewards), checked_flag(check, "check")
    try:
        values = np.array(means, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"means must be a list of numbers, one per arm; got {means!r}") from None
    if values.ndim != 1 or len(values) == 0:
        raise InvalidInput(
            f"means must be a non-empty list of numbers, one per arm; got shape {values.shape}"
        )
    if not np.isfinite(values).all():
        arm = int(np.argmin(np.isfinite(values)))
        raise InvalidInput(f"means must be finite; the mean of arm {arm} is {values[arm]}")
    law.check_means(values)
    if side is None:
        side = SideInformation(len(values))
    check_kind(side, SideInformation, "side must be a SideInformation")
    if side.n_arms != len(values):
        raise InvalidInput(f"there are {len(values)} means, and side information about {side.n_arms} arms")
    if check and side.epsilon is not None and side.n_arms <= _MOST_CHECKED:
        _check_relations(values, side, side.epsilon)
    values.flags.writeable = False
    return GivenProblem(Instance(values, side, law))


def from_ratings(log: Any, side: SideInformation | None = None) -> GivenProblem:
    """Return a problem whose arms pay as the items of a log were rated, for any number of rounds.

    A replay ends when the users run out. Here an arm pays one of its item's ratings, drawn at random with
    replacement: its mean and its whole distribution are those of the log, on the scale from 0 to 1. Who rated
    is lost: the ratings of one user are no longer related, and an item rated only by generous users is better
    here than it would be for everyone. The means are therefore raw averages, and relations that
    `lsdt.from_ratings` finds among users who rated both items may contradict them; this is not checked.

    Parameters
    ----------
    log : RatingLog, path, dataframe or array
        Ratings, as `lsdt.ratings.read_log` returns or reads them. Their scale is that of the side
        information, if that comes from ratings.
    side : SideInformation, optional
        What policies know about items of this log, by their ids. Items that it does not cover are then left
        out. It should come from users other than those of the log; otherwise policies already know what they
        are meant to find out. By default nothing is known, and all items are arms.

    Examples
    --------
    >>> import lsdt
    >>> log = lsdt.ratings.read_log(lsdt.ratings.make_log(n_users=2000, n_items=8, ratings_per_user=5).log)
    >>> known, rest = log.halves()
    >>> problem = lsdt.problems.from_ratings(rest, lsdt.from_ratings(known))
    >>> result = lsdt.simulate(problem, ["ts@order", "ts"], horizon=5000, replications=3)
    >>> bool(result.regret("ts on order").mean() < result.regret("ts").mean())
    True
    """
    if side is not None:
        check_kind(side, SideInformation, "side must be a SideInformation")
    ratings = as_log(log, None if side is None else side.scale)
    ids = ratings.item_ids if side is None else tuple(map(side.label, range(side.n_arms)))
    index = {item: at for at, item in enumerate(ratings.item_ids)}
    missing = [item for item in ids if item not in index]
    if missing:
        raise InvalidInput(f"arm {missing[0]!r} is not an item of the log, so nothing says how it pays")
    by_item = np.argsort(ratings.items, kind="stable")
    ends = np.searchsorted(ratings.items[by_item], np.arange(ratings.n_items + 1))
    values = ratings.unit_ratings()[by_item]
    places = [index[item] for item in ids]
    unrated = [item for item, at in zip(ids, places, strict=True) if ends[at] == ends[at + 1]]
    if unrated:
        raise InvalidInput(
            f"nobody rated item {unrated[0]!r}, so nothing says how it pays; leave it out (min_ratings=1 of "
            "read_log)"
        )
    law = recorded([values[ends[at] : ends[at + 1]] for at in places])
    assert law.records is not None
    known = SideInformation(len(ids), arm_ids=ids) if side is None else side
    return GivenProblem(Instance(law.records.means(), known, law))


def _check_relations(means: NDArray[np.float64], side: SideInformation, epsilon: float) -> None:
    """Raise `InvalidInput`, naming the pair, if the means contradict a relation."""
    slack = 1e-9 * epsilon
    for pairs, word in ((side.similar_pairs(), "similar"), (side.dissimilar_pairs(), "dissimilar")):
        distance = np.abs(means[pairs[:, 0]] - means[pairs[:, 1]])
        wrong = distance > epsilon + slack if word == "similar" else distance < epsilon - slack
        if wrong.any():
            first, second = pairs[int(np.argmax(wrong))].tolist()
            raise InvalidInput(
                f"arms {side.label(first)!r} and {side.label(second)!r} are said to be {word}, epsilon is "
                f"{epsilon:g}, and their means are {means[first]:g} and {means[second]:g}; correct one of "
                "them, or use check=False to study wrong relations"
            )


def _ends(low: Any, high: Any, law: Rewards) -> tuple[float, float]:
    """Return the ends of the interval of the means, or say what is wrong with them, also for this law."""
    ends = checked_size(low, "low"), checked_size(high, "high")
    if ends[0] > ends[1]:
        raise InvalidInput(f"low must not be above high; got low={low} and high={high}")
    law.check_means(np.array(ends))
    return ends
