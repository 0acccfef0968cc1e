"""Theorems 2, 3 and 6: bounds next to measured regret, and how often the bounds are vacuous."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.plotting import Line, Panel, draw_panels
from lsdt.problems import gaussian, given, uniform
from lsdt.reproduce.framework.claims import Check, Claim, at_least, below, mean_of, number
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.sampling import (
    line_of,
    note_on_runs,
    regret_frame,
    simulate_part,
    summary_table,
)
from lsdt.side_information import SideInformation, from_means
from lsdt.theory import (
    graves_lai_constant,
    lower_bound_constant,
    upper_bound_csi,
    upper_bound_psi,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

# Two end classes of two arms, far apart, and three arms between them that cannot be best.
_COMPLETE = {"means": [0.0, 0.8, 1.8, 3.0, 4.2, 5.2, 6.0], "epsilon": 2.0, "sigma": 1.0}
# A path with two equal ends at the bottom; one dissimilar pair is hidden, so the arm between them stays.
_PARTIAL = {
    "means": [0.0, 0.3, 0.95, 1.85, 2.75, 3.65, 4.55, 5.45, 6.35],
    "epsilon": 1.0,
    "sigma": 0.5,
    "hidden": [4, 6],
}
_GOOD = ("lsdt_csi", "ucb1", "imed")
_MEANT_FOR_C1 = "ossb"  # solves P1 in every round, so it plays fewer rounds
_LONGEST = 10**12  # rounds: the end of the search for the first round at which a bound is useful
_CSI = "Theorem 2, Section 3.3"
_LOWER = "Theorem 3, Section 3.3"
_PSI = "Theorem 6, Section 4.3"
# "Grows as log T" means: over the last three doublings by at most this factor times the growth over the three
# before. Regret that grows as the square root of T would give 2.8, linear regret 8. Decided before any run.
_STEADY = 1.25
_DOUBLINGS = 3


def _setting(request: Request) -> Setting:
    last = 14 if request.quick else 17
    return {
        "complete": {
            **_COMPLETE,
            "rewards": "gaussian",
            "policies": list(_GOOD),
            "horizons": [2**power for power in range(7, last + 1)],
            "slow_policy": _MEANT_FOR_C1,
            "slow_horizons": [2**power for power in range(7, last - 2)],
        },
        "partial": {
            **_PARTIAL,
            "rewards": "gaussian",
            "policies": ["lsdt_psi"],
            "horizons": [2**power for power in range(10, last + 1)],
        },
        "paper": {"arms": 100, "epsilon": 0.1, "horizon": 1000, "p": 0.5, "draws": 2 * request.replications},
        "replications": request.replications,
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    complete = _complete_regret(setting, work)
    work.done(0.6)
    partial = _partial_regret(setting, work)
    work.done(0.9)
    return {
        "regret": pd.concat([complete, partial], ignore_index=True),
        "bounds": pd.concat(
            [_complete_bounds(setting["complete"]), _partial_bounds(setting["partial"])], ignore_index=True
        ),
        "paper": _paper_draws(setting["paper"], work.seed),
    }


def _complete_side(case: dict[str, Any]) -> SideInformation:
    return from_means(case["means"], case["epsilon"])


def _partial_side(case: dict[str, Any]) -> SideInformation:
    """Return all relations except the hidden one."""
    whole = _complete_side(case)
    told = [pair for pair in whole.dissimilar_pairs().tolist() if pair != case["hidden"]]
    return SideInformation(whole.n_arms, whole.similar_pairs(), told, epsilon=case["epsilon"])


def _complete_regret(setting: Setting, work: Work) -> pd.DataFrame:
    import pandas as pd

    case = setting["complete"]
    problem = given(case["means"], _complete_side(case), gaussian(case["sigma"]))
    frames = []
    for policies, rounds in (
        (case["policies"], case["horizons"]),
        (case["slow_policy"], case["slow_horizons"]),
    ):
        result = simulate_part(
            problem,
            policies,
            work,
            horizon=rounds[-1],
            replications=setting["replications"],
            checkpoints=rounds,
            progress=False,
        )
        frames.append(regret_frame(result).assign(information="complete"))
    return pd.concat(frames, ignore_index=True)


def _partial_regret(setting: Setting, work: Work) -> pd.DataFrame:
    """Return the regret of LSDT-PSI, with one run per horizon since it must know the horizon."""
    case = setting["partial"]
    problem = given(case["means"], _partial_side(case), gaussian(case["sigma"]))
    result = simulate_part(
        problem,
        case["policies"],
        work,
        replications=setting["replications"],
        horizons=case["horizons"],
        progress=False,
    )
    return regret_frame(result).assign(information="partial")


def _complete_bounds(case: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd

    side, means, sigma = _complete_side(case), case["means"], case["sigma"]
    bound = upper_bound_csi(side, means, case["horizons"], sigma=sigma)
    c1, exact = lower_bound_constant(side, means, sigma), graves_lai_constant(side, means, sigma).value
    logs = np.log(case["horizons"])
    columns = {"upper": bound.value, "proof": bound.value, "c1": c1 * logs, "exact": exact * logs}
    worst = bound.largest_gap * np.asarray(case["horizons"], float)
    return pd.DataFrame({"information": "complete", "t": case["horizons"], **columns, "worst": worst})


def _partial_bounds(case: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd

    side, horizons = _partial_side(case), case["horizons"]
    bounds = {
        column: upper_bound_psi(side, case["means"], horizons, case["sigma"], version=version)
        for column, version in (("upper", "paper"), ("proof", "proof"))
    }
    worst = bounds["upper"].largest_gap * np.asarray(horizons, float)
    values = {column: bound.value for column, bound in bounds.items()}
    nothing = {"c1": math.nan, "exact": math.nan}
    return pd.DataFrame({"information": "partial", "t": horizons, **values, **nothing, "worst": worst})


def _paper_draws(case: dict[str, Any], seed: int) -> pd.DataFrame:
    """Return, for the paper's own random problems, whether the bounds are vacuous and when that ends."""
    import pandas as pd

    common: dict[str, Any] = {"n_arms": case["arms"], "low": 0.1, "epsilon": case["epsilon"]}
    complete = uniform(**common, high=1.0)
    partial = uniform(**common, high=0.9, rewards="bernoulli", p_similar=case["p"], p_dissimilar=case["p"])
    rows = []
    for draw in range(case["draws"]):
        known, half = complete.draw(seed, draw), partial.draw(seed, draw)
        bounds = {
            "Theorem 2": upper_bound_csi(known.side, known.means, case["horizon"]),
            "Theorem 6": upper_bound_psi(half.side, half.means, case["horizon"]),
        }
        candidates = {
            "Theorem 2": len(candidate_set(known.side, "anchors")),
            "Theorem 6": len(candidate_set(half.side, "triangles")),
        }
        for theorem, bound in bounds.items():
            told = {"vacuous": bound.vacuous, "from_round": _first_useful(bound)}
            rows.append({"theorem": theorem, "draw": draw, **told, "candidates": candidates[theorem]})
    return pd.DataFrame(rows)


