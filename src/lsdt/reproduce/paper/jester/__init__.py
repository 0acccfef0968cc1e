"""Jokes recommended: policies replayed on the Jester ratings, or on their look-alike."""
