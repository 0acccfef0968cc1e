from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

import lsdt
from lsdt.errors import InvalidInput
from lsdt.plotting import plot_candidates, save
from lsdt.plotting.candidates import candidate_picture
from lsdt.plotting.graph_layout import lanes, shorten, spread_out
from lsdt.side_information.examples import example

SideInformation = lsdt.SideInformation


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30))
def test_intervals_of_one_lane_do_not_touch(left):
    left = np.array(left)
    lane = lanes(left, 1.0, 0.1)
    for number in range(lane.max() + 1):
        inside = np.sort(left[lane == number])
        assert (np.diff(inside) >= 1.1 - 1e-12).all()


def test_similar_arms_are_drawn_nearer_than_dissimilar_ones():
    side = example("partial")
    points = spread_out(11, side.similar_pairs(), side.dissimilar_pairs())
    near, far = (
        np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
        for pairs in (side.similar_pairs(), side.dissimilar_pairs())
    )
    assert near.max() < far.min()
    assert np.array_equal(points, spread_out(11, side.similar_pairs(), side.dissimilar_pairs()))


def test_intervals_start_at_the_means_and_candidates_are_coloured():
    found = lsdt.candidate_set(example("complete"))
    axes = plot_candidates(found)
    bars = [path.vertices for path in axes.collections[0].get_paths()]
    assert sorted(round(bar[:, 0].min(), 6) for bar in bars)[:2] == [0.1, 0.11]
    assert {round(float(np.ptp(bar[:, 0])), 6) for bar in bars} == {0.15}
    grey = np.array([200, 200, 200]) / 255
    coloured = [face for face in axes.collections[0].get_facecolors() if not np.allclose(face[:3], grey)]
    assert len(coloured) == len(found)
    assert {text.get_text() for text in axes.texts} == {str(arm) for arm in range(1, 12)}
    assert "5 of 11 arms can be the best" in axes.get_title(loc="left")
    assert "mean reward" in axes.get_xlabel()


def test_graph_has_a_line_for_every_relation():
    side = example("partial")
    axes = plot_candidates(lsdt.candidate_set(side))
    similar, dissimilar = axes.collections[:2]
    assert (len(similar.get_segments()), len(dissimilar.get_segments())) == (17, 21)
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert labels == ["may be the best (7)", "cannot (4)", "similar", "dissimilar"]


@pytest.mark.parametrize(
    "side",
    [
        lsdt.complete(1, []),
        SideInformation(2, [], []),
        lsdt.complete(12, []),
        SideInformation(3, [(0, 1)], [], arm_ids=["a very long name of an arm", "b", "c"]),
        lsdt.from_means(np.zeros(60), 1.0),
        lsdt.from_means(np.linspace(0, 1, 60), 0.03).reveal(0.5, 0.5),
        lsdt.from_means([1, 2, 9], 2),
        lsdt.from_means([0, 1, 10**6], 2, arm_ids=["$\\foo$", "$x^2$", "日本"]),
    ],
    ids=[
        "one arm",
        "nothing known",
        "all isolated",
        "long names",
        "all equal",
        "many",
        "integers",
        "far apart, odd ids",
    ],
)
def test_corner_cases_are_drawn(tmp_path, side):
    save(plot_candidates(lsdt.candidate_set(side)), tmp_path / "x.png")
    save(plot_candidates(lsdt.candidate_set(side, "triangles")), tmp_path / "y.svg")
    assert (tmp_path / "x.png").stat().st_size > 1000


def heights_of(axes):
    """Return the heights of the bars, a row per kind of arms, from the bottom."""
    return np.array([[bar.get_height() for bar in bars] for bars in axes.containers])


def legend_of(axes):
    return [text.get_text() for text in axes.figure.legends[0].get_texts()]


def test_many_arms_are_a_density_on_a_line(tmp_path):
    rng = np.random.default_rng(0)
    found = lsdt.candidate_set(lsdt.from_means(rng.random(100_000), 0.05))
    axes = plot_candidates(found)
    assert heights_of(axes).sum(axis=1).tolist() == [len(found), 100_000 - len(found)]
    assert len(axes.collections[0].get_segments()) == len(found)  # a tick each
    assert f"can be the best ({len(found)})" in legend_of(axes)
    assert axes.get_xlabel() == "mean reward"
    assert {text.get_text() for text in axes.texts} <= {str(arm) for arm in found.arms}
    save(axes, tmp_path / "x.png")


def test_pairs_of_many_arms_say_where_they_lie_and_why_they_are_out():
    means = np.sort(np.random.default_rng(1).random(60))
    side = lsdt.from_means(means, 0.1, arm_ids=[f"drink {n}" for n in range(60)]).reveal(0.7, 0.5).explicit()
    found = lsdt.candidate_set(side)
    picture = candidate_picture(found)
    assert abs(np.corrcoef(picture.form.x, means)[0, 1]) > 0.99
    axes = plot_candidates(found)
    counts = np.bincount(picture.form.kinds)
    assert heights_of(axes).sum(axis=1).tolist() == [number for number in counts if number]
    assert counts[0] == len(found)
    shown = [label.rpartition(" (")[0] for label in legend_of(axes)]
    assert shown[0] == f"{found.verb} the best"
    assert "out: two arms similar to it are dissimilar" in shown
    assert "either end may be the better one" in axes.get_xlabel()
    assert {text.get_text() for text in axes.texts} == set(found.arm_ids)


