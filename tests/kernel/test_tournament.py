"""The tournament against the scan: the same arm for every x, whatever the lines."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.kernel import tournament
from lsdt.kernel.drivers import RunTotals, Setting
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.kernel.state import Allowed
from lsdt.kernel.tournament import mark_changed, new_trees, winner
from lsdt.policies.parts.tallies import argmax_linear

LAWS = {"gaussian": (0, 1.0), "bernoulli": (1, 0.5)}
NEVER = 10**9


@numba.njit
def scan(means, isq, x):
    return argmax_linear(means, isq, x, Allowed(True, np.ones(1, np.bool_)))


@numba.njit
def both(tree, means, isq, x):
    return winner(tree, 0, len(means), means, isq, x, None), scan(means, isq, x)


@numba.njit
def change(tree, means, isq, arm, mean, width):
    means[arm], isq[arm] = mean, width
    mark_changed(tree, 0, len(means), arm)


@numba.njit
def first_difference(tree, means, isq, xs, arms, new_means, new_isq):
    """Ask for every x while arms change; return the first round that differs from the scan, or -1."""
    for t in range(len(xs)):
        if winner(tree, 0, len(means), means, isq, xs[t], None) != scan(means, isq, xs[t]):
            return t
        change(tree, means, isq, arms[t], new_means[t], new_isq[t])
    return -1


def nudged(value, steps):
    """Return the number that many representable numbers away."""
    for _ in range(abs(steps)):
        value = math.nextafter(value, math.copysign(math.inf, steps))
    return value


COUNTS = st.integers(1, 9).map(lambda n: 1 / math.sqrt(n))
BERNOULLI = st.tuples(st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0]), COUNTS)
ANYWHERE = st.tuples(st.floats(-1e3, 1e3), st.floats(1e-6, 1.0))
NEARLY = st.builds(
    lambda mean, width, up, out: (nudged(mean, up), nudged(width, out)),
    st.sampled_from([0.3, 1.0, -0.7, 1e-9, 12345.678]),
    st.sampled_from([1.0, 1 / math.sqrt(2), 0.01]),
    st.integers(-3, 3),
    st.integers(-3, 3),
)
WILD = st.tuples(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e150, max_value=1e150),
    st.floats(min_value=0.0, max_value=1.0),
)
LINES = st.sampled_from([BERNOULLI, ANYWHERE, NEARLY, WILD, BERNOULLI | NEARLY]).flatmap(
    lambda kind: st.tuples(
        st.lists(kind, min_size=1, max_size=40),
        st.lists(
            st.tuples(st.sampled_from([0.0, 1e-17, 1e-9, 1e-3, 0.1, 5.0]), st.integers(0, 39), kind),
            max_size=30,
        ),
    )
)


@given(LINES)
def test_every_winner_is_that_of_the_scan(case):
    """x stays, creeps or jumps; between two questions one arm changes."""
    lines, rounds = case
    means, isq = (np.array(column) for column in zip(*lines, strict=True))
    tree, x = new_trees(len(means)), 0.0
    for step, arm, line in rounds:
        found, expected = both(tree, means, isq, x)
        assert found == expected
        x = math.nextafter(x, math.inf) if step == 1e-17 else x + step
        found, expected = both(tree, means, isq, x)
        assert found == expected
        change(tree, means, isq, arm % len(means), *line)


@given(st.lists(NEARLY, min_size=2, max_size=12), st.floats(0.0, 10.0))
def test_close_to_where_two_lines_cross(lines, start):
    """One representable x after the other, around the crossings of lines that differ in their last bits."""
    means, isq = (np.array(column) for column in zip(*lines, strict=True))
    crossings = [start]
    for one in range(len(lines)):
        for other in range(one):
            if isq[one] != isq[other]:
                crossings.append((means[other] - means[one]) / (isq[one] - isq[other]))
    xs = sorted(
        nudged(x, k) for x in crossings if 0.0 <= x < 1e6 for k in range(-4, 5) if nudged(x, k) >= 0.0
    )
    tree = new_trees(len(means))
    for x in xs:
        found, expected = both(tree, means, isq, x)
        assert found == expected


def test_x_may_fall_back_and_several_arms_may_change_at_once():
    rng = np.random.default_rng(3)
    means, isq = rng.random(77), rng.random(77)
    tree = new_trees(77)
    for _ in range(300):
        found, expected = both(tree, means, isq, 3.0 * rng.random())
        assert found == expected
        for arm in rng.integers(0, 77, rng.integers(0, 4)):
            change(tree, means, isq, arm, rng.random(), rng.random())


@pytest.mark.large
@pytest.mark.parametrize("kind", ["gaussian", "bernoulli", "nearly equal"])
@pytest.mark.parametrize("n_arms", [600, 1023, 1024, 2000])
def test_a_long_run_with_lines_from_nowhere(n_arms, kind, thorough):
    rng, rounds = np.random.default_rng(n_arms), 20_000 if thorough or n_arms == 600 else 5_000
    counts = rng.integers(1, 6, rounds + n_arms)
    means = {
        "gaussian": rng.normal(size=rounds + n_arms),
        "bernoulli": rng.integers(0, 100, rounds + n_arms) % (counts + 1) / counts,
        "nearly equal": 0.7 + rng.integers(-3, 4, rounds + n_arms) * 2.0**-53,
    }[kind]
    isq = 1.0 / np.sqrt(counts)
    xs = np.cumsum(rng.choice([0.0, 1e-16, 1e-6, 1e-3], rounds))
    own = means[:n_arms].copy(), isq[:n_arms].copy()
    arms = rng.integers(0, n_arms, rounds)
    assert first_difference(new_trees(n_arms), *own, xs, arms, means[n_arms:], isq[n_arms:]) == -1


def ready(name, means, epsilon, law, many, monkeypatch):
    side = lsdt.from_means(means, epsilon)
    monkeypatch.setattr(tournament, "MANY_ARMS", many)
    return lsdt.Policy(name).begin(side, RewardModel(law, LAWS[law][1]), None, new_stream(1))


def played(start, means, law, chunks):
    """Return how often every arm was played after each chunk of rounds."""
    ends = np.cumsum(chunks)
    room = np.zeros((2, len(ends)))
    totals = RunTotals(
        new_stream(7), np.zeros(2, np.int64), np.zeros(2), ends, *room, np.zeros(len(means), np.int64)
    )
    setting = Setting(start.arms, means, means.max() - means, LAWS[law][0], 1.0, 0.0)
    counts = []
    for chunk in chunks:
        start.player.play(setting, totals, chunk)
        counts.append(totals.plays.copy())
    return np.array(counts), totals


# One class of all arms, classes of every size, every arm a class.
SHAPES = {"one": 2.0, "some": 0.0101, "singles": 1e-9}


def arms_in(shape, n_arms):
    rng = np.random.default_rng(n_arms)
    if shape == "some":  # clusters far apart, of 1 to 40 equal arms: each is a class
        return np.repeat(np.arange(n_arms // 20) / 50.0, rng.integers(1, 41, n_arms // 20))
    return rng.random(n_arms)


@pytest.mark.large
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("name", "shape", "n_arms"),
    [
        ("ucb1", "one", 600),
        ("ucb1", "one", 2000),
        ("lsdt_csi", "one", 700),
        ("lsdt_csi", "singles", 600),
        ("lsdt_csi", "some", 900),
    ],
)
def test_a_policy_plays_the_same_with_and_without(name, shape, n_arms, law, monkeypatch, thorough):
    """In many rounds: the sequences of plays agree at the end of every chunk, the first ones of one round."""
    means = arms_in(shape, n_arms)
    with_tree, without = (ready(name, means, SHAPES[shape], law, many, monkeypatch) for many in (1, NEVER))
    assert len(with_tree.player.packed.buffer) > len(without.player.packed.buffer)
    chunks = [len(means), *[1] * 300, *[997] * (100 if thorough else 25)]
    ours, scans = (played(start, means, law, chunks)[0] for start in (with_tree, without))
    assert np.array_equal(ours, scans)


@pytest.mark.parametrize(("name", "shape"), [("ucb1", "one"), ("lsdt_csi", "one"), ("lsdt_csi", "singles")])
def test_masks_fall_back_to_the_scan_and_a_copy_goes_on(name, shape, monkeypatch):
    means = arms_in(shape, 60)
    with_tree, without = (
        ready(name, means, SHAPES[shape], "bernoulli", many, monkeypatch) for many in (1, NEVER)
    )
    rng = np.random.default_rng(0)
    players = [with_tree.player, without.player]
    for t in range(1500):
        if t == 700:
            players.append(players[0].copy())
        allowed = rng.random(60) < 0.3
        if t % 3 == 0 and allowed.any():
            arms = [int(player.select(allowed)) for player in players]
            assert allowed[arms[0]]
        else:
            arms = [player.select() for player in players]
        assert len(set(arms)) == 1
        reward = float(rng.random() < means[arms[0]])
        for player in players:
            for _ in range(1 + t % 2):  # two rewards may arrive before the next question
                player.update(arms[0], reward)


def test_few_arms_have_no_tree(monkeypatch):
    few = np.random.default_rng(0).random(tournament.MANY_ARMS - 1)
    many = np.append(few, 0.5)
    limit = tournament.MANY_ARMS
    for means, length in ((few, 0), (many, 2 * len(many))):
        assert len(ready("ucb1", means, 2.0, "gaussian", limit, monkeypatch).player.state.tree) == length
        assert len(ready("lsdt_csi", means, 2.0, "gaussian", limit, monkeypatch).player.state.trees) == length
