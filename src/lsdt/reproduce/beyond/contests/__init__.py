"""Contests of all policies: `settings` lists them, `contest` plays one, `results` judges it.

`linear_regret` looks for runs whose regret keeps growing.
"""
