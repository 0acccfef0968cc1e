"""Units keep their arm: after a restart, beside other agents, for a while; and they count once."""

from __future__ import annotations

import contextlib
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from agent.examples import MEANS, Clock, applied, goes_on_alike, replica, write
from lsdt.agent import insert_batch, insert_units, snapshot
from lsdt.agent.decisions import first_decision
from lsdt.agent.units import Assignment, StoredUnits, assignment_of
from lsdt.errors import DamagedStore, InvalidFile, InvalidInput
from lsdt.storage import Kind, open_store, units_scope
from naive.guarantees import counted

NAMES = [f"item{number}" for number in range(12)]
SIDE = lsdt.from_means(MEANS, 0.2, arm_ids=NAMES)
TWO = lsdt.SideInformation(2, arm_ids=["tea", "juice"], epsilon=0.2)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def log_in(store, name="drinks"):
    return [entry for batch in store.read(name) for entry in batch]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_unit_keeps_its_arm_and_the_log_does_not_know_it(kind, tmp_path):
    """By hand: the first ask of a unit is an ask like any other; later ones name its number."""
    url = f"sqlite:///{tmp_path}/units.db" if kind == "sqlite" else "memory://keeps"
    agent = lsdt.Agent.open(url, "drinks", SIDE, policy="ts", seed=4)
    units = [f"user-{number % 7}" for number in range(40)]
    arms = {}
    for number, unit in enumerate(units):
        decision = agent.ask(unit=unit)
        assert arms.setdefault(unit, decision.arm_id) == decision.arm_id
        agent.tell(decision, float(number % 3 == 0))
    agent.close()
    again = lsdt.Agent.open(url, "drinks")
    assert [again.ask(unit=unit).arm_id for unit in units] == [arms[unit] for unit in units]
    with open_store(url) as store:
        entries = log_in(store)
        rows = store.recall(units_scope(store.number("drinks")))
        assert len(rows) == 8  # and the key
        firsts = [first_decision(entry.data) for entry in entries if entry.kind == Kind.ASK]
        assert firsts == [None] * 7 + [*(number % 7 for number in range(7, 40)), *(n % 7 for n in range(40))]
        assert not any(b"user" in (entry.data or b"") for entry in entries)
        assert not any("user" in key or b"user" in value for key, value in rows.items())
        assert again.erase_unit("user-3")
        assert not again.erase_unit("user-3")
        assert len(store.recall(units_scope(store.number("drinks")))) == 7
        assert log_in(store)[-1][3:6] == (Kind.ERASE, log_in(store)[-1].time, 3)
        again.close()
        store.delete("drinks")
        assert store.recall("units 1") == {}


def test_an_agent_in_memory_takes_its_units_along():
    agent = lsdt.Agent(SIDE, "ts", seed=1)
    arms = {unit: agent.ask(unit=unit).arm for unit in map(str, range(30))}
    again = lsdt.Agent.restore(agent.snapshot())
    assert {unit: again.ask(unit=unit).arm for unit in arms} == arms
    again.extend(lsdt.SideInformation(13, arm_ids=["new", *NAMES]))
    assert {unit: again.ask(unit=unit).arm - 1 for unit in arms} == arms


def test_the_same_seed_gives_the_same_arms():
    first, second = (lsdt.Agent(SIDE, "ts", seed=2, holdout={"item3": 0.3}) for _ in range(2))
    for number in range(60):
        assert first.ask(unit=f"u{number % 40}") == second.ask(unit=f"u{number % 40}")


def test_a_holdout_gets_its_arm_for_good(clock):
    """Also when its time is over, or it was erased; 4 standard errors of 600 units."""
    agent = lsdt.Agent(SIDE, "ucb1", holdout={"item3": 0.3}, sticky=60)
    units = [f"user-{number}" for number in range(600)]
    held = {unit for unit in units if agent.ask(unit=unit).arm_id == "item3"}
    spread = 4 * np.sqrt(600 * 0.3 * 0.7)
    assert 180 - spread <= len(held) <= 180 + spread + 600 / 12
    clock.sleep(61)
    again = Counter()
    for unit in units:
        agent.erase_unit(unit)
        again[unit] += agent.ask(unit=unit).arm_id == "item3"
        clock.sleep(0.1)
    assert 180 - spread <= sum(again.values()) <= 180 + spread + 600 / 12


