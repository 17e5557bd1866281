# pyright: standard
"""Numba compiler of kernels: passes, targets and flags.

Each kernel is compiled with all its callees inside, for the level of this processor (kernels/levels.py).

Operators on built-in numeric types and Poise's own types are looked up once. Numba would try all known cases of an
operator, about forty, for each use in a kernel, and again when the kernel is lowered; and it compiles `min`, `max` and
`int` as separate functions for every combination of argument types. Together they took a fifth of the compile time.
"""

from __future__ import annotations

import copy
import gc
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FunctionType
from typing import Any, ClassVar, TypeAlias

from llvmlite.binding import Linkage, Target, get_host_cpu_features, get_host_cpu_name, get_process_triple
from numba import (
    _dynfunc,  # pyright: ignore[reportAttributeAccessIssue]  (a C module without stubs)
    njit,
)
from numba.core import config, entrypoints, types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.imputils import lower_builtin
from numba.core.typed_passes import NopythonRewrites
from numba.core.typing.templates import AbstractTemplate, signature
from numba.core.untyped_passes import InlineClosureLikes
from numba.cpython.builtins import do_minmax
from numba.extending import models, register_model

from poise.kernels.device_functions import DEVICE_KINDS, DeviceKind
from poise.kernels.jit import compilation
from poise.kernels.levels import LEVELS, find_level
from poise.kernels.stamps import compute_package_stamp


class FixedOperatorType(types.Type):
    """Base of Poise's own Numba types. Their operators never change, so their typing results are cached."""


_FIXED_OPERATOR_TYPES = types.Number, types.Boolean, FixedOperatorType, types.Array  # including literal types
_OPERATORS = frozenset(function for function in vars(operator).values() if callable(function)) | {bool, int, min, max}


def _has_fixed_operators(numba_type: Any) -> bool:
    if isinstance(numba_type, types.UniTuple | types.Tuple):  # an index
        return all(map(_has_fixed_operators, numba_type.types))
    return isinstance(numba_type, _FIXED_OPERATOR_TYPES)


