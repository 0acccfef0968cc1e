"""``lsdt compile``: what it answers; a kernel stands for the policies, which take half a minute."""

from __future__ import annotations

import json

import numpy as np
import pytest

from lsdt.cli import compile_ahead
from lsdt.cli.main import main
from lsdt.kernel import cache_files
from lsdt.kernel.arrays import ascending
from lsdt.kernel.jit import TieredFunction


@pytest.fixture
def rehearsed(tmp_path, monkeypatch):
    """The policies that were compiled, into a cache of their own."""
    names = []

    def rehearse(name):
        names.append(name)
        kernel = TieredFunction(ascending.py_func, f"tests.{name}", lambda: "now")
        kernel.compile((np.arange(3),))

    monkeypatch.setenv("LSDT_JIT", "always")  # the command sets it: it is to be as it was afterwards
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setattr(cache_files, "cache_folders", lambda: [tmp_path])
    monkeypatch.setattr(cache_files, "_warned", False)
    monkeypatch.setattr(compile_ahead, "_rehearse", rehearse)
    cache_files.writable_folder.cache_clear()
    yield names
    cache_files.writable_folder.cache_clear()


def test_the_answer_counts_what_is_new(rehearsed, tmp_path, capsys):
    for n_new in (1, 0):
        assert main(["compile", "ucb1", "ucb1", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["policies"], answer["folder"]) == (["ucb1"], str(tmp_path))
        assert answer["new_files"] == n_new
    assert main(["compile", "ucb1"]) == 0
    assert capsys.readouterr().out.startswith("compiled    1 policy in ")


def test_a_policy_that_there_is_not_is_an_error_before_any_work(rehearsed, capsys):
    assert main(["compile", "ucb1", "ucb2"]) == 2
    assert "unknown policy 'ucb2'" in capsys.readouterr().err
    assert rehearsed == []


@pytest.mark.filterwarnings("default::lsdt.errors.CacheWarning")
def test_a_full_disk_is_no_success(rehearsed, monkeypatch, capsys):
    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_files, "write_code", full)
    assert main(["compile", "ts"]) == 4
    found = capsys.readouterr()
    assert found.out == ""
    assert "No space left on device" in found.err
    assert "will be compiled again" in found.err


@pytest.mark.filterwarnings("default::lsdt.errors.CacheWarning")
def test_a_folder_that_cannot_be_written_to_is_named(rehearsed, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache_files, "cache_folders", lambda: [tmp_path / "file" / "compiled"])
    assert main(["compile", "ucb1"]) == 4
    assert "set NUMBA_CACHE_DIR to one" in capsys.readouterr().err
    assert rehearsed == []
