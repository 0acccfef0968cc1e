"""Logs of ratings: the value itself, and what files and dataframes become of it."""

from __future__ import annotations

import datetime
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, strategies as st

import lsdt
from lsdt.errors import InvalidInput
from lsdt.kernel.memory import memory_limit
from lsdt.ratings import RatingLog, make_log, read_log
from lsdt.ratings.reading.columns import Chunks, LogColumns
from lsdt.ratings.reading.triples import read_triples

nan = float("nan")
ROWS = [("ann", "tea", 4), ("bob", "tea", 2), ("ann", "cocoa", 5), ("cid", "mate", 1), ("bob", "mate", 3)]


def frame(rows=ROWS, columns=("user", "item", "rating")):
    return pd.DataFrame(rows, columns=list(columns))


def assert_same(first, second):
    assert first.item_ids == second.item_ids
    assert (first.low, first.high) == (second.low, second.high)
    for name in ("starts", "items", "ratings"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


# The value.


def test_a_log_by_hand():
    log = RatingLog.from_matrix([[-10, 0, nan], [10, nan, nan]], ["a", "b", "c"], scale=(-10, 10))
    assert log.starts.tolist() == [0, 2, 3]
    assert log.items.tolist() == [0, 1, 0]
    assert log.ratings.tolist() == [-10, 0, 10]
    assert (log.starts.dtype, log.items.dtype, log.ratings.dtype) == (np.int64, np.int32, np.float64)
    assert (log.n_users, log.n_items, log.n_ratings) == (2, 3, 3)
    assert log.counts().tolist() == [2, 1, 0]
    assert np.array_equal(log.means(), [0, 0, nan], equal_nan=True)
    assert log.unit_ratings().tolist() == [0, 0.5, 1]
    assert log.unit().ratings.tolist() == [0, 0.5, 1]
    assert (log.unit().low, log.unit().high) == (0, 1)
    assert np.array_equal(log.matrix(), [[-10, 0, nan], [10, nan, nan]], equal_nan=True)
    assert repr(log) == "RatingLog(2 users, 3 items, 3 ratings from -10 to 10)"
    assert_same(pickle.loads(pickle.dumps(log)), log)
    again = RatingLog(log.starts, log.items, log.ratings, log.item_ids, -10, 10)
    assert_same(again, log)


def test_some_users_of_a_log():
    rng = np.random.default_rng(0)
    values = rng.random((20, 6))
    values[rng.random(values.shape) < 0.5] = nan
    log = RatingLog.from_matrix(values, scale=(0, 1))
    for users in ([3], [5, 0, 5, 19], [], range(20)):
        picked = log.of_users(users)
        assert np.array_equal(picked.matrix(), values[list(users)], equal_nan=True)
        assert picked.item_ids == log.item_ids
    with pytest.raises(lsdt.errors.InvalidInput, match="numbers from 0 to 19"):
        log.of_users([20])


def test_items_are_put_in_the_order_of_their_ids():
    log = RatingLog.from_matrix([[1, 2, 3]], ["tea", "mate", "cocoa"])
    assert log.item_ids == ("cocoa", "mate", "tea")
    assert log.ratings.tolist() == [3, 2, 1]


def test_a_log_cannot_be_changed_and_keeps_no_link_to_its_source():
    source = np.array([[0.1, 0.2]])
    log = RatingLog.from_matrix(source)
    source[0, 0] = 0.9
    assert log.ratings[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        log.ratings[0] = 0.5
    with pytest.raises(AttributeError, match="cannot be changed"):
        log.low = 3.0


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        (([1.0, 2.0],), r"users by items; got the shape \(2,\)"),
        ((np.zeros((0, 3)),), r"users by items; got the shape \(0, 3\)"),
        (([[0.1, 0.2]], ["a"]), "2 items and 1 item ids"),
        (([[0.1, 0.2]], ["a", "a"]), "arm ids must differ"),
        (
            ([[0.1, 1.2]], ["a", "b"], (0, 1)),
            "rating of item 'b' by user 0 is 1.2; the scale goes from 0 to 1",
        ),
        (([[0.1]], None, (1.0, 1.0)), "from low to high, both finite; got 1 to 1"),
        (([[0.1]], None, 3), r"scale must be two numbers, \(low, high\); got 3"),
        (([[0.5, 0.5]],), r"all ratings are 0.5: .* scale=\(low, high\), such as scale=\(0, 1\)"),
        (([[nan]],), "there are no ratings"),
    ],
)
def test_a_bad_matrix_is_refused(given_, message):
    with pytest.raises(lsdt.errors.InvalidInput, match=message):
        RatingLog.from_matrix(*given_)


