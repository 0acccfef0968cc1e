"""A process of its own that lets policies decide 30 times each, with whatever compiled code it finds.

    python decide.py NAME ... [--gate FOLDER] [--die before|after]

It prints a line of JSON: what each policy chose. ``--gate`` makes the process wait for permission before it
puts a file of compiled code in its place, so that a test chooses the order of two processes; ``--die`` ends
it the hard way around the first such step.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from pathlib import Path

ENTRY = "select-"  # the file name of the one entry whose writes are watched begins, or goes on, like this


def choices(name: str) -> list[int]:
    """Return the arms a policy selects in its first 30 rounds, with nothing learned: `select` is compiled."""
    import lsdt
    from lsdt.kernel.random import new_stream
    from lsdt.kernel.rewards import RewardModel

    side = lsdt.SideInformation(8)  # nothing but the policy is compiled
    ready = lsdt.Policy(name).begin(side, RewardModel("bernoulli", 0.5), 100, new_stream(7))
    return [int(ready.player.select_in(ready.player.packed, number)) for number in range(30)]


def wait_for(path: Path) -> None:
    """Wait until a file is there; give up after a minute, when the test has failed anyway."""
    for _ in range(6000):
        if path.exists():
            return
        time.sleep(0.01)


def watch_writes(gate: Path | None, name: str, die: str | None) -> None:
    """Wait before, or die around, the moments when a file of compiled code takes its place."""
    real, numbers = os.replace, itertools.count(1)

    def replace(source: str, target: str) -> None:
        if ENTRY not in os.path.basename(target):
            real(source, target)
            return
        if die == "before":
            os._exit(9)
        number = next(numbers)
        if gate is not None:
            (gate / f"{name}.at{number}").touch()
            wait_for(gate / f"{name}.go{number}")
        real(source, target)
        if gate is not None:
            (gate / f"{name}.done{number}").touch()
        if die == "after":
            os._exit(9)

    os.replace = replace


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    parser.add_argument("--gate", type=Path)
    parser.add_argument("--die", choices=("before", "after"))
    options = parser.parse_args()
    watch_writes(options.gate, options.names[0], options.die)
    sys.stdout.write(json.dumps({name: choices(name) for name in options.names}) + "\n")


if __name__ == "__main__":
    main()
