"""The NumPy generator of every replication, seeded for many replications at once.

NumPy mixes the words of one key at a time, which takes longer than drawing a hundred means; `new_streams`
mixes those of many keys together. This file sets up PCG64 from the four words (O'Neill, "PCG", 2014).
"""

from __future__ import annotations

import threading
from functools import lru_cache

import numpy as np

from lsdt.kernel import Purpose, new_streams

_CHUNK = 256
_FACTOR = 0x2360ED051FC65DA44385DF649FCCF645
_WORD = (1 << 128) - 1

_own = threading.local()


@lru_cache(maxsize=16)
def _words_of(seed: int, chunk: int) -> list[list[int]]:
    rows: list[list[int]] = new_streams(
        seed, range(chunk * _CHUNK, (chunk + 1) * _CHUNK), int(Purpose.PROBLEM)
    ).tolist()
    return rows


def problem_generator(seed: int, replication: int) -> np.random.Generator:
    """Return a generator for the problem of a replication, seeded as `np.random.default_rng` would.

    A thread has one generator: the next call resets it.
    """
    chunk, row = divmod(replication, _CHUNK)
    first, second, third, fourth = _words_of(seed, chunk)[row]
    step = ((third << 64 | fourth) << 1 | 1) & _WORD
    state = ((step + (first << 64 | second)) * _FACTOR + step) & _WORD
    if not hasattr(_own, "generator"):
        _own.generator = np.random.Generator(np.random.PCG64(0))
    generator: np.random.Generator = _own.generator
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": state, "inc": step},
        "has_uint32": 0,
        "uinteger": 0,
    }
    return generator
