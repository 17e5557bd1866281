# pyright: standard
"""Operations on float64 and SIMD lanes, from one source. They complete + - * /, comparisons, & and |.

A kernel takes a `NumberKind` first: SCALAR works on float64, LANES4 and LANES8 on 4 and 8 problems at once. Uncompiled,
a lane value is a float (SCALAR) or a NumPy array of `width` numbers, so tests and coverage run the same source without
Numba. Branches on lane values are impossible: use `select`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import signature

from poise.kernels.compiled import exact
from poise.kernels.values.lane_types import (
    KindType,
    LanesType,
    Mask,
    NumberKind,
    array_at,
    call_llvm,
    stack_pointer,
    teach,
    width_of,
)

SCALAR, LANES4, LANES8 = NumberKind(1), NumberKind(4), NumberKind(8)

_I64 = ir.IntType(64)


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


def nearest(a: Any) -> Any:
    """Round to the nearest whole number, halves to even."""
    return np.rint(a) if isinstance(a, np.ndarray) else float(round(a))


def bits(mask: Any) -> int:
    """Return the truth values as integer bits, lane 0 lowest."""
    return sum(1 << i for i, set_ in enumerate(mask) if set_) if isinstance(mask, np.ndarray) else int(mask)


def lane(value: Any, i: int) -> float:
    """Return the number in one lane."""
    return float(value[i]) if isinstance(value, np.ndarray) else value


def with_lane(value: Any, i: int, number: float) -> Any:
    """Return a copy of the value with one lane replaced."""
    if not isinstance(value, np.ndarray):
        return number
    value = value.copy()  # values are immutable: other references must not change
    value[i] = number
    return value


def _selected(c: Any, a: Any, b: Any) -> Any:
    if isinstance(c, Mask):
        return signature(LanesType(c.width), c, LanesType(c.width), LanesType(c.width))
    return signature(types.float64, types.boolean, types.float64, types.float64) if not width_of((a, b)) else None


def _two(a: Any, b: Any) -> Any:
    kind = LanesType(width_of((a, b))) if width_of((a, b)) else types.float64
    return signature(kind, kind, kind)


def _one(a: Any) -> Any:
    kind = a if isinstance(a, LanesType) else types.float64
    return signature(kind, kind)


teach(select, _selected)
teach(minimum, _two)
teach(maximum, _two)
teach(sqrt, _one)
teach(nearest, _one)
teach(bits, lambda m: signature(types.int64, m) if isinstance(m, (Mask, types.Boolean)) else None)
teach(lane, lambda v, _i: signature(types.float64, v, types.intp))
teach(with_lane, lambda v, _i, _x: signature(v, v, types.intp, types.float64))

lower_builtin(select, types.Any, types.Any, types.Any)(lambda _c, builder, _s, args: builder.select(*args))
# minnum and maxnum of LLVM drop a NaN where one side is a number, as fmin and fmax of C do.
for function, name in ((minimum, "minnum"), (maximum, "maxnum"), (sqrt, "sqrt"), (nearest, "rint")):
    for each in (LanesType, types.Float):
        lower_builtin(function, *[each] * (2 if function in (minimum, maximum) else 1))(call_llvm(name))


@lower_builtin(bits, Mask)
def _mask_bits(_context, builder, sig, args):
    return builder.zext(builder.bitcast(args[0], ir.IntType(sig.args[0].width)), _I64)


@lower_builtin(bits, types.Boolean)
def _bool_bits(_context, builder, _sig, args):
    return builder.zext(args[0], _I64)


@lower_builtin(lane, types.Any, types.Any)
def _lane(_context, builder, sig, args):
    return builder.extract_element(*args) if isinstance(sig.args[0], LanesType) else args[0]


@lower_builtin(with_lane, types.Any, types.Any, types.Any)
def _with_lane(_context, builder, sig, args):
    return builder.insert_element(args[0], args[2], args[1]) if isinstance(sig.args[0], LanesType) else args[2]


# --- operations on a NumberKind ----------------------------------------------------------------------------------


def width(kind: NumberKind) -> int:
    """Return the number of lanes."""
    return kind.width


teach(width, lambda kind: signature(types.intp, kind) if isinstance(kind, KindType) else None)


@lower_builtin(width, KindType)
def _lower_width(context, _builder, sig, _args):
    return context.get_constant(types.intp, sig.args[0].width)


def fill(kind: NumberKind, number: float) -> Any:
    """Broadcast the number to every lane."""
    return number if kind.width == 1 else np.full(kind.width, number)


teach(fill, lambda kind, _x: signature(kind.value, kind, kind.value) if isinstance(kind, KindType) else None)
lower_builtin(fill, types.Any, types.Any)(lambda _c, _b, _s, args: args[1])


def room(kind: NumberKind, n: int) -> Any:
    """Return n values on the caller's stack; n is a constant."""
    return np.zeros(n) if kind.width == 1 else np.zeros((n, kind.width))


