from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom, norm, studentized_range

import lsdt
from lsdt.errors import InvalidFile, InvalidInput, TooLarge
from lsdt.kernel.memory import memory_limit
from naive import sources as naive

COUNTS = {"arm": ["red", "green", "blue"], "successes": [120, 180, 260], "trials": [2000, 2000, 2000]}


def ranges_of(side):
    known = side.ranges
    return {
        (side.label(a), side.label(b)): (low, high)
        for (a, b), low, high in zip(
            known.pairs.tolist(), known.low.tolist(), known.high.tolist(), strict=True
        )
    }


@st.composite
def tables(draw):
    """Rows of arms in experiments, each at most once, with means or with counts."""
    cells = draw(
        st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 2)), min_size=2, max_size=10, unique=True)
    )
    counts, rows = draw(st.booleans()), []
    for arm, experiment in cells:
        row = {"arm": arm, "experiment": experiment}
        if counts:
            trials = draw(st.integers(1, 60))
            row |= {"successes": draw(st.integers(0, trials)), "trials": trials}
        else:
            row |= {"mean": draw(st.floats(-2, 2)), "se": draw(st.floats(0.05, 1))}
        rows.append(row)
    return rows


@given(tables())
def test_ranges_agree_with_least_squares_by_hand(rows):
    try:
        side = lsdt.from_experiments(rows)
    except InvalidInput as error:
        assert "no experiment has two arms" in str(error)
        assert naive.experiment_ranges(rows, 2.0) == {}
        return
    expected = naive.experiment_ranges(rows, side.evidence.critical)
    assert len(expected) == side.evidence.n_ranges
    got = ranges_of(side)
    for (a, b), (low, high) in expected.items():
        if (a, b) not in got:
            (a, b), (low, high) = (b, a), (-high, -low)
        assert got[a, b] == pytest.approx((low, high), abs=1e-7)


def test_one_experiment_by_hand():
    side = lsdt.from_experiments({"arm": ["a", "b", "c"], "mean": [0.5, 0.2, 0.1], "se": [0.03, 0.04, 0.04]})
    critical = studentized_range.ppf(0.95, 3, np.inf) / math.sqrt(2)  # Tukey and Kramer
    assert side.evidence.critical == pytest.approx(critical)
    assert side.evidence.critical < norm.isf(0.025 / 3)
    assert side.difference("a", "b") == pytest.approx((0.3 - 0.05 * critical, 0.3 + 0.05 * critical))
    assert (side.evidence.n_experiments, side.evidence.n_ranges, side.evidence.n_ordered) == (1, 3, 2)
    assert side.evidence.risk == 0.05


def test_levels_of_experiments_do_not_matter():
    """Adding a constant to all means of an experiment changes nothing."""
    rng = np.random.default_rng(4)
    rows = [
        {"arm": arm, "experiment": week, "mean": rng.normal(), "se": rng.uniform(0.1, 0.3)}
        for week in range(3)
        for arm in rng.choice(6, 4, replace=False).tolist()
    ]
    moved = [row | {"mean": row["mean"] + 10.0 * row["experiment"]} for row in rows]
    first, second = (ranges_of(lsdt.from_experiments(table)) for table in (rows, moved))
    assert first.keys() == second.keys()
    for pair, ends in first.items():
        assert second[pair] == pytest.approx(ends, abs=1e-6)


def test_arms_that_never_met_are_compared_through_others():
    rows = [
        {"arm": arm, "experiment": week, "mean": mean, "se": 0.01}
        for arm, week, mean in [("a", 1, 0.1), ("b", 1, 0.3), ("b", 2, 0.8), ("c", 2, 0.9), ("d", 3, 0.5)]
    ]
    side = lsdt.from_experiments(rows)
    assert side.difference("c", "a")[0] > 0.2
    assert side.relation("d", "a") is None
    assert lsdt.candidate_set(side).arm_ids == ["c", "d"]


def test_rows_of_an_experiment_add_up():
    rows = {"arm": ["a", "b", "a"], "successes": [3, 9, 4], "trials": [10, 20, 10]}
    joined = {"arm": ["a", "b"], "successes": [7, 9], "trials": [20, 20]}
    assert ranges_of(lsdt.from_experiments(rows)) == ranges_of(lsdt.from_experiments(joined))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda table: pl.DataFrame(table).lazy(), dict])
def test_any_table(make):
    side = lsdt.from_experiments(make(COUNTS))
    assert side.arm_ids == ("red", "green", "blue")
    assert lsdt.candidate_set(side).arm_ids == ["blue"]
    assert side == lsdt.from_experiments(pd.DataFrame(COUNTS).to_dict(orient="records"))


