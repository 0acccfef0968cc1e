"""Means that change: how long agents stay with the arm that was the best, with and without forgetting."""
