"""A service that only looks, beside one that writes to the same store."""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest

import lsdt
from lsdt.cli.main import main
from lsdt.errors import InvalidFile, InvalidInput, StoreFailed
from lsdt.service.hosting import Service
from lsdt.service.openapi import description
from lsdt.service.server import in_background
from lsdt.service.settings import Settings
from lsdt.storage import open_store

ARMS = ["tea", "coffee", "juice"]
SIDE = lsdt.SideInformation(3, [(0, 1)], [(1, 2)], arm_ids=ARMS, epsilon=0.1)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Clients of a service that writes, and of one that reads."""
    store = f"sqlite:///{tmp_path_factory.mktemp('service')}/lsdt.db"
    with (
        in_background(store) as writer,
        in_background(store, read_only=True) as reader,
        httpx.Client(base_url=writer) as writes,
        httpx.Client(base_url=reader) as reads,
    ):
        yield writes, reads


def _until(look, wanted):
    limit = time.monotonic() + 60
    while (seen := look()) != wanted:
        assert time.monotonic() < limit, (seen, wanted)
        time.sleep(0.05)


def test_it_follows_what_the_other_one_writes(both):
    writes, reads = both
    plain = "/v1/experiments/plain"
    assert writes.post("/v1/experiments", json={"name": "plain", "arms": ARMS, "policy": "ucb1"}).is_success
    asked = writes.post(f"{plain}/ask", json={"n": 20}).json()["decisions"]
    rewards = [{"decision": each["id"], "reward": int(each["arm"] == "juice")} for each in asked[:15]]
    assert writes.post(f"{plain}/tell", json={"rewards": rewards}).is_success
    assert writes.post(f"{plain}/pause", json={}).is_success
    _until(lambda: _of(reads, plain), writes.get(plain).json())
    for part in ("arms", "best", "events", "why/tea", "suspects"):
        assert reads.get(f"{plain}/{part}").text == writes.get(f"{plain}/{part}").text
    page = reads.get("/experiments/plain").text
    assert "read-only" in page
    assert "Read up to event" in page
    assert "<td>juice</td>" in page  # of the log
    assert "Begin one" not in reads.get("/").text
    for path in ("/health", "/experiments/plain/arms", "/experiments/plain/log", "/readyz", "/metrics"):
        assert reads.get(path).status_code == 200, path
    assert writes.post(f"{plain}/extend", json={"arms": ["milk"]}).is_success
    _until(lambda: _of(reads, plain).get("arms"), 4)
    assert writes.delete(plain).is_success
    _until(lambda: reads.get(plain).status_code, 404)
    assert writes.post("/v1/experiments", json={"name": "plain", "n_arms": 2, "policy": "ucb1"}).is_success
    writes.post(f"{plain}/ask")
    _until(lambda: _of(reads, plain), writes.get(plain).json())


def _of(http, path):
    return http.get(path).json()


def test_whatever_changes_something_is_refused(both):
    _, reads = both
    tried = 0
    for path, methods in description()["paths"].items():
        for method in set(methods) - {"get"}:
            answer = reads.request(method.upper(), path.format(name="plain", arm="tea", number="1"), json={})
            assert answer.status_code == 403, (method, path)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["detail"].startswith("this service is read-only")
            tried += 1
    assert tried > 10
    assert reads.post("/login?next=/", data={"key": "x"}).status_code == 401  # a key may be entered


@pytest.mark.parametrize("policy", ["ucb1", "lsdt_psi"])
def test_what_it_shows_is_what_the_agent_that_writes_has_learned(tmp_path, policy):
    store = f"sqlite:///{tmp_path}/lsdt.db"
    with lsdt.Agent.open(store, "drinks", SIDE, policy=policy, horizon=100) as agent:
        service = Service(Settings(store, read_only=True))
        try:
            for number in range(40):
                agent.tell(agent.ask(), float(number % 3 == 0))
                if number == 20:
                    asyncio.run(service.following.look())
                    late = Service(Settings(store, read_only=True))
                    assert late.hosted["drinks"].activity.rate().n == 21  # of the past too
                    asyncio.run(late.close())
            asyncio.run(service.following.look())
            shown = service.hosted["drinks"].agent
            assert (shown.n_asked, shown.n_told) == (40, 40)
            assert shown.to_frame().equals(agent.to_frame())
            assert service.hosted["drinks"].activity.rate().n == 40
        finally:
            asyncio.run(service.close())
        agent.tell(agent.ask(), 1)  # the writer was never held up


def test_a_log_that_was_compacted_meanwhile_is_read_from_its_snapshot(tmp_path):
    store = f"sqlite:///{tmp_path}/lsdt.db"
    with lsdt.Agent.open(store, "drinks", SIDE, policy="ucb1") as agent:
        service = Service(Settings(store, read_only=True))
        try:
            for _ in range(3):
                agent.tell(agent.ask(), 1)
                agent.snapshot()
            with open_store(store) as opened:
                assert opened.compact("drinks") > 0
            asyncio.run(service.following.look())
            assert service.hosted["drinks"].agent.n_told == 3
        finally:
            asyncio.run(service.close())


def test_a_store_that_was_lost_is_opened_again(tmp_path, monkeypatch):
    store = f"sqlite:///{tmp_path}/lsdt.db"
    with lsdt.Agent.open(store, "drinks", SIDE, policy="ucb1") as agent:
        service = Service(Settings(store, read_only=True))
        try:
            following = service.following

            def lost(*_):
                raise StoreFailed("the disk is gone")

            monkeypatch.setattr(service.store, "read_new", lost)
            agent.tell(agent.ask(), 1)
            following._looked = 0.0
            asyncio.run(following.tick())
            assert following.failure == "the disk is gone"
            following._looked = 0.0
            asyncio.run(following.tick())
            assert (following.failure, service.hosted["drinks"].agent.n_told) == ("", 1)
        finally:
            asyncio.run(service.close())


def test_there_must_be_a_store(tmp_path, capsys):
    with pytest.raises(InvalidFile, match="there is no store"):
        Service(Settings(f"sqlite:///{tmp_path}/none.db", read_only=True))
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidInput, match="nobody else can write to 'memory://'"):
        Settings("memory://", read_only=True)
    assert main(["serve", "--read-only", "--store", f"sqlite:///{tmp_path}/none.db", "--port", "0"]) == 3
    assert "there is no store" in capsys.readouterr().err


def test_it_follows_replicas_on_postgresql(postgresql_url):
    with in_background(postgresql_url) as writer, httpx.Client(base_url=writer) as writes:
        plain = "/v1/experiments/plain"
        writes.post("/v1/experiments", json={"name": "plain", "arms": ARMS, "policy": "ucb1"})
        service = Service(Settings(postgresql_url, read_only=True))
        try:
            (decision,) = writes.post(f"{plain}/ask").json()["decisions"]
            assert writes.post(f"{plain}/tell", json={"decision": decision["id"], "reward": 1}).is_success
            _until(lambda: _looked(service).n_told, 1)
            assert service.hosted["plain"].about().told == 1
            assert service.replication is None
        finally:
            asyncio.run(service.close())


def _looked(service):
    asyncio.run(service.following.look())
    return service.hosted["plain"].agent
