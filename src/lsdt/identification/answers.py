"""The kinds of answers about a pair of arms, and how they are written."""

from __future__ import annotations

from lsdt.errors import InvalidInput, suggest
from lsdt.identification.questions.range_votes import Range, checked_range

SIMILAR, BETTER, RANGE = "similar", "better", "range"
KINDS = (SIMILAR, BETTER, RANGE)
WORDS = {SIMILAR: ("similar", "dissimilar"), BETTER: ("better", "worse", "equal")}
_SPELLINGS = {
    "s": "similar",
    "d": "dissimilar",
    "b": "better",
    "w": "worse",
    "e": "equal",
    "about equal": "equal",
    "about_equal": "equal",
    "same": "equal",
    "tie": "equal",
}


def checked_answer(value: object, kind: str) -> str | Range:
    """Return an answer in the form in which it is counted; raise `InvalidInput` with the accepted ones."""
    if kind == RANGE:
        return checked_range(value)
    word = " ".join(value.lower().split()) if isinstance(value, str) else value
    word = _SPELLINGS.get(word, word) if isinstance(word, str) else word
    if word not in WORDS[kind]:
        accepted = ", ".join(map(repr, WORDS[kind]))
        raise InvalidInput(
            f"an answer must be one of {accepted}; got {value!r}{suggest(str(value), WORDS[kind])}"
        )
    return str(word)
