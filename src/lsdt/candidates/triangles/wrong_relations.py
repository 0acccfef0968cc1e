"""The triangle rule at a stated risk, when each known relation is wrong with some probability.

Let arm i be the best, and suppose that r vertex-disjoint triangles exclude it (i similar to a and b, which
are dissimilar). Each triangle contains a wrong relation, a different one each. Either it is one of the known
relations of i: there are ``degree`` of them, whatever is wrong, so Bin(degree, q) of them are wrong. Or both
relations of i are right and the third is wrong: given all relations of i, at most Bin(among, q) of the known
relations among the arms called similar to i are wrong. With ``P(Bin(degree, q) >= r_A) = alpha`` and
``P(Bin(among, q) >= r_B) <= risk - alpha``, there are r_A + r_B - 1 disjoint triangles with probability at
most `risk`. So r_A + r_B - 1 triangles exclude an arm.

An arm among the best m has fewer than m true triangles, each with an arm above it of its own. So m - 1 more
exclude it from the best m, and with `risk / m` for each of these, all of them are kept but for `risk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.triangles import witnesses_kernel as kernel
from lsdt.candidates.triangles.rule import Triangles, no_arm_error, too_few_error
from lsdt.candidates.triangles.witnesses import scan_rows
from lsdt.errors import Unsupported, counted
from lsdt.kernel import over_blocks, require_memory
from lsdt.side_information import DISTINCT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.options import Options
    from lsdt.side_information import PairStore, SideInformation


def run_triangles_at_risk(side: SideInformation, options: Options) -> Triangles:
    """Exclude arms so that the best one is lost with a probability of at most `risk`."""
    rate, accepted = options.wrong_rate, options.risk
    assert rate is not None
    if side.store.thresholds is not None:
        raise Unsupported(f"a rate of wrong relations {DISTINCT}; ask for max_wrong instead")
    pairs = side.store.explicit()
    needed = witnesses_needed(pairs, rate, accepted / options.top) + options.top - 1
    most = _most_possible(pairs)
    rows = int(min(needed.max(initial=1), max(most, 1)))  # an arm that needs more than there can be stays
    require_memory(8 * side.n_arms * rows, f"{rows} witnesses for each arm", "accept more risk")
    witnesses = np.full((side.n_arms, rows, 2), -1, np.int32)
    scan_rows(pairs, needed, witnesses)
    note = _note(needed, rate, accepted, options.top)
    found = Triangles(witnesses, int(needed.min(initial=1)), (note,), needed, top=options.top)
    if len(found.arms) == 0:
        raise no_arm_error(side, found)
    if len(found.arms) < min(options.top, side.n_arms):
        raise too_few_error(len(found.arms), options.top)
    return found


def witnesses_needed(pairs: PairStore, rate: float, risk: float) -> NDArray[np.int64]:
    """Return how many disjoint witnesses it takes to exclude each arm; see the top of this file."""
    degree, among = _relations_at_stake(pairs)
    levels, place = np.unique(degree, return_inverse=True)
    first = np.array([_least_unlikely(int(n), rate, 0.5 * risk) for n in levels])
    spent = np.array([tail(int(n), rate, int(r)) for n, r in zip(levels, first, strict=True)])
    cases, where = np.unique(np.column_stack([place, among]), axis=0, return_inverse=True)
    second = np.array([_least_unlikely(int(n), rate, risk - spent[at]) for at, n in cases])
    needed: NDArray[np.int64] = first[place] + second[where.ravel()] - 1
    return needed


def tail(n: int, rate: float, least: int) -> float:
    """Return the probability that at least `least` of n relations are wrong."""
    from scipy.special import betainc

    if least <= 0:
        return 1.0
    return 0.0 if least > n else float(betainc(least, n - least + 1, rate))


def _least_unlikely(n: int, rate: float, risk: float) -> int:
    """Return the smallest number r >= 1 with a probability of at most `risk` that r or more are wrong."""
    least = 1
    while tail(n, rate, least) > risk:
        least += 1
    return least


def _relations_at_stake(pairs: PairStore) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many relations of each arm are known, and how many among the arms called similar to it."""
    n_arms, similar = pairs.n_arms, np.diff(pairs.similar.indptr)
    if pairs.dissimilar is None:  # everything is known
        return np.full(n_arms, n_arms - 1), similar * (similar - 1) // 2
    rows = (*pairs.similar, *pairs.dissimilar)
    among = np.zeros(n_arms, np.int64)
    over_blocks(lambda first, last: kernel.count_among_similar(*rows, first, last, among), n_arms)
    return similar + np.diff(pairs.dissimilar.indptr), among


def _most_possible(pairs: PairStore) -> int:
    return int(np.diff(pairs.similar.indptr).max(initial=0)) // 2


def _note(needed: NDArray[np.int64], rate: float, risk: float, top: int) -> str:
    low, high = int(needed.min()), int(needed.max())
    number = counted(low, "disjoint pair") if low == high else f"{low} to {high} disjoint pairs"
    lost = "the best arm is lost" if top == 1 else f"one of the best {top} is lost"
    return (
        f"each known relation may be wrong with probability {rate:g}: it takes {number} of dissimilar arms "
        f"to exclude an arm similar to all of them, and {lost} with a probability of at most "
        f"{risk:g}"
    )
