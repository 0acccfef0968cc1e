"""Random streams: word by word beside plain Python, and the laws of what is drawn from them."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
import scipy.stats

from lsdt.kernel import checksums, compiler, random  # noqa: F401  (compiled code is known to Numba then)
from lsdt.kernel.random import Purpose, new_stream, new_streams
from naive.streams import EDGES, TAIL, Stream, area_beyond, philox
from tiers import compiled, interpreted


@numba.njit
def draw_words(stream, many):
    return np.array([random.next_word(stream) for _ in range(many)])


@numba.njit
def draw(stream, many, what, first, second):
    numbers = np.empty(many)
    for at in range(many):
        if what == 0:
            numbers[at] = random.uniform(stream)
        elif what == 1:
            numbers[at] = random.normal(stream)
        elif what == 2:
            numbers[at] = random.gamma(stream, first)
        elif what == 3:
            numbers[at] = random.beta(stream, first, second)
        else:
            numbers[at] = random.below(stream, int(first))
    return numbers


UNIFORM, NORMAL, GAMMA, BETA, BELOW = range(5)
SHAPES = [0.3, 0.99, 1.0, 1.5, 4.0, 100.0, 1e4]
PAIRS = [(1.0, 1.0), (1.0, 5.0), (3.0, 2.0), (40.0, 1.0), (300.0, 700.0)]


@pytest.mark.parametrize("key", [(0,), (1, 2, 3), (2**31, 5)])
def test_words_are_those_of_plain_integers(key):
    stream, twin = new_stream(*key), Stream(*key)
    assert draw_words(stream, 2000).tolist() == [twin.word() for _ in range(2000)]
    assert stream.tolist() == twin.state


def test_words_of_the_authors_reference_code():
    """The known answers of Philox4x64-10 in Random123: counter and key 0, and all ones."""
    ones = 2**64 - 1
    assert philox([0] * 4, [0] * 2)[0] == 0x16554D9ECA36314C
    assert philox([ones] * 4, [ones] * 2)[0] == 0x87B092C3013FE90B


@pytest.mark.parametrize(("key", "round_", "purpose"), [((0,), 0, 0), ((1, 2, 3), 5, 2), ((7,), 2**40, 7)])
def test_words_are_those_of_numpy(key, round_, purpose):
    """NumPy counts up before its first block, so it starts one below ours."""
    stream = new_stream(*key)
    random._begin_round_plain(stream, round_, purpose)
    before = ((16 * round_ + purpose) << 64) - 1
    reference = np.random.Philox()
    reference.state = {
        **reference.state,
        "state": {
            "counter": np.array([(before >> 64 * at) % 2**64 for at in range(4)], np.uint64),
            "key": stream[:2],
        },
        "buffer_pos": 4,
    }
    assert draw_words(stream, 30).tolist() == reference.random_raw(30).tolist()


def test_the_ziggurat_is_the_one_that_closes():
    """The constants from the literature against layers of equal area found by bisection."""
    assert pytest.approx(TAIL, abs=1e-12) == random._TAIL
    assert pytest.approx(area_beyond(TAIL), rel=1e-11) == random._AREA
    np.testing.assert_allclose(random._WIDTH, EDGES[:256], rtol=1e-9)
    np.testing.assert_allclose(random._INSIDE * random._WIDTH, EDGES[1:], rtol=1e-9)


@pytest.mark.parametrize(
    ("what", "arguments", "name", "n_draws"),
    [
        (UNIFORM, (), "uniform", 5000),
        (NORMAL, (), "normal", 5000),  # one in thousands is in the tail
        *((GAMMA, (shape,), "gamma", 1500) for shape in SHAPES),
        *((BETA, pair, "beta", 1500) for pair in PAIRS),
        (BELOW, (7,), "below", 5000),
    ],
)
def test_numbers_are_those_of_plain_python(what, arguments, name, n_draws):
    """Values to nine digits: the tables are computed in another way. Streams end in the same state."""
    stream, twin = new_stream(3), Stream(3)
    first, second = (*arguments, 0.0, 0.0)[:2]
    numbers = draw(stream, n_draws, what, first, second)
    np.testing.assert_allclose(
        numbers, [getattr(twin, name)(*arguments) for _ in range(n_draws)], rtol=1e-9, atol=1e-11
    )
    assert stream.tolist() == twin.state


LAWS = [
    (UNIFORM, (), scipy.stats.uniform()),
    (NORMAL, (), scipy.stats.norm()),
    *((GAMMA, (shape,), scipy.stats.gamma(shape)) for shape in SHAPES),
    *((BETA, pair, scipy.stats.beta(*pair)) for pair in PAIRS),
]
MANY = 200_000


@pytest.mark.parametrize(("what", "arguments", "law"), LAWS)
def test_moments_and_shape(what, arguments, law):
    """Mean and variance within five standard errors, from the law's own moments; Kolmogorov-Smirnov."""
    first, second = (*arguments, 0.0, 0.0)[:2]
    numbers = draw(new_stream(11, what), MANY, what, first, second)
    mean, variance, kurtosis = (float(value) for value in law.stats("mvk"))
    assert abs(numbers.mean() - mean) < 5 * math.sqrt(variance / MANY)
    error_of_variance = variance * math.sqrt((kurtosis + 2) / MANY)
    assert abs(numbers.var() - variance) < 5 * error_of_variance
    assert scipy.stats.kstest(numbers, law.cdf).pvalue > 1e-4