def _first_useful(bound: Any) -> int:
    """Return the first round at which the bound is below the regret of always playing the worst candidate."""
    low, high = 0, _LONGEST
    while high - low > 1:
        middle = (low + high) // 2
        if float(bound(middle)) >= bound.largest_gap * middle:
            low = middle
        else:
            high = middle
    return high


def _table(tables: Tables) -> pd.DataFrame:
    """Return measured regret and bounds at every second number of rounds."""
    regret = tables["regret"]
    rows = summary_table(
        regret[regret["policy"].isin(["lsdt_csi", "lsdt_psi"])], ["information", "policy", "t"], "regret"
    )
    rows = rows.merge(tables["bounds"], on=["information", "t"])
    rows["vacuous"] = rows["upper"] >= rows["worst"]
    return rows[np.log2(rows["t"]) % 2 == 1].drop(columns="worst")


def _draw(tables: Tables) -> Figure:
    regret, bounds = tables["regret"], tables["bounds"]
    labels = {
        "lsdt_csi": "LSDT-CSI (alpha 8)",
        "ucb1": "UCB1 (alpha 2)",
        "imed": "IMED",
        "ossb": "OSSB",
        "lsdt_psi": "LSDT-PSI (lambda 1/8)",
    }
    panels = []
    for information, title, names in (
        ("complete", "Complete information, Theorems 2 and 3", {"upper": "upper bound", "c1": "C1 log T"}),
        ("partial", "Partial information, Theorem 6", {"upper": "upper bound", "worst": "worst candidate"}),
    ):
        measured = regret[regret["information"] == information]
        known = bounds[bounds["information"] == information]
        lines = [
            line_of(measured[measured["policy"] == policy], labels[policy], "t", "regret")
            for policy in measured["policy"].unique()
        ]
        for column, label in names.items():
            finite = known[np.isfinite(known[column])]
            lines.append(Line(label, finite["t"], finite[column], reference=True))
        panels.append(Panel(lines, "rounds T", "regret", title, x_log=True, y_log=True))
    return draw_panels(
        panels, "Regret and its bounds where gaps are clear", note_on_runs(regret["run"]), height=4.8
    )


