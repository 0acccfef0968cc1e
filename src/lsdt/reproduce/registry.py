"""Which parts there are, in the order of the report: one line each."""

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


def experiment(part: str) -> Experiment:
    """Return a part by its id."""
    if part not in IDS:
        raise InvalidInput(
            f"there is no part {part!r} of the reproduction; there are {', '.join(IDS)}{suggest(part, IDS)}"
        )
    found: Experiment = import_module(f"lsdt.reproduce.{part.replace('-', '_')}").EXPERIMENT
    return found


def experiments(parts: Sequence[str] | None = None) -> list[Experiment]:
    """Return the parts asked for, or all, in the order of the report; ``fig-*`` stands for several."""
    if parts is None:
        return [experiment(part) for part in IDS]
    wanted: set[str] = set()
    for part in parts:
        matching = set(fnmatch.filter(IDS, part)) if "*" in part else {experiment(part).id}
        if not matching:
            raise InvalidInput(f"no part of the reproduction is like {part!r}; there are {', '.join(IDS)}")
        wanted |= matching
    return [experiment(part) for part in IDS if part in wanted]
