"""The whole reproduction: run or load the parts, write the page and the claims.

Parts of the paper run at the same time, each in its own process, because drawing figures, solving programmes
and compiling code would leave all cores but one idle. Parts that measure running times run afterwards, alone.
Parts beyond the paper take gigabytes and use all cores themselves, so they run one after another.
"""

from __future__ import annotations

import json
import warnings
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import lsdt
from lsdt._files import replace_file
from lsdt._validation import checked_jobs, checked_seed, checked_whole
from lsdt.errors import InvalidFile, MissingDependency, TooLarge
from lsdt.reproduce.framework.claims import VERDICTS
from lsdt.reproduce.framework.experiment import (
    BEYOND_REPLICATIONS,
    MOST_REPLICATIONS,
    REPLICATIONS,
    Request,
    Work,
)
from lsdt.reproduce.framework.part import load_part, run_part
from lsdt.reproduce.framework.sampling import growing_workers
from lsdt.reproduce.page.html import GENERATOR
from lsdt.reproduce.page.report import write_page
from lsdt.reproduce.registry import experiment, experiments, ids_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from lsdt.reproduce.framework.claims import Claim
    from lsdt.reproduce.framework.experiment import Experiment
    from lsdt.reproduce.framework.part import Part


PAGE = "index.html"
# A rule of thumb: for fewer parts, starting processes takes longer than running the parts here.
_WORTH_PROCESSES = 4


