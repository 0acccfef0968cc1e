from .assumptions import (
    AssumptionCheck as AssumptionCheck,
    Elimination as Elimination,
    check_assumptions as check_assumptions,
    elimination_probability as elimination_probability,
)
from .domination.fractional import (
    FractionalDomination as FractionalDomination,
    fractional_domination as fractional_domination,
    solve_domination as solve_domination,
)
from .lower_bounds.graves_lai import GravesLai as GravesLai, graves_lai_constant as graves_lai_constant
from .lower_bounds.lower_bound import (
    LowerBound as LowerBound,
    lower_bound_constant as lower_bound_constant,
    lower_bound_rates as lower_bound_rates,
)
from .lower_bounds.lower_bound_kernel import (
    EndClasses as EndClasses,
    fill_rates as fill_rates,
    leading_candidate as leading_candidate,
)
from .lower_bounds.p1_programme import solve_p1 as solve_p1
from .upper_bounds.closure import (
    ClosureConstants as ClosureConstants,
    closure_constants as closure_constants,
    upper_bound_closure as upper_bound_closure,
)
from .upper_bounds.complete import upper_bound_csi as upper_bound_csi
from .upper_bounds.curve import UpperBound as UpperBound
from .upper_bounds.partial import upper_bound_psi as upper_bound_psi
from .upper_bounds.tries import most_tries as most_tries
