"""Results of a contest, as table, figure, text and claims: which policy has the least regret, by how much."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt.plotting import Dot, Panel, draw_standings
from lsdt.reproduce.framework.claims import (
    CONFIRMED,
    REFUTED,
    UNDECIDED,
    Check,
    Claim,
    Estimate,
    at_most,
    mean_of,
    number,
    ratio_of,
)
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER
from lsdt.reproduce.framework.sampling import line_of, note_on_runs
from lsdt.reproduce.framework.wording import CONTEST_COLOURS, regret_comparison, with_interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Tables

OURS = "lsdt_posterior"  # what `auto` takes
WORST = 0.95  # the quantile shown as the worst case: with 200 runs, ten are above it
_RARE = 0.99  # a second quantile, for the table only: with 200 runs, two are above it
_SHOWN = 10  # policies in the figure; more rows would not fit on a screen
_LINES = (
    *("lsdt_csi", "lsdt_psi", "ts", "ts@paper", "ts@propagation", "ckl_ucb"),
    *("lsdt_posterior", "soft_closure", "lsdt_closure"),
)
MEAN = "mean, 95% interval"
# Chosen by eye.
_CUT = 0.25  # share of the mean at which an interval is cut on a logarithmic axis
_LOG_FROM = 20.0  # times the least regret, beyond which a linear axis would hide the best


def name_of(tables: Tables, word: str) -> str | None:
    """Return the name of a policy in these tables, or None if it did not play."""
    rows = tables["policies"]
    found = rows.loc[rows["word"] == word, "policy"]
    return str(found.iloc[0]) if len(found) else None


def final_regret(tables: Tables) -> dict[str, NDArray[np.float64]]:
    """Return the final regret of every policy, run by run, in the order of the means."""
    table = tables["regret"]
    last = table[table["t"] == table["t"].max()].sort_values("run")
    found = {
        str(name): group["regret"].to_numpy(np.float64)
        for name, group in last.groupby("policy", observed=True)
    }
    return dict(sorted(found.items(), key=lambda pair: (pair[1].mean(), pair[0])))


def standings(tables: Tables) -> pd.DataFrame:
    """Return one row per policy, least regret first, with intervals, worst cases and the time per step."""
    import pandas as pd

    regret = final_regret(tables)
    winner = next(iter(regret.values()))
    steps = tables["times"].set_index("policy")["us_per_step"]
    rows = []
    for name, values in regret.items():
        behind = mean_of(values - winner)
        rows.append(
            {
                "policy": name,
                **mean_of(values).columns("regret"),
                "behind the first": behind.value,
                "behind, from": behind.low,
                "behind, to": behind.high,
                "95% of runs below": float(np.quantile(values, WORST)),
                "99% of runs below": float(np.quantile(values, _RARE)),
                "worst run": float(values.max()),
                "us per step": float(steps[name]),
            }
        )
    return pd.DataFrame(rows)


def draw_contest(tables: Tables, title: str) -> Figure:
    """Draw the ten best policies with intervals and worst cases, and the regret of some policies by round."""
    regret = final_regret(tables)
    lines = {name: word for word in _LINES if (name := name_of(tables, word)) is not None}
    first = list(regret)[:_SHOWN]
    shown = [*first, *(name for name in regret if name in lines and name not in first)]
    least, most = (regret[name].mean() for name in (shown[0], shown[-1]))
    log = bool(0.0 < _LOG_FROM * least < most)
    dots = []
    for name in shown:
        mean, worst = mean_of(regret[name]), float(np.quantile(regret[name], WORST))
        dots.append(mean_dot(name, mean, log))
        dots.append(Dot(name, "95% of the runs are below", worst, worst, worst))
    dots.sort(key=lambda dot: dot.group != MEAN)
    table = tables["regret"]
    curves = [
        line_of(table[table["policy"] == name], name, "t", "regret", colour=CONTEST_COLOURS[word])
        for name, word in lines.items()
    ]
    panel = Panel(curves, "round t", "mean regret", y_log=log, x_range=(0.0, float(table["t"].max())))
    rounds = int(table["t"].max())
    return draw_standings(
        dots, f"regret after {rounds:,} rounds", panel, title, note_on_runs(table["run"]), log=log
    )


def mean_dot(row: str, mean: Estimate, log: bool) -> Dot:
    """Return a mean with its interval; on a logarithmic axis an interval that reaches 0 is cut."""
    low, high = mean.ends
    return Dot(row, MEAN, mean.value, max(low, _CUT * mean.value) if log else low, high)


def not_behind(what: str, behind: Estimate) -> Check:
    """Check that the difference to the best other policy is not clearly above 0."""
    known = not math.isnan(behind.low)
    outcome = UNDECIDED if not known else REFUTED if behind.low > 0.0 else CONFIRMED
    return Check(what, behind, "below 0, or an interval that contains 0", outcome)


def _absent(what: str) -> Check:
    """Return an undecided check for a policy that did not play."""
    nothing = Estimate(math.nan, math.nan, math.nan)
    return Check(what, nothing, "in the contest", UNDECIDED, f"{OURS} did not take part")


def lowest_claim(tables: Tables, name: str, where: str) -> Claim:
    """Return the claim that our policy has the least regret, or is not clearly behind the best other one.

    The best other policy is chosen on the same runs, which favours it and makes the claim harder.
    """
    regret, ours = final_regret(tables), name_of(tables, OURS)
    if ours is None:
        check = _absent("regret behind the best of the others")
    else:
        other = next((each for each in regret if each != ours), ours)
        behind = mean_of(regret[ours] - regret[other])
        check = not_behind(f"regret of {ours} minus {other}, the best of the other {len(regret) - 1}", behind)
    text = f"{where}, LSDT-posterior has the least regret of all policies, or is not clearly behind the best."
    return Claim(name, text, BEYOND_THE_PAPER, (check,))


def ratio_claim(tables: Tables, name: str, where: str, other: str, limit: float) -> Claim:
    """Return the claim that our policy has at most this share of another's regret."""
    regret, ours, theirs = final_regret(tables), name_of(tables, OURS), name_of(tables, other)
    if ours is None or theirs is None:
        check = _absent("ratio of the regrets")
    else:
        ratio = ratio_of(regret[ours], regret[theirs])
        check = at_most(f"regret of {ours} over that of {theirs}", ratio, limit)
    told = f"{where}, the regret of LSDT-posterior is at most 1/{1 / limit:g} of that of {theirs or other}."
    return Claim(name, told, BEYOND_THE_PAPER, (check,))


