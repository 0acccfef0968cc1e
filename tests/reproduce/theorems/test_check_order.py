"""What LSDT-CSI's regret depends on: the instances by the book, verdicts on made-up regrets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lsdt.reproduce.framework.claims import FAILS, HOLDS
from lsdt.reproduce.framework.experiment import Request, Work
from lsdt.reproduce.theorems import check_order as part
from lsdt.reproduce.theorems.growth import by_arms, power_of_arms
from naive.candidates import by_theorem_1
from naive.graphs import similar_from_means
from naive.intervals import slope


@pytest.fixture(scope="module")
def tables():
    return part._compute(part._setting(Request(replications=2, quick=True)), Work())


@pytest.mark.parametrize("n_arms", [10, 20, 40])
def test_only_the_four_end_arms_can_be_best(n_arms):
    means = part.line_means(n_arms)
    assert len(means) == n_arms
    similar = similar_from_means(means, part._EPSILON)
    assert by_theorem_1(means, similar) == {frozenset({0, 1}), frozenset({n_arms - 2, n_arms - 1})}


def verdicts(tables):
    return {claim.name: claim.verdict for claim in part._claims(tables)}


@pytest.mark.parametrize(
    ("power", "order", "linear"), [(0.0, HOLDS, FAILS), (0.5, FAILS, FAILS), (1.0, FAILS, HOLDS)]
)
def test_verdicts_follow_the_power(tables, power, order, linear):
    line = tables["line"]
    regret = line["arms"] ** power * (1 + 0.01 * line["run"])
    found = verdicts({**tables, "line": line.assign(regret=regret)})
    assert (found["lsdt-csi-order-in-k"], found["ucb1-linear-in-k"]) == (order, linear)


def test_one_different_run_is_not_ucb(tables):
    extremes = tables["extremes"]
    assert verdicts(tables)["complete-graph-is-ucb"] == HOLDS
    assert verdicts(tables)["no-similar-pair-is-ucb"] == HOLDS
    other = {**tables, "extremes": extremes.assign(same=extremes["run"] > 0)}
    assert verdicts(other)["complete-graph-is-ucb"] == FAILS
    assert verdicts(other)["no-similar-pair-is-ucb"] == FAILS


def test_more_than_two_classes_a_component_are_seen(tables):
    counts = tables["components"]
    assert verdicts(tables)["components-two-classes"] == HOLDS
    more = counts.assign(classes=counts["twice"] + (counts["run"] == 0))
    assert verdicts({**tables, "components": more})["components-two-classes"] == FAILS


def test_power_of_arms_takes_runs_that_have_every_size():
    rows = pd.DataFrame(
        [{"arms": k, "run": run, "regret": 3.0 * k**run} for k in (10, 30) for run in (0, 1)]
        + [{"arms": 90, "run": 1, "regret": 270.0}]
    )
    assert power_of_arms(rows).value == pytest.approx(1.0)
    assert power_of_arms(rows[rows["arms"] < 90]).value == pytest.approx(0.5)
    assert np.isnan(power_of_arms(rows).low)


def test_power_of_arms_is_the_mean_slope_of_the_runs():
    rng = np.random.default_rng(0)
    arms = [10, 20, 40, 80]
    regret = np.array(arms) ** 0.7 * rng.uniform(0.5, 2.0, (5, 4))
    rows = [
        {"arms": k, "run": run, "regret": regret[run, at]} for run in range(5) for at, k in enumerate(arms)
    ]
    slopes = [slope(np.log(arms), np.log(values)) for values in regret]
    assert power_of_arms(pd.DataFrame(rows)).value == pytest.approx(np.mean(slopes), abs=1e-9)


def test_numbers_by_arms():
    assert by_arms(pd.Series({10: 1.5})) == "1.5 at 10 arms"
    assert by_arms(pd.Series({10: 1.5, 20: 2.0, 1000: 3.0})) == (
        "1.5 at 10 arms, 2 at 20 arms and 3 at 1,000 arms"
    )
