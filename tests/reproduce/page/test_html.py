from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from urllib.parse import unquote

import pandas as pd
import pytest

from browsers import seen_by_browser
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.plotting import save
from lsdt.plotting.panels import Line, Panel, draw_panels
from lsdt.reproduce.framework import claims as rules
from lsdt.reproduce.framework.claims import FAILS, HOLDS, IN_PART, Check, Claim, Estimate
from lsdt.reproduce.page.html import Page, Section, render_page

VOID = {"meta", "link", "img", "input", "br"}
NASTY = "<script>alert('1')</script> & \"both\" 'quotes' {{ 7 * 7 }}"
CHECK = rules.below("mean size", Estimate(-4.9, -5.1, -4.7), -4.5)
# One check that gives each verdict.
CHECKS = {
    HOLDS: CHECK,
    IN_PART: replace(CHECK, outcome=rules.UNDECIDED),
    FAILS: replace(CHECK, outcome=rules.REFUTED),
}


class Walk(HTMLParser):
    """The elements of a page, with a stack that fails on anything left open or closed twice."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.stack, self.elements, self.texts = [], [], []
        self.feed(html)
        self.close()
        assert not self.stack, f"left open: {self.stack}"

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(set(names)) == len(names), f"<{tag}> has an attribute twice: {names}"
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        if "style" not in self.stack and data.strip():
            self.texts.append(data.strip())

    def all(self, tag, **wanted):
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(key) == value for key, value in wanted.items())
        ]


def a_section(folder, name, *claims, figure=True, **changes):
    """Return a part with its files in a folder of its own."""
    home = folder / name
    home.mkdir()
    names = ["figure.svg", "table.csv"] if figure else ["table.csv"]
    if figure:
        panel = Panel([Line("line", [0, 1], [1, 2])], "x", "y")
        save(draw_panels([panel], f"Picture of {name}"), home / "figure.svg")
    (home / "table.csv").write_text("x\n1\n")
    plain = Section(
        id=name,
        title=f"Title of {name}",
        paper="Fig. 1",
        discussion="First paragraph.\n\nSecond paragraph.",
        setting={"arms": 100, "epsilons": [i / 20 for i in range(1, 21)]},
        figure=home / "figure.svg" if figure else None,
        alt=f"What {name} shows",
        table=pd.DataFrame({"policy": ["ucb1", "ts"], "mean_regret": [1234.5, None]}),
        claims=claims,
        files=tuple(f"{name}/{file}" for file in names),
        seconds=3.0,
    )
    return replace(plain, **changes)


def a_claim(name, verdict=HOLDS, **changes):
    return replace(Claim(name, f"Text of {name}.", "Section 6", (CHECKS[verdict],)), **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def page(folder):
    sections = (
        a_section(folder, "fig-one", a_claim("one"), a_claim("two", FAILS)),
        a_section(folder, "fig-two", a_claim("three", IN_PART), reused=True, seconds=75.0),
        a_section(folder, "table-three", a_claim("four"), figure=False),
    )
    return Page("All of it", "What this is.\n\nAnd why.", sections, {"seed": "0", "command": "lsdt redo"})


@pytest.fixture(scope="module")
def html(page):
    return render_page(page)


@pytest.fixture(scope="module")
def walk(html):
    return Walk(html)


@pytest.mark.parametrize("broken", ["<p><b></p></b>", "<p>", "</p>", "<p id='a' id='b'></p>"])
def test_the_walk_notices_what_is_broken(broken):
    with pytest.raises(AssertionError):
        Walk(broken)


def test_every_part_claim_and_file_is_there(page, walk):
    ids = {found["id"] for _, found in walk.elements if "id" in found}
    links = {found["href"] for found in walk.all("a")}
    for section in page.sections:
        assert section.id in ids
        assert f"#{section.id}" in links
        assert links.issuperset(section.files)
        assert {section.title, section.paper, *section.discussion.split("\n\n")} <= set(walk.texts)
    for claim in page.claims:
        assert f"claim-{claim.name}" in ids
        assert f"#claim-{claim.name}" in links
        assert walk.texts.count(claim.text) == 2  # in the table of claims, and in its part


def test_ids_differ_and_all_links_lead_somewhere(walk, folder):
    ids = [found["id"] for _, found in walk.elements if "id" in found]
    assert len(set(ids)) == len(ids)
    inside = [found["href"][1:] for tag in ("a", "use") for found in walk.all(tag) if found["href"][0] == "#"]
    labels = [found["for"] for found in walk.all("label")]
    assert set(ids).issuperset([*inside, *labels])
    outside = [found["href"] for found in walk.all("a") if found["href"][0] != "#"]
    assert len(outside) == 5
    assert all((folder / unquote(href)).is_file() for href in outside)


def test_figures_are_whole_pictures_with_a_size_and_words(page, walk):
    pictures = walk.all("img")
    assert [found["alt"] for found in pictures] == ["What fig-one shows", "What fig-two shows"]
    for section, found in zip(page.sections, pictures, strict=False):
        kind, data = found["src"].split(",")
        assert kind == "data:image/svg+xml;base64"
        assert base64.b64decode(data) == section.figure.read_bytes()
        assert ET.fromstring(base64.b64decode(data)).tag.endswith("svg")
        assert (found["width"], found["height"]) == ("864", "442")


def test_the_summary_counts_verdicts_and_the_claims_say_theirs(walk):
    text = " ".join(walk.texts)
    assert "2 hold 1 holds in part 1 does not hold" in text
    assert "4 claims in 3 parts, decided by 4 checks" in text
    for verdict, times in (("yes", 2), ("part", 1), ("no", 1)):
        assert len(walk.all("tr", **{"class": verdict, "role": "row"})) == times
        assert len(walk.all("div", **{"class": f"claim {verdict}"})) == times
    assert walk.texts.count("undecided: more runs are needed") == 2  # in the table and in the part
    # A word beside every symbol, in the table and in the part.
    assert walk.texts.count("holds") == 2 * 2 + 1  # and once where the rule is explained


def test_a_check_says_what_was_measured():
    sampled = rules.below("x", rules.Estimate(-1.0, -2.0, -0.5), 0.0)
    assert sampled.measured == "-1 (-2 to -0.5)"
    assert str(sampled) == "x: -1 (-2 to -0.5), claimed to be below 0"
    assert rules.below("x", rules.exactly(3.0), 4.0).measured == "3"
    assert rules.below("x", rules.mean_of([3.0]), 4.0).measured == "3"


def test_data_settings_and_times_are_readable(walk):
    for text in (
        "mean regret",
        "1,234",
        "–",
        "0.05 to 1 in steps of 0.05 (20 values)",
        "−4.9 (−5.1 to −4.7)",
    ):
        assert text in walk.texts, text
    text = " ".join(walk.texts)
    assert "Computed earlier, in 1 min 15 s" in text
    assert "6.0 s of computing in this run; parts kept from an earlier run took 1 min 15 s then" in text
    widths = [found["style"] for found in walk.all("span") if found.get("style", "").startswith("width")]
    assert widths == ["width: 100.0%", "width: 4.0%", "width: 4.0%"]
    assert "lsdt redo" in walk.texts
    # A table without a figure is the part itself: it is open.
    assert [("open" in found) for found in walk.all("details", **{"class": "data"})] == [False, False, True]


def test_tables_have_captions_and_headers_with_a_scope(walk):
    assert len(walk.all("table")) == len(walk.all("caption")) == 1 + 4 + 3 + 1
    assert all(found.get("scope") in ("row", "col") for found in walk.all("th"))
    assert walk.all("html") == [{"lang": "en-GB"}]
    assert {"header", "main", "nav"} <= {tag for tag, _ in walk.elements}
    assert len(walk.all("h1")) == 1


def test_nothing_is_fetched_and_nothing_runs(walk, html):
    assert not walk.all("script")
    assert all(found["src"].startswith("data:") for tag, found in walk.elements if "src" in found)
    assert [found["href"][:19] for found in walk.all("link")] == ["data:image/svg+xml,"]
    assert "@import" not in html
    assert "url(" not in html
    assert "default-src 'none'" in " ".join(found.get("content", "") for found in walk.all("meta"))


def test_the_same_page_twice_is_the_same_text(page, html):
    assert render_page(page) == html


def test_hostile_text_stays_text(tmp_path):
    check = Check(NASTY, Estimate(0.0, 0.0, 0.0), NASTY, rules.UNDECIDED, NASTY)
    section = a_section(
        tmp_path,
        "bad",
        a_claim("worse", text=NASTY, paper=NASTY, checks=(check,)),
        title=NASTY,
        paper=NASTY,
        discussion=NASTY,
        alt=NASTY,
        setting={NASTY: NASTY, "list": [NASTY], "inner": {NASTY: [NASTY]}},
        table=pd.DataFrame({NASTY: [NASTY]}),
        files=(f"{NASTY}/x.csv", "javascript:alert(1)"),
    )
    html = render_page(Page(NASTY, NASTY, (section,), {NASTY: NASTY, "command": NASTY}))
    walk = Walk(html)
    assert not walk.all("script")
    assert "49" not in html
    assert walk.all("img")[0]["alt"] == NASTY
    assert sum(NASTY in text for text in walk.texts) >= 20
    assert {"title", "aria-label"} >= {
        name for _, found in walk.elements for name, value in found.items() if value and "<script" in value
    } - {"alt"}
    # Relative, whatever it looks like.
    assert "javascript%3Aalert%281%29" in [found["href"] for found in walk.all("a")]


def test_odd_names_of_files_are_linked_to(tmp_path):
    section = a_section(tmp_path, "odd", files=("odd/50%: a#b? ü.csv", "odd/table.csv"))
    (tmp_path / section.files[0]).write_text("x\n")
    walk = Walk(render_page(Page("t", "", (section,), {})))
    links = [found["href"] for found in walk.all("a") if found["href"][0] != "#"]
    assert [unquote(link) for link in links] == list(section.files)
    assert all(re.fullmatch(r"[\w/.%~-]+", link, re.A) for link in links)
    assert "50%: a#b? ü.csv" in walk.texts


def test_long_tables_are_cut_and_that_is_said(tmp_path):
    section = a_section(tmp_path, "long", table=pd.DataFrame({"run": range(1000)}))
    walk = Walk(render_page(Page("t", "", (section,), {})))
    assert "The first 200 of 1,000 rows, all of which are in the files." in walk.texts
    assert "199" in walk.texts
    assert "200" not in walk.texts


def test_little_is_enough(tmp_path):
    assert "No claims are made" in " ".join(Walk(render_page(Page("Empty", "", (), {}))).texts)
    bare = a_section(
        tmp_path, "bare", figure=False, discussion="", setting={}, table=pd.DataFrame(), files=(), seconds=0.0
    )
    walk = Walk(render_page(Page("Bare", "", (bare,), {})))
    assert not walk.all("details", **{"class": "data"})
    assert not walk.all("dl", **{"class": "setting"})


def test_mistakes_are_named(tmp_path, page):
    good = page.sections[0]

    def render(**changes):
        return render_page(
            Page("t", "", (good, replace(good, **{"id": "other", "claims": (), **changes})), {})
        )

    with pytest.raises(InvalidInput, match="'fig-one' occurs twice"):
        render(id="fig-one")
    with pytest.raises(InvalidInput, match="'claim-one' occurs twice"):
        render(claims=good.claims)
    with pytest.raises(InvalidInput, match="'summary' occurs twice"):
        render(id="summary")
    with pytest.raises(InvalidInput, match="letters, digits.*got 'a b'"):
        render(id="a b")
    with pytest.raises(InvalidFile, match="cannot read the figure .*none.svg"):
        render(figure=tmp_path / "none.svg")
    (tmp_path / "text.svg").write_text("no picture")
    with pytest.raises(InvalidFile, match="must be an SVG file"):
        render(figure=tmp_path / "text.svg")


def contrast(first, second):
    def light(colour):
        shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(first), light(second)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_enough_in_both_themes():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    css = (files("lsdt.reproduce.page") / "templates" / "page.css").read_text()
    themes = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", block))
        for block in re.findall(r":root \{(.*?)\}", css, re.S)
    ]
    light, dark = (theme for theme in themes if theme)
    assert light.keys() == dark.keys()
    for theme in (light, dark):
        for ink in ("ink", "muted", "link", "yes", "part", "no"):
            assert contrast(theme[ink], theme["page"]) >= 4.5, ink
        for tone in ("yes", "part", "no"):
            assert contrast(theme[tone], theme[f"{tone}-ground"]) >= 4.5, tone
        assert contrast(theme["bar"], theme["page"]) >= 2.0


def test_the_summary_shows_what_speaks_against_a_claim_first(page):
    kinds = ("confirmed", "confirmed", "undecided", "refuted")
    checks = tuple(replace(CHECK, what=f"number {at}", outcome=kind) for at, kind in enumerate(kinds))
    claim = a_claim("mixed", checks=checks)
    section = replace(page.sections[0], claims=(claim,))
    html = render_page(replace(page, sections=(section,)))
    summary, parts = html.split('id="parts"')
    shown = [f"number {at}" in summary for at in range(4)]
    assert shown == [False, False, True, True]
    assert "all 4 checks" in summary
    assert all(f"number {at}" in parts for at in range(4))


@pytest.mark.browser
def test_a_browser_shows_it_without_complaints(page, html, folder, tmp_path):
    path = folder / "index.html"
    path.write_text(html, encoding="utf-8")
    seen, complaints = seen_by_browser(path, tmp_path)
    assert complaints == []
    walk = Walk(seen)
    ids = {found.get("id") for _, found in walk.elements}
    assert ids.issuperset(section.id for section in page.sections)
    assert ids.issuperset(f"claim-{claim.name}" for claim in page.claims)
    assert len(walk.all("img")) == 2


@pytest.mark.browser
def test_a_browser_would_complain(html, tmp_path):
    """The page forbids itself to fetch or to run anything, and the test above would notice an attempt."""
    path = tmp_path / "index.html"
    broken = "<img src='nothing.svg' alt=''><script>document.title = 'taken'</script>"
    path.write_text(html.replace("<main", f"{broken}<main"), encoding="utf-8")
    seen, complaints = seen_by_browser(path, tmp_path / "profile")
    forbidden = [line for line in complaints if "Content Security Policy" in line]
    of_the_picture = ["nothing.svg" in line for line in forbidden]
    assert True in of_the_picture
    assert False in of_the_picture  # of the script
    assert "<title>All of it</title>" in seen