@pytest.mark.parametrize(
    ("starts", "items", "ids", "message"),
    [
        ([0, 2], [0, 1, 1], "ab", "ascend from 0 to the number of ratings, 3"),
        ([0, 3], [1, 0, 1], "ab", "items of a user must ascend"),
        ([0, 3], [0, 1, 1], "ab", "items of a user must ascend, each once"),
        ([0, 1, 3], [0, 0, 2], "ab", "items must be numbers from 0 to 1; got 0 to 2"),
        ([0, 1, 3], [0, 0, 1], "ba", "item ids must ascend"),
        ([0, 1, 3], [0, 0, 1], "", "at least one item"),
        ([0, 3], [0, 1], "ab", "of one length"),
    ],
)
def test_bad_rows_are_refused(starts, items, ids, message):
    with pytest.raises(lsdt.errors.InvalidInput, match=message):
        RatingLog(starts, items, [0.5] * 3, ids, 0, 1)
    assert RatingLog([0, 1, 1, 3], [1, 0, 1], [0.5] * 3, "ab", 0, 1).n_users == 3


def test_a_table_that_does_not_fit_is_refused():
    log = RatingLog([0, 1, *[2] * 2000], [0, 999], [0.0, 1.0], range(1000), 0, 1)
    refused = pytest.raises(lsdt.errors.TooLarge, match="a table of 2,001 users by 1,000 items")
    with memory_limit(2**23), refused:
        log.matrix()


# Reading.


def written(path, rows=None):
    """The same rows as a CSV file, a Parquet file and a folder of Parquet files."""
    table = frame() if rows is None else rows
    table.to_csv(path / "log.csv", index=False)
    table.to_parquet(path / "log.parquet")
    (path / "folder" / "deeper").mkdir(parents=True)
    half = len(table) // 2
    table[:half].to_parquet(path / "folder" / "part-0.parquet")
    table[half:].to_parquet(path / "folder" / "deeper" / "part-1.pq")
    (path / "folder" / "_SUCCESS").write_text("")
    (path / "folder" / ".part.parquet").write_text("no parquet")
    return [path / "log.csv", str(path / "log.parquet"), path / "folder"]


def test_files_and_dataframes_give_the_same_log(tmp_path):
    rows, _ = make_log(n_users=300, n_items=30, ratings_per_user=12)
    rows = rows.sample(frac=1, random_state=0)
    expected = read_log(rows)
    assert (expected.n_users, expected.n_items) == (rows["user"].nunique(), 30)
    table = pa.Table.from_pandas(rows, preserve_index=False)
    frames = [pl.from_pandas(rows), table, pl.from_pandas(rows).lazy(), rows.sample(frac=1, random_state=1)]
    for log in [*frames, *written(tmp_path, rows)]:
        assert_same(read_log(log), expected)
    assert read_log(expected) is expected
    assert read_log(expected, scale=(0, 10)).high == 10


def test_the_log_is_what_the_rows_say():
    log = read_log(frame())
    assert log.item_ids == ("cocoa", "mate", "tea")
    expected = [[5, nan, 4], [nan, 3, 2], [nan, 1, nan]]
    assert np.array_equal(log.matrix(), expected, equal_nan=True)
    assert (log.low, log.high) == (1, 5)


