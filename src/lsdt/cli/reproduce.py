"""``lsdt reproduce``: reproduce the paper, with one page that shows which claims hold."""

from __future__ import annotations

import json
import os
import shlex
import sys
import textwrap
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from lsdt.cli.terminal import complain, escape
from lsdt.errors import InvalidFile, counted

if TYPE_CHECKING:
    import argparse

    from lsdt.reproduce import Claim, Experiment, Part, Reproduction, Request

_DESCRIPTION = """\
Reproduce every figure and table of the paper, and judge every claim of its text, with numbers.
The report is one page, index.html, that opens offline, with figures, tables and claims.json beside it.
With --beyond: studies beyond the paper, among them a contest of all policies, as a separate report."""

_EPILOG = """\
examples:
  lsdt reproduce                                   everything, 100 replications each, into report/
  lsdt reproduce --quick                           a quick look, with few replications, into report-quick/
  lsdt reproduce --only fig-regret-csi-a 'check-*' some parts
  lsdt reproduce --jester jester-data-1.zip        with the real ratings; see --where-is-jester
  lsdt reproduce --list                            the parts
  lsdt reproduce --beyond                          beyond the paper, 200 replications each, into beyond/

Parts that the folder already holds for the same settings, seed and version are not run again: after Ctrl-C
the same command continues where it stopped.

exit codes: 0 done, 2 bad argument, 3 bad file, 6 no memory, 8 a package is missing,
70 an error of lsdt itself, 130 interrupted"""

