"""``lsdt simulate``: policies against a random problem, as a table, a picture and files."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt.cli.terminal import complain, escape, write_table
from lsdt.errors import InvalidFile, InvalidInput, MissingDependency, counted

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from lsdt.policies import Policy
    from lsdt.problems import UniformProblem
    from lsdt.simulation import SimulationResult

_MOST_PLAYS = 50_000_000  # counters of plays, 400 MB; studies that would need more do not count plays

_DESCRIPTION = """\
Play policies against arms with random means, many times, and compare their regret.

A policy is given by name, and may say on which arms it plays and set parameters:
  lsdt_csi    ucb1:alpha=8    ucb1@paper    lsdt_csi:index=moss    ts@paper"""

_EPILOG = """\
examples:
  lsdt simulate --policies lsdt_csi ucb1 ts --n-arms 100 --epsilon .1 --replications 100 --out study
  lsdt simulate --policies lsdt_psi ckl_ucb --p-similar .5 --p-dissimilar .5 --rewards bernoulli --high .9
  lsdt simulate --policies lsdt_csi ucb1@paper --horizons 100 300 1000
  lsdt simulate --list

--out writes table.csv, regret.svg (if the extra "report" is installed) and the whole result (study.json and
Parquet files), which lsdt.SimulationResult.load reads. Ctrl-C keeps the finished replications.

exit codes: 0 done, 2 bad argument, 3 bad file, 6 too large, 7 policy does not apply,
70 an error of lsdt itself, 130 interrupted"""


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name,
        help="compare policies on random problems",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("--policies", nargs="+", metavar="POLICY", help="policies to compare; see above")
    parser.add_argument("--list", action="store_true", help="print all policies and their parameters")
    parser.add_argument("--n-arms", type=int, default=100, metavar="K", help="number of arms (default 100)")
    parser.add_argument("--low", type=float, default=0.1, help="smallest mean (default 0.1)")
    parser.add_argument("--high", type=float, default=1.0, help="largest mean (default 1)")
    parser.add_argument(
        "--epsilon", type=float, default=0.1, help="threshold between similar and dissimilar (default 0.1)"
    )
    parser.add_argument(
        "--rewards", default="gaussian", metavar="LAW", help="gaussian (default) or bernoulli"
    )
    for kind in ("similar", "dissimilar"):
        parser.add_argument(
            f"--p-{kind}",
            type=float,
            default=1.0,
            metavar="P",
            help=f"share of the {kind} pairs that is known (default 1: all)",
        )
    parser.add_argument(
        "--fixed", action="store_true", help="draw the problem once, not again in every replication"
    )
    parser.add_argument("--horizon", type=int, metavar="T", help="number of rounds (default 1000)")
    parser.add_argument(
        "--horizons",
        nargs="+",
        type=int,
        metavar="T",
        help="several horizons: policies that depend on the horizon are run once for each",
    )
    parser.add_argument(
        "--replications", type=int, default=100, metavar="N", help="repetitions (default 100)"
    )
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same result (default 0)")
    parser.add_argument("--n-jobs", type=int, default=-1, metavar="N", help="threads (default -1: all cores)")
    parser.add_argument("--out", metavar="DIR", help="folder for a table, a picture and the whole result")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; everything that can be checked is checked before the work."""
    if options.list:
        _list_policies(options.json)
        return 0
    if not options.policies:
        raise InvalidInput("say which policies to compare with --policies; lsdt simulate --list shows all")
    from lsdt.policies import parse_policy

    policies, problem = [parse_policy(word) for word in options.policies], _problem(options)
    _check_options(options)
    result = _simulate(options, problem, policies)
    if options.json:
        print(json.dumps(_as_json(result), indent=2))
    else:
        _print(result)
    if options.out is not None:
        picture = _write(result, Path(options.out))
        if not options.json:
            print(f"\nwritten     {escape(options.out)}: table.csv, {picture}study.json and Parquet files")
    if result.partial:
        done = f"{result.replications} of {result.requested} replications are finished"
        complain(f"lsdt: interrupted: {done}")
    return 130 if result.partial else 0


def _problem(options: argparse.Namespace) -> UniformProblem:
    from lsdt import problems

    names = ("n_arms", "low", "high", "epsilon", "rewards", "p_similar", "p_dissimilar", "fixed")
    return problems.uniform(**{name: getattr(options, name) for name in names})


