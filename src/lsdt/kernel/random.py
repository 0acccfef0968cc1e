"""Random streams for compiled code: four words of state, advanced in place.

The generator is xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
normals come from a ziggurat of 256 layers (Marsaglia and Tsang, 2000), gammas from the method of Marsaglia
and Tsang ("A simple method for generating gamma variables", 2000). A stream is an array ``uint64[4]`` seeded
by NumPy's SeedSequence, so a study's streams are independent and the same on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from lsdt.kernel.jit import Array, inlined

_1 = np.uint64(1)
_11 = np.uint64(11)
_17 = np.uint64(17)
_19 = np.uint64(19)
_23 = np.uint64(23)
_41 = np.uint64(41)
_45 = np.uint64(45)
_8 = np.uint64(8)
_LAYER = np.uint64(255)
_TO_UNIT = 2.0**-53

# What `gamma_from` wants to know of the shape 1.
UNIT_DEPTH = 2.0 / 3.0
UNIT_WIDTH = 1.0 / math.sqrt(6.0)

# The ziggurat of 256 layers of equal area: where the tail begins (Marsaglia and Tsang, 2000), and the area.
_TAIL = 3.6541528853610088
_AREA = _TAIL * math.exp(-0.5 * _TAIL**2) + math.sqrt(0.5 * math.pi) * math.erfc(_TAIL / math.sqrt(2.0))


def new_stream(*key: int) -> Array:
    """Return the stream of a key: the same numbers give the same stream, any other key an unrelated one."""
    return np.random.SeedSequence(seed_words(*key)).generate_state(4, np.uint64)


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


@inlined
def next_word(stream: Array) -> np.uint64:
    """Return 64 random bits and advance the stream."""
    s0, s1, s2, s3 = stream[0], stream[1], stream[2], stream[3]
    total = s0 + s3
    word = ((total << _23) | (total >> _41)) + s0
    shifted = s1 << _17
    s2 ^= s0
    s3 ^= s1
    stream[1] = s1 ^ s2
    stream[0] = s0 ^ s3
    stream[2] = s2 ^ shifted
    stream[3] = (s3 << _45) | (s3 >> _19)
    return word


@inlined
def uniform(stream: Array) -> float:
    """Return a number from 0 (included) to 1 (excluded)."""
    return float(np.int64(next_word(stream) >> _11)) * _TO_UNIT


@inlined
def below(stream: Array, count: int) -> int:
    """Return a whole number from 0 to ``count - 1``; the bias is below ``count / 2**53``."""
    return int(uniform(stream) * count)


@inlined
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


@inlined
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
    """Return what :func:`gamma_from` wants to know of a shape of at least 1."""
    return shape - 1.0 / 3.0


@inlined
def gamma_width(shape: float) -> float:
    """Return the second number that :func:`gamma_from` wants to know."""
    return 1.0 / math.sqrt(9.0 * (shape - 1.0 / 3.0))


@inlined
def gamma(stream: Array, shape: float) -> float:
    """Return a gamma number of any positive shape."""
    if shape >= 1.0:
        return gamma_from(stream, gamma_depth(shape), gamma_width(shape))
    grown = gamma_from(stream, gamma_depth(shape + 1.0), gamma_width(shape + 1.0))
    return grown * math.pow(1.0 - uniform(stream), 1.0 / shape)


@inlined
def beta(stream: Array, first: float, second: float) -> float:
    """Return a beta number; both shapes at least 1."""
    x = gamma_from(stream, gamma_depth(first), gamma_width(first))
    y = gamma_from(stream, gamma_depth(second), gamma_width(second))
    return x / (x + y)
