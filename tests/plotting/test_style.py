from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections import OrderedDict
from pathlib import Path

import pytest
from matplotlib._pylab_helpers import Gcf
from matplotlib.figure import Figure

import lsdt
from lsdt.errors import InvalidFile, InvalidInput, MissingDependency
from lsdt.plotting import plot_arms, plot_candidates, save
from lsdt.plotting.panels import Line, Panel, draw_panels
from lsdt.plotting.style import COLOURS, adaptive
from lsdt.side_information.examples import example

_RULE = re.compile(r'(:not\(g\))?\[style\*="(fill|stroke): (#\w{6})"\]\{\2:(#\w{6})!important\}')


def rules_of(text):
    return {(kind, old): (shapes, new) for shapes, kind, old, new in _RULE.findall(text)}


def test_greys_change_places_and_keep_their_order():
    greys = ["#000000", "#222222", "#777777", "#e4e4e4", "#ffffff"]
    marks = "".join(f'<path style="stroke: {grey}; stroke-width: 1"/>' for grey in greys)
    text = adaptive(f"<svg><style>*{{}}</style>{marks}<path style='fill: #123456; stroke: #abcdef'/></svg>")
    rules = rules_of(text)
    assert list(rules) == [("stroke", grey) for grey in greys]
    lightness = [new for _, new in rules.values()]
    assert lightness == sorted(lightness, reverse=True)
    assert lightness[0] == "#f0f0f0"
    assert lightness[-1] == "#161616"


def test_white_letters_stay_white_and_white_shapes_do_not():
    text = adaptive('<svg><style></style><g style="fill: #ffffff"/><path style="fill: #ffffff"/></svg>')
    assert rules_of(text) == {("fill", "#ffffff"): (":not(g)", "#161616")}


def panels():
    panel = Panel([Line("a", [0, 1], [1, 2], [0, 1], [2, 3])], "x", "y", span=(0.2, 0.4, "here"))
    return draw_panels([panel], "Title", "note")


def intervals():
    return plot_candidates(lsdt.candidate_set(example("complete")))


def graph():
    return plot_candidates(lsdt.candidate_set(example("partial")))


def arms():
    agent = lsdt.Agent(example("complete"), "lsdt_csi")
    agent.tell(agent.ask(), 1.0)
    return plot_arms(agent)


@pytest.mark.parametrize("draw", [panels, intervals, graph, arms])
def test_pictures_have_no_ground_and_a_rule_for_every_grey(tmp_path, draw):
    save(draw(), tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text(encoding="utf-8")
    root = ET.fromstring(text)
    ground = root.find(".//*[@id='patch_1']/*")
    assert ground.get("style") == "fill: none"
    rules = rules_of(text)
    used = re.findall(r"(fill|stroke): (#\w{6})", "".join(node.get("style", "") for node in root.iter()))
    greys = {(kind, colour) for kind, colour in used if len({colour[1:3], colour[3:5], colour[5:]}) == 1}
    assert greys
    assert set(rules) == greys
    coloured = {colour for _, colour in used} - {colour for _, colour in greys}
    assert coloured <= {colour.lower() for colour in COLOURS}


def test_other_files_are_on_white(tmp_path):
    from matplotlib.image import imread

    save(intervals(), tmp_path / "x.png")
    assert (imread(tmp_path / "x.png")[0, 0] == 1.0).all()


def test_bytes_are_the_same_on_every_system(tmp_path):
    save(intervals(), tmp_path / "x.svg")
    assert b"\r" not in (tmp_path / "x.svg").read_bytes()


def test_a_figure_an_axes_and_one_of_a_subfigure_are_saved_alike(tmp_path):
    figure = Figure()
    inside = figure.subfigures(1, 2)[0].subplots()
    for name, drawn in (("a.svg", figure), ("b.svg", inside), ("deep/c.svg", inside)):
        save(drawn, tmp_path / name)
    first = (tmp_path / "a.svg").read_bytes()
    assert (tmp_path / "b.svg").read_bytes() == (tmp_path / "deep/c.svg").read_bytes() == first


@pytest.mark.parametrize("name", ["x.gif", "x", "x.jpeg"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(
        InvalidInput, match=r"the file name of a picture must end in \.svg, \.png, \.pdf; got '.*x"
    ):
        save(Figure(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("drawn", [None, "arms", [Figure()]])
def test_what_is_no_picture_is_refused(tmp_path, drawn):
    with pytest.raises(
        InvalidInput, match=f"Axes of a plot_... function, or a Figure; got {type(drawn).__name__}"
    ):
        save(drawn, tmp_path / "x.svg")


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_an_earlier_picture_stays_when_the_disk_is_full(tmp_path, monkeypatch, ending):
    picture = tmp_path / f"arms{ending}"
    save(intervals(), picture)
    before = picture.read_bytes()

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InvalidFile, match=f"arms{ending}.*No space left on device"):
        save(graph(), picture)
    assert picture.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [picture.name]


def test_no_figure_gets_into_a_global_list(monkeypatch):
    """Pyplot keeps every figure in a list. No module of ours imports it, and nothing fails without it."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setattr(Gcf, "figs", OrderedDict())
    for draw in (panels, intervals, graph, arms):
        assert draw() is not None
    assert not Gcf.figs
    ours = Path(lsdt.__file__).parent
    assert not [path.name for path in ours.rglob("*.py") if "pyplot" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", lsdt.plotting.__all__)
def test_without_matplotlib_the_extra_is_named(name, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependency, match=r"^plots need matplotlib: pip install 'lsdt\[report\]'$"):
        getattr(lsdt.plotting, name)(None, *([tmp_path / "x.svg"] if name == "save" else []))
