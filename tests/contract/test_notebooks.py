"""What notebooks show: every public value has a card that is sound, safe and small."""

from __future__ import annotations

import inspect
import sys
from enum import Enum
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import lsdt
import lsdt._html as html
from lsdt.candidates.proofs import RangeRelation, ThresholdRelation
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.registry import specification_of
from lsdt.service.client import RemoteDecision, StoppingAnswer
from lsdt.side_information.examples import example

SCRIPT, IMAGE = "<script>alert(1)</script>", "\"><img src=x onerror='alert(2)'>"
IDS = (SCRIPT, IMAGE, "a&b", "</style></div>", "tea\u202e", "line\nbreak")
VOID = {"br", "img", "hr", "input", "meta", "link"}
ALLOWED = {
    *("div", "style", "b", "span", "bdi", "p", "br", "table", "thead", "tbody", "tr", "th", "td", "details"),
    *("summary", "svg", "title", "rect", "line", "path", "polyline", "polygon", "circle", "text", "defs"),
    "marker",
}  # fmt: skip
MOST_LETTERS = 60_000


class Reader(HTMLParser):
    """Reads HTML and notes what is wrong with it."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ALLOWED:
            self.wrong.append(f"<{tag}>")
        self.wrong += [
            f"{tag} {name}" for name, _ in attrs if name.startswith("on") or name in ("href", "src")
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.wrong == []
    assert reader.open == []
    return " ".join(reader.words)


def public_classes():
    """Yield the classes of values that the doors of the package name."""
    doors = (lsdt, lsdt.policies, lsdt.problems, lsdt.ratings, lsdt.theory)
    others = {lsdt.rewards.Rewards, RewardModel, RemoteDecision, StoppingAnswer}
    others |= {ThresholdRelation, RangeRelation}
    named = [getattr(door, name) for door in doors for name in door.__all__]
    classes = {each for each in named if inspect.isclass(each) and each.__module__.startswith("lsdt.")}
    no_values = (BaseException, Enum)
    return {
        each
        for each in classes | others
        if not issubclass(each, no_values) and not getattr(each, "_is_protocol", False)
    }


def side_with(n_arms=6, **more):
    similar = [(at, at + 1) for at in range(n_arms - 1)]
    apart = [(at, at + 2) for at in range(n_arms - 2)]
    return lsdt.SideInformation(n_arms, similar, apart, arm_ids=IDS[:n_arms], epsilon=0.2, **more)


def values():
    """Yield values of all public classes, most of them about arms with nasty names."""
    side = side_with()
    titled = lsdt.SideInformation(3, [(0, 1), (1, 2)], [(0, 2)]).with_titles({0: SCRIPT, 2: IMAGE})
    found = lsdt.candidate_set(side)
    agent = lsdt.Agent(side, policy="ucb1", seed=0)
    for _ in range(30):
        decision = agent.ask()
        agent.tell(decision, float(decision.arm % 2))
    log = lsdt.ratings.read_log(lsdt.ratings.make_log(n_users=400, n_items=6, ratings_per_user=5, seed=1)[0])
    matrix = np.random.default_rng(0).integers(1, 6, (300, 6)).astype(float)
    named = lsdt.ratings.RatingLog.from_matrix(matrix, IDS, scale=(1, 5))
    rated = lsdt.from_ratings(named, epsilon=0.3)
    seen = pd.DataFrame({"user": [1, 2], "item": [SCRIPT, "b"], "rating": [0.0, 1.0]})
    events = lsdt.ratings.read_events(seen, scale=(0, 1))
    statistics = lsdt.ratings.pair_statistics(log)
    problem = lsdt.problems.uniform(n_arms=10, epsilon=0.2)
    policies = [lsdt.Policy("ucb1", label=SCRIPT), lsdt.Policy("ts", label="b" * 200)]
    result = lsdt.simulate(problem, policies, horizon=50, replications=3)
    replay = lsdt.replay(named, policies, horizon=40, splits=2)
    circle = lsdt.SideInformation(4, [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 2), (1, 3)], arm_ids=IDS[:4])
    with pytest.raises(lsdt.errors.InconsistentSideInformation) as raised:
        lsdt.candidate_set(circle, "triangles")
    ranged = lsdt.SideInformation(3, better=[(0, 1)], ranges=[(1, 2, 0.05, None)], arm_ids=IDS[:3])
    by_ranges = lsdt.candidate_set(ranged).explain(2)
    own = lsdt.SideInformation(3, [(0, 1), (0, 2)], [(1, 2)], arm_ids=IDS[:3], epsilon=(0.1, 0.3))
    merged = lsdt.merge([side, side_with(3)], [SCRIPT, "b"])
    near, apart = (lsdt.SideInformation(2, *pairs, arm_ids=IDS[:2]) for pairs in ([[(0, 1)]], [[], [(0, 1)]]))
    disputed = lsdt.merge([near, apart], [SCRIPT, IMAGE], on_conflict="unknown")
    means, full = [0.0, 0.4, 0.8, 1.0], lsdt.from_means([0.0, 0.4, 0.8, 1.0], epsilon=0.7)
    features = lsdt.from_features([[i] for i in range(6)], 0.05, 0.1, arm_ids=range(6))
    duckdb = pytest.importorskip("duckdb")
    table = duckdb.sql("select * from (values ('<b>', 'b', 'similar')) as t(a, b, relation)")
    thresholds = lsdt.candidate_set(own, "triangles").explain(0)
    yield from (side, titled, ranged, own, merged, rated, lsdt.from_lazy_frame(table))
    yield from (ranged.ranges, own.thresholds, merged.evidence, disputed.evidence, rated.evidence)
    yield disputed.evidence.contradictions()[0]
    yield from (found, lsdt.candidate_set(titled), lsdt.candidate_set(table, "paper"), found.stages[0])
    yield from (found.explain(SCRIPT), found.explain("a&b"), thresholds, by_ranges)
    yield from (found.explain("a&b").relations[0], thresholds.relations[0], by_ranges.relations[0])
    yield from (found.bounds(found.arm_ids[0]), found.mutual_bounds, raised.value.conflict)
    yield lsdt.recognise(lsdt.complete(4, [(0, 1), (0, 2), (0, 3)], arm_ids=IDS[:4]))
    yield lsdt.recognise(full)
    yield from (agent, decision, agent.rewards, agent.best(), agent.best().runners_up[0], agent.stopping())
    yield from (agent.extend(side), lsdt.policies.Situation(side, agent.rewards))
    yield from (result, replay, lsdt.identify(problem, budget=50), *policies, lsdt.Policy("lsdt_psi"))
    asked = lsdt.next_pairs(lsdt.SideInformation(4, arm_ids=IDS[:4]), n=2)
    yield from (asked, asked.questions[0], lsdt.Inquiry(side))
    yield lsdt.plan(side, tolerance=0.5, policy="ucb1", horizons=[5], n_pairs=0, runs=2)
    yield from (problem, problem.draw(0, 0), lsdt.problems.sparse(n_arms=50, epsilon=0.1))
    yield from (lsdt.problems.given(means, full), lsdt.rewards.gaussian(2.0))
    yield from (
        named,
        events,
        statistics,
        lsdt.ratings.item_statistics(log),
        lsdt.ratings.open_log(duckdb.from_df(seen)),
    )
    yield from (lsdt.ratings.check_missingness(log), lsdt.ratings.search_epsilon(statistics, alpha=0.1))
    yield rated.evidence.relation(*rated.evidence.pairs.iloc[0][["a", "b"]])
    yield from (lsdt.check_side(rated, named), lsdt.check_side(features, log).lipschitz)
    yield from (lsdt.Client("http://x/<b>", name=SCRIPT), lsdt.AsyncClient("http://x"))
    yield RemoteDecision(0, 0, SCRIPT, None, "d")
    yield StoppingAnswer(False, SCRIPT, 0.3, 0.05, 0.1, SCRIPT, 1.2, 3.0, 9, SCRIPT, 0, [SCRIPT], 1)
    yield from (lsdt.theory.fractional_domination(full), lsdt.theory.check_assumptions(full, 0.5, 0.5))
    yield from (
        lsdt.theory.elimination_probability(full, 0.5, 0.5),
        lsdt.theory.lower_bound_rates(full, means),
    )
    yield from (
        lsdt.theory.graves_lai_constant(full, means),
        lsdt.theory.closure_constants(full, means),
        lsdt.theory.upper_bound_csi(full, means, horizon=100),
    )
    for rule in (specification_of("ucb1"), specification_of("lsdt_psi")):
        yield from (rule, *rule.parameters)


def test_every_public_value_has_a_card_that_is_sound_safe_and_small():
    shown = set()
    for value in values():
        page = value._repr_html_()
        words = read(page)
        assert type(page) in (str, html.Html), type(value)
        assert len(page) < MOST_LETTERS, type(value)
        assert any(each.__name__ in words for each in type(value).__mro__[:2]), type(value)
        assert "\u202e" not in page
        shown |= set(type(value).__mro__)
    assert sorted(each.__qualname__ for each in public_classes() - shown) == []


def test_names_that_are_html_are_read_as_names():
    assert SCRIPT in read(lsdt.candidate_set(side_with(), "triangles")._repr_html_())
    titled = lsdt.SideInformation(3, [(0, 1), (1, 2)], [(0, 2)]).with_titles({0: IMAGE})
    assert f"{IMAGE} [0]" in read(titled._repr_html_())
    assert "tea\\u202e" in read(side_with()._repr_html_())


def test_what_is_shown_of_the_example():
    found = lsdt.candidate_set(example("partial"))
    words = read(found._repr_html_())
    assert "of 11 arms" in words
    assert "out by triangles" in words
    assert found.explain(4).text[:60] in words
    words = read(example("partial")._repr_html_())
    assert "similar 17" in words
    assert "dissimilar 21" in words
    assert "neither 17" in words  # 55 pairs in all


def test_large_values_show_a_sample_and_say_so():
    means = np.random.default_rng(0).random(100_000)
    for side in (lsdt.from_means(means, 0.01), lsdt.from_means(means, 0.01).reveal(0.001, 0.001)):
        words = read(side._repr_html_())
        assert "100,000 arms" in words
        assert "and 99,976 more" in words
    found = lsdt.candidate_set(lsdt.from_means(means, 0.01))
    assert "found.explain(arm)" in read(found._repr_html_())
    numbers = lsdt.candidates.GapBounds(np.arange(1e6), np.full(10**6, np.inf))
    assert "1,000,000 numbers from 0 to 1e+06" in read(numbers._repr_html_())
    assert "1,000,000 numbers, none finite" in read(numbers._repr_html_())
    many = lsdt.Agent(lsdt.SideInformation(100_000), policy="ucb1")
    assert "in play, never played 100,000" in read(many._repr_html_())


def test_a_card_computes_no_candidates(monkeypatch):
    side, agent = side_with(), lsdt.Agent(side_with(), policy="ucb1")

    def refuse(*_, **__):
        raise AssertionError("a card asked for candidates")

    monkeypatch.setattr(sys.modules["lsdt.candidates.candidate_set"], "candidate_set", refuse)
    monkeypatch.setattr(lsdt.candidates, "candidate_set", refuse)
    side._repr_html_()
    agent._repr_html_()
    lsdt.problems.uniform(n_arms=5)._repr_html_()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1234567, "1,234,567"),
        (-0.12345678, "−0.1235"),
        (float("nan"), "–"),
        (float("-inf"), "−∞"),
        (True, "yes"),
        (list(range(10)), "0, 1, 2, 3, 4, 5, 6, 7 <span class='lsdt-dim'>… and 2 more</span>"),
        ({"<": "&"}, "&lt;: &amp;"),
        (np.array([1, 2]), "1, 2"),
        (np.zeros((3, 4), bool), "3 × 4 flags, 0 set"),
        ("x" * 1000, "x" * 300 + " … " + "x" * 100),
    ],
)
def test_values_in_a_few_words(value, words):
    assert html.shown(value) == words
