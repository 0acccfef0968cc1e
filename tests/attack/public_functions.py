"""Public functions and methods, called with one bad value at a time: the answer is one of our own errors.

A case is a call that is right but for one argument. Answered well is a result, or an `LsdtError`; anything
else that is raised, a `TypeError` from deep inside as much as a crash, is a failure.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

import lsdt
from lsdt.errors import LsdtError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIDE = lsdt.from_means([0.1, 0.5, 0.55, 0.9], 0.2, arm_ids=["a", "b", "c", "d"])
PARTIAL = lsdt.SideInformation(4, [(0, 1)], [(1, 2)], epsilon=0.25)
LOG = pd.DataFrame(
    {
        "user": np.repeat(np.arange(12), 4),
        "item": np.tile(["a", "b", "c", "d"], 12),
        "rating": np.random.default_rng(0).integers(1, 6, 48).astype(float),
    }
)
FRAME = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "relation": ["similar", "dissimilar"]})


class Nothing:
    """A value of no use to anybody."""

    def __repr__(self) -> str:
        return "Nothing()"


BAD: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    10**30,
    -(10**30),
    2.5,
    float("nan"),
    float("inf"),
    1e308,
    1e-320,
    1 + 2j,
    "",
    "x",
    "a\0b",
    "\ud800",
    ".",
    b"x",
    [],
    [None],
    ["x", 3],
    [[1, 2, 3]],
    [(0, 0)],
    [float("nan")],
    {},
    {"x": 1},
    set(),
    (),
    (1, "x"),
    Nothing(),
    Nothing,
    len,
    np.zeros((2, 3)),
    np.array(["x", "y"]),
    np.array([], dtype=object),
    np.array([1 + 2j]),
    np.float64("nan"),
    np.array(7),
    [np.array(7)],
    [{0, 1}],
    [list],
    np.datetime64("2020-01-01"),
    pd.DataFrame(),
    pd.DataFrame({"a": [object()]}),
    range(10),
]


def race(arms: Any, examples: Any, **options: Any) -> Any:
    """Race arms that all score the same; what a function of the user raises is their own."""
    return lsdt.race(arms, lambda *_: 0.5, examples, **options)


class Case(NamedTuple):
    """A function, and arguments with which it works."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]


def _agent() -> lsdt.Agent:
    agent = lsdt.Agent(SIDE, "ucb1", horizon=50, seed=1)
    agent.tell(agent.ask(), 1.0)
    agent.ask()
    return agent


