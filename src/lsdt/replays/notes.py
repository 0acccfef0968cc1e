"""What the answer of a replay rests on, and when it means nothing, in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.replays.result import too_few
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from lsdt.replays.log_rows import Material
    from lsdt.replays.splits import Answers, ReplayStudy

_ASSUMED = {
    "matrix": (
        "This holds if whether a user rated an item has nothing to do with the rating. People rate what they "
        "like: then all rewards are too high, and those of items few people rate the most."
    ),
    "uniform": "This holds if what was shown was chosen at random, whoever the user was.",
    "propensity": (
        "This holds if the probabilities are those with which items were chosen, and every item could be "
        "chosen for every user."
    ),
}
_UNLIKELY = 1e-3  # items shown as unequally as this by chance were not chosen uniformly


def notes_of(study: ReplayStudy, answers: Answers) -> tuple[list[str], list[str]]:
    """Return notes on how to read a replay, and those that say its answer means nothing."""
    serious, notes = [], [_ASSUMED[study.material.method]]
    for column, contender in enumerate(study.contenders):
        reason = too_few(answers, column, study.rounds)
        short = int((answers.matched[:, column] < study.rounds).sum())
        if reason:
            serious.append(f"the answer for {contender.label!r} means nothing: {reason}")
        elif short:
            least = int(answers.matched[:, column].min())
            notes.append(
                f"The log ended before {contender.label!r} had played {study.rounds:,} rounds in {short} of "
                f"{len(answers.matched)} splits, after {least:,} at the least: compare it with the others at "
                "a number of rounds that all have played, or ask for fewer."
            )
    if isinstance(study.side, SideInformation):
        notes.append(
            "The side information is the same in all splits: if it was made from this log, the users tested "
            "on had a part in it, and rewards on the candidates are too high."
        )
    return [*notes, *_notes_on_events(study.material)], serious


def _notes_on_events(material: Material) -> list[str]:
    if material.method == "uniform":
        chance = _chance_of_uniform(np.bincount(material.rows.items, minlength=material.n_items))
        if chance < _UNLIKELY:
            return [
                "Items were not shown equally often, which chance alone would bring about with probability "
                f"{chance:.1g}. That does no harm as long as what was shown did not depend on the user; "
                "otherwise use propensities."
            ]
    chances = getattr(material.source, "propensities", None)
    if material.method == "propensity" and chances is not None and material.clip > 0.0:
        cut = float((chances < material.clip).mean())
        return [f"{cut:.1%} of the events have a propensity below the clip {material.clip:g}: they bias it."]
    return []


def _chance_of_uniform(counts: np.ndarray) -> float:
    """Return the p value of Pearson's chi-squared test that all items are equally likely."""
    from scipy.special import chdtrc

    expected = counts.mean()
    return float(chdtrc(max(len(counts) - 1, 1), np.square(counts - expected).sum() / expected))
