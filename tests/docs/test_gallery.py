"""The scripts of the gallery, as far as it can be told without running them; `make docs` runs them."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import lsdt

SCRIPTS = sorted((Path(__file__).parents[2] / "docs" / "gallery").glob("plot_*.py"))
# Modules of lsdt that people import by themselves, and what else a script may need.
PUBLIC = {"lsdt", "lsdt.reproduce", "lsdt.storage"}
OTHERS = {"heapq", "json", "matplotlib", "numpy", "pandas", "pathlib", "tempfile", "textwrap"}


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), path.name)


def foreign_imports(tree: ast.Module) -> list[str]:
    """Return what a script imports and should not."""
    wrong = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "", alias.name) for alias in node.names]
        else:
            continue
        for module, name in names:
            if module.split(".")[0] == "lsdt":
                if module not in PUBLIC or (name is not None and name not in import_module(module).__all__):
                    wrong.append(f"{module}.{name}" if name else module)
            elif module.split(".")[0] not in OTHERS:
                wrong.append(module)
    return wrong


def unknown_names(tree: ast.Module) -> list[str]:
    """Return what a script takes from `lsdt` under a name that is not public."""
    wrong = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        words = ast.unparse(node).split(".")
        if words[0] == "lsdt" and all(map(str.isidentifier, words)):
            found = lsdt
            for word in words[1:]:
                if word not in getattr(found, "__all__", dir(found)) or word.startswith("_"):
                    wrong.append(".".join(words))
                    break
                found = getattr(found, word)
        elif node.attr.startswith("_"):
            wrong.append(node.attr)
    return wrong


def test_there_is_a_gallery():
    numbers = [int(path.name[5:7]) for path in SCRIPTS]
    assert len(SCRIPTS) >= 12
    assert numbers == list(range(1, len(SCRIPTS) + 1))  # names give the order of the pictures


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script_has_title_text_and_one_picture(path):
    text = ast.get_docstring(parsed(path))
    title, line, empty, *rest = text.splitlines()
    assert set(line) == {"="}
    assert len(line) == len(title) >= 8
    assert empty == ""
    sentences = re.findall(r"[.?](?:\s|$)", "\n".join(rest))
    assert 2 <= len(sentences) <= 6
    code = path.read_text()
    assert 'plt.style.use("lsdt.plotting.slides")' in code
    assert len(re.findall(r"plt\.subplots\(|plot_\w+\(", code)) == 1
    assert re.search(r"title\(", code)  # the finding


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script_uses_public_names_and_no_jester_data(path):
    tree = parsed(path)
    assert foreign_imports(tree) == []
    assert unknown_names(tree) == []
    assert "jester" not in path.read_text().lower()


def test_private_names_are_found():
    tree = ast.parse(
        "from lsdt.agent.learner import Learner\nfrom lsdt.reproduce import Watcher\nimport requests\n"
        "import lsdt\nlsdt.plotting.style.COLOURS\nlsdt.Agent._learner\n"
        "lsdt.gone()\nlsdt.plotting.plot_arms(1)"
    )
    assert foreign_imports(tree) == ["lsdt.agent.learner.Learner", "lsdt.reproduce.Watcher", "requests"]
    assert set(unknown_names(tree)) >= {"lsdt.plotting.style.COLOURS", "lsdt.Agent._learner", "lsdt.gone"}
    assert "lsdt.plotting.plot_arms" not in unknown_names(tree)


def test_the_style_of_the_gallery_loads_and_its_greys_have_no_tint():
    """`lsdt.plotting.save` exchanges greys on dark pages, and those alone."""
    import matplotlib as mpl
    from matplotlib import style
    from matplotlib.colors import to_rgb

    from lsdt.plotting.style import COLOURS

    with mpl.rc_context():
        style.use("lsdt.plotting.slides")
        cycle = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
        assert list(map(to_rgb, map(_as_hex, cycle))) == list(map(to_rgb, COLOURS))
        for name in ("text.color", "axes.edgecolor", "axes.labelcolor", "grid.color", "xtick.labelcolor"):
            assert len(set(to_rgb(_as_hex(mpl.rcParams[name])))) == 1, name


def _as_hex(colour: str) -> str:
    return f"#{colour.lstrip('#')}"  # style files leave the sign out: it begins a comment there
