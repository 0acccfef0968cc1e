"""Which policies there are: one line each. A policy's file is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import NoReturn

from lsdt._validation import check_kind
from lsdt.errors import InvalidInput, Unsupported, suggest
from lsdt.policies.specification import Specification

# The paper's own, its baselines, and later ones; each with the module that declares it.
BUILT_IN = {
    "lsdt_csi": "lsdt.policies.paper.lsdt_csi",
    "lsdt_psi": "lsdt.policies.paper.lsdt_psi",
    "lsdt_ts_csi": "lsdt.policies.paper.lsdt_ts_csi",
    "lsdt_ts_psi": "lsdt.policies.paper.lsdt_ts_psi",
    "lsdt_closure": "lsdt.policies.beyond.lsdt_closure",
    "soft_closure": "lsdt.policies.beyond.soft_closure",
    "identify": "lsdt.policies.beyond.identify",
    "ucb1": "lsdt.policies.classic.ucb1",
    "ts": "lsdt.policies.classic.ts",
    "ts_gaussian": "lsdt.policies.classic.ts_gaussian",
    "ckl_ucb": "lsdt.policies.graph.ckl_ucb",
    "osub": "lsdt.policies.graph.osub",
    "ossb": "lsdt.policies.graph.ossb",
    "kl_ucb": "lsdt.policies.classic.kl_ucb",
    "moss": "lsdt.policies.classic.moss",
    "imed": "lsdt.policies.classic.imed",
    "imed_ub": "lsdt.policies.graph.imed_ub",
    "uts": "lsdt.policies.graph.uts",
    "ucb1_truncated": "lsdt.policies.classic.ucb1_truncated",
    "lsdt_csi_truncated": "lsdt.policies.paper.lsdt_csi_truncated",
    "lsdt_psi_truncated": "lsdt.policies.paper.lsdt_psi_truncated",
    "lsdt_watchful": "lsdt.policies.beyond.lsdt_watchful",
}

_ADDED: dict[str, Specification] = {}


def available() -> list[str]:
    """Return the names of all policies.

    Examples
    --------
    >>> import lsdt
    >>> lsdt.policies.available()[:5]
    ['lsdt_csi', 'lsdt_psi', 'lsdt_ts_csi', 'lsdt_ts_psi', 'lsdt_closure']
    """
    return [*BUILT_IN, *_ADDED]


def register(specification: Specification) -> None:
    """Add a policy of your own, compiled like the others; its name must be new.

    Its compiled code is kept on disk if its functions stand in a file; those typed into a notebook compile
    anew in every process. Processes that run parts of a study must register it too. See
    docs/handbook/policies.md.
    """
    check_kind(specification, Specification, "register takes a Specification")
    if specification.name in BUILT_IN:
        raise InvalidInput(f"there is a built-in policy {specification.name!r}; choose another name")
    if _ADDED.get(specification.name, specification) != specification:
        raise InvalidInput(f"another policy {specification.name!r} is registered; choose another name")
    others = [added for name, added in _ADDED.items() if name != specification.name]
    borrowed = specification.state.__module__.startswith("lsdt.")
    if borrowed or specification.state in [added.state for added in others]:
        raise InvalidInput(
            f"the class of state {specification.state.__name__} belongs to another policy; declare a new one"
        )
    _ADDED[specification.name] = specification


def specification(name: str) -> Specification:
    """Return what is declared of a policy, or say which names there are."""
    if name in _ADDED:
        return _ADDED[name]
    if name not in BUILT_IN:
        raise InvalidInput(
            f"unknown policy {name!r}; there are {', '.join(available())}" + suggest(name, available())
        )
    found: Specification = import_module(BUILT_IN[name]).SPECIFICATION
    return found


def refuse_forgetting(name: str) -> NoReturn:
    """Say that a policy cannot forget, and which can."""
    others = [each for each in BUILT_IN if specification(each).fill is not None]
    raise Unsupported(
        f"{name} cannot forget: it keeps more of its rewards than counts and sums that may fade; those that "
        f"can are {', '.join(others)}"
    )


def refuse_prior(name: str, reason: str) -> NoReturn:
    """Say why a policy cannot start with known rewards, and which can."""
    others = [each for each in BUILT_IN if not specification(each).why_no_prior]
    raise Unsupported(
        f"{name} cannot start with known rewards: {reason}; those that can are {', '.join(others)} "
        f"(in a study, lsdt.Policy({name!r}, prior_weight=0) starts without them)"
    )
