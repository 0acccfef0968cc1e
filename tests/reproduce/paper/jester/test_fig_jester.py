"""The part on Jester: tiny look-alikes, claims judged on made-up tables, the real file where it is given."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.plotting import save
from lsdt.reproduce.framework.claims import FAILS, HOLDS, IN_PART, deviation_ratio
from lsdt.reproduce.framework.experiment import Request, Work
from lsdt.reproduce.framework.wording import LSDT_PSI, TS, UCB1, UCB1_ON_B0
from lsdt.reproduce.paper.jester.fig_jester import EXPERIMENT
from lsdt.reproduce.paper.jester.jester_grid import falls_then_rises, grid_rows
from lsdt.reproduce.paper.jester.jester_splits import BEST_IN_HINDSIGHT, INFORMED, NAMED, OTHERS
from tiny_parts import small_setting


def compute(splits, work):
    """Compute the part on a small look-alike: 500 users, 300 of them to test on."""
    return EXPERIMENT.compute(small_setting("fig-jester", Request(replications=splits, quick=True)), work)


@pytest.fixture(scope="module")
def tables():
    return compute(3, Work(seed=1, n_jobs=1))


@pytest.fixture(scope="module")
def single_split():
    """Tables of another seed, and what was told of the progress."""
    told = []
    return compute(1, Work(seed=2, n_jobs=1, done=told.append)), told


def test_every_policy_is_played_in_every_split(tables):
    runs = tables["runs"]
    assert set(runs["policy"]) == {*NAMED, *OTHERS}
    assert len(runs) == 3 * (2 * len({*NAMED, *OTHERS}) + len(INFORMED))
    replays = runs[runs["policy"] != BEST_IN_HINDSIGHT]  # which is a mean, and not played
    assert (replays["matched"] == 60).all()
    assert (replays["spent"] >= 60).all()
    assert runs["rating"].between(-10, 10).all()
    searches = tables["searches"]
    assert (searches[["similar", "dissimilar", "unknown"]].sum(axis=1) == 4950).all()
    assert len(tables["paths"]) == searches["tried"].sum()
    # Policies that look at neither training nor side information do the same in both settings.
    for label in (UCB1, TS, BEST_IN_HINDSIGHT):
        alike = runs[runs["policy"] == label].pivot(index="run", columns="training", values="rating")
        assert (alike[0.05] == alike[0.1]).all()


def test_the_users_tested_do_not_depend_on_the_training(tables):
    """The best mean in hindsight is that of the 300 users who come last in the order of a split."""
    ratings = lsdt.ratings.look_alike(1, 500)
    rows = tables["runs"][tables["runs"]["policy"] == BEST_IN_HINDSIGHT]
    for run, found in rows.groupby("run")["rating"]:
        tested = np.random.default_rng((1, run)).permutation(500)[200:]
        assert found.tolist() == pytest.approx([np.nanmean(ratings.matrix()[tested], axis=0).max()] * 2)


def test_searches_are_the_same_as_ever(tables):
    """What was found when ratings were a matrix: another form of the log must not change it."""
    found = tables["searches"].sort_values(["run", "control", "training"])
    assert found["epsilon"].tolist() == [0.08, 0.16, 0.32, 0.32, 0.04, 0.04, 0.02, 0.25, 0.02]
    assert found["candidates"].tolist() == [1, 1, 2, 2, 1, 1, 2, 1, 1]
    assert found["similar"].tolist() == [2006, 4173, 4858, 4718, 1177, 1061, 498, 4827, 562]
    assert found["dissimilar"].tolist() == [2117, 379, 23, 7, 3539, 3675, 4209, 21, 4266]
    assert tables["runs"].groupby("policy")["spent"].sum()["LSDT-PSI"] == 787


def test_another_seed_gives_other_numbers_and_progress_is_told(tables, single_split):
    """That they do not depend on the workers is tested with all other parts."""
    others, told = single_split
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert not np.array_equal(others["runs"]["rating"], tables["runs"].query("run == 0")["rating"])


def test_the_part_can_be_shown_and_says_what_it_is(tables, tmp_path):
    table = EXPERIMENT.table(tables)
    assert len(table) == 2 * (11 + 6) + (5 + 6)
    figure = EXPERIMENT.draw(tables)
    assert "synthetic look-alike, not Jester" in figure.axes[0].get_title(loc="left")
    save(figure, tmp_path / "jester.svg")
    for claim in EXPERIMENT.claims(tables):
        assert claim.text.startswith("On the synthetic look-alike, not Jester: ")
    discussion = EXPERIMENT.discussion(tables)
    assert "synthetic" in discussion
    assert "The control, 5% of users, alpha 0.1, separates" in discussion
    for name, frame in tables.items():
        frame.to_parquet(tmp_path / f"{name}.parquet")


def test_a_single_split_has_no_intervals_and_no_verdict(single_split):
    one, _ = single_split
    EXPERIMENT.draw(one)
    rows = EXPERIMENT.table(one)
    assert rows[rows["what"].str.startswith("rating")][["low", "deviation", "gap high"]].isna().all(axis=None)
    assert EXPERIMENT.discussion(one)
    assert all(claim.verdict == IN_PART for claim in EXPERIMENT.claims(one))


@pytest.mark.parametrize(
    ("request_", "splits"),
    [
        (Request(replications=100), 20),
        (Request(replications=2), 2),
        (Request(replications=100, quick=True), 5),
        (Request(replications=1000), 50),
    ],
)
def test_splits_follow_the_request(request_, splits):
    assert EXPERIMENT.setting(request_)["splits"] == splits


def as_published(path, n_users=200):
    """Write a look-alike in the published layout."""
    values = lsdt.ratings.look_alike(5, n_users).matrix()
    cells = np.column_stack(((~np.isnan(values)).sum(axis=1), np.nan_to_num(values, nan=99)))
    np.savetxt(path, cells, "%g", ",")
    return path


def test_a_file_is_known_by_name_and_content_and_its_path_is_not_told(tmp_path):
    path = as_published(tmp_path / "mine.csv")
    setting = EXPERIMENT.setting(Request(replications=1, jester=path))
    assert setting["data"]["name"] == "mine.csv"
    assert str(tmp_path) not in json.dumps(setting)
    small = {**setting, "test_users": 100, "horizon": 40}
    tables = EXPERIMENT.compute(small, Work(jester=path, n_jobs=1))
    assert EXPERIMENT.claims(tables)[0].text.startswith("On the Jester ratings: ")
    assert "not Jester" not in EXPERIMENT.discussion(tables)
    assert "(Jester)" in EXPERIMENT.draw(tables).axes[0].get_title(loc="left")

    other = as_published(tmp_path / "other.csv", 201)
    with pytest.raises(lsdt.errors.InvalidInput, match="is not the file 'mine.csv'"):
        EXPERIMENT.compute(small, Work(jester=other))
    with pytest.raises(
        lsdt.errors.InvalidInput, match="needs the file 'mine.csv'; give its path.*eigentaste"
    ):
        EXPERIMENT.compute(small, Work())
    with pytest.raises(lsdt.errors.InvalidFile, match="No such file.*eigentaste"):
        EXPERIMENT.setting(Request(jester=tmp_path / "none.csv"))
    with pytest.raises(
        lsdt.errors.InvalidInput, match="'mine.csv' has 200 users; 20 to train on and 20,000 others"
    ):
        EXPERIMENT.compute(setting, Work(jester=path))


def made_up(psi, other, candidates=5.0, kept=True, deviation=1.0, splits=12, valley=True, users=24_983):
    """Tables in which LSDT-PSI earns `psi` (5%, 10%) and all others `other`, plus a small common noise."""
    rng = np.random.default_rng(0)
    runs, searches, grids = [], [], []
    common, own, rest = (0.01 * rng.normal(size=(splits, 2)) for _ in range(3))
    for run in range(splits):
        for column, (share, alpha) in enumerate(((0.05, 0.2), (0.1, 0.1))):
            group = {"run": run, "training": share, "alpha": alpha}
            for label in (*NAMED, *OTHERS):
                mean, extra = (psi, deviation * own) if label == LSDT_PSI else (other, rest)
                lift = 0.3 * column if label == UCB1_ON_B0 else 0.0
                rating = mean[column] + common[run, column] * 0.1 + extra[run, column] + lift
                runs.append({**group, "policy": label, "rating": rating})
            left, least = candidates + run % 2, candidates + run % 2 - (not valley)
            searches.append({**group, "control": False, "candidates": left, "best_kept": kept})
            sizes = (100, least, np.nan, 30, 100) if valley else (20, 60, least, 100, 90)
            grids += [{**group, "epsilon": 0.01 * n, "left": left} for n, left in enumerate(sizes, 1)]
    return {
        "runs": pd.DataFrame(runs),
        "searches": pd.DataFrame(searches),
        "grids": pd.DataFrame(grids),
        "data": pd.DataFrame([{"data": "mine", "synthetic": False, "users": users, "least_rated": 0.35}]),
    }


def verdicts(tables):
    return {claim.name: claim.verdict for claim in EXPERIMENT.claims(tables)}


def test_claims_are_judged_by_the_numbers():
    good = verdicts(made_up((3.0, 3.5), (2.0, 2.0), deviation=0.1))
    assert good["jester-best"] == good["jester-small-variation"] == good["jester-more-training"] == HOLDS
    bad = verdicts(made_up((2.0, 1.5), (2.5, 2.5), candidates=90.0, kept=False, deviation=20.0))
    assert bad["jester-best"] == bad["jester-small-variation"] == FAILS
    assert bad["jester-more-training"] == IN_PART  # UCB1 on B0 still gains
    assert bad["jester-epsilon-search"] == IN_PART  # on 10% it still helps UCB1
    assert good["jester-one-valley"] == good["jester-size"] == HOLDS
    assert verdicts(made_up((3.0, 3.5), (2.0, 2.0), valley=False))["jester-one-valley"] == FAILS
    assert verdicts(made_up((3.0, 3.5), (2.0, 2.0), users=24_000))["jester-size"] == IN_PART
    mixed = verdicts(made_up((3.0, 2.2), (2.5, 2.5)))
    assert mixed["jester-best"] == IN_PART


def pitman_morgan_t(first, second):
    """The statistic of the test of equal variances of paired samples: correlation of sums and differences."""
    r = np.corrcoef(first + second, first - second)[0, 1]
    return r * np.sqrt((len(first) - 2) / (1 - r**2))


def test_the_ratio_of_deviations_holds_what_the_paired_test_does_not_reject():
    from scipy.special import stdtrit

    rng = np.random.default_rng(3)
    common = rng.normal(size=15)
    first, second = common + rng.normal(size=15), 2 * common + rng.normal(size=15)
    ratio, low, high = deviation_ratio(first, second)
    assert ratio == pytest.approx(first.std(ddof=1) / second.std(ddof=1))
    assert pitman_morgan_t(first, low * second) == pytest.approx(stdtrit(13, 0.975))
    assert pitman_morgan_t(first, high * second) == pytest.approx(-stdtrit(13, 0.975))


def test_a_valley_never_rises_before_its_minimum_nor_falls_after_it():
    nan = float("nan")
    for sizes in ([5, 3, 3, 4], [1, 2, 3], [3, 2, 1], [4, nan, 2, 2, nan, 6], [2, 2], [7]):
        assert falls_then_rises(sizes), sizes
    for sizes in ([5, 6, 1, 7], [5, 1, 7, 6], [2, 1, 2, 1, 2], [4, nan, 5, 1]):
        assert not falls_then_rises(sizes), sizes


def test_the_grid_agrees_with_what_the_search_saw(tables):
    keys = ["run", "training", "alpha", "epsilon"]
    both = tables["paths"].merge(tables["grids"], on=keys)
    assert len(both) > 30
    known = both["candidates"].notna()
    assert (both.loc[known, "candidates"] == both.loc[known, "left"]).all()
    assert both.loc[~known, "left"].isna().all()
    last = tables["grids"].groupby(keys[:3])["left"].last()
    assert (last == 100).all()  # the grid ends where all pairs are similar


def test_a_grid_by_hand():
    log = lsdt.ratings.RatingLog.from_matrix([[0.2, 0.3, 0.4]], scale=(0, 1))
    rows = list(grid_rows(lsdt.ratings.pair_statistics(log), 0.1, 0.05))
    assert [row["epsilon"] for row in rows] == [0.05, 0.1, 0.15, 0.2, 0.25]
    assert [row["left"] for row in rows] == [3, 3, 2, 3, 3]


def test_a_file_without_ratings_is_refused_before_any_work(tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text(f"0{',99' * 100}\n" * 24_983)
    with pytest.raises(lsdt.errors.InvalidFile, match="'empty.csv' 24,983 of 24,983 users rated no joke"):
        EXPERIMENT.check(Request(jester=path))
    short = as_published(tmp_path / "short.csv")
    with pytest.raises(lsdt.errors.InvalidInput, match="'short.csv' has 200 users; 20 to train"):
        EXPERIMENT.check(Request(jester=short))
    EXPERIMENT.check(Request())


def test_the_ratio_of_deviations_where_there_is_none():
    assert np.isnan(deviation_ratio([1.0], [2.0])).all()
    assert np.isnan(deviation_ratio([1.0, 2.0], [3.0, 3.0])).all()
    two = deviation_ratio([1.0, 2.0], [1.0, 3.0])
    assert two.value == pytest.approx(0.5)
    assert np.isnan(two.low)
    same = deviation_ratio([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])
    assert tuple(same) == pytest.approx((1.0, 1.0, 1.0))


def test_on_the_published_file(jester):
    """Two splits of the real users: what is sure whatever the draw."""
    setting = {**EXPERIMENT.setting(Request(replications=2, jester=jester)), "horizon": 1000}
    tables = EXPERIMENT.compute(setting, Work(jester=jester))
    assert (tables["runs"]["matched"].dropna() == 1000).all()
    means = tables["runs"].groupby("policy")["rating"].mean()
    assert means["always best in hindsight"] > means[UCB1]
    assert [claim.name for claim in EXPERIMENT.claims(tables)][-1] == "jester-size"
    assert EXPERIMENT.claims(tables)[-1].verdict == HOLDS
