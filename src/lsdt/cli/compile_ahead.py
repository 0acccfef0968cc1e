"""``lsdt compile``: compiled code of policies, made ahead of time."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Compile the code of policies ahead of time, and keep it on disk.

lsdt needs no compiler for small jobs: it interprets at first, and compiles what has become hot beside the
work. This command is for images, continuous integration and machines whose disks cannot be written to later:
what it compiles is loaded from then on. It takes half a minute for the first policy, some seconds for each
further one, and minutes for all of them.

Code is kept in the folder NUMBA_CACHE_DIR, if that is set, else in the package's own folder or, where that
cannot be written to, in the user's cache. It is used by the same version of lsdt, Python, NumPy and Numba on
the same kind of processor; anywhere else it is ignored."""

_EPILOG = """\
examples:
  lsdt compile
  lsdt compile ucb1 lsdt_closure
  NUMBA_CACHE_DIR=/opt/lsdt/compiled lsdt compile soft_closure --json

exit codes: 0 done, 2 bad argument, 4 there is no folder that code can be written to, or no room in it,
70 an error of lsdt itself"""


def add_to(commands: Any, name: str) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        name, help="compile policies ahead of time", description=_DESCRIPTION, epilog=_EPILOG
    )
    parser.add_argument("policies", nargs="*", metavar="POLICY", help="which ones; by default, all of them")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    os.environ["LSDT_JIT"] = "always"  # before the first kernel is called, and for other processes
    os.environ.pop("NUMBA_DISABLE_JIT", None)

    import lsdt
    from lsdt._progress import track
    from lsdt.cli.terminal import complain
    from lsdt.kernel import is_all_kept, writable_folder

    chosen = dict.fromkeys(lsdt.Policy(name).name for name in options.policies)
    names = list(chosen) or lsdt.policies.available()
    folder = writable_folder()
    if folder is None:
        complain("lsdt: there is no folder that code can be written to; set NUMBA_CACHE_DIR to one")
        return 4
    before, started = len(list(folder.glob("*.code"))), perf_counter()
    for name in track(names, "policies"):
        _rehearse(name)
    if not is_all_kept():
        complain("lsdt: some code could not be written, so it will be compiled again")
        return 4
    files = list(folder.glob("*.code"))
    answer = {
        "policies": names,
        "folder": str(folder),
        "new_files": len(files) - before,
        "megabytes": round(sum(file.stat().st_size for file in files) / 1e6, 1),
        "seconds": round(perf_counter() - started, 1),
    }
    if options.json:
        json.dump(answer, sys.stdout)
        sys.stdout.write("\n")
    else:
        noun = "policy" if len(names) == 1 else "policies"
        sys.stdout.write(
            f"compiled    {len(names)} {noun} in {answer['seconds']:,} s\n"
            f"kept        {answer['new_files']:,} new files, {answer['megabytes']:,} MB in all, in {folder}\n"
        )
    return 0


def _rehearse(name: str) -> None:
    """Do on small problems, complete and partial, what agents, services and studies do."""
    import lsdt
    from lsdt.errors import LsdtError

    for law in ("bernoulli", "gaussian"):
        for revealed in (1.0, 0.5):
            problem = lsdt.problems.uniform(12, 0.1, 0.9, 0.2, law, revealed, revealed)
            with suppress(LsdtError):  # not every policy takes every problem
                lsdt.simulate(problem, [name], horizon=20, replications=2, n_jobs=1, progress=False)
            side = problem.draw(0, 0).side
            with suppress(LsdtError):
                lsdt.candidate_set(side)
                agent = lsdt.Agent(side, policy=name, rewards=law, horizon=100, seed=0)
                for _ in range(3):
                    agent.tell(agent.ask(), 1.0)
                agent.ask(allowed=agent.arms_in_play[:1])
                agent.ask()  # with one pending
                agent.observe(agent.arms_in_play[0], 0.0)
                agent.to_frame()
                agent.best()
                agent.stopping(tolerance=0.1)
                lsdt.Agent.restore(agent.snapshot())
