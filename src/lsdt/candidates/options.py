"""Options of `lsdt.candidate_set` for all methods, checked."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lsdt._validation import checked_share
from lsdt.errors import InvalidInput


class Options(NamedTuple):
    """Options of `lsdt.candidate_set`; a method refuses those that belong to another one."""

    max_wrong: int | str = 0
    timeout: float | None = None
    wrong_rate: float | None = None
    risk: float = 0.01

    def refuse_wrong_relations(self, why: str, instead: str, accepted: tuple[int | str, ...] = (0,)) -> None:
        """Refuse what belongs to wrong relations where a method takes every relation at its word."""
        if self.wrong_rate is not None:
            raise InvalidInput(
                f"wrong_rate={self.wrong_rate:g} belongs to the method 'triangles', and {why}; leave "
                "wrong_rate out, or ask for 'triangles'"
            )
        if self.max_wrong not in accepted:
            raise InvalidInput(
                f"max_wrong={self.max_wrong!r} belongs to the method 'triangles', and {why}; {instead}"
            )


USUAL = Options()


def checked_options(max_wrong: Any, timeout: Any, wrong_rate: Any, risk: Any) -> Options:
    """Return the options, or say what is wrong with one."""
    is_count = isinstance(max_wrong, (int, np.integer)) and not isinstance(max_wrong, bool)
    is_auto = isinstance(max_wrong, str) and max_wrong == "auto"
    if not is_auto and (not is_count or max_wrong < 0):
        raise InvalidInput(f"max_wrong must be a whole number from 0, or 'auto'; got {max_wrong!r}")
    if timeout is not None:
        is_number = isinstance(timeout, (int, float, np.number)) and not isinstance(timeout, bool)
        if not is_number or not timeout > 0 or not math.isfinite(timeout):
            raise InvalidInput(
                f"timeout must be a positive number of seconds, or None for no limit; got {timeout!r}"
            )
        timeout = float(timeout)
    if risk is not None and wrong_rate is None:
        raise InvalidInput(
            f"risk={risk!r} says how probable it may be that the best arm is lost to wrong relations; give "
            "their rate, wrong_rate, too"
        )
    if wrong_rate is not None and max_wrong != 0:
        raise InvalidInput(
            f"wrong_rate decides how many wrong relations are tolerated; got max_wrong={max_wrong!r} too, "
            "leave one of them out"
        )
    return Options(
        "auto" if is_auto else int(max_wrong),
        timeout,
        None if wrong_rate is None else checked_share(wrong_rate, "wrong_rate"),
        0.01 if risk is None else checked_share(risk, "risk"),
    )
