"""``lsdt identify``: find the best arm of a random problem, or of a log, in few tries."""

from __future__ import annotations

import json
import math
import warnings
from typing import TYPE_CHECKING, Any

from lsdt.cli.log_options import add_log_options, add_rule_options, read_ratings, rule_arguments
from lsdt.cli.pairs_options import WHOLE_NUMBER
from lsdt.cli.terminal import escape
from lsdt.cli.titles import Titles
from lsdt.errors import InvalidInput, counted

if TYPE_CHECKING:
    import argparse

    from lsdt.identification import Identification, TopIdentification
    from lsdt.problems import Problem

_DEFAULT_EPSILON = 0.1  # of a random problem, as in `lsdt.problems.uniform` and the paper

_DESCRIPTION = """\
Play until it is known which arm is the best, and report that arm and how many tries it took.

Without LOG, arms have random means, as in lsdt simulate. With a log of ratings, side information is made from
it as in lsdt build, and trying an item pays one of its ratings, on the scale from 0 to 1. This answers how
many tries it would take to find an item within the tolerance of the best."""

_EPILOG = """\
examples:
  lsdt identify
  lsdt identify --n-arms 1000 --p-similar .5 --p-dissimilar .5 --rewards bernoulli --replications 100
  lsdt identify --best 5 --replications 20
  lsdt identify --delta .01 --tolerance .2 --budget 500 --json
  lsdt identify ratings.csv --tolerance .05 --replications 20

exit codes: 0 known, 1 not known within the budget, 2 bad argument or bad rows, 3 bad file, 4 relations
contradict, 6 too large, 7 policy does not apply, 70 an error of lsdt itself, 130 interrupted"""

NOT_KNOWN = 1  # exit code: the best arm is not known within the budget


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="find the best arm in few tries",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_log_options(parser, optional=True)
    add_rule_options(parser)
    parser.add_argument(
        "--delta", type=float, default=0.05, help="accepted probability of a wrong answer (default 0.05)"
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        help="how far below the best mean the mean of the arm found may be (default: epsilon)",
    )
    parser.add_argument(
        "--best",
        default="1",
        metavar="M",
        help="find the best M arms (default 1; --top is an option of logs), or 'all' within the tolerance",
    )
    parser.add_argument(
        "--budget", type=int, metavar="N", help="the largest number of tries (default a million)"
    )
    parser.add_argument("--batch", type=int, metavar="N", help="arms tried at once (default 1)")
    parser.add_argument(
        "--policy", default="identify", metavar="POLICY", help="how arms are chosen (default identify)"
    )
    parser.add_argument(
        "--replications",
        type=int,
        default=1,
        metavar="N",
        help="repetitions, each with the next seed (default 1)",
    )
    group = parser.add_argument_group("a random problem")
    group.add_argument("--n-arms", type=int, default=100, metavar="K", help="number of arms (default 100)")
    group.add_argument("--low", type=float, default=0.1, help="smallest mean (default 0.1)")
    group.add_argument("--high", type=float, default=1.0, help="largest mean (default 1)")
    group.add_argument("--rewards", default="gaussian", metavar="LAW", help="gaussian (default) or bernoulli")
    for kind in ("similar", "dissimilar"):
        group.add_argument(
            f"--p-{kind}",
            type=float,
            default=1.0,
            metavar="P",
            help=f"share of the {kind} pairs that is known (default 1: all)",
        )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from lsdt._validation import checked_replications, checked_seed
    from lsdt.identification import identify

    runs, seed = checked_replications(options.replications), checked_seed(options.seed)
    problem, notes = _problem(options)
    names = ("delta", "tolerance", "budget", "batch", "policy")
    given = {name: getattr(options, name) for name in names}
    given["top"] = int(options.best) if WHOLE_NUMBER.fullmatch(options.best) else options.best
    found = [identify(problem, seed=seed + number, **given) for number in range(runs)]
    if options.json:
        print(json.dumps(_as_json(found, options, notes), indent=2))
    else:
        _print(found, notes, Titles(options.titles))
    return 0 if all(each.stop for each in found) else NOT_KNOWN


