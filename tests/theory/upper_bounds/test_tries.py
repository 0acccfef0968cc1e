"""The bound on the tries of identify: by a scan, and whatever an adversary pays."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.theory import most_tries


@pytest.mark.parametrize("rewards", ["gaussian", "bernoulli"])
def test_beside_a_scan(rewards):
    """n is the least number from which on there is enough evidence, for it and for all larger ones."""
    for n_arms, tolerance, delta, sigma in ((2, 0.5, 0.05, 1.0), (9, 0.3, 1e-4, 0.5), (100, 0.7, 0.2, 2.0)):
        share = min(0.5, 4 / n_arms)
        needed = math.log(1 / delta) + math.log(1 / share) + n_arms * math.log(1 / (1 - share))
        n = np.arange(20_000)
        if rewards == "bernoulli":
            evidence = n * tolerance**2 / 2 - np.log(np.pi * (n + 0.5)) / 2
        else:
            evidence = n**2 * tolerance**2 / (8 * sigma**2 * (n + 1)) - np.log(1 + n) / 2
        least = int(np.flatnonzero(evidence < needed).max()) + 1
        assert least < 19_999
        found = most_tries(n_arms, tolerance, delta, rewards, sigma)
        assert found == n_arms * (least + 14) ** 2


@pytest.mark.parametrize("law", ["ones", "alternating", "against the leader"])
def test_an_adversary_cannot_keep_it_playing(law):
    side, paid = lsdt.SideInformation(3), np.zeros(3)
    plays = np.zeros(3)

    def reward(arm):
        means = paid / np.maximum(plays, 1)
        value = {"ones": 1.0, "alternating": plays[arm] % 2, "against the leader": means[arm] < means.max()}
        plays[arm] += 1
        paid[arm] += float(value[law])
        return float(value[law])

    most = most_tries(3, 0.9, 0.05, "bernoulli")
    found = lsdt.identify(reward, side, tolerance=0.9, rewards="bernoulli", budget=most)
    assert found.stop
    assert found.tries <= most


def test_bad_input():
    with pytest.raises(InvalidInput, match="tolerance"):
        most_tries(5, 0.0)
    with pytest.raises(InvalidInput, match="delta"):
        most_tries(5, 0.1, delta=1.0)
