"""Side information from features of the arms and a bound on how fast the mean reward changes with them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import (
    checked_count,
    checked_epsilon,
    checked_list,
    checked_number,
    checked_positive,
    checked_share_inside,
    checked_whole,
    checked_word,
)
from lsdt.errors import InvalidInput, SideWarning
from lsdt.side_information.arms import ArmNames
from lsdt.side_information.layouts.adjacency import adjacency_of_pairs
from lsdt.side_information.layouts.ranges import join_ranges
from lsdt.side_information.layouts.stores import known_store
from lsdt.side_information.origin import StatedRisk
from lsdt.side_information.side_information import SideInformation
from lsdt.side_information.sources.feature_table import points_of
from lsdt.side_information.sources.lipschitz import LipschitzEstimate, estimate_lipschitz
from lsdt.side_information.sources.near_points import NORMS, SMALLEST_RADIUS, near_pairs
from lsdt.side_information.sources.nearest_points import nearest_pairs
from lsdt.side_information.sources.pilots import read_pilot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId
    from lsdt.side_information.sources.feature_table import FeatureTable

METRICS = (*NORMS, "cosine")
# Regret of soft closure on the embeddings of `beyond-pairs-features`, 20,000 rounds, six draws other than
# those reported, two runs each: 295 with 12 neighbours, 272 with 40, 271 with 120; 32 was not tried.
_NEIGHBOURS = 32
_ORDERS = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}
_TOLERANCE = 1e-9  # parts of epsilon, as in lsdt.from_means
_ROUNDING = 4e-16  # of a coordinate of a normalised vector: a few times the precision of floats, 1.1e-16
_SQUARED = (1e-100, 1e100)  # between these, squares and their sums neither vanish nor overflow
_PAIRS_AT_ONCE = 2**18  # whose features are compared at once: 128 MiB with 64 features
_FEWER = "use a smaller epsilon, a larger lipschitz constant, or fewer arms"
_NO_CONSTANT = (
    "lipschitz='auto' estimates the constant from a pilot: a table with columns arm, mean and se or arm, "
    "successes and trials, a rating log, or an agent with rewards. Give one, or the constant itself"
)


class FeatureEvidence(NamedTuple):
    """What side information from features rests on; `SideInformation.evidence`.

    Attributes
    ----------
    points : ndarray
        The features, a row per arm; of unit length for the cosine, multiplied by the constants if there is
        one for each feature.
    lipschitz : float
        The constant that was assumed or estimated; 1 if there is one for each feature.
    metric : str
        The distance.
    unexplained : float
        What means of arms with equal features may differ by.
    risk : float or None
        The probability of a wrong relation, if the constant was estimated; None if it was assumed.
    estimate : LipschitzEstimate or None
        How it was estimated, and how that went on held-out pairs.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_features([[0., 0.], [3., 4.]], lipschitz=.05)
    >>> side.evidence.lipschitz, side.evidence.distances([0], [1]).tolist()
    (0.05, [5.0])
    """

    points: NDArray[np.float64]
    lipschitz: float
    metric: str
    unexplained: float = 0.0
    risk: float | None = None
    estimate: LipschitzEstimate | None = None

    @property
    def risks(self) -> tuple[StatedRisk, ...]:
        """What may be wrong, for `SideInformation.risks`; empty if the constant was assumed."""
        return () if self.risk is None else (StatedRisk("a range from features is wrong", self.risk),)

    def distances(self, first: Any, second: Any) -> NDArray[np.float64]:
        """Return the distances of some pairs of arms, given by index."""
        apart = self.points[np.asarray(first)] - self.points[np.asarray(second)]
        return _lengths(apart, self.metric)

    def allowed(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the most that means at these distances differ."""
        return np.hypot(self.unexplained, self.lipschitz * distances)

    def among(self, arms: NDArray[np.int64]) -> FeatureEvidence:
        """Return the evidence about some of the arms."""
        return self._replace(points=self.points[arms])

    def __str__(self) -> str:
        if self.estimate is not None:
            return str(self.estimate)
        bound = f"{self.lipschitz:.3g} x distance"
        if self.unexplained:
            bound = f"sqrt({self.unexplained:.3g}^2 + ({bound})^2)"
        return f"means differ by at most {bound}, which is assumed"

    def __repr__(self) -> str:
        n_arms, n_features = self.points.shape
        return f"FeatureEvidence({n_arms:,} arms, {n_features:,} features, lipschitz={self.lipschitz:.3g})"

    def _repr_html_(self) -> str:
        return fields_card(self)