class Watcher(Protocol):
    """Receives progress reports; several parts may be running at once."""

    def begin(self, part: Experiment) -> None:
        """Called when a part begins."""

    def share(self, part: Experiment, done: float) -> None:
        """Called with the share of a part that is done, from 0 to 1."""

    def end(self, part: Part) -> None:
        """Called when a part is finished."""


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The finished parts with their claims, and the page that shows them.

    Attributes
    ----------
    parts : list of Part
        Finished parts in the order of the report.
    page : Path
        The page that shows everything.
    interrupted : tuple of str
        Ids of the parts that were running when Ctrl-C was pressed.
    beyond : bool
        Whether this is the report that goes beyond the paper.
    """

    parts: list[Part]
    page: Path
    interrupted: tuple[str, ...] = ()
    beyond: bool = False

    @property
    def claims(self) -> dict[str, list[Claim]]:
        """The claims of every part, by its id."""
        return {part.experiment.id: part.claims for part in self.parts}

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
        finished = {part.experiment.id for part in self.parts}
        return [name for name in ids_of(self.beyond) if name not in finished]


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
    again. Ctrl-C loses the parts that are running; the others are kept, and the page shows them.

    Parameters
    ----------
    out : path
        Folder of the report: ``index.html``, ``claims.json`` and a folder per part.
    only : list of str, optional
        Ids of parts, or patterns such as ``'fig-*'``; by default all. Other parts that are finished in the
        folder are shown as well.
    request : Request, optional
        Number of replications, fineness of grids and data; by default 100 replications, as in the paper, or
        200 beyond it.
    seed : int
        The same seed gives the same numbers, for any number of workers.
    n_jobs : int
        Processes and threads; -1 is all cores.
    watcher : Watcher, optional
        Receives progress reports.
    command : str
        What the user typed, for the page.
    beyond : bool
        Whether to run the parts that go beyond the paper instead of the paper's; give them a separate folder.

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
    run = _Run(request, work, folder, watcher)
    interrupted: tuple[str, ...] = ()
    try:
        left = [each for each in wanted if not run.load(each)]
        together = [] if beyond else [each for each in left if not each.is_timed]
        if len(together) >= _WORTH_PROCESSES and run.cores > 1:
            run.in_processes(together)
        for each in left:
            if each.id not in run.parts:
                run.here(each)
    except KeyboardInterrupt:
        interrupted = tuple(each.id for each in run.under_way)
    finally:  # show the finished parts, whatever ended the work
        done = _report(run.parts, interrupted, request, seed, folder, command, beyond)
    return done


def _check(wanted: list[Experiment], request: Request, page: Path) -> None:
    """Check the request before any work; raise an error if it cannot be fulfilled."""
    for package in ("matplotlib", "jinja2"):
        if find_spec(package) is None:
            raise MissingDependency(f"the report needs {package}: pip install 'lsdt[report]'")
    if page.exists() and GENERATOR not in page.read_text(encoding="utf-8", errors="replace"):
        raise InvalidFile(f"{str(page)!r} is not a report of lsdt; choose another folder, or move it away")
    for each in wanted:
        if each.check is not None:
            each.check(request)


class _Run:
    """The parts of a run: those that are finished, and those that are running."""

    def __init__(self, request: Request, work: Work, folder: Path, watcher: Watcher | None) -> None:
        self.parts: dict[str, Part] = {}
        self.under_way: list[Experiment] = []
        self._request, self._work, self._folder, self._watcher = request, work, folder, watcher

    @property
    def cores(self) -> int:
        """Number of cores that may be used; 1 if no processes can be started."""
        import joblib

        return int(joblib.effective_n_jobs(self._work.n_jobs))

    def load(self, each: Experiment) -> bool:
        """Load a part if the folder holds it finished; return whether it does."""
        part = load_part(each, each.setting(self._request), self._work.seed, self._folder / each.id)
        if part is not None:
            self._begin(each)
            self._end(part)
        return part is not None

    def here(self, each: Experiment) -> None:
        """Run a part in this process, on all cores."""
        self._begin(each)
        work = self._work
        if self._watcher is not None:
            tell = self._watcher.share
            work = replace(work, done=lambda share: tell(each, share))
        self._end(run_part(each, each.setting(self._request), work, self._folder / each.id))

    def in_processes(self, together: list[Experiment]) -> None:
        """Run parts at the same time, the longest first."""
        import joblib

        n_processes = min(self.cores, len(together))
        # Paths are absolute: joblib may reuse earlier processes that have another working directory.
        folder, jester = self._folder.absolute(), self._request.jester
        request = replace(self._request, jester=None if jester is None else jester.absolute())
        work = replace(self._work, n_jobs=max(self.cores // n_processes, 1), jester=request.jester)
        by_id = {each.id: each for each in sorted(together, key=lambda each: -each.seconds)}
        started: list[Experiment] = []

        def calls() -> Iterator[Any]:  # joblib takes the next call when a process is free
            for each in by_id.values():
                started.append(each)
                yield joblib.delayed(_run_there)(each.id, request, work, folder)

        parallel = joblib.Parallel(
            n_processes, pre_dispatch="n_jobs", batch_size=1, return_as="generator_unordered"
        )
        finished = parallel(calls())
        try:
            with growing_workers():
                self._begin_all(started)
                for name in finished:
                    each, setting = by_id[name], by_id[name].setting(self._request)
                    part = load_part(each, setting, work.seed, self._folder / name)
                    if part is not None:
                        self._end(replace(part, reused=False))
                    else:  # the folder was changed meanwhile: the part is run again
                        self.under_way.remove(each)
                        started.remove(each)
                    self._begin_all(started)
        except BaseException as error:
            with warnings.catch_warnings():  # joblib warns about the abandoned parts
                warnings.simplefilter("ignore")
                finished.close()
            self._begin_all(started)
            for each in self.under_way:  # their processes were killed, perhaps while writing
                for rest in (self._folder / each.id).glob(".*.part.*"):
                    with suppress(OSError):
                        rest.unlink()
            if isinstance(error, BrokenExecutor):
                raise TooLarge(
                    "a process that ran a part was killed, most likely for lack of memory. Finished parts "
                    "are kept, and the same call continues from there; n_jobs=1 (--n-jobs 1) takes the "
                    "least memory"
                ) from None
            raise

    def _begin_all(self, started: list[Experiment]) -> None:
        for each in started:
            if each.id not in self.parts and each not in self.under_way:
                self._begin(each)

    def _begin(self, each: Experiment) -> None:
        self.under_way.append(each)
        if self._watcher is not None:
            self._watcher.begin(each)

    def _end(self, part: Part) -> None:
        each = part.experiment
        self.parts[each.id] = part
        self.under_way.remove(each)
        if self._watcher is not None:
            self._watcher.end(part)


def _run_there(name: str, request: Request, work: Work, folder: Path) -> str:
    """Run a part in a worker process and save it in the folder; return its id."""
    each = experiment(name)
    run_part(each, each.setting(request), work, folder / name)
    return name


def _report(
    parts: dict[str, Part],
    interrupted: tuple[str, ...],
    request: Request,
    seed: int,
    folder: Path,
    command: str,
    beyond: bool,
) -> Reproduction:
    """Write the page and the claims of all finished parts, including those of earlier runs."""
    ids = ids_of(beyond)
    for other in ids:
        if other not in parts and other not in interrupted:
            kept = _load(other, request, seed, folder)
            if kept is not None:
                parts[other] = kept
    shown = [parts[name] for name in ids if name in parts]
    done = Reproduction(shown, folder / PAGE, interrupted, beyond)
    if shown:
        write_page(done, request, seed, command)
        _write_claims(done, request, seed, folder / "claims.json")
    return done


def _load(name: str, request: Request, seed: int, folder: Path) -> Part | None:
    if not (folder / name).is_dir():  # saves importing the part
        return None
    found = experiment(name)
    return load_part(found, found.setting(request), seed, folder / name)


def _write_claims(done: Reproduction, request: Request, seed: int, path: Path) -> None:
    answer: dict[str, Any] = {
        "lsdt": lsdt.__version__,
        "replications": request.replications,
        "seed": seed,
        "counts": done.counts,
        "undecided": done.undecided,
        "missing": done.missing,
        "interrupted": list(done.interrupted),
        "claims": [
            {"part": part, **claim.to_dict()} for part, claims in done.claims.items() for claim in claims
        ],
    }
    with replace_file(path) as written:
        Path(written).write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
