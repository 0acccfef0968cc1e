from . import (
    agent as agent,
    candidates as candidates,
    errors as errors,
    identification as identification,
    plotting as plotting,
    policies as policies,
    problems as problems,
    ratings as ratings,
    replays as replays,
    side_information as side_information,
    simulation as simulation,
    storage as storage,
    theory as theory,
)
from .agent import Agent as Agent
from .candidates import candidate_set as candidate_set, recognise as recognise
from .identification import (
    Inquiry as Inquiry,
    identify as identify,
    identify_many as identify_many,
    next_pairs as next_pairs,
    plan as plan,
    race as race,
)
from .policies import Policy as Policy
from .problems import rewards as rewards
from .ratings import check_side as check_side, from_ratings as from_ratings
from .replays import ReplayResult as ReplayResult, replay as replay
from .service.client import AsyncClient as AsyncClient, Client as Client
from .side_information import (
    SideInformation as SideInformation,
    complete as complete,
    from_comparisons as from_comparisons,
    from_experiments as from_experiments,
    from_features as from_features,
    from_frame as from_frame,
    from_groups as from_groups,
    from_lazy_frame as from_lazy_frame,
    from_means as from_means,
    from_networkx as from_networkx,
    from_order as from_order,
    from_scipy as from_scipy,
    load as load,
    merge as merge,
)
from .simulation import SimulationResult as SimulationResult, simulate as simulate

__version__: str
