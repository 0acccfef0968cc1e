"""Signing in, and the pages that change something: who may, what is asked, what is in the log."""

from __future__ import annotations

import asyncio
import json
import re
import time
from html import unescape

import httpx
import pytest

import lsdt
from lsdt.service.app import create_app
from lsdt.service.hosting import Service
from lsdt.service.keys import add_key, remove_key
from lsdt.service.server import in_background
from lsdt.service.sessions import SCOPE, Sessions
from lsdt.service.settings import Settings
from lsdt.storage import open_store

BASE = "http://localhost:8900"
EVIL = '"><script>alert(1)</script>'
DRINKS = "/experiments/drinks"


@pytest.fixture
def service(tmp_path):
    made = Service(Settings(f"sqlite:///{tmp_path}/lsdt.db", origins=["https://shop.example"]))
    side = lsdt.SideInformation(4, arm_ids=["tea", "juice", EVIL, "mate"])
    made.make("drinks", side, {"policy": "ucb1"}, None)
    made.make("food", lsdt.SideInformation(2), {"policy": "ucb1"}, None)
    yield made
    made._close_store()


class Browser:
    """Sends what a browser would: cookies, an Origin, and the token of the page that has the form."""

    def __init__(self, service, base=BASE, **headers):
        self.app, self.base, self.cookies = create_app(service), base, httpx.Cookies()
        self.headers = headers

    def send(self, method, path, **more):
        async def run():
            transport = httpx.ASGITransport(self.app, client=("127.0.0.1", 1))
            options = {"base_url": self.base, "cookies": self.cookies, "headers": self.headers}
            async with httpx.AsyncClient(transport=transport, **options) as http:
                answer = await http.request(method, path, **more)
                self.cookies = http.cookies
                return answer

        return asyncio.run(run())

    def get(self, path):
        return self.send("GET", path)

    def post(self, path, data, page=None, **headers):
        """Send the form of a page."""
        token = {} if "token" in data else {"token": self.token(page or path)}
        return self.send("POST", path, data=data | token, headers={"origin": self.base} | headers)

    def token(self, page):
        found = re.search(r'name="token" value="(\w+)"', self.get(page).text)
        return found[1] if found else ""

    def sign_in(self, key, **headers):
        return self.send("POST", "/login?next=/", data={"key": key}, headers={"origin": self.base} | headers)


def keyed(service, role, experiment=None, name=""):
    """Return a browser that has signed in with a new key."""
    key, known = add_key(service.store, role, experiment, None, name)
    service.keys.reload()
    browser = Browser(service)
    assert browser.sign_in(key).status_code == 303
    return browser, key, known


def log_of(service, name="drinks"):
    from lsdt.service.event_log import as_row, entries

    agent = service.hosted[name].agent
    return [as_row(each, agent.side) for batch in entries(service.store, name, 0, None) for each in batch]


# ---------------------------------------------------------------- sessions


def test_a_session_stands_for_a_key_and_does_not_hold_it(service):
    browser, key, known = keyed(service, "operate", name="alice")
    cookie = next(iter(browser.cookies.jar))
    assert (cookie.name, cookie.secure, cookie.path) == ("lsdt_session", False, "/")
    assert {"HttpOnly", "SameSite"} <= set(cookie._rest)
    assert key not in cookie.value
    assert known.digest not in cookie.value
    notes = service.store.recall(SCOPE)
    assert not any(cookie.value in digest or cookie.value.encode() in note for digest, note in notes.items())
    page = browser.get("/")
    assert page.status_code == 200
    assert "alice (operate)" in page.text
    assert key not in page.text
    assert cookie.value not in page.text
    assert browser.get("/v1/experiments").status_code == 200


