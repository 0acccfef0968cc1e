"""Recommending jokes: policies replayed on the Jester ratings or on a look-alike."""
