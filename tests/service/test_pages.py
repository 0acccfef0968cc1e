"""The pages, as a server renders them and as a browser sees them."""

from __future__ import annotations

import json
import math
import re
import shutil
import threading
import time
import warnings
from html import unescape

import httpx
import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.service.attention import of_experiment, of_service, pending_growth
from lsdt.service.hosting import HostedExperiment, Point, Service
from lsdt.service.keys import add_key
from lsdt.service.messages import AskRequest, Expiry
from lsdt.service.pages.view import _label, _line, _ticks
from lsdt.service.plans import Plans, plan_text
from lsdt.service.server import in_background
from lsdt.service.settings import Settings
from lsdt.service.stopping_forecast import StoppingForecasts, _Forecast, stopping_forecast
from lsdt.storage import open_store
from service.devtools import Browser

EVIL = '<img src=x onerror="document.title=1">'
PAGES = (
    "",
    "/stopping",
    "/manage",
    "/manage/stop",
    "/manage/delete",
    "/arms",
    "/log",
    "/arms/tea",
    "/arms/%3Cimg%20src%3Dx%20onerror%3D%22document.title%3D1%22%3E",
)


@pytest.fixture(scope="module")
def url():
    with in_background() as url:
        side = lsdt.SideInformation(3, [("tea", EVIL)], arm_ids=["tea", EVIL, "juice"], epsilon=0.1)
        with lsdt.Client.open(url, "drinks", side=side, policy="ucb1") as agent:
            for number, decision in enumerate(agent.ask(30)):
                agent.tell(decision, float(number % 3 == 0))
        yield url


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """Look again at once, where people can wait for seconds."""
    for module in ("stopping_forecast", "pages.live"):
        monkeypatch.setattr(f"lsdt.service.{module}._SHORTEST", 0.05)
        monkeypatch.setattr(f"lsdt.service.{module}._MOST_SHARE", 1.0)


@pytest.fixture
def http(url):
    with httpx.Client(base_url=url, timeout=60.0) as client:
        yield client


def test_every_page_is_there_and_no_id_is_taken_for_html(http):
    for path in ("/", "/health", "/login", "/new", *(f"/experiments/drinks{page}" for page in PAGES)):
        answer = http.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"].startswith("text/html")
        assert EVIL not in answer.text
        assert "There are no keys" in answer.text
    assert "&lt;img" in http.get("/experiments/drinks").text
    assert http.get("/experiments/none").status_code == 404
    assert http.get("/experiments/drinks/arms", params={"search": "jui"}).text.count('scope="row"') == 1


def test_nothing_comes_from_elsewhere(http):
    """The pages work offline."""
    content = [http.get(path).text for path in ("/", "/experiments/drinks")]
    files = {name for text in content for name in re.findall(r'(?:src|href)="(/static/[^"]+)"', text)}
    assert {"/static/style.css", "/static/experiment.js", "/static/uplot/uPlot.iife.min.js"} <= files
    content += [http.get(name).raise_for_status().text for name in files if "uplot" not in name]
    assert not [text for text in content if re.search(r'(?:src|href)="https?:', text)]
    assert "MIT" in http.get("/static/uplot/LICENSE").text
    assert http.get("/static/../hosting.py").status_code == 404


def test_the_page_and_the_stream_say_how_far_it_is_from_stopping(http):
    made = {"arms": ["tea", "juice"], "epsilon": 0.2, "policy": "ucb1"}
    assert http.post("/v1/experiments", json={"name": "far", **made}).status_code == 201
    shown = _when(lambda: http.get("/experiments/far").text, "not yet")
    assert re.search(r"evidence 0\.0 of 3\.0 needed; .*tries to go", shown)
    rewards = [
        {"arm": arm, "reward": reward} for arm, reward in (("tea", 0), ("juice", 1)) for _ in range(80)
    ]
    assert http.post("/v1/experiments/far/observe", json={"rewards": rewards}).is_success
    known = http.get("/v1/experiments/far/stopping").json()
    assert (known["stop"], known["arm"], known["tries_to_go"]) == (True, "juice", 0)
    assert known["evidence"] > known["needed"] == pytest.approx(math.log(20))
    with http.stream("GET", "/v1/experiments/far/stream") as stream:
        events = (line for line in stream.iter_lines() if line.startswith('data: {"known"'))
        forecast = next(each for each in map(_data, events) if each["known"])
    assert forecast["arm"] == "juice"
    assert forecast["evidence"] == pytest.approx(known["evidence"])
    assert '<p class="big">yes</p>' in _when(lambda: http.get("/experiments/far").text, ">yes<")


