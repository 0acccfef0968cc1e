"""Leaves out fields of named tuples, of which Python says only "Alias for field number 1"."""

from __future__ import annotations

from typing import Any


def setup(app: Any) -> dict[str, bool]:
    """Ask to be asked about every member."""
    app.connect("autodoc-skip-member", _is_bare_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _is_bare_field(app: Any, kind: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    return True if str(getattr(member, "__doc__", "")).startswith("Alias for field number") else None
