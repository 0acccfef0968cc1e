"""Many runs of identification, ours and by published rules."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.identification import Grub
from lsdt.kernel.random import new_stream

PROBLEM = lsdt.problems.uniform(n_arms=12, epsilon=0.3, p_similar=0.7, p_dissimilar=0.7)
PAIRS = [(0, 1), (1, 2), (3, 4)]
MEANS = np.array([0.0, 0.2, 0.1, 2.0, 1.9, 1.0])


def graph_problem(law="gaussian", scale=1.0):
    side = lsdt.SideInformation(6, similar=PAIRS, epsilon=0.25)
    rewards = lsdt.rewards.gaussian(0.3) if law == "gaussian" else lsdt.rewards.bernoulli()
    return lsdt.problems.given(scale * MEANS, side, rewards)


def test_every_method_names_a_good_arm():
    methods = ["identify", "lucb", "kl_lucb@propagation", "top_two@propagation", "grub"]
    found = lsdt.identify_many(PROBLEM, methods, replications=4, seed=3)
    summary = found.summary()
    assert summary.index.tolist() == methods
    assert (summary.errors == 0).all()
    assert (summary.cut_off == 0).all()
    assert summary.tries.idxmin() == "identify"
    ours = found.runs[found.runs.method == "identify"].tries
    assert summary.tries["identify"] == pytest.approx(ours.mean())
    assert summary.worst["identify"] == ours.max()


def test_a_run_of_ours_is_that_of_identify():
    found = lsdt.identify_many(PROBLEM, replications=1, seed=5).runs.iloc[0]
    alone = lsdt.identify(PROBLEM, seed=5)
    assert (found.tries, found.gap, found.stop) == (alone.tries, alone.gap, alone.stop)


def naive_grub(problem, grub, tolerance, delta, most, key):
    """Solve for estimates and variances from the first reward in every round."""
    from lsdt.kernel.random import normal, uniform

    instance = problem.draw(0, 0)
    means, n_arms, sigma = instance.means, len(instance.means), instance.rewards.sigma
    laplacian = np.zeros((n_arms, n_arms))
    for a, b in PAIRS:
        laplacian[[a, b], [a, b]] += 1
        laplacian[[a, b], [b, a]] -= 1
    norm = 0.25 * math.sqrt(len(PAIRS))
    tight = grub.radius == "tight"
    factor = grub.scale * (math.sqrt(2) if tight else 2 * math.sqrt(14))
    bias = norm * (math.sqrt(grub.weight) if tight else grub.weight)
    counts, sums, alive, stream = np.zeros(n_arms), np.zeros(n_arms), set(range(n_arms)), new_stream(*key, 61)
    played, inverse = [], None
    while True:
        if len(played) < 3:
            arm = (0, 3, 5)[len(played)]
        else:
            arm = min(alive)
            for each in sorted(alive):
                arm = each if inverse[each, each] > (1 + 1e-9) * inverse[arm, arm] else arm
        paid = float(uniform(stream) < means[arm]) if sigma == 0.5 else means[arm] + sigma * normal(stream)
        counts[arm] += 1
        sums[arm] += paid
        played.append(arm)
        if len(played) < 3:
            continue
        inverse = np.linalg.inv(grub.weight * laplacian + np.diag(counts))
        if len(played) == 3:
            continue
        estimate, variance = inverse @ sums, np.diag(inverse)
        plays = np.full(n_arms, len(played)) if tight else 1 / variance
        level = np.maximum(np.log(2 * n_arms * plays**2 / delta), 0)
        half = np.sqrt(variance) * (factor * sigma * np.sqrt(level) + bias)
        leader = max(alive, key=lambda each: estimate[each] - half[each])
        highest = estimate[leader] - half[leader]
        alive = {each for each in alive if each == leader or (estimate + half)[each] > highest + tolerance}
        if len(alive) == 1:
            return len(played), leader, True


@pytest.mark.parametrize("law", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("grub", [Grub(3.0, "tight"), Grub(0.7, "published", 0.1), Grub(2.0, "tight", 0.6)])
def test_grub_is_its_naive_twin(law, grub):
    problem = graph_problem(law, 1.0 if law == "gaussian" else 0.4)
    instance = problem.draw(0, 0)
    for number in range(3):
        ours = grub.play(instance, 0.05, 0.05, 10**5, (number, 1))
        assert ours == naive_grub(problem, grub, 0.05, 0.05, 10**5, (number, 1))


def test_the_budget_ends_a_run():
    found = lsdt.identify_many(
        graph_problem(), ["identify", "grub", "lucb"], 1e-9, 0.0, replications=2, budget=20
    )
    assert (found.summary().cut_off == 2).all()


def test_bad_input():
    with pytest.raises(
        InvalidInput, match="unknown method 'lucp'; there are identify, .*did you mean 'lucb'"
    ):
        lsdt.identify_many(PROBLEM, "lucp")
    with pytest.raises(InvalidInput, match="at least one method"):
        lsdt.identify_many(PROBLEM, [])
    with pytest.raises(InvalidInput, match="radius must be one of published, tight; got 'wide'"):
        lsdt.identify_many(PROBLEM, Grub(radius="wide"))
    with pytest.raises(InvalidInput, match="weight of Grub must be a number above 0"):
        lsdt.identify_many(PROBLEM, Grub(weight=-1.0))
    free = lsdt.problems.given(MEANS, lsdt.SideInformation(6, similar=PAIRS), "gaussian")
    with pytest.raises(Unsupported, match="so give a tolerance"):
        lsdt.identify_many(free)
    with pytest.raises(Unsupported, match="GRUB needs epsilon"):
        lsdt.identify_many(free, "grub", tolerance=0.1)