def from_features(
    X: Any,  # noqa: N803  what features are called everywhere
    lipschitz: float | str | Sequence[float] = "auto",
    epsilon: float | None = None,
    arm_ids: Sequence[ArmId] | str | None = None,
    metric: str | None = None,
    n_neighbours: int = _NEIGHBOURS,
    increasing: Any = (),
    decreasing: Any = (),
    pilot: Any = None,
    risk: float = 0.05,
    unexplained: float = 0.0,
) -> SideInformation:
    """Make side information from features or embeddings of the arms.

    If mean rewards differ by at most ``lipschitz * distance``, every arm and its nearest neighbours get the
    range from ``-lipschitz * distance`` to ``lipschitz * distance``; ranges between arms further apart
    follow. Such ranges rule out no arm by themselves. They let one reward say something about many arms, and
    with ranges from elsewhere (`merge`) they rule out arms.

    Parameters
    ----------
    X : array_like of shape (arms, features), dataframe, or path
        Finite numbers; any dataframe that narwhals knows, one row an arm. A path is that of a ``.npy``,
        ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` file.
    lipschitz : float, sequence of float, or 'auto'
        The bound, per unit of distance. One for each feature means that the mean changes by at most the sum
        of these, each times the difference in its feature. This is your assumption: if it is too small,
        wrong ranges follow, and they may rule out the best arm. ``'auto'`` estimates it from `pilot`.
    epsilon : float, optional
        If given, pairs with ``lipschitz * distance < epsilon`` are similar, and there are no ranges: what the
        paper's policies read. Pairs that fall short of it by no more than one part in 10^9 do not count.
    arm_ids : sequence of str or of int, or str, optional
        Names of the arms; for a table also the name of the column that holds them, by default ``"arm"``. A
        file must have one, a dataframe may.
    metric : {'euclidean', 'manhattan', 'chebyshev', 'cosine'}, optional
        The distance; Euclidean by default, and Manhattan where every feature has a constant. Cosine is one
        minus the cosine of the angle; as it grows with the square of the angle, a constant for it holds
        between the arms given, and need not for arms in between.
    n_neighbours : int
        How many near arms every arm is compared with.
    increasing, decreasing : list of features
        Features with which the mean never falls, or never rises, all others being equal: numbers of columns,
        or their names in a dataframe. Arms that are ahead in these and equal in the others are `better`, and
        ranges become narrower on one side.
    pilot : table, RatingLog or Agent, optional
        Means of some arms, at least 20, for ``lipschitz='auto'``: rows as `from_experiments` takes them, a
        log, or an agent that has been told rewards. It should look like the other arms, and be no further
        apart than these; the more precise it is, the smaller the constant.
    risk : float
        For ``lipschitz='auto'``: the probability that any of the ranges is wrong. It assumes that slopes are
        about normal from pair to pair, and it is checked on pairs that are held out.
    unexplained : float
        What means of arms with equal features may differ by; at a distance the bound is
        ``sqrt(unexplained**2 + (lipschitz * distance)**2)``. Estimated by ``'auto'``.

    Returns
    -------
    SideInformation
        Its ``evidence`` is a `FeatureEvidence`; `lsdt.check_side` tests it against a log or rewards.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_features([[0., 0.], [0., 1.], [3., 4.]], lipschitz=.05)
    >>> side, side.difference(0, 2)
    (SideInformation(3 arms, 0 similar pairs, 0 dissimilar pairs, 3 ranges, partial), (-0.25, 0.25))
    >>> lsdt.from_features([[0., 0.], [0., 1.], [3., 4.]], lipschitz=.05, epsilon=.1)
    SideInformation(3 arms, 1 similar pair, 0 dissimilar pairs, partial, epsilon=0.1)
    >>> import numpy as np, pandas as pd
    >>> rooms = pd.DataFrame({"size": [20, 25, 40], "floor": [1, 1, 3]}, index=["a", "b", "c"])
    >>> side = lsdt.from_features(rooms, [.01, .05], increasing=["size"], arm_ids=list(rooms.index))
    >>> np.round([side.difference("b", "a"), side.difference("c", "a")], 9).tolist()
    [[0.0, 0.05], [-0.1, 0.3]]
    """
    table = points_of(X, arm_ids)
    names = ArmNames(checked_count(len(table.points)), table.arm_ids)
    given, metric = _constants(lipschitz, metric, table)
    signs = _signs(table, increasing, decreasing)
    risk = checked_share_inside(risk, "risk")
    unexplained = checked_number(unexplained, "unexplained", at_least=0.0)
    n_neighbours = checked_whole(n_neighbours, "n_neighbours", 1)
    if metric == "cosine" and signs.any():
        raise InvalidInput(
            "a direction has no single feature that grows; use another metric with increasing="
        )
    points = _directions(table.points) if metric == "cosine" else table.points
    if given.ndim:
        with np.errstate(over="ignore"):
            points = points * given
    constant = 1.0 if given.ndim else float(given)
    if not np.isfinite(points).all():
        raise InvalidInput("lipschitz times a feature must be a finite number; rescale")
    evidence = FeatureEvidence(points, constant, metric, unexplained)
    if epsilon is not None:
        if np.isnan(constant) or signs.any() or unexplained:
            raise InvalidInput(
                "with epsilon, pairs are similar by a given constant alone; leave epsilon out to use "
                "lipschitz='auto', increasing, decreasing or unexplained"
            )
        return _similar_pairs(evidence, names, checked_epsilon(epsilon))
    pairs = _listed_pairs(points, signs, n_neighbours)
    if np.isnan(constant):
        if pilot is None:
            raise InvalidInput(_NO_CONSTANT)
        distances = _in_blocks(lambda part: evidence.distances(*part.T), pairs)[:, 0]
        known = read_pilot(pilot, names)
        found = estimate_lipschitz(known, points, evidence.distances, distances, n_neighbours, risk)
        evidence = FeatureEvidence(points, found.lipschitz, metric, found.unexplained, risk, found)
        _warn_of_pilot(found, evidence.allowed(distances), float(np.ptp(known.mean)))
    elif pilot is not None:
        raise InvalidInput("a pilot is for lipschitz='auto'; test a constant of yours with lsdt.check_side")
    else:
        _warn_of_equals(evidence, pairs)
    return _ranges(evidence, pairs, signs, names)


