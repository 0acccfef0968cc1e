"""Estimators by hand and beside naive loops; that they are unbiased is tested with the replays."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lsdt.replays.off_policy import acceptance, estimates, kish
from naive.replay import standard_error, worth


def found(choice, rows, model, n_users):
    users, items, answers, chances = (np.array(column) for column in zip(*rows, strict=True))
    shown = items == choice
    events_of = np.bincount(users, minlength=n_users)
    return estimates(answers[shown], 1 / chances[shown], users[shown], events_of, model)


def test_by_hand():
    """Four events, of which two showed the choice, with weights 2 and 4 and answers 1 and 0; model 0.5."""
    rows = [(0, 7, 1.0, 0.5), (0, 3, 1.0, 0.5), (1, 7, 0.0, 0.25), (2, 3, 0.0, 0.75)]
    answer = found(7, rows, 0.5, 3)
    ips, snips, dr = answer.values
    assert ips == pytest.approx(2 / 4)
    assert snips == pytest.approx(2 / 6)
    assert dr == pytest.approx(0.5 + (2 * 0.5 + 4 * -0.5) / 4)
    assert answer.effective == pytest.approx(36 / 20)


@pytest.mark.parametrize("seed", range(5))
def test_values_and_errors_beside_naive_loops(seed):
    rng = np.random.default_rng(seed)
    rows = [
        (int(rng.integers(9)), int(rng.integers(3)), float(rng.random()), float(rng.uniform(0.1, 1)))
        for _ in range(40)
    ]
    answer = found(1, rows, 0.4, 9)
    *values, effective = worth(1, rows, 0.4)
    assert answer.values == pytest.approx(values)
    assert answer.effective == pytest.approx(effective)
    weights = [1 / p if item == 1 else 0.0 for _, item, _, p in rows]
    users, answers = [row[0] for row in rows], [row[2] for row in rows]
    share = sum(weights) / 40
    spread = [
        [w * r for w, r in zip(weights, answers, strict=True)],
        [w * (r - values[1]) / share for w, r in zip(weights, answers, strict=True)],
        [w * (r - 0.4) for w, r in zip(weights, answers, strict=True)],
    ]
    assert answer.errors == pytest.approx([standard_error(each, users) for each in spread])


def test_what_was_never_shown_is_unknown():
    nothing = found(2, [(0, 1, 1.0, 0.5)], 0.5, 1)
    assert all(math.isnan(value) for value in (*nothing.values, *nothing.errors))
    assert nothing.effective == 0.0
    unknown = found(1, [(0, 1, 1.0, 0.5)], math.nan, 1)
    assert unknown.values[:2] == (2.0, 1.0)
    assert math.isnan(unknown.values[2])


def test_the_effective_sample_size_is_that_of_equal_weights():
    assert kish(np.full(7, 0.3)) == pytest.approx(7)
    assert kish(np.array([1.0, 0.0, 0.0])) == 1
    assert kish(np.zeros(0)) == kish(np.zeros(3)) == 0


def test_events_are_taken_so_that_an_item_is_equally_likely_for_all():
    """p times the probability of being taken is the same for all events of an item, unless it is clipped."""
    items, chances = np.array([0, 0, 0, 1, 1]), np.array([0.2, 0.4, 0.8, 0.5, 0.01])
    taken = acceptance(items, chances, 0.0, 3)
    assert (taken * chances).tolist() == pytest.approx([0.2, 0.2, 0.2, 0.01, 0.01])
    clipped = acceptance(items, chances, 0.3, 3)
    assert clipped.tolist() == pytest.approx([1.0, 0.75, 0.375, 0.6, 1.0])


@pytest.mark.parametrize("model", [0.0, 0.3, 1.0])
def test_dr_is_unbiased_whatever_the_model_where_propensities_are_right(model):
    """So is IPS. 400 logs of 200 events, item 0 shown to those who like it; within four standard errors."""
    rng = np.random.default_rng(4)
    likes, kind = np.array([0.8, 0.2]), rng.integers(0, 2, (400, 200))
    chances = np.array([0.7, 0.1])[kind]
    shown, answers = rng.random(kind.shape) < chances, rng.random(kind.shape) < likes[kind]
    found = np.array(
        [
            estimates(
                answer[seen].astype(float), 1 / chance[seen], user[seen], np.ones(200, int), model
            ).values
            for answer, chance, user, seen in zip(
                answers, chances, np.tile(np.arange(200), (400, 1)), shown, strict=True
            )
        ]
    )
    for column in (0, 2):
        assert abs(found[:, column].mean() - 0.5) < 4 * found[:, column].std() / 20
    assert answers[shown].mean() > 0.7  # what a plain mean would say


def test_errors_are_those_of_repeated_logs():
    """The mean squared standard error is the variance over 400 logs, within four standard errors of it."""
    rng = np.random.default_rng(6)
    values, errors = [], []
    for _ in range(400):
        users = rng.integers(0, 60, 300)  # five events of a user, on average, who are alike
        liking = rng.random(60)
        shown, answers = rng.random(300) < 0.4, (rng.random(300) < liking[users]).astype(float)
        weights = np.full(300, 2.5)
        events_of = np.bincount(users, minlength=60)
        found = estimates(answers[shown], weights[shown], users[shown], events_of, 0.5)
        values.append(found.values)
        errors.append(found.errors)
    ratio = np.square(errors).mean(axis=0) / np.var(values, axis=0)
    assert ratio == pytest.approx(1.0, abs=4 * math.sqrt(2 / 400))
