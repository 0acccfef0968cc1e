"""Options of `lsdt.candidate_set` for all methods, checked."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lsdt._validation import checked_share
from lsdt.errors import InvalidInput


class Options(NamedTuple):
    """Options of `lsdt.candidate_set`; a method refuses those that belong to another one."""

    min_witnesses: int | str = 1
    seconds: float | None = None
    wrong_rate: float | None = None
    risk: float = 0.01

    def refuse_witnesses(self, why: str, instead: str, accepted: tuple[int | str, ...] = (1,)) -> None:
        """Refuse what belongs to wrong relations where a method takes every relation at its word."""
        if self.wrong_rate is not None:
            raise InvalidInput(
                f"wrong_rate={self.wrong_rate:g} belongs to the method 'triangles', and {why}; leave "
                "wrong_rate out, or ask for 'triangles'"
            )
        if self.min_witnesses not in accepted:
            raise InvalidInput(
                f"min_witnesses={self.min_witnesses!r} belongs to the method 'triangles', and {why}; "
                f"{instead}"
            )


USUAL = Options()


def checked_options(min_witnesses: Any, seconds: Any, wrong_rate: Any, risk: Any) -> Options:
    """Return the options, or say what is wrong with one."""
    is_count = isinstance(min_witnesses, (int, np.integer)) and not isinstance(min_witnesses, bool)
    is_auto = isinstance(min_witnesses, str) and min_witnesses == "auto"
    if not is_auto and (not is_count or min_witnesses < 1):
        raise InvalidInput(f"min_witnesses must be a whole number from 1, or 'auto'; got {min_witnesses!r}")
    if seconds is not None:
        is_number = isinstance(seconds, (int, float, np.number)) and not isinstance(seconds, bool)
        if not is_number or not seconds > 0 or not math.isfinite(seconds):
            raise InvalidInput(f"seconds must be a positive number, or None for no limit; got {seconds!r}")
        seconds = float(seconds)
    if risk is not None and wrong_rate is None:
        raise InvalidInput(
            f"risk={risk!r} says how probable it may be that the best arm is lost to wrong relations; give "
            "their rate, wrong_rate, too"
        )
    if wrong_rate is not None and min_witnesses != 1:
        raise InvalidInput(
            f"wrong_rate decides how many witnesses each arm needs; got min_witnesses={min_witnesses!r} too, "
            "leave one of them out"
        )
    return Options(
        "auto" if is_auto else int(min_witnesses),
        seconds,
        None if wrong_rate is None else checked_share(wrong_rate, "wrong_rate"),
        0.01 if risk is None else checked_share(risk, "risk"),
    )
