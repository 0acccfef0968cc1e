"""The claims that the documentation says were judged."""

from __future__ import annotations

import re
from pathlib import Path

_DOCS = Path(__file__).parent.parent / "docs/paper/reproduction.md"


def claims_in_the_docs() -> list[str]:
    """Return the names of the claims in docs/paper/reproduction.md, of its table and of its list."""
    section = _DOCS.read_text().split("## The claims")[1].split("## Where it differs")[0]
    table, hold = section.split("These ")
    return re.findall(r"^\| `([\w-]+)`", table, re.M) + re.findall(r"`([\w-]+)`", hold)
