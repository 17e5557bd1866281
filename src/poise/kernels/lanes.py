# pyright: standard
"""SIMD lanes for Numba kernels: types and operations.

A register holds one number of several problems; a lane is the part of one problem.

A value of `LanesType` is an LLVM vector of float64, a `LaneMask` one of bits. Numba code uses them like a float and a
bool: + - * /, comparisons, & and |; a number spreads over all lanes. LLVM does not vectorise such kernels by itself:
loops over an axis of eight are ten times slower than this.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import OpaqueModel, PrimitiveModel
from numba.core.imputils import lower_builtin, lower_cast, lower_constant
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import register_model, typeof_impl

from poise.kernels.jit import FixedOperatorType, inline_ordered

_I1, _I32, _I64, _F64 = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.DoubleType()


class LanesType(FixedOperatorType):
    """A vector of `width` float64."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(f"lanes({width})")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Allow numbers; they spread over all lanes."""
        # A promotion, so `2.0 * lanes` finds the same operator as lanes on both sides.
        return Conversion.promote if isinstance(other, (types.Float, types.Integer)) else None


class LaneMask(FixedOperatorType):
    """A vector of `width` truth values."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(f"mask({width})")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Allow a bool; it spreads over all lanes."""
        return Conversion.promote if isinstance(other, types.Boolean) else None


class LaneKindType(types.Dummy):
    """The Numba type of a `LaneKind`. It carries the kernel's value type."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.value_type = types.float64 if width == 1 else LanesType(width)
        super().__init__(f"kind({width})")


class LaneKind:
    """Constant for a kernel's value type. float64 (width 1) or lanes of this width; kernels take it first."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __repr__(self) -> str:
        return f"LaneKind({self.width})"


@typeof_impl.register(LaneKind)
def _find_lane_kind_type(lane_kind: LaneKind, _context: Any) -> LaneKindType:
    return LaneKindType(lane_kind.width)


register_model(LaneKindType)(OpaqueModel)


@lower_constant(LaneKindType)
def _lower_kind_constant(context: Any, _builder: Any, _type: Any, _value: Any) -> Any:
    return context.get_dummy_value()


@register_model(LanesType)
class _LanesModel(PrimitiveModel):
    def __init__(self, manager: Any, lanes: LanesType) -> None:
        super().__init__(manager, lanes, ir.VectorType(_F64, lanes.width))


@register_model(LaneMask)
class _LaneMaskModel(PrimitiveModel):
    def __init__(self, manager: Any, mask: LaneMask) -> None:
        super().__init__(manager, mask, ir.VectorType(_I1, mask.width))


def _broadcast_value(builder: Any, value: Any, width: int) -> Any:
    # Insert one element and shuffle it to all: LLVM combines the two into one broadcast instruction.
    vector_type = ir.VectorType(value.type, width)
    undefined = ir.Constant(vector_type, ir.Undefined)
    first_lane_set = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first_lane_set, undefined, ir.Constant(ir.VectorType(_I32, width), [0] * width))


@lower_cast(types.Float, LanesType)
@lower_cast(types.Integer, LanesType)
def _lower_number_to_lanes(context: Any, builder: Any, source_type: Any, lanes_type: Any, value: Any) -> Any:
    return _broadcast_value(builder, context.cast(builder, value, source_type, types.float64), lanes_type.width)


@lower_cast(types.Boolean, LaneMask)
def _lower_bool_to_mask(context: Any, builder: Any, source_type: Any, mask_type: Any, value: Any) -> Any:
    return _broadcast_value(builder, context.cast(builder, value, source_type, types.boolean), mask_type.width)


def find_width(arguments: Any) -> int:
    """Return the width of the first lanes or mask argument. 0 if there is none."""
    return next((a.width for a in arguments if isinstance(a, (LanesType, LaneMask))), 0)


def declare_signature(
    function: Callable[..., Any], infer_signature: Callable[..., Any], *, literal: bool = False
) -> None:
    """Declare the signature of a function or operator to Numba.

    It is `infer_signature(*argument types)`, None where it does not apply.

    With `literal` the types of constants are literal types.
    """

    class _Template(AbstractTemplate):
        prefer_literal = literal

        def generic(self, args: Any, kws: Any) -> Any:
            return None if kws else infer_signature(*args)

    register: Any = infer_global(function)
    register(_Template)


def _type_arithmetic(a: Any, b: Any) -> Any:
    width = find_width((a, b))
    return signature(LanesType(width), LanesType(width), LanesType(width)) if width else None


def _type_comparison(a: Any, b: Any) -> Any:
    width = find_width((a, b))
    return signature(LaneMask(width), LanesType(width), LanesType(width)) if width else None