def test_small_batches_change_nothing(tmp_path):
    rows, _ = make_log(n_users=200, n_items=20, ratings_per_user=8)
    rows = rows.sample(frac=1, random_state=0).astype({"item": str})
    expected = read_log(rows)
    sources = [rows, *written(tmp_path, rows)]
    small = Chunks(rows=64, text_bytes=500, first_room=10, most_dense=50)
    for log in sources:
        usual, read = (
            read_triples(log, LogColumns(*rows.columns), chunks=chunks) for chunks in (Chunks(), small)
        )
        for name in ("users", "items", "ratings", "user_ids", "item_ids"):
            assert np.array_equal(getattr(read, name), getattr(usual, name)), name
        ids = [str(item) for item in read_log(log).item_ids]
        assert np.array_equal(read_log(log).matrix()[:, np.argsort(ids)], expected.matrix(), equal_nan=True)


@given(
    st.lists(st.integers(-60, 60) | st.integers(-(2**40), 2**40), min_size=1, max_size=40),
    st.integers(1, 2**20),
)
@example(list(range(60, -60, -3)), 2**20)
def test_ids_keep_their_order_whatever_their_numbers(ids, most_dense):
    """With a table of numbers, without one, and where one has to be given up on the way."""
    rows = frame([(id_, 0, number % 5) for number, id_ in enumerate(dict.fromkeys(ids))])
    read = read_triples(rows, LogColumns(*rows.columns), chunks=Chunks(rows=7, most_dense=most_dense))
    in_order = rows.sort_values("user")["rating"].to_numpy()
    assert read.ratings[np.argsort(read.users)].tolist() == in_order.tolist()
    assert read.user_ids == sorted(set(ids))


def test_dates_strings_and_categories_as_ids():
    day, moment = datetime.date(2024, 2, 3), datetime.datetime(2024, 2, 3, 4, 5, 6)
    later = datetime.timedelta(days=9)
    for first, second, ids in (
        (day, day + later, ("2024-02-03", "2024-02-12")),
        (moment, moment + later, ("2024-02-03T04:05:06", "2024-02-12T04:05:06")),
        ("b", "a", ("a", "b")),
        (10, 9, (9, 10)),
        (10.0, 9.0, (9, 10)),
        ("10", "9", ("10", "9")),
    ):
        for make in (pd.DataFrame, pl.DataFrame):
            rows = make({"user": [1, 1], "item": [first, second], "rating": [True, False]})
            assert read_log(rows).item_ids == ids
    category = pd.Categorical(["b", "a"], ["z", "b", "a"])
    rows = pd.DataFrame({"user": [1, 1], "item": category, "rating": [0.5, 2]})
    assert read_log(rows).item_ids == ("a", "b")
    assert read_log(pl.from_pandas(rows)).item_ids == ("a", "b")