def test_a_unit_keeps_its_arm_for_a_stated_time(clock):
    agent = lsdt.Agent(TWO, "ucb1", sticky="1 hour")
    assert agent.sticky == 3600.0
    assert agent.ask(unit="a").arm_id == "tea"
    for _ in range(50):
        agent.observe("tea", 0.0)
        agent.observe("juice", 1.0)
    clock.sleep(3599)
    assert agent.ask(unit="a").arm_id == "tea"
    clock.sleep(1)
    decision = agent.ask(unit="a")
    assert decision.arm_id == "juice"
    agent.tell(decision, 1.0)
    clock.sleep(3599)
    assert agent.ask(unit="a").arm_id == "juice"
    assert agent.state().settled_tallies()[0].tolist() == [50, 50]  # it counts once, by its first decision


def test_retired_arms_and_masks():
    agent = lsdt.Agent(TWO, "ucb1")
    first = agent.ask(unit="a")
    with pytest.raises(InvalidInput, match="this unit has the arm 'tea', which is not allowed now"):
        agent.ask(unit="a", allowed=["juice"])
    assert agent.ask(unit="a", allowed=["tea"]).arm_id == first.arm_id == "tea"
    agent.retire("tea")
    assert agent.ask(unit="a").arm_id == "juice"
    agent.reinstate("tea")
    assert agent.ask(unit="a").arm_id == "juice"
    assert agent.n_pending == 4
    with pytest.raises(InvalidInput, match="one decision at a time"):
        agent.ask(2, unit="a")
    for wrong, got in (("", "0 characters"), (7, "7"), ("x" * 201, "201 characters"), (b"a", "b'a'")):
        with pytest.raises(InvalidInput, match=f"a unit is a text of 1 to 200 characters.*; got {got}$"):
            agent.ask(unit=wrong)
    assert agent.ask(unit="\ud800").arm in (0, 1)  # JSON may hold half a pair


def test_the_propensity_is_that_of_the_assignment():
    agent = lsdt.Agent(TWO, "ucb1", floor={"juice": 0.25})
    shares = {}
    for number in range(60):
        decision = agent.ask(unit=f"u{number % 20}")
        assert shares.setdefault(number % 20, decision.propensity) == decision.propensity
    assert set(shares.values()) <= {0.25, 0.75, 1.0}


def test_a_unit_counts_once_by_its_first_decision():
    """By hand: ten rewards of one unit and one of another; what policy and table see is all of them."""
    agent = lsdt.Agent(TWO, "ts", seed=0)
    loyal = [agent.ask(unit="a") for _ in range(10)]
    other = agent.ask(unit="b", allowed=[loyal[0].arm_id])
    assert agent.state().unsettled_counts()[loyal[0].arm] == 2
    for decision in reversed(loyal):
        agent.tell(decision, float(decision.number == 0))
    agent.tell(other, 0.0)
    learner = agent.state()
    counts, sums = learner.settled_tallies()
    assert (counts[other.arm], sums[other.arm]) == (2, 1.0)
    assert learner.counts[other.arm] == 11
    assert not learner.unsettled_counts().any()
    assert agent.to_frame().plays[other.arm] == 11
    assert agent.state().order.counts[other.arm] == 2
    alone = lsdt.Agent(TWO, "ts")
    alone.observe(other.arm_id, 1.0)
    alone.observe(other.arm_id, 0.0)
    assert agent.best().anytime_low == alone.best().anytime_low
    merged = lsdt.Agent(TWO, "ts")
    merged.merge(agent)
    assert merged.state().settled_tallies()[0].sum() == 2
    assert merged.n_told == 11


@pytest.mark.parametrize("policy", ["ts", "ucb1", "identify", "uts"])
@pytest.mark.parametrize("within", [None, 20])
def test_the_log_restores_an_agent_with_units(policy, within, clock):
    store = open_store("memory://")
    side = lsdt.complete(4, [(0, 1), (1, 2), (2, 3)], epsilon=0.2)
    options = {"policy": policy, "replace_within": None if policy == "uts" else within, "sticky": 100}
    agent = lsdt.Agent.open(store, "drinks", side, snapshot_every=0, floor={0: 0.1}, **options)
    rng, middle = np.random.default_rng(1), None
    for number in range(150):
        clock.sleep(2)
        decision = agent.ask(unit=f"u{rng.integers(15)}") if number % 3 else agent.ask()
        if number % 5:
            agent.tell(decision, float(rng.random() < 0.5))
        elif number % 2:
            agent.cancel(decision)
        if number == 70:
            agent.erase_unit("u3")
            middle, position = agent.snapshot(), store.last("drinks", 1)[0].position
    entries = log_in(store)
    assert goes_on_alike(agent, applied(store.latest("drinks", 1).blob, entries))
    assert goes_on_alike(agent, applied(middle, [each for each in entries if each.position > position]))
    assert goes_on_alike(agent, lsdt.Agent.restore(agent.snapshot()))
    learner, micros = agent.state(), None if agent.replace_within is None else 20 * 10**6
    counts, sums, still_open = counted(entries, 4, micros, clock.now)
    assert learner.settled_tallies()[0].tolist() == counts
    assert learner.settled_tallies()[1].tolist() == pytest.approx(sums)
    assert learner.unsettled_counts().tolist() == still_open