def _constants(lipschitz: Any, metric: str | None, table: FeatureTable) -> tuple[NDArray[np.float64], str]:
    """Return the constant (NaN if it is to be estimated), or one for each feature, and the metric."""
    if isinstance(lipschitz, (list, tuple, np.ndarray)):
        each = checked_list(lipschitz, "lipschitz", "constants, one per feature")
        if len(each) != len(table.names):
            raise InvalidInput(
                f"lipschitz must be one constant, or one for each of the {len(table.names)} features; got "
                f"{len(each)}"
            )
        metric = checked_word("manhattan" if metric is None else metric, "metric", METRICS)
        if metric == "cosine":
            raise InvalidInput(
                "a direction has one constant; got lipschitz= for each feature with the cosine"
            )
        meaning = ", the most that means differ per unit of a feature"
        return np.array([checked_positive(value, "lipschitz", meaning) for value in each]), metric
    metric = checked_word("euclidean" if metric is None else metric, "metric", METRICS)
    if isinstance(lipschitz, str) and lipschitz == "auto":
        return np.array(np.nan), metric
    meaning = ", the most that means differ per unit of distance, or 'auto'"
    return np.array(checked_positive(lipschitz, "lipschitz", meaning)), metric


def _signs(table: FeatureTable, increasing: Any, decreasing: Any) -> NDArray[np.int64]:
    """Return for every feature 1 if means rise with it, -1 if they fall, else 0."""
    up, down = table.axes(increasing, "increasing"), table.axes(decreasing, "decreasing")
    both = np.intersect1d(up, down)
    if len(both):
        raise InvalidInput(f"feature {table.names[both[0]]!r} is both increasing and decreasing; choose one")
    signs = np.zeros(len(table.names), np.int64)
    signs[up], signs[down] = 1, -1
    return signs


def _similar_pairs(evidence: FeatureEvidence, names: ArmNames, epsilon: float) -> SideInformation:
    """Return the pairs that the constant makes similar; warn if there are none."""
    points, metric = evidence.points, evidence.metric
    radius = epsilon / evidence.lipschitz * (1.0 - _TOLERANCE)
    if metric == "cosine":
        radius = (2.0 * radius) ** 0.5 - _ROUNDING * points.shape[1] ** 0.5
    if radius < SMALLEST_RADIUS:
        raise InvalidInput(
            f"epsilon / lipschitz must not be as small as {epsilon / evidence.lipschitz:g}; rescale"
        )
    pairs = near_pairs(points, radius, NORMS.get(metric, NORMS["euclidean"]), _FEWER)
    if not len(pairs) and len(points) > 1:
        warnings.warn(
            f"no two arms are less than epsilon / lipschitz = {epsilon / evidence.lipschitz:.4g} apart, so "
            "that no pair is similar and the features say nothing. Leave epsilon out: every arm then gets "
            "ranges to its nearest neighbours, however far they are",
            SideWarning,
            stacklevel=3,
        )
    similar, dissimilar = (adjacency_of_pairs(listed, len(points)) for listed in (pairs, pairs[:0]))
    return SideInformation._of(known_store(len(points), similar, dissimilar), names, epsilon, evidence)


def _listed_pairs(
    points: NDArray[np.float64], signs: NDArray[np.int64], n_neighbours: int
) -> NDArray[np.int64]:
    """Return the pairs to compare: neighbours, and arms that are ahead in the monotone features."""
    pairs = nearest_pairs(points, n_neighbours)
    if not signs.any():
        return pairs
    turned = points * np.where(signs == 0, 1, signs)
    ahead = nearest_pairs(points[:, signs == 0], n_neighbours, turned[:, signs != 0])
    return np.unique(np.concatenate([pairs, ahead]), axis=0)


