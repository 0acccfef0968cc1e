"""The style of all plots, and how to save them.

SVG files suit light and dark pages: on a dark page greys are inverted, and colours stay.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING, Any

from lsdt._files import checked_path, replace_file
from lsdt._validation import check_kind
from lsdt.errors import InvalidInput, MissingDependency

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png", ".pdf")
WIDTH = 9.0  # inches, 864 pixels: fits the report's column of 56 rem

# Okabe and Ito's palette: colour-blind readers can tell them apart, and in greyscale their lightness differs.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5A5A5A")
INK = "#222222"
GREY = "#C8C8C8"
MUTED = "#555555"  # notes beside the data
RULE = "#E4E4E4"  # grid lines

_GREY = re.compile(r"(fill|stroke): #([0-9a-f]{2})\2\2\b")
_LIGHTEST, _DARKEST = 0xF0, 0x16  # what black and white become on a dark page


def save(drawn: Axes | Figure, path: str | PathLike[str]) -> None:
    """Save a picture as a ``.svg``, ``.png`` or ``.pdf`` file.

    An SVG file has no background and follows its reader's choice of a light or a dark page; a PNG or PDF
    file is black on white. The same picture gives the same file. An existing file is replaced
    atomically.

    Parameters
    ----------
    drawn : Axes or Figure
        What a ``plot_...`` function returned, or any figure; for an Axes, its whole figure is saved.
    path : str or path
        The file to write. Missing folders are created.

    Examples
    --------
    >>> import lsdt
    >>> found = lsdt.candidate_set(lsdt.from_means([.1, .2, .3], epsilon=.15))
    >>> lsdt.plotting.save(lsdt.plotting.plot_candidates(found), "arms.svg")  # doctest: +SKIP
    """
    check_matplotlib()
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    figure = drawn.figure.figure if isinstance(drawn, Axes) else drawn  # twice: the first may be a subfigure
    check_kind(figure, Figure, "lsdt.plotting.save takes the Axes of a plot_... function, or a Figure")
    target = checked_path(path)
    check_ending(target)
    with (
        replace_file(target) as written,
        matplotlib.rc_context({"svg.hashsalt": "lsdt"}),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message="Glyph")  # a script the font lacks is drawn as boxes
        if target.suffix.lower() != ".svg":
            figure.savefig(written, dpi=160)
            return
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
        written.write_text(adaptive(text.getvalue()), encoding="utf-8", newline="\n")


def check_ending(path: Path) -> None:
    """Raise an error if a path does not end in one of `ENDINGS`, or if matplotlib is not installed."""
    check_matplotlib()
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"the file name of a picture must end in {', '.join(ENDINGS)}; got {str(path)!r}")


def check_matplotlib() -> None:
    """Raise an error that names the extra if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise MissingDependency("plots need matplotlib: pip install 'lsdt[report]'")


def check_axes(ax: Any) -> None:
    """Raise an error unless `ax` is an Axes or None, or if matplotlib is not installed."""
    check_matplotlib()
    from matplotlib.axes import Axes

    if ax is not None:
        check_kind(ax, Axes, "ax must be a matplotlib Axes to draw into, or None for a new figure")


def axes_or_new(ax: Axes | None, height: float) -> Axes:
    """Return the given Axes, or those of a new figure, which matplotlib does not keep in a global list."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained").add_subplot() if ax is None else ax


def write_title(axes: Axes, title: str, *, wrap: bool = False, pad: float = 12) -> None:
    """Write the title of a plot, wrapped to its width if `wrap`; dollar signs do not start math."""
    size = 10 if wrap else 11
    text = wrap_text(axes, title, size) if wrap else title
    axes.set_title(text, loc="left", fontsize=size, color=INK, pad=pad, parse_math=False)


def wrap_text(axes: Axes, text: str, size: float) -> str:
    """Return a text wrapped to about the width of a plot, for a font size of `size` points."""
    letters = int(inches(axes)[0] * 72 / (0.5 * size))
    return "\n".join(textwrap.wrap(text, max(letters, 16)))


def inches(axes: Axes) -> tuple[float, float]:
    """Return the width and height of a plot in inches."""
    box = axes.get_window_extent().transformed(axes.figure.dpi_scale_trans.inverted())
    return box.width, box.height


def write_note(figure: Figure, note: str) -> None:
    """Write a note in a strip below everything else, in a figure with a constrained layout."""
    if note:
        strip = 0.26 / figure.get_figheight()
        figure.get_layout_engine().set(rect=(0.0, strip, 1.0, 1.0 - strip))  # type: ignore[call-arg, union-attr]
        figure.text(0.01, 0.3 * strip, note, fontsize=8.5, color=MUTED)


def adaptive(svg: str) -> str:
    """Return matplotlib's SVG text with style rules for dark pages added.

    Every grey, including black and white, becomes its counterpart on a dark page: ink turns light, grid lines
    and outlines of letters turn dark. White letters stay white, since they are on coloured areas. The rules
    are in the picture itself, so that it adapts wherever it is shown.
    """
    rules = [f"svg{{fill:{_counterpart(0)};color-scheme:dark}}"]  # black letters have no explicit colour
    for kind, half in sorted(set(_GREY.findall(svg))):
        shapes = ":not(g)" if (kind, half) == ("fill", "ff") else ""  # letters are groups of glyphs
        rules.append(
            f'{shapes}[style*="{kind}: #{half * 3}"]{{{kind}:{_counterpart(int(half, 16))}!important}}'
        )
    style = f"@media (prefers-color-scheme: dark){{{' '.join(rules)}}}"
    return svg.replace("</style>", f"\n{style}\n</style>", 1)


def _counterpart(grey: int) -> str:
    """Return the grey on a dark page that corresponds to a grey on a light page."""
    value = round(_LIGHTEST - grey * (_LIGHTEST - _DARKEST) / 255)
    return f"#{value:02x}" + f"{value:02x}" * 2
