"""SVG pictures that fit light and dark pages: greys change places, colours stay."""

from __future__ import annotations

import re

_GREY = re.compile(r"(fill|stroke): #([0-9a-f]{2})\2\2\b")
_LIGHTEST, _DARKEST = 0xF0, 0x16  # what black and white become on a dark page


def adaptive(svg: str) -> str:
    """Return a picture by matplotlib with rules for dark pages.

    Every grey, black and white included, becomes its counterpart on a dark page: ink turns light, grid lines
    and outlines of letters turn dark. White letters stay white, for they stand on colours. The rules
    are in the picture itself, so that it adapts wherever it is shown.
    """
    rules = [f"svg{{fill:{_counterpart(0)};color-scheme:dark}}"]  # black letters carry no colour of their own
    for kind, half in sorted(set(_GREY.findall(svg))):
        shapes = ":not(g)" if (kind, half) == ("fill", "ff") else ""  # letters are groups of glyphs
        rules.append(
            f'{shapes}[style*="{kind}: #{half * 3}"]{{{kind}:{_counterpart(int(half, 16))}!important}}'
        )
    style = f"@media (prefers-color-scheme: dark){{{' '.join(rules)}}}"
    return svg.replace("</style>", f"\n{style}\n</style>", 1)


def _counterpart(grey: int) -> str:
    """Return the grey of a dark page for one of a light page."""
    value = round(_LIGHTEST - grey * (_LIGHTEST - _DARKEST) / 255)
    return f"#{value:02x}" + f"{value:02x}" * 2
