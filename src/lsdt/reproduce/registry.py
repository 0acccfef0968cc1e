"""Which parts there are, in the order of the two reports, the paper's and beyond it: a line each."""

from __future__ import annotations

import fnmatch
from importlib import import_module
from typing import TYPE_CHECKING

from lsdt.errors import InvalidInput, suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsdt.reproduce.experiments import Experiment

# Each part is the file of the same name, with underscores.
IDS = (
    "example-uig",
    "example-partial",
    "fig-bstar-eps",
    "fig-bstar-k",
    "fig-b0-p",
    "fig-b0-k",
    "fig-regret-csi-a",
    "fig-regret-csi-b",
    "fig-regret-psi-a",
    "fig-regret-psi-b",
    "fig-ts-csi",
    "fig-ts-psi",
    "table-time-csi",
    "table-time-psi",
    "fig-jester",
    "check-bounds",
    "check-order",
    "check-theorem-5",
    "check-corollary-1",
    "check-programmes",
    "check-sensitivity",
    "example-gadgets",
    "check-hardness",
)

# What the paper does not do has a report of its own.
BEYOND = (
    "beyond-complete",
    "beyond-partial-5",
    "beyond-partial-2",
    "beyond-disconnected",
    "beyond-larger-1k",
    "beyond-larger-10k",
    "beyond-long",
    "beyond-wrong",
    "beyond-distance",
    "beyond-massive",
    "beyond-massive-regret",
)


def ids_of(beyond: bool) -> tuple[str, ...]:
    """Return the ids of the parts of a report: the paper's, or the one that goes beyond it."""
    return BEYOND if beyond else IDS


def experiment(part: str) -> Experiment:
    """Return a part of either report by its id."""
    if part not in (*IDS, *BEYOND):
        raise _no_part(part, IDS)
    found: Experiment = import_module(f"lsdt.reproduce.{part.replace('-', '_')}").EXPERIMENT
    return found


def experiments(parts: Sequence[str] | None = None, beyond: bool = False) -> list[Experiment]:
    """Return the parts asked for, or all, in the order of the report; ``fig-*`` stands for several."""
    ids = ids_of(beyond)
    if parts is None:
        return [experiment(part) for part in ids]
    wanted: set[str] = set()
    for part in parts:
        if "*" not in part and part not in ids:
            raise _no_part(part, ids)
        matching = fnmatch.filter(ids, part)
        if not matching:
            raise InvalidInput(f"no part of the reproduction is like {part!r}; there are {', '.join(ids)}")
        wanted |= set(matching)
    return [experiment(part) for part in ids if part in wanted]


def _no_part(part: str, ids: tuple[str, ...]) -> InvalidInput:
    """Return the error about an unknown part; one of the other report is known to be there."""
    if part in BEYOND:
        return InvalidInput(
            f"the part {part!r} goes beyond the paper; ask for it with beyond=True (--beyond)"
        )
    there = ", ".join(ids)
    if part in IDS:
        return InvalidInput(
            f"the part {part!r} is one of the paper's, and what goes beyond it has {there}; leave beyond out"
        )
    return InvalidInput(
        f"there is no part {part!r} of the reproduction; there are {there}{suggest(part, ids)}"
    )
