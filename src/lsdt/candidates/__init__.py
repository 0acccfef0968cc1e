"""Candidates: the arms that can be the best, given what is known of pairs.

`candidate_set` is the entry point, `options` its options, `result` the answer, made of the `outcome` of a
method; `reasons` says for which kind of reason each arm is out. `proofs` let anyone check the answer, and
`minimise` makes them small. Each method has a folder: `complete/` (an order of all arms), `triangles/`,
`propagation/`, `search/`. `seriation` places arms on a line when relations may be wrong.

Other folders import from here: `find_anchors` and `proper_order` for complete information,
`candidate_classes` for many problems with complete information at once, `gap_bounds` and `mutual_bounds` for
how far arms lie below the best, `triangle_survivors` where an empty answer is not an error, `read_ranges` for
rules that use only similar and dissimilar pairs.
"""

from lsdt.candidates.candidate_set import candidate_set
from lsdt.candidates.complete.anchors import Anchors, CandidateClasses, candidate_classes, find_anchors
from lsdt.candidates.complete.interval_model import UnitIntervalModel
from lsdt.candidates.complete.proper_order import ProperOrder, proper_order
from lsdt.candidates.complete.recognition import ForbiddenSubgraph, recognise
from lsdt.candidates.proofs import Explanation, Relation
from lsdt.candidates.propagation.gap_bounds import (
    MOST_BOUNDS,
    GapBounds,
    MutualBounds,
    gap_bounds,
    mutual_bounds,
)
from lsdt.candidates.propagation.method import Stage
from lsdt.candidates.propagation.order import excluded_by_order
from lsdt.candidates.result import CandidateSet
from lsdt.candidates.triangles.conflict import Conflict
from lsdt.candidates.triangles.range_pairs import read_ranges
from lsdt.candidates.triangles.rule import triangle_survivors

__all__ = [
    "MOST_BOUNDS",
    "Anchors",
    "CandidateClasses",
    "CandidateSet",
    "Conflict",
    "Explanation",
    "ForbiddenSubgraph",
    "GapBounds",
    "MutualBounds",
    "ProperOrder",
    "Relation",
    "Stage",
    "UnitIntervalModel",
    "candidate_classes",
    "candidate_set",
    "excluded_by_order",
    "find_anchors",
    "gap_bounds",
    "mutual_bounds",
    "proper_order",
    "read_ranges",
    "recognise",
    "triangle_survivors",
]
