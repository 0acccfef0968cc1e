"""Checks of values that users give.

Every `checked_*` function returns the value as a plain Python type, or raises an `InvalidInput` that says
what is wrong and what is accepted. `meaning` is added to the message to explain a value, such as
``", in seconds"``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from unicodedata import category

import numpy as np

from lsdt.errors import InvalidInput, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_LARGEST = sys.float_info.max
LARGEST_REWARD = 1e100  # squares, and sums of very many squares, stay finite
MOST_REPLICATIONS = 10**9  # far more than any machine finishes; refuses slips before memory is reserved
MOST_JOBS = 4096  # no machine starts more threads
_JOINERS = "\u200c\u200d"  # without which some scripts and emoji fall apart
MOST_RATERS = 2**31 - 1  # the largest 32-bit integer


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number; True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number; True and False are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_row(value: Any, length: int) -> bool:
    """Return whether a value has `length` entries; text does not count."""
    if isinstance(value, (str, bytes)):
        return False
    try:
        return len(value) == length
    except TypeError:  # no length; 0-dimensional arrays have the method, too
        return False


def is_pair(value: Any) -> bool:
    """Return whether a value has two entries; text does not count."""
    return is_row(value, 2)


def checked_count(n_arms: Any) -> int:
    """Return the number of arms as an int, or say what is wrong with it."""
    if not is_whole(n_arms):
        raise InvalidInput(f"n_arms must be a whole number; got {n_arms!r}")
    if n_arms < 1:
        raise InvalidInput(f"there must be at least one arm; got n_arms={n_arms}")
    if n_arms >= 2**31:
        raise InvalidInput(f"at most 2**31 - 1 arms are supported; got n_arms={n_arms}")
    return int(n_arms)


def checked_epsilon(epsilon: Any) -> float:
    """Return epsilon as a float, or say what is wrong with it."""
    return checked_positive(epsilon, "epsilon")


def checked_positive(value: Any, name: str, meaning: str = "") -> float:
    """Return a positive, finite number as a float, or say what is accepted."""
    if not is_number(value):
        raise InvalidInput(f"{name} must be a positive number{meaning}; got {value!r}")
    plain = value.item() if isinstance(value, np.generic) else value
    if not 0 < plain <= _LARGEST:
        raise InvalidInput(f"{name} must be positive and finite{meaning}; got {plain!r}")
    return float(plain)


def checked_between(value: Any, name: str, low: float, high: float) -> float:
    """Return a number from `low` to `high`, both included, or say what is accepted."""
    if not is_number(value) or not low <= value <= high:
        raise InvalidInput(f"{name} must be a number from {low:g} to {high:g}; got {value!r}")
    return float(value)


def checked_share(value: Any, name: str) -> float:
    """Return a probability as a float, or say what is wrong with it."""
    if not is_number(value):
        raise InvalidInput(f"{name} must be a number from 0 to 1; got {value!r}")
    if not 0.0 <= value <= 1.0:
        raise InvalidInput(f"{name} must lie between 0 and 1; got {value!r}")
    return float(value)


def checked_share_below_1(value: Any, name: str, why: str) -> float:
    """Return a number from 0 to below 1 as a float, or say what is wrong; `why` explains why not 1."""
    share = checked_share(value, name)
    if share == 1.0:
        raise InvalidInput(f"{name} must be below 1: {why}; got {value!r}")
    return share


def checked_share_inside(value: Any, name: str) -> float:
    """Return a number strictly between 0 and 1 as a float, or say what is wrong with it."""
    share = checked_share(value, name)
    if share in (0.0, 1.0):
        raise InvalidInput(f"{name} must lie strictly between 0 and 1; got {value!r}")
    return share


def checked_seed(value: Any) -> int:
    """Return a seed as a non-negative int, or say what is wrong with it."""
    if not is_whole(value) or value < 0:
        raise InvalidInput(f"seed must be a non-negative integer; got {value!r}")
    return int(value)


def checked_tolerance(value: Any) -> float:
    """Return a tolerance as a float from 0 to below 1, or say what is wrong with it."""
    return checked_share_below_1(
        value, "tolerance", "it is the part of epsilon by which a distance may fall short"
    )


def checked_size(value: Any, name: str) -> float:
    """Return a reward, a mean or a rating as a float of at most `LARGEST_REWARD`, or say what is wrong."""
    number = _as_float(value)
    if number is None or not abs(number) <= LARGEST_REWARD:
        raise InvalidInput(
            f"{name} must be a finite number, from {-LARGEST_REWARD:g} to {LARGEST_REWARD:g}; got {value!r}"
        )
    return number


def check_sizes(values: NDArray[np.float64], what: str) -> None:
    """Raise `InvalidInput` if a number is not finite or beyond `LARGEST_REWARD`.

    `what` names the numbers in the message, such as 'means'.
    """
    wrong = ~(np.abs(values) <= LARGEST_REWARD)
    if wrong.any():
        raise InvalidInput(
            f"{what} must be finite numbers, from {-LARGEST_REWARD:g} to {LARGEST_REWARD:g}; got "
            f"{float(values[wrong][0])!r}"
        )


def checked_spread(value: Any, name: str, above: float = 0.0, most: float = LARGEST_REWARD) -> float:
    """Return a standard deviation, scale or exponent within its limits, or say what is accepted."""
    number = _as_float(value)
    least = 1.0 / LARGEST_REWARD
    if number is None or not (above < number <= most and number >= least):
        is_tiny = number is not None and above < number < least
        limits = number_in_words(None, least, most) if is_tiny else number_in_words(above, None, most)
        raise InvalidInput(f"{name} must be {limits}; got {value!r}")
    return number


def _as_float(value: Any) -> float | None:
    """Return a real number as a float; None for any other value, and for numbers too large for a float."""
    if not is_number(value):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def checked_number(
    value: Any,
    name: str,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> float:
    """Return a finite number within its limits as a float, or say what is accepted."""
    number = _as_float(value)
    if (
        number is None
        or not abs(number) <= _LARGEST
        or (above is not None and number <= above)
        or (at_least is not None and number < at_least)
        or (at_most is not None and number > at_most)
    ):
        raise InvalidInput(f"{name} must be {number_in_words(above, at_least, at_most)}; got {value!r}")
    return number


def number_in_words(above: float | None, at_least: float | None, at_most: float | None) -> str:
    """Return the limits of a number in words, such as 'a number above 0 and at most 1'."""
    if at_least is not None:
        limits = f"of at least {at_least:g}" if at_most is None else f"from {at_least:g} to {at_most:g}"
        return f"a number {limits}" if above is None else f"a number above {above:g}, {limits}"
    most = "" if at_most is None else f"at most {at_most:g}"
    if above is None:
        return f"a number of {most}" if most else "a number"
    return f"a number above {above:g}" + (f" and {most}" if most else "")


def checked_whole(value: Any, name: str, least: int, most: int | None = None, meaning: str = "") -> int:
    """Return a whole number within its limits as an int, or say what is accepted."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        raise InvalidInput(f"{name} must be a whole number {limits}{meaning}; got {value!r}")
    return int(value)


