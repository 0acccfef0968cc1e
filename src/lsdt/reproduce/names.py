"""What policies are called in figures, tables and checks, and which colour each has: the same everywhere.

Names are the paper's. Alpha stands in brackets where an index has one; whatever else differs from the usual
does so too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsdt.policies.policy import Policy
    from lsdt.reproduce.experiments import Setting
    from lsdt.simulation import SimulationResult

LSDT_CSI, LSDT_PSI, LSDT_TS = "LSDT-CSI (alpha 8)", "LSDT-PSI", "LSDT-TS"
UCB1, TS, CKL_UCB, OSUB, OSSB = "UCB1 (alpha 2)", "TS", "CKL-UCB", "OSUB", "OSSB"
UCB1_ON_BSTAR, UCB1_ON_B0 = "UCB1 on B* (alpha 2)", "UCB1 on B0 (alpha 2)"
TS_ON_BSTAR, TS_ON_B0 = "TS on B*", "TS on B0"
LSDT_CSI_2, UCB1_8, UCB1_8_ON_BSTAR = "LSDT-CSI (alpha 2)", "UCB1 (alpha 8)", "UCB1 on B* (alpha 8)"
CKL_UCB_SQUARED, LSDT_TS_LEAST = "CKL-UCB (squared distance)", "LSDT-TS (least likely out)"

# The paper's own policies are never on one figure: they share a colour. Seven more is the same one, dashed.
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
    UCB1_8_ON_BSTAR: 13,
}
_TITLES = {
    "lsdt_csi": "LSDT-CSI",
    "lsdt_psi": "LSDT-PSI",
    "lsdt_ts_csi": "LSDT-TS",
    "lsdt_ts_psi": "LSDT-TS",
    "ucb1": "UCB1",
    "ts": "TS",
    "ckl_ucb": "CKL-UCB",
    "osub": "OSUB",
    "ossb": "OSSB",
}


def names_of(setting: Setting, policies: list[Policy], result: SimulationResult) -> dict[str, str]:
    """Return the names of the policies of a study, by their labels."""
    complete = setting["revealed"] == 1.0
    described = zip(policies, result.policies, result.described, strict=True)
    return {label: _name(policy, each["parameters"], complete) for policy, label, each in described}


def _name(policy: Policy, parameters: dict[str, object], complete: bool) -> str:
    built_in = policy.name.startswith("lsdt_")  # these play on the candidates anyway
    where = "" if built_in or policy.on == "all" else " on B*" if complete else " on B0"
    asked = policy.parameters
    special = ""
    if "alpha" in parameters:
        special = f" (alpha {parameters['alpha']:g})"
    elif asked.get("divergence") == "gaussian":
        special = " (squared distance)"
    elif asked.get("elimination") == "least_likely":
        special = " (least likely out)"
    return f"{_TITLES[policy.name]}{where}{special}"


def colour_of(name: str) -> int:
    """Return the number of a policy's colour."""
    return _COLOURS[name]
