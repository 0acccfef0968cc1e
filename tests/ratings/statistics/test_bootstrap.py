"""Simultaneous intervals by a multiplier bootstrap: the draws by hand, its limits, and its level."""

from __future__ import annotations

import warnings

import duckdb
import numpy as np
import pytest
from scipy.stats import binom, norm

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.ratings import RatingWarning, make_log, pair_statistics, read_log
from lsdt.ratings.engines.lazy_frames import open_log
from lsdt.ratings.from_ratings import RatingRequest, relate
from lsdt.ratings.statistics.bootstrap import FEW_RATERS, bootstrap_intervals, largest_errors
from lsdt.ratings.statistics.intervals import DifferenceIntervals


def test_draws_are_those_of_a_slow_twin():
    log = read_log(make_log(n_users=300, n_items=6, ratings_per_user=4, seed=2).log)
    listed = pair_statistics(log, 50)
    found = largest_errors(log, listed, seed=5, draws=8)
    weights = np.random.default_rng((5, 0)).standard_normal((log.n_users, 8), np.float32)
    table = (log.matrix() - log.low) / (log.high - log.low)
    wanted = np.zeros(8)
    for first, second in zip(listed.first, listed.second, strict=True):
        apart = table[:, first] - table[:, second]
        both = ~np.isnan(apart)
        rest = apart[both] - apart[both].mean()
        wanted = np.maximum(wanted, np.abs(weights[both].T @ rest) / np.sqrt((rest**2).sum()))
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    again = largest_errors(log, listed, seed=5, draws=100)
    assert len(again) == 100
    assert not np.allclose(again[:8], largest_errors(log, listed, seed=6, draws=100)[:8])


def test_the_level_is_that_of_the_quantile_and_within_its_limits():
    log = read_log(make_log(n_users=2000, n_items=8, ratings_per_user=6, seed=1).log)
    listed = pair_statistics(log, FEW_RATERS)
    assert len(listed) == 28
    found = bootstrap_intervals(log, 0.1, seed=3, draws=999)
    quantile = np.sort(largest_errors(log, listed, 3, 999))[899]  # the 900th of 999
    assert found.delta == pytest.approx(2 * norm.sf(quantile))
    assert 0.1 / 28 < found.delta < 0.1
    # Nine draws know nothing of a tail of .05: the 10th smallest of nine would be needed.
    assert bootstrap_intervals(log, 0.05, seed=3, draws=9).delta == 0.05 / 28


def test_pairs_with_few_raters_keep_their_share_of_the_error():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 5, (1000, 4)) / 4.0
    table[60:, 3] = np.nan  # 60 raters at most for three of six pairs
    log = lsdt.ratings.RatingLog.from_matrix(table, scale=(0, 1))
    found = bootstrap_intervals(log, 0.1, seed=0, draws=999)
    strict = DifferenceIntervals("student", 0.1 / 6)
    about = np.array([60, 1000, 1000]), np.array([0.1, 0.1, 0.1]), np.array([0.1, 0.1, 0.0])
    widths, wide = found.half_widths(*about), strict.half_widths(*about)
    assert widths[0] == wide[0]  # few raters
    assert widths[1] < wide[1]
    assert widths[2] == wide[2]  # raters who all agree
    assert found.delta < 0.05  # the three others share half of the error, and no more
    nothing = lsdt.ratings.RatingLog.from_matrix(table[:50], scale=(0, 1))
    assert bootstrap_intervals(nothing, 0.1, seed=0) == strict


def test_ranges_by_the_bootstrap_lie_inside_those_by_bonferroni():
    frame, _ = make_log(n_users=3000, n_items=12, ratings_per_user=8, seed=1)
    options = {"guarantee": "all", "interval": "bootstrap", "seed": 4}
    wide, short = lsdt.from_ratings(frame, guarantee="all"), lsdt.from_ratings(frame, **options)
    assert (short.ranges.low >= wide.ranges.low).all()
    assert (short.ranges.high <= wide.ranges.high).all()
    assert short.evidence.interval == "bootstrap"
    assert "if users are many and means of differences nearly normal" in str(short.evidence)
    assert lsdt.from_ratings(frame, **options) == short
    near = lsdt.from_ratings(frame, interval="bootstrap", epsilon=0.2)
    assert len(near.evidence.words) >= len(lsdt.from_ratings(frame, epsilon=0.2).evidence.words)


def test_bad_input_is_named():
    frame, _ = make_log(n_users=300, n_items=5, ratings_per_user=4)
    with pytest.raises(InvalidInput, match="'bootstrap' makes all intervals hold at once, and level"):
        lsdt.from_ratings(frame, interval="bootstrap", level="fdr")
    request = RatingRequest("auto", 0.95, "interval", "family", 0.1, "grid", None, "bootstrap", 0).checked()
    with pytest.raises(Unsupported, match="this log stays in its engine"):
        relate(request, open_log(duckdb.from_df(frame)))


def test_known_truth(thorough):
    """No more logs have a wrong range than the level allows, but for one in 10^4; few are wasted either."""
    logs, error = (300 if thorough else 15), 0.2
    any_wrong, lost = 0, 0
    for seed in range(logs):
        frame, means = make_log(n_users=1200, n_items=10, ratings_per_user=6, seed=seed)
        truth = (means.to_numpy() - 1.0) / 4.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RatingWarning)
            log = read_log(frame, scale=(1, 5))
            side = lsdt.from_ratings(
                log, guarantee="all", interval="bootstrap", confidence=1 - error, seed=seed
            )
        first, second = side.ranges.pairs.T
        apart = truth[first] - truth[second]
        any_wrong += ((apart < side.ranges.low) | (apart > side.ranges.high)).any()
        lost += int(np.argmax(truth)) not in lsdt.candidate_set(side, "order")
    most = binom.ppf(1 - 1e-4, logs, error)
    assert any_wrong <= most
    assert lost <= most
