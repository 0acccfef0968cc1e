"""Checks of users' values: what they return, and what they say."""

from __future__ import annotations

import numpy as np
import pytest

from lsdt import _validation as check
from lsdt.errors import InvalidInput


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int64(3), 5e-324])
def test_positive_numbers_come_back_as_floats(value):
    found = check.checked_positive(value, "x")
    assert (type(found), found) == (float, float(value))


@pytest.mark.parametrize("value", [True, "1", None, 1j, [1.0]])
def test_what_is_no_number_is_refused(value):
    for checked in (check.checked_positive, check.checked_share, check.checked_share_inside):
        with pytest.raises(InvalidInput, match="x must be a .*number"):
            checked(value, "x")
    with pytest.raises(InvalidInput, match="x must be a number from -3 to 3; got"):
        check.checked_between(value, "x", -3.0, 3.0)


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), 10**400])
def test_a_positive_number_is_finite(value):
    with pytest.raises(InvalidInput, match="x must be positive and finite, in seconds; got"):
        check.checked_positive(value, "x", ", in seconds")


def test_shares():
    assert check.checked_share(np.int32(1), "x") == check.checked_share(1, "x") == 1.0
    assert check.checked_share_below_1(0, "x", "why") == 0.0
    assert check.checked_share_inside(0.25, "x") == 0.25
    for wrong in (-0.1, 1.1, float("nan"), 10**400):  # the last does not even fit in a float
        with pytest.raises(InvalidInput, match="x must lie between 0 and 1; got"):
            check.checked_share(wrong, "x")
    with pytest.raises(InvalidInput, match=r"x must be below 1: that is all; got 1$"):
        check.checked_share_below_1(1, "x", "that is all")
    for end in (0, 1.0):
        with pytest.raises(InvalidInput, match="x must lie strictly between 0 and 1"):
            check.checked_share_inside(end, "x")


def test_whole_numbers_have_limits():
    assert check.checked_whole(np.uint8(7), "x", 1, 7) == check.checked_whole(7, "x", 7) == 7
    for wrong in (0, 8, 1.0, True, "1"):
        with pytest.raises(InvalidInput, match="x must be a whole number from 1 to 7; got"):
            check.checked_whole(wrong, "x", 1, 7)
    with pytest.raises(InvalidInput, match="x must be a whole number of at least 1, or 'auto'; got 0"):
        check.checked_whole(0, "x", 1, meaning=", or 'auto'")
    with pytest.raises(InvalidInput, match="replications must be a whole number from 1 to 1,000,000,000"):
        check.checked_replications(10**10)


def test_horizons():
    assert check.checked_horizons(5) == 5
    assert check.checked_horizons([1, 2]).tolist() == [1, 2]
    for wrong in (0, 1.5, [], [3, 0], [[1]], "many", True):
        with pytest.raises(InvalidInput, match="horizon must be a whole number of rounds of at least 1"):
            check.checked_horizons(wrong)


def test_texts_and_columns():
    assert check.checked_text("a", "x") == "a"
    assert check.checked_texts(("a", "b"), "x", "names") == ["a", "b"]
    check.check_columns("a and b", ("a", "b"))
    for wrong in ("", None, 3):
        with pytest.raises(InvalidInput, match="x must be text between words; got"):
            check.checked_text(wrong, "x", " between words")
    for wrong in ("ab", [], ["a", ""], ["a", 1], 5):
        with pytest.raises(InvalidInput, match="x must be a list of names; got"):
            check.checked_texts(wrong, "x", "names")
    for wrong in (("a", "a"), ("a", 1)):
        with pytest.raises(InvalidInput, match="a and b must be the names of different columns; got 'a', "):
            check.check_columns("a and b", wrong)


def test_pairs_have_two_entries():
    assert check.is_pair((1, 2))
    assert check.is_pair(["a", "b"])
    assert not any(map(check.is_pair, ("ab", b"ab", (1,), 2, {1, 2, 3}, None)))


def test_limits_of_numbers_are_in_plain_words():
    """``a number above 0 and at least 1e-100 and at most 1`` was what the list of policies said."""
    words = check.number_in_words
    assert words(None, None, None) == "a number"
    assert words(0.0, None, None) == "a number above 0"
    assert words(0.0, None, 1.0) == "a number above 0 and at most 1"
    assert words(0.0, 1e-100, 1.0) == "a number above 0, from 1e-100 to 1"
    assert words(None, 0.5, 1.0) == "a number from 0.5 to 1"
    assert words(None, 0.0, None) == "a number of at least 0"
    assert words(None, None, 1.0) == "a number of at most 1"