def test_the_page_says_which_arm_is_sure_where_another_one_is_recommended(http):
    """Relations put water within the tolerance of all; juice, which paid more, may lie far below mate."""
    made = {"arms": ["juice", "water", "mate"], "epsilon": 0.2, "tolerance": 0.35, "policy": "ucb1"}
    made["similar"] = [["water", "mate"], ["water", "juice"]]
    assert http.post("/v1/experiments", json={"name": "two", **made}).is_success
    rewards = [{"arm": "juice", "reward": 1}] * 60 + [{"arm": "mate", "reward": 0}] * 5
    assert http.post("/v1/experiments/two/observe", json={"rewards": rewards}).is_success
    assert http.get("/v1/experiments/two/stopping").json()["arm"] == "water"
    assert http.get("/v1/experiments/two/best").json()["arm"] == "juice"
    shown = unescape(_when(lambda: http.get("/experiments/two").text, "tolerance of the best"))
    card = re.sub(r"\s+", " ", re.sub("<[^>]+>", "", shown))
    assert "water is within the tolerance of the best. That is not certain of juice, which has the" in card


def test_a_page_asks_for_a_tolerance_only_where_there_is_none(http):
    """While it is computed, too: what is said at first must not be wrong."""
    for name, known, text in (
        ("without", {}, "Enter a tolerance"),
        ("with epsilon", {"epsilon": 0.1}, "At another tolerance"),
        ("with tolerance", {"tolerance": 0.1}, "At another tolerance"),
    ):
        made = {"name": name, "arms": ["tea", "mate"], "policy": "ucb1", "similar": [["tea", "mate"]]}
        made = made if "epsilon" in known else {**made, "similar": []}
        assert http.post("/v1/experiments", json={**made, **known}).is_success
        assert text in http.get(f"/experiments/{name}").text, name


def test_an_arm_that_retires_is_no_longer_the_best_one_on_the_page(http):
    made = {"arms": ["tea", "juice", "mate"], "epsilon": 0.2, "policy": "ucb1"}
    assert http.post("/v1/experiments", json={"name": "gone", **made}).is_success
    rewards = [{"arm": arm, "reward": 1 - at} for at, arm in enumerate(["tea", "juice"]) for _ in range(80)]
    rewards += [{"arm": "mate", "reward": 0} for _ in range(80)]
    assert http.post("/v1/experiments/gone/observe", json={"rewards": rewards}).is_success
    _when(lambda: http.get("/experiments/gone").text, "<bdi>tea</bdi> is within the tolerance of the best")
    assert http.post("/v1/experiments/gone/retire", json={"arm": "tea"}).is_success
    _when(lambda: http.get("/experiments/gone").text, "arms that have not retired count, 2 of 3")


def test_the_forecast_says_that_open_decisions_are_in_the_way():
    agent = lsdt.Agent(lsdt.SideInformation(2, epsilon=0.2), "ucb1")
    for arm in (0, 1):
        for _ in range(40):
            agent.observe(arm, arm)
    assert stopping_forecast(agent).known
    for arm in (0, 1):
        agent.ask(100, allowed=[arm])
    found = stopping_forecast(agent)
    assert not found.known
    assert "200 decisions without a reward yet, counted at the worst, alone hold it up" in found.text
    assert "tries to go" not in found.text


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "the side information has no epsilon"),
        ({"epsilon": 0.1, "forget": 100, "policy": "ts"}, "this agent forgets"),
        ({"n_arms": 10_001, "arms": None, "epsilon": 0.1}, "on request only"),
    ],
)
def test_where_no_rule_says_when_to_stop_the_page_says_why(http, options, reason):
    made = {"name": "why", "arms": ["tea", "juice"], "policy": "ucb1"} | options
    assert http.post("/v1/experiments", json=made).status_code == 201
    try:
        shown = _when(lambda: http.get("/experiments/why").text, "not available")
        assert reason in shown
    finally:
        assert http.delete("/v1/experiments/why").is_success


