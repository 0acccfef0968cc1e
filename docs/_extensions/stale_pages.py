"""Removes pages that an earlier build made of names and gallery scripts that are gone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

_BLOCK = re.compile(r"^\.\. currentmodule:: (\S+)\n(.*?)^```$", re.M | re.S)


def setup(app: Sphinx) -> dict[str, bool]:
    """Look before Sphinx lists its sources."""
    app.connect("config-inited", _remove)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _remove(app: Sphinx, config: Config) -> None:
    source = Path(app.srcdir)
    names = {
        f"{module}.{line.strip()}"
        for page in (source / "reference").glob("*.md")
        for module, block in _BLOCK.findall(page.read_text())
        for line in block.splitlines()
        if re.fullmatch(r"   \w+", line)
    }
    for page in (source / "reference" / "api").glob("*.rst"):
        if page.stem not in names:
            page.unlink()
    scripts = {script.stem for script in (source / "gallery").glob("plot_*.py")}
    for page in (source / "examples").glob("plot_*"):
        if page.name.split(".")[0] not in scripts:
            page.unlink()
