"""Answers that precede their sync, found in what strace saw of a service."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

from service import kills
from service.load import Load

CALLS = "read,recvfrom,recvmsg,write,writev,sendto,sendmsg,fsync,fdatasync,close"
_LINE = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(?:\((\d+)(<[^>]*>*)?)?(.*)$")


def answers_before_their_sync(lines):
    """Return how many answers there were, and those sent before a sync that began after their request.

    A line is a call of the system that has ended; one in two parts began at ``unfinished`` and ended at
    ``resumed``. What is sent back on a connection needs a sync that began after the request was read there,
    and ended before the answer was sent.
    """
    asked = {}  # the line at which the last request was read, by connection
    ready = {}  # the line at which the running sync of a thread began
    reading = {}  # the connection that a thread is reading from
    last = -1  # when the sync began that began last, of those that have ended
    n_answers, early = 0, []
    for at, line in enumerate(lines):
        found = _LINE.match(line)
        if not found:
            continue
        thread, call, number, what, rest = found.groups()
        is_first = number is not None
        is_whole = "<unfinished" not in rest
        if call in ("fsync", "fdatasync"):
            if is_first:
                ready[thread] = at
            if is_whole and thread in ready:
                last = max(last, ready.pop(thread))
        elif call in ("read", "recvfrom", "recvmsg"):
            if is_first:
                reading[thread] = number if "TCP" in (what or "") else None
            if is_whole and reading.get(thread) is not None and "POST " in rest:
                asked[reading[thread]] = at
        elif is_first and call in ("write", "writev", "sendto", "sendmsg") and "TCP" in (what or ""):
            if "HTTP/1.1 200" in rest and number in asked:
                n_answers += 1
                if last < asked.pop(number):
                    early.append(line)
        elif call == "close" and is_first:
            asked.pop(number, None)
    return n_answers, early


def traced(folder, durability, seconds, n_connections=16):
    """Serve under strace for some seconds of load; return the answers that were too early."""
    import asyncio

    trace, port = Path(folder) / f"{durability}.trace", kills.free_port()
    words = ["strace", "-f", "-yy", "-s", "64", "-e", f"trace={CALLS}", "-o", str(trace)]
    process = kills.start(
        f"sqlite:///{folder}/{durability}.db", port, "--durability", durability, before=words
    )
    kills.post(port, "/v1/experiments", kills.NEW | {"name": "load"})
    load = Load([port], "load", n_connections, repeats=0.0)
    asyncio.run(load.run(asyncio.sleep(seconds)))
    # strace hands no signal on: its child is the service.
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    subprocess.run(["kill", "-TERM", *children], check=True)
    process.communicate(timeout=60)
    n_answers, early = answers_before_their_sync(trace.read_text(errors="replace").splitlines())
    return {"acknowledged": load.n_acknowledged, "answers": n_answers, "before their sync": len(early)}


def can_trace():
    """Whether strace is here and may trace."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode == 0


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        for word in ("full", "process"):
            began = time.monotonic()
            print(word, traced(place, word, 5.0), time.monotonic() - began)  # noqa: T201
