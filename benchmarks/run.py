"""Run the benchmarks, each in a process of its own, and print one table.

    python benchmarks/run.py [--only WORD] [--write]

``--write`` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from measuring import Row

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/performance.md"
MODULES = ["bench_anchors", "bench_triangles"]
START, END = "<!-- table -->", "<!-- end of table -->"


def measured(module: str, name: str) -> Row:
    """Run one benchmark in a fresh process."""
    command = [sys.executable, __file__, "--child", module, name]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(f"{module}.{name} failed:\n{answer.stderr}")
    return Row(**json.loads(answer.stdout.splitlines()[-1]))


def table_line(row: Row) -> str:
    against = "" if row.against_seconds is None else f"{row.against} ({_seconds(row.against_seconds)})"
    cells = [row.work, _seconds(row.seconds), against, row.reached, row.to_reach, f"{row.peak_mib:.0f} MiB"]
    return f"| {' | '.join(cells)} | {'yes' if row.met else '**no**'} |"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run the benchmarks whose name contains this word")
    parser.add_argument("--write", action="store_true", help="write the table into docs/performance.md")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        module, name = options.child
        print(json.dumps(asdict(getattr(importlib.import_module(module), name)())))
        return
    lines = [
        "| work | time | against | reached | to reach | peak memory | met |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    all_met = True
    for module in MODULES:
        for work in importlib.import_module(module).WORKS:
            if options.only in f"{module}.{work.__name__}":
                row = measured(module, work.__name__)
                all_met &= row.met
                lines.append(table_line(row))
                print(lines[-1], flush=True)
    if options.write:
        text = PAGE.read_text()
        before, after = text.split(START)[0], text.split(END)[1]
        versions = ", ".join(
            f"{name} {importlib.import_module(name).__version__}" for name in ("numpy", "scipy", "numba")
        )
        machine = (
            f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {versions}"
        )
        PAGE.write_text(
            f"{before}{START}\n" + "\n".join(lines) + f"\n\nMeasured with {machine}.\n{END}{after}"
        )
    sys.exit(0 if all_met else 1)


if __name__ == "__main__":
    main()
