"""Random small problems, and a compiled policy that plays one beside its naive twin."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

import lsdt
from lsdt.kernel.random import Purpose, new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.kernel.special import BERNOULLI
from naive.policies import HEAVY_TWINS, TWINS
from naive.streams import CHOICE, TOSS, Stream
from naive.worlds import world_of

SIGMA = {"gaussian": 1.0, "bernoulli": 0.5}
# What the twins ask of a problem, found out by hand.
COMPLETE = {
    "lsdt_csi",
    "lsdt_ts_csi",
    "osub",
    "ossb",
    "imed_ub",
    "uts",
}
CONNECTED = {"osub", "imed_ub", "uts"}


class Problem(NamedTuple):
    means: np.ndarray
    side: lsdt.SideInformation
    rewards: RewardModel


def random_problem(number, family, complete, connected=False, sigma=None):
    """Up to 15 arms; means on a grid (with ties) or anywhere; every kind of graph as numbers go by."""
    rng = np.random.default_rng([number, complete, connected, family == "gaussian"])
    n_arms = (1, 2, 3, 5, 8, 15)[number % 6] if number < 6 else int(rng.integers(2, 16))
    means = rng.integers(0, 11, n_arms) / 10 if number % 2 else rng.random(n_arms)
    epsilon = float(rng.choice([0.11, 0.25, 0.5, 1.5]))
    if connected and n_arms > 1:
        epsilon = max(float(np.diff(np.sort(means)).max()) * rng.uniform(1.01, 2.0), 0.01)
    side = lsdt.from_means(means, epsilon)
    if not complete:
        side = side.reveal(0.6, 0.6, seed=number)
    return Problem(means, side, RewardModel(family, SIGMA[family] if sigma is None else sigma))


def begin_both(name, problem, horizon, key, **parameters):
    """Return the compiled player and its twin, on the same arms and with the same stream."""
    ready = lsdt.Policy(name, **parameters).begin(problem.side, problem.rewards, horizon, new_stream(*key))
    state = ready.player.state
    given = {"z": state.z.tolist()} if hasattr(state, "z") else {}
    if name == "lsdt_watchful":
        given = relations_of(state)
    if name == "soft_closure":
        given = {"draws": draws_of(state)}
    if name == "lsdt_posterior":
        given = {"particles": partial(particles_of, ready.player), "excess": partial(excess_of, ready.player)}
        given["guard"] = 3.0 if len(state.particles.relations.turns) > 1 else 6.0
    world = world_of(problem.side, problem.rewards, horizon)
    twins = HEAVY_TWINS if parameters.get("tails") == "heavy" else TWINS
    twin = twins[name](world, Stream(*key), **parameters, **given)
    assert ready.arms.tolist() == twin.arms
    return ready.player, twin


def draws_of(state):
    """What soft closure starts from: drawn means, a list for every draw."""
    table = state.first.reshape(len(state.surprise), -1).T
    return (np.exp(table) if state.costs.family == BERNOULLI else table).tolist()


def particles_of(player):
    """What LSDT-posterior believes at the moment: means of the candidates and a weight, by particle."""
    particles = player.state.particles
    if particles.size == 0:
        return []
    x = (
        particles.x.reshape(particles.size, -1)
        + particles.level.reshape(-1, particles.size).T[:, particles.block]
    )
    return list(zip(x[:, : particles.n_candidates].tolist(), particles.weight.tolist(), strict=True))


def excess_of(player):
    """What LSDT-posterior knows of closure costs: they are exact where that matters, else lower bounds."""
    return player.state.excess.tolist()


def relations_of(state):
    """What LSDT-Watchful starts from: prices, and the relations that hold on its line."""
    rows = list(zip(state.indptr[:-1], state.ends, state.indptr[1:], strict=True))
    return {
        "price": state.price.tolist(),
        "most": float(state.most),
        "similar": [state.indices[first:end].tolist() for first, end, _ in rows],
        "dissimilar": [state.indices[end:last].tolist() for _, end, last in rows],
    }


def drawn_reward(problem, arm, rng):
    mean = problem.means[arm]
    if problem.rewards.family == "bernoulli":
        return float(rng.random() < mean)
    return float(mean + problem.rewards.sigma * rng.standard_normal())


def play_both(name, problem, rounds, seed=0, agree=None, horizon=None, draw=drawn_reward, **parameters):
    """Play side by side; `agree(twin, expected, chosen)` judges a round, by default they must be equal."""
    player, twin = begin_both(name, problem, horizon or rounds, (seed, 77), **parameters)
    rng = np.random.default_rng([seed, 78])
    for t in range(rounds):
        twin.stream.begin_round(t, CHOICE)
        expected, chosen = twin.select(), player.select()
        if agree is None:
            assert chosen == expected, f"round {t + 1}: {twin.indices}"
        else:
            assert agree(twin, expected, chosen), f"round {t + 1}: {chosen}, not {expected}; {twin.indices}"
        reward = draw(problem, twin.arms[chosen], rng)
        player.update(chosen, reward)
        twin.stream.begin_round(t, TOSS)
        twin.update(chosen, reward)
    return player, twin


def learn_one_by_one(player, known):
    """Learn known (arm, reward) pairs in as many calls: what learning a prior at once must equal."""
    for number, (arm, reward) in enumerate(known):
        one = np.array([number]), int(Purpose.PRIOR), np.array([arm]), np.array([float(reward)])
        player.entries.teach(*player.packed, *one)
