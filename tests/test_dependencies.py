"""Every library that the project uses can be loaded beside every other, in any order."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from forks import forks

ROOT = Path(__file__).parent.parent
COMPILED = re.compile(r"\.(so(\.[0-9.]+)?|pyd|dll|dylib)$")


# Modules that their makers may change in any version.
PRIVATE = re.compile(
    r"^\s*(?:from|import) (numba\.(?:core|misc|np|typed|parfors)|uvicorn\.(?!Config|Server)\w+)", re.M
)


def requirements():
    """What the project and its extras ask for, by library."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    asked = {}
    for requirement in [*project["dependencies"], *(each for extra in extras for each in extra)]:
        asked.setdefault(re.split(r"[^\w.-]", requirement)[0], set()).add(requirement)
    return asked


def test_libraries_whose_private_parts_are_used_have_an_upper_bound():
    sources = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    used = {module.partition(".")[0] for source in sources for module in PRIVATE.findall(source)}
    assert used == {"numba", "uvicorn"}
    asked = requirements()
    for name in used:
        assert len(asked[name]) == 1, f"the bounds of {name} differ: {asked[name]}"
        (requirement,) = asked[name]
        assert re.search(r"<0\.\d+$", requirement), requirement


def compiled_files():
    """The shared objects of every library of the project that is installed here, by its name."""
    found = {}
    for name in sorted(requirements()):
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            continue  # an extra that is not wanted here
        shared = [file for file in files if COMPILED.search(file.name)]
        if shared:
            found[name] = shared
    return found


def modules(files):
    """The modules of a library: folders of its shared objects that can be imported, and those at the top."""
    folders = {file.parts[0] if len(file.parts) > 1 else file.name.split(".")[0] for file in files}
    return {folder for folder in folders if folder.isidentifier()}


@pytest.mark.parametrize("backwards", [False, pytest.param(True, marks=pytest.mark.long)])
def test_all_libraries_are_loaded_in_one_process(backwards):
    names = {name for files in compiled_files().values() for name in modules(files)}
    assert {"highspy", "numba", "pyarrow", "scipy"} <= names
    names -= {"_postgresql"}  # left over in the wheel of the server; nobody imports it
    names |= {"polars", "scipy.optimize"}  # one has its code in another package, the other a HiGHS of its own
    forks(f"import {', '.join(sorted(names, reverse=backwards))}")


def test_no_two_libraries_bring_different_shared_objects_of_one_name():
    """The second one to be loaded would be given the first one's, and miss what only its own has."""
    owners = {}
    for library, files in compiled_files().items():
        for file in files:
            if file.name.startswith("lib") and ".cpython-" not in file.name:
                owners.setdefault(file.name, {}).setdefault(library, file.read_binary())
    assert owners
    clashes = {name: list(by) for name, by in owners.items() if len(set(by.values())) > 1}
    assert clashes == {}


EXACT = "assert len(lsdt.candidate_set(side, method='exact')) > 0"
POLICY = "assert lsdt.Agent(side, 'lsdt_psi', horizon=1000).ask().arm in range(30)"


def test_exact_candidates_and_a_policy_in_either_order():
    """The policy solves a linear programme; with a solver of its own, `exact` would have got in its way."""
    start = """
        import sys, lsdt, numpy as np
        means = np.random.default_rng(0).random(30)
        side = lsdt.from_means(means, 0.2).reveal(0.3, 0.3, seed=0)
        assert "highspy" not in sys.modules
    """
    solved = "assert 'highspy' in sys.modules; print('solved')"
    orders = (EXACT, POLICY, solved), (POLICY, EXACT, solved)
    assert forks(start, *map("\n".join, orders)) == [["solved"], ["solved"]]
