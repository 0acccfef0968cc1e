"""The offline step: from side information to the arms that can be the best."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from lsdt.candidates.anchors import find_anchors
from lsdt.candidates.exact import find_exact
from lsdt.candidates.explanations import check_side_information
from lsdt.candidates.found import CandidateSet
from lsdt.candidates.triangles import find_triangles
from lsdt.candidates.wrong_relations import find_triangles_at_risk
from lsdt.errors import InvalidInput, suggest
from lsdt.kernel.compiling import compiling_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsdt.candidates.found import Outcome
    from lsdt.side_information import SideInformation

# One entry and one file per method.
METHODS: dict[str, Callable[[SideInformation, int | str], Outcome]] = {
    "anchors": find_anchors,
    "triangles": find_triangles,
    "exact": find_exact,
}
CHOICES = ("auto", "paper", *METHODS)


def candidate_set(
    side: SideInformation,
    method: str = "auto",
    min_witnesses: int | str = 1,
    *,
    wrong_rate: float | None = None,
    risk: float = 0.01,
) -> CandidateSet:
    """Find the arms that can be the best; the others are out, each with a reason.

    Parameters
    ----------
    side : SideInformation
        What is known.
    method : {'auto', 'paper', 'anchors', 'triangles', 'exact'}
        ``'anchors'``: exact, for complete information (Theorem 1 of the paper). ``'triangles'``: the
        paper's set B0, for partial information: an arm goes when two arms similar to it are dissimilar.
        ``'exact'``: decides every arm by search, for up to 200 arms, partial or complete; ``notes`` tell
        when it had to give up on some. ``'paper'``: anchors when complete, triangles when partial.
        ``'auto'``: the same, the strongest that is quick for any number of arms.
    min_witnesses : int or 'auto'
        For triangles: how many disjoint dissimilar pairs must exclude an arm; with r of them, r - 1 wrong
        relations do no harm. ``'auto'`` takes the smallest number that leaves a candidate (at least 2 where
        relations are proven wrong) and says in ``notes`` how many wrong relations that allows for; it does
        not know how many there are.
    wrong_rate : float, optional
        For triangles: each known relation is wrong with this probability, independently of the others.
        Every arm then needs as many witnesses as keep the probability that the best arm is lost at or below
        `risk`; ``notes`` tell how many those are. ``'auto'`` and ``'paper'`` mean triangles here.
    risk : float
        How probable it may be that the best arm is lost; for `wrong_rate`.

    Returns
    -------
    CandidateSet
        ``arms``, ``arm_ids``, ``classes``, ``explain(arm)``, ``frame()``.

    Raises
    ------
    InconsistentSideInformation
        When the relations contradict one another; the error holds a conflict.
    NotUnitInterval
        When complete relations are not a unit interval graph; the error holds the forbidden subgraph.
    TooLarge
        When ``'exact'`` is asked about more arms than it takes.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation.from_means([.1, .2, .3, .4, .5], epsilon=.25)
    >>> found = lsdt.candidate_set(side)
    >>> found.arms.tolist()
    [0, 4]
    >>> print(found.explain(2))
    arm 2 cannot be the best: it is similar to 0 and 4, which are dissimilar. Were 2 the best, both would lie
    less than epsilon below it, hence be similar.
    """
    check_side_information(side)
    if method not in CHOICES:
        raise InvalidInput(
            f"unknown method {method!r}; accepted are {', '.join(map(repr, CHOICES))}"
            + suggest(str(method), CHOICES)
        )
    chosen = method
    if method in ("auto", "paper"):
        chosen = "anchors" if side.is_complete else "triangles"
    if wrong_rate is not None:
        chosen = "triangles" if method in ("auto", "paper") else method
        _check_only_triangles(chosen, min_witnesses)
    started = perf_counter()
    with compiling_seconds() as compiling:
        if wrong_rate is None:
            outcome = METHODS[chosen](side, min_witnesses)
        else:
            outcome = find_triangles_at_risk(side, wrong_rate, risk)
    return CandidateSet(side, chosen, outcome, perf_counter() - started - compiling.seconds)


def _check_only_triangles(method: str, min_witnesses: int | str) -> None:
    """Refuse a rate of wrong relations where it has no meaning."""
    if method != "triangles":
        raise InvalidInput(
            f"wrong_rate belongs to the method 'triangles', and {method!r} takes every relation at its word; "
            "leave wrong_rate out, or ask for 'triangles'"
        )
    if min_witnesses != 1:
        raise InvalidInput(
            f"wrong_rate decides how many witnesses each arm needs; got min_witnesses={min_witnesses!r} too, "
            "leave one of them out"
        )
