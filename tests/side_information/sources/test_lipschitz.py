"""The Lipschitz constant that is estimated from a pilot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.special import ndtri, stdtrit
from scipy.stats import binom

import lsdt
from lsdt.errors import InvalidInput, SideWarning
from lsdt.side_information.sources.lipschitz import Neighbours, estimate_lipschitz
from lsdt.side_information.sources.pilots import Pilot
from naive import sources as naive


def world(seed, n_arms=150, unexplained=0.0):
    """Features on a square, and means that rise along a sine."""
    rng = np.random.default_rng([seed, 2])
    points = rng.random((n_arms, 2))
    means = 0.5 + 0.2 * np.sin(4 * points[:, 0]) + 0.1 * points[:, 1] + unexplained * rng.normal(size=n_arms)
    return points, means


def pilot_of(means, seed, trials=2_000, share=0.6):
    rng = np.random.default_rng([seed, 3])
    arms = np.sort(rng.choice(len(means), int(share * len(means)), replace=False))
    wins = rng.binomial(trials, np.clip(means[arms], 0, 1))
    return {"arm": arms.tolist(), "successes": wins.tolist(), "trials": [trials] * len(arms)}


def test_the_formula_by_hand():
    """Everything but the weights is computed again in loops."""
    rng = np.random.default_rng(3)
    points, means = world(0, 40)
    noisy = rng.normal(means, 0.02)
    pilot = Pilot(np.arange(40), noisy, np.full(40, 0.02**2))

    def distances(first, second):
        return np.linalg.norm(points[first] - points[second], axis=1)

    found = estimate_lipschitz(pilot, points, distances, np.full(500, 0.1), 6, 0.1)
    pairs = sorted(tuple(sorted(pair)) for pair in naive.nearest_pairs(points.tolist(), 6))
    apart = np.array([np.linalg.norm(points[a] - points[b]) for a, b in pairs])
    excess = np.array([(noisy[a] - noisy[b]) ** 2 - 2 * 0.02**2 for a, b in pairs])
    unit = np.mean(apart**2)
    design = np.column_stack([np.ones(len(pairs)), apart**2 / unit])
    fit = np.array([0.0, excess.mean()])
    for _ in range(4):
        weights = 1.0 / (2 * 0.02**2 + design @ fit) ** 2
        fit, _ = nnls(design * np.sqrt(weights)[:, None], excess * np.sqrt(weights))
    shape = design @ fit
    scale, error = naive.jackknife_scale(pairs, shape, weights, excess, 40)
    upper = max(scale, 0) - stdtrit(39, 0.05) * error
    reach = -1.1 * ndtri(0.1 / 4 / 500) * upper**0.5
    assert found.n_pairs == len(pairs)
    assert found.lipschitz == pytest.approx(reach * (fit[1] / unit) ** 0.5, rel=1e-6)
    assert found.unexplained == pytest.approx(reach * fit[0] ** 0.5, rel=1e-6, abs=1e-12)


@pytest.mark.filterwarnings("ignore::lsdt.errors.SideWarning")
@pytest.mark.parametrize("unexplained", [0.0, 0.02])
def test_ranges_hold_at_the_stated_risk(unexplained):
    """60 worlds: as many with a wrong range as 5% allows, but for one in a thousand."""
    wrong, widths = 0, []
    for seed in range(60):
        points, means = world(seed, unexplained=unexplained)
        known = lsdt.from_features(points, pilot=pilot_of(means, seed), n_neighbours=8).ranges
        apart = means[known.pairs[:, 0]] - means[known.pairs[:, 1]]
        wrong += bool((np.abs(apart) > known.high).any())
        widths.append(np.median(known.high))
    assert wrong <= binom.isf(0.001, 60, 0.05)
    assert np.median(widths) < 0.45  # the means themselves are up to .5 apart


@pytest.mark.filterwarnings("ignore::lsdt.errors.SideWarning")
def test_the_three_kinds_of_pilot_agree():
    points, means = world(5, 60)
    rng = np.random.default_rng(0)
    rewards = (rng.random((60, 50)) < means[:, None]).astype(float)
    table = {"arm": list(range(60)), "successes": rewards.sum(axis=1).tolist(), "trials": [50] * 60}
    agent = lsdt.Agent(lsdt.SideInformation(60), "ts")
    for arm in range(60):
        for reward in rewards[arm]:
            agent.observe(arm, reward)
    log = lsdt.ratings.RatingLog.from_matrix(rewards.T, list(range(60)), scale=(0, 1))
    errors = rewards.std(axis=1, ddof=1) / 50**0.5
    given = {"arm": list(range(60)), "mean": rewards.mean(axis=1).tolist(), "se": errors.tolist()}
    sides = [lsdt.from_features(points, pilot=pilot, risk=0.2) for pilot in (table, agent, log, given)]
    for side in sides[1:]:
        assert side.evidence.lipschitz == pytest.approx(sides[0].evidence.lipschitz)
        assert side.evidence.unexplained == pytest.approx(sides[0].evidence.unexplained)
    assert sides[0].evidence.risk == 0.2
    assert "risk 0.2), from 60 arms of a pilot" in str(sides[0].evidence)


def test_a_jump_that_the_pilot_shows_is_allowed_for():
    """Flat but for one cliff between two near arms: the bound is not below what was measured."""
    points = np.linspace(0.0, 1.0, 60)[:, None]
    means = np.where(points[:, 0] < 0.5, 0.2, 0.8)
    pilot = {"arm": list(range(60)), "mean": means.tolist(), "se": [0.001] * 60}
    with pytest.warns(SideWarning, match="held-out pairs of the pilot differ by more"):
        side = lsdt.from_features(points, pilot=pilot, n_neighbours=3)
    assert side.difference(30, 29)[1] > 0.59


def test_warnings_say_what_to_do():
    points, means = world(1, 200)
    vague = pilot_of(means, 1, trials=3)
    with pytest.warns(SideWarning, match="wider than the spread of all means of the pilot"):
        lsdt.from_features(points, pilot=vague | {"successes": [1] * len(vague["arm"])})
    far = np.array([number for number in range(200) if points[number].max() > 0.9 or number % 9 == 0])
    table = {"arm": far.tolist(), "mean": means[far].tolist(), "se": [0.01] * len(far)}
    spread = np.vstack([points[far] * 100, points[np.setdiff1d(np.arange(200), far)]])
    table["arm"] = list(range(len(far)))
    with pytest.warns(SideWarning, match="twice as far apart as those that get ranges"):
        lsdt.from_features(spread, pilot=table, n_neighbours=5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "estimates the constant from a pilot:"),
        ({"pilot": {"arm": [0, 1], "mean": [0.1, 0.2], "se": [0.1, 0.1]}}, "at least 20 arms, .*got 2"),
        ({"pilot": {"arm": ["x"], "mean": [0.1], "se": [0.1]}}, "no arm of the pilot .* the pilot has 'x'"),
        ({"pilot": {"arm": [0, 1], "mean": [1, 1], "se": [1, 1], "experiment": [0, 1]}}, "is one experiment"),
        ({"pilot": 3}, "the pilot must be a dataframe"),
        ({"pilot": 3, "lipschitz": 1.0}, "a pilot is for lipschitz='auto'"),
        ({"risk": 0.0}, "risk must lie strictly between 0 and 1"),
        ({"epsilon": 0.1}, "with epsilon, pairs are similar by a given constant alone"),
    ],
)
def test_bad_values_are_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.from_features(world(0)[0], **arguments)


def test_equal_features_with_different_means_and_nothing_else():
    pilot = {"arm": list(range(30)), "mean": [0.0, 1.0] * 15, "se": [1e-6] * 30}
    with pytest.warns(SideWarning, match="say almost nothing"):
        side = lsdt.from_features(np.zeros((30, 2)), pilot=pilot)
    assert side.evidence.unexplained > 1.0  # all of it


def test_pairs_that_surely_differ():
    near = Neighbours(np.array([[0, 1], [1, 2]]), np.ones(2), np.array([1.0, 0.1]), np.full(2, 0.01))
    critical = -ndtri(0.05 / 4)
    assert near.surely_apart(0.05) == pytest.approx([1.0 - 0.1 * critical, 0.0])
