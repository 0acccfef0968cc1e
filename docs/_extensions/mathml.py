"""Formulas as MathML, which browsers draw themselves: no script, no network, no LaTeX to install.

The font is STIX Two Math (SIL Open Font License 1.1, which it carries with it); it is copied out of the
package ziamath at build time, so that formulas look alike on machines without a font for mathematics.
"""

from __future__ import annotations

import re
import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from latex2mathml.exceptions import NoAvailableTokensError
from sphinx.util import logging

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

FONT = "STIXTwoMath-Regular.ttf"
_LOG = logging.getLogger(__name__)
_UNKNOWN = re.compile(r"<m[io]>\\(\w+)</m[io]>")
_BAR = re.compile(r"<mo>&#x0007C;</mo>(.+?)<mo>&#x0007C;</mo>")
_THIN = '<mspace width="0.17em"/>'
_ORDINARY = r"</m(?:i|n|sub|sup|subsup|frac|sqrt|row)>|&#x00029;</mo>"
_BEFORE = re.compile(rf"({_ORDINARY})(?=<m(?:i>(?:log|exp)|sub><mi>log)<)")
_AFTER = re.compile(r"(<mi>(?:log|exp)</mi>)(?=<m(?:i|n|sub|sup|subsup|frac|sqrt)>)")


def setup(app: Sphinx) -> dict[str, bool]:
    """Name the renderer, and put the font beside the pages."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("build-finished", _copy_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def to_mathml(formula: str, display: str) -> str:
    """Return a formula as MathML, with the spaces that TeX would put around functions and bars."""
    made = convert(formula, display=display)
    made = _AFTER.sub(rf"\1{_THIN}", _BEFORE.sub(rf"\1{_THIN}", made))
    made = re.sub(r"<mo>(min|max)</mo>", r'<mo lspace="0" rspace="0.1em">\1</mo>', made)
    bar = '<mo stretchy="false" lspace="0" rspace="0">|</mo>'
    return _BAR.sub(rf"{bar}\1{bar}", made).replace("<mo>&#x0002F;</mo>", '<mo lspace="0" rspace="0">/</mo>')


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(f'<span class="math">{_checked(node, "inline")}</span>')
    raise SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{_checked(node, "block")}</div>')
    raise SkipNode


def _checked(node: Any, display: str) -> str:
    formula = node.astext()
    try:
        made = to_mathml(formula, display)
    except (NoAvailableTokensError, IndexError, KeyError, ValueError) as error:
        _LOG.warning("formula %r: %r", formula, error, location=node)
        return formula
    unknown = _UNKNOWN.search(made)
    if unknown or "&amp;" in made:
        _LOG.warning("formula %r: %s is not known", formula, unknown[1] if unknown else "&", location=node)
    return made


def _copy_font(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        target = Path(app.outdir) / "_static" / FONT
        with as_file(files("ziamath") / "fonts" / FONT) as source:
            shutil.copyfile(source, target)