def _ranges(
    evidence: FeatureEvidence, pairs: NDArray[np.int64], signs: NDArray[np.int64], names: ArmNames
) -> SideInformation:
    """Return the ranges of the listed pairs.

    With monotone features, go from one arm to the other in two steps: first change the monotone features in
    the direction that raises the mean, then everything else. Only the second step can lower it, by at most
    its own length times the constant.
    """

    def both_ways(part: NDArray[np.int64]) -> NDArray[np.float64]:
        apart = evidence.points[part[:, 0]] - evidence.points[part[:, 1]]
        ahead = apart * signs
        losses = _lengths(np.where((signs != 0) & (ahead > 0.0), 0.0, apart), evidence.metric)
        gains = _lengths(np.where((signs != 0) & (ahead < 0.0), 0.0, apart), evidence.metric)
        return np.column_stack([losses, gains])

    losses, gains = _in_blocks(both_ways, pairs, 2).T
    low, high = -evidence.allowed(losses), evidence.allowed(gains)
    ahead = (low == 0.0) & (high > 0.0)
    behind = (high == 0.0) & (low < 0.0)
    better = np.concatenate([pairs[ahead], pairs[behind][:, ::-1]])
    known = join_ranges(better, pairs, low, high, names)
    none = adjacency_of_pairs(pairs[:0], names.n_arms)
    store = known_store(names.n_arms, none, none).with_ranges(known)
    return SideInformation._of(store, names, None, evidence)


def _in_blocks(measure: Any, pairs: NDArray[np.int64], width: int = 1) -> NDArray[np.float64]:
    """Return `measure` of all pairs, computed for some of them at a time."""
    found = np.empty((len(pairs), width))
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        part = pairs[start : start + _PAIRS_AT_ONCE]
        found[start : start + len(part)] = measure(part).reshape(len(part), width)
    return found


def _lengths(apart: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    """Return the lengths of differences of points."""
    if metric == "cosine":
        return np.asarray(0.5 * np.square(apart).sum(axis=1))
    largest = float(np.abs(apart).max(initial=0.0))
    if not largest or _SQUARED[0] < largest < _SQUARED[1]:
        return np.asarray(np.linalg.norm(apart, _ORDERS[metric], axis=1))
    power = int(np.frexp(largest)[1])  # powers of 2 leave the digits as they are
    return np.asarray(np.ldexp(np.linalg.norm(np.ldexp(apart, -power), _ORDERS[metric], axis=1), power))


def _warn_of_equals(evidence: FeatureEvidence, pairs: NDArray[np.int64]) -> None:
    """Warn if arms have equal features, and so equal means by a given constant."""
    if evidence.unexplained or not len(pairs):
        return
    same = pairs[_in_blocks(lambda part: evidence.distances(*part.T), pairs)[:, 0] == 0.0]
    if len(same):
        n_arms = len(np.unique(same))
        warnings.warn(
            f"{n_arms:,} of {len(evidence.points):,} arms have the same features as another one, so that "
            "their means count as equal; if they need not be, give unexplained=, what such means may differ "
            "by",
            SideWarning,
            stacklevel=3,
        )


def _warn_of_pilot(found: LipschitzEstimate, widths: NDArray[np.float64], spread: float) -> None:
    """Warn where the estimate may be wrong, or says nothing."""
    texts = []
    if found.n_contradicting:
        texts.append(
            f"{found.n_contradicting} held-out pairs of the pilot differ by more than the bound that the "
            "others suggest, so that means change faster in some places than normal slopes would; use a "
            "smaller risk, or lsdt_watchful, which believes ranges only as far as rewards allow"
        )
    if found.is_nearer:
        texts.append(
            "the arms of the pilot are twice as far apart as those that get ranges, so that the constant is "
            "extrapolated; measure arms that are near one another too"
        )
    if len(widths) and np.median(widths) >= spread:
        texts.append(
            f"half of the ranges are wider than the spread of all means of the pilot ({spread:.3g}), and say "
            "almost nothing: the pilot is too imprecise, or the features explain too little"
        )
    for text in texts:
        warnings.warn(text, SideWarning, stacklevel=3)


def _directions(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points on the unit sphere: 1 - cosine is half the squared distance there."""
    largest = np.abs(points).max(axis=1)
    if not largest.all():
        arm = int(np.argmin(largest))
        raise InvalidInput(f"the cosine needs a direction, and all features of arm {arm} are 0; leave it out")
    points = points / largest[:, None]  # so that squares neither overflow nor vanish
    lengths = np.linalg.norm(points, axis=1)
    directions: NDArray[np.float64] = points / lengths[:, None]
    return directions
