"""Features, past experiments and orders: how often they are wrong, and what they save.

Three tables. *regret*: click rates of products with embeddings, played by the policy that an agent chooses by
itself, with the honest constant and with one that is estimated from a pilot, by Thompson sampling without the
features, and by linear Thompson sampling on principal components. *truth*: worlds with known means, and
whether any relation is wrong and the best arm is lost. *sources*: candidates left and regret with past
experiments and with orders, against ignoring them.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.agent import Agent
from lsdt.candidates import candidate_set
from lsdt.errors import ContradictionWarning, InconsistentSideInformation, SideWarning
from lsdt.plotting import Dot, draw_dots
from lsdt.problems import given
from lsdt.reproduce.beyond.pairs.features_worlds import (
    WORLDS,
    clicks,
    embeddings,
    linear_sampling,
    weekly,
)
from lsdt.reproduce.framework.claims import (
    Claim,
    Estimate,
    at_most,
    below,
    exactly,
    mean_of,
    number,
    ratio_of,
)
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment
from lsdt.reproduce.framework.sampling import on_workers, rows_at
from lsdt.side_information import from_experiments, from_features, from_order, merge
from lsdt.simulation import simulate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work
    from lsdt.side_information import SideInformation

_SEED = 33  # part of every random key, so that no run repeats those used to choose constants
_RISK = 0.05
_CHANCE = 0.001  # of calling a level that holds exceeded
HONEST, ESTIMATED = "auto, honest constant", "auto, constant from a pilot"
BLIND, LINEAR = "ts without the features", "linear TS, 8 components"
WAYS = (HONEST, ESTIMATED, BLIND, LINEAR)
SOURCES = ("past experiments", "orders within groups")
_MOST_REGRET = 300.0  # the goal that was set for `auto` on the embeddings


def _setting(request: Request) -> Setting:
    few = request.quick
    return {
        "products": 40 if few else 500,
        "rounds": 300 if few else 20_000,
        "games": min(request.replications, 2 if few else 20),  # half a minute each
        "pilot": {"share": 0.8 if few else 0.5, "trials": 2_000},
        "worlds": list(WORLDS),
        "draws": 4 if few else min(3 * request.replications, 300),
        "world_arms": 40 if few else 100,
        "source_arms": 20 if few else 60,
        "source_rounds": 200 if few else 5_000,
        "source_runs": min(request.replications, 2 if few else 20),
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    games = [(setting, work.seed, run) for run in range(setting["games"])]
    draws = [
        (setting, work.seed, world, run) for world in setting["worlds"] for run in range(setting["draws"])
    ]
    sources = [(setting, work.seed, name, run) for name in SOURCES for run in range(setting["source_runs"])]
    return {
        "regret": pd.DataFrame(on_workers(_play_embeddings, games, work.stretch(0.0, 0.7)))
        .explode(["way", "regret"], ignore_index=True)
        .astype({"regret": float}),
        "truth": pd.DataFrame(on_workers(_check_truth, draws, work.stretch(0.7, 0.85))),
        "sources": pd.DataFrame(on_workers(_play_source, sources, work.stretch(0.85, 1.0))),
    }


def _auto(side: SideInformation) -> Any:
    """Return the policy that an agent chooses by itself."""
    return Agent(side, rewards="bernoulli").policy


def _regret(
    means: NDArray[np.float64], side: SideInformation | None, policy: Any, horizon: int, seed: int
) -> float:
    problem = given(means, side, rewards="bernoulli")
    result = simulate(problem, [policy], horizon=horizon, replications=1, seed=seed, n_jobs=1)
    return float(result.regret(result.policies[0])[0, -1])


def _play_embeddings(setting: Setting, seed: int, run: int) -> dict[str, Any]:
    """Play one draw of the embeddings in every way."""
    key, rounds = [seed, run, _SEED], setting["rounds"]
    world = embeddings(np.random.default_rng([*key, 0]), setting["products"])
    rng = np.random.default_rng([*key, 1])
    n_arms, pilot = len(world.means), setting["pilot"]
    some = np.sort(rng.choice(n_arms, int(pilot["share"] * n_arms), replace=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SideWarning)
        guessed = from_features(
            world.points, pilot=clicks(rng, world.means, some, pilot["trials"]), risk=_RISK
        )
    honest = from_features(world.points, world.steepest)
    regrets = [_regret(world.means, side, _auto(side), rounds, run) for side in (honest, guessed)]
    regrets.append(_regret(world.means, None, "ts", rounds, run))
    regrets.append(linear_sampling(world, rounds, np.random.default_rng([*key, 2])))
    return {"run": run, "way": list(WAYS), "regret": regrets}


def _is_wrong(side: SideInformation, means: NDArray[np.float64]) -> bool:
    known = side.ranges
    assert known is not None
    apart = means[known.pairs[:, 0]] - means[known.pairs[:, 1]]
    return bool(((apart < known.low) | (apart > known.high)).any())


def _left(side: SideInformation) -> set[Any]:
    """Return the arms that may be the best, by label."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)
        found = candidate_set(side)
    return {side.label(int(arm)) for arm in found.arms}