def test_normals_beyond_the_tail_have_the_right_share_and_law():
    """P(|X| > 3.654) = 2.6e-4; 4 million numbers hold about 1,030 such, the law beyond is a cut normal."""
    many = 4_000_000
    numbers = draw(new_stream(12), many, NORMAL, 0.0, 0.0)
    share = 2 * scipy.stats.norm.sf(TAIL)
    far = np.abs(numbers[np.abs(numbers) > TAIL])
    assert abs(len(far) - many * share) < 5 * math.sqrt(many * share)
    assert scipy.stats.kstest(scipy.stats.norm.sf(far) / scipy.stats.norm.sf(TAIL), "uniform").pvalue > 1e-4


def test_signs_and_layers_are_independent():
    numbers = draw(new_stream(13), MANY, NORMAL, 0.0, 0.0)
    assert abs((numbers > 0).mean() - 0.5) < 5 * 0.5 / math.sqrt(MANY)
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 5 / math.sqrt(MANY)
    assert abs(np.corrcoef(np.sign(numbers), np.abs(numbers))[0, 1]) < 5 / math.sqrt(MANY)


def test_below_is_even_and_inside():
    numbers = draw(new_stream(14), 70_000, BELOW, 7, 0.0)
    counts = np.bincount(numbers.astype(int), minlength=7)
    assert len(counts) == 7
    assert scipy.stats.chisquare(counts).pvalue > 1e-4


def test_keys_give_unrelated_streams():
    assert new_stream(1, 2).tolist() != new_stream(2, 1).tolist()
    assert new_stream(1, 2).tolist() == new_stream(1, 2).tolist()
    first, second = (draw(new_stream(0, at), MANY, UNIFORM, 0.0, 0.0) for at in (0, 1))
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / math.sqrt(MANY)


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32, 2**63])
@pytest.mark.parametrize("numbers", [range(0), range(5, 6), range(300), range(2**32 - 3, 2**32 + 3)])
def test_many_streams_are_those_of_one_key_each(seed, numbers):
    for purpose in (Purpose.POLICY, Purpose.REWARD):
        streams = new_streams(seed, numbers, int(purpose))
        assert streams.dtype == np.uint64
        assert streams.tolist() == [new_stream(seed, number, purpose).tolist() for number in numbers]


