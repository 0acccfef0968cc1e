from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import lsdt
from lsdt.errors import InvalidInput
from lsdt.plotting import plot_regret, save
from lsdt.plotting.line_names import spread
from lsdt.plotting.regret import regret_panel
from lsdt.simulation.result import interval


@pytest.fixture(scope="module")
def result():
    problem = lsdt.problems.uniform(n_arms=10, epsilon=0.2)
    return lsdt.simulate(problem, ["lsdt_csi", "ucb1"], 50, 6, checkpoints=5)


def texts(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def names(axes):
    """Names of lines from top to bottom."""
    written = [text for text in axes.texts if text.get_text()]
    return [text.get_text() for text in sorted(written, key=lambda text: -text.xyann[1])]


def test_lines_are_means_and_bands_are_intervals(result):
    axes = plot_regret(result)
    assert np.allclose(axes.lines[1].get_ydata(), result.regret("ucb1").mean(axis=0))
    band = axes.collections[1].get_paths()[0].vertices[:, 1]
    last = result.summary().loc["ucb1"]
    assert band.min() < result.regret("ucb1").mean(axis=0)[0]
    assert band.max() == pytest.approx(last.high)


def test_names_say_alpha_and_are_in_the_order_of_the_lines(result):
    final = result.summary()["regret"]
    named = {"ucb1, alpha=2": final["ucb1"], "lsdt_csi, alpha=8": final["lsdt_csi"]}
    wanted = sorted(named, key=lambda text: -named[text])
    assert names(plot_regret(result)) == wanted
    assert plot_regret(result).get_legend() is None
    assert names(plot_regret(result, policies=["lsdt_csi"])) == ["lsdt_csi, alpha=8"]
    assert texts(plot_regret(result, legend=True)) == wanted
    inside = Figure().add_subplot()
    assert texts(plot_regret(result, inside)) == wanted
    assert names(plot_regret(result, Figure().add_subplot(), legend=False)) == wanted
    with pytest.raises(InvalidInput, match="legend must be True or False"):
        plot_regret(result, legend="right")


def test_names_cover_neither_one_another_nor_the_edge(result):
    """Sixteen lines that end within a hair of one another, in a figure that is drawn."""
    bounds = {f"bound {number}": 2.0 + 1e-3 * number for number in range(14)}
    axes = plot_regret(result, bounds=bounds)
    figure = axes.figure
    figure.savefig(io.BytesIO(), format="png")
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the lead
    assert len(boxes) == 16
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert all(figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1 for box in boxes)


def test_where_names_have_no_room_a_legend_takes_their_place(result):
    small = Figure(figsize=(3, 1)).add_subplot()
    bounds = {f"bound {number}": 2.0 for number in range(8)}
    axes = plot_regret(result, small, bounds=bounds, legend=False)
    assert len(texts(axes)) == 10


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.9, 0.1], [0.9, 0.1]),
        ([0.0, 0.02, 0.5], [0.0, 0.1, 0.5]),  # not below the axis
        ([1.0, 1.0, 1.0], [0.8, 0.9, 1.0]),
        ([0.3], [0.3]),
    ],
)
def test_names_move_as_little_as_they_can(wanted, places):
    assert spread(np.array(wanted), 0.1).tolist() == pytest.approx(places)


def test_bounds_on_request(result):
    axes = plot_regret(result, bounds={"steep": lambda t: 100.0 * t, "flat": 1e9, "list": [1, 2, 3, 4, 5]})
    assert names(axes)[0] == "flat"
    assert np.allclose(axes.lines[2].get_ydata(), 100.0 * result.checkpoints)
    with pytest.raises(InvalidInput, match="'short' must have one value for each of the 5 checkpoints"):
        plot_regret(result, bounds={"short": [1, 2]})


def test_axes_have_labels_and_the_note_says_what_bands_are(result):
    axes = plot_regret(result, title="Mine", log=True)
    assert axes.get_xlabel() == "round t"
    assert "regret" in axes.get_ylabel()
    assert axes.get_title(loc="left") == "Mine"
    assert axes.get_yscale() == "log"
    assert "6 replications" in axes.figure.texts[-1].get_text()


