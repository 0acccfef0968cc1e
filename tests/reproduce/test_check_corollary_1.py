"""Regret as classes grow: slopes on made-up regrets, exploration values beside the naive programme."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lsdt.kernel.rewards import RewardModel
from lsdt.reproduce import check_corollary_1 as part
from lsdt.reproduce.block_graphs import BlockProblem
from lsdt.reproduce.claims import FAILS, HOLDS, IN_PART
from lsdt.reproduce.experiments import Request, Work
from lsdt.side_information.restricting import restricted
from naive.policies_lsdt import p2_size
from naive.worlds import world_of


def made_up(regret, share=1.1):
    rows = [
        {"policy": policy, "arms": arms, "run": run, "regret": regret(arms) * (1 + 0.01 * run)}
        for policy in ("lsdt_psi", "ucb1")
        for arms in (35, 70, 140, 280)
        for run in range(4)
    ]
    covers = [{"p": 0.9, "class_size": 5, "run": run, "bottom_share": share} for run in range(4)]
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
    assert part._claims(made_up(regret))[0].verdict == verdict


def test_exploration_values_beyond_the_bound_refute_it():
    assert part._claims(made_up(lambda arms: 1.0, share=3.2))[1].verdict == HOLDS
    assert part._claims(made_up(lambda arms: 1.0, share=3.3))[1].verdict == FAILS


def test_slope_is_the_power():
    tables = made_up(lambda arms: arms**0.7)
    assert part._slope(tables, "lsdt_psi").value == pytest.approx(0.7)


def test_exploration_values_are_those_of_the_programme():
    problem = BlockProblem(7, 6, 0.16, 0.02, 0.2, 0.6)
    for row in part._covers(problem, runs=4, seed=1):
        bottom = restricted(problem.draw(1, row["run"]).side, np.arange(6))
        world = world_of(bottom, RewardModel("bernoulli", 0.5), None)
        assert row["bottom_share"] == pytest.approx(p2_size(world))


def test_workers_do_not_matter():
    setting = part._setting(Request(runs=10, quick=True))
    one, two = (part._compute(setting, Work(n_jobs=jobs)) for jobs in (1, 2))
    for name in one:
        pd.testing.assert_frame_equal(one[name], two[name])
    assert one["domination"]["assumptions_hold"].all()