def test_nobody_waits_while_it_is_found_out_how_far_it_is(monkeypatch):
    """The rule may take long, and is made beside the decisions."""
    may_end, has_begun = threading.Event(), threading.Event()
    rule = lsdt.agent.stopping.StoppingRule

    def slow(*given, **more):
        has_begun.set()
        assert may_end.wait(60)
        return rule(*given, **more)

    monkeypatch.setattr("lsdt.agent.stopping.StoppingRule", slow)
    side = lsdt.SideInformation(2, epsilon=0.1)
    with (
        in_background() as url,
        lsdt.Client.open(url, "slow", side=side, policy="ucb1") as agent,
        httpx.Client(base_url=url) as http,
    ):
        assert "it is being computed" in http.get("/experiments/slow").text
        assert has_begun.wait(60)
        agent.tell(agent.ask(), 1)  # would wait for the rule if the agent were held
        assert http.get("/experiments/slow").is_success
        may_end.set()
        _when(lambda: http.get("/experiments/slow").text, "tries to go")


def test_a_plan_is_shown_until_the_first_reward(http):
    made = {"arms": ["tea", "juice", "cocoa"], "epsilon": 0.2, "similar": [["tea", "juice"]]}
    assert http.post("/v1/experiments", json={"name": "planned", **made}).status_code == 201
    text = _when(lambda: http.get("/experiments/planned").text, 'id="plan">Of 3 arms, 3 can be the best.')
    assert re.search(r"it takes [\d,]+ tries \(90% of runs: [\d,]+ to [\d,]+\)", text)
    assert "In 1,000 rounds" in text
    http.post("/v1/experiments/planned/observe", json={"rewards": [{"arm": "tea", "reward": 1}]})
    assert _when(lambda: http.get("/experiments/planned").text, "best with")
    assert 'id="plan"' not in http.get("/experiments/planned").text


def test_a_plan_is_made_once_for_the_same_relations(monkeypatch):
    made = []

    def counted(agent, side, tolerance):
        made.append(tolerance)
        if tolerance == 0.3:
            raise RuntimeError("a mishap")
        return f"within {tolerance}"

    monkeypatch.setattr("lsdt.service.plans.plan_text", counted)
    store = open_store("memory://")
    agent = lsdt.Agent.open(store, "x", lsdt.SideInformation(2, epsilon=0.1), policy="ucb1")
    hosted, plans = HostedExperiment(agent, store.find("x"), bytes(32)), Plans()
    assert plans.of(hosted) in ("A plan is being computed.", "within None")
    _when(lambda: plans.of(hosted), "within None")
    agent.ask()
    assert plans.of(hosted) == "within None"
    agent.set_tolerance(0.2)
    _when(lambda: plans.of(hosted), "within 0.2")
    agent.set_tolerance(0.3)
    _when(lambda: plans.of(hosted), "No plan: ")
    assert made == [None, 0.2, 0.3]
    agent.observe(0, 1.0)
    assert plans.of(hosted) == ""


@pytest.mark.parametrize(
    ("n_arms", "options", "text"),
    [
        (301, {"epsilon": 0.1}, "more than 300 arms"),
        (2, {}, "so give a tolerance"),
        (2, {"epsilon": 0.1, "rewards": lsdt.rewards.laplace(1.0)}, "heavy tails"),
    ],
)
def test_why_there_is_no_plan(n_arms, options, text):
    epsilon = options.pop("epsilon", None)
    agent = lsdt.Agent(lsdt.SideInformation(n_arms, epsilon=epsilon), "ucb1", **options)
    assert text in plan_text(agent, agent.side, None)


def test_what_was_found_long_ago_is_not_shown(monkeypatch):
    store = open_store("memory://")
    agent = lsdt.Agent.open(store, "x", lsdt.SideInformation(2), policy="ucb1")
    hosted, forecasts = HostedExperiment(agent, store.find("x"), bytes(32)), StoppingForecasts()

    def text():
        return forecasts.of(hosted).forecast.text

    _when(text, "no epsilon")
    agent.observe(0, 1.0)
    assert "no epsilon" in text()  # of a moment ago
    agent.observe(0, 1.0)
    monkeypatch.setattr("lsdt.service.stopping_forecast._STALE", -1.0)
    assert text() == "it is being computed"
    monkeypatch.undo()
    _when(text, "no epsilon")


