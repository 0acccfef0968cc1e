"""Notebook cards of logs, of evidence from ratings, and of checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt._html import (
    BLUE,
    GREEN,
    ORANGE,
    Html,
    card,
    facts,
    fold,
    histogram,
    name_list,
    paragraph,
    remarks,
    share_bar,
)
from lsdt.errors import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.engines.lazy_frames import EngineLog
    from lsdt.ratings.events import EventLog
    from lsdt.ratings.evidence import RatingEvidence
    from lsdt.ratings.log import RatingLog
    from lsdt.ratings.side_check import SideCheck

_BINS = 40  # of a histogram, by eye
# A card should appear at once: ratings in a picture, and pairs whose relations are counted.
_MOST_READ = 100_000
_MOST_COUNTED = 10**6


def log_card(log: RatingLog | EventLog, values: NDArray[np.float64], what: str) -> Html:
    """Return the size of a log, and how its values are spread over the scale."""
    step = len(values) // _MOST_READ + 1
    sampled = f", one in {step:,}" if step > 1 else ""
    heights = np.histogram(values[::step], bins=_BINS, range=(log.low, log.high))[0]
    return card(
        type(log).__name__,
        repr(log).partition("(")[2].removesuffix(")"),
        histogram(heights, log.low, log.high, f"{what} over their scale{sampled}"),
        facts({"with times": log.times is not None}),
        fold("items", name_list(log.item_ids, len(log.item_ids))),
    )


def engine_card(log: EngineLog) -> Html:
    """Return the items and the scale of a log in an engine, without a query."""
    return card(
        "EngineLog",
        repr(log).partition("(")[2].removesuffix(")"),
        fold("items", name_list(log.item_ids, len(log.item_ids))),
    )


def evidence_card(evidence: RatingEvidence) -> Html:
    """Return the log behind the relations, how they were decided, and remarks."""
    low, high = evidence.scale
    n_pairs, users = len(evidence.words), counted(evidence.n_users, "user")
    many = n_pairs > _MOST_COUNTED
    return card(
        "RatingEvidence",
        f"{counted(evidence.n_ratings, 'rating')} from {low:g} to {high:g} by {users}",
        facts(
            {
                "relations": counted(n_pairs, "pair") if many else evidence.relations_in_words(),
                "epsilon": evidence.epsilon,
                "rule": evidence.rule,
                "level": evidence.level,
                "confidence": evidence.confidence,
            }
        ),
        fold(counted(len(evidence.notes), "remark"), remarks(evidence.notes)),
    )


def check_card(check: SideCheck) -> Html:
    """Return how many relations a log confirms and contradicts."""
    n_open = check.n_tested - check.n_wrong - check.n_right
    lead, _, rest = str(check).partition("\n")
    return card(
        "SideCheck",
        lead,
        share_bar(
            [
                ("wrong", check.n_wrong, ORANGE),
                ("right", check.n_right, BLUE),
                ("open", n_open, GREEN),
                ("not tested", check.n_relations - check.n_tested, None),
            ]
        ),
        paragraph(rest),
    )
