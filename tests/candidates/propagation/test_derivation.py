from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.candidates.propagation.constraints import system_around
from lsdt.candidates.propagation.derivation import hypothesis, shrink, steps_of
from lsdt.candidates.propagation.exclusion import arms_possible, explain_exclusion, refutation_around
from lsdt.errors import ContradictionWarning
from naive.candidates import by_orders
from naive.checkers import derives_contradiction, excludes, in_epsilons
from strategies import integer_means, true_thresholds

SideInformation = lsdt.SideInformation
TWO_HOOKS = {"similar": [(4, 0), (4, 2), (0, 1), (2, 3)], "dissimilar": [(4, 1), (4, 3), (1, 3)]}


def told(relations):
    return {(frozenset((a, b)), word) for a, b, word, *_ in relations}


def quiet(side):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)
        return lsdt.candidate_set(side, "propagation")


def revealed(seed, n_arms=40, epsilon=0.15, share=0.25):
    means = np.random.default_rng(seed).uniform(size=n_arms)
    return lsdt.from_means(means, epsilon).reveal(share, share, seed=seed)


def derived(found):
    """Explanations of all arms that took more than a triangle."""
    explained = [found.explain(arm) for arm in range(found.side.n_arms) if arm not in found]
    return [one for one in explained if one.steps]


def without(side, arms, dropped):
    """What is left of the relations among `arms`, which become 0, 1, ..., without some pairs."""
    number = {arm: at for at, arm in enumerate(arms)}
    pairs = {
        word: [(number[a], number[b]) for a, b in listed if a in number and b in number]
        for word, listed in (
            ("similar", side.similar_pairs().tolist()),
            ("dissimilar", side.dissimilar_pairs().tolist()),
        )
    }
    gone = {frozenset((number[a], number[b])) for a, b in dropped}
    return SideInformation(
        len(arms), *([pair for pair in pairs[word] if frozenset(pair) not in gone] for word in pairs)
    )


def only(explanation):
    """Side information that holds an explanation's relations and nothing else, and where its arm is."""
    arms = sorted({arm for a, b, _ in explanation.relations for arm in (a, b)})
    number = {arm: at for at, arm in enumerate(arms)}
    pairs = {
        word: [(number[a], number[b]) for a, b, said in explanation.relations if said == word]
        for word in ("similar", "dissimilar")
    }
    return SideInformation(len(arms), **pairs), number[explanation.arm]


def test_the_chain_of_two_hooks_by_hand():
    explanation = lsdt.candidate_set(SideInformation(5, **TWO_HOOKS), "propagation").explain(4)
    assert str(explanation).splitlines()[1:] == [
        "  1. d(1) >= 1: 4 and 1 are dissimilar.",
        "  2. d(3) >= 1: 4 and 3 are dissimilar.",
        "  3. d(1) >= d(3) + 1: 3 and 1 are dissimilar, and d(3) < d(2) + 1 < 2",
        "     <= d(1) + 1 [1].",
        "  4. But d(3) <= d(1) - 1 [3] < d(0) < 1 <= d(3) [2]: a contradiction.",
    ]
    assert len(explanation.relations) == 7
    assert sorted(explanation.pairs) == [(1, 3), (1, 4), (3, 4)]
    assert [step.kind for step in explanation.steps] == ["order"] * 3 + ["contradiction"]


@given(integer_means(max_arms=14), st.sampled_from([0.4, 0.7, 1.0]), st.integers(0, 99))
def test_every_excluded_arm_has_a_proof(problem, share, seed):
    side = lsdt.from_means(*problem).reveal(share, share, seed=seed)
    found = lsdt.candidate_set(side, "propagation")
    for arm in range(side.n_arms):
        explanation = found.explain(arm)
        assert explanation.is_candidate == (arm in found.arms)
        if explanation.steps:
            used = derives_contradiction(in_epsilons(side), explanation.steps, arm)
            assert used == told(explanation.relations)
        elif not explanation.is_candidate:
            assert excludes(side, explanation)


@pytest.mark.parametrize("share", [0.2, 0.3, 0.5])
def test_proofs_of_larger_problems_hold_and_are_lean(share, thorough):
    """No relation of a proof can be left out; together they exclude the arm in every order of few arms."""
    n_proofs, n_searched, problems = 0, 0, 12 if thorough else 2
    for seed in range(problems):
        side = revealed(seed, share=share)
        for explanation in derived(lsdt.candidate_set(side)):
            n_proofs += 1
            used = derives_contradiction(in_epsilons(side), explanation.steps, explanation.arm)
            assert used == told(explanation.relations)
            small, arm = only(explanation)
            assert arm not in quiet(small).arms
            if small.n_arms <= 6:
                n_searched += 1
                pairs = (map(frozenset, small.similar_pairs().tolist()), small.dissimilar_pairs().tolist())
                left = by_orders(small.n_arms, set(pairs[0]), set(map(frozenset, pairs[1])))
                assert arm not in left
            if n_proofs % 8 == 0:
                every = range(small.n_arms)
                for a, b in [*small.similar_pairs().tolist(), *small.dissimilar_pairs().tolist()]:
                    assert arm in quiet(without(small, every, [(a, b)])).arms
    assert n_proofs > 3 * problems
    assert n_searched > 0


