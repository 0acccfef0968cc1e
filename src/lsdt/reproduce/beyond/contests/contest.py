"""A contest of all policies in one setting, on all arms and on the arms that the offline steps leave.

Policies that do not support the setting, or are too slow for it, are left out, and the reason is recorded.
All others get the same problems and the same noise, so that they are compared run by run.
"""

from __future__ import annotations

import math
from time import thread_time
from typing import TYPE_CHECKING

import numpy as np

from lsdt.errors import LsdtError
from lsdt.kernel import new_stream
from lsdt.policies import Choice, OfflineSteps, Situation, available, parse_policy, specification_of
from lsdt.reproduce.beyond.contests.shapes import UNIFORM, contest_problem
from lsdt.reproduce.framework.sampling import regret_frame, simulate_part
from lsdt.reproduce.framework.wording import contest_name
from lsdt.side_information import subset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from lsdt.policies import Policy, ReadyPolicy
    from lsdt.problems import Instance
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

FEWER = 10  # times fewer runs if there are many arms and rounds, which keeps these parts at minutes
CHECKPOINTS = 20  # enough for a smooth line; more would only enlarge the tables


def entrants(complete: bool) -> list[str]:
    """Return every policy on every set of arms that it accepts, as strings such as ``'ts@paper'``.

    Examples
    --------
    >>> from lsdt.reproduce.beyond.contests.contest import entrants
    >>> [word for word in entrants(complete=False) if word.startswith("moss")]
    ['moss', 'moss@paper', 'moss@propagation']
    """
    places = ["all", "paper"] if complete else ["all", "paper", "propagation"]
    words = []
    for name in available():
        declared = specification_of(name)
        if not declared.minimises_regret:
            continue
        choices = [each for each in declared.parameters if isinstance(each, Choice)]
        given = [f":{each.name}={word}" for each in choices for word in each.contest_words]
        where = [name] if declared.offline else [name if on == "all" else f"{name}@{on}" for on in places]
        words += [word + more for more in ("", *given) for word in where]
    return words


def contest_setting(
    request: Request,
    *,
    revealed: float,
    rewards: str,
    epsilon: float = 0.1,
    connected: bool = False,
    arms: int = 100,
    horizon: int = 1000,
    policies: Sequence[str] | None = None,
    shape: str = UNIFORM,
) -> Setting:
    """Return the setting of a contest: the paper's, except for the values given."""
    return {
        "arms": arms,
        "means": [0.1, 1.0] if rewards == "gaussian" else [0.1, 0.9],
        "epsilon": epsilon,
        "rewards": rewards,
        "revealed": revealed,
        "connected": connected,
        "shape": shape,
        "horizon": horizon,
        "policies": entrants(revealed == 1.0) if policies is None else list(policies),
        "most_microseconds": None,
        "without": {},
        "replications": request.replications,
        "fixed_draw": request.fixed_draw,
    }


