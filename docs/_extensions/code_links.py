"""Public names in running text, such as `lsdt.Agent.open(url)`, link to their page of the reference.

Blocks of code lose the empty line that doctests need at their end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_NAME = re.compile(r"(lsdt(?:\.\w+)+)(?:\(.*\))?")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the transform; what does not resolve stays what it was."""
    app.add_transform(CodeLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class CodeLinks(SphinxTransform):
    """Wrap inline code that begins with `lsdt.` into a reference."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        """Look at every piece of inline code outside of links and titles."""
        for node in list(self.document.findall(nodes.literal)):
            found = _NAME.fullmatch(node.astext())
            if found and not _inside(node, nodes.reference, nodes.title, pending_xref):
                link = pending_xref("", node.deepcopy(), refdomain="py", reftype="obj", reftarget=found[1])
                link["refdoc"] = self.env.docname
                node.replace_self(link)

        for block in self.document.findall(nodes.literal_block):
            text = block.astext().rstrip()
            block.rawsource = text
            block.children = [nodes.Text(text)]


def _inside(node: nodes.Node, *kinds: type[nodes.Node]) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False
