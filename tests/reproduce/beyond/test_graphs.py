"""The contest on graphs: its problems, D-UCB and C-UCB, and its claims."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.kernel import new_stream, normal, uniform
from lsdt.reproduce.beyond.graphs import contest, settings, side_observations_kernel
from lsdt.reproduce.beyond.graphs.clusters import GRAPHS, ClusterProblem
from lsdt.reproduce.framework.claims import FAILS, HOLDS, IN_PART

PATH = lsdt.from_means([0.0, 0.1, 0.2, 0.3, 0.4], 0.15)  # every arm is similar to the next


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("lone", [True, False])
def test_clusters_say_what_is_true(graph, lone):
    problem = ClusterProblem(graph, epsilon=0.05, jitter=0.02, dissimilar=True, lone=lone)
    means, side, _ = problem.draw(3, 0)
    assert len(means) == problem.n_arms == side.n_arms == (101 if lone else 110)
    distance = np.abs(np.subtract.outer(means, means))
    a, b = side.similar_pairs().T
    assert (distance[a, b] < 0.05).all()
    assert side.n_dissimilar == (distance[np.triu_indices(len(means), 1)] >= 0.05).sum()
    groups = np.round(means, 1)
    assert (groups[a] == groups[b]).all()
    sizes = np.unique(groups, return_counts=True)[1].tolist()
    assert sizes == [10] * 10 + [1 if lone else 10]
    pairs = {"cliques": 45, "attachment": 16}.get(graph)  # 2 of the star, and 2 of each of 7 others
    if pairs is not None:
        assert len(a) == pairs * (10 if lone else 11)
    assert not np.array_equal(means, problem.draw(3, 1).means)


def test_clusters_are_as_equal_as_published_and_only_similar():
    means, side, _ = ClusterProblem().draw(0, 0)
    assert sorted(set(means)) == pytest.approx([*np.arange(1, 11) / 10, 1.3])
    assert (side.n_similar, side.n_dissimilar, side.epsilon) == (450, 0, 0.001)


def test_an_independent_set_sees_every_arm():
    seen = side_observations_kernel.seen_with(PATH)
    assert [row.tolist() for row in seen] == [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4]]
    assert side_observations_kernel.independent_set(seen).tolist() == [0, 2, 4]


def plays(conservative, means, horizon, sigma=0.0, factor=1.0, is_coin=False, stream=None):
    seen = side_observations_kernel.seen_with(PATH)
    return side_observations_kernel.play(
        np.array(means),
        is_coin,
        sigma,
        np.cumsum([0, *map(len, seen)]),
        np.concatenate(seen),
        side_observations_kernel.independent_set(seen),
        conservative,
        factor,
        horizon,
        new_stream(1) if stream is None else stream,
    ).tolist()


def test_hand_worked_plays():
    """By hand, without noise: arms 0, 2 and 4 first, after which 1 and 3 are seen twice, the others once.

    With T = 4, r = sqrt(log(16 sqrt 2)) = 1.766 after one reward and 1.249 after two. Arm 4 has the largest
    index of the set, .4 + 1.766. Of arms 3 and 4, arm 4 has the larger upper end (2.166, 1.549), and arm 3
    the larger lower end (.3 - 1.249 = -.949, .4 - 1.766 = -1.366).
    """
    means = [0.0, 0.1, 0.2, 0.3, 0.4]
    assert plays(False, means, 4) == [1, 0, 1, 0, 2]
    assert plays(True, means, 4) == [1, 0, 1, 1, 1]


def naive_plays(conservative, means, horizon, sigma, factor, is_coin, stream):
    """Play from the rule as it is written, with lists of the rewards that were seen."""
    near = [[j for j in range(5) if abs(i - j) <= 1] for i in range(5)]
    rewards, counts = [[] for _ in means], [0] * 5

    def index(arm, sign=1):
        width = factor * math.sqrt(math.log(math.sqrt(2) * horizon**2) / len(rewards[arm]))
        return sum(rewards[arm]) / len(rewards[arm]) + sign * width

    for t in range(horizon):
        arm = 2 * t
        if t >= 3:
            centre = max([0, 2, 4], key=index)
            arm = max(near[centre], key=lambda other: index(other, -1 if conservative else 1))
        counts[arm] += 1
        for other in near[arm]:
            coin = float(uniform(stream) < means[other]) if is_coin else None
            rewards[other].append(means[other] + sigma * normal(stream) if coin is None else coin)
    return counts


@pytest.mark.parametrize("conservative", [True, False])
@pytest.mark.parametrize("is_coin", [True, False])
@pytest.mark.parametrize("factor", [0.2, 1.0])
def test_rules_agree_with_naive_ones(conservative, is_coin, factor):
    means = [0.3, 0.45, 0.6, 0.7, 0.55]
    for seed in range(5):
        arguments = conservative, means, 80, 0.5, factor, is_coin
        assert plays(*arguments, new_stream(seed)) == naive_plays(*arguments, new_stream(seed))


def test_regret_is_that_of_the_plays():
    instance = lsdt.problems.Instance(
        np.array([0.0, 0.1, 0.2, 0.3, 0.4]), PATH, lsdt.rewards.gaussian(sigma=1e-9)
    )
    found = side_observations_kernel.regret_of(instance, 4, False, 1.0, (0, 0))
    assert found == pytest.approx(0.4 + 0.2)


def test_the_policies_of_every_setting_are_policies():
    for arena in settings.ARENAS.values():
        assert set(settings.OURS) <= set(arena.words)
        for word in arena.words.values():
            lsdt.policies.parse_policy(word)


def invented(default, rival, seeing, identify, tight, oracle):
    """Return tables in which every run has these numbers, but for a little noise that is common to all."""
    noise = np.arange(20) / 100
    policies = {
        "lsdt_posterior": default,
        "spectral_ts, tuned": rival,
        "D-UCB, tuned, sees neighbours": seeing,
    }
    methods = {
        "identify": identify,
        "GRUB, tight": tight,
        "GRUB, oracle factor": oracle,
        "GRUB, published": 9e5,
    }
    rows = [
        {"arena": arena, "policy": name, "run": run, "regret": mean + more}
        for arena in ("cliques", "qi-gaussian")
        for name, mean in policies.items()
        for run, more in enumerate(noise)
    ]
    tries = [
        {"graph": graph, "method": name, "run": run, "tries": mean * (1 + more), "wrong": False}
        for graph in GRAPHS
        for name, mean in methods.items()
        for run, more in enumerate(noise)
    ]
    return {"regret": pd.DataFrame(rows), "tries": pd.DataFrame(tries)}


@pytest.mark.parametrize(
    ("numbers", "verdict"),
    [
        ((3.0, 4.0, 20.0, 500, 9_000, 900), HOLDS),
        ((30.0, 4.0, 20.0, 5_000, 9_000, 900), FAILS),
    ],
)
def test_claims_follow_the_numbers(numbers, verdict):
    errors, *others = contest._claims(invented(*numbers))
    assert errors.verdict == IN_PART  # sixty runs without an error do not show that at most 5% have one
    assert [claim.verdict for claim in others] == [verdict] * 4
    text = contest._discussion(invented(*numbers))
    assert "Tries on blocks: identify" in text
    assert "spectral_ts, tuned" in text
