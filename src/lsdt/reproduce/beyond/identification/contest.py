"""How many tries it takes to know the best arm, with relations and without, and how often that is wrong.

Ours is the policy ``'identify'`` with the rule of `Agent.stopping`. The others do not know the relations;
they play on all arms, and on the arms that propagation leaves.
"""

from __future__ import annotations

import math
import warnings
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import ContradictionWarning
from lsdt.identification import RULES, identified, play_rule
from lsdt.plotting import Dot, draw_dots
from lsdt.policies import offline_step
from lsdt.reproduce.beyond.identification.arenas import ARENAS
from lsdt.reproduce.framework.claims import Claim, at_most, mean_of, number, ratio_of, share_of
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment
from lsdt.reproduce.framework.sampling import on_workers, rows_at
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.problems import Instance
    from lsdt.reproduce.framework.experiment import Request, Setting as PartSetting, Tables, Work

OURS, UNRELATED = "identify", "identify without relations, on candidates"
_DELTA = 0.05  # the default of `lsdt.identify`
_MORE = 5  # times as many runs of ours if they are cheap: errors are rare, and few runs would not count them
_MOST_TRIES = 1_000_000  # a run that takes more is stopped, and counts with this many
_ROUNDING = 1e-9  # relative; a gap equal to the tolerance is no error


class Draw(NamedTuple):
    """The problem of one run, and its candidates; None if the relations contradict one another."""

    instance: Instance
    found: CandidateSet | None


class Played(NamedTuple):
    """The results of one run of ours, and the means of all arms and of candidates for the other methods."""

    rows: list[dict[str, Any]]
    means: dict[str, NDArray[np.float64]]


def _setting(request: Request) -> PartSetting:
    return {
        "arenas": list(ARENAS) if not request.quick else ["complete", "half", "wrong"],
        "delta": _DELTA,
        "tolerances": {name: arena.tolerance for name, arena in ARENAS.items()},
        "most_tries": _MOST_TRIES,
        "replications": request.replications,
        "replications_of_cheap": request.replications * (1 if request.quick else _MORE),
    }


def _compute(setting: PartSetting, work: Work) -> Tables:
    import pandas as pd

    frames, arenas = [], setting["arenas"]
    for place, name in enumerate(arenas):
        part = work.stretch(place / len(arenas), (place + 1) / len(arenas))
        frames.append(pd.DataFrame(_play_arena(name, setting, part)).assign(arena=name))
    return {"tries": pd.concat(frames, ignore_index=True)}


def _play_arena(name: str, setting: PartSetting, work: Work) -> list[dict[str, Any]]:
    """Play ours run by run, then every other rule on all runs at once."""
    arena, runs = ARENAS[name], setting["replications"]
    more = setting["replications_of_cheap"] if arena.is_cheap else runs
    tasks = [(name, setting, work.seed, run) for run in range(max(runs, more))]
    played: list[Played] = on_workers(_play_run, tasks, work.stretch(0.0, 0.5))
    rows = [
        row for method in (OURS, UNRELATED) for run in played for row in run.rows if row["method"] == method
    ]
    if arena.is_wrong:
        return rows
    tables = {on: _table_of([run.means[on] for run in played[:runs]]) for on in ("all arms", "candidates")}
    others = [(name, setting, work.seed, rule, on, tables) for on in arena.on for rule in RULES]
    return rows + list(chain.from_iterable(on_workers(_play_others, others, work.stretch(0.5, 1.0))))


def _play_run(name: str, setting: PartSetting, seed: int, run: int) -> Played:
    """Play one run of our method, with relations and without."""
    arena, key = ARENAS[name], (seed, run)
    draw = _draw(arena.problem().draw(*key))
    means = np.asarray(draw.instance.means)
    if draw.found is None:
        row = {"method": OURS, "run": run, "tries": math.nan, "gap": math.nan, "noticed": True}
        return Played([row], {"all arms": means})
    games = {OURS: draw}
    if run < setting["replications"] and not arena.is_wrong:
        games[UNRELATED] = _without_relations(draw)
    rows = []
    for method, each in games.items():
        assert each.found is not None
        most = setting["most_tries"]
        tries, gap, _ = identified(each.instance, each.found, arena.tolerance, setting["delta"], most, key)
        rows.append({"method": method, "run": run, "tries": tries, "gap": gap, "noticed": False})
    return Played(rows, {"all arms": means, "candidates": means[draw.found.arms]})


def _draw(instance: Instance) -> Draw:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)  # counted in the column `noticed`
        found = offline_step(instance.side, "propagation")
    assert found is not None
    return Draw(instance, None if found.conflict is not None else found)


def _without_relations(draw: Draw) -> Draw:
    """Return the problem restricted to its candidates, without any relations."""
    assert draw.found is not None
    means = np.asarray(draw.instance.means)[draw.found.arms]
    side = SideInformation(len(means))
    found = offline_step(side, "propagation")
    return Draw(draw.instance._replace(means=means, side=side), found)


