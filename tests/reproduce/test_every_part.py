"""Every part on a tiny setting: the same contract for all, as for policies."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lsdt.plotting import save
from lsdt.reproduce import Request
from lsdt.reproduce.beyond.contests import settings
from lsdt.reproduce.beyond.wrong_relations import wrong_contest
from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import VERDICTS
from lsdt.reproduce.framework.experiment import Work
from lsdt.reproduce.registry import BEYOND, IDS, experiment
from reproduced_claims import claims_in_the_docs
from tiny_parts import TINY, computed, small_setting, tables_of

TIMED = {"table-time-csi", "table-time-psi"}
PARTS = (*IDS, *BEYOND)
# Figures of the paper are drawn below, of one run, and those of very many arms by their own tests; those of
# contests are drawn by one function.
DRAWN = {"beyond-complete", *BEYOND[BEYOND.index("beyond-long") :]}
DRAWN -= {part for part in BEYOND if part.startswith("beyond-massive")}
# What the framework does, not a part: contests, which differ in their policies, have one turn.
TURNS = [pytest.param(part, marks=pytest.mark.long if part in BEYOND[1:] else ()) for part in PARTS]


def test_every_part_that_is_defined_is_listed():
    defined = {*settings.EXPERIMENTS, *wrong_contest.EXPERIMENTS}
    assert defined <= set(BEYOND)
    page = (Path(__file__).parents[2] / "docs/paper/beyond.md").read_text()
    assert {part for part in BEYOND if f"`{part}`" in page} == set(BEYOND)
    assert set(re.findall(r"`(beyond-[\w-]+)`", page)) <= set(BEYOND)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_describes_itself(part):
    it = experiment(part)
    assert it.id == part
    assert it.title
    assert it.paper
    assert it.seconds > 0
    setting = it.setting(TINY)
    assert json.loads(json.dumps(setting)) == setting  # plain data, so that it can be kept and compared


@pytest.mark.parametrize("part", PARTS)
def test_a_part_computes_tables_that_files_keep(part, tmp_path):
    for name, table in tables_of(part).items():
        assert isinstance(table, pd.DataFrame)
        assert len(table) > 0
        table.to_parquet(tmp_path / f"{name}.parquet", index=False)
        again = pd.read_parquet(tmp_path / f"{name}.parquet")
        pd.testing.assert_frame_equal(again, table.reset_index(drop=True))


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_shown_from_its_tables(part, tmp_path):
    it, tables = experiment(part), tables_of(part)
    assert 0 < len(it.table(tables)) <= 200
    discussion = it.discussion(tables)
    assert discussion.endswith(".")
    assert "nan" not in discussion
    if it.draw is not None and part in DRAWN:
        save(it.draw(tables), tmp_path / "figure.svg")
        assert (tmp_path / "figure.svg").stat().st_size > 1000


@pytest.mark.parametrize("part", PARTS)
def test_claims_are_decided_by_their_checks(part):
    for claim in experiment(part).claims(tables_of(part)):
        assert claim.verdict in VERDICTS
        assert claim.checks
        assert claim.text.endswith(".")
        assert claim.paper
        assert json.loads(json.dumps(claim.to_dict(), allow_nan=False))["checks"]


@pytest.mark.parametrize(("ids", "page"), [(IDS, "paper/reproduction.md"), (BEYOND, "paper/beyond.md")])
def test_names_of_claims_are_unique_and_documented(ids, page):
    names = [claim.name for part in ids for claim in experiment(part).claims(tables_of(part))]
    assert len(set(names)) == len(names)
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    assert [name for name in names if f"`{name}`" not in text] == []
    if ids == IDS:  # one more needs the real ratings; other tests compare this list with README
        assert sorted([*names, "jester-size"]) == sorted(claims_in_the_docs())


@pytest.mark.parametrize("part", [turn for turn in TURNS if turn.values[0] not in TIMED])
def test_two_workers_give_the_same_numbers(part):
    again = computed(part, small_setting(part, TINY), Work(seed=1, n_jobs=2))
    for name, table in tables_of(part).items():
        if name != "times":
            pd.testing.assert_frame_equal(again[name], table, check_exact=True)


@pytest.mark.parametrize("part", ["fig-bstar-eps", "fig-regret-psi-b"])
def test_another_seed_gives_other_numbers(part):
    again = computed(part, experiment(part).setting(TINY), Work(seed=2, n_jobs=1))
    assert any(not table.equals(again[name]) for name, table in tables_of(part).items())


@pytest.fixture(scope="module")
def single_run():
    """Tables of parts with one run, and what was told of the progress; each computed once."""

    @cache
    def tables_and_progress(part):
        told = []
        setting = small_setting(part, Request(replications=1, quick=True))
        return computed(part, setting, Work(n_jobs=1, done=told.append)), told

    return tables_and_progress


@pytest.mark.parametrize("part", TURNS)
def test_a_single_run_is_shown(part, single_run):
    it = experiment(part)
    tables, told = single_run(part)
    assert told == sorted(told)
    assert 0 < told[-1] <= 1
    assert len(it.table(tables)) > 0
    discussion = it.discussion(tables)
    assert "none" not in discussion.split()
    assert "(none" not in discussion
    assert all(claim.verdict in VERDICTS for claim in it.claims(tables))
    if it.draw is not None:
        assert it.draw(tables) is not None


@pytest.mark.parametrize("part", ["fig-bstar-eps", "fig-b0-p", "fig-regret-csi-b", "fig-ts-psi"])
def test_a_single_run_decides_nothing(part, single_run):
    for claim in experiment(part).claims(single_run(part)[0]):
        assert {check.outcome for check in claim.checks} == {"undecided"}
        assert claim.verdict == "holds in part"


def test_a_fixed_draw_is_one_draw():
    it = experiment("fig-bstar-k")
    setting = it.setting(Request(replications=4, quick=True, fixed_draw=True))
    runs = it.compute(setting, Work())["runs"]
    assert (runs.groupby("arms")["candidates"].nunique() == 1).all()
    problem = regret_figures.problem_of(experiment("fig-regret-csi-b").setting(Request(fixed_draw=True)))
    assert np.array_equal(problem.draw(0, 1).means, problem.draw(0, 2).means)


@pytest.mark.parametrize("part", ["fig-bstar-eps", "fig-bstar-k"])
def test_one_draw_of_the_means_is_one_number_and_decides_nothing(part):
    it = experiment(part)
    tables = it.compute(it.setting(Request(replications=4, quick=True, fixed_draw=True)), Work(n_jobs=1))
    assert tables["runs"]["run"].unique().tolist() == [0]
    assert all(check.outcome == "undecided" for claim in it.claims(tables) for check in claim.checks)
    assert "none" not in it.discussion(tables)
