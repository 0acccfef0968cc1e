"""Parts of the reproduction on a tiny setting, each computed once for all tests that look at it."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import cache

from lsdt.kernel import compile_ahead
from lsdt.reproduce import Request
from lsdt.reproduce.framework.experiment import Work
from lsdt.reproduce.registry import BEYOND, experiment

TINY = Request(replications=2, quick=True)
# A contest of few policies on few arms; who is too slow for a larger one is a matter of time, so none is.
SMALL = {"arms": 24, "n_arms": 12, "horizon": 60, "lengths": [20, 50, 100], "most_microseconds": None}
SMALL |= {"most_tries": 30, "most_tries_of_identify": 30}
FEW = {
    *("soft_closure", "lsdt_closure", "lsdt_watchful", "lsdt_csi", "lsdt_psi"),
    *("ts", "ts@paper", "ts@robust", "osub@paper"),
}


def small_setting(part, request):
    """Return the setting of a part; contests are made small, and so is the look-alike of Jester."""
    setting = experiment(part).setting(request)
    if part == "fig-jester":
        return setting | {"data": setting["data"] | {"users": 500}, "test_users": 300, "horizon": 60}
    if part == "beyond-graphs":
        setting["graphs"] = setting["graphs"][:1]
    if part == "beyond-pairs-log":
        setting |= {"data": setting["data"] | {"users": 500}, "shares": [0.1], "logs": 2, "splits": 2}
    return _small(setting) if part in BEYOND else setting


def _small(setting):
    small = {key: SMALL.get(key, value) for key, value in setting.items()}
    if "studies" in setting:
        return small | {"studies": {name: _small(study) for name, study in setting["studies"].items()}}
    small["policies"] = [word for word in setting.get("policies", ()) if word in FEW]
    if isinstance(setting.get("arms"), list):  # several sizes
        small["arms"] = [SMALL["arms"]]
    return small


def computed(part, setting, work):
    """Return the tables of a part; those of the paper compile at once, as in `run_part`, and share it."""
    with nullcontext() if part in BEYOND else compile_ahead(sys.maxsize):
        return experiment(part).compute(setting, work)


@cache
def tables_of(part):
    """Return the tables of a part; nobody may change them."""
    return computed(part, small_setting(part, TINY), Work(seed=1, n_jobs=1))
