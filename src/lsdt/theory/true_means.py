"""True means with the complete side information they imply: the start of every bound in this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.candidates import Anchors, check_side_information, find_anchors
from lsdt.errors import InvalidInput, Unsupported
from lsdt.side_information import WindowStore
from lsdt.theory.lower_bounds.lower_bound_kernel import EndClasses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from lsdt.side_information import SideInformation

# Relative tolerance when distances are compared with epsilon, as in `lsdt.from_means`.
_TOLERANCE = 1e-9


class Truth(NamedTuple):
    """The means of all arms, how far each lies below the best (`gaps`), and the classes of the candidates."""

    means: NDArray[np.float64]
    gaps: NDArray[np.float64]
    best: int
    epsilon: float | None
    anchors: Anchors

    @property
    def classes(self) -> list[NDArray[np.int64]]:
        """The end classes of all components."""
        return self.anchors.classes

    @property
    def own(self) -> NDArray[np.int64]:
        """The class of the best arm."""
        return next(members for members in self.classes if self.best in members)

    def components(self) -> list[NDArray[np.int64]]:
        """The range ``(first, last)`` of each component in the proper order, `last` excluded."""
        proper = self.anchors.proper
        ends = np.append(proper.component_starts[1:], len(proper.order))
        return list(np.column_stack([proper.component_starts, ends]))


def checked_truth(side: SideInformation, means: ArrayLike) -> Truth:
    """Check that means and complete side information fit, and return them with the classes."""
    check_side_information(side)
    if not side.is_complete:
        raise Unsupported(
            "this bound needs complete side information and this is partial; for partial information there "
            "is upper_bound_psi"
        )
    values = checked_means(means, side.n_arms)
    anchors = find_anchors(side)
    store = side.store
    known = isinstance(store, WindowStore) and not store.layers
    if not (known and np.array_equal(store.windows.means_by_arm(), values)):  # type: ignore[union-attr]
        check_relations(side, values, side.epsilon)
    best = int(np.argmax(values))
    return Truth(values, values[best] - values, best, side.epsilon, anchors)


def checked_means(means: ArrayLike, n_arms: int) -> NDArray[np.float64]:
    """Return the means as floats; raise `InvalidInput` unless there is one finite number per arm."""
    try:
        values = np.array(means, np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"means must be a list of numbers, one per arm; got {means!r}") from None
    if values.shape != (n_arms,):
        raise InvalidInput(
            f"means must be one number for each of the {n_arms} arms of the side information; got shape "
            f"{values.shape}"
        )
    if not np.isfinite(values).all():
        arm = int(np.argmin(np.isfinite(values)))
        raise InvalidInput(f"means must be finite; the mean of arm {arm} is {values[arm]}")
    return values


def check_relations(side: SideInformation, means: NDArray[np.float64], epsilon: float | None) -> None:
    """Raise `InvalidInput`, naming the pair, if the means contradict a relation.

    If epsilon is None, some epsilon must fit: no similar pair may be farther apart than a dissimilar one.
    """
    store = side.store.explicit()
    pairs = store.similar.pairs()
    apart = np.abs(means[pairs[:, 0]] - means[pairs[:, 1]])
    widest = int(np.argmax(apart)) if len(apart) else -1
    if epsilon is None:
        limit = float(apart[widest]) if len(apart) else 0.0
        against = f"while arms that are similar are {limit:.6g} apart; no epsilon fits both"
    else:
        limit, against = epsilon, f"less than epsilon={epsilon:g}"
        if len(apart) and apart[widest] > epsilon * (1.0 + _TOLERANCE):
            raise _contradiction(side, pairs[widest], "similar", means, f"not less than epsilon={epsilon:g}")
    sure = limit * (1.0 - _TOLERANCE)
    if store.dissimilar is not None:
        far = store.dissimilar.pairs()
        short = np.flatnonzero(np.abs(means[far[:, 0]] - means[far[:, 1]]) < sure)
        if len(short):
            raise _contradiction(side, far[short[0]], "dissimilar", means, against)
        return
    order = np.argsort(means, kind="stable")
    ends = np.searchsorted(means[order], means[order] + sure)
    near = int((ends - np.arange(len(ends)) - 1).clip(0).sum())
    if near != int((apart < sure).sum()):
        for place, end in enumerate(ends):
            for other in range(place + 1, end):
                pair = order[place], order[other]
                if abs(means[pair[0]] - means[pair[1]]) < sure and not store.similar.has(*map(int, pair)):
                    raise _contradiction(side, pair, "dissimilar", means, against)


def _contradiction(
    side: SideInformation, pair: Any, relation: str, means: NDArray[np.float64], against: str
) -> InvalidInput:
    first, second = sorted(map(int, pair))
    return InvalidInput(
        f"the means contradict the side information: arms {side.label(first)!r} and {side.label(second)!r} "
        f"are {relation}, and their means {means[first]:g} and {means[second]:g} are "
        f"{abs(means[first] - means[second]):.6g} apart, {against}. Give the means that the relations were "
        "taken from, or relations that fit (lsdt.from_means)"
    )


def layout(truth: Truth) -> EndClasses:
    """Return classes and components in the layout that the compiled closed form of P1 reads."""
    n_arms = len(truth.means)
    proper = truth.anchors.proper
    starts = proper.component_starts
    component_of = np.empty(n_arms, np.int64)
    component_of[proper.order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, n_arms)))
    class_of = np.full(n_arms, -1)
    for number, members in enumerate(truth.classes):
        class_of[members] = number
    return EndClasses(
        class_of,
        component_of,
        np.array([component_of[members[0]] for members in truth.classes]),
        np.append(starts, n_arms),
        proper.order.astype(np.int64),
    )
