"""The corner cases that the design lists: play what there is, refuse with a reason, never an index error."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import lsdt
from lsdt.errors import Unsupported
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.paper import lsdt_psi
from lsdt.policies.parts import epochs
from lsdt.policies.policy import parse_policy

Side = lsdt.SideInformation
GAUSSIAN = RewardModel("gaussian", 1.0)
COIN = RewardModel("bernoulli", 0.5)
EVERY = [*lsdt.policies.available(), "ucb1:tails=heavy", "lsdt_csi:tails=heavy", "lsdt_psi:tails=heavy"]
NEED_COMPLETE = [
    *("lsdt_csi", "lsdt_csi:tails=heavy", "lsdt_ts_csi"),
    *("ossb", "osub", "imed_ub", "uts"),
]
NEED_CONNECTED = ["osub", "imed_ub", "uts"]
NEED_EPSILON = [
    *("lsdt_psi", "lsdt_psi:tails=heavy", "lsdt_ts_psi"),
    *(
        "ckl_ucb",
        "laplacian_ucb",
        "spectral_ts",
        "lsdt_watchful",
        "lsdt_closure",
        "lsdt_posterior",
        "soft_closure",
        "mixture_closure",
    ),
]
NEED_HORIZON = ["lsdt_psi", "lsdt_psi:tails=heavy", "lsdt_ts_psi", "moss"]
STAR = Side(4, similar=[(0, 1), (0, 2), (0, 3)], epsilon=1.0)


def begin(word, side, rewards=GAUSSIAN, horizon=100, **parameters):
    name, _, tails = word.partition(":tails=")
    given = {"tails": tails} if tails else {}
    return lsdt.Policy(name, **given, **parameters).begin(side, rewards, horizon, new_stream(1))


def label(word):
    return re.escape(parse_policy(word).label)


def play(ready, rounds, reward=lambda arm: 0.5):
    """Play and return the choices as arms of the problem."""
    choices = []
    for _ in range(rounds):
        arm = ready.player.select()
        assert 0 <= arm < len(ready.arms)
        choices.append(int(ready.arms[arm]))
        ready.player.update(arm, reward(choices[-1]))
    return choices


@pytest.mark.parametrize("name", EVERY)
def test_a_single_arm_is_played_for_ever(name):
    """Beyond the horizon too."""
    side = lsdt.complete(1, [], epsilon=0.1)
    for rewards, horizon in product((GAUSSIAN, COIN), (1, 2, 3, 4, 30)):
        assert play(begin(name, side, rewards, horizon), 35) == [0] * 35, f"{rewards}, {horizon} rounds"


@pytest.mark.parametrize("name", ["lsdt_psi", "lsdt_psi:tails=heavy", "lsdt_ts_psi"])
def test_a_single_candidate_is_played_for_ever(name):
    """Best and worst arm are candidates, so only contradictions leave one of several: a square, and arm 4."""
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    ready = begin(name, Side(5, similar=square, dissimilar=[(0, 2), (1, 3)], epsilon=0.1))
    assert ready.arms.tolist() == [4]
    assert play(ready, 40) == [4] * 40


@pytest.mark.parametrize("name", EVERY)
def test_fewer_rounds_than_arms(name):
    side = lsdt.complete(12, [(a, b) for a in range(12) for b in range(a)], epsilon=0.1)
    for horizon in (1, 2, 5):
        assert len(play(begin(name, side, COIN, horizon), horizon, lambda arm: float(arm % 2))) == horizon


@pytest.mark.parametrize("name", ["ucb1", "kl_ucb", "ckl_ucb", "moss", "imed", "lsdt_csi"])
def test_fewer_rounds_than_arms_begin_with_every_arm_once(name):
    side = lsdt.complete(12, [(a, b) for a in range(12) for b in range(a)], epsilon=0.1)
    assert play(begin(name, side, horizon=5), 12) == list(range(12))


@pytest.mark.parametrize(
    ("n_arms", "similar", "classes"),
    [
        (4, [(a, b) for a in range(4) for b in range(a)], [[0, 1, 2, 3]]),  # complete graph: one class
        (3, [], [[0], [1], [2]]),  # isolated arms: a class each
        (4, [(0, 1), (1, 2)], [[0], [2], [3]]),  # a path and an isolated arm
        (5, [(0, 1), (2, 3), (3, 4)], [[0, 1], [2], [4]]),  # classes per component
    ],
)
@pytest.mark.parametrize("name", ["lsdt_csi", "lsdt_ts_csi", "lsdt_csi:tails=heavy"])
def test_classes(name, n_arms, similar, classes):
    ready = begin(name, lsdt.complete(n_arms, similar, epsilon=0.1))
    layout = ready.player.state.layout
    found = [
        ready.arms[layout.members[first:last]].tolist()
        for first, last in zip(layout.starts[:-1], layout.starts[1:], strict=True)
    ]
    assert found == classes
    assert set(play(ready, 60)) <= {arm for members in classes for arm in members}


@pytest.mark.parametrize("name", ["lsdt_csi", "lsdt_ts_csi", "ossb", "lsdt_psi", "lsdt_ts_psi", "ckl_ucb"])
def test_only_isolated_arms(name):
    """Nothing is shared; every arm is tried."""
    assert set(play(begin(name, lsdt.complete(3, [], epsilon=0.1)), 60)) == {0, 1, 2}


@pytest.mark.parametrize("name", NEED_CONNECTED)
def test_a_disconnected_graph_is_refused_with_the_reason(name):
    side = lsdt.complete(4, [(0, 1), (2, 3)], epsilon=0.1)
    with pytest.raises(
        Unsupported, match=f"{label(name)} needs a connected similarity graph: .* path to the best"
    ):
        begin(name, side)


@pytest.mark.parametrize("name", NEED_COMPLETE)
def test_partial_information_is_refused(name):
    with pytest.raises(
        Unsupported, match=f"{label(name)} needs complete side information, and this is partial"
    ):
        begin(name, Side(3, similar=[(0, 1)], dissimilar=[(1, 2)], epsilon=0.1))


@pytest.mark.parametrize("name", NEED_EPSILON)
def test_a_missing_epsilon_is_refused(name):
    with pytest.raises(
        Unsupported, match=f"{label(name)} needs (epsilon, the threshold|to know how far).*; give the side"
    ):
        begin(name, Side(3, similar=[(0, 1)]))


@pytest.mark.parametrize("name", NEED_HORIZON)
def test_a_missing_horizon_is_refused(name):
    with pytest.raises(Unsupported, match=f"{label(name)} needs to know the horizon; give one"):
        begin(name, STAR, horizon=None)


def test_identify_needs_epsilon_or_a_tolerance():
    side = lsdt.complete(3, [(0, 1), (1, 2)])
    with pytest.raises(Unsupported, match="has no epsilon, so give a tolerance"):
        begin("identify", side)
    assert len(play(begin("identify", side, horizon=None, tolerance=0.1), 20)) == 20


@pytest.mark.parametrize("name", sorted({*EVERY} - {*NEED_EPSILON, *NEED_HORIZON, "identify"}))
def test_the_others_ask_for_neither(name):
    assert len(play(begin(name, lsdt.complete(3, [(0, 1), (1, 2)]), horizon=None), 20)) == 20


@pytest.mark.parametrize("name", sorted(set(EVERY) - set(NEED_COMPLETE)))
def test_partial_information_is_taken_by_the_others(name):
    assert len(play(begin(name, STAR), 20)) == 20


def test_last_epoch():
    """m_f = min(ceil(log2(8 sqrt(beta / lambda) / epsilon)), floor(log2(T / e) / 2)), -1 for none.

    T = 2: log2(.74) / 2 = -.22, floor -1. T = 3: .07, floor 0. T = 1000: 4.26, floor 4.
    epsilon = 100, beta = 2, lambda = .125: log2(.32) = -1.6, ceiling -1.
    epsilon = 16: log2(2) = 1. The paper's beta = 1/2 gives its 8 / (sqrt(2 lambda) epsilon).
    """

    def last_epoch(horizon, *given):
        return epochs.last_epoch(horizon, lsdt_psi.narrow_from(*given))

    assert [last_epoch(horizon, 0.1, 0.125, 2.0) for horizon in (1, 2, 3, 1000)] == [-1, -1, 0, 4]
    assert [last_epoch(10**6, epsilon, 0.125, 2.0) for epsilon in (1e6, 100.0, 16.0, 1.0)] == [-1, -1, 1, 5]
    assert last_epoch(10**9, 0.1, 0.5, 0.5) == 7  # log2(8 / .1) = 6.3


def test_last_epoch_with_other_tails():
    """lambda = 1/8: a pool has L 4^m / 8 plays. Its radius is to be at most epsilon / 8 = 1/8.

    Light, beta = 2, b = 64: max(4 * 2^-m, 2 * 64 * 8 * 4^-m). The first asks for 2^m >= 32, the second for
    4^m >= 8192: m = 6.5. Truncated, order 2, bound 4, width 1: 2 sqrt(8) 2^-m, so 2^m >= 16 sqrt 8 = 45.3:
    m = 5.5. Order 1.5, bound 1, width 1: (8 * 4^-m)^(1/3), so 4^m >= 8 * 512: m = 6.
    """
    assert lsdt_psi.narrow_from(1.0, 0.125, 2.0, 64.0) == pytest.approx(6.5)
    assert lsdt_psi.narrow_truncated_from(1.0, 0.125, 2.0, 4.0, 1.0) == pytest.approx(5.5)
    assert lsdt_psi.narrow_truncated_from(1.0, 0.125, 1.5, 1.0, 1.0) == pytest.approx(6.0)
    assert [epochs.last_epoch(10**9, narrow) for narrow in (-3.0, 6.5, 1e300)] == [-1, 7, 14]


@pytest.mark.parametrize(("horizon", "epsilon"), [(1, 0.1), (2, 0.1), (100, 1e3)])
def test_without_an_epoch_lsdt_psi_goes_straight_to_ucb(horizon, epsilon):
    """Every arm once, the star's leaves too, which no epoch would play."""
    side = Side(4, similar=[(0, 1), (0, 2), (0, 3)], epsilon=epsilon)
    ready = begin("lsdt_psi", side, horizon=horizon)
    assert ready.player.state.z.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert play(ready, 4) == [0, 1, 2, 3]


