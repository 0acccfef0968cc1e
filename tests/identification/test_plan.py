"""`lsdt.plan`: what is drawn, played and said before the first try."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import lsdt
from lsdt.cli.main import main
from lsdt.errors import InconsistentSideInformation, InvalidInput, Unsupported
from lsdt.identification.plan_runs import (
    LikelyMeans,
    classical_tries,
    left_with_pairs,
    likely_means,
    played_out,
    regret_of,
)
from lsdt.policies import Policy, StoppingRule
from naive import plans

BERNOULLI = lsdt.rewards.bernoulli()


def drawn(side, between=None, law=BERNOULLI, runs=40):
    return likely_means(lsdt.candidate_set(side), law, between, runs, 3)


@pytest.mark.parametrize("between", [None, (0.2, 0.75)])
def test_means_satisfy_all_relations_and_lie_in_the_box(between):
    side = lsdt.problems.uniform(20, 0.2, 0.7, 0.1, "bernoulli", 0.5, 0.5).draw(1, 0).side
    likely = drawn(side, between)
    low, high = between or (0.0, 1.0)
    assert likely.means.shape == (40, 20)
    assert low <= likely.means.min() < likely.means.max() <= high
    for row in likely.means:
        assert plans.broken(side, row) == []
    assert len({tuple(row) for row in likely.means}) == 40


def test_how_far_means_spread_follows_from_how_many_are_similar():
    """Draws that filled [0, 1] had larger gaps than the problem, and a quarter of its tries."""
    side = lsdt.problems.uniform(30, 0.1, 0.4, 0.1, "bernoulli", 0.5, 0.5).draw(1, 0).side
    assert 0.2 < np.ptp(drawn(side).means, axis=1).mean() < 0.4


def test_ranges_are_scaled_with_the_box():
    side = lsdt.SideInformation(3, ranges=[(0, 1, 0.01, 0.03), (1, 2, -0.02, 0.02)])
    likely = drawn(side, (0.0, 0.1))
    assert likely.means.max() <= 0.1
    assert np.ptp(likely.means[:, 0]) > 0.04  # the level is free
    for row in likely.means:
        assert plans.broken(side, row) == []


def test_without_relations_means_are_uniform_in_the_box():
    likely = drawn(lsdt.SideInformation(50), (0.2, 0.4), runs=200)
    margin = 4.0 * 0.2 / math.sqrt(12 * likely.means.size)
    assert abs(likely.means.mean() - 0.3) < margin
    with pytest.raises(InvalidInput, match=r"means_between=\(low, high\)"):
        drawn(lsdt.SideInformation(3), law=lsdt.rewards.gaussian())


@pytest.mark.parametrize("more", [{}, {"similar": [(0, 1)], "epsilon": 0.1}])
def test_an_arm_that_a_log_beat_is_the_best_of_no_draw(more):
    log, _ = lsdt.ratings.make_log(n_users=3000, n_items=20, ratings_per_user=9, seed=2)
    side = lsdt.from_ratings(lsdt.ratings.read_log(log))
    if more:
        side = lsdt.merge([side, lsdt.SideInformation(20, arm_ids=side.arm_ids, **more)])
    left = lsdt.candidate_set(side).arms
    assert len(left) < 5
    likely = drawn(side, runs=200)
    best = likely.arms[likely.means.argmax(axis=1)]
    assert set(best.tolist()) <= set(left.tolist())
    if not more:  # then each is the best equally often: 200 / 2, give or take four standard errors
        share = np.mean(best == left[0])
        assert abs(share - 1 / len(left)) < 4 * math.sqrt(0.25 / 200)
        assert len(likely.arms) == 20
        assert np.sort(likely.means).mean(axis=0) == pytest.approx(np.arange(1, 21) / 21, abs=0.1)
        rounds = lsdt.plan(side, tolerance=0.1, horizons=[500], runs=20, n_pairs=0).rounds.iloc[0]
        assert rounds["high"] < rounds["without"]


def test_regret_is_that_of_a_simulation_on_the_same_means():
    side = lsdt.problems.uniform(8, 0.1, 0.9, 0.2, "bernoulli", 0.6, 0.6).draw(4, 0).side
    likely = drawn(side, runs=5)

    class Drawn:
        n_arms, rewards = 8, "bernoulli"

        def draw(self, seed, replication):
            return lsdt.problems.Instance(likely.means[replication], side, self.rewards)

    for policy in ("ts", "lsdt_closure"):
        found = lsdt.candidate_set(side, method="propagation")
        regret = regret_of(Policy(policy), side, BERNOULLI, found, likely, [30, 100], seed=7)
        result = lsdt.simulate(Drawn(), [policy], 100, 5, seed=7, checkpoints=[30, 100], n_jobs=1)
        np.testing.assert_allclose(regret, result.regret(policy), rtol=0, atol=1e-9)


def test_tries_are_those_of_the_policy_played_step_by_step():
    side = lsdt.problems.uniform(8, 0.1, 0.9, 0.3, "bernoulli", 0.7, 0.7).draw(2, 0).side
    likely = drawn(side, runs=40)
    rule = StoppingRule(side, BERNOULLI.model, 0.3)
    tries, left = played_out(rule, likely, 0.05, 10_000, seed=5)
    slow = np.array(
        [plans.tries_until_known(side, row, 0.3, 0.05, run) for run, row in enumerate(likely.means)]
    )
    # Independent runs on the same means: the mean of the differences of logarithms.
    differences = np.log(tries) - np.log(slow)
    assert abs(differences.mean()) < 4.0 * differences.std() / math.sqrt(len(slow))
    assert left.min() >= 1
    few, more_left = played_out(rule, likely, 0.05, 3, seed=5)
    assert few.max() <= 3
    assert more_left.mean() >= left.mean()


def test_pairs_leave_what_the_candidates_of_the_answers_are():
    side = lsdt.SideInformation(4, similar=[(0, 1), (0, 2)], epsilon=0.2)
    one = LikelyMeans(np.arange(4), np.array([[0.5, 0.6, 0.35, 0.95]]))
    # Arms 1 and 2 are dissimilar, so that 0 is out; 3 is dissimilar to all others.
    asked, left = left_with_pairs(side, one, 6)
    assert left.tolist() == [3]
    assert 1 <= asked[0] <= 4  # only four of the six pairs are unknown
    near = LikelyMeans(np.arange(4), np.array([[0.5, 0.6, 0.45, 0.95], [0.5, 0.6, 0.35, 0.95]]))
    assert left_with_pairs(side, near, 6)[1].tolist() == [4, 3]


def test_the_classical_formula():
    from scipy.stats import norm

    n = 2 * 0.25 * (norm.isf(0.05 / 9) + norm.isf(0.1)) ** 2 / 0.1**2
    assert classical_tries(10, 0.5, 0.1, 0.05) == 10 * math.ceil(n)
    assert classical_tries(1, 0.5, 0.1, 0.05) == 0


def test_tolerances_and_budgets():
    side = lsdt.from_means([0.1, 0.3, 0.5, 0.7], epsilon=0.25)
    plan = lsdt.plan(side, horizons=[30, 1_000], n_pairs=5, runs=10)
    table = plan.tolerances
    assert table["tolerance"].tolist() == [1.0, 0.5, 0.25, 0.125, 0.0625]
    assert table["tries"].is_monotonic_increasing
    small, large = plan.rounds["tolerance"]
    assert large <= small or math.isnan(small)
    affordable = table[table["tolerance"] == large].iloc[0]
    assert affordable["tries"] <= 1_000
    assert plan.rounds["regret"].is_monotonic_increasing
    assert plan.learning["more"].tolist() == ["5 more tries"]  # all pairs are known
    assert "can be the best" in plan.text


def test_all_tolerances_are_played_on_the_same_means():
    """A tolerance gets the same tries whichever row it is in, and a smaller one takes no fewer."""
    side = lsdt.problems.uniform(20, 0.1, 0.9, 0.1, "bernoulli", 0.5, 0.5).draw(1, 0).side
    plan = lsdt.plan(side, tolerance=0.2, horizons=[], n_pairs=0, runs=40)
    halved = lsdt.plan(side, tolerance=0.1, horizons=[], n_pairs=0, runs=40)
    columns = ["tolerance", "tries", "low", "high"]
    rows, others = plan.tolerances[columns].iloc[1:4], halved.tolerances[columns].iloc[0:3]
    np.testing.assert_array_equal(rows.to_numpy(), others.to_numpy())
    assert plan.tolerances["tries"].is_monotonic_increasing
    assert plan.tolerances["high"].is_monotonic_increasing


def test_an_error_may_be_as_rare_as_a_number_can_be():
    plan = lsdt.plan(lsdt.from_means([0.1, 0.9], 0.3), delta=1e-320, horizons=[10], n_pairs=0, runs=2)
    assert 100 < plan.classical < 100_000


def test_arms_beaten_in_a_log_are_never_the_best():
    """They lay above all candidates in most draws, and plans counted the regret against them."""
    log, _ = lsdt.ratings.make_log(n_users=2000, n_items=6, ratings_per_user=5)
    side = lsdt.from_ratings(log)
    assert lsdt.candidate_set(side).arm_ids == [2]
    likely = drawn(side)
    assert likely.means.shape == (40, 6)
    assert (likely.means.argmax(axis=1) == 2).all()
    plan = lsdt.plan(side, tolerance=0.1, horizons=[50], n_pairs=0, runs=5)
    assert plan.rounds["regret"].tolist() == [0.0]
    assert plan.rounds["without"][0] > 1.0


def test_a_policy_on_arms_without_means_is_refused():
    """Their means were taken for 0."""
    side = lsdt.from_means(np.linspace(0.1, 0.9, 1_100), epsilon=0.1)
    with pytest.raises(Unsupported, match="plan for ucb1@propagation"):
        lsdt.plan(side, policy="ucb1", horizons=[20], n_pairs=0, runs=2)


def test_one_try_is_not_tries():
    plan = lsdt.plan(lsdt.from_means([0.1, 0.2, 0.9], 0.3), delta=0.999, horizons=[], n_pairs=0, runs=2)
    assert plan._replace(tries=(1.0, 1.0, 2.0)).text.count("1 try (90% of runs: 1 to 2)") == 1


def test_one_arm_is_known_from_the_start():
    plan = lsdt.plan(lsdt.SideInformation(1), tolerance=0.1, horizons=[10], n_pairs=0, runs=2)
    assert plan.tries == (0.0, 0.0, 0.0)
    assert plan.rounds["regret"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0}, "a tolerance above 0"),
        ({"tolerance": 1e200}, "at most 1e\\+100"),
        ({"tolerance": 1e-320}, "1e-06 times the noise of a reward, whose sigma is 0.5"),
        ({"means_between": (0.5, 0.2)}, "in this order"),
        ({"means_between": (0.5, 2)}, "means_between must be"),
        ({"means_between": 3}, "means_between"),
        ({"runs": 1}, "runs must be"),
        ({"horizons": [0]}, "every horizon"),
        ({"n_pairs": -1}, "n_pairs must be"),
        ({"epsilon": 0.2}, "epsilon"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.plan(lsdt.from_means([0.1, 0.2], epsilon=0.3), **options)


def test_contradictory_relations_are_refused():
    claw = lsdt.SideInformation(
        4, similar=[(0, 1), (0, 2), (0, 3)], dissimilar=[(1, 2), (1, 3), (2, 3)], epsilon=0.1
    )
    with pytest.raises(InconsistentSideInformation, match="no means can satisfy"):
        lsdt.plan(claw)


def test_contradictory_order_is_refused_by_name_without_a_warning(recwarn):
    circle = lsdt.SideInformation(3, better=[(0, 1), (1, 2), (2, 0)])
    with pytest.raises(InconsistentSideInformation, match="correct them: .*0 is better than 1"):
        lsdt.plan(circle, tolerance=0.1)
    assert not recwarn.list


def test_pairs_without_epsilon_ask_for_one():
    """A tolerance was asked for, and then means_between, neither of which helps."""
    side = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(1, 2)])
    for options in ({}, {"tolerance": 0.1}, {"tolerance": 0.1, "means_between": (0.0, 0.5)}):
        with pytest.raises(Unsupported, match=r"give epsilon=\.\.\."):
            lsdt.plan(side, **options)


def test_no_more_pairs_are_asked_about_than_can_help():
    """Five arms have ten pairs, and a plan spoke of a hundred more."""
    side = lsdt.SideInformation(5, similar=[(0, 1)], dissimilar=[(1, 2)], epsilon=0.1)
    plan = lsdt.plan(side, horizons=[], runs=3)
    count, _, rest = plan.learning["more"][0].partition(" ")
    assert 1 <= int(count) <= 8
    assert rest == "more pairs (no others can help)"
    assert f"After {count} more pairs (no others can help), " in plan.text


def test_the_command(tmp_path, capsys):
    path = tmp_path / "side.csv"
    path.write_text("a,b,relation\ntea,coffee,similar\ntea,water,dissimilar\n")
    words = ["plan", str(path), "--epsilon", ".2", "--horizons", "50", "--runs", "5", "--n-pairs", "2"]
    assert main(words) == 0
    assert "Of 3 arms, 3 can be the best." in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["tolerance"] == 0.2
    assert len(answer["rounds"]) == 1
    assert len(answer["tolerances"]) == 5
    assert main(["plan", str(path)]) == 7
    assert "give --epsilon" in capsys.readouterr().err
    path.write_text("a,b,relation\ntea,coffee,better\n")
    assert main(["plan", str(path)]) == 7
    assert "so give a tolerance" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["plan", str(path), "--horizons"])
    assert "--horizons: expected at least one argument" in capsys.readouterr().err
    path.write_text("a,b,relation\n0,1,similar\n0,2,similar\n0,3,similar\n")
    assert main(["plan", str(path), "--complete", "--epsilon", ".1"]) == 5
    assert "claw" in capsys.readouterr().err
