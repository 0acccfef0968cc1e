"""Damage to every format of file that is read.

A file of our own that is damaged is refused, or still says the same: it never says something else. A file
from elsewhere is read or refused. Nothing but `LsdtError` comes out, and the process lives on.

See one case again, with its traceback::

    PYTHONPATH=src:tests python -m attack.damaged_files "side.csv, pairs" SEED CASE
"""

from __future__ import annotations

import json
import resource
import shutil
import struct
import sys
import tempfile
import time
import warnings
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import lsdt
from attack.outcome import Outcome
from attack.processes import LONGEST, apart, forked
from attack.specimens import Specimen, agent, specimens

if TYPE_CHECKING:
    from collections.abc import Callable

_BATCH = 40  # cases in one child
_MEMORY = 6 * 2**30  # bytes of address space that a child may take
_MOST = 5  # failures told of a kind
_EXTREMES = (0, 1, -1, 12, 10**6, 10**9, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))
_CRAFTED = ("ts", "lsdt_psi")  # policies of crafted snapshots; the second walks through the relations


def attack(seed: int, seconds: float) -> Outcome:
    """Damage files of every format in random ways."""
    return apart("damaged_files", seed, seconds)


def inside(seed: int, seconds: float) -> Outcome:
    """Run the attack in this process, which forks one for every batch of cases."""
    until = time.monotonic() + seconds
    kinds = _kinds()
    done = [0] * len(kinds)
    tried, well = 0, 0
    failures: dict[str, list[str]] = {kind.name: [] for kind in kinds}
    for turn in count():
        if turn >= len(kinds) and time.monotonic() > until:
            break
        kind = kinds[turn % len(kinds)]
        first = done[turn % len(kinds)]
        few = _BATCH if turn >= len(kinds) or seconds > 60 else 4  # a short run meets every kind
        lines = _batch(kind, seed, first, few)
        done[turn % len(kinds)] += len(lines)
        tried += len(lines)
        well += lines.count("")
        failures[kind.name] += [
            f'{line}; see it: python -m attack.damaged_files "{kind.name}" {seed} {first + at}'
            for at, line in enumerate(lines)
            if line
        ]
    return Outcome(tried, well, [line for lines in failures.values() for line in lines[:_MOST]])


def _kinds() -> list[Specimen]:
    return [*specimens(), *(_crafted(policy) for policy in _CRAFTED)]


def _batch(kind: Specimen, seed: int, first: int, few: int) -> list[str]:
    """Return what went wrong in a batch of cases, empty where nothing did; it ends early with a crash."""

    def work(say: Callable[[str], None]) -> int:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        with tempfile.TemporaryDirectory() as place:
            for case in range(first, first + few):
                say(json.dumps(_wrong(kind, seed, case, Path(place))) + "\n")
        return 0

    ended = forked(work)
    lines = [json.loads(line) for line in ended.text.splitlines() if line.startswith('"')]
    if ended.code is None:
        lines.append(f"{kind.name}: no answer within {LONGEST:g} seconds")
    elif ended.code != 0:
        lines.append(f"{kind.name}: the process ended with code {ended.code}")
    return lines


def _wrong(kind: Specimen, seed: int, case: int, place: Path) -> str:
    """Damage a file, read it, and return what went wrong, or nothing."""
    try:
        found = damaged_and_read(kind, seed, case, place)
    except lsdt.errors.LsdtError:
        return ""
    except Exception as error:
        return (
            f"{kind.name}: {type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"
        )
    if kind.own and found is not None and found != kind.content:
        return f"{kind.name}: loads with other content"
    return ""


