from .always import ALWAYS as ALWAYS, Always as Always, constant as constant
from .mean_posterior import (
    MeanPrior as MeanPrior,
    mean_prior as mean_prior,
    means_of_any_width as means_of_any_width,
    posterior_draws as posterior_draws,
)
from .offline import (
    OfflineSteps as OfflineSteps,
    checked_on as checked_on,
    is_anchors as is_anchors,
    offline_step as offline_step,
)
from .parts.play_ahead import Ahead as Ahead
from .policy import (
    Player as Player,
    Policy as Policy,
    ReadyPolicy as ReadyPolicy,
    parse_policy as parse_policy,
    refuse_object as refuse_object,
)
from .prior import (
    Prior as Prior,
    checked_weight as checked_weight,
    learn_rewards as learn_rewards,
    prior_of as prior_of,
    weight_of_prior as weight_of_prior,
)
from .registry import (
    BUILT_IN as BUILT_IN,
    available as available,
    refuse_forgetting as refuse_forgetting,
    register as register,
    specification_of as specification_of,
)
from .situation import MOST_ROUNDS as MOST_ROUNDS, Situation as Situation, checked_horizon as checked_horizon
from .specification import Choice as Choice, Number as Number, Specification as Specification
from .stopping import StoppingRule as StoppingRule, Verdict as Verdict
from .tolerance import tolerance_of as tolerance_of
from .top_stopping import ALL as ALL, TopStoppingRule as TopStoppingRule, TopVerdict as TopVerdict
