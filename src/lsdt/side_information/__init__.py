"""Side information: which pairs of arms are known to be similar, dissimilar or in order.

`side_information` is the value that everything starts from; `arms` checks the users' arms and pairs.
`layouts/` holds it in memory, `io/` reads, writes and converts it, `sources/` makes it from means,
features and groups, or merges several; `engines/` works on pairs that stay in a database.
"""

from lsdt.side_information.io.convert import from_frame, from_networkx, from_scipy
from lsdt.side_information.io.files import load
from lsdt.side_information.layouts.ranges import PairRanges
from lsdt.side_information.layouts.thresholds import PairThresholds
from lsdt.side_information.side_information import SideInformation
from lsdt.side_information.sources.complete import complete, from_means
from lsdt.side_information.sources.features import FeatureEvidence, from_features
from lsdt.side_information.sources.groups import GroupEvidence, from_groups
from lsdt.side_information.sources.merge import Contradiction, MergeReport, merge

__all__ = [
    "Contradiction",
    "FeatureEvidence",
    "GroupEvidence",
    "MergeReport",
    "PairRanges",
    "PairThresholds",
    "SideInformation",
    "complete",
    "from_features",
    "from_frame",
    "from_groups",
    "from_means",
    "from_networkx",
    "from_scipy",
    "load",
    "merge",
]
