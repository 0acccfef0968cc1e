"""The NumPy generator of every replication, seeded for many replications at once.

NumPy hashes one seed at a time into the four words that start a generator, which takes longer than drawing a
hundred means; `hashed_keys` hashes many seeds together. This file sets up PCG64 from the four words (O'Neill,
"PCG", 2014).
"""

from __future__ import annotations

import threading
from functools import lru_cache

import numpy as np

from lsdt.kernel import Purpose, hashed_keys

_CHUNK = 256  # replications seeded at once: shares the cost of a NumPy call, wastes little in a short study
_FACTOR = 0x2360ED051FC65DA44385DF649FCCF645  # the multiplier of PCG64
_MASK = (1 << 128) - 1  # PCG64 computes modulo 2**128

_own = threading.local()


@lru_cache(maxsize=16)
def _words_of(seed: int, chunk: int) -> list[list[int]]:
    rows: list[list[int]] = hashed_keys(
        seed, range(chunk * _CHUNK, (chunk + 1) * _CHUNK), int(Purpose.PROBLEM)
    ).tolist()
    return rows


def problem_generator(seed: int, replication: int) -> np.random.Generator:
    """Return a generator for the problem of a replication, seeded as `np.random.default_rng` would.

    Each thread reuses one generator, which the next call resets.
    """
    chunk, row = divmod(replication, _CHUNK)
    first, second, third, fourth = _words_of(seed, chunk)[row]
    step = ((third << 64 | fourth) << 1 | 1) & _MASK
    state = ((step + (first << 64 | second)) * _FACTOR + step) & _MASK
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