def test_ranges_of_many_arms_lie_as_their_ranges_say():
    means = np.random.default_rng(2).random(80)
    pairs = np.random.default_rng(3).integers(0, 80, (600, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    apart = means[pairs[:, 0]] - means[pairs[:, 1]]
    rows = zip(pairs.tolist(), apart.tolist(), strict=True)
    ranges = [(a, b, gap - 0.05, gap + 0.05) for (a, b), gap in rows]
    better = [(int(np.argmax(means)), int(np.argmin(means)))]
    found = lsdt.candidate_set(SideInformation(80, ranges=ranges, better=better))
    picture = candidate_picture(found)
    assert np.allclose(picture.form.x - picture.form.x.mean(), means - means.mean(), atol=0.05)
    assert "out: another arm is known to be better" in legend_of(plot_candidates(found))[1]


def test_parts_whose_distance_is_unknown_lie_side_by_side():
    side = SideInformation(60, similar=[(at, at + 1) for at in range(58) if at != 29])
    x = candidate_picture(lsdt.candidate_set(side, "triangles")).form.x
    assert x[30:59].min() - x[:30].max() > 1.0 or x[:30].min() - x[30:59].max() > 1.0
    nothing = candidate_picture(lsdt.candidate_set(SideInformation(51)))
    assert "nothing is known" in nothing.form.xlabel


def test_very_many_arms_are_laid_out_roughly():
    instance = lsdt.problems.sparse(n_arms=5001, epsilon=0.1, relations_per_arm=20).draw(0, 0)
    found = lsdt.candidate_set(instance.side, "triangles")
    x = candidate_picture(found).form.x
    assert abs(np.corrcoef(x, instance.means)[0, 1]) > 0.9


@pytest.mark.parametrize("kind", ["complete", "partial"])
def test_what_is_drawn_is_the_picture_as_numbers(kind):
    found = lsdt.candidate_set(example(kind))
    picture = candidate_picture(found)
    assert [arm for arm in range(11) if picture.group[arm] >= 0] == found.arms.tolist()
    axes = plot_candidates(found)
    if kind == "complete":
        bars = np.array([path.vertices[0] for path in axes.collections[0].get_paths()])
        assert np.allclose(bars[:, 0], picture.form.left)
        assert np.allclose(bars[:, 1], picture.form.lane - 0.36)
        assert [class_.tolist() for class_ in found.classes] == [
            np.flatnonzero(picture.group == number).tolist() for number in range(len(picture.groups))
        ]
    else:
        assert np.array_equal(axes.collections[-1].get_offsets(), picture.form.points)
        assert np.array_equal(axes.collections[0].get_segments(), picture.form.points[picture.form.similar])
    assert axes.get_title(loc="left") == picture.title


@pytest.mark.parametrize("kind", ["complete", "partial"])
@pytest.mark.parametrize("shared", [False, True])
def test_another_figure_can_be_drawn_into(kind, shared, tmp_path):
    figure = Figure(figsize=(6, 3))
    left, right = figure.subplots(1, 2, sharex=shared, sharey=shared)
    found = lsdt.candidate_set(example(kind))
    assert plot_candidates(found, right) is right
    assert right.figure is figure
    assert right.collections
    assert right.get_legend() is not None
    assert not left.collections
    assert not figure.legends
    assert not figure.texts
    save(right, tmp_path / "both.png")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None,), "what lsdt.candidate_set returns; got NoneType"),
        ((lsdt.candidate_set(SideInformation(2)), 3), "ax must be a matplotlib Axes .* got int"),
        ((lsdt.candidate_set(SideInformation(2)), Figure()), "ax must be a matplotlib Axes .* got Figure"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        plot_candidates(*arguments)


def test_long_labels_are_shortened_in_the_middle():
    assert shorten("Organic Fair Trade Coffee 10", 12) == "Organic … 10"
    assert shorten("coffee", 6) == "coffee"
    assert all(len(shorten("x" * 40, letters)) == letters for letters in range(4, 20))


def test_many_dissimilar_pairs_are_not_drawn_and_that_is_said():
    side = lsdt.from_means(np.linspace(0, 1, 40), 0.1).reveal(0.5, 0.9)
    axes = plot_candidates(lsdt.candidate_set(side))
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert labels[-1] == f"{side.n_dissimilar:,} dissimilar pairs are not drawn"


def test_the_same_picture_twice_is_the_same_file(tmp_path):
    for name in ("x.svg", "y.svg"):
        save(plot_candidates(lsdt.candidate_set(example("partial"))), tmp_path / name)
    assert (tmp_path / "x.svg").read_bytes() == (tmp_path / "y.svg").read_bytes()


def test_arrows_point_from_the_better_arm():
    side = lsdt.SideInformation(
        5, similar=[(0, 1)], better=[(2, 1)], ranges=[(0, 3, 0.1, 0.2), (4, 0, None, -0.1), (3, 4, -1, 1)]
    )
    found = lsdt.candidate_set(side)
    assert candidate_picture(found).form.better.tolist() == [[0, 3], [0, 4], [2, 1]]
    axes = plot_candidates(found)
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == 3
    assert "better than" in [text.get_text() for text in axes.figure.legends[0].get_texts()]


def test_too_many_arrows_are_counted():
    n_arms = 40
    side = lsdt.SideInformation(n_arms, better=[(a, b) for a in range(n_arms) for b in range(a + 1, n_arms)])
    axes = plot_candidates(lsdt.candidate_set(side))
    assert not [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert "780 better pairs are not drawn" in labels