def test_over_tls_the_cookie_is_for_this_host_alone(service):
    key, _ = add_key(service.store, "read")
    service.keys.reload()
    browser = Browser(service, "https://lsdt.example", **{"x-forwarded-proto": "https"})
    answer = browser.sign_in(key)
    assert answer.headers["set-cookie"].startswith("__Host-lsdt_session=")
    for word in ("Secure", "HttpOnly", "Path=/", "SameSite=strict", "Max-Age=43200"):
        assert word in answer.headers["set-cookie"]
    assert "domain" not in answer.headers["set-cookie"].lower()
    assert browser.get("/").status_code == 200
    token = browser.cookies["__Host-lsdt_session"]
    plain = {"cookie": f"lsdt_session={token}", "x-forwarded-proto": "https"}
    assert Browser(service, "https://lsdt.example", **plain).get("/").status_code == 303


def test_a_session_ends_when_its_key_goes_when_it_is_over_and_when_its_user_says_so(service, monkeypatch):
    browser, key, known = keyed(service, "operate")
    token = browser.token("/experiments/drinks/manage")
    assert browser.send("POST", "/logout", data={"token": "x"}, headers={"origin": BASE}).status_code == 403
    before = browser.cookies["lsdt_session"]
    assert browser.post("/logout", {"token": token}).headers["location"] == "/login"
    assert "lsdt_session" not in browser.cookies
    browser.cookies = httpx.Cookies({"lsdt_session": before})
    assert browser.get("/").status_code == 303
    assert not service.store.recall(SCOPE)
    browser.cookies = httpx.Cookies()
    browser.sign_in(key)
    assert browser.get("/").status_code == 200
    clock = lsdt.storage.now() + round(12.1 * 3600e6)
    monkeypatch.setattr("lsdt.service.sessions.now", lambda: clock)
    assert browser.get("/").headers["location"] == "/login?next=/"
    assert browser.post(f"{DRINKS}/manage/pause", {"token": token}).status_code == 303
    monkeypatch.undo()
    assert browser.get("/").status_code == 200
    remove_key(service.store, known.id)
    service.keys.reload()
    assert browser.get("/").status_code == 303
    assert service.hosted["drinks"].agent.status.name == "open"


def test_a_session_that_was_there_before_is_worth_nothing_after_signing_in(service):
    """Fixation: a token that somebody else put into the browser."""
    thief, _, _ = keyed(service, "read")
    planted = thief.cookies["lsdt_session"]
    key, _ = add_key(service.store, "admin")
    service.keys.reload()
    for token in (planted, "of my own making"):
        victim = Browser(service, cookie=f"lsdt_session={token}")
        answer = victim.sign_in(key)
        assert answer.status_code == 303
        assert token not in answer.headers["set-cookie"]
    assert thief.get("/").status_code == 303  # its session ended
    mine = victim.cookies["lsdt_session"]
    for cookie, status in ((mine, 200), (f"{planted}; lsdt_session={mine}", 303)):
        assert Browser(service, cookie=f"lsdt_session={cookie}").get("/").status_code == status


def test_a_key_is_entered_on_our_own_page_only(service):
    key, _ = add_key(service.store, "admin")
    service.keys.reload()
    browser = Browser(service)
    for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"},
                    {"origin": "https://shop.example"}, {"sec-fetch-site": "same-site"}):  # fmt: skip
        assert browser.sign_in(key, **headers).status_code == 403
    assert browser.send("POST", "/login", json={"key": key}).status_code == 415
    assert browser.send("POST", f"/login?key={key}", data={"key": ""}).status_code == 401
    assert browser.get(f"/?key={key}").status_code == 303
    wrong = browser.sign_in(key[:-1])
    assert wrong.status_code == 401
    assert "This key is not known" in wrong.text
    assert not service.store.recall(SCOPE)


