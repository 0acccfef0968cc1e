"""Random numbers for compiled code: streams, and a coin for every pair of arms.

The generator is Philox4x64-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
2011), which NumPy has too. It encrypts a counter: any number of a stream can be computed without those before
it, and a stream has nothing to set up. Normals come from a ziggurat of 256 layers (Marsaglia and Tsang,
2000), gammas from the method of Marsaglia and Tsang ("A simple method for generating gamma variables", 2000).

A stream is an array ``uint64[8]``, advanced in place: two words of key, the number of the round and purpose,
how many words were drawn, and the four words of the current block. The key is hashed from a seed, a
replication and a purpose by NumPy's SeedSequence; the counter holds the number of the block and
``16 round + purpose``. So a policy's numbers in a round do not depend on what was drawn before it, and are
the same on every machine.

The coin of the pair {i, j} under a key is output number ``(min << 32) + max`` of the SplitMix64 generator
(Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014) that starts at the key;
nothing is stored, and (i, j) and (j, i) are one pair. A coin with probability p falls on yes when the upper
53 bits of that output are below ``p * 2**53``, so a larger p says yes wherever a smaller p did.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from lsdt.kernel.jit import Array, compiled, inlined, interpreted_as

if TYPE_CHECKING:
    from collections.abc import Iterator

# The version of everything that is drawn: results and logs of another one cannot be continued.
GENERATOR = "philox4x64-10"

STREAM_WORDS = 8
KEY_WORDS = 2
_NUMBER, _DRAWN, _BLOCK = 2, 3, 4  # places in a stream

# The constants of Philox4x64-10, as whole numbers and as words.
_ROUNDS = 10
_FACTORS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_STEPS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_FACTOR_0, _FACTOR_1 = np.uint64(_FACTORS[0]), np.uint64(_FACTORS[1])
_STEP_0, _STEP_1 = np.uint64(_STEPS[0]), np.uint64(_STEPS[1])

_0 = np.uint64(0)
_1 = np.uint64(1)
_2 = np.uint64(2)
_3 = np.uint64(3)
_4 = np.uint64(4)
_8 = np.uint64(8)
_11 = np.uint64(11)
_LAYER = np.uint64(255)
_TO_UNIT = 2.0**-53  # floats have 53 bits

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30 = np.uint64(30)
_27 = np.uint64(27)
_31 = np.uint64(31)
_32 = np.uint64(32)

# The constants of NumPy's SeedSequence.
_INIT_A, _MULT_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULT_B = 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_16 = np.uint32(16)

# What `gamma_from` wants to know of the shape 1.
UNIT_DEPTH = 2.0 / 3.0
UNIT_WIDTH = 1.0 / math.sqrt(6.0)

# The ziggurat of 256 layers of equal area: where the tail begins (Marsaglia and Tsang, 2000), and the area.
_TAIL = 3.6541528853610088
_AREA = _TAIL * math.exp(-0.5 * _TAIL**2) + math.sqrt(0.5 * math.pi) * math.erfc(_TAIL / math.sqrt(2.0))


class Purpose(IntEnum):
    """What random numbers are drawn for: the last number of the key of a stream.

    Keys are (seed, replication, purpose); an agent is replication 0. The first three belong to a study,
    ``PROPENSITY`` to the estimates of an agent, whose keys hold the number of the decision. ``PRIOR`` makes
    known rewards up, ``THINNING`` chooses which of them are learned. In a round the policy draws for its
    choice (``POLICY``) and, where it tosses for a reward between 0 and 1, for what it learns: from a decision
    (``TOSS``), from a reward without a decision (``OBSERVATION``), or from known rewards (``PRIOR``).
    """

    PROBLEM = 0
    REWARD = 1
    POLICY = 2
    PROPENSITY = 3
    TOSS = 4
    PRIOR = 5
    THINNING = 6
    OBSERVATION = 7


_ROOM = np.uint64(16)  # for purposes, in the number of a round's stream


class CoinPurpose(IntEnum):
    """What the coins of pairs are tossed for; the key of a family of coins is (seed, purpose)."""

    REVEAL = 0
    CORRUPT = 2
    NEAR = 17
    PARTNER = 18


def new_stream(*key: int) -> Array:
    """Return the stream of a key: the same numbers give the same stream, any other key an unrelated one."""
    stream = np.zeros(STREAM_WORDS, np.uint64)
    stream[:KEY_WORDS] = np.random.SeedSequence(seed_words(*key)).generate_state(KEY_WORDS, np.uint64)
    return stream


def new_streams(seed: int, numbers: range, purpose: int) -> Array:
    """Return the streams of the keys ``(seed, number, purpose)``, a row each, as `new_stream` does."""
    streams = np.zeros((len(numbers), STREAM_WORDS), np.uint64)
    streams[:, :KEY_WORDS] = hashed_keys(seed, numbers, purpose)[:, :KEY_WORDS]
    return streams


def hashed_keys(seed: int, numbers: range, purpose: int) -> Array:
    """Return the four words that NumPy's SeedSequence makes of ``(seed, number, purpose)``, a row each.

    NumPy mixes the words of one key at a time, in a microsecond or two a step; here every step is taken for
    all keys (O'Neill, "C++ seeding surprises", 2015, as in NumPy's SeedSequence).
    """
    if max(seed, numbers.stop, purpose) >= 2**32:
        keys = [seed_words(seed, number, purpose) for number in numbers]
        rows = [np.random.SeedSequence(key).generate_state(4, np.uint64) for key in keys]
        return np.array(rows, np.uint64).reshape(-1, 4)
    words: list[Array] = [
        np.full(len(numbers), seed, np.uint32),
        np.array(numbers, np.uint32),
        np.full(len(numbers), purpose, np.uint32),
        np.zeros(len(numbers), np.uint32),
    ]
    constants = _constants(_INIT_A, _MULT_A)
    pool = [_hashed(word, *next(constants)) for word in words]
    for source in range(4):
        for target in range(4):
            if source != target:
                mixed: Array = _MIX_LEFT * pool[target] - _MIX_RIGHT * _hashed(pool[source], *next(constants))
                pool[target] = mixed ^ (mixed >> _16)
    constants = _constants(_INIT_B, _MULT_B)
    state = np.empty((len(numbers), 8), np.uint32)
    for place in range(8):
        state[:, place] = _hashed(pool[place % 4], *next(constants))
    return state.astype("<u4").view("<u8").astype(np.uint64)


def _constants(start: int, factor: int) -> Iterator[tuple[np.uint32, np.uint32]]:
    """Yield what a word is combined with, and multiplied by, one step after the other."""
    while True:
        following = start * factor % 2**32
        yield np.uint32(start), np.uint32(following)
        start = following


def _hashed(word: Array, mask: np.uint32, factor: np.uint32) -> Array:
    product: Array = (word ^ mask) * factor
    return product ^ (product >> _16)


def seed_words(*key: int) -> tuple[int, ...]:
    """Return a key that is no other key to NumPy, which splits large numbers into words of 32 bits."""
    if max(key) < 2**32:
        return key
    return (*key, *(number.bit_length() for number in key), 2**32 - 1)


def _ziggurat() -> tuple[Array, Array, Array]:
    """Return for every layer the width per unit, the part that is surely inside, and the height."""
    edges = np.zeros(257)
    edges[0], edges[1] = _AREA / math.exp(-0.5 * _TAIL**2), _TAIL
    for layer in range(2, 256):
        height = math.exp(-0.5 * edges[layer - 1] ** 2) + _AREA / edges[layer - 1]
        edges[layer] = math.sqrt(-2.0 * math.log(height))
    return edges[:256].copy(), edges[1:] / edges[:256], np.exp(-0.5 * edges**2)


_WIDTH, _INSIDE, _HEIGHT = _ziggurat()


# The interpreter's versions work on Python's whole numbers.
_WORD = 2**64 - 1


def _splitmix_plain(start: int, number: int) -> int:
    word = (int(start) + int(number) * 0x9E3779B97F4A7C15) & _WORD
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _WORD
    return word ^ (word >> 31)


def _begin_round_plain(stream: Array, round_: int, purpose: int) -> None:
    stream[_NUMBER] = int(round_) * 16 + int(purpose)
    stream[_DRAWN] = 0


def _philox_plain(key_0: int, key_1: int, block: int, number: int) -> tuple[int, int, int, int]:
    a, b, c, d = block, number, 0, 0
    for _ in range(_ROUNDS):
        one, other = _FACTORS[0] * a, _FACTORS[1] * c
        a, b, c, d = (other >> 64) ^ b ^ key_0, other & _WORD, (one >> 64) ^ d ^ key_1, one & _WORD
        key_0, key_1 = (key_0 + _STEPS[0]) & _WORD, (key_1 + _STEPS[1]) & _WORD
    return a, b, c, d


def _next_word_plain(stream: Array) -> int:
    key_0, key_1, number, drawn = stream[:_BLOCK].tolist()
    if drawn % 4 == 0:
        stream[_BLOCK:] = _philox_plain(key_0, key_1, drawn // 4, number)
    stream[_DRAWN] = drawn + 1
    return int(stream[_BLOCK + drawn % 4])


def _uniform_plain(stream: Array) -> float:
    return (_next_word_plain(stream) >> 11) * _TO_UNIT


def _pair_coin_plain(key: int, arm_a: int, arm_b: int) -> int:
    low, high = sorted((int(arm_a), int(arm_b)))
    return _splitmix_plain(key, (low << 32) + high) >> 11


@interpreted_as(_splitmix_plain)
def _splitmix(start: np.uint64, number: np.uint64) -> np.uint64:
    """Return one output of the SplitMix64 generator that starts somewhere."""
    word = start + number * _GOLDEN
    word = (word ^ (word >> _30)) * _MIX_1
    word = (word ^ (word >> _27)) * _MIX_2
    return word ^ (word >> _31)


@interpreted_as(_begin_round_plain)
def begin_round(stream: Array, round_: int, purpose: int) -> None:
    """Set a stream to its beginning in one round, for one purpose."""
    stream[_NUMBER] = np.uint64(round_) * _ROOM + np.uint64(purpose)
    stream[_DRAWN] = _0


def high_word(a: np.uint64, b: np.uint64) -> np.uint64:
    """Return the upper 64 bits of a product; `lowering` says how compiled code computes it."""
    return np.uint64(int(a) * int(b) >> 64)


@interpreted_as(_philox_plain)
def _philox(key_0: np.uint64, key_1: np.uint64, block: np.uint64, number: np.uint64) -> tuple[np.uint64, ...]:
    """Return four random words: a counter, encrypted in ten rounds."""
    a, b, c, d = block, number, _0, _0
    for _ in range(_ROUNDS):
        high_0, low_0 = high_word(_FACTOR_0, a), _FACTOR_0 * a
        high_1, low_1 = high_word(_FACTOR_1, c), _FACTOR_1 * c
        a, b, c, d = high_1 ^ b ^ key_0, low_1, high_0 ^ d ^ key_1, low_0
        key_0 += _STEP_0
        key_1 += _STEP_1
    return a, b, c, d


@interpreted_as(_next_word_plain)
def next_word(stream: Array) -> np.uint64:
    """Return 64 random bits and advance the stream."""
    drawn = stream[_DRAWN]
    lane = drawn & _3
    if lane == _0:
        stream[4], stream[5], stream[6], stream[7] = _philox(
            stream[0], stream[1], drawn >> _2, stream[_NUMBER]
        )
    stream[_DRAWN] = drawn + _1
    return stream[_4 + lane]


@interpreted_as(_uniform_plain)
def uniform(stream: Array) -> float:
    """Return a number from 0 (included) to 1 (excluded)."""
    return float(np.int64(next_word(stream) >> _11)) * _TO_UNIT


@inlined
def below(stream: Array, count: int) -> int:
    """Return a whole number from 0 to ``count - 1``; the bias is below ``count / 2**53``."""
    return int(uniform(stream) * count)


def _normal_plain(stream: Array) -> float:
    while True:
        word = _next_word_plain(stream)
        layer = word & 255
        sign = 1.0 - 2.0 * ((word >> 8) & 1)
        share = (word >> 11) * _TO_UNIT
        x = share * float(_WIDTH[layer])
        if share < _INSIDE[layer]:
            return sign * x
        if layer == 0:
            return sign * _normal_tail(stream)
        edge = float(_HEIGHT[layer])
        if edge + _uniform_plain(stream) * (float(_HEIGHT[layer + 1]) - edge) < math.exp(-0.5 * x * x):
            return sign * x


@interpreted_as(_normal_plain)
def normal(stream: Array) -> float:
    """Return a standard normal number."""
    while True:
        word = next_word(stream)
        layer = np.int64(word & _LAYER)
        sign = 1.0 - 2.0 * float(np.int64((word >> _8) & _1))
        share = float(np.int64(word >> _11)) * _TO_UNIT
        x = share * _WIDTH[layer]
        if share < _INSIDE[layer]:
            return sign * x
        if layer == 0:
            return sign * _normal_tail(stream)
        edge = _HEIGHT[layer]
        if edge + uniform(stream) * (_HEIGHT[layer + 1] - edge) < math.exp(-0.5 * x * x):
            return sign * x


@compiled
def _normal_tail(stream: Array) -> float:
    while True:
        x = -math.log(1.0 - uniform(stream)) / _TAIL
        if -2.0 * math.log(1.0 - uniform(stream)) > x * x:
            return _TAIL + x


@inlined
def gamma_from(stream: Array, depth: float, width: float) -> float:
    """Return a gamma number of shape ``depth + 1/3`` (at least 1), with ``width = 1 / sqrt(9 depth)``.

    Policies that draw from the same shape in many rounds keep the two numbers.
    """
    while True:
        x = normal(stream)
        v = 1.0 + width * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - uniform(stream)
        square = x * x
        if u < 1.0 - 0.0331 * square * square:
            return depth * v
        if math.log(u) < 0.5 * square + depth * (1.0 - v + math.log(v)):
            return depth * v


@inlined
def gamma_depth(shape: float) -> float:
    """Return the depth for :func:`gamma_from`, given a shape of at least 1."""
    return shape - 1.0 / 3.0


@inlined
def gamma_width(shape: float) -> float:
    """Return the width for :func:`gamma_from`, given a shape of at least 1."""
    return 1.0 / math.sqrt(9.0 * (shape - 1.0 / 3.0))


@inlined
def gamma(stream: Array, shape: float) -> float:
    """Return a gamma number of any positive shape."""
    grown = shape if shape >= 1.0 else shape + 1.0
    value = gamma_from(stream, gamma_depth(grown), gamma_width(grown))
    return value if shape >= 1.0 else value * math.pow(1.0 - uniform(stream), 1.0 / shape)


@inlined
def beta(stream: Array, first: float, second: float) -> float:
    """Return a beta number; both shapes at least 1."""
    x = gamma_from(stream, gamma_depth(first), gamma_width(first))
    y = gamma_from(stream, gamma_depth(second), gamma_width(second))
    return x / (x + y)


def coin_key(seed: int, purpose: int) -> np.uint64:
    """Return the key of a family of coins; different purposes of one seed are unrelated."""
    return np.uint64(np.random.SeedSequence([seed, purpose]).generate_state(1, np.uint64)[0])


def coin_threshold(probability: float) -> int:
    """Return the threshold that :func:`pair_coin` compares with: 0 for never, 2**53 for always."""
    return math.ceil(probability * 2.0**53)


@interpreted_as(_pair_coin_plain)
def pair_coin(key: np.uint64, arm_a: int, arm_b: int) -> int:
    """Return the coin of an unordered pair as an integer that is uniform on 0 .. 2**53 - 1."""
    low = np.uint64(min(arm_a, arm_b))
    high = np.uint64(max(arm_a, arm_b))
    return np.int64(_splitmix(key, (low << _32) + high) >> _11)  # type: ignore[return-value]
