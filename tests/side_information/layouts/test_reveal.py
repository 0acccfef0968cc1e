from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.errors import InvalidInput, TooLarge, Unsupported
from lsdt.kernel.memory import memory_limit
from lsdt.side_information.layouts import stores
from lsdt.side_information.layouts.materialise import write_out
from lsdt.side_information.layouts.reveal import Corrupt, coin_layers, reveal_layer
from lsdt.side_information.layouts.reveal_kernel import CORRUPT, REVEAL
from naive.coins import coin
from naive.graphs import complement, pair_set, similar_from_means
from strategies import any_relations, integer_means

SideInformation = lsdt.SideInformation
SHARES = st.sampled_from([0.0, 0.25, 0.6, 1.0])


def kept(pairs, probability, seed, purpose=REVEAL):
    return {pair for pair in pairs if coin(seed, purpose, *pair) < probability * 2**53}


@given(integer_means(), SHARES, SHARES, st.integers(0, 9))
def test_reveal_tosses_the_naive_coin_on_both_routes(problem, p_similar, p_dissimilar, seed):
    means, epsilon = problem
    full = lsdt.from_means(means, epsilon)
    similar = similar_from_means(means, epsilon)
    implicit = full.reveal(p_similar, p_dissimilar, seed)
    explicit = full.explicit().reveal(p_similar, p_dissimilar, seed)
    expected = kept(similar, p_similar, seed), kept(complement(len(means), similar), p_dissimilar, seed)
    for side in (implicit, explicit, implicit.explicit()):
        assert (pair_set(side.similar_pairs()), pair_set(side.dissimilar_pairs())) == expected
        assert (side.n_similar, side.n_dissimilar) == tuple(map(len, expected))
    for a in range(len(means)):
        for b in range(a):
            assert implicit.relation(a, b) == explicit.relation(a, b)


@given(integer_means(), SHARES, st.integers(0, 9), st.booleans())
def test_corrupt_flips_what_the_naive_coin_says(problem, share, seed, reveal_first):
    means, epsilon = problem
    full = lsdt.from_means(means, epsilon)
    layers = [lambda side: side.reveal(0.7, 0.6, seed=1), lambda side: side.corrupt(share, seed)]
    implicit, explicit = full, full.explicit()
    for layer in layers if reveal_first else layers[::-1]:
        implicit, explicit = layer(implicit), layer(explicit)
    assert implicit == explicit
    if reveal_first:
        before = full.reveal(0.7, 0.6, seed=1)
        similar, dissimilar = pair_set(before.similar_pairs()), pair_set(before.dissimilar_pairs())
        flipped = kept(similar | dissimilar, share, seed, CORRUPT)
        assert pair_set(implicit.similar_pairs()) == (similar - flipped) | (dissimilar & flipped)


@given(any_relations(), SHARES, st.integers(0, 9))
def test_partial_explicit_information_can_be_revealed_and_corrupted(relations, share, seed):
    n_arms, similar, dissimilar = relations
    side = SideInformation(n_arms, similar, dissimilar)
    shown = side.reveal(share, 1.0, seed)
    assert pair_set(shown.similar_pairs()) == kept(pair_set(similar), share, seed)
    assert pair_set(shown.dissimilar_pairs()) == pair_set(dissimilar)
    both = pair_set(similar) | pair_set(dissimilar)
    wrong = side.corrupt(share, seed)
    assert pair_set(wrong.similar_pairs()) | pair_set(wrong.dissimilar_pairs()) == both


def test_corrupting_complete_information_keeps_it_complete():
    side = lsdt.from_means(np.arange(30) / 30, 0.2)
    for held in (side, side.explicit()):
        wrong = held.corrupt(0.1, seed=4)
        assert wrong.is_complete
        assert wrong.n_similar + wrong.n_dissimilar == 30 * 29 // 2
    assert side.corrupt(0.1, seed=4) == side.explicit().corrupt(0.1, seed=4)


def test_full_revelation_changes_nothing_and_larger_probabilities_reveal_more():
    side = lsdt.from_means(np.linspace(0, 1, 60), 0.2)
    assert side.reveal(1.0, 1.0) is side
    before = set()
    for p in (0.1, 0.5, 0.9):
        after = pair_set(side.reveal(p, p, seed=5).similar_pairs())
        assert before < after
        before = after
    assert pair_set(side.reveal(0.5, 0.5, 5).similar_pairs()) != pair_set(
        side.reveal(0.5, 0.5, 6).similar_pairs()
    )
    assert side.corrupt(0.0) is side


@pytest.mark.parametrize("p", [0.05, 0.5, 0.8])
@pytest.mark.large
def test_shares_are_as_asked_and_coins_independent(p):
    """Counts of revealed pairs and of pairs of revealed pairs at one arm, within five standard errors."""
    n_arms = 400
    side = lsdt.from_means(np.zeros(n_arms), 1.0)
    rows = side.reveal(p, 1.0, seed=2).explicit().store.similar
    n_pairs = n_arms * (n_arms - 1) // 2
    assert abs(rows.n_pairs - p * n_pairs) < 5 * np.sqrt(p * (1 - p) * n_pairs)
    degrees = np.diff(rows.indptr)
    spread = degrees.var(ddof=1) / ((n_arms - 1) * p * (1 - p))
    assert abs(spread - 1) < 5 * np.sqrt(2 / (n_arms - 1))


