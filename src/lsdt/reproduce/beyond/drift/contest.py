"""Means change once: how long agents keep playing old arms, and what forgetting costs if nothing changes.

A policy plays as many rounds before the change as after it. The relations are those of the means before the
change. If all means are mirrored, all relations still hold and the best arm becomes the worst. If the best
arm falls, or another one rises above it, some relations of that arm become false. Old arms are those
within epsilon of the best before the change and more than epsilon below the best after it.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt import problems
from lsdt.agent import Learner, changed_arms, checked_half_life
from lsdt.plotting import Dot, draw_dots
from lsdt.policies import OfflineSteps, parse_policy
from lsdt.reproduce.framework.claims import Claim, Estimate, at_most, mean_of, number, ratio_of, share_of
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment
from lsdt.reproduce.framework.sampling import on_workers, rows_at
from lsdt.storage import Event, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.problems import Problem
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

# The paper's setting with partial information (Section 6.2.2).
_EPSILON, _LOW, _HIGH = 0.1, 0.1, 0.9
_KNOWN = 0.5  # of the relations
_ARMS, _ROUNDS = 100, 1_000
_RISK = 0.05  # the default of `Agent.drift`
# The most regret per round that forgetting may add if nothing changes; set after a trial of three other runs.
_PRICE = 0.01
_LOOK = 25  # rounds between two evaluations of the test: fewer take longer, more notice later
_POLICIES = ("lsdt_posterior", "soft_closure", "lsdt_closure", "lsdt_watchful", "ts")
_UNRELATED = ("ts",)  # use no relations
_HALF_LIVES = (None, 800, 200)  # about the length of the run, and a fifth of it
STILL = "still"


class World(NamedTuple):
    """A way the means change: its title, and a function from the means before to those after."""

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

    tasks = [(setting, work.seed, run) for run in range(setting["replications"])]
    return {"runs": pd.DataFrame(list(chain.from_iterable(on_workers(_play_run, tasks, work))))}


def _play_run(setting: Setting, seed: int, run: int) -> list[dict[str, Any]]:
    """Play every method up to the change once, and continue from there in every world."""
    instance = _problem(setting).draw(seed, run)
    means = np.asarray(instance.means, np.float64)
    coins = np.random.default_rng((seed, run)).random(2 * setting["horizon"])
    steps = OfflineSteps(instance.side)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in setting["worlds"]}
    for policy in setting["policies"]:
        for half_life in setting["half_lives"]:
            forget = checked_half_life(half_life)
            learner = Learner(
                instance.side, parse_policy(policy), instance.rewards.model, None, run, None, steps, forget
            )
            played = play_worlds(learner, means, coins, setting)
            for name, outcome in played.items():
                rows[name].append(
                    {"world": name, "method": _method(policy, half_life), "run": run, **outcome}
                )
    return list(chain.from_iterable(rows.values()))


def _problem(setting: Setting) -> Problem:
    return problems.uniform(
        n_arms=setting["arms"],
        low=_LOW,
        high=_HIGH,
        epsilon=setting["epsilon"],
        rewards="bernoulli",
        p_similar=setting["known"],
        p_dissimilar=setting["known"],
    )


def _method(policy: str, half_life: int | None) -> str:
    return policy if half_life is None else f"{policy}, half-life {half_life}"


def play_worlds(
    learner: Learner, before: NDArray[np.float64], coins: NDArray[np.float64], setting: Setting
) -> dict[str, dict[str, Any]]:
    """Play up to the change, and continue in every world; return regret, plays of old arms and alarms."""
    rounds, epsilon, risk = setting["horizon"], setting["epsilon"], setting["risk"]
    first = _play(learner, before, coins[:rounds], risk, set())
    played = {}
    for name in setting["worlds"]:
        after = WORLDS[name].change(before)
        old = (before > before.max() - epsilon) & (after < after.max() - epsilon)
        changed = set(np.flatnonzero(before != after).tolist())
        second = _play(learner.copy(), after, coins[rounds:], risk, changed)
        played[name] = {
            "rounds": rounds,
            "old_share": float(old[second.arms].mean()),
            "regret_before": float((before.max() - before[first.arms]).sum()),
            "regret_after": float((after.max() - after[second.arms]).sum()),
            "noticed": second.noticed,
            "false_alarm": first.false_alarm or second.false_alarm,
        }
    return played


class _Played(NamedTuple):
    """The arm of every round, the round of the first true alarm (NaN if none), and whether any was false."""

    arms: list[int]
    noticed: float
    false_alarm: bool


def _play(
    learner: Learner,
    means: NDArray[np.float64],
    coins: NDArray[np.float64],
    risk: float,
    changed: set[int],
) -> _Played:
    """Play one round per coin; evaluate the test every `_LOOK` rounds until it lists an arm that changed."""
    chances: list[float] = means.tolist()
    arms: list[int] = []
    noticed, false_alarm = math.nan, False
    for played, coin in enumerate(coins.tolist(), 1):
        number = learner.next_number
        asked = learner.decide(number, time=number)
        learner.apply(asked, epoch=0)
        told = Event(Kind.TELL, number, number, asked.arm, float(coin < chances[asked.arm]))
        learner.apply(told, epoch=0)
        arms.append(asked.arm)
        if played % _LOOK == 0 and math.isnan(noticed):
            listed = {change.arm for change in changed_arms(learner, risk)}
            noticed = float(played) if listed & changed else math.nan
            false_alarm = false_alarm or bool(listed - changed)
    return _Played(arms, noticed, false_alarm)


# ---------------------------------------------------------------- what is shown


def _of(tables: Tables, world: str, method: str) -> pd.DataFrame:
    return rows_at(tables["runs"], world=world, method=method)


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for (world, method), group in tables["runs"].groupby(["world", "method"], sort=False, observed=True):
        noticed = group["noticed"].notna()
        rows.append(
            {
                "setting": WORLDS[str(world)].title,
                "policy": method,
                **mean_of(group["old_share"]).columns("on old arms"),
                "regret before": float(group["regret_before"].mean()),
                "regret after": mean_of(group["regret_after"]).value,
                "change noticed": float(noticed.mean()) if world != STILL else math.nan,
                "after rounds": float(group["noticed"].median()) if noticed.any() else math.nan,
                "runs": len(group),
            }
        )
    return pd.DataFrame(rows)


def _draw(tables: Tables) -> Figure:
    shown = _table(tables)
    moved = shown[shown["setting"] != WORLDS[STILL].title]
    dots = []
    for row in moved.itertuples(index=False):
        setting, method, *estimate = row[:5]
        dots.append(Dot(method, setting, estimate[0], *Estimate(*estimate).ends))
    return draw_dots(
        dots,
        "share of the rounds after the change that is spent on old arms",
        "Who stays with the arms that were the best",
        f"mean of {tables['runs']['run'].nunique():,} runs, with 95% intervals",
    )


def _methods(tables: Tables) -> list[tuple[str, str]]:
    """Return the policies that use relations, each as two methods: plain, and with the shortest half-life."""
    names = list(dict.fromkeys(tables["runs"]["method"]))
    plain = [name for name in names if "," not in name and name not in _UNRELATED]
    shortest = [[name for name in names if name.startswith(f"{each},")][-1] for each in plain]
    return list(zip(plain, shortest, strict=True))


def _regret(tables: Tables, method: str) -> NDArray[np.float64]:
    """Return a method's regret over all rounds, run by run, where nothing changes."""
    rows = _of(tables, STILL, method)
    regret: NDArray[np.float64] = (rows["regret_before"] + rows["regret_after"]).to_numpy()
    return regret


