"""Arms that change: by hand, against a slow twin, and how often arms that stay are listed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import betaln, logsumexp

import lsdt
from agent.examples import applied
from lsdt.agent.cuts import n_cuts, places_of_cuts
from lsdt.agent.drift import changed_arms, cut_evidence
from lsdt.errors import InvalidInput, Unsupported
from lsdt.kernel.rewards import RewardModel
from lsdt.storage import open_store

ARMS = lsdt.SideInformation(3, arm_ids=["tea", "mate", "juice"], epsilon=0.2)
COINS, BELLS = RewardModel("bernoulli", 0.5), RewardModel("gaussian", 2.0)


def log_mixture(theta, n, total, model):
    """Log M of docs/theory/stopping.md, term by term."""
    if model.family == "bernoulli":
        base = betaln(total + 0.5, n - total + 0.5) - betaln(0.5, 0.5)
        return base - total * math.log(theta) - (n - total) * math.log(1 - theta)
    mean = total / n
    return n**2 * (mean - theta) ** 2 / (2 * model.sigma**2 * (n + 1)) - 0.5 * math.log(1 + n)


@pytest.mark.parametrize("model", [COINS, BELLS], ids=["coins", "bells"])
def test_the_evidence_of_a_cut_is_the_least_of_the_product(model):
    rng = np.random.default_rng(0)
    for first, second in ((16, 5), (31, 40), (40, 3), (256, 100)):
        one, two = (rng.uniform(0.2, 0.8) * n for n in (first, second))
        number = int(n_cuts(np.array([first]))[0]) - 1
        assert places_of_cuts(np.array(number)) == first

        def both(theta, one=one, two=two, first=first, second=second):
            return log_mixture(theta, first, one, model) + log_mixture(theta, second, two, model)

        least = minimize_scalar(both, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-12})
        kept = np.zeros(number + 1)
        kept[number] = one
        places = places_of_cuts(np.arange(number + 1))
        weight = 1 / (16 * (number // 16 + 1) * (number // 16 + 2))
        found = cut_evidence(places, kept, first + second, one + two, model)[number]
        assert found == pytest.approx(math.log(weight) + least.fun, abs=1e-8)


def test_cuts_are_sixteen_an_octave():
    places = places_of_cuts(np.arange(120)).tolist()
    assert places[:18] == [*range(16, 32), 32, 34]
    counts = np.arange(1, places[-1] + 1)
    assert n_cuts(counts).tolist() == [sum(place <= n for place in places) for n in counts.tolist()]
    octaves = np.arange(10**6)
    assert (1 / ((octaves + 1.0) * (octaves + 2.0))).sum() <= 1  # the weights of all cuts


def test_a_change_is_listed_with_its_moment():
    agent, rng = lsdt.Agent(ARMS, "ts"), np.random.default_rng(1)
    for number in range(600):
        agent.observe("tea", float(rng.random() < (0.8 if number < 400 else 0.3)))
        agent.observe("mate", float(rng.random() < 0.5))
    found = agent.drift()
    assert found.arm.tolist() == ["tea"]
    row = found.iloc[0]
    assert abs(row.plays_before - 400) <= 16
    assert row.plays_before + row.plays_after == 600
    assert row.mean_before == pytest.approx(0.8, abs=0.06)
    assert row.mean_after == pytest.approx(0.3, abs=0.1)
    assert row.evidence > math.log(3 / 0.05)
    assert agent.drift(1e-60).empty
    empty = lsdt.Agent(ARMS, "ts").drift()
    assert list(empty.columns) == list(found.columns)
    assert empty.empty


def test_arms_are_judged_one_by_one():
    """All cuts are one array; the evidence of an arm is the sum of its own alone."""
    agent, rng = lsdt.Agent(ARMS, "ts"), np.random.default_rng(5)
    for number in range(900):
        arm = int(rng.integers(3))
        agent.observe(arm, float(rng.random() < (0.9 if arm and number > 300 * arm else 0.2)))
    changes = {change.arm: change for change in changed_arms(agent.state(), 0.05)}
    assert sorted(changes) == [1, 2]
    counts, sums = agent.state().counts, agent.state().sums
    for arm, change in changes.items():
        kept = np.array(agent.state().order.cut_sums[arm])
        places = places_of_cuts(np.arange(len(kept)))
        values = cut_evidence(places, kept, counts[arm], sums[arm], COINS)
        assert change.evidence == pytest.approx(logsumexp(values))
        at = values.argmax()
        assert (change.plays_before, change.plays_after) == (places[at], counts[arm] - places[at])
        assert change.mean_before == kept[at] / places[at]


def test_arms_that_stay_are_seldom_ever_listed(thorough):
    """Looked at after every 50 rewards, at a risk of 1/2: at most half of the agents on average."""
    listed, n_agents = 0, 300 if thorough else 25
    for seed in range(n_agents):
        agent, rng = lsdt.Agent(lsdt.SideInformation(1), "ts"), np.random.default_rng(seed)
        ever = False
        for _ in range(8):
            for reward in (rng.random(50) < 0.4).astype(float).tolist():
                agent.observe(0, reward)
            ever = ever or not agent.drift(0.5).empty
        listed += ever
    assert listed <= n_agents / 4


def test_what_is_kept_survives():
    """A log that is folded, a snapshot and an extension leave the same cuts."""
    store, rng = open_store("memory://"), np.random.default_rng(2)
    agent = lsdt.Agent.open(store, "x", ARMS, policy="ts", snapshot_every=0)
    for number in range(700):
        agent.observe(["tea", "mate", "juice"][int(rng.integers(number % 3 + 1))], float(rng.random()))
    cuts = agent.state().order.cut_sums
    assert [len(cuts[arm]) for arm in range(3)] == n_cuts(agent.state().counts).tolist()
    restored = lsdt.Agent.restore(agent.snapshot())
    assert restored.state().order.cut_sums == cuts
    entries = [entry for batch in store.read("x") for entry in batch]
    folded = applied(store.latest("x", before=entries[0].position + 1).blob, entries)
    assert folded.state().order.cut_sums == cuts
    agent.extend(lsdt.SideInformation(4, arm_ids=["cola", "juice", "mate", "tea"], epsilon=0.2))
    assert agent.state().order.cut_sums == {3 - arm: sums for arm, sums in cuts.items()}
    agent.close()


def test_bad_risks_and_heavy_tails_are_refused():
    agent = lsdt.Agent(ARMS, "ts")
    with pytest.raises(InvalidInput, match="risk must be above 0: no rewards show a change for certain"):
        agent.drift(0)
    with pytest.raises(InvalidInput, match="risk must lie between 0 and 1"):
        agent.drift(2)
    heavy = lsdt.Agent(ARMS, "ucb1:tails=heavy", rewards=lsdt.rewards.pareto(2.5))
    with pytest.raises(Unsupported, match="for rewards with Gaussian tails only"):
        heavy.drift()