def test_sessions_outlive_a_restart_and_are_known_to_others_and_bounded(tmp_path):
    url = f"sqlite:///{tmp_path}/x.db"
    with open_store(url) as store:
        one, other = (Sessions(store, bytes(32), 60.0) for _ in range(2))
        token = one.begin("k")
        assert other.find(token) is None
        other.reload()
        assert other.find(token).key == "k"
        assert one.form_token(token) == other.form_token(token) != one.form_token("x")
        tokens = [one.begin("k") for _ in range(120)]
        assert len(store.recall(SCOPE)) == 100
        assert one.find(token) is None
        assert one.find(tokens[-1]).key == "k"
    with open_store(url) as store:
        assert Sessions(store, bytes(32), 60.0).find(tokens[-1]).key == "k"
    with open_store(url, read_only=True) as store:
        alone = Sessions(store, bytes(32), 60.0, read_only=True)
        assert alone.find(alone.begin("k")).key == "k"


def test_a_browser_that_signed_in_at_one_replica_is_known_to_the_others(monkeypatch):
    with open_store("memory://two replicas") as store:
        key, _ = add_key(store, "read")
        first, second = (Service(Settings("memory://two replicas")) for _ in range(2))
        monkeypatch.setattr(type(second.store), "is_shared", True)
        browser = Browser(first)
        assert browser.sign_in(key).status_code == 303
        other = Browser(second)
        other.cookies = browser.cookies
        time.sleep(0.15)
        assert other.get("/health").status_code == 200
        assert Browser(second, cookie="lsdt_session=x").get("/health").status_code == 303


# ---------------------------------------------------------------- what operators do


def test_an_operator_pauses_stops_resumes_retires_and_the_log_says_who(service):
    browser, _, known = keyed(service, "operate", "drinks", "alice")
    hosted = service.hosted["drinks"]
    who = f"alice ({known.id})"
    page = browser.get(f"{DRINKS}/manage")
    assert page.status_code == 200
    assert "Delete" not in page.text
    assert browser.get(f"{DRINKS}/manage/pause").status_code == 200
    assert hosted.agent.status.name == "open"  # to look at a page changes nothing
    done = browser.post(f"{DRINKS}/manage/pause", {"reason": " wrong\tprices "})
    assert (done.status_code, done.headers["location"]) == (303, f"{DRINKS}/manage?done=pause")
    assert "It is paused." in browser.get(done.headers["location"]).text
    assert hosted.agent.status.reason.endswith(f"by {who}: wrong prices")
    assert "paused since" in browser.get(DRINKS).text
    confirm = browser.get(f"{DRINKS}/manage/stop?arm=juice").text
    assert "Stop: juice" in confirm
    assert browser.post(f"{DRINKS}/manage/stop", {"arm": "juice"}).status_code == 303
    assert hosted.agent.status.arm_id == "juice"
    assert browser.post(f"{DRINKS}/manage/retire", {"arm": "tea", "reason": EVIL}).status_code == 303
    assert browser.post(f"{DRINKS}/manage/reinstate", {"arm": "tea"}).status_code == 303
    assert browser.post(f"{DRINKS}/manage/stop", {"arm": EVIL}).status_code == 303
    assert browser.post(f"{DRINKS}/manage/resume", {}).status_code == 303
    assert browser.post(f"{DRINKS}/manage/tolerance", {"tolerance": "0.02"}).status_code == 303
    assert hosted.agent.tolerance == 0.02
    told = [(each["event"], each["arm"], each["reason"]) for each in log_of(service) if each["by"] == who]
    assert told == [
        ("pause", None, "wrong prices"),
        ("stop", "juice", None),
        ("retire", "tea", EVIL),
        ("reinstate", "tea", None),
        ("stop", EVIL, None),
        ("resume", None, None),
        ("tolerance", None, None),
    ]
    log = browser.get(f"{DRINKS}/log").text
    assert log.count(who) == 7
    api = {"json": {"rewards": 150 * [{"arm": "tea", "reward": 0}]}, "headers": {"origin": BASE}}
    api["headers"]["x-lsdt-token"] = browser.token(f"{DRINKS}/manage/pause")
    assert browser.send("POST", f"/v1{DRINKS}/observe", **api).status_code == 200
    assert who not in browser.get(f"{DRINKS}/log?after=20").text
    actions = browser.get(f"{DRINKS}/log?show=actions").text
    assert actions.count(who) == 7
    assert "observe" not in actions
    for page in ("", "/log", "/manage", "/arms"):
        assert "<script>alert" not in browser.get(DRINKS + page).text


