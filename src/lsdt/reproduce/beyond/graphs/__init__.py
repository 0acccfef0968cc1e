"""Contests on similarity graphs, with the rivals and in the settings of papers on graph bandits."""
