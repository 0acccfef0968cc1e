"""The paper's two reductions on random formulas, each answered in two ways.

Formulas are answered by trying all assignments, arms by the method ``exact``. Formulas are drawn until they
have the wanted answer, so that yes and no alternate.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import CAN, UNDECIDED, Component, components_of, whole_system
from lsdt.reproduce.framework.certificates import makes_best
from lsdt.reproduce.theorems.hardness.formulas import (
    LINK_VALUES,
    Formula,
    anchor_instance,
    consistent_with_constant,
    link_clauses,
    literal_arm,
    random_formula,
    true_when_above,
    with_fresh_variable,
)
from lsdt.side_information import SideInformation, from_means

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = dict[str, Any]
    Sizes = dict[str, list[int]]

_E, _F, _BOTH, _LARGER = range(4)  # one stream of random numbers each


def links() -> list[Row]:
    """Return Appendix E's values of the new variables, and how many literals are true in each clause."""
    rows = []
    for first, second, third in product((0, 1), repeat=3):
        a, b = LINK_VALUES[first, second, third]
        counts = (first + second + a, second + third + b, a + b + second)
        rows.append(
            {"x1": first, "x2": second, "x3": third, "a": a, "b": b}
            | {f"true_in_clause_{place}": count for place, count in enumerate(counts, 1)}
        )
    return rows


def first_step(sizes: Sizes, seed: int, run: int) -> Row:
    """Reduce 1-IN-3SAT to a not-all-equal satisfiable formula (Appendix E) and compare the answers."""
    rng = np.random.default_rng((seed, _E, run))
    formula = _draw_formula(rng, sizes, run % 2 == 0, Formula.has_exactly_one)
    reduced = link_clauses(formula)
    return {
        "run": run,
        "variables": formula.n_variables,
        "clauses": len(formula.clauses),
        "answer": formula.has_exactly_one(),
        "one": reduced.has_exactly_one(),
        "consistent_with_constant": consistent_with_constant(reduced),
        "consistent": reduced.is_consistent(),
        "not_all_equal": reduced.is_not_all_equal(),
        "different_variables": reduced.has_different_variables(),
        "reduced_variables": reduced.n_variables,
        "reduced_clauses": len(reduced.clauses),
    }


def second_step(sizes: Sizes, seed: int, run: int) -> Row:
    """Reduce a not-all-equal satisfiable formula to arms (Appendix F) and compare the answers.

    The paper asks two questions, whether x1 or its complement can be the best; with a fresh variable one is
    enough.
    """
    rng = np.random.default_rng((seed, _F, run))
    formula = _draw_formula(rng, sizes, run % 2 == 0, _consistent_if_promised)
    side, fresh = anchor_instance(formula), with_fresh_variable(formula)
    queries = [
        ask(formula, side, literal_arm(1)),
        ask(formula, side, literal_arm(-1)),
        ask(formula, anchor_instance(fresh), literal_arm(fresh.n_variables)),
    ]
    some = _whole(side).decide(None)
    model = None if some.depths is None else true_when_above(formula, side, -some.depths)
    return {
        "run": run,
        "variables": formula.n_variables,
        "clauses": len(formula.clauses),
        "arms": side.n_arms,
        "similar": side.n_similar,
        "dissimilar": side.n_dissimilar,
        "answer": formula.is_consistent(),
        **dict(zip(("x1", "not_x1", "fresh"), (query["can"] for query in queries), strict=True)),
        "fits": model is not None,
        "model_is_not_all_equal": model is not None and bool(np.isin(model, (1, 2)).all()),
        "undecided": sum(query["undecided"] for query in queries),
        "certificates": sum(query["can"] for query in queries),
        "means_hold": sum(query["means_hold"] for query in queries),
        "solution": sum(query["solution"] for query in queries),
    }


def both_steps(sizes: Sizes, seed: int, run: int) -> Row:
    """Reduce 1-IN-3SAT to one question about one arm: Appendix E, then F with a fresh variable."""
    rng = np.random.default_rng((seed, _BOTH, run))
    formula = _draw_formula(rng, sizes, run % 2 == 0, Formula.has_exactly_one)
    reduced = with_fresh_variable(link_clauses(formula))
    side = anchor_instance(reduced)
    return {
        "run": run,
        "variables": formula.n_variables,
        "clauses": len(formula.clauses),
        "arms": side.n_arms,
        "answer": formula.has_exactly_one(),
        **ask(reduced, side, literal_arm(reduced.n_variables)),
    }


def larger_formula(n_variables: int, epsilon: float, p: float, seed: int, run: int) -> Row:
    """Decide a larger formula by its arms and, for comparison, one of as many arms with random relations.

    Without complements and with as many clauses as variables both answers are likely and the search is long.
    """
    rng = np.random.default_rng((seed, _LARGER, n_variables, run))
    size = [n_variables, n_variables]
    formula = _draw_formula(
        rng, {"variables": size, "clauses": size}, run % 2 == 0, _consistent_if_promised, complements=False
    )
    side = anchor_instance(with_fresh_variable(formula))
    answer = ask(formula, side, literal_arm(n_variables + 1))
    means, coins = rng.random(side.n_arms), int(rng.integers(2**31))
    usual = whole_system(from_means(means, epsilon).reveal(p, p, coins))
    arm = int(rng.integers(side.n_arms))
    component = next(members for members in components_of(usual, np.arange(side.n_arms)) if arm in members)
    return {
        "run": run,
        "variables": n_variables,
        "arms": side.n_arms,
        "answer": formula.is_consistent(),
        "can": answer["can"],
        "undecided": answer["undecided"],
        "orders": answer["orders"],
        "random_orders": Component(usual, component).decide(arm).orders,
    }


def ask(formula: Formula, side: SideInformation, name: str) -> Row:
    """Decide whether an arm can be the best, and check the proof.

    The means must satisfy every relation and make the arm the best. The assignment read off them must be
    a solution: one literal of every clause lies on the side of p where the best arm lies.
    """
    arm = side.index(name)
    verdict = _whole(side).decide(arm)
    means = None if verdict.depths is None else -verdict.depths
    return {
        "can": verdict.answer == CAN,
        "undecided": verdict.answer == UNDECIDED,
        "orders": verdict.orders,
        "means_hold": makes_best(side, means, 1.0, arm),
        "solution": means is not None and bool((true_when_above(formula, side, means) == 1).all()),
    }


def _draw_formula(
    rng: np.random.Generator,
    sizes: Sizes,
    wanted: bool,
    answer: Callable[[Formula], bool | None],
    complements: bool = True,
) -> Formula:
    """Return a random formula with the wanted answer; formulas answered None are skipped."""
    while True:
        n_variables, n_clauses = (
            int(rng.integers(sizes[name][0], sizes[name][1] + 1)) for name in ("variables", "clauses")
        )
        formula = random_formula(rng, n_variables, n_clauses, complements)
        if answer(formula) is wanted:
            return formula


def _consistent_if_promised(formula: Formula) -> bool | None:
    return formula.is_consistent() if formula.is_not_all_equal() else None


def _whole(side: SideInformation) -> Component:
    """Return all arms as one component, since arm p joins the gadgets."""
    return Component(whole_system(side), np.arange(side.n_arms))