def larger_setting(
    request: Request,
    arms: int,
    revealed: float,
    most_microseconds: float,
    without: Mapping[str, str] | None = None,
) -> Setting:
    """Return the setting of a contest with many arms and rounds: fewer runs, and only fast policies.

    Policies that take too long even to start are listed in `without`, with the reason.
    """
    setting = contest_setting(
        request, revealed=revealed, rewards="bernoulli", arms=arms, horizon=2000 if request.quick else 10_000
    )
    replications = min(request.replications, max(request.replications // FEWER, 2))
    limits = {"most_microseconds": most_microseconds, "without": dict(without or {})}
    return {**setting, "replications": replications, **limits}


def available_words(words: Iterable[str]) -> list[str]:
    """Return those strings whose policies are available."""
    names = set(available())
    return [word for word in words if word.partition(":")[0].partition("@")[0] in names]


def play_contest(setting: Setting, work: Work) -> Tables:
    """Play all policies that the setting admits, and return tables.

    They are ``regret`` (by policy, run and t), ``policies`` (their names and strings), ``times``
    (microseconds per step), and ``left_out`` (policies and reasons) if there are any.
    """
    admitted, left_out = _admit(setting, work)
    names = _names(setting, admitted)
    policies = [parse_policy(word) for word in admitted]
    result = simulate_part(
        contest_problem(setting),
        policies,
        work,
        horizon=setting["horizon"],
        replications=setting["replications"],
        checkpoints=min(CHECKPOINTS, setting["horizon"]),
        progress=work.done,
    )
    frame = regret_frame(result)
    named = dict(zip(result.policies, names, strict=True))
    seconds = {named[policy.label]: result.seconds(policy) for policy in policies}
    return {
        "regret": frame.assign(policy=frame["policy"].map(named)),
        "policies": _frame({"policy": names, "word": admitted}),
        "times": _frame(
            {
                "policy": names,
                "us_per_step": [1e6 * np.median(seconds[name][1]) / setting["horizon"] for name in names],
                "offline_ms": [1e3 * np.median(seconds[name][0]) for name in names],
            }
        ),
        **({"left_out": _left_out(setting, left_out)} if left_out else {}),
    }


def _frame(columns: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns)


def _names(setting: Setting, words: Sequence[str]) -> list[str]:
    model = contest_problem(setting).rewards.model
    return [contest_name(parse_policy(word), model, setting["revealed"] == 1.0) for word in words]


def _left_out(setting: Setting, rows: list[tuple[str, str, float]]) -> pd.DataFrame:
    words, reasons, steps = zip(*rows, strict=True)
    named = _names(setting, words)
    return _frame({"policy": named, "word": words, "reason": reasons, "us_per_step": steps})


def _admit(setting: Setting, work: Work) -> tuple[list[str], list[tuple[str, str, float]]]:
    """Return the policies that take part, and those left out with the reasons."""
    problem, most = contest_problem(setting), setting["most_microseconds"]
    instance = problem.draw(work.seed, 0)
    steps, model = OfflineSteps(instance.side), problem.rewards.model
    admitted: list[str] = []
    left_out = [(word, why, math.nan) for word, why in setting["without"].items()]
    for word in setting["policies"]:
        if word in setting["without"]:
            continue
        policy = parse_policy(word)
        try:
            if "connected" in specification_of(policy.name).needs and policy.on == "all":
                _require_everywhere(setting, policy, work)  # connectedness may differ from run to run
            found = steps.of(policy.on)
            ready = policy.begin(instance.side, model, setting["horizon"], new_stream(0), found)
        except LsdtError as error:
            left_out.append((word, str(error).removeprefix(f"{policy.label} "), math.nan))
            continue
        step = 0.0 if most is None else _microseconds(ready, instance, setting)
        if most is not None and step > most:
            left_out.append((word, f"more than {most:g} us per step", step))
        else:
            admitted.append(word)
    return admitted, left_out


def _require_everywhere(setting: Setting, policy: Policy, work: Work) -> None:
    """Raise the policy's error for the first run whose problem it does not support."""
    problem, needs = contest_problem(setting), specification_of(policy.name).needs
    for run in range(setting["replications"]):
        side = problem.draw(work.seed, run).side
        whole = subset(side, np.arange(side.n_arms))
        Situation(whole, problem.rewards.model, setting["horizon"]).require(needs, policy.label)


def _microseconds(ready: ReadyPolicy, instance: Instance, setting: Setting) -> float:
    """Return the processor time of one step; stop early if the policy is clearly too slow."""
    # After this many rounds, most arms that are ever played have been played.
    rounds = min(2 * setting["arms"], setting["horizon"])
    coins, means, player = np.random.default_rng(0), instance.means[ready.arms], ready.player
    enough = 1e-6 * rounds * setting["most_microseconds"]
    started, done = 0.0, 0
    for done in range(rounds + 1):
        if done == 1:  # compilation and loading are not counted
            started = thread_time()
        if done > 1 and thread_time() - started > enough:
            break
        arm = player.select()
        player.update(arm, float(coins.random() < means[arm]))
    return 1e6 * (thread_time() - started) / done
