"""The claims that the documentation says were judged."""

from __future__ import annotations

import re
from pathlib import Path

_DOCS = Path(__file__).parent.parent / "docs/reproduction.md"


def claims_in_the_docs() -> list[str]:
    """Return the names of the claims in docs/reproduction.md, those in its table and those in its list."""
    section = _DOCS.read_text().split("## The claims")[1].split("## Where it differs")[0]
    table, hold = section.split("These ")
    return re.findall(r"^\| `([\w-]+)`", table, re.M) + re.findall(r"`([\w-]+)`", hold)
