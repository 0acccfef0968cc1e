"""Powers in running text, such as 10^6, are shown raised; sources stay readable as they are."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform

_POWER = re.compile(r"(?<![\w^])(\d+)\^(-?\d+)(?![\w^.])")


def setup(app: Any) -> dict[str, bool]:
    """Add the transform."""
    app.add_transform(Powers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Powers(SphinxTransform):
    """Replace powers of whole numbers in text that is neither code nor a formula."""

    default_priority = 420

    def apply(self, **_: Any) -> None:
        """Look at every piece of text."""
        for text in list(self.document.findall(nodes.Text)):
            # A piece without a parent is no longer part of the page.
            if text.parent is not None and _POWER.search(text) and not _is_verbatim(text):
                parts: list[nodes.Node] = []
                start = 0
                for found in _POWER.finditer(text):
                    parts.append(nodes.Text(text[start : found.end(1)]))
                    parts.append(nodes.superscript("", found[2].replace("-", "−")))
                    start = found.end()
                text.parent.replace(text, [*parts, nodes.Text(text[start:])])


def _is_verbatim(node: nodes.Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(
            node, nodes.literal | nodes.literal_block | nodes.doctest_block | nodes.math | nodes.math_block
        ):
            return True
    return False
