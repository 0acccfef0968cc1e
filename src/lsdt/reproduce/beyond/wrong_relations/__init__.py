"""Contests with some wrong relations: how much policies lose, and how often they lose the best arm."""