def _claims(tables: Tables) -> list[Claim]:
    left, price = [], []
    for plain, forgetting in _methods(tables):
        first, second = (_of(tables, "mirrored", name) for name in (forgetting, plain))
        ratio = ratio_of(first["old_share"], second["old_share"])
        left.append(at_most(f"rounds on old arms over those without forgetting, {plain}", ratio, 0.5))
        more = _regret(tables, forgetting) - _regret(tables, plain)
        mean = mean_of(more / (2.0 * _of(tables, STILL, plain)["rounds"].to_numpy()))
        price.append(at_most(f"additional regret per round if nothing changes, {plain}", mean, _PRICE))
    alarms = tables["runs"].groupby("run", observed=True)["false_alarm"].any()
    return [
        Claim(
            "drift-left-sooner",
            "If all means are mirrored, policies that know relations spend at most half as many rounds on "
            "old arms if they forget, with a half-life of 200 rounds.",
            BEYOND_THE_PAPER,
            tuple(left),
        ),
        Claim(
            "drift-price",
            f"If nothing changes, forgetting costs these policies at most {_PRICE:g} per round.",
            BEYOND_THE_PAPER,
            tuple(price),
        ),
        Claim(
            "drift-false-alarms",
            "The share of runs in which the test lists an arm that has not changed is at most its risk.",
            BEYOND_THE_PAPER,
            (at_most("runs with a false alarm, of any policy", share_of(alarms), _RISK),),
        ),
    ]


def _discussion(tables: Tables) -> str:
    said = []
    for plain, forgetting in _methods(tables):
        shares = [_of(tables, "mirrored", name)["old_share"].mean() for name in (plain, forgetting)]
        cost = [number(_regret(tables, name).mean()) for name in (plain, forgetting)]
        said.append(
            f"{plain}: after all means were mirrored, {shares[0]:.0%} of the rounds are on old arms, "
            f"{shares[1]:.0%} with a half-life of {forgetting.split()[-1]}; the regret if nothing changes is "
            f"{cost[0]} and {cost[1]}"
        )
    return (
        ". ".join(said)
        + ". Forgetting does not help if a relation no longer holds: an arm that it excludes is not played, "
        "and what it implies about other arms is still believed. agent.suspects() names such relations, and "
        "agent.drift() the arm."
    )


EXPERIMENT = Experiment(
    id="beyond-drift",
    title="Means that change: with and without forgetting",
    paper=BEYOND_THE_PAPER,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=65.0,
)