@pytest.mark.large
def test_triangles_of_coins_are_independent():
    n_arms, p = 300, 0.3
    rows = lsdt.from_means(np.zeros(n_arms), 1.0).reveal(p, 1.0, seed=8).explicit().store.similar
    table = np.zeros((n_arms, n_arms))
    for arm in range(n_arms):
        table[arm, rows.neighbours(arm)] = 1
    triangles = np.trace(table @ table @ table) / 6
    expected = n_arms * (n_arms - 1) * (n_arms - 2) / 6 * p**3
    # The count varies mostly with the number of pairs, to whose third power it is proportional.
    deviation = 3 * expected / (p * n_arms**2 / 2) * np.sqrt(p * (1 - p) * n_arms**2 / 2)
    assert abs(triangles - expected) < 5 * deviation


@pytest.mark.large
def test_probability_may_depend_on_the_distance():
    rng = np.random.default_rng(0)
    side = lsdt.from_means(rng.random(400), 0.25)
    shown = side.reveal(lambda x: 1 - x, lambda x: 1 - 1 / x, seed=3)
    means = side.store.windows.means_by_arm()
    for pairs, probability in (
        (shown.similar_pairs(), lambda x: 1 - x),
        (shown.dissimilar_pairs(), lambda x: 1 - 1 / x),
    ):
        revealed = np.abs(means[pairs[:, 0]] - means[pairs[:, 1]]) / 0.25
        a, b = np.triu_indices(400, 1)
        distance = np.abs(means[a] - means[b]) / 0.25
        relevant = distance < 1 if pairs is not None and revealed.max() < 1 else distance >= 1
        for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0), (1.0, 1.5), (1.5, 4.0)):
            inside = relevant & (distance >= low) & (distance < high)
            if not inside.any():
                continue
            expected = probability(distance[inside]).sum()
            found = ((revealed >= low) & (revealed < high)).sum()
            assert abs(found - expected) < 5 * np.sqrt(expected + 1)
    assert shown == shown.explicit()
    constant = side.reveal(lambda x: 0.4, 0.7, seed=3)
    assert constant.explicit() == side.reveal(0.4, 0.7, seed=3).explicit()


@pytest.mark.large
def test_similar_pairs_alone_are_those_of_all_pairs():
    means = np.random.default_rng(5).random(2000)  # enough arms for several blocks
    side = lsdt.from_means(means, 0.05)
    for partial in (
        side,
        side.reveal(0.4, 0.01, seed=3),
        side.reveal(lambda distance: 1 - distance, 0.01, seed=3),
        side.reveal(0.4, 0.01, seed=3).reveal(0.5, 1.0, seed=4),
        side.corrupt(0.01, seed=4).reveal(0.4, 0.01, seed=3),
    ):
        written_out = partial.explicit().store
        alone, among_all = partial.store.listed_similar(), written_out.similar
        assert np.array_equal(alone.indptr, among_all.indptr)
        assert np.array_equal(alone.indices, among_all.indices)
        assert written_out.listed_similar().n_pairs == alone.n_pairs


def test_distance_needs_means_and_a_probability():
    side = lsdt.from_means([0.1, 0.2], 0.3)
    with pytest.raises(Unsupported, match="build it with lsdt.from_means"):
        side.explicit().reveal(lambda x: 1 - x)
    with pytest.raises(InvalidInput, match=r"p_dissimilar must return probabilities.*returned"):
        side.reveal(0.5, lambda x: x)


@pytest.mark.large
def test_listing_what_does_not_fit_is_refused_with_advice():
    big = lsdt.from_means(np.random.default_rng(0).random(1_000_000), 0.01).reveal(0.5, 0.5)
    with pytest.raises(TooLarge, match=r"pairs would need about .* of memory.*candidate_set works"):
        big.dissimilar_pairs()
    with pytest.raises(TooLarge, match="coin tosses"):
        assert big.n_similar
    with pytest.raises(TooLarge, match="similar pairs would need about"):
        lsdt.from_means(np.zeros(1_000_000), 0.01).similar_pairs()
    small = lsdt.from_means(np.arange(100), 5)
    with memory_limit(1_000), pytest.raises(TooLarge, match="1000 bytes are available"):
        small.explicit()
    assert stores.all_pairs(100) == 4950


@pytest.mark.parametrize("is_windows", [True, False])
def test_a_table_of_few_arms_gives_the_rows_of_many(is_windows):
    for seed in range(5):
        means = np.random.default_rng(seed).uniform(0.0, 1.0, 3 + 20 * seed)
        side = lsdt.from_means(means, 0.2)
        base = side.store.base() if is_windows else side.explicit().store.base()
        layers = (reveal_layer(0.6, 0.4, seed), Corrupt(0.1, seed))
        for coins in (coin_layers(layers[:1]), coin_layers(layers)):
            by_table, by_rows = (write_out(base, coins, len(means), few_arms=few) for few in (1_000, 0))
            for table, rows in zip(by_table, by_rows, strict=True):
                assert np.array_equal(table.indptr, rows.indptr)
                assert np.array_equal(table.indices, rows.indices)
