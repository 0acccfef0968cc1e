"""Side information from features of the arms and a bound on how fast the mean reward changes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import checked_count, checked_epsilon, checked_list, checked_positive, checked_word
from lsdt.errors import InvalidInput, listed, suggest
from lsdt.side_information.arms import ArmNames
from lsdt.side_information.layouts.adjacency import adjacency_of_pairs
from lsdt.side_information.layouts.stores import known_store
from lsdt.side_information.side_information import SideInformation
from lsdt.side_information.sources.near_points import NORMS, SMALLEST_RADIUS, near_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId

METRICS = (*NORMS, "cosine")
_ORDERS = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}
_TOLERANCE = 1e-9  # parts of epsilon, as in lsdt.from_means
_ROUNDING = 4e-16  # of a coordinate of a normalised vector: a few times the precision of floats, 1.1e-16
_FEWER = "use a smaller epsilon, a larger lipschitz constant, or fewer arms"


class FeatureEvidence(NamedTuple):
    """What side information from features rests on; `SideInformation.evidence`.

    Attributes
    ----------
    points : ndarray
        The features, a row per arm; of unit length for the cosine.
    lipschitz : float
        The constant that was assumed.
    metric : str
        The distance.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_features([[0., 0.], [3., 4.]], lipschitz=.05, epsilon=.1)
    >>> side.evidence.lipschitz, side.evidence.distances([0], [1]).tolist()
    (0.05, [5.0])
    """

    points: NDArray[np.float64]
    lipschitz: float
    metric: str

    def distances(self, first: Any, second: Any) -> NDArray[np.float64]:
        """Return the distances of some pairs of arms, given by index."""
        apart = np.abs(self.points[np.asarray(first)] - self.points[np.asarray(second)])
        if self.metric == "cosine":
            return np.asarray(0.5 * np.square(apart).sum(axis=1))
        return np.asarray(np.linalg.norm(apart, _ORDERS[self.metric], axis=1))

    def among(self, arms: NDArray[np.int64]) -> FeatureEvidence:
        """Return the evidence about some of the arms."""
        return self._replace(points=self.points[arms])

    def _repr_html_(self) -> str:
        return fields_card(self)


def from_features(
    X: Any,  # noqa: N803  what features are called everywhere
    lipschitz: float,
    epsilon: float,
    arm_ids: Sequence[ArmId] | str | None = None,
    metric: str = "euclidean",
) -> SideInformation:
    """Make side information from features or embeddings of the arms.

    If mean rewards differ by at most ``lipschitz * distance``, two arms with ``lipschitz * distance <
    epsilon`` are similar. That is all that follows: a Lipschitz constant bounds how far means *can* be apart
    and never says that they *are*. Arms with different features may well have equal means, so no pair is ever
    called dissimilar, and the rest is unknown. Dissimilar pairs, without which no arm can be ruled out, come
    from another source, through `merge`.

    Parameters
    ----------
    X : array_like of shape (arms, features), or dataframe
        Finite numbers; any dataframe that narwhals knows, one row an arm.
    lipschitz : float
        The bound, per unit of distance. This is your assumption: if it is too small, wrong relations
        follow, and they may rule out the best arm. `lsdt.check_side` tests it against a log or rewards.
    epsilon : float
        The threshold. Pairs that fall short of it by no more than one part in 10^9 do not count as similar.
    arm_ids : sequence of str or of int, or str, optional
        Names of the arms; for a dataframe also the name of the column that holds them.
    metric : {'euclidean', 'manhattan', 'chebyshev', 'cosine'}
        The distance. Cosine is one minus the cosine of the angle; as it grows with the square of the angle,
        a constant for it holds between the arms given, and need not for arms in between.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_features([[0., 0.], [0., 1.], [3., 4.]], lipschitz=.05, epsilon=.1)
    >>> side, side.relation(0, 1), side.relation(0, 2)
    (SideInformation(3 arms, 1 similar pair, 0 dissimilar pairs, partial, epsilon=0.1), 'similar', None)
    """
    epsilon = checked_epsilon(epsilon)
    lipschitz = checked_positive(lipschitz, "lipschitz", ", the most that means differ per unit of distance")
    checked_word(metric, "metric", METRICS)
    points, ids = _points_of(X, arm_ids)
    names = ArmNames(checked_count(len(points)), ids)
    radius = epsilon / lipschitz * (1.0 - _TOLERANCE)
    if metric == "cosine":
        points, radius = _directions(points), (2.0 * radius) ** 0.5 - _ROUNDING * points.shape[1] ** 0.5
    if radius < SMALLEST_RADIUS:
        raise InvalidInput(f"epsilon / lipschitz must not be as small as {epsilon / lipschitz:g}; rescale")
    pairs = near_pairs(points, radius, NORMS.get(metric, NORMS["euclidean"]), _FEWER)
    similar, dissimilar = (adjacency_of_pairs(listed, len(points)) for listed in (pairs, pairs[:0]))
    evidence = FeatureEvidence(points, lipschitz, metric)
    return SideInformation._of(known_store(len(points), similar, dissimilar), names, epsilon, evidence)


def _points_of(given: Any, arm_ids: Any) -> tuple[NDArray[np.float64], list[ArmId] | None]:
    """Return one row of features per arm, and the ids."""
    is_array = isinstance(given, (np.ndarray, list, tuple))
    frame = None if is_array else _narwhals_frame(given)
    if frame is not None:
        return _points_of_frame(frame, arm_ids)
    if isinstance(arm_ids, str):
        raise InvalidInput(f"arm_ids={arm_ids!r} names a column, and X is no dataframe; give a list of ids")
    try:
        values = np.asarray(given)
    except ValueError as error:
        raise InvalidInput(f"X must be a table of numbers, one row per arm: {error}") from None
    names = [f"feature {number}" for number in range(values.shape[1])] if values.ndim == 2 else []
    return _checked_points(values, names), _ids_of(arm_ids)


def _ids_of(arm_ids: Any) -> list[ArmId] | None:
    """Return the ids as a list, or None if none are given."""
    return None if arm_ids is None else checked_list(arm_ids, "arm_ids", "ids, one per arm")


def _narwhals_frame(given: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(given)
    except TypeError:
        return None


def _is_number(kind: Any) -> bool:
    import narwhals as nw

    return bool(kind.is_numeric()) or kind == nw.Boolean


def _points_of_frame(frame: Any, arm_ids: Any) -> tuple[NDArray[np.float64], list[ArmId] | None]:
    import narwhals as nw

    eager = frame.collect() if hasattr(frame, "collect") else frame
    names = list(eager.columns)
    if isinstance(arm_ids, str):
        if arm_ids not in names:
            raise InvalidInput(
                f"there is no column {arm_ids!r}; found {listed(names, arm_ids)}{suggest(arm_ids, names)}"
            )
        names.remove(arm_ids)
        arm_ids = eager[arm_ids].to_list()
    words = [name for name in names if not _is_number(eager[name].dtype)]
    if words:
        hint = "; name the column of ids with arm_ids=" if arm_ids is None else ""
        raise InvalidInput(f"features must be numbers; the columns {words} are not{hint}")
    columns = [eager[name].cast(nw.Float64).to_numpy() for name in names]
    values = np.column_stack(columns) if columns else np.zeros((len(eager), 0))
    return _checked_points(values, [f"column {name!r}" for name in names]), arm_ids


def _checked_points(values: NDArray[Any], names: list[str]) -> NDArray[np.float64]:
    if values.ndim != 2 or 0 in values.shape:
        hint = "; one feature per arm is a table with one column" if values.ndim == 1 else ""
        raise InvalidInput(
            f"X must be a table, a row per arm and a column per feature; got the shape {values.shape}{hint}"
        )
    if values.dtype.kind not in "iufb":
        raise InvalidInput(f"features must be numbers; got an array of {values.dtype}")
    points = np.ascontiguousarray(values, np.float64)
    bad = ~np.isfinite(points)
    if bad.any():
        arm, feature = map(int, np.argwhere(bad)[0])
        value = points[arm, feature]
        raise InvalidInput(f"features must be finite; arm {arm} has {value} in {names[feature]}")
    return points


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
