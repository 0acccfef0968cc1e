"""Draws given relations and rewards: their law against points tried one by one, and what they satisfy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import lsdt
from lsdt.policies import mean_posterior
from lsdt.policies.mean_posterior import mean_prior, means_of_any_width, posterior_draws
from lsdt.policies.parts.mean_draws_kernel import width_around
from naive.mean_posterior import weighed_points

CASES = {
    "two modes": [("similar", 0, 1, 0.3), ("dissimilar", 1, 2, 0.3)],
    "a chain": [("similar", 0, 1, 0.3), ("similar", 1, 2, 0.3), ("dissimilar", 0, 2, 0.3)],
    "all apart": [("dissimilar", 0, 1, 0.2), ("dissimilar", 1, 2, 0.2), ("dissimilar", 0, 2, 0.2)],
    "a range": [("range", 0, 1, 0.1, 0.4), ("similar", 1, 2, 0.2)],
    "an order": [("range", 0, 1, 0.0, math.inf), ("range", 1, 2, 0.0, math.inf)],
}


def side_of(relations, n_arms=3):
    pairs = {kind: [row[1:3] for row in relations if row[0] == kind] for kind in ("similar", "dissimilar")}
    ranges = [row[1:] for row in relations if row[0] == "range" and math.isfinite(row[4])]
    better = [row[1:3] for row in relations if row[0] == "range" and math.isinf(row[4])]
    epsilon = next((row[3] for row in relations if row[0] != "range"), None)
    return lsdt.SideInformation(n_arms, **pairs, ranges=ranges, better=better, epsilon=epsilon)


@pytest.mark.parametrize("law", ["coins", "gaussian"])
@pytest.mark.parametrize("case", CASES)
def test_the_law_is_that_of_points_weighed_one_by_one(case, law, monkeypatch):
    monkeypatch.setattr(mean_posterior, "_MOST_DRAWS", 3_000)
    monkeypatch.setattr(mean_posterior, "_ENTRIES", 10**6)
    relations, rng, is_coin = CASES[case], np.random.default_rng(len(case)), law == "coins"
    if is_coin:
        first, second = np.array([14.0, 6.0, 2.0]), np.array([6.0, 9.0, 0.0])
        box = (0.0, 1.0)

        def log_density(arm, x):
            return first[arm] * math.log(x) + second[arm] * math.log(1.0 - x)
    else:
        first, second = np.array([0.7, 0.4, 0.9]), np.array([0.15, 0.2, 0.4]) ** -2.0
        box = (-0.8, 2.2)

        def log_density(arm, x):
            return -0.5 * second[arm] * (x - first[arm]) ** 2

    points, weights = weighed_points(relations, log_density, box, 3, 150_000, rng)
    prior = mean_prior(side_of(relations), is_coin)
    if not is_coin:  # a box of this width may begin anywhere, as long as all means are in it
        weights *= np.maximum(max(prior.width, 1.5) - np.ptp(points, axis=1), 0.0)
        weights /= weights.sum()
    draws = posterior_draws(prior, first, second, span=1.5)
    # Four standard errors of a share, or a mean, of draws of which every third counts, and of the points.
    n_effective = min(1_000.0, 1.0 / (weights**2).sum())
    centre = weights @ points
    spread = np.sqrt(weights @ (points - centre) ** 2)
    margin = 4.0 * math.sqrt(2.0 / n_effective)
    assert (np.abs(draws.mean(axis=0) - centre) < margin * spread).all()
    assert (np.abs(draws.std(axis=0) / spread - 1.0) < margin).all()
    best = np.bincount(draws.argmax(axis=1), minlength=3) / len(draws)
    share = np.bincount(points.argmax(axis=1), weights, 3)
    assert np.abs(best - share).max() < 0.5 * margin


@pytest.mark.parametrize("number", range(6))
def test_all_draws_satisfy_all_relations_and_lie_within_the_bounds_of_candidates(number):
    rng = np.random.default_rng(number)
    n_arms, p, is_coin = (12, 24, 30)[number % 3], (0.3, 1.0)[number % 2], number < 4
    means = rng.uniform(0.0, 1.0, n_arms)
    side = lsdt.from_means(means, 0.1).reveal(p, p, seed=number)
    counts = rng.integers(0, 40, n_arms).astype(float)
    counts[rng.random(n_arms) < 0.5] = 0.0
    counts[0] = 10.0
    seen = np.clip(means + rng.normal(0.0, 0.5 / np.sqrt(counts + 1.0)), 0.0, 1.0)
    told = (counts * seen, counts * (1.0 - seen)) if is_coin else (seen, counts / 0.25)
    draws = posterior_draws(mean_prior(side, is_coin), *told)
    table = np.abs(draws[:, :, None] - draws[:, None, :])
    near, far = side.similar_pairs(), side.dissimilar_pairs()
    assert (table[:, near[:, 0], near[:, 1]] < 0.1).all()
    assert (table[:, far[:, 0], far[:, 1]] >= 0.1 - 1e-9).all()
    if is_coin:
        assert draws.min() >= 0.0
        assert draws.max() <= 1.0
    found = lsdt.candidate_set(side)
    for arm in np.unique(draws.argmax(axis=1)).tolist():
        assert arm in found
        here, bounds = draws[draws.argmax(axis=1) == arm], found.bounds(arm)
        gaps = here[:, [arm]] - here
        assert (gaps >= bounds.lower - 1e-9).all()
        assert (gaps <= bounds.upper + 1e-9).all()


def test_relations_without_size_or_without_means_have_no_draws():
    assert mean_prior(lsdt.SideInformation(3, [(0, 1)], [(1, 2)]), True) is None
    circle = lsdt.SideInformation(3, better=[(0, 1), (1, 2), (2, 0)])
    assert mean_prior(circle, True) is None
    apart = lsdt.SideInformation(4, dissimilar=[(a, b) for b in range(4) for a in range(b)], epsilon=0.4)
    assert mean_prior(apart, True) is None  # no room for them in [0, 1]
    assert mean_prior(apart, False) is not None


def test_means_too_far_apart_at_first_are_squeezed_into_their_box(thorough):
    """Components that are laid one after the other take more room than there is."""
    n_found, n_problems = 0, 8 if thorough else 3
    for seed in range(n_problems):
        means = np.random.default_rng(seed).uniform(0.0, 1.0, 100)
        side = lsdt.from_means(means, 0.05).reveal(0.3, 0.3, seed=seed)
        prior = mean_prior(side, True)
        if prior is not None:
            n_found += 1
            assert prior.draws.min() >= 0.0
            assert prior.draws.max() <= 1.0
    assert n_found == n_problems


@pytest.mark.parametrize(("span", "n_arms", "widest"), [(0.5, 3, 1.0), (0.7, 40, 1.0), (2.0, 12, math.inf)])
def test_the_width_of_a_box_has_the_density_of_the_means_in_it(span, n_arms, widest):
    """K uniform means in a box of width w, of which all widths are alike: added up over a fine grid."""
    far = min(widest, 400.0 * span)
    widths = np.geomspace(span, far, 200_001)
    middles = 0.5 * (widths[1:] + widths[:-1])
    mass = np.cumsum(np.diff(widths) * (middles - span) / (middles / span) ** n_arms)
    for share in (0.05, 0.3, 0.5, 0.8):
        at = width_around(span, n_arms, widest, 1.0 - share)  # a large width is a small share of it
        assert abs(np.interp(at, widths[1:], mass / mass[-1]) - share) < 2e-3


def test_of_draws_with_their_width_the_truth_is_one():
    """Means from boxes of any width: how many draws spread less is uniform (Talts et al., 2018)."""
    rng, places = np.random.default_rng(4), []
    while len(places) < 120:
        width = rng.uniform()
        means = width * rng.uniform(size=8) + rng.uniform(0.0, 1.0 - width)
        side = lsdt.from_means(means, epsilon=0.15)
        draws = means_of_any_width(side, True, np.arange(8), 19)
        if draws is None:  # all are similar, or all dissimilar
            continue
        assert 0.0 <= draws.min() <= draws.max() <= 1.0
        places.append(int((np.ptp(draws, axis=1) < np.ptp(means)).sum()))
    counts = np.bincount(np.array(places) // 5, minlength=4)
    assert scipy.stats.chisquare(counts).pvalue > 1e-3
