"""Side information as arrays and back; arrays that compiled code could not trust are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given

import lsdt
from lsdt.errors import InvalidInput
from lsdt.side_information.io.arrays import as_words, exact_array, fingerprint, side_as_arrays, side_of_arrays
from strategies import any_thresholds

CASES = {
    "partial": lsdt.SideInformation(4, [(0, 1)], [(1, 2)], epsilon=0.25),
    "complete": lsdt.complete(4, [(0, 1), (1, 2)]),
    "named": lsdt.SideInformation(3, [("x", "z")], arm_ids=["z", "y", "x"]),
    "thresholds": lsdt.SideInformation(3, [(0, 1), (1, 2)], [(0, 2), (0, 1)], epsilon=([0.3, 0.2], 0.1)),
    "means": lsdt.from_means([0.5, 0.1, 0.4], 0.2),
    "revealed": lsdt.from_means([0.5, 0.1, 0.4], 0.2).reveal(0.5, 0.5, seed=3).corrupt(0.1, seed=4),
}


@pytest.mark.parametrize("name", CASES)
def test_arrays_come_back_as_the_same_side_information(name):
    side = CASES[name]
    arrays, about = side_as_arrays(side)
    again = side_of_arrays(arrays, json.loads(json.dumps(about)))
    assert again == side
    assert (again.arm_ids, again.epsilon, again.is_complete) == (side.arm_ids, side.epsilon, side.is_complete)
    assert side_as_arrays(again)[1] == about
    assert fingerprint(again) == fingerprint(side)


@given(any_thresholds())
def test_thresholds_come_back(drawn):
    n_arms, similar, dissimilar = drawn
    sizes = tuple(np.array(list(of.values()), float) for of in (similar, dissimilar))
    side = lsdt.SideInformation(n_arms, list(similar), list(dissimilar), epsilon=sizes)
    assert side_of_arrays(*side_as_arrays(side)) == side


def test_fingerprints_differ():
    assert len({fingerprint(side) for side in CASES.values()}) == len(CASES)


# What is spoilt: an array, its place, and the value there.
@pytest.mark.parametrize(
    ("name", "array", "at", "value"),
    [
        ("partial", "similar_indptr", 1, 9),
        ("partial", "similar_indptr", 0, 1),
        ("partial", "similar_indices", 0, 4),  # no such arm
        ("partial", "similar_indices", 0, 3),  # arm 3 does not say so too
        ("thresholds", "similar_thresholds", 0, 0.25),  # from the other end it is .3
        ("thresholds", "similar_thresholds", 0, np.nan),
        ("means", "order", 0, 3),
        ("means", "order", 0, 2),  # arm 2 twice
        ("means", "means", 0, 0.45),  # no longer ascending
        ("means", "means", 2, np.inf),
        ("means", "right_end", 0, 2),  # not what the means say
    ],
)
def test_spoilt_arrays_are_named(name, array, at, value):
    arrays, about = side_as_arrays(CASES[name])
    spoilt = {key: values.copy() for key, values in arrays.items()}
    spoilt[array][at] = value
    with pytest.raises(InvalidInput, match=f"'{array}' of the side information has invalid content"):
        side_of_arrays(spoilt, about)


def test_arrays_have_exactly_one_type_and_shape():
    arrays = {"x": np.zeros((2, 3))}
    assert exact_array(arrays, "x", np.float64, (2, None)) is arrays["x"]
    for kind, shape in ((np.float32, (2, 3)), (np.float64, (3, 3)), (np.float64, (None,))):
        with pytest.raises(InvalidInput, match="the array 'x' is float64 of shape"):
            exact_array(arrays, "x", kind, shape)


def test_words_of_eight_bytes():
    assert as_words(b"").tolist() == []
    assert as_words(b"\x01" + b"\0" * 7 + b"\x02").tolist() == [1, 2]
    assert as_words(np.array([3, 4], np.uint64)).tolist() == [3, 4]
    assert as_words(np.array([5], np.int32)).tolist() == [5]
