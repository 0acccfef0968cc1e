"""Light and heavy tails: hand-worked truncation, defaults, and what the tails do to the plain policies.

Twenty arms with means from -1 to 1. At each end one arm can be the best, or two of nearly the same mean.
"""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel, Tail
from lsdt.policies.policy import parse_policy

ONE_ARM = np.linspace(-1.0, 1.0, 20)
TWO_ARMS = np.sort([*np.linspace(-1.0, 1.0, 18), -0.99, 0.99])


def problem(means, rewards):
    return lsdt.problems.given(means, lsdt.from_means(means, 0.15), rewards)


def on_candidates(name, **parameters):
    return lsdt.Policy(name, on=None if "lsdt" in name else "paper", **parameters)


@pytest.mark.parametrize("name", ["ucb1", "lsdt_csi"])
def test_rewards_are_left_out_later(name):
    """order 2, bound 1: the s-th reward is left out beyond sqrt(s / L); L is 1, 1.41, 2.83 at t = 1, 2, 3.

    The first reward, 1, is within sqrt(1 / 1) and beyond sqrt(1 / 1.41) = .84. The second, 1.1, is within
    sqrt(2 / 1.41) = 1.19 and beyond sqrt(2 / 2.83) = .84. The third, .5, is within sqrt(3 / 2.83).
    """
    side = lsdt.complete(1, [])
    policy = lsdt.Policy(name, tails="heavy", order=2.0, bound=1.0)
    player = policy.begin(side, RewardModel("gaussian", 1.0), None, new_stream(1)).player
    for reward, mean in ((1.0, 1.0), (1.1, 1.1 / 2), (0.5, 0.5 / 3), (1e300, 0.5 / 4)):
        player.update(0, reward)
        for tallies in (
            (player.state.tallies,) if name == "ucb1" else (player.state.arms, player.state.classes)
        ):
            assert tallies.means[0] == mean


def test_defaults_come_from_the_rewards():
    heavy = RewardModel("gaussian", 1.0, Tail(1.0, 0.0, 1.5, 8.0))
    bound = pytest.approx(5.0**1.5)  # (1 + 8^(2/3))^1.5
    expected = {"tails": "heavy", "order": 1.5, "bound": bound, "width": 4.0}
    assert lsdt.Policy("ucb1", tails="heavy").resolve(heavy) == expected
    smaller = lsdt.Policy("ucb1", tails="heavy", order=1.2).resolve(heavy)
    assert smaller["bound"] == pytest.approx(5.0**1.2)
    with pytest.raises(InvalidInput, match=r"moment of order 1.5 is known.*order=1.8; give a bound as well"):
        lsdt.Policy("ucb1", tails="heavy", order=1.8).resolve(heavy)
    assert lsdt.Policy("ucb1", tails="heavy", order=1.8, bound=3.0).resolve(heavy)["bound"] == 3.0
    assert lsdt.Policy("ucb1", tails="heavy").resolve(RewardModel("bernoulli", 0.5))["bound"] == 1.25


@pytest.mark.parametrize(
    ("name", "width", "factor"),
    [("ucb1", "alpha", 8.0), ("lsdt_csi", "alpha", 8.0), ("lsdt_psi", "beta", 2.0)],
)
def test_light_tails_come_from_the_rewards(name, width, factor):
    """Exponential rewards of scale 2: b = 4, and sigma^2 = 4 * 8 (log 2 - 1/2) = 6.181."""
    light = lsdt.rewards.exponential(2.0).model
    plain, told = (lsdt.Policy(name, **given).resolve(light) for given in ({}, {"tails": "light"}))
    assert (plain["b"], told["b"]) == (0.0, 4.0)
    assert told[width] == pytest.approx(factor * 6.181, abs=0.002 * factor)
    assert plain[width] == (2.0 if name == "ucb1" else factor * light.sigma**2)
    assert lsdt.Policy(name, tails="light", b=1.0).resolve(light)["b"] == 1.0
    message = f"{name}: tails must be one of 'sub_gaussian', 'light', 'heavy'; got 'fat'"
    with pytest.raises(InvalidInput, match=message):
        lsdt.Policy(name, tails="fat")


@pytest.mark.parametrize("name", ["ucb1", "lsdt_csi", "lsdt_psi"])
def test_numbers_of_other_tails_are_refused(name):
    with pytest.raises(
        InvalidInput, match=f"{name}: width goes with tails='heavy'; got width=1 and .*'light'"
    ):
        lsdt.Policy(name, tails="light", width=1.0)
    message = f"{name}: b goes with tails='sub_gaussian' or 'light'; got b=2 and tails='heavy'"
    with pytest.raises(InvalidInput, match=message):
        lsdt.Policy(name, tails="heavy", b=2.0)
    heavy = lsdt.Policy(name, tails="heavy")
    assert "b" not in heavy.parameters
    assert "width" not in lsdt.Policy(name).parameters
    assert (heavy.score_name, lsdt.Policy(name).score_name == "truncated mean") == ("truncated mean", False)


