"""The page that explains arms: the answer of candidate_set, in one file that harms nobody."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.explorer import content, page_content, render_page, write_page
from lsdt.explorer.playground import EPSILONS, SHARES, playground, state_side
from lsdt.side_information.examples import EPSILON, MEANS, example
from service.devtools import Browser

EVIL = (
    "</script><script>document.title='taken'</script>",
    '"><img src=x onerror="document.title=1">',
    "a&amp;b",
)


@pytest.fixture(scope="module")
def play():
    return playground()


class Elements(HTMLParser):
    """Collects elements and what scripts and styles hold."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.inside, self.open = [], [], None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open = tag

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open in ("script", "style"):
            self.inside.append(data)


def some_side(n_arms=40, **more):
    means = np.random.default_rng(3).random(n_arms)
    return lsdt.from_means(means, 0.15, **more).reveal(0.6, 0.4, seed=2).explicit()


@pytest.mark.parametrize("side", [example("complete"), example("partial"), some_side()])
def test_the_data_are_the_answer_of_candidate_set(side):
    found = lsdt.candidate_set(side)
    data = page_content(found)
    assert data["candidates"] == found.arms.tolist()
    assert [
        arm for arm, kind in zip(data["arms"], data["kinds"], strict=True) if kind == 0
    ] == found.arms.tolist()
    assert np.sum(data["density"]) == sum(data["kind_counts"]) == side.n_arms
    assert len(data["proofs"]) == side.n_arms
    for arm in range(side.n_arms):
        why, proof = found.explain(side.label(arm)), data["proofs"][str(arm)]
        assert proof["text"] == why.text
        known = {(side.index(a), side.index(b), word) for a, b, word, *_ in why.relations}
        assert {tuple(relation[:3]) for relation in proof["relations"]} == known


def test_better_pairs_and_ranges_are_told():
    side = lsdt.SideInformation(4, better=[(0, 1)], ranges=[(0, 2, 0.1, None)], similar=[(0, 3)])
    data = page_content(lsdt.candidate_set(side))
    assert data["proofs"]["1"]["relations"] == [[0, 1, "better", None, None]]
    assert data["proofs"]["2"]["relations"] == [[0, 2, "range", 0.1, None]]
    assert data["proofs"]["1"]["steps"]


