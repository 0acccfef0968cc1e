"""The pages, as a server renders them and as a browser sees them."""

from __future__ import annotations

import re
import threading

import httpx
import pytest

import lsdt
from lsdt.service.keys import add_key
from lsdt.service.server import in_background
from lsdt.storage import open_store
from service.devtools import Browser

EVIL = '<img src=x onerror="document.title=1">'
PAGES = ("", "/arms", "/log", "/arms/tea", "/arms/%3Cimg%20src%3Dx%20onerror%3D%22document.title%3D1%22%3E")


@pytest.fixture(scope="module")
def url():
    with in_background() as url:
        side = lsdt.SideInformation(3, [("tea", EVIL)], arm_ids=["tea", EVIL, "juice"], epsilon=0.1)
        with lsdt.Client.open(url, "drinks", side=side, policy="ucb1") as agent:
            for number, decision in enumerate(agent.ask(30)):
                agent.tell(decision, float(number % 3 == 0))
        yield url


@pytest.fixture
def http(url):
    with httpx.Client(base_url=url, timeout=60.0) as client:
        yield client


def test_every_page_is_there_and_no_id_is_taken_for_html(http):
    for path in ("/", "/health", "/login", *(f"/experiments/drinks{page}" for page in PAGES)):
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
        assert "Begin one" not in http.get("/").text  # it may only look


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
    shown = "document.querySelectorAll('#cards .big')[2].textContent"
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
    page.open(url)
    page.wait("document.getElementById('new') !== null")
    page.evaluate("document.getElementById('name').value = 'example'")
    page.evaluate("document.querySelector('[value=example]').checked = true")
    page.evaluate("document.getElementById('policy').value = 'ucb1'")
    page.evaluate("document.querySelector('#new button').click()")
    page.wait("location.pathname === '/experiments/example'")
    page.wait("document.getElementById('state')?.textContent === '● live'")
    assert page.problems == []


@pytest.mark.browser
@pytest.mark.parametrize("path", ["/", "/experiments/drinks", "/experiments/drinks/arms", "/health"])
def test_pages_fit_a_phone_and_every_field_has_a_label(url, page, path):
    page.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
    page.open(url + path)
    page.wait("document.readyState === 'complete' && document.querySelector('footer') !== null")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    fields = "[...document.querySelectorAll('input, select')]"
    assert page.evaluate(f"{fields}.filter(each => !each.labels.length).length") == 0
    assert page.evaluate("document.querySelectorAll('h1').length") == 1
