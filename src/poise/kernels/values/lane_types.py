# pyright: standard
"""Numba types of SIMD lanes: `LanesType` and `LaneMask`. A register holds one number of several problems.

A value of `LanesType` is an LLVM vector of float64, a `LaneMask` one of bits. Numba code uses them like a float and a
bool: + - * /, comparisons, & and |; a number spreads over all lanes. LLVM does not vectorise such kernels by itself:
loops over an axis of eight are ten times slower than this.
"""

from __future__ import annotations

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

from poise.kernels.operators import SettledType

_I1, _I32, _I64, _F64 = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.DoubleType()


class LanesType(SettledType):
    """A vector of `width` float64."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(f"lanes({width})")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Allow numbers; they spread over all lanes."""
        # A promotion, so `2.0 * lanes` finds the same operator as lanes on both sides.
        return Conversion.promote if isinstance(other, (types.Float, types.Integer)) else None


class Mask(SettledType):
    """A vector of `width` truth values."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(f"mask({width})")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Allow a bool; it spreads over all lanes."""
        return Conversion.promote if isinstance(other, types.Boolean) else None


class KindType(types.Dummy):
    """The Numba type of a `NumberKind`. It carries the kernel's value type."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.value = types.float64 if width == 1 else LanesType(width)
        super().__init__(f"kind({width})")


class NumberKind:
    """Constant for a kernel's value type. float64 (width 1) or lanes of this width; kernels take it first."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __repr__(self) -> str:
        return f"NumberKind({self.width})"


@typeof_impl.register(NumberKind)
def _typeof_kind(kind: NumberKind, _context: Any) -> KindType:
    return KindType(kind.width)


register_model(KindType)(OpaqueModel)


@lower_constant(KindType)
def _lower_kind(context: Any, _builder: Any, _type: Any, _value: Any) -> Any:
    return context.get_dummy_value()


@register_model(LanesType)
class _LanesModel(PrimitiveModel):
    def __init__(self, manager: Any, lanes: LanesType) -> None:
        super().__init__(manager, lanes, ir.VectorType(_F64, lanes.width))


@register_model(Mask)
class _MaskModel(PrimitiveModel):
    def __init__(self, manager: Any, mask: Mask) -> None:
        super().__init__(manager, mask, ir.VectorType(_I1, mask.width))


def _spread(builder: Any, value: Any, width: int) -> Any:
    # Insert one element and shuffle it to all: LLVM combines the two into one broadcast instruction.
    vector = ir.VectorType(value.type, width)
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, width), [0] * width))


@lower_cast(types.Float, LanesType)
@lower_cast(types.Integer, LanesType)
def _number_to_lanes(context: Any, builder: Any, source: Any, to: Any, value: Any) -> Any:
    return _spread(builder, context.cast(builder, value, source, types.float64), to.width)


@lower_cast(types.Boolean, Mask)
def _bool_to_mask(context: Any, builder: Any, source: Any, to: Any, value: Any) -> Any:
    return _spread(builder, context.cast(builder, value, source, types.boolean), to.width)


def width_of(arguments: Any) -> int:
    """Return the width of the first lanes or mask argument. 0 if there is none."""
    return next((a.width for a in arguments if isinstance(a, (LanesType, Mask))), 0)


def teach(function: Callable[..., Any], result: Callable[..., Any], *, literal: bool = False) -> None:
    """Declare the signature of a function or operator to Numba.

    It is `result(*argument types)`, None where it does not apply.

    With `literal` the types of constants are literal types.
    """

    class _Template(AbstractTemplate):
        prefer_literal = literal

        def generic(self, args: Any, kws: Any) -> Any:
            return None if kws else result(*args)

    register: Any = infer_global(function)
    register(_Template)


def _arithmetic(a: Any, b: Any) -> Any:
    width = width_of((a, b))
    return signature(LanesType(width), LanesType(width), LanesType(width)) if width else None


def _comparison(a: Any, b: Any) -> Any:
    width = width_of((a, b))
    return signature(Mask(width), LanesType(width), LanesType(width)) if width else None


def _logic(a: Any, b: Any) -> Any:
    masks = [t for t in (a, b) if isinstance(t, Mask)]
    return signature(masks[0], masks[0], masks[0]) if masks else None


def _lower_with(instruction: str) -> Callable[..., Any]:
    return lambda _context, builder, _sig, args: getattr(builder, instruction)(*args)


def _lower_compare(sign: str) -> Callable[..., Any]:
    return lambda _context, builder, _sig, args: builder.fcmp_ordered(sign, *args)


for name, instruction in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    for each in (getattr(operator, name), getattr(operator, "i" + name)):
        teach(each, _arithmetic)
        lower_builtin(each, LanesType, LanesType)(_lower_with(instruction))
for each, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "==")):
    teach(getattr(operator, each), _comparison)
    lower_builtin(getattr(operator, each), LanesType, LanesType)(_lower_compare(sign))
for each, instruction in ((operator.and_, "and_"), (operator.or_, "or_")):
    teach(each, _logic)
    lower_builtin(each, Mask, Mask)(_lower_with(instruction))
teach(operator.neg, lambda a: signature(a, a) if isinstance(a, LanesType) else None)
lower_builtin(operator.neg, LanesType)(_lower_with("fneg"))


def call_llvm(name: str) -> Callable[..., Any]:
    """Lower a call to an LLVM intrinsic, float64 or lanes."""

    def lower(_context: Any, builder: Any, sig: Any, args: Any) -> Any:
        suffix = f"v{sig.return_type.width}f64" if isinstance(sig.return_type, LanesType) else "f64"
        kind = ir.FunctionType(args[0].type, [a.type for a in args])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}"), args)

    return lower


def stack_pointer(context: Any, builder: Any, element: Any, count: int) -> Any:
    """Allocate `count` elements on the caller's stack, aligned for lanes."""
    # In the entry block: an alloca inside a loop would allocate in every iteration.
    with builder.goto_entry_block():
        room = builder.alloca(ir.ArrayType(context.get_data_type(element), count))
        room.align = 64
    return builder.bitcast(room, context.get_data_type(element).as_pointer())


def array_at(context: Any, builder: Any, array: Any, pointer: Any, shape: list[Any]) -> Any:
    """Wrap borrowed memory as a C-ordered array of type `array`. `shape` are LLVM integers."""
    value = context.make_array(array)(context, builder)
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array.dtype)))
    strides, step = [], size
    for extent in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, extent)
    context.populate_array(
        value,
        data=builder.bitcast(pointer, value.data.type),
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides),
        itemsize=size,
        # Borrowed memory: the stack, or a work array of the caller that outlives the kernel.
        meminfo=None,
    )
    return value._getvalue()  # noqa: SLF001  (Numba's own way to end a struct proxy)
