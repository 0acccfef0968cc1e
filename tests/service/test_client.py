"""`lsdt.Client`, curl and JavaScript against a service."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.errors import InvalidInput, Paused, StoreFailed
from lsdt.service.client import calls
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
        assert [each["event"] for each in client.events(limit=2)] == ["create", "ask"]
        extended = lsdt.SideInformation(4, arm_ids=["tea", "coffee", "juice", "mate"])
        assert client.extend(extended).new_arms == ["mate"]
        client.pause(reason="wrong prices")
        with pytest.raises(Paused, match=r"is paused since .* without a key: wrong prices"):
            client.ask()
        client.stop("mate")
        assert client.ask().arm_id == client.about()["halt"]["arm"] == "mate"
        client.resume()
        assert client.about()["status"] == "open"
        client.set_tolerance(0.3)
        assert client.stopping().tolerance == client.about()["tolerance"] == 0.3
    with lsdt.Client.open(url, "moved") as again:
        assert again.about()["told"] == 42
        assert again.cancel_before(again.ask()) == 2


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
    monkeypatch.setattr("lsdt.service.client.clients._FIRST_WAIT", 0.0)
    with (
        lsdt.Client("http://127.0.0.1:9", name="drinks") as client,
        pytest.raises(StoreFailed, match="the service at http://127.0.0.1:9 cannot be reached"),
    ):
        client.ask()


TABLE = {(call.method, call.path): call for call in vars(calls).values() if isinstance(call, calls.Call)}
NO_METHOD = {"stream", "healthz", "readyz", "metrics"}  # a connection that stays open, and calls for machines
# What the service takes and a client does not send: it has another form of the same, or no need.
NOT_SENT = {
    "createExperiment": {"log"},
    "listArms": {"search", "order", "offset", "limit"},
    "listEvents": {"format"},
    "observe": {"rewards"},
    "tell": {"decision", "reward"},
}


def operations():
    """Return the calls that the OpenAPI document describes, by method and path."""
    found = {
        (method.upper(), path): call
        for path, methods in description()["paths"].items()
        for method, call in methods.items()
    }
    return {key: call for key, call in found.items() if call["operationId"] not in NO_METHOD}


def test_the_table_of_calls_has_all_calls_of_the_service():
    assert TABLE.keys() == operations().keys()


@pytest.mark.parametrize(("method", "path"), TABLE, ids=" ".join)
def test_a_call_is_what_the_openapi_document_says(method, path):
    call, described = TABLE[method, path], operations()[method, path]
    not_sent = NOT_SENT.get(described["operationId"], set())
    places = {each: set() for each in ("path", "query", "header")}
    for each in described.get("parameters", ()):
        places[each["in"]].add(each["name"])
    assert set(re.findall(r"{(\w+)}", path)) == places["path"]
    assert set(call.query) == places["query"] - not_sent
    assert (call.repeat == "keyed") == ("Idempotency-Key" in places["header"])
    content = described.get("requestBody", {}).get("content", {})
    if call.body or not call.file:
        schema = content.get("application/json", {"schema": {"$ref": "/None"}})["schema"]["$ref"]
        schemas = description()["components"]["schemas"] | {"None": {"properties": {}}}
        assert set(call.body) == set(schemas[schema.rpartition("/")[2]]["properties"]) - not_sent
    if call.file:
        assert call.file in content
    if call.accept:
        assert call.accept in next(iter(described["responses"].values()))["content"]


def test_both_clients_have_the_same_methods():
    def methods(kind):
        found = inspect.getmembers(kind, inspect.isroutine)
        return {name: inspect.signature(method) for name, method in found if not name.startswith("_")}

    def docs(kind):
        return {name: inspect.getdoc(getattr(kind, name)) for name in methods(kind) if name != "open"}

    assert methods(lsdt.Client) == methods(lsdt.AsyncClient)
    assert docs(lsdt.Client) == docs(lsdt.AsyncClient)
    for name in methods(lsdt.Client):
        assert not inspect.iscoroutinefunction(getattr(lsdt.Client, name)), name
        assert inspect.iscoroutinefunction(getattr(lsdt.AsyncClient, name)), name


ONE = "/v1/experiments/a%2Fb%20c"
ASKED = {"n": None, "allowed": None, "propensity": False, "distinct": False, "unit": None}
SENT = [
    ("ask", {}, "POST", f"{ONE}/ask", ASKED),
    ("ask", {"unit": "u"}, "POST", f"{ONE}/ask", ASKED | {"unit": "u"}),
    ("erase_unit", {"unit": "u"}, "POST", f"{ONE}/erase-unit", {"unit": "u"}),
    ("ask", {"n": np.int64(2), "allowed": np.array([True, False])}, "POST", f"{ONE}/ask",
     ASKED | {"n": 2, "allowed": [True, False]}),
    ("tell", {"decision": "D", "reward": np.float32(0.5)}, "POST", f"{ONE}/tell",
     {"rewards": [{"decision": "D", "reward": 0.5}], "repeat": "ignore"}),
    ("tell_many", {"rewards": [("D", 1), ("E", 0)]}, "POST", f"{ONE}/tell",
     {"rewards": [{"decision": "D", "reward": 1}, {"decision": "E", "reward": 0}], "repeat": "ignore"}),
    ("tell", {"decision": "D", "reward": 1, "repeat": "replace"}, "POST", f"{ONE}/tell",
     {"rewards": [{"decision": "D", "reward": 1}], "repeat": "replace"}),
    ("observe", {"arm": np.int64(7), "reward": 1}, "POST", f"{ONE}/observe", {"arm": 7, "reward": 1}),
    ("cancel", {"decision": "D"}, "POST", f"{ONE}/cancel", {"decision": "D"}),
    ("cancel_many", {"decisions": ("D", "E")}, "POST", f"{ONE}/cancel", {"decisions": ["D", "E"]}),
    ("cancel_before", {"decision": "D"}, "POST", f"{ONE}/cancel", {"before": "D"}),
    ("extend", {"side": SIDE}, "POST", f"{ONE}/extend", b"PAR1"),
    ("retire", {"arm": "tea", "reason": "x"}, "POST", f"{ONE}/retire", {"arm": "tea", "reason": "x"}),
    ("reinstate", {"arm": "tea"}, "POST", f"{ONE}/reinstate", {"arm": "tea", "reason": ""}),
    ("stop", {"arm": "tea"}, "POST", f"{ONE}/stop", {"arm": "tea", "reason": ""}),
    ("resume", {}, "POST", f"{ONE}/resume", {"reason": ""}),
    ("set_tolerance", {"tolerance": np.float64(0.1)}, "POST", f"{ONE}/tolerance",
     {"tolerance": 0.1, "reason": ""}),
    ("merge", {"others": ["south", "west"]}, "POST", f"{ONE}/merge", {"experiments": ["south", "west"]}),
    ("merge", {"others": bytearray(b"blob")}, "POST", f"{ONE}/merge", b"blob"),
    ("pause", {"reason": "x"}, "POST", f"{ONE}/pause", {"reason": "x"}),
    ("snapshot", {}, "POST", f"{ONE}/snapshot", None),
    ("to_frame", {}, "GET", f"{ONE}/arms", None),
    ("best", {"n_runners_up": 2}, "GET", f"{ONE}/best?n_runners_up=2", None),
    ("why", {"arm": "a/b?"}, "GET", f"{ONE}/why/a%2Fb%3F", None),
    ("best", {"n_runners_up": 2, "top": 3}, "GET", f"{ONE}/best?top=3", None),
    ("stopping", {}, "GET", f"{ONE}/stopping?delta=0.05&top=1", None),
    ("stopping", {"tolerance": np.float64(0.1), "top": "all"}, "GET",
     f"{ONE}/stopping?delta=0.05&tolerance=0.1&top=all", None),
    ("lift", {"control": 7}, "GET", f"{ONE}/lift?control=7&risk=0.05", None),
    ("suspects", {"risk": 0.1}, "GET", f"{ONE}/suspects?risk=0.1", None),
    ("drift", {}, "GET", f"{ONE}/drift?risk=0.05", None),
    ("events", {"after": 3, "limit": 2}, "GET", f"{ONE}/events?after=3&limit=2", None),
    ("about", {}, "GET", ONE, None),
    ("delete", {}, "DELETE", ONE, None),
    ("experiments", {}, "GET", "/v1/experiments", None),
    ("keys", {}, "GET", "/v1/keys", None),
    ("add_key", {"role": "admin"}, "POST", "/v1/keys", {"role": "admin", "experiment": None, "rate": None,
     "name": ""}),
    ("webhooks", {}, "GET", "/v1/webhooks", None),
    ("add_webhook", {"url": "https://x", "events": ("test",)}, "POST", "/v1/webhooks",
     {"url": "https://x", "experiment": None, "events": ["test"]}),
    ("remove_webhook", {"number": "w"}, "DELETE", "/v1/webhooks/w", None),
    ("test_webhook", {"number": "w"}, "POST", "/v1/webhooks/w/test", None),
    ("remove_key", {"number": "k/1"}, "DELETE", "/v1/keys/k%2F1", None),
]  # fmt: skip


class Sent(Exception):
    """What a client sends, raised in place of an answer."""


def answered_by(answer, kind, name):
    """Return a client whose requests are answered by a function, and what runs its methods."""
    http = {lsdt.Client: httpx.Client, lsdt.AsyncClient: httpx.AsyncClient}[kind]
    client = kind("http://x", "KEY", name)
    headers = client._http.headers
    client._http = http(transport=httpx.MockTransport(answer), base_url="http://x", headers=headers)
    if kind is lsdt.Client:
        return lambda method, **options: getattr(client, method)(**options)

    async def run(method, options):
        return await getattr(client, method)(**options)

    return lambda method, **options: asyncio.run(run(method, options))


def raise_sent(request):
    raise Sent(request)


@pytest.mark.parametrize("kind", [lsdt.Client, lsdt.AsyncClient])
def test_what_is_sent(kind):
    used, keys = set(), set()
    call = answered_by(raise_sent, kind, "a/b c")
    for name, options, method, url, body in SENT:
        with pytest.raises(Sent) as sent:
            call(name, **options)
        (request,) = sent.value.args
        assert (request.method, str(request.url)) == (method, f"http://x{url}"), name
        assert request.headers["authorization"] == "Bearer KEY"
        path = url.partition("?")[0].replace(ONE, "/v1/experiments/{name}")
        row = re.sub("/why/.*", "/why/{arm}", re.sub("/(keys|webhooks)/[^/]*", r"/\1/{number}", path))
        used.add((method, row))
        if TABLE[method, row].repeat == "keyed":
            keys.add(request.headers["idempotency-key"])
        if isinstance(body, dict):
            assert json.loads(request.content) == body, name
            assert request.headers["content-type"] == "application/json"
        else:
            assert request.content.startswith(body or b"")
            assert bool(request.content) == (body is not None)
            assert request.headers.get("content-type", "") == (TABLE[method, row].file if body else "")
    assert len(keys) == 4
    assert TABLE.keys() - used == {("POST", "/v1/experiments")}  # that is `open`


@pytest.mark.parametrize("kind", [lsdt.Client, lsdt.AsyncClient])
def test_what_is_sent_again(kind, monkeypatch):
    """What may happen twice, or has a key, when the answer is lost; all the rest if it did not arrive."""
    monkeypatch.setattr("lsdt.service.client.clients._FIRST_WAIT", 0.0)

    def failing(times, failure):
        def answer(request):
            asked.append(request)
            if len(asked) > times:
                return httpx.Response(200, json={"learned": 1, "repeated": 0, "cancelled": 1})
            if isinstance(failure, int):
                return httpx.Response(failure, json={"title": "Busy", "detail": "come again"})
            raise failure("gone")

        asked = []
        return asked, answered_by(answer, kind, "drinks")

    for failure in (httpx.ConnectError, httpx.ConnectTimeout, 429, 503):
        for name, options in (("tell_many", {"rewards": []}), ("cancel", {"decision": "D"})):
            asked, call = failing(5, failure)
            call(name, **options)
            assert len(asked) == 6
            asked, call = failing(6, failure)
            with pytest.raises(StoreFailed, match="gone|come again"):
                call(name, **options)
            assert len(asked) == 6
    for name, options, again in (
        ("tell_many", {"rewards": []}, True),
        ("observe", {"arm": "tea", "reward": 1}, True),
        ("cancel", {"decision": "D"}, False),
        ("delete", {}, False),
        ("add_key", {"role": "read"}, False),
    ):
        asked, call = failing(1, httpx.ReadError)
        if again:
            call(name, **options)
            assert asked[0].headers == asked[1].headers  # the same idempotency key
        else:
            with pytest.raises(StoreFailed, match="the service at http://x cannot be reached: gone"):
                call(name, **options)
        assert len(asked) == 1 + again
    for status, error in ((500, StoreFailed), (422, InvalidInput)):
        asked, call = failing(1, status)
        with pytest.raises(error, match="come again"):
            call("tell_many", rewards=[])


def test_a_service_that_asks_for_time_gets_it(monkeypatch):
    waits = []
    monkeypatch.setattr(lsdt.Client, "_sleep", staticmethod(waits.append))
    headers = {"retry-after": "3"}
    call = answered_by(lambda request: httpx.Response(503, headers=headers), lsdt.Client, "drinks")
    with pytest.raises(StoreFailed, match="the service answered 503"):
        call("about")
    assert len(waits) == 5
    assert all(1.5 <= seconds <= 3 for seconds in waits)


def test_a_plain_client_in_a_running_event_loop(url):
    async def run():
        with lsdt.Client.open(url, "loop", side=SIDE, policy="ucb1") as client:
            waiting = lsdt.AsyncClient(url, name="loop")
            client.tell(client.ask(), 1)
            with pytest.raises(InvalidInput, match="a Client cannot await an AsyncClient"):
                client.merge([waiting])
            await waiting.close()
            return client.about()["told"]

    assert asyncio.run(run()) == 1


def test_an_experiment_is_opened_with_every_option(url):
    """The line of the guide: an expiry is said as it is over HTTP."""
    expiry = {"after": 3600, "reward": 0}
    options = {"prior": (["tea"], [1]), "prior_weight": 0.5, "forget": "3 days", "horizon": None}
    options |= {"floor": {"tea": 0.1}, "holdout": {"juice": 0.1}}
    with lsdt.Client.open(url, "late", side=SIDE, policy="ts", expiry=expiry, **options) as client:
        assert client.about()["expiry"] == {"after": 3600.0, "reward": 0.0}
        lsdt.Client.open(url, "late", expiry=expiry).close()
        lsdt.Client.open(url, "late", seed=4).close()
        for other in ({"after": 60, "reward": 0}, {"after": 3600}, None, 3600):
            with pytest.raises(InvalidInput, match="'late' was made with another expiry: {'after': 3600.0"):
                lsdt.Client.open(url, "late", side=SIDE, expiry=other)
        with pytest.raises(InvalidInput, match="got 'expire'"):
            lsdt.Client.open(url, "late", expire=expiry)
        client.delete()
    for wrong, said in (
        ({"expiry": {"after": 1e19}}, "expiry.after, in seconds, must be a number above 0 and at most 3"),
        ({"expiry": {"after": {60}}}, "this cannot be sent: Object of type set"),
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
            both, verdict = await agent.best(top=3), await agent.stopping(tolerance=0.1, top=3)
            assert both.arms[0].arm_id == best.arm_id
            assert sorted(both.arm_ids) == sorted(verdict.arm_ids) == sorted(SIDE.arm_ids)
            assert (verdict.stop, verdict.top, verdict.arm_id) == (True, 3, verdict.arm_ids[0])
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