def _check_truth(setting: Setting, seed: int, world: str, run: int) -> dict[str, Any]:
    """Draw a world, and compare what features, experiments and both say with the truth."""
    key = [seed, run, list(WORLDS).index(world), _SEED, 3]
    rng = np.random.default_rng(key)
    truth = WORLDS[world](rng, setting["world_arms"])
    n_arms, best = len(truth.means), int(truth.means.argmax())
    names = [f"arm {arm}" for arm in range(n_arms)]
    some = np.sort(rng.choice(n_arms, int(0.6 * n_arms), replace=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SideWarning)
        features = from_features(
            truth.points, pilot=clicks(rng, truth.means, some, 2_000, names), risk=_RISK, arm_ids=names
        )
    past = from_experiments(weekly(rng, truth.means, 4, 2_000, names), confidence=1.0 - _RISK)
    place = np.array([names.index(str(past.label(arm))) for arm in range(past.n_arms)])
    try:
        both = _left(merge([features, past]))
    except InconsistentSideInformation:  # which proves one wrong, and loses no arm
        both = set(names)
    return {
        "world": world,
        "run": run,
        "features wrong": _is_wrong(features, truth.means),
        "experiments wrong": _is_wrong(past, truth.means[place]),
        "best lost, experiments": best in place and names[best] not in _left(past),
        "best lost, both": names[best] not in both,
        "left, experiments": len(_left(past)) + n_arms - past.n_arms,
        "left, both": len(both),
    }


def _play_source(setting: Setting, seed: int, source: str, run: int) -> dict[str, Any]:
    """Play with and without what a source says."""
    rng = np.random.default_rng([seed, run, SOURCES.index(source), _SEED, 4])
    n_arms = setting["source_arms"]
    means = np.asarray(rng.uniform(0.02, 0.08, n_arms))
    if source == SOURCES[0]:
        side = from_experiments(clicks(rng, means, np.arange(n_arms), 500))
    else:
        group = np.arange(n_arms) // 5  # five sizes of each product, the larger the better
        steps = np.sort(rng.random((n_arms // 5, 5))).ravel()
        means = np.asarray(rng.uniform(0.02, 0.07, n_arms // 5)[group] + 0.01 * steps)
        sizes = {arm: float(arm % 5) for arm in range(n_arms)}
        side = from_order(sizes, within={arm: int(group[arm]) for arm in range(n_arms)})
    rounds = setting["source_rounds"]
    return {
        "source": source,
        "run": run,
        "left": len(_left(side)),
        "arms": n_arms,
        "lost": int(means.argmax()) not in _left(side),
        "regret": _regret(means, side, _auto(side), rounds, run),
        "regret without": _regret(means, None, "ts", rounds, run),
    }


# ---------------------------------------------------------------- what is shown


def _of(tables: Tables, way: str) -> pd.Series[float]:
    return rows_at(tables["regret"], way=way)["regret"]


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for way in WAYS:
        values = _of(tables, way)
        rows.append({"what": f"embeddings: {way}", **mean_of(values).columns("regret"), "runs": len(values)})
    for name, group in tables["sources"].groupby("source", sort=False, observed=True):
        left = f"{group['left'].mean():.1f} of {group['arms'].iloc[0]} arms left"
        for column, what in (("regret", f"auto, {left}"), ("regret without", "ts without them")):
            rows.append(
                {"what": f"{name}: {what}", **mean_of(group[column]).columns("regret"), "runs": len(group)}
            )
    shares = ["features wrong", "experiments wrong", "best lost, experiments", "best lost, both"]
    for world, group in tables["truth"].groupby("world", sort=False, observed=True):
        text = ", ".join(f"{column} {group[column].mean():.3f}" for column in shares)
        left = " and ".join(f"{group[f'left, {which}'].mean():.0f}" for which in ("experiments", "both"))
        rows.append({"what": f"truth, {world}: {text}; arms left {left}", "runs": len(group)})
    return pd.DataFrame(rows)


def _draw(tables: Tables) -> Figure:
    dots = []
    for way in WAYS:
        estimate = mean_of(_of(tables, way))
        dots.append(Dot(way, "embeddings", estimate.value, *Estimate(*estimate).ends))
    return draw_dots(
        dots,
        "regret",
        "What features save",
        f"mean of {tables['regret']['run'].nunique():,} draws of embeddings, with 95% intervals",
    )


def _claims(tables: Tables) -> list[Claim]:
    from scipy.stats import binom

    truth, sources = tables["truth"], tables["sources"]
    wrong, lost = [], []
    for world, group in truth.groupby("world", sort=False, observed=True):
        n = len(group)
        # As many as the level allows, but for one in a thousand.
        limits = [float(binom.isf(_CHANCE, n, risk)) / n for risk in (_RISK, 2 * _RISK)]
        for column in ("features wrong", "experiments wrong"):
            wrong.append(at_most(f"{column}, {world}", exactly(group[column].mean()), limits[0]))
        one, both = "best lost, experiments", "best lost, both"
        lost.append(at_most(f"{one}, {world}", exactly(group[one].mean()), limits[0]))
        lost.append(at_most(f"{both}, {world}", exactly(group[both].mean()), limits[1]))
    saved = []
    for name, group in sources.groupby("source", sort=False, observed=True):
        ratio = ratio_of(group["regret"], group["regret without"])
        saved.append(below(f"regret over that without {name}", ratio, 1.0))
    return [
        Claim(
            "pairs-features-regret",
            "On the embeddings, the policy that an agent chooses by itself has a regret of at most 300 after "
            "20,000 rounds, with the honest constant.",
            BEYOND_THE_PAPER,
            (at_most("regret", mean_of(_of(tables, HONEST)), _MOST_REGRET),),
        ),
        Claim(
            "pairs-features-linear",
            "It is ahead of linear Thompson sampling on 8 principal components.",
            BEYOND_THE_PAPER,
            (
                below(
                    "regret over that of linear TS", ratio_of(_of(tables, HONEST), _of(tables, LINEAR)), 1.0
                ),
            ),
        ),
        Claim(
            "pairs-features-estimated",
            "With the constant estimated from a pilot it is ahead of Thompson sampling without the features.",
            BEYOND_THE_PAPER,
            (below("regret over that of ts", ratio_of(_of(tables, ESTIMATED), _of(tables, BLIND)), 1.0),),
        ),
        Claim(
            "pairs-features-level",
            "Features with an estimated constant, and past experiments, contain a wrong range no more often "
            "than they say.",
            BEYOND_THE_PAPER,
            tuple(wrong),
        ),
        Claim(
            "pairs-features-best-kept",
            "They lose the best arm no more often than they say, alone and merged.",
            BEYOND_THE_PAPER,
            tuple(lost),
        ),
        Claim(
            "pairs-sources-regret",
            "Past experiments and orders save regret.",
            BEYOND_THE_PAPER,
            tuple(saved),
        ),
    ]


def _discussion(tables: Tables) -> str:
    regrets = ", ".join(f"{number(_of(tables, way).mean())} ({way})" for way in WAYS)
    parts = []
    for name, group in tables["sources"].groupby("source", sort=False, observed=True):
        parts.append(
            f"{name}: {group['left'].mean():.1f} of {group['arms'].iloc[0]} arms left, regret "
            f"{number(group['regret'].mean())} instead of {number(group['regret without'].mean())}"
        )
    return (
        f"Regret on the embeddings: {regrets}. Linear Thompson sampling is told that means are nearly linear "
        f"in a few components, and here they are; ranges assume much less. {'; '.join(parts).capitalize()}."
    )


EXPERIMENT = Experiment(
    id="beyond-pairs-features",
    title="Pairs from features, past experiments and orders",
    paper=BEYOND_THE_PAPER,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=500.0,
)
