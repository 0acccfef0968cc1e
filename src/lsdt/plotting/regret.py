"""The plot of a study: mean regret by round, with bands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import check_kind, checked_flag, checked_list
from lsdt.errors import InvalidInput, counted
from lsdt.plotting.panels import Line, Panel, draw_lines, draw_named_lines, height_of_panel
from lsdt.plotting.style import axes_or_new, check_axes, write_note, write_title
from lsdt.simulation import SimulationResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    Bound = ArrayLike | Callable[[NDArray[np.int64]], ArrayLike]

_LAWS = {
    "gaussian": "Gaussian",
    "bernoulli": "Bernoulli",
    "student_t": "Student t",
    "pareto": "Pareto",
    "laplace": "Laplace",
}


def plot_regret(
    result: SimulationResult,
    ax: Axes | None = None,
    *,
    policies: Iterable[Any] | None = None,
    bounds: Mapping[str, Bound] | None = None,
    title: str | None = None,
    log: bool = False,
    legend: bool | None = None,
) -> Axes:
    """Plot the mean regret of policies with 95% bands, each named at the end of its line.

    Parameters
    ----------
    result : SimulationResult or ReplayResult
        What `lsdt.simulate` or `lsdt.replay` returned.
    ax : matplotlib Axes, optional
        Where to draw; by default into a new figure.
    policies : list, optional
        The policies to draw; by default all.
    bounds : dict, optional
        Curves to draw for comparison, by name: values at the checkpoints, or a function of the rounds.
    title : str, optional
        By default a description of the problem.
    log : bool
        Whether the regret has a logarithmic axis.
    legend : bool, optional
        Whether a legend names the lines instead. By default it does if `ax` is given, since there may be no
        room to the right of it.

    Returns
    -------
    matplotlib Axes
        The one that was given, or that of the new figure.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> problem = lsdt.problems.uniform(n_arms=20, epsilon=.2)
    >>> result = lsdt.simulate(problem, ["lsdt_csi", "ucb1"], horizon=200, replications=10)
    >>> axes = lsdt.plotting.plot_regret(result, bounds={"10 log t": lambda t: 10 * np.log(t)})
    >>> [line.get_label() for line in axes.lines]
    ['lsdt_csi, alpha=8', 'ucb1, alpha=2', '10 log t']
    """
    check_axes(ax)
    if title is not None:
        check_kind(title, str, "title must be text, or None for a description of the problem")
    panel = regret_panel(result, policies, bounds, log=log)
    axes = axes_or_new(ax, height_of_panel(panel))
    if (ax is not None) if legend is None else checked_flag(legend, "legend"):
        draw_lines(axes, panel, beside=ax is None)
    else:
        draw_named_lines(axes, panel)
    write_title(axes, title or problem_text(result), wrap=ax is not None)
    if ax is None:
        write_note(axes.figure.figure, _note(result))
    return axes


def regret_panel(
    result: SimulationResult,
    policies: Iterable[Any] | None = None,
    bounds: Mapping[str, Bound] | None = None,
    *,
    log: bool = False,
) -> Panel:
    """Return the numbers that `plot_regret` draws."""
    check_kind(result, SimulationResult, "plot_regret takes what lsdt.simulate or lsdt.replay returns")
    if bounds is not None:
        check_kind(bounds, Mapping, "bounds must be a dict from names to values or functions of the rounds")
    labels = result.policies
    if policies is not None:
        listed = checked_list(policies, "policies", "policies of the result")
        labels = [_label(result, policy) for policy in listed]
    marked = result.per_horizon or len(result.checkpoints) == 1
    lines = []
    for label in labels:
        mean, low, high = result.regret_interval(label)
        lines.append(Line(legend_text(result, label), result.checkpoints, mean, low, high, points=marked))
    for name, bound in (bounds or {}).items():
        values = _bound_values(str(name), bound, result.checkpoints)
        lines.append(Line(str(name), result.checkpoints, values, reference=True))
    return Panel(
        lines,
        "horizon T (rounds)" if result.per_horizon else "round t",
        "mean cumulative regret (reward units)",
        y_log=checked_flag(log, "log"),
        x_range=(0, result.horizon),
    )


def legend_text(result: SimulationResult, label: str) -> str:
    """Return the label of a policy, with the alpha of its UCB index if the label does not contain it."""
    parameters = result.described[result.policies.index(label)]["parameters"]
    if "alpha" in parameters and parameters.get("index", "ucb") == "ucb" and "alpha=" not in label:
        return f"{label}, alpha={parameters['alpha']:g}"
    return label


def _label(result: SimulationResult, policy: Any) -> str:
    result.regret(policy)
    return str(getattr(policy, "label", policy))


def _bound_values(name: str, bound: Any, checkpoints: NDArray[np.int64]) -> NDArray[np.float64]:
    try:
        values = np.asarray(bound(checkpoints) if callable(bound) else bound, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"the bound {name!r} must be numbers, or a function from rounds to numbers; got {bound!r}"
        ) from error
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
    return f"{note} (partial: {result.requested} were requested)" if result.partial else note


def problem_text(result: SimulationResult) -> str:
    """Return a description of the problem in one line."""
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