def _type_logic(a: Any, b: Any) -> Any:
    masks = [t for t in (a, b) if isinstance(t, LaneMask)]
    return signature(masks[0], masks[0], masks[0]) if masks else None


def _lower_instruction(instruction_name: str) -> Callable[..., Any]:
    return lambda _context, builder, _sig, args: getattr(builder, instruction_name)(*args)


def _lower_comparison(operator_sign: str) -> Callable[..., Any]:
    return lambda _context, builder, _sig, args: builder.fcmp_ordered(operator_sign, *args)


for name, instruction in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    for operation in (getattr(operator, name), getattr(operator, "i" + name)):
        declare_signature(operation, _type_arithmetic)
        lower_builtin(operation, LanesType, LanesType)(_lower_instruction(instruction))
for operator_name, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "==")):
    declare_signature(getattr(operator, operator_name), _type_comparison)
    lower_builtin(getattr(operator, operator_name), LanesType, LanesType)(_lower_comparison(sign))
for operation, instruction in ((operator.and_, "and_"), (operator.or_, "or_")):
    declare_signature(operation, _type_logic)
    lower_builtin(operation, LaneMask, LaneMask)(_lower_instruction(instruction))
declare_signature(operator.neg, lambda a: signature(a, a) if isinstance(a, LanesType) else None)
lower_builtin(operator.neg, LanesType)(_lower_instruction("fneg"))


def lower_llvm_call(intrinsic_name: str) -> Callable[..., Any]:
    """Lower a call to an LLVM intrinsic, float64 or lanes."""

    def lower(_context: Any, builder: Any, sig: Any, args: Any) -> Any:
        suffix = f"v{sig.return_type.width}f64" if isinstance(sig.return_type, LanesType) else "f64"
        llvm_type = ir.FunctionType(args[0].type, [a.type for a in args])
        return builder.call(
            cgutils.get_or_insert_function(builder.module, llvm_type, f"llvm.{intrinsic_name}.{suffix}"), args
        )

    return lower


def allocate_on_stack(context: Any, builder: Any, element_type: Any, count: int) -> Any:
    """Allocate `count` elements on the caller's stack, aligned for lanes."""
    # In the entry block: an alloca inside a loop would allocate in every iteration.
    with builder.goto_entry_block():
        memory = builder.alloca(ir.ArrayType(context.get_data_type(element_type), count))
        memory.align = 64
    return builder.bitcast(memory, context.get_data_type(element_type).as_pointer())


def wrap_memory(context: Any, builder: Any, array_type: Any, pointer: Any, shape: list[Any]) -> Any:
    """Wrap borrowed memory as a C-ordered array of type `array_type`. `shape` are LLVM integers."""
    array_struct = context.make_array(array_type)(context, builder)
    item_size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array_type.dtype)))
    strides, stride = [], item_size
    for dimension in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, dimension)
    context.populate_array(
        array_struct,
        data=builder.bitcast(pointer, array_struct.data.type),
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides),
        itemsize=item_size,
        # Borrowed memory: the stack, or a work array of the caller that outlives the kernel.
        meminfo=None,
    )
    return array_struct._getvalue()  # noqa: SLF001  (Numba's own way to end a struct proxy)


# --- Operations on float64 and SIMD lanes, from one source -----------------------------------------------------------
#
# They complete + - * /, comparisons, & and |.
#
# A kernel takes a `LaneKind` first: SCALAR works on float64, LANES4 and LANES8 on 4 and 8 problems at once.
# Uncompiled, a lane value is a float (SCALAR) or a NumPy array of `count_lanes` numbers, so tests and coverage run the
# same source without Numba. Branches on lane values are impossible: use `select`.


SCALAR, LANES4, LANES8 = LaneKind(1), LaneKind(4), LaneKind(8)

_BITS_TYPE = ir.IntType(64)


# --- operations on values ----------------------------------------------------------------------------------------


