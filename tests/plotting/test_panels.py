"""Lines in panels: nothing at the foot of a figure covers anything else."""

from __future__ import annotations

from itertools import combinations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from lsdt.plotting.panels import Line, Panel, draw_panels

WIDE = tuple(f"a policy with a long name, number {at}" for at in range(6))  # as wide as the figure
NOTE = "mean of 100 runs, bands: 95% intervals of the mean"


def panel(*labels):
    return Panel([Line(label, [1, 2, 3], [1, 4, 9]) for label in labels], "rounds", "regret")


@pytest.mark.parametrize("labels", [("one",), ("one", "two"), WIDE])
@pytest.mark.parametrize("panels", [1, 2])
def test_note_legend_and_axes_do_not_cover_one_another(panels, labels):
    figure = draw_panels([panel(*labels)] * panels, "Title", NOTE)
    FigureCanvasAgg(figure).draw()
    texts = [*figure.texts, *(text for legend in figure.legends for text in [legend.get_title()])]
    assert [text.get_text() for text in texts].count(NOTE) == 1
    boxes = [text.get_window_extent() for text in texts if text.get_text() == NOTE]
    boxes += [text.get_window_extent() for legend in figure.legends for text in legend.get_texts()]
    boxes += [axes.get_tightbbox() for axes in figure.axes]
    assert not any(first.overlaps(second) for first, second in combinations(boxes, 2))


def test_no_note_is_no_text():
    figure = draw_panels([panel("one", "two"), panel("one")], "Title")
    assert NOTE not in [text.get_text() for text in figure.texts]
    assert figure.legends[0].get_title().get_text() == ""


def test_marks_are_lines_with_a_word():
    marked = Panel(panel("one").lines, "rounds", "regret", marks=[(2.0, "the paper's")])
    axes = draw_panels([marked], "Title").axes[0]
    (text,) = axes.texts
    assert text.get_text() == "the paper's"
    assert [line.get_xdata() for line in axes.lines if line.get_label().startswith("_")] == [[2.0, 2.0]]
