"""For every policy a few rewards after which the next choice was computed by hand.

log 2 = .693, log 3 = 1.099, log 4 = 1.386, log 5 = 1.609.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from naive.streams import CHOICE, Stream

Side = lsdt.SideInformation
GAUSSIAN = RewardModel("gaussian", 1.0)
COIN = RewardModel("bernoulli", 0.5)
TWO = lsdt.complete(2, [(0, 1)], epsilon=0.5)
PATH = lsdt.complete(3, [(0, 1), (1, 2)], epsilon=0.5)


def begin(name, side=TWO, rewards=GAUSSIAN, horizon=100, **parameters):
    return lsdt.Policy(name, **parameters).begin(side, rewards, horizon, new_stream(1)).player


def after(player, *history):
    """The player after rewards that it is merely told, whatever it would have chosen."""
    for arm, reward in history:
        player.update(arm, reward)
    return player


def next_choice(name, *history, **settings):
    return after(begin(name, **settings), *history).select()


# Arm 0: mean .5 in 2 plays; arm 1: mean 0 in 1.
HALF = ((0, 1.0), (0, 0.0), (1, 0.0))


def test_ucb1():
    """alpha 2: .5 + sqrt(2 * 1.099 / 2) = 1.548 over sqrt(2 * 1.099) = 1.482; alpha 8: 2.596 below 2.964."""
    assert next_choice("ucb1", *HALF) == 0
    assert next_choice("ucb1", *HALF, alpha=8.0) == 1


def test_ucb1_for_light_tails():
    """alpha 2, b = .5: 8 b log 3 = 4.394: .5 + 4.394 / 2 = 2.697 below 4.394; b = .1: no wider than above."""
    assert next_choice("ucb1", *HALF, b=0.5) == 1
    assert next_choice("ucb1", *HALF, b=0.1) == 0


def test_moss():
    """Arm 0: mean 2/3 in 3 plays; arm 1: 0 in 1; sigma = 1/2.

    T = 12: 2/3 + sqrt(log(12 / 6) / 3) = 1.147 below sqrt(log(12 / 2)) = 1.339.
    T = 2: 2/3, as log(2 / 6) < 0, over sqrt(log 1) = 0.
    """
    history = ((0, 1.0), (0, 1.0), (0, 0.0), (1, 0.0))
    assert next_choice("moss", *history, rewards=COIN, horizon=12) == 1
    assert next_choice("moss", *history, rewards=COIN, horizon=2) == 0


def test_kl_ucb():
    """Coins: 2 KL(.5, q) = log 3 is q (1 - q) = 1/12, q = .908; arm 1: 1 - 1/3 = .667.

    Gaussian, sigma = 1: .5 + sqrt(1.099) = 1.548 over sqrt(2.197) = 1.482; sigma = 2: 2.596 below 2.964.
    """
    assert next_choice("kl_ucb", *HALF, rewards=COIN) == 0
    assert next_choice("kl_ucb", *HALF) == 0
    assert next_choice("kl_ucb", *HALF, sigma=2.0) == 1


def test_kl_ucb_with_log_log():
    """t = 3, c = 3: level 1.099 + 3 log(1.099) = 1.381: .5 + sqrt(1.381) = 1.675 over sqrt(2.762) = 1.662."""
    assert next_choice("kl_ucb", *HALF, c=3.0) == 0
    # c = 9: level 1.945: .5 + 1.395 = 1.895 below sqrt(3.890) = 1.972
    assert next_choice("kl_ucb", *HALF, c=9.0) == 1


def test_imed():
    """Arm 0: log 2. Arm 1: KL(0, .5) = log 2: a tie, to the lower arm. At four plays arm 0 has log 4."""
    assert next_choice("imed", *HALF, rewards=COIN) == 0
    assert next_choice("imed", *HALF, (0, 1.0), (0, 0.0), rewards=COIN) == 1
    # Gaussian: log 2 = .693 over .5^2 / 2 = .125
    assert next_choice("imed", *HALF) == 1


def test_ts():
    """Clipped: 7 is a win, -3 a loss. Beta(1, 1001) against Beta(1001, 1) is decided."""
    player = after(begin("ts", rewards=COIN), *[(0, -3.0)] * 1000, *[(1, 7.0)] * 1000)
    assert player.state.posteriors.win_depth.tolist() == pytest.approx([2 / 3, 1000 + 2 / 3])
    assert player.state.posteriors.loss_depth.tolist() == pytest.approx([1000 + 2 / 3, 2 / 3])
    assert [player.select() for _ in range(20)] == [1] * 20


def test_ts_gaussian():
    """Rewards 3 and 6: N(9 / 3, 1 / 3). An arm never played: N(0, 1). 100 rewards of 50: N(49.5, 1 / 101)."""
    player = after(begin("ts_gaussian"), (0, 3.0), (0, 6.0))
    assert player.state.centres.tolist() == [3.0, 0.0]
    assert player.state.widths.tolist() == pytest.approx([math.sqrt(1 / 3), 1.0])
    after(player, *[(1, 50.0)] * 100)
    assert [player.select() for _ in range(20)] == [1] * 20


def test_ckl_ucb():
    """0 and 1 similar, epsilon = .5; means 1, 0, .5 in 1, 3, 1 plays; log 5 = 1.609.

    Arm 0 alone: 1 + sqrt(3.219) = 2.794. With arm 1: (q - 1)^2 + 3 (q - .5)^2 = 3.219, 4 q^2 - 5 q - 1.469
    = 0, q = 1.496. Arm 1: 3 q^2 = 3.219, q = 1.036, where arm 0 costs nothing. Arm 2: .5 + 1.794 = 2.294.
    """
    side = Side(3, similar=[(0, 1)], epsilon=0.5)
    history = ((0, 1.0), *[(1, 0.0)] * 3, (2, 0.5))
    assert next_choice("ckl_ucb", *history, side=side) == 2
    assert next_choice("ckl_ucb", *history, side=Side(3, epsilon=0.5)) == 0


def test_ckl_ucb_with_a_floor_at_the_mean():
    """0 and 1 similar, epsilon = .5; means 1, 0, -1.75 in 1, 40, 1 plays; log 42 = 3.738.

    Below 1 arm 0 costs nothing by itself, and by arm 1 40 (q - .5)^2 = 7.475: q = .932, below its mean. Arm
    2: -1.75 + sqrt(7.475) = .984, between the two readings of arm 0's index.
    """
    side = Side(3, similar=[(0, 1)], epsilon=0.5)
    history = ((0, 1.0), *[(1, 0.0)] * 40, (2, -1.75))
    assert next_choice("ckl_ucb", *history, side=side) == 2
    assert next_choice("ckl_ucb", *history, side=side, floor="mean") == 0


def first_leader(key):
    stream = Stream(key)
    stream.begin_round(0, CHOICE)
    return stream.below(3)


def test_laplacian_ucb():
    """Arms 0 and 1 are similar, 2 is alone; weight 1, ridge 1, so that P_0 is [2/3, 1/3; 1/3, 2/3] and 1.

    After a reward of 1 for arm 0: P = [2, 1; 1, 3] / 5, m = (2/5, 1/5, 0); widths with alpha log 2 = 1 are
    .632, .775, 1: indices 1.032, .975 and 1. With alpha log 2 = 4 they are 1.665, 1.749 and 2.
    """
    side = Side(3, similar=[(0, 1)], epsilon=0.5)
    one = 1.0 / math.log(2.0)
    same = {"side": side, "weight": 1.0, "ridge": 1.0}
    assert next_choice("laplacian_ucb", (0, 1.0), alpha=one, **same) == 0
    assert next_choice("laplacian_ucb", (0, 1.0), alpha=4.0 * one, **same) == 2
    played = after(begin("laplacian_ucb", alpha=one, **same), (0, 1.0))
    assert played.state.estimate.variances == pytest.approx([0.4, 0.6, 1.0])
    assert played.state.estimate.means == pytest.approx([0.4, 0.2, 0.0])


def test_laplacian_ucb_with_the_radius_of_the_ellipsoid():
    """As above, where det P fell from 1/3 to 1/5: radius sqrt(log(5/3) + 0) + norm, .715 + norm."""
    side = Side(3, similar=[(0, 1)], epsilon=0.5)
    same = {"side": side, "weight": 1.0, "ridge": 1.0, "radius": "determinant", "delta": 1.0}
    assert next_choice("laplacian_ucb", (0, 1.0), norm=0.0, **same) == 0  # .852, .754, .715
    assert next_choice("laplacian_ucb", (0, 1.0), norm=1.0, **same) == 2  # 1.484, 1.528, 1.715


def test_spectral_ts_draws_from_the_posterior():
    """Draws of the state above: z through F gives covariance P."""
    side = Side(3, similar=[(0, 1)], epsilon=0.5)
    estimate = after(begin("spectral_ts", side=side, weight=1.0, ridge=1.0), (0, 1.0)).state.estimate
    block = estimate.factor[:4].reshape(2, 2)
    assert estimate.row.tolist() == [0, 2, 4]
    assert block @ block.T == pytest.approx(np.array([[0.4, 0.2], [0.2, 0.6]]))


def test_osub():
    """Path, gamma = 2. The first leader is drawn and played.

    It is arm 1 (checked below), reward .5. It leads a 2nd and a 3rd time: unplayed neighbours 0 and 2 first.
    Arm 2 pays 1 and leads: (1 - 1) / 3 is whole, so it is played, 1 again. It leads a 2nd time, log 2:
    arm 1: .5 + sqrt(1.386) = 1.677, arm 2: 1 + sqrt(.693) = 1.833. Arm 0 is no neighbour.
    """
    key = next(key for key in range(99) if first_leader(key) == 1)
    player = lsdt.Policy("osub").begin(PATH, GAUSSIAN, None, new_stream(key)).player
    for expected, reward in ((1, 0.5), (0, 0.0), (2, 1.0), (2, 1.0), (2, 1.0)):
        assert player.select() == expected
        player.update(expected, reward)


def test_imed_ub():
    """Path. 0 first; its unplayed neighbour 1, not 2; 1 pays more and leads: 2; then 1 has log 1 = 0.

    Played twice, 1 has log 2 = .693; 0: (1 - .5)^2 / 2 = .125; 2: 1 / 2 = .5.
    """
    player = begin("imed_ub", PATH)
    for expected, reward in ((0, 0.5), (1, 1.0), (2, 0.0), (1, 1.0), (0, 0.5)):
        assert player.select() == expected
        player.update(expected, reward)


def test_uts():
    """Arm 0 leads with -50 in 100 plays. The 1st time it is played; the 2nd, N(-49.5, .01) loses to N(0, 1).

    Then the 3rd and so on: a round is counted when the arm is asked for.
    """
    player = after(begin("uts"), *[(0, -50.0)] * 100)
    assert [player.select() for _ in range(6)] == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("plays", "settings", "expected"),
    [(5, {}, 0), (6, {}, 2), (6, {"forced_exploration": 2.0}, 1), (5, {"gamma": 0.1}, 2)],
)
def test_ossb(plays, settings, expected):
    """Path, means 1, .5, 0; arms 1 and 2 played once. Classes {0} and {2}; arm 0 leads.

    Mirrored about 1: arm 1 to 1.5, arm 2 to 2: divergences .5 and 2, regret per log t .5 / .5 = 1 and
    1 / 2: all to arm 2, at 1 / 2. One play is enough while log t / 2 <= 1: t <= 7. At t = 8 explore: the
    least-played arm (1, the lower) if 1 <= forced_exploration * 1, else arm 2. gamma = .1: up to t = 6.
    """
    history = (*[(0, 1.0)] * plays, (1, 0.5), (2, 0.0))
    assert next_choice("ossb", *history, side=PATH, **settings) == expected


# 0 and 1 are twins at one end, 2 is the other end, 3 lies between.
THREE_CANDIDATES = lsdt.complete(4, [(0, 1), (0, 3), (1, 3), (3, 2)], epsilon=0.5)


@pytest.mark.parametrize(
    ("history", "settings", "expected"),
    [
        # t = 3. {0, 1}: .5 + sqrt(2 * 1.099 / 2) = 1.548; {2}: .6 + sqrt(2.197) = 2.082
        (((0, 1.0), (1, 0.0), (2, 0.6)), {"alpha": 2.0}, 2),
        # t = 4. {0, 1}: .5 + 1.177; {2}: .3 + 1.177. Arm 0: 1 + sqrt(2.773), arm 1: sqrt(2.773)
        (((0, 1.0), (1, 0.0), (2, 0.6), (2, 0.0)), {"alpha": 2.0}, 0),
        # the same with 8 sigma^2 = 2
        (((0, 1.0), (1, 0.0), (2, 0.6), (2, 0.0)), {"sigma": 0.5}, 0),
        # t = 6, arm 1 pays .4, four times. {0, 1}: .52 + sqrt(2 * 1.792 / 5) = 1.367; {2}: 0 + 1.893
        (((0, 1.0), *[(1, 0.4)] * 4, (2, 0.0)), {"alpha": 2.0}, 2),
        # 'kl_ucb', sigma = 1 is alpha = 2; 'moss': log(4 / (2 * 2)) = 0, so means: .5 over .3, then arm 0
        (((0, 1.0), (1, 0.0), (2, 0.6), (2, 0.0)), {"index": "kl_ucb"}, 0),
        (((0, 1.0), (1, 0.0), (2, 0.6), (2, 0.0)), {"index": "moss"}, 0),
    ],
)
def test_lsdt_csi(history, settings, expected):
    assert next_choice("lsdt_csi", *history, side=THREE_CANDIDATES, **settings) == expected


@pytest.mark.parametrize(("b", "expected"), [(0.0, 1), (1.0, 2)])
def test_lsdt_csi_for_light_tails(b, expected):
    """t = 5, alpha = 2. b = 0: {0, 1}: 1 + sqrt(2 * 1.609 / 3) = 2.036 over {2}: 1.269; arm 1 had one play.

    b = 1: 8 log 5 = 12.876: {0, 1}: 1 + 12.876 / 3 = 5.292 below {2}: 12.876 / 2 = 6.438.
    """
    history = ((0, 1.0), (0, 1.0), (1, 1.0), (2, 0.0), (2, 0.0))
    assert next_choice("lsdt_csi", *history, side=THREE_CANDIDATES, alpha=2.0, b=b) == expected


def test_lsdt_csi_has_one_index_for_light_tails():
    with pytest.raises(
        InvalidInput, match=r"b above 0 .light tails. goes with index='ucb'; got b=1 and index='moss'"
    ):
        begin("lsdt_csi", THREE_CANDIDATES, index="moss", b=1.0)


def test_lsdt_csi_with_gaussian_draws():
    """{0, 1}: N(25, 1 / 2000) over {2}: N(1, .001); in it arm 1: N(50, .001) over arm 0: N(0, .001)."""
    history = (*[(0, 0.0)] * 1000, *[(1, 50.0)] * 1000, *[(2, 1.0)] * 1000)
    player = after(begin("lsdt_csi", THREE_CANDIDATES, index="gaussian_ts"), *history)
    assert [player.select() for _ in range(20)] == [1] * 20


def test_lsdt_ts_csi():
    """{0, 1}: 1000 of 2000; {2}: 400 of 1000. In the class, arm 1 always won and arm 0 never."""
    player = begin("lsdt_ts_csi", THREE_CANDIDATES, COIN)
    after(player, *[(0, 0.0)] * 1000, *[(1, 1.0)] * 1000, *[(2, 1.0)] * 400, *[(2, 0.0)] * 600)
    assert player.state.classes.win_depth.tolist() == pytest.approx([1000 + 2 / 3, 400 + 2 / 3])
    assert [player.select() for _ in range(20)] == [1] * 20


def test_lsdt_psi():
    """Two arms without relations: z = 1, 1. sigma = 1/2, beta = 1/2, T = 100, epsilon = .1, lambda = 1.

    Epoch 0: ceil(log 100) = 5 plays each. Radius sqrt(.5 * 4.605 / 5) = .679: .679 + .1 > 1 - .679.
    Epoch 1: ceil(4 log 25) = 13. Radius sqrt(.5 * 3.219 / 13) = .352: .452 <= .648, arm 1 goes.
    """
    player = begin("lsdt_psi", Side(2, epsilon=0.1), COIN, lambda_=1.0)
    for at in range(40):
        arm = player.select()
        assert arm == (at % 2 if at < 26 else 0)
        player.update(arm, 1.0 - arm)


def test_lsdt_psi_for_light_tails():
    """As above with b = 1. Epoch 1: the radius is 2 * 3.219 / 13 = .495: .595 > .505, arm 1 stays.

    Epoch 2: ceil(16 log 6.25) = 30 plays; sqrt(.5 * 1.833 / 30) = .175, above 2 * 1.833 / 30: arm 1 goes.
    """
    player = begin("lsdt_psi", Side(2, epsilon=0.1), COIN, lambda_=1.0, b=1.0)
    for at in range(70):
        arm = player.select()
        assert arm == (at % 2 if at < 60 else 0)
        player.update(arm, 1.0 - arm)


@pytest.mark.parametrize(("width", "rounds"), [(0.25, 26), (1.0, 60)])
def test_lsdt_psi_for_heavy_tails(width, rounds):
    """The same epochs: 5, 13 and 30 plays each; L = 4.605, 3.219, 1.833. order 2, bound 1.

    A reward of 1 is kept from sqrt(s / L) >= 1 on: s = 5 in epoch 0, s = 4 in epoch 1, s = 2 in epoch 2.
    Means of arm 0: 1/5, 10/13, 29/30. width 1/4: epoch 0: radius .240; epoch 1: .124: .224 <= .645, gone.
    width 1: epoch 1: .498: .598 > .271; epoch 2: .247: .347 <= .719, gone.
    """
    given = {"tails": "heavy", "lambda_": 1.0, "order": 2.0, "bound": 1.0, "width": width}
    player = begin("lsdt_psi", Side(2, epsilon=0.1), COIN, **given)
    for at in range(70):
        arm = player.select()
        assert arm == (at % 2 if at < rounds else 0)
        player.update(arm, 1.0 - arm)
        if at == 9:  # the second and third reward count in epoch 2, the fourth from 1 on, the fifth at once
            assert player.state.pool_kept.reshape(2, 3).tolist() == [[1.0, 1.0, 2.0], [0.0, 0.0, 0.0]]


def test_lsdt_psi_for_heavy_tails_at_the_end_is_ucb1():
    """epsilon = 10^6: no epoch. order 2, bound 1, t = 3: L = 2.83, the first power of sqrt 2 above 2.197.

    Rewards 1, 0 of arm 0: 1 is beyond sqrt(1 / 2.83) = .59 and left out. width 4: 4 sqrt(2.83 / 2) = 4.757
    below 4 sqrt(2.83) = 6.727 of arm 1.
    """
    far = {"side": Side(2, epsilon=1e6), "tails": "heavy", "order": 2.0, "bound": 1.0}
    player = after(begin("lsdt_psi", **far), *HALF)
    assert (player.state.tallies.means.tolist(), player.select()) == ([0.0, 0.0], 1)
    assert next_choice("lsdt_psi", (0, 1.0), **far) == 1  # never played: infinite


def test_lsdt_psi_final_ucb():
    """epsilon = 1000: no epoch. Final constant 8 / 4 = 2 for sigma = 1/2: as UCB1 with alpha = 2."""
    far = {"side": Side(2, epsilon=1000.0), "rewards": COIN}
    assert next_choice("lsdt_psi", *HALF, **far) == 0
    assert next_choice("lsdt_psi", *HALF, sigma=1.0, **far) == 1  # alpha = 8
    assert next_choice("lsdt_psi", (0, 1.0), **far) == 1  # never played: infinite
    assert next_choice("lsdt_psi", *HALF, b=0.5, **far) == 1  # as UCB1 with b = 1/2


def test_lsdt_ts_psi_by_quantiles():
    """T = 100: delta = .1, 2 log T = 9.2. Beta(11, 1): .1^(1/11) = .811; Beta(1, 11): .189 + .1 <= .811."""
    history = (*[(0, 1.0)] * 10, *[(1, 0.0)] * 9)
    player = after(begin("lsdt_ts_psi", Side(2, epsilon=0.1), COIN), *history)
    assert player.state.alive.tolist() == [1, 1]  # nine are not enough
    assert after(player, (1, 0.0)).state.alive.tolist() == [1, 0]
    assert [player.select() for _ in range(20)] == [0] * 20


def test_lsdt_ts_psi_epsilon_counts():
    """As above, but .189 + .7 > .811."""
    history = (*[(0, 1.0)] * 10, *[(1, 0.0)] * 10)
    player = after(begin("lsdt_ts_psi", Side(2, epsilon=0.7), COIN), *history)
    assert player.state.alive.tolist() == [1, 1]


def test_lsdt_ts_psi_by_the_least_likely_arm():
    """Arm 1 lost ten times: .189 for Beta(1, 11), and goes. Then arm 0, Beta(6, 6), at ten plays."""
    history = (*[(2, 1.0)] * 9, *[(1, 0.0)] * 9)
    player = begin("lsdt_ts_psi", Side(3, epsilon=0.7), COIN, elimination="least_likely")
    assert after(player, *history, *[(0, 1.0), (0, 0.0)] * 4).state.alive.tolist() == [1, 1, 1]
    assert after(player, (1, 0.0)).state.alive.tolist() == [1, 0, 1]
    assert after(player, (0, 1.0)).state.alive.tolist() == [1, 0, 1]
    assert after(player, (0, 0.0)).state.alive.tolist() == [0, 0, 1]


def test_lsdt_ts_psi_pools_similar_arms():
    """Five losses of arm 1 and five of its neighbour 2 are ten of the pool of either."""
    history = (*[(0, 1.0)] * 10, *[(1, 0.0)] * 5, *[(2, 0.0)] * 5)
    player = after(begin("lsdt_ts_psi", Side(3, similar=[(1, 2)], epsilon=0.1), COIN), *history)
    assert player.state.alive.tolist() == [1, 0, 0]
