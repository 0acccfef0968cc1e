from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.errors import InconsistentSideInformation, InvalidInput, TooLarge
from lsdt.kernel.memory import memory_limit
from naive.sources import merged

SideInformation = lsdt.SideInformation


@st.composite
def sources(draw, max_arms=6):
    """Some sources over overlapping sets of named arms: ids, and relations as dicts of frozensets."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        ids = draw(st.lists(st.sampled_from("abcdef"[:max_arms]), min_size=1, max_size=max_arms, unique=True))
        pairs = [(a, b) for at, a in enumerate(ids) for b in ids[:at]]
        words = draw(st.lists(st.sampled_from("sdu"), min_size=len(pairs), max_size=len(pairs)))
        relations = {
            frozenset(pair): {"s": "similar", "d": "dissimilar"}[word]
            for pair, word in zip(pairs, words, strict=True)
            if word != "u"
        }
        found.append((ids, relations))
    return found


def built(ids, relations):
    lists = [
        [tuple(pair) for pair, word in relations.items() if word == which]
        for which in ("similar", "dissimilar")
    ]
    return SideInformation(len(ids), *lists, arm_ids=ids)


def relations_of(side):
    return {
        frozenset((side.label(a), side.label(b))): word
        for pairs, word in ((side.similar_pairs(), "similar"), (side.dissimilar_pairs(), "dissimilar"))
        for a, b in pairs.tolist()
    }


@pytest.mark.parametrize("on_conflict", ["unknown", "first"])
@given(given_sources=sources())
def test_merging_is_the_union_with_every_source_counted(on_conflict, given_sources):
    sides = [built(*source) for source in given_sources]
    names = [f"s{number}" for number in range(len(sides))]
    taken, counts, disputed = merged([relations for _, relations in given_sources], on_conflict)
    side = lsdt.merge(sides, names, on_conflict)
    assert relations_of(side) == taken
    assert side.arm_ids == tuple(dict.fromkeys(name for ids, _ in given_sources for name in ids))
    report = side.evidence
    assert [tuple(source[1:6]) for source in report.sources] == counts
    assert report.to_frame()["name"].tolist() == names
    assert {frozenset(found[:2]) for found in report.contradictions()} == disputed
    for found in report.contradictions():
        pair = frozenset(found[:2])
        for word, said_by in (("similar", found.similar_in), ("dissimilar", found.dissimilar_in)):
            assert list(said_by) == [
                name
                for name, (_, relations) in zip(names, given_sources, strict=True)
                if relations.get(pair) == word
            ]
    if disputed:
        with pytest.raises(InconsistentSideInformation, match=f"about {len(disputed)} pair"):
            lsdt.merge(sides, names)
    else:
        assert lsdt.merge(sides) == side


def test_a_contradiction_names_its_sources():
    log = SideInformation(3, [("tea", "cola")], [], ["tea", "coffee", "cola"], epsilon=0.1)
    shelf = lsdt.from_groups(
        {"cola": "cold", "tea": "hot", "water": "cold"}, epsilon=0.1, apart=[("hot", "cold")]
    )
    with pytest.raises(InconsistentSideInformation) as caught:
        lsdt.merge([log, shelf], ["log", "shelf"])
    text = str(caught.value)
    assert "contradict one another about 1 pair:" in text
    assert "('tea', 'cola'): similar in 'log', dissimilar in 'shelf'" in text
    assert "on_conflict='unknown'" in text
    conflict = caught.value.conflict
    assert conflict.arms == ("tea", "cola")
    assert conflict.relations == (("tea", "cola", "similar"), ("tea", "cola", "dissimilar"))
    unknown = lsdt.merge([log, shelf], on_conflict="unknown")
    assert unknown.relation("tea", "cola") is None
    assert unknown.relation("tea", "water") == "dissimilar"
    assert unknown.epsilon == 0.1
    assert "1 contradiction (left unknown)" in str(unknown.evidence)
    assert lsdt.merge([shelf, log], on_conflict="first").relation("tea", "cola") == "dissimilar"


def test_many_contradictions_are_counted_and_a_few_shown():
    means = [0.1 * arm for arm in range(6)]
    near, far = (lsdt.from_means(means, 0.15) for _ in range(2))
    with pytest.raises(InconsistentSideInformation, match=r"about 15 pairs:(?s:.*)\.\.\. and 10 more"):
        lsdt.merge([near, far.corrupt(1.0)])


def test_complete_and_implicit_sources():
    means = [0.1, 0.2, 0.45, 0.5]
    truth = lsdt.from_means(means, 0.15)
    halves = [truth.reveal(0.5, 0.5, seed) for seed in (1, 2, 3)]
    together = lsdt.merge([*halves, truth])
    assert together == truth.explicit()
    assert together.is_complete
    report = together.evidence
    assert report.n_pairs == 6
    assert report.sources[-1].n_pairs == 6
    assert sum(source.n_new for source in report.sources) == 6


def test_a_report_keeps_what_its_sources_rest_on():
    inner = lsdt.merge([SideInformation(2, [(0, 1)])])
    outer = lsdt.merge([inner, SideInformation(2)])
    assert outer.evidence.sources[0].evidence is inner.evidence
    assert str(pickle.loads(pickle.dumps(outer.evidence))) == str(outer.evidence)


def test_numbers_and_ids_are_not_mixed_up():
    two, three = SideInformation(2), SideInformation(3)
    text, number = SideInformation(2, arm_ids=["a", "b"]), SideInformation(2, arm_ids=[5, 6])
    for sides, message in [
        ([two, three], "'source 1' has 2 and 'source 2' has 3. Give them arm_ids"),
        ([two, text], "'source 1' has no ids and 'source 2' has ids that are text"),
        ([text, number], "ids that are text and 'source 2' has ids that are numbers"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            lsdt.merge(sides)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sides": []}, "at least one source"),
        ({"sides": SideInformation(2)}, "a list of side information"),
        ({"sides": [SideInformation(2), "x"]}, "source 2 of merge must be a SideInformation; got str"),
        ({"names": ["one"]}, "one text for each of the 2 sources"),
        ({"names": ["one", "one"]}, "different names"),
        ({"on_conflict": "frist"}, r"\(did you mean 'first'\?\)"),
        (
            {"sides": [SideInformation(2, epsilon=0.1), SideInformation(2), SideInformation(2, epsilon=0.2)]},
            "'source 1' has 0.1 and 'source 3' has 0.2",
        ),
    ],
)
def test_bad_values_are_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.merge(**{"sides": [SideInformation(2), SideInformation(2)], **arguments})


def test_more_pairs_than_memory_holds_are_refused():
    everything = SideInformation(2_000, [(arm, 0) for arm in range(1, 2_000)])
    sides = [everything] * 50
    with memory_limit(2**22), pytest.raises(TooLarge, match="merging .* pairs"):
        lsdt.merge(sides)


def test_risks_of_sources_add_up():
    table = {"arm": ["a", "b", "c"], "mean": [0.2, 0.3, 0.5], "se": [0.02, 0.02, 0.02]}
    votes = np.random.default_rng(0).random((200, 3)) < [0.2, 0.3, 0.5]
    rated = lsdt.from_ratings(lsdt.ratings.RatingLog.from_matrix(votes * 1.0, list("abc"), scale=(0, 1)))
    sources = [lsdt.from_experiments(table), rated, lsdt.from_order(["a", "b", "c"])]
    report = lsdt.merge(sources[:2], ["past", "log"]).evidence
    assert report.risk == pytest.approx(0.1)
    whole = lsdt.merge([lsdt.merge(sources[:2]), sources[2]], ["both", "sizes"])
    assert whole.evidence.risk == pytest.approx(0.1)
    told = (
        "something is wrong with probability at most 0.1: both 0.1 (a range from past experiments is wrong, "
        "or the best arm is among those beaten in a log); assumed right: sizes"
    )
    assert told in str(whole.evidence)
    assert told in whole.evidence._repr_html_()
    assert lsdt.merge(sources[2:]).evidence.risk is None
    assert "probability" not in str(lsdt.merge(sources[2:]).evidence)
    several = lsdt.merge([lsdt.from_experiments(table, confidence=0.4)] * 2)
    assert several.evidence.risk == 1.0


def test_ranges_of_all_sources_rule_out_together():
    """Features alone rule out nothing; with one past experiment they do."""
    near = lsdt.from_features([[0.0], [1.0], [9.0]], 0.1, arm_ids=["a", "b", "c"])
    past = lsdt.from_experiments({"arm": ["c", "a"], "mean": [0.9, 0.2], "se": [0.02, 0.02]})
    assert len(lsdt.candidate_set(near).arms) == 3
    assert lsdt.candidate_set(lsdt.merge([near, past])).arm_ids == ["c"]
