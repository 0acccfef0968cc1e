"""What the library says in terms of Python, in terms of the command line."""

from __future__ import annotations

import re

_SPELLINGS = (
    (r"\b(user|item|rating|propensity)=\.\.\.", r"--\1 COLUMN"),
    (r"\b(duplicates|interval|level|search|method)='(\w+)'", r"--\1 \2"),
    (r"\bscale=\(([^,()]+), ([^,()]+)\)", r"--scale \1 \2"),
    (r"\bmin_witnesses='?(\w+)'?", r"--min-witnesses \1"),
    (r"\bside=None\b", "--side none"),
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