def test_a_look_that_compiles_does_not_put_off_the_next(monkeypatch):
    """Only looks that are slow time after time are made less often."""
    seconds = iter([0.0, 15.0, 15.0, 15.1, 20.0, 24.0, 24.0, 26.0])  # at the begin and the end of each look
    monkeypatch.undo()
    monkeypatch.setattr("lsdt.service.stopping_forecast.thread_time", lambda: next(seconds))
    monkeypatch.setattr("lsdt.service.stopping_forecast.monotonic", lambda: 1_000.0)
    store = open_store("memory://")
    agent = lsdt.Agent.open(store, "x", lsdt.SideInformation(2), policy="ucb1")
    hosted, forecasts, look = (
        HostedExperiment(agent, store.find("x"), bytes(32)),
        StoppingForecasts(),
        _Forecast(),
    )
    waits = []
    for _ in range(4):
        forecasts._find(look, hosted)
        waits.append(round(look.due - 1_000.0, 6))
    assert waits == [3.0, 3.0, 3.0, 40.0]


def test_attention_says_what_is_wrong_and_what_to_do(tmp_path, monkeypatch):
    usage = type(shutil.disk_usage("/"))
    circle = {"better": [[0, 1], [1, 2], [2, 0]], "n_arms": 4, "epsilon": 0.1}
    with (
        in_background(f"sqlite:///{tmp_path}/lsdt.db") as url,
        httpx.Client(base_url=url, timeout=60) as http,
    ):
        made = {"name": "circle", "policy": {"name": "ts", "on": "propagation"}} | circle
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lsdt.errors.ContradictionWarning)
            assert http.post("/v1/experiments", json=made).status_code == 201
        path = "/experiments/circle"
        shown = _when(lambda: _attention(http.get(path).text), "these cannot all be true")
        assert "POST .../extend" in shown
        assert "disk" not in shown
        rewards = [{"arm": 0, "reward": int(number < 100)} for number in range(200)]
        http.post(f"/v1{path}/observe", json={"rewards": rewards})
        assert "its mean was 1 in its first" in _when(lambda: _attention(http.get(path).text), "has changed")
        lost = http.post(f"/v1{path}/ask", json={}).json()["decisions"][0]
        http.post(f"/v1{path}/observe", json={"rewards": 250 * [{"arm": lost["arm"], "reward": 1}]})
        shown = _when(lambda: _attention(http.get(path).text), "250 later plays")
        assert f"Decision 0, for {lost['arm']}, has had no reward for" in shown
        assert "POST .../cancel" in shown
        http.post(f"/v1{path}/pause", json={})
        monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**12, 10**12 - 3 * 10**8, 3 * 10**8))
        shown = _when(lambda: _attention(http.get(path).text), "The disk of the store has 300 MB left")
        assert "is paused" in shown
        assert "300 MB left" in http.get("/health").text


def _attention(page):
    return page.partition('id="attention"')[2].partition("</section>")[0]


def test_pending_decisions_that_grow_are_noticed():
    def history(*pending):
        return [Point(60.0 * at, 0, 0, None, None, None, {}, each) for at, each in enumerate(pending)]

    grown = pending_growth(history(100, 150, 200), 260, 180.0)
    assert grown == "Ever more decisions wait for their reward: 260, and 3 minutes ago 100. "
    assert not pending_growth(history(100, 150, 200), 140, 180.0)  # it grows, and goes again
    assert not pending_growth(history(200, 210, 220), 230, 180.0)  # hardly
    assert not pending_growth(history(1, 2, 3), 50, 180.0)  # few
    assert not pending_growth(history(100), 500, 30.0)  # too early to say
    assert not pending_growth([], 500, 30.0)


@pytest.mark.parametrize("expiry", [None, Expiry(3600.0, 0.0)])
def test_decisions_that_will_expire_do_not_pile_up(expiry):
    service = Service(Settings("memory://"))
    hosted = service.make("ads", lsdt.SideInformation(2), {"policy": "ucb1"}, expiry)
    hosted.ask(AskRequest(n=200))
    for ago, pending in ((200.0, 10), (100.0, 100)):
        hosted.activity.sample(time.time() - ago, hosted.agent.side, pending, 0, pending)
    found = of_experiment(service, hosted, service.forecasts.of(hosted))
    assert any("Ever more decisions" in each.text for each in found) == (expiry is None)


