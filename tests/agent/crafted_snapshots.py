"""Changes real snapshots, with a checksum that fits again, restores them and plays on.

Run as a program it tries many and reports: ``python crafted_snapshots.py SEED TRIES``. A process of its own,
because a mistake in the checks ends in a crash of compiled code.
"""

from __future__ import annotations

import copy
import faulthandler
import json
import struct
import sys
from collections import Counter
from functools import cache

import numpy as np

import lsdt
from lsdt.errors import LsdtError
from lsdt.kernel.checksums import checksum
from lsdt.side_information.io.arrays import as_words

FRONT = struct.Struct("<8sIIQ")
ROUNDS = 20
SECONDS = 60  # a round that takes longer hangs
FULL = lsdt.from_means([0.1, 0.2, 0.35, 0.5, 0.55, 0.7, 0.9, 0.95], 0.2)
SIDES = {
    "implicit": FULL,
    "revealed": FULL.reveal(0.7, 0.7, seed=1),
    "by distance": FULL.reveal(lambda distance: 1 - distance / 2, 0.5, seed=4),
    "pairs": FULL.reveal(0.8, 0.8, seed=2).explicit(),
    "complete pairs": FULL.explicit(),
    "named": lsdt.from_means([0.1, 0.5, 0.6], 0.2, arm_ids=["x", "y", "z"]),
    "thresholds": lsdt.SideInformation(
        4, [(0, 1), (1, 2)], [(0, 1), (2, 3)], epsilon=([0.3, 0.5], [0.1, 0.25])
    ),
}
MANY = lsdt.from_means(np.linspace(0, 1, 600), 0.01)  # a tournament
NUMBERS = [0, 1, -1, 2, 7, 8, 9, 600, 2**31 - 1, -(2**31), 2**53 + 1, 2**62, -(2**63)]
REALS = [0.0, -1.0, 1.0, 1e308, -1e308, 1e-320, float("nan"), float("inf"), float("-inf"), 8.0, 1e15]
VALUES = [None, True, -1, 0, 1, 10**30, 2.5, float("nan"), float("inf"), "x", "", [], [1], {}, {"a": 1}]


def agents():
    """Return agents of every policy on every kind of side information that it takes."""
    found = []
    for where, side in SIDES.items():
        for name in lsdt.policies.available():
            try:
                agent = lsdt.Agent(side, name, horizon=200, seed=3)
            except LsdtError:
                continue
            found.append((f"{name} on {where}", agent))
    found += [(f"{name} on many", lsdt.Agent(MANY, name)) for name in ("ucb1", "lsdt_csi")]
    known = lsdt.Agent(FULL, "ucb1", prior=([0, 1, 1], [1.0, 0.0, 1.0]))
    law = lsdt.rewards.student_t(1.5)
    return [*found, ("a prior", known), ("tails", lsdt.Agent(FULL, "ucb1:tails=heavy", rewards=law))]


def opened(blob):
    """Return the head and the arrays of a snapshot."""
    _, version, length, _ = FRONT.unpack_from(blob)
    head = json.loads(blob[FRONT.size : FRONT.size + length])
    at, arrays = FRONT.size + length, []
    for name, kind, shape in head["arrays"]:
        size = int(np.prod(shape, dtype=np.int64))
        arrays.append([name, np.frombuffer(blob, kind, size, at).reshape(shape).copy()])
        at += -(-size * np.dtype(kind).itemsize // 8) * 8
    return version, head, arrays


def closed(version, head, arrays):
    """Return a snapshot again, with a checksum that fits."""
    head = {**head, "arrays": [[name, array.dtype.str, list(array.shape)] for name, array in arrays]}
    raw = json.dumps(head).encode()
    raw += b" " * (-len(raw) % 8)
    parts = [as_words(raw), *(as_words(array) for _, array in arrays)]
    front = FRONT.pack(
        b"LSDTAGNT", version, len(raw), checksum([np.array([version, len(raw)], np.uint64), *parts])
    )
    return front + b"".join(part.tobytes() for part in parts)


def changed(blob, rng):
    """Return a snapshot with one field, element, shape or type changed, and what was changed."""
    version, head, arrays = opened(blob)
    kind = rng.choice(["element", "element", "element", "shape", "type", "field", "missing"])
    number = int(rng.integers(len(arrays)))
    name, array = arrays[number]
    if kind == "element" and array.size:
        place = int(rng.integers(array.size))
        flat = array.reshape(-1)
        if array.dtype.kind == "f" and rng.random() < 0.5:
            value = REALS[rng.integers(len(REALS))]
            flat[place] = value
        else:  # whole numbers of a policy's state lie among its reals
            value = NUMBERS[rng.integers(len(NUMBERS))]
            whole = flat.view(np.int32 if array.dtype.itemsize == 4 else np.int64)
            whole[place] = value if array.dtype.itemsize == 8 else np.int64(value).astype(np.int32)
        return closed(version, head, arrays), f"{name}[{place}] = {value}"
    if kind == "shape":
        flat = array.reshape(-1)
        shapes = [flat[:-1], np.append(flat, flat[:1]), flat.reshape(1, -1), flat[:0], np.tile(flat, 2)]
        arrays[number][1] = shapes[rng.integers(len(shapes))]
        return closed(version, head, arrays), f"{name} of shape {arrays[number][1].shape}"
    if kind == "type":
        arrays[number][1] = array.astype(rng.choice(["<i4", "<i8", "<f8", "<u8", ">i8", "<f4", "<i2"]))
        return closed(version, head, arrays), f"{name} as {arrays[number][1].dtype}"
    if kind == "missing":
        del arrays[number]
        return closed(version, head, arrays), f"no {name}"
    head, place, path = copy.deepcopy(head), None, []
    place = head
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[rng.integers(len(keys))]
        path.append(key)
        if not isinstance(place[key], (dict, list)) or not place[key] or rng.random() < 0.2:
            break
        place = place[key]
    value = VALUES[rng.integers(len(VALUES))]
    place[key] = value
    return closed(version, head, arrays), f"{path} = {value!r}"


def answer(blob):
    """Restore and play: ``'refused'``, ``'plays'``, or what went wrong."""
    try:
        agent = lsdt.Agent.restore(blob)
        for turn in range(ROUNDS):
            agent.tell(agent.ask(), float(turn % 2))
        agent.best()
        agent.to_frame()
        for number in agent.pending_numbers():
            agent.cancel(number)
        if agent.rewards.tail is None:
            agent.drift()
    except LsdtError:
        return "refused"
    except Exception as error:
        return repr(error)
    return "plays"


def main(seed, tries):
    """Try many; print how they were answered, as JSON."""
    rng = np.random.default_rng(seed)
    names, played = zip(*agents(), strict=True)

    @cache
    def blob_of(number):
        agent = played[number]
        for turn in range(60):
            agent.tell(agent.ask(), float(turn % 3 == 0))
        for _ in range(2):  # rewards that wait for an open decision of their arm
            *_, last = agent.ask(3)
            agent.tell(last, 1.0)
            agent.observe(last.arm, 0.0)
        return agent.snapshot()

    answers, wrong = Counter(), []
    for _ in range(tries):
        number = int(rng.integers(len(names)))
        name = names[number]
        crafted, what = changed(blob_of(number), rng)
        sys.stderr.write(f"{name}: {what}\n")
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        found = answer(crafted)
        faulthandler.cancel_dump_traceback_later()
        answers[found if found in ("refused", "plays") else "wrong"] += 1
        if found not in ("refused", "plays"):
            wrong.append(f"{name}: {what}: {found}")
    sys.stdout.write(json.dumps({"answers": answers, "wrong": wrong}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
