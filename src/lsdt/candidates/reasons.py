"""Why every arm is out, as one of a few kinds of reasons; no proof is derived for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.result import CandidateSet

CANDIDATE, COMPLETE, ORDER, TRIANGLE, BETWEEN, DERIVED, BEATEN = range(7)
NAMES = (
    "candidate",
    "it lies inside the order of all arms",
    "another arm is known to be better",
    "two arms similar to it are dissimilar",
    "it lies between two others",
    "a longer derivation",
    "another arm beat it in a log",
)


class Reasons(NamedTuple):
    """The kind of reason of every arm, as an index into `NAMES`.

    Attributes
    ----------
    kinds : ndarray of int
        The kind of every arm.
    at_hand : ndarray of bool
        Whether its explanation is available without deriving a proof first.
    """

    kinds: NDArray[np.int64]
    at_hand: NDArray[np.bool_]


def reasons_of(found: CandidateSet) -> Reasons:
    """Return the kind of reason of every arm.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.candidates.reasons import NAMES, reasons_of
    >>> side = lsdt.SideInformation(4, [(0, 1), (1, 2)], [(0, 2)], better=[(0, 3)])
    >>> [NAMES[kind] for kind in reasons_of(lsdt.candidate_set(side)).kinds]  # doctest: +NORMALIZE_WHITESPACE
    ['candidate', 'two arms similar to it are dissimilar', 'candidate', 'another arm is known to be better']
    """
    kinds = found._outcome.kinds
    return Reasons(kinds, np.isin(kinds, (COMPLETE, TRIANGLE, BEATEN)))
