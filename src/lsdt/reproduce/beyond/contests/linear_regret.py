"""Runs with linear regret among good policies: 10,000 rounds, complete and partial side information.

A run has *linear regret* if its second half costs at least 0.8 times as much as its first half, and at least
as much as losing a detectable gap in every round of that half. The detectable gap is the smallest at which T
/ 2 plays of each of two arms tell them apart, sqrt(2 sigma^2 log T / (T / 2)). Smaller losses may come from
arms that no policy can tell apart in that time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt.plotting import Dot, draw_dots
from lsdt.reproduce.beyond.contests.contest import available_words, contest_setting, play_contest
from lsdt.reproduce.beyond.contests.results import OURS, WORST, mean_dot
from lsdt.reproduce.framework.claims import Claim, always, mean_of, number, share_of
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment
from lsdt.reproduce.framework.sampling import note_on_runs, values_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.claims import Check
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_HORIZON = 10_000  # ten times the paper's: long enough to tell linear from logarithmic regret
_AS_BEFORE = 0.8  # fixed before any run; regret that grows as log T would have 0.08 here, linear regret 1
_POLICIES = {
    "complete": (
        *("lsdt_posterior", "soft_closure", "lsdt_closure"),
        *("lsdt_csi", "lsdt_csi:index=kl_ucb", "lsdt_csi:index=gaussian_ts"),
        *("ts_gaussian@paper", "imed@paper", "kl_ucb@paper", "ossb@paper"),
    ),
    "partial": (
        *("lsdt_posterior", "soft_closure", "lsdt_closure", "lsdt_psi"),
        *("ts@propagation", "imed@propagation", "kl_ucb@propagation", "moss@propagation", "ts@paper"),
    ),
}


def _setting(request: Request) -> Setting:
    studies = {
        "complete": contest_setting(
            request,
            revealed=1.0,
            rewards="gaussian",
            connected=True,
            horizon=_HORIZON,
            policies=available_words(_POLICIES["complete"]),
        ),
        "partial": contest_setting(
            request,
            revealed=0.5,
            rewards="bernoulli",
            horizon=_HORIZON,
            policies=available_words(_POLICIES["partial"]),
        ),
    }
    return {"studies": studies, "as_before": _AS_BEFORE}


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    found: dict[str, list[pd.DataFrame]] = {}
    count = len(setting["studies"])
    for place, (problem, study) in enumerate(setting["studies"].items()):
        tables = play_contest(study, work.stretch(place / count, (place + 1) / count))
        for name, table in tables.items():
            found.setdefault(name, []).append(table.assign(problem=problem))
    tables = {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}
    tables["runs"] = _halves(tables.pop("regret"), setting)
    return tables


def detectable_gap(rounds: int, sigma: float) -> float:
    """Return the smallest gap between two arms that half of the rounds on each can detect."""
    return sigma * math.sqrt(2.0 * math.log(rounds) / (rounds / 2))


def _halves(regret: pd.DataFrame, setting: Setting) -> pd.DataFrame:
    """Return, for every run, the regret of its first half and in total, and whether it is linear."""
    wide = regret.pivot(index=["problem", "policy", "run"], columns="t", values="regret")
    rounds = int(wide.columns.max())
    halves = wide[[rounds // 2, rounds]].reset_index()
    halves.columns = ["problem", "policy", "run", "first_half", "regret"]
    second = halves["regret"] - halves["first_half"]
    sigma = halves["problem"].map(lambda name: _sigma(setting["studies"][name]))
    size = detectable_gap(rounds, 1.0) * sigma * (rounds - rounds // 2)
    halves["linear"] = (second >= setting["as_before"] * halves["first_half"]) & (second >= size)
    return halves


def _sigma(study: Setting) -> float:
    return 1.0 if study["rewards"] == "gaussian" else 0.5


def _rows(tables: Tables) -> Iterator[tuple[str, str, NDArray[np.float64], NDArray[np.bool_]]]:
    """Yield problem, policy, regret and whether runs are linear; the least regret of a problem is first."""
    for problem in _POLICIES:
        runs = tables["runs"][tables["runs"]["problem"] == problem]
        means = runs.groupby("policy", observed=True)["regret"].mean().sort_values(kind="stable")
        for policy in means.index:
            linear = values_at(runs, "linear", policy=policy).astype(bool)
            yield problem, str(policy), values_at(runs, "regret", policy=policy), linear


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for problem, policy, regret, linear in _rows(tables):
        share = share_of(linear)
        rows.append(
            {
                "problem": problem,
                "policy": policy,
                **mean_of(regret).columns("regret"),
                "95% of runs below": float(np.quantile(regret, WORST)),
                "worst run": float(regret.max()),
                "linear runs": int(linear.sum()),
                "share at most": share.high,
            }
        )
    return pd.DataFrame(rows)


def _draw(tables: Tables) -> Figure:
    dots, log = [], all(regret.mean() > 0.0 for _, _, regret, _ in _rows(tables))
    for problem, policy, regret, _ in _rows(tables):
        row = f"{policy}, {problem}"
        dots.append(mean_dot(row, mean_of(regret), log))
        for group, size in (
            ("95% of the runs are below", np.quantile(regret, WORST)),
            ("worst run", regret.max()),
        ):
            dots.append(Dot(row, group, float(size), float(size), float(size)))
    first = [dot.row for dot in dots if dot.row.endswith(", complete")][-1]
    note = note_on_runs(tables["runs"]["run"])
    title = f"100 arms, {_HORIZON:,} rounds"
    return draw_dots(dots, "regret at the end", title, note, log=log, line_after=first)


def _ours(tables: Tables) -> dict[str, str]:
    """Return the name of our policy in each problem."""
    rows = tables["policies"]
    return dict(rows.loc[rows["word"] == OURS, ["problem", "policy"]].itertuples(index=False, name=None))


def _claims(tables: Tables) -> list[Claim]:
    ours = _ours(tables)
    checks: tuple[Check, ...] = tuple(
        always(f"runs of {policy} without linear regret, {problem} side information", ~linear)
        for problem, policy, _, linear in _rows(tables)
        if policy == ours.get(problem)
    )
    if not checks:
        return []
    text = (
        f"In {_HORIZON:,} rounds no run of LSDT-posterior has linear regret (read: none whose second half "
        f"costs {_AS_BEFORE:g} times the first or more, and as much as an arm that can be told from the "
        "best)."
    )
    return [Claim("posterior-no-lock-in", text, BEYOND_THE_PAPER, checks)]


def _discussion(tables: Tables) -> str:
    rounds = _HORIZON
    sizes = ", ".join(
        f"{number(detectable_gap(rounds, sigma) * rounds / 2)} for {problem} side information"
        for problem, sigma in (("complete", 1.0), ("partial", 0.5))
    )
    linear = [
        f"{policy} ({problem}) {int(runs.sum())} of {len(runs)}"
        for problem, policy, _, runs in _rows(tables)
        if runs.any()
    ]
    told = f"Runs with linear regret: {', '.join(linear)}." if linear else "No run has linear regret."
    least: dict[str, str] = {}
    for problem, policy, regret, _ in _rows(tables):
        least.setdefault(problem, f"{policy} with {number(regret.mean())} ({problem})")
    return (
        f"A run counts as linear if its second half costs at least {_AS_BEFORE:g} times as much as its "
        f"first, and at least {sizes}. {told} The least regret: {', '.join(least.values())}."
    )


EXPERIMENT = Experiment(
    id="beyond-long",
    title="Runs that keep losing: 10,000 rounds",
    paper=BEYOND_THE_PAPER,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=20.0,
)
