"""Regret as classes grow: slopes on made-up regrets, exploration values beside the naive programme."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lsdt.kernel.rewards import RewardModel
from lsdt.reproduce.framework.claims import FAILS, HOLDS, IN_PART
from lsdt.reproduce.framework.experiment import Request, Work
from lsdt.reproduce.theorems import check_corollary_1 as part
from lsdt.reproduce.theorems.block_graphs import BlockProblem
from lsdt.side_information.layouts.subset import subset
from naive.policies_lsdt import p2_size
from naive.worlds import world_of


def made_up(regret, share=1.1, growth=lambda arms: 10.0, held=True):
    rows = [
        {"policy": policy, "arms": arms, "t": t, "run": run, "regret": value * (1 + 0.01 * run)}
        for policy in ("lsdt_psi", "ucb1")
        for arms in (35, 70, 140, 280)
        for t, value in ((1000, regret(arms)), (4000, regret(arms) + growth(arms)))
        for run in range(4)
    ]
    one = {"p": 0.9, "class_size": 5, "bottom_share": share, "assumptions_hold": held}
    covers = [{**one, "run": run} for run in range(4)]
    return {"regret": pd.DataFrame(rows), "domination": pd.DataFrame(covers)}


@pytest.mark.parametrize(
    ("regret", "verdict"),
    [
        (lambda arms: 50.0, HOLDS),
        (lambda arms: arms**0.5, FAILS),
        (lambda arms: max(50.0, arms * 0.3), IN_PART),  # flat, and linear at the end
    ],
)
def test_flat_or_not(regret, verdict):
    assert part._claims(made_up(regret))[1].verdict == verdict


@pytest.mark.parametrize(
    ("growth", "verdict"),
    [(lambda arms: 7.0, HOLDS), (lambda arms: arms**0.2, HOLDS), (lambda arms: arms**0.3, FAILS)],
)
def test_growth_with_time_may_not_depend_on_the_arms(growth, verdict):
    claim = part._claims(made_up(lambda arms: float(arms), growth=growth))[0]
    assert claim.verdict == verdict
    assert claim.checks[-1].estimate.value == pytest.approx(growth(280) / growth(35))


def test_growth_is_per_unit_of_log_t():
    grown = part._growth(made_up(lambda arms: 0.0, growth=lambda arms: np.log(4.0)))
    assert grown.to_numpy() == pytest.approx(np.ones((4, 4)) * (1 + 0.01 * np.arange(4))[:, None])


def test_two_sizes_are_one_slope():
    tables = made_up(lambda arms: 50.0)
    tables["regret"] = tables["regret"][tables["regret"]["arms"] <= 70]
    assert len(part._claims(tables)[1].checks) == 1


def test_a_graph_beyond_the_assumptions_is_no_evidence():
    assert part._claims(made_up(lambda arms: 1.0, held=False))[2].verdict == IN_PART


def test_exploration_values_beyond_the_bound_refute_it():
    assert part._claims(made_up(lambda arms: 1.0, share=3.2))[2].verdict == HOLDS
    assert part._claims(made_up(lambda arms: 1.0, share=3.3, held=False))[2].verdict == FAILS


def test_slope_is_the_power():
    tables = made_up(lambda arms: arms**0.7)
    assert part._slope(tables, "lsdt_psi").value == pytest.approx(0.7)


def test_exploration_values_are_those_of_the_programme():
    problem = BlockProblem(7, 6, 0.16, 0.02, 0.2, 0.6)
    for row in part._covers(problem, runs=4, seed=1):
        bottom = subset(problem.draw(1, row["run"]).side, np.arange(6))
        world = world_of(bottom, RewardModel("bernoulli", 0.5), None)
        assert row["bottom_share"] == pytest.approx(p2_size(world))


def test_workers_do_not_matter():
    setting = part._setting(Request(replications=4, quick=True))
    one, two = (part._compute(setting, Work(n_jobs=jobs)) for jobs in (1, 2))
    for name in one:
        pd.testing.assert_frame_equal(one[name], two[name])
    assert one["domination"]["assumptions_hold"].all()
