from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
import pytest

from lsdt.errors import InvalidInput
from lsdt.kernel.random import Purpose, new_stream
from lsdt.kernel.state import (
    FixedReals,
    Packed,
    Real,
    Reals,
    Whole,
    Wholes,
    apart,
    field_kinds,
    pack,
    state_of,
    stream_of,
    unpack,
)
from naive.streams import Stream


class EveryKind(NamedTuple):
    alpha: Real
    rounds: Whole
    means: Reals
    counts: Wholes
    empty: Reals


class Misdeclared(NamedTuple):
    alpha: float


GIVEN = EveryKind(0.1, -(2**62), np.array([1.5, np.inf, -0.0]), np.array([3, -4]), np.zeros(0))


@numba.njit
def count(buffer, offsets):
    state = state_of(EveryKind, buffer, offsets)
    state.counts[1] += 10
    state.means[0] = state.alpha
    return state.rounds


def test_a_state_comes_back_as_it_was_packed():
    packed = pack(GIVEN, new_stream(7))
    read = state_of(EveryKind, *packed)
    assert (read.alpha, read.rounds) == (0.1, -(2**62))
    assert isinstance(read, EveryKind)
    assert read.means.tolist() == [1.5, np.inf, -0.0]
    assert (read.counts.tolist(), read.counts.dtype) == ([3, -4], np.int64)
    assert len(read.empty) == 0
    assert packed.buffer[:4].view(np.uint64).tolist() == new_stream(7).tolist()


def test_arrays_are_views_and_single_numbers_are_copies():
    packed = pack(GIVEN, new_stream(7))
    state_of(EveryKind, *packed).counts[0] = 99
    assert state_of(EveryKind, *packed).counts.tolist() == [99, -4]
    assert GIVEN.counts.tolist() == [3, -4]


def test_compiled_code_sees_and_changes_the_same_words():
    packed = pack(GIVEN, new_stream(7))
    assert count(*packed) == -(2**62)
    read = state_of(EveryKind, *packed)
    assert read.counts.tolist() == [3, 6]
    assert read.means[0] == 0.1


def test_a_copy_is_independent():
    packed = pack(GIVEN, new_stream(7))
    copy = packed.copy()
    assert isinstance(copy, Packed)
    state_of(EveryKind, *packed).counts[0] = 99
    assert state_of(EveryKind, *copy).counts.tolist() == [3, -4]


def test_counts_given_as_floats_are_whole_numbers():
    packed = pack(GIVEN._replace(counts=np.zeros(2), rounds=3.0), new_stream(7))
    read = state_of(EveryKind, *packed)
    assert read.counts.tolist() == [0, 0]
    assert read.rounds == 3


def test_packing_does_not_touch_the_key_it_was_given():
    key = new_stream(7)
    pack(GIVEN, key).buffer[:] = 0
    assert key.tolist() == new_stream(7).tolist()


@pytest.mark.parametrize(("number", "purpose"), [(0, 2), (1, 2), (7, 4), (10**12, 5)])
def test_the_stream_of_a_round_depends_on_key_round_and_purpose_alone(number, purpose):
    buffer = pack(GIVEN, new_stream(7)).buffer
    twin = Stream(7)
    twin.begin_round(number, purpose)
    for before in (0, 3, 99):
        stream_of(buffer, before, Purpose.POLICY)
        stream = stream_of(buffer, number, purpose)
        assert stream.tolist() == twin.state
    assert buffer[:4].view(np.uint64).tolist() == new_stream(7).tolist()


class Tables(NamedTuple):
    counts: Wholes
    table: FixedReals


def test_a_table_lies_row_by_row_and_a_state_that_was_kept_must_have_the_same():
    given = Tables(np.zeros(2), np.array([[1.0, 2.0], [math.inf, 4.0]]).T)
    packed = pack(given, new_stream(7))
    assert state_of(Tables, *packed).table.tolist() == [1.0, math.inf, 2.0, 4.0]
    assert unpack(given, new_stream(7), packed.buffer.copy(), {}).buffer.tolist() == packed.buffer.tolist()
    for wrong in (-1e308, math.nan, math.inf, 1.001):
        changed = packed.buffer.copy()
        changed[-4] = wrong
        with pytest.raises(InvalidInput, match="field 'table' of the state does not hold what it must"):
            unpack(given, new_stream(7), changed, {})


def test_a_state_apart_shares_its_tables_alone():
    given = Tables(np.zeros(2), np.array([1.0, 2.0]))
    state = apart(given)
    assert state.counts.dtype == np.int64
    state.counts[:] = 5
    assert not given.counts.any()
    assert np.shares_memory(state.table, given.table)
    single = apart(GIVEN)
    assert (single.alpha, single.rounds, single.means.tolist()) == (0.1, -(2**62), [1.5, np.inf, -0.0])


def test_kinds_in_order():
    assert field_kinds(EveryKind) == ["Real", "Whole", "Reals", "Wholes", "Reals"]


def test_a_wrong_annotation_is_named():
    message = "field 'alpha' of Misdeclared is declared 'float'; accepted are Real, Whole .* Reals, Wholes"
    with pytest.raises(InvalidInput, match=message):
        pack(Misdeclared(1.0), new_stream(7))
