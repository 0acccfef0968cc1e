"""The picture of the choice of epsilon."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.plotting.style import write_figure


@pytest.fixture(scope="module")
def log():
    return lsdt.ratings.make_log(n_users=1500, n_items=10, ratings_per_user=7).log


def test_shows_candidates_and_risk_with_the_choice_ringed(log, tmp_path):
    evidence = lsdt.from_ratings(log).evidence
    figure = lsdt.plotting.draw_epsilon(evidence)
    left, right = figure.axes
    assert np.array_equal(left.lines[0].get_xdata(), evidence.scan["epsilon"])
    assert np.array_equal(left.lines[0].get_ydata(), evidence.scan["candidates"].astype(float))
    assert np.array_equal(right.lines[0].get_ydata(), evidence.scan["risk"])
    assert right.lines[1].get_ydata() == pytest.approx([0.05, 0.05])
    chosen = evidence.scan.set_index("epsilon").loc[evidence.epsilon]
    for axes, value in ((left, chosen["candidates"]), (right, chosen["risk"])):
        assert axes.lines[-1].get_xdata() == [evidence.epsilon]
        assert axes.lines[-1].get_ydata() == [value]
    assert f"{chosen['candidates']:.0f} of 10 items left at {evidence.epsilon:g}" in left.get_title(
        loc="left"
    )
    write_figure(figure, tmp_path / "epsilon.svg")


def test_one_epsilon(log):
    given = lsdt.plotting.draw_epsilon(lsdt.from_ratings(log, epsilon=0.2).evidence)
    assert given.axes[0].get_xlim() == pytest.approx((0, 0.4))
    assert "Epsilon given" in given.get_suptitle()


def test_other_evidence_is_refused():
    with pytest.raises(
        lsdt.errors.InvalidInput, match="evidence of side information from ratings; got NoneType"
    ):
        lsdt.plotting.draw_epsilon(None)
