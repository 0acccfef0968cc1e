"""Every page can be reached from the first one, and shows examples as examples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import lsdt
from site_pages import DOCS, PAGES

if TYPE_CHECKING:
    from pathlib import Path

OURS = [page for page in PAGES if page.is_relative_to(DOCS)]
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.M | re.S)


def children(page: Path) -> list[Path]:
    """Return the pages that the toctrees of a page list."""
    lines = [line for block in _TOCTREE.findall(page.read_text()) for line in block.splitlines()]
    names = [re.sub(r".*<(.+)>", r"\1", line) for line in lines if line and not line.startswith(":")]
    return [page.parent / f"{name}.md" for name in names]


def test_every_page_is_in_the_tree():
    reached, ahead = set(), [DOCS / "index.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        ahead += [child for child in children(page) if child.exists()]
    assert [page for page in OURS if page not in reached] == []
    assert len(reached) > 30


def test_pages_count_the_policies():
    told = {n for page in PAGES for n in re.findall(r"(\d+) policies|there are (\d+)\.", page.read_text())}
    assert {int(one or other) for one, other in told} == {len(lsdt.policies.available())}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_stand_in_blocks(page):
    """Outside of one, `>>>` would be three quotations within one another."""
    text = re.sub(r"^```.*?^```\s*$", "", page.read_text(), flags=re.M | re.S)
    assert re.findall(r"^>>>.*", text, re.M) == []
    assert page.read_text().startswith(("# ", "---", "```"))
