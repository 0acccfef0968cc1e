"""The reader of the published ratings: what it accepts, and how it names what it does not."""

from __future__ import annotations

import builtins
import warnings
import zipfile

import numpy as np
import pytest

import lsdt
from lsdt.ratings import load_jester, where_to_get_jester
from lsdt.ratings.datasets.jester import file_fingerprint


def published(n_users=5, seed=0):
    """Made-up rows in the published layout, as text would hold them."""
    rng = np.random.default_rng(seed)
    ratings = np.round(rng.uniform(-10, 10, (n_users, 100)), 2)
    ratings[rng.random(ratings.shape) < 0.3] = 99
    return np.column_stack(((ratings != 99).sum(axis=1), ratings))


def write_csv(path, rows):
    path.write_text("".join(",".join(str(cell) for cell in row) + "\n" for row in rows))
    return path


def write_xls(path, rows):
    with warnings.catch_warnings():  # xlwt is older than some of Python's warnings
        warnings.simplefilter("ignore")
        xlwt = pytest.importorskip("xlwt")
        book = xlwt.Workbook()
        sheet = book.add_sheet("jester-data-1-new")
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                sheet.write(number, column, cell)
        book.save(str(path))
    return path


def zipped(path, *files, extra=()):
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            archive.write(file, file.name)
        for name in extra:
            archive.writestr(name, "x")
    return path


def as_matrix(rows):
    values = rows[:, 1:].astype(float)
    values[values == 99] = np.nan
    return values


@pytest.mark.parametrize("kind", ["csv", "CSV", "xls", "zip of csv", "zip of xls"])
def test_reads_every_published_form(tmp_path, kind):
    rows = published()
    write = write_xls if kind.endswith("xls") else write_csv
    path = write(tmp_path / f"jester-data-1.{kind.split()[-1]}", rows)
    if kind.startswith("zip"):
        path = zipped(tmp_path / "jester-data-1.zip", path, extra=["__MACOSX/._jester.csv", "README.txt"])
    log = load_jester(path)
    assert np.array_equal(log.matrix(), as_matrix(rows), equal_nan=True)
    assert log.item_ids == tuple(range(1, 101))
    assert (log.low, log.high) == (-10, 10)
    assert load_jester(str(path)).n_users == 5


def changed(row, column, value):
    rows = published().astype(object)
    rows[row, column] = value
    return rows


WRONG = [
    (changed(2, 5, 10.01), r"row 3, column 6 \(joke 5\) holds 10.01; ratings go from -10 to 10, and 99"),
    (changed(1, 100, -11.0), r"row 2, column 101 \(joke 100\) holds -11;"),
    (changed(0, 1, 98.0), r"row 1, column 2 \(joke 1\) holds 98;"),
    (
        changed(4, 0, 101),
        r"row 5, column 1 holds 101; it must be the number of jokes rated, and the row has \d+",
    ),
    (changed(3, 7, "abc"), r"row 4, column 8 \(joke 7\) holds 'abc'; a number is wanted"),
    (changed(3, 7, ""), r"row 4, column 8 \(joke 7\) holds ''; a number is wanted"),
]


@pytest.mark.parametrize(("rows", "message"), WRONG)
@pytest.mark.parametrize("write", [write_csv, write_xls])
def test_names_the_cell_that_is_wrong(tmp_path, write, rows, message):
    path = write(tmp_path / f"ratings.{write.__name__[-3:]}", rows)
    with pytest.raises(lsdt.errors.InvalidFile, match=message):
        load_jester(path)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "NULL"])
def test_words_that_pass_for_numbers_do_not(tmp_path, text):
    path = write_csv(tmp_path / "ratings.csv", changed(1, 3, text))
    with pytest.raises(lsdt.errors.InvalidFile, match=r"row 2, column 4 \(joke 3\) holds"):
        load_jester(path)


def test_says_what_is_wrong_with_the_shape(tmp_path):
    rows = [list(row) for row in published()]
    for name, cells, message in (
        (
            "short.csv",
            [*rows[:2], rows[2][:-1]],
            "row 3 has 100 columns, separated by commas; there must be 101",
        ),
        ("wide.csv", [[*row, 1.0] for row in rows], "row 1 has 102 columns"),
        ("semicolons.csv", [[";".join(map(str, row))] for row in rows], "row 1 has 1 columns"),
        ("header.csv", [["count", *range(1, 101)], *rows], "row 1, column 1 holds 'count'"),
        ("empty.csv", [], "empty.csv has no rows"),
    ):
        with pytest.raises(lsdt.errors.InvalidFile, match=message):
            load_jester(write_csv(tmp_path / name, cells))
    with pytest.raises(lsdt.errors.InvalidFile, match="narrow.xls has 5 columns; there must be 101"):
        load_jester(write_xls(tmp_path / "narrow.xls", [row[:5] for row in rows]))


def test_says_what_is_wrong_with_the_file(tmp_path):
    good = write_csv(tmp_path / "a.csv", published())
    other = write_csv(tmp_path / "b.csv", published())
    for path, message in (
        (tmp_path / "none.zip", "cannot read .*none.zip.*: No such file.*eigentaste.berkeley.edu"),
        (tmp_path, "end in .zip, .csv, .xls, .xlsx; got"),
        (
            zipped(tmp_path / "two.zip", good, other),
            "'two.zip' must hold one file .*; it holds 'a.csv', 'b.csv'",
        ),
        (zipped(tmp_path / "nothing.zip"), "it holds nothing"),
    ):
        with pytest.raises(lsdt.errors.InvalidFile, match=message):
            load_jester(path)
    for name, message in (
        ("bad.zip", "cannot be read as a zip"),
        ("bad.xls", "cannot be read as a spreadsheet"),
    ):
        (tmp_path / name).write_bytes(b"neither")
        with pytest.raises(lsdt.errors.InvalidFile, match=message):
            load_jester(tmp_path / name)
    with pytest.raises(lsdt.errors.InvalidFile, match=r"cannot read .*none.csv.*133-151"):
        file_fingerprint(tmp_path / "none.csv")


def test_a_sheet_without_its_reader_names_the_extra(tmp_path, monkeypatch):
    path = write_xls(tmp_path / "ratings.xls", published())
    original = builtins.__import__

    def without(name, *rest):
        if name == "python_calamine":
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(lsdt.errors.MissingDependency, match=r"pip install 'lsdt\[xls\]'"):
        load_jester(path)


def test_the_helper_text_says_where_on_which_terms_and_that_nothing_is_downloaded():
    text = where_to_get_jester()
    for part in ("eigentaste.berkeley.edu/dataset", "jester-data-1", "4(2), 133-151", "downloads nothing"):
        assert part in text


def test_the_published_file(jester):
    """Facts that are published with the file; the order of its users, and their ratings, stay in it."""
    log = load_jester(jester)
    assert log.n_users == 24_983
    assert np.diff(log.starts).min() >= 36
    assert log.counts().min() >= 0.34 * log.n_users
    assert log.ratings.min() >= -10
    assert log.ratings.max() <= 10
    assert len(file_fingerprint(jester)) == 64


def test_a_zip_whose_data_are_damaged_is_refused(tmp_path):
    rows = write_csv(tmp_path / "jester.csv", published())
    path = tmp_path / "jester.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(rows, rows.name)
    whole = path.read_bytes()
    for at in range(60, 400, 20):
        path.write_bytes(whole[:at] + bytes(20) + whole[at + 20 :])
        with pytest.raises(lsdt.errors.InvalidFile, match="jester.zip' cannot be read as a zip: "):
            load_jester(path)
