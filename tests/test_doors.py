"""Rooms are entered through their doors, and a door loads only what is asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import lsdt

PACKAGE = Path(lsdt.__file__).parent
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.pyi"))


def names_in(stub: Path) -> set[str]:
    """Return the names that a stub lists."""
    nodes = ast.walk(ast.parse(stub.read_text()))
    return {each.name for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names}


@cache  # every room asks
def imports_between_rooms() -> list[tuple[str, str, str]]:
    """Return who imports what from where: the file, the module and the name, across rooms."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        mine = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
                words = node.module.split(".")
                if words[0] == "lsdt" and len(words) > 1 and words[1] in ROOMS and words[1] != mine:
                    found += [(str(path), node.module, each.name) for each in node.names]
    return found


def test_every_room_but_the_command_line_has_a_door():
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms - set(ROOMS) == {"cli"}


def test_rooms_are_entered_through_their_doors():
    """import-linter says so too, but takes a function with the name of its file for that file."""
    imports = imports_between_rooms()
    assert len(imports) > 500
    inside = {"lsdt.service.client"}  # a room in a room: a client needs no server, a server no client
    past = [each for each in imports if each[1].count(".") > 1 and each[1] not in inside]
    assert past == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_door_lists_what_exists_and_what_is_needed(room):
    door, listed = import_module(f"lsdt.{room}"), names_in(PACKAGE / room / "__init__.pyi")
    for name in sorted(listed):
        assert getattr(door, name) is not None, name
    needed = {name for _, module, name in imports_between_rooms() if module == f"lsdt.{room}"}
    public = set(getattr(door, "__all__", ()))
    assert public <= listed
    assert needed <= listed
    if public < listed:  # what is not public is there for other rooms
        assert listed - public - needed == set()


def test_a_function_is_not_hidden_by_the_file_of_its_name():
    import_module("lsdt.candidates.candidate_set")
    assert callable(lsdt.candidates.candidate_set)
    assert lsdt.candidates.candidate_set is lsdt.candidate_set


def test_a_door_loads_only_what_is_asked_for():
    code = (
        "import sys, lsdt, lsdt.candidates, lsdt.agent, lsdt.kernel, lsdt.plotting, lsdt.reproduce\n"
        "heavy = {'numpy', 'numba', 'pandas', 'pyarrow', 'scipy', 'matplotlib', 'jinja2', 'httpx'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"
