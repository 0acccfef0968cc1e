"""Several processes, one after the other, that share what takes long to load."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from systems import skip_without_fork

PROGRAM = """
import os, sys
first, *others = sys.argv[1:]
names = {}
exec(first, names)
for code in others:
    process = os.fork()
    if process == 0:
        exec(code, names)
        sys.stdout.flush()
        os._exit(0)
    if os.waitpid(process, 0)[1] != 0:
        sys.exit(1)
"""


def forks(first, *others, folder=None):
    """Run each of some programs in a process that begins with what `first` did; return words of each line."""
    skip_without_fork()
    command = [sys.executable, "-c", PROGRAM, *map(textwrap.dedent, (first, *others))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]
