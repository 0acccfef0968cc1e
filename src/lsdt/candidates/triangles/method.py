"""Method ``triangles``: the triangle rule on pairs, and on ranges read as pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.candidates.outcome import Outcome
from lsdt.candidates.triangles.range_pairs import note_on_reading, read_ranges
from lsdt.candidates.triangles.rule import run_triangles
from lsdt.candidates.triangles.wrong_relations import run_triangles_at_risk

if TYPE_CHECKING:
    from lsdt.candidates.options import Options
    from lsdt.side_information import SideInformation


def find_triangles(side: SideInformation, options: Options) -> Outcome:
    """Apply the triangle rule; raise if no arm is left, which proves a contradiction."""
    read = read_ranges(side)
    found = (run_triangles if options.wrong_rate is None else run_triangles_at_risk)(read, options)
    notes = found.notes if side.ranges is None else (*found.notes, note_on_reading(side, read))
    return Outcome(
        read, found.arms, found, is_exact=False, notes=notes, max_wrong=found.max_wrong, top=options.top
    )
