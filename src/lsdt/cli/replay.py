"""``lsdt replay``: what policies would have earned on a log."""

from __future__ import annotations

import json
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt.cli.log_options import (
    add_log_options,
    add_rule_options,
    column_word,
    reading_arguments,
    rule_arguments,
)
from lsdt.cli.terminal import complain, escape, write_table
from lsdt.cli.titles import Titles
from lsdt.errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from lsdt.ratings import EventLog, RatingLog
    from lsdt.replays import ReplayResult

_DESCRIPTION = """\
Estimate what policies would have earned on the ratings of a log, and rank them.

Users are divided at random, many times: side information and priors come from those trained on, and all
policies are replayed on the others. A policy is given by name, and may say on which items it plays, set
parameters, and start with the ratings trained on as a prior:
  lsdt_psi    ts@paper    ts:prior_weight=1    ucb1@paper:alpha=1,prior_weight=.5
  best_training_mean    always:ITEM"""

_EPILOG = """\
examples:
  lsdt replay ratings.csv --policies lsdt_psi ts@paper ts:prior_weight=1 best_training_mean
  lsdt replay ratings.csv --policies ts@paper ucb1 --side paper --alpha .2 --train .05 --horizon 4000
  lsdt replay ratings.csv --policies ts@order best_training_mean --relations ranges
  lsdt replay ratings.csv --policies ts@order ts --chronological --time timestamp --train .5
  lsdt replay last_year.csv --test-log this_year.csv --policies ts@paper best_training_mean
  lsdt replay events.parquet --method uniform --rating click --policies ts kl_ucb
  lsdt replay events.parquet --no-user --propensity p --policies ts best_training_mean --side none

--side says where the side information of every split comes from: interval (default) or paper, found in the
ratings trained on by the rules of lsdt build; none; or a file.

exit codes: 0 done, 2 bad argument or bad rows, 3 bad file, 4 relations contradict, 6 too large,
7 policy does not apply, 70 an error of lsdt itself, 130 interrupted"""


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="estimate what policies would have earned on a log",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_log_options(parser)
    parser.add_argument(
        "--no-user",
        dest="user",
        action="store_const",
        const=None,
        help="the log has no column of users: every event belongs to another user",
    )
    parser.add_argument("--policies", nargs="+", required=True, metavar="POLICY", help="what to compare")
    parser.add_argument(
        "--propensity",
        type=column_word,
        metavar="COLUMN",
        help="column of the probabilities with which items were shown",
    )
    parser.add_argument(
        "--method",
        default="auto",
        choices=("auto", "matrix", "uniform", "propensity"),
        help="what the log holds: ratings by users (matrix), events shown at random (uniform), or events "
        "shown with known probabilities (propensity)",
    )
    parser.add_argument(
        "--horizon",
        type=int,
        metavar="T",
        help="number of rounds (default: half the average answers per item)",
    )
    parser.add_argument(
        "--train",
        type=float,
        help="share of users to train on (default 0.1); with --chronological the share of the ratings, the "
        "earliest; with --test-log the share of the users of LOG (default: all)",
    )
    parser.add_argument("--test", type=float, help="share of users to test on (default: all others)")
    parser.add_argument(
        "--test-log", metavar="FILE", help="another log to test on; LOG is then used for training only"
    )
    parser.add_argument(
        "--chronological",
        action="store_true",
        help="train on the earliest ratings, and test on the later ones in the order of time; needs --time",
    )
    parser.add_argument(
        "--time", type=column_word, metavar="COLUMN", help="column of times: numbers, dates, or ISO text"
    )
    parser.add_argument(
        "--splits", type=int, default=20, metavar="N", help="divisions of the users (default 20)"
    )
    parser.add_argument(
        "--side",
        default="interval",
        metavar="WHERE",
        help="interval (default), paper, none, or a file, which must not be made from this log",
    )
    add_rule_options(parser, with_rule=False)
    parser.add_argument(
        "--clip",
        type=float,
        default=0.0,
        help="smallest propensity used; smaller ones are raised to it (default 0)",
    )
    parser.add_argument("--n-jobs", type=int, default=-1, metavar="N", help="threads (default -1: all cores)")
    parser.add_argument("--out", metavar="DIR", help="folder for the table and the whole result")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from lsdt.replays import replay

    if options.out is not None and Path(options.out).exists() and not Path(options.out).is_dir():
        raise InvalidFile(f"--out is the name of a folder, but {options.out!r} is none")
    if options.chronological and options.time is None:
        raise InvalidInput("--chronological needs the times of the ratings: name their column with --time")
    titles = Titles(options.titles)
    log, test_log = _read(options, options.log), None
    if options.test_log is not None:  # its items follow those of the log
        test_log = _read(options, options.test_log, min_ratings=None, top=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes repeat them
        result = replay(
            log,
            options.policies,
            horizon=options.horizon,
            train=options.train,
            test=options.test,
            test_log=test_log,
            chronological=options.chronological,
            splits=options.splits,
            side=_side(options),
            clip=options.clip,
            seed=options.seed,
            n_jobs=options.n_jobs,
        )
    _refuse_nothing(result)
    _tell(result, options, titles)
    return 130 if result.partial else 0


def _read(options: argparse.Namespace, path: str, **other: Any) -> RatingLog | EventLog:
    """Read a log as ratings or as events, as the options say."""
    from lsdt.ratings import read_events, read_log

    method, arguments = options.method, {**reading_arguments(options), **other}
    if method == "auto":
        method = "matrix" if options.propensity is None else "propensity"
    if method == "propensity" and options.propensity is None:
        raise InvalidInput(
            "--method propensity needs the probabilities with which items were shown; say which column holds "
            "them with --propensity"
        )
    if method == "matrix" and options.user is None:
        raise InvalidInput(
            "a log without a column of users must be one of events: say which column holds the "
            "probabilities with which items were shown, with --propensity, or, if they were shown at random, "
            "--method uniform"
        )
    if method == "matrix":
        return read_log(path, duplicates=options.duplicates, **arguments)
    return read_events(path, propensity=options.propensity if method == "propensity" else None, **arguments)


def _refuse_nothing(result: ReplayResult) -> None:
    """Raise an error if the replay is finished and no policy has a reward."""
    if not result.partial and result.summary()["reward"].isna().all():
        raise InvalidInput(
            "no policy has a reward: in some split no user tested on rated what it chose. Give more ratings, "
            "or train on fewer users (--train)"
        )


def _side(options: argparse.Namespace) -> Any:
    """Return the argument `side` of `lsdt.replay`."""
    if options.relations is not None and options.side not in ("interval", "paper"):
        raise InvalidInput(f"--relations is for --side interval; got --side {options.side}")
    if options.side == "none":
        return None
    if options.side in ("interval", "paper"):
        from lsdt.ratings import from_ratings, relations_asked

        rules = {**rule_arguments(options), "rule": options.side, "seed": options.seed}
        if options.guarantee == "best":
            return partial(from_ratings, **rules)
        return partial(from_ratings, **{**rules, "relations": relations_asked(rules)})
    from lsdt.side_information import load

    return load(options.side)


def _tell(result: ReplayResult, options: argparse.Namespace, titles: Titles) -> None:
    if options.out is not None:
        result.save(options.out)
        write_table(result.summary().reset_index(), Path(options.out) / "table.csv")
    if options.json:
        table = json.loads(result.summary().reset_index().to_json(orient="records"))
        answer = {"problem": result.problem, "splits": result.replications, "policies": table}
        if _has_estimates(result):
            answer["estimates"] = json.loads(result.estimates().to_json(orient="records"))
        print(json.dumps({**answer, "notes": list(result.notes)}, indent=2))
    else:
        _print(result, titles)
    if options.out is not None and not options.json:
        print(f"written     {escape(options.out)}: table.csv, study.json and Parquet files")
    if result.partial:
        done = f"{result.replications} of {result.requested} splits are finished"
        complain(f"lsdt: interrupted: {done}")


def _has_estimates(result: ReplayResult) -> bool:
    return bool(result.problem["method"] == "propensity")


def _name(policy: str, titles: Titles) -> str:
    """Return a policy's name as shown; one that always plays an item is shown with the item's title."""
    word, _, item = policy.partition(" ")
    return escape(f"{word} {titles.show(item)}" if word == "always" and item else policy)


def _print(result: ReplayResult, titles: Titles) -> None:
    table = result.summary().sort_values("reward", ascending=False)
    best = table.index[0]
    width = max(len(_name(name, titles)) for name in ("policy", *table.index))
    head = f"{'reward':>8}  {'95% interval':>18}  {'behind the first':>26}  {'rounds':>8}  {'effective':>9}"
    print(f"{'policy':<{width}}  {head}")
    for row in table.itertuples():
        ends = f"{row.low:.4g} to {row.high:.4g}" if row.low == row.low else "-"
        behind = "" if row.Index == best else _behind(result, best, row.Index)
        meant = "" if row.enough else "  means nothing"
        print(
            f"{_name(row.Index, titles):<{width}}  {row.reward:>8.4g}  {ends:>18}  {behind:>26}  "
            f"{row.rounds:>8,.0f}  {row.effective:>9,.0f}{meant}"
        )
    if _has_estimates(result):
        print("\nvalue of what each policy learned in training (the item that it settles on, or its draws):")
        print(
            _escape_table(result.estimates()).to_string(
                index=False, float_format=lambda value: f"{value:.4g}"
            )
        )
    for note in result.notes:
        print(f"note        {note}")


def _escape_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its text escaped, safe to show."""
    return frame.map(lambda cell: escape(cell) if isinstance(cell, str) else cell)


def _behind(result: ReplayResult, best: str, policy: str) -> str:
    """Return by how much a policy is behind another per round, paired by split, as text."""
    rows = result.difference(best, policy).dropna()
    if rows.empty:
        return "-"
    last = rows.iloc[-1]
    return f"{last['difference']:.3g} ({last['low']:.3g} to {last['high']:.3g})"