def _table_of(means: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the means of many runs as rows, padded with NaN."""
    table = np.full((len(means), max(map(len, means))), np.nan)
    for row, each in zip(table, means, strict=True):
        row[: len(each)] = each
    return table


def _play_others(
    name: str, setting: PartSetting, seed: int, rule: str, on: str, tables: dict[str, NDArray[np.float64]]
) -> list[dict[str, Any]]:
    """Play a rule that uses no relations, on all arms or on the candidates."""
    arena, means = ARENAS[name], tables[on]
    law = arena.problem().rewards
    outcome = play_rule(
        RULES[rule],
        means,
        law.family,
        law.sigma,
        arena.tolerance,
        setting["delta"],
        setting["most_tries"],
        (seed, list(ARENAS).index(name), list(RULES).index(rule), on == "candidates"),
    )
    gaps = np.nanmax(tables["all arms"], axis=1) - means[np.arange(len(means)), outcome.named]
    return [
        {"method": f"{rule}, {on}", "run": run, "tries": tries, "gap": gap, "noticed": False}
        for run, (tries, gap) in enumerate(zip(outcome.tries.tolist(), gaps.tolist(), strict=True))
    ]


# ---------------------------------------------------------------- what is shown


def _of(tables: Tables, arena: str, method: str) -> pd.DataFrame:
    return rows_at(tables["tries"], arena=arena, method=method)


def _wrong(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Return, for the runs that named an arm, whether its gap exceeds the tolerance."""
    tolerance = rows["arena"].map({name: arena.tolerance for name, arena in ARENAS.items()})
    named = rows["gap"].notna() & (rows["tries"] < _MOST_TRIES)  # a run that is cut off names none
    wrong: NDArray[np.bool_] = (rows["gap"] > tolerance * (1.0 + _ROUNDING))[named].to_numpy(bool)
    return wrong


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for (arena, method), group in tables["tries"].groupby(["arena", "method"], sort=False, observed=True):
        tries = group["tries"].dropna().to_numpy(np.float64)
        if not len(tries):  # contradictions were noticed in every run
            tries = np.full(1, np.nan)
        rows.append(
            {
                "setting": ARENAS[str(arena)].title,
                "method": method,
                **mean_of(tries).columns("tries"),
                "median": float(np.median(tries)),
                "95% of runs below": float(np.quantile(tries, 0.95)),
                "cut off": int((tries >= _MOST_TRIES).sum()),
                "errors": int(_wrong(group).sum()),
                "runs": len(group),
                "noticed": int(group["noticed"].sum()),
            }
        )
    return pd.DataFrame(rows)


def _draw_figure(tables: Tables) -> Figure:
    shown = _table(tables)
    order = [OURS, UNRELATED, *(f"{name}, {on}" for name in RULES for on in ("candidates", "all arms"))]
    dots = []
    for method in order:
        for row in shown[(shown["method"] == method) & shown["tries"].notna()].itertuples():
            low = row.tries if math.isnan(row.low) else max(row.low, 0.25 * row.tries)
            high = row.tries if math.isnan(row.high) else row.high
            dots.append(Dot(method, row.setting, max(row.tries, 1.0), max(low, 1.0), max(high, 1.0)))
    title = "Tries until the best arm is known"
    runs = tables["tries"]["run"].nunique()
    note = f"mean of {runs:,} runs at most, with 95% intervals; within the tolerance, delta {_DELTA:g}"
    return draw_dots(dots, "tries", title, note, log=True, line_after=UNRELATED)


def _arenas(tables: Tables) -> list[str]:
    return [str(name) for name in tables["tries"]["arena"].unique()]


def _best_other(tables: Tables, arena: str) -> str:
    """Return the method without relations that takes the fewest tries in this setting."""
    table = tables["tries"]
    others = table[(table["arena"] == arena) & (table["method"] != OURS)]
    return str(others.groupby("method", observed=True)["tries"].mean().idxmin())


def _claims(tables: Tables) -> list[Claim]:
    right = [name for name in _arenas(tables) if not ARENAS[name].is_wrong]
    errors = tuple(
        at_most(f"errors, {ARENAS[name].title}", share_of(_wrong(_of(tables, name, OURS))), _DELTA)
        for name in right
    )
    ratios = []
    for name in ("complete", "half", "thousand"):
        if name in right:
            other = _best_other(tables, name)
            ours, theirs = _of(tables, name, OURS), _of(tables, name, other)
            paired = ours[ours["run"] < len(theirs)]
            ratio = ratio_of(paired["tries"], theirs["tries"])
            ratios.append(at_most(f"tries over those of {other}, {ARENAS[name].title}", ratio, 0.1))
    return [
        Claim(
            "identify-errors",
            "An arm that is named as known is within the tolerance of the best, except in a share of at most "
            "delta of the runs.",
            BEYOND_THE_PAPER,
            errors,
        ),
        Claim(
            "identify-few-tries",
            "With complete information, and with half of the relations, it takes at most a tenth of the "
            "tries of the best method that knows no relations.",
            BEYOND_THE_PAPER,
            tuple(ratios),
        ),
    ]


def _discussion(tables: Tables) -> str:
    said = []
    for name in _arenas(tables):
        ours = _of(tables, name, OURS)
        wrong, tries = _wrong(ours), ours["tries"].dropna()
        text = f"{ARENAS[name].title}: {number(tries.mean()) if len(tries) else 'no'} tries"
        if ARENAS[name].is_wrong:
            text += f", {int(ours['noticed'].sum()):,} of {len(ours):,} contradictions noticed"
        else:
            other = _best_other(tables, name)
            text += f" against {number(_of(tables, name, other)['tries'].mean())} ({other})"
        said.append(f"{text}; {int(wrong.sum()):,} errors in {len(wrong):,} runs")
    return (
        ". ".join(said)
        + ". If relations are wrong, nothing is guaranteed; the share of errors shows how well the rule "
        "then does."
    )


EXPERIMENT = Experiment(
    id="beyond-identify",
    title="Which arm is the best, and when that is known",
    paper=BEYOND_THE_PAPER,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw_figure,
    claims=_claims,
    discussion=_discussion,
    seconds=210.0,
)
