"""How all pictures look, and how they are written."""

from __future__ import annotations

import warnings
from io import StringIO
from typing import TYPE_CHECKING

from lsdt._files import replace_file
from lsdt.errors import InvalidInput
from lsdt.plotting.dark_mode import adaptive

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Figure  # so that others can name it

ENDINGS = (".svg", ".png", ".pdf")
WIDTH = 9.0  # inches

# Okabe and Ito's palette: told apart by colour-blind readers, and in grey by their lightness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5A5A5A")
INK = "#222222"
GREY = "#C8C8C8"
MUTED = "#555555"  # notes beside the data
RULE = "#E4E4E4"  # grid lines


def check_ending(path: Path) -> None:
    """Refuse a picture of a kind that is not written."""
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"a picture ends in {', '.join(ENDINGS)}; got {str(path)!r}")


def empty_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure with one empty plot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def write_note(figure: Figure, note: str) -> None:
    """Write a note below everything else in a figure, in a strip of its own."""
    if note:
        strip = 0.26 / figure.get_figheight()
        figure.get_layout_engine().set(rect=(0.0, strip, 1.0, 1.0 - strip))  # type: ignore[call-arg, union-attr]
        figure.text(0.01, 0.3 * strip, note, fontsize=8.5, color=MUTED)


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the same figure gives the same file.

    An SVG file has no background and follows its reader's choice of a light or a dark page; a PNG or PDF
    file is black on white.
    """
    import matplotlib

    check_ending(path)
    with (
        replace_file(path) as written,
        matplotlib.rc_context({"svg.hashsalt": "lsdt"}),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message="Glyph")  # a script the font lacks is drawn as boxes
        if path.suffix.lower() != ".svg":
            figure.savefig(written, dpi=160)
            return
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
        written.write_text(adaptive(text.getvalue()), encoding="utf-8", newline="\n")
