"""Side information: which pairs of arms are known to be similar or dissimilar."""

from lsdt.side_information.side_information import SideInformation

__all__ = ["SideInformation"]