@pytest.mark.parametrize("kind", ["mean", "rare"])
def test_all_ranges_hold_at_the_stated_level(kind):
    """200 tables of 12 arms: as many with a wrong range as 5% allows, but for one in a thousand."""
    n, wrong = 200, 0
    for seed in range(n):
        rng = np.random.default_rng([seed, 5])
        means = rng.uniform(0.01, 0.06, 12)
        trials = rng.integers(40, 600, 12)
        table = {"arm": list(range(12))}
        if kind == "rare":  # often no success at all
            table |= {"successes": rng.binomial(trials, means), "trials": trials}
        else:
            errors = rng.uniform(0.005, 0.05, 12)
            table |= {"mean": rng.normal(means, errors), "se": errors}
        known = lsdt.from_experiments(table).ranges
        apart = means[known.pairs[:, 0]] - means[known.pairs[:, 1]]
        wrong += bool(((apart < known.low) | (apart > known.high)).any())
    assert wrong <= binom.isf(0.001, n, 0.05)
    assert wrong > 0 or kind == "rare"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (3, "must be a dataframe, a dict of columns, a list of dicts, or a file; got int"),
        ([], "must have at least one row; got none"),
        ([("a", 1)], r"row 0 is \('a', 1\)"),
        ({"arm": ["a"], "mean": [1.0, 2.0]}, "must have one length"),
        ({"arm": ["a", "b"], "mean": [1.0, 2.0]}, "needs columns mean and se .*found 'arm', 'mean'"),
        ({"item": ["a", "b"], "mean": [1.0, 2.0], "se": [1.0, 1.0]}, "no column 'arm'; found"),
        ({"arm": ["a", 2], "mean": [1.0, 2.0], "se": [1.0, 1.0]}, "all text or all whole numbers; row 1"),
        ({"arm": ["a", "b"], "mean": [1.0, None], "se": [1.0, 1.0]}, "mean must be a finite number; row 1"),
        ({"arm": ["a", "b"], "mean": [1.0, 2.0], "se": [1.0, 0.0]}, "se must be positive; row 1"),
        ({"arm": ["a", "a"], "mean": [1.0, 2.0], "se": [1.0, 1.0]}, "'a' occurs twice in one experiment"),
        ({"arm": ["a", "b"], "successes": [1, 3], "trials": [2, 2]}, "row 1 .* has 3 successes of 2 trials"),
        ({"arm": ["a", "b"], "successes": [1, 3]}, "no column 'trials'"),
        ({**COUNTS, "experiment": [1, 2, 3]}, "no experiment has two arms"),
        ({**COUNTS, "experiment": [1, None, 1]}, "row 1 of the table of experiments has no experiment"),
        ({**COUNTS, "experiment": [1, 1, float("nan")]}, "row 2 .* has no experiment"),
        ("missing.csv", "cannot read 'missing.csv': there is no such file"),
        ("tests.xlsx", "a table ends in .csv, .tsv, .jsonl or .parquet"),
    ],
)
def test_bad_tables_are_named(rows, message):
    with pytest.raises((InvalidInput, InvalidFile), match=message):
        lsdt.from_experiments(rows)


def test_bad_confidence_and_too_many_arms():
    with pytest.raises(InvalidInput, match="confidence must lie strictly between 0 and 1"):
        lsdt.from_experiments(COUNTS, confidence=1.0)
    many = {"arm": list(range(3_000)), "mean": [0.0] * 3_000, "se": [1.0] * 3_000}
    with memory_limit(2**24), pytest.raises(TooLarge, match="leave out arms that are not in question"):
        lsdt.from_experiments(many)


def test_a_file_is_read_as_a_table(tmp_path):
    pd.DataFrame(COUNTS).to_csv(tmp_path / "tests.csv", index=False)
    (tmp_path / "blanks.csv").write_text("arm, mean , se\n NA ,1,.1\n日本, 2,.1\n", encoding="utf-8")
    assert lsdt.from_experiments(tmp_path / "tests.csv") == lsdt.from_experiments(COUNTS)
    assert lsdt.candidate_set(lsdt.from_experiments(tmp_path / "blanks.csv")).arm_ids == ["日本"]
    (tmp_path / "latin.csv").write_bytes("arm,mean,se\nthé,1,1\n".encode("latin-1"))
    with pytest.raises(InvalidFile, match="column 'arm' is not in UTF-8"):
        lsdt.from_experiments(tmp_path / "latin.csv")
