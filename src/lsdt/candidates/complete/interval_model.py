"""Unit intervals on a line that overlap exactly when arms are similar: they prove that means exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.complete.interval_model_kernel import grid_coordinates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.complete.proper_order import ProperOrder


@dataclass(frozen=True, eq=False)
class UnitIntervalModel:
    """A unit interval model: arm ``i`` is the interval from ``coordinates[i]`` to ``coordinates[i] + 1``.

    Two intervals overlap exactly when the arms are similar, with room to spare on both sides, so the model
    can be checked in floats.

    Attributes
    ----------
    order : ndarray of int
        The arms from left to right.
    coordinates : ndarray of float
        The left end of every arm's interval; ``coordinates * epsilon`` are means that fit.

    Examples
    --------
    >>> import lsdt
    >>> model = lsdt.recognise(lsdt.complete(3, similar=[(0, 1), (1, 2)]))
    >>> model.is_unit_interval, bool(abs(model.coordinates[0] - model.coordinates[2]) > 1)
    (True, True)
    """

    order: NDArray[np.int32]
    coordinates: NDArray[np.float64]

    @property
    def is_unit_interval(self) -> bool:
        """True; a `ForbiddenSubgraph` says False."""
        return True

    def _repr_html_(self) -> str:
        from lsdt.candidates.card import model_card

        return model_card(self)


def model_of_order(proper: ProperOrder) -> UnitIntervalModel:
    """Return coordinates for a proper order, in linear time.

    On a grid of K steps per unit, similar arms are at most K - 1 steps apart and dissimilar ones at least K.
    A unit of K - 1/2 steps therefore leaves half a step on either side.
    """
    n_arms = len(proper.order)
    steps = grid_coordinates(proper.left_end)
    coordinates = np.empty(n_arms)
    coordinates[proper.order] = steps / (n_arms - 0.5)
    return UnitIntervalModel(proper.order, coordinates)


def model_with_best(proper: ProperOrder, arm: int) -> NDArray[np.float64] | None:
    """Return the coordinates of a model in which `arm` is rightmost, or None when there is none.

    The arm's component is mirrored if it stands at the left end, moved past the others, and the arm trades
    places with the end of its class: arms with equal neighbourhoods are interchangeable.
    """
    position = int(proper.position[arm])
    first, last = proper.component_bounds(position)
    left_class, right_class = end_classes(proper, first, last)
    if not (position < left_class or position >= right_class):
        return None
    coordinates = model_of_order(proper).coordinates.copy()
    members = proper.order[first:last]
    at_left = position < left_class
    if at_left:
        coordinates[members] *= -1.0
    end = proper.order[first] if at_left else proper.order[last - 1]
    coordinates[arm], coordinates[end] = coordinates[end], coordinates[arm]
    others = np.delete(proper.order, np.s_[first:last])
    if len(others):
        coordinates[members] += coordinates[others].max() + 2.0 - coordinates[members].min()
    return coordinates


def end_classes(proper: ProperOrder, first: int, last: int) -> tuple[int, int]:
    """Return where the left class of a component ends and where its right class starts.

    Positions ``first .. left - 1`` have the neighbourhood of the first arm, ``right .. last - 1`` that of the
    last arm. In a complete component both are the whole: ``left == last`` and ``right == first``.
    """
    left = int(np.searchsorted(proper.right_end[first:last], proper.right_end[first], side="right")) + first
    reach = int(proper.left_end[last - 1])
    right = first if reach == first else int(proper.right_end[reach - 1])
    return left, right