def test_arms_with_z_zero_wait_for_the_final_ucb_and_come_first_there():
    """Star, T = 100, lambda = 1/8: m_f = min(5, 2) = 2.

    Plays of the centre by the end of epoch 0: log(100) / 8 = .58, so 1; epoch 1: log(25) / 2 = 1.6, so 2;
    epoch 2: 2 log(6.25) = 3.7, so 4. All pools hold the same four rewards: nothing is eliminated.
    """
    assert play(begin("lsdt_psi", STAR), 7) == [0, 0, 0, 0, 1, 2, 3]


def alone(epsilon=0.1):
    return Side(2, epsilon=epsilon)


def test_epochs_are_interleaved():
    """Two arms without relations, T = 100, lambda = 1: ceil(log 100) = 5 plays each in epoch 0."""
    assert play(begin("lsdt_psi", alone(), lambda_=1.0), 10) == [0, 1] * 5


def test_nothing_is_eliminated_before_an_epoch_ends():
    """sigma = .05: arm 1 is hopeless after one play, and stays until both arms have had their five."""
    ready = begin("lsdt_psi", alone(), lambda_=1.0, sigma=0.05)
    play(ready, 10, lambda arm: float(arm == 0))
    assert ready.player.state.alive.tolist() == [1, 1]
    assert play(ready, 50, lambda arm: float(arm == 0)) == [0] * 50
    assert ready.player.state.alive.tolist() == [1, 0]


