"""Why propagation excludes an arm, and which gaps it implies for one that stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.minimise import fewest
from lsdt.candidates.proofs import Explanation, derivation_text, legend
from lsdt.candidates.propagation.closure_kernel import bounds_below, eliminate_by_closure
from lsdt.candidates.propagation.derivation import (
    counts_ranges,
    hypothesis,
    pairs_of,
    relations_of,
    shrink,
    steps_of,
)
from lsdt.candidates.propagation.method_kernel import FAR, Constraints, new_scratch
from lsdt.errors import InvalidInput, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import ConstraintSystem
    from lsdt.candidates.propagation.derivation import Hypothesis
    from lsdt.side_information import SideInformation

_SMALLEST_BALL = 8  # arms of the first attempt; the size doubles, so starting small costs little
_MOST_DERIVED = 400  # arms among which orders are derived one by one: a table of all differences is kept
_SHOWN = 3  # gaps that an explanation names; `bounds` gives all


def explain_exclusion(
    side: SideInformation,
    system: ConstraintSystem,
    arm: int,
    near: int,
    most_closed: int,
    most_derived: int = _MOST_DERIVED,
) -> Explanation:
    """Explain by a derivation why propagation over the `near` nearest arms excluded an arm."""
    name = repr(side.label(arm))
    place = int(system.places(np.array([arm]))[0])
    wide = refutation_around(system, place, near, most_closed)
    assert wide is not None
    if len(wide.arms) > most_derived:
        pairs, relations = pairs_of(system, wide), tuple(dict.fromkeys(relations_of(side, system, wide)))
        text = (
            f"arm {name} cannot be the best: no means satisfy what is known about {len(wide.arms):,} arms "
            "around it and give it the largest. The chain of reasoning is too long to be listed."
        )
        far = pairs[len(wide.similar) :][: len(wide.dissimilar)]
        return Explanation(side, arm, False, text, far, rests_on=pairs, listed=relations)
    close = shrink(wide)
    steps, pairs = steps_of(side, system, close), pairs_of(system, close)
    text = (
        f"arm {name} cannot be the best. Suppose it is, and let d(j) be how far arm j lies below it"
        f"{in_epsilons(side, system)}; {legend(steps)}:\n{derivation_text(steps, side.label(arm))}"
    )
    relations = tuple(dict.fromkeys(relations_of(side, system, close)))
    far = pairs[len(close.similar) :][: len(close.dissimilar)]
    return Explanation(side, arm, False, text, far, rests_on=pairs, steps=steps, listed=relations)


def in_epsilons(side: SideInformation, system: ConstraintSystem) -> str:
    """Return the unit of depths in words."""
    return "" if side.store.thresholds is not None or counts_ranges(system) else ", in epsilons"


def refutation_around(system: ConstraintSystem, place: int, near: int, most_closed: int) -> Hypothesis | None:
    """Return a small set of arms that refutes "this arm is best"; None if propagation does not refute it.

    Balls around the arm are tried, each twice as large as the one before.
    """
    n_arms = len(system.arms)
    size = min(_SMALLEST_BALL, near)
    while True:
        scratch = new_scratch(n_arms)
        possible, n_reached = bounds_below(
            system.constraints, place, size, min(size, most_closed), scratch, np.full(n_arms, -1)
        )
        if not possible:
            break
        if size == near:
            return None
        size = min(2 * size, near)
    reached = scratch.reached[:n_reached]
    ball = np.sort(reached[scratch.upper[reached] < FAR])
    if n_arms <= min(size, most_closed):
        # All arms were closed. With distinct thresholds or ranges some may contradict one another under any
        # hypothesis, even arms that are not joined to this one.
        ball = np.arange(n_arms)
    wide = hypothesis(system, ball, place)
    if len(ball) <= most_closed:
        return wide

    def suffice(kept: NDArray[np.int64]) -> bool:
        if wide.best not in kept:
            return False
        smaller = wide.among(kept)
        return not arms_possible(smaller, np.array([smaller.best]), most_closed)[0]

    return wide.among(fewest(np.arange(len(ball)), suffice))


def arms_possible(
    known: Hypothesis, arms: NDArray[np.int64], most_closed: int = _MOST_DERIVED
) -> NDArray[np.bool_]:
    """Return which of these arms could be the best, by intervals and by closure among the nearest arms."""
    n_arms = len(known.arms)
    near = known.similar
    if len(known.links):
        pairs = np.concatenate([near, near[:, ::-1], known.links])
        steps = np.concatenate([known.similar_steps, known.similar_steps, known.link_steps])
        similar = _rows_of_links(n_arms, pairs, steps)
    else:
        starts, others, steps = _rows(n_arms, near, known.similar_steps)
        similar = starts, others, steps, steps
    constraints = Constraints(*similar, *_rows(n_arms, known.dissimilar, known.dissimilar_steps))
    possible, no_table = np.ones(len(arms), bool), np.empty((0, 0), np.int64)
    eliminate_by_closure(constraints, arms, 0, len(arms), n_arms, most_closed, possible, no_table, no_table)
    return possible


def _rows(
    n_arms: int, pairs: NDArray[np.int64], steps: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    first, second = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.lexsort((second, first))
    starts = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=n_arms))])
    # A single entry would apply to all pairs; doubling it changes nothing else.
    return starts, second[order].astype(np.int32), np.concatenate([steps, steps])[order]


def _rows_of_links(
    n_arms: int, links: NDArray[np.int64], steps: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return links as symmetric rows with steps in both directions, `FAR` where there is no link."""
    start, end = links.T
    every, place = np.unique(
        np.concatenate([start * n_arms + end, end * n_arms + start]), return_inverse=True
    )
    ahead = np.full(len(every), FAR)
    np.minimum.at(ahead, place[: len(steps)], steps)
    start, end = np.divmod(every, n_arms)
    back = ahead[np.searchsorted(every, end * n_arms + start)]
    return np.searchsorted(start, np.arange(n_arms + 1)), end.astype(np.int32), ahead, back


def explain_candidate(side: SideInformation, arm: int) -> Explanation:
    """Explain a candidate by how far below it the others would lie."""
    from lsdt.candidates.propagation.gap_bounds import gap_bounds

    name = repr(side.label(arm))
    text = f"arm {name} may be the best: assuming that it is led to no contradiction."
    try:
        lower, upper = gap_bounds(side, arm)
    except InvalidInput:
        # A single arm gets more effort than one of very many.
        return Explanation(side, arm, True, f"{text} Examining more arms would exclude it.")
    bounded = np.flatnonzero(np.isfinite(upper) & (np.arange(side.n_arms) != arm))
    below = int((~np.isfinite(upper) & (lower > 0)).sum())
    if len(bounded) + below == 0:
        return Explanation(side, arm, True, f"{text} Nothing is known about the gaps to other arms.")
    text += f" Were it the best, {counted(len(bounded), 'gap')} to other arms would have an upper bound"
    if len(bounded):
        nearest = bounded[np.lexsort((lower[bounded], upper[bounded]))][:_SHOWN]
        named = [f"{side.label(int(one))!r} ({lower[one]:g} to {upper[one]:g})" for one in nearest]
        text += f" (nearest: {', '.join(named)})"
    if below:
        text += f", {below:,} more a lower one"
    return Explanation(side, arm, True, f"{text}; bounds({name}) gives all.")
