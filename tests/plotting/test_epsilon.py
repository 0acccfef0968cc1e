"""The picture of the choice of epsilon."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import lsdt
from lsdt.plotting import plot_epsilon, save
from lsdt.plotting.epsilon import epsilon_choice


@pytest.fixture(scope="module")
def log():
    return lsdt.ratings.make_log(n_users=1500, n_items=10, ratings_per_user=7).log


def right_of(axes):
    (right,) = [other for other in axes.figure.axes if other is not axes]
    return right


def test_shows_candidates_and_risk_with_the_choice_ringed(log, tmp_path):
    evidence = lsdt.from_ratings(log, relations="threshold").evidence
    left = plot_epsilon(evidence)
    right = right_of(left)
    assert np.array_equal(left.lines[0].get_xdata(), evidence.scan["epsilon"])
    assert np.array_equal(left.lines[0].get_ydata(), evidence.scan["by_triangles"].astype(float))
    assert np.array_equal(right.lines[0].get_ydata(), evidence.scan["risk"])
    assert right.lines[2].get_ydata() == pytest.approx([0.05, 0.05])
    chosen = evidence.scan.set_index("epsilon").loc[evidence.epsilon]
    for axes, value in ((left, chosen["by_triangles"]), (right, chosen["risk"])):
        assert axes.lines[1].get_xdata() == [evidence.epsilon]
        assert axes.lines[1].get_ydata() == [value]
    words = f"Epsilon chosen: {evidence.epsilon:g} leaves {chosen['by_triangles']:.0f} of 10 items"
    assert words in left.get_title(loc="left")
    save(left, tmp_path / "epsilon.svg")


def test_what_is_drawn_is_the_choice_as_numbers(log):
    evidence = lsdt.from_ratings(log, relations="threshold").evidence
    choice = epsilon_choice(evidence)
    axes = plot_epsilon(evidence)
    assert choice.epsilon[choice.chosen] == evidence.epsilon
    assert choice.n_items == 10
    assert np.array_equal(axes.lines[0].get_ydata(), choice.by_triangles)
    assert np.array_equal(right_of(axes).lines[0].get_ydata(), choice.risk)


def test_one_epsilon(log):
    given = plot_epsilon(lsdt.from_ratings(log, epsilon=0.2).evidence)
    assert given.get_xlim() == pytest.approx((0, 0.4))
    assert "Epsilon given" in given.get_title(loc="left")


def test_another_figure_can_be_drawn_into(log):
    figure = Figure()
    first, second = figure.subplots(1, 2)
    assert plot_epsilon(lsdt.from_ratings(log, epsilon=0.2).evidence, second) is second
    assert second.figure is figure
    assert not first.lines


@pytest.mark.parametrize(
    ("evidence", "ax", "message"),
    [
        (None, None, r"evidence of side information from ratings \(side.evidence\); got NoneType"),
        (lsdt.SideInformation(2), None, "got SideInformation"),
        (None, [1], "ax must be a matplotlib Axes to draw into, or None for a new figure; got list"),
    ],
)
def test_other_values_are_refused(evidence, ax, message):
    with pytest.raises(lsdt.errors.InvalidInput, match=message):
        plot_epsilon(evidence, ax)