def test_sliders_show_the_answers_of_candidate_set(play):
    assert play["means"] == list(MEANS)
    assert EPSILONS[play["start"][0]] == EPSILON
    for number in np.random.default_rng(0).choice(len(play["states"]), 25, replace=False).tolist():
        epsilon, share = EPSILONS[number // len(SHARES)], SHARES[number % len(SHARES)]
        left, signs, pairs = play["states"][number]
        side = state_side(epsilon, share)
        assert left == lsdt.candidate_set(side).arms.tolist()
        assert (signs.count("s"), signs.count("d")) == (side.n_similar, side.n_dissimilar)
        for arm, (first, second) in pairs.items():
            relations = [side.store.relation(int(arm), first), side.store.relation(int(arm), second)]
            assert (relations, side.store.relation(first, second)) == ([1, 1], -1)
    complete = play["states"][EPSILONS.index(EPSILON) * len(SHARES) + len(SHARES) - 1]
    assert complete[0] == lsdt.candidate_set(example("complete")).arms.tolist()
    for epsilon in range(len(EPSILONS)):
        row = play["states"][epsilon * len(SHARES) : (epsilon + 1) * len(SHARES)]
        known = [sum(sign != "." for sign in signs) for _, signs, _ in row]
        assert known == sorted(known)
        assert (known[0], known[-1]) == (0, 55)


def evil_side():
    similar, dissimilar = [(0, 1), (1, 2)], [(0, 2)]
    return lsdt.SideInformation(3, similar, dissimilar, arm_ids=EVIL).with_titles({EVIL[1]: EVIL[0]})


def test_the_page_is_one_file_and_names_are_text(play):
    data = page_content(lsdt.candidate_set(evil_side()), source="x.csv")
    page = render_page(data | {"play": play}, title=EVIL[1])
    found = Elements(page)
    tags = [tag for tag, _ in found.elements]
    assert tags.count("script") == 2
    assert tags.count("style") == 1
    assert not {"img", "link", "iframe", "object", "base"} & set(tags)
    assert not [
        name for _, given in found.elements for name in given if name.startswith("on") or name == "style"
    ]
    assert [given["href"] for _, given in found.elements if "href" in given] == ["#find"]
    assert set(re.findall("https?://[^ \"'`]+", page)) == {"http://www.w3.org/2000/svg"}
    style, held, script = found.inside
    assert json.loads(held) == json.loads(json.dumps(data | {"play": play}))
    assert json.loads(held)["names"][1] == f"{EVIL[0]} [{EVIL[1]}]"
    policy = next(given["content"] for _, given in found.elements if "http-equiv" in given)
    for text in (style, script):
        assert b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none';")


def test_large_pages_hold_a_part_and_say_so(monkeypatch):
    monkeypatch.setattr(content, "MOST_LISTED", 30)
    side = some_side(arm_ids=[f"it's {number}" for number in range(40)])
    found = lsdt.candidate_set(side)
    data = page_content(found, source="pairs.csv", most_proofs=5)
    assert data["n_arms"] == 40
    assert data["arms"] == sorted({*map(int, data["proofs"]), *found.arms.tolist()})
    assert len(data["proofs"]) == 5
    assert all(proof["names"] for proof in data["proofs"].values())
    assert sum(data["kind_counts"]) == np.sum(data["density"]) == 40
    monkeypatch.undo()
    data = page_content(found, source="pairs.csv", most_proofs=5)
    assert (len(data["arms"]), len(data["proofs"]), len(data["commands"])) == (40, 5, 35)
    assert data["commands"]["39"] == """lsdt candidates pairs.csv --explain='it'"'"'s 39'"""
    assert page_content(found, patience=-1.0)["proofs"] == {}


def test_a_page_ends_in_html(tmp_path):
    data = page_content(lsdt.candidate_set(lsdt.SideInformation(1)))
    with pytest.raises(InvalidInput, match="the page's file name must end in .html or .htm; got .*page.txt"):
        write_page(data, tmp_path / "page.txt")
    write_page(data, tmp_path / "page.html")
    assert "1 of 1 arm" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.browser
def test_a_person_clicks_searches_and_drags(play, tmp_path):
    path = tmp_path / "page.html"
    found = lsdt.candidate_set(evil_side())
    write_page(page_content(found) | {"play": play}, path, title=EVIL[0])
    set_value = (
        "{{ const it = document.getElementById('{}'); it.value = {}; it.dispatchEvent(new Event('input')); }}"
    )
    browser = Browser(tmp_path / "profile", width=420)
    try:
        browser.open(f"{path.as_uri()}#arm-1")
        browser.wait("document.querySelector('#proof svg') !== null")
        assert found.explain(1).text == browser.evaluate("document.querySelector('#proof .text').textContent")
        assert browser.evaluate("document.querySelectorAll('#proof svg .node').length") == 3
        assert browser.evaluate("document.querySelectorAll('#proof svg path').length") == 3
        assert browser.evaluate("document.title") == EVIL[0]
        assert browser.evaluate("document.querySelectorAll('img').length") == 0
        text = "document.getElementById('{}').textContent"
        browser.evaluate(set_value.format("find", "'amp'"))
        names = "[...document.querySelectorAll('#list bdi')].map((one) => one.textContent)"
        assert browser.evaluate(names) == ["a&amp;b"]
        browser.evaluate("document.querySelector('#list button').click()")
        assert browser.evaluate(text.format("arm-title")) == "a&amp;b"
        for share in (0, 10):
            browser.evaluate(set_value.format("share", share))
            left = lsdt.candidate_set(state_side(EPSILON, SHARES[share])).arms.tolist()
            shown = browser.evaluate("document.getElementById('play-answer').dataset.candidates")
            assert shown == ",".join(map(str, left))
        browser.evaluate("document.getElementById('bar-5').dispatchEvent(new MouseEvent('click'))")
        assert "Arm 6 cannot be the best" in browser.evaluate(text.format("play-why"))
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert browser.problems == []
    finally:
        browser.close()
