"""Several services on one PostgreSQL: what each acknowledges is kept once, and all become equal."""

from __future__ import annotations

import asyncio
import io
import json
import random
import time
from contextlib import asynccontextmanager

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

import lsdt
from agent.examples import applied, replica, write
from lsdt.errors import InvalidInput, LostDecision, StoreFailed, StoreLocked, Unsupported
from lsdt.service.app import create_app
from lsdt.service.decision_ids import parts
from lsdt.service.hosting import Service
from lsdt.service.settings import Settings
from lsdt.storage import Kind, open_store
from lsdt.storage.events import CLOSING
from postgresql_server import frozen

NEW = {"name": "drinks", "arms": ["tea", "coffee", "juice"], "policy": "ucb1"}
ONE = "/v1/experiments/drinks"


class Running:
    """A service without a network."""

    def __init__(self, service):
        self.service = service
        transport = httpx.ASGITransport(create_app(service), client=("127.0.0.1", 1))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    async def post(self, path, body=None, key=None, status=200):
        headers = {} if key is None else {"idempotency-key": key}
        answer = await self.http.post(path, json={} if body is None else body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def get(self, path, status=200):
        answer = await self.http.get(path)
        assert answer.status_code == status, answer.text
        return answer.json()

    @property
    def agent(self):
        return self.service.hosted["drinks"].agent


@asynccontextmanager
async def services(url, n=2, new=NEW, patience=None):
    running = []
    try:
        for _ in range(n):
            settings = Settings(url, store_patience=patience)
            one = Running(await asyncio.to_thread(Service, settings))
            running.append(one)
            if new is not None and len(running) == 1:
                await one.post("/v1/experiments", new, status=201)
            await one.service.start()
        yield running
    finally:
        for one in running:
            await one.http.aclose()
            await one.service.close()


def log_of(url, name="drinks"):
    with open_store(url, read_only=True) as store:
        return [entry for batch in store.read(name) for entry in batch]


def state_of(agent):
    """What was learned, and what would be chosen next; words of a state may also hold what was looked up."""
    learner, choices = agent.state(), []
    for number in range(10**6, 10**6 + 20):
        asked = learner.decide(number, time=0)
        learner.apply(asked, epoch=0)
        learner.apply(asked._replace(kind=Kind.TELL, reward=1.0), epoch=0)
        choices.append(asked.arm)
    learner = agent.state()
    return (
        choices,
        repr(learner.scores().tolist()),  # NaN equals itself in text
        learner.counts.tolist(),
        learner.sums.tolist(),
        sorted(learner.pending.entries()),
        (learner.n_asked, learner.n_told, learner.total, learner.next_number),
        None if learner.retired is None else learner.retired.tolist(),
        learner.side.n_arms,
    )


async def quiesced(running, url):
    """Check that all replicas are equal, and equal to their log."""
    for one in running:
        await one.service.commits.look()
    with open_store(url, read_only=True) as store:
        entries = [entry for batch in store.read("drinks") for entry in batch]
        again = applied(store.latest("drinks", before=1).blob, entries)
    expected = state_of(again)
    for one in running:
        assert not one.agent.state().pending.reserved
        assert state_of(one.agent) == expected
    return again


def test_any_replica_takes_any_decision_and_any_repeat(postgresql_url):
    async def run():
        async with services(postgresql_url) as (first, second):
            asked = (await first.post(f"{ONE}/ask", {"n": 3}, key="k"))["decisions"]
            for one in (second, first):  # the key lies in the store
                assert (await one.post(f"{ONE}/ask", {"n": 3}, key="k"))["decisions"] == asked
                await one.post(f"{ONE}/ask", {"n": 4}, key="k", status=422)
            told = {"decision": asked[0]["id"], "reward": 1}
            assert await second.post(f"{ONE}/tell", told) == {"learned": 1, "repeated": 0}
            assert await first.post(f"{ONE}/tell", told) == {"learned": 0, "repeated": 1}
            many = [{"decision": each["id"], "reward": 0} for each in (*asked, asked[1])]
            assert await first.post(f"{ONE}/tell", {"rewards": many}) == {"learned": 2, "repeated": 2}
            await second.post(f"{ONE}/observe", {"arm": "juice", "reward": 1}, key="o")
            await first.post(f"{ONE}/observe", {"arm": "juice", "reward": 1}, key="o")
            for one in (first, second):
                about = await one.get(ONE)
                assert (about["decisions"], about["told"], about["pending"]) == (3, 4, 0)
            (fresh,) = (await first.post(f"{ONE}/ask"))["decisions"]  # which the second has not read yet
            told = {"decision": fresh["id"], "reward": 1}
            assert await second.post(f"{ONE}/tell", told) == {"learned": 1, "repeated": 0}
            (last,) = (await second.post(f"{ONE}/ask"))["decisions"]
            cancel = {"decision": last["id"]}
            assert await first.post(f"{ONE}/cancel", cancel) == {"cancelled": 1}
            await second.post(f"{ONE}/cancel", cancel, status=422)
            await quiesced((first, second), postgresql_url)
            lines = [json.loads(line) for line in (await first.http.get(f"{ONE}/events")).text.splitlines()]
            assert [each["event"] for each in lines].count("tell") == 4
            after = {"after": lines[3]["position"], "format": "parquet"}
            behind = pq.read_table(io.BytesIO((await second.http.get(f"{ONE}/events", params=after)).content))
            assert behind.to_pylist() == lines[4:]
            assert (await second.http.get("/experiments/drinks/log", params=after)).status_code == 200

    asyncio.run(run())


def test_a_unit_that_two_replicas_meet_at_once_has_one_arm(postgresql_url):
    """New units at both at the same moment, with and without a key; corrections at the other replica."""

    async def run():
        async with services(postgresql_url, new=NEW | {"policy": "ts", "replace_within": 600}) as running:
            arms, ids = {}, []
            for number in range(60):
                unit = {"unit": f"user-{number % 20}"}
                asks = [
                    one.post(f"{ONE}/ask", unit, key=f"{number} {at}" if number % 2 else None)
                    for at, one in enumerate(running)
                ]
                for answer in await asyncio.gather(*asks):
                    (decision,) = answer["decisions"]
                    assert arms.setdefault(number % 20, decision["arm"]) == decision["arm"]
                    ids.append(decision["id"])
            assert len(set(ids)) == 120
            for at, each in enumerate(ids):
                told = {"decision": each, "reward": 1, "repeat": "replace"}
                assert await running[at % 2].post(f"{ONE}/tell", told) == {"learned": 1, "repeated": 0}
                corrected = await running[1 - at % 2].post(f"{ONE}/tell", told | {"reward": 0})
                assert corrected == {"learned": 1, "repeated": 0}
            again = await quiesced(running, postgresql_url)
            assert again.state().sums.sum() == 0.0
            assert again.state().unsettled_counts().sum() == 20  # a unit counts once
            assert await running[0].post(f"{ONE}/erase-unit", {"unit": "user-3"}) == {"erased": True}
            await running[1].service.commits.look()
            assert await running[1].post(f"{ONE}/erase-unit", {"unit": "user-3"}) == {"erased": False}

    asyncio.run(run())


def test_a_retry_waits_until_the_arm_of_its_unit_is_settled(postgresql_url):
    """Two replicas meet a unit at once; the one that loses asks again, and a retry must not overtake it."""

    async def asked(one, unit, key):
        answer = await one.post(f"{ONE}/ask", unit, key=key)
        number = parts(answer["decisions"][0]["id"]).number
        numbers = {entry.number for entry in log_of(postgresql_url) if entry.kind == Kind.ASK}
        return answer, number in numbers

    async def run():
        async with services(postgresql_url, new=NEW | {"policy": "ts"}) as running:
            for number in range(20):
                unit = {"unit": f"user-{number}"}
                asks = [
                    asked(one, unit, f"{number} {at}") for at, one in enumerate(running) for _ in range(2)
                ]
                answers, durable = zip(*await asyncio.gather(*asks), strict=True)
                assert all(durable)
                assert len({each["decisions"][0]["arm"] for each in answers}) == 1
                assert answers[0] == answers[1]
                assert answers[2] == answers[3]

    asyncio.run(run())


def test_a_unit_leaves_a_retired_arm_at_all_replicas_or_at_none(postgresql_url):
    """By its next ask, of which the others read; not by a repeat, of which the log says nothing."""

    async def asked(one, key=None):
        (decision,) = (await one.post(f"{ONE}/ask", {"unit": "user-1"}, key=key))["decisions"]
        return decision

    async def run():
        async with services(postgresql_url) as (here, there):
            first = await asked(here, "key")
            arm = {"arm": first["arm"]}
            await here.post(f"{ONE}/retire", arm)
            await there.service.commits.look()
            assert await asked(there, "key") == first
            await here.post(f"{ONE}/reinstate", arm)
            await there.service.commits.look()
            assert [(await asked(one))["arm"] for one in (here, there, here)] == 3 * [first["arm"]]
            await here.post(f"{ONE}/retire", arm)
            moved = (await asked(here))["arm"]
            assert moved != first["arm"]
            await here.post(f"{ONE}/reinstate", arm)
            await there.service.commits.look()
            assert [(await asked(one))["arm"] for one in (here, there, here)] == 3 * [moved]
            assert await asked(there, "key") == first

    asyncio.run(run())


def test_interleaved_work_of_two_replicas_is_kept_once_and_makes_them_equal(postgresql_url):
    rng = random.Random(3)

    async def worker(running, asked, told):
        for _ in range(12):
            key = f"{rng.getrandbits(64):x}"
            twins = rng.choice([running, running[:1], running[1:]])
            made = await asyncio.gather(*(one.post(f"{ONE}/ask", {"n": 2}, key) for one in twins))
            assert all(each == made[0] for each in made)
            for each in made[0]["decisions"]:
                assert each["id"] not in asked
                asked[each["id"]] = each["arm"]
                body = {"decision": each["id"], "reward": float(rng.random() < 0.5)}
                if rng.random() < 0.8:
                    twins = rng.choice([running, running[:1]])
                    done = await asyncio.gather(*(one.post(f"{ONE}/tell", body) for one in twins))
                    assert sum(each["learned"] for each in done) == 1
                    told[each["id"]] = body["reward"]

    async def run():
        asked, told = {}, {}
        async with services(postgresql_url) as running:
            await asyncio.gather(*(worker(running, asked, told) for _ in range(6)))
            fold = await quiesced(running, postgresql_url)
            assert fold.n_told == len(told)
            assert fold.n_pending == len(asked) - len(told)
        entries = log_of(postgresql_url)
        asks = [entry.number for entry in entries if entry.kind == Kind.ASK]
        assert sorted(asks) == sorted(parts(text).number for text in asked)
        tells = {entry.number: entry.reward for entry in entries if entry.kind == Kind.TELL}
        assert tells == {parts(text).number: reward for text, reward in told.items()}
        assert len({entry.writer for entry in entries}) == 2
        with open_store(postgresql_url) as store:  # one who is alone goes on
            agent = lsdt.Agent.open(store, "drinks")
            assert (agent.n_asked, agent.n_told) == (len(asked), len(told))
            assert agent.ask().number > max(asks)
            agent.close()

    asyncio.run(run())


def test_a_late_transaction_is_folded_in_its_turn(postgresql_url):
    """Another writer's rows lie in an older transaction that ends later: nobody may pass them over."""

    async def run():
        async with services(postgresql_url, 1) as (one,), _late(postgresql_url) as late:
            late.tell(late.ask(), 1.0)
            lease, events = late.lease, late.drain().events
            lease.insert(events[:1])
            decision = (await one.post(f"{ONE}/ask"))["decisions"][0]
            await one.post(f"{ONE}/tell", {"decision": decision["id"], "reward": 1})
            await one.service.commits.look()
            assert one.agent.n_told == 0  # it may still be preceded
            lease.store.commit()
            lease.append(events[1:])
            await one.service.commits.look()
            assert (one.agent.n_told, one.agent.n_asked) == (2, 2)
            await quiesced([one], postgresql_url)

    @asynccontextmanager
    async def _late(url):
        with open_store(url) as store:
            late = replica(store, "drinks", snapshot_every=0)
            yield late
            late.close()

    asyncio.run(run())


def test_an_arm_that_has_just_retired_can_be_reinstated(postgresql_url):
    """Also while an older transaction is open, such as that of a replica that died."""

    async def run():
        async with services(postgresql_url) as (here, there):
            with open_store(postgresql_url) as store:
                late = replica(store, "drinks", snapshot_every=0)
                late.observe("juice", 1.0)
                late.lease.insert(late.drain().events)
                await here.post(f"{ONE}/retire", {"arm": "tea"})
                reinstated = asyncio.create_task(there.post(f"{ONE}/reinstate", {"arm": "tea"}))
                await asyncio.sleep(0.3)
                store.commit()
                await reinstated
                late.close()
            again = await quiesced([here, there], postgresql_url)
            assert again.arms_in_play == ["tea", "coffee", "juice"]

    asyncio.run(run())


def test_more_decisions_than_a_block_has_numbers(postgresql_url):
    async def run():
        async with services(postgresql_url) as running:
            answers = await asyncio.gather(
                *(one.post(f"{ONE}/ask", {"n": n}) for one in running for n in (1_500, 30, 700))
            )
            ids = [each["id"] for answer in answers for each in answer["decisions"]]
            assert len({parts(text).number for text in ids}) == len(ids) == 2 * 2_230
            # Both give the same ones up, in steps: each decision is closed by one of them.
            last = max(ids, key=lambda text: parts(text).number)
            made = await asyncio.gather(*(one.post(f"{ONE}/cancel", {"before": last}) for one in running))
            assert sum(each["cancelled"] for each in made) == 2 * 2_230 - 1
            await quiesced(running, postgresql_url)

    asyncio.run(run())


def test_what_one_replica_changes_reaches_the_others(postgresql_url):
    async def run():
        async with services(postgresql_url) as (first, second):
            await second.post("/v1/experiments", NEW, status=409)
            await second.post("/v1/experiments", NEW | {"name": "later"}, status=201)
            await first.post("/v1/experiments/later/ask")  # known at once
            made = await first.post(f"{ONE}/extend", {"arms": ["mate"], "similar": [["mate", "tea"]]})
            assert made["new_arms"] == ["mate"]
            arms = await second.get(f"{ONE}/arms")
            assert [each["arm"] for each in arms["arms"]] == ["tea", "coffee", "juice", "mate"]
            await second.post("/v1/experiments/later/observe", {"arm": "juice", "reward": 1})
            merged = await first.post(f"{ONE}/merge", {"experiments": ["later"]})
            assert merged == {"learned": 1}
            await first.service.commits.look()
            await second.post(f"{ONE}/merge", {"experiments": ["later"]}, status=422)
            await second.post(f"{ONE}/retire", {"arm": "tea"})
            await first.post(f"{ONE}/retire", {"arm": "coffee"})
            asked = await first.post(f"{ONE}/ask", {"n": 6})
            assert {each["arm"] for each in asked["decisions"]} == {"juice", "mate"}
            await second.post(f"{ONE}/snapshot")
            await quiesced((first, second), postgresql_url)
            await second.post(f"{ONE}/pause")
            await first.service.commits.look()
            await first.post(f"{ONE}/ask", status=409)
            await first.http.delete(ONE)
            await second.post(f"{ONE}/ask", status=404)
            await second.post("/v1/experiments", NEW, status=201)  # the name is free again
            await first.post(
                f"{ONE}/tell", {"decision": asked["decisions"][0]["id"], "reward": 1}, status=422
            )
            assert len((await first.post(f"{ONE}/ask"))["decisions"]) == 1

    asyncio.run(run())


def test_who_is_late_to_delete_leaves_the_next_experiment_of_the_name_alone(postgresql_url):
    """It saw that one was to go, and comes to it when it is gone and another has its name."""
    new = NEW | {"policy": "lsdt_psi", "horizon": 1000, "similar": [["tea", "coffee"]], "epsilon": 0.1}

    async def run():
        async with services(postgresql_url, new=new) as (first, second):
            late = second.service.replication
            hosted = first.service.hosted["drinks"]
            await first.post(f"{ONE}/ask", key="k")
            assert (await first.http.delete(ONE)).json() == {"done": True}
            await first.post("/v1/experiments", new, status=201)
            (asked,) = (await first.post(f"{ONE}/ask", key="k"))["decisions"]
            assert await asyncio.to_thread(late._finish_leaving, "drinks", hosted.tag)
            assert (await first.post(f"{ONE}/ask", key="k"))["decisions"] == [asked]
            await first.post(f"{ONE}/tell", {"decision": asked["id"], "reward": 1})
            await second.service.replication.look()
            assert (await second.get(ONE))["told"] == 1

    asyncio.run(run())


def test_two_extensions_at_once_leave_one(postgresql_url):
    """Both are in the log; the second does not go on from what the first made, and all pass it over."""

    async def run():
        async with services(postgresql_url) as (first, second):
            answers = await asyncio.gather(
                *(
                    one.http.post(f"{ONE}/extend", json={"arms": [arm]})
                    for one, arm in ((first, "mate"), (second, "cola"))
                )
            )
            assert sorted(each.status_code for each in answers) in ([200, 200], [200, 409])
            await first.post(f"{ONE}/ask")
            await quiesced((first, second), postgresql_url)

    asyncio.run(run())


def test_an_extension_ends_when_another_replica_deletes_the_experiment(postgresql_url, monkeypatch):
    """A long transaction of somebody else keeps the log from being read as far as the extension."""
    has_begun = asyncio.Event()

    def outcome(agent, proposal):
        has_begun.set()

    monkeypatch.setattr(lsdt.Agent, "extension_outcome", outcome)

    async def run():
        async with services(postgresql_url) as (first, second):
            extending = asyncio.create_task(first.http.post(f"{ONE}/extend", json={"arms": ["mate"]}))
            await has_begun.wait()
            assert (await second.http.delete(ONE)).json() == {"done": True}
            answer = await asyncio.wait_for(extending, 60)
            assert answer.status_code == 404
            assert "was deleted" in answer.json()["detail"]

    asyncio.run(run())


def test_policies_that_count_their_asks_are_decided_for_by_all(postgresql_url):
    """Turns and epochs move with the asks of the log, so that all replicas have the same."""
    new = NEW | {"policy": "lsdt_psi", "horizon": 1000, "similar": [["tea", "coffee"]], "epsilon": 0.1}

    async def run():
        async with services(postgresql_url, new=new) as running:
            first, second = running
            (asked,) = (await first.post(f"{ONE}/ask", key="k"))["decisions"]
            assert (await second.post(f"{ONE}/ask", key="k"))["decisions"] == [asked]
            for number in range(30):
                decisions = [
                    each for one in running for each in (await one.post(f"{ONE}/ask", {"n": 2}))["decisions"]
                ]
                for at, decision in enumerate(decisions[:3]):
                    told = {"decision": decision["id"], "reward": (number + at) % 2}
                    await running[number % 2].post(f"{ONE}/tell", told)
            await quiesced(running, postgresql_url)

    asyncio.run(run())


def test_a_lost_connection_ends_what_is_in_flight_and_mends_itself(postgresql_url):
    async def run():
        async with services(postgresql_url) as (first, second):
            (asked,) = (await first.post(f"{ONE}/ask", key="before"))["decisions"]
            for connection in ("_writes", "_reads"):
                pid = getattr(first.service.store, connection).info.backend_pid
                await asyncio.to_thread(second.service.store._rows, "SELECT pg_terminate_backend(%s)", (pid,))
            failed = await first.post(f"{ONE}/ask", key="lost", status=503)
            assert failed["title"] == "StoreFailed"
            assert "it is tried again" in (await first.get("/readyz", 503))["detail"]
            for path in (ONE, "/v1/experiments/unknown"):  # nobody knows what there is
                await first.post(f"{path}/ask", status=503)
                await first.get(f"{path}/arms", 503)
            limit = time.monotonic() + 120
            while (await first.http.get("/readyz")).status_code != 200 and time.monotonic() < limit:
                await asyncio.sleep(0.05)
            assert (await first.post(f"{ONE}/ask", key="before"))["decisions"] == [asked]
            (made,) = (await first.post(f"{ONE}/ask", key="lost"))["decisions"]
            assert (await second.post(f"{ONE}/ask", key="lost"))["decisions"] == [made]
            await first.post(f"{ONE}/tell", {"decision": asked["id"], "reward": 1})
            await quiesced((first, second), postgresql_url)
            assert (await second.get(ONE))["decisions"] == 2

    asyncio.run(run())


def test_a_silent_server_fails_what_waits_and_does_not_hold_up_the_end(postgresql_url):
    async def run():
        async with services(postgresql_url, 1, patience=0.4) as (one,):
            await one.post(f"{ONE}/ask", key="before")
            with frozen(postgresql_url):
                waiting = asyncio.create_task(one.post(f"{ONE}/ask", key="lost", status=503))
                assert (await one.get("/healthz"))["status"] == "ok"  # the loop goes on
                assert "has been silent for 0.4 s" in (await waiting)["detail"]
                assert "it is tried again" in (await one.get("/readyz", 503))["detail"]
            limit = time.monotonic() + 120
            while (await one.http.get("/readyz")).status_code != 200 and time.monotonic() < limit:
                await asyncio.sleep(0.05)
            await one.post(f"{ONE}/ask", key="lost")
            with frozen(postgresql_url):
                await asyncio.wait_for(one.service.close(), 60)

    asyncio.run(run())


def test_a_name_that_is_given_again_is_served_by_a_replica_that_could_not_open_the_first(postgresql_url):
    """It came while another service was deleting the first, and is asked for the second."""

    async def run():
        with open_store(postgresql_url) as third:
            async with services(postgresql_url, 1) as (first,):
                await first.http.delete(ONE)
                lsdt.Agent.open(third, "drinks", lsdt.SideInformation(2), policy="ucb1").close()
                lease = third.lease("drinks")
                await first.service.replication.look()
                assert "drinks" in first.service.broken
                await first.post(f"{ONE}/ask", status=503)
                lease.release()
                third.delete("drinks")
                lsdt.Agent.open(third, "drinks", lsdt.SideInformation(3), policy="ucb1").close()
                await first.service.replication.look()
                assert await first.get("/readyz") == {"status": "ok", "detail": ""}
                await first.post(f"{ONE}/ask")

    asyncio.run(run())


def test_a_replica_does_not_open_again_what_it_deletes(postgresql_url):
    """It looks at what others did between letting go and deleting, when the store has not heard of it yet."""

    async def run():
        async with services(postgresql_url, 1) as (first,):
            service = first.service
            hosted = service.hosted["drinks"]
            await service.let_go(hosted)
            await service.replication.look()
            assert not service.knows("drinks")
            await asyncio.to_thread(service.delete, hosted)
            await first.post("/v1/experiments", NEW, status=201)
            await first.post(f"{ONE}/ask")

    asyncio.run(run())


def test_an_experiment_that_was_locked_for_a_moment_is_opened_later(postgresql_url):
    async def run():
        with open_store(postgresql_url) as third:
            async with services(postgresql_url, 1, new=None) as (first,):
                lsdt.Agent.open(third, "drinks", lsdt.SideInformation(2), policy="ucb1").close()
                lease = third.lease("drinks")
                await first.service.replication.look()
                assert "drinks" in first.service.broken
                lease.release()
                limit = time.monotonic() + 120
                while "drinks" in first.service.broken and time.monotonic() < limit:
                    await asyncio.sleep(0.05)
                await first.post(f"{ONE}/ask")

    asyncio.run(run())


def test_decisions_expire_once(postgresql_url):
    async def run():
        new = NEW | {"expiry": {"after": 0.3, "reward": 0}}
        async with services(postgresql_url, new=new) as running:
            for one in running:
                await one.post(f"{ONE}/ask", {"n": 5})
            limit = time.monotonic() + 120
            while (await running[0].get(ONE))["pending"] and time.monotonic() < limit:
                await asyncio.sleep(0.05)
            await quiesced(running, postgresql_url)
            shown = [_shown(one.service) for one in running]
        kinds = [entry.kind for entry in log_of(postgresql_url)]
        assert (kinds.count(Kind.ASK), kinds.count(Kind.EXPIRE)) == (10, 10)
        assert [rate[:2] for rate, _ in shown] == [(10, 0.0)] * 2
        async with services(postgresql_url, n=1, new=None) as (later,):  # reads it back
            assert [*shown, _shown(later.service)] == [shown[0]] * 3

    asyncio.run(run())


def _shown(service):
    """Return the reward rate and the log that a page shows."""
    activity = service.hosted["drinks"].activity
    return activity.rate(), activity.rows()


# ---------------------------------------------------------------- replicas without a service


@pytest.fixture
def replicas():
    store = open_store("memory://")
    lsdt.Agent.open(store, "x", lsdt.SideInformation(3), policy="ucb1").close()
    return [replica(store, "x", snapshot_every=0) for _ in range(2)]


@given(st.data(), st.sampled_from(["ucb1", "ts", "uts", "lsdt_psi"]))
def test_any_interleaving_of_replicas_is_their_log(data, policy):
    """Asks, tells (twice, anywhere), cancels, expiry, observations, snapshots, restarts, late reading."""
    store = open_store("memory://")
    side = lsdt.complete(4, [(0, 1), (1, 2), (2, 3)], epsilon=0.2)
    lsdt.Agent.open(store, "x", side, policy=policy, horizon=100).close()
    first = store.latest("x").blob
    joined = [replica(store, "x", snapshot_every=7) for _ in range(3)]
    known, told = [], {}
    for _ in range(data.draw(st.integers(1, 40))):
        at = data.draw(st.integers(0, 2))
        one = joined[at]
        what = data.draw(
            st.sampled_from(["ask", "tell", "tell", "cancel", "expire", "observe", "read", "again"])
        )
        if what == "ask":
            made = one.ask(data.draw(st.integers(1, 3)))
            assert all(write(one))
            known += made
        elif what == "tell" and known:
            decision = data.draw(st.sampled_from(known))
            reward = float(data.draw(st.booleans()))
            try:
                one.tell(decision, reward, repeat="ignore")
            except LostDecision:  # asked elsewhere, and not read here yet
                assert decision not in [made for made in known if made.number in one.pending_numbers()]
                one.refresh()
                one.tell(decision, reward, repeat="ignore")
            is_new = decision.number not in told
            assert write(one) in ([[True]] if is_new else [[], [False]])  # known to be closed here, or not
            told[decision.number] = True
        elif what == "cancel" and one.pending_numbers():
            number = data.draw(st.sampled_from(one.pending_numbers()))
            try:
                one.cancel(number)
            except InvalidInput:  # closed here, which is not read back yet
                assert number in told
            assert write(one) in ([], [number not in told])
            told[number] = True
        elif what == "expire":
            n = one.expire(1e-6, 0.0)
            assert len(write(one)) == n
            told |= dict.fromkeys(entry.number for entry in log_in(store) if entry.kind == Kind.EXPIRE)
        elif what == "observe":
            one.observe(data.draw(st.integers(0, 3)), 1.0)
            write(one)
        elif what == "read":
            one.refresh()
        elif what == "again":
            one.close()
            joined[at] = replica(store, "x", snapshot_every=7)
    expected = applied(first, log_in(store))
    entries = [(entry.kind, entry.number) for entry in log_in(store)]
    assert sorted(number for kind, number in entries if kind == Kind.ASK) == sorted(
        each.number for each in known
    )
    closed = [number for kind, number in entries if kind in CLOSING]
    assert sorted(closed) == sorted(told)
    for one in joined:
        one.refresh()
        assert state_of(one) == state_of(expected)


def log_in(store):
    return [entry for batch in store.read("x") for entry in batch]


def test_what_is_reserved_spreads_choices_and_is_not_in_a_snapshot(replicas):
    first, second = replicas
    assert [each.arm for each in first.ask(3)] == [0, 1, 2]
    assert lsdt.Agent.restore(first.snapshot()).n_pending == 0
    assert second.ask().arm == 0  # it does not know of them
    for each in replicas:
        write(each)
    for each in replicas:
        each.refresh()
        assert each.n_pending == each.n_asked == 4
    assert lsdt.Agent.restore(first.snapshot()).n_pending == 4


def test_the_last_two_arms_cannot_both_retire(replicas):
    first, second = replicas
    first.retire(0)
    write(first)
    for each in replicas:
        each.refresh()
    first.retire(1)
    second.retire(2)
    for each in replicas:
        write(each)
    for each in replicas:
        each.refresh()
        assert each.arms_in_play == [2]
        with pytest.raises(InvalidInput, match="the last arm in play"):
            each.retire(2)


def test_decisions_have_the_numbers_that_were_reserved(replicas):
    first, _ = replicas
    n_left = first.journal.n_numbers
    assert [each.number for each in first.ask(n_left)] == list(range(n_left))
    assert first.ask().number == 2 * n_left  # the block behind that of the other replica
    first.journal.add_numbers(5_000, 2)
    with first.group():  # nothing is written yet
        assert first.ask(n_left + 1)[-1].number == 5_001
    first.close()
    with pytest.raises(StoreFailed, match="is closed"):
        first.ask()


def test_replicas_begin_at_a_snapshot(replicas):
    first, second = replicas
    rng = np.random.default_rng(0)
    for _ in range(100):
        decisions = first.ask(2)
        write(first)
        second.refresh()
        for decision in decisions:
            second.tell(decision, float(rng.random() < 0.5))
        write(second)
        for each in replicas:
            each.refresh()
    first.snapshot()
    waiting = first.ask(5)
    write(first)
    second.refresh()
    second.tell(waiting[0], 1.0)
    write(second)
    third = replica(first.lease.store, "x")
    assert third.journal.cursor.position > 0
    first.refresh()
    second.refresh()
    assert state_of(first) == state_of(second) == state_of(third)
    assert json.loads(json.dumps(third.pending_numbers())) == [each.number for each in waiting[1:]]


# ---------------------------------------------------------------- replicas as agents


@pytest.fixture
def agents():
    """Two agents of one experiment, which write and read with every call."""
    store = open_store("memory://")
    side = lsdt.SideInformation(3, arm_ids=["tea", "coffee", "juice"])
    return [lsdt.Agent.open(store, "x", side, policy="ucb1", shared=True) for _ in range(2)]


def test_every_method_of_a_replica_means_what_it_means_for_an_agent(agents):
    first, second = agents
    made = first.ask(3)
    second.tell(made[0], 1.0)  # which it has not read yet
    assert (second.n_told, second.n_pending) == (1, 2)
    with pytest.raises(InvalidInput, match="decision 0 was told or cancelled before"):
        first.tell(made[0], 1.0)
    first.tell(made[0], 1.0, repeat="ignore")
    assert first.tell_many([(made[0], 0.0), (made[1], 1.0), (made[1], 0.0)]) == (1, 2)
    second.refresh()
    second.cancel(made[2].number)
    with pytest.raises(InvalidInput, match="decision 2 is not pending"):
        second.cancel(made[2])
    with pytest.raises(InvalidInput, match="decision 7777 was never asked for"):
        second.tell(7777, 1.0)
    first.refresh()
    first.ask(4)
    assert first.expire(older_than=1e-9, reward=0.0) == 4
    first.observe("juice", 1.0)
    second.refresh()
    assert (first.n_told, second.n_told, first.n_pending, second.n_pending) == (7, 7, 0, 0)
    assert first.extend(lsdt.SideInformation(4, arm_ids=["tea", "coffee", "juice", "mate"])).new_arms == [
        "mate"
    ]
    second.refresh()
    assert second.side.n_arms == 4
    with first.group():
        for decision in first.ask(2):
            first.tell(decision, 1.0)
    assert first.n_told == 9
    second.refresh()
    assert state_of(first) == state_of(second)
    for agent in agents:
        agent.close()
        assert agent.status.name == "closed"


def test_a_repeat_that_only_the_log_knows_of_is_refused(agents):
    first, second = agents
    decision = first.ask()
    second.refresh()
    second.tell(decision, 1.0)
    with pytest.raises(InvalidInput, match="told or cancelled before"):  # read back with what was written
        first.tell(decision, 0.0)
    assert (first.n_told, second.n_told) == (1, 1)
    other = second.ask()
    first.refresh()
    first.cancel(other)
    assert second.tell_many([(other, 1.0)]) == (0, 1)


def test_a_follower_reads_and_changes_nothing(agents):
    first, _ = agents
    follower = lsdt.Agent.follow(first.lease.store, "x")
    first.tell(first.ask(), 1.0)
    assert follower.n_told == 0
    follower.refresh()
    assert (follower.n_told, follower.best().plays, follower.status.name) == (1, 1, "following")
    for change in (follower.ask, lambda: follower.observe("tea", 1.0), lambda: follower.retire("tea")):
        with pytest.raises(StoreLocked, match="only follows a log"):
            change()
    assert lsdt.Agent.restore(follower.snapshot()).n_told == 1
    follower.close()
    assert follower.status.name == "closed"


def test_arms_keep_their_numbers_in_a_shared_log(agents):
    first, second = agents
    with pytest.raises(Unsupported, match="list the agent's arms first, in their order"):
        first.extend(lsdt.SideInformation(4, arm_ids=["mate", "tea", "coffee", "juice"]))
    made = first.extend(lsdt.SideInformation(2, arm_ids=["coffee", "tea"]))  # the others retire
    assert made.retired == ["juice"]
    second.refresh()
    assert second.arms_in_play == first.arms_in_play == ["tea", "coffee"]


def test_an_experiment_is_shared_or_not(agents, tmp_path):
    store = agents[0].lease.store
    with pytest.raises(StoreLocked):
        lsdt.Agent.open(store, "x")
    with pytest.raises(InvalidInput, match="SQLite has one writer"):
        lsdt.Agent.open(f"sqlite:///{tmp_path}/unused.db", "x", lsdt.SideInformation(2), shared=True)


def test_a_number_that_another_agent_has_just_asked_is_known(agents):
    first, second = agents
    second.ask()  # its numbers lie behind those reserved for the first
    one, two, three = (first.ask().number for _ in range(3))
    assert second.tell_many([(one, 1.0)]) == (1, 0)
    fourth = first.ask().number
    with second.group():
        second.tell(fourth, 0.0)
    second.tell(two, 1.0)
    second.cancel(three)
    first.refresh()
    assert (first.n_told, first.n_pending) == (3, 1)
    with pytest.raises(InvalidInput, match="decision 500 was never asked for"):  # reserved and not used
        second.tell(500, 1.0)
    with pytest.raises(InvalidInput, match="decision 500 is not pending"):
        second.cancel(500)


def test_a_decision_of_another_agent_can_be_told_in_a_group(agents):
    first, second = agents
    decision = first.ask()
    with second.group():
        second.tell(decision, 1.0)
    assert second.n_told == 1


def test_a_cancellation_that_came_too_late_is_refused(agents):
    first, second = agents
    decision = first.ask()
    second.refresh()
    first.tell(decision, 1.0)
    with pytest.raises(InvalidInput, match="decision 0 is not pending"):
        second.cancel(decision)
    assert second.n_told == 1


def test_what_changes_the_arms_counts_at_once_in_a_group(agents):
    first, second = agents
    other = lsdt.Agent(first.side, policy="ucb1")
    other.tell(other.ask(), 1.0)
    with first.group():
        first.retire("tea")
        first.retire("coffee")
        with pytest.raises(InvalidInput, match="last arm in play"):
            first.retire("juice")
        assert {each.arm_id for each in first.ask(5)} == {"juice"}
        first.reinstate("tea")
        assert first.merge(other) == 1
        with pytest.raises(InvalidInput, match="merged before"):
            first.merge(other)
        assert first.extend(lsdt.SideInformation(4, arm_ids=["tea", "coffee", "juice", "mate"])).new_arms
        first.ask(2, allowed=["mate"])
        assert lsdt.Agent.restore(first.snapshot()).n_pending == 7
    second.refresh()
    assert second.n_told == 1
    assert state_of(first) == state_of(second)


def test_what_another_agent_changed_before_is_known(agents):
    first, second = agents
    other = lsdt.Agent(first.side, policy="ucb1")
    other.tell(other.ask(), 1.0)
    first.retire("tea")
    first.merge(other)
    first.extend(lsdt.SideInformation(4, arm_ids=["tea", "coffee", "juice", "mate"]))
    with pytest.raises(InvalidInput, match="merged before"):
        second.merge(other)
    second.reinstate("tea")
    names = ["tea", "coffee", "juice", "mate", "cocoa"]
    assert second.extend(lsdt.SideInformation(5, arm_ids=names)).new_arms == ["cocoa"]
    first.refresh()
    assert first.arms_in_play == second.arms_in_play == names


def test_an_extension_that_another_agent_extends_further_before_it_is_read_was_made(agents):
    first, second = agents
    first.autocommit = False
    proposal = first.propose_extension(lsdt.SideInformation(4, arm_ids=["tea", "coffee", "juice", "mate"]))
    assert first.extension_outcome(proposal) is None
    write(first)
    second.extend(lsdt.SideInformation(5, arm_ids=["tea", "coffee", "juice", "mate", "cocoa"]))
    first.refresh()
    assert "mate" in first.extension_outcome(proposal).new_arms


def test_pending_decisions_stand_in_the_order_of_the_log(agents):
    first, second = agents
    first.autocommit = False
    first.ask()
    second.ask(3)
    first.refresh()
    write(first)
    for agent in agents:
        agent.refresh()
    assert first.pending_numbers() == second.pending_numbers() == [1000, 1001, 1002, 0]


def test_an_interruption_between_reading_and_applying_is_noticed(agents, monkeypatch):
    first, second = agents
    first.observe("tea", 1.0)
    read_new = second.journal.store.read_new

    def interrupted(*args):
        read_new(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(second.journal.store, "read_new", interrupted)
    with pytest.raises(KeyboardInterrupt):
        second.refresh()
    monkeypatch.undo()
    assert second.status.name == "failed"
    with pytest.raises(StoreFailed, match="interrupted"):
        second.refresh()
    second.close()
    with lsdt.Agent.open(first.lease.store, "x", shared=True) as again:
        assert again.n_told == 1
