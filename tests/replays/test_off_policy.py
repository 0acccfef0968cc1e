"""Estimators by hand and beside naive loops; that they are unbiased is tested with the replays."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from lsdt.errors import InvalidInput
from lsdt.ratings import read_events
from lsdt.replays import policy_value
from lsdt.replays.off_policy import acceptance, estimates, kish
from naive.replay import standard_error, value_of, worth


def found(choice, rows, model, n_users):
    users, items, answers, chances = (np.array(column) for column in zip(*rows, strict=True))
    model = np.full(len(rows), model)
    return estimates(answers, (items == choice) / chances, users, n_users, model, model)


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
    same = np.full(200, model)
    logs = zip(answers.astype(float), shown / chances, strict=True)
    found = np.array([estimates(*log, np.arange(200), 200, same, same).values for log in logs])
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
        model = np.full(300, 0.5)
        found = estimates(answers, 2.5 * shown, users, 60, model, model)
        values.append(found.values)
        errors.append(found.errors)
    ratio = np.square(errors).mean(axis=0) / np.var(values, axis=0)
    assert ratio == pytest.approx(1.0, abs=4 * math.sqrt(2 / 400))


def logged(seed, n_events=400):
    """Events of 3 items, shown with probabilities that depend on the event, by users with several each."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(3), n_events)
    items = np.array([rng.choice(3, p=row) for row in chances])
    frame = pd.DataFrame(
        {
            "user": rng.integers(0, 50, n_events),
            "item": items,
            "rating": rng.random(n_events).round(3),
            "propensity": chances[np.arange(n_events), items],
        }
    )
    return frame, rng.dirichlet(np.ones(3), n_events), rng.random((n_events, 3))


@pytest.mark.parametrize("seed", range(3))
def test_the_value_of_a_policy_that_randomises_beside_a_naive_loop(seed):
    frame, probabilities, model = logged(seed)
    rows = list(frame.itertuples(index=False, name=None))
    answer = policy_value(frame, probabilities, model=model, clip=0.05)
    expected = value_of(rows, probabilities.tolist(), model.tolist(), clip=0.05)
    assert answer["estimator"].tolist() == ["ips", "snips", "dr"]
    assert answer["reward"].tolist() == pytest.approx(expected)
    same = {0: 0.2, 1: 0.5, 2: 0.3}
    by_item = policy_value(frame, same, model={0: 0.1, 1: 0.2, 2: 0.6})
    table, means = np.tile([0.2, 0.5, 0.3], (400, 1)), np.tile([0.1, 0.2, 0.6], (400, 1))
    assert by_item.equals(policy_value(frame, table, model=means))
    assert policy_value(frame, same)["estimator"].tolist() == ["ips", "snips"]


def test_intervals_hold_the_true_value_of_a_policy_that_randomises():
    """Of 200 logs, 95% intervals hold it in at least 178: fewer has a chance below one in 1,000."""
    means, policy, held = np.array([0.2, 0.5, 0.7]), {0: 0.1, 1: 0.3, 2: 0.6}, np.zeros(3)
    truth = float(np.array(list(policy.values())) @ means)
    for seed in range(200):
        frame, _, _ = logged(seed, 300)
        rng = np.random.default_rng((9, seed))
        frame["rating"] = (rng.random(300) < means[frame["item"]]).astype(float)
        frame["propensity"] = frame["propensity"].clip(0.02)  # a little bias, to bound the weights
        frame["user"] = np.arange(300)
        found = policy_value(frame, policy, model=dict(enumerate(means)), clip=0.02)
        held += ((found["low"] <= truth) & (truth <= found["high"])).to_numpy()
    assert (held[1:] >= 178).all()


@pytest.mark.parametrize(
    ("probabilities", "model", "said"),
    [
        ({0: 0.5, 1: 0.6}, None, "must sum to 1; got 1.1"),
        ({0: 1.5, 1: -0.5}, None, "must not be negative; got -0.5"),
        ({0: 0.5, 7: 0.5}, None, "has '7', which is no item of the log"),
        (np.ones((2, 2)), None, r"a table of 400 events by 3 items .* got the shape \(2, 2\)"),
        ({0: 1.0}, {0: 1.0}, "model must have every item of the log; 1 is missing"),
    ],
)
def test_probabilities_that_cannot_be_are_refused(probabilities, model, said):
    with pytest.raises(InvalidInput, match=said):
        policy_value(logged(0)[0], probabilities, model=model)
    with pytest.raises(InvalidInput, match=r"read_events\(log, propensity='p'\)"):
        policy_value(read_events(logged(0)[0]), {0: 1.0})
