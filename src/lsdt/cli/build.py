"""``lsdt build``: from a log of ratings, from comparisons, or a table of arms, to side information."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt.cli.build_comparisons import add_comparison_options, build_comparisons, comparison_columns
from lsdt.cli.build_tables import add_table_options, kind_of_table, refuse_tables, run_table
from lsdt.cli.log_options import add_log_options, add_rule_options, read_ratings, rule_arguments
from lsdt.cli.terminal import escape, write_table
from lsdt.cli.titles import Titles
from lsdt.errors import ContradictionWarning, InconsistentSideInformation, InvalidInput, counted

if TYPE_CHECKING:
    import argparse

    from lsdt.side_information import SideInformation

_DESCRIPTION = """\
Find out from a log of ratings which items may be the best, and save it as side information. By default it
says which items are beaten, and the best one is lost with a probability of at most 5%. With --guarantee all
it says how all pairs of items compare: which is better and by how much (ranges), or which are similar and
which are not (--relations threshold). That needs many more ratings.

The log is a text file (.csv, .tsv, .dat, .jsonl, also compressed), a Parquet file or a folder of them, with
one row per rating. Two items are compared on the users who rated both.

With --comparisons the file has wins, losses and ties of two arms each. With --experiments, --order or
--features it is a table with a row per arm."""

_EPILOG = """\
examples:
  lsdt build ratings.csv --out side.parquet
  lsdt build ratings.csv --interval bootstrap --out side.parquet
  lsdt build ratings.csv --guarantee all --out side.parquet
  lsdt build ratings.parquet --user visitor --item ad --rating click --epsilon .05 --out side.csv
  lsdt build ratings.dat --out side.parquet
  lsdt build ratings.csv --min-ratings 50 --top 200 --titles movies.csv --out side.parquet
  lsdt build u.data --sep '\\t' --no-header --out side.parquet
  lsdt build ratings.csv --relations threshold --out side.parquet --plot epsilon.svg
  lsdt build --comparisons votes.csv --out side.parquet
  lsdt build --comparisons arena.csv --a model_a --b model_b --first model_a --out side.parquet
  lsdt build ratings.csv --rule paper --search paper --alpha .2 --out side.parquet
  lsdt build --experiments tests.csv --out side.parquet
  lsdt build --order sizes.csv --out side.parquet
  lsdt build --features embeddings.parquet --pilot clicks.csv --out side.parquet
then:
  lsdt candidates side.parquet
  lsdt replay ratings.csv --policies ts@order ts:prior_weight=1 best_training_mean

Numbers are shares of the scale: with ratings from 1 to 5, an epsilon of 0.1 is 0.4 of a rating.

