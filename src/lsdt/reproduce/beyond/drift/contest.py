"""Means change once: how long agents stay with the old arm, and what forgetting costs where nothing changes.

A policy plays as many rounds before the change as after it. Relations are those of the means before it. Where
all means are mirrored they all still hold, and the best arm is the worst. Where the best arm falls, or
another one rises above it, those of that arm stop to hold. Old arms are those within epsilon of the best
before the change that lie further below the best after it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt import problems
from lsdt.agent import Agent
from lsdt.plotting.panels import Dot, draw_dots
from lsdt.reproduce.framework.claims import Claim, at_most, mean_of, number, ratio_of, share_of
from lsdt.reproduce.framework.experiment import Experiment

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.plotting.style import Figure
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_EPSILON, _LOW, _HIGH = 0.1, 0.1, 0.9
_KNOWN = 0.5  # of the relations
_RISK = 0.05
_PRICE = 0.01  # a round, of forgetting where nothing changes
_LOOK = 25  # rounds between two looks at the test
_ARMS, _ROUNDS = 100, 1_000
_POLICIES = ("soft_closure", "lsdt_closure", "lsdt_watchful", "ts")
_UNRELATED = ("ts",)  # know no relations
_HALF_LIVES = (None, 800, 200)
STILL = "still"


class World(NamedTuple):
    """A way to change: a title, and the means after it from those before."""

    title: str
    change: Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _mirrored(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return _LOW + _HIGH - means


def _fallen(means: NDArray[np.float64]) -> NDArray[np.float64]:
    after = means.copy()
    after[means.argmax()] = _LOW
    return after


def _risen(means: NDArray[np.float64]) -> NDArray[np.float64]:
    after = means.copy()
    after[np.argsort(means)[len(means) // 2]] = min(means.max() + 1.5 * _EPSILON, 1.0)
    return after


WORLDS = {
    STILL: World("nothing changes", lambda means: means),
    "mirrored": World("all means mirrored", _mirrored),
    "fallen": World("the best arm falls", _fallen),
    "risen": World("another arm rises", _risen),
}


def _setting(request: Request) -> Setting:
    return {
        "worlds": [STILL, "mirrored"] if request.quick else list(WORLDS),
        "policies": list(_POLICIES),
        "half_lives": list(_HALF_LIVES),
        "arms": _ARMS,
        "horizon": _ROUNDS,
        "epsilon": _EPSILON,
        "known": _KNOWN,
        "risk": _RISK,
        "replications": request.replications,
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    problem = problems.uniform(
        n_arms=setting["arms"],
        low=_LOW,
        high=_HIGH,
        epsilon=setting["epsilon"],
        rewards="bernoulli",
        p_similar=setting["known"],
        p_dissimilar=setting["known"],
    )
    rows: list[dict[str, Any]] = []
    for run in range(setting["replications"]):
        instance = problem.draw(work.seed, run)
        means = np.asarray(instance.means, np.float64)
        for name in setting["worlds"]:
            after = WORLDS[name].change(means)
            for policy in setting["policies"]:
                for half_life in setting["half_lives"]:
                    agent = Agent(instance.side, policy, seed=run, forget=half_life)
                    played = _play(agent, means, after, setting, (work.seed, run))
                    rows.append({"world": name, "method": _method(policy, half_life), "run": run, **played})
        work.done((run + 1) / setting["replications"])
    return {"runs": pd.DataFrame(rows)}


def _method(policy: str, half_life: int | None) -> str:
    return policy if half_life is None else f"{policy}, half-life {half_life}"


def _play(
    agent: Agent,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    setting: Setting,
    key: tuple[int, int],
) -> dict[str, Any]:
    """Play through one change; say what it cost, and when the test noticed it."""
    rounds = setting["horizon"]
    coins, epsilon = np.random.default_rng(key).random(2 * rounds), setting["epsilon"]
    old = (before > before.max() - epsilon) & (after < after.max() - epsilon)
    changed = set(np.flatnonzero(before != after).tolist())
    regret, on_old, noticed, false_alarm = [0.0, 0.0], 0, math.nan, False
    for part, means in enumerate((before, after)):
        best = means.max()
        for number_ in range(rounds):
            decision = agent.ask()
            agent.tell(decision, float(coins[part * rounds + number_] < means[decision.arm]))
            regret[part] += best - means[decision.arm]
            on_old += part == 1 and bool(old[decision.arm])
            if (number_ + 1) % _LOOK == 0 and math.isnan(noticed):
                listed = {agent.side.index(arm) for arm in agent.drift(setting["risk"])["arm"]}
                if listed & changed and part == 1:
                    noticed = float(number_ + 1)
                false_alarm = false_alarm or bool(listed if part == 0 else listed - changed)
    return {
        "rounds": rounds,
        "old_share": on_old / rounds,
        "regret_before": regret[0],
        "regret_after": regret[1],
        "noticed": noticed,
        "false_alarm": false_alarm,
    }


# ---------------------------------------------------------------- what is shown


def _of(tables: Tables, world: str, method: str) -> pd.DataFrame:
    table = tables["runs"]
    return table[(table["world"] == world) & (table["method"] == method)]


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for (world, method), group in tables["runs"].groupby(["world", "method"], sort=False, observed=True):
        share, later = mean_of(group["old_share"]), mean_of(group["regret_after"])
        noticed = group["noticed"].notna()
        rows.append(
            {
                "setting": WORLDS[str(world)].title,
                "policy": method,
                "on old arms": share.value,
                "low": share.low,
                "high": share.high,
                "regret before": float(group["regret_before"].mean()),
                "regret after": later.value,
                "change noticed": float(noticed.mean()) if world != STILL else math.nan,
                "after rounds": float(group["noticed"].median()),
                "runs": len(group),
            }
        )
    return pd.DataFrame(rows)


def _draw(tables: Tables) -> Figure:
    shown = _table(tables)
    moved = shown[shown["setting"] != WORLDS[STILL].title]
    dots = []
    for row in moved.itertuples(index=False):
        setting, method, value, low, high = row[:5]
        dots.append(Dot(method, setting, value, *(value if math.isnan(end) else end for end in (low, high))))
    return draw_dots(
        dots,
        "share of the rounds after the change that is spent on old arms",
        "Who stays with the arms that were the best",
        f"mean of {tables['runs']['run'].nunique():,} runs, with 95% intervals",
    )


def _methods(tables: Tables) -> list[tuple[str, str]]:
    """Return every policy that knows relations, as it is, beside itself with the shortest half-life."""
    names = list(dict.fromkeys(tables["runs"]["method"]))
    plain = [name for name in names if "," not in name and name not in _UNRELATED]
    shortest = [[name for name in names if name.startswith(f"{each},")][-1] for each in plain]
    return list(zip(plain, shortest, strict=True))


def _regret(tables: Tables, method: str) -> NDArray[np.float64]:
    """Return the regret of the runs in which nothing changes."""
    rows = _of(tables, STILL, method)
    regret: NDArray[np.float64] = (rows["regret_before"] + rows["regret_after"]).to_numpy()
    return regret


def _claims(tables: Tables) -> list[Claim]:
    left, price = [], []
    for plain, forgetting in _methods(tables):
        first, second = (_of(tables, "mirrored", name) for name in (forgetting, plain))
        ratio = ratio_of(first["old_share"], second["old_share"])
        left.append(at_most(f"rounds on old arms over those without, {plain}", ratio, 0.5))
        extra = [
            _of(tables, STILL, name).eval("regret_before + regret_after") for name in (forgetting, plain)
        ]
        more = extra[0].to_numpy() - extra[1].to_numpy()
        mean = mean_of(more / (2.0 * _of(tables, STILL, plain)["rounds"].to_numpy()))
        price.append(at_most(f"more regret a round where nothing changes, {plain}", mean, _PRICE))
    alarms = tables["runs"].groupby("run", observed=True)["false_alarm"].any()
    return [
        Claim(
            "drift-left-sooner",
            "Where all means are mirrored, policies that know relations spend at most half of the rounds on "
            "old arms once they forget, with a half-life of 200 rounds.",
            "beyond the paper",
            tuple(left),
        ),
        Claim(
            "drift-price",
            f"Where nothing changes, forgetting costs these policies at most {_PRICE:g} a round.",
            "beyond the paper",
            tuple(price),
        ),
        Claim(
            "drift-false-alarms",
            "The test lists an arm that has not changed in at most a share of its risk of the runs.",
            "beyond the paper",
            (at_most("runs with a false alarm, of any policy", share_of(alarms), _RISK),),
        ),
    ]


def _discussion(tables: Tables) -> str:
    said = []
    for plain, forgetting in _methods(tables):
        shares = [_of(tables, "mirrored", name)["old_share"].mean() for name in (plain, forgetting)]
        cost = [number(_regret(tables, name).mean()) for name in (plain, forgetting)]
        said.append(
            f"{plain}: {shares[0]:.0%} of the rounds after all means were mirrored on old arms, "
            f"{shares[1]:.0%} with a {forgetting.split(', ')[1]}; regret where nothing changes "
            f"{cost[0]} and {cost[1]}"
        )
    return (
        ". ".join(said)
        + ". Forgetting does not help where a relation stops to hold: an arm that it keeps out is not "
        "played, and what it says of the others stays believed. agent.suspects() names such relations, and "
        "agent.drift() the arm."
    )


EXPERIMENT = Experiment(
    id="beyond-drift",
    title="Means that change: with and without forgetting",
    paper="beyond the paper",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=900.0,
)
