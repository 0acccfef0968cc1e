"""Which pairs to ask about: `lsdt.next_pairs` and `lsdt.Inquiry`."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.identification.questions.differences import Differences, bounds_from, chance
from lsdt.identification.questions.range_votes import Range, checked_range, common_range
from lsdt.identification.questions.votes import WORDS, Votes, needed_lead

EPSILON = 0.15


def _answer(difference):
    return "similar" if abs(difference) < EPSILON else "dissimilar"


def _run(means, until, wrong_rate=0.0, batch=4, most=2_000):
    inquiry = lsdt.Inquiry(lsdt.SideInformation(len(means), epsilon=EPSILON), "similar", wrong_rate, until)
    coins = np.random.default_rng(7)
    while inquiry.n_answers < most and (asked := inquiry.next(batch)):
        assert len(asked) <= batch
        for one in asked:
            answer = _answer(means[one.a] - means[one.b])
            if coins.random() < wrong_rate:
                answer = next(word for word in WORDS if word != answer)
            inquiry.tell(one.a, one.b, answer)
    return inquiry


def test_few_answers_leave_few_arms_and_the_best():
    means = np.random.default_rng(3).uniform(0.1, 1.0, 40)
    inquiry = _run(means, until=8, batch=8)
    assert len(inquiry.found) <= 8
    assert means.argmax() in inquiry.found
    assert inquiry.n_answers <= 200  # of 780 pairs
    side = inquiry.side
    assert set(lsdt.candidate_set(side, "propagation").arms) == set(inquiry.found.arms)


def test_wrong_answers_are_asked_again():
    means = np.random.default_rng(5).uniform(0.1, 1.0, 16)
    inquiry = _run(means, until=8, wrong_rate=0.05)
    assert len(inquiry.found) <= 8
    assert means.argmax() in inquiry.found
    assert len(inquiry.disputed) > 0
    assert list(inquiry.disputed.columns) == ["a", "b", "similar", "dissimilar"]


def test_it_stops_by_itself():
    # All pairs are answered, and the two ends of the line look alike.
    means = np.linspace(0.1, 1.0, 8)
    inquiry = _run(means, until=1)
    asked = inquiry.next()
    assert not asked
    assert asked.reason == "no answer about an open pair is expected to exclude an arm"
    assert {0, 7} <= set(inquiry.found.arms.tolist())
    assert len(inquiry.found) < 8


def test_a_batch_has_each_pair_once():
    """Arms near the ends were proposed with one another in both directions."""
    for seed in range(10):
        means = np.random.default_rng(seed).uniform(0.1, 0.9, 8)
        inquiry, seen = lsdt.Inquiry(lsdt.SideInformation(8, epsilon=0.2)), set()
        while pairs := inquiry.next(20).pairs:
            for a, b in pairs:
                assert frozenset((a, b)) not in seen
                seen.add(frozenset((a, b)))
                inquiry.tell(a, b, "similar" if abs(means[a] - means[b]) < 0.2 else "dissimilar")
        assert len(seen) <= 28


def test_reasons_for_no_question():
    assert lsdt.next_pairs(lsdt.SideInformation(1)).reason == "1 arm left"
    assert lsdt.next_pairs(lsdt.SideInformation(5), until=5).reason == "5 arms left"
    complete = lsdt.from_means([0.1, 0.2, 0.5], epsilon=0.15)
    assert lsdt.next_pairs(complete).reason == "every pair is known"


def test_questions_say_what_they_are_for():
    side = lsdt.SideInformation(4, arm_ids=["tea", "mate", "juice", "water"]).with_titles(
        {"tea": "Earl Grey"}
    )
    asked = lsdt.next_pairs(side, n=2)
    assert asked.questions[0].why == "to find arms that mate is similar to"
    frame = asked.to_frame()
    assert list(frame.columns) == ["a", "b", "expected", "cost", "why"]
    assert (frame["expected"] > 0.0).all()
    assert repr(asked) == "NextPairs(2 of them; 4 arms left)"


def test_costs_decide_among_equals():
    side = lsdt.SideInformation(4)
    dear = lsdt.next_pairs(side, n=3, cost=lambda a, b: 1.0 if 3 in (a, b) else 5.0)
    assert 3 in dear.pairs[0]
    assert dear.questions[0].cost == 1.0
    with pytest.raises(InvalidInput, match="cost of 1 and 0 must be positive"):
        lsdt.next_pairs(side, cost=lambda a, b: 0.0)
    with pytest.raises(InvalidInput, match="cost must be positive"):
        lsdt.next_pairs(side, cost=-1.0)


def test_a_contradiction_is_asked_again():
    inquiry = lsdt.Inquiry(lsdt.SideInformation(3), "range", wrong_rate=0.1)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        inquiry.tell(a, b, ">= 0.1")
    asked = inquiry.next(3)
    assert {frozenset(pair) for pair in asked.pairs} == {frozenset(p) for p in ((0, 1), (1, 2), (2, 0))}
    assert asked.questions[0].why == "answers contradict one another here"


def test_bad_values():
    side = lsdt.SideInformation(3, similar=[(0, 1)])
    with pytest.raises(InvalidInput, match="side must be SideInformation"):
        lsdt.next_pairs([1, 2])
    with pytest.raises(InvalidInput, match="answers must be one of 'similar', 'better', 'range'; got 'best'"):
        lsdt.next_pairs(side, answers="best")
    with pytest.raises(InvalidInput, match="wrong_rate"):
        lsdt.Inquiry(side, wrong_rate=0.5)
    inquiry = lsdt.Inquiry(side)
    with pytest.raises(InvalidInput, match="an answer must be one of 'similar', 'dissimilar'; got 'simlar'"):
        inquiry.tell(0, 2, "simlar")
    with pytest.raises(InvalidInput, match=r"known before \(similar\)"):
        inquiry.tell(0, 1, "dissimilar")
    with pytest.raises(InvalidInput, match="two different arms"):
        inquiry.tell(2, 2, "similar")
    distinct = lsdt.SideInformation(3, [(0, 1)], [(1, 2)], epsilon=(0.1, 0.2))
    with pytest.raises(InvalidInput, match="say which threshold the answers refer to"):
        lsdt.next_pairs(distinct)
    with pytest.raises(Unsupported, match="Ask about the candidates"):
        lsdt.next_pairs(lsdt.from_means(np.linspace(0.0, 1.0, 2_001), 0.1), answers="range")


def test_what_was_known_counts():
    side = lsdt.SideInformation(3, better=[(0, 1)], ranges=[(0, 2, 0.1, None)])
    assert lsdt.next_pairs(side, answers="range").reason == "1 arm left"
    asked = lsdt.next_pairs(side, answers="better")
    assert asked.reason == "1 arm left; it is the best with probability 1"


def test_votes():
    votes = Votes(2)
    votes.add(1, 0, "dissimilar")
    assert votes.leader(0, 1)[2:] == ("dissimilar", 1)
    votes.add(0, 1, "similar")
    assert votes.leader(0, 1) is None  # level
    votes.add(0, 1, "similar")
    assert list(votes.leaders(votes.needed)) == []  # it leads by one
    votes.add(0, 1, "similar")
    assert list(votes.leaders(votes.needed)) == [(0, 1, "similar", 2)]
    assert votes.disputed() == [(0, 1, {"dissimilar": 1, "similar": 3})]
    assert needed_lead(100, 0.0) == 1
    assert needed_lead(100, 0.05) == 3  # log(2000) / log(19) = 2.6


def test_very_many_arms():
    means = np.random.default_rng(0).uniform(0.1, 1.0, 3_000)
    inquiry = lsdt.Inquiry(lsdt.SideInformation(3_000, epsilon=EPSILON), until=100)
    for _turn in range(2):
        for one in inquiry.next(200):
            inquiry.tell(one.a, one.b, _answer(means[one.a] - means[one.b]))
    assert inquiry.n_answers == 400
    assert means.argmax() in inquiry.found


# -------------------------------------------------------------------- ranges


def _asked_for_ranges(means, half, **options):
    """Ask a judge who knows a difference up to so much, and is off by more where he may be wrong."""
    inquiry = lsdt.Inquiry(lsdt.SideInformation(len(means)), "range", **options)
    coins, n_wrong = np.random.default_rng(11), 0
    while inquiry.n_answers < 1_000 and (asked := inquiry.next(4)):
        for one in asked:
            low = means[one.a] - means[one.b] - coins.uniform(0.0, 2.0 * half)
            if n_wrong < inquiry.max_wrong or coins.random() < inquiry.wrong_rate:
                low, n_wrong = low + 6.0 * half, n_wrong + 1
            inquiry.tell(one.a, one.b, (low, low + 2.0 * half))
    return inquiry


def test_ranges_take_hardly_more_answers_than_arms_go():
    """Every answer excludes one arm at most, so 32 of 40 arms take 32 answers or more."""
    means = np.random.default_rng(3).uniform(0.1, 1.0, 40)
    inquiry = _asked_for_ranges(means, 0.03, until=8)
    assert len(inquiry.found) <= 8
    assert means.argmax() in inquiry.found
    assert 32 <= inquiry.n_answers <= 44
    assert set(lsdt.candidate_set(inquiry.side).arms) == set(inquiry.found.arms)
    assert means.argmax() in lsdt.candidate_set(inquiry.side)


@pytest.mark.parametrize("options", [{"max_wrong": 2}, {"wrong_rate": 0.1}])
def test_ranges_that_are_wrong_are_asked_for_again(options):
    means = np.random.default_rng(5).uniform(0.1, 1.0, 16)
    inquiry = _asked_for_ranges(means, 0.03, until=4, **options)
    assert means.argmax() in inquiry.found
    assert len(inquiry.found) <= 4
    assert len(inquiry.disputed) > 0
    assert list(inquiry.disputed.columns) == ["a", "b", "answers", "low", "high"]


def test_ranges_stop_by_themselves():
    """Five arms within the width of an answer: when every pair is known too loosely, nothing helps."""
    inquiry = _asked_for_ranges(np.array([0.50, 0.51, 0.52, 0.53, 0.54]), 0.2)
    asked = inquiry.next()
    assert not asked
    assert asked.reason == "no answer about an open pair is expected to exclude an arm"
    assert inquiry.n_answers <= 10
    assert 4 in inquiry.found


def test_what_is_common_to_ranges():
    """By hand: three answers, one of them off."""
    given = [Range(0.0, 0.2), Range(0.1, 0.3), Range(0.5, 0.6)]
    assert common_range(given, 1) == (0.1, 0.2)  # two hold there, so one is wrong
    assert common_range(given, 2) == (0.0, 0.6)  # one holds: two would be wrong
    assert common_range(given, 3) == (-np.inf, np.inf)
    assert common_range(given[:1], 1) == given[0]
    assert common_range([Range(0.0, 0.2)] * 3, 3) == (0.0, 0.2)


def test_a_range_is_as_sure_as_it_says():
    """However few of the answers are wrong, the truth is in the range: against all points of a grid."""
    coins, grid = np.random.default_rng(2), np.linspace(-1.0, 1.0, 401)
    for _ in range(200):
        given = [Range(*sorted(coins.choice(grid, 2))) for _ in range(int(coins.integers(1, 7)))]
        held = np.array([sum(low <= x <= high for low, high in given) for x in grid])
        for least in (1, 2, 3):
            possible = grid[held > held.max() - least]
            ends = (possible.min(), possible.max()) if held.max() >= least else (-np.inf, np.inf)
            assert common_range(given, least) == pytest.approx(ends)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("0.1..0.3", 0.1, 0.3),
        ("-.1 to .3", -0.1, 0.3),
        ("1..2", 1.0, 2.0),
        ("0.1, 0.3", 0.1, 0.3),
        ("0.25 +- 0.25", 0.0, 0.5),
        ("0.25±0.25", 0.0, 0.5),
        (">= 0.1", 0.1, np.inf),
        ("< -1e-2", -np.inf, -0.01),
        ("Better", 0.0, np.inf),
        ("worse", -np.inf, 0.0),
        ((None, 0.2), -np.inf, 0.2),
        ([0, 1], 0.0, 1.0),
    ],
)
def test_ranges_as_people_write_them(text, low, high):
    found = checked_range(text)
    assert found == (low, high)
    assert checked_range(str(found)) == found


@pytest.mark.parametrize(
    "text", ["0.3", "..", "", "much", "0.1 0.2 0.3", (0.1,), 0.1, None, (np.nan, 1), (None, None), (True, 2)]
)
def test_what_is_no_range(text):
    with pytest.raises(InvalidInput, match=r"an answer is a range|a range needs an end"):
        checked_range(text)


def test_a_range_upside_down():
    with pytest.raises(InvalidInput, match="the low end of a range must not be above its high end"):
        checked_range("0.3..0.1")


def test_chances_by_hand():
    """Uniform between -1 and 1, answers of width 1: told with |d| up to 1, so one time in two; 0 is sure."""
    assert chance(-1.0, 1.0, 0.5) == pytest.approx(0.5)
    assert chance(-1.0, 1.0, 0.0) == 1.0
    assert chance(-1.0, 1.0, 0.25) == pytest.approx(0.75)
    assert chance(0.0, 1.0, 0.25) == 0.0  # known already
    assert chance(-0.1, 0.1, 10.0) == pytest.approx(0.0025)


def test_bounds_add_up_along_pairs():
    rows = np.array([[0, 1], [1, 2]])
    now = Differences(4, rows, np.array([0.1, 0.2]), np.array([0.3, np.inf]), rows, 0.1)
    low, high = bounds_from(2, now)
    assert low.tolist() == pytest.approx([0.3, 0.2, 0.0, -np.inf])
    assert high.tolist() == [np.inf, np.inf, 0.0, np.inf]


def test_ranges_tell_the_ends_of_complete_information_apart():
    means = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    side = lsdt.from_means(means, epsilon=0.15)
    assert set(lsdt.candidate_set(side).arms) == {0, 5}
    inquiry = lsdt.Inquiry(side, "range")
    assert set(inquiry.next().pairs[0]) == {0, 5}
    inquiry.tell(0, 5, (-0.6, -0.4))
    assert inquiry.next().reason == "1 arm left"
    assert inquiry.found.arm_ids == [5]


def test_thresholds_of_their_own():
    """Pairs known at one threshold, answers about another: what follows is what both say."""
    side = lsdt.SideInformation(4, [(0, 1), (1, 2)], [(0, 2)], epsilon=([0.3, 0.2], [0.25]))
    with pytest.raises(InvalidInput, match="say which threshold the answers refer to with epsilon="):
        lsdt.Inquiry(side)
    inquiry = lsdt.Inquiry(side, epsilon=0.1)
    inquiry.tell(3, 0, "dissimilar")
    inquiry.tell(3, 2, "similar")
    known = inquiry.side
    assert known.bounds(3, 2) == (0.0, 0.1)
    assert known.bounds(0, 1) == (0.0, 0.3)
    assert known.relation(3, 0) == "dissimilar"
    assert set(inquiry.found.arms) == set(lsdt.candidate_set(known).arms)
    ranges = lsdt.Inquiry(side, "range")
    assert ranges.next(2)
    ranges.tell(1, 3, (0.1, 0.2))
    assert 3 not in ranges.found
    other = lsdt.Inquiry(lsdt.SideInformation(3, [(0, 1)], epsilon=0.1), epsilon=0.3)
    other.tell(0, 2, "similar")
    assert [other.side.bounds(0, arm)[1] for arm in (1, 2)] == [0.1, 0.3]


def test_at_most_so_many_wrong_answers():
    """An answer counts when more agree with it than may be wrong."""
    inquiry = lsdt.Inquiry(lsdt.SideInformation(2), "range", max_wrong=1)
    inquiry.tell(0, 1, ">= 0.1")
    assert len(inquiry.found) == 2
    assert inquiry.next().questions[0].why == "arms are excluded by this answer, which may be wrong"
    inquiry.tell(1, 0, "<= -0.1")
    assert inquiry.found.arm_ids == [0]
    with pytest.raises(InvalidInput, match="give wrong_rate or max_wrong, not both"):
        lsdt.Inquiry(lsdt.SideInformation(2), wrong_rate=0.1, max_wrong=1)
    with pytest.raises(InvalidInput, match="max_wrong"):
        lsdt.Inquiry(lsdt.SideInformation(2), max_wrong=-1)


def test_ranges_of_pairs_that_are_known():
    """A range may say more of a similar or dissimilar pair, but nothing that was impossible before."""
    side = lsdt.SideInformation(3, [(0, 1)], [(1, 2)], epsilon=0.1)
    inquiry = lsdt.Inquiry(side, "range")
    with pytest.raises(
        InvalidInput, match=r"similar, less than 0.1 apart, which rules out every difference from 0.3 to 0.5"
    ):
        inquiry.tell(0, 1, (0.3, 0.5))
    with pytest.raises(InvalidInput, match=r"at least 0.1 apart, which rules out every difference"):
        inquiry.tell(1, 2, (-0.05, 0.05))
    both = lsdt.SideInformation(2, [(0, 1)], epsilon=0.3, ranges=[(0, 1, 0.1, 0.2)])
    with pytest.raises(InvalidInput, match=r"known before \(range\)"):
        lsdt.Inquiry(both, "range").tell(0, 1, (0.25, 0.4))
    inquiry.tell(1, 2, (-0.2, 0.05))
    inquiry.tell(1, 2, (-0.05, 0.2))  # each is possible, what they have in common is not
    assert len(inquiry.found) == 3
    inquiry.tell(1, 2, (0.15, 0.2))
    assert inquiry.found.arm_ids == [0, 1]


def test_what_answers_are_about_is_kept():
    inquiry = lsdt.Inquiry(lsdt.SideInformation(3), epsilon=0.1)
    inquiry.tell(0, 1, "similar")
    assert inquiry.side.epsilon == 0.1


def test_ranges_contradict():
    """Without a wrong answer to be expected it is said; else it is asked again."""
    for options, said in (({}, "settled relations contradict"), ({"max_wrong": 1}, "")):
        inquiry = lsdt.Inquiry(lsdt.SideInformation(3), "range", **options)
        for a, b in ((0, 1), (1, 2), (2, 0)):
            for _ in range(1 if options else 2):
                inquiry.tell(a, b, (0.1, 0.2))
        asked = inquiry.next(3)
        assert said in asked.reason
        if options:
            assert asked.questions[0].why == "answers contradict one another here"


def test_ranges_among_very_many_arms():
    means = np.random.default_rng(0).uniform(0.1, 1.0, 3_000)
    inquiry = lsdt.Inquiry(lsdt.SideInformation(3_000), "range", until=100)
    for _turn in range(3):
        for one in inquiry.next(300):
            apart = means[one.a] - means[one.b]
            inquiry.tell(one.a, one.b, (apart - 0.05, apart + 0.05))
    assert inquiry.n_answers == 900
    assert len(inquiry.found) < 2_250
    assert means.argmax() in inquiry.found
