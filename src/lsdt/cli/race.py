"""``lsdt race``: try arms on the same examples until the best one is known."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt.cli.identify import NOT_KNOWN
from lsdt.cli.log_options import add_log_options, read_ratings
from lsdt.cli.terminal import escape
from lsdt.cli.text_lines import read_lines
from lsdt.cli.titles import Titles
from lsdt.cli.user_command import UserCommand, add_timeout_option
from lsdt.errors import InvalidInput, counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from lsdt.identification import RaceResult
    from lsdt.ratings import RatingLog
    from lsdt.side_information import SideInformation

_DESCRIPTION = """\
Try arms on the same examples, drop those that are beaten, and stop when it is known which arm is the best.

With --evaluate, a command is run for each arm and example: {arm} and {example} in it stand for a line of
--arms and of --examples, and the last line that it prints is the score. It is run without a shell. With LOG,
scores that were recorded are raced: users are the examples, items the arms, ratings the scores. This
answers how many evaluations it would take."""

_EPILOG = """\
examples:
  lsdt race --arms prompts.txt --examples questions.txt --evaluate './score.sh {arm} {example}' --jobs 8
  lsdt race --arms prompts.txt --examples questions.txt --evaluate './score.sh {arm} {example}' \\
      --budget 2000 --log scores.csv
  lsdt race scores.csv --user question --item prompt --rating score --tolerance .02
  lsdt race scores.csv --side side.parquet --json

exit codes: 0 known, 1 not known within the budget and the examples, 2 bad argument, bad rows or an invalid
score, 3 bad file, 4 relations contradict, 6 too large, 70 an error of lsdt itself, 130 interrupted"""

_MOST_LISTED = 20  # arms printed; chosen by eye to fit a terminal


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="try arms on the same examples until the best is known",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_log_options(parser, optional=True)
    parser.add_argument("--arms", metavar="FILE", help="the arms, one a line (with --evaluate)")
    parser.add_argument("--examples", metavar="FILE", help="the examples, one a line (with --evaluate)")
    parser.add_argument(
        "--evaluate", metavar="COMMAND", help="a command that prints the score of {arm} on {example}"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="evaluations that run at the same time (default 1)"
    )
    add_timeout_option(parser)
    parser.add_argument(
        "--log",
        dest="score_log",
        metavar="PATH",
        help="with --evaluate, keep all scores in this file, .csv, and go on with those that it has",
    )
    parser.add_argument(
        "--side", metavar="FILE", help="side information: arms that it excludes are not tried"
    )
    parser.add_argument(
        "--delta", type=float, default=0.05, help="accepted probability of a wrong answer (default 0.05)"
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=0.0,
        help="how far below the best mean the mean of the arm found may be, in units of scores (default 0)",
    )
    parser.add_argument("--budget", type=int, metavar="N", help="the largest number of evaluations")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from lsdt.identification import race

    side = None if options.side is None else _loaded(options.side)
    given = {name: getattr(options, name) for name in ("delta", "tolerance", "budget", "jobs", "seed")}
    if options.evaluate is not None:
        if options.log is not None:
            raise InvalidInput("a race is on LOG, or on --arms and --examples with --evaluate; got both")
        if options.arms is None or options.examples is None:
            raise InvalidInput("--evaluate needs --arms and --examples, a file with one a line each")
        scale = (0.0, 1.0) if options.scale is None else tuple(options.scale)
        arms, examples = read_lines(options.arms, "--arms"), read_lines(options.examples, "--examples")
        log, evaluate = options.score_log, _command(options.evaluate, options.timeout)
        try:
            found = race(arms, evaluate, examples, side=side, scale=scale, log=log, **given)
        except InvalidInput as error:
            if log is None or not Path(log).exists() or not Path(log).stat().st_size:
                raise
            raise type(error)(f"{error}. The scores so far are in {log!r}; run it again to go on") from None
    elif options.log is None:
        raise InvalidInput("give LOG, or --arms, --examples and --evaluate; lsdt race --help has examples")
    else:
        if options.score_log is not None:
            raise InvalidInput("--log keeps the scores of --evaluate; those of LOG are recorded already")
        ratings = read_ratings(options)
        scale, users = (ratings.low, ratings.high), range(ratings.n_users)
        found = race(ratings.item_ids, _recorded(ratings), users, side=side, scale=scale, **given)
    if options.json:
        print(json.dumps(_as_json(found), indent=2))
    else:
        _print(found, Titles(options.titles))
    return 0 if found.stop else NOT_KNOWN


def _loaded(path: str) -> SideInformation:
    from lsdt.side_information import load

    return load(path)


def _recorded(log: RatingLog) -> Callable[[Any, int], float | None]:
    """Return a function that looks the rating of an item by a user up."""
    place = {item: at for at, item in enumerate(log.item_ids)}
    starts, items, ratings = log.starts, log.items, log.ratings
    rows: dict[int, dict[int, float]] = {}

    def evaluate(item: Any, user: int) -> float | None:
        row = rows.get(user)
        if row is None:
            mine = slice(starts[user], starts[user + 1])
            row = dict(zip(items[mine].tolist(), ratings[mine].tolist(), strict=True))
            rows.clear()  # one user after the other
            rows[user] = row
        return row.get(place[item])

    return evaluate


def _command(text: str, timeout: float | None) -> Callable[[str, str], float]:
    """Return a function that runs a command and takes the last line that it prints as the score."""
    command = UserCommand(text, "--evaluate", timeout)
    if not command.names("{arm}") or not command.names("{example}"):
        raise InvalidInput(
            "--evaluate must name a command and where the arm and the example go, such as './score.sh {arm} "
            f"{{example}}'; got {text!r}"
        )

    def evaluate(arm: str, example: str) -> float:
        about = f"on arm {arm!r} and example {example!r}"
        last = command.last_line({"{arm}": arm, "{example}": example}, about)
        try:
            return float(last)
        except ValueError:
            raise InvalidInput(
                f"--evaluate {about} printed {last!r}; its last line must be a score"
            ) from None

    return evaluate


def _as_json(found: RaceResult) -> dict[str, Any]:
    frame = found.to_frame().astype(object)
    rows = frame.where(frame.notna(), None).to_dict(orient="records")
    return {
        "arm": found.arm_id,
        "known": found.stop,
        "left": found.left,
        "delta": found.delta,
        "tolerance": found.tolerance,
        "evaluations": found.tries,
        "examples": found.examples,
        "text": found.text,
        "arms": rows,
    }


def _print(found: RaceResult, titles: Titles) -> None:
    name = escape(titles.show(found.arm_id))
    frame = found.to_frame().set_index("arm")
    print(f"arm         {name}, {'known' if found.stop else 'the best guess'}")
    print(f"examples    {found.examples:,}")
    print(f"evaluations {found.tries:,}")
    print(f"left        {len(found.left):,} of {counted(len(frame), 'arm')}, the best first:")
    for arm in found.left[:_MOST_LISTED]:
        mean = float(frame["mean"][arm])
        about = "not tried" if math.isnan(mean) else f"mean {mean:.4g}"
        print(f"            {escape(titles.show(arm))}: {about}")
    if len(found.left) > _MOST_LISTED:
        print(f"            and {len(found.left) - _MOST_LISTED:,} more")
    print(f"note        {escape(found.text)}")
