from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from lsdt.reproduce.page.cells import (
    cell,
    duration,
    number_cells,
    number_text,
    setting_text,
    text_table,
    with_minus,
)

NUMBERS = st.floats(-1e20, 1e20).filter(lambda value: value == 0.0 or abs(value) > 1e-20)


def value_of(text):
    return float(text.replace(",", "").replace("−", "-"))


@given(NUMBERS)
def test_a_number_keeps_three_digits(value):
    text = number_text(value)
    assert value_of(text) == pytest.approx(value, rel=0.005)
    assert len(text) <= 20


@given(st.lists(NUMBERS, min_size=1, max_size=8))
def test_a_column_keeps_two_digits_of_every_number_and_four_of_the_largest(values):
    shown = [value_of(text) for text in number_cells(np.array(values))]
    for value, seen in zip(values, shown, strict=True):
        assert seen == pytest.approx(value, rel=0.05)
    largest = int(np.argmax(np.abs(values)))
    assert shown[largest] == pytest.approx(values[largest], rel=0.005)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.05, 0.1, 1.0], ["0.05", "0.10", "1.00"]),
        ([4.8333, 100.0], ["4.8", "100.0"]),
        ([1234.56, 2.0, math.nan], ["1,235", "2", "–"]),
        ([3.0, 1_000_000.0, -2.0], ["3", "1,000,000", "−2"]),
        ([1e-7, 0.5, 0.0], ["1.00e-7".replace("-", "−"), "0.5", "0"]),
        ([math.inf, -math.inf, 1.5], ["∞", "−∞", "1.5"]),
        ([math.nan], ["–"]),
        ([2e18, 1.0], ["2.00e18", "1"]),
        ([], []),
    ],
)
def test_columns_by_hand(values, texts):
    assert number_cells(np.array(values, np.float64)) == texts


def test_tables_show_every_kind_of_value():
    table = pd.DataFrame(
        {
            "some_name": ["a", None],
            "yes": [True, False],
            "whole": pd.array([1000, None], dtype="Int64"),
            "mixed": [1.23456, "text"],
            ("two", "levels"): [1, 2],
        }
    )
    shown = text_table(table)
    assert shown.columns == ["some name", "yes", "whole", "mixed", "two levels"]
    assert shown.numeric == [False, False, True, False, True]
    assert shown.rows == [("a", "yes", "1,000", "1.23", "1"), ("–", "no", "–", "text", "2")]


def test_an_index_is_shown_if_it_has_a_name():
    table = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["a", "b"], name="policy"))
    assert text_table(table).columns == ["policy", "x"]
    assert text_table(table.rename_axis(None)).columns == ["x"]
    assert text_table(pd.DataFrame()).rows == []


def test_cells_without_a_value_are_dashes():
    assert [cell(value) for value in (None, math.nan, pd.NaT)] == ["–"] * 3
    assert [cell(value) for value in (np.int64(-1234), np.bool_(True), "-1")] == ["−1,234", "yes", "-1"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (100_000, "100,000"),
        (0.123456789, "0.123456789"),
        (-0.5, "−0.5"),
        (True, "yes"),
        (None, "none"),
        ([], "none"),
        ("lsdt-csi", "lsdt-csi"),
        ([1, 2, 5], "1, 2, 5"),
        (list(range(1000, 0, -100)), "1,000 to 100 in steps of 100 (10 values)"),
        ([2**k for k in range(10)], "1, 2, 4, …, 512 (10 values)"),
        (["a"] * 9, "a, a, a, a, a, a, a, a, a"),
        ({"lsdt_csi": 8, "ucb1": [2, 8]}, "lsdt_csi 8, ucb1 2, 8"),
        ([{"a": 1}, {"b": 2}], "a 1; b 2"),
        ([0.3] * 9, "0.3, 0.3, 0.3, …, 0.3 (9 values)"),
    ],
)
def test_settings_are_exact_and_short(value, text):
    assert setting_text(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_times(seconds, text):
    assert duration(seconds) == text


def test_hyphens_before_numbers_are_minus_signs():
    assert with_minus("-1 (-2.5 to -.5), lsdt-2, 3-4, x -> y") == "−1 (−2.5 to −.5), lsdt-2, 3-4, x -> y"
