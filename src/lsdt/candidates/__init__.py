"""Candidates: the arms that can be the best, given what is known about pairs."""

from lsdt.candidates.candidate_set import candidate_set
from lsdt.candidates.found import CandidateSet
from lsdt.candidates.recognition import recognise

__all__ = ["CandidateSet", "candidate_set", "recognise"]
