"""What clients of the service rely on, over HTTP."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import time
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest
from starlette.datastructures import QueryParams

import lsdt
from lsdt.service import messages
from lsdt.service.openapi import description
from lsdt.service.server import in_background

DRINKS = {
    "name": "drinks",
    "arms": ["tea", "coffee"],
    "similar": [["tea", "coffee"]],
    "dissimilar": [],
    "epsilon": 0.1,
    "policy": "auto",
    "rewards": "bernoulli",
    "horizon": None,
}


def log_of(http, path):
    """Return the log of an experiment behind its first event, which says who made it."""
    first, *events = map(json.loads, http.get(f"{path}/events").text.splitlines())
    assert (first["event"], first["by"]) == ("create", "this machine, without a key")
    return events


PLAIN = {"name": "plain", "arms": ["tea", "coffee", "juice"], "policy": "ucb1"}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    store = f"sqlite:///{tmp_path_factory.mktemp('service')}/lsdt.db"
    with in_background(store, webhook_origins=["http://127.0.0.1:9"]) as url:
        yield url


@pytest.fixture
def http(url):
    with httpx.Client(base_url=url, timeout=300.0) as client:
        yield client


@pytest.fixture
def plain(http):
    made = http.post("/v1/experiments", json=PLAIN)
    assert made.status_code == 201, made.text
    yield "/v1/experiments/plain"
    assert http.delete("/v1/experiments/plain").status_code == 200


def problem(response, status):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    answer = response.json()
    assert answer["status"] == status
    assert answer["type"] == "about:blank"
    return answer["detail"]


def test_the_shapes_that_clients_rely_on(http):
    made = http.post("/v1/experiments", json=DRINKS)
    assert made.status_code == 201
    assert made.json().keys() == {"name", "policy", "reason", "candidates"}
    assert made.json()["candidates"] == ["tea", "coffee"]
    path = "/v1/experiments/drinks"
    asked = http.post(f"{path}/ask", json={"n": 2, "allowed": ["tea", "coffee"]}).json()
    assert asked.keys() == {"decisions"}
    first, second = asked["decisions"]
    assert first.keys() == second.keys() == {"id", "arm"}
    assert http.post(f"{path}/tell", json={"decision": first["id"], "reward": 1}).json() == {
        "learned": 1,
        "repeated": 0,
    }
    many = [{"decision": each["id"], "reward": 0} for each in (first, second)]
    assert http.post(f"{path}/tell", json={"rewards": many}).json() == {"learned": 1, "repeated": 1}
    arms = http.get(f"{path}/arms").json()["arms"]
    assert [each["arm"] for each in arms] == ["tea", "coffee"]
    assert {"arm", "plays", "mean", "status"} <= arms[0].keys()
    assert sum(each["plays"] for each in arms) == 2
    assert http.delete(path).json() == {"done": True}


def test_the_service_decides_as_an_agent_does(http, plain):
    agent = lsdt.Agent(lsdt.SideInformation(3, arm_ids=PLAIN["arms"]), policy="ucb1")
    for number in range(30):
        (decision,) = http.post(f"{plain}/ask").json()["decisions"]
        mine = agent.ask()
        assert decision["arm"] == mine.arm_id
        reward = float((number * 7) % 5 < 2)
        agent.tell(mine, reward)
        assert http.post(f"{plain}/tell", json={"decision": decision["id"], "reward": reward}).is_success
    rows = http.get(f"{plain}/arms").json()["arms"]
    assert [row["plays"] for row in rows] == agent.to_frame()["plays"].tolist()
    best = http.get(f"{plain}/best", params={"n_runners_up": 1}).json()
    assert (best["arm"], best["text"]) == (agent.best(1).arm_id, agent.best(1).text)
    agent.ask(7)
    assert http.post(f"{plain}/ask", json={"n": 7}).is_success
    verdict = agent.stopping(0.1, 0.2)
    told = http.get(f"{plain}/stopping", params={"delta": 0.1, "tolerance": 0.2}).json()
    assert (told["stop"], told["arm"], told["text"]) == (verdict.stop, verdict.arm_id, verdict.text)
    assert told["pending"] == verdict.pending == 7
    assert (told["arms"], told["top"]) == ([verdict.arm_id], 1)
    several = agent.best(top=2)
    best = http.get(f"{plain}/best", params={"top": 2}).json()
    assert [best["arm"], *(each["arm"] for each in best["runners_up"])] == several.arm_ids
    assert (best["text"], best["certainty"]) == (several.text, several.certainty)
    for top in (2, "all"):
        verdict = agent.stopping(0.1, 0.2, top=top)
        told = http.get(f"{plain}/stopping", params={"delta": 0.1, "tolerance": 0.2, "top": top}).json()
        assert (told["stop"], told["arms"], told["text"]) == (verdict.stop, verdict.arm_ids, verdict.text)
        assert (told["top"], told["tries_to_go"], told["pending"]) == (top, None, 7)


def test_there_may_be_no_arm_to_name_yet(http, url, plain):
    for arm in PLAIN["arms"]:
        _, told = http.post(f"{plain}/ask", json={"n": 2, "allowed": [arm]}).json()["decisions"]
        http.post(f"{plain}/tell", json={"decision": told["id"], "reward": 0})
    none = http.get(f"{plain}/stopping", params={"tolerance": 0.1, "top": "all"}).json()
    assert (none["arm"], none["arms"]) == (None, [])
    with lsdt.Client(url, name="plain") as client:
        found = client.stopping(tolerance=0.1, top="all")
        assert (found.arm_id, found.arm_ids) == (None, [])


def test_a_slate_names_different_arms(http, plain):
    slate = http.post(f"{plain}/ask", json={"n": 3, "distinct": True}).json()["decisions"]
    assert sorted(each["arm"] for each in slate) == sorted(PLAIN["arms"])


@pytest.mark.parametrize(
    ("call", "body", "status", "detail"),
    [
        ("ask", {"n": 0}, 422, "n must be a whole number from 1 to 1,000,000; got 0"),
        ("ask", {"n": 20_000}, 422, "at most 10,000 decisions"),
        ("ask", {"n": "two"}, 422, "n must be a whole number"),
        ("ask", {"allowed": ["cola"]}, 422, "there is no arm 'cola'"),
        ("ask", {"allowed": []}, 422, "allow at least one"),
        ("ask", {"n": 4, "distinct": True}, 422, "4 different arms were asked for, and 3 may be played"),
        ("ask", {"n": 2, "distinct": 1}, 422, "distinct"),
        ("ask", {"number": 1}, 422, "unknown field `number`"),
        ("ask", b"{", 400, "not JSON"),
        ("tell", {}, 422, "give decision and reward"),
        ("tell", {"decision": "x", "reward": 1}, 422, "'x' is not a decision of 'plain'"),
        ("observe", {"arm": "tea", "reward": 2}, 422, "rewards lie between 0 and 1; got 2"),
        ("observe", {"arm": "tea", "reward": "1"}, 422, "a reward must be a finite number; got '1'"),
        ("observe", {"arm": "tea"}, 422, "give arm and reward"),
        ("ask", {"n": 2, "unit": "a"}, 422, "a unit asks for one decision at a time"),
        ("ask", {"unit": ""}, 422, "a unit is a text of 1 to 200 characters"),
        ("ask", {"unit": 7}, 422, "Expected `str | null`, got `int` - at `$.unit`"),
        ("erase-unit", {}, 422, "missing required field `unit`"),
        ("cancel", {}, 422, "give one of decision, decisions, before"),
        ("retire", {"arm": "cola"}, 422, "'cola'"),
        ("extend", {"similar": [["tea", "cola"]]}, 422, "'cola'"),
        ("merge", {}, 422, "missing required field `experiments`"),
        ("merge", {"experiments": []}, 422, "merge takes at least one other agent; got none"),
        ("merge", {"experiments": ["plain"]}, 422, "cannot be merged with itself"),
        ("merge", {"experiments": ["plian"]}, 404, "did you mean 'plain'?"),
        ("nothing", {}, 404, "there is no POST"),
    ],
)
def test_what_is_wrong_is_said_as_in_python(http, plain, call, body, status, detail):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert detail in problem(http.post(f"{plain}/{call}", content=content), status)


@pytest.mark.parametrize(
    ("call", "detail"),
    [
        ("stopping?epsilon=.2", "this call takes delta, tolerance, top; got 'epsilon'"),
        ("stopping?top=both", "top must be a whole number from 1 to 3, or 'all' for all arms within"),
        ("stopping?top=9", "top must be a whole number from 1 to 3, or 'all'"),
        ("best?top=0", "top must be a whole number from 1 to 3"),
        ("stopping?tolerence=.2", "did you mean 'tolerance'?"),
        ("events?from=3", "this call takes after, limit, format; got 'from'"),
        ("best?n=2", "this call takes n_runners_up, top; got 'n'"),
    ],
)
def test_words_of_a_query_that_a_call_does_not_take_are_refused(http, plain, call, detail):
    assert detail in problem(http.get(f"{plain}/{call}"), 422)


def test_texts_are_those_of_python(http, plain):
    agent = lsdt.Agent(lsdt.SideInformation(3, arm_ids=PLAIN["arms"]), policy="ucb1")
    with pytest.raises(lsdt.errors.InvalidInput) as refused:
        agent.observe("cola", 1)
    answer = http.post(f"{plain}/observe", json={"arm": "cola", "reward": 1})
    assert problem(answer, 422) == str(refused.value)
    assert answer.json()["title"] == "InvalidInput"


def test_of_many_rewards_all_are_checked_before_any_is_learned(http, plain):
    asked = http.post(f"{plain}/ask", json={"n": 2}).json()["decisions"]
    wrong = [{"decision": asked[0]["id"], "reward": 1}, {"decision": asked[1]["id"], "reward": 7}]
    assert "between 0 and 1" in problem(http.post(f"{plain}/tell", json={"rewards": wrong}), 422)
    unknown = [wrong[0], {"decision": asked[1]["id"][:-4] + "AAAA", "reward": 1}]
    assert "is not a decision" in problem(http.post(f"{plain}/tell", json={"rewards": unknown}), 422)
    several = [{"arm": "tea", "reward": 1}, {"arm": "cola", "reward": 1}]
    assert "'cola'" in problem(http.post(f"{plain}/observe", json={"rewards": several}), 422)
    assert http.get(plain).json()["told"] == 0
    assert http.get(plain).json()["pending"] == 2


def test_the_guide_lists_every_call_with_its_options():
    guide = (Path(__file__).parent.parent.parent / "docs" / "guides" / "service.md").read_text()
    section = guide.partition("\n## The API\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    told = description()
    for path, methods in told["paths"].items():
        word = path.removeprefix("/v1/experiments/{name}").replace("{number}", "ID").replace("{arm}", "ARM")
        named = word.removeprefix("/") if word != path else word
        found = [row for row in rows if re.search(rf"[`/ ]{re.escape(named or 'NAME')}`", row.split("|")[1])]
        assert len(found) == 1, path
        for method, call in methods.items():
            options = {each["name"] for each in call.get("parameters", []) if each["in"] != "path"}
            schema = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if schema is not None:
                options |= told["components"]["schemas"][schema["$ref"].split("/")[-1]]["properties"].keys()
            missing = {each for each in options if not re.search(rf"`{each}\b", found[0])}
            assert not missing, (method, path)


def test_a_repeated_key_is_answered_the_same_and_happens_once(http, plain):
    key = {"idempotency-key": "order 17"}
    first = http.post(f"{plain}/ask", json={"n": 3}, headers=key)
    again = http.post(f"{plain}/ask", json={"n": 3}, headers=key)
    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"
    assert http.get(plain).json()["decisions"] == 3
    other = http.post(f"{plain}/ask", json={"n": 2}, headers=key)
    assert "was used for another request" in problem(other, 422)
    for _ in range(2):
        body = {"arm": "tea", "reward": 1}
        assert http.post(f"{plain}/observe", json=body, headers=key).json() == {"learned": 1}
    assert http.get(plain).json()["told"] == 1
    assert "1 to 200 characters" in problem(
        http.post(f"{plain}/ask", headers={"idempotency-key": "x" * 201}), 400
    )


def test_ids_are_good_for_their_experiment_alone(http, plain):
    other = PLAIN | {"name": "other"}
    http.post("/v1/experiments", json=other)
    (decision,) = http.post("/v1/experiments/other/ask").json()["decisions"]
    assert "is not a decision of 'plain'" in problem(
        http.post(f"{plain}/tell", json={"decision": decision["id"], "reward": 1}), 422
    )
    http.delete("/v1/experiments/other")
    http.post("/v1/experiments", json=other)  # made anew: the old ids are void
    http.post("/v1/experiments/other/ask")
    told = http.post("/v1/experiments/other/tell", json={"decision": decision["id"], "reward": 1})
    assert "is not a decision of 'other'" in problem(told, 422)
    http.delete("/v1/experiments/other")


def test_cancel_retire_pause(http, plain):
    asked = http.post(f"{plain}/ask", json={"n": 4}).json()["decisions"]
    ids = [each["id"] for each in asked]
    assert http.post(f"{plain}/cancel", json={"decision": ids[0]}).json() == {"cancelled": 1}
    assert "not pending" in problem(http.post(f"{plain}/cancel", json={"decisions": ids[:2]}), 422)
    assert http.get(plain).json()["pending"] == 3
    assert http.post(f"{plain}/cancel", json={"before": ids[3]}).json() == {"cancelled": 2}
    assert http.post(f"{plain}/retire", json={"arm": "tea"}).json() == {"done": True}
    arms = [http.post(f"{plain}/ask").json()["decisions"][0]["arm"] for _ in range(6)]
    assert "tea" not in arms
    assert http.get(f"{plain}/why/tea").json()["status"] == "retired"
    assert http.post(f"{plain}/reinstate", json={"arm": "tea"}).json() == {"done": True}
    assert http.get(f"{plain}/why/tea").json()["status"] != "retired"
    again = http.post(f"{plain}/reinstate", json={"arm": "tea"})
    assert again.status_code == 422
    assert "'tea' has not retired" in again.json()["detail"]
    assert http.post(f"{plain}/retire", json={"arm": "tea"}).json() == {"done": True}
    assert http.post(f"{plain}/pause", json={"reason": "wrong prices"}).json() == {"done": True}
    paused = http.post(f"{plain}/ask")
    assert "this machine, without a key: wrong prices; rewards are still learned" in problem(paused, 409)
    assert paused.json()["title"] == "Paused"
    assert http.post(f"{plain}/tell", json={"decision": ids[3], "reward": 1}).json()["learned"] == 1
    assert "'tea' has retired" in problem(http.post(f"{plain}/stop", json={"arm": "tea"}), 422)
    assert http.post(f"{plain}/stop", json={"arm": "juice"}).is_success
    about = http.get(plain).json()
    assert (about["status"], about["halt"]["arm"]) == ("stopped", "juice")
    shown = http.post(f"{plain}/ask", json={"n": 2, "propensity": True}).json()["decisions"]
    assert [(each["arm"], each["propensity"]) for each in shown] == 2 * [("juice", 1.0)]
    assert http.post(f"{plain}/resume").json() == {"done": True}
    assert http.get(plain).json()["halt"] is None
    assert http.post(f"{plain}/ask").is_success
    assert http.post(f"{plain}/tolerance", json={"tolerance": 0.3}).is_success
    assert http.get(f"{plain}/stopping").json()["tolerance"] == http.get(plain).json()["tolerance"] == 0.3
    events = [json.loads(line) for line in http.get(f"{plain}/events").text.splitlines()]
    acted = [(each["event"], each["arm"], each["tolerance"]) for each in events if each["by"]]
    assert acted == [
        ("create", None, None),
        ("retire", "tea", None),
        ("reinstate", "tea", None),
        ("retire", "tea", None),
        ("pause", None, None),
        ("stop", "juice", None),
        ("resume", None, None),
        ("tolerance", None, 0.3),
    ]
    assert {each["by"] for each in events} == {None, "this machine, without a key"}
    assert [each["reason"] for each in events if each["event"] == "pause"] == ["wrong prices"]
    assert {each["reward"] for each in events if each["by"]} == {None}


def test_extend(http, plain):
    http.post(f"{plain}/observe", json={"arm": "juice", "reward": 1})
    more = {"arms": ["mate"], "dissimilar": [["mate", "juice"]]}
    assert http.post(f"{plain}/extend", json=more).json()["new_arms"] == ["mate"]
    last = log_of(http, plain)[-1]
    assert (last["event"], last["by"]) == ("extend", "this machine, without a key")
    arms = http.get(f"{plain}/arms").json()["arms"]
    assert [each["arm"] for each in arms] == ["tea", "coffee", "juice", "mate"]
    assert arms[2]["plays"] == 1
    file = b"a,b,relation\nmate,tea,similar\ncoffee,juice,similar\n"
    answer = http.post(f"{plain}/extend", content=file, headers={"content-type": "text/csv"})
    assert "list the arms of the experiment first" in problem(answer, 422)


def test_floors_and_lift(http):
    """Arms that are numbers are texts as keys of JSON."""
    body = {"name": "floors", "arms": [7, 8, 9], "policy": "ucb1"}
    for wrong, said in (
        ({"floor": {"6": 0.1}}, "there is no arm 6"),
        ({"floor": {"7": 2}}, "floor[7] must be a number above 0 and at most 1; got 2"),
        ({"holdout": {"7": 0.5, "8": 0.1}}, "a holdout has one arm"),
    ):
        assert said in problem(http.post("/v1/experiments", json=body | wrong), 422)
    assert http.post("/v1/experiments", json=body | {"floor": {"8": 0.4}}).status_code == 201
    path = "/v1/experiments/floors"
    mine = lsdt.Agent(lsdt.SideInformation(3, arm_ids=[7, 8, 9]), "ucb1", floor={8: 0.4})
    for number in range(40):
        (decision,) = http.post(f"{path}/ask", json={"propensity": True}).json()["decisions"]
        asked = mine.ask()
        assert (decision["arm"], decision["propensity"]) == (asked.arm_id, asked.propensity)
        mine.tell(asked, float(number % 3 == 0))
        told = {"decision": decision["id"], "reward": float(number % 3 == 0)}
        assert http.post(f"{path}/tell", json=told).is_success
    found, frame = http.get(f"{path}/lift").json(), mine.lift()
    assert found["control"] == frame.attrs["control"]
    assert [list(row.values()) for row in found["arms"]] == frame.to_numpy().tolist()
    other = http.get(f"{path}/lift", params={"control": 9, "risk": 0.2}).json()
    assert other["arms"][0]["low"] == mine.lift(9, 0.2).low[0]
    assert "Lift over <bdi>8</bdi>" in http.get("/experiments/floors").text
    assert http.delete(path).status_code == 200


def test_rewards_are_corrected(http, plain):
    assert "begin one with replace_within=" in problem(
        http.post(f"{plain}/tell", json={"rewards": [], "repeat": "replace"}), 422
    )
    body = {"name": "corrected", "arms": ["tea"], "policy": "ts", "replace_within": "1 hour"}
    assert http.post("/v1/experiments", json=body).status_code == 201
    path = "/v1/experiments/corrected"
    (decision,) = http.post(f"{path}/ask").json()["decisions"]
    told = {"decision": decision["id"], "reward": 1, "repeat": "replace"}
    for reward, learned in ((1, 1), (0, 1), (0, 0), (0.5, 1)):
        answer = http.post(f"{path}/tell", json=told | {"reward": reward}).json()
        assert answer == {"learned": learned, "repeated": 1 - learned}
    assert http.post(f"{path}/tell", json={"rewards": [told | {"repeat": "x"}]}).status_code == 422
    assert "repeat must be" in problem(http.post(f"{path}/tell", json=told | {"repeat": "x"}), 422)
    assert http.get(f"{path}/arms").json()["arms"][0]["mean"] == 0.5
    assert http.get(f"{path}/stopping", params={"tolerance": 0.1}).json()["pending"] == 1
    events = log_of(http, path)
    assert [(each["event"], each["decision"], each["reward"]) for each in events][1:] == [
        ("tell", 0, 1.0),
        ("replace", 0, 0.0),
        ("replace", 0, 0.5),
    ]
    assert "replace" in http.get("/experiments/corrected").text
    assert http.delete(path).status_code == 200


def test_units(http, plain):
    """A repeated key is answered the same; another ask of the unit is another decision on the same arm."""
    arms = {}
    for number in range(12):
        body = {"unit": f"user-{number % 4}", "propensity": True}
        (decision,) = http.post(f"{plain}/ask", json=body).json()["decisions"]
        assert arms.setdefault(number % 4, decision["arm"]) == decision["arm"]
    once = [
        http.post(f"{plain}/ask", json={"unit": "user-1"}, headers={"idempotency-key": "k"}) for _ in "ab"
    ]
    assert once[0].json() == once[1].json()
    assert once[0].json()["decisions"][0]["arm"] == arms[1]
    events = log_of(http, plain)
    assert [each["first"] for each in events] == [None] * 4 + [0, 1, 2, 3] * 2 + [1]
    for erased in (True, False):
        assert http.post(f"{plain}/erase-unit", json={"unit": "user-1"}).json() == {"erased": erased}
    assert log_of(http, plain)[-1]["by"] == "this machine, without a key"


def test_of_an_erased_unit_no_answer_is_kept(tmp_path):
    """Else they would be kept for a day, and lead from the unit to its decisions."""
    path = tmp_path / "lsdt.db"

    def ask(http, unit, key):
        body = {"unit": unit}
        answer = http.post("/v1/experiments/e/ask", json=body, headers={"idempotency-key": key}).json()
        return answer["decisions"][0]["id"]

    def notes():
        with closing(sqlite3.connect(path)) as db:
            return db.execute("SELECT key, value FROM notes WHERE scope LIKE 'answers %'").fetchall()

    with in_background(f"sqlite:///{path}") as url, httpx.Client(base_url=url) as http:
        http.post("/v1/experiments", json={"name": "e", "n_arms": 3, "policy": "ucb1"})
        gone, stays = ask(http, "user-17", "k"), ask(http, "user-18", "k")
        assert gone != stays  # each unit has its own keys
        assert [ask(http, unit, "k") for unit in ("user-17", "user-18")] == [gone, stays]
        assert len(notes()) == 2
        body = http.build_request("POST", "/", json={"unit": "user-17"}).content
        assert not any(
            blake2b(body, digest_size=16).digest() in value or b"user" in key.encode() + value
            for key, value in notes()
        )
        assert http.post("/v1/experiments/e/erase-unit", json={"unit": "user-17"}).json() == {"erased": True}
        ((_, kept),) = notes()
        assert stays.encode() in kept
        assert ask(http, "user-17", "k") not in (gone, stays)  # a new unit
        assert ask(http, "user-18", "k") == stays


def test_drift(http, plain):
    rewards = [{"arm": "tea", "reward": float(number < 60)} for number in range(120)]
    assert http.get(f"{plain}/drift").json() == {"arms": [], "blocked": []}
    assert http.post(f"{plain}/observe", json={"rewards": rewards}).json() == {"learned": 120}
    (row,) = http.get(f"{plain}/drift", params={"risk": 0.01}).json()["arms"]
    assert row.pop("evidence") > 20
    assert row == {
        "arm": "tea",
        "plays_before": 60,
        "mean_before": 1.0,
        "plays_after": 60,
        "mean_after": 0.0,
    }
    assert "risk must be above 0" in problem(http.get(f"{plain}/drift", params={"risk": 0}), 422)
    assert "risk must be a number" in problem(http.get(f"{plain}/drift", params={"risk": "low"}), 422)


def test_merge(http, plain):
    """By name and as a snapshot; an event of the log."""
    other = "/v1/experiments/other"
    http.post("/v1/experiments", json=PLAIN | {"name": "other", "arms": ["juice", "tea"]})
    http.post(f"{plain}/observe", json={"arm": "tea", "reward": 0})
    http.post(f"{other}/observe", json={"rewards": [{"arm": "juice", "reward": 1}] * 3})
    far = lsdt.Agent(lsdt.SideInformation(1, arm_ids=["coffee"]), "ucb1")
    far.observe("coffee", 1)
    assert http.post(f"{plain}/merge", json={"experiments": ["other"]}).json() == {"learned": 3}
    kind = {"content-type": "application/octet-stream"}
    assert http.post(f"{plain}/merge", content=far.snapshot(), headers=kind).json() == {"learned": 1}
    rows = http.get(f"{plain}/arms").json()["arms"]
    assert [(row["plays"], row["mean"]) for row in rows] == [(1, 0.0), (1, 1.0), (3, 1.0)]
    assert http.get(plain).json()["told"] == 5
    assert http.get(other).json()["told"] == 3
    events = log_of(http, plain)
    assert [each["event"] for each in events] == ["observe", "merge", "merge"]
    assert [each["by"] for each in events] == [None, *["this machine, without a key"] * 2]
    again = http.post(f"{plain}/merge", json={"experiments": ["other"]})
    assert "was merged before" in problem(again, 422)
    assert "this is not a snapshot" in problem(
        http.post(f"{plain}/merge", content=b"nonsense" * 9, headers=kind), 422
    )
    http.delete(other)


def test_experiments_of_files_and_logs(http):
    pairs = "a,b,relation\ntea,coffee,similar\ntea,juice,dissimilar\n"
    made = http.post("/v1/experiments", json={"name": "text", "file": pairs, "policy": "ucb1"})
    assert made.json()["candidates"] == ["tea", "coffee", "juice"]
    query = {"name": "file", "policy": "ucb1", "expiry": '{"after": 60}', "seed": 3}
    kind = {"content-type": "text/csv"}
    made = http.post("/v1/experiments", content=pairs.encode(), params=query, headers=kind)
    assert made.status_code == 201, made.text
    assert http.get("/v1/experiments/file").json()["expiry"] == {"after": 60.0, "reward": None}
    rows = [f"u{user},i{item},{(item + user % 3) % 5 + 1}" for user in range(60) for item in range(4)]
    log = "user,item,rating\n" + "\n".join(rows) + "\n"
    made = http.post("/v1/experiments", json={"name": "log", "log": log, "policy": "ucb1"})
    assert made.status_code == 201, made.text
    assert http.get("/v1/experiments/log").json()["arms"] == 4
    names = [each["name"] for each in http.get("/v1/experiments").json()["experiments"]]
    assert names == ["file", "log", "text"]
    for name in names:
        http.delete(f"/v1/experiments/{name}")


DRINKS_OF_A_LOG = (("tea", 5), ("mate", 4), ("cola", 1))


def test_a_retired_arm_no_longer_keeps_out_what_it_beat_in_a_log(http):
    rows = [f"u{user},{drink},{stars}" for user in range(90) for drink, stars in DRINKS_OF_A_LOG]
    log = "user,item,rating\n" + "\n".join(rows) + "\n"
    made = http.post("/v1/experiments", json={"name": "log", "log": log})
    assert made.json()["candidates"] == ["tea"]
    assert http.post("/v1/experiments/log/retire", json={"arm": "tea"}).json() == {"done": True}
    assert http.post("/v1/experiments/log/ask").json()["decisions"][0]["arm"] == "mate"
    http.delete("/v1/experiments/log")


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({}, 422, "missing required field `name`"),
        ({"name": "x"}, 422, "made of one of: arms, n_arms, file, log, example; got none of them"),
        ({"name": "x", "arms": ["a"], "log": ""}, 422, "got arms and log"),
        ({"name": "a/b", "n_arms": 2}, 422, "without a slash"),
        ({"name": "x", "n_arms": 0}, 422, "there must be at least one arm"),
        ({"name": "x", "arms": ["a", "a"]}, 422, "'a'"),
        ({"name": "x", "n_arms": 2, "policy": "ucb"}, 422, "did you mean 'ucb1'?"),
        (
            {"name": "x", "n_arms": 2, "policy": {"name": "ts", "parameters": {"prior_weight": 3}}},
            422,
            "'prior_weight' is not one of the policy's parameters; say it of the experiment",
        ),
        ({"name": "x", "n_arms": 2, "rewards": {"name": "callable"}}, 422, "rewards are one of"),
        ({"name": "x", "n_arms": 2, "expiry": {"after": -1}}, 422, "in seconds, must be a number above 0"),
        ({"name": "x", "n_arms": 2, "expiry": {"after": 1e19}}, 422, "above 0 and at most 3"),
        ({"name": "x", "n_arms": 2, "expiry": {"after": 1, "reward": 2}}, 422, "between 0 and 1"),
        ({"name": "x", "file": "a,b\n1,2\n"}, 422, "relation"),
    ],
)
def test_an_experiment_that_cannot_be(http, body, status, detail):
    answer = http.post("/v1/experiments", json=body)
    assert detail in problem(answer, status)
    assert "/tmp" not in answer.text
    assert http.get("/v1/experiments").json() == {"experiments": []}


def test_a_name_is_taken_once(http, plain):
    assert "there is an experiment 'plain' already" in problem(http.post("/v1/experiments", json=PLAIN), 409)
    assert "(there: 'plain') (did you mean 'plain'?)" in problem(http.get("/v1/experiments/plian"), 404)


def test_decisions_that_nobody_tells_expire(http):
    http.post("/v1/experiments", json=PLAIN | {"name": "brief", "expiry": {"after": 0.3, "reward": 0}})
    (decision,) = http.post("/v1/experiments/brief/ask").json()["decisions"]
    limit, events = time.monotonic() + 120, []
    while len(events) < 2 and time.monotonic() < limit:
        time.sleep(0.1)
        events = log_of(http, "/v1/experiments/brief")
    assert [(each["event"], each["reward"]) for each in events] == [("ask", None), ("expire", 0.0)]
    late = http.post("/v1/experiments/brief/tell", json={"decision": decision["id"], "reward": 1})
    assert late.json() == {"learned": 0, "repeated": 1}
    http.delete("/v1/experiments/brief")


def test_the_log(http, plain):
    (decision,) = http.post(f"{plain}/ask", json={"propensity": True}).json()["decisions"]
    assert decision["propensity"] == 1.0
    http.post(f"{plain}/tell", json={"decision": decision["id"], "reward": 1})
    lines = log_of(http, plain)
    assert [(each["event"], each["decision"], each["arm"]) for each in lines] == [
        ("ask", 0, "tea"),
        ("tell", 0, "tea"),
    ]
    behind = http.get(f"{plain}/events", params={"after": lines[0]["position"]})
    assert [json.loads(line) for line in behind.text.splitlines()] == lines[1:]
    table = http.get(f"{plain}/events", params={"format": "parquet", "limit": 2})
    assert pq.read_table(io.BytesIO(table.content)).to_pylist()[1:] == lines[:1]
    assert "after must be a whole number" in problem(http.get(f"{plain}/events", params={"after": "-1"}), 422)


def test_arms_by_the_page(http, plain):
    for arm, reward in (("tea", 0), ("coffee", 1), ("coffee", 1)):
        http.post(f"{plain}/observe", json={"arm": arm, "reward": reward})
    query = {"order": "-plays", "limit": 1, "offset": 1}
    page = http.get(f"{plain}/arms", params=query).json()
    assert ([each["arm"] for each in page["arms"]], page["total"]) == (["tea"], 3)
    found = http.get(f"{plain}/arms", params={"search": "FF"}).json()
    assert [each["arm"] for each in found["arms"]] == ["coffee"]
    assert "order must be" in problem(http.get(f"{plain}/arms", params={"order": "size"}), 422)


def test_why_an_arm_is_out(http):
    new = {
        "name": "why",
        "n_arms": 3,
        "similar": [[0, 1], [0, 2]],
        "dissimilar": [[1, 2]],
        "policy": {"name": "ucb1", "on": "paper"},
    }
    assert http.post("/v1/experiments", json=new).json()["candidates"] == [1, 2]
    side = lsdt.SideInformation(3, similar=[(0, 1), (0, 2)], dissimilar=[(1, 2)])
    why = http.get("/v1/experiments/why/why/0").json()
    assert not why["candidate"]
    assert why["reason"] == lsdt.candidate_set(side, "paper").explain(0).text
    assert why["status"] == "eliminated offline"
    assert why["means"] is None
    http.delete("/v1/experiments/why")


def test_why_an_arm_is_in_comes_with_means_that_make_it_the_best(http):
    new = {
        "name": "means",
        "arms": ["a", "b", "c"],
        "similar": [["a", "b"]],
        "dissimilar": [["a", "c"], ["b", "c"]],
        "epsilon": 0.1,
        "policy": "ts@propagation",
    }
    made = http.post("/v1/experiments", json=new)
    assert made.json()["policy"] == "ts on propagation"
    why = http.get("/v1/experiments/means/why/a").json()
    a, b, c = why["means"]
    assert a == max(a, b, c)
    assert abs(a - b) < 0.1 <= min(abs(a - c), abs(b - c))
    assert f"the largest, {a:.6g} with" in why["reason"]
    assert "`" not in why["reason"]  # nothing that only Python has
    text = http.get("/experiments/means/arms/a", headers={"accept": "text/html"}).text
    assert "Means that would make it the best" in text
    http.delete("/v1/experiments/means")


def test_the_steps_of_an_argument_are_told(http):
    new = {"name": "steps", "arms": ["a", "b"], "better": [["a", "b"]], "policy": "ts@order"}
    assert http.post("/v1/experiments", json=new).status_code == 201
    why = http.get("/v1/experiments/steps/why/b").json()
    assert not why["candidate"]
    assert why["relations"] == [["a", "b", "better", None, None]]
    assert [step["kind"] for step in why["steps"]] == ["contradiction"]
    http.delete("/v1/experiments/steps")


def test_a_stream_pushes_what_changes(http, plain):
    with http.stream("GET", f"{plain}/stream") as stream:
        lines = stream.iter_lines()
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert next(lines) == "event: state"
        assert json.loads(next(lines).removeprefix("data: "))["decisions"] == 0
        with httpx.Client(base_url=str(http.base_url)) as other:
            other.post(f"{plain}/ask", json={"n": 5})
        told = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
        states = (each for each in told if "decisions" in each)
        assert next(states)["decisions"] == 5


def test_health_metrics_and_headers(http, plain):
    http.post(f"{plain}/ask")
    assert http.get("/healthz").json()["status"] == "ok"
    assert http.get("/readyz").status_code == 200
    metrics = http.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'lsdt_decisions_total{experiment="plain"} 1' in metrics.text
    assert 'lsdt_requests_total{what="ask",status="200"}' in metrics.text
    for answer in (metrics, http.post(f"{plain}/ask")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers
    assert "default-src 'self'" in http.get("/").headers["content-security-policy"]
    assert "does not take PUT" in problem(http.put(plain), 405)


def test_the_description_names_every_route_and_every_message(http):
    made = http.get("/openapi.json").json()
    assert made["openapi"] == "3.1.0"
    from lsdt.service.routes import Routes

    routes = {
        (route.path.replace(":path", ""), *sorted(route.methods - {"HEAD"})) for route in Routes(None).list()
    }
    told = {(path, method.upper()) for path, calls in made["paths"].items() for method in calls}
    paths = {("/v1/experiments/{name}/" + word, "POST") for word in ("ask", "tell", "observe")}
    assert told == (routes | paths) - {("/openapi.json", "GET")}
    schemas = made["components"]["schemas"]
    used = set()

    def walk(value):
        if isinstance(value, dict):
            if "$ref" in value:
                used.add(value["$ref"].removeprefix("#/components/schemas/"))
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(made)
    assert used == set(schemas)
    assert schemas["Reward"]["properties"]["reward"] == {"type": "number"}
    ids = [call["operationId"] for calls in made["paths"].values() for call in calls.values()]
    assert len(set(ids)) == len(ids)


TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}


def schemas_in(value):
    """Yield every schema of a part of the description, outer ones first."""
    if isinstance(value, list):
        for each in value:
            yield from schemas_in(each)
    elif isinstance(value, dict):
        yield value
        for name in ("items", "additionalProperties"):
            if isinstance(value.get(name), dict):
                yield from schemas_in(value[name])
        for name in ("anyOf", "prefixItems"):
            yield from schemas_in(value.get(name, []))
        for each in value.get("properties", {}).values():
            yield from schemas_in(each)


def test_the_description_is_one_that_clients_can_be_generated_from():
    """What openapi-python-client, whose client passes mypy --strict, stumbled over, and what 3.1 demands."""
    made = description()
    schemas, tops = made["components"]["schemas"], []
    for path, calls in made["paths"].items():
        for call in calls.values():
            parameters = call.get("parameters", [])
            named = [each["name"] for each in parameters if each["in"] == "path"]
            assert sorted(named) == sorted(re.findall(r"{(\w+)}", path))
            assert all(each["required"] for each in parameters if each["in"] == "path")
            assert len({(each["name"], each["in"]) for each in parameters}) == len(parameters)
            assert call["operationId"].isidentifier()
            success = [status for status in call["responses"] if status.startswith("2")]
            assert len(success) == 1
            assert all(each["description"] for each in call["responses"].values())
            assert "default" in call["responses"]
            tops += [each["schema"] for each in parameters]
            bodies = [*call["responses"].values(), call.get("requestBody", {"content": {}})]
            kinds = [kind for body in bodies for kind in body["content"].values()]
            tops += [kind["schema"] for kind in kinds if kind]  # of bytes there is nothing to say
    for name, schema in schemas.items():
        assert name.isidentifier()
        own = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
        same = schema["properties"].get(own, {"type": "integer"})
        assert same.get("type") in TYPES - {"array", "object"}  # generators call the object so, too
        assert set(schema.get("required", ())) <= set(schema["properties"])
        tops.append(schema)
    for schema in schemas_in(tops):
        if "$ref" in schema:
            assert schema["$ref"].removeprefix("#/components/schemas/") in schemas
            continue
        kinds = schema.get("type", [])
        assert set([kinds] if isinstance(kinds, str) else kinds) <= TYPES
        if kinds == "array":
            assert isinstance(schema.get("items", {}), dict)  # false is right, and not understood
            assert "items" in schema or len(schema["prefixItems"]) == schema["maxItems"] == schema["minItems"]


def test_what_is_said_of_a_file_in_the_query_is_described(http):
    calls = description()["paths"]["/v1/experiments"]["post"]
    words = {each["name"] for each in calls["parameters"]}
    of_pairs = {"arms", "n_arms", "similar", "dissimilar", "better", "ranges", "complete", "file", "example"}
    assert words == set(messages.NewExperiment.__struct_fields__) - of_pairs
    values = {"name": "of a file", "log": "false", "policy": "ucb1", "epsilon": ".1", "rewards": "bernoulli"}
    values |= {"horizon": "100", "seed": "3", "expiry": '{"after": 60, "reward": 0}'}
    values |= {"prior": '{"arms": ["tea"], "rewards": [1]}', "prior_weight": ".5"}
    values |= {"forget": "3 days", "policy": "ts", "floor": '{"tea": 0.1}', "holdout": '{"coffee": 0.1}'}
    values |= {"replace_within": "1 hour", "sticky": "30 days", "tolerance": ".1"}
    assert set(values) == words
    pairs = b"a,b,relation\ntea,coffee,similar\n"
    kind = {"content-type": "text/csv"}
    for without in ("forget", "replace_within"):  # one excludes the other
        some = {word: value for word, value in values.items() if word != without}
        sent = http.post("/v1/experiments", params=some, content=pairs, headers=kind)
        assert sent.status_code == 201, sent.text
        assert http.delete("/v1/experiments/of a file").status_code == 200
    for word, text, said in (
        ("n_arms", "3", "got 'n_arms'"),
        ("expirt", "3", "got 'expirt' (did you mean 'expiry'?)"),
        ("epsilon", "x", "epsilon must be a number; got 'x'"),
        ("expiry", "{60}", "expiry is not JSON"),
        ("expiry", "60", "Expected `object | null`, got `str` - at `$.expiry`"),
        ("expiry", '{"after": 1e19}', "expiry.after, in seconds, must be a number above 0 and at most 3"),
    ):
        more = {"name": "of a file", word: text}
        sent = http.post("/v1/experiments", params=more, content=pairs, headers=kind)
        detail = problem(sent, 422)
        assert said in detail
        assert "beside a file" not in detail


_ONE = "/v1/experiments/{name}"
# Of every call, requests that go well: what stands for the names in its path, its body, what is accepted.
CALLS = [
    ("get", "/v1/experiments", {}, None, None),
    ("post", "/v1/experiments", {}, {"name": "other", "n_arms": 2, "policy": "ucb1"}, None),
    ("get", _ONE, {}, None, None),
    ("post", f"{_ONE}/ask", {}, None, None),
    ("post", f"{_ONE}/ask", {}, {"n": 2, "propensity": True, "distinct": True}, None),
    ("post", f"{_ONE}/tell", {}, {"rewards": []}, None),
    ("post", f"{_ONE}/observe", {}, {"arm": 0, "reward": 1}, None),
    ("post", f"{_ONE}/cancel", {}, {"decisions": []}, None),
    ("post", f"{_ONE}/extend", {}, {"similar": [[0, 1]]}, None),
    ("post", f"{_ONE}/retire", {}, {"arm": 2}, None),
    ("post", f"{_ONE}/reinstate", {}, {"arm": 2}, None),
    ("post", f"{_ONE}/erase-unit", {}, {"unit": "user-17"}, None),
    ("post", f"{_ONE}/merge", {}, {"experiments": ["other"]}, None),
    ("post", f"{_ONE}/pause", {}, None, None),
    ("post", f"{_ONE}/stop", {}, {"arm": 1, "reason": "x"}, None),
    ("post", f"{_ONE}/resume", {}, {}, None),
    ("post", f"{_ONE}/tolerance", {}, {"tolerance": 0.2}, None),
    ("post", f"{_ONE}/snapshot", {}, None, None),
    ("post", f"{_ONE}/snapshot", {}, None, "application/octet-stream"),
    ("get", f"{_ONE}/arms", {}, None, None),
    ("get", f"{_ONE}/best", {}, None, None),
    ("get", f"{_ONE}/best?top=2", {}, None, None),
    ("get", _ONE + "/why/{arm}", {"arm": 0}, None, None),
    ("get", f"{_ONE}/stopping", {}, None, None),
    ("get", f"{_ONE}/stopping?top=all", {}, None, None),
    ("get", f"{_ONE}/lift?control=1", {}, None, None),
    ("get", f"{_ONE}/suspects", {}, None, None),
    ("get", f"{_ONE}/drift", {}, None, None),
    ("get", f"{_ONE}/events", {}, None, None),
    ("get", f"{_ONE}/events", {}, None, "application/vnd.apache.parquet"),
    ("get", "/v1/keys", {}, None, None),
    ("get", "/v1/webhooks", {}, None, None),
    ("post", "/v1/webhooks", {}, {"url": "http://127.0.0.1:9/hook"}, None),
    ("post", "/v1/webhooks/{webhook}/test", {}, None, None),
    ("delete", "/v1/webhooks/{webhook}", {}, None, None),
    ("get", "/healthz", {}, None, None),
    ("get", "/readyz", {}, None, None),
    ("get", "/metrics", {}, None, None),
    ("delete", _ONE, {"name": "other"}, None, None),
]
NOT_CALLED = {"stream", "addKey", "removeKey"}  # has no end; would lock the others out


@pytest.fixture
def described(http):
    """An experiment to walk through the description with."""
    body = {"name": "described", "n_arms": 3, "policy": "ts", "epsilon": 0.2, "floor": {"1": 0.1}}
    assert http.post("/v1/experiments", json=body).status_code == 201
    yield description()["paths"]
    assert http.delete("/v1/experiments/described").status_code == 200


def test_answers_are_as_described(http, described):
    schemas = description()["components"]["schemas"]
    called = set()
    for method, path, names, body, accept in CALLS:
        call = described[path.partition("?")[0].replace("webhook}", "number}")][method]
        called.add(call["operationId"])
        assert (body is None) <= (not call.get("requestBody", {}).get("required", False)), path
        if "{webhook}" in path:
            names = {"webhook": http.get("/v1/webhooks").json()["webhooks"][0]["id"]}
        url = path.format(**{"name": "described"} | names)
        headers = {} if accept is None else {"accept": accept}
        sent = http.request(method, url, json=body, headers=headers)
        assert sent.status_code == 200 or sent.status_code == 201, (url, sent.text)
        content = call["responses"][str(sent.status_code)]["content"]
        kind = sent.headers["content-type"].partition(";")[0]
        assert kind == (accept or next(iter(content)))
        if kind == "application/json":
            schema = schemas[content[kind]["schema"]["$ref"].rpartition("/")[2]]
            assert set(schema.get("required", ())) <= set(sent.json()) <= set(schema["properties"]), url
    every = {call["operationId"] for calls in described.values() for call in calls.values()}
    assert called == every - NOT_CALLED


def test_the_words_of_queries_are_those_described(http, described, monkeypatch):
    """Whatever else the code looked for would be missing; what it did not look at would be too much."""
    seen = set()

    def watch(name):
        plain = getattr(QueryParams, name)

        def watched(self, word, *more):
            seen.add(word)
            return plain(self, word, *more)

        monkeypatch.setattr(QueryParams, name, watched, raising=False)

    for name in ("get", "__getitem__", "__contains__"):
        watch(name)
    for path, calls in described.items():
        if "get" not in calls or calls["get"]["operationId"] in NOT_CALLED:
            continue
        url = path.format(name="described", arm=0)
        words = {each["name"]: each for each in calls["get"].get("parameters", []) if each["in"] == "query"}
        seen.clear()
        assert http.get(url).status_code == 200
        assert seen == set(words), path
        for word, each in words.items():
            if each["schema"].get("type") != "string" or "enum" in each["schema"]:
                assert word in problem(http.get(url, params={word: "nonsense"}), 422)
            for value in each["schema"].get("enum", ()):
                assert http.get(url, params={word: value}).status_code == 200


def test_the_bodies_are_those_described(http, described):
    for path, calls in described.items():
        for method, call in calls.items():
            content = call.get("requestBody", {}).get("content", {})
            url = path.format(name="described", arm=0, number=0)
            if "application/json" in content:
                sent = http.request(method, url, json={"nonsense": 1})
                assert "nonsense" in problem(sent, 422)
            for kind in set(content) - {"application/json"}:
                sent = http.request(method, url, content=b"\0", headers={"content-type": kind})
                assert "not JSON" not in problem(sent, 422)
