"""Groups of equal arms: the law, or the very choices, of a scan of all arms."""

from __future__ import annotations

from operator import attrgetter

import numpy as np
import pytest
import scipy.stats

import lsdt
from lsdt.kernel import tournament
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from naive.policies import TWINS
from naive.policies_many import MANY_TWINS
from naive.streams import CHOICE, TOSS
from side_by_side import COMPLETE, begin_both, drawn_reward, play_both, random_problem

MODELS = {"gaussian": RewardModel("gaussian", 1.0), "bernoulli": RewardModel("bernoulli", 0.5)}
NEVER = 10**9
SAMPLERS = [
    ("ts", {}),
    ("ts_gaussian", {}),
    ("lsdt_ts_csi", {}),
    ("lsdt_ts_psi", {}),
    ("lsdt_ts_psi", {"elimination": "least_likely"}),
]
INDICES = [("moss", {}), ("kl_ucb", {}), ("kl_ucb", {"c": 3.0}), ("imed", {})]


def ready(name, n_arms, law, many, monkeypatch, horizon=3000, **parameters):
    means = np.random.default_rng(n_arms).random(n_arms)
    monkeypatch.setattr(tournament, "MANY_ARMS", many)
    side = lsdt.from_means(means, 0.3)
    return lsdt.Policy(name, **parameters).begin(side, MODELS[law], horizon, new_stream(1)), means


@pytest.mark.parametrize(("name", "parameters"), SAMPLERS)
@pytest.mark.parametrize("family", ["bernoulli", "gaussian"])
def test_the_same_choice_as_the_twin_in_every_round(name, parameters, family, monkeypatch, thorough):
    """Groups of one and of several, new, emptied, passed by, and given up where all rewards differ."""
    monkeypatch.setattr(tournament, "MANY_ARMS", 1)
    monkeypatch.setitem(TWINS, name, MANY_TWINS[name])
    for number in range(9 if thorough else 3):
        problem = random_problem(number, family, name in COMPLETE)
        play_both(name, problem, 300 if thorough else 80, seed=number, **parameters)


@pytest.mark.parametrize("epsilon", [1e-9, 0.03, 2.0])
def test_the_same_choice_as_the_twin_among_more_arms(epsilon, monkeypatch, thorough):
    """Complete information: every arm a class, several classes, one class of all arms."""
    monkeypatch.setattr(tournament, "MANY_ARMS", 1)
    for name in ("ts", "lsdt_ts_csi"):
        monkeypatch.setitem(TWINS, name, MANY_TWINS[name])
        means = np.random.default_rng(3).random(60)
        side = lsdt.from_means(means, epsilon)
        problem = random_problem(0, "bernoulli", True)._replace(means=means, side=side)
        play_both(name, problem, 150 if thorough else 80)


def test_arms_that_are_not_allowed_are_left_out(monkeypatch):
    monkeypatch.setattr(tournament, "MANY_ARMS", 1)
    monkeypatch.setitem(TWINS, "ts", MANY_TWINS["ts"])
    rng, means = np.random.default_rng(0), np.random.default_rng(1).random(30)
    problem = random_problem(0, "bernoulli", True)._replace(means=means, side=lsdt.from_means(means, 0.1))
    player, twin = begin_both("ts", problem, 300, (5,))
    for t in range(200):
        allowed = rng.random(30) < (0.1, 0.5, 0.9)[t % 3]
        allowed[t % 30] = True
        twin.stream.begin_round(t, CHOICE)
        chosen = player.select(allowed)
        assert allowed[chosen]
        assert chosen == twin.select(allowed)
        reward = drawn_reward(problem, chosen, rng)
        player.update(chosen, reward)
        twin.stream.begin_round(t, TOSS)
        twin.update(chosen, reward)


def law_of(posteriors, laws):
    """The probability of each arm that its draw is the largest, by integration over where that lies."""
    grid = np.linspace(0.0, 1.0, 20_001)[1:-1] if laws == "beta" else np.linspace(-8.0, 8.0, 20_001)
    made = [scipy.stats.beta(*each) if laws == "beta" else scipy.stats.norm(*each) for each in posteriors]
    below = np.array([law.logcdf(grid) for law in made])
    density = np.array([law.logpdf(grid) for law in made])
    chances = np.trapezoid(np.exp(density + below.sum(axis=0) - below), grid, axis=1)
    assert chances.sum() == pytest.approx(1.0, abs=1e-3)
    return chances / chances.sum()


