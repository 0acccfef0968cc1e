"""Distinct thresholds: for every pair its own limit on how near or how far apart its arms are.

With one epsilon, similar means ``|mu_a - mu_b| < epsilon`` and dissimilar ``>= epsilon``. Here every pair has
its own threshold. A pair may then be in both relations, if its dissimilar threshold is below its similar one:
its distance lies in a known range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt.errors import InvalidInput
from lsdt.side_information.layouts import thresholds_kernel as kernel
from lsdt.side_information.layouts.adjacency import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmNames
    from lsdt.side_information.layouts.adjacency import Adjacency

    Pairs = NDArray[np.integer[Any]]

_ACCEPTED = (
    "epsilon must be a number, a tuple (similar, dissimilar) of two thresholds, each a number or one number "
    "for every listed pair, or a symmetric array with a row and a column per arm"
)
DISTINCT = "takes one epsilon for all pairs, and this side information has distinct thresholds"


class Thresholds(NamedTuple):
    """The thresholds of a store: one number per entry of ``indices``, or one for all of them.

    The number of an entry is ``similar[place * stride]``, with stride 0 where the length is 1. Read-only. A
    relation without pairs holds the other's largest number as a placeholder.
    """

    similar: NDArray[np.float64]
    dissimilar: NDArray[np.float64]

    def __reduce__(self) -> tuple[Any, ...]:
        return thresholds_of_entries, (self.similar, self.dissimilar)  # read-only again after unpickling

    @property
    def smallest(self) -> float:
        """The smallest threshold of all."""
        return float(min(self.similar.min(), self.dissimilar.min()))

    @property
    def largest(self) -> float:
        """The largest threshold of all."""
        return float(max(self.similar.max(), self.dissimilar.max()))

    @property
    def is_one(self) -> bool:
        """Whether all thresholds are the same: one epsilon."""
        return self.smallest == self.largest


class PairThresholds(NamedTuple):
    """Thresholds by pair, in the order of ``similar_pairs()`` and of ``dissimilar_pairs()``.

    `SideInformation` takes them as its `epsilon`, together with these lists of pairs.

    Attributes
    ----------
    similar : array
        The distance below which each similar pair lies.
    dissimilar : array
        The least possible distance of each dissimilar pair.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(1, 2)], epsilon=(.3, .1))
    >>> side.thresholds
    PairThresholds(similar=array([0.3]), dissimilar=array([0.1]))
    """

    similar: NDArray[np.float64]
    dissimilar: NDArray[np.float64]

    def _repr_html_(self) -> str:
        return fields_card(self)


def limits_of(thresholds: Thresholds | None, epsilon: float | None) -> Thresholds:
    """Return the thresholds, or one epsilon in their form: 1, in units of epsilon, if it is unknown."""
    one = np.array([1.0 if epsilon is None else epsilon])
    return Thresholds(one, one) if thresholds is None else thresholds


def thresholds_of_entries(similar: NDArray[np.float64], dissimilar: NDArray[np.float64]) -> Thresholds:
    """Return thresholds given per entry or per relation; a relation with equal thresholds stores one."""
    if not len(similar) and not len(dissimilar):
        raise ValueError("there are no pairs, hence no thresholds")
    known = [_once(values) for values in (similar, dissimilar)]
    for at in (0, 1):
        if not len(known[at]):
            known[at] = known[1 - at].max(keepdims=True)
    return Thresholds(*(frozen(values) for values in known))  # type: ignore[arg-type]


def _once(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[:1].copy() if len(values) > 1 and (values == values[0]).all() else values


def beside_rows(
    graph: Adjacency, pairs: Pairs, values: NDArray[np.float64], word: str
) -> NDArray[np.float64]:
    """Return the threshold of every entry of a graph, given those of the listed pairs.

    If a pair is listed more than once, all its thresholds hold, so the tightest counts: the smallest for
    ``'similar'``, the largest for ``'dissimilar'``.
    """
    listed = frozen(np.asarray(pairs, np.int64))
    return kernel.over_rows(*graph, listed, frozen(values), word == "dissimilar")


def by_pair(graph: Adjacency, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the thresholds in the order of ``graph.pairs()``, given those of its entries."""
    if len(values) == 1:
        return np.full(graph.n_pairs, values[0])
    rows = np.repeat(np.arange(len(graph.indptr) - 1, dtype=np.int32), np.diff(graph.indptr))
    return values[graph.indices > rows]


def at_pair(graph: Adjacency, values: NDArray[np.float64], first: int, second: int) -> float | None:
    """Return the threshold of one pair, or None if it is not in the graph."""
    row = graph.neighbours(first)
    place = int(np.searchsorted(row, second))
    if place == len(row) or row[place] != second:
        return None
    return float(values[(graph.indptr[first] + place) * (len(values) > 1)])