def select(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where the condition holds, else `b`."""
    return np.where(condition, a, b) if isinstance(condition, np.ndarray) else a if condition else b


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller value."""
    return np.minimum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else min(a, b)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger value."""
    return np.maximum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else max(a, b)


def sqrt(a: Any) -> Any:
    """Return the square root."""
    return np.sqrt(a) if isinstance(a, np.ndarray) else math.sqrt(a)


def round_half_even(a: Any) -> Any:
    """Round to the nearest whole number, halves to even."""
    return np.rint(a) if isinstance(a, np.ndarray) else float(round(a))


def mask_to_bits(mask: Any) -> int:
    """Return the truth values as integer bits, lane 0 lowest."""
    return sum(1 << i for i, is_set in enumerate(mask) if is_set) if isinstance(mask, np.ndarray) else int(mask)


def get_lane(value: Any, i: int) -> float:
    """Return the number in one lane."""
    return float(value[i]) if isinstance(value, np.ndarray) else value


def set_lane(value: Any, i: int, lane_value: float) -> Any:
    """Return a copy of the value with one lane replaced."""
    if not isinstance(value, np.ndarray):
        return lane_value
    value = value.copy()  # values are immutable: other references must not change
    value[i] = lane_value
    return value


def _type_select(c: Any, a: Any, b: Any) -> Any:
    if isinstance(c, LaneMask):
        return signature(LanesType(c.width), c, LanesType(c.width), LanesType(c.width))
    return signature(types.float64, types.boolean, types.float64, types.float64) if not find_width((a, b)) else None


def _type_binary(a: Any, b: Any) -> Any:
    result_type = LanesType(find_width((a, b))) if find_width((a, b)) else types.float64
    return signature(result_type, result_type, result_type)


def _type_unary(a: Any) -> Any:
    result_type = a if isinstance(a, LanesType) else types.float64
    return signature(result_type, result_type)


declare_signature(select, _type_select)
declare_signature(minimum, _type_binary)
declare_signature(maximum, _type_binary)
declare_signature(sqrt, _type_unary)
declare_signature(round_half_even, _type_unary)
declare_signature(
    mask_to_bits, lambda m: signature(types.int64, m) if isinstance(m, (LaneMask, types.Boolean)) else None
)
declare_signature(get_lane, lambda v, _i: signature(types.float64, v, types.intp))
declare_signature(set_lane, lambda v, _i, _x: signature(v, v, types.intp, types.float64))

lower_builtin(select, types.Any, types.Any, types.Any)(lambda _c, builder, _s, args: builder.select(*args))
# minnum and maxnum of LLVM drop a NaN where one side is a number, as fmin and fmax of C do.
for function, llvm_name in ((minimum, "minnum"), (maximum, "maxnum"), (sqrt, "sqrt"), (round_half_even, "rint")):
    for number_type in (LanesType, types.Float):
        lower_builtin(function, *[number_type] * (2 if function in (minimum, maximum) else 1))(
            lower_llvm_call(llvm_name)
        )


@lower_builtin(mask_to_bits, LaneMask)
def _lower_mask_bits(_context, builder, sig, args):
    return builder.zext(builder.bitcast(args[0], ir.IntType(sig.args[0].width)), _BITS_TYPE)


@lower_builtin(mask_to_bits, types.Boolean)
def _lower_bool_bits(_context, builder, _sig, args):
    return builder.zext(args[0], _BITS_TYPE)


@lower_builtin(get_lane, types.Any, types.Any)
def _lower_get_lane(_context, builder, sig, args):
    return builder.extract_element(*args) if isinstance(sig.args[0], LanesType) else args[0]


@lower_builtin(set_lane, types.Any, types.Any, types.Any)
def _lower_set_lane(_context, builder, sig, args):
    return builder.insert_element(args[0], args[2], args[1]) if isinstance(sig.args[0], LanesType) else args[2]


# --- operations on a LaneKind ----------------------------------------------------------------------------------


def count_lanes(lane_kind: LaneKind) -> int:
    """Return the number of lanes."""
    return lane_kind.width


declare_signature(count_lanes, lambda kind: signature(types.intp, kind) if isinstance(kind, LaneKindType) else None)


@lower_builtin(count_lanes, LaneKindType)
def _lower_count_lanes(context, _builder, sig, _args):
    return context.get_constant(types.intp, sig.args[0].width)


def broadcast(lane_kind: LaneKind, number: float) -> Any:
    """Broadcast the number to every lane."""
    return number if lane_kind.width == 1 else np.full(lane_kind.width, number)


declare_signature(
    broadcast,
    lambda kind, _x: signature(kind.value_type, kind, kind.value_type) if isinstance(kind, LaneKindType) else None,
)
lower_builtin(broadcast, types.Any, types.Any)(lambda _c, _b, _s, args: args[1])


def stack_array(lane_kind: LaneKind, n: int) -> Any:
    """Return n values on the caller's stack; n is a constant."""
    return np.zeros(n) if lane_kind.width == 1 else np.zeros((n, lane_kind.width))


def stack_matrix(lane_kind: LaneKind, n: int, m: int) -> Any:
    """Return n x m values on the caller's stack; both are constants."""
    return np.zeros((n, m)) if lane_kind.width == 1 else np.zeros((n, m, lane_kind.width))


def view_lanes(lane_kind: LaneKind, work: Any, start: int, *extents: int) -> Any:
    """View part of a flat float64 work array as lanes. The view is (n,), (n, m) or (n, m, l), from element `start` on.

    Value i of lane l is `work[start + i * width + l]`, for writing single lanes. The work array and `start` must be
    aligned to 64 bytes: `count_lanes` times a multiple of the width.
    """
    memory = work[start : start + math.prod(extents) * lane_kind.width]
    return memory.reshape(extents) if lane_kind.width == 1 else memory.reshape(*extents, lane_kind.width)


def _type_stack_array(lane_kind: Any, *extents: Any) -> Any:
    is_supported = isinstance(lane_kind, LaneKindType) and all(isinstance(n, types.IntegerLiteral) for n in extents)
    return (
        signature(types.Array(lane_kind.value_type, len(extents), "C"), lane_kind, *extents) if is_supported else None
    )


def _type_view(lane_kind: Any, work: Any, _start: Any, *extents: Any) -> Any:
    if not isinstance(lane_kind, LaneKindType) or not isinstance(work, types.Array):
        return None
    return signature(
        types.Array(lane_kind.value_type, len(extents), "C"), lane_kind, work, *[types.intp] * (1 + len(extents))
    )


declare_signature(stack_array, _type_stack_array, literal=True)
declare_signature(stack_matrix, _type_stack_array, literal=True)
declare_signature(view_lanes, _type_view)


@lower_builtin(stack_array, LaneKindType, types.Any)
@lower_builtin(stack_matrix, LaneKindType, types.Any, types.Any)
def _lower_stack_array(context, builder, sig, _args):
    extents = [n.literal_value for n in sig.args[1:]]
    pointer = allocate_on_stack(context, builder, sig.return_type.dtype, math.prod(extents))
    shape = [context.get_constant(types.intp, extent) for extent in extents]
    return wrap_memory(context, builder, sig.return_type, pointer, shape)


@lower_builtin(view_lanes, LaneKindType, types.Array, types.intp, types.intp)
@lower_builtin(view_lanes, LaneKindType, types.Array, types.intp, types.intp, types.intp)
@lower_builtin(view_lanes, LaneKindType, types.Array, types.intp, types.intp, types.intp, types.intp)
def _lower_view(context, builder, sig, args):
    source = context.make_array(sig.args[1])(context, builder, args[1])
    pointer = builder.gep(source.data, [args[2]])
    return wrap_memory(context, builder, sig.return_type, pointer, args[3:])


# --- functions of values -----------------------------------------------------------------------------------------


@inline_ordered
def half_angle_sincos(x):
    """Return sine and cosine of x / 2.

    Accurate to 1e-15 for |x| < 1e5 [rad]. Both may be negated: they are w and z of the rotation by x about z.

    A quaternion and its negative are the same rotation, so x / 2 is reduced only to a quarter turn, without a quadrant
    and without branches: all lanes take the same steps. Pi is subtracted in three parts (Cody and Waite), the first two
    of 33 bits, so their products with the number of half turns are exact. The polynomials are Chebyshev fits of (sin r
    / r - 1) / r^2 and (cos r - 1 + r^2 / 2) / r^4 over r^2 in 0..(pi / 2)^2.
    """
    # x / (2 pi) rounded, and the remainder of x / 2 after so many half turns.
    half_turns = round_half_even(x * 0.15915494309189535)
    r = x * 0.5 - half_turns * 3.14159265346825122834
    r = r - half_turns * 1.21542010126079319532e-10
    r = r - half_turns * 4.04453249759190126308e-21
    r2 = r * r
    # Horner's scheme for sine and cosine: two independent chains of products.
    sine_series = r2 * 2.7314368769379893e-15 - 7.643969663988074e-13
    sine_series = (sine_series * r2 + 1.6058977292642743e-10) * r2 - 2.505210761669045e-08
    sine_series = (sine_series * r2 + 2.7557319219160833e-06) * r2 - 1.9841269841254966e-04
    sine_series = (sine_series * r2 + 8.333333333333316e-03) * r2 - 1.6666666666666666e-01
    cosine_series = r2 * 4.6464228378080794e-14 - 1.1466251369215444e-11
    cosine_series = (cosine_series * r2 + 2.087668153639063e-09) * r2 - 2.7557318573107296e-07
    cosine_series = (cosine_series * r2 + 2.480158729891222e-05) * r2 - 1.3888888888884765e-03
    cosine_series = cosine_series * r2 + 4.166666666666666e-02
    return r + r * r2 * sine_series, 1.0 - r2 * 0.5 + r2 * r2 * cosine_series
