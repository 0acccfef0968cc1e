"""lsdt explore on the command line."""

from __future__ import annotations

import json

import pytest

import lsdt
from lsdt.cli.main import main


def run(capsys, *arguments):
    code = main([str(word) for word in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_page_of_an_example_and_of_a_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "explore", "--example", "partial")
    assert (code, err) == (0, "")
    assert "7 of 11 arms may be the best" in out
    assert "explained   11 arms\n" in out
    size = (tmp_path / "example-partial.html").stat().st_size
    assert f"example-partial.html ({size / 1e3:.0f} kB): open" in out  # it was 0.0 MB
    assert '"play":' in (tmp_path / "example-partial.html").read_text(encoding="utf-8")
    lsdt.SideInformation(3, [(0, 1), (1, 2)], [(0, 2)]).save("drinks.parquet")
    code, out, _ = run(capsys, "explore", "drinks.parquet", "--proofs", 1, "--json")
    assert code == 0
    answer = json.loads(out)
    page = (tmp_path / "drinks.html").read_text(encoding="utf-8")
    assert answer == {"page": "drinks.html", "arms": 3, "proofs": 1, "bytes": len(page.encode())}
    assert "lsdt candidates drinks.parquet --explain=0" in page
    assert '"play":' not in page


def test_titles_and_options_are_in_the_command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lsdt.SideInformation(3, [(0, 1), (1, 2)], [(0, 2)], arm_ids=["a", "b", "c"]).save("x.csv")
    (tmp_path / "titles.csv").write_text("id,title\na,Alien\n")
    arguments = ("--method", "triangles", "--titles", "titles.csv", "--proofs", 0, "-o", "why.html")
    assert run(capsys, "explore", "x.csv", *arguments)[0] == 0
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "Alien [a]" in page
    assert "lsdt candidates x.csv --method triangles --titles titles.csv --explain=b" in page


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "give either a file of pairs or --example; see lsdt explore --help"),
        (["x.csv", "--example", "partial"], 2, "give either a file of pairs or --example"),
        (["--example", "nothing"], 2, "there is no example"),
        (
            ["--example", "partial", "-o", "page.txt"],
            2,
            "the page's file name must end in .html or .htm; got",
        ),
        (["--example", "partial", "--proofs", "-1"], 2, "proofs must be"),
        (["missing.csv"], 3, "missing.csv"),
    ],
)
def test_errors_are_one_message_and_a_code(capsys, tmp_path, monkeypatch, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    got, out, err = run(capsys, "explore", *arguments)
    assert (got, out) == (code, "")
    assert message in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
