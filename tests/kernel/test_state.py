from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
import pytest

from lsdt.errors import InvalidInput
from lsdt.kernel.random import STREAM_WORDS, Purpose, new_stream
from lsdt.kernel.state import (
    FixedReals,
    Packed,
    Ragged,
    Real,
    Reals,
    Whole,
    Wholes,
    check_values,
    copy_state,
    field_kinds,
    pack,
    pack_many,
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
    assert packed.buffer[:STREAM_WORDS].view(np.uint64).tolist() == new_stream(7).tolist()


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
    assert buffer[:2].view(np.uint64).tolist() == new_stream(7)[:2].tolist()


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
    state = copy_state(given)
    assert state.counts.dtype == np.int64
    state.counts[:] = 5
    assert not given.counts.any()
    assert np.shares_memory(state.table, given.table)
    single = copy_state(GIVEN)
    assert (single.alpha, single.rounds, single.means.tolist()) == (0.1, -(2**62), [1.5, np.inf, -0.0])


def test_kinds_in_order():
    assert list(field_kinds(EveryKind).values()) == ["Real", "Whole", "Reals", "Wholes", "Reals"]


class Outer(NamedTuple):
    first: Real
    every: EveryKind
    tables: Tables
    last: Wholes


class ByValue(NamedTuple):
    inner: Outer
    more: Reals


@numba.njit
def change_nested(buffer, offsets):
    state = state_of(ByValue, buffer, offsets)
    tables = state.inner.tables
    tables.counts[1] = state.inner.every.rounds
    state.more[0] = state.inner.first + tables.table[1]
    state.inner.every.counts[0] += state.inner.last[0]


def nested():
    tables = Tables(np.array([5, 6]), np.array([1.0, 2.0]))
    return ByValue(Outer(0.5, GIVEN._replace(rounds=7), tables, np.array([9])), np.array([8.0]))


def test_a_state_may_hold_others():
    """Fields lie one after the other, in the same buffer, and have dotted names."""
    packed = pack(nested(), new_stream(7))
    names = list(field_kinds(ByValue))
    assert names[:3] == ["inner.first", "inner.every.alpha", "inner.every.rounds"]
    assert names[-4:] == ["inner.tables.counts", "inner.tables.table", "inner.last", "more"]
    assert len(packed.offsets) == len(names) + 2
    read = state_of(ByValue, *packed)
    assert isinstance(read.inner, Outer)
    assert isinstance(read.inner.every, EveryKind)
    assert (read.inner.every.alpha, read.inner.every.rounds, read.inner.first) == (0.1, 7, 0.5)
    assert read.inner.tables.counts.tolist() == [5, 6]
    assert (read.inner.last.tolist(), read.more.tolist()) == ([9], [8.0])


def test_compiled_code_reads_and_changes_nested_states():
    packed = pack(nested(), new_stream(7))
    change_nested(*packed)
    read = state_of(ByValue, *packed)
    assert read.inner.tables.counts.tolist() == [5, 7]
    assert read.more.tolist() == [2.5]
    assert read.inner.every.counts.tolist() == [12, -4]


def test_a_nested_state_is_copied_apart_and_taken_back():
    given = nested()
    state = copy_state(given)
    state.inner.tables.counts[:] = 0
    assert given.inner.tables.counts.tolist() == [5, 6]
    assert np.shares_memory(state.inner.tables.table, given.inner.tables.table)
    packed = pack(given, new_stream(7))
    places = {"inner.tables.counts": "inner.every.means"}
    with pytest.raises(InvalidInput, match=r"'inner\.tables\.counts' of the state points outside of its 3"):
        unpack(given, new_stream(7), packed.buffer.copy(), places)
    taken = unpack(given, new_stream(7), packed.buffer.copy(), {"inner.last": 10})
    assert taken.buffer.tobytes() == packed.buffer.tobytes()


def test_many_nested_states_are_packed_as_each_by_itself():
    keys = np.array([new_stream(1), new_stream(2)])
    one, two = (Tables(np.arange(n), np.arange(n + 1) / 2) for n in (2, 3))
    alone = [pack(Pair(each, 0.5), key) for each, key in zip((one, two), keys, strict=True)]
    ragged = (
        Ragged(np.array([2, 3]), np.array([0, 1, 0, 1, 2])),
        Ragged(np.array([3, 4]), np.array([0, 0.5, 1, 0, 0.5, 1, 1.5])),
    )
    together = pack_many(Pair(Tables(*ragged), 0.5), keys)
    for mine, theirs in zip(together, alone, strict=True):
        assert mine.buffer.tolist() == theirs.buffer.tolist()
        assert mine.offsets.tolist() == theirs.offsets.tolist()


class Pair(NamedTuple):
    tables: Tables
    scale: Real


class Endless(NamedTuple):
    again: Endless


class Unknown(NamedTuple):
    tallies: Somewhere  # noqa: F821


@pytest.mark.parametrize(("wrong", "name"), [(Endless, "Endless"), (Unknown, "Somewhere")])
def test_a_nested_class_must_be_known_and_another(wrong, name):
    message = f"declared '{name}'; accepted are .* another typing.NamedTuple .*must be known in the module"
    with pytest.raises(InvalidInput, match=message):
        field_kinds(wrong)


def test_what_is_wrong_with_a_nested_state_is_said():
    with pytest.raises(
        InvalidInput, match="return a Tables for field 'tables' of Pair, as declared; got int"
    ):
        check_values(Pair(3, 1.0), Pair)
    with pytest.raises(InvalidInput, match="field 'counts' of Tables is declared Wholes: .* whole numbers"):
        check_values(Pair(Tables(np.array([0.5]), np.zeros(1)), 1.0), Pair)


def test_a_wrong_annotation_is_named():
    message = "field 'alpha' of Misdeclared is declared 'float'; accepted are Real, Whole .* Reals, Wholes"
    with pytest.raises(InvalidInput, match=message):
        pack(Misdeclared(1.0), new_stream(7))