def test_slow_commits_and_a_store_that_failed_are_said(tmp_path, monkeypatch):
    service = Service(Settings(f"sqlite:///{tmp_path}/lsdt.db"))
    try:
        assert of_service(service) == []
        for _ in range(30):
            service.metrics.commit(0.5, 1)
        assert (
            "Commits are slow: of the last 30, one in twenty took 0.5 seconds" in of_service(service)[0].text
        )
        service.commits.failure = "the disk is gone"
        assert (
            "nothing is answered until the service is restarted: the disk is gone."
            in of_service(service)[0].text
        )
    finally:
        service.store.close()


def test_a_store_that_failed_leaves_pages_for_people(tmp_path, monkeypatch):
    from lsdt.storage.sqlite import SqliteStore

    with in_background(f"sqlite:///{tmp_path}/lsdt.db") as url, httpx.Client(base_url=url) as http:
        http.post("/v1/experiments", json={"name": "plain", "n_arms": 2, "policy": "ucb1"})

        def full(self):
            raise lsdt.errors.StoreFailed("the disk is full")

        monkeypatch.setattr(SqliteStore, "commit", full)
        assert http.post("/v1/experiments/plain/ask").status_code == 503
        page = http.get("/experiments/plain")
        assert (page.status_code, page.headers["content-type"]) == (503, "text/html; charset=utf-8")
        assert "the disk is full" in page.text
        assert (
            "nothing is answered until the service is restarted: the disk is full" in http.get("/health").text
        )
        monkeypatch.undo()


def test_a_restarted_service_shows_what_it_showed(tmp_path):
    store = f"sqlite:///{tmp_path}/lsdt.db"
    side = lsdt.SideInformation(2, arm_ids=["tea", "juice"], epsilon=0.1)
    with in_background(store) as url:
        expiry = {"after": 1000, "reward": 0}
        with lsdt.Client.open(url, "ads", side=side, policy="ucb1", expiry=expiry) as agent:
            made = agent.ask(60)
            agent.tell_many((one, float(at % 5 == 0)) for at, one in enumerate(made[:50]))
        before = httpx.get(f"{url}/experiments/ads").text
    with in_background(store) as url, httpx.Client(base_url=url) as http:
        after = http.get("/experiments/ads").text
        with http.stream("GET", "/experiments/ads/live") as stream:
            news = next(_data(line) for line in stream.iter_lines() if line.startswith("data: "))
    for text in (before, after):
        assert re.search(r'Reward rate, last 50</h2>\s*<p class="big">0.200</p>', text)
        assert "are still open" in text
        assert _log(text) == _log(before) != []
    assert news["points"][0][1:5] == [60, 50, 0.2, pytest.approx(0.1124, abs=1e-4)]


def _log(page):
    """Return number, event, arm and reward of the rows of the log."""
    rows = re.findall(r"<tr><td.*?</tr>", page.partition('id="log"')[2])
    return [re.findall(r"<td[^>]*>(.*?)</td>", row)[:4] for row in rows]


def test_ticks_of_the_line_are_round_numbers():
    found = [[text for _, text in _ticks(*ends)] for ends in ((0.02, 0.209), (0, 1), (-3, 12), (5e-4, 9e-4))]
    assert found[0] == ["0.05", "0.10", "0.15", "0.20"]
    assert found[1] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert found[2] == ["0", "5", "10"]
    assert found[3] == ["0.0005", "0.0006", "0.0007", "0.0008", "0.0009"]


def test_labels_on_the_line_fit_in_any_script():
    """A Chinese letter is two wide; cut at 16 letters, such names would cover one another."""
    assert [_label(text) for text in ("tea", "a" * 16, "a" * 17)] == [
        ("tea", 3),
        ("a" * 16, 16),
        ("a" * 15 + "…", 16),
    ]
    assert _label("赤いボタン") == ("赤いボタン", 10)
    assert _label("赤いボタンの長い名前") == ("赤いボタンの長…", 15)


