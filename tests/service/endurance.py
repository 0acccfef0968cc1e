"""`make test-service`: what takes long to show of the service; one failure fails the run.

Kills of the service on SQLite, of replicas on PostgreSQL, and of PostgreSQL itself; answers against syncs, as
strace sees them; and the memory of a service under load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from service import kills, syncs  # noqa: E402
from service.load import Load  # noqa: E402

GROWTH = 0.05  # of the memory, that may be noise
PARTS = ("sqlite", "replicas", "database", "syncs", "memory")


def sqlite(options, folder):
    """Kill the service on SQLite."""
    made = kills.kill_again_and_again(folder, options.kills, options.between, seed=options.seed)
    return made, kills.is_right(made)


def replicas(options, folder):
    """Kill one of two replicas at a time."""
    with kills.Database(folder) as postgresql:
        made = kills.kill_replicas(postgresql.url, options.kills, options.between, seed=options.seed)
    return made, kills.is_right(made)


def database(options, folder):
    """Kill PostgreSQL below two replicas."""
    with kills.Database(folder) as postgresql:
        made = kills.kill_database(postgresql, options.kills, options.between, seed=options.seed)
    return made, kills.is_right(made)


def syncs_of_answers(options, folder):
    """Look for answers before their sync; where nobody waits for the disk we must see some."""
    if not syncs.can_trace():
        return {"skipped": "strace is not here, or may not trace"}, True
    made = {word: syncs.traced(folder, word, min(options.seconds, 20.0)) for word in ("full", "process")}
    seen = made["process"]["before their sync"] > 0
    return made, seen and made["full"]["before their sync"] == 0 and made["full"]["answers"] > 0


def resident(pid):
    """Return the resident memory of a process in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def memory(options, folder):
    """Load a service, and compare its memory after a tenth of the time with that at the end."""
    with kills.Services(f"sqlite:///{folder}/lsdt.db", 1) as services:
        (port,), (process,) = services.ports, services.processes
        # Rewards that may be replaced for an hour would take more memory every minute.
        kills.post(port, "/v1/experiments", kills.NEW | {"name": "load", "replace_within": "1 second"})
        load, sizes = Load([port], "load", 64, seed=options.seed, keeps=False), []

        async def watch():
            began = time.monotonic()
            while time.monotonic() - began < options.seconds:
                await asyncio.sleep(options.seconds / 100)
                sizes.append(resident(process.pid))

        asyncio.run(load.run(watch()))
        pending = json.loads(kills.get(port, "/v1/experiments/load"))["pending"]
        codes = services.stop()
    early, late = max(sizes[8:13]), min(sizes[-5:])
    made = {
        "seconds": options.seconds,
        "acknowledged": load.n_acknowledged,
        "MiB after a tenth": round(early, 1),
        "MiB at the end": round(late, 1),
        "pending": pending,
        "wrong answers": load.wrong[:5],
        "exit codes": codes,
    }
    return made, late <= (1.0 + GROWTH) * early and not load.wrong and not any(codes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--between", type=float, default=3.0, help="seconds between two kills, on average")
    parser.add_argument("--seconds", type=float, default=3_600.0, help="of the load whose memory is measured")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", default=",".join(PARTS))
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT.parent / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    runs = dict(zip(PARTS, (sqlite, replicas, database, syncs_of_answers, memory), strict=True))
    failed = []
    for name in options.parts.split(","):
        # A short path: PostgreSQL puts a socket there.
        with tempfile.TemporaryDirectory(prefix="lsdt-", ignore_cleanup_errors=True) as folder:
            made, is_right = runs[name](options, folder)
        print(json.dumps({name: made}, indent=2), flush=True)  # noqa: T201
        if not is_right:
            failed.append(name)
    print("failed: " + ", ".join(failed) if failed else "all well")  # noqa: T201
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