def damaged_and_read(kind: Specimen, seed: int, case: int, place: Path) -> Any:
    """Write a specimen with one of its files damaged, and read it."""
    rng = np.random.default_rng([seed, case, *kind.name.encode()])
    names = list(kind.files)
    chosen = names[rng.integers(len(names))]
    for name, data in kind.files.items():
        path = place / "case" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(damaged(data, rng) if name == chosen else data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind.read(place / "case")
    finally:
        shutil.rmtree(place / "case")


# ---------------------------------------------------------------------- damage


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with some damage; never the same bytes."""
    for _ in range(20):
        kind = _DAMAGES[rng.integers(len(_DAMAGES))]
        found = kind(bytearray(data), rng)
        if found != data:
            return bytes(found)
    return data + b"\0"


def _flip(data: bytearray, rng: np.random.Generator, bits: int = 1) -> bytearray:
    for _ in range(bits):
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    return data


def _flips(data: bytearray, rng: np.random.Generator) -> bytearray:
    return _flip(data, rng, int(rng.integers(2, 30)))


def _chunk(data: bytearray, rng: np.random.Generator) -> tuple[int, int]:
    start = int(rng.integers(len(data)))
    return start, min(len(data), start + int(rng.integers(1, 1 + max(1, len(data) // 4))))


def _cut(data: bytearray, rng: np.random.Generator) -> bytearray:
    return data[: rng.integers(len(data))]


def _deleted(data: bytearray, rng: np.random.Generator) -> bytearray:
    start, end = _chunk(data, rng)
    return data[:start] + data[end:]


def _doubled(data: bytearray, rng: np.random.Generator) -> bytearray:
    start, end = _chunk(data, rng)
    return data[:end] + data[start:]


def _moved(data: bytearray, rng: np.random.Generator) -> bytearray:
    start, end = _chunk(data, rng)
    rest, place = data[:start] + data[end:], int(rng.integers(len(data) - (end - start) + 1))
    return rest[:place] + data[start:end] + rest[place:]


def _swapped(data: bytearray, rng: np.random.Generator) -> bytearray:
    first, second = rng.integers(len(data), size=2)
    data[first], data[second] = data[second], data[first]
    return data


def _zeroed(data: bytearray, rng: np.random.Generator) -> bytearray:
    start, end = _chunk(data, rng)
    return data[:start] + bytes(end - start) + data[end:]


def _inserted(data: bytearray, rng: np.random.Generator) -> bytearray:
    start = int(rng.integers(len(data) + 1))
    return data[:start] + rng.bytes(int(rng.integers(1, 40))) + data[start:]


def _extreme(data: bytearray, rng: np.random.Generator) -> bytearray:
    """Set a number to one that is far too small or far too large, or nearly right."""
    size = int(rng.choice([4, 8]))
    place = size * int(rng.integers(max(1, len(data) // size)))
    value = _EXTREMES[rng.integers(len(_EXTREMES))] & (2 ** (8 * size) - 1)
    return data[:place] + value.to_bytes(size, "little") + data[place + size :]


def _junk(data: bytearray, rng: np.random.Generator) -> bytearray:
    return bytearray(rng.bytes(int(rng.integers(0, 2 * len(data)))))


def _lines(data: bytearray, rng: np.random.Generator) -> bytearray:
    """Delete, double or swap whole lines, as an editor would."""
    lines = data.splitlines(keepends=True)
    first, second = rng.integers(len(lines), size=2) if lines else (0, 0)
    how = rng.integers(3)
    if len(lines) < 2:
        return data
    if how == 0:
        del lines[first]
    elif how == 1:
        lines.insert(first, lines[second])
    else:
        lines[first], lines[second] = lines[second], lines[first]
    return bytearray(b"".join(lines))


_DAMAGES = (
    _flip,
    _flip,
    _flips,
    _cut,
    _deleted,
    _doubled,
    _moved,
    _swapped,
    _zeroed,
    _inserted,
    _junk,
    _lines,
    _extreme,
)


# ---------------------------------------------------------------------- snapshots with a right checksum


def _crafted(policy: str) -> Specimen:
    """Return a snapshot whose checksum is made anew after the damage; the policy's state is left alone."""
    from lsdt.agent.binary_format import _FRONT

    blob = agent(policy).snapshot()
    length = _FRONT.unpack_from(blob)[2]
    head = json.loads(blob[_FRONT.size : _FRONT.size + length])
    name, kind, shape = head["arrays"][0]
    assert name == "buffer"
    state = int(np.prod(shape)) * np.dtype(kind).itemsize
    state += -state % 8
    start = _FRONT.size + length

    def read(folder: Path) -> None:
        raw, arrays = (folder / "head").read_bytes(), (folder / "arrays").read_bytes()
        restored = lsdt.Agent.restore(_signed(raw, blob[start : start + state] + arrays))
        try:  # whatever it says, it says it without harm
            lsdt.candidate_set(restored.side, method="triangles")
            for _ in range(3):
                restored.tell(restored.ask(), 1.0)
                restored.best()
        except Exception:
            return

    files = {"head": blob[_FRONT.size : start], "arrays": blob[start + state :]}
    return Specimen(f"a crafted snapshot of {policy}", files, read, None, own=False)


def _signed(raw: bytes, arrays: bytes) -> bytes:
    """Return a snapshot with a checksum that fits."""
    from lsdt.agent.binary_format import _FRONT
    from lsdt.agent.snapshot import MAGIC
    from lsdt.kernel.checksums import checksum

    raw += b" " * (-len(raw) % 8)
    arrays += bytes(-len(arrays) % 8)
    words = np.frombuffer(raw, np.uint64), np.frombuffer(arrays, np.uint64)
    parts, at = [np.array([1, len(raw)], np.uint64), words[0]], 0
    try:  # the lengths of the arrays are part of the checksum
        for _, kind, shape in json.loads(raw)["arrays"]:
            size = -(-int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize // 8)
            parts.append(words[1][at : at + size])
            at += size
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError, SyntaxError):
        parts.append(words[1])
    try:
        return _FRONT.pack(MAGIC, 1, len(raw), checksum(parts)) + raw + arrays
    except struct.error as error:
        raise lsdt.errors.InvalidFile(str(error)) from None


def main(words: list[str]) -> None:
    """Show one case again."""
    name, seed, case = words
    kind = next(each for each in _kinds() if each.name == name)
    with tempfile.TemporaryDirectory() as place:
        found = damaged_and_read(kind, int(seed), int(case), Path(place))
    told = "the same content" if found == kind.content else f"{found!r}\ninstead of\n{kind.content!r}"
    sys.stdout.write(f"{told}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
