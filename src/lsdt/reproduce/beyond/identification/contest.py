"""How many tries it takes to know the best arm, with relations and without, and how often that is wrong.

Ours is the policy ``'identify'`` with the rule of `Agent.stopping`. The others do not know the relations;
they play on all arms, and on the arms that propagation leaves.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import ContradictionWarning
from lsdt.kernel.drivers import Ledger, Setting
from lsdt.kernel.random import Purpose, new_stream
from lsdt.plotting.panels import Dot, draw_dots
from lsdt.policies.offline import offline_step
from lsdt.policies.policy import Policy
from lsdt.reproduce.beyond.identification.arenas import ARENAS
from lsdt.reproduce.beyond.identification.baselines import RULES, play
from lsdt.reproduce.framework.claims import Claim, at_most, mean_of, number, ratio_of, share_of
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.plotting.style import Figure
    from lsdt.problems.problems import Instance
    from lsdt.reproduce.beyond.identification.arenas import Arena
    from lsdt.reproduce.framework.experiment import Request, Tables, Work
    from lsdt.reproduce.framework.experiment import Setting as PartSetting

OURS, UNRELATED = "identify", "identify without relations, on candidates"
_DELTA = 0.05
_MORE = 5  # times as many runs of ours where they are cheap
_MOST_TRIES = 1_000_000
_ROUNDING = 1e-9


class Draw(NamedTuple):
    """The problem of one run, and the arms that may be the best; none where relations contradict."""

    instance: Instance
    found: CandidateSet | None


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
    for number_, name in enumerate(arenas):
        frames.append(_play_arena(name, ARENAS[name], setting, work).assign(arena=name))
        work.done((number_ + 1) / len(arenas))
    return {"tries": pd.concat(frames, ignore_index=True)}


def _play_arena(name: str, arena: Arena, setting: PartSetting, work: Work) -> pd.DataFrame:
    import pandas as pd

    runs, most, delta = setting["replications"], setting["most_tries"], setting["delta"]
    more = setting["replications_of_cheap"] if arena.is_cheap else runs
    problem = arena.problem()
    rows: list[dict[str, Any]] = []
    drawn: list[Draw] = []
    for run in range(max(runs, more)):
        each = _draw(problem.draw(work.seed, run))
        if run < runs:
            drawn.append(each)
        if each.found is None:
            rows.append({"method": OURS, "run": run, "tries": math.nan, "gap": math.nan, "noticed": True})
        else:
            tries, gap = identified(each, arena.tolerance, delta, most, (work.seed, run))
            rows.append({"method": OURS, "run": run, "tries": tries, "gap": gap, "noticed": False})
    if arena.is_wrong:
        return pd.DataFrame(rows)
    for run, each in enumerate(drawn):
        alone = _without_relations(each)
        tries, gap = identified(alone, arena.tolerance, delta, most, (work.seed, run))
        rows.append({"method": UNRELATED, "run": run, "tries": tries, "gap": gap, "noticed": False})
    for on in ("all arms", "candidates"):
        rows += _play_others(drawn, on, arena, setting, (work.seed, list(ARENAS).index(name)))
    return pd.DataFrame(rows)


def _draw(instance: Instance) -> Draw:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)  # counted
        found = offline_step(instance.side, "propagation")
    assert found is not None
    return Draw(instance, None if found.conflict is not None else found)


def _without_relations(draw: Draw) -> Draw:
    """Return the candidates of a problem as arms of which nothing is known."""
    assert draw.found is not None
    means = np.asarray(draw.instance.means)[draw.found.arms]
    side = SideInformation(len(means))
    found = offline_step(side, "propagation")
    return Draw(draw.instance._replace(means=means, side=side), found)


def identified(
    draw: Draw, tolerance: float, delta: float, most: int, key: tuple[int, int]
) -> tuple[int, float]:
    """Play ``'identify'`` until the arm is known; return the tries, and how far below the best it lies."""
    instance = draw.instance
    means, law = np.array(instance.means, np.float64), instance.rewards
    begun = Policy("identify", tolerance=tolerance).begin(
        instance.side, law.model, None, new_stream(*key, Purpose.POLICY), draw.found
    )
    player, gaps = begun.player, means.max() - means
    ledger = Ledger(
        new_stream(*key, Purpose.REWARD),
        np.zeros(2, np.int64),
        np.zeros(2),
        np.array([most + 1]),
        np.zeros(1),
        np.zeros(1),
        np.zeros(0, np.int64),
    )
    assert law.law is not None
    world = Setting(begun.arms, means, gaps, law.law, law.scale, law.shape)
    state, goal = player.state, math.log(1.0 / delta)
    tries = 0
    while tries < most:
        player.entries.play(*player.packed, world, ledger, 1)  # notes the evidence before its reward
        if state.evidence[0] >= goal:
            break
        tries += 1
    return tries, float(gaps[begun.arms[state.leader[0]]])


def _play_others(
    drawn: list[Draw], on: str, arena: Arena, setting: PartSetting, key: tuple[int, int]
) -> list[dict[str, Any]]:
    """Play all that know no relations, on all arms or on the candidates."""
    arms = []
    for draw in drawn:
        assert draw.found is not None
        means = np.asarray(draw.instance.means)
        arms.append(means if on == "all arms" else means[draw.found.arms])
    best = np.array([draw.instance.means.max() for draw in drawn])
    table = np.full((len(arms), max(map(len, arms))), np.nan)
    for row, means in zip(table, arms, strict=True):
        row[: len(means)] = means
    law = drawn[0].instance.rewards
    rows: list[dict[str, Any]] = []
    for number_, (name, rule) in enumerate(RULES.items()):
        outcome = play(
            rule,
            table,
            law.family,
            law.sigma,
            arena.tolerance,
            setting["delta"],
            setting["most_tries"],
            (*key, number_, on == "candidates"),
        )
        gap = best - table[np.arange(len(table)), outcome.named]
        rows += [
            {"method": f"{name}, {on}", "run": run, "tries": each, "gap": below, "noticed": False}
            for run, (each, below) in enumerate(zip(outcome.tries.tolist(), gap.tolist(), strict=True))
        ]
    return rows


# ---------------------------------------------------------------- what is shown


def _of(tables: Tables, arena: str, method: str) -> pd.DataFrame:
    table = tables["tries"]
    return table[(table["arena"] == arena) & (table["method"] == method)]


def _wrong(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which of the runs that named an arm named one that is not good enough."""
    tolerance = rows["arena"].map({name: arena.tolerance for name, arena in ARENAS.items()})
    named = rows["gap"].notna()
    wrong: NDArray[np.bool_] = (rows["gap"] > tolerance * (1.0 + _ROUNDING))[named].to_numpy(bool)
    return wrong


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for (arena, method), group in tables["tries"].groupby(["arena", "method"], sort=False, observed=True):
        tries = group["tries"].dropna().to_numpy(np.float64)
        if not len(tries):  # contradictions were noticed in every run
            tries = np.full(1, np.nan)
        mean, wrong = mean_of(tries), _wrong(group)
        rows.append(
            {
                "setting": ARENAS[str(arena)].title,
                "method": method,
                "tries": mean.value,
                "low": mean.low,
                "high": mean.high,
                "median": float(np.median(tries)),
                "95% of runs below": float(np.quantile(tries, 0.95)),
                "errors": int(wrong.sum()),
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
    title = "Tries until an arm is known to be within the tolerance of the best, delta 0.05"
    note = f"mean of {tables['tries']['run'].nunique():,} runs at most, with 95% intervals"
    return draw_dots(dots, "tries", title, note, log=True, line_after=UNRELATED)


def _arenas(tables: Tables) -> list[str]:
    return [str(name) for name in tables["tries"]["arena"].unique()]


def _best_other(tables: Tables, arena: str) -> str:
    """Return the method without relations that takes the fewest tries there."""
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
            "An arm that is named as known is within the tolerance of the best, but for a share of delta.",
            "beyond the paper",
            errors,
        ),
        Claim(
            "identify-few-tries",
            "With complete information, and with half of the relations, it takes at most a tenth of the "
            "tries of the best way that knows no relations.",
            "beyond the paper",
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
        + ". Where relations are wrong, nothing is promised: the share of errors says what the "
        "rule is worth there."
    )


EXPERIMENT = Experiment(
    id="beyond-identify",
    title="Which arm is the best, and when that is known",
    paper="beyond the paper",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw_figure,
    claims=_claims,
    discussion=_discussion,
    seconds=400.0,
)
