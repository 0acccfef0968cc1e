"""A policy as one word, for command lines and settings: ``ucb1@paper:alpha=8``."""

from __future__ import annotations

from typing import Any

from lsdt.errors import InvalidInput
from lsdt.policies.policy import Policy


def parsed_policy(word: str) -> Policy:
    """Return the policy that a word means: ``name[@where][:parameter=value,...]``.

    Examples
    --------
    >>> from lsdt.policies.notation import parsed_policy
    >>> parsed_policy("ucb1@paper:alpha=8")
    Policy('ucb1 on paper (alpha=8)')
    """
    head, _, tail = word.partition(":")
    name, at, where = head.partition("@")
    parameters: dict[str, Any] = {}
    for part in filter(None, tail.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise InvalidInput(f"a parameter is written name=value; got {part!r} in {word!r}")
        if key.strip() in parameters:
            raise InvalidInput(f"{key.strip()!r} is given twice in {word!r}")
        parameters[key.strip()] = value.strip() if key.strip() in ("label", "on") else _value(value.strip())
    if not name:
        raise InvalidInput(f"a policy begins with its name; got {word!r}")
    where = where or parameters.pop("on", "")
    if at and not where:
        raise InvalidInput(f"say after @ on which arms {name!r} plays, as in {name}@paper")
    return Policy(name, on=where or None, label=parameters.pop("label", None), **parameters)


def _value(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word
