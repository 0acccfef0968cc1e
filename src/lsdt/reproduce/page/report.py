"""The content of the page: the parts and claims of a reproduction."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import lsdt
from lsdt._files import replace_file
from lsdt.errors import counted
from lsdt.reproduce.framework.claims import HOLDS
from lsdt.reproduce.framework.part import LIBRARIES, sources_key
from lsdt.reproduce.page.html import Page, Section, render_page
from lsdt.reproduce.registry import ids_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsdt.reproduce.framework.experiment import Request
    from lsdt.reproduce.framework.part import Part
    from lsdt.reproduce.runner import Reproduction

_TITLE = "Learning from similarity and dissimilarity: the paper reproduced"
_BEYOND_TITLE = "Learning from similarity and dissimilarity: beyond the paper"


def write_page(done: Reproduction, request: Request, seed: int, command: str) -> None:
    """Write the page: one file that opens offline."""
    sections = tuple(_section(part) for part in done.parts)
    title = _BEYOND_TITLE if done.beyond else _TITLE
    page = Page(title, _lead(done), sections, _facts(done.parts, request, seed, command))
    with replace_file(done.page) as written:
        Path(written).write_text(render_page(page), encoding="utf-8")


def _lead(done: Reproduction) -> str:
    """Return the opening text: what the page shows, and which parts are missing."""
    every = [claim for claims in done.claims.values() for claim in claims]
    holding = sum(claim.verdict == HOLDS for claim in every)
    here = _what(done)
    judged = (
        f" Of {counted(len(every), 'claim')}, {holding} hold without reservation. For the others, the page "
        "gives the numbers that decided it."
    )
    if not done.missing:
        return here + judged
    stopped = f" The run was interrupted in {', '.join(done.interrupted)}." if done.interrupted else ""
    parts = f"{len(done.parts)} of {len(ids_of(done.beyond))} parts"
    return f"{here}{judged}\n\nThis page has {parts}.{stopped} Not on it: {', '.join(done.missing)}."


def _what(done: Reproduction) -> str:
    if done.beyond:
        return "Beyond the paper: all policies compared with one another, wrong relations, and more."
    every = "Figures, tables and claims" if done.missing else "Every figure, table and claim"
    return f"{every} of the paper on LSDT, computed again from scratch."


def _section(part: Part) -> Section:
    it = part.experiment
    discussion = it.discussion(part.tables)
    figure = part.folder / "figure.svg"
    return Section(
        id=it.id,
        title=it.title,
        paper=it.paper,
        discussion=discussion,
        setting=part.setting,
        figure=figure if figure.exists() else None,
        alt=f"{it.title}. {discussion}",
        table=it.table(part.tables),
        claims=tuple(part.claims),
        files=tuple(f"{it.id}/{name}" for name in part.files),
        seconds=part.seconds,
        reused=part.reused,
    )


def _facts(parts: Sequence[Part], request: Request, seed: int, command: str) -> dict[str, str]:
    """Return what is needed to get the same numbers: the request, the seed, versions and the machine."""
    facts = {
        "replications": f"{request.replications:,}, unless the setting of a part says otherwise"
        + (" (coarse grids)" if request.quick else ""),
        "means": "one draw for all replications"
        if request.fixed_draw
        else "drawn again in every replication",
        "seed": str(seed),
        "lsdt": lsdt.__version__,
        "Python": platform.python_version(),
        "libraries": ", ".join(f"{name} {version(name)}" for name in LIBRARIES),
        "sources": sources_key()[:12],
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores{_processor()}",
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "computing": f"{sum(part.seconds for part in parts):.0f} s in total, including figures",
    }
    return {"command": command, **facts} if command else facts


def _processor() -> str:
    """Return the processor's name, preceded by a comma; empty if the system does not report it."""
    try:
        told = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    names = [line.split(":", 1)[1].strip() for line in told.splitlines() if line.startswith("model name")]
    return f", {names[0]}" if names else ""
