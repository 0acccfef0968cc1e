"""Rivals from papers on graph bandits, in their settings and ours: regret, and tries to know the best arm.

GRUB (Thaker, Malu, Rao and Dasarathy, 2022) plays on graphs of similar pairs, in clusters that are cliques,
blocks, or grown by preferential attachment. It is told the true norm of the means, 0, as in its authors'
code. Its oracle factor is the smallest of .3, .35, .4, .5 and 1 with which none of 200 runs on cliques failed
(seed 1). C-UCB and D-UCB (Qi, Guo and Zhu, 2024) see the rewards of all arms similar to the one they play.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.identification import Grub, identify_many
from lsdt.plotting import Dot, draw_dots
from lsdt.reproduce.beyond.contests.results import not_behind
from lsdt.reproduce.beyond.graphs.clusters import GRAPHS, ClusterProblem
from lsdt.reproduce.beyond.graphs.settings import ARENAS, OURS
from lsdt.reproduce.beyond.graphs.side_observations_kernel import regret_of
from lsdt.reproduce.framework.claims import Claim, at_most, mean_of, ratio_of, share_of
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment
from lsdt.reproduce.framework.sampling import rows_at, simulate_part, values_at
from lsdt.reproduce.framework.wording import regret_comparison, with_interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.claims import Check
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_DEFAULT = OURS[0]
_DELTA = 0.05  # the default of `lsdt.identify`
_IDENTIFY, _PUBLISHED, _TIGHT, _ORACLE = "identify", "GRUB, published", "GRUB, tight", "GRUB, oracle factor"
_METHODS = {
    _IDENTIFY: "identify",
    _TIGHT: Grub(radius="tight", norm=0.0),
    _ORACLE: Grub(radius="tight", scale=0.4, norm=0.0),
    _PUBLISHED: Grub(norm=0.0),
}
_FEWER = 10  # times fewer runs of GRUB as published: each takes hundreds of thousands of tries
_SEES = "sees neighbours"  # how names of policies end that see rewards of other arms
# Limits of the claims, set after runs on other seeds.
_TRIES, _REGRET = 1 / 3, 1 / 2


def _setting(request: Request) -> Setting:
    names = ["cliques", "qi-bernoulli"] if request.quick else list(ARENAS)
    return {
        "studies": {name: {"arms": ARENAS[name].arms, "horizon": ARENAS[name].rounds} for name in names},
        "words": {name: ARENAS[name].words for name in names},
        "factors": {name: ARENAS[name].factors for name in names},
        "graphs": list(GRAPHS),
        "delta": _DELTA,
        "most_tries": 20_000 if request.quick else 1_000_000,
        "replications": min(request.replications, max(request.replications // 4, 2)),
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    regret, tries = [], []
    studies = setting["studies"]
    for place, name in enumerate(studies):
        part = work.stretch(0.8 * place / len(studies), 0.8 * (place + 1) / len(studies))
        regret += [frame.assign(arena=name) for frame in _play(name, setting, part)]
    for place, graph in enumerate(setting["graphs"]):
        tries += [frame.assign(graph=graph) for frame in _identify(graph, setting, work)]
        work.done(0.8 + 0.2 * (place + 1) / len(setting["graphs"]))
    return {
        "regret": pd.concat(regret, ignore_index=True),
        "tries": pd.concat(tries, ignore_index=True),
    }


def _play(name: str, setting: Setting, work: Work) -> list[pd.DataFrame]:
    """Return the regret of all policies in one setting, run by run."""
    import pandas as pd

    arena, study, runs = ARENAS[name], setting["studies"][name], setting["replications"]
    problem, rounds = arena.problem(study["arms"]), study["horizon"]
    words = setting["words"][name]
    result = simulate_part(
        problem,
        list(words.values()),
        work,
        horizon=rounds,
        replications=runs,
        checkpoints=[rounds],
        progress=work.done,
    )
    regret = {
        policy: result.regret(label)[:, -1] for policy, label in zip(words, result.policies, strict=True)
    }
    instances = [problem.draw(work.seed, run) for run in range(runs)] if setting["factors"][name] else []
    for rule, tuned in setting["factors"][name].items():
        for how, factor in {"published": 1.0, "tuned": tuned}.items():
            regret[f"{rule}, {how}, {_SEES}"] = np.array(
                [
                    regret_of(instance, rounds, rule == "C-UCB", factor, (work.seed, run))
                    for run, instance in enumerate(instances)
                ]
            )
    return [
        pd.DataFrame({"policy": policy, "run": np.arange(runs), "regret": values})
        for policy, values in regret.items()
    ]


def _identify(graph: str, setting: Setting, work: Work) -> list[pd.DataFrame]:
    """Return the tries of all methods on one graph, run by run."""
    runs, frames = setting["replications"], []
    for method, played in _METHODS.items():
        found = identify_many(
            ClusterProblem(graph),
            played,
            setting["delta"],
            replications=max(runs // _FEWER, 1) if method == _PUBLISHED else runs,
            budget=setting["most_tries"],
            seed=work.seed,
            progress=False,
        )
        frames.append(found.runs.assign(method=method))
    return frames


# ---------------------------------------------------------------- what is shown


def _regret(tables: Tables, arena: str) -> dict[str, NDArray[np.float64]]:
    """Return the regret of every policy in a setting, least first."""
    rows = rows_at(tables["regret"], arena=arena)
    found = {str(name): values_at(rows, "regret", policy=name) for name in rows["policy"].unique()}
    return dict(sorted(found.items(), key=lambda pair: float(pair[1].mean())))


def _arenas(tables: Tables) -> list[str]:
    return [str(name) for name in tables["regret"]["arena"].unique()]


def _best_other(tables: Tables, arena: str) -> str:
    """Return the policy with the least regret among those of others that see only their own rewards."""
    return next(name for name in _regret(tables, arena) if name not in OURS and not name.endswith(_SEES))


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for arena in _arenas(tables):
        for name, values in _regret(tables, arena).items():
            rows.append(("regret", ARENAS[arena].title, name, values))
    for (graph, method), group in tables["tries"].groupby(["graph", "method"], sort=False):
        rows.append(("tries", str(graph), str(method), group["tries"].to_numpy(np.float64)))
    return pd.DataFrame(
        {
            "of": of,
            "setting": where,
            "policy": who,
            **mean_of(values).columns("mean"),
            "95% of runs below": float(np.quantile(values, 0.95)),
            "worst run": float(values.max()),
            "runs": len(values),
        }
        for of, where, who, values in rows
    )


def _draw(tables: Tables) -> Figure:
    shown = _table(tables)
    dots = []
    for row in shown[shown["of"] == "regret"].itertuples():
        low, high = (row.low, row.high) if row.low == row.low else (row.mean, row.mean)
        value = max(row.mean, 0.1)  # the axis is logarithmic
        dots.append(Dot(row.policy, row.setting, value, max(low, 0.5 * value), max(high, value)))
    note = f"mean of {tables['regret']['run'].nunique():,} runs, with 95% intervals"
    return draw_dots(dots, "regret", "Rivals on graphs of similar arms", note, log=True)


def _tries(tables: Tables, graph: str, method: str) -> NDArray[np.float64]:
    return values_at(tables["tries"], "tries", graph=graph, method=method)


def _fewer_tries(tables: Tables, other: str, limit: float) -> tuple[Check, ...]:
    return tuple(
        at_most(
            f"tries over those of {other}, {graph}",
            ratio_of(_tries(tables, graph, _IDENTIFY), _tries(tables, graph, other)),
            limit,
        )
        for graph in tables["tries"]["graph"].unique()
    )


def _claims(tables: Tables) -> list[Claim]:
    ours = rows_at(tables["tries"], method=_IDENTIFY)
    lowest, seeing = [], []
    for arena in _arenas(tables):
        regret, other = _regret(tables, arena), _best_other(tables, arena)
        behind = mean_of(regret[_DEFAULT] - regret[other])
        lowest.append(not_behind(f"regret minus that of {other}, {ARENAS[arena].title}", behind))
        for name in (name for name in regret if name.endswith(_SEES)):
            ratio = ratio_of(regret[_DEFAULT], regret[name])
            seeing.append(at_most(f"regret over that of {name}, {ARENAS[arena].title}", ratio, _REGRET))
    return [
        Claim(
            "graphs-identify-errors",
            "On GRUB's graphs identify names an arm beyond the tolerance in a share of at most delta of the "
            "runs.",
            BEYOND_THE_PAPER,
            (at_most("errors on all graphs", share_of(ours["wrong"]), _DELTA),),
        ),
        Claim(
            "graphs-identify-tight",
            "On GRUB's graphs identify takes at most a third of the tries of GRUB with the tight radius.",
            BEYOND_THE_PAPER,
            _fewer_tries(tables, _TIGHT, _TRIES),
        ),
        Claim(
            "graphs-identify-oracle",
            "On GRUB's graphs identify takes at most the tries of GRUB with a factor chosen in hindsight.",
            BEYOND_THE_PAPER,
            _fewer_tries(tables, _ORACLE, 1.0),
        ),
        Claim(
            "graphs-side-observations",
            f"In Qi's settings {_DEFAULT} has at most half of the regret of C-UCB and D-UCB, published or "
            "tuned, which see more rewards.",
            BEYOND_THE_PAPER,
            tuple(seeing),
        ),
        Claim(
            "graphs-lowest",
            "No rival that sees only the rewards of the arms it plays, tuned or not, has clearly less regret "
            f"than {_DEFAULT}.",
            BEYOND_THE_PAPER,
            tuple(lowest),
        ),
    ]


def _discussion(tables: Tables) -> str:
    said = []
    for arena in _arenas(tables):
        regret, other = _regret(tables, arena), _best_other(tables, arena)
        mean = with_interval(mean_of(regret[_DEFAULT]))
        compared = regret_comparison(_DEFAULT, other, regret[_DEFAULT], regret[other])
        said.append(f"{ARENAS[arena].title}: {_DEFAULT} has a regret of {mean}; {compared}.")
    for graph in tables["tries"]["graph"].unique():
        means = [f"{method} {with_interval(mean_of(_tries(tables, graph, method)))}" for method in _METHODS]
        said.append(f"Tries on {graph}: {', '.join(means)}.")
    return " ".join(said)


EXPERIMENT = Experiment(
    id="beyond-graphs",
    title="Rivals on graphs of similar arms",
    paper=BEYOND_THE_PAPER,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=110.0,
)
