"""HTML cards of candidates, explanations and conflicts for notebooks."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from lsdt._html import (
    BLUE,
    MOST_DRAWN,
    MOST_NAMES,
    MOST_ROWS,
    ORANGE,
    PURPLE,
    Html,
    card,
    facts,
    fold,
    histogram,
    html_table,
    intervals,
    name_list,
    paragraph,
    relation_graph,
    remarks,
    share_bar,
)
from lsdt.candidates.proofs import claim
from lsdt.candidates.reasons import reasons_of
from lsdt.candidates.triangles.conflict import in_words
from lsdt.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsdt.candidates.complete.interval_model import UnitIntervalModel
    from lsdt.candidates.complete.recognition import ForbiddenSubgraph
    from lsdt.candidates.proofs import Explanation, Relation
    from lsdt.candidates.result import CandidateSet
    from lsdt.candidates.triangles.conflict import Conflict

_MOST_TITLED = 2_000  # arms; renaming more of them by title would delay the card
_PATIENCE = 0.02  # seconds spent on reasons, too short to notice; users call `explain` for the others
_BINS = 40  # bars of a histogram in a card, chosen by eye


def candidate_set_card(found: CandidateSet, n_arms: int) -> Html:
    """Return a card: the candidates, how many arms each stage excluded, and the reasons at hand."""
    side, n_left = found.side, len(found)
    few = map(side.show, found.arms[:MOST_NAMES].tolist())
    n_classes = 0 if found.classes is None else len(found.classes)
    classes = f" in {n_classes:,} classes" if n_classes > 1 else ""
    return card(
        "CandidateSet",
        f"{n_left:,} of {counted(n_arms, 'arm')} {found.claim}{classes}",
        share_bar(_shares(found, n_arms)),
        name_list(few, n_left),
        facts(
            {
                "method": found.method,
                "wrong relations it tolerates": found.max_wrong or None,
                "took": f"{found.seconds:.2g} s",
            }
        ),
        remarks(found.notes),
        fold("why the others are out", _reasons(found, n_arms)),
    )


def _shares(found: CandidateSet, n_arms: int) -> list[tuple[str, float, str | None]]:
    """Return the segments of the bar: how many arms are left, and how many each stage excluded."""
    shades = (ORANGE, PURPLE, "#c08a00", "#3fa3a3", "#8c8c8c")
    stages = [stage for stage in found.stages if stage.excluded]
    if found.conflict is not None or sum(stage.excluded for stage in stages) != n_arms - len(found):
        return [(f"{found.claim}", len(found), BLUE), ("cannot", n_arms - len(found), None)]
    out: list[tuple[str, float, str | None]] = [
        (f"out by {stage.name}", stage.excluded, shades[min(at, len(shades) - 1)])
        for at, stage in enumerate(stages)
    ]
    return [(f"{found.claim}", len(found), BLUE), *out]


def _reasons(found: CandidateSet, n_arms: int) -> Html:
    if len(found) == n_arms:
        return Html("")
    arms = np.flatnonzero(reasons_of(found).at_hand)
    if found.side.titles is not None and found.side.n_arms > _MOST_TITLED:
        arms = arms[:0]
    rows, end = [], perf_counter() + _PATIENCE
    for arm in arms[:MOST_ROWS].tolist():
        if perf_counter() > end:
            break
        rows.append((found.side.show(arm), found._explain(arm).text))
    left = n_arms - len(found) - len(rows)
    ask = f"{'the others' if rows else 'each of them'}: found.explain(arm)" if left else ""
    return Html(html_table(("arm", "reason"), rows) + paragraph(ask, dim=True) * bool(ask))


def explanation_card(why: Explanation) -> Html:
    """Return a card: the argument, a graph of its relations, the means if there are any, a folded table."""
    lead = f"arm {why.side.show(why.arm)} {'may be' if why.is_candidate else 'cannot be'} {claim(why.top)}"
    relations = why.relations
    means = "" if why.means is None else facts({"means that make it the best": why.means})
    return card(
        "Explanation",
        lead,
        paragraph(why.text),
        relation_graph(relations, why.arm_id),
        Html(means),
        fold(counted(len(relations), "relation"), relation_table(relations)),
    )


def conflict_card(conflict: Conflict) -> Html:
    """Return a card: relations that cannot all be true, the one to check first, and the proof folded."""
    doubt = conflict.suggestion
    return card(
        type(conflict).__name__,
        f"{counted(len(conflict.relations), 'relation')} that cannot all be true",
        Html("" if doubt is None else paragraph(f"Check first whether {in_words(doubt)}.")),
        relation_graph(conflict.relations),
        fold("relations", relation_table(conflict.relations)),
        fold("the proof", paragraph(str(conflict))),
    )


def relation_table(relations: Sequence[Relation]) -> Html:
    """Return a table with one row per relation, up to `MOST_ROWS`."""
    return html_table(("relations",), [(in_words(one),) for one in relations[:MOST_ROWS]], len(relations))


def forbidden_card(forbidden: ForbiddenSubgraph) -> Html:
    """Return a card of the arms that rule out a unit interval model."""
    few = len(forbidden.arms) <= MOST_ROWS
    return card(
        "ForbiddenSubgraph",
        forbidden.kind,
        paragraph(str(forbidden)),
        relation_graph(forbidden.relations) if few else name_list(forbidden.arms, len(forbidden.arms)),
    )


def model_card(model: UnitIntervalModel) -> Html:
    """Return a card that draws the intervals, or a histogram of their left ends if there are many."""
    places = model.coordinates
    low, high = float(places.min()), float(places.max())
    if len(places) <= MOST_DRAWN:
        picture = intervals(places, 1.0, "intervals from left to right")
    else:
        heights = np.histogram(places, bins=_BINS, range=(low, high if high > low else low + 1.0))[0]
        picture = histogram(heights, low, high, "intervals by their left end")
    return card(
        "UnitIntervalModel",
        f"{counted(len(places), 'interval')} of length 1 that overlap exactly where arms are similar",
        picture,
        facts({"from left to right": model.order[:8].tolist()}),
    )