exit codes: 0 done, 2 bad argument or bad rows, 3 bad file, 4 relations contradict, 6 too large,
8 a package is missing, 9 the ratings decide nothing, 70 an error of lsdt itself"""

_CONTRADICTION = (
    "The relations contradict one another: the candidates allow for some being wrong, and lsdt candidates "
    "says which to check first."
)
_MOST_LISTED = 20  # candidates printed; chosen by eye to fit a terminal


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="make side information from a log of ratings, from comparisons, or from a table of arms",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_log_options(parser)
    add_comparison_options(parser)
    add_rule_options(parser)
    add_table_options(parser)
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="the file of side information to write: .parquet or .csv",
    )
    parser.add_argument(
        "--pairs",
        metavar="FILE",
        help="write the evidence for every relation or beaten item, as CSV; an id that a spreadsheet would "
        "take for a formula begins with an apostrophe",
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw how many items each epsilon leaves, and its risk (--relations threshold)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from lsdt.plotting import check_ending
    from lsdt.ratings import from_ratings, relations_asked
    from lsdt.side_information import checked_ending

    if options.plot is not None:
        check_ending(Path(options.plot))
        if relations_asked(rule_arguments(options)) == "ranges":
            raise InvalidInput(
                "--plot draws the choice of epsilon, but ranges have none; add --relations threshold"
            )
    checked_ending(Path(options.out))
    if options.pairs is not None and Path(options.pairs).suffix.lower() != ".csv":
        raise InvalidInput(f"--pairs is written as CSV and must end in .csv; got {options.pairs!r}")
    _check_targets(options)
    kind = kind_of_table(options)
    if kind is not None and options.comparisons:
        raise InvalidInput(f"give either --comparisons or --{kind}")
    if kind is not None:
        if options.pairs is not None or options.plot is not None:
            raise InvalidInput(f"--pairs and --plot are for logs of ratings; leave them out with --{kind}")
        run_table(options, kind)
        return
    if options.comparisons:
        build_comparisons(options)
        return
    if named := comparison_columns(options):
        raise InvalidInput(f"--{next(iter(named))} names a column of comparisons; add --comparisons")
    refuse_tables(options)
    titles = Titles(options.titles)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes repeat them
        side = from_ratings(read_ratings(options), seed=options.seed, **rule_arguments(options))
    assert side.arm_ids is not None
    titles.check(side.arm_ids)
    side = titles.name_arms(side)
    side.save(options.out)
    if options.pairs is not None:
        write_table(side.evidence.pairs, Path(options.pairs))
    if options.plot is not None:
        from lsdt.plotting import plot_epsilon, save

        save(plot_epsilon(side.evidence), options.plot)
    if options.json:
        print(json.dumps(_as_json(side, options, titles), indent=2))
    else:
        _print(side, options, titles)


def _check_targets(options: argparse.Namespace) -> None:
    """Raise an error if an output would overwrite the log or another output, or is inside the log folder."""
    log = Path(options.log).resolve()
    taken = {log: "the log"}
    for name in ("out", "pairs", "plot"):
        word = getattr(options, name)
        if word is None:
            continue
        target = Path(word).resolve()
        if target in taken or log in target.parents:
            what = taken.get(target, "inside the folder of the log")
            raise InvalidInput(f"--{name} {word!r} is {what}; choose another name")
        taken[target] = f"also --{name}"


def _candidates(side: SideInformation) -> tuple[list[dict[str, Any]] | None, tuple[str, ...]]:
    """Return the candidates, ranked by their ratings, and notes; None if contradictions leave none.

    Relations alone do not say which end of the order is the best; ratings do.
    """
    from lsdt.candidates import candidate_set

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)  # a note reports it
        try:
            found = candidate_set(side)
        except InconsistentSideInformation:
            return None, ()
    notes = () if found.conflict is None else (_CONTRADICTION,)
    ranked = side.evidence.ranking(found.arm_ids).astype(object)
    return ranked.to_dict(orient="records"), notes


def _worse(row: dict[str, Any], titles: Titles) -> str:
    if row["below"] is None:
        return ""
    return f", rated below {escape(titles.show(row['below']))} by the same intervals"


def _print(side: SideInformation, options: argparse.Namespace, titles: Titles) -> None:
    evidence = side.evidence
    low, high = evidence.scale
    sizes = (
        f"{counted(evidence.n_users, 'user')}, {counted(side.n_arms, 'item')}, "
        f"{counted(evidence.n_ratings, 'rating')} from {low:g} to {high:g}"
    )
    print(f"log         {sizes}")
    if evidence.epsilon is not None:
        print(f"epsilon     {evidence.epsilon:.4g} ({evidence.epsilon * (high - low):.3g} of a rating)")
    if evidence.beaten is None:
        print(f"relations   {evidence.relations_in_words()}")
    else:
        beaten = 0 if side.beaten is None else int(side.beaten.is_out(side.n_arms).sum())
        risk = f"the best is among them with a probability of at most {1.0 - evidence.confidence:.4g}"
        print(f"beaten      {beaten:,} of {counted(side.n_arms, 'item')}; {risk}")
    found, notes = _candidates(side)
    if found is None:
        print("candidates  none: the relations contradict one another; lsdt candidates says where")
    else:
        number = f"{len(found):,} of {counted(side.n_arms, 'item')}"
        print(
            f"candidates  {number} may be the best, by quality; every 'at least' holds with 95% confidence:"
        )
        for row in found[:_MOST_LISTED]:
            ratings = counted(row["ratings"], "rating")
            about = f"{row['quality']:.4g}, at least {row['low']:.4g} (mean of {ratings}: {row['mean']:.4g})"
            print(f"            {escape(titles.show(row['item']))}: {about}{_worse(row, titles)}")
        if len(found) > _MOST_LISTED:
            print(f"            and {len(found) - _MOST_LISTED:,} more")
    for note in (*notes, *evidence.notes):
        print(f"note        {note}")
    print(f"written     {escape(options.out)}")


def _as_json(side: SideInformation, options: argparse.Namespace, titles: Titles) -> dict[str, Any]:
    evidence = side.evidence
    found, notes = _candidates(side)
    named = {} if options.titles is None else {"titles": titles.of(side.arm_ids or ())}
    return {
        "users": evidence.n_users,
        "items": side.n_arms,
        "ratings": evidence.n_ratings,
        "scale": list(evidence.scale),
        "guarantee": "all" if evidence.beaten is None else "best",
        "relations": evidence.relations,
        "rule": evidence.rule,
        "level": evidence.level,
        "interval": evidence.interval,
        "confidence": evidence.confidence if evidence.rule == "interval" else None,
        "epsilon": evidence.epsilon,
        "similar": side.n_similar,
        "dissimilar": side.n_dissimilar,
        "ranges": evidence.count("better", "worse", "range"),
        "ordered": evidence.count("better", "worse"),
        "left_out": evidence.left_out,
        "beaten": None if evidence.beaten is None else len(set(evidence.beaten.arms.tolist())),
        "candidates": found,
        "notes": [*notes, *evidence.notes],
        "scan": json.loads(evidence.scan.to_json(orient="records")),
        "written": str(options.out),
        **named,
    }
