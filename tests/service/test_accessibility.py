"""Pages for those who see little, or use no mouse: contrast, labels, headings, what can be reached by keys.

Checked without a browser. `make test-axe` looks at the pages with axe-core in Chromium.
"""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

import lsdt
from lsdt.service import pages
from lsdt.service.server import in_background

STYLE = (Path(pages.__file__).parent / "static" / "style.css").read_text()
ONE = "/experiments/drinks"
PATHS = (
    "/",
    "/health",
    "/login",
    "/new",
    "/experiments/nothing",
    ONE,
    f"{ONE}/arms",
    f"{ONE}/log",
    f"{ONE}/manage",
    f"{ONE}/manage/stop",
    f"{ONE}/manage/delete",
    f"{ONE}/stopping",
    f"{ONE}/arms/tea",
)
EMPTY = {"meta", "link", "input", "br", "img", "circle", "rect", "line", "path", "hr", "use"}


def colours(scheme):
    """Return the colours of the style by name; the first block is light, the second dark."""
    block = re.findall(r":root \{(.*?)\}", STYLE)[["light", "dark"].index(scheme)]
    return dict(re.findall(r"--(\w+): (#\w+);", block))


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.005)  # the well-known grey that fails


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_marks_stand_out(scheme):
    """WCAG 2.2, level AA: 4.5 for text, 3 for what else has to be seen."""
    found = colours(scheme)
    assert set(found) == {"page", "card", "line", "text", "soft", "best", "span", "gone", "warn"}
    for below in ("page", "card"):
        for text in ("text", "soft", "best", "gone"):
            assert contrast(found[text], found[below]) >= 4.5, (text, below)
        assert contrast(found["warn"], found[below]) >= 3.0  # a bar at the side
    for button in ("best", "warn"):
        assert contrast(found["card"], found[button]) >= 4.5  # the text of buttons
    assert contrast(found["best"], found["span"]) >= 3.0  # a mean on its interval
    assert not re.search(r"(?<!-)\bcolor: #", STYLE)  # all text takes one of these


class Page(HTMLParser):
    """What of a page matters to those who do not see it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes), tuple(each[0] for each in self.open)))
        self.texts.append("")
        if tag not in EMPTY:
            self.open.append((tag, len(self.tags) - 1))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for _, at in self.open:
            self.texts[at] += data

    def all(self, *names):
        return [
            (*tag, text.strip()) for tag, text in zip(self.tags, self.texts, strict=True) if tag[0] in names
        ]


@pytest.fixture(scope="module")
def read():
    with in_background() as url, httpx.Client(base_url=url, timeout=60.0) as http:
        side = lsdt.SideInformation(3, [("tea", "milk")], arm_ids=["tea", "milk", "juice"], epsilon=0.1)
        with lsdt.Client.open(url, "drinks", side=side, policy="ucb1") as agent:
            for number, decision in enumerate(agent.ask(30)):
                agent.tell(decision, float(number % 3 == 0))
        yield {path: Page(http.get(path).text) for path in PATHS}


@pytest.mark.parametrize("path", PATHS)
def test_a_page_can_be_heard_and_used_by_keys(read, path):
    page = read[path]
    (html,) = page.all("html")
    assert html[1]["lang"] == "en"
    assert page.all("title")[0][3]
    levels = [int(tag[1]) for tag, *_ in page.all("h1", "h2", "h3", "h4")]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(later <= before + 1 for before, later in pairwise(levels))
    labelled = {about.get("for") for _, about, _, _ in page.all("label")}
    for _, about, inside, _ in page.all("input", "select", "textarea"):
        if about.get("type") != "hidden":
            assert about.get("id") in labelled or "label" in inside or "aria-label" in about, about
    for tag, about, _, text in page.all("a", "button"):
        assert text or about.get("aria-label") or about.get("title"), (tag, about)
    assert all("alt" in about for _, about, _, _ in page.all("img"))
    assert all(about.get("scope") for _, about, _, _ in page.all("th"))
    ids = Counter(about["id"] for _, about, _ in page.tags if "id" in about)
    assert set(ids.values()) <= {1}
    landmarks = Counter(tag for tag, *_ in page.all("main", "header", "footer"))
    assert landmarks == {"main": 1, "header": 1, "footer": 1}
    assert page.all("a")[0][1]["href"] == "#main"  # past the navigation with one key
    assert any(about.get("id") == "main" for _, about, _ in page.tags)
    for _, about, _ in page.tags:
        if "scroll" in (about.get("class") or "").split():  # else its far end cannot be reached
            assert (about.get("tabindex"), about.get("role")) == ("0", "region")
            assert about["aria-label"]
        if about.get("role") == "img":
            assert about["aria-label"]
        assert int(about.get("tabindex", 0)) <= 0  # the order is that of the page
