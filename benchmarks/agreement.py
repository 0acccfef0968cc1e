"""How often do the quick methods leave more arms than can be the best? Compare them with ``exact``.

    python benchmarks/agreement.py [--instances N] [--formulas N] [--seed S]

Prints a row per family of instances: how many, of how many arms; on how many of them the triangle rule (B0),
propagation and probing leave an arm that cannot be the best, with the number of such arms in brackets; how
many arms ``exact`` could not decide. Where relations contradict one another no arm can be the best: a method
that leaves some has not seen the contradiction.

- means: uniform means, K = 4 to 20, relations revealed by coins; the families differ in epsilon and p.
- any relations: similar, dissimilar and unknown drawn by coins; those that contradict one another apart.
- formulas: the instances of the paper's NP-hardness proof, small random ones and larger ones without
  complements, with a fresh variable to ask about.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

import lsdt
from lsdt.candidates.propagation.contradiction import part_without_arms
from lsdt.candidates.propagation.method import Clock, derive
from lsdt.candidates.search.exact import run_exact
from lsdt.candidates.search.exact_kernel import CANNOT, UNDECIDED
from lsdt.candidates.search.probing import derive_with_probing
from lsdt.errors import InconsistentSideInformation
from lsdt.reproduce.theorems.hardness.formulas import anchor_instance, random_formula, with_fresh_variable

if TYPE_CHECKING:
    from collections.abc import Iterator

EPSILONS, SHARES = (0.05, 0.1, 0.2, 0.4, 0.8), (0.1, 0.2, 0.3, 0.5, 0.8)
MOST_ARMS = 20
HEAD = [
    "| instances | number | arms | B0 larger | propagation larger | probing larger | undecided | seconds |",
    "|---|---|---|---|---|---|---|---|",
]


def from_means(rng: np.random.Generator, epsilon: float, p: float) -> lsdt.SideInformation:
    means, coins = rng.random(int(rng.integers(4, MOST_ARMS + 1))), int(rng.integers(2**31))
    return lsdt.from_means(means, epsilon).reveal(p, p, coins).explicit()


def from_coins(rng: np.random.Generator, consistent: bool) -> lsdt.SideInformation:
    while has_answer(side := _draw(rng)) is not consistent:
        pass
    return side


def has_answer(side: lsdt.SideInformation) -> bool:
    """Say whether some means satisfy the relations."""
    try:
        run_exact(side)
    except InconsistentSideInformation:
        return False
    return True


def _draw(rng: np.random.Generator) -> lsdt.SideInformation:
    n_arms = int(rng.integers(4, MOST_ARMS + 1))
    similar, dissimilar = rng.uniform(0.3, 3.0, 2) / n_arms  # sparse enough to be consistent now and then
    coin = rng.random(n_arms * (n_arms - 1) // 2)
    pairs = np.array(list(combinations(range(n_arms), 2)))
    near, far = coin < similar, (coin >= similar) & (coin < similar + dissimilar)
    return lsdt.SideInformation(n_arms, pairs[near], pairs[far])


def from_formula(rng: np.random.Generator, n_variables: int | None) -> lsdt.SideInformation:
    if n_variables is None:
        formula = random_formula(rng, int(rng.integers(3, 6)), int(rng.integers(2, 6)))
    else:
        formula = random_formula(rng, n_variables, n_variables, complements=False)
    return anchor_instance(with_fresh_variable(formula))


def families(instances: int, formulas: int) -> Iterator[tuple[str, int, object]]:
    each = -(-instances // (len(EPSILONS) * len(SHARES) + 10))
    for p in SHARES:
        yield (
            f"means, p = {p:g}",
            each * len(EPSILONS),
            lambda rng, p=p: from_means(rng, float(rng.choice(EPSILONS)), p),
        )
    for consistent in (True, False):
        name = "any relations that means satisfy" if consistent else "any contradictory relations"
        yield name, 5 * each, lambda rng, consistent=consistent: from_coins(rng, consistent)
    yield "formulas, 3 to 5 variables", formulas, lambda rng: from_formula(rng, None)
    for n_variables in (4, 6, 8, 10):
        yield (
            f"formulas, {n_variables} variables, as many clauses",
            formulas // 4,
            lambda rng, n_variables=n_variables: from_formula(rng, n_variables),
        )


def compare(side: lsdt.SideInformation) -> tuple[list[int], int]:
    """How many arms too many B0, propagation and probing leave, and how many are undecided."""
    tried = derive_with_probing(side, Clock(None))
    left = [np.flatnonzero(tried.witnesses[:, 0] < 0), derive(side, Clock(None)).left, tried.left]
    for at, arms in enumerate(left):
        if part_without_arms(side, None, arms) is not None:
            left[at] = arms[:0]  # arms that are joined, of which none is left: a contradiction
    try:
        answers = run_exact(side).answers
    except InconsistentSideInformation:
        answers = np.full(side.n_arms, CANNOT)
    assert all(np.isin(np.flatnonzero(answers != CANNOT), arms).all() for arms in left), "not sound"
    return [int((answers[arms] == CANNOT).sum()) for arms in left], int((answers == UNDECIDED).sum())


def row(name: str, count: int, make, seed: int) -> list[int]:  # type: ignore[no-untyped-def]
    started = perf_counter()
    larger, too_many, undecided, sizes = np.zeros(3, int), np.zeros(3, int), 0, []
    for number in range(count):
        side = make(np.random.default_rng((seed, number, *name.encode())))
        extra, open_arms = compare(side)
        sizes.append(side.n_arms)
        larger += np.array(extra) > 0
        too_many += extra
        undecided += open_arms
    shown = [f"{one} ({arms})" for one, arms in zip(larger, too_many, strict=True)]
    cells = [name, f"{count:,}", f"{min(sizes)} to {max(sizes)}", *shown, str(undecided)]
    print(f"| {' | '.join(cells)} | {perf_counter() - started:.0f} |", flush=True)
    return [count, *larger.tolist(), undecided]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=int, default=6000, help="random instances (default 6000)")
    parser.add_argument("--formulas", type=int, default=200, help="small formulas (default 200)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("\n".join(HEAD))
    rows = [
        row(name, count, make, options.seed)
        for name, count, make in families(options.instances, options.formulas)
    ]
    total = np.sum(rows, axis=0).tolist()
    print(f"| all | {total[0]:,} | | {total[1]} | {total[2]} | {total[3]} | {total[4]} | |")


if __name__ == "__main__":
    main()
