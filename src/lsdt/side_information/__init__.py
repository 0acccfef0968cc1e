"""Side information: which pairs of arms are known to be similar or dissimilar.

`side_information` is the value that everything starts from; `arms` checks the arms and pairs that users give.
`layouts/` holds it in memory, `io/` reads, writes and converts it, `sources/` makes it from features and
groups or merges several.
"""

from lsdt.side_information.side_information import SideInformation
from lsdt.side_information.sources.features import from_features
from lsdt.side_information.sources.groups import from_groups
from lsdt.side_information.sources.merge import MergeReport, merge

__all__ = ["MergeReport", "SideInformation", "from_features", "from_groups", "merge"]
