"""Everything that can go wrong for a user, as one small tree of exceptions.

Each class has its own exit code, for the command line, and an HTTP status, for the service. A message says
what is wrong, the value received, what is accepted and what to do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
__all__ = [
    "CacheWarning",
    "ContradictionWarning",
    "DamagedStore",
    "InconsistentSideInformation",
    "InvalidFile",
    "InvalidInput",
    "LostDecision",
    "LsdtError",
    "MissingDependency",
    "NoRelations",
    "NotUnitInterval",
    "Paused",
    "StoreFailed",
    "StoreLocked",
    "TooLarge",
    "Unsupported",
]


_ALIKE = 0.5  # similarity (difflib's ratio) above which words count as near; a little below difflib's own 0.6


class LsdtError(Exception):
    """Base of every error that lsdt raises on purpose."""

    exit_code = 1
    http_status = 500


class InvalidInput(LsdtError, ValueError):
    """A value is outside what is accepted: an unknown arm, a self pair, a negative epsilon, ..."""

    exit_code = 2
    http_status = 422


class NoRelations(InvalidInput):
    """The ratings decide no relation between any two items, because too few users rated both."""

    exit_code = 9


class InvalidFile(InvalidInput):
    """A file is missing, cannot be read or written, is damaged, or has the wrong content."""

    exit_code = 3


class DamagedStore(InvalidFile):
    """A row of a store, or an event of its log, does not match its checksum."""

    exit_code = 13
    http_status = 500


class LostDecision(InvalidInput):
    """A decision that the log does not hold: it was made after the backup or snapshot that was restored.

    Its reward cannot be learned any more. Drop it, and do not send it again.

    Attributes
    ----------
    decisions : list
        All decisions of the call that are lost, as they were given; over HTTP, their ids.
    """

    exit_code = 12
    http_status = 410

    def __init__(self, message: str, decisions: Iterable[Any] = ()) -> None:
        super().__init__(message)
        self.decisions = list(decisions)


class InconsistentSideInformation(LsdtError):
    """The relations contradict one another: no mean rewards satisfy them all.

    Attributes
    ----------
    conflict : object or None
        Relations that cannot all be true, as an object with ``arms`` and ``relations``.
    """

    exit_code = 4
    http_status = 422

    def __init__(self, message: str, conflict: Any = None) -> None:
        super().__init__(message)
        self.conflict = conflict


class NotUnitInterval(InconsistentSideInformation):
    """The similar pairs of complete side information form no unit interval graph.

    ``conflict`` is the forbidden subgraph that shows it.
    """

    exit_code = 5


class Paused(LsdtError):
    """The experiment is paused: no decisions are made until it goes on. Rewards are still learned."""

    exit_code = 14
    http_status = 409


class TooLarge(LsdtError, MemoryError):
    """The answer would not fit in memory, or would take unreasonably long."""

    exit_code = 6
    http_status = 413


class Unsupported(LsdtError):
    """The method does not apply to this side information."""

    exit_code = 7
    http_status = 422


class MissingDependency(LsdtError, ImportError):
    """An optional package is needed and not installed."""

    exit_code = 8
    http_status = 501


class StoreFailed(LsdtError, OSError):
    """A store failed; nothing more is written until it is opened again."""

    exit_code = 10
    http_status = 503


class StoreLocked(LsdtError):
    """Another writer has the store or the experiment open."""

    exit_code = 11
    http_status = 409


class ContradictionWarning(UserWarning):
    """Relations contradict one another, and `lsdt.candidate_set` fell back to a rule that tolerates it."""


class SideWarning(UserWarning):
    """Side information says nothing, or rests on something doubtful; the text says what to do."""


class CacheWarning(UserWarning):
    """Compiled code cannot be stored on disk, so every process compiles again."""


def suggest(word: str, accepted: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` when an accepted word is close to `word`, else an empty string."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(accepted), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def listed(words: Sequence[str], like: str = "", most: int = 8) -> str:
    """Return words for a message: all if they are few, else those nearest to `like`, and how many more.

    Examples
    --------
    >>> from lsdt.errors import listed
    >>> listed(["user", "item"])
    "'user', 'item'"
    >>> listed([f"column_{number}" for number in range(40)] + ["user_id"], like="user", most=3)
    "'user_id', 'column_0', 'column_1' and 38 more"
    """
    if len(words) <= most + 2:
        return ", ".join(map(repr, words))
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=like.lower())

    def distance(word: str) -> float:
        matcher.set_seq1(word.lower())
        return -matcher.ratio()

    near = [word for word in sorted(words, key=distance)[:most] if distance(word) < -_ALIKE] if like else []
    shown = [*near, *(word for word in words if word not in near)][:most]
    return f"{', '.join(map(repr, shown))} and {len(words) - len(shown):,} more"


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural if needed: ``'1 arm'``, ``'2,000 arms'``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
