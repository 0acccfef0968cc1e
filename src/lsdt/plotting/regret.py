"""Pictures of a study: mean regret against the round, with bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._files import checked_path
from lsdt._validation import check_kind
from lsdt.errors import InvalidInput, counted
from lsdt.plotting.panels import Line, Panel, draw_panels
from lsdt.plotting.style import write_figure
from lsdt.simulation import SimulationResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    Bound = ArrayLike | Callable[[NDArray[np.int64]], ArrayLike]

_LAWS = {
    "gaussian": "Gaussian",
    "bernoulli": "Bernoulli",
    "student_t": "Student t",
    "pareto": "Pareto",
    "laplace": "Laplace",
}


def draw_regret(
    result: SimulationResult,
    policies: Iterable[Any] | None = None,
    bounds: Mapping[str, Bound] | None = None,
    title: str | None = None,
    log: bool = False,
) -> Figure:
    """Draw the mean regret of policies with 95% bands.

    Parameters
    ----------
    result : SimulationResult
        What to draw.
    policies : list, optional
        Which policies; by default all.
    bounds : dict, optional
        Curves to draw beside them, by name: values at the checkpoints, or a function of the rounds.
    title : str, optional
        Instead of what the problem says of itself.
    log : bool
        Whether the regret has a logarithmic axis.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> from lsdt.plotting.regret import draw_regret
    >>> problem = lsdt.problems.uniform(n_arms=20, epsilon=.2)
    >>> result = lsdt.simulate(problem, ["lsdt_csi", "ucb1"], horizon=200, replications=10)
    >>> figure = draw_regret(result, bounds={"10 log t": lambda t: 10 * np.log(t)})
    """
    check_kind(result, SimulationResult, "regret is drawn of what lsdt.simulate or lsdt.replay returns")
    labels = result.policies if policies is None else [_known(result, policy) for policy in policies]
    marked = result.per_horizon or len(result.checkpoints) == 1
    lines = []
    for label in labels:
        mean, low, high = result.regret_interval(label)
        lines.append(Line(legend_text(result, label), result.checkpoints, mean, low, high, points=marked))
    for name, bound in (bounds or {}).items():
        values = _bound_values(name, bound, result.checkpoints)
        lines.append(Line(name, result.checkpoints, values, reference=True))
    panel = Panel(
        lines,
        "horizon T (rounds)" if result.per_horizon else "round t",
        "mean cumulative regret (reward units)",
        y_log=log,
        x_range=(0, result.horizon),
    )
    return draw_panels([panel], title or problem_text(result), _note(result))


def save_regret(result: SimulationResult, path: str | PathLike[str], **options: Any) -> None:
    """Draw the mean regret into a ``.svg``, ``.png`` or ``.pdf`` file; options as of `draw_regret`."""
    write_figure(draw_regret(result, **options), checked_path(path))


def legend_text(result: SimulationResult, label: str) -> str:
    """Return the label of a policy, with the alpha of its index where the label does not say it."""
    parameters = result.described[result.policies.index(label)]["parameters"]
    if "alpha" in parameters and parameters.get("index", "ucb") == "ucb" and "alpha=" not in label:
        return f"{label}, alpha={parameters['alpha']:g}"
    return label


def _known(result: SimulationResult, policy: Any) -> str:
    result.regret(policy)
    return str(getattr(policy, "label", policy))


def _bound_values(name: str, bound: Any, checkpoints: NDArray[np.int64]) -> NDArray[np.float64]:
    values = np.asarray(bound(checkpoints) if callable(bound) else bound, np.float64)
    if values.ndim == 0:
        values = np.full(len(checkpoints), values)
    if values.shape != checkpoints.shape:
        raise InvalidInput(
            f"the bound {name!r} must have one value for each of the {len(checkpoints)} checkpoints; "
            f"got shape {values.shape}"
        )
    return values


def _note(result: SimulationResult) -> str:
    runs = counted(result.replications, "replication")
    note = f"mean of {runs}, bands: 95% intervals of the mean"
    if result.replications == 1:
        note = "one replication: no intervals"
    return f"{note} (partial: {result.asked} were asked for)" if result.partial else note


def problem_text(result: SimulationResult) -> str:
    """Return the problem in one line."""
    problem = result.problem
    if problem.get("kind") == "replay":
        return f"{problem['ratings']:,} ratings of {problem['n_arms']:,} items replayed ({problem['method']})"
    law = problem.get("rewards", {}).get("law", "")
    rewards = _LAWS.get(law, law)
    if problem.get("kind") != "uniform":
        return f"{problem.get('n_arms', '')} arms, {rewards} rewards"
    shares = problem["p_similar"], problem["p_dissimilar"]
    known = "complete side information"
    if shares != (1.0, 1.0):
        same = f"{shares[0]:.0%}" if shares[0] == shares[1] else f"{shares[0]:.0%} / {shares[1]:.0%}"
        known = f"{same} of the relations known"
    return (
        f"{problem['n_arms']:,} arms, means on [{problem['low']:g}, {problem['high']:g}], "
        f"epsilon {problem['epsilon']:g}, {rewards} rewards, {known}"
    )
