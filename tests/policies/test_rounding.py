"""Where floating point decides: examples found by playing beside the naive twins."""

from __future__ import annotations

import math

import pytest

import lsdt
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel

COIN = RewardModel("bernoulli", 0.5)


def next_choice(policy, side, history, rewards=COIN, horizon=100):
    """The choice after a history; `select` is called before every reward, as in a run."""
    player = policy.begin(side, rewards, horizon, new_stream(1)).player
    for arm, reward in history:
        player.select()
        player.update(arm, reward)
    return player.select()


def test_moss_index_of_lsdt_csi_is_the_mean_at_the_fair_share():
    """Three arms in one class, t = 36; arms 1 and 2 have mean 1 in 13 and 12 plays: both have index 1.

    Arm 1: log(36 / 39) < 0 counts as 0. Arm 2: log(36 / 36) = 0. Arm 0 always failed.
    """
    side = lsdt.complete(3, [(0, 1), (0, 2), (1, 2)])
    history = [(0, 0.0), (1, 1.0), (2, 1.0), *[(0, 0.0)] * 10, *[(1, 1.0)] * 12, *[(2, 1.0)] * 11]
    counts = [sum(arm == which for arm, _ in history) for which in range(3)]
    assert (len(history), counts) == (36, [11, 13, 12])
    # Arm 0: 0 + sqrt(log(36 / 33) / 11) = 0.09. Arms 1 and 2 tie at 1: the lower number plays.
    assert next_choice(lsdt.Policy("lsdt_csi", index="moss"), side, history) == 1


def test_ckl_ucb_does_not_forget_an_arm_whose_index_rounds_to_one():
    """Arm 1: mean 1 - 1e-15 once, log 5 = 1.6: 1 - q = 1e-15 exp(-1.6e15), so its index is 1.

    Arm 0: mean (1 + .5 + .5 + .5) / 4 = .625 in four plays, index .93. Arm 1 is to be played.
    """
    side = lsdt.SideInformation(2, epsilon=0.5)
    history = [(0, 1 - 1e-15), (1, 1 - 1e-15), (0, 0.5), (0, 0.5), (0, 0.5)]
    assert next_choice(lsdt.Policy("ckl_ucb"), side, history) == 1


def test_ckl_ucb_hears_the_neighbours_of_an_arm_whose_own_index_rounds_to_one():
    """Arm 0 has mean 1 - 1e-15, but its neighbour 1 failed 21 times: q - .1 <= 1 - exp(-log(24) / 21) = .14.

    So arm 0's index is at most .24. Arm 2: mean .9 in two plays, index above .9. Arm 2 is to be played.
    """
    side = lsdt.SideInformation(3, similar=[(0, 1)], epsilon=0.1)
    history = [(0, 1 - 1e-15), *[(1, 0.0)] * 21, (2, 0.9), (2, 0.9)]
    player = lsdt.Policy("ckl_ucb").begin(side, COIN, 100, new_stream(1)).player
    for arm, reward in history:
        player.update(arm, reward)
    assert math.log(24) / 21 < 0.16
    assert player.select() == 2
    assert player.state.point[0] == pytest.approx(0.1 + 1 - math.exp(-math.log(24) / 21))