def _problem(options: argparse.Namespace) -> tuple[Problem, list[str]]:
    """Return the problem to play, and notes about it."""
    from lsdt import problems

    if options.log is not None:
        return _problem_of_log(options)
    if options.relations == "ranges":
        raise InvalidInput("--relations is for a log; a random problem has similar and dissimilar pairs")
    names = ("n_arms", "low", "high", "rewards", "p_similar", "p_dissimilar")
    epsilon = rule_arguments(options)["epsilon"]
    plain = {name: getattr(options, name) for name in names}
    return problems.uniform(epsilon=_DEFAULT_EPSILON if epsilon == "auto" else epsilon, **plain), []


def _problem_of_log(options: argparse.Namespace) -> tuple[Problem, list[str]]:
    from lsdt import problems
    from lsdt.ratings import from_ratings

    log = read_ratings(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes repeat them
        side = from_ratings(log, seed=options.seed, **rule_arguments(options))
    notes = list(getattr(side.evidence, "notes", ()))
    return problems.from_ratings(log, side), notes


def _as_json(
    found: list[Identification | TopIdentification], options: argparse.Namespace, notes: list[str]
) -> dict[str, Any]:
    rows = [
        {
            **_named(each),
            "stop": each.stop,
            "delta": each.delta,
            "risk": each.risk,
            "tries": each.tries,
            "gap": each.gap,
        }
        for each in found
    ]
    return {
        "delta": options.delta,
        "tolerance": found[0].tolerance,
        "top": options.best,
        "policy": options.policy,
        "seed": options.seed,
        "mean_tries": sum(each.tries for each in found) / len(found),
        "errors": sum(_is_wrong(each) for each in found),
        "runs": rows,
        "notes": notes,
    }


def _named(found: Identification | TopIdentification) -> dict[str, Any]:
    """Return what was found, as JSON data."""
    from lsdt.identification import Identification

    if isinstance(found, Identification):
        return {"arm": found.arm_id, "error": found.error}
    return {"arms": found.arm_ids, "missed": found.missed}


def _is_wrong(found: Identification | TopIdentification) -> bool:
    from lsdt.identification import Identification

    assert found.gap is not None
    if isinstance(found, Identification) or found.missed is None:
        return found.gap > found.tolerance * (1.0 + 1e-9)
    return found.missed > 0 or found.gap > 2.0 * found.tolerance * (1.0 + 1e-9)


def _measure(found: Identification | TopIdentification) -> str:
    """Return what the arms found are compared with."""
    from lsdt.identification import Identification

    if isinstance(found, Identification) or found.top == "all":
        return "the best arm"
    return f"number {found.top} of the best arms"


def _print(found: list[Identification | TopIdentification], notes: list[str], titles: Titles) -> None:
    from lsdt.identification import Identification

    first = found[0]
    if len(found) == 1:
        assert first.gap is not None
        names = [first.arm_id] if isinstance(first, Identification) else first.arm_ids
        print(f"found       {', '.join(escape(titles.show(name)) for name in names)}")
        print(f"known       {'yes' if first.stop else 'no'}: {escape(first.text)}")
        print(f"tries       {first.tries:,}")
        print(f"in truth    {first.gap:.4g} below {_measure(first)}")
    else:
        tries = sorted(each.tries for each in found)
        mean = sum(tries) / len(tries)
        wrong, known = sum(map(_is_wrong, found)), sum(each.stop for each in found)
        worst = tries[min(math.ceil(0.95 * len(tries)), len(tries)) - 1]
        print(f"runs        {counted(len(found), 'replication')}, known in {known:,}")
        print(f"tries       {mean:,.1f} on average; median {tries[len(tries) // 2]:,}, 95% within {worst:,}")
        far = (
            first.tolerance
            if isinstance(first, Identification) or first.top != "all"
            else 2 * first.tolerance
        )
        missed = "" if isinstance(first, Identification) or first.top != "all" else ", or an arm missed"
        print(f"errors      {wrong:,} more than {far:g} below {_measure(first)}{missed}")
    for note in notes:
        print(f"note        {escape(note)}")