def _claims(tables: Tables) -> list[Claim]:
    """Return the claims: upper bounds above, lower bounds below, and growth as log T."""
    policies = [str(name) for name in tables["regret"]["policy"].unique() if name != "lsdt_psi"]
    floors = tuple(_floor(tables, name) for name in policies)
    last, before = (_growth(tables, "lsdt_csi", back) for back in (0, _DOUBLINGS))
    steady = mean_of(last - _STEADY * before)
    return [
        Claim(
            "theorem-2",
            "LSDT-CSI's regret is below the bound, with its O(|B*|) written out, at every length at which "
            "the bound is not vacuous.",
            _CSI,
            (_largest_part(tables, "complete", "lsdt_csi", "upper"),),
        ),
        Claim(
            "theorem-3",
            "In the long run no good policy's regret grows by less than C1 for every unit of log T (read: "
            "over the last three doublings of T that were played).",
            _LOWER,
            floors,
        ),
        Claim(
            "lsdt-csi-order-optimal",
            "LSDT-CSI's regret is of the order of log T (read: over three doublings of T it grows by no more "
            f"than {_STEADY} times what it grew by over the three before).",
            "Remark 3, Section 3.3",
            (below(f"last growth minus {_STEADY} times the one before", steady, 0.0),),
        ),
        Claim(
            "theorem-6",
            "LSDT-PSI's regret is below the bound, with its O(|V'|) written out, at every horizon at which "
            "the bound is not vacuous.",
            _PSI,
            (_largest_part(tables, "partial", "lsdt_psi", "upper"),),
        ),
    ]


def _regrets(tables: Tables, policy: str) -> pd.DataFrame:
    """Return the regret of a policy, with one row per run and one column per number of rounds."""
    rows = tables["regret"]
    return rows[rows["policy"] == policy].pivot_table(index="run", columns="t", values="regret")


def _vacuous_words(paper: pd.DataFrame) -> str:
    """Return a sentence on how often the bounds are vacuous on the paper's own problems."""
    told = []
    for theorem, rows in paper.groupby("theorem", sort=False):
        rounds = float(rows["from_round"].median())
        each = float((rows["from_round"] / rows["candidates"]).median())
        told.append(
            f"{theorem}'s bound is vacuous (no better than always playing the worst candidate) in "
            f"{int(rows['vacuous'].sum()):,} of {len(rows):,} draws; in the median it is useful from round "
            f"{number(rounds)} on, {number(each)} rounds per candidate"
        )
    return f"On the paper's own problems (100 arms, epsilon 0.1, 1,000 rounds) {'. '.join(told)}."


