"""A checksum of arrays at the speed of memory; not a defence against forgery."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lsdt.kernel.jit import Array, compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

_FACTOR = 0x9FB21C651E98DF25
_PRIME = np.uint64(_FACTOR)  # odd: multiplying by it loses nothing
_SHIFT = np.uint64(32)


def _digest_plain(words: Array, lanes: Array) -> None:
    """Do the same with Python's whole numbers, whose products do not overflow."""
    mixed, whole = lanes.tolist(), len(words) // 4 * 4
    for at, word in enumerate(words.tolist()):
        lane = at % 4 if at < whole else 0
        value = (mixed[lane] ^ word) * _FACTOR & 0xFFFFFFFFFFFFFFFF
        mixed[lane] = value ^ (value >> 32)
    lanes[:] = np.array(mixed, np.uint64)


def _work(words: Array, _lanes: Array) -> int:
    """Count twenty words as one number: a million of them, interpreted, take 0.15 s."""
    return len(words) // 20


@partial(compiled, work=_work, plain=_digest_plain)
def _digest(words: Array, lanes: Array) -> None:
    """Mix words into four lanes; each step is a bijection of its lane, so no single change cancels out."""
    a, b, c, d = lanes[0], lanes[1], lanes[2], lanes[3]
    whole = len(words) // 4 * 4
    for at in range(0, whole, 4):
        a = (a ^ words[at]) * _PRIME
        b = (b ^ words[at + 1]) * _PRIME
        c = (c ^ words[at + 2]) * _PRIME
        d = (d ^ words[at + 3]) * _PRIME
        a ^= a >> _SHIFT
        b ^= b >> _SHIFT
        c ^= c >> _SHIFT
        d ^= d >> _SHIFT
    for at in range(whole, len(words)):
        a = (a ^ words[at]) * _PRIME
        a ^= a >> _SHIFT
    lanes[0], lanes[1], lanes[2], lanes[3] = a, b, c, d


def checksum(parts: Iterable[Array]) -> int:
    """Return a checksum of arrays of ``uint64`` words, their lengths included."""
    lanes = np.arange(1, 5, dtype=np.uint64)
    for part in parts:
        _digest(np.array([len(part)], np.uint64), lanes)
        _digest(part, lanes)
    folded = np.arange(1, 5, dtype=np.uint64)
    for lane in range(4):
        _digest(lanes[lane : lane + 1], folded)
    return int(folded[0])
