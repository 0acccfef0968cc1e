"""Choosing changes nothing; what asking changes is counted apart, so a log is restored by applying it."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from contract.test_policies import HORIZON, MODELS, VARIANTS, policy
from lsdt.errors import LsdtError
from lsdt.kernel import tournament
from lsdt.kernel.random import new_stream
from lsdt.kernel.state import field_kinds
from lsdt.policies.parts import cost_order
from lsdt.policies.registry import specification_of
from lsdt.replays.runner import replay_once
from lsdt.storage import Event, Kind, open_store
from naive.replay import replayed

COUNTING = [variant for variant in VARIANTS if policy(variant).counts_asks]

MEANS = np.random.default_rng(5).uniform(0.1, 0.9, 25)
SIDE = lsdt.from_means(MEANS, 0.2)
OPEN = lsdt.SideInformation(25, epsilon=0.2)

# What `select` may write to: how far a scan has come, games of a tournament, where a solver goes on.
_CLOSURE = {
    *("costs.champion", "costs.point", "costs.cost", "costs.slope", "costs.cheapest", "costs.least"),
    *("costs.known", "costs.bound", "costs.dominated_by", "costs.dominated_from", "costs.dominated_to"),
}
_EVIDENCE = {
    *("point", "value", "slope", "cheapest", "least", "known", "bound", "stands", "evidence"),
    *("worth", "low", "high", "near_low", "near_high"),
}
CACHES = {
    "ucb1": {"cursor", "tree"},
    "moss": {"cursor", "tree"},
    "kl_ucb": {"cursor"},
    "imed": {"cursor"},
    "lsdt_csi": {"cursor", "class_tree", "trees"},
    "ckl_ucb": {"cursor", "point", "cost", "slope", "solved"},
    "ossb": {"solved", "rates"},
    "lsdt_closure": {"largest", "solved", *_CLOSURE},
    "soft_closure": {"surprise", *_CLOSURE},
    "spectral_ts": {"noise"},
    "mixture_closure": {"point", "value", "slope", "cheapest", "bound", "largest", "solved"},
    "identify": _EVIDENCE,
}
# Their solvers go on from where they were, which changes the last digits of what they find.
BREAK_TIES = ("lsdt_closure", "soft_closure", "mixture_closure")


@pytest.fixture(params=[False, True], ids=["few", "many"])
def players(request, monkeypatch):
    """Make players; also with what policies otherwise keep for very many arms only."""
    if request.param:
        monkeypatch.setattr(tournament, "MANY_ARMS", 1)
        monkeypatch.setattr(cost_order.new_order, "__defaults__", (1,))

    def make(variant, thorough):
        for first, law in enumerate(MODELS):
            for seed in range(first, first + 6 if thorough else first + 1):
                start = policy(variant).begin(SIDE, MODELS[law], HORIZON, new_stream(seed))
                yield law, seed, start.player

    return make


def fields(player):
    """The words of every field, apart from those of the random streams."""
    buffer, offsets = player.packed
    names = field_kinds(type(player.state))
    return {name: buffer[offsets[at] : offsets[at + 1]] for at, name in enumerate(names, start=1)}


def same(one, other):
    return np.array_equal(one.view(np.uint64), other.view(np.uint64))


def rounds(player, law, seed, n_rounds):
    """Masks of rounds, each with a function that lets players learn a few rewards, the first of its arm."""
    rng, n_arms = np.random.default_rng(seed), len(player.flags)
    means = rng.random(n_arms)

    def learn(arm, *players):
        for _ in range(1 + rng.integers(3)):
            reward = float(rng.random() < means[arm]) if law == "bernoulli" else means[arm] + rng.normal()
            for each in players:
                each.update(arm, reward)
            arm = int(rng.integers(n_arms))

    for _ in range(n_rounds):
        mask = rng.random(n_arms) < 0.5
        yield mask if mask.any() and rng.random() < 0.3 else None, learn


@pytest.mark.parametrize("variant", VARIANTS)
def test_choosing_changes_nothing_but_caches(variant, players, thorough):
    caches = CACHES.get(variant.partition(":")[0], set())
    for law, seed, player in players(variant, thorough):
        for mask, learn in rounds(player, law, seed, 80 if thorough else 40):
            before = {name: words.copy() for name, words in fields(player).items()}
            chosen = [player.select_in(player.packed, player.round, mask) for _ in range(2)]
            assert chosen[0] == chosen[1]
            assert {name for name, words in fields(player).items() if not same(words, before[name])} <= caches
            assert player.select(mask) == chosen[0]
            learn(chosen[0], player)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_choice_depends_on_caches(variant, players, thorough):
    """A player whose caches are put back to what they were before every choice chooses the same."""
    name = variant.partition(":")[0]
    for law, seed, player in players(variant, thorough):
        other = player.copy()
        for mask, learn in rounds(player, law, seed, 80 if thorough else 40):
            kept = {cache: fields(other)[cache].copy() for cache in CACHES.get(name, ())}
            arm, again = player.select(mask), other.select(mask)
            if arm != again:
                assert name in BREAK_TIES
                assert tie(player, arm, again)
            for cache, words in kept.items():
                fields(other)[cache][:] = words
            learn(arm, player, other)


def tie(player, arm, other):
    """Whether two arms have the same index but for rounding; if both are refuted, the same least cost."""
    scores = player.entries.scores(*player.packed, len(player.flags))
    if scores[arm] == scores[other] == -np.inf:
        scores = player.state.costs.least
    return scores[arm] == pytest.approx(scores[other], abs=1e-9)


@pytest.mark.parametrize("variant", [each for each in VARIANTS if policy(each).randomised])
def test_draws_do_not_change_one_another(variant, players):
    """Many draws from one copy of the state are those from a new copy each."""
    for law, seed, player in players(variant, thorough=False):
        for mask, learn in rounds(player, law, seed, 20):
            allowed = (True, player.flags) if mask is None else (False, mask)
            streams, count = (new_stream(seed), new_stream(seed)), player.entries.count_choices
            together = count(*player.packed, *allowed, streams[0], 30)
            assert np.array_equal(
                together, sum(count(*player.packed, *allowed, streams[1], 1) for _ in range(30))
            )
            learn(player.select(mask), player)


# ---------------------------------------------------------------- agents


def sides(variant):
    """The side information to try a policy on: without relations, all arms are candidates."""
    needs = specification_of(variant.partition(":")[0]).needs
    return [SIDE] if "complete" in needs else [SIDE, OPEN]


def lived(variant, seed, side, n_rounds=120):
    """An agent with masks, late rewards, decisions cancelled and arms retired now and then, and its store."""
    store, chosen = open_store("memory://"), policy(variant)
    options = {"policy": chosen, "horizon": HORIZON, "seed": seed, "snapshot_every": 0}
    agent = lsdt.Agent.open(store, "x", side, **options)
    arms = range(25) if chosen.on == "all" else lsdt.candidate_set(side, method=chosen.on).arms.tolist()
    rng, waiting, retired = np.random.default_rng(seed), [], []
    for _ in range(n_rounds):
        some = [arm for arm in arms if rng.random() < 0.7 and arm not in retired]
        waiting.append(agent.ask(allowed=some if some and rng.random() < 0.3 else None))
        if len(some) > 1 and rng.random() < 0.1:
            waiting += agent.ask(2, allowed=some, distinct=True)
        while len(waiting) > rng.integers(6):
            decision = waiting.pop(rng.integers(len(waiting)))
            if rng.random() < 0.1:
                agent.cancel(decision)
            else:
                agent.tell(decision, float(rng.random() < MEANS[decision.arm]))
        if rng.random() < 0.05:
            agent.observe(int(rng.integers(25)), float(rng.random() < 0.5))
        if not retired and len(arms) > 2 and rng.random() < 0.05:
            retired.append(int(rng.choice(arms)))
            agent.retire(retired[0])
        elif retired and rng.random() < 0.1:
            agent.reinstate(retired.pop())
    return agent, store


def opened(store):
    return lsdt.Agent.open(store, "x", snapshot_every=0)


def copy_of(store):
    """A store with the same log, to be opened while the agent of the first goes on."""
    copy = open_store("memory://")
    copy.create("x", store.find("x").about, store.latest("x").blob)
    lease = copy.lease("x")
    lease.append([Event(*entry[3:]) for entries in store.read("x") for entry in entries])
    lease.release()
    return copy


def next_arms(agent):
    chosen = []
    for number in range(25):
        decision = agent.ask()
        chosen.append(decision.arm)
        if number % 4:
            agent.tell(decision, float(number % 3 == 0))
    return chosen


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_agent_is_restored_from_its_log_without_choosing_again(variant, monkeypatch, thorough):
    for side in sides(variant):
        for seed in range(12 if thorough else 1):
            agent, store = lived(variant, seed, side)
            with monkeypatch.context() as patch:
                patch.setattr("lsdt.agent.learner.Learner.decide", None)
                again = opened(copy_of(store))
            assert again.n_asked == agent.n_asked
            if variant in COUNTING:
                assert again.to_frame().equals(agent.to_frame())
            assert next_arms(again) == next_arms(agent)


# What shows that asks matter: epochs with many arms in turn, and exploration that is forced.
SHOWN = {"lsdt_psi": OPEN}


@pytest.mark.parametrize("variant", COUNTING)
def test_asks_have_to_be_counted(variant):
    """A player that learned the same rewards, and was never asked, comes to choose differently."""
    side, n_different = SHOWN.get(variant.partition(":")[0], SIDE), 0
    variant += ":forced_exploration=0.15" if variant == "ossb" else ""
    for seed in range(6):
        player = policy(variant).begin(side, MODELS["gaussian"], HORIZON, new_stream(seed)).player
        never = player.copy()
        for _, learn in rounds(player, "gaussian", seed, 80):
            learn(player.select(), player, never)
            packed, number = player.packed, player.round
            n_different += player.select_in(packed, number) != player.select_in(never.packed, number)
    assert n_different > 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_asks_that_replicas_wrote_late_are_applied(variant):
    """The arm has retired, or is none that the policy plays; its mask was made for more arms."""
    agent, store = lived(variant, 1, SIDE, 20)
    gone = agent.ask().arm
    masks = (None, b"\x00" + np.array([1, 99], "<i4").tobytes(), b"\x02\x00")
    asks = [Event(Kind.ASK, 1, -1, arm, None, mask) for arm in range(25) for mask in masks]
    events = [event._replace(number=agent.n_asked + at) for at, event in enumerate(asks)]
    agent.lease.append([Event(Kind.RETIRE, 1, -1, gone, 1.0), *events])
    agent.lease.release()
    again = opened(store)
    assert again.n_asked == agent.n_asked + 75
    assert all(decision.arm != gone for decision in again.ask(20))


@pytest.mark.parametrize("variant", ["ucb1", "ossb"])
def test_events_that_cannot_be_are_refused(variant):
    for event in (Event(Kind.TELL, 1, 999, 25, 1.0), Event(Kind.OBSERVE, 1, -1, 77, 1.0), Event(99, 1)):
        for n in (1, 200):
            agent, store = lived(variant, 1, SIDE, 10)
            agent.lease.append([event._replace(number=1000 + i if i else event.number) for i in range(n)])
            agent.lease.release()
            with pytest.raises(LsdtError, match="the log has an event of"):
                opened(store)


@pytest.mark.parametrize("variant", COUNTING)
def test_a_replay_counts_the_ask_that_no_user_answers(variant):
    """As many users as rounds, so that they run out; the same state as round by round."""
    ratings = np.where(np.random.default_rng(1).random((80, 25)) < 0.6, MEANS, np.nan)
    starts = [policy(variant).begin(SIDE, MODELS["bernoulli"], 80, new_stream(2)) for _ in range(2)]
    history = replay_once(starts[0], ratings, 80)
    rows, _ = replayed(starts[1].player, starts[1].arms, ratings, range(80), 80)
    assert list(zip(history.items, history.users, history.rewards, strict=True)) == rows
    assert len(rows) < 80
    assert same(*(start.player.packed.words() for start in starts))
