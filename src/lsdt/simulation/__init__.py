"""Simulation: many replications of a problem, played by many policies.

`simulate` is the entry, `study` plays a replication, `competitors` puts all kinds of policies behind one
interface, `result` is the answer and `result_files` its folder on disk.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "SimulationResult",
    "simulate",
]
