"""Sensitivity to the constants: lambda and the assumed epsilon of LSDT-PSI, alpha of LSDT-CSI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt import theory
from lsdt.plotting import Line, Panel, draw_panels
from lsdt.policies import Policy
from lsdt.problems import Instance, UniformProblem
from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import Claim, at_most, below, exactly, mean_of, number, ratio_of
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.sampling import note_on_runs, simulate_part, summary_table, values_at
from lsdt.side_information import SideInformation, from_means

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_BOUND_GAPS = (0.0, 0.5, 9.0, 9.5, 10.0)  # clear gaps, for which Theorem 6 is not vacuous
_BOUND_HORIZON = 10**9  # rounds: so many that only the growing terms matter


def _setting(request: Request) -> Setting:
    lambdas = [2.0**power for power in range(-9, 4)]
    return {
        "lambdas": lambdas[::3] if request.quick else lambdas,
        "alphas": [0.5, 2.0, 8.0, 32.0]
        if request.quick
        else [0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0],
        "epsilon_factors": [0.5, 1.0, 2.0]
        if request.quick
        else [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0],
        "partial": regret_figures.partial_setting(request, ()),
        "complete": regret_figures.complete_setting(request, ()),
        "horizon": regret_figures.HORIZON,
        "replications": request.replications,
    }


@dataclass(frozen=True)
class _WrongEpsilon:
    """A problem with true relations that tells policies a wrong epsilon."""

    true: UniformProblem
    factor: float

    @property
    def n_arms(self) -> int:
        return self.true.n_arms

    @property
    def rewards(self) -> Any:
        return self.true.rewards

    def draw(self, seed: int, replication: int) -> Instance:
        means, side, rewards = self.true.draw(seed, replication)
        told = SideInformation(
            side.n_arms,
            side.similar_pairs(),
            side.dissimilar_pairs(),
            epsilon=self.true.epsilon * self.factor,
        )
        return Instance(means, told, rewards)

    def describe(self) -> dict[str, Any]:
        return {**self.true.describe(), "told_epsilon": self.true.epsilon * self.factor}


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    partial, complete = (
        regret_figures.problem_of(setting["partial"]),
        regret_figures.problem_of(setting["complete"]),
    )
    studies: list[tuple[str, float, Any, Policy]] = [
        *(("lambda", value, partial, Policy("lsdt_psi", lambda_=value)) for value in setting["lambdas"]),
        *(("alpha", value, complete, Policy("lsdt_csi", alpha=value)) for value in setting["alphas"]),
        *(
            ("epsilon", value, _WrongEpsilon(partial, value), Policy("lsdt_psi"))
            for value in setting["epsilon_factors"]
        ),
    ]
    frames = []
    for place, (constant, value, problem, policy) in enumerate(studies):
        frames.append(_simulate_constant(constant, value, problem, policy, setting, work))
        work.done((place + 1) / len(studies))
    bounds = [
        {"lambda": value, "leading": _leading_terms(value, version), "version": version}
        for value in setting["lambdas"]
        for version in ("paper", "proof")
    ]
    return {"runs": pd.concat(frames, ignore_index=True), "bounds": pd.DataFrame(bounds)}


def _simulate_constant(
    constant: str, value: float, problem: Any, policy: Policy, setting: Setting, work: Work
) -> pd.DataFrame:
    import pandas as pd

    result = simulate_part(
        problem,
        policy,
        work,
        horizon=setting["horizon"],
        replications=setting["replications"],
        checkpoints=1,
        progress=False,
    )
    values = result.regret(policy)[:, -1]
    return pd.DataFrame({"constant": constant, "value": value, "run": result.numbers, "regret": values})


def _leading_terms(lambda_: float, version: str) -> float:
    """Return the growing terms of Theorem 6 for one instance with clear gaps."""
    means = np.array(_BOUND_GAPS)
    side = from_means(means, 1.0)
    bound = theory.upper_bound_psi(side, means, _BOUND_HORIZON, lambda_=lambda_, version=version)
    return float(bound.leading)


def _of(tables: Tables, constant: str, value: float) -> Any:
    return values_at(tables["runs"], "regret", constant=constant, value=value)


def _table(tables: Tables) -> pd.DataFrame:
    return summary_table(tables["runs"], ["constant", "value"], "regret")


def _draw(tables: Tables) -> Figure:
    runs = tables["runs"]
    looks = {
        "lambda": ("lambda of LSDT-PSI", True, (1 / 8, "1/8")),
        "alpha": ("alpha of LSDT-CSI", True, (8.0, "8")),
        "epsilon": ("assumed epsilon / true epsilon", False, (1.0, "true")),
    }
    panels = []
    for colour, (constant, (xlabel, log, mark)) in enumerate(looks.items()):
        rows = summary_table(runs[runs["constant"] == constant], ["value"], "regret")
        line = Line(
            constant,
            rows["value"],
            rows["regret"],
            rows["low"],
            rows["high"],
            points=True,
            colour=colour,
        )
        policy = "LSDT-CSI" if constant == "alpha" else "LSDT-PSI"
        panels.append(Panel([line], xlabel, f"regret of {policy}, T = 1,000", x_log=log, marks=[mark]))
    return draw_panels(panels, "How much the constants matter", note_on_runs(runs["run"]), height=3.9)


def _claims(tables: Tables) -> list[Claim]:
    bounds = tables["bounds"]
    spread = {
        version: rows["leading"].max() / rows["leading"].min() - 1.0
        for version, rows in bounds.groupby("version")
    }
    return [
        Claim(
            "lambda-not-in-bound",
            "The choice of lambda does not change the upper bound on the regret of LSDT-PSI.",
            "Section 6.2.2",
            (
                at_most("spread of Theorem 6 as stated over lambda", exactly(spread["paper"]), 1e-9),
                at_most("spread of the bound of its proof over lambda", exactly(spread["proof"]), 1e-9),
            ),
        ),
        _smaller_lambda(tables),
        Claim(
            "alpha-a-constant-factor",
            "A larger alpha in LSDT-CSI costs a constant factor at most (read: four times the alpha, four "
            "times the regret).",
            "Section 5.2",
            (
                at_most(
                    "regret at alpha 32 over regret at alpha 8",
                    ratio_of(_of(tables, "alpha", 32.0), _of(tables, "alpha", 8.0)),
                    32.0 / 8.0,
                ),
            ),
        ),
    ]


def _smaller_lambda(tables: Tables) -> Claim:
    runs = tables["runs"]
    lambdas = sorted(runs[runs["constant"] == "lambda"]["value"].unique())
    smallest = lambdas[0]
    checks = tuple(
        below(
            f"regret at lambda {smallest:.3g} minus at {other:.3g}",
            mean_of(_of(tables, "lambda", smallest) - _of(tables, "lambda", other)),
            0.0,
        )
        for other in (lambdas[-1], _near(lambdas, 0.125))
    )
    text = (
        "In practice a smaller lambda is better: it avoids excessive plays of arms that are not the best "
        "(read: the smallest tried against the largest and against the one used in the figures)."
    )
    return Claim("lambda-smaller-is-better", text, "Section 6.2.2", checks)


def _near(values: list[float], wanted: float) -> float:
    return min(values, key=lambda value: abs(np.log(value / wanted)))


def _discussion(tables: Tables) -> str:
    rows = _table(tables)
    best = {
        constant: rows[rows["constant"] == constant].sort_values("regret").iloc[0]
        for constant in ("lambda", "alpha", "epsilon")
    }
    true, half, double = (_of(tables, "epsilon", factor).mean() for factor in (1.0, 0.5, 2.0))
    return (
        f"Lowest regret at lambda {best['lambda']['value']:.3g} ({number(best['lambda']['regret'])}) and "
        f"at alpha {best['alpha']['value']:g} ({number(best['alpha']['regret'])}; proofs need alpha above "
        "6).\n\n"
        f"An epsilon that is half the true one gives {number(half)}, the true one {number(true)}, twice the "
        f"true one {number(double)}: the relations stay true here, only what LSDT-PSI adds to its bounds and "
        "the number of its epochs change."
    )


EXPERIMENT = Experiment(
    id="check-sensitivity",
    title="What lambda, alpha and a wrong epsilon change",
    paper="Sections 5.2 and 6.2.2",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=3.0,
)
