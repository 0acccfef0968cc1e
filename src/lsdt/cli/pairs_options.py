"""Options of commands that read pairs of arms and find candidates, and the function that reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    import argparse

    from lsdt.side_information import SideInformation

WHOLE_NUMBER = re.compile(r"-?[0-9]{1,50}")


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """Add the file of pairs, and how to read it."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="pairs of arms, .csv or .parquet")
    parser.add_argument("--example", metavar="NAME", help="a built-in example instead: complete or partial")
    parser.add_argument(
        "--complete",
        action="store_true",
        default=None,
        help="every pair that is not listed is dissimilar",
    )
    parser.add_argument(
        "--columns",
        metavar="A,B,RELATION",
        help="the names of the columns, if they are not a, b, relation",
    )


def add_pairs_options(parser: argparse.ArgumentParser) -> None:
    """Add the file of pairs, how to read it, and how to find candidates."""
    add_file_options(parser)
    parser.add_argument(
        "--method",
        default="auto",
        metavar="NAME",
        help="auto (default), paper, order, anchors, triangles, propagation, probing or exact",
    )
    parser.add_argument(
        "--max-wrong",
        default="0",
        metavar="R",
        help="triangles: keep the best arm even if R relations are wrong (default 0); 'auto' takes the "
        "smallest number that leaves a candidate",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="S",
        help="propagation, probing, exact: a limit in seconds; arms not examined by then stay candidates",
    )


def read_pairs(options: argparse.Namespace, command: str) -> SideInformation:
    """Return the side information that the options name."""
    if (options.file is None) == (options.example is None):
        raise InvalidInput(f"give either a file of pairs or --example; see lsdt {command} --help")
    if options.example is not None:
        if options.complete or options.columns:
            raise InvalidInput("--complete and --columns say how to read a file; an example needs neither")
        from lsdt.side_information import example

        return example(options.example)
    from lsdt.side_information import load

    if options.columns is None:
        return load(options.file, options.complete)
    return load(options.file, options.complete, [name.strip() for name in options.columns.split(",")])


def wrong_count(word: str) -> int | str:
    """Return the number of wrong relations to tolerate, or the word given instead, such as ``auto``."""
    return int(word) if WHOLE_NUMBER.fullmatch(word) else word
