"""``lsdt build`` from tables with a row per arm: past experiments, an order, or features."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt.cli.terminal import escape, in_options
from lsdt.cli.titles import Titles
from lsdt.errors import InconsistentSideInformation, InvalidInput, counted

if TYPE_CHECKING:
    import argparse

    from lsdt.side_information import SideInformation

_TABLES = {"experiments": "experiments", "order": "an order", "features": "features"}
SOURCES = tuple(_TABLES)
_MOST_LISTED = 20  # candidates printed; chosen by eye to fit a terminal
_WHY_ALL = {
    "features": ": features alone rule none out. An agent learns about similar arms from one reward; merged "
    "with other relations, features can rule arms out"
}
_COUNTS, _MEANS = {"arm", "successes", "trials"}, {"arm", "mean", "se"}


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for tables with a row per arm."""
    group = parser.add_argument_group("tables with a row per arm, in place of a log")
    kinds = group.add_mutually_exclusive_group()
    kinds.add_argument(
        "--experiments",
        action="store_true",
        help="past experiments: columns arm, mean and se, or arm, successes and trials; and experiment",
    )
    kinds.add_argument(
        "--order",
        action="store_true",
        help="an order: columns arm and value (price, dose, size); within, if it holds only within groups",
    )
    kinds.add_argument(
        "--features",
        action="store_true",
        help="features: a column arm, all others are numbers; or a .npy array, whose rows are the arms",
    )
    group.add_argument(
        "--way", default="up", choices=("up", "down"), help="whether means go up (default) along the order"
    )
    group.add_argument("--steepest", type=float, help="the most that means change per unit of the order")
    group.add_argument(
        "--lipschitz",
        default="auto",
        help="the most that means differ per unit of distance, or auto (default), from --pilot",
    )
    group.add_argument("--pilot", metavar="FILE", help="means of some arms, a table as for --experiments")
    group.add_argument("--arm-ids", metavar="COLUMN", help="column of ids of --features (default arm)")
    group.add_argument("--metric", help="euclidean (default), manhattan, chebyshev or cosine")
    group.add_argument("--n-neighbours", type=int, metavar="N", help="near arms to compare with (default 32)")
    for word, what in (("increasing", "never falls"), ("decreasing", "never rises")):
        group.add_argument(
            f"--{word}", nargs="+", metavar="COLUMN", help=f"features with which the mean {what}"
        )


def kind_of_table(options: argparse.Namespace) -> str | None:
    """Return which kind of table was asked for, or None for a log of ratings."""
    return next((name for name in SOURCES if getattr(options, name)), None)


def refuse_tables(options: argparse.Namespace) -> None:
    """Say what to do if the file is a table with a row per arm and is about to be read as a log."""
    path = Path(options.log)
    if not path.is_file() or path.suffix.lower() not in (".csv", ".tsv"):
        return
    if (options.user, options.item, options.rating) != ("user", "item", "rating") or options.sep is not None:
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        line = file.readline(10_000).strip()
    columns = {name.strip().strip('"') for name in line.split("\t" if path.suffix.lower() == ".tsv" else ",")}
    if "arm" not in columns or "user" in columns:
        return
    kind = "features"
    if columns >= _COUNTS or columns >= _MEANS:
        kind = "experiments"
    elif columns <= {"arm", "value", "within"}:
        kind = "order"
    what = _TABLES[kind]
    raise InvalidInput(
        f"{options.log!r} is a table of {what}, with a row per arm, and no log of ratings; add --{kind}"
    )


def run_table(options: argparse.Namespace, kind: str) -> None:
    """Make side information from a table, save it, and print what it says."""
    titles = Titles(options.titles)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        side = _make(options, kind)
    notes = [in_options(str(each.message), vars(options)) for each in caught]
    labels = [side.label(arm) for arm in range(side.n_arms)]
    titles.check(labels)
    side = titles.name_arms(side)
    side.save(options.out)
    found, more = _candidates(side)
    notes = [*more, *notes]
    if options.json:
        answer = {
            "source": kind,
            "arms": side.n_arms,
            "similar": side.n_similar,
            "better": 0 if side.ranges is None else side.ranges.n_better,
            "ranges": 0 if side.ranges is None else int(side.ranges.has_range.sum()),
            "risk": side.risk,
            "candidates": found,
            "notes": notes,
            "written": str(options.out),
        }
        print(json.dumps(answer, indent=2))
        return
    print(f"table       {counted(side.n_arms, 'arm')}")
    print(f"relations   {escape(str(side.evidence))}")
    if found is not None and len(found) == side.n_arms > 1:
        print(f"candidates  all {counted(side.n_arms, 'arm')} may be the best{_WHY_ALL.get(kind, '')}")
    elif found is not None:
        print(f"candidates  {len(found):,} of {counted(side.n_arms, 'arm')} may be the best")
        for arm in found[:_MOST_LISTED]:
            print(f"            {escape(titles.show(arm))}")
        if len(found) > _MOST_LISTED:
            print(f"            and {len(found) - _MOST_LISTED:,} more")
    for note in notes:
        print(f"note        {escape(note)}")
    print(f"written     {escape(options.out)}")


def _candidates(side: SideInformation) -> tuple[list[Any] | None, list[str]]:
    """Return the arms that may be the best, None if relations contradict one another, and notes."""
    from lsdt.candidates import candidate_set

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a note reports it
        try:
            found = candidate_set(side)
        except InconsistentSideInformation as error:
            return None, [str(error)]
    notes = [] if found.conflict is None else ["The relations contradict one another; see lsdt candidates."]
    return [side.label(int(arm)) for arm in found.arms], notes


def _make(options: argparse.Namespace, kind: str) -> SideInformation:
    from lsdt.side_information import from_experiments, from_features, from_order

    if kind == "experiments":
        return from_experiments(options.log, confidence=options.confidence)
    if kind == "order":
        return from_order(Path(options.log), way=options.way, steepest=options.steepest)
    given = {
        "metric": options.metric,
        "increasing": options.increasing or (),
        "decreasing": options.decreasing or (),
        "pilot": options.pilot,
    }
    if options.n_neighbours is not None:
        given["n_neighbours"] = options.n_neighbours
    if options.epsilon != "auto":
        given["epsilon"] = _number(options.epsilon, "--epsilon")
    constant = "auto" if options.lipschitz == "auto" else _number(options.lipschitz, "--lipschitz")
    return from_features(
        options.log, constant, arm_ids=options.arm_ids, risk=1.0 - options.confidence, **given
    )


def _number(word: str, name: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise InvalidInput(f"{name} must be a number or auto; got {word!r}") from None
