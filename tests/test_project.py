"""The project keeps its own promises: documented names, versions."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import lsdt
from lsdt import errors
from reproduced_claims import claims_in_the_docs

ROOT = Path(__file__).parent.parent


def test_every_public_name_is_documented_with_an_example():
    for name in lsdt.__all__:
        thing = getattr(lsdt, name)
        assert inspect.getdoc(thing), name
        if not inspect.ismodule(thing):
            assert ">>>" in thing.__doc__, name
    assert dir(lsdt) == lsdt.__all__
    with pytest.raises(AttributeError, match="No lsdt attribute nothing"):
        assert lsdt.nothing


def test_every_error_has_an_exit_code_of_its_own():
    classes = [
        thing
        for thing in vars(errors).values()
        if inspect.isclass(thing) and issubclass(thing, errors.LsdtError)
    ]
    codes = [thing.exit_code for thing in classes]
    assert len(set(codes)) == len(codes)
    told = (ROOT / "docs/reference/command-line.md").read_text()
    for code in sorted(codes)[1:]:
        assert f"| {code} | " in told


def test_version_is_said_once_and_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == lsdt.__version__
    assert f"## {lsdt.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_lowest_versions_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = dict(re.findall(r"^(\S+)==(\S+)$", (ROOT / "requirements-lowest.txt").read_text(), re.M))
    optional = project["optional-dependencies"]
    elsewhere = {"docs", "ray", "spark", "test"}  # environments of their own, and what tests are run with
    extras = [each for name, needed in optional.items() if name not in elsewhere for each in needed]
    for requirement in {*project["dependencies"], *extras}:
        name, bound = re.match(r"([^>]+)>=([\d.]+)", requirement).groups()
        assert lowest[name].startswith(bound), name


def test_citation_and_security_policy_are_of_this_version():
    assert f"version: {lsdt.__version__}" in (ROOT / "CITATION.cff").read_text()
    series = ".".join(lsdt.__version__.split(".")[:2])
    assert f"| {series} | yes |" in (ROOT / "SECURITY.md").read_text()


def test_the_claims_are_counted_alike_everywhere():
    """The whole report, which is run elsewhere, has the claims that docs/paper/reproduction.md names."""
    told = (ROOT / "docs/paper/reproduction.md").read_text()
    total, *verdicts = (
        int(re.search(pattern, told)[1])
        for pattern in (r"of (\d+) hold", r"(\d+) of \d+ hold", r"(\d+) hold in part", r"(\d+) do not hold")
    )
    assert total == sum(verdicts) == len(claims_in_the_docs())
    readme = (ROOT / "README.md").read_text()
    table = re.findall(r"^\| (?:holds|holds in part|does not hold) \| (\d+) \|", readme, re.M)
    assert [int(number) for number in table] == verdicts
    for name in ("README.md", "CHANGELOG.md"):
        assert re.findall(r"(\d+) claims", (ROOT / name).read_text()) == [str(total)], name


def test_the_readme_is_short_and_shows_code_and_a_picture_early():
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 900
    assert ">>> import lsdt" in text.splitlines()[:20]
    assert len(re.findall(r"!\[", text)) == 1


def test_every_folder_of_the_package_is_on_the_map_and_has_a_door():
    """docs/architecture.md names every folder; the door of a folder says what is in it."""
    text = (ROOT / "docs/architecture.md").read_text()
    for folder in sorted({path.parent for path in (ROOT / "src/lsdt").rglob("*.py")} - {ROOT / "src/lsdt"}):
        assert f"`{folder.relative_to(ROOT / 'src/lsdt').as_posix()}/`" in text, folder
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), folder


def test_class_names_are_unique():
    files = sorted((ROOT / "src/lsdt").rglob("*.py"))
    names = [
        node.name
        for path in files
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    ]
    assert [name for name, count in Counter(names).items() if count > 1] == []
