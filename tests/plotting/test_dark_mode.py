from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

import lsdt
from lsdt.plotting.candidates import draw_graph, draw_intervals, save_picture
from lsdt.plotting.dark_mode import adaptive
from lsdt.plotting.panels import Line, Panel, draw_panels
from lsdt.plotting.style import COLOURS, write_figure
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
    return draw_intervals(lsdt.candidate_set(example("complete")))


def graph():
    return draw_graph(lsdt.candidate_set(example("partial")))


@pytest.mark.parametrize("draw", [panels, intervals, graph])
def test_pictures_have_no_ground_and_a_rule_for_every_grey(tmp_path, draw):
    write_figure(draw(), tmp_path / "x.svg")
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

    save_picture(lsdt.candidate_set(example("complete")), tmp_path / "x.png")
    assert (imread(tmp_path / "x.png")[0, 0] == 1.0).all()


def test_bytes_are_the_same_on_every_system(tmp_path):
    save_picture(lsdt.candidate_set(example("complete")), tmp_path / "x.svg")
    assert b"\r" not in (tmp_path / "x.svg").read_bytes()