def cases(folder: Path) -> list[Case]:
    """Return every public function and method, with arguments that are right; files go into `folder`."""
    from lsdt import plotting, problems, ratings, rewards, theory
    from lsdt.policies import constant

    side, loaded = lsdt.SideInformation, lsdt.SimulationResult
    side_path, result_path, text_path = folder / "side.csv", folder / "result", folder / "log.csv"
    text_path.write_text("who;what,title;stars\n1;2,x;3\n1;3,y;4\n")
    SIDE.save(side_path)
    problem = problems.uniform(n_arms=5, epsilon=0.2)
    result = lsdt.simulate(problem, "ucb1", horizon=10, replications=2)
    result.save(result_path)
    found = lsdt.candidate_set(SIDE)
    snapshot = _agent().snapshot()
    means, epsilon = [0.1, 0.5, 0.9], 0.5
    three, read = lsdt.from_means(means, epsilon), ratings.read_log(LOG)
    simple = [
        (
            side,
            {
                "n_arms": 3,
                "similar": [(0, 1)],
                "dissimilar": [(1, 2)],
                "arm_ids": None,
                "epsilon": 0.1,
                "better": [(0, 1)],
                "ranges": [(2, 0, None, 0.5)],
            },
        ),
        (lsdt.complete, {"n_arms": 3, "similar": [(0, 1)], "arm_ids": None, "epsilon": 0.1}),
        (lsdt.from_means, {"means": means, "epsilon": 0.1, "arm_ids": None, "tolerance": 1e-9}),
        (lsdt.load, {"path": side_path, "complete": None, "columns": ("a", "b", "relation")}),
        (SIDE.save, {"path": folder / "out.parquet"}),
        (
            lsdt.from_frame,
            {
                "frame": FRAME,
                "a": "a",
                "b": "b",
                "relation": "relation",
                "complete": False,
                "epsilon": 0.1,
                "threshold": None,
                "low": "low",
                "high": "high",
            },
        ),
        (lsdt.from_networkx, {"graph": SIDE.to_networkx(), "relation": "relation", "complete": None}),
        (lsdt.from_scipy, {"similar": _matrix(), "dissimilar": None, "complete": True, "arm_ids": None}),
        (SIDE.reveal, {"p_similar": 0.5, "p_dissimilar": 0.5, "seed": 0, "p_range": 0.5}),
        (SIDE.subset, {"arms": ["a", "b"]}),
        (SIDE.corrupt, {"q": 0.1, "seed": 0}),
        (SIDE.relation, {"first": "a", "second": "b"}),
        (SIDE.bounds, {"first": "a", "second": "b"}),
        (SIDE.difference, {"first": "a", "second": "b"}),
        (SIDE.index, {"arm": "a"}),
        (SIDE.label, {"arm": 1}),
        (lsdt.merge, {"sides": [SIDE, SIDE], "names": None, "on_conflict": "error"}),
        (
            lsdt.from_features,
            {
                "X": np.eye(4),
                "lipschitz": 1.0,
                "epsilon": None,
                "arm_ids": None,
                "metric": "euclidean",
                "n_neighbours": 2,
                "increasing": [0],
                "decreasing": (),
                "pilot": None,
                "risk": 0.05,
                "unexplained": 0.0,
            },
        ),
        (
            lsdt.from_experiments,
            {"rows": {"arm": ["a", "b"], "mean": [0.1, 0.2], "se": [0.1, 0.1]}, "confidence": 0.9},
        ),
        (lsdt.from_order, {"arms": ["a", "b"], "way": "up", "within": None, "steepest": None}),
        (
            lsdt.from_groups,
            {
                "groups": ["x", "x", "y"],
                "epsilon": None,
                "arm_ids": None,
                "level": None,
                "apart": (),
                "separator": "/",
            },
        ),
        (lsdt.candidate_set, {"side": PARTIAL, "method": "auto", "max_wrong": 0, "timeout": 5.0}),
        (lsdt.recognise, {"side": SIDE.explicit()}),
        (found.explain, {"arm": "b"}),
        (lsdt.Policy, {"name": "ucb1", "on": None, "label": None, "prior_weight": None, "alpha": 2.0}),
        (
            lsdt.Agent,
            {
                "side": SIDE,
                "policy": "ucb1",
                "epsilon": None,
                "rewards": "bernoulli",
                "horizon": 10,
                "seed": 0,
                "prior": None,
                "prior_weight": 1.0,
            },
        ),
        (lsdt.Agent.restore, {"blob": snapshot}),
        (
            lsdt.Agent.open,
            {"store": "memory://", "name": "x", "side": SIDE, "durability": "full", "snapshot_every": 9},
        ),
        (problems.uniform, {"n_arms": 5, "low": 0.0, "high": 1.0, "epsilon": 0.1, "p_similar": 1.0}),
        (problems.sparse, {"n_arms": 50, "relations_per_arm": 5, "locality": 1.0, "epsilon": 0.1}),
        (problems.given, {"means": means, "side": None, "rewards": "gaussian", "check": True}),
        (rewards.gaussian, {"sigma": 1.0}),
        (rewards.student_t, {"degrees": 1.5, "scale": 1.0, "sigma": None}),
        (rewards.pareto, {"exponent": 1.5, "scale": 1.0, "sigma": None}),
        (rewards.laplace, {"scale": 1.0, "sigma": None}),
        (rewards.exponential, {"scale": 1.0, "sigma": None}),
        (rewards.callable, {"draw": lambda _arm, _rng: 0.5, "sigma": 0.5, "family": "bernoulli"}),
        (
            lsdt.simulate,
            {"problem": problem, "policies": ["ucb1"], "horizon": 10, "replications": 1, "seed": 0},
        ),
        (
            lsdt.identify,
            {
                "source": problem,
                "side": None,
                "delta": 0.05,
                "tolerance": 0.5,
                "policy": "identify",
                "budget": 5,
                "batch": None,
                "seed": 0,
            },
        ),
        (
            lsdt.plan,
            {
                "side": SIDE,
                "rewards": "bernoulli",
                "delta": 0.5,
                "tolerance": 0.5,
                "epsilon": None,
                "policy": "ucb1",
                "horizons": [2],
                "n_pairs": 1,
                "means_between": None,
                "runs": 2,
                "seed": 0,
            },
        ),
        (lsdt.Agent(SIDE, "ucb1").stopping, {"delta": 0.05, "tolerance": 0.5}),
        (constant, {"arm": 1}),
        (loaded.load, {"path": result_path}),
        (result.save, {"path": folder / "results"}),
        (result.regret, {"policy": "ucb1"}),
        (result.seconds, {"policy": "ucb1"}),
        (result.plays, {"policy": "ucb1"}),
        (
            lsdt.replay,
            {
                "log": LOG,
                "policies": ["ucb1"],
                "horizon": 10,
                "train": 0.5,
                "side": None,
                "epsilon": "auto",
                "prior_weight": 0.0,
                "clip": 0.0,
                "test_log": None,
                "checkpoints": None,
                "seed": 0,
            },
        ),
        (lsdt.from_ratings, {"log": LOG, "epsilon": 0.5, "rule": "paper"}),
        (lsdt.from_ratings, {"log": LOG, "guarantee": "best", "interval": "bootstrap", "min_raters": 2}),
        (
            race,
            {
                "arms": ["a", "b"],
                "examples": [1, 2],
                "side": None,
                "delta": 0.05,
                "tolerance": 0.5,
                "scale": (0.0, 1.0),
                "budget": 5,
                "jobs": 1,
                "seed": 0,
            },
        ),
        (ratings.read_log, {"log": LOG, "user": "user", "item": "item", "rating": "rating", "scale": None}),
        (ratings.read_log, {"log": LOG, "min_ratings": 1, "top": 4, "time": None, "duplicates": "error"}),
        (ratings.open_log, {"log": LOG, "user": "user", "item": "item", "rating": "rating", "top": 4}),
        (ratings.read_log, {"log": text_path, "user": 0, "item": 1, "rating": 2, "sep": ";", "header": True}),
        (ratings.read_titles, {"path": text_path}),
        (
            ratings.read_events,
            {
                "log": LOG,
                "user": "user",
                "item": "item",
                "rating": "rating",
                "scale": None,
                "propensity": None,
            },
        ),
        (ratings.pair_statistics, {"log": read}),
        (ratings.item_statistics, {"log": read}),
        (ratings.check_missingness, {"log": read}),
        (ratings.look_alike, {"seed": 0}),
        (theory.fractional_domination, {"side": SIDE, "gap": 0.01, "method": "auto"}),
        (theory.lower_bound_constant, {"side": three, "means": means, "sigma": 1.0}),
        (theory.lower_bound_rates, {"side": three, "means": means, "sigma": 1.0}),
        (theory.graves_lai_constant, {"side": three, "means": means, "sigma": 1.0, "tolerance": 1e-6}),
        (
            theory.upper_bound_csi,
            {"side": three, "means": means, "horizon": 100, "sigma": 1.0, "alpha": None},
        ),
        (theory.upper_bound_psi, {"side": three, "means": means, "horizon": 100}),
        (theory.elimination_probability, {"side": SIDE, "p_similar": 0.5, "p_dissimilar": 0.5}),
        (theory.check_assumptions, {"side": SIDE, "p_similar": 0.5, "p_dissimilar": 0.5}),
        (plotting.plot_candidates, {"found": found, "ax": None}),
        (
            plotting.plot_regret,
            {
                "result": result,
                "ax": None,
                "policies": None,
                "bounds": {"flat": 1.0},
                "title": None,
                "log": False,
            },
        ),
        (plotting.plot_arms, {"agent": _agent(), "ax": None, "most": 30}),
        (
            plotting.plot_epsilon,
            {"evidence": lsdt.from_ratings(LOG, epsilon=0.5, rule="paper").evidence, "ax": None},
        ),
        (plotting.save, {"drawn": plotting.plot_candidates(found), "path": folder / "picture.svg"}),
    ]
    fresh = [
        ("ask", {"n": None, "allowed": ["a", "b"], "propensity": False}),
        ("tell", {"decision": 1, "reward": 1.0, "repeat": "refuse"}),
        ("observe", {"arm": "a", "reward": 1.0}),
        ("cancel", {"decision": 1}),
        ("cancel_before", {"decision": 1}),
        ("expire", {"older_than": 3600.0, "reward": None}),
        ("retire", {"arm": "a"}),
        ("best", {"n_runners_up": 3}),
        ("suspects", {"risk": 0.05}),
        ("extend", {"side": SIDE}),
    ]
    methods = [Case(f"Agent.{name}", _on_fresh_agent(name), arguments) for name, arguments in fresh]
    return [Case(_name(function), function, arguments) for function, arguments in simple] + methods


