"""Replays: estimates, from a recorded log, of what policies would have earned.

`replay` is the entry point, `runner` replays one policy on recorded ratings, `splits` divides users into
those trained on and those tested, `log_rows` holds the log in the form that replays read, `off_policy` has
the estimators, `policy_value` applies them to a randomised policy, and `result` holds the answer, with notes
on how to read it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
