"""What the library says in terms of Python, in terms of the command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SPELLINGS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"\b(user|item|rating|propensity)=\.\.\.", r"--\1 COLUMN"),
    (r"\b(duplicates|interval|level|search|method)='(\w+)'", r"--\1 \2"),
    (r"\bscale=\(([^,()]+), ([^,()]+)\)", r"--scale \1 \2"),
    (r"\bmax_wrong='?(\w+)'?", r"--max-wrong \1"),
    (r"\bside=None\b", "--side none"),
    (r"\b(max_wrong|min_raters|wrong_rate)\b", lambda found: f"--{found[1].replace('_', '-')}"),
    (r"\bn_jobs\b", "--jobs"),
    (r"^(alpha|clip|confidence|seed|splits|train)(?= must\b)", r"--\1"),
)


def as_options(text: str) -> str:
    """Return a message with arguments of Python functions spelled as options.

    Examples
    --------
    >>> from lsdt.cli.spelling import as_options
    >>> as_options("say duplicates='last', or scale=(0, 3)")
    'say --duplicates last, or --scale 0 3'
    """
    for pattern, option in _SPELLINGS:
        text = re.sub(pattern, option, text)
    return text