def contest_discussion(tables: Tables) -> str:
    """Return a text on who wins, by how much, where our policy ranks, and which policies were left out."""
    regret, ours = final_regret(tables), name_of(tables, OURS)
    names = list(regret)
    first, *others = names
    order = ", ".join(f"{name} {with_interval(mean_of(regret[name]))}" for name in names[:5])
    said = [f"{len(names)} policies took part. Regret at the end, lowest first: {order}."]
    if others:
        said.append(f"{regret_comparison(first, others[0], regret[first], regret[others[0]])}.")
    if ours is not None and ours != first:
        behind = regret_comparison(ours, first, regret[ours], regret[first])
        said.append(f"{ours} is number {names.index(ours) + 1}; {behind}.")
    worst = min(regret, key=lambda name: float(np.quantile(regret[name], WORST)))
    size = number(float(np.quantile(regret[worst], WORST)))
    said.append(f"In bad runs {worst} does best: 95% of its runs are below {size}.")
    return " ".join([*said, *_absentees(tables)])


def _absentees(tables: Tables) -> list[str]:
    """Return a sentence on the policies that were left out, by reason; empty if there are none."""
    if "left_out" not in tables:
        return []
    reasons: dict[str, list[str]] = {}
    for row in tables["left_out"].itertuples():
        slow = "" if math.isnan(row.us_per_step) else f" {number(row.us_per_step)}"
        reasons.setdefault(str(row.reason), []).append(f"{row.policy}{slow}")
    return ["Left out: " + "; ".join(f"{', '.join(who)} ({why})" for why, who in reasons.items()) + "."]
