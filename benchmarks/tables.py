"""Run benchmarks, each in a process of its own, and print or write one table."""

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

from timing import Row

PAGE = Path(__file__).parent.parent / "docs/performance.md"
HEAD = [
    "| work | time | against | reached | to reach | peak memory | met |",
    "|---|---|---|---|---|---|---|",
]


def measured(script: str, module: str, name: str) -> Row | None:
    """Run one benchmark in a fresh process; None, and a word on standard error, if it fails."""
    command = [sys.executable, script, "--child", module, name]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        print(f"{module}.{name} failed:\n{answer.stderr}", file=sys.stderr, flush=True)
        return None
    return Row(**json.loads(answer.stdout.splitlines()[-1]))


def table_line(row: Row) -> str:
    against = "" if row.against_seconds is None else f"{row.against} ({_seconds(row.against_seconds)})"
    peak = "" if row.peak_mib is None else f"{row.peak_mib:.0f} MiB"
    cells = [row.work, _seconds(row.seconds), against, row.reached, row.to_reach, peak]
    return f"| {' | '.join(cells)} | {'yes' if row.met else '**no**'} |"


def _seconds(value: float) -> str:
    if value >= 1:
        return f"{value:.2f} s"
    return f"{1e3 * value:.3g} ms" if value >= 1e-3 else f"{1e6 * value:.3g} us"


def _machine() -> str:
    versions = [f"{name} {importlib.import_module(name).__version__}" for name in ("numpy", "scipy", "numba")]
    python = f"Python {platform.python_version()}"
    return ", ".join([f"{os.cpu_count()} cores", platform.system(), python, *versions])


def _write(lines: list[str], mark: str) -> None:
    """Put a table between its two marks in docs/performance.md."""
    text, start, end = PAGE.read_text(), f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    before, after = text.split(start)[0], text.split(end)[1]
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{start}\n{table}\n\nMeasured with {_machine()}.\n{end}{after}")


def _options(about: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="run the benchmarks whose name contains this word")
    parser.add_argument("--write", action="store_true", help="write the table into docs/performance.md")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def main(script: str, modules: list[str], mark: str, about: str | None) -> None:
    """Run the benchmarks of some modules; exit with 1 when one misses what it should reach."""
    options = _options(about)
    if options.child:
        module, name = options.child
        print(json.dumps(asdict(getattr(importlib.import_module(module), name)())))
        return
    lines, all_met = list(HEAD), True
    print("\n".join(lines))
    for module in modules:
        for work in importlib.import_module(module).WORKS:
            if options.only in f"{module}.{work.__name__}":
                row = measured(script, module, work.__name__)
                if row is None:  # the others are measured all the same
                    all_met = False
                    continue
                all_met &= row.met
                lines.append(table_line(row))
                print(lines[-1], flush=True)
    if options.write:
        _write(lines, mark)
    sys.exit(0 if all_met else 1)
