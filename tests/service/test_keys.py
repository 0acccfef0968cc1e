"""Who is let in."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

import lsdt
from lsdt.cli.main import main
from lsdt.errors import InvalidInput
from lsdt.service.app import create_app
from lsdt.service.decision_ids import DecisionIds, parts
from lsdt.service.hosting import Service
from lsdt.service.keys import KeyRing, add_key, open_again, remove_key
from lsdt.service.settings import Settings
from lsdt.storage import open_store

ASK = "POST", "/v1/experiments/drinks/ask"
ARMS = "GET", "/v1/experiments/drinks/arms"
KEYS = "GET", "/v1/keys"
CREATE = "POST", "/v1/experiments"


@pytest.fixture
def service(tmp_path):
    made = Service(
        Settings(f"sqlite:///{tmp_path}/lsdt.db", origins=["https://shop.example"], decision_limit=100)
    )
    made.make("drinks", lsdt.SideInformation(2), {"policy": "ucb1"}, None)
    made.make("food", lsdt.SideInformation(2), {"policy": "ucb1"}, None)
    yield made
    made._close_store()


def call(service, method, path, key=None, client="127.0.0.1", http_version="1.1", **more):
    app = create_app(service)

    async def spoken(scope, receive, send):
        await app({**scope, "http_version": http_version}, receive, send)

    async def run():
        transport = httpx.ASGITransport(spoken, client=(client, 1))
        base = more.pop("base", "http://localhost:8900")
        async with httpx.AsyncClient(transport=transport, base_url=base) as http:
            headers = more.pop("headers", {})
            if key is not None:
                headers = {"authorization": f"Bearer {key}", **headers}
            return await http.request(method, path, headers=headers, **more)

    return asyncio.run(run())


@pytest.mark.parametrize(
    "how",
    [
        {"client": "10.0.0.7"},
        {"base": "http://evil.example"},  # a name that was made to point here
        {"base": "http://localhost.evil.example:8900"},
        {"headers": {"host": "[::1]evil"}},
        {"headers": {"host": "localhost:8900, evil.example"}},
        {"headers": {"host": "[localhost]"}},
        {"headers": {"host": ""}},
        {"headers": {"origin": "https://evil.example"}},
        {"headers": {"origin": "null"}},
        {"headers": {"origin": "http://[x]"}},  # Python's own reader of addresses ends in a ValueError
        {"http_version": "1.0"},  # as nginx forwards by default, with a Host of 127.0.0.1 and no header more
    ],
)
@pytest.mark.parametrize("what", [ASK, ARMS])
def test_without_keys_only_this_machine_is_served(service, what, how):
    assert call(service, *what).status_code == 200
    assert call(service, *what, client="::1", base="http://[::1]:8900").status_code == 200
    refused = call(service, *what, **how)
    assert refused.status_code == 403
    assert refused.headers["content-type"] == "application/problem+json"


PROXIES = [
    "Forwarded",
    "Via",
    "CDN-Loop",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-Anything",
    "X-Forwarded",
    "X-Real-IP",
    "X-Client-IP",
    "Client-IP",
    "True-Client-IP",
    "Fastly-Client-IP",
    "X-Cluster-Client-IP",
    "X-Original-Forwarded-For",
    "X-Original-Host",
    "X-Scheme",
    "X-ProxyUser-Ip",
    "Proxy-Connection",
    "WL-Proxy-Client-IP",
    "CF-Ray",
    "CF-Connecting-IP",
    "X-Envoy-External-Address",
    "X-Azure-ClientIP",
    "X-Amzn-Trace-Id",
    "X-Appengine-User-Ip",
    "Fly-Client-IP",
    "X-Vercel-Id",
]


def test_without_keys_any_sign_of_a_proxy_is_refused_and_named(service):
    for name in PROXIES:
        refused = call(service, *ASK, headers={name: "127.0.0.1"})
        assert (refused.status_code, repr(name.lower()) in refused.text) == (403, True), name
    key, _ = add_key(service.store, "decide")
    service.keys.reload()
    for name in PROXIES:
        assert call(service, *ASK, key=key, headers={name: "127.0.0.1"}).status_code == 200, name
    assert call(service, *ASK, key=key, http_version="1.0").status_code == 200


@pytest.mark.parametrize("with_key", [False, True])
def test_headers_that_say_who_calls_come_once(service, with_key):
    key = None
    if with_key:
        key, _ = add_key(service.store, "decide")
        service.keys.reload()
    for name in ("Host", "Origin", "Authorization", "Content-Type", "Idempotency-Key"):
        headers = httpx.Headers([(name, "a"), (name, "b")])
        if name != "Host":
            headers["Host"] = "localhost:8900"
        if key and name != "Authorization":
            headers["Authorization"] = f"Bearer {key}"
        refused = call(service, *ASK, headers=headers)
        assert (refused.status_code, refused.json()["title"]) == (400, "BadRequest")
        assert f"{name.lower()!r} came more than once" in refused.json()["detail"]


def test_origins_are_not_repeated_to_the_caller_and_cause_no_error(service, caplog):
    odd = [
        "http://[x]",
        "http://[",
        "null",
        "http://a]b",
        "\x7f",
        "http://localhost:8900@evil",
        "//",
        "x" * 9000,
    ]
    for origin in odd:
        for what in (ASK, ARMS, ("POST", "/login")):
            refused = call(service, *what, headers={"origin": origin})
            assert refused.status_code == 403, origin
            assert origin not in refused.text or len(origin) < 5
    assert call(service, *ASK, headers={"origin": "http://localhost:8900"}).status_code == 200
    assert caplog.records == []


def test_metrics_and_health_are_those_of_the_key(service, caplog):
    service.broken["secret"] = "its log is damaged"
    full, scoped = add_key(service.store, "read")[0], add_key(service.store, "admin", "food")[0]
    service.keys.reload()
    assert 'experiment="drinks"' in call(service, "GET", "/metrics", key=full).text
    seen = call(service, "GET", "/metrics", key=scoped)
    values = [line for line in seen.text.splitlines() if not line.startswith("#")]
    assert len(values) >= 7
    assert all('{experiment="food"' in line for line in values)
    told = call(service, "GET", "/readyz", key=full)
    assert (told.status_code, told.json()["detail"]) == (200, "cannot be opened: secret")
    for key in (None, "x", scoped):
        told = call(service, "GET", "/readyz", key=key)
        assert (told.status_code, told.json()) == (200, {"status": "ok", "detail": ""})
    assert call(service, "GET", "/health", key=full).status_code == 200
    assert call(service, "GET", "/health", key=scoped).status_code == 403
    service.broken["food"] = service.broken.pop("secret")
    food = service.hosted.pop("food")
    assert "damaged" in call(service, "GET", "/v1/experiments/food", key=full).text
    assert "damaged" not in call(service, "GET", "/v1/experiments/food", key=scoped).text
    service.hosted["food"] = food


def test_without_the_last_key_the_service_stays_closed(service, tmp_path, capsys):
    key, known = add_key(service.store, "admin")
    service.keys.reload()
    assert call(service, "DELETE", f"/v1/keys/{known.id}", key=key).status_code == 200
    for what in (ASK, ARMS, KEYS, CREATE):
        assert call(service, *what).status_code == 401
        assert call(service, *what, key=key).status_code == 401
    service._close_store()
    store = ["--store", f"sqlite:///{tmp_path}/lsdt.db"]
    assert main(["keys", "list", *store]) == 0
    assert "no caller is let in" in capsys.readouterr().out
    assert main(["keys", "open", *store, "--service", "http://127.0.0.1:1"]) == 2
    assert main(["keys", "open", *store]) == 0
    assert main(["keys", "list", *store]) == 0
    assert "only the service's own machine is served" in capsys.readouterr().out
    with open_store(store[1]) as opened:
        assert KeyRing(opened).is_open
        add_key(opened, "read")
        with pytest.raises(InvalidInput, match="remove them first"):
            open_again(opened)


def test_a_key_is_for_its_experiment_and_not_for_a_later_one_of_the_same_name(service):
    admin = add_key(service.store, "admin")[0]
    keys = {role: add_key(service.store, role, "drinks")[0] for role in ("read", "decide", "admin")}
    service.keys.reload()
    kept = {number: note for number, note in service.store.recall("keys").items() if b'"drinks"' in note}
    assert call(service, "DELETE", "/v1/experiments/drinks", key=admin).status_code == 200
    assert call(service, *ARMS, key=keys["read"]).status_code == 401  # removed with its experiment
    assert not kept.keys() & service.store.recall("keys").keys()
    assert call(service, *CREATE, key=admin, json={"name": "drinks", "n_arms": 2}).status_code == 201
    for number, note in kept.items():  # as if another service had not heard of the removal
        service.store.remember("keys", number, note)
    service.store.commit()
    service.keys.reload()
    for role, key in keys.items():
        for what in (ASK, ARMS, ("GET", "/experiments/drinks"), ("DELETE", "/v1/experiments/drinks")):
            refused = call(service, *what, key=key)
            assert refused.status_code == 403, (role, what)
        assert call(service, "GET", "/v1/experiments", key=key).json() == {"experiments": []}
        assert "drinks" not in call(service, "GET", "/metrics", key=key).text
    again = add_key(service.store, "decide", "drinks")[0]
    service.keys.reload()
    assert call(service, *ASK, key=again).status_code == 200
    with pytest.raises(InvalidInput, match="there is no experiment 'drink'"):
        add_key(service.store, "decide", "drink")


@pytest.mark.parametrize(("what", "body"), [("ask", {}), ("observe", {"arm": 0, "reward": 1})])
def test_an_idempotency_key_belongs_to_its_caller(service, what, body):
    keys = [add_key(service.store, "decide", experiment)[0] for experiment in (None, "drinks", "drinks")]
    service.keys.reload()
    path, header = f"/v1/experiments/drinks/{what}", {"idempotency-key": "order 66"}
    first = [call(service, "POST", path, key=key, headers=header, json=body) for key in keys]
    again = [call(service, "POST", path, key=key, headers=header, json=body) for key in keys]
    assert ["idempotent-replayed" in answer.headers for answer in first + again] == [False] * 3 + [True] * 3
    assert [answer.json() for answer in first] == [answer.json() for answer in again]
    if what == "ask":
        assert len({answer.json()["decisions"][0]["id"] for answer in first}) == 3
    other = call(service, "POST", path, key=keys[0], headers=header, json={"n": 2} if what == "ask" else [])
    assert other.status_code == 422


def test_a_slash_too_many_leads_nowhere(service):
    for path in ("/v1/experiments/", "/v1/experiments/drinks/cancel/", "/experiments/drinks/"):
        answer = call(service, "GET", path, base="http://evil.example")
        assert (answer.status_code, "location" in answer.headers) == (404, False)


def test_a_key_for_one_experiment_merges_no_other(service):
    key = add_key(service.store, "admin", "drinks")[0]
    service.keys.reload()
    refused = call(service, "POST", "/v1/experiments/drinks/merge", key=key, json={"experiments": ["food"]})
    assert refused.status_code == 403
    assert "is for 'drinks' alone" in refused.json()["detail"]


def test_roles(service):
    keys = {role: add_key(service.store, role)[0] for role in ("read", "decide", "admin")}
    keys["food"] = add_key(service.store, "admin", "food")[0]
    service.keys.reload()
    status = {
        name: [call(service, *what, key=key).status_code for what in (ARMS, ASK, KEYS)]
        for name, key in keys.items()
    }
    assert status == {
        "read": [200, 403, 403],
        "decide": [200, 200, 403],
        "admin": [200, 200, 200],
        "food": [403, 403, 403],
    }
    seen = call(service, "GET", "/v1/experiments", key=keys["food"]).json()["experiments"]
    assert [each["name"] for each in seen] == ["food"]
    assert call(service, "POST", "/v1/experiments/food/ask", key=keys["food"]).status_code == 200
    assert call(service, *CREATE, key=keys["food"], json={"name": "x", "n_arms": 2}).status_code == 403
    assert "'food'" not in call(service, "GET", "/v1/experiments/foods", key=keys["food"]).text.replace(
        "the experiment 'food' only", ""
    )


def test_a_key_must_be_right_in_all_its_parts(service):
    key, known = add_key(service.store, "admin")
    service.keys.reload()
    head, number, secret = key.split("_", 2)
    assert (head, number) == ("lsdt", known.id)
    wrong = ["", "x", f"lsdt_{number}", f"lsdt_{number}_", f"lsdt_{number}_{secret[:-1]}", f"lsdt_0_{secret}"]
    for each in wrong:
        refused = call(service, *ARMS, key=each)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert each not in refused.text or len(each) < 2
    assert call(service, *ARMS).status_code == 401  # this machine too
    assert call(service, *ARMS, key=key, client="10.0.0.7", base="https://lsdt.example").status_code == 200
    assert call(service, "GET", "/healthz").status_code == 200
    for name in ("lsdt_key", "lsdt_session"):  # a cookie holds a session, never a key
        assert call(service, *ARMS, headers={"cookie": f"a=b; {name}={key}"}).status_code == 401
    assert secret not in service.store.recall("keys")[number].decode()


def test_a_key_has_its_rate(service):
    key, _ = add_key(service.store, "decide", rate=2)
    service.keys.reload()
    status = [call(service, *ASK, key=key).status_code for _ in range(4)]
    assert status[:2] == [200, 200]
    assert 429 in status[2:]


def test_bodies_are_limited(service):
    assert call(service, *ASK, content=b" " * 100).status_code == 400
    refused = call(service, *ASK, content=b" " * 101)
    assert (refused.status_code, refused.json()["title"]) == (413, "BodyTooLarge")

    async def parts_of_a_body():
        for _ in range(20):
            yield b" " * 50

    assert call(service, *ASK, content=parts_of_a_body()).status_code == 413


def test_other_sites_are_named(service):
    origin = {"origin": "https://shop.example"}
    answer = call(service, *ASK, headers=origin)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://shop.example"
    before = call(service, "OPTIONS", ASK[1], headers=origin)
    assert before.status_code == 204
    assert "idempotency-key" in before.headers["access-control-allow-headers"]
    assert "access-control-allow-origin" not in call(service, *ASK).headers


def test_keys_on_the_command_line(tmp_path, capsys):
    store = ["--store", f"sqlite:///{tmp_path}/lsdt.db"]
    lsdt.Agent.open(store[1], "drinks", side=lsdt.SideInformation(2), policy="ucb1").close()
    assert main(["keys", "add", "--role", "decide", "--experiment", "drinks", *store]) == 0
    key = capsys.readouterr().out.strip()
    with open_store(store[1]) as opened:
        found = KeyRing(opened).find(key)
        assert (found.role, found.experiment) == ("decide", "drinks")
        assert main(["keys", "list", "--json", *store]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["keys"]
    assert (listed["id"], "digest" in listed) == (found.id, False)
    assert main(["keys", "remove", found.id, *store]) == 0
    assert "no caller is let in" in capsys.readouterr().out
    for words, message in (
        (["add"], "say what the key may do"),
        (["add", "--role", "king"], "role must be"),
        (["remove"], "remove takes the id"),
        (["remove", "77"], "there is no key '77'"),
        (["open", "77"], "open take no id"),
        (["add", "--role", "read", "--experiment", "food"], "there is no experiment 'food'"),
    ):
        assert main(["keys", *words, *store]) == 2
        assert message in capsys.readouterr().err


def test_an_id_that_no_database_takes_is_no_failure_of_the_store(postgresql_url):
    with open_store(postgresql_url) as store:
        kept = add_key(store, "read")[1]
        for number in ("\0", "\ud800", "x" * 10**6):
            with pytest.raises(InvalidInput, match="there is no key"):
                remove_key(store, number)
        assert [key.id for key in KeyRing(store).all()] == [kept.id]
        remove_key(store, kept.id)
        assert (len(KeyRing(store)), KeyRing(store).is_open) == (0, False)


def test_ids_are_of_one_experiment_and_cannot_be_made_up():
    ids = DecisionIds(b"k" * 32, "drinks", 5)
    text = ids.make(2**40, 7, -(2**63))
    assert len(text) == 44
    assert ids.read(text) == parts(text) == (2**40, 7, -(2**63))
    others = [DecisionIds(b"l" * 32, "drinks", 5), DecisionIds(b"k" * 32, "food", 5)]
    others.append(DecisionIds(b"k" * 32, "drinks", 6))
    for other in others:
        with pytest.raises(InvalidInput, match="is not a decision of"):
            other.read(text)
    for place in range(44):
        changed = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
        with pytest.raises(InvalidInput):
            ids.read(changed)
    for wrong in ("", text[:-1], text + "A", text[:32], "=" * 44, "é" * 44, 7, None):
        with pytest.raises(InvalidInput):
            ids.read(wrong)
