"""Forms: reading what a browser sends, and the experiment that a person describes in one."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from lsdt._validation import is_legible
from lsdt.agent import checked_seconds
from lsdt.errors import InvalidInput
from lsdt.service import messages
from lsdt.service.answers import Refused
from lsdt.service.requests import read_body

if TYPE_CHECKING:
    from starlette.requests import Request

    from lsdt.service.requests import Head

Form = dict[str, str]
# A list of a hundred thousand names of 40 letters, which is more than people paste; files are sent otherwise.
MOST_BYTES = 4 * 2**20
_MOST_FIELDS = 40  # more than any form here has
_LONGEST = 200  # characters of an arm's name: titles of products fit, pages stay legible
_WORDS = ("similar", "dissimilar", "better")
# The fields of the form that begins an experiment.
FIELDS = (
    "name", "arms", "relations", "rewards", "sigma", "epsilon", "tolerance", "expiry", "expiry_reward",
    "floor_arm", "floor_share", "holdout_arm", "holdout_share", "sticky", "replace_within", "policy",
)  # fmt: skip


async def read_form(request: Request, head: Head) -> Form:
    """Return the fields of a form, the last of each name; refuse what no form of ours sends."""
    if head.content_type != "application/x-www-form-urlencoded":
        raise Refused(415, "a form is sent as application/x-www-form-urlencoded; programs use the API")
    body = await read_body(request.receive, head, MOST_BYTES)
    try:
        fields = parse_qs(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:  # too many fields, or no text
        raise Refused(400, "this is not a form of this service") from None
    return {name: values[-1] for name, values in fields.items()}


def new_experiment(form: Form) -> messages.NewExperiment:
    r"""Return the experiment that a form describes.

    Examples
    --------
    >>> from lsdt.service.pages.forms import new_experiment
    >>> new = new_experiment({"name": "buttons", "arms": "red\nblue", "expiry": "1 hour"})
    >>> new.arms, new.expiry.after
    (['red', 'blue'], 3600.0)
    """
    form = {word: form.get(word, "").strip() for word in FIELDS}
    pairs, ranges = _relations(form["relations"])
    rewards: Any = form["rewards"] or "bernoulli"
    sigma = _number(form, "sigma")
    if sigma is not None:
        if rewards != "gaussian":
            raise InvalidInput("sigma is said of rewards that are any number; leave it empty for 0 to 1")
        rewards = messages.RewardLaw("gaussian", {"sigma": sigma})
    return messages.NewExperiment(
        name=form["name"],
        arms=list(_arms(form["arms"])),
        similar=pairs["similar"],
        dissimilar=pairs["dissimilar"],
        better=pairs["better"],
        ranges=ranges,
        epsilon=_number(form, "epsilon"),
        policy=form["policy"] or "auto",
        rewards=rewards,
        floor=_share(form, "floor"),
        holdout=_share(form, "holdout"),
        replace_within=form["replace_within"] or None,
        sticky=form["sticky"] or None,
        tolerance=_number(form, "tolerance"),
        expiry=_expiry(form),
    )


def _arms(text: str) -> dict[str, int]:
    """Return the arms of a list, one a line, with the numbers of their lines."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        name = line.strip()
        if not name:
            continue
        if len(name) > _LONGEST or not is_legible(name):
            raise InvalidInput(
                f"line {number} of the arms: a name has at most {_LONGEST} printable characters; got "
                f"{name[:50]!r}"
            )
        if name in found:
            raise InvalidInput(f"line {number} of the arms repeats {name!r} of line {found[name]}")
        found[name] = number
    if not found:
        raise InvalidInput("there are no arms; write one name on each line")
    return found


def _relations(
    text: str,
) -> tuple[dict[str, list[tuple[Any, Any]]], list[tuple[Any, Any, float | None, float | None]]]:
    """Return pairs by their relation, and ranges; a line is ``a, b, word`` or ``a, b, low, high``."""
    pairs: dict[str, list[tuple[Any, Any]]] = {word: [] for word in _WORDS}
    ranges: list[tuple[Any, Any, float | None, float | None]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            parts = [part.strip() for part in next(csv.reader([line], skipinitialspace=True))]
            if len(parts) == 3 and parts[2] in _WORDS:
                pairs[parts[2]].append((parts[0], parts[1]))
            else:
                a, b, low, high = parts
                ranges.append((a, b, float(low) if low else None, float(high) if high else None))
        except (ValueError, csv.Error):
            raise InvalidInput(
                f"line {number} of the relations is two arms and one of {', '.join(_WORDS)}, or two arms and "
                f"the ends of a range, with commas between; got {line.strip()[:80]!r}"
            ) from None
    return pairs, ranges


def _number(form: Form, word: str) -> float | None:
    """Return a number, or None where the field is empty."""
    text = form[word]
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{word.replace('_', ' ')} must be a number; got {text[:50]!r}") from None


def _share(form: Form, word: str) -> dict[str, float] | None:
    """Return the arm and share of a floor or a holdout, or None where neither is given."""
    arm, share = form[f"{word}_arm"], _number(form, f"{word}_share")
    if not arm and share is None:
        return None
    if not arm or share is None:
        raise InvalidInput(f"a {word} is an arm and a share; fill in both, or neither")
    return {arm: share}


def _expiry(form: Form) -> messages.Expiry | None:
    after = checked_seconds(form["expiry"] or None, "expiry")
    return None if after is None else messages.Expiry(after, _number(form, "expiry_reward"))
