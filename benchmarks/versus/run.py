"""Compare lsdt with C++ written by hand and with other packages, and print one table.

    python benchmarks/versus/setup_peers.py     # once: environments for the other packages
    python benchmarks/versus/run.py [--only WORD] [--write]

``--write`` puts the table into docs/performance.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import tables

MODULES = ["bench_cpp", "bench_peers"]

if __name__ == "__main__":
    tables.main(__file__, MODULES, "table of others", __doc__)
