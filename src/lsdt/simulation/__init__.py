"""Simulation: many replications of a problem, played by many policies.

`simulate` is the entry point, `study` plays blocks of replications, `competitors` puts all kinds of policies
behind one interface, `result` holds the answer and `result_files` saves it in a folder.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "SimulationResult",
    "simulate",
]
