# pyright: standard
"""Numba types and code of SIMD lanes.

A value of `LanesType` is an LLVM vector of float64, a `LaneMask` one of bits. Numba code uses them like a float and a
bool: + - * /, comparisons, & and |; a number spreads over all lanes. LLVM does not vectorise such kernels by itself:
loops over an axis of eight are ten times slower than this.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import OpaqueModel, PrimitiveModel
from numba.core.imputils import lower_builtin, lower_cast, lower_constant
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import register_model, typeof_impl

from poise.kernels.jit.compiler import FixedOperatorType
from poise.kernels.lanes import (
    LaneKind,
    broadcast,
    count_lanes,
    get_lane,
    mask_to_bits,
    maximum,
    minimum,
    round_half_even,
    select,
    set_lane,
    sqrt,
    stack_array,
    stack_matrix,
    view_lanes,
)

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


_BITS_TYPE = ir.IntType(64)


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


declare_signature(count_lanes, lambda kind: signature(types.intp, kind) if isinstance(kind, LaneKindType) else None)


@lower_builtin(count_lanes, LaneKindType)
def _lower_count_lanes(context, _builder, sig, _args):
    return context.get_constant(types.intp, sig.args[0].width)


declare_signature(
    broadcast,
    lambda kind, _x: signature(kind.value_type, kind, kind.value_type) if isinstance(kind, LaneKindType) else None,
)
lower_builtin(broadcast, types.Any, types.Any)(lambda _c, _b, _s, args: args[1])


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
