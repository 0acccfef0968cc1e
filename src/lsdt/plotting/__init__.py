"""Plots of candidates, arms, regret, the choice of epsilon, and tests of side information.

`candidates`, `arms`, `regret`, `epsilon` and `check` each have one ``plot_...`` function, which takes a
matplotlib Axes to draw into and returns it, and a function that returns the numbers it draws. `panels` draws
the figures of the report; `style` sets how all plots look, and saves them.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "plot_arms",
    "plot_candidates",
    "plot_check",
    "plot_epsilon",
    "plot_regret",
    "save",
]
