"""Run the benchmarks, each in a process of its own, and print one table.

    python benchmarks/run.py [--only WORD] [--write]

``--write`` puts the table into docs/performance.md.
"""

from __future__ import annotations

import tables

MODULES = [
    "bench_first_answer",
    "bench_anchors",
    "bench_triangles",
    "bench_propagation",
    "bench_orientation",
    "bench_ranges",
    "bench_domination",
    "bench_policies",
    "bench_many_arms",
    "bench_massive",
    "bench_agent",
    "bench_identification",
    "bench_next_pairs",
    "bench_storage",
    "bench_reproduce",
    "bench_engines",
    "bench_out_of_core",
    "bench_ratings",
    "bench_replay",
]

if __name__ == "__main__":
    tables.main(__file__, MODULES, "table", __doc__)
