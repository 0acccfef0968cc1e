"""Figures and reports: the only place that draws."""