class _CachedOperator(types.Function):
    """Operator with cached signatures."""

    def __init__(self, template: Any) -> None:
        super().__init__(template)
        self._signatures: dict[Any, Any] = {}

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature for these argument types."""
        key = tuple(args)
        if kws or not all(map(_has_fixed_operators, key)):
            return super().get_call_type(context, args, kws)
        if key not in self._signatures:
            self._signatures[key] = super().get_call_type(context, args, kws)
        return self._signatures[key]


register_model(_CachedOperator)(models.OpaqueModel)  # as for Numba's own functions


class _InlinedBuiltin(AbstractTemplate):
    """Python function on numbers, lowered in place."""

    key: Any

    def get_impl_key(self, sig: Any) -> Any:
        """Return a key found by these kernels only."""
        return f"poise.{self.key.__name__}"


class _Extremum(_InlinedBuiltin):
    def generic(self, args: Any, kws: Any) -> Any:
        """Type all arguments as their common type."""
        if kws or len(args) < 2 or not all(isinstance(numba_type, types.Integer | types.Float) for numba_type in args):
            return None
        common_type = self.context.unify_types(*args)
        return signature(common_type, *[common_type] * len(args))


class _Min(_Extremum):
    key = min


class _Max(_Extremum):
    key = max


class _Int(_InlinedBuiltin):
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


_INLINED_TEMPLATES = {min: (_Min,), max: (_Max,), int: (_Int,)}


@cache
def _make_cached_operator(function: types.Function) -> _CachedOperator:
    return _CachedOperator((*_INLINED_TEMPLATES.get(function.typing_key, ()), *function.templates))


def _is_device_function(value: Any) -> bool:
    return isinstance(value, FunctionType) and value in DEVICE_KINDS


@cache
def make_caching_context(context: Any) -> Any:
    """Copy a typing context, with cached operators and attributes."""

    def lookup_global(value: Any) -> Any:
        if _is_device_function(value):
            return types.Dispatcher(get_device_dispatcher(value))
        global_type = original_lookup(value)
        return (
            _make_cached_operator(global_type)
            if isinstance(global_type, types.Function) and global_type.typing_key in _OPERATORS
            else global_type
        )

    def resolve_getattr(owner: Any, name: str) -> Any:
        if isinstance(owner, types.Module):
            if _is_device_function(getattr(owner.pymod, name, None)):
                return resolve_module_constants(owner, name)
            return context.resolve_getattr(owner, name)
        if (owner, name) not in attributes:
            attributes[owner, name] = context.resolve_getattr(owner, name)
        return attributes[owner, name]

    def resolve_module_constants(owner: Any, name: str) -> Any:
        value = getattr(owner.pymod, name)
        if _is_device_function(value):
            return types.Dispatcher(get_device_dispatcher(value))
        return context.resolve_module_constants(owner, name)

    attributes: dict[tuple[Any, str], Any] = {}
    original_lookup = context._lookup_global  # noqa: SLF001
    cached_context = copy.copy(context)
    cached_context._lookup_global, cached_context.resolve_getattr = lookup_global, resolve_getattr  # noqa: SLF001
    cached_context.resolve_module_constants = resolve_module_constants
    cached_context.refresh = context.refresh  # new definitions are registered in the original
    return cached_context


# --- Compiler: passes and targets ------------------------------------------------------------------------------------
#
# A kernel contains all its callees and is optimised as a whole, once.
#
# Numba compiles every function separately and lets the loader choose, for a call that was not inlined, among the copies
# in all kernels. Then the last bits of a result depend on the kernels loaded before, and on whether this process
# compiled them or read them from disk. Here a kernel calls its own copies only, and device functions are kept as code
# for inlining, which saves a sixth of the time.
#
# Numba has no public API for this: `tests/kernels/test_compiler_pipeline.py` checks each private attribute for the next
# release.


class KernelCompiler(Compiler):
    """Numba's compiler with the libraries and flags below."""

    is_inlining_disabled: ClassVar[bool] = False  # whether inlining is disabled

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, local_types: Any
    ) -> None:
        super().__init__(typingctx, targetctx, library, args, return_type, _CachedFlags(flags), local_types)
        context = self.state.targetctx = _make_fixed_target(self.state.targetctx)
        context.typing_context = self.state.typingctx = make_caching_context(self.state.typingctx)
        if flags.no_cpython_wrapper:
            self.state.library = _DeviceLibrary(context.codegen(), "piece")
            self.state.library.is_inlining_disabled = self.is_inlining_disabled
            context.get_executable = _make_codeless_function
        else:
            self.state.library = _KernelLibrary(context.codegen(), "kernel")
            self.state.library.enable_object_caching()

    def define_pipelines(self) -> list[PassManager]:
        """Return Numba's passes without the needless ones."""
        standard_pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pass_manager = PassManager("kernels")
        pass_manager.passes.extend(
            pass_entry for pass_entry in standard_pipeline.passes if pass_entry[0] not in _SKIPPED_PASSES
        )
        pass_manager.finalize()
        return [pass_manager]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function and its callees."""
        with _disable_gc():
            return super().compile_extra(func)


_SKIPPED_PASSES = InlineClosureLikes, NopythonRewrites  # closures and comprehensions; whole-array arithmetic


class NoInlineCompiler(KernelCompiler):
    """Compiler of functions kept out of line.

    They are faster where the optimiser does not mix them with the code around their calls.
    """

    is_inlining_disabled = True


class _KernelLibrary(JITCodeLibrary):
    """Library of an entry kernel. Its own functions are visible from outside, its callees are not.

    Mutually recursive device functions would have to be visible; there are none.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = Linkage.internal
        super()._optimize_final_module()


