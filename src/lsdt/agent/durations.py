"""Stretches of time as users give them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from lsdt._validation import is_number
from lsdt.errors import InvalidInput

SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0}
_WORDS = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?:(second|minute|hour|day|week)s?)?\s*")
_SHORTEST, _LONGEST = 1e-3, 3_650 * 86_400.0  # seconds; ten years, as for an expiry


def checked_seconds(value: Any, name: str) -> float | None:
    """Return a stretch of time in seconds, or say what is accepted; None stays None.

    Examples
    --------
    >>> from lsdt.agent.durations import checked_seconds
    >>> checked_seconds("2 hours", "sticky"), checked_seconds(90, "sticky")
    (7200.0, 90.0)
    """
    if value is None:
        return None
    seconds = None
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str):
        read = _WORDS.fullmatch(value.lower())
        seconds = None if read is None else float(read[1]) * SECONDS.get(read[2], 1.0)
    elif is_number(value) and not isinstance(value, bool):
        seconds = float(value)
    if seconds is None or not _SHORTEST <= seconds <= _LONGEST:
        raise InvalidInput(
            f"{name} is a stretch of time of at most ten years: seconds, a text such as '90 seconds' or '2 "
            f"hours' (seconds, minutes, hours, days, weeks), or a timedelta; got {value!r}"
        )
    return seconds
