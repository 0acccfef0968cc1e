from .candidate_set import CHOICES as CHOICES, candidate_set as candidate_set, method_for as method_for
from .complete.anchors import (
    Anchors as Anchors,
    CandidateClasses as CandidateClasses,
    candidate_classes as candidate_classes,
    find_anchors as find_anchors,
)
from .complete.interval_model import UnitIntervalModel as UnitIntervalModel
from .complete.proper_order import proper_order as proper_order
from .complete.recognition import ForbiddenSubgraph as ForbiddenSubgraph, recognise as recognise
from .proofs import (
    Explanation as Explanation,
    Relation as Relation,
    check_side_information as check_side_information,
)
from .propagation.gap_bounds import (
    MOST_BOUNDS as MOST_BOUNDS,
    GapBounds as GapBounds,
    MutualBounds as MutualBounds,
    mutual_bounds as mutual_bounds,
)
from .propagation.method import Stage as Stage
from .propagation.order import excluded_by_order as excluded_by_order
from .reasons import CANDIDATE as CANDIDATE, NAMES as NAMES, reasons_of as reasons_of
from .result import CandidateSet as CandidateSet
from .search.components import (
    Component as Component,
    components_of as components_of,
    whole_system as whole_system,
)
from .search.exact_kernel import CAN as CAN, UNDECIDED as UNDECIDED
from .seriation import (
    RelationRows as RelationRows,
    Seriation as Seriation,
    fit_line as fit_line,
    known_rows as known_rows,
    lay_out as lay_out,
)
from .top.readings import nothing_known as nothing_known, read_bounds as read_bounds
from .triangles.conflict import Conflict as Conflict
from .triangles.range_pairs import read_ranges as read_ranges
from .triangles.rule import triangle_survivors as triangle_survivors