class _DeviceLibrary(JITCodeLibrary):
    """Library of a device function. It is optimised, and turned into machine code, inside the kernels that call it."""

    is_inlining_disabled = False

    def add_ir_module(self, ir_module: Any) -> None:
        """Add the function's own module."""
        for function in ir_module.functions:
            if self.is_inlining_disabled and not function.is_declaration:
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


def _make_codeless_function(library: _DeviceLibrary, description: Any, environment: Any) -> Any:
    """Make a function object without machine code. It represents a device function among Python's functions."""
    library._ensure_finalized()  # noqa: SLF001  (Numba's own does it by asking for an address)
    name = description.qualname.split(".")[-1]
    return _dynfunc.make_function(description.lookup_module(), name, "", 0, environment, (library,))


class LevelCodegen(JITCPUCodegen):
    """Code generator for a processor level instead of the exact processor. All machines of a level get equal bits.

    Functions alone are optimised for no special processor, because the library's kernels are captured so, once for all
    levels. Addresses are relative, as in the library: they take part in the order of operations that LLVM chooses.
    Relative addresses span 2 GB, so the parts of a kernel lie side by side in memory: LLVM's own memory manager
    reuses pages wherever they are, and ends a process in which other data has grown between them.
    """

    def _init(self, llvm_module: Any) -> None:
        options: Any = config  # a module that sets its names when it is imported
        given, options.USE_LLVMLITE_MEMORY_MANAGER = options.USE_LLVMLITE_MEMORY_MANAGER, True
        try:
            super()._init(llvm_module)
        finally:
            options.USE_LLVMLITE_MEMORY_MANAGER = given

    def _get_host_cpu_name(self) -> str:
        return LEVELS[find_level()].cpu or super()._get_host_cpu_name()

    def _get_host_cpu_features(self) -> str:
        return "" if LEVELS[find_level()].cpu else super()._get_host_cpu_features()

    def _customize_tm_options(self, options: Any) -> None:
        super()._customize_tm_options(options)
        options["reloc"], options["codemodel"] = "pic", "small"

    def _function_pass_manager(self, *arguments: Any, **options: Any) -> Any:
        level_machine, self._tm = self._tm, _make_generic_machine()
        try:
            return super()._function_pass_manager(*arguments, **options)
        finally:
            self._tm = level_machine


@cache
def _make_generic_machine() -> Any:
    """Make LLVM's description of the simplest processor of this architecture."""
    return Target.from_triple(get_process_triple()).create_target_machine(cpu="", features="", opt=3)


@cache
def get_codegen() -> LevelCodegen:
    """Return the code generator shared by all kernels of the process."""
    return LevelCodegen("poise")


def _make_fixed_target(context: Any) -> Any:
    """Copy a target context with fixed answers for one compilation.

    Numba looks for new definitions after every failed lookup, as for every array, and lets LLVM read a module to find
    the size of a type: each takes a fortieth of the compile time.
    """

    def refresh() -> None:
        if not refresh_calls:
            refresh_calls.append(True)
            context.refresh()

    def get_abi_sizeof(numba_type: Any) -> int:
        name = str(numba_type)
        if name not in type_sizes:
            type_sizes[name] = context.get_abi_sizeof(numba_type)
        return type_sizes[name]

    refresh_calls: list[bool] = []  # outside of the copy, because Numba copies that again
    type_sizes: dict[str, int] = {}
    fixed_context = copy.copy(context)
    fixed_context.refresh, fixed_context.get_abi_sizeof = refresh, get_abi_sizeof
    fixed_context._internal_codegen = get_codegen()  # noqa: SLF001  (Numba has no public way)
    return fixed_context


