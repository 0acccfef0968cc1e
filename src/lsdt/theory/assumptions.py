"""Assumptions 3 to 5 and Theorem 5 of the paper: when partial information is as good as complete."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import checked_share
from lsdt.candidates import Anchors, check_side_information, find_anchors
from lsdt.errors import Unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation


class AssumptionCheck(NamedTuple):
    """Whether Assumptions 3 to 5 hold for one graph; `text` says it in words.

    ``diverse``: Assumption 3. ``kappa_of_classes``: the largest kappa for which Assumption 4 holds.
    ``kappa_of_revealing``: the smallest for which Assumption 5 holds. ``product``: p_S^2 p_D. ``hold``:
    whether all three hold with one kappa.
    """

    diverse: bool
    kappa_of_classes: float
    kappa_of_revealing: float
    product: float
    hold: bool
    text: str

    def _repr_html_(self) -> str:
        return fields_card(self)


class Elimination(NamedTuple):
    """Probability that the triangle rule eliminates every arm that cannot be best; `text` says it in words.

    ``probability``: a lower bound for this graph. ``theorem``: the bound of Theorem 5's proof. ``stated``:
    the theorem's 1 - 1/K^2, which its proof does not give. Both are 0 if an assumption fails: the theorem
    says nothing then.
    """

    probability: float
    theorem: float
    stated: float
    text: str

    def _repr_html_(self) -> str:
        return fields_card(self)


class _Twins(NamedTuple):
    """Classes of arms with equal neighbourhoods, in proper order.

    `size` counts the arms of a class. Classes ``left`` to ``right - 1`` are similar to it. `inner` classes
    cannot contain the best arm.
    """

    size: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    inner: NDArray[np.bool_]


def check_assumptions(side: SideInformation, p_similar: float, p_dissimilar: float) -> AssumptionCheck:
    """Check Assumptions 3 to 5 for a complete graph whose relations are revealed at random.

    Assumption 3: every class between the ends is similar to two classes that are dissimilar. Assumption 4:
    every class has at least kappa log K arms. Assumption 5: p_S^2 p_D >= 1 - exp(-2 / kappa). In a
    disconnected graph every component must satisfy them (Section 5.1).

    Parameters
    ----------
    side : SideInformation
        The complete graph; `lsdt.from_means` makes it from means and epsilon.
    p_similar, p_dissimilar : float
        The probabilities p_S and p_D with which its relations are revealed.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> means = np.repeat(np.arange(5) * .4, 40) + np.tile(np.arange(40) * 1e-4, 5)
    >>> side = lsdt.from_means(means, epsilon=.5)
    >>> check = lsdt.theory.check_assumptions(side, p_similar=.7, p_dissimilar=.7)
    >>> check.hold
    True
    >>> print(check.text)
    Assumption 3 holds. Assumption 4 holds for kappa up to 7.55: the smallest class has 40 of 200 arms.
    Assumption 5 holds for kappa from 4.76 on: p_S^2 p_D = 0.343. All three hold together.
    """
    anchors, p_similar, p_dissimilar = _check_probabilities(side, p_similar, p_dissimilar)
    twins = _twins(anchors)
    product = p_similar**2 * p_dissimilar
    smallest = int(twins.size.min())
    classes = math.inf if side.n_arms == 1 else smallest / math.log(side.n_arms)
    revealing = math.inf if product == 0.0 else 0.0 if product == 1.0 else -2.0 / math.log1p(-product)
    diverse = bool((_witnesses(twins)[twins.inner] > 0).all())
    together = diverse and revealing <= classes and classes > 0.0
    third = "holds" if diverse else "does not hold: a class has no two dissimilar classes similar to it"
    text = (
        f"Assumption 3 {third}. Assumption 4 holds for kappa up to {classes:.3g}: the smallest class has "
        f"{smallest} of {side.n_arms} arms. Assumption 5 holds for kappa from {revealing:.3g} on: p_S^2 p_D "
        f"= {product:.3g}. {'All three hold together.' if together else 'They do not hold together.'}"
    )
    return AssumptionCheck(diverse, classes, revealing, product, together, text)


def elimination_probability(side: SideInformation, p_similar: float, p_dissimilar: float) -> Elimination:
    """Bound the probability that the triangle rule eliminates every arm that cannot be best (Theorem 5).

    An arm with N disjoint pairs of witnesses survives with probability at most (1 - p_S^2 p_D)^N. The
    assumptions make that at most 1 / K^2, and the union over the arms gives 1 - 1 / K, not the stated 1 - 1 /
    K^2. The same sum holds without the assumptions: that is ``probability``.

    Parameters are those of `check_assumptions`.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> means = np.repeat(np.arange(5) * .4, 40) + np.tile(np.arange(40) * 1e-4, 5)
    >>> side = lsdt.from_means(means, epsilon=.5)
    >>> chance = lsdt.theory.elimination_probability(side, p_similar=.7, p_dissimilar=.7)
    >>> round(chance.probability, 6), round(chance.theorem, 3), round(chance.stated, 6)
    (0.999994, 0.997, 0.999975)
    """
    check = check_assumptions(side, p_similar, p_dissimilar)
    anchors = find_anchors(side)
    twins = _twins(anchors)
    stay = (1.0 - check.product) ** _witnesses(twins)[twins.inner]
    probability = max(0.0, 1.0 - float(twins.size[twins.inner] @ stay))
    n_arms, inside = side.n_arms, int(twins.size[twins.inner].sum())
    if not inside:
        return Elimination(1.0, 1.0, 1.0, "no arm needs to be eliminated: every arm can be the best")
    text = (
        f"all {inside} arms that cannot be best are eliminated with probability at least {probability:.6g}; "
    )
    if not check.hold:
        return Elimination(
            probability, 0.0, 0.0, f"{text}Theorem 5 says nothing here, because its assumptions fail"
        )
    theorem, stated = 1.0 - inside / n_arms**2, 1.0 - 1.0 / n_arms**2
    text += f"Theorem 5's proof gives at least {theorem:.6g}, its statement {stated:.6g}"
    return Elimination(probability, theorem, stated, text)


def _check_probabilities(
    side: SideInformation, p_similar: float, p_dissimilar: float
) -> tuple[Anchors, float, float]:
    check_side_information(side)
    if not side.is_complete:
        raise Unsupported(
            "the assumptions are about the complete graph behind what is revealed, and this side information "
            "is partial; give the complete one, for example lsdt.from_means(means, epsilon)"
        )
    shares = checked_share(p_similar, "p_similar"), checked_share(p_dissimilar, "p_dissimilar")
    return find_anchors(side), *shares


def _twins(anchors: Anchors) -> _Twins:
    """Group the positions of the proper order that have equal windows."""
    proper = anchors.proper
    left, right = proper.left_end.astype(np.int64), proper.right_end.astype(np.int64)
    starts = np.flatnonzero((np.diff(left, prepend=-1) != 0) | (np.diff(right, prepend=-1) != 0))
    number = np.searchsorted(starts, np.arange(len(left)), side="right") - 1
    inner = ~np.isin(proper.order[starts], anchors.members)
    size = np.diff(np.append(starts, len(left)))
    return _Twins(size, number[left[starts]], number[right[starts] - 1] + 1, inner)


def _witnesses(twins: _Twins) -> NDArray[np.int64]:
    """Return, for every inner class, the most disjoint pairs of witnesses that any two classes provide.

    The two classes lie on either side of it, are similar to it and dissimilar to each other. Other classes,
    and inner ones without witnesses, get 0.
    """
    most = np.zeros(len(twins.size), np.int64)
    for place in np.flatnonzero(twins.inner):
        lower = np.arange(twins.left[place], place)
        # tops[i]: the size of the largest class from place + 1 + i to the end of the window, 0 beyond it
        upper = twins.size[place + 1 : twins.right[place]]
        tops = np.append(np.maximum.accumulate(upper[::-1])[::-1], 0)
        first = np.clip(twins.right[lower] - place - 1, 0, len(upper))
        most[place] = np.minimum(twins.size[lower], tops[first]).max(initial=0)
    return most
