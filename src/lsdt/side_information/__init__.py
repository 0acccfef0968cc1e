"""Side information: which pairs of arms are known to be similar, dissimilar or in order.

`side_information` is the value that everything starts from; `arms` checks the users' arms and pairs.
`layouts/` holds it in memory, `io/` reads, writes and converts it, `sources/` makes it from means,
features, groups, past experiments and orders, or merges several; `engines/` works on pairs that stay in a
database.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "Beaten",
    "BeatenSource",
    "ComparisonEvidence",
    "Contradiction",
    "ExperimentEvidence",
    "FeatureEvidence",
    "GroupEvidence",
    "LazyPairs",
    "LipschitzEstimate",
    "MergeReport",
    "OrderEvidence",
    "PairRanges",
    "PairThresholds",
    "SideInformation",
    "StatedRisk",
    "complete",
    "from_comparisons",
    "from_experiments",
    "from_features",
    "from_frame",
    "from_groups",
    "from_lazy_frame",
    "from_means",
    "from_networkx",
    "from_order",
    "from_scipy",
    "load",
    "merge",
]