@contextmanager
def _disable_gc() -> Iterator[None]:
    """Disable garbage collection. It finds next to nothing and takes a twelfth of the compile time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_EMPTY_FLAGS_HASH = hash(Flags())


class _CachedFlags(Flags):
    """Compiler flags with cached values. The cache is cleared when a flag is set.

    Numba uses flags as keys of overloads, tens of thousands of times per kernel, and reads them one by one each time,
    which takes a fifteenth of the compile time.
    """

    __slots__ = ("_cached_values",)

    def values(self) -> dict[str, Any]:
        """Return every flag by its name."""
        if not hasattr(self, "_cached_values"):
            object.__setattr__(self, "_cached_values", super().values())
        return self._cached_values

    def __hash__(self) -> int:
        return _EMPTY_FLAGS_HASH  # Numba's own hash also covers the names only: equal flags must have equal hashes

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self._clear_cache()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._clear_cache()

    def discard(self, name: str) -> None:
        """Set a flag back to its default."""
        super().discard(name)
        self._clear_cache()

    def _clear_cache(self) -> None:
        if hasattr(self, "_cached_values"):
            object.__delattr__(self, "_cached_values")


# --- Dispatchers of kernels and device functions ---------------------------------------------------------------------
#
# Numba stamps a cached function with its own file only: changing a callee in another file would go unnoticed, and old
# machine code would run. Here every kernel is stamped with a hash over the whole kernel package instead: changing any
# kernel file recompiles all of them.


# Numba infers the types of kernels from their calls. For a type checker they take and return anything.
Kernel: TypeAlias = Callable[..., Any]

entrypoints.init_all()  # Numba would read the entry points of all packages at its first compile

# Division by zero gives inf or NaN. `a * b + c` may be rounded once, sums may be reordered and zeros may lose their
# sign, which saves a third of the time. No other "fast math" flags: NaN and infinity keep their meaning.
ARITHMETIC_FLAGS: dict[str, Any] = {
    "pipeline_class": KernelCompiler,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz"},
}

# Called by Python only; they allocate nothing, so arrays need no reference counts.
_KERNEL_FLAGS: dict[str, Any] = {**ARITHMETIC_FLAGS, "_nrt": False, "no_cfunc_wrapper": True}


def make_kernel_dispatcher(function: Kernel, *, releases_gil: bool) -> Kernel:
    """Make the Numba dispatcher of an entry kernel. It compiles at the first call and is cached on disk."""
    dispatcher: Any = njit(nogil=releases_gil, **_KERNEL_FLAGS)(function)
    if hasattr(dispatcher, "_cache"):  # absent with NUMBA_DISABLE_JIT=1
        processor = LEVELS[find_level()].cpu or f"{get_host_cpu_name()} {get_host_cpu_features().flatten()}"
        stamp = f"{compute_package_stamp()} {processor}"
        dispatcher._cache = compilation.make_disk_cache(function, stamp)  # noqa: SLF001  (Numba has no public way)
    return dispatcher


# Device functions are called by kernels only. `KernelCompiler` recognises them by the missing Python wrapper; calling
# one from Python would crash the interpreter. No reference counts: they own no array, and an atomic increment per array
# and call would cost more than the arithmetic. Without `forceinline`, Numba would inherit the caller's.
_DEVICE_FLAGS: dict[str, Any] = {
    **ARITHMETIC_FLAGS, "nogil": True, "_nrt": False, "forceinline": False,
    "no_cfunc_wrapper": True, "no_cpython_wrapper": True,
}  # fmt: skip
_FLAGS_BY_KIND: dict[DeviceKind, dict[str, Any]] = {
    DeviceKind.INLINE: {**_DEVICE_FLAGS, "forceinline": True},
    DeviceKind.INLINE_ORDERED: {**_DEVICE_FLAGS, "forceinline": True, "fastmath": {"contract"}},
    DeviceKind.INLINE_STRICT: {**_DEVICE_FLAGS, "forceinline": True, "fastmath": False},
    DeviceKind.OPTIMIZER: _DEVICE_FLAGS,
    DeviceKind.NEVER_INLINE: {**_DEVICE_FLAGS, "pipeline_class": NoInlineCompiler},
}


@cache
def get_device_dispatcher(function: Kernel) -> Any:
    """Return the Numba dispatcher of a device function. Never call it from Python."""
    return njit(**_FLAGS_BY_KIND[DEVICE_KINDS[function]])(function)
