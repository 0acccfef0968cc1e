"""Candidates: the arms that can be the best, given what is known of pairs.

`candidate_set` is the entry, `options` what it takes, `result` the answer. `proofs` are what anyone can check
the answer with, `minimise` makes them small. The methods have a room each: `complete/` (an order of all
arms), `triangles/`, `propagation/`, `search/`. `seriation` lays arms on a line when relations may be wrong.
"""

from lsdt.candidates.candidate_set import candidate_set
from lsdt.candidates.complete.interval_model import UnitIntervalModel
from lsdt.candidates.complete.recognition import ForbiddenSubgraph, recognise
from lsdt.candidates.proofs import Explanation, Relation
from lsdt.candidates.propagation.gap_bounds import GapBounds, MutualBounds
from lsdt.candidates.propagation.method import Stage
from lsdt.candidates.result import CandidateSet
from lsdt.candidates.triangles.conflict import Conflict

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