def test_an_eliminated_arm_goes_on_being_played_for_its_neighbours():
    """S_m: arm 0 covers 1, 2 and 3 with z = 1; once out, it is still the one that is played for them.

    Arms 4 and 5 make the best pool: 4 covers 5.
    """
    side = Side(6, similar=[(0, 1), (0, 2), (0, 3), (4, 5)], epsilon=0.1)
    ready = begin("lsdt_psi", side, horizon=1000, lambda_=1.0, sigma=0.3)
    z = ready.player.state.z
    assert z[0] == 1.0
    play(ready, 500, lambda arm: 1.0 if arm >= 4 else 0.0)
    assert ready.player.state.alive.tolist() == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("elimination", ["quantile", "least_likely"])
@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 50])
def test_lsdt_ts_psi_never_eliminates_all(elimination, horizon):
    ready = begin("lsdt_ts_psi", Side(5, epsilon=1e-9), COIN, horizon, elimination=elimination)
    for _ in range(20):
        play(ready, 10, lambda arm: float(arm == 3))
        assert ready.player.state.alive.sum() == ready.player.state.n_alive[0] >= 1


def test_choices_are_plain_integers_of_the_candidates():
    side = lsdt.from_means([0.1, 0.2, 0.3, 0.4, 0.5], epsilon=0.25)
    ready = begin("lsdt_csi", side)
    assert ready.arms.tolist() == [0, 4]
    assert isinstance(ready.player.select(), (int, np.integer))
    assert set(play(ready, 30)) == {0, 4}


@pytest.mark.parametrize("name", ["lsdt_csi", "lsdt_csi:tails=heavy", "lsdt_ts_csi"])
def test_partial_information_is_refused_though_all_is_known_of_the_candidates(name):
    """All pairs of the candidates may happen to be revealed, and the information is partial all the same."""
    means = np.random.default_rng(1).uniform(0.1, 0.9, 9)
    side = lsdt.from_means(means, 0.5).reveal(p_similar=0.6, p_dissimilar=0.6, seed=393)
    with pytest.raises(Unsupported, match="needs complete side information, and this is partial"):
        lsdt.Agent(side, name, horizon=100)
