# pyright: standard
"""Cached typing of operators and attributes.

Results for built-in numeric types and Poise's own types are looked up once.

Numba tries all known cases of an operator, about forty, for each use in a kernel, and again when the kernel is lowered;
and it compiles `min`, `max` and `int` as separate functions for every combination of argument types. Together they took
a fifth of the compile time.
"""

from __future__ import annotations

import copy
import operator
from functools import cache
from typing import Any

from numba.core import types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, signature
from numba.cpython.builtins import do_minmax
from numba.extending import models, register_model


class SettledType(types.Type):
    """Base of Poise's own Numba types. Their operators never change, so their typing results are cached."""


_VALUES = types.Number, types.Boolean, SettledType, types.Array  # including literal types
_OPERATORS = frozenset(each for each in vars(operator).values() if callable(each)) | {bool, int, min, max}


def _is_settled(given: Any) -> bool:
    if isinstance(given, types.UniTuple | types.Tuple):  # an index
        return all(map(_is_settled, given.types))
    return isinstance(given, _VALUES)


class _Operator(types.Function):
    """Operator with cached signatures."""

    def __init__(self, template: Any) -> None:
        super().__init__(template)
        self._found: dict[Any, Any] = {}

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature for these argument types."""
        key = tuple(args)
        if kws or not all(map(_is_settled, key)):
            return super().get_call_type(context, args, kws)
        if key not in self._found:
            self._found[key] = super().get_call_type(context, args, kws)
        return self._found[key]


register_model(_Operator)(models.OpaqueModel)  # as for Numba's own functions


class _Inline(AbstractTemplate):
    """Python function on numbers, lowered in place."""

    key: Any

    def get_impl_key(self, sig: Any) -> Any:
        """Return a key found by these kernels only."""
        return f"poise.{self.key.__name__}"


class _Extremum(_Inline):
    def generic(self, args: Any, kws: Any) -> Any:
        """Type all arguments as their common type."""
        if kws or len(args) < 2 or not all(isinstance(each, types.Integer | types.Float) for each in args):
            return None
        unified = self.context.unify_types(*args)
        return signature(unified, *[unified] * len(args))


class _Min(_Extremum):
    key = min


class _Max(_Extremum):
    key = max


class _Int(_Inline):
    key = int

    def generic(self, args: Any, kws: Any) -> Any:
        """Type the truncation of a float towards zero."""
        return signature(types.intp, *args) if not kws and isinstance(args[0], types.Float) else None


@lower_builtin("poise.min", types.VarArg(types.Any))
def _lower_min(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return do_minmax(context, builder, sig.args, args, operator.lt)


@lower_builtin("poise.max", types.VarArg(types.Any))
def _lower_max(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return do_minmax(context, builder, sig.args, args, operator.gt)


@lower_builtin("poise.int", types.Float)
def _lower_int(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.cast(builder, args[0], sig.args[0], sig.return_type)


_OURS = {min: (_Min,), max: (_Max,), int: (_Int,)}


@cache
def _operator(known: types.Function) -> _Operator:
    return _Operator((*_OURS.get(known.typing_key, ()), *known.templates))


@cache
def remembering(context: Any) -> Any:
    """Copy a typing context, with cached operators and attributes."""

    def lookup_global(value: Any) -> Any:
        known = look(value)
        return _operator(known) if isinstance(known, types.Function) and known.typing_key in _OPERATORS else known

    def resolve_getattr(of: Any, name: str) -> Any:
        if isinstance(of, types.Module):
            return context.resolve_getattr(of, name)
        if (of, name) not in attributes:
            attributes[of, name] = context.resolve_getattr(of, name)
        return attributes[of, name]

    attributes: dict[tuple[Any, str], Any] = {}
    look = context._lookup_global  # noqa: SLF001
    copied = copy.copy(context)
    copied._lookup_global, copied.resolve_getattr = lookup_global, resolve_getattr  # noqa: SLF001
    copied.refresh = context.refresh  # new definitions are registered in the original
    return copied
