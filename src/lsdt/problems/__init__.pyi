from . import rewards as rewards
from .own import (
    checked_instance as checked_instance,
    checked_problem as checked_problem,
    is_problem as is_problem,
)
from .problems import (
    GivenProblem as GivenProblem,
    Instance as Instance,
    Problem as Problem,
    SparseProblem as SparseProblem,
    UniformProblem as UniformProblem,
    from_ratings as from_ratings,
    given as given,
    sparse as sparse,
    uniform as uniform,
)
from .rewards import Rewards as Rewards, checked_rewards as checked_rewards, gaussian as gaussian
