"""Two small examples after the pictures of the paper (its Figures 2 and 3)."""

from __future__ import annotations

from lsdt.errors import InvalidInput, suggest
from lsdt.side_information.side_information import SideInformation
from lsdt.side_information.sources.complete import from_means

EXAMPLES = ("complete", "partial")

ARMS = range(1, 12)
# The true means, and others under which arms 5 and 6 are best; relations that hold under both are revealed.
# Chosen by hand, with epsilon, to look like the paper's figures.
EPSILON = 0.15
MEANS = (0.10, 0.11, 0.12, 0.20, 0.27, 0.34, 0.40, 0.45, 0.52, 0.62, 0.64)
OTHER_MEANS = (0.8, 0.8, 0.8, 0.9, 1.0, 1.0, 0.9, 0.9, 0.8, 0.7, 0.6)


def example(name: str) -> SideInformation:
    """Return the example ``'complete'`` or ``'partial'``: eleven arms, called 1 to 11.

    Under complete information arms 1, 2, 3 and arms 10, 11 can be the best. The partial example reveals
    only the relations that would also hold if arms 5 and 6 were the best, so these two stay candidates.

    Examples
    --------
    >>> from lsdt.side_information.examples import example
    >>> example("partial")
    SideInformation(11 arms, 17 similar pairs, 21 dissimilar pairs, partial, epsilon=0.15)
    """
    if name not in EXAMPLES:
        there_are = ", ".join(map(repr, EXAMPLES))
        raise InvalidInput(f"there is no example {name!r}; there are {there_are}{suggest(name, EXAMPLES)}")
    complete = from_means(MEANS, EPSILON, arm_ids=ARMS)
    if name == "complete":
        return complete
    other = from_means(OTHER_MEANS, EPSILON, arm_ids=ARMS)
    revealed: dict[str | None, list[tuple[int, int]]] = {"similar": [], "dissimilar": []}
    for b in ARMS:
        for a in range(1, b):
            if complete.relation(a, b) == other.relation(a, b):
                revealed[complete.relation(a, b)].append((a, b))
    return SideInformation(
        len(ARMS), revealed["similar"], revealed["dissimilar"], arm_ids=ARMS, epsilon=EPSILON
    )