KNOWN = [(0, 1.0), (0, 1.0), (0, 0.0), (1, 1.0), (2, 1.0), (3, 0.0), (4, 1.0), (4, 0.0), (5, 0.0), (5, 1.0)]


@pytest.mark.large
@pytest.mark.parametrize("name", ["ts", "ts_gaussian"])
@pytest.mark.parametrize("many", [1, NEVER])
@pytest.mark.parametrize("masked", [False, True])
def test_every_arm_is_played_as_often_as_its_posterior_says(name, many, masked, monkeypatch):
    """14 arms with six posteriors, those of arms 1 and 2, 4 and 5, and 6 to 13 equal; all, or 8 allowed.

    Groups and scan are both held against the law itself. At fixed seeds the least of eight p-values of a
    right law is below 1e-4 with a probability below 1e-3.
    """
    start, _ = ready(name, 14, "bernoulli", many, monkeypatch)
    for arm, reward in KNOWN:
        start.player.update(arm, reward)
    wins, losses = (np.bincount([a for a, r in KNOWN if r == won], minlength=14) for won in (1.0, 0.0))
    allowed = np.ones(14, bool)
    if masked:
        allowed[[0, 1, 6, 7, 8, 9]] = False
    count, draws = wins + losses, 40_000
    sigma = MODELS["bernoulli"].sigma
    posteriors = (
        list(zip(1 + wins, 1 + losses, strict=True))
        if name == "ts"
        else list(zip(wins / (count + 1), sigma / np.sqrt(count + 1), strict=True))
    )
    chances = law_of(
        [each for each, may in zip(posteriors, allowed, strict=True) if may], "beta" if name == "ts" else ""
    )
    seen = start.player.entries.count_choices(*start.player.packed, not masked, allowed, new_stream(8), draws)
    assert seen[~allowed].sum() == 0
    assert scipy.stats.chisquare(seen[allowed], chances * draws).pvalue > 1e-4


@pytest.mark.large
@pytest.mark.parametrize("name", ["ts", "lsdt_ts_csi", "lsdt_ts_psi"])
def test_regret_is_that_of_the_scan(name, monkeypatch, thorough):
    """The mean regret of 40 arms and 100 rounds: within four standard errors."""
    runs = 150 if thorough else 50
    monkeypatch.setattr(tournament, "MANY_ARMS", 10)
    problem = lsdt.problems.uniform(40, 0.1, 0.9, 0.9, rewards="bernoulli")  # every arm is a candidate
    grouped = lsdt.simulate(problem, name, 100, runs, seed=3, n_jobs=1).regret(name)[:, -1]
    monkeypatch.setattr(tournament, "MANY_ARMS", NEVER)
    scanned = lsdt.simulate(problem, name, 100, runs, seed=3, n_jobs=1).regret(name)[:, -1]
    assert not np.array_equal(grouped, scanned)
    error = np.sqrt((grouped.var() + scanned.var()) / runs)
    assert abs(grouped.mean() - scanned.mean()) < 4.0 * error


@pytest.mark.parametrize(("name", "parameters"), INDICES)
@pytest.mark.parametrize("law", ["bernoulli", "gaussian"])
def test_index_policies_choose_as_the_scan_does(name, parameters, law, monkeypatch):
    """Bernoulli rewards tie all the time, Gaussian ones end the groups; masks, and rewards not asked for."""
    grouped, means = ready(name, 200, law, 1, monkeypatch, **parameters)
    scan, _ = ready(name, 200, law, NEVER, monkeypatch, **parameters)
    rng = np.random.default_rng(0)
    players = [grouped.player, scan.player]
    for t in range(700):
        if t == 300:
            players.append(players[0].copy())
        allowed = rng.random(200) < 0.3
        if t % 5 == 0 and allowed.any():
            arms = [int(player.select(allowed)) for player in players]
        else:
            arms = [int(player.select()) for player in players]
        assert len(set(arms)) == 1, t
        for arm in (arms[0], int(rng.integers(200)))[: 1 + t % 2]:  # one that nobody asked for
            reward = float(rng.random() < means[arm]) if law == "bernoulli" else rng.normal(means[arm])
            for player in players:
                player.update(arm, reward)
    if name != "moss":
        left = grouped.player.state.heaps.n_groups[0]
        assert left == 0 if law == "gaussian" else left > 1


