"""The types that users see are there and true: a script that `mypy --strict` passes on runs."""

from __future__ import annotations

import runpy
from pathlib import Path

import lsdt

HERE = Path(__file__).parent


def test_a_script_with_strict_types_runs():
    runpy.run_path(str(HERE / "typing/user_script.py"), run_name="__main__")
    assert (Path(lsdt.__file__).parent / "py.typed").is_file()


def test_make_checks_the_types_of_that_script():
    assert "$(BIN)/mypy tests/typing\n" in (HERE.parent / "Makefile").read_text()
