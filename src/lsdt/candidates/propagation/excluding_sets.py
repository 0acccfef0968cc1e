"""A set of arms each of which is excluded by relations among the set, so that none could be its best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.propagation.derivation import fewest, shrunk, supposition
from lsdt.candidates.propagation.exclusion import arms_possible, refuted_around

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import Field
    from lsdt.candidates.propagation.derivation import Supposition

_MOST_ARMS = 200  # that are followed from one arm to those that exclude it
_MOST_SHRUNK = 100
_MOST_ATTEMPTS = 600


def excluding_set(
    around: Field, part: NDArray[np.int64], witnesses: NDArray[np.int32], near: int, most_closed: int
) -> Supposition | None:
    """Return relations that exclude every arm that they name, few of them; None if that takes too long."""
    inside = np.intersect1d(part, around.arms)
    arms = _closed_set(around, int(inside[0]), witnesses, near, most_closed)
    if arms is None:
        if len(inside) > _MOST_ARMS:
            return None
        arms = around.places(inside)
    close = supposition(around, arms)
    if arms_possible(close, np.arange(len(arms))).any():
        return None  # the field does not hold all that excluded them
    if len(arms) > _MOST_SHRUNK:
        return close
    attempts = 0

    def none_left(smaller: Supposition) -> bool:
        nonlocal attempts
        attempts += 1
        n_arms = len(smaller.arms)
        return attempts < _MOST_ATTEMPTS and not arms_possible(smaller, np.arange(n_arms)).any()

    close = close.among(fewest(np.arange(len(arms)), lambda kept: none_left(close.among(kept))))
    every = close
    return every.resting_on(
        fewest(np.arange(every.n_relations), lambda kept: none_left(every.resting_on(kept)))
    )


def _closed_set(
    around: Field, start: int, witnesses: NDArray[np.int32], near: int, most_closed: int
) -> NDArray[np.int64] | None:
    """Return the arms reached by going from an arm to those that exclude it, in places; None if very many."""
    reached, waiting = {start}, [start]
    while waiting:
        arm = waiting.pop()
        if witnesses[arm, 0] >= 0:
            others = witnesses[arm].tolist()
        else:
            place = int(around.places(np.array([arm]))[0])
            wide = refuted_around(around, place, near, most_closed)
            if wide is None:
                return None
            others = around.arms[shrunk(wide).arms].tolist()
        waiting += [other for other in others if other not in reached]
        reached |= set(others)
        if len(reached) > _MOST_ARMS or not np.isin(others, around.arms).all():
            return None
    return around.places(np.array(sorted(reached)))
