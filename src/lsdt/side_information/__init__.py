"""Side information: which pairs of arms are known to be similar or dissimilar."""

from lsdt.side_information.features import from_features
from lsdt.side_information.groups import from_groups
from lsdt.side_information.merge_report import MergeReport
from lsdt.side_information.merging import merge
from lsdt.side_information.side_information import SideInformation

__all__ = ["MergeReport", "SideInformation", "from_features", "from_groups", "merge"]
