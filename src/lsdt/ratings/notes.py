"""What a user should know of relations drawn from ratings, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lsdt.ratings.engines.source import RatingSource
    from lsdt.ratings.request import Asked
    from lsdt.ratings.rules.epsilon_grid import Scan
    from lsdt.ratings.statistics.missingness import Missingness
    from lsdt.ratings.statistics.pairs import PairStatistics


class Told(NamedTuple):
    """All that the notes are about."""

    asked: Asked
    source: RatingSource
    statistics: PairStatistics
    relations: NDArray[np.int8]
    scan: Scan
    split: bool
    missingness: Missingness


def notes_of(told: Told) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is to be known, and those of it that a warning is worth."""
    epsilon = told.scan.chosen.epsilon
    alarms = []
    if told.scan.chosen.risk is None:
        alarms.append(
            f"At epsilon {epsilon:g} the relations contradict one another: some of them are wrong. Ask for "
            "more confidence, or another epsilon."
        )
    elif not told.scan.met:
        alarms.append(_risky(told))
    missing = told.missingness.note(epsilon)
    if told.missingness.matters(epsilon):
        alarms.append(missing)
        missing = ""
    notes = [_scale(told), _compared(told), _level(told), *_choice(told), *alarms, missing]
    return tuple(filter(None, notes)), tuple(alarms)


def _scale(told: Told) -> str:
    low, high = told.source.scale
    epsilon = told.scan.chosen.epsilon
    return (
        f"Ratings from {low:g} to {high:g} are put on the scale from 0 to 1; epsilon {epsilon:g} is "
        f"{epsilon * (high - low):g} on theirs."
    )


def _compared(told: Told) -> str:
    listed, decided = told.statistics, int(np.count_nonzero(told.relations))
    return (
        f"Of {counted(listed.n_pairs, 'pair')} of items, {listed.n_compared:,} have common raters; the "
        f"relation of {decided:,} is decided; pairs with fewer than {told.asked.min_raters} are left unknown."
    )


def _level(told: Told) -> str:
    asked = told.asked
    if asked.rule == "paper":
        return "The paper's rule does not know how sure a relation is; how many are wrong is not known."
    normal = (
        "if means of differences are nearly normal (interval='bernstein' does not need that)"
        if asked.interval == "student"
        else "whatever the distribution of ratings"
    )
    if asked.level == "family":
        return (
            f"With a probability of {asked.confidence:.4g} at least, no relation is wrong and the best item "
            f"is not lost, {normal}, for those who rate both items of a pair. That holds at every epsilon at "
            "once."
        )
    dependence = (
        "under any dependence of pairs"
        if asked.level == "fdr_any"
        else "proven where pairs are independent or positively dependent, which those that share raters need "
        "not be"
    )
    return (
        f"A share of {asked.error:.4g} of the relations at most is expected to be wrong, {normal}, "
        f"{dependence}. A single wrong one can lose the best item."
    )


def _choice(told: Told) -> Iterator[str]:
    """Explain how epsilon came about."""
    scan, chosen = told.scan, told.scan.chosen
    if told.asked.epsilon != "auto":
        if chosen.risk is not None and scan.met:
            yield f"The epsilon given leaves {_left(told)}."
        return
    tried = f"{counted(len(scan.points), 'value')} of epsilon from {scan.points[0].epsilon:g} to "
    tried += f"{scan.points[-1].epsilon:g} were tried"
    if scan.n_inconsistent:
        tried += f", {scan.n_inconsistent} of which contradict themselves"
    if told.asked.search == "paper":
        yield f"{tried}, the paper's way; {chosen.epsilon:g} leaves the fewest found: {_left(told)}."
    elif scan.met:
        low = [point for point in scan.points if point.risk is not None and point.risk <= told.asked.error]
        yield (
            f"{tried}; at {len(low)} of them the estimated risk of losing the best item is at most "
            f"{told.asked.error:.4g}, and of these {chosen.epsilon:g} leaves the fewest: {_left(told)}."
        )
    else:
        yield f"{tried}."
    if told.split:
        yield (
            "Half of the users, drawn at random, chose epsilon; the other half decided the relations, so "
            "that the choice does not spoil their level. Risks and candidates are those of the first half."
        )


def _risky(told: Told) -> str:
    why = "no value that was tried has less"
    if told.asked.epsilon != "auto":
        why = "epsilon='auto' looks for a value with less"
    elif told.asked.search == "paper":
        why = "the paper's search does not look at it, search='grid' does"
    return (
        f"The estimated risk of losing the best item, {told.scan.chosen.risk:.3g}, is above "
        f"{told.asked.error:.4g}: {why}. Epsilon {told.scan.chosen.epsilon:g} leaves {_left(told)}."
    )


def _left(told: Told) -> str:
    chosen = told.scan.chosen
    return (
        f"{counted(chosen.candidates or 0, 'candidate')} of {told.statistics.n_items:,}, with an estimated "
        f"risk of {chosen.risk or 0.0:.2g}"
    )