def test_wrong_values_are_said_on_the_page_and_change_nothing(service):
    browser, _, _ = keyed(service, "admin")
    for word, data, said in (
        ("stop", {"arm": "purple"}, "there is no arm 'purple'"),
        ("stop", {"arm": ""}, "say which arm"),
        ("stop", {"arm": EVIL + "x"}, "there is no arm"),
        ("reinstate", {"arm": "tea"}, "has not retired"),
        ("tolerance", {"tolerance": "-1"}, "tolerance must be"),
        ("tolerance", {"tolerance": EVIL}, "must be a number"),
        ("pause", {"reason": "x" * 501}, "at most 500 printable"),
        ("delete", {"name": "drink"}, "enter the name of the experiment"),
    ):
        answer = browser.post(f"{DRINKS}/manage/{word}", data)
        assert answer.status_code == 422, word
        assert said in unescape(answer.text)
        assert "<script>alert" not in answer.text
    assert log_of(service) == []
    assert browser.get(f"{DRINKS}/manage/explode").status_code == 404
    assert browser.get(f"{DRINKS}/manage/stop?arm={EVIL}").text.count("<script>alert") == 0
    assert browser.post(f"{DRINKS}/manage/delete", {"name": "drinks"}).headers["location"] == "/"
    assert "drinks" not in service.hosted


def test_roles_and_scopes(service):
    words = ("pause", "resume", "stop", "retire", "reinstate", "tolerance", "delete")
    full, _, _ = keyed(service, "admin")
    for role, experiment in (("read", None), ("decide", None), ("operate", "food"), ("admin", "food")):
        browser, key, _ = keyed(service, role, experiment)
        token = browser.token("/" if role != "admin" else "/experiments/food/manage")
        for word in words:
            for method in ("GET", "POST"):
                data = {"token": token, "arm": "tea", "name": "drinks"}
                more = {"data": data, "headers": {"origin": BASE}} if method == "POST" else {}
                assert browser.send(method, f"{DRINKS}/manage/{word}", **more).status_code == 403, (
                    role,
                    word,
                )
            body = {"arm": "tea"} if word in ("stop", "retire", "reinstate") else {}
            body = {"tolerance": 1} if word == "tolerance" else body
            call = ("DELETE", "") if word == "delete" else ("POST", f"/{word}")
            more = {"json": body, "headers": {"authorization": f"Bearer {key}"}}
            sent = Browser(service).send(call[0], f"/v1{DRINKS}{call[1]}", **more)
            assert sent.status_code == 403, (role, word)
        assert browser.get(f"{DRINKS}/manage").status_code == 403
        assert browser.get("/new").status_code == 403
        new = {"token": token, "name": "more", "arms": "a\nb", "step": "make"}
        assert browser.post("/new", new).status_code == 403
        assert "Manage" not in browser.get(DRINKS).text
        assert "New experiment" not in browser.get("/").text
    assert log_of(service) == []
    operator, _, _ = keyed(service, "operate")
    assert operator.get(f"{DRINKS}/manage/delete").status_code == 403
    assert full.get(f"{DRINKS}/manage/delete").status_code == 200