def test_text_in_a_file_is_a_number_if_all_of_it_is(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('rating, user ,item,why\n1,7, 10,x\n 2.5,7,9,"a, \nb"\n\n3,8,10,\n')
    log = read_log(path)
    assert log.item_ids == (9, 10)
    assert log.ratings.tolist() == [2.5, 1, 3]
    path.write_text("user,item,rating\n7.0,01,1\n7,2,3\n")
    log = read_log(path)
    assert (log.n_users, log.item_ids) == (1, ("01", "2"))


def test_columns_by_other_names():
    rows = frame(columns=("who", "what", "stars"))
    assert_same(read_log(rows, "who", "what", "stars"), read_log(frame()))


@pytest.mark.parametrize(("duplicates", "rating"), [("last", 1.0), ("mean", 2.5)])
def test_a_user_who_rates_an_item_twice(duplicates, rating):
    rows = frame([*ROWS, ("ann", "tea", 1)])
    with pytest.raises(
        lsdt.errors.InvalidInput,
        match="user 'ann' rated item 'tea' twice, in row 1 and in row 6; .*duplicates='last'",
    ):
        read_log(rows)
    log = read_log(rows, duplicates=duplicates)
    assert (log.n_ratings, log.ratings[log.starts[1] - 1]) == (5, rating)
    assert log.matrix()[0, 2] == rating
    with pytest.raises(
        lsdt.errors.InvalidInput, match="duplicates must be one of 'error', 'last', 'mean'; got 'men'"
    ):
        read_log(rows, duplicates="men")


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=30))
def test_repeats_are_settled_as_plain_python_would(triples):
    by_pair = {}
    for user, item, rating in triples:
        by_pair.setdefault((user, item), []).append(rating)
    rows = frame(triples)
    for duplicates, settle in (("last", lambda all_: all_[-1]), ("mean", np.mean)):
        log = read_log(rows, duplicates=duplicates, scale=(0, 9))
        assert log.ratings.tolist() == pytest.approx([settle(by_pair[pair]) for pair in sorted(by_pair)])
        assert log.counts().sum() == len(by_pair)


# What is wrong, and where.


BAD = [
    ([("ann", "tea", 4), ("bob", "tea", "good")], r"\w+ \d.* holds the rating 'good'"),
    ([("ann", "tea", 4), ("bob", "tea", nan)], "has no rating|rating nan"),
    ([("ann", "tea", 4.5), ("bob", "tea", float("inf"))], "holds the rating inf"),
    ([("ann", "tea", 4), (None, "tea", 2)], "has nothing in column 'user'"),
    ([("ann", "tea", 4), ("bob", "", 2)], "has nothing in column 'item'"),
]


@pytest.mark.parametrize(("rows", "message"), BAD)
def test_a_bad_row_is_named_with_its_value(tmp_path, rows, message):
    table = frame(rows)
    text = table.astype({"rating": str}) if isinstance(rows[1][2], str) else table
    wheres = ["line 3 of 'log.csv'", "row 2 of 'log.parquet'", "row 1 of 'part-1.pq'", "row 2", "row 2"]
    for log, where in zip([*written(tmp_path, text), text, pl.from_pandas(text)], wheres, strict=True):
        with pytest.raises(lsdt.errors.InvalidInput, match=message) as caught:
            read_log(log)
        assert where in str(caught.value)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ([1.5, 2.0], "ids in column 'item' must be whole numbers or text; row 1 has 1.5"),
        ([1.0, nan], "row 2 has nothing in column 'item'"),
        ([True, False], "column 'item' must hold ids: text, whole numbers or dates; it holds bool"),
        ([b"x", b"y"], "column 'item' must hold ids: .* it holds .*binary"),
        (["x", 1], "(?s)cannot be read as a log: .* must be of one kind"),
        (np.array([1, 2**64 - 1], np.uint64), f"must fit in 64 bits; row 2 has {2**64 - 1}"),
    ],
)
def test_what_cannot_be_an_id(item, message):
    rows = pd.DataFrame({"user": [1, 2], "item": item, "rating": [3, 4]})
    with pytest.raises(lsdt.errors.InvalidInput, match=message):
        read_log(rows)


def test_ratings_of_no_kind():
    rows = pd.DataFrame({"user": [1], "item": [2], "rating": [datetime.date(2024, 1, 1)]})
    with pytest.raises(
        lsdt.errors.InvalidInput, match="column 'rating' must hold ratings, .* it holds date32"
    ):
        read_log(rows)
    rows = pd.DataFrame({"user": [1, 2], "item": [2, 2], "rating": ["2", " 3.5 "]})
    assert read_log(rows).ratings.tolist() == [2, 3.5]
    rows = pd.DataFrame({"user": [1, 2], "item": [2, 2], "rating": pd.Categorical(["2", "4"])})
    assert read_log(rows).ratings.tolist() == [2, 4]


