"""`lsdt.identify_many`: tries until the best arm is known, over many runs and by several methods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import card, html_table
from lsdt._progress import ProgressBar
from lsdt._validation import (
    checked_list,
    checked_number,
    checked_replications,
    checked_seed,
    checked_share_inside,
    checked_whole,
)
from lsdt.errors import InvalidInput, Unsupported, counted, suggest
from lsdt.identification.rules.grub import RADII, Grub
from lsdt.identification.rules.without_relations import WORDS, play_rule
from lsdt.kernel import Purpose, RunTotals, Setting, new_stream
from lsdt.policies import Policy, StoppingRule, offline_step
from lsdt.problems import checked_problem
from lsdt.simulation import interval

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt._progress import Progress
    from lsdt.candidates import CandidateSet
    from lsdt.problems import Instance, Problem

_MOST_TRIES = 10**6  # the default budget, as for `identify`
_CHECKS = 100  # our rule is checked after every 1% more tries, as in `identify`
_OURS, _GRUB, _ON = "identify", "grub", "@propagation"
_ROUNDING = 1e-9  # relative; a gap equal to the tolerance is no error


class IdentificationRuns(NamedTuple):
    """What `identify_many` found.

    Attributes
    ----------
    runs : DataFrame
        One row per method and run: ``tries``; ``stop``, whether the method stopped by itself; ``gap``, how
        far below the best arm the one named lies in truth; ``wrong``, whether that is beyond the tolerance.
    delta : float
        The probability of naming such an arm that was accepted.

    Examples
    --------
    >>> import lsdt
    >>> found = lsdt.identify_many(lsdt.problems.uniform(n_arms=30, epsilon=.1), replications=3)
    >>> list(found.runs.columns)
    ['method', 'run', 'tries', 'stop', 'gap', 'wrong']
    """

    runs: pd.DataFrame
    delta: float

    def summary(self) -> pd.DataFrame:
        """Return one row per method: mean tries with a 95% interval, their quantiles, and errors.

        ``errors`` counts the runs that stopped and named an arm beyond the tolerance, ``cut_off`` those that
        used up the budget.
        """
        import pandas as pd

        rows = {}
        for method, group in self.runs.groupby("method", sort=False, observed=True):
            tries = group["tries"].to_numpy(np.float64)
            mean, low, high = map(float, interval(tries))
            q50, q95, q99 = np.quantile(tries, [0.5, 0.95, 0.99])
            rows[method] = {
                "tries": mean,
                "low": low,
                "high": high,
                "median": q50,
                "q95": q95,
                "q99": q99,
                "worst": tries.max(),
                "errors": int((group["wrong"] & group["stop"]).sum()),
                "cut_off": int((~group["stop"]).sum()),
                "runs": len(group),
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")

    def __repr__(self) -> str:
        methods = self.runs["method"].drop_duplicates().tolist()
        return f"IdentificationRuns({', '.join(methods)}; {counted(self.runs['run'].nunique(), 'run')})"

    def _repr_html_(self) -> str:
        table = self.summary().reset_index()
        return card("IdentificationRuns", repr(self), html_table(tuple(table), table.to_numpy().tolist()))


def identify_many(
    problem: Problem,
    methods: Any = "identify",
    delta: float = 0.05,
    tolerance: float | None = None,
    *,
    replications: int = 100,
    budget: int | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> IdentificationRuns:
    """Play a problem many times until its best arm is known, by one or several methods.

    All methods meet the same problems. Each looks for an arm within the tolerance of the best, with an error
    of at most delta, and stops by its own rule.

    Parameters
    ----------
    problem : problem of `lsdt.problems`
        What is played; a new one is drawn for every run. Rewards are Bernoulli or Gaussian.
    methods : str, Grub, or a list of these
        ``'identify'``, the policy and the rule of `lsdt.identify`. Without relations, on all arms or, as in
        ``'lucb@propagation'``, on the candidates: ``'successive_elimination'`` (Even-Dar and others 2006),
        ``'lucb'`` (Kalyanakrishnan and others 2012), ``'kl_lucb'`` (Kaufmann, Kalyanakrishnan 2013),
        ``'track_and_stop'`` (Garivier, Kaufmann 2016), ``'top_two'`` (Russo 2016). With similar pairs:
        ``'grub'`` (Thaker and others 2022), or `lsdt.identification.Grub` with other constants.
    delta : float
        The accepted probability of naming an arm that is not good enough.
    tolerance : float, optional
        How far below the best arm the one named may lie; by default each problem's epsilon.
    replications : int
        Number of runs.
    budget : int, optional
        The most tries of a run; by default a million.
    seed : int
        The same seed gives the same problems and the same runs.
    progress : bool or function, optional
        Whether to show a progress bar; by default on a terminal. A function is called with the share of the
        runs that is finished.

    Returns
    -------
    IdentificationRuns
        ``runs``, a row per method and run, and ``summary()``.

    Examples
    --------
    >>> import lsdt
    >>> problem = lsdt.problems.uniform(n_arms=30, epsilon=.2)
    >>> found = lsdt.identify_many(problem, ["identify", "top_two@propagation"], replications=5)
    >>> tries = found.summary()["tries"]
    >>> bool(tries["identify"] < tries["top_two@propagation"])
    True
    """
    checked_problem(problem)
    listed = _checked_methods(methods)
    level, checked_runs = checked_share_inside(delta, "delta"), checked_replications(replications)
    most = _MOST_TRIES if budget is None else checked_whole(budget, "budget", 1)
    if tolerance is not None:
        checked_number(tolerance, "tolerance", at_least=0.0)
    instances = [problem.draw(checked_seed(seed), run) for run in range(checked_runs)]
    tolerances = np.array([_tolerance_of(instance, tolerance) for instance in instances])
    candidates: list[CandidateSet] = []
    if any(method == _OURS or str(method).endswith(_ON) for method in listed.values()):
        candidates = [_candidates(instance) for instance in instances]
    rows: list[dict[str, Any]] = []
    bar = ProgressBar(checked_runs * len(listed), "runs", progress)
    try:
        for place, (label, method) in enumerate(listed.items()):
            if isinstance(method, str) and method != _OURS:
                chosen = candidates if method.endswith(_ON) else None
                key = (seed, place, 1)
                outcomes = _by_rule(method.partition("@")[0], instances, chosen, tolerances, level, most, key)
                bar.update(checked_runs)
            else:
                outcomes = []
                for run, instance in enumerate(instances):
                    if isinstance(method, Grub):
                        tries, arm, stop = method.play(instance, tolerances[run], level, most, (seed, run))
                        outcomes.append((tries, float(instance.means.max() - instance.means[arm]), stop))
                    else:
                        given = candidates[run], tolerances[run], level, most, (seed, run)
                        outcomes.append(identified(instance, *given))
                    bar.update(1)
            for run, (tries, gap, stop) in enumerate(outcomes):
                wrong = gap > tolerances[run] * (1.0 + _ROUNDING)
                row = {"method": label, "run": run, "tries": tries, "stop": stop, "gap": gap, "wrong": wrong}
                rows.append(row)
    finally:
        bar.close()
    import pandas as pd

    return IdentificationRuns(pd.DataFrame(rows), level)


def _checked_methods(methods: Any) -> dict[str, str | Grub]:
    """Return the methods by their labels."""
    one = isinstance(methods, (str, Grub))
    listed = [methods] if one else checked_list(methods, "methods", "names of methods, or Grub values")
    known = [_OURS, _GRUB, *WORDS, *(word + _ON for word in WORDS)]
    found: dict[str, str | Grub] = {}
    for method in listed:
        if isinstance(method, Grub):
            if method.radius not in RADII:
                raise InvalidInput(f"radius must be one of {', '.join(RADII)}; got {method.radius!r}")
            checked_number(method.scale, "scale of Grub", above=0.0)
            if method.weight is not None:
                checked_number(method.weight, "weight of Grub", above=0.0)
            if method.norm is not None:
                checked_number(method.norm, "norm of Grub", at_least=0.0)
            given = [
                f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                for name, value in method._asdict().items()
                if value != Grub._field_defaults[name]
            ]
            found[f"grub ({', '.join(given)})" if given else _GRUB] = method
        elif method in known:
            found[method] = Grub() if method == _GRUB else method
        else:
            raise InvalidInput(
                f"unknown method {method!r}; there are {', '.join(known)}" + suggest(str(method), known)
            )
    if not found:
        raise InvalidInput("methods must name at least one method; got none")
    return found


def _tolerance_of(instance: Instance, tolerance: float | None) -> float:
    law = instance.rewards
    if law.law is None or law.name not in ("bernoulli", "gaussian"):
        raise Unsupported(f"identify_many plays Bernoulli or Gaussian rewards; this problem has {law.name}")
    if tolerance is None and instance.side.epsilon is None:
        raise Unsupported("the side information has no epsilon, so give a tolerance")
    return float(instance.side.epsilon if tolerance is None else tolerance)  # type: ignore[arg-type]


def _candidates(instance: Instance) -> CandidateSet:
    found = offline_step(instance.side, "propagation")
    assert found is not None
    if found.conflict is not None:
        raise Unsupported(
            "the relations of this problem contradict one another; see lsdt.candidate_set(side).conflict"
        )
    return found


def _by_rule(
    word: str,
    instances: list[Instance],
    candidates: list[CandidateSet] | None,
    tolerances: NDArray[np.float64],
    delta: float,
    most: int,
    key: tuple[int, ...],
) -> list[tuple[int, float, bool]]:
    """Play a rule that uses no relations, on all arms or on the candidates, in all runs of a tolerance."""
    played = [np.asarray(each.means, np.float64) for each in instances]
    if candidates is not None:
        played = [means[found.arms] for means, found in zip(played, candidates, strict=True)]
    table = np.full((len(played), max(map(len, played))), np.nan)
    for row, means in zip(table, played, strict=True):
        row[: len(means)] = means
    outcomes: list[tuple[int, float, bool]] = [(0, math.nan, False)] * len(instances)
    law = instances[0].rewards
    for tolerance in np.unique(tolerances):
        runs = np.flatnonzero(tolerances == tolerance)
        arguments = law.family, law.sigma, float(tolerance), delta, most, key
        finished = play_rule(WORDS[word], table[runs], *arguments)
        for at, run in enumerate(runs.tolist()):
            gap = float(instances[run].means.max() - table[run, finished.named[at]])
            outcomes[run] = int(finished.tries[at]), gap, bool(finished.stopped[at])
    return outcomes


def identified(
    instance: Instance,
    found: CandidateSet,
    tolerance: float,
    delta: float,
    most: int,
    key: tuple[int, int],
) -> tuple[int, float, bool]:
    """Play ``'identify'`` until the best arm is known; return tries, the gap of the arm found, and whether.

    It plays in compiled code between two checks of the stopping rule, which are as often as in `identify`.
    """
    means, law = np.array(instance.means, np.float64), instance.rewards
    ready = Policy("identify", tolerance=tolerance).begin(
        instance.side, law.model, None, new_stream(*key, Purpose.POLICY), found
    )
    player, gaps = ready.player, means.max() - means
    totals = RunTotals(
        new_stream(*key, Purpose.REWARD),
        np.zeros(2, np.int64),
        np.zeros(2),
        np.array([most + 1]),
        np.zeros(1),
        np.zeros(1),
        np.zeros(0, np.int64),
    )
    assert law.law is not None
    world = Setting(ready.arms, means, gaps, law.law, law.scale, law.shape)
    state, goal = player.state, -math.log(delta)
    rule = StoppingRule(instance.side, law.model, tolerance, found)
    if rule.note:  # the policy plays only candidates, and the rule would wait for the other arms
        raise Unsupported(f"in this problem, {rule.note}; correct its epsilon or its relations")
    counts, sums = np.zeros(len(means), np.int64), np.zeros(len(means))
    tries = 0
    while True:
        counts[ready.arms], sums[ready.arms] = state.tallies.counts, state.tallies.sums
        if tries >= most or not rule.is_out_of_reach(counts, sums, goal):
            verdict = rule.judge(counts, sums)
            if verdict.least >= goal or tries >= most:
                return tries, float(gaps[verdict.arms[verdict.leader]]), verdict.least >= goal
        more = min(max(tries // _CHECKS, 1), most - tries)
        player.play(world, totals, more)
        tries += more
