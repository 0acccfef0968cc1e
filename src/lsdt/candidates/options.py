"""Options of `lsdt.candidate_set` for all methods, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

from lsdt._validation import checked_positive, checked_share, checked_whole
from lsdt.errors import InvalidInput


class Options(NamedTuple):
    """Options of `lsdt.candidate_set`; a method refuses those that belong to another one."""

    max_wrong: int | str = 0
    timeout: float | None = None
    wrong_rate: float | None = None
    risk: float = 0.01
    top: int = 1

    def refuse_wrong_relations(self, why: str, instead: str, accepted: tuple[int | str, ...] = (0,)) -> None:
        """Refuse options for wrong relations; for methods that rely on every relation."""
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


def checked_options(max_wrong: Any, timeout: Any, wrong_rate: Any, risk: Any, top: Any = 1) -> Options:
    """Return the options; raise `InvalidInput` if one is wrong."""
    if not (isinstance(max_wrong, str) and max_wrong == "auto"):
        max_wrong = checked_whole(max_wrong, "max_wrong", 0, meaning=", or 'auto'")
    top = checked_whole(top, "top", 1, meaning=": among how many of the best an arm must be able to be")
    if top > 1 and max_wrong == "auto":
        raise InvalidInput(
            f"max_wrong='auto' goes by whether an arm can be the best, and top={top} asks for more of them; "
            "give a number of wrong relations, such as max_wrong=1"
        )
    if timeout is not None:
        timeout = checked_positive(timeout, "timeout", ", in seconds, or None for no limit")
    if risk is not None and wrong_rate is None:
        raise InvalidInput(
            f"risk={risk!r} is the accepted probability of losing the best arm to wrong relations; give "
            "their rate, wrong_rate, too"
        )
    if wrong_rate is not None and max_wrong != 0:
        raise InvalidInput(
            f"wrong_rate decides how many wrong relations are tolerated; got max_wrong={max_wrong!r} too, "
            "leave one of them out"
        )
    return Options(
        max_wrong,
        timeout,
        None if wrong_rate is None else checked_share(wrong_rate, "wrong_rate"),
        0.01 if risk is None else checked_share(risk, "risk"),
        top,
    )