def test_columns_that_are_missing_are_named(tmp_path):
    for log in (
        frame(columns=("user", "itm", "rating")),
        *written(tmp_path, frame(columns=("user", "itm", "r"))),
    ):
        with pytest.raises(lsdt.errors.InvalidInput) as caught:
            read_log(log, rating="rating" if isinstance(log, pd.DataFrame) else "r")
        assert re.search(
            r"no column 'item' for the item; the columns are 'user', 'itm', .*did you mean 'itm'.*item=",
            str(caught.value),
        )
    with pytest.raises(
        lsdt.errors.InvalidInput,
        match="different columns, by name or by place, .*; got 'user', 'user', 'rating'",
    ):
        read_log(frame(), item="user")


def test_ratings_outside_the_scale_are_named(tmp_path):
    for log in written(tmp_path):
        with pytest.raises(
            lsdt.errors.InvalidInput, match=r"the rating in (line 4|row \d) of .* is 5; .* from 1 to 4"
        ):
            read_log(log, scale=(1, 4))
    with pytest.raises(lsdt.errors.InvalidInput, match="rating number 0 is 5"):
        read_log(read_log(frame()), scale=(1, 4))
    with pytest.raises(lsdt.errors.InvalidInput, match="all ratings are 1"):
        read_log(frame([("ann", "tea", 1), ("bob", "tea", 1)]))


def test_files_that_are_no_logs(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("user,item,rating\n")
    (tmp_path / "tabs.csv").write_text("user\titem\trating\n1\t2\t3\n")
    (tmp_path / "ragged.csv").write_text("user,item,rating\n1,2,3\n1,2\n")
    (tmp_path / "latin.csv").write_bytes("user,item,rating\nj\xf6rg,tea,3\n".encode("latin-1"))
    (tmp_path / "bad.parquet").write_bytes(b"neither")
    (tmp_path / "log.json").write_text("{}")
    frame([]).astype({"rating": float}).to_parquet(tmp_path / "none.parquet")
    for name, message in (
        ("nowhere.csv", "cannot read .*nowhere.csv.*: No such file"),
        ("nowhere.parquet", "cannot read .*nowhere.parquet.*: No such file"),
        ("empty", "folder holds no file that ends in .parquet"),
        ("empty.csv", "first line is blank; it must name the columns, such as user,item,rating"),
        ("header.csv", "there are no rows, hence no ratings"),
        ("tabs.csv", "separated by tabs; say so with sep="),
        ("ragged.csv", "line 3 has 2 fields, and the header names 3 columns"),
        ("latin.csv", "not text in UTF-8"),
        ("bad.parquet", "cannot be read as a log"),
        ("log.json", "a log is a file that ends in .csv, .* sep=.* Got .*log.json"),
        ("none.parquet", "there are no rows, hence no ratings"),
    ):
        with pytest.raises(lsdt.errors.InvalidInput, match=message):
            read_log(tmp_path / name)
    with pytest.raises(lsdt.errors.InvalidInput, match="a log is a path or a dataframe .* got list"):
        read_log(ROWS)


def test_parts_of_different_kinds(tmp_path):
    """Narrow and wide numbers are the same ids; numbers and text are not."""
    frame([(1, 1, 1.0)]).astype({"user": "int32"}).to_parquet(tmp_path / "0.parquet")
    frame([(2, 1, 2.0)]).to_parquet(tmp_path / "1.parquet")
    assert read_log(tmp_path).n_users == 2
    frame([("3", 1, 2.0)]).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(
        lsdt.errors.InvalidInput, match="column 'user' must be of one kind; found int64 and string"
    ):
        read_log(tmp_path)


def test_a_log_larger_than_memory_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({name: np.zeros(200_000, np.int32) for name in ("user", "item", "rating")}), path)
    refused = pytest.raises(
        lsdt.errors.TooLarge, match="a log of 200,000 ratings would need .*DuckDB relation or a Spark"
    )
    with memory_limit(2**22), refused:
        read_log(path)
    with pytest.raises(lsdt.errors.TooLarge, match="at most 100,000 ratings"):
        read_triples(path, LogColumns("user", "item", "rating"), chunks=Chunks(most_rows=100_000))


