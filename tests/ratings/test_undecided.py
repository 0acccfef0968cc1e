"""Ratings that decide nothing say so, with numbers."""

from __future__ import annotations

import json
import re

import duckdb
import numpy as np
import pytest

import lsdt
from lsdt.cli.main import main
from lsdt.errors import InvalidInput, NoRelations
from lsdt.ratings import RatingWarning, make_log
from lsdt.ratings.engines.lazy_frames import open_log
from lsdt.ratings.engines.source import LogSource
from lsdt.ratings.from_ratings import RatingRequest
from lsdt.ratings.statistics.intervals import DifferenceIntervals
from lsdt.ratings.undecided import why_undecided


@pytest.fixture(scope="module")
def frame():
    return make_log(n_users=200, n_items=60, ratings_per_user=10, seed=1)[0]


def test_no_relation_is_a_warning_and_a_note_with_the_right_numbers(frame):
    with pytest.warns(RatingWarning, match="No pair of items could be decided"):
        side = lsdt.from_ratings(frame, relations="threshold")
    assert side.n_similar + side.n_dissimilar == 0
    note = next(note for note in side.evidence.notes if note.startswith("No pair"))
    log = lsdt.ratings.read_log(frame)
    pairs = lsdt.ratings.pair_statistics(log)
    enough = pairs.select(pairs.raters >= 30)
    intervals = DifferenceIntervals("student", 0.05 / 1770)
    width = intervals.half_widths(enough.raters, enough.difference, enough.variance).min()
    numbers = (
        f"of 1,770 pairs, {pairs.n_compared:,} have common raters, {pairs.raters.max()} at the most, and "
    )
    assert f"{numbers}{len(enough)} have the 30 that are needed" in note
    assert f"reaches {width:.2g} to either side" in note
    assert "More users would help, or fewer items (min_ratings or top of read_log)" in note
    assert any(
        re.search("none decides a pair: epsilon .* means nothing", each) for each in side.evidence.notes
    )
    with pytest.warns(RatingWarning, match=re.escape("lies inside (-0.05, 0.05) or outside")):
        lsdt.from_ratings(frame, epsilon=0.05)


def test_too_few_common_raters_are_an_error_of_its_own(frame):
    few = frame[frame["user"] < 20]
    with pytest.raises(
        NoRelations, match="0 have the 30 that are needed. More users .* asking for fewer"
    ) as told:
        lsdt.from_ratings(few, relations="threshold")
    assert "interval" not in str(told.value)
    with pytest.raises(NoRelations, match="no user rated two of the items"):
        lsdt.from_ratings(frame.drop_duplicates("user"), relations="threshold")
    assert issubclass(NoRelations, InvalidInput)


def test_an_engine_tells_the_same(frame):
    request = RatingRequest("auto", 0.95, "interval", "family", 0.1, "grid", None, "student", 0).checked()
    in_engine = why_undecided(request, open_log(duckdb.from_df(frame)), 0.1)
    assert in_engine == why_undecided(request, LogSource(lsdt.ratings.read_log(frame)), 0.1)
    paper = RatingRequest("auto", 0.95, "paper", "family", 0.1, "grid", None, "student", 0).checked()
    log = lsdt.ratings.RatingLog.from_matrix([[0.1, np.nan], [np.nan, 0.2]], scale=(0, 1))
    told = why_undecided(paper, LogSource(log), None)
    assert "of 1 pair, 0 have common raters, and 0 have the 1 that are needed. More" in told


def test_the_command_says_it(frame, tmp_path, capsys):
    frame.to_csv(tmp_path / "log.csv", index=False)
    words = ["build", str(tmp_path / "log.csv"), "--out", str(tmp_path / "side.csv")]
    assert main(words) == 0
    assert "beaten      3 of 60 items" in capsys.readouterr().out  # the best item alone needs fewer raters
    words += ["--guarantee", "all"]
    assert main(words) == 0
    assert "note        No pair of items could be ordered" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert any(note.startswith("No pair") for note in json.loads(capsys.readouterr().out)["notes"])
