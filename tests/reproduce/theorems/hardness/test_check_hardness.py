from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from lsdt.errors import InvalidInput
from lsdt.reproduce.framework.claims import FAILS, HOLDS, IN_PART
from lsdt.reproduce.framework.experiment import Request, Work
from lsdt.reproduce.theorems.hardness import formulas
from lsdt.reproduce.theorems.hardness.check_hardness import EXPERIMENT
from lsdt.reproduce.theorems.hardness.formulas import Formula, anchor_instance, link_clauses, random_formula
from lsdt.reproduce.theorems.hardness.reductions import ask


@pytest.fixture(scope="module")
def tables():
    return EXPERIMENT.compute(EXPERIMENT.setting(Request(replications=2, quick=True)), Work())


def solutions(formula, accepted):
    """All assignments under which the numbers of true literals pass, one clause and one literal at a time."""
    found = []
    for values in product((0, 1), repeat=formula.n_variables):
        counts = [
            sum(values[x - 1] if x > 0 else 1 - values[-x - 1] for x in clause) for clause in formula.clauses
        ]
        if accepted(counts):
            found.append(values)
    return found


@pytest.mark.parametrize("seed", range(15))
def test_answers_of_formulas_by_the_book(seed):
    formula = random_formula(np.random.default_rng(seed), 4, 1 + seed % 5)
    assert formula.has_exactly_one() == bool(solutions(formula, lambda counts: set(counts) == {1}))
    assert formula.is_not_all_equal() == bool(solutions(formula, lambda counts: set(counts) <= {1, 2}))
    assert formula.is_consistent() == bool(solutions(formula, lambda counts: set(counts) in ({1}, {2})))
    assert formulas.consistent_with_constant(formula) == formula.has_exactly_one()


def test_answers_that_are_known():
    impossible = Formula(3, ((1, 2, 3), (1, 2, -3)))
    assert impossible.is_not_all_equal()
    assert not impossible.is_consistent()
    every_sign = tuple((a, 2 * b, 3 * c) for a, b, c in product((-1, 1), repeat=3))
    assert not Formula(3, every_sign).is_not_all_equal()
    assert not Formula(3, ((1, 1, 2),)).has_different_variables()


def test_links_by_hand():
    assert link_clauses(Formula(3, ((1, -2, 3),))) == Formula(5, ((1, -2, 4), (-2, 3, 5), (4, 5, -2)))


def test_gadgets_by_hand():
    side = anchor_instance(Formula(3, ((1, -2, 3),)))
    assert (side.n_arms, side.n_similar, side.n_dissimilar) == (16, 15, 27)
    assert side.relation("x2", "x2'") == side.relation("not x2'", "p") == side.relation("v1,2", "not x2")
    assert side.relation("x2", "x2'") == "similar"
    apart = [("x2", "p"), ("x2", "not x2"), ("x2'", "not x2'"), ("v1,2", "x1"), ("v1,1", "v1,3")]
    assert {side.relation(*pair) for pair in apart} == {"dissimilar"}
    assert side.relation("x1", "x3") is None
    assert side.relation("v1,2", "x2") is None


def test_a_literal_twice_in_a_clause_is_a_contradiction():
    with pytest.raises(InvalidInput, match="both as similar and as dissimilar"):
        anchor_instance(Formula(2, ((1, 1, 2),)))


def test_a_question_and_its_proof():
    formula = Formula(4, ((1, 2, 3),))
    asked = ask(formula, anchor_instance(formula), "x4")
    assert asked["can"]
    assert asked["means_hold"]
    assert asked["solution"]
    refused = ask(formula, anchor_instance(formula), "p")
    assert not any(refused[name] for name in ("can", "means_hold", "solution"))


def test_a_tiny_run(tables):
    assert {claim.verdict for claim in EXPERIMENT.claims(tables)} == {HOLDS}
    assert EXPERIMENT.table(tables)["yes"].tolist() == [1, 1, 1, 1, 3]
    assert "where it can and" in EXPERIMENT.discussion(tables)
    assert len(EXPERIMENT.draw(tables).axes[0].lines) == 3


def test_one_run_has_only_a_yes():
    tables = EXPERIMENT.compute(EXPERIMENT.setting(Request(replications=1, quick=True)), Work())
    assert {claim.verdict for claim in EXPERIMENT.claims(tables)} == {HOLDS}
    assert len(EXPERIMENT.draw(tables).axes[0].lines) == 2
    assert "where it can; with random" in EXPERIMENT.discussion(tables)


def test_the_same_seed_gives_the_same_numbers(tables):
    setting = EXPERIMENT.setting(Request(replications=2, quick=True))
    again, other = (EXPERIMENT.compute(setting, Work(seed=seed)) for seed in (0, 1))
    assert all(tables[name].equals(again[name]) for name in tables)
    assert not tables["larger"].equals(other["larger"])


@pytest.mark.parametrize(
    ("table", "column", "value", "claim", "verdict"),
    [
        ("appendix_e", "consistent", False, "hardness-formulas", IN_PART),
        ("appendix_e", "not_all_equal", False, "hardness-formulas", IN_PART),
        ("appendix_f", "fresh", False, "hardness-arms", IN_PART),
        ("larger", "can", False, "hardness-arms", IN_PART),
        ("larger", "undecided", True, "hardness-arms", IN_PART),
        ("appendix_f", "dissimilar", 1, "hardness-sizes", IN_PART),
        ("both", "can", False, "hardness-chain", FAILS),
        ("both", "solution", False, "hardness-certificates", IN_PART),
        ("appendix_f", "means_hold", 0, "hardness-certificates", IN_PART),
    ],
)
def test_one_counterexample_is_enough(tables, table, column, value, claim, verdict):
    changed = {name: rows.copy() for name, rows in tables.items()}
    changed[table].loc[0, column] = value
    verdicts = {found.name: found.verdict for found in EXPERIMENT.claims(changed)}
    assert verdicts[claim] == verdict
    assert all(said == HOLDS for name, said in verdicts.items() if name != claim)
