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
from lsdt.service.keys import KeyRing, add_key
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


def call(service, method, path, key=None, client="127.0.0.1", **more):
    async def run():
        transport = httpx.ASGITransport(create_app(service), client=(client, 1))
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
        {"headers": {"x-forwarded-for": "10.0.0.7"}},
        {"headers": {"origin": "https://evil.example"}},
        {"headers": {"origin": "null"}},
    ],
)
@pytest.mark.parametrize("what", [ASK, ARMS])
def test_without_keys_only_this_machine_is_served(service, what, how):
    assert call(service, *what).status_code == 200
    assert call(service, *what, client="::1", base="http://[::1]:8900").status_code == 200
    refused = call(service, *what, **how)
    assert refused.status_code == 403
    assert refused.headers["content-type"] == "application/problem+json"


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
    cookie = {"cookie": f"a=b; lsdt_key={key}"}
    assert call(service, *ARMS, headers=cookie).status_code == 200
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
    assert main(["keys", "add", "--role", "decide", "--experiment", "drinks", *store]) == 0
    key = capsys.readouterr().out.strip()
    with open_store(store[1]) as opened:
        found = KeyRing(opened).find(key)
        assert (found.role, found.experiment) == ("decide", "drinks")
        assert main(["keys", "list", "--json", *store]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["keys"]
    assert (listed["id"], "digest" in listed) == (found.id, False)
    assert main(["keys", "remove", found.id, *store]) == 0
    assert main(["keys", "list", *store]) == 0
    assert "there are no keys" in capsys.readouterr().out
    for words, message in (
        (["add"], "say what the key may do"),
        (["add", "--role", "king"], "role must be"),
        (["remove"], "remove takes the id"),
        (["remove", "77"], "there is no key '77'"),
    ):
        assert main(["keys", *words, *store]) == 2
        assert message in capsys.readouterr().err


def test_ids_are_of_one_experiment_and_cannot_be_made_up():
    ids = DecisionIds(b"k" * 32, "drinks", 5)
    text = ids.make(2**40, 7)
    assert len(text) == 32
    assert (ids.number(text), parts(text)) == (2**40, (2**40, 7))
    others = [DecisionIds(b"l" * 32, "drinks", 5), DecisionIds(b"k" * 32, "food", 5)]
    others.append(DecisionIds(b"k" * 32, "drinks", 6))
    for other in others:
        with pytest.raises(InvalidInput, match="is not a decision of"):
            other.number(text)
    for place in range(32):
        changed = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
        with pytest.raises(InvalidInput):
            ids.number(changed)
    for wrong in ("", text[:-1], text + "A", "=" * 32, "é" * 32, 7, None):
        with pytest.raises(InvalidInput):
            ids.number(wrong)
