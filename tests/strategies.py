"""Hypothesis strategies shared by the tests."""

from __future__ import annotations

from itertools import combinations

from hypothesis import settings, strategies as st


def examples(share):
    """Take a share of the examples of the profile, for a test of which every example is slow."""
    return settings(max_examples=max(1, round(share * settings.default.max_examples)))


@st.composite
def integer_means(draw, max_arms=15):
    """Integer means and epsilon: connected, disconnected, complete, empty graphs, with and without ties."""
    n_arms = draw(st.integers(1, max_arms))
    spread = draw(st.sampled_from([0, 2, 10, 40, 1000]))
    means = draw(st.lists(st.integers(0, spread), min_size=n_arms, max_size=n_arms))
    epsilon = draw(st.integers(1, max(1, spread // draw(st.integers(1, 6)) + 1)))
    return means, epsilon


@st.composite
def any_graph(draw, max_arms=9):
    """A number of arms and any set of similar pairs."""
    n_arms = draw(st.integers(1, max_arms))
    pairs = list(combinations(range(n_arms), 2))
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return n_arms, [pair for pair, keep in zip(pairs, chosen, strict=True) if keep]


@st.composite
def any_relations(draw, max_arms=10):
    """A number of arms with any consistent or contradictory similar and dissimilar pairs."""
    n_arms = draw(st.integers(1, max_arms))
    pairs = list(combinations(range(n_arms), 2))
    words = draw(st.lists(st.sampled_from("sdsdu"), min_size=len(pairs), max_size=len(pairs)))
    similar = [pair for pair, word in zip(pairs, words, strict=True) if word == "s"]
    dissimilar = [pair for pair, word in zip(pairs, words, strict=True) if word == "d"]
    return n_arms, similar, dissimilar


@st.composite
def any_thresholds(draw, max_arms=6, most=6):
    """A number of arms, pairs of both relations and a whole threshold each; no pair contradicts itself."""
    n_arms = draw(st.integers(1, max_arms))
    pairs = list(combinations(range(n_arms), 2))
    words = draw(st.lists(st.sampled_from("sdsdbu"), min_size=len(pairs), max_size=len(pairs)))
    similar, dissimilar = {}, {}
    for pair, word in zip(pairs, words, strict=True):
        low, high = sorted(draw(st.tuples(st.integers(1, most), st.integers(1, most))))
        if word in "sb":
            similar[pair] = high + (word == "b")
        if word in "db":
            dissimilar[pair] = low
    return n_arms, similar, dissimilar


@st.composite
def true_thresholds(draw, max_arms=7):
    """Whole means, and thresholds that they satisfy."""
    means = draw(st.lists(st.integers(0, 12), min_size=2, max_size=max_arms))
    similar, dissimilar = {}, {}
    for a, b in combinations(range(len(means)), 2):
        distance = abs(means[a] - means[b])
        word = draw(st.sampled_from("sdbu"))
        if word in "sb":
            similar[a, b] = distance + draw(st.integers(1, 3))
        if word in "db" and distance:
            dissimilar[a, b] = draw(st.integers(1, distance))
    return means, similar, dissimilar
