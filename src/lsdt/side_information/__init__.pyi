from .arms import ArmId as ArmId, ArmNames as ArmNames, ArmsAndPairs as ArmsAndPairs
from .beaten import Beaten as Beaten, BeatenSource as BeatenSource
from .engines.lazy_pairs import (
    LazyPairs as LazyPairs,
    from_lazy_frame as from_lazy_frame,
    lazy_pairs_of as lazy_pairs_of,
)
from .engines.order_tables import OrderTables as OrderTables
from .engines.pair_tables import PairTables as PairTables, open_tables as open_tables
from .engines.triangle_tables import TriangleTables as TriangleTables
from .engines.workspace import Lazy as Lazy, collect as collect, row_of as row_of
from .examples import (
    ARMS as ARMS,
    EPSILON as EPSILON,
    MEANS as MEANS,
    OTHER_MEANS as OTHER_MEANS,
    example as example,
)
from .io.arrays import (
    as_words as as_words,
    exact_array as exact_array,
    fingerprint as fingerprint,
    side_as_arrays as side_as_arrays,
    side_of_arrays as side_of_arrays,
)
from .io.convert import from_frame as from_frame, from_networkx as from_networkx, from_scipy as from_scipy
from .io.files import checked_ending as checked_ending, load as load
from .io.parquet import (
    refuse_growth as refuse_growth,
    text_size as text_size,
    unpacked_sizes as unpacked_sizes,
    written_out as written_out,
)
from .layouts.adjacency import (
    Adjacency as Adjacency,
    adjacency_of_pairs as adjacency_of_pairs,
    frozen as frozen,
)
from .layouts.integer_steps import (
    MOST_QUANTA as MOST_QUANTA,
    common_quantum as common_quantum,
    steps_of as steps_of,
)
from .layouts.ranges import (
    IGNORED as IGNORED,
    WITHOUT as WITHOUT,
    PairRanges as PairRanges,
    frozen_ranges as frozen_ranges,
    pairs_at as pairs_at,
)
from .layouts.reveal import Reveal as Reveal
from .layouts.reveal_kernel import (
    CoinLayers as CoinLayers,
    relation_after as relation_after,
    write_bits as write_bits,
)
from .layouts.stores import (
    PairStore as PairStore,
    Store as Store,
    WindowStore as WindowStore,
    all_pairs as all_pairs,
    known_store as known_store,
)
from .layouts.subset import (
    subgraph as subgraph,
    subset as subset,
    with_epsilon as with_epsilon,
    with_known_epsilon as with_known_epsilon,
)
from .layouts.thresholds import (
    DISTINCT as DISTINCT,
    PairThresholds as PairThresholds,
    Thresholds as Thresholds,
    at_pairs as at_pairs,
)
from .layouts.windows import (
    TOLERANCE as TOLERANCE,
    WindowedOrder as WindowedOrder,
    float_threshold as float_threshold,
    sorted_rows as sorted_rows,
)
from .layouts.windows_kernel import left_ends as left_ends, right_ends as right_ends
from .origin import (
    Origin as Origin,
    StatedRisk as StatedRisk,
    but_for as but_for,
    risks_in_words as risks_in_words,
    total_risk as total_risk,
    with_risk as with_risk,
)
from .side_information import SideInformation as SideInformation
from .sources.comparisons import (
    ComparisonEvidence as ComparisonEvidence,
    from_comparisons as from_comparisons,
)
from .sources.complete import complete as complete, from_means as from_means
from .sources.experiments import (
    ExperimentEvidence as ExperimentEvidence,
    from_experiments as from_experiments,
)
from .sources.features import FeatureEvidence as FeatureEvidence, from_features as from_features
from .sources.groups import GroupEvidence as GroupEvidence, from_groups as from_groups
from .sources.lipschitz import LipschitzEstimate as LipschitzEstimate
from .sources.merge import Contradiction as Contradiction, MergeReport as MergeReport, merge as merge
from .sources.orders import OrderEvidence as OrderEvidence, from_order as from_order
from .sources.paired_strengths import clearly_better as clearly_better
