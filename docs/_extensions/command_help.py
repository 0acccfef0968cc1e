"""The directive ``command-help``: every command of ``lsdt`` with the help that it prints."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from lsdt.cli.main import COMMANDS, build_parser

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def helps() -> dict[str, str]:
    """Return the help of ``lsdt`` and of each of its commands, 100 columns wide."""
    width = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        parser = build_parser()
        (commands,) = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
        texts = {"lsdt": parser.format_help()}
        return texts | {f"lsdt {name}": commands.choices[name].format_help() for name in COMMANDS}
    finally:
        if width is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = width


class CommandHelp(SphinxDirective):
    """A section for each command."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        return [_section(name, text) for name, text in helps().items()]


def _section(name: str, text: str) -> nodes.section:
    ident = nodes.make_id(name) if name != "lsdt" else "the-command-lsdt"
    section = nodes.section(ids=[ident], names=[nodes.fully_normalize_name(name)])
    section += nodes.title(name, "", nodes.literal(name, name))
    block = nodes.literal_block(text, text, classes=["command-help"])
    block["language"] = "text"
    section += block
    return section
