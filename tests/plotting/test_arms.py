"""The plot of an agent's arms."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import lsdt
from lsdt.errors import InvalidInput
from lsdt.plotting import plot_arms, save
from lsdt.plotting.arms import arm_rows

MEANS = [0.2, 0.5, 0.55, 0.9, 0.92]
IDS = ["a", "b", "c", "d", "$3 \\e"]


def agent_after(told, policy="lsdt_csi", means=MEANS, epsilon=0.2, ids=None, **options):
    agent = lsdt.Agent(lsdt.from_means(means, epsilon, arm_ids=ids), policy, **options)
    rng = np.random.default_rng(0)
    for _ in range(told):
        decision = agent.ask()
        agent.tell(decision, float(rng.random() < means[decision.arm]))
    return agent


def dots(axes):
    """Return the dots that were drawn, place to mean, and the ends of their intervals."""
    means, ends = {}, {}
    for container in axes.containers:
        data, _, (bars,) = container.lines
        for (x, y), segment in zip(data.get_xydata(), bars.get_segments(), strict=True):
            means[int(y)] = x
            ends[int(y)] = segment[:, 0].tolist()
    return means, ends


def test_rows_are_what_the_agent_says():
    agent = agent_after(200, ids=IDS)
    rows, best, frame = arm_rows(agent), agent.best(n_runners_up=10), agent.to_frame().set_index("arm")
    assert rows.labels[: rows.n_in_play] == [best.arm_id, *(other.arm_id for other in best.runners_up)]
    assert rows.mean[: rows.n_in_play].tolist() == [best.mean, *(other.mean for other in best.runners_up)]
    assert (rows.low[0], rows.high[0], rows.certainty) == (best.low, best.high, best.certainty)
    assert rows.plays.tolist() == frame.loc[rows.labels, "plays"].tolist()
    assert rows.plays.sum() == rows.n_told == 200
    gone = frame["status"].str.startswith("eliminated")
    assert set(rows.labels[rows.n_in_play :]) == set(frame.index[gone])
    assert rows.state == ["recommended"] + ["in play"] * (rows.n_in_play - 1) + ["eliminated"] * gone.sum()
    assert sorted(rows.labels) == sorted(IDS)


def test_what_is_drawn_are_the_rows(tmp_path):
    agent = agent_after(200, ids=IDS)
    rows, axes = arm_rows(agent), plot_arms(agent)
    means, ends = dots(axes)
    for place in range(rows.n_in_play):
        assert means[place] == rows.mean[place]
        assert ends[place] == pytest.approx([rows.low[place], rows.high[place]])
    assert [label.get_text() for label in axes.get_yticklabels()] == rows.labels
    written = [text.get_text() for text in axes.texts]
    assert written == [*(f"{plays:,}" for plays in rows.plays), "plays"]
    assert axes.get_title(loc="left").startswith(f"Recommended: {rows.labels[0]}, the best of")
    assert "after 200 rewards" in axes.figure.texts[-1].get_text()
    save(axes, tmp_path / "arms.svg")  # an id with a dollar sign


def test_of_many_arms_the_best_and_the_most_played_are_shown():
    agent = agent_after(400, "ucb1", np.linspace(0.1, 0.9, 120).tolist(), epsilon=0.05)
    rows = arm_rows(agent, most=12)
    best = agent.best(n_runners_up=200)
    order = [best.arm_id, *(other.arm_id for other in best.runners_up)]
    assert [int(label) for label in rows.labels[:8]] == order[:8]
    frame = agent.to_frame().set_index("arm")
    behind = frame.loc[order[8:], "plays"].sort_values(ascending=False)
    assert sorted(rows.plays[8:], reverse=True) == behind.head(4).tolist()
    axes = plot_arms(agent, most=12)
    assert axes.get_ylabel() == "12 of 120 arms"
    assert "only the best and the most played arms" in axes.figure.texts[-1].get_text()


def test_arms_never_played_are_left_out_where_there_are_many():
    agent = agent_after(50, means=np.linspace(0.1, 0.9, 50).tolist(), epsilon=0.02)
    rows = arm_rows(agent)
    assert rows.n_in_play + rows.n_eliminated == 50
    assert len(rows.labels) < 30
    assert (rows.plays[rows.n_in_play :] > 0).all()
    said = plot_arms(agent).figure.texts[-1].get_text()
    assert said.endswith(f"; {50 - len(rows.labels)} eliminated arms not shown")


def test_nothing_told_one_arm_and_gaussian_rewards_are_drawn(tmp_path):
    fresh = plot_arms(agent_after(0, "ucb1"))
    assert {text.get_text() for text in fresh.get_legend().get_texts()} == {"recommended", "not played yet"}
    save(fresh, tmp_path / "a.png")
    single = agent_after(0, "ucb1", [0.5], rewards="gaussian")
    single.tell(single.ask(), -3.0)
    axes = plot_arms(single)
    assert dots(axes)[0] == {0: -3.0}
    save(axes, tmp_path / "b.png")


def test_an_arm_that_was_played_and_then_eliminated_has_a_mean_and_no_interval():
    agent = agent_after(3_000, "lsdt_psi", [0.1, 0.5, 0.55, 0.95], epsilon=0.3, horizon=3_000)
    rows = arm_rows(agent)
    out = [place for place, state in enumerate(rows.state) if state == "eliminated" and rows.plays[place]]
    assert out
    means = agent.to_frame().set_index("arm")["mean"]
    for place in out:
        assert rows.mean[place] == means[int(rows.labels[place])]
        assert np.isnan(rows.low[place])


def test_another_figure_can_be_drawn_into():
    figure = Figure(figsize=(8, 3))
    left, right = figure.subplots(1, 2)
    assert plot_arms(agent_after(20), ax=right) is right
    assert right.figure is figure
    assert right.containers
    assert not left.containers
    assert not figure.texts


@pytest.mark.parametrize(
    ("agent", "options", "message"),
    [
        ("ucb1", {}, "plot_arms takes an lsdt.Agent; got str"),
        (
            None,
            {"ax": "here"},
            "ax must be a matplotlib Axes to draw into, or None .* got str",
        ),
        (agent_after(1), {"most": 0}, "most must be a whole number from 1 to 200; got 0"),
        (agent_after(1), {"most": 2.5}, "most must be a whole number from 1 to 200; got 2.5"),
    ],
)
def test_bad_values_are_refused(agent, options, message):
    with pytest.raises(InvalidInput, match=message):
        plot_arms(agent, **options)
