"""What operators give in kernels: what Numba says that they give, looked up once, and nothing compiled for them."""

from __future__ import annotations

import itertools
import math
import operator

import pytest
from numba import njit
from numba.core import types
from numba.core.errors import NumbaError
from numba.core.event import Listener, install_listener
from numba.core.registry import cpu_target
from numba.core.typing.templates import AbstractTemplate, signature

from poise.kernels.jit.compiler import KernelCompiler, _CachedOperator, _make_cached_operator, make_caching_context
from poise.kernels.jit.lane_lowering import LaneMask, LanesType

ARRAY, PAIR = types.Array(types.float64, 2, "C"), types.UniTuple(types.int64, 2)
QUERIED = [
    types.float64, types.int64, types.boolean, types.literal(2), LanesType(8), LaneMask(8), types.unicode_type, ARRAY,
    PAIR,
]  # fmt: skip
TWO = operator.add, operator.mul, operator.truediv, operator.lt, operator.and_, operator.getitem
ONE = operator.neg, operator.invert, bool


def found(function, args):
    """The signature, None, or the kind of the refusal."""
    try:
        return function.get_call_type(cpu_target.typing_context, args, {})
    except NumbaError as error:
        return type(error)


@pytest.mark.parametrize(("each", "count"), [*((each, 2) for each in TWO), *((each, 1) for each in ONE)])
@pytest.mark.long
def test_what_is_remembered_of_operators_is_what_numba_finds(each, count):
    context = cpu_target.typing_context
    context.refresh()
    known, ours = context.resolve_value_type(each), make_caching_context(context).resolve_value_type(each)
    assert isinstance(ours, _CachedOperator)
    for args in itertools.product(QUERIED, repeat=count):
        for _ in range(2):
            assert found(ours, args) == found(known, args)
            if isinstance(found(ours, args), signature(types.none).__class__):
                assert ours.get_impl_key(found(ours, args)) == known.get_impl_key(found(known, args))


def test_what_is_no_operator_is_left_to_numba():
    context = cpu_target.typing_context
    for each in (math.sqrt, range, len):
        assert make_caching_context(context).resolve_value_type(each) is context.resolve_value_type(each)


@pytest.mark.parametrize(
    ("args", "times"),
    [
        ((types.float64, LanesType(4)), 1), ((ARRAY, PAIR), 1), ((types.literal(2), types.literal(3)), 1),
        ((types.unicode_type, types.int64), 3), ((ARRAY, types.UniTuple(types.unicode_type, 2)), 3),
    ],
)  # fmt: skip
def test_operators_on_numbers_lanes_and_arrays_are_looked_up_once(args, times):
    requested = []

    class Template(AbstractTemplate):
        key = operator.getitem

        def generic(self, args, kws):
            requested.append(args)
            return signature(types.float64, *args)

    function = _CachedOperator(Template)
    for _ in range(3):
        function.get_call_type(cpu_target.typing_context, args, {})
    assert len(requested) == times


def test_an_operator_that_numba_learns_more_of_is_queried_again():
    class Template(AbstractTemplate):
        key = operator.getitem

    class Another(AbstractTemplate):
        key = operator.getitem

    before = types.Function(Template)
    assert _make_cached_operator(before) is _make_cached_operator(types.Function(Template))
    assert _make_cached_operator(before) is not _make_cached_operator(before.augment(types.Function(Another)))


class Compiled(Listener):
    def __init__(self):
        self.names = []

    def on_start(self, event):
        self.names.append(event.data["dispatcher"].__name__)

    def on_end(self, event):
        pass


def kernel(function):
    """Compiled as kernels are, and what else was compiled for it."""
    made, observed = njit(pipeline_class=KernelCompiler)(function), Compiled()

    def call(*args):
        with install_listener("numba:compile", observed):
            return made(*args)

    return call, observed


NAN, INF = math.nan, math.inf
NUMBERS = [(1.0, 2.0), (2.0, 1.0), (0.5, 0.5), (NAN, 1.0), (1.0, NAN), (INF, -INF), (-0.0, 0.0), (0.0, -0.0)]
WHOLE = [(1, 2), (2, 1), (-3, -3), (2**62, -(2**62))]


@pytest.mark.parametrize("function", [min, max])
def test_two_numbers_are_compared_as_python_does_without_a_function_for_it(function):
    def compared(a, b):
        return function(a, b)

    call, observed = kernel(compared)
    for a, b in [*NUMBERS, *WHOLE, (1, 2.5), (2.5, 1)]:
        value, expected = call(a, b), function(a, b)
        assert value == expected or (math.isnan(value) and math.isnan(expected))
    assert set(observed.names) == {"compared"}


@pytest.mark.parametrize("function", [min, max])
@pytest.mark.parametrize("numbers", list(itertools.permutations([0.5, NAN, -1.5, 2.0])))
def test_four_numbers_are_compared_as_python_does(function, numbers):
    def compared(a, b, c, d):
        return function(0, a, b, c, d)

    value, expected = njit(pipeline_class=KernelCompiler)(compared)(*numbers), function(0, *numbers)
    assert value == expected or (math.isnan(value) and math.isnan(expected))


@pytest.mark.parametrize("function", [min, max])
def test_an_extremum_of_a_tuple_is_left_to_numba(function):
    def compared(a, b):
        return function((a, b))

    call, _ = kernel(compared)
    assert call(1.0, 2.0) == function(1.0, 2.0)


@pytest.mark.parametrize("x", [0.0, 1.5, -1.5, 0.999, -0.999, 2.0**52, -(2.0**52), 3.0])
def test_a_float_is_cut_towards_zero_without_a_function_for_it(x):
    def cut(x):
        return int(x)

    call, observed = kernel(cut)
    assert call(x) == int(x)
    assert isinstance(call(x), int)
    assert observed.names == ["cut"]


def test_an_int_of_what_is_no_float_is_left_to_numba():
    def cut(x):
        return int(x)

    call, _ = kernel(cut)
    assert call(7) == 7
    assert call(True) == 1
