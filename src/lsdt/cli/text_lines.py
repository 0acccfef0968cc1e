"""Text files with one arm, or one example, a line."""

from __future__ import annotations

from pathlib import Path

from lsdt.errors import InvalidFile


def read_lines(path: str, option: str) -> list[str]:
    """Return the lines of a file without blanks around them, and without empty ones."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidFile(f"{option}: cannot read {path!r}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidFile(f"{option}: {path!r} is not text in UTF-8") from None
    found = [line.strip() for line in text.split("\n") if line.strip()]
    if not found:
        raise InvalidFile(f"{option}: {path!r} has no lines")
    return found
