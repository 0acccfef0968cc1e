"""Formulas with three literals per clause, and the paper's reductions to the candidate set.

A literal is a variable's number, from 1, or minus that number for its complement. Each problem asks for an
assignment with a certain number of true literals in every clause: one (1-IN-3SAT), one or two (not all
equal), or one in all clauses or two in all (consistent). All answers here are found by trying every
assignment.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Clause = tuple[int, int, int]

# The appendix's values of the two new variables (a, b) of a clause, for all values of its three literals.
LINK_VALUES = {
    (0, 0, 0): (1, 1),
    (0, 0, 1): (1, 0),
    (0, 1, 0): (0, 0),
    (1, 0, 0): (0, 1),
    (0, 1, 1): (0, 0),
    (1, 0, 1): (1, 1),
    (1, 1, 0): (0, 0),
    (1, 1, 1): (0, 0),
}


class Formula(NamedTuple):
    """Clauses of three literals over the variables 1 to `n_variables`."""

    n_variables: int
    clauses: tuple[Clause, ...]

    def true_literals(self) -> NDArray[np.int8]:
        """Return how many literals of every clause are true: a row per assignment, a column per clause.

        Row r assigns to variable v the bit v - 1 of r.
        """
        rows = np.arange(2**self.n_variables)[:, None]
        bits = (rows >> np.arange(self.n_variables) & 1).astype(np.int8)
        literals = np.array(self.clauses).reshape(-1, 3)
        counts = np.zeros((len(bits), len(literals)), np.int8)
        for column in literals.T:
            counts += bits[:, np.abs(column) - 1] ^ (column < 0)
        return counts

    def has_exactly_one(self) -> bool:
        """Return whether some assignment makes exactly one literal of every clause true."""
        return bool((self.true_literals() == 1).all(axis=1).any())

    def is_not_all_equal(self) -> bool:
        """Return whether some assignment makes one or two literals of every clause true."""
        counts = self.true_literals()
        return bool(((counts == 1) | (counts == 2)).all(axis=1).any())

    def is_consistent(self) -> bool:
        """Return whether some assignment makes one literal of every clause true, or two of every clause."""
        counts = self.true_literals()
        return bool(((counts == 1).all(axis=1) | (counts == 2).all(axis=1)).any())

    def has_different_variables(self) -> bool:
        """Return whether every clause has three different variables."""
        return all(len({abs(literal) for literal in clause}) == 3 for clause in self.clauses)


def random_formula(
    rng: np.random.Generator, n_variables: int, n_clauses: int, complements: bool = True
) -> Formula:
    """Return random clauses of three different variables; `complements` negates each with probability 1/2."""
    clauses = []
    for _ in range(n_clauses):
        variables = np.sort(rng.choice(n_variables, 3, replace=False)) + 1
        signs = rng.choice([-1, 1], 3) if complements else 1
        first, second, third = (variables * signs).tolist()
        clauses.append((first, second, third))
    return Formula(n_variables, tuple(clauses))


def link_clauses(formula: Formula) -> Formula:
    """Reduce 1-IN-3SAT to 1-CONSISTENT-NAE-3SAT (Appendix E): two more variables per clause."""
    clauses: list[Clause] = []
    for number, (first, second, third) in enumerate(formula.clauses):
        a = formula.n_variables + 2 * number + 1
        b = a + 1
        clauses += [(first, second, a), (second, third, b), (a, b, second)]
    return Formula(formula.n_variables + 2 * len(formula.clauses), tuple(clauses))


def consistent_with_constant(formula: Formula) -> bool:
    """Return whether the appendix's last formula, with the clause (x, not x, 0) added, is consistent.

    The new clause has exactly one true literal under every assignment, so the others must have as many.
    """
    counts = formula.true_literals()
    always_one = np.ones((len(counts), 1), np.int8)
    joined = np.hstack([counts, always_one])
    return bool(((joined == 1).all(axis=1) | (joined == 2).all(axis=1)).any())


def with_fresh_variable(formula: Formula) -> Formula:
    """Return the same clauses with one more variable that none of them uses."""
    return Formula(formula.n_variables + 1, formula.clauses)


def literal_arm(literal: int) -> str:
    """Return the arm that stands for a literal: ``'x3'``, or ``'not x3'`` for its complement."""
    return f"x{literal}" if literal > 0 else f"not x{-literal}"


def anchor_instance(formula: Formula) -> SideInformation:
    """Reduce CONSISTENT-NAE-3SAT to LEFTANCHOR (Appendix F): an arm p, four per variable, three per clause.

    The gadget of a variable is the path x, x', p, (not x)', not x of similar arms, all its other pairs
    dissimilar. The gadget of a clause hangs an arm on each of its literals; the three are dissimilar to one
    another and to the other two literals.
    """
    arms, similar, dissimilar = ["p"], [], []
    for variable in range(1, formula.n_variables + 1):
        x, y = literal_arm(variable), literal_arm(-variable)
        path = [x, f"{x}'", "p", f"{y}'", y]
        arms += [path[0], path[1], path[3], path[4]]
        similar += list(pairwise(path))
        dissimilar += [pair for pair in combinations(path, 2) if pair not in similar]
    for number, clause in enumerate(formula.clauses, 1):
        literals = [literal_arm(literal) for literal in clause]
        hung = [f"v{number},{place}" for place in (1, 2, 3)]
        arms += hung
        similar += list(zip(literals, hung, strict=True))
        dissimilar += [(v, x) for j, v in enumerate(hung) for k, x in enumerate(literals) if j != k]
        dissimilar += list(combinations(hung, 2))
    return SideInformation(len(arms), similar, dissimilar, arm_ids=arms)


def interval_model(formula: Formula, true_variables: Sequence[bool]) -> dict[str, float]:
    """Return where the unit interval of every arm begins, as Appendix F places it (Fig. 12).

    The assignment must make exactly one literal of every clause true, and variable 1 true. True literals are
    a staircase left of p, false ones a staircase right of it; x1 begins leftmost. The arm that a clause hangs
    on its true literal has the same interval as the literal. The arms on its two false literals overlap only
    the end of their literal that the other false literal does not cover: one the left end, one the right.
    """
    n_variables = formula.n_variables
    begins = {"p": 0.0}
    for variable, is_true in enumerate(true_variables, 1):
        stair = 1.0 + 0.8 * (n_variables + 1 - variable) / n_variables
        for literal in (variable, -variable):
            left = (literal > 0) == is_true
            name = literal_arm(literal)
            begins[name], begins[f"{name}'"] = (-stair, -0.9) if left else (stair, 0.9)
    for number, clause in enumerate(formula.clauses, 1):
        arms = {literal_arm(literal): f"v{number},{place}" for place, literal in enumerate(clause, 1)}
        (true,) = (name for name in arms if begins[name] < 0)
        inner, outer = sorted((name for name in arms if begins[name] > 0), key=begins.__getitem__)
        between = (begins[inner] + begins[outer]) / 2
        begins[arms[true]] = begins[true]
        begins[arms[inner]], begins[arms[outer]] = between - 1.0, between + 1.0
    return begins


def true_when_above(formula: Formula, side: SideInformation, means: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of true literals per clause if those above p are true (converse in Appendix F)."""
    middle = means[side.index("p")]
    return np.array(
        [
            sum(bool(means[side.index(literal_arm(literal))] > middle) for literal in clause)
            for clause in formula.clauses
        ]
    )
