from .framework.claims import VERDICTS as VERDICTS, Claim as Claim
from .framework.experiment import (
    BEYOND_REPLICATIONS as BEYOND_REPLICATIONS,
    MOST_REPLICATIONS as MOST_REPLICATIONS,
    REPLICATIONS as REPLICATIONS,
    Experiment as Experiment,
    Request as Request,
)
from .framework.part import Part as Part
from .registry import experiments as experiments
from .runner import Reproduction as Reproduction, reproduce as reproduce
