"""Figures and reports: the only place that draws."""

from lsdt.report.candidate_figures import save_picture
from lsdt.report.epsilon_figures import draw_epsilon
from lsdt.report.figures import draw_regret, save_regret

__all__ = ["draw_epsilon", "draw_regret", "save_picture", "save_regret"]
