"""The notebook card of a study: a small panel per policy, all on one scale, and a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._html import COLOURS, Html, card, curve, facts, fold, html_table, paragraph, remarks
from lsdt.errors import counted

if TYPE_CHECKING:
    from lsdt.simulation.result import SimulationResult

_MOST_PANELS = 12  # policies drawn; chosen by eye, so that a card fits on one screen
# Recorded regrets of one study; with more, the card shows neither curves nor a table, so that it stays quick.
_MOST_VALUES = 2_000_000
_COLUMNS = ("regret", "low", "high", "reward", "enough")


def result_card(result: SimulationResult) -> Html:
    """Return a card with curves of regret and their intervals for the first policies, and a table of all."""
    runs = counted(result.replications, "split" if result.kind == "replay" else "replication")
    state = f", of {result.requested:,} that were asked for" if result.partial else ""
    labels = result.policies[:_MOST_PANELS]
    parts = [facts({"problem": result.problem, "seed": result.seed})]
    parts.insert(0, _panels(result, labels))
    left = len(result.policies) - len(labels)
    if left:
        parts.insert(1, paragraph(f"and {left:,} more policies: result.summary()", dim=True))
    notes: list[str] = getattr(result, "notes", [])
    return card(
        type(result).__name__,
        f"{counted(len(result.policies), 'policy').replace('policys', 'policies')}, {runs} of "
        f"{counted(result.horizon, 'round')}{state}",
        *parts,
        fold(counted(len(notes), "note"), remarks(notes)),
        fold("as a table", _summary(result)),
    )


def _panels(result: SimulationResult, labels: list[str]) -> Html:
    if result.arrays.regret.size > _MOST_VALUES or not result.replications:
        return Html("")
    curves = [result.regret_interval(label) for label in labels]
    ends = [
        end
        for found in curves
        for one in found
        for end in (np.nanmin(one, initial=0.0), np.nanmax(one, initial=0.0))
    ]
    finite = [float(end) for end in ends if math.isfinite(end)]
    bottom, top = min(0.0, *finite), max(finite)
    drawn = [
        curve(label, result.checkpoints, middle, low, high, top, bottom, COLOURS[at % len(COLOURS)])
        for at, (label, (middle, low, high)) in enumerate(zip(labels, curves, strict=True))
    ]
    rounds = "" if bottom == 0.0 else f" from {bottom:.4g}"
    caption = paragraph(
        f"regret{rounds} up to {top:.4g}, with 95% intervals; below, after the last round", dim=True
    )
    return Html(caption + "".join(drawn))


def _summary(result: SimulationResult) -> Html:
    if result.arrays.regret.size > _MOST_VALUES or not result.replications:
        return paragraph("this study is large: result.summary()", dim=True)
    frame = result.summary()
    columns = [name for name in _COLUMNS if name in frame]
    rows: list[list[Any]] = [
        [label, *(frame[name].iloc[at] for name in columns)] for at, label in enumerate(result.policies)
    ]
    return html_table(("policy", *columns), rows)
