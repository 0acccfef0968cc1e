"""The pages that people write, of the site and beside it; what the build makes of code is not among them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
GENERATED = (DOCS / "_build", DOCS / "examples", DOCS / "reference" / "api")


def is_generated(path: Path) -> bool:
    """Say whether a build makes this file."""
    return any(path.is_relative_to(each) for each in GENERATED)


PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(path for path in sorted(DOCS.rglob("*.md")) if not is_generated(path)),
]