def test_other_indices_of_lsdt_csi_have_no_heavy_tails():
    policy = lsdt.Policy("lsdt_csi", tails="heavy", index="moss")
    with pytest.raises(InvalidInput, match="lsdt_csi: tails='heavy' goes with index='ucb'; got index='moss'"):
        policy.begin(lsdt.complete(2, []), RewardModel("gaussian", 1.0), None, new_stream(1))


@pytest.mark.parametrize(
    "word",
    [
        "ucb1:b=1",
        "lsdt_csi:b=1",
        "lsdt_psi:b=1",
        "ucb1:tails=heavy",
        "lsdt_csi:tails=heavy",
        "lsdt_psi:tails=heavy",
    ],
)
def test_only_allowed_arms_are_played(word):
    rng = np.random.default_rng(3)
    side = lsdt.from_means(TWO_ARMS, 0.15)
    ready = parse_policy(word).begin(side, lsdt.rewards.student_t(1.5).model, 500, new_stream(1))
    n_arms = len(ready.arms)
    for _ in range(500):
        allowed = rng.random(n_arms) < 0.4
        allowed[rng.integers(n_arms)] = True
        arm = ready.player.select(allowed)
        assert allowed[arm]
        ready.player.update(arm, float(TWO_ARMS[ready.arms[arm]] + rng.standard_t(1.5)))


@pytest.mark.parametrize("name", ["ucb1", "lsdt_csi", "lsdt_psi"])
def test_a_width_for_light_tails_that_is_never_the_wider_changes_nothing(name):
    """b = 10^-9: the other choice of code, and the same choice of arms."""
    policies = [on_candidates(name, b=1e-9), on_candidates(name)]
    result = lsdt.simulate(problem(TWO_ARMS, "gaussian"), policies, 2000, 5)
    assert np.array_equal(*(result.plays(policy) for policy in policies))


@pytest.mark.large
@pytest.mark.parametrize(
    ("name", "means"), [("ucb1", ONE_ARM), pytest.param("lsdt_csi", TWO_ARMS, marks=pytest.mark.long)]
)
def test_infinite_variance(name, means, thorough):
    """Student t with 1.5 degrees: some runs of the plain policy never return to the best end.

    A run is lost when its regret is above T: more than half of the rounds at the wrong end. The plain regret
    grows in proportion to t (tenfold in the last nine tenths), that of the truncated ones clearly less.
    Whether they are better on average at this T already depends on their width.
    """
    horizon = 100_000 if thorough else 30_000
    plain, published, narrow = (
        on_candidates(name),
        on_candidates(name, tails="heavy"),
        on_candidates(name, tails="heavy", width=1.0),
    )
    heavy = problem(means, lsdt.rewards.student_t(1.5))
    points = [horizon // 10, horizon]
    result = lsdt.simulate(heavy, [plain, published, narrow], horizon, 400, checkpoints=points)
    early, late = result.regret(plain).T
    assert (late > horizon).sum() >= 12  # were one run in 100 lost, 12 of 400 would be one chance in 1,000
    assert late.mean() > 8.0 * early.mean()
    for policy, growth in ((published, 7.0), (narrow, 5.0)):
        early, late = result.regret(policy).T
        assert (late < horizon / 2).all()
        assert late.mean() < growth * early.mean()
    assert result.difference(plain, narrow)["low"].iloc[-1] > 0


@pytest.mark.large
def test_infinite_variance_and_arms_that_go_for_good():
    """LSDT-PSI drops the best arm after one very bad reward; with truncated means it does not."""
    horizon = 10_000
    plain, *truncated = (
        lsdt.Policy("lsdt_psi"),
        lsdt.Policy("lsdt_psi", tails="heavy"),
        lsdt.Policy("lsdt_psi", tails="heavy", width=1.0),
    )
    heavy = problem(TWO_ARMS, lsdt.rewards.student_t(1.5))
    result = lsdt.simulate(heavy, [plain, *truncated], horizon, 400, checkpoints=[horizon])
    assert (result.regret(plain) > horizon).sum() >= 12  # one chance in 1,000 if one run in 100 were lost
    assert all((result.regret(policy) < 0.6 * horizon).all() for policy in truncated)


@pytest.mark.large
@pytest.mark.parametrize(
    ("name", "means", "narrow"),
    [
        ("ucb1", ONE_ARM, {"alpha": 2.0}),
        ("lsdt_csi", TWO_ARMS, {"alpha": 2.0}),
        ("lsdt_psi", TWO_ARMS, {"sigma": 0.5}),
    ],
)
def test_light_tails_and_a_sigma_too_small(name, means, narrow, thorough):
    """Laplace with scale 2, the plain policy told sigma = 1/2: it loses runs, the light index none."""
    horizon = 10_000
    policies = [on_candidates(name, **narrow), on_candidates(name, tails="light")]
    light = problem(means, lsdt.rewards.laplace(2.0))
    result = lsdt.simulate(light, policies, horizon, 400 if thorough else 150, checkpoints=[horizon])
    plain, safe = (result.regret(policy)[:, 0] for policy in policies)
    # Were one run in 1,000 lost, four of 400 would be one chance in 1,000, two of 150 one in 100.
    assert (plain > horizon).sum() >= (4 if thorough else 2)
    assert (safe < horizon / 10).all()