def test_times_are_kept_and_follow_their_ratings():
    frame = pd.DataFrame(
        {
            "user": ["b", "a", "b", "a", "c"],
            "item": [2, 1, 1, 2, 1],
            "rating": [1.0, 2.0, 3.0, 4.0, 5.0],
            "when": [50, 20, 10, 40, 30],
        }
    )
    log = read_log(frame, time="when")
    assert log.ratings.tolist() == [2, 4, 3, 1, 5]
    assert log.times.tolist() == [20, 40, 10, 50, 30]
    assert log.of_users([2, 0]).times.tolist() == [30, 20, 40]
    assert log.of_items([1]).times.tolist() == [40, 50]
    assert log.unit().times.tolist() == log.times.tolist()
    assert pickle.loads(pickle.dumps(log)).times.tolist() == log.times.tolist()
    assert read_log(log, scale=(0, 9)).times.tolist() == log.times.tolist()
    ordered = log.in_order_of_time()
    assert ordered.times.tolist() == [10, 50, 20, 40, 30]
    earlier, later = log.divide_by_time(0.6)
    assert (earlier.times.tolist(), later.times.tolist()) == ([10, 20, 30], [40, 50])
    assert later.ratings.tolist() == [4, 1]
    again = RatingLog(log.starts, log.items, log.ratings, log.item_ids, 1, 5, log.times)
    assert again.times.tolist() == log.times.tolist()
    with pytest.raises(InvalidInput, match="times must be a list of finite numbers, one for every rating"):
        RatingLog(log.starts, log.items, log.ratings, log.item_ids, 1, 5, [1.0])
    with pytest.raises(InvalidInput, match=r"name the column of times .*read_log\(log, time="):
        read_log(frame).in_order_of_time()
    with pytest.raises(InvalidInput, match="user, item, rating and time must be different columns"):
        read_log(frame, time="user")


@pytest.mark.parametrize("duplicates", ["last", "mean"])
def test_of_repeated_ratings_the_latest_is_the_last(duplicates):
    frame = pd.DataFrame({"user": [1, 1, 1], "item": [7, 7, 8], "rating": [4, 2, 1], "when": [9, 3, 5]})
    log = read_log(frame, duplicates=duplicates, time="when")
    assert log.ratings.tolist() == [4 if duplicates == "last" else 3, 1]
    assert log.times.tolist() == [9, 5]


def test_times_are_numbers_dates_or_iso_text(tmp_path):
    frame = pd.DataFrame({"user": [1, 2], "item": [1, 1], "rating": [0, 1]})
    moments = pd.to_datetime(["2024-05-01 12:30:00", "2024-05-02 00:00:00"])
    seconds = [1714566600.0, 1714608000.0]
    for column in (
        moments,
        moments.tz_localize("UTC"),
        [f"{moment:%Y-%m-%d %H:%M:%S}" for moment in moments],
        [f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in moments],
        seconds,
        [str(value) for value in seconds],
    ):
        assert read_log(frame.assign(t=column), time="t").times.tolist() == seconds
    dates = read_log(frame.assign(t=[moment.date() for moment in moments]), time="t")
    assert dates.times.tolist() == [seconds[1] - 86400, seconds[1]]
    frame.assign(t=moments).to_csv(tmp_path / "log.csv", index=False)
    assert read_log(tmp_path / "log.csv", time="t").times.tolist() == seconds
    with pytest.raises(
        InvalidInput, match="row 2 holds the time 'noon', and others are written as '2024-05-01'"
    ):
        read_log(frame.assign(t=["2024-05-01", "noon"]), time="t")
    with pytest.raises(InvalidInput, match="row 2 has no time"):
        read_log(frame.assign(t=[3.0, None]), time="t")
