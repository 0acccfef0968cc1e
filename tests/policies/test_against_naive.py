"""Every compiled policy beside its naive twin: the same choice in every round."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.kernel.random import new_stream
from naive.policies import TWINS
from naive.policies_lsdt import p2_size
from side_by_side import COMPLETE, CONNECTED, begin_both, play_both, random_problem

NUMBERS = range(9)
SOME = (1, 3, 4, 8)  # means on a grid, with ties, and others
VARIANTS = [
    ("lsdt_csi", {}),
    ("lsdt_csi", {"alpha": 0.5, "sigma": 0.3}),
    ("lsdt_csi", {"index": "kl_ucb"}),
    ("lsdt_csi", {"index": "gaussian_ts"}),
    ("lsdt_psi", {}),
    ("lsdt_psi", {"tails": "light", "b": 0.1}),
    ("lsdt_ts_csi", {}),
    ("lsdt_ts_psi", {}),
    ("lsdt_ts_psi", {"elimination": "least_likely"}),
    ("ucb1", {}),
    ("ucb1", {"alpha": 8.0}),
    ("ts", {}),
    ("ts_gaussian", {}),
    ("ts_gaussian", {"sigma": 0.3}),
    ("osub", {}),
    ("ossb", {}),
    ("ossb", {"gamma": 0.5, "forced_exploration": 0.05}),
    ("kl_ucb", {}),
    ("kl_ucb", {"c": 3.0}),
    ("moss", {}),
    ("moss", {"sigma": 0.1}),
    ("imed", {}),
    ("imed_ub", {}),
    ("uts", {}),
    ("clustered_ts", {}),
    ("ucb1", {"tails": "light"}),
    ("ucb1", {"tails": "light", "alpha": 0.2, "b": 0.1}),
    ("ucb1", {"tails": "heavy"}),
    ("ucb1", {"tails": "heavy", "order": 1.4, "bound": 0.5, "width": 0.3}),
    ("ucb1", {"tails": "heavy", "order": 1.2, "width": 0.3}),
    ("lsdt_csi", {"tails": "light"}),
    ("lsdt_csi", {"tails": "light", "sigma": 0.3, "b": 0.1}),
    ("lsdt_csi", {"tails": "heavy"}),
    ("lsdt_csi", {"tails": "heavy", "order": 1.4, "bound": 0.5, "width": 0.3}),
    ("lsdt_psi", {"tails": "heavy"}),
    ("lsdt_psi", {"tails": "heavy", "order": 1.4, "bound": 0.5, "width": 0.3}),
    ("lsdt_psi", {"tails": "heavy", "order": 1.2, "width": 0.05, "lambda_": 0.5}),
]


def problems(name, family, sigma=None, numbers=NUMBERS):
    """Complete information, and partial where the policy takes it."""
    for complete in (True,) if name in COMPLETE else (True, False):
        for number in numbers:
            yield number, random_problem(number, family, complete, name in CONNECTED, sigma)


def test_every_policy_has_a_twin():
    assert set(lsdt.policies.available()) == set(TWINS)


@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_same_choice_in_every_round(name, parameters, thorough):
    """Bernoulli rewards make exact ties all the time: the lowest arm must win them here and there."""
    for family in ("gaussian", "bernoulli"):
        for number, problem in problems(name, family, numbers=NUMBERS if thorough else SOME):
            play_both(name, problem, 400 if thorough else 40, seed=number, **parameters)


def test_moss_index_of_lsdt_csi_on_gaussian_rewards(thorough):
    """Bernoulli rewards: see test_rounding.py."""
    for number, problem in problems("lsdt_csi", "gaussian", numbers=NUMBERS if thorough else SOME):
        play_both("lsdt_csi", problem, 200 if thorough else 100, seed=number, index="moss")


def as_good(twin, expected, chosen):
    return chosen == expected or twin.indices[chosen] >= twin.indices[expected] - 1e-9


@pytest.mark.parametrize("floor", ["none", "mean"])
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_ckl_ucb_plays_a_largest_index(family, floor, thorough):
    """Arms bounded by the same neighbours tie up to rounding, so within 1e-9 of the best is as good."""
    for number, problem in problems("ckl_ucb", family, numbers=NUMBERS if thorough else SOME):
        rounds = 200 if thorough else 40
        play_both("ckl_ucb", problem, rounds, seed=number, agree=as_good, floor=floor)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("laplacian_ucb", {}),
        ("laplacian_ucb", {"weight": 3.0, "ridge": 0.5, "alpha": 0.2, "sigma": 0.3}),
        ("laplacian_ucb", {"radius": "determinant"}),
        ("laplacian_ucb", {"radius": "determinant", "delta": 0.1, "norm": 0.3}),
        ("spectral_ts", {}),
        ("spectral_ts", {"weight": 0.5, "ridge": 2.0, "width": 0.3}),
    ],
)
def test_estimates_on_the_graph_lead_to_the_same_choice(name, parameters, thorough):
    """Arms with the same neighbours tie up to rounding."""
    for family in ("gaussian", "bernoulli"):
        for number, problem in problems(name, family, numbers=NUMBERS if thorough else SOME):
            rounds = 200 if thorough else 40
            play_both(name, problem, rounds, seed=number, agree=as_good, **parameters)


@pytest.mark.parametrize(
    ("family", "parameters"), [("gaussian", {}), ("bernoulli", {}), ("bernoulli", {"audit": 0.0})]
)
def test_lsdt_watchful_plays_a_largest_index(family, parameters, thorough):
    """With wrong relations among the known ones: they are what the policy is about."""

    def about(twin, expected, chosen):
        return chosen == expected or twin.indices[chosen] >= twin.indices[expected] - 1e-7

    for number, problem in problems("lsdt_watchful", family, numbers=(3, 4, 7) if thorough else (3, 4)):
        wrong = problem._replace(side=problem.side.corrupt(0.1, seed=number))
        play_both("lsdt_watchful", wrong, 20, seed=number, agree=about, **parameters)


def test_ckl_ucb_breaks_exact_ties_by_number():
    """Without similar pairs the indices of equally lucky arms are the same computation."""
    side = lsdt.SideInformation(6, epsilon=0.2)
    problem = random_problem(5, "bernoulli", True)._replace(side=side, means=np.full(6, 0.4))
    play_both("ckl_ucb", problem, 200)


@pytest.mark.parametrize("name", ["kl_ucb", "osub", "imed", "imed_ub", "uts"])
def test_bernoulli_divergence_on_gaussian_rewards(name, thorough):
    """Means outside [0, 1] count as its ends; indices that round to 1 may tie: within 1e-9 is as good."""

    def about(twin, expected, chosen):
        return chosen == expected or abs(twin.indices[chosen] - twin.indices[expected]) <= 1e-9

    for number, problem in problems(name, "gaussian", numbers=SOME):
        play_both(name, problem, 100 if thorough else 60, seed=number, agree=about, divergence="bernoulli")


@pytest.mark.parametrize("name", ["ucb1", "kl_ucb", "moss", "imed", "ts", "ossb"])
def test_on_candidates_is_the_policy_on_the_restricted_problem(name):
    """The policy on the candidates plays as it would had there never been any other arm."""
    for number, problem in problems(name, "bernoulli", numbers=range(3, 7)):
        found = lsdt.candidate_set(problem.side, method="paper")
        kept = found.arms.tolist()
        new = {arm: at for at, arm in enumerate(kept)}
        pairs = [
            [(new[a], new[b]) for a, b in listed.tolist() if a in new and b in new]
            for listed in (problem.side.similar_pairs(), problem.side.dissimilar_pairs())
        ]
        inner = lsdt.SideInformation(len(kept), *pairs, epsilon=problem.side.epsilon)
        small = problem._replace(means=problem.means[kept], side=inner)
        outer = lsdt.Policy(name, on="paper").begin(problem.side, problem.rewards, 150, stream())
        alone = lsdt.Policy(name).begin(inner, problem.rewards, 150, stream())
        assert outer.arms.tolist() == kept
        rng = np.random.default_rng(number)
        for _ in range(150):
            arm = alone.player.select()
            assert outer.player.select() == arm
            reward = float(rng.random() < small.means[arm])
            alone.player.update(arm, reward)
            outer.player.update(arm, reward)


def stream():
    return new_stream(5)


def played(name, sigma, horizon, family="gaussian", numbers=NUMBERS, **parameters):
    """Play on problems with clear winners and return how many arms were eliminated on the way."""
    gone = 0
    for number, problem in problems(name, family, sigma, numbers):
        _, twin = play_both(name, problem, horizon, seed=number, **parameters)
        gone += twin.world.n_arms - len(twin.alive)
    return gone


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("lsdt_psi", {}),
        ("lsdt_psi", {"lambda_": 1.0}),
        ("lsdt_psi", {"beta": 0.1}),
        ("lsdt_psi", {"lambda_": 1.0, "b": 0.05}),
        ("lsdt_psi", {"tails": "heavy", "lambda_": 1.0, "width": 0.1}),
        ("lsdt_psi", {"tails": "heavy", "lambda_": 1.0, "order": 1.5, "bound": 0.5, "width": 0.1}),
    ],
)
def test_lsdt_psi_where_it_eliminates(name, parameters, thorough):
    """With a small bound rewards are left out, and those of early epochs come back in later ones."""
    numbers = NUMBERS if thorough else SOME
    assert played(name, 0.1, 300, numbers=numbers, **parameters) >= len(numbers)


def test_lsdt_ts_psi_where_it_eliminates(thorough):
    if thorough:
        assert played("lsdt_ts_psi", 0.5, 400, "bernoulli") >= 2
    assert played("lsdt_ts_psi", 0.5, 120, "bernoulli", elimination="least_likely") >= 5


def test_ossb_where_it_exploits(thorough):
    for number, problem in problems("ossb", "gaussian", 0.1, NUMBERS if thorough else SOME):
        play_both("ossb", problem, 300, seed=number)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_z_solves_p2_on_the_candidates(family):
    for number, problem in problems("lsdt_psi", family):
        player, twin = begin_both("lsdt_psi", problem, 100, (number,))
        z = player.state.z
        assert (z >= 0).all()
        for arm in twin.world.arms:
            assert sum(z[other] for other in twin.world.closed(arm)) >= 1 - 1e-9
        assert z.sum() == pytest.approx(p2_size(twin.world), abs=1e-9)
