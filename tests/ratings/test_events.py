from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.ratings import read_events

FRAME = pd.DataFrame(
    {
        "who": ["eve", "ann", "eve", "bob", "eve"],
        "what": [7, 3, 7, 3, 9],
        "click": [0, 1, 1, 0, 1],
        "p": [0.5, 0.25, 0.5, 1.0, 0.125],
    }
)
COLUMNS = {"user": "who", "item": "what", "rating": "click", "propensity": "p"}


def same(first, second):
    arrays = ("users", "items", "rewards", "propensities")
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in arrays) and (
        first.n_users,
        first.item_ids,
        first.low,
        first.high,
    ) == (second.n_users, second.item_ids, second.low, second.high)


def test_rows_stay_in_their_order():
    log = read_events(FRAME, **COLUMNS)
    assert log.users.tolist() == [2, 0, 2, 1, 2]
    assert log.items.tolist() == [1, 0, 1, 0, 2]
    assert log.item_ids == (3, 7, 9)
    assert log.rewards.tolist() == [0, 1, 1, 0, 1]
    assert log.propensities.tolist() == [0.5, 0.25, 0.5, 1.0, 0.125]
    assert (log.low, log.high, log.n_users) == (0.0, 1.0, 3)
    assert repr(log) == "EventLog(5 events, 3 users, 3 items, with propensities)"
    assert read_events(log) is log


def test_files_and_frames_are_the_same(tmp_path):
    polars = pytest.importorskip("polars")
    log = read_events(FRAME, **COLUMNS)
    FRAME.to_csv(tmp_path / "log.csv", index=False)
    FRAME.to_parquet(tmp_path / "log.parquet", index=False)
    for source in (tmp_path / "log.csv", str(tmp_path / "log.parquet"), polars.from_pandas(FRAME).lazy()):
        assert same(read_events(source, **COLUMNS), log)


def test_without_users_every_event_is_of_another(tmp_path):
    columns = {**COLUMNS, "user": None}
    log = read_events(FRAME.drop(columns="who"), **columns)
    assert log.users.tolist() == [0, 1, 2, 3, 4]
    assert log.n_users == 5
    for name, write in (("log.csv", FRAME.to_csv), ("log.parquet", FRAME.to_parquet)):
        write(tmp_path / name, index=False)
        assert same(read_events(tmp_path / name, **columns), log)
    with pytest.raises(InvalidFile, match="No such file"):
        read_events(tmp_path / "none.csv", **columns)
    wide = pd.DataFrame({f"column_{number}": [1] for number in range(43)} | {"item_id": [1]})
    with pytest.raises(InvalidInput) as error:
        lsdt.ratings.read_log(wide, user="column_1", item="item", rating="column_2")
    assert "the columns are 'item_id', 'column_0', " in str(error.value)
    assert " and 36 more (did you mean 'item_id'?)" in str(error.value)
    with pytest.raises(InvalidInput, match="there is no column 'clicks' for the rating"):
        read_events(FRAME, None, "what", "clicks")


def test_ratings_of_some_users_are_means_over_events():
    log = read_events(FRAME, **COLUMNS)
    ratings = log.ratings_of(np.array([2, 1]))
    assert isinstance(ratings, lsdt.ratings.RatingLog)
    nan = np.nan
    assert np.array_equal(ratings.matrix(), [[nan, 0.5, 1.0], [0.0, nan, nan]], equal_nan=True)


def test_bad_input_is_named(tmp_path):
    for column, value, message in (
        ("p", 0.0, "row 2 has the propensity 0; it is the probability of what was shown, above 0"),
        ("p", 1.5, "row 2 has the propensity 1.5"),
        ("p", np.nan, "row 2 (has no|holds the) propensity"),
        ("click", np.nan, "row 2"),
    ):
        wrong = FRAME.astype({column: float})
        wrong.loc[1, column] = value
        with pytest.raises(InvalidInput, match=message):
            read_events(wrong, **COLUMNS)
    with pytest.raises(InvalidInput, match="different columns, .*; got 'who', 'what', 'click', 'click'"):
        read_events(FRAME, "who", "what", "click", "click")
    with pytest.raises(InvalidInput, match="there is no column 'chance'"):
        read_events(FRAME, "who", "what", "click", "chance")
    with pytest.raises(InvalidInput, match="a log is a path or a dataframe"):
        read_events(3.5)
