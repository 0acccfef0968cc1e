"""`lsdt.Client`, curl and JavaScript against a service."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pandas as pd
import pytest

import lsdt
from lsdt.errors import InvalidInput, StoreFailed
from lsdt.service.client import _OPTIONS
from lsdt.service.openapi import description
from lsdt.service.server import in_background

DEPLOY = Path(__file__).parent.parent.parent / "docs" / "deploy"
SIDE = lsdt.SideInformation(
    3,
    similar=[("tea", "coffee")],
    dissimilar=[("tea", "juice")],
    arm_ids=["tea", "coffee", "juice"],
    epsilon=0.1,
)


@pytest.fixture(scope="module")
def url():
    with in_background() as url:
        yield url


def play(agent):
    """The code that moves from an agent to a service without a change."""
    for number in range(40):
        decision = agent.ask()
        agent.tell(decision, float(decision.arm_id == "coffee" and number % 3 > 0))
    first, second = agent.ask(2, allowed=["tea", "juice"])
    agent.cancel(first)
    agent.observe("juice", 1)
    agent.tell_many([(second, 0)])
    agent.retire("tea")
    return agent.best(1), agent.to_frame()


def test_code_moves_from_agent_to_service_by_one_line(url):
    mine = play(lsdt.Agent(SIDE, policy="ucb1", seed=3))
    with lsdt.Client.open(url, "moved", side=SIDE, policy="ucb1", seed=3) as client:
        theirs = play(client)
        assert theirs[0] == mine[0]
        pd.testing.assert_frame_equal(theirs[1], mine[1], check_dtype=False)
        restored = lsdt.Agent.restore(client.snapshot())
        assert restored.ask().arm_id == client.ask().arm_id
        assert client.why("tea")["status"] == "retired"
        assert client.why("tea")["reason"] == restored.why("tea").text
        assert client.why("tea")["reason"].startswith("arm 'tea' has retired")
        assert client.suspects()["arm_b"].tolist() == ["coffee"]
        assert client.events(limit=1)[0]["event"] == "ask"
        extended = lsdt.SideInformation(4, arm_ids=["tea", "coffee", "juice", "mate"])
        assert client.extend(extended).new_arms == ["mate"]
        client.pause()
        with pytest.raises(InvalidInput, match="is paused"):
            client.ask()
        client.pause(False)
    with lsdt.Client.open(url, "moved") as again:
        assert again.about()["told"] == 42
        assert again.cancel_before(again.ask()) == 1


def test_clients_learn_from_each_other(url):
    """By name, by client, and from an agent of this process; drift is what an agent says."""
    north = lsdt.Client.open(url, "north", side=SIDE, policy="ucb1")
    south, west = (lsdt.Client.open(url, name, side=SIDE, policy="ucb1") for name in ("south", "west"))
    here = lsdt.Agent(SIDE, policy="ucb1")
    for agent, arm in ((south, "tea"), (west, "coffee"), (here, "juice")):
        agent.observe(arm, 1)
    assert north.merge(["south", west, here]) == 3
    assert north.to_frame().plays.tolist() == [1, 1, 1]
    with pytest.raises(InvalidInput, match="was merged before"):
        north.merge(here.snapshot())
    with pytest.raises(InvalidInput, match="merge takes names of experiments, clients, agents.*got int"):
        north.merge(3)
    with pytest.raises(InvalidInput, match="merge takes at least one other"):
        north.merge([])
    assert list(north.drift().columns) == list(here.drift().columns)
    for number in range(120):
        here.observe("tea", float(number < 60))
    assert south.merge(here) == 121
    changed = lsdt.Client.open(url, "changed", side=SIDE, policy="ucb1")
    for number in range(60):
        changed.observe("tea", float(number < 30))
    assert changed.drift().arm.tolist() == ["tea"]
    lost = changed.ask(allowed=["coffee"])
    for _ in range(100):
        changed.observe("coffee", 1)
    (blocked,) = changed.drift().attrs["blocked"]
    assert (blocked.arm, blocked.decision, blocked.plays) == ("coffee", lost.number, 100)
    for client in (north, south, west, changed):
        client.close()


def test_errors_are_those_of_python(url):
    agent = lsdt.Agent(SIDE, policy="ucb1")
    with lsdt.Client.open(url, "errors", side=SIDE, policy="ucb1") as client:
        for wrong in (
            lambda agent: agent.ask(0),
            lambda agent: agent.ask(allowed=["cola"]),
            lambda agent: agent.observe("tea", 2.0),
            lambda agent: agent.retire("cola"),
            lambda agent: agent.best(-1) if isinstance(agent, lsdt.Agent) else agent.retire("cola"),
        ):
            with pytest.raises(InvalidInput) as here:
                wrong(agent)
            with pytest.raises(InvalidInput) as there:
                wrong(client)
            assert str(there.value) == str(here.value) or "n_runners_up" in str(here.value)
        with pytest.raises(InvalidInput, match="a decision is what ask"):
            client.tell(7, 1)
        with pytest.raises(InvalidInput, match="cannot be sent"):
            client.tell("x", float("nan"))
    with lsdt.Client(url) as client, pytest.raises(InvalidInput, match="say which experiment"):
        client.ask()
    with pytest.raises(InvalidInput, match="there is no experiment 'none'.*give side="):
        lsdt.Client.open(url, "none")
    with pytest.raises(InvalidInput, match="url must be the address"):
        lsdt.Client("sqlite:///lsdt.db")


def test_a_request_is_repeated_and_happens_once(url, monkeypatch):
    """The answer to the first try is lost on the way."""
    with lsdt.Client.open(url, "lost", side=SIDE, policy="ucb1") as client:
        plain, lost = client._http.request, []

        def once(**request):
            answer = plain(**request)
            if not lost:
                lost.append(answer)
                raise httpx.ReadError("gone")
            return answer

        monkeypatch.setattr(client._http, "request", once)
        decision = client.ask()
        assert decision.id == lost[0].json()["decisions"][0]["id"]
        assert client.about()["decisions"] == 1
        lost.clear()
        client.tell(decision, 1)
        lost.clear()
        client.observe("tea", 1)
        assert client.about()["told"] == 2


def test_a_service_that_is_not_there(monkeypatch):
    monkeypatch.setattr("lsdt.service.client._FIRST_WAIT", 0.0)
    with (
        lsdt.Client("http://127.0.0.1:9", name="drinks") as client,
        pytest.raises(StoreFailed, match="the service at http://127.0.0.1:9 cannot be reached"),
    ):
        client.ask()


def _methods(kind):
    """Return the public methods of a class, with what they take and give."""
    found = {}
    for name, method in inspect.getmembers(kind, inspect.isroutine):
        if not name.startswith("_"):
            signature = inspect.signature(method)
            gives = signature.return_annotation
            if name == "open":
                gives = gives.replace("AsyncClient", "Client")
            found[name] = (
                [(each.name, each.kind, each.default) for each in signature.parameters.values()],
                gives,
            )
    return found


def test_both_clients_have_the_same_methods_and_all_calls_of_the_service():
    plain, waiting = _methods(lsdt.Client), _methods(lsdt.AsyncClient)
    assert plain == waiting
    others = {
        "listExperiments": "experiments", "createExperiment": "open", "getExperiment": "about",
        "deleteExperiment": "delete", "listArms": "to_frame", "listEvents": "events", "listKeys": "keys",
        "addKey": "add_key", "removeKey": "remove_key",
    }  # fmt: skip
    no_method = {"stream", "healthz", "readyz", "metrics"}  # connections that stay open, and for machines
    calls = {call["operationId"] for path in description()["paths"].values() for call in path.values()}
    assert {others.get(call, call) for call in calls - no_method} | {
        "cancel_many", "cancel_before", "close", "tell_many"
    } == set(plain)  # fmt: skip
    made = description()["paths"]["/v1/experiments"]["post"]["parameters"]
    assert set(_OPTIONS) == {each["name"] for each in made} - {"name", "log"}
    for path, methods in description()["paths"].items():
        for call in methods.values():
            name = others.get(call["operationId"], call["operationId"])
            query = {each["name"] for each in call.get("parameters", ()) if each["in"] == "query"}
            if name in ("best", "stopping", "suspects", "drift"):
                assert query == {word for word, *_ in plain[name][0]} - {"self"}, path


def test_an_experiment_is_opened_with_every_option(url):
    """The line of the guide: an expiry is said as it is over HTTP."""
    expiry = {"after": 3600, "reward": 0}
    options = {"prior": (["tea"], [1]), "prior_weight": 0.5, "forget": "3 days", "horizon": None}
    with lsdt.Client.open(url, "late", side=SIDE, policy="ts", expiry=expiry, **options) as client:
        assert client.about()["expiry"] == {"after": 3600.0, "reward": 0.0}
        client.delete()
    for wrong, said in (
        ({"expiry": {"after": 1e19}}, "expiry.after, in seconds, must be a number above 0 and at most 3"),
        ({"expiry_after": 60}, "got 'expiry_after'"),
        ({"policy": lsdt.Policy("ucb1")}, "as text, such as 'ts@propagation'"),
        ({"rewards": lsdt.rewards.gaussian(2.0)}, "{'name': 'gaussian', 'parameters'"),
    ):
        with pytest.raises(InvalidInput, match=re.escape(said)):
            lsdt.Client.open(url, "late", side=SIDE, **wrong)


def test_asynchronous(url):
    async def run():
        async with await lsdt.AsyncClient.open(url, "async", side=SIDE, policy="ucb1") as agent:
            decisions = await asyncio.gather(*(agent.ask() for _ in range(20)))
            assert sorted(each.number for each in decisions) == list(range(20))
            await asyncio.gather(*(agent.tell(each, 1) for each in decisions))
            await agent.observe("tea", 0)
            await agent.cancel(await agent.ask())
            other = lsdt.Agent(SIDE, policy="ucb1")
            other.observe("tea", 0)
            async with await lsdt.AsyncClient.open(url, "async2", side=SIDE, policy="ucb1") as second:
                assert await second.merge([other, agent]) == 22
                assert len(await second.drift()) == 0
            best, frame = await agent.best(), await agent.to_frame()
            assert frame["plays"].sum() == 21
            assert best.plays <= 21
            with pytest.raises(InvalidInput, match="'cola'"):
                await agent.retire("cola")
            assert await agent.cancel_many(await agent.ask(3)) == 3
            assert (await agent.about())["pending"] == 0
            assert "async" in [each["name"] for each in await agent.experiments()]
            await agent.delete()

    asyncio.run(run())


def test_asynchronous_keys():
    """On a service that no other test needs: it stays closed without its last key."""

    async def run(url):
        async with lsdt.AsyncClient(url) as anybody:
            made = await anybody.add_key("admin")
        async with lsdt.AsyncClient(url, made["key"]) as admin:
            assert [each["id"] for each in await admin.keys()] == [made["id"]]
            await admin.remove_key(made["id"])

    with in_background() as url:
        asyncio.run(run(url))


def run(words, url):
    done = subprocess.run(
        words, env=os.environ | {"LSDT": url}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_example_for_curl(url):
    lines = run(["sh", DEPLOY / "curl.sh"], url).splitlines()
    assert lines[2] == '{"learned":1,"repeated":0}'


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_the_example_in_javascript(url):
    assert run(["node", DEPLOY / "client.mjs"], url) == "riddle\n"
