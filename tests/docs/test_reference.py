"""Every public name has a place in the reference, of which `make docs` makes a page."""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

import lsdt

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
_BLOCK = re.compile(r"^\.\. currentmodule:: (\S+)\n(.*?)(?=^```$|^\.\. currentmodule)", re.M | re.S)
# The modules that `lsdt` lists, and one that people import by itself.
MODULES = [name for name in lsdt.__all__ if inspect.ismodule(getattr(lsdt, name))]
PUBLIC = [(f"lsdt.{name}", getattr(lsdt, name)) for name in MODULES] + [
    ("lsdt.reproduce", import_module("lsdt.reproduce"))
]


def listed() -> list[str]:
    """Return the names that pages of the reference list, each with its module."""
    names = []
    for page in sorted(REFERENCE.glob("*.md")):
        for module, block in _BLOCK.findall(page.read_text()):
            names += [
                f"{module}.{line.strip()}" for line in block.splitlines() if re.fullmatch(r"   \w+", line)
            ]
    return names


def value(name: str) -> object:
    """Return what a listed name stands for; a name that is gone fails here."""
    found: object = lsdt
    for word in name.split(".")[1:]:
        if found is lsdt and word not in lsdt.__all__:
            import_module(f"lsdt.{word}")
            found = sys.modules[f"lsdt.{word}"]
        else:
            found = getattr(found, word)
    return found


def test_nothing_is_listed_twice():
    names = listed()
    assert len(names) > 100
    assert sorted(names) == sorted(set(names))


def test_every_name_of_lsdt_is_in_the_reference():
    names = set(listed())
    missing = [name for name in lsdt.__all__ if name not in MODULES and f"lsdt.{name}" not in names]
    assert missing == []


@pytest.mark.parametrize(("name", "module"), PUBLIC, ids=lambda each: each if isinstance(each, str) else "")
def test_every_name_of_a_public_module_is_in_the_reference(name, module):
    known = {id(value(each)) for each in listed()}
    assert [each for each in module.__all__ if id(getattr(module, each)) not in known] == [], name
    assert module.__doc__
