from __future__ import annotations

import numpy as np
import pytest
from matplotlib.text import Text

import lsdt
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.plotting.regret import draw_regret, save_regret
from lsdt.simulation.result import interval


@pytest.fixture(scope="module")
def result():
    problem = lsdt.problems.uniform(n_arms=10, epsilon=0.2)
    return lsdt.simulate(problem, ["lsdt_csi", "ucb1"], 50, 6, checkpoints=5)


def texts(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_lines_are_means_and_bands_are_intervals(result):
    axes = draw_regret(result).axes[0]
    assert np.allclose(axes.lines[1].get_ydata(), result.regret("ucb1").mean(axis=0))
    band = axes.collections[1].get_paths()[0].vertices[:, 1]
    last = result.summary().loc["ucb1"]
    assert band.min() < result.regret("ucb1").mean(axis=0)[0]
    assert band.max() == pytest.approx(last.high)


def test_the_legend_says_alpha_and_is_in_the_order_of_the_lines(result):
    final = result.summary()["regret"]
    named = {"ucb1, alpha=2": final["ucb1"], "lsdt_csi, alpha=8": final["lsdt_csi"]}
    assert texts(draw_regret(result)) == sorted(named, key=lambda text: -named[text])
    assert texts(draw_regret(result, ["lsdt_csi"])) == ["lsdt_csi, alpha=8"]


def test_bounds_on_request(result):
    figure = draw_regret(result, bounds={"steep": lambda t: 100.0 * t, "flat": 1e9, "list": [1, 2, 3, 4, 5]})
    assert texts(figure)[0] == "flat"
    assert np.allclose(figure.axes[0].lines[2].get_ydata(), 100.0 * result.checkpoints)
    with pytest.raises(InvalidInput, match="'short' must have one value for each of the 5 checkpoints"):
        draw_regret(result, bounds={"short": [1, 2]})


def test_axes_have_labels_and_the_note_says_what_bands_are(result):
    figure = draw_regret(result, title="Mine", log=True)
    axes = figure.axes[0]
    assert axes.get_xlabel() == "round t"
    assert "regret" in axes.get_ylabel()
    assert axes.get_title(loc="left") == "Mine"
    assert axes.get_yscale() == "log"
    assert "6 replications" in figure.texts[-1].get_text()


def test_one_run_and_horizons_can_be_drawn(tmp_path):
    problem = lsdt.problems.uniform(10, 0.1, 0.9, 0.2, "bernoulli", 0.5, 0.5)
    single = lsdt.simulate(problem, "ucb1", 10, 1)
    assert "no intervals" in draw_regret(single).texts[-1].get_text()
    several = lsdt.simulate(problem, "lsdt_psi", horizons=[10, 20], replications=2)
    assert draw_regret(several).axes[0].get_xlabel().startswith("horizon")
    for name in ("a.png", "deep/b.svg", "c.pdf"):
        save_regret(several, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    with pytest.raises(InvalidInput, match=r"a picture ends in \.svg"):
        save_regret(several, tmp_path / "x.gif")


def test_too_many_lines_are_refused(result):
    with pytest.raises(InvalidInput, match="can be told apart"):
        draw_regret(result, [])


def test_a_replay_is_drawn_with_its_own_intervals():
    rng = np.random.default_rng(0)
    ratings = np.where(rng.random((300, 4)) < 0.6, rng.random((300, 4)), np.nan)
    replayed = lsdt.replay(ratings, ["ucb1", "ts"], rounds=60, splits=4, checkpoints=[30], scale=(0, 1))
    figure = draw_regret(replayed)
    words = [text.get_text() for text in figure.findobj(match=Text)]
    assert any("ratings of 4 items replayed (matrix)" in word for word in words)
    band = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    mean, _, high = replayed.regret_interval("ucb1")
    assert band.max() == pytest.approx(max(high))
    assert high[-1] - mean[-1] > 1.2 * (interval(replayed.regret("ucb1"))[2] - mean)[-1]


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_an_earlier_picture_stays_when_the_disk_is_full(result, tmp_path, monkeypatch, ending):
    picture = tmp_path / f"regret{ending}"
    save_regret(result, picture)
    before = picture.read_bytes()

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InvalidFile, match=f"regret{ending}.*No space left on device"):
        save_regret(result, picture, title="another")
    assert picture.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [picture.name]
