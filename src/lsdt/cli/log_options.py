"""Options of the commands that read a log of ratings: how to read the log, and how to decide relations."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from lsdt.cli.titles import add_titles_option
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from lsdt.ratings import RatingLog


def add_log_options(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add the options that say how to read a log; with `optional`, the log may be left out."""
    parser.add_argument(
        "log",
        metavar="LOG",
        nargs="?" if optional else None,
        help="file: .csv, .tsv, .dat, .jsonl, one of these with .gz or alone in a .zip, .parquet; or a "
        "folder of .parquet files",
    )
    for column in ("user", "item", "rating"):
        parser.add_argument(
            f"--{column}",
            type=column_word,
            default=column,
            metavar="COLUMN",
            help=f"column of the {column}, by name or by position, counted from 0 (default {column})",
        )
    parser.add_argument(
        "--sep",
        type=_separator,
        metavar="TEXT",
        help="separator of the columns of a text file, \\t for a tab; by default a comma, in .tsv a tab, in "
        ".dat ::",
    )
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line of a text file names the columns; by default it does, except in .dat. "
        "Without a header, the first three columns are user, item and rating",
    )
    parser.add_argument(
        "--duplicates",
        default="error",
        choices=("error", "last", "mean"),
        help="what to do if a user rated an item twice (default error)",
    )
    parser.add_argument(
        "--scale",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="ends of the scale (default: the smallest and the largest rating)",
    )
    parser.add_argument(
        "--min-ratings", type=int, metavar="N", help="leave out items with fewer ratings (default: none)"
    )
    parser.add_argument("--top", type=int, metavar="N", help="keep only the N items with the most ratings")
    add_titles_option(parser)
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same result (default 0)")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def add_rule_options(parser: argparse.ArgumentParser, *, with_rule: bool = True) -> None:
    """Add the options that decide relations; without `with_rule`, the command chooses the rule itself."""
    parser.add_argument(
        "--guarantee",
        choices=("best", "all"),
        help="what the confidence is for: the best item is not lost (best, the default), or all relations of "
        "pairs are right (all, the default if an option of relations is given)",
    )
    parser.add_argument(
        "--relations",
        choices=("ranges", "threshold"),
        help="for --guarantee all: the interval of every difference (ranges, the default), or similar and "
        "dissimilar pairs by epsilon (threshold, the default if an epsilon, the paper's rule or its search "
        "is requested)",
    )
    parser.add_argument(
        "--epsilon",
        default="auto",
        help="the threshold as a share of the scale, or auto (default), which searches for one if needed",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, help="see --guarantee and --level (default 0.95)"
    )
    if with_rule:
        parser.add_argument(
            "--rule", default="interval", choices=("interval", "paper"), help="how a pair is decided"
        )
    parser.add_argument(
        "--level",
        default="family",
        choices=("family", "fdr", "fdr_any"),
        help="for --guarantee all: all relations are right (family, the default), or most of them",
    )
    parser.add_argument(
        "--search", default="grid", choices=("grid", "paper"), help="how epsilon is searched for"
    )
    parser.add_argument("--alpha", type=float, default=0.1, help="alpha of the paper's rule (default 0.1)")
    parser.add_argument(
        "--min-raters",
        type=int,
        metavar="N",
        help="least number of common raters that decides a pair (default 30; e-values need none)",
    )
    parser.add_argument(
        "--interval",
        choices=("betting", "bootstrap", "student", "bernstein"),
        help="for --guarantee best: e-values, valid for any ratings (betting, the default), or bootstrap, "
        "which leaves fewer items and needs many raters; for --guarantee all: student (the default), "
        "bernstein or bootstrap",
    )


def column_word(word: str) -> str | int:
    """Return a column in the form that the library takes: a position if it is a whole number, else a name."""
    return int(word) if word.isdecimal() else word


def _separator(word: str) -> str:
    return word.replace("\\t", "\t")


def read_ratings(options: argparse.Namespace) -> RatingLog:
    """Read the ratings of the command's log."""
    from lsdt.ratings import read_log

    return read_log(options.log, duplicates=options.duplicates, **reading_arguments(options))


def reading_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments that `lsdt.ratings.read_log` and `read_events` share."""
    names = ("user", "item", "rating", "sep", "header", "min_ratings", "top", "time")
    given = {name: getattr(options, name) for name in names if hasattr(options, name)}
    return {"scale": None if options.scale is None else tuple(options.scale), **given}


def rule_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `lsdt.from_ratings` that decide relations."""
    names = (
        *("confidence", "rule", "level", "search", "alpha", "min_raters", "interval", "relations"),
        "guarantee",
    )
    given = {name: getattr(options, name) for name in names if hasattr(options, name)}
    return {"epsilon": _epsilon(options.epsilon), **given}


def _epsilon(word: str) -> float | str:
    if word == "auto":
        return word
    try:
        return float(word)
    except ValueError:
        raise InvalidInput(f"--epsilon must be a number or auto; got {word!r}") from None
