"""What the regret figures say: names, colours, horizons, and words that follow from the numbers."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from lsdt.reproduce.framework import regret_figures, wording
from lsdt.reproduce.framework.claims import FAILS, HOLDS
from lsdt.reproduce.framework.experiment import Request, Work
from lsdt.reproduce.framework.sampling import simulate_part
from lsdt.reproduce.registry import experiment

PARTS = (
    "fig-regret-csi-a",
    "fig-regret-csi-b",
    "fig-regret-psi-a",
    "fig-regret-psi-b",
    "fig-ts-csi",
    "fig-ts-psi",
)


@pytest.fixture(scope="module")
def computed():
    kept = {}

    def tables_of(part):
        if part not in kept:
            it = experiment(part)
            kept[part] = it.compute(it.setting(Request(replications=3, quick=True)), Work(seed=1, n_jobs=1))
        return kept[part]

    return tables_of


def made_up(tables, order, runs=6):
    """The tables of a part with regret by the rank of each policy in an order: the first loses least."""
    rows = tables["regret"]
    rounds, policies = sorted(rows["t"].unique()), list(rows["policy"].unique())
    rng = np.random.default_rng(0)
    made = [
        {"policy": policy, "run": run, "t": t, "regret": 20.0 * (1 + order(policies).index(policy)) + noise}
        for policy in policies
        for t in rounds
        for run, noise in enumerate(rng.normal(size=runs))
    ]
    return {**tables, "regret": pd.DataFrame(made)}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("order", [list, lambda policies: policies[::-1]], ids=["as listed", "inverted"])
def test_a_discussion_says_what_its_numbers_say(part, order, computed):
    tables = made_up(computed(part), order)
    means = tables["regret"].groupby("policy")["regret"].mean()
    discussion = experiment(part).discussion(tables)
    seen = 0
    for first, second in itertools.permutations(means.index, 2):
        how_far = r"[\d.,]+ \([\d.,]+ to [\d.,]+\)"
        said = rf"(?<![-\w]){re.escape(first)} loses {how_far} (less|more) than {re.escape(second)}[;.]"
        for word in re.findall(said, discussion):
            assert (means[first] < means[second]) == (word == "less"), (first, word, second)
            seen += 1
    assert seen == len(re.findall(r"\bloses\b", discussion)) > 0
    if part == "fig-regret-csi-a":
        assert f"lowest first: {means.drop(wording.UCB1_8).idxmin()} " in discussion


@pytest.mark.parametrize("part", PARTS)
def test_all_claims_turn_with_the_numbers(part, computed):
    """All our policies first, then all of them last."""

    def ours_first(policies):
        return sorted(policies, key=lambda name: not name.startswith("LSDT"))

    def ours_last(policies):
        return sorted(policies, key=lambda name: name.startswith("LSDT"))

    for order, verdict in ((ours_first, HOLDS), (ours_last, FAILS)):
        claims = experiment(part).claims(made_up(computed(part), order))
        assert {claim.verdict for claim in claims if claim.name != "csi-exploits-early"} == {verdict}


def test_words_for_differences():
    assert (
        wording.regret_comparison("a", "b", [1, 2, 3], [11, 12.5, 13])
        == "a loses 10.2 (9.45 to 10.9) less than b"
    )
    assert (
        wording.regret_comparison("a", "b", [11, 12.5, 13], [1, 2, 3])
        == "a loses 10.2 (9.45 to 10.9) more than b"
    )
    assert "do not clearly differ" in wording.regret_comparison("a", "b", [1, 2, 3], [3, 2, 1])
    assert wording.regret_comparison("a", "b", [1], [3]) == "a loses 2 less than b in the only run"


@pytest.mark.parametrize("part", [*PARTS, "table-time-csi", "table-time-psi"])
def test_policies_have_their_names_and_one_colour_each(part, computed):
    tables = computed(part)
    shown = list(next(iter(tables.values()))["policy"].unique())
    colours = [wording.colour_of(name) for name in shown]
    assert len(set(colours)) == len(shown)
    if part in PARTS:
        figure = experiment(part).draw(tables)
        drawn = {line.get_label(): line.get_color() for line in figure.axes[0].get_lines()}
        assert drawn[wording.TS] == "#009E73" if wording.TS in drawn else "UCB1" in "".join(drawn)


def test_squared_distance_is_the_squared_distance():
    """The Gaussian divergence is d^2 / (2 sigma^2)."""
    policy = regret_figures.policies_of(experiment("fig-regret-psi-a").setting(Request()))[-1]
    assert policy.parameters["divergence"] == "gaussian"
    assert 1.0 / (2.0 * policy.parameters["sigma"] ** 2) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("quick", "expected"), [(True, [400, 600, 1000]), (False, [300, 500, 1000])])
def test_horizons_are_those_on_the_grid(quick, expected):
    run = experiment("fig-regret-psi-b").setting(Request(quick=quick))["horizons"]
    tables = {"regret": pd.DataFrame({"t": run})}
    assert regret_figures.horizons_near(tables, (300, 500, 1000)) == expected


def test_early_plays_are_those_of_the_study(computed):
    """Rounds 51 to 100 are what 100 rounds have beyond 50: with one arm, all of them."""
    setting = experiment("fig-regret-csi-a").setting(Request(replications=3))
    plays = computed("fig-regret-csi-a")["plays"]
    assert plays["on_best"].between(0, 1).all()
    assert (plays.loc[plays["policy"] == wording.UCB1, "arms"] == 100).all()  # every arm once, first of all
    assert (plays.loc[plays["policy"] == wording.UCB1, "on_best"] <= 0.02).all()
    early, late = (
        simulate_part(
            regret_figures.problem_of(setting),
            "lsdt_csi",
            Work(),
            plays=True,
            horizon=t,
            replications=3,
            progress=False,
        )
        for t in (50, 100)
    )
    assert (late.plays("lsdt_csi") >= early.plays("lsdt_csi")).all()
    assert np.array_equal(late.regret("lsdt_csi")[:, 49], early.regret("lsdt_csi")[:, -1])


def test_exploiting_early_is_judged_by_plays(computed):
    tables = computed("fig-regret-csi-a")
    plays = tables["plays"].copy()
    ours = plays["policy"] == wording.LSDT_CSI
    rng = np.random.default_rng(0)
    plays["on_best"] = np.where(ours, 0.7, 0.1) + 0.01 * rng.random(len(plays))
    plays["arms"] = np.where(ours, 4, 95)
    it = experiment("fig-regret-csi-a")
    assert it.claims({**tables, "plays": plays})[1].verdict == HOLDS
    plays["on_best"], plays["arms"] = -plays["on_best"], 100 - plays["arms"]
    assert it.claims({**tables, "plays": plays})[1].verdict == FAILS
