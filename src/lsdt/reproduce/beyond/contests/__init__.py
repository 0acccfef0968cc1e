"""Contests of every policy there is: `settings` lists them, `contest` plays one, `results` judges it.

`long` looks for runs whose regret keeps growing.
"""
