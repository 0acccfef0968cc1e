"""lsdt: learn which of very many arms is best when some pairs are known to be similar or dissimilar.

Names are loaded when first used, so that ``import lsdt`` and ``lsdt --help`` stay instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsdt import errors, plotting, policies, problems, ratings, replays, theory
    from lsdt.agent import Agent, ArmEstimate, Decision, Extension, Recommendation, Stopping
    from lsdt.candidates import (
        CandidateSet,
        Conflict,
        Explanation,
        ForbiddenSubgraph,
        GapBounds,
        MutualBounds,
        Relation,
        Stage,
        UnitIntervalModel,
        candidate_set,
        recognise,
    )
    from lsdt.identification import (
        Identification,
        Inquiry,
        NextPairs,
        PairQuestion,
        identify,
        next_pairs,
    )
    from lsdt.policies import Policy
    from lsdt.policies.situation import Situation
    from lsdt.problems import rewards
    from lsdt.ratings import RatingEvidence, SideCheck, check_side, from_ratings
    from lsdt.replays import ReplayResult, replay
    from lsdt.service.client import AsyncClient, Client
    from lsdt.side_information import (
        Contradiction,
        MergeReport,
        PairRanges,
        PairThresholds,
        SideInformation,
        complete,
        from_features,
        from_frame,
        from_groups,
        from_means,
        from_networkx,
        from_scipy,
        load,
        merge,
    )
    from lsdt.side_information.engines import LazyPairs, from_lazy_frame
    from lsdt.simulation import SimulationResult, simulate

__version__ = "0.2.0"
__all__ = [
    "Agent",
    "ArmEstimate",
    "AsyncClient",
    "CandidateSet",
    "Client",
    "Conflict",
    "Contradiction",
    "Decision",
    "Explanation",
    "Extension",
    "ForbiddenSubgraph",
    "GapBounds",
    "Identification",
    "Inquiry",
    "LazyPairs",
    "MergeReport",
    "MutualBounds",
    "NextPairs",
    "PairQuestion",
    "PairRanges",
    "PairThresholds",
    "Policy",
    "RatingEvidence",
    "Recommendation",
    "Relation",
    "ReplayResult",
    "SideCheck",
    "SideInformation",
    "SimulationResult",
    "Situation",
    "Stage",
    "Stopping",
    "UnitIntervalModel",
    "candidate_set",
    "check_side",
    "complete",
    "errors",
    "from_features",
    "from_frame",
    "from_groups",
    "from_lazy_frame",
    "from_means",
    "from_networkx",
    "from_ratings",
    "from_scipy",
    "identify",
    "load",
    "merge",
    "next_pairs",
    "plotting",
    "policies",
    "problems",
    "ratings",
    "recognise",
    "replay",
    "replays",
    "rewards",
    "simulate",
    "theory",
]

_MODULES = {
    "errors": "lsdt.errors",
    "plotting": "lsdt.plotting",
    "policies": "lsdt.policies",
    "problems": "lsdt.problems",
    "ratings": "lsdt.ratings",
    "replays": "lsdt.replays",
    "rewards": "lsdt.problems.rewards",
    "theory": "lsdt.theory",
}
_HOMES = {
    "Agent": "lsdt.agent",
    "AsyncClient": "lsdt.service.client",
    "CandidateSet": "lsdt.candidates",
    "Client": "lsdt.service.client",
    "Conflict": "lsdt.candidates",
    "Contradiction": "lsdt.side_information",
    "Decision": "lsdt.agent",
    "Explanation": "lsdt.candidates",
    "Extension": "lsdt.agent",
    "ForbiddenSubgraph": "lsdt.candidates",
    "GapBounds": "lsdt.candidates",
    "Identification": "lsdt.identification",
    "Inquiry": "lsdt.identification",
    "LazyPairs": "lsdt.side_information.engines",
    "MergeReport": "lsdt.side_information",
    "MutualBounds": "lsdt.candidates",
    "NextPairs": "lsdt.identification",
    "PairQuestion": "lsdt.identification",
    "PairRanges": "lsdt.side_information",
    "PairThresholds": "lsdt.side_information",
    "Policy": "lsdt.policies",
    "RatingEvidence": "lsdt.ratings",
    "ArmEstimate": "lsdt.agent",
    "Recommendation": "lsdt.agent",
    "Relation": "lsdt.candidates",
    "ReplayResult": "lsdt.replays",
    "SideCheck": "lsdt.ratings",
    "SideInformation": "lsdt.side_information",
    "SimulationResult": "lsdt.simulation",
    "Situation": "lsdt.policies.situation",
    "Stage": "lsdt.candidates",
    "Stopping": "lsdt.agent",
    "UnitIntervalModel": "lsdt.candidates",
    "candidate_set": "lsdt.candidates",
    "check_side": "lsdt.ratings",
    "complete": "lsdt.side_information",
    "from_features": "lsdt.side_information",
    "from_frame": "lsdt.side_information",
    "from_groups": "lsdt.side_information",
    "from_lazy_frame": "lsdt.side_information.engines",
    "from_means": "lsdt.side_information",
    "from_networkx": "lsdt.side_information",
    "from_ratings": "lsdt.ratings",
    "from_scipy": "lsdt.side_information",
    "identify": "lsdt.identification",
    "load": "lsdt.side_information",
    "merge": "lsdt.side_information",
    "next_pairs": "lsdt.identification",
    "recognise": "lsdt.candidates",
    "replay": "lsdt.replays",
    "simulate": "lsdt.simulation",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'lsdt' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
