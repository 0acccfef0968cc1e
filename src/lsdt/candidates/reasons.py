"""For which kind of reason every arm is out, without deriving any proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.candidates.propagation.parts import Parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.result import CandidateSet

CANDIDATE, COMPLETE, ORDER, TRIANGLE, BETWEEN, DERIVED = range(6)
NAMES = (
    "candidate",
    "it lies inside the order of all arms",
    "another arm is known to be better",
    "two arms similar to it are dissimilar",
    "it lies between two others",
    "a longer derivation",
)


class Reasons(NamedTuple):
    """The kind of reason of every arm, as a place in `NAMES`.

    Attributes
    ----------
    kinds : ndarray of int
        The kind of every arm.
    at_hand : ndarray of bool
        Whether its explanation need not be derived first.
    """

    kinds: NDArray[np.int64]
    at_hand: NDArray[np.bool_]


def reasons_of(found: CandidateSet) -> Reasons:
    """Return why arms are out, by kind.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.candidates.reasons import NAMES, reasons_of
    >>> side = lsdt.SideInformation(4, [(0, 1), (1, 2)], [(0, 2)], better=[(0, 3)])
    >>> [NAMES[kind] for kind in reasons_of(lsdt.candidate_set(side)).kinds]  # doctest: +NORMALIZE_WHITESPACE
    ['candidate', 'two arms similar to it are dissimilar', 'candidate', 'another arm is known to be better']
    """
    n_arms = found.side.n_arms
    kinds = np.full(n_arms, COMPLETE if found.method == "anchors" else DERIVED)
    outcome: Any = getattr(found._outcome, "before", found._outcome)  # what 'exact' began with
    if isinstance(outcome, Parts):
        for part in outcome.parts:
            kinds[part.members] = _kinds_of(part.outcome, kinds[part.members])
    else:
        kinds = _kinds_of(outcome, kinds)
    kinds[found.arms] = CANDIDATE
    return Reasons(kinds, np.isin(kinds, (COMPLETE, TRIANGLE)))


def _kinds_of(outcome: Any, kinds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the kinds of reason by one outcome; `kinds` is what holds where it says nothing."""
    kinds, n_arms = kinds.copy(), len(kinds)
    outcome = getattr(outcome, "fallback", None) or outcome
    around, oriented = getattr(outcome, "around", None), getattr(outcome, "oriented", None)
    if around is not None and oriented is not None:
        kinds[around.arms[oriented.is_out]] = BETWEEN
    witnesses = getattr(outcome, "witnesses", None)
    if witnesses is not None and len(witnesses) == n_arms:
        kinds[np.reshape(witnesses, (n_arms, -1))[:, 0] >= 0] = TRIANGLE
    order = outcome if hasattr(outcome, "is_out") else getattr(outcome, "order", None)
    if order is not None and len(order.is_out) == n_arms:
        kinds[order.is_out] = ORDER
    return kinds
