"""One HTML page with claims, verdicts, figures and tables. It opens offline and fetches nothing.

`report` decides what is on the page; this file renders it. The text for readers, with the rule behind the
verdicts, is in ``templates/page.html``, the style in ``templates/page.css``.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from lsdt.errors import InvalidFile, InvalidInput, counted
from lsdt.reproduce.framework.claims import CONFIRMED, VERDICTS
from lsdt.reproduce.page.cells import MOST_ROWS, duration, name_text, setting_text, text_table, with_minus

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from jinja2 import Template

    from lsdt.reproduce.framework.claims import Check, Claim


_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
# Ids that the template uses itself.
_TAKEN = (
    *("contents", "main", "summary", "claims", "parts", "rule", "run", "show-all"),
    *(f"{prefix}-{mark}" for prefix in ("mark", "show") for mark in ("yes", "part", "no", "open")),
)
_SIZE = re.compile(r'<svg[^>]*? width="([0-9.]+)pt" height="([0-9.]+)pt"')
_MOST_SHOWN = 2  # checks of a claim in the summary, so that its rows stay short
GENERATOR = '<meta name="generator" content="lsdt">'  # marks a page written by lsdt
_POINT = 4 / 3  # in pixels: CSS has 72 points and 96 pixels to the inch


@dataclass(frozen=True, eq=False)
class Section:
    """One part: a figure with its setting, discussion, claims and table.

    Attributes
    ----------
    id : str
        Unique on the page, where ``#id`` links to the part: letters, digits, ``-``, ``_`` and ``.``.
    title : str
        One line.
    paper : str
        Where the paper has it.
    discussion : str
        What the figure and the table show; an empty line separates paragraphs.
    setting : dict
        What determined the numbers, as JSON data.
    figure : Path or None
        An SVG file, which is embedded in the page.
    alt : str
        What the figure shows, for readers who cannot see it.
    table : pandas.DataFrame
        The few rows to show; an empty table is left out.
    claims : tuple of Claim
        The claims that this part decides.
    files : tuple of str
        Files to link to, as paths from the folder of the page.
    seconds : float
        How long it took to compute.
    reused : bool
        Whether it was computed by an earlier run.
    """

    id: str
    title: str
    paper: str
    discussion: str
    setting: dict[str, Any]
    figure: Path | None
    alt: str
    table: pd.DataFrame
    claims: tuple[Claim, ...]
    files: tuple[str, ...]
    seconds: float
    reused: bool = False


@dataclass(frozen=True, eq=False)
class Page:
    """The content of the page.

    Attributes
    ----------
    title : str
        The headline.
    lead : str
        An introduction of a few sentences; an empty line separates paragraphs.
    sections : tuple of Section
        The parts, in this order.
    facts : dict of str
        Versions, seed, machine, ..., by name; ``command`` is shown as code.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    facts: dict[str, str]

    @property
    def claims(self) -> list[Claim]:
        """All claims, in the order of the parts."""
        return [claim for section in self.sections for claim in section.claims]


class Picture(NamedTuple):
    """A figure embedded in the page: its data URL and its size in pixels."""

    source: str
    width: int
    height: int


def render_page(page: Page) -> str:
    """Return a page as HTML: one file that has no scripts and fetches nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> from lsdt.reproduce.framework.claims import Claim, Estimate, between
    >>> from lsdt.reproduce.page.html import Page, Section, render_page
    >>> check = between("mean size", Estimate(4.9, 4.7, 5.1), 4.5, 5.5)
    >>> claim = Claim("about-5", "About 5 candidates are left.", "Fig. 4a", (check,))
    >>> table = pd.DataFrame({"epsilon": [0.1, 0.5], "candidates": [4.8, 5.0]})
    >>> section = Section("sizes", "Sizes", "Fig. 4a", "", {"arms": 100}, None, "", table, (claim,), (), 1.0)
    >>> html = render_page(Page("The paper reproduced", "", (section,), {"seed": "0"}))
    """
    _check(page)
    counts = Counter(claim.verdict for claim in page.claims)
    return _template().render(
        page=page,
        verdicts=[(verdict, counts[verdict.word]) for verdict in VERDICTS.values()],
        n_checks=sum(len(claim.checks) for claim in page.claims),
        longest=max((section.seconds for section in page.sections), default=0.0) or 1.0,
        now=sum(section.seconds for section in page.sections if not section.reused),
        earlier=sum(section.seconds for section in page.sections if section.reused),
        slowest_first=sorted(page.sections, key=lambda section: -section.seconds),
        most_rows=MOST_ROWS,
    )


def picture(figure: Path) -> Picture:
    """Return an SVG file that `lsdt.plotting.save` wrote as data for an ``img`` element."""
    try:
        data = figure.read_bytes()
    except OSError as error:
        raise InvalidFile(f"cannot read the figure {str(figure)!r}: {error.strerror or error}") from error
    size = _SIZE.search(data.decode("utf-8", "replace"))
    if size is None:
        raise InvalidFile(
            "a figure of the page must be an SVG file with its size in points, as lsdt.plotting.save writes "
            f"it; got {str(figure)!r}"
        )
    width, height = (round(float(points) * _POINT) for points in size.groups())
    return Picture(f"data:image/svg+xml;base64,{b64encode(data).decode('ascii')}", width, height)


def _folder(files: tuple[str, ...]) -> str:
    """Return the folder that holds all files, with its slash; empty if there are several folders."""
    folders = {file[: file.rfind("/") + 1] for file in files}
    return folders.pop() if len(folders) == 1 else ""


def _check(page: Page) -> None:
    ids = [section.id for section in page.sections]
    names = [f"claim-{claim.name}" for claim in page.claims]
    for name in (*ids, *names):
        if not _ID.fullmatch(name):
            raise InvalidInput(
                f"an id on the page must be letters, digits, '-', '_' and '.', a letter first; got {name!r}"
            )
    twice = [name for name, times in Counter((*_TAKEN, *ids, *names)).items() if times > 1]
    if twice:
        raise InvalidInput(f"ids on the page must differ, but {twice[0]!r} occurs twice: rename a part")


def _main_checks(claim: Claim) -> list[Check]:
    """Return the few checks that the summary shows, unconfirmed ones first."""
    return sorted(claim.checks, key=lambda check: check.outcome == CONFIRMED)[:_MOST_SHOWN]


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    world = Environment(
        loader=PackageLoader("lsdt.reproduce.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    world.filters.update(
        counted=counted,
        duration=duration,
        folder=_folder,
        # An unquoted colon would turn the text before it into a URL scheme.
        href=lambda path: quote(path, safe="/"),
        main_checks=_main_checks,
        minus=with_minus,
        name=name_text,
        paragraphs=lambda text: [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()],
        picture=picture,
        setting=setting_text,
        shown=text_table,
    )
    return world.get_template("page.html")
