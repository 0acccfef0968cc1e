"""The parts of the two reports, on the paper and beyond it, in the order of their pages."""

from __future__ import annotations

import fnmatch
from importlib import import_module
from typing import TYPE_CHECKING

from lsdt.errors import InvalidInput, suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsdt.reproduce.framework.experiment import Experiment

# Each part with its module in this folder. A module has one `EXPERIMENT`, or several `EXPERIMENTS` by id.
_PAPER = {
    "example-uig": "paper.candidates.example_uig",
    "example-partial": "paper.candidates.example_partial",
    "fig-bstar-eps": "paper.candidates.fig_bstar",
    "fig-bstar-k": "paper.candidates.fig_bstar",
    "fig-b0-p": "paper.candidates.fig_b0",
    "fig-b0-k": "paper.candidates.fig_b0",
    "fig-regret-csi-a": "paper.regret.fig_regret_csi_a",
    "fig-regret-csi-b": "paper.regret.fig_regret",
    "fig-regret-psi-a": "paper.regret.fig_regret",
    "fig-regret-psi-b": "paper.regret.fig_regret",
    "fig-ts-csi": "paper.regret.fig_regret",
    "fig-ts-psi": "paper.regret.fig_regret",
    "table-time-csi": "paper.regret.running_times",
    "table-time-psi": "paper.regret.running_times",
    "fig-jester": "paper.jester.fig_jester",
    "check-bounds": "theorems.check_bounds",
    "check-order": "theorems.check_order",
    "check-theorem-5": "theorems.check_theorem_5",
    "check-corollary-1": "theorems.check_corollary_1",
    "check-programmes": "theorems.check_programmes",
    "check-sensitivity": "theorems.check_sensitivity",
    "example-gadgets": "theorems.hardness.example_gadgets",
    "check-hardness": "theorems.hardness.check_hardness",
}
IDS = tuple(_PAPER)

# The report that goes beyond the paper.
_BEYOND = {
    "beyond-complete": "beyond.contests.settings",
    "beyond-partial-5": "beyond.contests.settings",
    "beyond-partial-2": "beyond.contests.settings",
    "beyond-disconnected": "beyond.contests.settings",
    "beyond-clustered": "beyond.contests.settings",
    "beyond-bell": "beyond.contests.settings",
    "beyond-grid": "beyond.contests.settings",
    "beyond-two-level": "beyond.contests.settings",
    "beyond-larger-1k": "beyond.contests.settings",
    "beyond-larger-10k": "beyond.contests.settings",
    "beyond-long": "beyond.contests.linear_regret",
    "beyond-proof": "beyond.closure_bound",
    "beyond-wrong": "beyond.wrong_relations.wrong_contest",
    "beyond-distance": "beyond.wrong_relations.wrong_contest",
    "beyond-massive": "beyond.massive.elimination",
    "beyond-massive-regret": "beyond.massive.few_rounds",
    "beyond-massive-million": "beyond.massive.few_rounds",
    "beyond-identify": "beyond.identification.contest",
    "beyond-graphs": "beyond.graphs.contest",
    "beyond-drift": "beyond.drift.contest",
    "beyond-inquiry": "beyond.inquiry.contest",
    "beyond-pairs-log": "beyond.pairs.log",
    "beyond-pairs-features": "beyond.pairs.features_contest",
    "beyond-pairs-judge": "beyond.pairs.judge_contest",
    "beyond-pairs-calibration": "beyond.pairs.judge_calibration",
    "beyond-pairs-comparisons": "beyond.pairs.comparison_level",
}
BEYOND = tuple(_BEYOND)


def ids_of(beyond: bool) -> tuple[str, ...]:
    """Return the ids of the parts of a report: the paper's, or the one that goes beyond it."""
    return BEYOND if beyond else IDS


def experiment(part: str) -> Experiment:
    """Return a part of either report by its id."""
    if part not in (*IDS, *BEYOND):
        raise _no_part(part, IDS)
    module = import_module(f"lsdt.reproduce.{(_PAPER | _BEYOND)[part]}")
    found: Experiment = module.EXPERIMENTS[part] if hasattr(module, "EXPERIMENTS") else module.EXPERIMENT
    return found


def experiments(parts: Sequence[str] | None = None, beyond: bool = False) -> list[Experiment]:
    """Return these parts, or all, in the order of the report; a pattern such as ``fig-*`` selects several."""
    ids = ids_of(beyond)
    if parts is None:
        return [experiment(part) for part in ids]
    wanted: set[str] = set()
    for part in parts:
        if "*" not in part and part not in ids:
            raise _no_part(part, ids)
        matching = fnmatch.filter(ids, part)
        if not matching:
            raise InvalidInput(f"no part of the reproduction matches {part!r}; there are {', '.join(ids)}")
        wanted |= set(matching)
    return [experiment(part) for part in ids if part in wanted]


def _no_part(part: str, ids: tuple[str, ...]) -> InvalidInput:
    """Return the error for an unknown part; it says if the part belongs to the other report."""
    if part in BEYOND:
        return InvalidInput(
            f"the part {part!r} goes beyond the paper; ask for it with beyond=True (--beyond)"
        )
    there = ", ".join(ids)
    if part in IDS:
        return InvalidInput(
            f"the part {part!r} is one of the paper's; those beyond the paper are {there}. Leave beyond out"
        )
    return InvalidInput(
        f"there is no part {part!r} of the reproduction; there are {there}{suggest(part, ids)}"
    )