def test_forged_requests_change_nothing(service):
    browser, _, _ = keyed(service, "admin")
    other, _, _ = keyed(service, "admin")
    token, theirs = browser.token(f"{DRINKS}/manage"), other.token(f"{DRINKS}/manage")
    assert token != theirs
    pause, api = f"{DRINKS}/manage/pause", f"/v1{DRINKS}/pause"
    forged = [
        ({"reason": "x"}, {"origin": BASE}),  # no token
        ({"token": theirs}, {"origin": BASE}),  # of another session
        ({"token": token[:-1] + "é"}, {"origin": BASE}),
        ({"token": token}, {}),  # neither Origin nor Sec-Fetch-Site
        ({"token": token}, {"origin": "null"}),
        ({"token": token}, {"origin": "https://evil.example"}),
        (
            {"token": token},
            {"origin": "https://shop.example"},
        ),  # which may call with a key, not with a cookie
        ({"token": token}, {"origin": BASE, "sec-fetch-site": "cross-site"}),
        ({"token": token}, {"origin": BASE, "sec-fetch-site": "same-site"}),
    ]
    for data, headers in forged:
        assert browser.send("POST", pause, data=data, headers=headers).status_code == 403, (data, headers)
        sent = {"x-lsdt-token": data.get("token", "").encode("ascii", "ignore").decode()}
        for call in (api, f"/v1{DRINKS}/ask"):
            answer = browser.send("POST", call, json={}, headers=sent | headers)
            assert answer.status_code == 403, (data, headers)
    for method, path in (("DELETE", f"/v1{DRINKS}"), ("POST", "/v1/keys"), ("POST", "/v1/experiments")):
        assert browser.send(method, path, headers={"origin": BASE}).status_code == 403
    assert browser.get(f"{pause}?token={token}").status_code == 200  # a link does nothing
    assert browser.send("HEAD", pause).status_code == 200
    assert log_of(service) == []
    good = {"origin": BASE, "sec-fetch-site": "same-origin"}
    assert browser.send("POST", api, json={}, headers=good | {"x-lsdt-token": token}).status_code == 200
    assert browser.send("POST", pause, data={"token": token}, headers=good).status_code == 303


def test_decisions_with_a_session_need_a_page_of_ours_too(tmp_path):
    """They do not pass through the framework."""
    store = f"sqlite:///{tmp_path}/x.db"
    with open_store(store) as opened:
        key, _ = add_key(opened, "admin")
    with in_background(store) as url, httpx.Client(base_url=url, headers={"origin": url}) as http:
        lsdt.Client.open(url, "drinks", side=lsdt.SideInformation(2), key=key, policy="ucb1").close()
        assert http.post("/login", data={"key": key}).status_code == 303
        token = re.search(r'name="token" value="(\w+)"', http.get("/").text)[1]
        statuses = [
            http.post(f"/v1{DRINKS}/ask", json={}, headers=headers).status_code
            for headers in ({}, {"x-lsdt-token": "x"}, {"x-lsdt-token": token}, {"origin": "null"})
        ]
        assert statuses == [403, 403, 200, 403]


def test_without_keys_this_machine_may_do_everything_and_forms_have_a_token(service):
    browser = Browser(service)
    assert "may do everything" in browser.get("/").text
    assert browser.post(f"{DRINKS}/manage/pause", {}).status_code == 303
    assert log_of(service)[-1]["by"] == "this machine, without a key"
    resume, token = f"{DRINKS}/manage/resume", browser.token(f"{DRINKS}/manage/resume")
    for data, headers in (
        ({"reason": "x"}, {"origin": BASE}),
        ({"token": token}, {}),
        ({"token": token}, {"origin": "null"}),
    ):
        assert browser.send("POST", resume, data=data, headers=headers).status_code == 403
    elsewhere = Browser(service, "http://evil.example")
    assert elsewhere.get(resume).status_code == 403
    assert elsewhere.post(resume, {"token": token}).status_code == 403
    assert service.hosted["drinks"].agent.status.name == "paused"
    add_key(service.store, "admin")
    service.keys.reload()
    assert browser.post(resume, {"token": token}).headers["location"].startswith("/login")  # no longer


# ---------------------------------------------------------------- a new experiment

LIST = {
    "name": "buttons",
    "arms": "control\n\n red button \r\nblue button\n",
    "relations": "red button, blue button, similar\ncontrol, red button, -0.2, 0.3",
    "rewards": "bernoulli",
    "epsilon": "0.1",
    "tolerance": "0.02",
    "expiry": "1 hour",
    "expiry_reward": "0",
    "floor_arm": "control",
    "floor_share": "0.1",
    "sticky": "30 days",
    "policy": "ts",
}


