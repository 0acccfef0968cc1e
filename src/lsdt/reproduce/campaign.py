"""The whole reproduction: run or load the parts, write the page and the claims."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import lsdt
from lsdt._files import replace_file
from lsdt._validation import checked_jobs, checked_seed, checked_whole
from lsdt.errors import InvalidFile
from lsdt.reproduce.framework.claims import VERDICTS
from lsdt.reproduce.framework.experiment import (
    BEYOND_REPLICATIONS,
    MOST_REPLICATIONS,
    REPLICATIONS,
    Request,
    Work,
)
from lsdt.reproduce.framework.part import load_part, run_part
from lsdt.reproduce.page.html import GENERATOR
from lsdt.reproduce.page.report import write_page
from lsdt.reproduce.registry import experiment, experiments, ids_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from lsdt.reproduce.framework.claims import Claim
    from lsdt.reproduce.framework.experiment import Experiment
    from lsdt.reproduce.framework.part import Part


PAGE = "index.html"


class Watcher(Protocol):
    """An object that is told about progress."""

    def begin(self, part: Experiment, weight: float) -> None:
        """A part begins; its weight is a guess of its seconds."""

    def share(self, done: float) -> None:
        """A share of the part is done, from 0 to 1."""

    def end(self, part: Part, claims: list[Claim]) -> None:
        """The part is finished."""


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The finished parts with their claims, and the page that shows them.

    Attributes
    ----------
    parts : list of Part
        Finished parts in the order of the report.
    claims : dict
        The claims of every part, by its id.
    page : Path
        The page that shows everything.
    interrupted : str or None
        The id of the part that Ctrl-C ended.
    beyond : bool
        Whether this is the report that goes beyond the paper.
    """

    parts: list[Part]
    claims: dict[str, list[Claim]]
    page: Path
    interrupted: str | None = None
    beyond: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """How many claims have each verdict."""
        verdicts = [claim.verdict for claims in self.claims.values() for claim in claims]
        return {verdict: verdicts.count(verdict) for verdict in VERDICTS}

    @property
    def undecided(self) -> int:
        """How many claims have no decided check."""
        return sum(claim.undecided for claims in self.claims.values() for claim in claims)

    @property
    def missing(self) -> list[str]:
        """Ids of the parts that are not finished."""
        return [name for name in ids_of(self.beyond) if name not in self.claims]


def reproduce(
    out: str | PathLike[str],
    only: Sequence[str] | None = None,
    request: Request | None = None,
    seed: int = 0,
    n_jobs: int = -1,
    watcher: Watcher | None = None,
    command: str = "",
    beyond: bool = False,
) -> Reproduction:
    """Reproduce the paper or some of its parts, or run the parts beyond it, and write the report.

    A part that is finished in this folder with the same setting, seed and version of the package is not run
    again. Ctrl-C loses the part under way; the others are kept, and the page shows them.

    Parameters
    ----------
    out : path
        Folder of the report: ``index.html``, ``claims.json`` and a folder per part.
    only : list of str, optional
        Ids of parts, or beginnings such as ``'fig-*'``; by default all. Others that are finished in the
        folder are shown as well.
    request : Request, optional
        How many replications, and how fine; by default the paper's 100, or 200 beyond it.
    seed : int
        The same seed gives the same numbers, for any number of workers.
    n_jobs : int
        Threads; -1 is all cores.
    watcher : Watcher, optional
        Told how far the work is.
    command : str
        What the user typed, for the page.
    beyond : bool
        Whether to run the parts that go beyond the paper instead of the paper's; in a folder of its own.

    Examples
    --------
    >>> import tempfile
    >>> from lsdt.reproduce import Request, reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = reproduce(folder, ["fig-bstar-k"], Request(replications=30, quick=True))
    >>> [claim.verdict for claim in done.claims["fig-bstar-k"]]
    ['holds']
    """
    folder, request = Path(out), request or Request(BEYOND_REPLICATIONS if beyond else REPLICATIONS)
    checked_whole(request.replications, "replications", 1, MOST_REPLICATIONS)
    work = Work(checked_seed(seed), checked_jobs(n_jobs), jester=request.jester)
    wanted = experiments(only, beyond)
    _check(wanted, request, folder / PAGE)
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Part] = {}
    interrupted = None
    try:
        for each in wanted:
            interrupted = each.id
            parts[each.id] = _run_or_load(each, request, work, folder, watcher)
            interrupted = None
    except KeyboardInterrupt:
        pass
    finally:  # show the finished parts, whatever ended the work
        done = _report(parts, interrupted, request, seed, folder, command, beyond)
    return done


def _check(wanted: list[Experiment], request: Request, page: Path) -> None:
    """Raise, before any work, the errors that the request would cause."""
    if page.exists() and GENERATOR not in page.read_text(encoding="utf-8", errors="replace"):
        raise InvalidFile(f"{str(page)!r} is not a report of lsdt; choose another folder, or move it away")
    for each in wanted:
        if each.check is not None:
            each.check(request)


def _report(
    parts: dict[str, Part],
    interrupted: str | None,
    request: Request,
    seed: int,
    folder: Path,
    command: str,
    beyond: bool,
) -> Reproduction:
    """Write the page and the claims of all finished parts, also those of earlier runs."""
    ids = ids_of(beyond)
    for other in ids:
        if other not in parts and other != interrupted:
            kept = _load(other, request, seed, folder)
            if kept is not None:
                parts[other] = kept
    shown = [parts[name] for name in ids if name in parts]
    claims = {part.experiment.id: part.experiment.claims(part.tables) for part in shown}
    done = Reproduction(shown, claims, folder / PAGE, interrupted, beyond)
    if shown:
        write_page(done, request, seed, command)
        _write_claims(done, request, seed, folder / "claims.json")
    return done


def _load(name: str, request: Request, seed: int, folder: Path) -> Part | None:
    if not (folder / name).is_dir():  # saves importing the part
        return None
    found = experiment(name)
    return load_part(found, found.setting(request), seed, folder / name)


def _run_or_load(
    each: Experiment, request: Request, work: Work, folder: Path, watcher: Watcher | None
) -> Part:
    setting = each.setting(request)
    if watcher is not None:
        watcher.begin(each, each.seconds_of(request.replications))
        work = replace(work, done=watcher.share)
    place = folder / each.id
    part = load_part(each, setting, work.seed, place) or run_part(each, setting, work, place)
    if watcher is not None:
        watcher.end(part, each.claims(part.tables))
    return part


def _write_claims(done: Reproduction, request: Request, seed: int, path: Path) -> None:
    answer: dict[str, Any] = {
        "lsdt": lsdt.__version__,
        "replications": request.replications,
        "seed": seed,
        "counts": done.counts,
        "undecided": done.undecided,
        "missing": done.missing,
        "interrupted": done.interrupted,
        "claims": [
            {"part": part, **claim.to_dict()} for part, claims in done.claims.items() for claim in claims
        ],
    }
    with replace_file(path) as written:
        Path(written).write_text(json.dumps(answer, indent=2) + "\n")
