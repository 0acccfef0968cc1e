"""``lsdt build --comparisons``: from wins, losses and ties to side information."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

from lsdt.cli.terminal import escape, in_options
from lsdt.cli.titles import Titles
from lsdt.errors import InvalidInput, counted

if TYPE_CHECKING:
    import argparse

_MOST_LISTED = 20  # candidates printed; chosen by eye to fit a terminal
_COLUMNS = {
    "a": "the first arm",
    "b": "the second arm",
    "winner": "the winner",
    "wins": "wins of the first arm",
    "losses": "its losses",
    "ties": "ties",
    "first": "the arm that was shown first; if the first column always was, --first a",
    "judge": "who judged",
}


def add_comparison_options(parser: argparse.ArgumentParser) -> None:
    """Add the option that says that the file has comparisons."""
    parser.add_argument(
        "--comparisons",
        action="store_true",
        help="the file has comparisons of two arms each, .csv, .tsv, .jsonl or .parquet: columns a, b and "
        "winner (an id, a, b or tie), or wins, losses and ties; if known, also first (the arm that was shown "
        "first) and judge (who judged: the same judge, pair and order count once)",
    )
    group = parser.add_argument_group("columns of --comparisons, if they have other names")
    for name, what in _COLUMNS.items():
        group.add_argument(f"--{name}", metavar="COLUMN", help=what)


def comparison_columns(options: argparse.Namespace) -> dict[str, str]:
    """Return the names of columns of comparisons that were given."""
    return {name: word for name in _COLUMNS if (word := getattr(options, name)) is not None}


def build_comparisons(options: argparse.Namespace) -> None:
    """Make side information from comparisons, and print what it says."""
    from lsdt.candidates import candidate_set
    from lsdt.side_information import from_comparisons

    for name in ("pairs", "plot"):
        if getattr(options, name) is not None:
            raise InvalidInput(f"--{name} is about ratings; leave it out with --comparisons")
    titles = Titles(options.titles)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        side = from_comparisons(options.log, confidence=options.confidence, **comparison_columns(options))
    assert side.arm_ids is not None
    titles.check(side.arm_ids)
    side = titles.name_arms(side)
    side.save(options.out)
    found, evidence = candidate_set(side, progress=False), side.evidence
    said = [*evidence.notes, *(str(each.message) for each in caught)]
    notes = [in_options(note, vars(options)) for note in said]
    table = evidence.to_frame()
    left = set(found.arm_ids)
    rows = [row for row in table.to_dict(orient="records") if row["arm"] in left]
    n_better = 0 if side.ranges is None else len(side.ranges.better_pairs())
    if options.json:
        answer: dict[str, Any] = {
            "arms": side.n_arms,
            "comparisons": evidence.n_rows,
            "counted": evidence.n_counted,
            "better": n_better,
            "confidence": evidence.confidence,
            "position": evidence.position,
            "position_error": evidence.position_error,
            "assumption": evidence.assumption,
            "candidates": rows,
            "notes": notes,
            "written": str(options.out),
        }
        print(json.dumps(answer, indent=2))
        return
    print(f"log         {counted(evidence.n_rows, 'comparison')} of {counted(side.n_arms, 'arm')}")
    print(
        f"relations   {counted(n_better, 'better pair')}, all right with {evidence.confidence:.0%} confidence"
    )
    if evidence.position is not None:
        error = 1.96 * evidence.position_error
        print(
            f"position    coming first adds {evidence.position:.2g} +- {error:.2g} to a strength (log odds)"
        )
    print(f"candidates  {len(rows):,} of {counted(side.n_arms, 'arm')} may be the best, by strength:")
    for row in rows[:_MOST_LISTED]:
        named = escape(titles.show(row["arm"]))
        print(f"            {named}: {row['strength']:.2f} +- {1.96 * row['error']:.2f}")
    if len(rows) > _MOST_LISTED:
        print(f"            and {len(rows) - _MOST_LISTED:,} more")
    for note in notes:
        print(f"note        {escape(note)}")
    print(f"written     {escape(options.out)}")