def test_an_experiment_is_made_of_a_list_of_names_after_a_look_at_it(service):
    browser, _, known = keyed(service, "operate", name="bob")
    review = browser.post("/new", LIST)
    assert review.status_code == 200
    assert "Begin buttons?" in review.text
    assert "control, red button, blue button" in review.text
    assert "; epsilon 0.1<" in review.text
    names = ["Prix\u202f!", "赤い\u3000ボタン", "می\u200cخواهم", "👩\u200d💻"]  # with spaces and joiners
    foreign = browser.post("/new", {"name": "names", "arms": "\n".join(names), "step": "make"})
    assert foreign.headers["location"] == "/experiments/names"
    agent = service.hosted["names"].agent
    assert agent.side.arm_ids == tuple(names)
    done = browser.post("/experiments/names/manage/stop", {"arm": names[2], "reason": names[0]})
    assert done.status_code == 303
    assert agent.halt.text(agent.side).endswith("Prix !")
    numbers = browser.post("/new", LIST | {"rewards": "gaussian", "sigma": "2.5"})
    assert "any number, sigma 2.5<" in numbers.text
    assert "buttons" not in service.hosted
    fields = dict(re.findall(r'<textarea name="(\w+)" hidden[^>]*>\n(.*?)</textarea>', review.text, re.S))
    sent = {word: unescape(text) for word, text in fields.items()}
    changed = browser.post("/new", sent | {"step": "change"})
    assert "red button, blue button, similar" in changed.text
    made = browser.post("/new", sent | {"step": "make"})
    assert (made.status_code, made.headers["location"]) == (303, "/experiments/buttons")
    agent, hosted = service.hosted["buttons"].agent, service.hosted["buttons"]
    assert agent.side.arm_ids == ("control", "red button", "blue button")
    assert (agent.side.n_similar, agent.side.epsilon, agent.tolerance) == (1, 0.1, 0.02)
    assert agent.floor == {"control": 0.1}
    assert agent.sticky == 30 * 86_400
    assert (hosted.expiry.after, hosted.expiry.reward) == (3600.0, 0.0)
    assert log_of(service, "buttons")[0]["by"] == f"bob ({known.id})"
    assert browser.get("/experiments/buttons").status_code == 200
    assert browser.post("/new", {"step": "example", "name": "x"}).headers["location"] == "/experiments/x"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": ""}, "name must be text"),
        ({"name": "a/b"}, "without a slash"),
        ({"name": "food"}, "there is an experiment 'food' already"),
        ({"arms": " \n "}, "there are no arms"),
        ({"arms": "a\nb\na"}, "line 3 of the arms repeats 'a' of line 1"),
        ({"arms": "a\x00b"}, "line 1 of the arms: a name has at most 200 printable"),
        ({"arms": "a\u202eb"}, "line 1 of the arms"),  # which turns around what follows
        ({"arms": "x" * 201}, "line 1 of the arms"),
        ({"relations": "control, red button, like"}, "line 1 of the relations is two arms"),
        ({"relations": "control, purple, similar"}, "purple"),
        ({"relations": '"' + "x" * 200_000}, "line 1 of the relations"),
        ({"epsilon": "x"}, "epsilon must be a number"),
        ({"tolerance": "-1"}, "tolerance must be"),
        ({"floor_share": ""}, "a floor is an arm and a share"),
        ({"floor_arm": "purple"}, "there is no arm 'purple'"),
        ({"holdout_arm": "control"}, "a holdout is an arm and a share"),
        ({"expiry": "soon"}, "expiry is a stretch of time"),
        ({"sigma": "2"}, "sigma is said of rewards that are any number"),
        ({"policy": "ucb2"}, "did you mean"),
        ({"name": EVIL, "epsilon": EVIL}, "epsilon must be a number"),
    ],
)
def test_what_cannot_be_made_is_said_and_nothing_is_lost(service, change, said):
    browser = Browser(service)
    answer = browser.post("/new", LIST | change)
    assert answer.status_code in (409, 422)
    assert said in unescape(answer.text)
    assert "<script>alert" not in answer.text
    assert "control" in answer.text or "arms" in change
    assert set(service.hosted) == {"drinks", "food"}


