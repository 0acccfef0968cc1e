"""Items with few ratings left out: as if the rows had not been there."""

from __future__ import annotations

import json
import pickle

import duckdb
import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.cli.main import main
from lsdt.errors import InvalidInput
from lsdt.ratings import make_log, read_events, read_log
from lsdt.ratings.engines.lazy_frames import open_log

NOTE = "Of 4 items in the log, 3 have at least 2 ratings; the 2 of these with the most ratings (3 or more)"


@pytest.fixture
def frame():
    """Four items with 1, 3, 2 and 3 ratings."""
    rows = [("ann", 1, 5), ("ann", 2, 1), ("bob", 2, 2), ("cid", 2, 3), ("bob", 3, 4), ("cid", 3, 2)]
    rows += [("ann", 4, 2), ("bob", 4, 3), ("dan", 4, 4)]
    return pd.DataFrame(rows, columns=["user", "item", "rating"])


@pytest.mark.parametrize(
    ("words", "items"),
    [
        ({"min_ratings": 2}, [2, 3, 4]),
        ({"min_ratings": 3}, [2, 4]),
        ({"top": 1}, [2]),
        ({"top": 3}, [2, 3, 4]),
        ({"min_ratings": 2, "top": 2}, [2, 4]),
        ({"top": 9, "min_ratings": 0}, [1, 2, 3, 4]),
    ],
)
def test_the_log_is_that_of_the_rows_left(frame, words, items):
    expected = read_log(frame[frame["item"].isin(items)], scale=(1, 5))
    log = read_log(frame, **words)
    assert pickle.loads(pickle.dumps(log)).note == log.of_users([0]).note == log.note
    assert bool(log.note) == (len(items) < 4)
    assert (log.item_ids, log.low, log.high) == (tuple(items), 1, 5)
    for name in ("starts", "items", "ratings"):
        assert np.array_equal(getattr(log, name), getattr(expected, name)), name
    events = read_events(frame, **words)
    again = read_events(frame[frame["item"].isin(items)], scale=(1, 5))
    assert (events.item_ids, events.n_users) == (again.item_ids, again.n_users)
    for name in ("users", "items", "rewards"):
        assert np.array_equal(getattr(events, name), getattr(again, name)), name


def test_a_log_in_an_engine_keeps_the_same_items(frame):
    words = {"min_ratings": 2, "top": 2}
    source, log = open_log(duckdb.from_df(frame), **words), read_log(frame, **words)
    assert (source.item_ids, source.note) == (log.item_ids, log.note) == ((2, 4), f"{NOTE} are kept.")
    assert (source.n_users, source.n_ratings) == (log.n_users, log.n_ratings) == (4, 6)
    assert source.pairs().difference.tolist() == lsdt.ratings.pair_statistics(log).difference.tolist()


def test_what_was_left_out_is_a_note(tmp_path, capsys):
    frame, _ = make_log(n_users=2000, n_items=8, ratings_per_user=5, seed=1)
    few = pd.concat([frame, pd.DataFrame({"user": [0, 1], "item": [90, 91], "rating": [1.0, 2.0]})])
    side = lsdt.from_ratings(read_log(few, min_ratings=2), epsilon=0.2)
    assert side.arm_ids == tuple(range(8))
    said = "Of 10 items in the log, the 8 with at least 2 ratings are kept."
    assert side.evidence.notes[0] == said
    all_kept = lsdt.from_ratings(read_log(frame, min_ratings=2), epsilon=0.2)
    assert all_kept.evidence.notes[0].startswith("Ratings from")
    result = lsdt.replay(read_log(few, top=8), ["ts"], splits=2)
    assert result.notes[0] == "Of 10 items in the log, the 8 with the most ratings (790 or more) are kept."
    assert result.problem["n_arms"] == 8
    few.to_csv(tmp_path / "log.csv", index=False)
    words = ["build", str(tmp_path / "log.csv"), "--min-ratings", "2", "--epsilon", ".2", "--json"]
    assert main([*words, "--out", str(tmp_path / "side.csv")]) == 0
    assert said in json.loads(capsys.readouterr().out)["notes"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"min_ratings": 4}, "no item has at least 4 ratings: 2 has the most, 3; lower min_ratings"),
        ({"min_ratings": -1}, "min_ratings must be a whole number of at least 0; got -1"),
        ({"top": 0}, "top must be a whole number of at least 1; got 0"),
        ({"top": 1.5}, "top must be a whole number"),
    ],
)
def test_what_cannot_be_kept_is_said(frame, words, message):
    with pytest.raises(InvalidInput, match=message):
        read_log(frame, **words)
    for read in (read_events, open_log):
        with pytest.raises(InvalidInput, match=message):
            read(frame, **words)
    with pytest.raises(InvalidInput, match="items must be numbers from 0 to 3"):
        read_log(frame).of_items([4])
