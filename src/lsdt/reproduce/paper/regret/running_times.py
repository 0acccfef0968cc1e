"""Code that the two tables of running times share: times on one worker, beside the paper's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.plotting.panels import Dot, draw_dots
from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import Estimate, below, mean_of
from lsdt.reproduce.framework.experiment import Work
from lsdt.reproduce.framework.wording import names_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from lsdt.plotting.style import Figure
    from lsdt.reproduce.framework.claims import Check
    from lsdt.reproduce.framework.experiment import Setting, Tables

MOST_RUNS = 100  # enough for a median time
PARTS = ("offline", "online")


def measure(setting: Setting, work: Work) -> Tables:
    """Return milliseconds per run and policy, measured on one worker."""
    import pandas as pd

    result = regret_figures.simulate_setting(setting, Work(work.seed, 1, work.done))
    names = names_of(setting, regret_figures.policies_of(setting), result)
    rows = []
    for label, name in names.items():
        offline, online = result.seconds(label)
        rows += [
            {
                "policy": name,
                "run": run,
                "offline": before,
                "online": rounds,
            }
            for run, before, rounds in zip(result.numbers, 1e3 * offline, 1e3 * online, strict=True)
        ]
    return {"milliseconds": pd.DataFrame(rows)}


def total(tables: Tables, policy: str, part: str | None = None) -> np.ndarray:
    """Return a policy's milliseconds, run by run: offline, online, or both if `part` is None."""
    rows = tables["milliseconds"]
    rows = rows[rows["policy"] == policy].sort_values("run")
    values: np.ndarray = (rows[part] if part else rows["offline"] + rows["online"]).to_numpy(np.float64)
    return values


def median_table(tables: Tables, paper: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Return the median milliseconds beside the paper's; NaN where the paper gives none."""
    import pandas as pd

    rows = []
    for policy, group in tables["milliseconds"].groupby("policy", sort=False, observed=True):
        said = paper.get(policy, {})
        rows.append(
            {
                "policy": policy,
                "offline (ms)": group["offline"].median(),
                "online (ms)": group["online"].median(),
                "paper offline (ms)": said.get("offline", np.nan),
                "paper online (ms)": said.get("online", np.nan),
            }
        )
    return pd.DataFrame(rows)


def draw(tables: Tables, paper: Mapping[str, Mapping[str, float]], title: str) -> Figure:
    """Draw measured times and the paper's on a logarithmic axis."""
    dots = []
    for policy, group in tables["milliseconds"].groupby("policy", sort=False, observed=True):
        for part in PARTS:
            if (group[part] > 0.0).all():  # a logarithmic axis cannot show 0
                low, middle, high = np.quantile(group[part], (0.1, 0.5, 0.9))
                dots.append(Dot(policy, f"{part}, measured", middle, low, high))
            if part in paper.get(policy, {}):
                said = paper[policy][part]
                dots.append(Dot(policy, f"{part}, paper (MATLAB)", said, said, said))
    dots.sort(key=lambda dot: ("paper" in dot.group, "online" in dot.group))
    note = (
        "median of the runs, whiskers from 10% to 90% of them; one worker, compilation left out; the paper's "
        "computer is not named"
    )
    return draw_dots(dots, "milliseconds per run of 1,000 rounds (logarithmic)", title, note, log=True)


def faster(tables: Tables, first: str, second: str, part: str | None = None) -> Check:
    """Check that a policy takes less time than another, run by run."""
    difference: Estimate = mean_of(total(tables, first, part) - total(tables, second, part))
    return below(f"{part or 'total'} ms of {first} minus {second}", difference, 0.0)
