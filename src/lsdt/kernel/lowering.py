"""How compiled code reads states and finds the functions of a policy: what Numba cannot infer by itself."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array

from lsdt.kernel.drivers import RULES, count_ask, learn, learn_expected, score_arm, select_arm
from lsdt.kernel.random import high_word
from lsdt.kernel.state import ARRAYS, ELEMENTS, declared_fields, field_kinds, state_of, view_of

if TYPE_CHECKING:
    from collections.abc import Callable

# Merged into their callers, as the functions that `inlined` marks.
_MERGED: Any = {"forceinline": True, "no_cfunc_wrapper": True}


@intrinsic(prefer_literal=False)
def _high_word(_context: Any, a: Any, b: Any) -> Any:
    """Multiply as whole numbers of 128 bits, which processors do in one step and Numba has no type for."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word = context.get_value_type(types.uint64)
        wide = type(word)(128)
        one, other = (builder.zext(argument, wide) for argument in arguments)
        product = builder.lshr(builder.mul(one, other), wide(64))
        return builder.trunc(product, word)

    return types.uint64(types.uint64, types.uint64), generate


@overload(high_word, jit_options=_MERGED, strict=False)
def _compiled_high_word(a: Any, b: Any) -> Callable[..., Any]:
    return lambda a, b: _high_word(a, b)  # type: ignore[call-arg]


def _view(context: Any, builder: Any, view_type: Any, first: Any, length: Any) -> Any:
    """Emit code for an array of `length` numbers that begins at address `first`."""
    view = make_array(view_type)(context, builder)  # type: ignore[no-untyped-call]
    size = context.get_constant(types.intp, 1 if view_type.dtype is types.boolean else 8)
    populate_array(  # type: ignore[no-untyped-call]
        view,
        data=builder.bitcast(first, view.data.type),
        shape=[length],
        strides=[size],
        itemsize=size,
        meminfo=None,
    )
    return view._getvalue()


@intrinsic(prefer_literal=False)
def _bare_view(_context: Any, buffer: Any, first: Any, last: Any, kind: Any) -> Any:
    """Make an array out of a place and a length alone.

    A slice takes negative ends and steps into account and counts its references: many times as much code, in
    every entry of every policy and for each field. No view outlives the call that was given the buffer.
    """
    view_type = types.Array(kind.instance_type, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = make_array(signature.args[0])(context, builder, arguments[0])  # type: ignore[no-untyped-call]
        first = builder.gep(words.data, [arguments[1]])
        return _view(context, builder, view_type, first, builder.sub(arguments[2], arguments[1]))

    return view_type(buffer, types.intp, types.intp, kind), generate


@overload(view_of, jit_options=_MERGED, strict=False)
def _compiled_view_of(buffer: Any, first: Any, last: Any, kind: Any) -> Callable[..., Any]:
    return lambda buffer, first, last, kind: _bare_view(buffer, first, last, kind)  # type: ignore[call-arg]


def _type_of(state_class: type) -> Any:
    """Return the type of a state in compiled code."""
    fields: list[Any] = []
    for kind in declared_fields(state_class).values():
        if isinstance(kind, str):
            element = types.float64 if ELEMENTS[kind] is np.float64 else types.int64
            fields.append(types.Array(element, 1, "C") if kind in ARRAYS else element)
        else:
            fields.append(_type_of(kind))
    return types.BaseTuple.from_types(fields, state_class)  # type: ignore[no-untyped-call]


@intrinsic(prefer_literal=False)
def _read_state(_context: Any, kind: Any, buffer: Any, offsets: Any) -> Any:
    """Make a state out of a buffer, all fields at once: one by one they take ten times as long to compile."""
    state_type = _type_of(kind.instance_class)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = make_array(signature.args[1])(context, builder, arguments[1]).data  # type: ignore[no-untyped-call]
        places = make_array(signature.args[2])(context, builder, arguments[2]).data  # type: ignore[no-untyped-call]
        numbers = range(1, len(field_kinds(kind.instance_class)) + 2)
        bounds = [
            builder.load(builder.gep(places, [context.get_constant(types.intp, each)])) for each in numbers
        ]
        ends = pairwise(bounds)

        def value_of(field: Any) -> Any:
            if isinstance(field, types.BaseTuple):
                nested: Any = field
                return context.make_tuple(builder, field, [value_of(each) for each in nested.types])
            first, last = next(ends)
            word = builder.gep(words, [first])
            if isinstance(field, types.Array):
                return _view(context, builder, field, word, builder.sub(last, first))
            return builder.load(builder.bitcast(word, context.get_value_type(field).as_pointer()))

        return value_of(state_type)

    return state_type(kind, buffer, offsets), generate


@overload(state_of, jit_options=_MERGED, strict=False)
def _compiled_state_of(kind: Any, buffer: Any, offsets: Any) -> Callable[..., Any]:
    return lambda kind, buffer, offsets: _read_state(kind, buffer, offsets)  # type: ignore[call-arg]


@overload(select_arm, jit_options=_MERGED, strict=False)
def _compiled_select(state: Any, allowed: Any, stream: Any) -> Callable[..., int]:
    return RULES[state.instance_class].select


@overload(learn, jit_options=_MERGED, strict=False)
def _compiled_learn(state: Any, arm: Any, reward: Any, stream: Any) -> Callable[..., None]:
    return RULES[state.instance_class].update


@overload(count_ask, jit_options=_MERGED, strict=False)
def _compiled_count(state: Any, arm: Any, allowed: Any, stream: Any) -> Callable[..., None] | None:
    return RULES[state.instance_class].asked


@overload(learn_expected, jit_options=_MERGED, strict=False)
def _compiled_expect(state: Any, arms: Any, rewards: Any, stream: Any) -> Callable[..., None] | None:
    return RULES[state.instance_class].expect


@overload(score_arm, jit_options=_MERGED, strict=False)
def _compiled_score(state: Any, arm: Any) -> Callable[..., float]:
    return RULES[state.instance_class].score