# ---------------------------------------------------------------- both tiers


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (random.next_word, ()),
        (random.uniform, ()),
        (random.normal, ()),
        (random.below, (10**6,)),
        (random.gamma, (0.3,)),
        (random.gamma, (7.5,)),
        (random.beta, (1.0, 40.0)),
    ],
)
def test_interpreted_and_compiled_code_draw_the_same_bits(function, arguments):
    """Without a warning of an overflow, which pytest would make an error; some normals come from the tail."""
    streams = [new_stream(5), new_stream(5)]
    for number in range(3_000):
        if number % 100 == 0:
            random._begin_round_plain(streams[0], number, 2)
            compiled(random.begin_round)(streams[1], number, 2)
        here = interpreted(function)(streams[0], *arguments)
        there = compiled(function)(streams[1], *arguments)
        assert here == there
    assert streams[0].tolist() == streams[1].tolist()


@pytest.mark.parametrize("size", [0, 1, 3, 4, 9, 1_000])
def test_checksums_are_the_same_in_both_tiers(size):
    words = np.random.default_rng(size).integers(0, 2**64, size, dtype=np.uint64)
    lanes = [np.arange(1, 5, dtype=np.uint64) for _ in range(2)]
    interpreted(checksums._digest)(words, lanes[0])
    compiled(checksums._digest)(words, lanes[1])
    assert lanes[0].tolist() == lanes[1].tolist()


# ---------------------------------------------------------------- neighbours are independent

SIDE = 512  # rounds, replications and numbers of a round that are compared


def rounds_of(stream, n_rounds, n_words, purpose=int(Purpose.POLICY)):
    """The first words of many rounds, a row each."""
    rows = np.empty((n_rounds, n_words), np.uint64)
    for number in range(n_rounds):
        random._begin_round_plain(stream, number, purpose)
        rows[number] = [random._next_word_plain(stream) for _ in range(n_words)]
    return rows


def families():
    """Tables whose neighbouring rows differ by one round, one replication, one purpose, or one seed."""
    rounds = rounds_of(new_stream(3, 1, Purpose.POLICY), SIDE, 8)
    yield "rounds", rounds
    replications = new_streams(3, range(SIDE), int(Purpose.POLICY))
    yield "replications", np.array([rounds_of(stream, 1, 8)[0] for stream in replications])
    yield "seeds", np.array([rounds_of(new_stream(seed, 0, Purpose.POLICY), 1, 8)[0] for seed in range(SIDE)])
    pairs = [rounds_of(new_stream(3, 1, Purpose.POLICY), SIDE // 2, 8, int(purpose)) for purpose in (2, 4)]
    yield "purposes", np.stack(pairs, axis=1).reshape(SIDE, 8)


@pytest.mark.parametrize(("name", "words"), [pytest.param(*each, id=each[0]) for each in families()])
def test_neighbouring_rounds_replications_purposes_and_seeds_are_independent(name, words):
    """Bits, bits that change between neighbours, correlations along both axes, and gaps between all words."""
    bits = np.unpackbits(words.view(np.uint8), axis=None).reshape(*words.shape, 64)
    for table in (bits, bits[1:] ^ bits[:-1], bits[:, 1:] ^ bits[:, :-1]):
        count = table.shape[0] * table.shape[1]
        shares = table.mean(axis=(0, 1))  # of every one of the 64 bits
        assert np.abs(shares - 0.5).max() < 5.5 * 0.5 / math.sqrt(count)
    x = (words >> np.uint64(11)).astype(float) / 2**53
    for one, other in ((x[1:], x[:-1]), (x[:, 1:], x[:, :-1]), (x[1:, 1:], x[:-1, :-1])):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 5 / math.sqrt(one.size)
    assert scipy.stats.kstest(x.ravel(), "uniform").pvalue > 1e-4
    cells = (x[1:, 0] * 8).astype(int) * 8 + (x[:-1, 0] * 8).astype(int)  # pairs of neighbours in a square
    assert scipy.stats.chisquare(np.bincount(cells, minlength=64)).pvalue > 1e-4
    assert len(np.unique(words)) == words.size
