"""Arms on a line: means, up to scale and direction, that contradict few of the known relations.

A dozen relations fix the position of an arm and outvote a wrong one. If a line breaks few relations, nearly
all of these are wrong, and positions are known to a fraction of epsilon. Finding the line with the fewest
breaks is out of reach (it would decide whether relations are consistent, which is NP-complete). A good one
takes three steps:

1. leave out similar pairs that the arms around them contradict (`mark_believable`);
2. place the arms by their hop counts over the other similar pairs, from the two ends of each connected part;
3. move one arm at a time to where fewest of its relations break, until nothing improves.

Similar and dissimilar pairs leave the direction of a line open. Better pairs and ranges that say which of two
arms is better are votes on it: for the best arm to be at the end that contradicts more of them, that many
more relations must be wrong.

The answer is an estimate and proves nothing: `lsdt_watchful` starts from it, and lets rewards correct it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates import seriation_kernel as kernel
from lsdt.errors import TooLarge
from lsdt.kernel import over_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation

_MOST_RELATIONS = 5 * 10**7  # their rows take 1.6 GB
_SWEEPS = 60  # over all arms, at most; each moves every arm once, and `settle` ends when nothing improves
# For a rough line: 2 to 8 sweeps, in that range as many as read this many relations, which takes seconds.
_FEW_SWEEPS, _MOST_MOVES = (2, 8), 2 * 10**7
# Positions are known to a fraction of epsilon: an arm this near an end counts as standing there.
_SLACK = 0.3


class RelationRows(NamedTuple):
    """Known relations of every arm: the other arm, and 1 for similar, -1 for dissimilar."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    signs: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Seriation:
    """Arms on a line, in units of epsilon; see the top of this file.

    Attributes
    ----------
    rows : RelationRows
        The known relations.
    x : ndarray
        The position of each arm; the direction is arbitrary.
    part : ndarray
        The part of each arm. No similar pair that holds joins two parts, so their distance is unknown.
    holds : ndarray of bool
        Which entries of the rows hold on the line.
    n_broken : int
        How many relations do not.
    costs : ndarray
        How many more relations must be wrong for each arm to be at an end, and so perhaps the best. Surplus
        votes of ordered pairs against an end are included.
    near : ndarray
        How many relations an arm has with arms less than two epsilons away: those that place it.
    """

    rows: RelationRows
    x: NDArray[np.float64]
    part: NDArray[np.int64]
    holds: NDArray[np.bool_]
    n_broken: int
    costs: NDArray[np.int64]
    near: NDArray[np.int64]

    @property
    def share_broken(self) -> float:
        """The share of the relations that do not hold; nearly all wrong ones are among them."""
        return 2.0 * self.n_broken / max(len(self.rows.indices), 1)


def fit_line(side: SideInformation) -> Seriation:
    """Place the arms on a line on which few relations break.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.candidates.seriation import fit_line
    >>> side = lsdt.from_means([i / 20 for i in range(20)], epsilon=.2).corrupt(.03, seed=1)
    >>> line = fit_line(side)
    >>> line.n_broken, line.costs.tolist()[:4]
    (2, [0, 0, 0, 1])
    """
    rows = known_rows(side)
    n_arms = side.n_arms
    kept = np.zeros(len(rows.indices), np.bool_)
    over_blocks(lambda first, last: kernel.mark_believable(*rows, first, last, kept), n_arms)
    x, n_broken = _best_start(rows, kept)
    owner = np.repeat(np.arange(n_arms), np.diff(rows.indptr))
    holds = (np.abs(x[owner] - x[rows.indices]) < 1.0) == (rows.signs > 0)
    part = kernel.parts_of(rows.indptr, rows.indices, holds & (rows.signs > 0))
    costs, near = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    kernel.cost_to_be_best(*rows, part, x, _SLACK, _votes_against(side, part, x), costs, near)
    return Seriation(rows, x, part, holds, n_broken, costs, near)


def lay_out(side: SideInformation) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rough positions of very many arms, and their parts, with only a few sweeps of the last step.

    Without any sweep, arms would pile up at the ends, where all their neighbours are on one side.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.candidates.seriation import lay_out
    >>> x, part = lay_out(lsdt.from_means([i / 20 for i in range(20)], epsilon=.2))
    >>> bool(abs(x[19] - x[0]) > 2.), part.tolist() == [0] * 20
    (True, True)
    """
    rows, n_arms = known_rows(side), side.n_arms
    kept, x = np.zeros(len(rows.indices), np.bool_), np.zeros(n_arms)
    over_blocks(lambda first, last: kernel.mark_believable(*rows, first, last, kept), n_arms)
    rounds, ranked = _STARTS[0]
    kernel.lay_out(*rows, kept, rounds, ranked, x)
    sweeps = np.clip(_MOST_MOVES // max(len(rows.indices), 1), *_FEW_SWEEPS)
    kernel.settle(*rows, x, int(sweeps))
    return x, kernel.parts_of(rows.indptr, rows.indices, kept & (rows.signs > 0))


def _votes_against(
    side: SideInformation, part: NDArray[np.int64], x: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return how many more ordered pairs each direction of a part breaks than the other.

    The first column puts the best arm at the largest position, the second at the smallest.
    """
    votes = np.zeros((int(part.max(initial=0)) + 1, 2), np.int64)
    if side.ranges is None:
        return votes
    better, worse = side.ranges.ordered_pairs().astype(np.int64).T
    inside = part[better] == part[worse]
    for end, broken in enumerate((x[better] < x[worse], x[better] > x[worse])):
        np.add.at(votes[:, end], part[better[inside & broken]], 1)
    return np.asarray(votes - votes.min(axis=1, keepdims=True))


# Rounds of smoothing, and whether only the order counts: few rounds keep distances, many find the order.
_STARTS = ((4, False), (30, True), (300, True))


def _best_start(rows: RelationRows, kept: NDArray[np.bool_]) -> tuple[NDArray[np.float64], int]:
    best, fewest = np.zeros(len(rows.indptr) - 1), -1
    for rounds, ranked in _STARTS:
        x = np.zeros(len(best))
        kernel.lay_out(*rows, kept, rounds, ranked, x)
        n_broken = int(kernel.settle(*rows, x, _SWEEPS))
        if fewest < 0 or n_broken < fewest:
            best, fewest = x, n_broken
    return best, fewest


def known_rows(side: SideInformation) -> RelationRows:
    """Return all known relations as rows, the arms of a row ascending."""
    n_known = side.n_similar + side.n_dissimilar
    if n_known > _MOST_RELATIONS:
        raise TooLarge(
            f"a line is fitted to up to {_MOST_RELATIONS:,} relations, and there are {n_known:,}; reveal "
            "fewer, or use another policy"
        )
    similar, dissimilar = side.similar_pairs(), side.dissimilar_pairs()
    pairs = np.concatenate([similar, dissimilar]).astype(np.int64)
    signs = np.repeat(np.array([1, -1]), [len(similar), len(dissimilar)])
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ends[:, 0], minlength=side.n_arms))])
    return RelationRows(indptr.astype(np.int64), ends[order, 1].copy(), np.tile(signs, 2)[order])
