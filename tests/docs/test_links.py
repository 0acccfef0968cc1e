"""Every relative link of README, docs and the other pages leads to a file, and every anchor to a heading."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from site_pages import PAGES, ROOT, is_generated

if TYPE_CHECKING:
    from pathlib import Path

_FENCE = re.compile(r"^(`{3,}|~{3,}|:{3,})[^\n]*\n.*?^\1\s*$", re.M | re.S)
_LINK = re.compile(r"(?<!\\)\]\(([^()\s]+)\)")


def links(text: str) -> list[str]:
    """Return the targets of links and images; code is not looked at, cards and other boxes are."""
    text = _FENCE.sub(lambda found: found[0] if found[0].startswith(":::") else "", text)
    return _LINK.findall(re.sub(r"`[^`\n]*`", "``", text))


@cache
def anchors(path: Path) -> set[str]:
    """Return the anchors of a page, as Sphinx and forges make them of its headings, and those set by hand."""
    text = re.sub(r"^(`{3,}|~{3,})[^\n]*\n.*?^\1\s*$", "", path.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#{1,6} +(.+?) *$", text, re.M)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    made = {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading)) for heading in plain}
    return made | set(re.findall(r"^\(([\w-]+)\)=$", text, re.M))


def broken(path: Path) -> list[str]:
    """Return the links of a page that lead nowhere."""
    wrong = []
    for link in links(path.read_text()):
        if re.match(r"\w+:", link):
            continue
        target, _, anchor = link.partition("#")
        place = (path.parent / target).resolve() if target else path
        if is_generated(place):
            continue
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    assert broken(path) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "other.md").write_text("# Other page\n\n## What `lsdt.Agent` does, and why\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n[a](other.md) [b](other.md#what-lsdtagent-does-and-why) [c](#page) [d](https://example.org)\n"
        "[e](gone.md) [f](other.md#gone) [g](#gone) `[code](gone.md)`\n\n```\n[fenced](gone.md)\n```\n"
    )
    assert broken(page) == ["gone.md", "other.md#gone", "#gone"]


def test_no_page_loads_anything_from_the_network():
    """Pages are read offline: pictures lie in the repository, and no page has scripts of others."""
    for path in PAGES:
        assert not re.search(r"!\[[^\]]*\]\(https?:|<script|<img[^>]+https?:", path.read_text()), path


def test_pages_that_the_code_names_exist():
    """Docstrings and comments send readers to pages by their path in the repository."""
    for folder in ("src", "tests", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text()):
                assert (ROOT / name).exists(), f"{path.relative_to(ROOT)}: {name}"