def _simulate(
    options: argparse.Namespace, problem: UniformProblem, policies: list[Policy]
) -> SimulationResult:
    from lsdt.simulation import simulate

    if options.horizons and options.horizon is not None:
        raise InvalidInput("give either --horizon or --horizons, not both")
    horizon = None if options.horizons else (1000 if options.horizon is None else options.horizon)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="interrupted")  # reported at the end
        return simulate(
            problem,
            policies,
            horizon,
            options.replications,
            options.seed,
            options.n_jobs,
            horizons=options.horizons,
            plays=options.n_arms * options.replications * len(policies) <= _MOST_PLAYS,
        )


def _check_options(options: argparse.Namespace) -> None:
    """Check the sizes and create the folder before the work."""
    from lsdt._validation import checked_jobs, checked_replications

    checked_replications(options.replications)
    checked_jobs(options.n_jobs)
    if options.out is not None:
        if not options.out or (Path(options.out).exists() and not Path(options.out).is_dir()):
            raise InvalidFile(f"--out is the name of a folder, but {options.out!r} is none")
        Path(options.out).mkdir(parents=True, exist_ok=True)


def _list_policies(as_json: bool) -> None:
    from lsdt.policies import available, specification_of

    declared = [specification_of(name) for name in available()]
    if as_json:
        print(json.dumps([_policy_as_json(policy) for policy in declared], indent=2))
        return
    for policy in declared:
        print(f"{policy.name:<12} {policy.title}: {policy.rule}")
        print(f"{'':<12} {policy.reference}; {policy.cost} per round")
        if policy.needs:
            print(f"{'':<12} needs: {', '.join(sorted(policy.needs))}")
        for parameter in policy.parameters:
            default = "" if parameter.default is None else f" (default {parameter.default})"
            print(f"{'':<12}   {parameter.name}: {parameter.accepted}{default}; {parameter.meaning}")


def _policy_as_json(policy: Any) -> dict[str, Any]:
    plain = {key: getattr(policy, key) for key in ("name", "title", "rule", "reference", "cost")}
    parameters = [
        {"name": each.name, "default": each.default, "accepted": each.accepted, "meaning": each.meaning}
        for each in policy.parameters
    ]
    return {**plain, "needs": sorted(policy.needs), "parameters": parameters}


def _write(result: SimulationResult, folder: Path) -> str:
    """Write the result and return the name of its picture, with a comma, if it could be drawn."""
    from lsdt.plotting import plot_regret, save

    result.save(folder)
    write_table(_table(result), folder / "table.csv")
    try:
        save(plot_regret(result), folder / "regret.svg")
    except MissingDependency as missing:
        complain(f"lsdt: regret.svg is left out: {missing}")
        return ""
    return "regret.svg, "


def _table(result: SimulationResult) -> pd.DataFrame:
    """Return a table with one row per policy, and per horizon if there are several."""
    import pandas as pd

    rounds = result.checkpoints.tolist() if result.per_horizon else [result.horizon]
    frames = [result.summary(t).reset_index().assign(t=t) for t in rounds]
    return pd.concat(frames, ignore_index=True)


def _as_json(result: SimulationResult) -> dict[str, Any]:
    rows = _table(result).to_dict(orient="records")
    described = dict(zip(result.policies, result.described, strict=True))
    return {
        "problem": result.problem,
        "horizon": result.horizon,
        "replications": result.replications,
        "partial": result.partial,
        "seed": result.seed,
        "policies": [
            {
                **_without_nan(row),
                "parameters": described[row["policy"]]["parameters"],
                "on": described[row["policy"]]["on"],
            }
            for row in rows
        ],
    }


def _without_nan(row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value != value else value for key, value in row.items()}


def _print(result: SimulationResult) -> None:
    from lsdt.plotting import problem_text

    print(f"problem     {problem_text(result)}")
    runs = counted(result.replications, "replication")
    print(f"study       {runs} of {counted(result.horizon, 'round')}, seed {result.seed}")
    for t in result.checkpoints.tolist() if result.per_horizon else [result.horizon]:
        _print_table(result, t)


def _print_table(result: SimulationResult, t: int) -> None:
    from lsdt.plotting import legend_text

    table = result.summary(t).sort_values("regret")
    names = [legend_text(result, label) for label in table.index]
    width = max(map(len, [f"policy at T = {t:,}", *names]))
    at = f" at T = {t:,}" if result.per_horizon else ""
    print(f"\n{'policy' + at:<{width}}  {'regret':>9}  {'95% interval':>19}  {'per run':>10}")
    for name, row in zip(names, table.itertuples(), strict=True):
        interval = f"{row.low:.1f} to {row.high:.1f}" if row.low == row.low else "-"
        milliseconds = row.offline_ms + row.online_ms
        print(f"{name:<{width}}  {row.regret:>9.1f}  {interval:>19}  {milliseconds:>7.2f} ms")
