# pyright: standard
"""LLVM IR of every entry kernel, as Numba's front end makes it.

Nothing is optimised here, and nothing is compiled for a processor: one capture serves all targets. The kernels are
those of poise.kernels; what differs from the JIT is the library (no machine code), and three flags: no reference
counts, no wrapper for Python and none for C.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from numba import njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock

from poise.kernels.entries import Entry
from poise.kernels.jit import compiler, lane_lowering  # noqa: F401  (its import registers the lanes)

_NUMBER_TYPES = {"f": types.float64, "i": types.int64, "b": types.boolean}


class CapturedKernel(NamedTuple):
    """A kernel in LLVM IR.

    ir       text of the module with all functions that the kernel reaches
    symbol   name of the kernel's own function in it
    """

    name: str
    entry: Entry
    ir: str
    symbol: str


def capture(name: str, entry: Entry) -> CapturedKernel:
    """Run Numba's front end on a kernel."""
    flags: dict[str, Any] = {
        **compiler.ARITHMETIC_FLAGS,
        "pipeline_class": _CaptureCompiler,
        "nogil": True,
        "_nrt": False,
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": True,
    }
    dispatcher: Any = njit(**flags)(entry.function)
    with global_compiler_lock:
        result = dispatcher._compiler.compile(parse_types(entry.signature), None)  # noqa: SLF001
    returned = result.signature.return_type
    found = (
        tuple(returned.types)
        if isinstance(returned, types.BaseTuple)
        else ()
        if returned == types.none
        else (returned,)
    )
    wanted = tuple(_NUMBER_TYPES[word] for word in entry.signature.partition("->")[2].split())
    if tuple(map(types.unliteral, found)) != wanted:
        message = f"{name} returns {found}, and its signature says {wanted}"
        raise TypeError(message)
    rename = _Renamer()
    return CapturedKernel(name, entry, rename(result.library.captured_ir), rename(result.fndesc.llvm_func_name))


class _Renamer:
    """Renamer, so that the same kernel has the same IR in every process.

    Numba's names of functions have two tags. `B3v12` says that this is the twelfth function of the process. `B118` and
    118 letters are the flags of the compiler, in the order of a set. Functions that are arguments are named by their
    address, which a global variable contains. Compiled kernels do not read it.
    """

    def __init__(self) -> None:
        self._tags: dict[str, str] = {}
        self._addresses: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        parts, end = [], 0
        for match in re.finditer(r"B\d+v\d+B(\d+)", text):
            if match.start() >= end:
                parts.append(text[end : match.start()])
                end = match.end() + int(match[1])
                parts.append(self._tags.setdefault(text[match.start() : end], f"_{len(self._tags)}_"))
        text = "".join((*parts, text[end:]))
        text = re.sub(r"(?m)^(@numba\.dynamic\.globals\.\w+ = .*)inttoptr \(i64 \d+ to ptr\)", r"\1null", text)
        return re.sub(r"(?<=0x|s\.)[0-9a-f]{12}(?![0-9A-Fa-f])", self._replace_address, text)

    def _replace_address(self, match: re.Match[str]) -> str:
        return self._addresses.setdefault(match[0], f"{len(self._addresses):012x}")


def parse_types(signature: str) -> tuple[Any, ...]:
    """Return the Numba types of a kernel's arguments."""
    return tuple(map(_parse_type, signature.partition("->")[0].split()))


def _parse_type(word: str) -> Any:
    if word in _NUMBER_TYPES:
        return _NUMBER_TYPES[word]
    item_type, dimension_count = word.lstrip("wsa")
    return types.Array(_NUMBER_TYPES[item_type.lower()], int(dimension_count), "C")


class _CapturedLibrary(JITCodeLibrary):
    """Library that keeps the linked module and optimises nothing."""

    captured_ir: str

    def _optimize_final_module(self) -> None:
        self.captured_ir = str(self._final_module)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0


class _CaptureCompiler(compiler.KernelCompiler):
    """Compiler of an entry kernel into its IR. Device functions are compiled as by the JIT."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, local_types: Any
    ) -> None:
        super().__init__(typingctx, targetctx, library, args, return_type, flags, local_types)
        context = self.state.targetctx
        self.state.library = _CapturedLibrary(context.codegen(), "kernel")
        context.get_executable = _finalise


def _finalise(library: Any, _description: Any, _environment: Any) -> None:
    """Stand for Numba's function that makes the machine code callable: there is none here."""
    library._ensure_finalized()  # noqa: SLF001