def test_one_run_and_horizons_can_be_drawn(tmp_path):
    problem = lsdt.problems.uniform(10, 0.1, 0.9, 0.2, "bernoulli", 0.5, 0.5)
    single = lsdt.simulate(problem, "ucb1", 10, 1)
    assert "no intervals" in plot_regret(single).figure.texts[-1].get_text()
    several = lsdt.simulate(problem, "lsdt_psi", horizons=[10, 20], replications=2)
    assert plot_regret(several).get_xlabel().startswith("horizon")
    for name in ("a.png", "deep/b.svg", "c.pdf"):
        save(plot_regret(several), tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


def test_too_many_lines_are_refused(result):
    with pytest.raises(InvalidInput, match="can be told apart"):
        plot_regret(result, policies=[])


def test_a_replay_is_drawn_with_its_own_intervals():
    rng = np.random.default_rng(0)
    ratings = np.where(rng.random((300, 4)) < 0.6, rng.random((300, 4)), np.nan)
    log = lsdt.ratings.read_log(ratings, scale=(0, 1))
    replayed = lsdt.replay(log, ["ucb1", "ts"], horizon=60, splits=4, checkpoints=[30])
    axes = plot_regret(replayed)
    words = [text.get_text() for text in axes.findobj(match=Text)]
    assert any("ratings of 4 items replayed (matrix)" in word for word in words)
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    mean, _, high = replayed.regret_interval("ucb1")
    assert band.max() == pytest.approx(max(high))
    assert high[-1] - mean[-1] > 1.2 * (interval(replayed.regret("ucb1"))[2] - mean)[-1]


def test_what_is_drawn_is_the_panel(result):
    panel = regret_panel(result, bounds={"flat": 7.0})
    axes = plot_regret(result, bounds={"flat": 7.0})
    assert [line.label for line in panel.lines] == [line.get_label() for line in axes.lines]
    for line, drawn in zip(panel.lines, axes.lines, strict=True):
        assert np.array_equal(line.x, drawn.get_xdata())
        assert np.array_equal(line.mean, drawn.get_ydata())
    assert np.array_equal(panel.lines[0].mean, result.regret_interval("lsdt_csi")[0])


def test_another_figure_can_be_drawn_into(result, tmp_path):
    figure = Figure(figsize=(7, 3))
    left, right = figure.subplots(1, 2)
    assert plot_regret(result, left) is left
    assert plot_regret(result, ax=right, log=True) is right
    assert left.figure is right.figure is figure
    assert not figure.texts
    assert len(left.lines) == len(right.lines) == 2
    save(left, tmp_path / "two.svg")


def test_dollar_signs_in_names_are_drawn_as_they_are(tmp_path):
    policy = lsdt.Policy("ucb1", label=r"$\foo$")
    cheap = lsdt.simulate(lsdt.problems.uniform(n_arms=3, epsilon=0.2), [policy], 5, 1)
    save(plot_regret(cheap, title="$1 or $\\bar"), tmp_path / "x.svg")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ax": 3}, "ax must be a matplotlib Axes to draw into, or None for a new figure; got int"),
        ({"policies": 3}, "policies must be a list of policies of the result; got 3"),
        ({"policies": "ucb1"}, "policies must be a list of policies of the result; got the single 'ucb1'"),
        ({"policies": ["ucb2"]}, "ucb2"),
        ({"bounds": [1, 2]}, "bounds must be a dict from names .* got list"),
        ({"bounds": {"x": "high"}}, "the bound 'x' must be numbers, or a function .* got 'high'"),
        ({"title": 3}, "title must be text, or None .* got int"),
        ({"log": "yes"}, "log must be True or False; got 'yes'"),
    ],
)
def test_bad_options_are_refused(result, options, message):
    with pytest.raises(InvalidInput, match=message):
        plot_regret(result, **options)


def test_regret_is_of_results():
    with pytest.raises(InvalidInput, match="what lsdt.simulate or lsdt.replay returns; got str"):
        plot_regret("regret.json")
