"""Is complete side information a unit interval graph at all? With a proof either way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.candidates.complete.forbidden_subgraphs import ForbiddenSubgraph, find_forbidden
from lsdt.candidates.complete.interval_model import UnitIntervalModel, model_of_order
from lsdt.candidates.complete.proper_order import proper_order
from lsdt.candidates.proofs import check_side_information
from lsdt.errors import NotUnitInterval, Unsupported

if TYPE_CHECKING:
    from lsdt.side_information import SideInformation


def recognise(side: SideInformation) -> UnitIntervalModel | ForbiddenSubgraph:
    """Decide whether complete side information is a unit interval graph, in linear time.

    Parameters
    ----------
    side : SideInformation
        Complete side information.

    Returns
    -------
    UnitIntervalModel or ForbiddenSubgraph
        Intervals that realise the similarities, or arms whose relations no means can satisfy. Both have
        ``is_unit_interval``.

    Examples
    --------
    >>> import lsdt
    >>> path = lsdt.complete(4, similar=[(2, 0), (0, 3), (3, 1)])
    >>> lsdt.recognise(path).order.tolist()
    [1, 3, 0, 2]
    >>> circle = lsdt.complete(4, similar=[(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> lsdt.recognise(circle).kind
    'hole'
    """
    check_side_information(side)
    if not side.is_complete:
        raise Unsupported(
            "only complete side information can be recognised as a unit interval graph, and this is partial"
        )
    proper = proper_order(side.store)
    return find_forbidden(side) if proper is None else model_of_order(proper)


def not_unit_interval(side: SideInformation) -> NotUnitInterval:
    """Return the error that shows why complete side information is no unit interval graph."""
    certificate = find_forbidden(side)
    return NotUnitInterval(
        f"no means can satisfy these relations: they are not a unit interval graph.\n"
        f"There is a {certificate}.\n"
        "Correct one of these relations, or give as dissimilar only pairs that are known to be. The method "
        "'triangles' with max_wrong=r keeps the best arm as long as at most r relations are wrong.",
        certificate,
    )