@given(st.data())
def test_two_agents_on_one_log_give_a_unit_one_arm(data):
    """Asks of few units, with each agent's reads and restarts anywhere: no unit ever has two arms."""
    store = open_store("memory://")
    lsdt.Agent.open(store, "drinks", SIDE, policy="ts").close()
    joined = [lsdt.Agent.open(store, "drinks", shared=True) for _ in range(2)]
    arms = {}
    for _ in range(data.draw(st.integers(1, 25))):
        at, unit = data.draw(st.integers(0, 1)), data.draw(st.sampled_from("abcd"))
        decision = joined[at].ask(unit=unit)
        assert arms.setdefault(unit, decision.arm) == decision.arm
        if data.draw(st.booleans()):
            joined[1 - at].tell(decision, 1.0)
        if data.draw(st.integers(0, 5)) == 0:
            joined[at].close()
            joined[at] = lsdt.Agent.open(store, "drinks", shared=True)
    entries = log_in(store)
    counts, _, still_open = counted(entries, 12, None, 0)
    for one in joined:
        one.refresh()
        assert one.state().settled_tallies()[0].tolist() == counts
        assert one.state().unsettled_counts().tolist() == still_open
    firsts = [entry for entry in entries if entry.kind == Kind.ASK and first_decision(entry.data) is None]
    assert len(firsts) == len(arms)


def test_a_unit_whose_arm_retires_before_it_was_written(clock):
    """One group holds two assignments of a unit: the second is written, in one row."""
    store = open_store("memory://")
    agent = lsdt.Agent.open(store, "drinks", TWO, policy="ucb1", sticky=60)
    with agent.group():
        first = agent.ask(unit="a")
        agent.retire(first.arm_id)
        second = agent.ask(unit="a")
    assert first.arm != second.arm
    with agent.group():
        for _ in range(3):
            clock.sleep(61)
            last = agent.ask(unit="a")
    agent.close()
    again = lsdt.Agent.open(store, "drinks")
    assert again.ask(unit="a").arm == last.arm
    firsts = [first_decision(entry.data) for entry in log_in(store) if entry.kind == Kind.ASK]
    assert firsts == [None, 0, 0, 0, 0, 0]


def test_more_units_in_one_group_than_are_kept_in_memory():
    agent = lsdt.Agent.open("memory://many-units", "drinks", SIDE, policy="ts")
    store, number = agent.lease.store, agent.lease.number
    agent.journal.units = StoredUnits(store, number, most=5, is_only_writer=True)
    with agent.group():
        arms = [[agent.ask(unit=f"user-{number}").arm for number in range(40)] for _ in range(2)]
    assert arms[0] == arms[1] == [agent.ask(unit=f"user-{number}").arm for number in range(40)]


def test_a_unit_that_another_replica_erased_is_new(clock):
    """Its time is over here, and it was erased there: the row must not come back with its old number."""
    store = open_store("memory://")
    lsdt.Agent.open(store, "drinks", SIDE, policy="ts", sticky=60).close()
    here, there = (lsdt.Agent.open(store, "drinks", shared=True) for _ in range(2))
    here.ask(unit="a")
    assert there.erase_unit("a")
    clock.sleep(61)
    again = here.ask(unit="a")
    asks = [entry for entry in log_in(store) if entry.kind == Kind.ASK]
    assert [first_decision(entry.data) for entry in asks] == [None, None]
    assert asks[1].number == again.number


def test_a_unit_that_left_a_retired_arm_at_one_replica_has_left_it_at_all():
    """The other replica knew its arm before, and hears nothing of it while the arm is retired."""
    store = open_store("memory://")
    lsdt.Agent.open(store, "drinks", TWO, policy="ucb1").close()
    here, there = (lsdt.Agent.open(store, "drinks", shared=True) for _ in range(2))
    assert [one.ask(unit="a").arm_id for one in (here, there)] == ["tea", "tea"]
    here.retire("tea")
    assert here.ask(unit="a").arm_id == "juice"
    here.reinstate("tea")
    there.refresh()
    assert [one.ask(unit="a").arm_id for one in (here, there)] == ["juice", "juice"]


