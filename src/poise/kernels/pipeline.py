# pyright: standard
"""How Numba compiles a kernel: with all that it calls inside it, and optimised as a whole, once.

Numba gives every function machine code of its own and lets the loader choose, for a call that was not built in, among
the copies that all kernels brought along. Then a call's last bits depend on which kernel was loaded before, and on
whether this process compiled it or found it on the disk. Here a kernel calls its own copies only; and a function that
only kernels call is kept as code to build in, which saves a sixth of the time.

Numba has no public way to any of this: `tests/kernels/test_pipeline.py` guards each part for its next release.
"""

from __future__ import annotations

import copy
import gc
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from llvmlite.binding import Linkage
from numba import _dynfunc  # pyright: ignore[reportAttributeAccessIssue]  (a C module without stubs)
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes


class Pipeline(Compiler):
    """Numba's own compiler, with the libraries and flags below."""

    apart: ClassVar[bool] = False  # whether a piece stays a function of its own

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, result: Any, flags: Any, own: Any
    ) -> None:
        super().__init__(typingctx, targetctx, library, args, result, _SettledFlags(flags), own)
        self.state.typingctx = _remembering(self.state.typingctx)
        context = self.state.targetctx
        if flags.no_cpython_wrapper:
            self.state.library = _Piece(context.codegen(), "piece")
            self.state.library.apart = self.apart
            self.state.targetctx = _without_machine_code(context)
        else:
            self.state.library = _Kernel(context.codegen(), "kernel")
            self.state.library.enable_object_caching()

    def define_pipelines(self) -> list[PassManager]:
        """Numba's passes, without those for what no kernel has."""
        given = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager = PassManager("kernels")
        manager.passes.extend(each for each in given.passes if each[0] not in _NEEDLESS)
        manager.finalize()
        return [manager]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function, and what it calls."""
        with _uncollected():
            return super().compile_extra(func)


_NEEDLESS = InlineClosureLikes, NopythonRewrites  # closures and comprehensions; arithmetic with whole arrays


class PipelineApart(Pipeline):
    """`Pipeline` for pieces that are quicker where the optimiser does not mix them with what is around their calls."""

    apart = True


class _Kernel(JITCodeLibrary):
    """What Python calls: its own functions are seen from outside, those that they call are not.

    Pieces that call each other in a circle would need to be seen; there are none.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = Linkage.internal
        super()._optimize_final_module()


class _Piece(JITCodeLibrary):
    """What only kernels call: optimised, and turned into machine code, where it is in one of them."""

    apart = False

    def add_ir_module(self, ir_module: Any) -> None:
        """Take over the function itself."""
        for function in ir_module.functions:
            if self.apart and not function.is_declaration:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        for function in self._final_module.functions:
            if function.linkage == Linkage.external and not function.is_declaration:
                function.linkage = Linkage.linkonce_odr
        self._shared_module = self._final_module  # Numba would keep a copy with these linkages beside it
        self._finalized = True


def _without_machine_code(context: Any) -> Any:
    """A copy of a target context for pieces: what stands for one among Python's functions has no code to call."""

    def get_executable(library: _Piece, described: Any, environment: Any) -> Any:
        library._ensure_finalized()  # noqa: SLF001  (Numba's own does it by asking for an address)
        name = described.qualname.split(".")[-1]
        return _dynfunc.make_function(described.lookup_module(), name, "", 0, environment, (library,))

    context = copy.copy(context)
    context.get_executable = get_executable
    return context


class SettledType(types.Type):
    """A type of Poise's own, with operators that nothing is added to: what they give is remembered."""


_VALUES = types.Number, types.Boolean, SettledType  # and what is literally a number or a truth value
_OPERATORS = frozenset(each for each in vars(operator).values() if callable(each))
_FOUND: dict[tuple[Any, Any], Any] = {}


def _remembering(context: Any) -> Any:
    """A copy of a typing context that remembers what operators on numbers and lanes give.

    Numba tries all that is known of an operator, some forty cases, each time that it stands in a kernel.
    """

    def resolve_function_type(func: Any, args: Any, kws: Any) -> Any:
        if not isinstance(func, types.Function) or func.typing_key not in _OPERATORS:
            return resolve(func, args, kws)
        if kws or not all(isinstance(each, _VALUES) for each in args):
            return resolve(func, args, kws)
        key = func, tuple(args)
        if key not in _FOUND:
            _FOUND[key] = resolve(func, args, kws)
        return _FOUND[key]

    resolve = context.resolve_function_type
    context = copy.copy(context)
    context.resolve_function_type = resolve_function_type
    return context


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's search for cycles, which finds next to nothing and takes a twelfth of the compile time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


_ANY = hash(Flags())


class _SettledFlags(Flags):
    """Flags of a compile that remember what they say until one of them is set.

    Numba looks overloads up by them, tens of thousands of times for a kernel, and asks them one by one each time: a
    fifteenth of the compile time.
    """

    __slots__ = ("_said",)

    def values(self) -> dict[str, Any]:
        """Every flag by its name."""
        if not hasattr(self, "_said"):
            object.__setattr__(self, "_said", super().values())
        return self._said

    def __hash__(self) -> int:
        return _ANY  # Numba's own is of the names alone, too: flags that are equal must have the same

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self._forget()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._forget()

    def discard(self, name: str) -> None:
        """Set a flag back to its default."""
        super().discard(name)
        self._forget()

    def _forget(self) -> None:
        if hasattr(self, "_said"):
            object.__delattr__(self, "_said")