def checked_replications(value: Any, name: str = "replications") -> int:
    """Return a number of repetitions, from 1 to `MOST_REPLICATIONS`, or say what is accepted."""
    return checked_whole(checked_whole(value, name, 1), name, 1, MOST_REPLICATIONS)


def checked_horizons(horizon: Any) -> Any:
    """Return one horizon as an int or several as an array, or say what is wrong with them."""
    values = np.asarray(horizon)
    if values.dtype.kind not in "iu" or values.ndim > 1 or values.size == 0 or (values < 1).any():
        raise InvalidInput(
            "horizon must be a whole number of rounds of at least 1, or a list of such numbers; got "
            f"{horizon!r}"
        )
    return int(values) if values.ndim == 0 else values


def checked_jobs(value: Any, name: str = "n_jobs") -> int:
    """Return a number of workers, -1 for all cores, or say what is accepted."""
    if not is_whole(value) or value == 0 or value < -1:
        raise InvalidInput(f"{name} must be a number of workers, or -1 for all cores; got {value!r}")
    if value > MOST_JOBS:
        raise InvalidInput(f"{name} must be at most {MOST_JOBS:,} workers; got {value!r}")
    return int(value)


def checked_flag(value: Any, name: str, meaning: str = "") -> bool:
    """Return a yes or no as a bool, or say what is wrong with it."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"{name} must be True or False{meaning}; got {value!r}")
    return bool(value)


def checked_text(value: Any, name: str, meaning: str = "") -> str:
    """Return text that is not empty, or say what is wrong with it."""
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{name} must be text{meaning}; got {value!r}")
    return value


def is_legible(text: str) -> bool:
    """Return whether people can read a text on one line: it prints, but for spaces of any kind and joiners.

    Python takes the spaces of French and Japanese text for unprintable.
    """
    return text.isprintable() or all(
        one.isprintable() or one in _JOINERS or category(one) == "Zs" for one in text
    )


def checked_word(value: Any, name: str, words: Iterable[str]) -> str:
    """Return one of a few words, or say which are accepted."""
    accepted = tuple(words)
    if not isinstance(value, str) or value not in accepted:
        raise InvalidInput(
            f"{name} must be one of {', '.join(map(repr, accepted))}; got {value!r}"
            + suggest(str(value), accepted)
        )
    return value


def check_kind(value: Any, kind: type, needed: str) -> None:
    """Raise `InvalidInput` unless `value` is a `kind`; `needed` says what is needed, and where to get it."""
    if not isinstance(value, kind):
        raise InvalidInput(f"{needed}; got {type(value).__name__}")


def checked_list(value: Any, name: str, of: str) -> list[Any]:
    """Return an iterable as a list, or say what it must be a list of."""
    if isinstance(value, (str, bytes)):
        raise InvalidInput(f"{name} must be a list of {of}; got the single {value!r}")
    try:
        return list(value)
    except TypeError:
        raise InvalidInput(f"{name} must be a list of {of}; got {value!r}") from None


def checked_texts(value: Any, name: str, of: str) -> list[str]:
    """Return a list of non-empty texts, at least one, or say what it must be a list of."""
    texts = checked_list(value, name, of)
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise InvalidInput(f"{name} must be a list of {of}; got {value!r}")
    return texts


def check_columns(roles: str, names: Iterable[Any]) -> None:
    """Raise `InvalidInput` unless the names are text and differ; `roles` says what the columns are for."""
    given = list(names)
    if not all(isinstance(name, str) for name in given) or len(set(given)) < len(given):
        raise InvalidInput(
            f"{roles} must be the names of different columns; got {', '.join(map(repr, given))}"
        )


def checked_choice(arm: Any, n_arms: int, policy: str = "the policy") -> int:
    """Return the arm that a policy selected as an int, or say which arms are valid."""
    if isinstance(arm, bool) or not isinstance(arm, (int, np.integer)) or not 0 <= arm < n_arms:
        raise InvalidInput(f"{policy} selected {arm!r}; arms are 0 to {n_arms - 1}")
    return int(arm)
