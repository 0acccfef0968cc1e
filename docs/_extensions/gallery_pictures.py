"""The pictures of a gallery script: figures of `lsdt.plotting`, which are in no list of pyplot, and pyplot's.

They are saved as `lsdt.plotting.save` saves them, so that they follow a light or a dark page; a picture that
would be large as an SVG file, because it draws very many things, becomes a PNG file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

from lsdt import plotting

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST_SVG = 1_000_000  # bytes
_DRAWN = "_lsdt_in_gallery"  # a mark on figures that were collected


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any], **_: Any) -> str:
    """Save the figures that a block of a script left, and return what shows them."""
    paths = []
    for figure in _figures(block_vars["example_globals"]):
        if not hasattr(figure, _DRAWN):
            setattr(figure, _DRAWN, True)
            paths.append(_save(figure, Path(next(block_vars["image_path_iterator"]))))
    plt.close("all")
    return figure_rst(paths, gallery_conf["src_dir"]) if paths else ""


def _figures(values: dict[str, Any]) -> Iterator[Figure]:
    """Yield the figures among the values of a script, each once, in order of appearance."""
    found: dict[int, Figure] = {}
    for value in [*values.values(), *(plt.figure(number) for number in plt.get_fignums())]:
        for each in value.flat if isinstance(value, np.ndarray) and value.dtype == object else [value]:
            figure = each.figure.figure if isinstance(each, Axes) else each
            if isinstance(figure, Figure):
                found.setdefault(id(figure), figure)
    yield from found.values()


def _save(figure: Figure, path: Path) -> str:
    vector = path.with_suffix(".svg")
    plotting.save(figure, vector)
    if vector.stat().st_size <= _LARGEST_SVG:
        return str(vector)
    vector.unlink()
    plotting.save(figure, path)
    return str(path)