def at_pairs(
    graph: Adjacency, values: NDArray[Any], pairs: NDArray[np.int32], otherwise: float | np.int64
) -> NDArray[Any]:
    """Return the threshold of each of many pairs, or `otherwise` if it is not in the graph."""
    n_arms = len(graph.indptr) - 1
    known = np.repeat(np.arange(n_arms, dtype=np.int64) * n_arms, np.diff(graph.indptr))
    known += graph.indices
    wanted = pairs[:, 0].astype(np.int64) * n_arms + pairs[:, 1]
    if not len(known):
        return np.full(len(wanted), otherwise)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[place] == wanted, values[place * (len(values) > 1)], otherwise)


def among(graph: Adjacency, values: NDArray[np.float64], arms: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the thresholds of the entries of a graph among ascending `arms`."""
    inside = np.zeros(len(graph.indptr) - 1, bool)
    inside[arms] = True
    kept = np.repeat(inside, np.diff(graph.indptr)) & inside[graph.indices]
    return values[kept] if len(values) > 1 else np.full(int(kept.sum()), values[0])


def check_ranges(similar: Adjacency, dissimilar: Adjacency, found: Thresholds, names: ArmNames) -> None:
    """Refuse a pair in both relations whose thresholds leave no possible distance."""
    left, right = kernel.first_empty_range(*similar, found.similar, *dissimilar, found.dissimilar)
    if left < 0:
        return
    arm = int(np.searchsorted(similar.indptr, left, side="right")) - 1
    first, second = names.label(arm), names.label(int(similar.indices[left]))
    below = found.similar[left * (len(found.similar) > 1)]
    least = found.dissimilar[right * (len(found.dissimilar) > 1)]
    raise InvalidInput(
        f"the pair ({first!r}, {second!r}) is listed both as similar (less than {below:g} apart) and as "
        f"dissimilar (at least {least:g} apart): no distance satisfies both; keep one of the two, or correct "
        "a threshold"
    )


def is_distinct(epsilon: Any) -> bool:
    """Return whether an epsilon from a user is more than one number."""
    return isinstance(epsilon, (tuple, list)) or (hasattr(epsilon, "__array__") and np.ndim(epsilon) > 0)


def thresholds_of_epsilon(epsilon: Any, similar: Pairs, dissimilar: Pairs, names: ArmNames) -> PairThresholds:
    """Return one threshold for every listed pair, from an epsilon that is a tuple or an array."""
    listed = {"similar": similar, "dissimilar": dissimilar}
    if isinstance(epsilon, tuple):
        if len(epsilon) != 2:
            raise InvalidInput(f"{_ACCEPTED}; got a tuple of {len(epsilon)}")
        given = [
            _one_each(values, len(pairs), word)
            for values, (word, pairs) in zip(epsilon, listed.items(), strict=True)
        ]
    else:
        matrix = _symmetric(epsilon, names)
        given = [matrix[pairs[:, 0], pairs[:, 1]] for pairs in listed.values()]
    for values, (word, pairs) in zip(given, listed.items(), strict=True):
        wrong = ~((values > 0.0) & np.isfinite(values))
        if wrong.any():
            at = int(np.argmax(wrong))
            named = tuple(names.label(int(arm)) for arm in pairs[at])
            raise InvalidInput(
                f"thresholds must be positive and finite; that of the {word} pair {named} is {values[at]:g}"
            )
    return PairThresholds(*given)


def _one_each(values: Any, n_pairs: int, word: str) -> NDArray[np.float64]:
    numbers = _numbers(values)
    if numbers is None or numbers.ndim > 1 or (numbers.ndim == 1 and len(numbers) != n_pairs):
        got = repr(values) if numbers is None else f"an array of shape {numbers.shape}"
        raise InvalidInput(
            f"the {word} threshold must be a number, or one number for each of the {n_pairs} {word} pairs as "
            f"listed; got {got}"
        )
    if numbers.ndim == 0 and not (numbers > 0 and np.isfinite(numbers)):
        raise InvalidInput(f"thresholds must be positive and finite; the {word} one is {numbers:g}")
    return np.broadcast_to(numbers, n_pairs).astype(np.float64)


def _symmetric(epsilon: Any, names: ArmNames) -> NDArray[np.float64]:
    matrix = _numbers(epsilon)
    if matrix is None or matrix.shape != (names.n_arms, names.n_arms):
        got = "something else" if matrix is None else f"shape {matrix.shape} for {names.n_arms} arms"
        raise InvalidInput(f"{_ACCEPTED}; got {got}")
    differs = (matrix != matrix.T) & ~(np.isnan(matrix) & np.isnan(matrix.T))
    if differs.any():
        first, second = np.argwhere(differs)[0].tolist()
        raise InvalidInput(
            "an array of thresholds must be symmetric; the pair "
            f"({names.label(first)!r}, {names.label(second)!r}) has {matrix[first, second]:g} and "
            f"{matrix[second, first]:g}"
        )
    return matrix


def _numbers(values: Any) -> NDArray[np.float64] | None:
    """Return values as floats, or None if they are not numbers."""
    try:
        array = np.asarray(values)
        return None if array.dtype.kind not in "iuf" else array.astype(np.float64)
    except (TypeError, ValueError):
        return None
