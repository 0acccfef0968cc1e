"""Very many arms, on few: what the parts show must follow from their tables."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

import lsdt
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.plotting import save
from lsdt.reproduce import Request
from lsdt.reproduce.beyond.massive import elimination as sweep, few_rounds as regret
from lsdt.reproduce.beyond.massive.random_subset import RandomSubset
from lsdt.reproduce.framework.claims import VERDICTS
from lsdt.reproduce.framework.experiment import Work

SMALL = {
    # So many relations that two draws decide: their interval is wide.
    "sweep": {"arms": [300, 1_000], "relations_per_arm": [5, 100], "replications": 2},
    "regret": {"arms": 1_500, "horizon": 300, "relations_per_arm": 60, "replications": 2},
}


PARTS = {
    "sweep": sweep.EXPERIMENT,
    "regret": regret.EXPERIMENTS["beyond-massive-regret"],
    "million": regret.EXPERIMENTS["beyond-massive-million"],
}


@pytest.fixture(scope="module")
def computed():
    tables = {}
    for name in ("sweep", "regret"):
        part = PARTS[name]
        setting = {**part.setting(Request(replications=2, quick=True)), **SMALL[name]}
        assert json.loads(json.dumps(part.setting(Request()))) == part.setting(Request())
        tables[name] = part.compute(setting, Work(seed=1, n_jobs=1))
    return {**tables, "million": tables["regret"]}  # they differ in size alone


def test_the_paper_s_first_paragraph_is_run():
    setting = PARTS["million"].setting(Request())
    assert (setting["arms"], setting["horizon"]) == (10**6, 10**5)


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_shown_from_their_tables(name, computed, tmp_path):
    it, tables = PARTS[name], computed[name]
    assert 0 < len(it.table(tables)) <= 200
    assert it.discussion(tables).endswith(".")
    assert "nan" not in it.discussion(tables)
    save(it.draw(tables), tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000
    for claim in it.claims(tables):
        assert claim.verdict in VERDICTS
        assert claim.text.endswith(".")


def test_propagation_leaves_fewer_arms_than_triangles(computed):
    index = ["arms", "locality", "relations", "run", "method"]
    table = computed["sweep"]["left"].set_index(index)["share"].unstack()
    assert len(table) == 2 * 3 * 2 * 2
    assert (table["triangles"] >= table["propagation"]).all()
    near = table["propagation"].loc[(1_000, 1.0)]
    assert near.loc[100].max() < 0.1 < 0.95 < near.loc[5].min()
    (claim,) = sweep.EXPERIMENT.claims(computed["sweep"])
    assert claim.verdict == "holds"


def test_shares_are_those_of_the_candidate_set():
    side = lsdt.problems.sparse(300, 40).draw(0, 0).side
    found = [len(lsdt.candidate_set(side, method)) / 300 for method in ("triangles", "propagation")]
    assert sweep.shares_left(side, 60.0) == found
    assert found[1] < found[0] < 1.0


def test_side_information_pays(computed):
    table = computed["regret"]["regret"]
    last = table[table["t"] == 300].groupby("policy", observed=True)["regret"].mean()
    assert last[regret.CLOSURE] < 0.5 * min(last[name] for name in (regret.UCB1, regret.TS, regret.SUBSET))


def test_ucb1_on_as_many_random_arms_as_there_are_is_ucb1():
    means, rng = np.array([0.2, 0.5, 0.9, 0.4]), np.random.default_rng(0)
    ours = RandomSubset(SimpleNamespace(n_arms=4, horizon=400), np.random.default_rng(1))
    model = RewardModel("bernoulli", 0.5)
    theirs = lsdt.Policy("ucb1").begin(lsdt.SideInformation(4), model, 400, new_stream(0)).player
    for _ in range(400):
        arm = ours.select()
        assert arm == theirs.select()
        reward = float(rng.random() < means[arm])
        ours.update(arm, reward)
        theirs.update(arm, reward)


def test_a_random_subset_is_as_large_as_the_root_of_the_horizon():
    made = RandomSubset(SimpleNamespace(n_arms=10_000, horizon=10_000), np.random.default_rng(1))
    assert len(np.unique(made.arms)) == 100
    assert made.arms.max() > 5_000
    played = []
    for _ in range(100):
        played.append(made.select())
        made.update(played[-1], 0.0)
    assert played == made.arms.tolist()
