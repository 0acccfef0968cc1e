"""Bounds beside regret: claims on made-up regrets, the round from which a bound says something."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.candidates import candidate_set
from lsdt.reproduce.framework.claims import FAILS, HOLDS, IN_PART
from lsdt.reproduce.framework.experiment import Request, Work
from lsdt.reproduce.theorems import check_bounds as part
from lsdt.theory import upper_bound_csi

LENGTHS = [2**power for power in range(7, 18)]


def made_up(regret, psi=10.0):
    rows = [
        {"information": "complete", "policy": "lsdt_csi", "t": t, "run": run, "regret": regret(t) + 0.1 * run}
        for t in LENGTHS
        for run in range(3)
    ]
    rows += [
        {"information": "partial", "policy": "lsdt_psi", "t": t, "run": run, "regret": psi + 0.1 * run}
        for t in LENGTHS
        for run in range(3)
    ]
    t = np.array(LENGTHS, float)
    common = {"t": LENGTHS, "upper": 50 * np.log(t), "worst": 5 * t}
    known = pd.DataFrame({"information": "complete", **common, "c1": 2 * np.log(t), "exact": 3 * np.log(t)})
    return {
        "regret": pd.DataFrame(rows),
        "bounds": pd.concat([known, known.assign(information="partial")], ignore_index=True),
    }


@pytest.mark.parametrize(
    ("regret", "verdicts"),
    [
        (lambda t: 10 * np.log(t), [HOLDS, HOLDS, HOLDS]),
        (lambda t: 2.5 * np.log(t), [HOLDS, HOLDS, HOLDS]),  # C1 is 2
        (lambda t: np.log(t), [HOLDS, FAILS, HOLDS]),
        (lambda t: np.sqrt(t), [HOLDS, HOLDS, FAILS]),
        (lambda t: 60 * np.log(t), [FAILS, HOLDS, HOLDS]),
    ],
)
def test_verdicts_on_complete_information(regret, verdicts):
    assert [claim.verdict for claim in part._claims(made_up(regret))[:3]] == verdicts


def test_theorem_6_is_compared_where_it_is_not_vacuous():
    """At 128 rounds the bound is 243 and the worst candidate loses 640."""
    assert part._claims(made_up(np.log, psi=200.0))[3].verdict == HOLDS
    assert part._claims(made_up(np.log, psi=300.0))[3].verdict == FAILS
    tables = made_up(np.log, psi=300.0)
    tables["bounds"].loc[tables["bounds"]["t"] < 2**10, "worst"] = 1.0  # now vacuous there
    assert part._claims(tables)[3].verdict == HOLDS


def test_first_useful_round():
    means = [0.0, 0.5, 1.0]
    side = lsdt.from_means(means, epsilon=0.75)
    bound = upper_bound_csi(side, means, horizon=10)
    first = part._first_useful(bound)
    assert upper_bound_csi(side, means, horizon=first - 1).vacuous
    assert not upper_bound_csi(side, means, horizon=first).vacuous


def test_the_instances_are_what_they_are_said_to_be():
    assert candidate_set(part._complete_side(part._COMPLETE)).arms.tolist() == [0, 1, 5, 6]
    assert candidate_set(part._partial_side(part._PARTIAL), "triangles").arms.tolist() == [0, 1, 5, 8]


def test_a_policy_that_plays_fewer_rounds_is_judged_on_its_last_ones():
    tables = made_up(lambda t: 10 * np.log(t))
    slow = tables["regret"][lambda rows: (rows["policy"] == "lsdt_csi") & (rows["t"] <= 2**12)]
    slow = slow.assign(policy="ossb", regret=slow["run"])
    tables["regret"] = pd.concat([tables["regret"], slow], ignore_index=True)
    claim = part._claims(tables)[1]
    assert [check.outcome for check in claim.checks] == ["confirmed", "refuted"]
    assert "512 to 4,096 rounds" in claim.checks[1].what
    assert claim.verdict == IN_PART


def test_workers_do_not_matter():
    setting = part._setting(Request(replications=3, quick=True))
    one, two = (part._compute(setting, Work(n_jobs=jobs)) for jobs in (1, 2))
    for name in one:
        pd.testing.assert_frame_equal(one[name], two[name])
