"""The page: data, style and script in one file that needs neither server nor network.

Its Content Security Policy allows the page's own style and script and nothing else. Names come from users, so
they are embedded as JSON, and the script inserts them as text.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from lsdt._files import checked_path, replace_file
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from os import PathLike


def write_page(content: dict[str, Any], path: str | PathLike[str], title: str = "") -> None:
    """Write the page to a file; an existing file is replaced atomically.

    Parameters
    ----------
    content : dict
        What `lsdt.explorer.page_content` returned, with ``'play'`` from `playground` for the examples.
    path : str or path
        The file to write, ending in .html.
    title : str
        What the page is about, such as the name of a file.

    Examples
    --------
    >>> import lsdt, tempfile
    >>> from lsdt.explorer import page_content, write_page
    >>> found = lsdt.candidate_set(lsdt.SideInformation(3, [(0, 1), (1, 2)], [(0, 2)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(page_content(found), f"{folder}/page.html")
    """
    target = checked_path(path)
    check_page_path(str(target))
    page = render_page(content, title)
    with replace_file(target) as written:
        written.write_text(page, encoding="utf-8", newline="\n")


def check_page_path(path: str) -> None:
    """Refuse a path that does not end in .html or .htm."""
    if not path.lower().endswith((".html", ".htm")):
        raise InvalidInput(f"the page's file name must end in .html or .htm; got {path!r}")


def render_page(content: dict[str, Any], title: str = "") -> str:
    """Return the HTML of the page; `content` and `title` are those of `write_page`."""
    style, script = _template("page.css"), _template("page.js")
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    return Template(_template("page.html")).substitute(
        title=escape(title or content["summary"]),
        summary=escape(content["summary"]),
        policy=escape(policy),
        style=style,
        script=script,
        data=_embedded(content),
        play=_template("play.html") if "play" in content else "",
    )


def _embedded(content: dict[str, Any]) -> str:
    """Return JSON that cannot close the HTML element around it; lone surrogates are escaped."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _template(name: str) -> str:
    return (files("lsdt.explorer") / "templates" / name).read_text("utf-8")
