from . import tournament as tournament
from .arrays import (
    add_multiple as add_multiple,
    ascending as ascending,
    copy_into as copy_into,
    copy_table as copy_table,
    least_of as least_of,
)
from .cache_files import is_all_kept as is_all_kept, writable_folder as writable_folder
from .checksums import checksum as checksum
from .compile_clock import compile_seconds as compile_seconds
from .drivers import (
    Entries as Entries,
    ReplayLog as ReplayLog,
    ReplayTrace as ReplayTrace,
    RunTotals as RunTotals,
    Setting as Setting,
    define_rule as define_rule,
    entries_of as entries_of,
)
from .graphs import SymmetricGraph as SymmetricGraph
from .jit import (
    Array as Array,
    compile_ahead as compile_ahead,
    compile_apart as compile_apart,
    compiled as compiled,
    inlined as inlined,
)
from .memory import (
    available_memory as available_memory,
    fits_in_memory as fits_in_memory,
    readable_bytes as readable_bytes,
    require_memory as require_memory,
)
from .parallel import available_cores as available_cores, over_blocks as over_blocks
from .random import (
    GENERATOR as GENERATOR,
    STREAM_WORDS as STREAM_WORDS,
    UNIT_DEPTH as UNIT_DEPTH,
    UNIT_WIDTH as UNIT_WIDTH,
    CoinPurpose as CoinPurpose,
    Purpose as Purpose,
    below as below,
    beta as beta,
    coin_key as coin_key,
    coin_threshold as coin_threshold,
    gamma_from as gamma_from,
    gamma_width as gamma_width,
    hashed_keys as hashed_keys,
    new_stream as new_stream,
    new_streams as new_streams,
    normal as normal,
    pair_coin as pair_coin,
    seed_words as seed_words,
    uniform as uniform,
)
from .rewards import (
    BERNOULLI_LAW as BERNOULLI_LAW,
    EXPONENTIAL_LAW as EXPONENTIAL_LAW,
    GAUSSIAN_LAW as GAUSSIAN_LAW,
    LAPLACE_LAW as LAPLACE_LAW,
    PARETO_LAW as PARETO_LAW,
    RECORDED_LAW as RECORDED_LAW,
    STUDENT_T_LAW as STUDENT_T_LAW,
    Records as Records,
    RewardModel as RewardModel,
    Tail as Tail,
    draw_recorded as draw_recorded,
    draw_reward as draw_reward,
)
from .safe_math import (
    nearest_multiple as nearest_multiple,
    ratio as ratio,
    safe_exp as safe_exp,
    safe_expm1 as safe_expm1,
    safe_log as safe_log,
    safe_log1p as safe_log1p,
    safe_pow as safe_pow,
    safe_sqrt as safe_sqrt,
    whole_above as whole_above,
    whole_below as whole_below,
)
from .samples import evenly_spread as evenly_spread
from .special import (
    BERNOULLI as BERNOULLI,
    FAMILIES as FAMILIES,
    bernoulli_divergence as bernoulli_divergence,
    bernoulli_upper as bernoulli_upper,
    beta_exceeds as beta_exceeds,
    beta_isf as beta_isf,
    beta_quantile as beta_quantile,
    divergence as divergence,
    log_gamma as log_gamma,
    normal_isf as normal_isf,
    normal_sf as normal_sf,
    upper_mean as upper_mean,
)
from .state import (
    Allowed as Allowed,
    FixedReals as FixedReals,
    FixedWholes as FixedWholes,
    Packed as Packed,
    Ragged as Ragged,
    Real as Real,
    Reals as Reals,
    Whole as Whole,
    Wholes as Wholes,
    check_values as check_values,
    copy_state as copy_state,
    field_kinds as field_kinds,
    pack as pack,
    pack_many as pack_many,
    state_of as state_of,
    unpack as unpack,
)
from .tournament import mark_changed as mark_changed, new_trees as new_trees, winner as winner