@pytest.mark.parametrize("name", ["kl_ucb", "imed"])
def test_heaps_hold_every_arm_once(name, monkeypatch):
    """Walk through all heaps: parents below children, links both ways, every arm where its tallies say."""
    start, means = ready(name, 150, "bernoulli", 1, monkeypatch)
    rng = np.random.default_rng(2)
    for _ in range(400):
        arm = start.player.select() if rng.random() < 0.5 else int(rng.integers(150))
        start.player.update(arm, float(rng.random() < means[arm]))
    state, seen = start.player.state, []
    tallies, heaps = state.tallies, state.heaps
    assert heaps.n_groups[0] > 5
    for group in range(heaps.n_groups[0] - 1):
        waiting = [int(heaps.roots[group])]
        while waiting:
            node = waiting.pop()
            seen.append(node - 1)
            assert tallies.counts[node - 1] == heaps.group_counts[group]
            assert tallies.sums[node - 1] == heaps.group_sums[group]
            before, child = node, int(heaps.child[node])
            while child:
                assert child > node
                assert heaps.before[child] == before
                waiting.append(child)
                before, child = child, int(heaps.after[child])
    assert sorted(seen) == sorted(np.flatnonzero(tallies.counts > 0))


@pytest.mark.parametrize(("name", "parameters"), [*SAMPLERS, *INDICES])
def test_few_arms_are_scanned_and_have_no_groups(name, parameters, monkeypatch):
    limit = tournament.MANY_ARMS
    few, _ = ready(name, 40, "bernoulli", limit, monkeypatch, **parameters)
    scan, _ = ready(name, 40, "bernoulli", NEVER, monkeypatch, **parameters)
    assert np.array_equal(few.player.packed.buffer, scan.player.packed.buffer, equal_nan=True)
    many, _ = ready(name, 40, "bernoulli", 1, monkeypatch, **parameters)
    assert len(many.player.packed.buffer) > len(few.player.packed.buffer)


@pytest.mark.parametrize(("name", "parameters"), [*SAMPLERS, *INDICES])
def test_a_restored_agent_goes_on(name, parameters, monkeypatch):
    """Snapshots hold groups and heaps; one whose places lie outside is refused."""
    monkeypatch.setattr(tournament, "MANY_ARMS", 5)
    means = np.random.default_rng(4).random(40)
    side = lsdt.from_means(means, 0.6)
    policy = lsdt.Policy(name, **parameters)
    agent = lsdt.Agent(side, policy, rewards="bernoulli", horizon=400, seed=1)
    rng = np.random.default_rng(5)
    for _ in range(120):
        decision = agent.ask()
        agent.tell(decision, float(rng.random() < means[decision.arm]))
    other = lsdt.Agent.restore(agent.snapshot())
    for t in range(60):
        allowed = None if t % 2 else [int(means.argmax()), *map(int, rng.permutation(40)[:12])]
        decisions = [each.ask(allowed=allowed) for each in (agent, other)]
        assert decisions[0].arm == decisions[1].arm
        reward = float(rng.random() < means[decisions[0].arm])
        for each, decision in zip((agent, other), decisions, strict=True):
            each.tell(decision, reward)


@pytest.mark.parametrize(
    ("name", "field"),
    [("ts", "posteriors.groups.order"), ("ts", "posteriors.groups.starts"), ("imed", "heaps.after")],
)
def test_a_state_that_points_outside_is_refused(name, field, monkeypatch):
    start, means = ready(name, 40, "bernoulli", 1, monkeypatch)
    attrgetter(field)(start.player.state)[3] = 10**6
    side = lsdt.from_means(means, 0.3)
    with pytest.raises(lsdt.errors.InvalidInput, match=f"field '{field}' of the state points outside"):
        lsdt.Policy(name).begin(
            side, MODELS["bernoulli"], 3000, new_stream(1), content=start.player.packed.words()
        )
