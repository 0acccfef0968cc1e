"""Pictures of a study: mean regret against the round, with bands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.errors import InvalidInput, counted
from lsdt.report.style import COLOURS, INK, WIDTH, empty_figure, write_figure
from lsdt.simulation.result import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from lsdt.simulation import SimulationResult

    Bound = ArrayLike | Callable[[NDArray[np.int64]], ArrayLike]

# Colours repeat after six lines, dashes after twenty-four.
_DASHES = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
_LAWS = {
    "gaussian": "Gaussian",
    "bernoulli": "Bernoulli",
    "student_t": "Student t",
    "pareto": "Pareto",
    "laplace": "Laplace",
}
_MOST_LINES = len(COLOURS) * len(_DASHES)


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
    >>> from lsdt.report.figures import draw_regret
    >>> problem = lsdt.problems.uniform(n_arms=20, epsilon=.2)
    >>> result = lsdt.simulate(problem, ["lsdt_csi", "ucb1"], horizon=200, replications=10)
    >>> figure = draw_regret(result, bounds={"10 log t": lambda t: 10 * np.log(t)})
    """
    labels = result.policies if policies is None else [_known(result, policy) for policy in policies]
    if not 0 < len(labels) <= _MOST_LINES:
        raise InvalidInput(f"1 to {_MOST_LINES} policies can be told apart in one picture; got {len(labels)}")
    figure, axes = empty_figure(WIDTH, max(4.6, 0.9 + 0.24 * (len(labels) + len(bounds or ()))))
    lines = []
    for number, label in enumerate(labels):
        mean, low, high = interval(result.regret(label))
        look: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "ls": _DASHES[number // len(COLOURS)],
            "marker": "o" if result.per_horizon or len(result.checkpoints) == 1 else None,
            "ms": 3.5,
        }
        (line,) = axes.plot(result.checkpoints, mean, lw=1.8, label=legend_text(result, label), **look)
        axes.fill_between(result.checkpoints, low, high, color=look["color"], alpha=0.18, lw=0)
        lines.append((float(mean[-1]), line))
    for number, (name, bound) in enumerate((bounds or {}).items()):
        values = _bound_values(name, bound, result.checkpoints)
        grey = str(0.15 + 0.45 * (number % 3) / 2)
        (line,) = axes.plot(result.checkpoints, values, lw=1.2, color=grey, ls=(0, (2, 2)), label=name)
        lines.append((float(values[-1]), line))
    _dress(figure, result, title, log, [line for _, line in sorted(lines, key=lambda pair: -pair[0])])
    return figure


def save_regret(result: SimulationResult, path: str | PathLike[str], **options: Any) -> None:
    """Draw the mean regret into a ``.svg``, ``.png`` or ``.pdf`` file; options as of `draw_regret`."""
    write_figure(draw_regret(result, **options), Path(path))


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


def _dress(figure: Figure, result: SimulationResult, title: str | None, log: bool, lines: list[Any]) -> None:
    axes = figure.axes[0]
    axes.set_xlabel("horizon T (rounds)" if result.per_horizon else "round t")
    axes.set_ylabel("mean cumulative regret (reward units)")
    axes.set_xlim(0, result.horizon)
    if log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(color="#E4E4E4", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["right", "top"]].set_visible(False)
    axes.set_title(title or problem_text(result), loc="left", fontsize=11, color=INK, pad=12)
    axes.legend(
        handles=lines,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.02),
        frameon=False,
        fontsize=9,
        handlelength=3.2,
    )
    figure.supxlabel(_note(result), x=0.01, ha="left", fontsize=8.5, color="#555555")


def _note(result: SimulationResult) -> str:
    runs = counted(result.replications, "replication")
    note = f"mean of {runs}, bands: 95% intervals of the mean"
    if result.replications == 1:
        note = "one replication: no intervals"
    return f"{note} (partial: {result.asked} were asked for)" if result.partial else note


def problem_text(result: SimulationResult) -> str:
    """Return the problem in one line."""
    problem = result.problem
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