def room2(kind: NumberKind, n: int, m: int) -> Any:
    """Return n x m values on the caller's stack; both are constants."""
    return np.zeros((n, m)) if kind.width == 1 else np.zeros((n, m, kind.width))


def part_of(kind: NumberKind, work: Any, start: int, *extents: int) -> Any:
    """View part of a flat float64 work array as lanes. The view is (n,), (n, m) or (n, m, l), from element `start` on.

    Value i of lane l is `work[start + i * width + l]`, for writing single lanes. The work array and `start` must be
    aligned to 64 bytes: `width` times a multiple of the width.
    """
    flat = work[start : start + math.prod(extents) * kind.width]
    return flat.reshape(extents) if kind.width == 1 else flat.reshape(*extents, kind.width)


def _constants(kind: Any, *extents: Any) -> Any:
    known = isinstance(kind, KindType) and all(isinstance(n, types.IntegerLiteral) for n in extents)
    return signature(types.Array(kind.value, len(extents), "C"), kind, *extents) if known else None


def _part(kind: Any, work: Any, _start: Any, *extents: Any) -> Any:
    if not isinstance(kind, KindType) or not isinstance(work, types.Array):
        return None
    return signature(types.Array(kind.value, len(extents), "C"), kind, work, *[types.intp] * (1 + len(extents)))


teach(room, _constants, literal=True)
teach(room2, _constants, literal=True)
teach(part_of, _part)


@lower_builtin(room, KindType, types.Any)
@lower_builtin(room2, KindType, types.Any, types.Any)
def _lower_room(context, builder, sig, _args):
    extents = [n.literal_value for n in sig.args[1:]]
    pointer = stack_pointer(context, builder, sig.return_type.dtype, math.prod(extents))
    shape = [context.get_constant(types.intp, extent) for extent in extents]
    return array_at(context, builder, sig.return_type, pointer, shape)


@lower_builtin(part_of, KindType, types.Array, types.intp, types.intp)
@lower_builtin(part_of, KindType, types.Array, types.intp, types.intp, types.intp)
@lower_builtin(part_of, KindType, types.Array, types.intp, types.intp, types.intp, types.intp)
def _lower_part(context, builder, sig, args):
    source = context.make_array(sig.args[1])(context, builder, args[1])
    pointer = builder.gep(source.data, [args[2]])
    return array_at(context, builder, sig.return_type, pointer, args[3:])


# --- functions of values -----------------------------------------------------------------------------------------


@exact
def half_turn(x):
    """Return sine and cosine of x / 2.

    Accurate to 1e-15 for |x| < 1e5 [rad]. Both may be negated: they are w and z of the rotation by x about z.

    A quaternion and its negative are the same rotation, so x / 2 is reduced only to a quarter turn, without a quadrant
    and without branches: all lanes take the same steps. Pi is subtracted in three parts (Cody and Waite), the first two
    of 33 bits, so their products with the number of half turns are exact. The polynomials are Chebyshev fits of (sin r
    / r - 1) / r^2 and (cos r - 1 + r^2 / 2) / r^4 over r^2 in 0..(pi / 2)^2.
    """
    # x / (2 pi) rounded, and the remainder of x / 2 after so many half turns.
    turns = nearest(x * 0.15915494309189535)
    r = x * 0.5 - turns * 3.14159265346825122834
    r = r - turns * 1.21542010126079319532e-10
    r = r - turns * 4.04453249759190126308e-21
    z = r * r
    # Horner's scheme for sine and cosine: two independent chains of products.
    ps = z * 2.7314368769379893e-15 - 7.643969663988074e-13
    ps = (ps * z + 1.6058977292642743e-10) * z - 2.505210761669045e-08
    ps = (ps * z + 2.7557319219160833e-06) * z - 1.9841269841254966e-04
    ps = (ps * z + 8.333333333333316e-03) * z - 1.6666666666666666e-01
    pc = z * 4.6464228378080794e-14 - 1.1466251369215444e-11
    pc = (pc * z + 2.087668153639063e-09) * z - 2.7557318573107296e-07
    pc = (pc * z + 2.480158729891222e-05) * z - 1.3888888888884765e-03
    pc = pc * z + 4.166666666666666e-02
    return r + r * z * ps, 1.0 - z * 0.5 + z * z * pc
