"""Draws of the paper's random problems, and tables of the results."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.reproduce.framework.claims import below, difference_of, mean_of
from lsdt.simulation import simulate
from lsdt.simulation.result import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.plotting.panels import Line
    from lsdt.problems.problems import Problem
    from lsdt.reproduce.framework.claims import Check
    from lsdt.reproduce.framework.experiment import Work
    from lsdt.side_information import SideInformation
    from lsdt.simulation import SimulationResult


def simulate_part(problem: Problem, policies: Any, work: Work, **study: Any) -> SimulationResult:
    """Simulate for a part; Ctrl-C ends the part, since a report shows no partial study."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="interrupted")  # the runner reports it
        result = simulate(problem, policies, seed=work.seed, n_jobs=work.n_jobs, plays=False, **study)
    if result.partial:
        raise KeyboardInterrupt
    return result


_WORTH_PROCESSES = 10  # with fewer calls, starting processes takes longer than the calls


def on_workers(call: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], work: Work) -> list[Any]:
    """Return ``call(*task)`` for all tasks, in their order, computed in parallel processes.

    For parts whose runs are Python code, which threads would not speed up, rather than compiled code.
    """
    import joblib

    n_jobs = work.n_jobs if len(tasks) >= _WORTH_PROCESSES else 1
    parallel = joblib.Parallel(n_jobs, return_as="generator")
    results = []
    for result in parallel(joblib.delayed(call)(*task) for task in tasks):
        results.append(result)
        work.done(len(results) / len(tasks))
    return results


def uniform_means(n_arms: int, seed: int, run: int, fixed: bool) -> NDArray[np.float64]:
    """Return means uniform on (0, 1): new ones for every run, unless the draw is fixed."""
    return np.random.default_rng((seed, 0 if fixed else run)).random(n_arms)


def table_over_grid(
    grid: Sequence[float], runs: int, count: Callable[[float, int], dict[str, float]], x: str, work: Work
) -> pd.DataFrame:
    """Return one row per value of a grid and run, filled by ``count(value, run)``."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for number, value in enumerate(grid):
        rows.extend({x: value, "run": run, **count(value, run)} for run in range(runs))
        work.done((number + 1) / len(grid))
    return pd.DataFrame(rows)


PROPAGATION_RUNS = 25  # it takes milliseconds where the triangle rule takes microseconds


def count_after_propagation(side: SideInformation, run: int, runs: int) -> float:
    """Return how many arms propagation leaves; NaN from run number `runs` on, where it is not computed."""
    return float(len(candidate_set(side, "propagation"))) if run < runs else math.nan


def summary_table(table: pd.DataFrame, by: Sequence[str], column: str) -> pd.DataFrame:
    """Return the mean of a column over runs with its 95% interval, for every combination of `by`."""
    import pandas as pd

    rows = []
    for key, group in table.groupby(list(by), sort=False, observed=True):
        mean, low, high = map(float, interval(group[column].to_numpy(np.float64)))
        rows.append({**dict(zip(by, key, strict=True)), column: mean, "low": low, "high": high})
    return pd.DataFrame(rows)


def line_of(table: pd.DataFrame, label: str, x: str, column: str, **look: Any) -> Line:
    """Return the mean of a column against x as a line with its band."""
    from lsdt.plotting.panels import Line

    rows = summary_table(table, [x], column)
    return Line(label, rows[x], rows[column], rows["low"], rows["high"], **look)


def values_at(table: pd.DataFrame, column: str, **where: Any) -> NDArray[np.float64]:
    """Return a column of the rows that match, in the order of the runs."""
    rows = table
    for key, value in where.items():
        rows = rows[rows[key] == value]
    values: NDArray[np.float64] = rows.sort_values("run")[column].to_numpy(np.float64)
    return values


def decrease_checks(
    table: pd.DataFrame, x: str, column: str, places: Sequence[float], what: str, paired: bool = False
) -> tuple[Check, ...]:
    """Check that the mean of a column falls from each of these values of x to the next."""
    checks = []
    for before, after in itertools.pairwise(places):
        first, second = (values_at(table, column, **{x: place}) for place in (before, after))
        change = mean_of(second - first) if paired else difference_of(second, first)
        checks.append(below(f"{what} at {after:g} minus at {before:g}", change, 0.0))
    return tuple(checks)


def note_on_runs(runs: Iterable[int]) -> str:
    """Return the note below a figure that explains its bands."""
    count = len(set(runs))
    if count == 1:
        return "one run: no intervals"
    return f"mean of {count:,} runs, bands: 95% intervals of the mean"
