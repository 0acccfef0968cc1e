"""``lsdt explore``: one page on which a person sees why each arm is excluded."""

from __future__ import annotations

import json
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt.cli.pairs_options import add_pairs_options, read_pairs, wrong_count
from lsdt.cli.terminal import escape
from lsdt.cli.titles import Titles, add_titles_option
from lsdt.errors import ContradictionWarning, counted

if TYPE_CHECKING:
    import argparse

    from lsdt.side_information import SideInformation

_DESCRIPTION = """\
Write one HTML page on which a person clicks an arm and sees why it cannot be the best, with a drawing of the
relations that prove it. The page opens offline: no server, no network. On the examples, sliders change
epsilon and how many pairs are known.

FILE is .csv or .parquet, as for lsdt candidates."""

_EPILOG = """\
examples:
  lsdt explore --example partial
  lsdt explore side.parquet -o why.html
  lsdt explore side.parquet --titles movies.csv --proofs 5000

exit codes: 0 done, 2 bad argument, 3 bad file, 4 contradictory relations, 5 not a unit interval graph,
6 too large, 7 method does not apply, 70 an error of lsdt itself"""


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="write a page that shows why each arm is excluded",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_pairs_options(parser)
    add_titles_option(parser)
    parser.add_argument(
        "-o",
        "--out",
        metavar="PATH",
        help="the page to write, .html; by default named after FILE, in the current folder",
    )
    parser.add_argument(
        "--proofs",
        type=int,
        default=2_000,
        metavar="N",
        help="how many arms to explain on the page (default 2,000); for others it gives a command to run",
    )
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command; everything that can be checked is checked before the work."""
    from lsdt._validation import checked_whole
    from lsdt.explorer import check_page_path

    most_proofs = checked_whole(options.proofs, "proofs", 0)
    side = read_pairs(options, "explore")
    page = Path(_default_page(options) if options.out is None else options.out)
    check_page_path(str(page))
    titles = Titles(options.titles)
    titles.check([side.label(arm) for arm in range(side.n_arms)])
    content = _content(titles.name_arms(side), options, most_proofs)

    from lsdt.explorer import write_page

    write_page(content, page, _title(options))
    n_left = content["n_arms"] - len(content["proofs"])
    if options.json:
        answer = {"page": str(page), "arms": content["n_arms"], "proofs": len(content["proofs"])}
        print(json.dumps(answer | {"bytes": page.stat().st_size}, indent=2))
        return
    print(f"candidates  {content['summary']}")
    explained = counted(len(content["proofs"]), "arm")
    if n_left:
        explained += f"; for {n_left:,} more the page names the command that explains them"
    print(f"explained   {explained}")
    size = page.stat().st_size
    told = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    print(f"page        {escape(page)} ({told}): open it in a browser")


def _default_page(options: argparse.Namespace) -> str:
    if options.example is not None:
        return f"example-{options.example}.html"
    return f"{Path(options.file).stem}.html"


def _title(options: argparse.Namespace) -> str:
    if options.example is not None:
        return f"Which arm can be the best? The {options.example} example"
    return f"Which arm can be the best? {Path(options.file).name}"


def _content(side: SideInformation, options: argparse.Namespace, most_proofs: int) -> dict[str, Any]:
    from lsdt.candidates import candidate_set
    from lsdt.explorer import page_content, playground

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)  # a note on the page reports it
        found = candidate_set(
            side, options.method, max_wrong=wrong_count(options.max_wrong), timeout=options.timeout
        )
    content = page_content(found, source=_source(options), most_proofs=most_proofs)
    return content | {"play": playground()} if options.example is not None else content


def _source(options: argparse.Namespace) -> str:
    """Return the options with which `lsdt candidates` gives the same answer."""
    words = [f"--example {options.example}" if options.file is None else shlex.quote(options.file)]
    words += ["--complete"] if options.complete else []
    for name, usual in (("columns", None), ("method", "auto"), ("max_wrong", "0"), ("titles", None)):
        given = getattr(options, name)
        if given != usual:
            words.append(f"--{name.replace('_', '-')} {shlex.quote(str(given))}")
    return " ".join(words)
