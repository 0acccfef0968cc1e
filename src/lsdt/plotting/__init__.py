"""Plots of candidates, arms, regret, the choice of epsilon, and tests of side information.

`candidates`, `arms`, `regret`, `epsilon` and `check` each have one ``plot_...`` function, which takes a
matplotlib Axes to draw into and returns it, and a function that returns the numbers it draws. `panels` draws
the kinds of figures in the report; `style` sets how all plots look, and saves them.
"""

from lsdt.plotting.arms import plot_arms
from lsdt.plotting.candidates import plot_candidates
from lsdt.plotting.check import plot_check
from lsdt.plotting.epsilon import plot_epsilon
from lsdt.plotting.regret import plot_regret
from lsdt.plotting.style import save

__all__ = ["plot_arms", "plot_candidates", "plot_check", "plot_epsilon", "plot_regret", "save"]
