"""``lsdt candidates``: from a file of pairs to the arms that can be the best."""

from __future__ import annotations

import json
import textwrap
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt.cli.pairs_options import WHOLE_NUMBER, add_pairs_options, read_pairs, wrong_count
from lsdt.cli.terminal import complain, escape, write_table
from lsdt.cli.titles import Titles, add_titles_option
from lsdt.errors import ContradictionWarning, InvalidInput, counted, listed, suggest

if TYPE_CHECKING:
    import argparse

    from lsdt.candidates import CandidateSet, Explanation
    from lsdt.side_information import ArmId, SideInformation

_SHOWN = 20  # arms or classes printed; chosen by eye to fit a terminal
_WIDTH = 100  # characters per printed line of an explanation
_STAGES = {"order": "since another arm is better", "beaten": "since a log shows that another arm is better"}

_DESCRIPTION = """\
Find the arms that can be the best, given pairs of arms that are similar, dissimilar or in order.

FILE is .csv or .parquet with columns a, b, relation; relation is 'similar', 'dissimilar', 'better' (a is the
better arm) or 'range' (the columns low and high bound a minus b; an empty one is no bound). A row with an
empty b names an arm that occurs in no pair."""

_EPILOG = """\
examples:
  lsdt candidates pairs.csv
  lsdt candidates pairs.csv --complete --plot arms.svg
  lsdt candidates --example partial --explain 4
  lsdt candidates pairs.csv --top 5
  lsdt candidates items.csv --columns item1,item2,kind --max-wrong 2
  lsdt candidates side.parquet --titles movies.csv --explain 'Toy Story (1995)'
  lsdt candidates pairs.parquet --table reasons.csv --json > answer.json

exit codes: 0 done, 2 bad argument, 3 bad file, 4 contradictory relations, 5 not a unit interval graph,
6 too large, 7 method does not apply, 8 a package is missing, 70 an error of lsdt itself"""


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="find the arms that can be the best",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_pairs_options(parser)
    parser.add_argument(
        "--top",
        type=int,
        default=1,
        metavar="M",
        help="find the arms that can be among the best M (default 1); not for probing and exact",
    )
    parser.add_argument(
        "--wrong-rate",
        type=float,
        metavar="Q",
        help="each relation is wrong with this probability; an arm is then excluded only by as many "
        "witnesses as --risk requires",
    )
    parser.add_argument(
        "--risk", type=float, metavar="P", help="accepted probability of losing the best arm (default .01)"
    )
    parser.add_argument(
        "--explain",
        action="append",
        default=[],
        metavar="ARM",
        help="say why this arm, given by id or title, is excluded or not; may be repeated",
    )
    add_titles_option(parser)
    parser.add_argument("--plot", metavar="PATH", help="draw the arms into a .svg, .png or .pdf file")
    parser.add_argument(
        "--table",
        metavar="PATH",
        help="write every arm, and the reason if it is excluded, to .csv or .parquet; in .csv an id that a "
        "spreadsheet would take for a formula begins with an apostrophe",
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command; everything that can be checked is checked before the work."""
    side = read_pairs(options, "candidates")
    if options.plot is not None:
        from lsdt.plotting import check_ending

        check_ending(Path(options.plot))
    if options.table is not None:
        _check_table(options)
    titles = Titles(options.titles)
    titles.check([side.label(arm) for arm in range(side.n_arms)])
    titled = titles.name_arms(side)
    arms = [_arm(titled, word) for word in options.explain]
    named = titled.shown()

    from lsdt.candidates import candidate_set

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)  # reported below
        find = partial(
            candidate_set,
            method=options.method,
            top=options.top,
            max_wrong=wrong_count(options.max_wrong),
            timeout=options.timeout,
            wrong_rate=options.wrong_rate,
            risk=options.risk,
        )
        found = find(side if options.json else named)  # JSON holds ids, people read titles
        shown = found if found.side is named else find(named) if options.plot or options.table else found
    if found.conflict is not None:
        _warn(found)
    explanations = [found.explain(found.side.label(arm)) for arm in arms]
    if options.plot is not None:
        from lsdt.plotting import plot_candidates, save

        save(plot_candidates(shown), options.plot)
    if options.table is not None:
        write_table(shown.to_frame(), Path(options.table))
    if options.json:
        answer = _as_json(found, explanations)
        if titled.titles is not None:
            answer["titles"] = {str(arm): titled.titles[arm] for arm in found if arm in titled.titles}
        print(json.dumps(answer, indent=2))
    else:
        _print(found, explanations, options)


def _warn(found: CandidateSet) -> None:
    warning = f"lsdt: warning: the relations contradict one another; at least {found.max_wrong} is wrong"
    complain(f"{warning}. The answer says which to check first.")


def _check_table(options: argparse.Namespace) -> None:
    table = Path(options.table)
    if table.suffix.lower() not in (".csv", ".parquet"):
        raise InvalidInput(f"the file name of a table must end in .csv or .parquet; got {options.table!r}")
    if options.file is not None and table.resolve() == Path(options.file).resolve():
        raise InvalidInput(
            f"the table would replace the file of pairs, {options.file!r}; choose another name"
        )


def _arm(side: SideInformation, word: str) -> int:
    """Return the index of the arm that a command-line word names, by id or by title."""
    by_number = side.arm_ids is None or isinstance(side.arm_ids[0], int)
    arm: ArmId = int(word) if by_number and WHOLE_NUMBER.fullmatch(word) else word
    try:
        return side.index(arm)
    except InvalidInput:
        if not side.titles:
            raise
    wanted = word.casefold()
    called = [
        item
        for item, title in side.titles.items()
        if wanted in (title.casefold(), f"{title} [{item}]".casefold())
    ]
    if len(called) == 1:
        return side.index(called[0])
    if called:
        raise InvalidInput(
            f"{len(called)} arms have the title {word!r}; give an id: {listed(list(map(str, called)))}"
        )
    near = suggest(word, side.titles.values())
    raise InvalidInput(f"no arm has the id or the title {word!r}{near}")


def _as_json(found: CandidateSet, explanations: list[Explanation]) -> dict[str, Any]:
    side = found.side
    return {
        "arms": side.n_arms,
        "complete": side.is_complete,
        "epsilon": side.epsilon,
        "method": found.method,
        "top": found.top,
        "max_wrong": found.max_wrong,
        "candidates": found.arm_ids,
        "classes": None
        if found.classes is None
        else [[side.label(arm) for arm in members] for members in found.classes],
        "stages": [stage._asdict() for stage in found.stages],
        "notes": list(found.notes),
        "conflict": None if found.conflict is None else found.conflict.to_dict(),
        "seconds": found.seconds,
        "explanations": [explanation.to_dict() for explanation in explanations],
    }


def _print(found: CandidateSet, explanations: list[Explanation], options: argparse.Namespace) -> None:
    side = found.side
    kind = "complete" if side.is_complete else "partial"
    epsilon = "" if side.epsilon is None else f", epsilon {side.epsilon:g}"
    if side.store.thresholds is not None:
        epsilon = f", thresholds {side.store.thresholds.smallest:g} to {side.store.thresholds.largest:g}"
    known = ""
    if side.is_complete or not side.is_implicit:  # counting randomly revealed pairs could take long
        known = (
            f", {counted(side.n_similar, 'similar pair')}, {counted(side.n_dissimilar, 'dissimilar pair')}"
        )
    if side.ranges is not None:
        known += side.ranges.in_words
    if side.beaten is not None:
        known += f", {counted(int(side.beaten.is_out(side.n_arms).sum()), 'beaten arm')}"
    print(f"known       {counted(side.n_arms, 'arm')}{known} ({kind}{epsilon})")
    print(
        f"candidates  {len(found):,} of {counted(side.n_arms, 'arm')} {found.claim} "
        f"({len(found) / side.n_arms:.2%}), method {found.method}, {_duration(found.seconds)}"
    )
    if found.stages and found.conflict is None:
        print(f"excluded    {_excluded(found)}")
    if found.classes is not None:
        groups = [_join([side.label(arm) for arm in members]) for members in found.classes[:_SHOWN]]
        more = f" | ... ({len(found.classes):,} classes)" if len(found.classes) > _SHOWN else ""
        print(f"classes     {' | '.join(groups)}{more}")
    else:
        print(f"arms        {_join(found.arm_ids)}")
    if found.conflict is None:
        for note in found.notes:
            print(f"note        {note}")
    else:  # the first note is the text of the warning
        _print_block("note", found.notes[0])
        _print_block("conflict", str(found.conflict))
    for explanation in explanations:
        _print_block("why", str(explanation))
        if explanation.means is not None:
            named = [f"{side.label(arm)}: {mean:.4g}" for arm, mean in enumerate(explanation.means)]
            print(f"means       {_join(named)}")
    for name, path in (("picture", options.plot), ("table", options.table)):
        if path is not None:
            print(f"{name:<12}{escape(path)}")


def _excluded(found: CandidateSet) -> str:
    """Return how many arms are excluded, and by what."""
    n_out = found.side.n_arms - len(found)
    done = [(stage.excluded, stage.name) for stage in found.stages if stage.excluded]
    by = ", ".join(f"{count:,} {_STAGES.get(name, f'by {name}')}" for count, name in done)
    return f"{n_out:,} of {counted(found.side.n_arms, 'arm')}{': ' if by else ''}{by}"


def _print_block(name: str, text: str) -> None:
    """Print a text beside its name, with its lines aligned and long lines wrapped."""
    lines = []
    for line in text.split("\n"):
        hanging = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(
            line,
            _WIDTH - 12,
            subsequent_indent=hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )
    print(f"{name:<12}" + f"\n{'':12}".join(lines))


def _join(labels: list[Any]) -> str:
    shown = ", ".join(escape(label) for label in labels[:_SHOWN])
    return shown if len(labels) <= _SHOWN else f"{shown}, ... ({len(labels):,} arms; --json lists all)"


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
