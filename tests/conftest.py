from __future__ import annotations

from hypothesis import settings

# The first example of a test may compile; deadlines would only measure that. Runs are repeatable.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=200)
settings.load_profile("repeatable")