def test_arms_on_the_line_lie_where_the_table_says():
    frame = pd.DataFrame(
        {
            "arm": ["tea", "coffee", "juice", "water"],
            "plays": [10, 0, 1, 0],
            "mean": [0.1, np.nan, 0.5, np.nan],
            "estimate": [0.2, 0.25, 0.15, 0.5],
            "status": "candidate",
        }
    )
    side = lsdt.SideInformation(4, [("tea", "coffee")], arm_ids=frame["arm"].tolist(), epsilon=0.1)
    dots = _line(side, frame, None)["dots"]
    assert [dot.arm for dot in dots] == ["juice", "tea", "coffee"]  # of water nothing is known
    assert dots[1].title == "tea: estimate 0.200; mean 0.100 of 10 rewards; candidate"
    assert dots[2].title == "coffee: estimate 0.250; no reward yet; candidate"
    many = lsdt.SideInformation(599)
    frame = pd.DataFrame({"arm": range(599), "plays": 1, "mean": 0.5, "estimate": 0.5, "status": "candidate"})
    assert 200 < _line(many, frame, None)["n_shown"] <= 300


def test_titles_are_shown_beside_ids(url, http):
    side = lsdt.SideInformation(3, [(7, 8), (8, 9)], [(7, 9)], arm_ids=[7, 8, 9], epsilon=0.1)
    side = side.with_titles({7: "Alien", 8: EVIL})
    with lsdt.Client.open(url, "films", side=side, policy="ucb1") as agent:
        for decision in agent.ask(20):
            agent.tell(decision, float(decision.arm_id == 7))
        assert list(agent.to_frame()["title"]) == ["Alien", EVIL, None]
    rows = http.get("/v1/experiments/films/arms").json()["arms"]
    assert [(each["arm"], each["title"]) for each in rows] == [(7, "Alien"), (8, EVIL), (9, None)]
    found = http.get("/v1/experiments/films/arms", params={"search": "alien"}).json()
    assert [each["arm"] for each in found["arms"]] == [7]
    page = http.get("/experiments/films").text
    assert '<p class="big"><bdi>Alien [7]</bdi></p>' in page
    assert "<td>Alien [7]</td>" in page  # of the log
    for path in ("", "/arms", "/arms/7", "/arms/8", "/log"):
        text = http.get(f"/experiments/films{path}").text
        assert ("&lt;img" if path == "/arms/8" else "Alien") in text
        assert EVIL not in text
    with_ids = http.get("/v1/experiments/drinks/arms").json()["arms"]
    assert [each["title"] for each in with_ids] == [None] * 3


def _when(look, text):
    """Return what is seen when a text is in it."""
    limit = time.monotonic() + 300  # where everything has to be compiled first
    while text not in (seen := look()):
        assert time.monotonic() < limit, seen
        time.sleep(0.05)
    return seen


def _data(line):
    return json.loads(line.removeprefix("data: "))


def test_with_keys_a_page_asks_for_one(tmp_path):
    store = f"sqlite:///{tmp_path}/lsdt.db"
    with open_store(store) as opened:
        key, _ = add_key(opened, "read")
    with in_background(store) as url, httpx.Client(base_url=url) as http:
        asked = http.get("/")
        assert (asked.status_code, asked.headers["location"]) == (303, "/login?next=/")
        wrong = http.post("/login?next=/", data={"key": "x"})
        assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
        entered = http.post("/login?next=//evil.example", data={"key": key})
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert http.get("/").status_code == 200
        assert "New experiment" not in http.get("/").text  # it may only look


@pytest.fixture
def page(tmp_path):
    opened = Browser(tmp_path / "profile")
    yield opened
    opened.close()


@pytest.mark.browser
def test_a_browser_sees_numbers_move_and_no_error(url, page):
    over = threading.Event()

    def play():
        with lsdt.Client(url, name="drinks") as agent:
            while not over.wait(0.05):
                agent.tell(agent.ask(), 1)

    page.open(f"{url}/experiments/drinks")
    page.wait("document.getElementById('state')?.textContent === '● live'")
    shown = "document.querySelector('#decisions .big').textContent"
    before = page.evaluate(shown)
    player = threading.Thread(target=play)
    player.start()
    try:
        page.wait(f"{shown} !== '{before}'")
        page.wait("document.querySelectorAll('.uplot canvas').length === 3")
    finally:
        over.set()
        player.join()
    assert page.evaluate("document.title") == "drinks"  # the id that is HTML did no harm
    assert page.evaluate("document.querySelectorAll('main img').length") == 0
    assert page.problems == []


@pytest.mark.browser
def test_a_browser_begins_the_example(url, page):
    page.open(f"{url}/new")
    page.wait("document.getElementById('example') !== null")
    page.evaluate("document.getElementById('example').value = 'example'")
    page.evaluate("document.querySelector('button[value=example]').click()")
    page.wait("location.pathname === '/experiments/example'")
    page.wait("document.getElementById('state')?.textContent === '● live'")
    assert page.problems == []