def corruptions(steps):
    """Derivations that are wrong in one place each."""
    last = len(steps) - 1
    yield "no contradiction", steps[:-1]
    yield "nothing", ()
    yield "contradiction first", (steps[-1], *steps)
    for at, step in enumerate(steps):
        before, after = steps[:at], steps[at + 1 :]
        if at < last:
            yield "turned", (*before, step._replace(above=step.below, below=step.above), *after)
            yield "further apart", (*before, step._replace(apart=2.0), *after)
            yield "supposed", (*before, step._replace(kind="supposition"), *after)
            yield "left out", (*before, *after)
        for number, link in enumerate(step.links):
            head, tail = step.links[:number], step.links[number + 1 :]
            if len(step.links) > 1:
                yield "gap", (*before, step._replace(links=(*head, *tail)), *after)
            for wrong in (
                link._replace(bound=link.bound - 1),
                link._replace(strict=not link.strict),
                link._replace(start=link.end, end=link.start),
                link._replace(why="similar" if link.why != "similar" else "best"),
                link._replace(why=f"step {at + 1}"),
            ):
                yield "link", (*before, step._replace(links=(*head, wrong, *tail)), *after)


def test_the_checker_rejects_what_is_wrong():
    tried = set()
    for seed in range(2):
        side = revealed(seed)
        for explanation in derived(lsdt.candidate_set(side))[:2]:
            arm, steps = explanation.arm, explanation.steps
            assert derives_contradiction(in_epsilons(side), steps, arm) is not None
            assert derives_contradiction(in_epsilons(side), steps, None) is None or not any(
                link.why == "best" for step in steps for link in step.links
            )
            for name, wrong in corruptions(steps):
                assert derives_contradiction(in_epsilons(side), wrong, arm) is None, name
                tried.add(name)
            for a, b, _ in explanation.relations:
                less = without(side, list(range(side.n_arms)), [(a, b)])
                assert derives_contradiction(in_epsilons(less), steps, arm) is None
    assert len(tried) == 9


def test_large_balls_are_shrunk_by_intervals_first():
    side = revealed(3, share=0.35)
    found = lsdt.candidate_set(side)
    system = system_around(side, np.arange(side.n_arms))
    every = np.arange(side.n_arms)
    by_intervals = np.flatnonzero(~arms_possible(hypothesis(system, every), every, most_closed=2))
    assert len(by_intervals) > 5
    assert refutation_around(system, int(found.arms[0]), side.n_arms, 256) is None
    for arm in by_intervals.tolist():
        wide = refutation_around(system, arm, side.n_arms, 2)
        assert wide is not None
        assert derives_contradiction(in_epsilons(side), steps_of(side, system, shrink(wide)), arm) is not None
    arm = derived(found)[0].arm
    explanation = explain_exclusion(side, system, arm, side.n_arms, 256, most_derived=1)
    assert "too long to be listed" in str(explanation)
    assert explanation.steps == ()
    assert only(explanation)[1] not in quiet(only(explanation)[0]).arms


def test_names_of_arms_and_json():
    side = SideInformation(5, **TWO_HOOKS, arm_ids=None)
    names = ["latte", "flat white", "mocha", "ristretto", "espresso"]
    named = SideInformation(
        5,
        *([(names[a], names[b]) for a, b in TWO_HOOKS[word]] for word in ("similar", "dissimilar")),
        arm_ids=names,
    )
    explanation = lsdt.candidate_set(named).explain("espresso")
    assert "d('flat white') >= 1: 'espresso' and 'flat white' are dissimilar." in str(explanation)
    out = json.loads(json.dumps(explanation.to_dict()))
    assert out["steps"][0] == {
        "kind": "order",
        "above": "espresso",
        "below": "flat white",
        "apart": 1.0,
        "links": [
            {"start": "flat white", "end": "espresso", "bound": 0.0, "strict": False, "why": "best"},
        ],
    }
    assert lsdt.candidate_set(side, "triangles").explain(0).to_dict()["steps"] == []


def test_what_is_known_of_an_arm_that_stays():
    found = lsdt.candidate_set(SideInformation(6, **TWO_HOOKS))
    text = str(found.explain(3))
    assert (
        "4 gaps to other arms would have an upper bound (nearest: 2 (0 to 1), 4 (1 to 2), 0 (1 to 3))" in text
    )
    assert "bounds(3) gives all" in text
    assert "Nothing is known about the gaps to other arms" in str(found.explain(5))
    assert "1 more a lower one" in str(lsdt.candidate_set(SideInformation(3, [(0, 1)], [(0, 2)])).explain(0))


@given(true_thresholds(max_arms=9), st.sampled_from([1.0, 0.1]))
def test_distinct_thresholds(problem, scale):
    means, similar, dissimilar = problem
    values = tuple([scale * value for value in relation.values()] for relation in (similar, dissimilar))
    side = SideInformation(len(means), list(similar), list(dissimilar), epsilon=values)
    if side.thresholds is None:  # all the same
        return
    for explanation in derived(lsdt.candidate_set(side, "propagation")):
        steps = tuple(whole(step, scale) for step in explanation.steps)

        def bounds(a, b):
            pair = (min(a, b), max(a, b))
            return dissimilar.get(pair, 0), similar.get(pair, np.inf)

        assert derives_contradiction(bounds, steps, explanation.arm) == told(explanation.relations)
        for a, b, word, threshold in explanation.relations:
            known = (similar if word == "similar" else dissimilar)[min(a, b), max(a, b)]
            assert threshold == pytest.approx(scale * known)
        assert "in epsilons" not in str(explanation)


def whole(step, scale):
    """A step in whole numbers of `scale`, of which all its numbers must be multiples but for rounding."""

    def number(value):
        assert value / scale == pytest.approx(round(value / scale), abs=1e-9)
        return round(value / scale)

    links = tuple(link._replace(bound=number(link.bound)) for link in step.links)
    return step._replace(apart=number(step.apart), links=links)
