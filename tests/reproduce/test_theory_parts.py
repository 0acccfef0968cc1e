"""The parts on the paper's theory run, tell and draw, with two runs and with one."""

from __future__ import annotations

import pandas as pd
import pytest

from lsdt.report.style import write_figure
from lsdt.reproduce.experiments import Request, Work
from lsdt.reproduce.registry import experiment

PARTS = ("check-bounds", "check-theorem-5", "check-corollary-1", "check-programmes")


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("part", PARTS)
def test_runs_tells_and_draws(part, runs, tmp_path):
    found = experiment(part)
    assert found.id == part
    told = []
    tables = found.compute(found.setting(Request(runs=runs, quick=True)), Work(done=told.append))
    assert told == sorted(told)
    assert 0 < told[-1] <= 1
    stored = {}
    for name, table in tables.items():
        table.to_parquet(tmp_path / f"{name}.parquet")
        stored[name] = pd.read_parquet(tmp_path / f"{name}.parquet")
    assert len(found.table(stored)) > 1
    assert all(claim.verdict for claim in found.claims(stored))
    assert found.reading(stored)
    assert "nan" not in found.reading(stored)
    write_figure(found.draw(stored), tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000
