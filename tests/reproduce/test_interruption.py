"""Ctrl-C in the middle of a part's simulation: the part is not kept, the exit code says so."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from systems import needs_signals


@pytest.mark.long
@needs_signals
def test_ctrl_c_in_a_simulation_keeps_no_part(tmp_path):
    report = tmp_path / "report"
    words = [
        "--only",
        "table-time-csi",
        "check-bounds",
        "--replications",
        "100000",
        "--n-jobs",
        "1",
        "--out",
        str(report),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "lsdt.cli.main", "reproduce", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The first part is kept: the second, which takes hours, has begun.
    for _ in range(6000):
        if process.poll() is not None or (report / "table-time-csi" / "part.json").exists():
            break
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted in check-bounds" in err
    assert not (report / "check-bounds" / "part.json").exists()
    claims = json.loads((report / "claims.json").read_text())
    assert "check-bounds" in claims["missing"]
    assert "table-time-csi" not in claims["missing"]
