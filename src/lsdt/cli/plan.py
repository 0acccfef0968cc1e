"""``lsdt plan``: before the first try, how many it will take and what it will cost."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from lsdt.cli.pairs_options import add_file_options, read_pairs
from lsdt.cli.terminal import escape

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from lsdt.identification import Plan

_DESCRIPTION = """\
Say before the first try how many it will take until the best arm is known, how much a policy will lose in a
number of rounds, which tolerance that many tries establish, and what more pairs or more tries would tell.

Experiments are played on means drawn from all that the relations of FILE allow. How far these spread is taken
from how many pairs are similar and how many are not. If you know where they lie, as with click rates, say so
with --means-between."""

_EPILOG = """\
examples:
  lsdt plan side.parquet
  lsdt plan side.parquet --means-between 0.01 0.12 --tolerance 0.01 --horizons 10000 100000
  lsdt plan --example partial --rewards gaussian --json

exit codes: 0 done, 2 bad argument, 3 bad file, 4 contradictory relations, 5 not a unit interval graph,
6 too many candidates, 7 no epsilon or tolerance, or no means found that satisfy the relations,
70 an error of lsdt itself, 130 interrupted"""

_OPTIONS = (
    "rewards",
    "delta",
    "tolerance",
    "epsilon",
    "policy",
    "horizons",
    "n_pairs",
    "means_between",
    "runs",
    "seed",
)  # named as the parameters of `lsdt.plan`


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="how many tries it will take, before the first",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_file_options(parser)
    parser.add_argument(
        "--epsilon", type=float, help="similar means differ by less than this, if the file does not say so"
    )
    parser.add_argument(
        "--rewards", default="bernoulli", metavar="LAW", help="bernoulli (default) or gaussian"
    )
    parser.add_argument(
        "--delta", type=float, default=0.05, help="accepted probability of a wrong answer (default 0.05)"
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        help="how far below the best mean the mean of the arm named may be (default: epsilon)",
    )
    parser.add_argument(
        "--horizons",
        type=int,
        nargs="+",
        default=[1_000],
        metavar="N",
        help="numbers of rounds (default 1000)",
    )
    parser.add_argument(
        "--n-pairs", type=int, default=100, metavar="N", help="more pairs, or tries, to compare (default 100)"
    )
    parser.add_argument(
        "--means-between",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="the lowest and the highest possible mean",
    )
    parser.add_argument("--policy", default="auto", metavar="POLICY", help="whose regret (default auto)")
    parser.add_argument("--runs", type=int, default=100, metavar="N", help="experiments played (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same plan (default 0)")
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from lsdt.identification import plan

    side = read_pairs(options, "plan")
    found = plan(side, **{name: getattr(options, name) for name in _OPTIONS})
    if options.json:
        print(json.dumps(_as_json(found), indent=2))
        return
    for sentence in found.text.split(". "):
        print(escape(sentence.rstrip(".") + "."))
    print(f"\n{found.tolerances.to_string(index=False)}")


def _as_json(found: Plan) -> dict[str, Any]:
    tables = ("tolerances", "rounds", "learning")
    answer: dict[str, Any] = {**found._asdict(), "tries": _plain(list(found.tries)), "text": found.text}
    return {**answer, **{name: _records(getattr(found, name)) for name in tables}}


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [dict(zip(frame.columns, _plain(row), strict=True)) for row in frame.to_numpy(object).tolist()]


def _plain(values: list[Any]) -> list[Any]:
    """Return values as JSON has them: null where a number is infinite or missing."""
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in values]
