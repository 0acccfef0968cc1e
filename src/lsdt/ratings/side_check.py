"""Side information against ratings or rewards: which of its relations they contradict.

That means are Lipschitz in the features, or that arms of one group are alike, is an assumption. A log, or the
rewards so far, give an interval for the difference of two means; all intervals hold together with the
requested confidence. A similar pair is *wrong* if its interval lies at or beyond epsilon, *right* if it lies
within, else *open*; a better pair or a range is wrong if its interval lies outside, right if it lies inside.
How many are wrong in all, open ones included, is estimated: true differences are taken to be normal around 0,
with the variance of the measured ones less that of their errors, and each pair adds the probability that its
true difference is on the wrong side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import check_kind, checked_share, checked_whole
from lsdt.errors import InvalidInput, counted
from lsdt.ratings.log import as_log
from lsdt.ratings.statistics.intervals import DifferenceIntervals
from lsdt.ratings.statistics.pairs import pair_statistics
from lsdt.side_information import FeatureEvidence, GroupEvidence, SideInformation

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.side_information import ArmId

    Floats = NDArray[np.float64]

WORDS = ("similar", "dissimilar", "range")
VERDICTS = {-1: "wrong", 0: "open", 1: "right"}


class _Measured(NamedTuple):
    """Differences of the means of pairs of arms, smaller arm first, ascending."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    n: NDArray[np.int64]
    difference: Floats
    half_width: Floats
    error: Floats

    def take(self, which: Any) -> _Measured:
        """Return some of the pairs."""
        return _Measured._make(column[which] for column in self)

    def at(self, pairs: NDArray[Any], n_arms: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which pairs were measured, and the places of these."""
        keys = self.first * n_arms + self.second
        wanted = pairs[:, 0].astype(np.int64) * n_arms + pairs[:, 1]
        places = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        known = keys[places] == wanted if len(keys) else np.zeros(len(wanted), bool)
        return known, places[known]


class LipschitzCheck(NamedTuple):
    """A Lipschitz constant compared with measured differences.

    Attributes
    ----------
    assumed : float
        The constant that side information from features was made with.
    smallest : float
        Every smaller constant is contradicted by some interval; infinite where arms with the same features
        have different means.
    pair : tuple or None
        The two arms whose interval says so.
    n_pairs, n_wrong : int
        How many pairs were measured, and how many of them contradict the constant assumed.
    share_wrong : float
        The estimated share of pairs that are further apart than it allows.
    distances, differences, half_widths : ndarray
        Of every pair that was measured.
    unexplained : float
        What means of arms with equal features may differ by.
    """

    assumed: float
    smallest: float
    pair: tuple[ArmId, ArmId] | None
    n_pairs: int
    n_wrong: int
    share_wrong: float
    distances: Floats
    differences: Floats
    half_widths: Floats
    unexplained: float = 0.0

    @property
    def allowed(self) -> Floats:
        """The most that the means of every pair may differ by."""
        return np.hypot(self.unexplained, self.assumed * self.distances)

    def _repr_html_(self) -> str:
        return fields_card(self)


@dataclass(frozen=True, eq=False, repr=False)
class SideCheck:
    """Side information compared with ratings or rewards; the answer of `lsdt.check_side`.

    Attributes
    ----------
    n_relations, n_tested : int
        Similar and dissimilar pairs and ranges, and how many of them could be tested.
    n_wrong, n_right : int
        How many of these an interval contradicts or confirms.
    share_wrong : float
        The estimated share of wrong ones among those tested, open ones included; NaN without any.
    confidence : float
        With this probability all intervals hold.
    lipschitz : LipschitzCheck or None
        For side information from features.
    pairs : DataFrame
        A row per relation tested: a, b, relation, group, limit (empty for ranges), n, difference, low, high,
        verdict.

    Examples
    --------
    >>> import lsdt
    >>> log, _ = lsdt.ratings.make_log(n_users=3000, n_items=12, ratings_per_user=8, seed=1)
    >>> check = lsdt.check_side(lsdt.from_groups(["even", "odd"] * 6, epsilon=.1, arm_ids=range(12)), log)
    >>> sorted(set(check.pairs.relation)), check.lipschitz is None
    (['similar'], True)
    """

    n_relations: int
    confidence: float
    lipschitz: LipschitzCheck | None
    pairs: pd.DataFrame
    probabilities: Floats

    @property
    def n_tested(self) -> int:
        """Number of pairs tested."""
        return len(self.pairs)

    @property
    def n_wrong(self) -> int:
        """Number of pairs that an interval contradicts."""
        return int((self.pairs["verdict"] == "wrong").sum())

    @property
    def n_right(self) -> int:
        """Number of pairs that an interval confirms."""
        return int((self.pairs["verdict"] == "right").sum())

    @property
    def share_wrong(self) -> float:
        """The estimated share of wrong pairs."""
        return float(self.probabilities.mean()) if len(self.probabilities) else float("nan")

    def groups(self) -> pd.DataFrame:
        """Return a row per group: pairs tested, how many are wrong, the estimated share; worst first."""
        table = self.pairs.assign(estimate=self.probabilities, is_wrong=self.pairs["verdict"] == "wrong")
        table = table[table["relation"] == "similar"].dropna(subset=["group"])
        by_group = table.groupby("group").agg(
            tested=("estimate", "size"), wrong=("is_wrong", "sum"), share_wrong=("estimate", "mean")
        )
        found: pd.DataFrame = by_group.sort_values("share_wrong", ascending=False).reset_index()
        return found

    def __str__(self) -> str:
        lines = [
            f"{self.n_tested:,} of {counted(self.n_relations, 'relation')} can be tested: {self.n_wrong:,} "
            f"wrong, {self.n_right:,} right, the others open; all at once with confidence {self.confidence:g}"
        ]
        if self.n_tested:
            lines.append(f"about {self.share_wrong:.1%} of those tested are estimated to be wrong")
        if self.lipschitz is not None and self.lipschitz.n_pairs:
            found = self.lipschitz
            by = "" if found.pair is None else f" (by {found.pair[0]!r} and {found.pair[1]!r})"
            others = f"so is every one below {found.smallest:.3g}{by}"
            if np.isinf(found.smallest):
                others = f"no constant holds: arms with the same features have different means{by}"
            lines.append(
                f"the Lipschitz constant {found.assumed:g} is contradicted by {found.n_wrong:,} of "
                f"{counted(found.n_pairs, 'pair')}; {others}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"SideCheck({self.n_tested:,} pairs, {self.n_wrong:,} wrong, share_wrong={self.share_wrong:.3g})"
        )

    def _repr_html_(self) -> str:
        from lsdt.ratings.card import check_card

        return check_card(self)


def check_side(
    side: SideInformation, against: Any, *, confidence: float = 0.95, min_raters: int = 30
) -> SideCheck:
    """Test relations against a log of ratings, or against the rewards of an agent.

    Parameters
    ----------
    side : SideInformation
        What is to be tested: similar and dissimilar pairs whose epsilon is known, and ranges. From
        `lsdt.from_features` the Lipschitz constant is tested too, on all pairs, and from `lsdt.from_groups`
        every group (``check.groups()``).
    against : RatingLog, path, dataframe, array or Agent
        A log, as of `lsdt.ratings.read_log`, whose items are the arms; epsilon is then a share of its scale.
        Or an agent, whose rewards so far are compared in their own units.
    confidence : float
        The probability with which all intervals hold at once.
    min_raters : int
        Pairs with fewer common raters, or arms with fewer rewards, are not tested.

    Returns
    -------
    SideCheck
        ``share_wrong``, ``n_wrong``, ``pairs``, ``groups()``, ``lipschitz``; `lsdt.plotting.plot_check`
        draws it.

    Examples
    --------
    >>> import lsdt
    >>> log, _ = lsdt.ratings.make_log(n_users=3000, n_items=12, ratings_per_user=8, seed=1)
    >>> side = lsdt.from_groups(["even", "odd"] * 6, epsilon=.1, arm_ids=range(12))
    >>> check = lsdt.check_side(side, log)
    >>> check.n_relations, check.n_tested, check.n_wrong > 0
    (30, 30, True)
    """
    check_kind(side, SideInformation, "check_side takes a SideInformation")
    level = checked_share(confidence, "confidence")
    if not 0.0 < level < 1.0:
        raise InvalidInput(f"confidence must lie between 0 and 1; got {confidence!r}")
    least = checked_whole(min_raters, "min_raters", 2)
    if not side.has_epsilon and side.ranges is None:
        if side.beaten is not None and not side.n_similar + side.n_dissimilar:
            raise InvalidInput(
                "there are no relations to test; arms that were beaten in a log are no relations"
            )
        raise InvalidInput(
            "relations are tested by how far apart means are; give the side information an epsilon"
        )
    relations = _relations(side)
    pairs = relations.pairs
    features = side.evidence if isinstance(side.evidence, FeatureEvidence) else None
    if hasattr(against, "arm_statistics"):
        measured = _by_rewards(side, against, level, least, None if features is not None else pairs)
    else:
        measured = _by_log(side, against, level, least, None if features is not None else pairs)
    known, places = measured.at(pairs, side.n_arms)
    tested, some = relations.take(known), measured.take(places)
    from_below, from_above = some.difference - some.half_width, some.difference + some.half_width
    beyond = np.abs(some.difference) - some.half_width >= tested.limit
    within = np.abs(some.difference) + some.half_width < tested.limit
    verdict = np.where(beyond, -1, np.where(within, 1, 0)) * np.where(tested.word == 0, 1, -1)
    excluded = (from_above < tested.low) | (from_below > tested.high)
    contained = (from_below >= tested.low) & (from_above <= tested.high)
    signed = tested.word == 2
    verdict = np.where(signed, np.where(excluded, -1, np.where(contained, 1, 0)), verdict)
    wrong = np.zeros(len(verdict))
    for word in range(len(WORDS)):  # similar pairs differ less, so each kind has its own spread
        kind = tested.word == word
        alike, spread = some.take(kind), _spread(some.take(kind), np.zeros(int(kind.sum())))
        limit = tested.limit[kind]
        below, above = (tested.low[kind], tested.high[kind]) if word == 2 else (-limit, limit)
        outside = _chance_outside(alike, below, above, spread)
        wrong[kind] = 1.0 - outside if WORDS[word] == "dissimilar" else outside
    table = _table(side, tested, some, verdict)
    lipschitz = None if features is None else _lipschitz(side, features, measured)
    return SideCheck(len(pairs), level, lipschitz, table, wrong)


class _Relations(NamedTuple):
    """Pairs with their relation (its place in `WORDS`): a limit on the distance, or ends of a range."""

    pairs: NDArray[Any]
    word: NDArray[np.int64]
    limit: Floats
    low: Floats
    high: Floats

    def take(self, which: NDArray[np.bool_]) -> _Relations:
        """Return some of the relations."""
        return _Relations._make(column[which] for column in self)


def _relations(side: SideInformation) -> _Relations:
    """Return all similar and dissimilar pairs, if their thresholds are known, and all ranges."""
    none = np.zeros((0, 2), np.int32)
    similar, dissimilar = none, none
    if side.has_epsilon:
        similar, dissimilar = side.similar_pairs(), side.dissimilar_pairs()
    known = side.ranges
    signed = none if known is None else known.pairs
    values, sizes = side.thresholds, [len(similar), len(dissimilar), len(signed)]
    limits = np.full(sum(sizes), np.nan)
    near = sizes[0] + sizes[1]
    limits[:near] = side.epsilon if values is None else np.concatenate([values.similar, values.dissimilar])
    low, high = np.full(sum(sizes), np.nan), np.full(sum(sizes), np.nan)
    if known is not None:
        low[near:], high[near:] = known.low, known.high
    word = np.repeat(np.arange(3), sizes)
    return _Relations(np.concatenate([similar, dissimilar, signed]), word, limits, low, high)


def _by_log(
    side: SideInformation, log: Any, level: float, least: int, wanted: NDArray[Any] | None
) -> _Measured:
    """Return the differences that the common raters of two items show, on the scale from 0 to 1."""
    statistics = pair_statistics(as_log(log, side.scale), least)
    known = {side.label(arm): arm for arm in range(side.n_arms)}
    arm_of = np.array([known.get(item, -1) for item in statistics.item_ids], np.int64)
    if (arm_of < 0).all():
        raise InvalidInput("none of the items rated is an arm of the side information")
    arms = np.sort(np.stack([arm_of[statistics.first], arm_of[statistics.second]]), axis=0)
    sign = np.where(arm_of[statistics.first] <= arm_of[statistics.second], 1.0, -1.0)
    kept = arms[0] >= 0
    if wanted is not None:
        kept &= np.isin(arms[0] * side.n_arms + arms[1], _keys(wanted, side.n_arms))
    places = np.flatnonzero(kept)
    places = places[np.argsort(arms[0][places] * side.n_arms + arms[1][places])]
    raters, variance = statistics.raters[places], statistics.variance[places]
    difference = (sign * statistics.difference)[places]
    delta = (1.0 - level) / max(len(places), 1)
    widths = DifferenceIntervals("student", delta).half_widths(raters, difference, variance)
    counts = raters.astype(np.int64)
    errors = np.sqrt(variance / np.maximum(counts, 1))
    return _Measured(arms[0][places], arms[1][places], counts, difference, widths, errors)


def _by_rewards(
    side: SideInformation, agent: Any, level: float, least: int, wanted: NDArray[Any] | None
) -> _Measured:
    """Return the differences of the mean rewards of arms, which are independent of one another."""
    from scipy.special import stdtrit

    counts, means, variances = agent.arm_statistics()
    place = np.array([agent.side.index(side.label(arm)) for arm in range(side.n_arms)], np.int64)
    counts, means, variances = counts[place], means[place], variances[place]
    if wanted is None:
        first, second = np.triu_indices(side.n_arms, 1)
    else:
        keys = np.unique(_keys(wanted, side.n_arms))
        first, second = keys // side.n_arms, keys % side.n_arms
    kept = np.minimum(counts[first], counts[second]) >= least
    first, second = first[kept], second[kept]
    delta = (1.0 - level) / max(len(first), 1)
    # The guard of `statistics.intervals` against a few rewards that happen to agree.
    reach = 1.0 if agent.rewards.family == "bernoulli" else agent.rewards.sigma
    free = np.maximum(counts - 1, 1)
    guarded = np.nan_to_num(variances) + reach**2 * np.log(2.0 / delta) / free
    errors, wide = (
        np.sqrt(each[first] / counts[first] + each[second] / counts[second]) for each in (variances, guarded)
    )
    fewer = np.minimum(free[first], free[second]).astype(np.float64)
    widths = -stdtrit(fewer, delta / 2) * wide
    n = np.minimum(counts[first], counts[second])
    return _Measured(first, second, n, means[first] - means[second], widths, errors)


def _keys(pairs: NDArray[Any], n_arms: int) -> NDArray[np.int64]:
    return np.asarray(pairs[:, 0].astype(np.int64) * n_arms + pairs[:, 1])


def _spread(measured: _Measured, distances: Floats) -> Floats:
    """Return the variance of true differences: that of the measured ones beyond their errors.

    It may grow with the square of the distance of the features.
    """
    beyond = measured.difference**2 - measured.error**2
    grown = distances**2
    whole = max(float(beyond.mean()), 0.0) if len(beyond) else 0.0
    slope = 0.0
    if len(beyond) > 1 and np.ptp(grown) > 0.0:
        slope = max(float(np.cov(grown, beyond)[0, 1] / grown.var(ddof=1)), 0.0)
        slope = min(slope, whole / float(grown.mean()))
    return np.asarray(whole + slope * (grown - (grown.mean() if len(grown) else 0.0)))


def _chance_outside(measured: _Measured, low: Floats, high: Floats, spread: Floats) -> Floats:
    """Return the posterior probability of every pair that its true difference is outside low to high."""
    from scipy.special import ndtr

    noise = np.maximum(measured.error**2, 1e-300)
    weight = np.maximum(spread, 0.0) / (np.maximum(spread, 0.0) + noise)
    centre, width = weight * measured.difference, np.sqrt(np.maximum(weight * noise, 1e-300))
    return np.asarray(ndtr((low - centre) / width) + ndtr((centre - high) / width))


def _table(
    side: SideInformation, tested: _Relations, measured: _Measured, verdict: NDArray[np.int64]
) -> pd.DataFrame:
    import pandas as pd

    groups = side.evidence.groups if isinstance(side.evidence, GroupEvidence) else (None,) * side.n_arms
    return pd.DataFrame(
        {
            "a": [side.label(arm) for arm in tested.pairs[:, 0].tolist()],
            "b": [side.label(arm) for arm in tested.pairs[:, 1].tolist()],
            "relation": np.array(WORDS)[tested.word],
            "group": pd.Series([groups[arm] for arm in tested.pairs[:, 0].tolist()], dtype=object),
            "limit": tested.limit,
            "n": measured.n,
            "difference": measured.difference,
            "low": measured.difference - measured.half_width,
            "high": measured.difference + measured.half_width,
            "verdict": [VERDICTS[int(each)] for each in verdict],
        }
    )


def _lipschitz(side: SideInformation, features: FeatureEvidence, measured: _Measured) -> LipschitzCheck:
    distances = features.distances(measured.first, measured.second)
    least = np.maximum(np.abs(measured.difference) - measured.half_width, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(least > 0.0, least / distances, 0.0)
    allowed = features.allowed(distances)
    at = int(np.argmax(slopes)) if len(slopes) else 0
    smallest = float(slopes[at]) if len(slopes) else 0.0
    pair = (side.label(int(measured.first[at])), side.label(int(measured.second[at]))) if smallest else None
    beyond = _chance_outside(measured, -allowed, allowed, _spread(measured, distances))
    return LipschitzCheck(
        features.lipschitz,
        smallest,
        pair,
        len(distances),
        int((least > allowed).sum()),
        float(beyond.mean()) if len(beyond) else float("nan"),
        distances,
        measured.difference,
        measured.half_width,
        features.unexplained,
    )
