"""Candidates: the arms that can be the best, given what is known of pairs.

`candidate_set` is the entry, `options` what it takes, `result` the answer. `proofs` are what anyone can check
the answer with, `minimise` makes them small. The methods have a room each: `complete/` (an order of all
arms), `triangles/`, `propagation/`, `search/`. `seriation` lays arms on a line when relations may be wrong.
"""

from lsdt.candidates.candidate_set import candidate_set
from lsdt.candidates.complete.recognition import recognise
from lsdt.candidates.result import CandidateSet

__all__ = ["CandidateSet", "candidate_set", "recognise"]
