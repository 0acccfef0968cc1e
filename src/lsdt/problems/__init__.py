"""Problems: the arms, how they pay, and what is known about them.

`problems` draws them, `rewards` (`lsdt.rewards`) holds the reward laws, `sparse_pairs` chooses which pairs to
compare when there are very many arms, and `own` accepts user-defined problems.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "GivenProblem",
    "Instance",
    "Problem",
    "SparseProblem",
    "UniformProblem",
    "from_ratings",
    "given",
    "sparse",
    "uniform",
]