def _matrix() -> Any:
    from scipy.sparse import csr_array

    return csr_array(np.ones((3, 3)))


def _on_fresh_agent(name: str) -> Callable[..., Any]:
    return lambda **arguments: getattr(_agent(), name)(**arguments)


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", function))


def spoilt(folder: Path) -> Iterator[tuple[Case, str, Any]]:
    """Return every case with every bad value for every argument."""
    for case in cases(folder):
        for name in case.arguments:
            for value in BAD:
                yield case, name, value


def called(case: Case, name: str, value: Any) -> str | None:
    """Call a function with one bad value; return what went wrong, None where it was answered well."""
    arguments = {**case.arguments, name: value}
    positional = []
    try:
        kinds = inspect.signature(case.function).parameters
    except (TypeError, ValueError):
        kinds = {}
    for each, kind in kinds.items():
        if kind.kind == kind.POSITIONAL_ONLY and each in arguments:
            positional.append(arguments.pop(each))
        elif kind.kind == kind.VAR_POSITIONAL and each in arguments:
            given = arguments.pop(each)
            positional += given if isinstance(given, list) else [given]
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            case.function(*positional, **arguments)
    except LsdtError:
        return None
    except Exception as error:
        return f"{case.name}({name}={_short(value)}) raised {type(error).__name__}: {str(error)[:120]}"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."


def attack(seed: int, seconds: float) -> tuple[int, int, list[str]]:
    """Try cases in an order of the seed until the time is over: how many, how many well, and what else."""
    until = time.monotonic() + seconds
    failures: list[str] = []
    tried = 0
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        everything = list(spoilt(Path(name)))
        for at in np.random.default_rng(seed).permutation(len(everything)).tolist():
            if tried and time.monotonic() > until:
                break
            tried += 1
            failure = called(*everything[at])
            if failure is not None:
                failures.append(failure)
    return tried, tried - len(failures), failures
