"""Evenly spread samples of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scalar = TypeVar("Scalar", bound=np.generic)


def evenly_spread(values: NDArray[Scalar], most: int) -> NDArray[Scalar]:
    """Return at most `most` of the values, at evenly spread positions that include the first and the last.

    Examples
    --------
    >>> import numpy as np
    >>> from lsdt.kernel.samples import evenly_spread
    >>> evenly_spread(np.arange(100), 4).tolist()
    [0, 33, 66, 99]
    >>> evenly_spread(np.arange(3), 4).tolist()
    [0, 1, 2]
    """
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).astype(np.int64)]
