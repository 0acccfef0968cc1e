"""Numbers, settings and times formatted as text for readers."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

DASH = "–"  # shown if there is no value
MOST_ROWS = 200  # of a table on the page, which would get too long; all rows are in table.csv
_MOST_LISTED = 8  # numbers of a setting that fit on a line
_HUGE = 1e15  # from here on powers of ten are easier to read, and floats soon skip whole numbers
_TINY = 1e-4  # below this, powers of ten are easier to read


class TextTable(NamedTuple):
    """A table as text: its columns, which of them are numbers, the rows shown, and the number of all rows."""

    columns: list[str]
    numeric: list[bool]
    rows: list[tuple[str, ...]]
    n_rows: int


def text_table(table: pd.DataFrame) -> TextTable:
    """Return a table as text, at most `MOST_ROWS` rows of it; an index is shown only if it has a name.

    Examples
    --------
    >>> import pandas as pd
    >>> from lsdt.reproduce.page.cells import text_table
    >>> text_table(pd.DataFrame({"policy": ["ucb1", "ts"], "mean_regret": [1234.56, None]})).rows
    [('ucb1', '1,235'), ('ts', '–')]
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if any(name is not None for name in table.index.names):
        table = table.reset_index()
    columns = [table.iloc[:MOST_ROWS, place] for place in range(table.shape[1])]
    numeric = [is_numeric_dtype(column) and not is_bool_dtype(column) for column in columns]
    texts = [
        number_cells(column.to_numpy(np.float64, na_value=np.nan)) if is_number else list(map(cell, column))
        for column, is_number in zip(columns, numeric, strict=True)
    ]
    names = [name_text(name) for name in table.columns]
    return TextTable(names, numeric, list(zip(*texts, strict=True)), len(table))


def number_cells(values: NDArray[np.float64]) -> list[str]:
    """Return the numbers of a column as text, all with the same number of decimals if that is readable."""
    finite = values[np.isfinite(values)]
    decimals = _decimals(finite)
    if decimals is None:
        return [number_text(value) for value in values]
    return [
        _with_wide_minus(f"{value:,.{decimals}f}") if math.isfinite(value) else cell(value)
        for value in values
    ]


def _decimals(finite: NDArray[np.float64]) -> int | None:
    """Return a number of decimals that shows four digits of the largest number and two of the smallest.

    None if there is no such number.
    """
    sizes = np.abs(finite[finite != 0.0])
    if not len(sizes):
        return 0
    if sizes.max() < _HUGE and (finite == np.round(finite)).all():
        return 0
    decimals = max(0, 3 - math.floor(math.log10(sizes.max())))
    if sizes.max() >= _HUGE or sizes.min() < 10.0 ** (1 - decimals) or decimals > 6:
        return None
    while decimals and np.allclose(np.round(finite, decimals - 1), finite, rtol=0, atol=1e-12):
        decimals -= 1
    return decimals


def cell(value: Any) -> str:
    """Return one value as text."""
    if value is None:
        return DASH
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return _with_wide_minus(f"{int(value):,}")
    if isinstance(value, Real):
        return number_text(float(value))
    return DASH if value != value else str(value)  # NaN and NaT


def number_text(value: float) -> str:
    """Return a number as text with at least three significant digits, and all digits before the point."""
    if not math.isfinite(value):
        return DASH if math.isnan(value) else _with_wide_minus("-∞" if value < 0 else "∞")
    size = abs(value)
    if size >= _HUGE or 0.0 < size < _TINY:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        return _with_wide_minus(f"{mantissa}e{int(exponent)}")
    digits = max(0, 2 - math.floor(math.log10(size))) if value else 0
    text = f"{value:,.{digits}f}"
    return _with_wide_minus(text.rstrip("0").rstrip(".") if "." in text else text)


def _with_wide_minus(text: str) -> str:
    """Return the text of a number with a typographic minus sign."""
    return text.replace("-", "\N{MINUS SIGN}")


def with_minus(text: str) -> str:
    """Return a text with hyphens before numbers replaced by minus signs."""
    return re.sub(r"(?<![\w.)])-(?=[\d.∞])", "\N{MINUS SIGN}", text)


def name_text(name: Any) -> str:
    """Return the name of a column or a setting as words."""
    words = name if isinstance(name, tuple) else (name,)
    return " ".join(str(word).replace("_", " ") for word in words if str(word))


def setting_text(value: Any) -> str:
    """Return a value of a setting as text; only long lists are shortened.

    Examples
    --------
    >>> from lsdt.reproduce.page.cells import setting_text
    >>> setting_text([0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5])
    '0.05 to 0.5 in steps of 0.05 (10 values)'
    """
    if isinstance(value, dict):
        return ", ".join(f"{key} {setting_text(inner)}" for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return _list_text(value)
    if isinstance(value, Real) and not isinstance(value, (Integral, np.bool_)) and math.isfinite(value):
        return _with_wide_minus(f"{float(value):,.10g}")
    return "none" if value is None else cell(value)


def _list_text(values: Sequence[Any]) -> str:
    between = "; " if any(isinstance(value, (dict, list, tuple)) for value in values) else ", "
    are_numbers = all(isinstance(value, Real) and not isinstance(value, bool) for value in values)
    if not are_numbers or len(values) <= _MOST_LISTED:
        return between.join(setting_text(value) for value in values) or "none"
    first, last = setting_text(values[0]), setting_text(values[-1])
    many = f"({len(values):,} values)"
    steps = np.diff(np.asarray(values, np.float64))
    if steps[0] and np.allclose(steps, steps[0], rtol=1e-6, atol=0):
        return f"{first} to {last} in steps of {setting_text(float(f'{abs(steps[0]):.6g}'))} {many}"
    begin = ", ".join(setting_text(value) for value in values[:3])
    return f"{begin}, …, {last} {many}"


def duration(seconds: float) -> str:
    """Return a duration as text: ``'0.4 s'``, ``'12 s'``, ``'3 min 20 s'``, ``'2 h 5 min'``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"
