"""Recommending jokes: policies replayed on the Jester ratings, or on synthetic ratings like them."""
