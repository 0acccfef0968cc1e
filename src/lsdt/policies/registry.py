"""Which policies there are: one line each. A policy's file is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import NoReturn

from lsdt._validation import check_kind, checked_word
from lsdt.errors import InvalidInput, Unsupported, suggest
from lsdt.kernel import field_kinds
from lsdt.policies.specification import Specification

# The paper's own, its baselines, and later ones; each with the module that declares it.
BUILT_IN = {
    "lsdt_csi": "lsdt.policies.paper.lsdt_csi",
    "lsdt_psi": "lsdt.policies.paper.lsdt_psi",
    "lsdt_ts_csi": "lsdt.policies.paper.lsdt_ts_csi",
    "lsdt_ts_psi": "lsdt.policies.paper.lsdt_ts_psi",
    "lsdt_closure": "lsdt.policies.beyond.lsdt_closure",
    "lsdt_posterior": "lsdt.policies.beyond.lsdt_posterior",
    "soft_closure": "lsdt.policies.beyond.soft_closure",
    "mixture_closure": "lsdt.policies.beyond.mixture_closure",
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
    "clustered_ts": "lsdt.policies.graph.clustered_ts",
    "laplacian_ucb": "lsdt.policies.graph.laplacian_ucb",
    "spectral_ts": "lsdt.policies.graph.spectral_ts",
    "lsdt_watchful": "lsdt.policies.beyond.lsdt_watchful",
}

_ADDED: dict[str, Specification] = {}

WHERE_TO_READ = "docs/handbook/policies.md, 'Your own policy'"

_NEEDS = ("complete", "connected", "epsilon", "distances", "pairs", "horizon")
_ARGUMENTS = {
    "prepare": "situation, parameters",
    "select": "state, allowed, stream",
    "update": "state, arm, reward, stream",
    "asked": "state, arm, allowed, stream",
    "expect": "state, arms, rewards, stream",
    "score": "state, arm",
    "fill": "state, counts, sums",
    "remark": "state",
}


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

    Its compiled code is kept on disk if its functions stand in a file; those typed into a notebook are
    compiled again in every process. Processes that run parts of a study must register it too. What can be
    checked before anything is compiled is checked here: the kinds of the state's fields, the functions and
    how many arguments they take, the words. See docs/handbook/policies.md.
    """
    check_kind(
        specification, Specification, f"register takes an lsdt.policies.Specification ({WHERE_TO_READ})"
    )
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
    _check_declaration(specification)
    _ADDED[specification.name] = specification


def _check_declaration(declared: Specification) -> None:
    """Refuse what would fail later, in the midst of compilation or of a study."""
    checked_word(declared.offline, f"{declared.name}: offline", ("", "paper", "propagation"))
    for need in declared.needs:
        checked_word(need, f"{declared.name}: needs", _NEEDS)
    fields = field_kinds(declared.state)
    wanted = ("alive", "gone_at") if declared.eliminates else ()
    pointed = [room for room in declared.places.values() if isinstance(room, str)]
    for name in (*wanted, *declared.places, *pointed):
        if name not in fields:
            why = "a policy that eliminates needs" if name in wanted else "places names"
            raise InvalidInput(f"{why} a field {name!r}; the state has {', '.join(fields)}")
    for name, arguments in _ARGUMENTS.items():
        function = getattr(declared, name)
        if function is None and name in ("asked", "expect", "score", "fill", "remark"):
            continue
        if not callable(function):
            raise InvalidInput(f"{name} must be a function, {name}({arguments}); got {function!r}")
        try:
            signature(getattr(function, "py_func", function)).bind(*arguments.split(", "))
        except TypeError as error:
            raise InvalidInput(f"{name} is called as {name}({arguments}): {error}") from None
        except ValueError:  # no signature to look at
            pass


def specification_of(name: str) -> Specification:
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
    others = [each for each in BUILT_IN if specification_of(each).fill is not None]
    raise Unsupported(
        f"{name} cannot forget: it keeps more of its rewards than counts and sums that may fade; those that "
        f"can are {', '.join(others)}"
    )


def refuse_prior(name: str, reason: str) -> NoReturn:
    """Say why a policy cannot start with known rewards, and which can."""
    others = [each for each in BUILT_IN if not specification_of(each).why_no_prior]
    raise Unsupported(
        f"{name} cannot start with known rewards: {reason}; those that can are {', '.join(others)} "
        f"(in a study, lsdt.Policy({name!r}, prior_weight=0) starts without them)"
    )