@given(st.data())
def test_replicas_that_have_read_the_same_agree_on_every_unit(data):
    """Arms retire and come back, units are erased, with reads anywhere; the log says which arm each has."""
    store = open_store("memory://")
    lsdt.Agent.open(store, "drinks", SIDE, policy="ts").close()
    joined = [lsdt.Agent.open(store, "drinks", shared=True) for _ in range(2)]
    for _ in range(data.draw(st.integers(1, 30))):
        one = joined[data.draw(st.integers(0, 1))]
        call = data.draw(st.sampled_from(["ask", "ask", "ask", "retire", "reinstate", "refresh", "erase"]))
        unit = data.draw(st.sampled_from("ab"))
        out = one.state().retired
        retired = [] if out is None else [NAMES[arm] for arm in np.flatnonzero(out)]
        if call == "ask":
            one.ask(unit=unit)
        elif call == "retire":
            arm = one.ask(unit=unit).arm_id
            if arm not in retired and len(retired) < 3:
                one.retire(arm)
        elif call == "reinstate" and retired:
            with contextlib.suppress(InvalidInput):  # the other one reinstated it
                one.reinstate(retired[0])
        elif call == "refresh":
            one.refresh()
        elif call == "erase":
            one.erase_unit(unit)
    for one in (*joined, *joined):  # the first may still move units
        one.refresh()
        for unit in "ab":
            one.ask(unit=unit)
    for one in joined:
        one.refresh()
    assert len({tuple(one.ask(unit=unit).arm_id for unit in "ab") for one in joined}) == 1


@pytest.mark.parametrize("kind", ["memory", "sqlite", "shared"])
def test_a_unit_has_the_arm_of_the_log_whatever_happens_in_between(kind, clock, tmp_path):
    """Against a dictionary: restarts, erasing, the end of `sticky`, retired arms, new arms, stops."""
    for seed in range(30):
        rng = random.Random(seed)
        url = "memory://" if kind == "shared" else f"sqlite:///{tmp_path}/{seed}.db"
        store = open_store(url) if kind == "shared" else None
        sticky, holdout = rng.choice([None, "1 hour"]), rng.choice([None, {"item0": 0.3}])
        options = {"policy": "ts", "seed": seed, "sticky": sticky, "holdout": holdout}
        side = lsdt.SideInformation(4, arm_ids=NAMES[:4])
        if kind == "memory":
            agents = [lsdt.Agent(side, **options)]
        elif kind == "sqlite":
            agents = [lsdt.Agent.open(url, "drinks", side, snapshot_every=3, **options)]
        else:
            lsdt.Agent.open(store, "drinks", side, **options).close()
            agents = [lsdt.Agent.open(store, "drinks", shared=True) for _ in range(2)]
        has, retired, arms = {}, set(), NAMES[:4]
        for _ in range(rng.randint(5, 100)):
            at = rng.randrange(len(agents))
            agent, unit = agents[at], f"user-{rng.randrange(2)}"
            agent.refresh()
            call = rng.choice(
                ["ask"] * 6 + ["retire", "reinstate", "erase", "restart", "wait", "extend", "stop"]
            )
            free = [arm for arm in arms if arm not in retired]
            if call == "ask":
                arm, until = has.get(unit, (None, 0))
                found = agent.ask(unit=unit).arm_id
                if arm in free and clock.now < until:
                    assert found == arm, (seed, unit)
                else:
                    assert found in free, (seed, unit)
                    has[unit] = found, clock.now + (10**18 if sticky is None else 3_600 * 10**6)
            elif call == "retire" and len(free) > 2:
                agent.retire(arm := rng.choice(free))
                retired.add(arm)
            elif call == "reinstate" and retired:
                agent.reinstate(arm := min(retired))
                retired.remove(arm)
            elif call == "erase":
                assert agent.erase_unit(unit) == (has.pop(unit, None) is not None), (seed, unit)
            elif call == "restart" and kind == "memory":
                agents[at] = lsdt.Agent.restore(agent.snapshot())
            elif call == "restart":
                agent.close()
                agents[at] = lsdt.Agent.open(store or url, "drinks", shared=kind == "shared")
            elif call == "wait":
                clock.sleep(rng.choice([1, 1_800, 4_000]))
            elif call == "extend" and len(arms) < 8:
                arms = NAMES[: len(arms) + 1]
                agent.extend(lsdt.SideInformation(len(arms), arm_ids=arms))
            elif call == "stop":
                agent.stop(arm := rng.choice(free))
                assert agent.ask(unit=unit).arm_id == arm
                has.setdefault(unit, (arm, clock.now + (10**18 if sticky is None else 3_600 * 10**6)))
                agent.resume()
        for agent in agents:
            agent.close()


