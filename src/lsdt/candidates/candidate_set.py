"""The offline step: from side information to the arms that can be the best."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Any

from lsdt._progress import progress_of
from lsdt._validation import checked_jobs, checked_word
from lsdt.candidates.beaten_arms import without_beaten
from lsdt.candidates.complete.anchors import find_by_anchors
from lsdt.candidates.options import USUAL, Options, checked_options
from lsdt.candidates.out_of_core.method import find_in_engine
from lsdt.candidates.proofs import check_side_information
from lsdt.candidates.propagation.method import find_propagation
from lsdt.candidates.propagation.order import find_order
from lsdt.candidates.propagation.parts import find_by_parts
from lsdt.candidates.result import CandidateSet
from lsdt.candidates.search.exact import find_exact
from lsdt.candidates.search.probing import find_probing
from lsdt.candidates.top.method import find_top_by_order, find_top_by_propagation
from lsdt.candidates.top.positions import find_by_positions
from lsdt.candidates.triangles.method import find_triangles
from lsdt.errors import ContradictionWarning, Unsupported
from lsdt.kernel import compile_seconds
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsdt.candidates.outcome import Outcome
    from lsdt.side_information import LazyPairs


# One entry and one file per method.
METHODS: dict[str, Callable[[SideInformation, Options], Outcome]] = {
    "order": find_order,
    "anchors": find_by_anchors,
    "triangles": find_triangles,
    "propagation": find_propagation,
    "probing": find_probing,
    "exact": find_exact,
}
CHOICES = ("auto", "paper", *METHODS)
# The same for the best m, m > 1; the others go by whether one arm can be the best.
TOP_METHODS: dict[str, Callable[[SideInformation, Options], Outcome]] = {
    "order": find_top_by_order,
    "anchors": find_by_positions,
    "triangles": find_triangles,
    "propagation": find_top_by_propagation,
}
# From where to where each stage moves the progress bar: rough shares of the usual time.
_PARTS = {"arms (intervals)": (0.0, 0.2), "arms (closure)": (0.2, 0.6), "arms (probing)": (0.6, 1.0)}
_ENGINE_PARTS = {"parts": (0.0, 0.8), "arms (intervals)": (0.8, 0.85), "arms (closure)": (0.85, 1.0)}


def candidate_set(
    side: SideInformation | LazyPairs | Any,
    method: str = "auto",
    top: int = 1,
    max_wrong: int | str = 0,
    timeout: float | None = None,
    *,
    wrong_rate: float | None = None,
    risk: float | None = None,
    n_jobs: int | None = None,
    progress: bool | Callable[[float], None] | None = None,
) -> CandidateSet:
    """Find the arms that can be the best, or among the best `top`; all others are out for a stated reason.

    Relations exclude arms by the method that is asked for. Arms that were beaten in a log
    (`SideInformation.beaten`) are excluded by every method.

    Parameters
    ----------
    side : SideInformation, LazyPairs or lazy frame
        The known relations. Pairs that do not fit in memory stay in their engine: a DuckDB relation, a Spark
        dataframe or a lazy polars frame with columns ``a``, ``b``, ``relation``, or what
        `lsdt.from_lazy_frame` makes of one. The engine runs ``'paper'`` or ``'order'``, and only the arms
        that these leave are read; ``'auto'`` continues with those by ``'propagation'``.
    method : {'auto', 'paper', 'order', 'anchors', 'triangles', 'propagation', 'probing', 'exact'}
        How to decide which arms are out.

        - ``'auto'``: the strongest method that is quick for any number of arms: anchors when complete,
          propagation when partial or with ranges, triangles to tolerate wrong relations.
        - ``'paper'``: anchors when complete, triangles when partial.
        - ``'order'``: for better pairs and ranges: exclude an arm when another one is known to lie above it,
          directly or through others; exact where no pair is dissimilar.
        - ``'anchors'``: exact, for complete information (Theorem 1 of the paper).
        - ``'triangles'``: the paper's set B0, for partial information: exclude an arm when two arms similar
          to it are dissimilar; a range counts as one of the two where it lies inside or outside of epsilon.
        - ``'propagation'``: assume that an arm is the best and derive what follows; contains order and the
          triangle rule, and is exact on nearly all random graphs.
        - ``'probing'``: in addition, try both orders of every dissimilar pair that is still open, one level
          deep; for instances made to be hard.
        - ``'exact'``: in addition, decide every remaining arm by search, for up to 1,000 arms, partial or
          complete; ``notes`` say how many are undecided, if any.
    top : int
        Find the arms that can be among the best `top`: an arm is out when at least `top` arms lie strictly
        above it in every assignment of means. ``'auto'``, ``'paper'``, ``'order'``, ``'anchors'``,
        ``'triangles'`` and ``'propagation'`` take more than 1. The other methods, pairs in an engine,
        `n_jobs` and ``max_wrong='auto'`` refuse it.
    max_wrong : int or 'auto'
        For triangles: how many relations may be wrong without losing the best arm. To tolerate r of them,
        r + 1 disjoint dissimilar pairs must exclude an arm (r + m for the best m). ``'auto'`` takes the
        smallest number that leaves a candidate (at least 1 if some relation is provably wrong) and reports it
        in ``notes``; it does not know how many are wrong.
    timeout : float, optional
        Seconds that ``'propagation'``, ``'probing'`` and ``'exact'`` may take; work on an arm that has begun
        is finished. Arms not examined in time stay, and ``notes`` say how many. By default there is no limit
        for the first two, and 60 seconds for ``'exact'``.
    wrong_rate : float, optional
        For triangles: each known relation is wrong with this probability, independently of the others. The
        number of witnesses needed per arm then keeps the probability of losing the best arm at or below
        `risk`; ``notes`` say how many. ``'auto'`` and ``'paper'`` mean triangles here.
    risk : float
        The accepted probability of losing the best arm; for `wrong_rate`, .01 by default.
    n_jobs : int, optional
        For ``'propagation'``: decide parts of the arms that no relation connects separately, on this many
        joblib workers; -1 uses all cores. Workers are threads, or what ``joblib.parallel_config(...)`` sets,
        such as processes or a Ray cluster. By default all arms are decided together: blocks of arms then
        share all cores, but orders are grown on one.
    progress : bool, function or None
        Whether to show a progress bar; by default on a terminal or in a notebook, if it takes more than two
        seconds. A function is called with the share that is done.

    Returns
    -------
    CandidateSet
        ``arms``, ``arm_ids``, ``classes``, ``explain(arm)``, ``to_frame()``.

    Raises
    ------
    InconsistentSideInformation
        When the relations contradict one another; the error holds a conflict. ``'propagation'`` warns instead
        (`ContradictionWarning`), and falls back to the triangle rule with more witnesses.
    NotUnitInterval
        When complete relations are not a unit interval graph; the error holds the forbidden subgraph.
    TooLarge
        When there are more arms than ``'exact'`` takes.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_means([.1, .2, .3, .4, .5], epsilon=.25)
    >>> found = lsdt.candidate_set(side)
    >>> found.arms.tolist()
    [0, 4]
    >>> print(found.explain(2))
    arm 2 cannot be the best: it is similar to 0 and 4, which are dissimilar. Were 2 the best, both would lie
    less than epsilon below it, hence be similar.
    """
    checked_word(method, "method", CHOICES)
    options = checked_options(max_wrong, timeout, wrong_rate, risk, top)
    jobs = None if n_jobs is None else checked_jobs(n_jobs)
    pairs = None if isinstance(side, SideInformation) else _pairs_in_engine(side)
    if pairs is not None:
        if options.top > 1:
            raise Unsupported(
                f"pairs that stay in an engine are searched for the best arm only; got top={top}"
            )
        with progress_of(progress, _ENGINE_PARTS):
            return find_in_engine(pairs, method, options)
    check_side_information(side)
    assert isinstance(side, SideInformation)
    chosen = method_for(side, method, options)
    started = perf_counter()
    with compile_seconds() as compiling, progress_of(progress, _PARTS):
        if options.top > 1:
            outcome = _method_for_top(chosen, options, jobs)(side, options)
        elif chosen == "propagation" and jobs is not None:
            outcome = find_by_parts(side, options, jobs)
        else:
            outcome = METHODS[chosen](side, options)
        outcome = without_beaten(outcome, options.top)
    found = CandidateSet(chosen, outcome, perf_counter() - started - compiling.seconds)
    if found.conflict is not None:
        warnings.warn(found.notes[0], ContradictionWarning, stacklevel=2)
    return found


def _method_for_top(
    method: str, options: Options, jobs: int | None
) -> Callable[[SideInformation, Options], Outcome]:
    """Return the method for the best m, or say which there are."""
    if method not in TOP_METHODS:
        raise Unsupported(
            f"the method {method!r} finds arms that can be the best, not the best {options.top}; use "
            "'propagation', 'order', 'anchors' or 'triangles', or leave method out"
        )
    if jobs is not None:
        raise Unsupported(f"n_jobs shares the search for the best arm; leave it out with top={options.top}")
    return TOP_METHODS[method]


def _pairs_in_engine(value: Any) -> LazyPairs | None:
    """Return pairs that stay in an engine, or None for anything else."""
    from lsdt.side_information import lazy_pairs_of

    return lazy_pairs_of(value)


def method_for(side: SideInformation, method: str, options: Options = USUAL) -> str:
    """Return the name of the method to run: ``'auto'`` and ``'paper'`` depend on the side information."""
    if method not in ("auto", "paper"):
        return method
    if options.wrong_rate is not None:
        return "triangles"
    if side.is_complete and (side.ranges is None or method == "paper"):
        return "anchors"
    return "triangles" if method == "paper" or options.max_wrong != 0 else "propagation"
