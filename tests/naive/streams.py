"""The random streams in plain Python: same words, same order, tables from the definition of the ziggurat."""

from __future__ import annotations

import math

import numpy as np

MASK = 2**64 - 1
LAYERS = 256
CHOICE, TOSS = 2, 4  # what a policy draws for in a round


def philox(counter, key):
    """Salmon et al. (2011), Philox4x64-10: four words from four words of counter and two of key."""
    x, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * x[0], 0xCA5A826395121157 * x[2]
        x = [(second >> 64) ^ x[1] ^ k[0], second & MASK, (first >> 64) ^ x[3] ^ k[1], first & MASK]
        k = [(k[0] + 0x9E3779B97F4A7C15) & MASK, (k[1] + 0xBB67AE8584CAA73B) & MASK]
    return x


def density(x):
    return math.exp(-0.5 * x * x)


def area_beyond(tail):
    """Area of the lowest layer: a rectangle up to the tail, and the tail (with erfc)."""
    return tail * density(tail) + math.sqrt(math.pi / 2.0) * math.erfc(tail / math.sqrt(2.0))


def layer_edges(tail):
    """Right ends of 256 layers of equal area, or None when they reach the top of the density too early."""
    area = area_beyond(tail)
    edges = [area / density(tail), tail]
    for _ in range(LAYERS - 2):
        height = density(edges[-1]) + area / edges[-1]
        if height >= 1.0:
            return None
        edges.append(math.sqrt(-2.0 * math.log(height)))
    return edges


def height_reached(tail):
    """Top of the highest layer; it must be 1, the top of the density."""
    edges = layer_edges(tail)
    return math.inf if edges is None else density(edges[-1]) + area_beyond(tail) / edges[-1]


def find_tail():
    """The one place of the tail for which the layers fill the density: a further tail, thinner layers."""
    low, high = 3.0, 4.0
    while low < (low + high) / 2.0 < high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if height_reached(middle) > 1.0 else (low, middle)
    return high


TAIL = find_tail()
EDGES = [*layer_edges(TAIL), 0.0]


class Stream:
    """Philox4x64-10 with everything drawn from it."""

    def __init__(self, *key):
        self.key = [int(word) for word in np.random.SeedSequence(key).generate_state(2, np.uint64)]
        self.number = self.drawn = 0
        self.block = [0] * 4

    @property
    def state(self):
        return [*self.key, self.number, self.drawn, *self.block]

    def begin_round(self, number, purpose):
        """Start at the first word of a round; the counter holds the block, and the round with its purpose."""
        self.number, self.drawn = 16 * number + purpose, 0

    def word(self):
        if self.drawn % 4 == 0:
            self.block = philox([self.drawn // 4, self.number, 0, 0], self.key)
        self.drawn += 1
        return self.block[(self.drawn - 1) % 4]

    def uniform(self):
        return (self.word() >> 11) / 2**53

    def below(self, count):
        return int(self.uniform() * count)

    def normal(self):
        """Eight bits choose the layer, one the sign, the top 53 the place in the layer."""
        while True:
            word = self.word()
            layer, sign = word % 256, -1.0 if (word // 256) % 2 else 1.0
            x = (word >> 11) / 2**53 * EDGES[layer]
            if x < EDGES[layer + 1]:
                return sign * x
            if layer == 0:
                return sign * self.tail()
            low, high = density(EDGES[layer]), density(EDGES[layer + 1])
            if low + self.uniform() * (high - low) < density(x):
                return sign * x

    def tail(self):
        """A normal number beyond the tail, by Marsaglia's exponential proposals."""
        while True:
            x = -math.log(1.0 - self.uniform()) / TAIL
            y = -math.log(1.0 - self.uniform())
            if 2.0 * y > x * x:
                return TAIL + x

    def gamma(self, shape):
        """Marsaglia and Tsang (2000), for shapes below 1 with the power of a uniform number."""
        if shape < 1.0:
            grown = self.gamma(shape + 1.0)
            return grown * (1.0 - self.uniform()) ** (1.0 / shape)
        d = shape - 1.0 / 3.0
        while True:
            x = self.normal()
            v = (1.0 + x / math.sqrt(9.0 * d)) ** 3
            if v <= 0.0:
                continue
            u = 1.0 - self.uniform()
            # The paper's squeeze draws nothing: the exact test alone decides.
            if math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v

    def beta(self, first, second):
        x = self.gamma(first)
        y = self.gamma(second)
        return x / (x + y)
