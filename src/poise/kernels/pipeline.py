# pyright: standard
"""Numba compiler of the kernels. A kernel contains all its callees and is optimised as a whole, once.

Numba compiles every function separately and lets the loader choose, for a call that was not inlined, among the copies
in all kernels. Then the last bits of a result depend on the kernels loaded before, and on whether this process compiled
them or read them from disk. Here a kernel calls its own copies only, and device functions are kept as code for
inlining, which saves a sixth of the time.

Numba has no public API for this: `tests/kernels/test_pipeline.py` checks each private attribute for its next release.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from llvmlite.binding import Linkage
from numba import _dynfunc  # pyright: ignore[reportAttributeAccessIssue]  (a C module without stubs)
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

from poise.kernels.operators import remembering


class Pipeline(Compiler):
    """Numba's compiler with the libraries and flags below."""

    apart: ClassVar[bool] = False  # whether inlining is disabled

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, result: Any, flags: Any, own: Any
    ) -> None:
        super().__init__(typingctx, targetctx, library, args, result, _SettledFlags(flags), own)
        context = self.state.targetctx = _settled(self.state.targetctx)
        context.typing_context = self.state.typingctx = remembering(self.state.typingctx)
        if flags.no_cpython_wrapper:
            self.state.library = _Piece(context.codegen(), "piece")
            self.state.library.apart = self.apart
            context.get_executable = _without_machine_code
        else:
            self.state.library = _Kernel(context.codegen(), "kernel")
            self.state.library.enable_object_caching()

    def define_pipelines(self) -> list[PassManager]:
        """Return Numba's passes without the needless ones."""
        given = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager = PassManager("kernels")
        manager.passes.extend(each for each in given.passes if each[0] not in _NEEDLESS)
        manager.finalize()
        return [manager]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function and its callees."""
        with _uncollected():
            return super().compile_extra(func)


_NEEDLESS = InlineClosureLikes, NopythonRewrites  # closures and comprehensions; whole-array arithmetic


class PipelineApart(Pipeline):
    """Compiler of functions kept out of line.

    They are faster where the optimiser does not mix them with the code around their calls.
    """

    apart = True


class _Kernel(JITCodeLibrary):
    """Library of an entry kernel. Its own functions are visible from outside, its callees are not.

    Mutually recursive device functions would have to be visible; there are none.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = Linkage.internal
        super()._optimize_final_module()


class _Piece(JITCodeLibrary):
    """Library of a device function. It is optimised, and turned into machine code, inside the kernels that call it."""

    apart = False

    def add_ir_module(self, ir_module: Any) -> None:
        """Add the function's own module."""
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
        self._shared_module = self._final_module  # Numba would keep an additional copy with these linkages
        self._finalized = True


def _without_machine_code(library: _Piece, described: Any, environment: Any) -> Any:
    """Make a function object without machine code. It represents a device function among Python's functions."""
    library._ensure_finalized()  # noqa: SLF001  (Numba's own does it by asking for an address)
    name = described.qualname.split(".")[-1]
    return _dynfunc.make_function(described.lookup_module(), name, "", 0, environment, (library,))


def _settled(context: Any) -> Any:
    """Copy a target context with fixed answers for one compilation.

    Numba looks for new definitions after every failed lookup, as for every array, and lets LLVM read a module to find
    the size of a type: each takes a fortieth of the compile time.
    """

    def refresh() -> None:
        if not looked:
            looked.append(True)
            context.refresh()

    def get_abi_sizeof(of: Any) -> int:
        name = str(of)
        if name not in sizes:
            sizes[name] = context.get_abi_sizeof(of)
        return sizes[name]

    looked: list[bool] = []  # outside of the copy, because Numba copies that again
    sizes: dict[str, int] = {}
    copied = copy.copy(context)
    copied.refresh, copied.get_abi_sizeof = refresh, get_abi_sizeof
    return copied


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable garbage collection. It finds next to nothing and takes a twelfth of the compile time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


_ANY = hash(Flags())


class _SettledFlags(Flags):
    """Compiler flags with cached values. The cache is cleared when a flag is set.

    Numba uses flags as keys of overloads, tens of thousands of times per kernel, and reads them one by one each time,
    which takes a fifteenth of the compile time.
    """

    __slots__ = ("_said",)

    def values(self) -> dict[str, Any]:
        """Return every flag by its name."""
        if not hasattr(self, "_said"):
            object.__setattr__(self, "_said", super().values())
        return self._said

    def __hash__(self) -> int:
        return _ANY  # Numba's own hash also covers the names only: equal flags must have equal hashes

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
