"""Names and colours of policies, the same in all figures, tables and checks, and comparisons in words.

Names are the paper's. Alpha is given in brackets if an index has one, and so is any other parameter that
differs from its default.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt.policies import specification_of
from lsdt.reproduce.framework.claims import mean_of, number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from lsdt.kernel import RewardModel
    from lsdt.policies import Policy
    from lsdt.reproduce.framework.claims import Estimate
    from lsdt.reproduce.framework.experiment import Setting
    from lsdt.simulation import SimulationResult

LSDT_CSI, LSDT_PSI, LSDT_TS = "LSDT-CSI (alpha 8)", "LSDT-PSI", "LSDT-TS"
UCB1, TS, CKL_UCB, OSUB, OSSB = "UCB1 (alpha 2)", "TS", "CKL-UCB", "OSUB", "OSSB"
UCB1_ON_BSTAR, UCB1_ON_B0 = "UCB1 on B* (alpha 2)", "UCB1 on B0 (alpha 2)"
TS_ON_BSTAR, TS_ON_B0 = "TS on B*", "TS on B0"
LSDT_CSI_2, UCB1_8, UCB1_8_ON_BSTAR = "LSDT-CSI (alpha 2)", "UCB1 (alpha 8)", "UCB1 on B* (alpha 8)"
CKL_UCB_SQUARED, LSDT_TS_LEAST = "CKL-UCB (squared distance)", "LSDT-TS (least likely out)"
CKL_UCB_FLOOR, CKL_UCB_SQUARED_FLOOR = "CKL-UCB (floor)", "CKL-UCB (squared distance, floor)"

# The paper's own policies never share a figure, so they share a colour. Adding 7 to a number makes it dashed.
_COLOURS = {
    LSDT_CSI: 0,
    LSDT_PSI: 0,
    LSDT_TS: 0,
    UCB1: 1,
    TS: 2,
    CKL_UCB: 3,
    OSUB: 4,
    OSSB: 5,
    UCB1_ON_BSTAR: 6,
    UCB1_ON_B0: 6,
    LSDT_CSI_2: 7,
    LSDT_TS_LEAST: 7,
    UCB1_8: 8,
    TS_ON_BSTAR: 9,
    TS_ON_B0: 9,
    CKL_UCB_SQUARED: 10,
    CKL_UCB_FLOOR: 17,
    CKL_UCB_SQUARED_FLOOR: 24,
    UCB1_8_ON_BSTAR: 13,
}
# The paper's figures have one LSDT-TS each; a contest has both, with their full titles.
_SHORT = {"lsdt_ts_csi": "LSDT-TS", "lsdt_ts_psi": "LSDT-TS"}
_INDICES = {"moss": "MOSS", "kl_ucb": "KL-UCB", "gaussian_ts": "Gaussian TS"}

# The colours of the lines of a contest.
CONTEST_COLOURS = {
    "lsdt_csi": 0,
    "lsdt_psi": 7,
    "ts": 2,
    "ts@paper": 9,
    "ts@propagation": 16,
    "ckl_ucb": 3,
    "kl_ucb": 10,
    "soft_closure": 1,
    "lsdt_closure": 4,
    "lsdt_watchful": 5,
    "lsdt_posterior": 8,
}


def names_of(setting: Setting, policies: list[Policy], result: SimulationResult) -> dict[str, str]:
    """Return the names of the policies of a study, by their labels."""
    complete = setting["revealed"] == 1.0
    described = zip(policies, result.policies, result.described, strict=True)
    return {
        label: _name(policy, _SHORT.get(policy.name, each["title"]), each["parameters"], complete)
        for policy, label, each in described
    }


def contest_name(policy: Policy, rewards: RewardModel, complete: bool) -> str:
    """Return the name of a policy in a contest."""
    described = policy.describe(rewards)
    return _name(policy, described["title"], described["parameters"], complete)


def _name(policy: Policy, title: str, parameters: dict[str, object], complete: bool) -> str:
    given, special = policy.parameters, ""
    if given.get("index", "ucb") != "ucb":
        special = f"index of {_INDICES[given['index']]}"
    elif given.get("tails") == "heavy":
        special = "truncated means"
    elif "alpha" in parameters:
        special = f"alpha {parameters['alpha']:g}"
    elif given.get("divergence") == "gaussian":
        special = "squared distance"
    elif given.get("elimination") == "least_likely":
        special = "least likely out"
    told, _, note = title.removesuffix(")").partition(" (")
    floor = "floor" if given.get("floor") == "mean" else ""
    notes = ", ".join(filter(None, (note, special, floor)))
    return told + _where(policy, complete) + (f" ({notes})" if notes else "")


def _where(policy: Policy, complete: bool) -> str:
    if policy.on == "all" or specification_of(policy.name).offline:  # these include the offline step
        return ""
    if policy.on != "paper":
        return f" on {policy.on}"
    return " on B*" if complete else " on B0"


def colour_of(name: str) -> int:
    """Return the number of a policy's colour."""
    return _COLOURS[name]


def with_interval(estimate: Estimate) -> str:
    """Return a number as text, with its interval if it has one."""
    if math.isnan(estimate.low):
        return number(estimate.value)
    return f"{number(estimate.value)} ({number(estimate.low)} to {number(estimate.high)})"


def regret_comparison(first: str, second: str, regret: ArrayLike, other: ArrayLike) -> str:
    """Return a sentence on whether a policy loses clearly less than another, clearly more, or neither.

    `regret` and `other` are paired by run.
    """
    difference = mean_of(np.asarray(regret, np.float64) - np.asarray(other, np.float64))
    value, low, high = difference
    if math.isnan(low):
        return f"{first} loses {number(abs(value))} {_side(value)} than {second} in the only run"
    if low <= 0.0 <= high:
        return f"{first} and {second} do not clearly differ: {with_interval(difference)} between them"
    ends = sorted((abs(low), abs(high)))
    how_far = f"{number(abs(value))} ({number(ends[0])} to {number(ends[1])})"
    return f"{first} loses {how_far} {_side(value)} than {second}"


def _side(value: float) -> str:
    return "less" if value < 0.0 else "more"
