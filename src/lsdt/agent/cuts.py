"""Where the rewards of an arm are cut in two to look for a change: 16 places in every octave of plays.

Cuts begin after the 16th reward. So a cut is never further from a change than one part in 16, and 16 numbers
are kept for every doubling of an arm's plays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# In an octave. More cuts would lie closer to a change, but take more memory, and share the weight of the
# evidence among more places.
CUTS = 16
_BITS = 4  # CUTS = 2**_BITS
# By the number of bits of a count: there is a cut after it if none of these bits is set. No cut comes before
# the 16th reward.
BELOW_CUT = [-1] * (_BITS + 1) + [(1 << bits) - 1 for bits in range(64)]


def octaves(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the octave of each position, from 0; below 0 before the first cut."""
    found: NDArray[np.int64] = np.frexp(places.astype(np.float64))[1].astype(np.int64) - _BITS - 1
    return found


def n_cuts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many cuts lie within this many rewards."""
    octave = np.maximum(octaves(counts), 0)
    return np.where(counts < CUTS, 0, CUTS * octave + (counts >> octave) - CUTS + 1)


def places_of_cuts(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of rewards before each cut, by the cut's number.

    Examples
    --------
    >>> import numpy as np
    >>> from lsdt.agent.cuts import places_of_cuts
    >>> places_of_cuts(np.array([0, 1, 15, 16, 17, 32])).tolist()
    [16, 17, 31, 32, 34, 64]
    """
    places: NDArray[np.int64] = (CUTS + numbers % CUTS) << (numbers // CUTS)
    return places
