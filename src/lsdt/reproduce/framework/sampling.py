"""Simulations and draws of the paper's random problems, and tables of the results."""

from __future__ import annotations

import itertools
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.reproduce.framework.claims import below, mean_of
from lsdt.simulation import interval, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.plotting import Line
    from lsdt.problems import Problem
    from lsdt.reproduce.framework.claims import Check
    from lsdt.reproduce.framework.experiment import Work
    from lsdt.simulation import SimulationResult


def simulate_part(
    problem: Problem, policies: Any, work: Work, *, plays: bool = False, **study: Any
) -> SimulationResult:
    """Simulate for a part; Ctrl-C ends the part, since a report does not show partial studies."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="interrupted")  # the runner reports it
        result = simulate(problem, policies, seed=work.seed, n_jobs=work.n_jobs, plays=plays, **study)
    if result.partial:
        raise KeyboardInterrupt
    return result


_WORTH_PROCESSES = 10  # a rule of thumb: for fewer calls, starting processes takes longer than the calls


def regret_frame(result: SimulationResult) -> pd.DataFrame:
    """Return a table of the regret of every policy, run and checkpoint."""
    frame = result.to_frame().rename(columns={"replication": "run"})
    return frame[["policy", "run", "t", "regret"]]


@contextmanager
def growing_workers() -> Iterator[None]:
    """Let joblib replace worker processes in silence.

    A worker that loads Numba and compiles grows by some hundred megabytes after its first task. Where psutil
    is installed, joblib takes that for a leak, replaces the process, which costs nothing, and warns.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
        yield


def on_workers(call: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], work: Work) -> list[Any]:
    """Return ``call(*task)`` for all tasks, in order, computed in parallel processes.

    It is for parts whose runs are Python code, which threads would not speed up.
    """
    import joblib

    n_jobs = work.n_jobs if len(tasks) >= _WORTH_PROCESSES else 1
    parallel = joblib.Parallel(n_jobs, return_as="generator")
    results = []
    with growing_workers():
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


def summary_table(table: pd.DataFrame, by: Sequence[str], column: str) -> pd.DataFrame:
    """Return the mean of a column over runs with its 95% interval, for every combination of `by`."""
    import pandas as pd

    rows = []
    for key, group in table.groupby(list(by), sort=False, observed=True):
        mean, low, high = map(float, interval(group[column].to_numpy(np.float64)))
        rows.append({**dict(zip(by, key, strict=True)), column: mean, "low": low, "high": high})
    return pd.DataFrame(rows)


def line_of(table: pd.DataFrame, label: str, x: str, column: str, **look: Any) -> Line:
    """Return a line of the mean of a column by `x`, with its band."""
    from lsdt.plotting import Line

    rows = summary_table(table, [x], column)
    return Line(label, rows[x], rows[column], rows["low"], rows["high"], **look)


def rows_at(table: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """Return the rows whose columns have these values."""
    for key, value in where.items():
        table = table[table[key] == value]
    return table


def values_at(table: pd.DataFrame, column: str, **where: Any) -> NDArray[np.float64]:
    """Return a column of the rows that match, in the order of the runs."""
    rows = rows_at(table, **where).sort_values("run")
    values: NDArray[np.float64] = rows[column].to_numpy(np.float64)
    return values


def decrease_checks(
    table: pd.DataFrame, x: str, column: str, places: Sequence[float], what: str
) -> tuple[Check, ...]:
    """Check that the mean of a column falls from each of these values of x to the next, paired by run."""
    checks = []
    for before, after in itertools.pairwise(places):
        first, second = (values_at(table, column, **{x: place}) for place in (before, after))
        checks.append(below(f"{what} at {after:g} minus at {before:g}", mean_of(second - first), 0.0))
    return tuple(checks)


def note_on_runs(runs: Iterable[int]) -> str:
    """Return the note below a figure that explains its bands."""
    count = len(set(runs))
    if count == 1:
        return "one run: no intervals"
    return f"mean of {count:,} runs, bands: 95% intervals of the mean"
