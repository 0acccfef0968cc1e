"""Candidates: the arms that can be the best, given what is known about pairs.

`candidate_set` is the entry point, `options` its options. A method returns an `outcome`, which becomes the
`result`; `reasons` classifies why each arm is out. `proofs` let anyone check the answer, and `minimise` makes
them small. Each method has a folder: `complete/` (an order of all arms), `triangles/`, `propagation/`,
`search/`, `top/` (for the best m), and `out_of_core/` for pairs in an engine. `seriation` places arms on a
line when relations may be wrong.

Other folders import from here: `find_anchors` and `proper_order` for complete information,
`candidate_classes` for many problems with complete information at once, `mutual_bounds` for how far arms lie
below the best, `triangle_survivors` where an empty answer is not an error, `read_ranges` for
rules that use only similar and dissimilar pairs.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "CandidateSet",
    "Conflict",
    "Explanation",
    "ForbiddenSubgraph",
    "GapBounds",
    "MutualBounds",
    "Relation",
    "Stage",
    "UnitIntervalModel",
    "candidate_set",
    "recognise",
]