def _largest_part(tables: Tables, information: str, policy: str, column: str) -> Check:
    """Check regret against a bound at the length where it comes closest and the bound is not vacuous."""
    known = tables["bounds"]
    known = known[(known["information"] == information) & (known[column] < known["worst"])]
    measured = _regrets(tables, policy)
    parts = {
        length: mean_of(measured[length].to_numpy() / limit)
        for length, limit in zip(known["t"], known[column], strict=True)
    }
    length = max(parts, key=lambda at: parts[at].value if np.isnan(parts[at].high) else parts[at].high)
    what = f"regret as a part of the bound, the largest of {len(parts)} lengths, at T = {length:,}"
    return below(what, parts[length], 1.0)


def _floor(tables: Tables, policy: str) -> Check:
    """Check that regret grows by at least C1 per unit of log T."""
    per_log = mean_of(_growth(tables, policy, 0) / (_DOUBLINGS * np.log(2.0)))
    known = tables["bounds"]
    last = known[known["information"] == "complete"].iloc[-1]
    start, end = _lengths(tables, policy, 0)
    what = f"growth of {policy}'s regret per unit of log T, {start:,} to {end:,} rounds, against C1"
    return at_least(what, per_log, float(last["c1"] / np.log(last["t"])))


def _lengths(tables: Tables, policy: str, back: int) -> tuple[int, int]:
    """Return the first and the last length of three doublings, `back` doublings before the end."""
    lengths = sorted(_regrets(tables, policy).columns)
    return lengths[-1 - back - _DOUBLINGS], lengths[-1 - back]


def _growth(tables: Tables, policy: str, back: int) -> NDArray[np.float64]:
    """Return the growth of regret over three doublings, `back` doublings before the end, run by run."""
    measured = _regrets(tables, policy)
    start, end = _lengths(tables, policy, back)
    grown: NDArray[np.float64] = (measured[end] - measured[start]).to_numpy(np.float64)
    return grown


def _discussion(tables: Tables) -> str:
    bounds = tables["bounds"].set_index(["information", "t"])
    regret = tables["regret"].groupby(["information", "policy", "t"], observed=True)["regret"].mean()
    csi, psi = regret["complete", "lsdt_csi"], regret["partial", "lsdt_psi"]
    longest, horizon = csi.index[-1], psi.index[-1]
    slow_length = int(regret["complete", _MEANT_FOR_C1].index[-1])
    slow = _regrets(tables, _MEANT_FOR_C1)[slow_length]
    upper = bounds["upper"]
    spread = f" on average, {number(slow.median())} in the median and {number(slow.max())} at most"
    per_log = bounds.loc[("complete", longest), ["c1", "exact"]] / np.log(longest)
    return (
        f"{_vacuous_words(tables['paper'])}\n\n"
        f"Where gaps are clear, LSDT-CSI's regret after {longest:,} rounds is {number(csi[longest])}; "
        f"Theorem 2 allows {number(upper['complete', longest])}. C1 is {number(per_log['c1'])} for every "
        f"unit of log T; the exact constant for these arms, by Graves and Lai, is {number(per_log['exact'])} "
        f"by our computation. OSSB, made to reach it, has a regret of {number(slow.mean())} after "
        f"{slow_length:,} rounds{spread if len(slow) > 1 else ''}.\n\n"
        f"LSDT-PSI's regret at T = {horizon:,} is {number(psi[horizon])} and Theorem 6 allows "
        f"{number(upper['partial', horizon])}, most of it the term that the theorem writes as O(|V'|). The "
        "number of the last epoch is rounded up, which the theorem's leading term does not count; with the "
        f"actual plays the bound is {number(bounds['proof']['partial', horizon])}."
    )


EXPERIMENT = Experiment(
    id="check-bounds",
    title="Upper and lower bounds and measured regret",
    paper="Theorems 2, 3 and 6",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=5.0,
)