_WIDTH = 110  # characters per printed line
_QUICK, _FULL = (
    10,
    1000,
)  # replications: seconds of work each, and ten times the paper's for tighter intervals


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="reproduce the paper's figures, tables and claims",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--beyond", action="store_true", help="run the parts that go beyond the paper instead"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="ID", help="parts to run; 'fig-*' stands for several (default: all)"
    )
    parser.add_argument("--list", action="store_true", help="list the parts and where they are in the paper")
    parser.add_argument(
        "--replications",
        type=int,
        metavar="N",
        help="replications of every random experiment (default 100; 200 with --beyond)",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a quick look: 10 replications, coarse grids")
    size.add_argument("--full", action="store_true", help="1,000 replications")
    parser.add_argument(
        "--fixed-draw", action="store_true", help="draw the means once, not again in every run"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="the same seed gives the same numbers (default 0)"
    )
    parser.add_argument("--n-jobs", type=int, default=-1, metavar="N", help="workers (default -1: all cores)")
    parser.add_argument(
        "--jester",
        metavar="PATH",
        help="the published jester-data-1 (zip, csv or xls); without it, simulated ratings like them",
    )
    parser.add_argument(
        "--where-is-jester", action="store_true", help="say where to get the data set, and its terms"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder of the report (default report, report-quick or report-full; beyond, ... with --beyond)",
    )
    parser.add_argument("--json", action="store_true", help="print the claims as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; everything that can be checked is checked before the work."""
    if options.where_is_jester:
        from lsdt.ratings import where_to_get_jester

        print(where_to_get_jester())
        return 0
    if options.list:
        _list_parts(options.json, options.beyond)
        return 0
    if options.out is None:
        options.out = _folder(options)
    _check_options(options)
    from lsdt.reproduce import experiments, reproduce

    request = _request(options)
    display = _Display(experiments(options.only, options.beyond), request.replications, quiet=options.json)
    try:
        done = reproduce(
            options.out,
            options.only,
            request,
            options.seed,
            options.n_jobs,
            display,
            _command(options),
            options.beyond,
        )
    finally:
        display.close()
    if options.json and done.parts:
        print((Path(options.out) / "claims.json").read_text(encoding="utf-8"), end="")
    elif done.parts:
        _print(done, display)
    if done.interrupted:
        complain(f"lsdt: interrupted in {', '.join(done.interrupted)}; the same command continues from there")
        return 130
    return 0


def _folder(options: argparse.Namespace) -> str:
    size = "-quick" if options.quick else "-full" if options.full else ""
    return ("beyond" if options.beyond else "report") + size


def _request(options: argparse.Namespace) -> Request:
    from lsdt.reproduce import BEYOND_REPLICATIONS, REPLICATIONS, Request

    usual = BEYOND_REPLICATIONS if options.beyond else REPLICATIONS
    replications = options.replications or (_QUICK if options.quick else _FULL if options.full else usual)
    jester = None if options.jester is None else Path(options.jester)
    return Request(replications, options.quick, options.fixed_draw, jester)


def _check_options(options: argparse.Namespace) -> None:
    from lsdt._validation import checked_jobs, checked_seed, checked_whole
    from lsdt.reproduce import MOST_REPLICATIONS

    if options.replications is not None:
        checked_whole(options.replications, "replications", 1, MOST_REPLICATIONS)
    checked_jobs(options.n_jobs)
    checked_seed(options.seed)
    if not options.out or (Path(options.out).exists() and not Path(options.out).is_dir()):
        raise InvalidFile(f"--out is the name of a folder, but {options.out!r} is none")
    if options.jester is not None and not Path(options.jester).is_file():
        raise InvalidFile(
            f"--jester: there is no file {options.jester!r}; lsdt reproduce --where-is-jester says where to "
            "get it"
        )


def _command(options: argparse.Namespace) -> str:
    """Return the command that gives the same numbers; a path is shortened to the name of its file."""
    words = ["lsdt", "reproduce"]
    words += ["--beyond"] if options.beyond else []
    if options.only:
        words += ["--only", *options.only]
    if options.replications:
        words += ["--replications", str(options.replications)]
    words += [f"--{flag}" for flag in ("quick", "full") if getattr(options, flag)]
    words += ["--fixed-draw"] if options.fixed_draw else []
    words += ["--seed", str(options.seed)] if options.seed else []
    words += ["--jester", Path(options.jester).name] if options.jester else []
    return shlex.join(words)


def _list_parts(as_json: bool, beyond: bool) -> None:
    from lsdt.reproduce import experiments

    parts = experiments(beyond=beyond)
    if as_json:
        print(json.dumps([{"id": it.id, "title": it.title, "paper": it.paper} for it in parts], indent=2))
        return
    for it in parts:
        print(f"{it.id:<21} {it.title} ({it.paper})")


class _Display:
    """A progress bar on a terminal, and a line for every finished part."""

    def __init__(self, parts: list[Experiment], replications: int, quiet: bool) -> None:
        from tqdm import tqdm

        self.seconds: dict[str, float] = {}
        self._weights = {part.id: part.seconds_of(replications) for part in parts}
        self._shares: dict[str, float] = {}  # finished share of each running part
        self._done = 0.0
        self._quiet = quiet
        self.started = perf_counter()
        self._bar = tqdm(
            total=sum(self._weights.values()),
            disable=not sys.stderr.isatty(),
            leave=False,
            bar_format="{desc:<29} {percentage:3.0f}% |{bar:30}| {elapsed} gone, about {remaining} to go",
        )

    def begin(self, part: Experiment) -> None:
        """Show that a part is running."""
        self._shares[part.id] = 0.0
        self._describe()

    def _describe(self) -> None:
        first, *others = self._shares or [""]
        self._bar.set_description_str(f"{first} and {len(others)} more" if others else first)

    def share(self, part: Experiment, done: float) -> None:
        """Move the bar: `done` is the finished share of a running part."""
        self._shares[part.id] = done
        under_way = sum(share * self._weights[name] for name, share in self._shares.items())
        self._bar.update(self._done + under_way - self._bar.n)

    def end(self, part: Part) -> None:
        """Print a part's time and verdicts."""
        it = part.experiment
        self.share(it, 1.0)
        self._done += self._weights[it.id]
        del self._shares[it.id]
        self._describe()
        self.seconds[it.id] = 0.0 if part.reused else part.seconds
        if self._quiet:
            return
        verdicts = ", ".join(
            f"{sum(claim.verdict == verdict for claim in part.claims)} {verdict}"
            for verdict in dict.fromkeys(claim.verdict for claim in part.claims)
        )
        took = "kept" if part.reused else f"{part.seconds:.1f} s"
        try:
            self._bar.write(f"{it.id:<21} {took:>8}   {verdicts or 'no claims'}", file=sys.stdout)
            sys.stdout.flush()
        except BrokenPipeError:  # nobody reads the output any more, but the page is still written
            self._quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()


def _print(done: Reproduction, display: _Display) -> None:
    """Print the claims that do not hold, or hold only in part, and why; then counts, times and the page."""
    from lsdt.reproduce import VERDICTS

    print()
    for claims in done.claims.values():
        for claim in claims:
            if claim.verdict != "holds":
                _print_claim(claim)
    seconds = display.seconds
    slowest = sorted(seconds, key=lambda part: -seconds[part])[:5]
    counts = ", ".join(f"{done.counts[verdict.word]} {verdict.plural}" for verdict in VERDICTS.values())
    more = f" ({done.undecided} of them undecided: more replications are needed)" if done.undecided else ""
    where = ", ".join(f"{part} {seconds[part]:.1f} s" for part in slowest if seconds[part] > 0.0)
    print(f"\nclaims      {counts.replace('hold in part', f'hold in part{more}')}")
    took = f"{perf_counter() - display.started:.1f} s for {counted(len(seconds), 'part')}"
    print(f"time        {took}" + (f": {where}" if where else ""))
    if done.missing:
        print(f"missing     {', '.join(done.missing)}")
    print(f"report      {escape(done.page)}")


def _print_claim(claim: Claim) -> None:
    """Print a claim with those of its checks that are refuted or undecided."""
    lines = textwrap.wrap(f"{claim.text} [{claim.paper}]", _WIDTH - 15)
    for check in claim.checks:
        if check.outcome != "confirmed":
            wrapped = textwrap.wrap(f"{check.outcome}: {check}", _WIDTH - 17)
            lines += [f"- {wrapped[0]}", *(f"  {line}" for line in wrapped[1:])]
    for place, line in enumerate(lines):
        print(f"{claim.verdict if place == 0 else '':<14} {line}")