@pytest.mark.browser
def test_a_browser_signs_in_pauses_with_the_keyboard_alone_and_signs_out(tmp_path, page):
    """With the headers that Chromium really sends, such as Origin, which depends on Referrer-Policy."""
    store = f"sqlite:///{tmp_path}/lsdt.db"
    with open_store(store) as opened:
        key, _ = add_key(opened, "operate", name="alice")
    side = lsdt.SideInformation(2)
    with in_background(store) as url, lsdt.Client.open(url, "drinks", side=side, key=key) as agent:
        page.open(f"{url}/experiments/drinks/manage/pause")
        page.wait("location.pathname === '/login' && document.activeElement?.id === 'key'")
        page.type(key)  # the field has the focus
        page.press("Enter")
        page.wait("document.getElementById('reason') !== null")
        page.evaluate("document.getElementById('reason').focus()")
        page.type("wrong prices")
        page.press("Tab")
        page.press("Enter")  # on the button
        page.wait("location.pathname === '/experiments/drinks/manage'")
        halt = agent.about()["halt"]
        assert halt["by"].startswith("alice (")
        assert halt["reason"] == "wrong prices"
        assert page.evaluate("document.cookie") == ""  # no script can read it
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
        page.evaluate("document.querySelector('form.out button').focus()")
        page.press("Enter")
        page.wait("location.pathname === '/login'")
        page.open(f"{url}/")
        page.wait("location.pathname === '/login' && document.readyState === 'complete'")
    assert page.problems == []


@pytest.mark.browser
def test_a_file_is_sent_from_a_browser(url, page):
    page.open(f"{url}/new")
    page.wait("document.querySelector('#file-form button:enabled') !== null")
    page.evaluate("document.getElementById('file-name').value = 'of a file'")
    page.evaluate("const data = new DataTransfer()")
    page.evaluate("data.items.add(new File(['a,b,relation\\ntea,milk,similar'], 'pairs.csv'))")
    page.evaluate("document.getElementById('file').files = data.files")
    page.evaluate("document.querySelector('#file-form button').click()")
    page.wait("location.pathname === '/experiments/of%20a%20file'")
    assert page.problems == []


@pytest.mark.browser
def test_pages_fit_a_phone_and_every_field_has_a_label(url, http, page):
    """Also with names in which there is no space to break a line at."""
    long, other = "x" * 200, "y" * 200
    made = {"name": long, "arms": [long, other], "policy": "ucb1", "floor": {other: 0.1}}
    assert http.post("/v1/experiments", json=made).is_success
    rewards = [{"arm": arm, "reward": 1} for arm in (long, other)]
    assert http.post(f"/v1/experiments/{long}/observe", json={"rewards": rewards}).is_success
    page.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
    fields = "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
    some = ("", "/arms", "/log", "/manage", "/manage/stop", "/stopping")
    ones = [f"/experiments/{name}{each}" for name in ("drinks", long) for each in some]
    for path in ("/", "/new", *ones, f"/experiments/{long}/arms/{long}", "/health"):
        page.open(url + path)
        there = f"location.pathname === '{path}' && document.readyState === 'complete'"
        page.wait(f"{there} && document.querySelector('footer') !== null")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        assert page.evaluate(f"{fields}.filter(each => !each.labels.length).length") == 0, path
        assert page.evaluate("document.querySelectorAll('h1').length") == 1, path
        hidden = "[...document.querySelectorAll('h1.hidden')].map(each => each.getBoundingClientRect().width)"
        assert max(page.evaluate(hidden), default=0) <= 1, path  # for screen readers; it covered the page


@pytest.mark.browser
def test_a_page_stays_live_in_a_language_that_charts_do_not_know(url, page):
    """Browsers take such names from the locale of the machine; the library of the charts cannot load then."""
    page.call("Emulation.setUserAgentOverride", userAgent="x", acceptLanguage="en-US@posix")
    page.open(f"{url}/experiments/drinks")
    page.wait("document.getElementById('state')?.textContent.includes('live')")
    assert "is not a valid one" in page.evaluate("document.getElementById('rate').textContent")
    assert len(page.problems) == 1  # that of the library