def test_enormous_and_odd_forms_are_refused(service):
    browser = Browser(service)
    token, origin = browser.token("/new"), {"origin": BASE}
    form = {"content-type": "application/x-www-form-urlencoded"} | origin
    for content, status in (
        (b"arms=" + b"x" * (4 * 2**20), 413),
        (b"&".join(b"a%d=1" % number for number in range(100)), 400),
        (b"\xff\xfe=1", 400),
        (b"a=%ff%fe", 400),
        (b"", 403),
    ):
        assert browser.send("POST", "/new", content=content, headers=form).status_code == status
    assert browser.send("POST", "/new", json={"token": token}, headers=origin).status_code == 415
    assert browser.send("POST", "/new", files={"arms": b"x"}, headers=origin).status_code == 415
    many = "\n".join(f"arm {number}" for number in range(20_000))
    review = browser.post("/new", {"name": "many", "arms": many, "policy": "ts"})
    assert "20,000: arm 0, arm 1" in review.text


def test_a_reader_enters_a_tolerance_where_there_is_no_epsilon(service):
    browser, _, _ = keyed(service, "read")
    agent = service.hosted["drinks"].agent
    for number in range(600):
        agent.observe(["tea", "juice", EVIL, "mate"][number % 4], float(number % 4 == 1))
    assert "Enter a tolerance" in browser.get(DRINKS).text
    assert "has no epsilon" in browser.get(f"{DRINKS}/stopping").text
    page = browser.get(f"{DRINKS}/stopping?tolerance=0.1").text
    assert ">yes<" in page
    assert "Use this tolerance" not in page
    assert "must be a number" in browser.get(f"{DRINKS}/stopping?tolerance={EVIL}").text
    operator, _, _ = keyed(service, "operate")
    assert "Use this tolerance" in operator.get(f"{DRINKS}/stopping?tolerance=0.1").text


def test_a_read_only_service_signs_in_and_out_and_changes_nothing(tmp_path):
    url = f"sqlite:///{tmp_path}/lsdt.db"
    service = Service(Settings(url))
    service.make("drinks", lsdt.SideInformation(2), {"policy": "ucb1"}, None)
    key, _ = add_key(service.store, "admin")
    screen = Service(Settings(url, read_only=True))
    browser = Browser(screen)
    assert browser.sign_in(key).status_code == 303
    page = browser.get(DRINKS)
    assert page.status_code == 200
    assert "Manage" not in page.text
    for path in ("/new", f"{DRINKS}/manage", f"{DRINKS}/manage/pause"):
        assert browser.get(path).status_code == 403
    token = browser.token("/")
    assert browser.post(f"{DRINKS}/manage/pause", {"token": token}).status_code == 403
    assert browser.post("/logout", {"token": token}).status_code == 303
    assert browser.get("/").status_code == 303
    assert not service.store.recall(SCOPE)
    screen._close_store()
    service._close_store()


def test_a_page_that_is_open_ends_with_its_session(service):
    """The stream of a signed-out browser says nothing more."""
    from lsdt.service.pages.live import Live
    from lsdt.service.pages.routes import Pages
    from lsdt.service.routes import Routes

    pages, welcome = Pages(Routes(service), service), [True]

    async def run():
        stream = Live(service, pages._templates).pushes(service.hosted["drinks"], lambda: welcome[0])
        assert json.loads((await anext(stream)).removeprefix(b"data: "))["parts"]
        welcome[0] = False
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    asyncio.run(run())
