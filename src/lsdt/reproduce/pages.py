"""The page of a reproduction: parts and claims as the report shows them."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import lsdt
from lsdt.report.page import CheckRow, ClaimRow, Page, Section, render_page
from lsdt.reproduce.claims import HOLDS
from lsdt.side_information.files import replacing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lsdt.reproduce.claims import Claim
    from lsdt.reproduce.experiments import Request
    from lsdt.reproduce.parts import Part

_LIBRARIES = ("numpy", "numba", "scipy", "pandas", "highspy", "matplotlib")
_TITLE = "Learning from similarity and dissimilarity: the paper redone"


def write_page(
    path: Path,
    parts: Sequence[Part],
    claims: Mapping[str, Sequence[Claim]],
    request: Request,
    seed: int,
    command: str,
) -> None:
    """Write the page: everything in one file that opens offline."""
    sections = tuple(_section(part, claims[part.experiment.id]) for part in parts)
    page = Page(_TITLE, _lead(parts, claims), sections, _facts(parts, request, seed, command))
    with replacing(path) as written:
        Path(written).write_text(render_page(page), encoding="utf-8")


def _lead(parts: Sequence[Part], claims: Mapping[str, Sequence[Claim]]) -> str:
    every = [claim for part in parts for claim in claims[part.experiment.id]]
    holding = sum(claim.verdict == HOLDS for claim in every)
    return (
        f"Every figure, table and claim of the paper on LSDT, run again from scratch. Of {len(every)} "
        f"claims, {holding} hold without reservation. What does not hold, or only in part, is said with its "
        "numbers."
    )


def _section(part: Part, claims: Sequence[Claim]) -> Section:
    it = part.experiment
    figure = part.folder / "figure.svg"
    rows = tuple(
        ClaimRow(
            claim.name,
            claim.text,
            claim.paper,
            claim.verdict,
            tuple(CheckRow(it.what, it.measured, it.wanted, it.outcome) for it in claim.checks),
        )
        for claim in claims
    )
    return Section(
        id=it.id,
        title=it.title,
        paper=it.paper,
        reading=it.reading(part.tables),
        setting=part.setting,
        figure=figure if figure.exists() else None,
        alt=f"{it.title}. {it.reading(part.tables)}",
        table=it.table(part.tables),
        claims=rows,
        files=tuple(f"{it.id}/{name}" for name in part.files),
        seconds=part.seconds,
        reused=part.reused,
    )


def _facts(parts: Sequence[Part], request: Request, seed: int, command: str) -> dict[str, str]:
    """Return what one needs to know to get the same numbers."""
    facts = {
        "runs": f"{request.runs:,} of every random experiment" + (" (coarse grids)" if request.quick else ""),
        "means": "one draw for all runs" if request.fixed_draw else "drawn anew in every run",
        "seed": str(seed),
        "lsdt": lsdt.__version__,
        "Python": platform.python_version(),
        "libraries": ", ".join(f"{name} {version(name)}" for name in _LIBRARIES),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "computing": f"{sum(part.seconds for part in parts):.0f} s in all, figures included",
    }
    return {"command": command, **facts} if command else facts