def test_a_unit_that_is_erased_while_it_asks_again_does_not_come_back():
    """As a service does it: its second ask is on the way when another replica erases it."""
    store = open_store("memory://")
    lsdt.Agent.open(store, "drinks", SIDE, policy="ts").close()
    here, there = replica(store, "drinks"), lsdt.Agent.open(store, "drinks", shared=True)
    batches = []
    for _ in range(2):
        here.ask(unit="a")
        batches.append(here.drain())
    scope, taken = here.journal.units.scope, []
    for batch in batches:
        with store.transaction():
            taken.append(insert_units(store, scope, batch.units))
            insert_batch(here.lease, batch, taken[-1])
        there.refresh()
        there.erase_unit("a")
    assert taken == [{}, {batches[1].units[0].number: b""}]
    assert list(store.recall(scope)) == ["key"]


def test_the_slower_of_two_replicas_reads_the_arm_of_the_faster():
    """As a service does it: both decide before either has written; the loser's ask is not in the log."""
    store = open_store("memory://")
    lsdt.Agent.open(store, "drinks", SIDE, policy="ts").close()
    fast, slow = (replica(store, "drinks", snapshot_every=0) for _ in range(2))
    lost, won = slow.ask(unit="a"), fast.ask(unit="a")
    assert lost.number != won.number
    for one in (fast, slow):
        one.autocommit = True
        with one.group():
            pass
        one.autocommit = False
    asks = [entry.number for entry in log_in(store) if entry.kind == Kind.ASK]
    assert asks == [won.number]
    assert slow.ask(unit="a").arm == won.arm
    assert write(slow) == [True]
    fast.refresh()
    assert fast.erase_unit("a")
    write(fast)
    slow.refresh()
    assert slow.journal.units.token("a") not in slow.journal.units.rows


def test_memory_holds_a_bounded_number_of_units():
    store = open_store("memory://")
    store.create("drinks", "", b"")
    table = StoredUnits(store, 1, most=3)
    for number in range(10):
        row = Assignment("tea", number, 0, None).to_bytes()
        store.remember(table.scope, table.token(str(number)).hex(), row)
        table.put(table.token(str(number)), row)
    store.commit()
    assert len(table.rows) == 3
    assert [assignment_of(table.find(table.token(str(number)))).number for number in range(10)] == [
        *range(10)
    ]
    assert len(table.rows) == 3
    table.drop_changed(9)
    assert table.token("9") not in table.rows


def test_no_query_says_that_a_unit_is_new_while_all_are_in_memory(tmp_path, monkeypatch):
    url, asked = f"sqlite:///{tmp_path}/units.db", []

    def opened():
        agent = lsdt.Agent.open(url, "drinks", SIDE, policy="ts")
        agent.erase_unit("nobody")  # which needs the key
        store, recall = agent.lease.store, agent.lease.store.recall
        monkeypatch.setattr(store, "recall", lambda *given: asked.append(given) or recall(*given))
        return agent

    with opened() as agent:
        arms = {unit: agent.ask(unit=unit).arm_id for unit in "abc"}
        assert agent.erase_unit("c")
        assert not agent.erase_unit("c")
        assert not asked
    with opened() as agent:  # which has none of them in memory
        assert {unit: agent.ask(unit=unit).arm_id for unit in "ab"} == {unit: arms[unit] for unit in "ab"}
        assert not agent.erase_unit("c")
        assert len(asked) == 3


def test_what_is_damaged_is_refused():
    with pytest.raises(DamagedStore, match="the arm of a unit cannot be read"):
        assignment_of(b"short")
    agent = lsdt.Agent(TWO, "ts")
    agent.ask(unit="a")
    agent.ask(unit="a")
    blob = agent.snapshot()
    learner = agent.state()
    learner.later.add(7)
    with pytest.raises(InvalidFile, match="units that were never asked for"):
        lsdt.Agent.restore(snapshot.to_bytes(learner))
    assert lsdt.Agent.restore(blob).state().later == {1}
