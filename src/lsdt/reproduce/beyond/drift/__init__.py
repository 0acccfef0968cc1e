"""Means that change: how long agents keep playing the arm that was best, with and without forgetting."""
