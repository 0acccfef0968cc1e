"""Figures and reports: the only place that draws."""

from lsdt.report.candidate_figures import save_picture

__all__ = ["save_picture"]
