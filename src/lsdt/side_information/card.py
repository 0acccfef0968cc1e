"""The HTML cards that notebooks show for side information and for merge reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._html import (
    BLUE,
    MOST_DRAWN,
    MOST_NAMES,
    MOST_ROWS,
    ORANGE,
    Html,
    card,
    facts,
    fold,
    histogram,
    html_table,
    matrix,
    name_list,
    share_bar,
)
from lsdt.errors import counted
from lsdt.side_information.layouts.stores import PairStore, WindowStore, all_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.side_information import SideInformation
    from lsdt.side_information.sources.merge import MergeReport

_BINS = 40  # bars of a histogram in a card, chosen by eye
_MOST_READ = 100_000  # arms whose degrees are counted for the histogram


def side_information_card(side: SideInformation) -> Html:
    """Return a card: pairs by relation, facts such as epsilon, a picture, the first arms, the evidence."""
    kind = "complete" if side.is_complete else "partial"
    return card(
        "SideInformation",
        f"{counted(side.n_arms, 'arm')}, {kind}",
        _pairs(side),
        facts(_facts(side)),
        _picture(side),
        fold("arms", _arms(side)),
        fold("what it rests on", _evidence(side.evidence)),
    )


def _pairs(side: SideInformation) -> Html:
    """Return a bar of the numbers of pairs by relation; if coins decide, of their expected numbers."""
    store = side.store
    if isinstance(store, PairStore):
        near, apart = float(store.n_similar), float(store.n_dissimilar)
        is_counted = True
    else:
        near, apart = store.expected_counts()
        is_counted = not store.layers
    rest = max(all_pairs(side.n_arms) - near - apart, 0.0)
    about = "" if is_counted else "about "
    parts: list[tuple[str, float, str | None]] = [
        (f"{about}similar", round(near), BLUE),
        (f"{about}dissimilar", round(apart), ORANGE),
        ("neither", round(rest), None),
    ]
    return share_bar([part for part in parts if part[1]])


def _facts(side: SideInformation) -> dict[str, Any]:
    own = side.store.thresholds
    return {
        "epsilon": side.epsilon,
        "thresholds": None if own is None else f"{own.smallest:g} to {own.largest:g}",
        "with a sign": None if side.ranges is None else side.ranges.in_words.strip(" ,"),
        "beaten": None if side.beaten is None else f"{int(side.beaten.is_out(side.n_arms).sum()):,} arms",
        "held as": "means; pairs are computed when needed" if side.is_implicit else None,
        "risk that anything is wrong": side.risk,
        "scale of the ratings": None if side.scale is None else f"{side.scale[0]:g} to {side.scale[1]:g}",
    }


def _picture(side: SideInformation) -> Html:
    if 1 < side.n_arms <= MOST_DRAWN:
        pairs = side.store.explicit()
        apart = () if pairs.dissimilar is None else pairs.dissimilar.pairs().tolist()
        return matrix(side.n_arms, pairs.similar.pairs().tolist(), apart)
    if isinstance(side.store, WindowStore):
        means = side.store.windows.means  # ascending
        low, high = float(means[0]), float(means[-1])
        ends = np.searchsorted(means, np.linspace(low, high, _BINS + 1)[1:-1])
        heights = np.diff(np.concatenate([[0], ends, [len(means)]]))
        return histogram(heights, low, high, "arms by their mean")
    return _degrees(side)


def _degrees(side: SideInformation) -> Html:
    assert isinstance(side.store, PairStore)
    rows = side.store.similar.indptr[: _MOST_READ + 1]
    degrees: NDArray[np.int64] = np.diff(rows)
    if len(degrees) < 2 or not degrees.any():
        return Html("")
    sampled = f", the first {_MOST_READ:,} of them" if side.n_arms > _MOST_READ else ""
    heights, ends = np.histogram(degrees, bins=min(_BINS, int(degrees.max()) + 1))
    label = f"arms by the number of arms similar to them{sampled}"
    return histogram(heights, float(ends[0]), float(ends[-1]), label)


def _arms(side: SideInformation) -> Html:
    return name_list(map(side.show, range(min(side.n_arms, MOST_NAMES))), side.n_arms)


def _evidence(evidence: Any) -> Html:
    return Html("" if evidence is None else getattr(evidence, "_repr_html_", lambda: "")())


def merge_report_card(report: MergeReport) -> Html:
    """Return a card: a row per source, and the first pairs on which sources disagree."""
    names = ("source", "similar", "dissimilar", "with a range", "new", "agreeing", "contradicting")
    rows = [
        (each.name, each.n_similar, each.n_dissimilar, each.n_ranges, each.n_new, each.n_agreeing,
         each.n_contradicting)
        for each in report.sources
    ]  # fmt: skip
    disputed = [
        (found.first, found.second, list(found.similar_in), list(found.dissimilar_in))
        for found in report.contradictions(MOST_ROWS)
    ]
    lead = str(report).partition("\n")[0]
    return card(
        "MergeReport",
        lead,
        html_table(names, rows),
        facts({"risk": report.risk_text() or None}),
        fold(
            counted(report.n_contradictions, "contradiction"),
            html_table(("a", "b", "similar in", "dissimilar in"), disputed, report.n_contradictions),
        ),
    )
