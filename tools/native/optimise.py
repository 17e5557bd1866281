# pyright: standard
"""Machine code of captured kernels for one target.

The passes are those that Numba runs on a kernel: the cheap ones, then all of them, without vectorising straight-line
code (it changes last bits and is slower here). Each kernel gets an entry for C:

    int32_t poise_NAME__LEVEL(const int64_t *slots, int64_t *results)

An array takes a slot for its address and one for each extent, a number one for its bits. The kernel's own function is
hidden and never inlined into the entry, so it is optimised as the JIT does it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from native.capture import CapturedKernel
from native.portable_code import make_portable
from poise.kernels.levels import PORTABLE_LEVEL, has_eight_lanes

_ITEM_BYTES = {"F": 8, "I": 8, "B": 1}
_NUMBER_TYPES = {"f": "double", "i": "i64", "b": "i8"}
_MAX_LANES = 8


class Target(NamedTuple):
    """A platform and a processor.

    name        of the level, "v3"
    triple      of the platform, for LLVM
    cpu         of the processor, for LLVM
    lane_count  of its kernels; where it is 8, it has those of 4 lanes, too
    features    added to the processor's, for LLVM
    """

    name: str
    triple: str
    cpu: str
    lane_count: int
    features: str = ""


def is_built(kernel_name: str, target: Target) -> bool:
    """Return whether a target has a kernel. Those of eight lanes are for processors with registers of eight numbers."""
    return not has_eight_lanes(kernel_name) or target.lane_count == _MAX_LANES


def make_symbol(kernel_name: str, target: Target) -> str:
    """Return the name of a kernel's entry for C."""
    return f"poise_{kernel_name.replace('.', '__')}__{target.name.replace('-', '_')}"


# All targets of the portable level share the passes of this one: passes for another layout of memory may differ.
_SHARED_PASSES_TARGET = Target(PORTABLE_LEVEL, "x86_64-unknown-linux-gnu", "x86-64-v2", 4)


def compile_kernel(kernel: CapturedKernel, target: Target) -> bytes:
    """Compile a captured kernel to an object file."""
    machine = _make_machine(target)
    if target.name == PORTABLE_LEVEL:
        module = llvm.parse_assembly(_optimise_portably(kernel))
        module.triple, module.data_layout = target.triple, str(machine.target_data)
    else:
        module = optimise(kernel, target)
    return machine.emit_object(module)


@cache
def _optimise_portably(kernel: CapturedKernel) -> str:
    machine = _make_machine(_SHARED_PASSES_TARGET)
    return make_portable(optimise(kernel, _SHARED_PASSES_TARGET), machine)


def optimise(kernel: CapturedKernel, target: Target) -> Any:
    """Optimise a captured kernel for a target and return the LLVM module."""
    machine = _make_machine(target)
    module = llvm.parse_assembly(_prepare_ir(kernel, target))
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    module.verify()
    for speed_level, vectorises_loops, is_cheap in ((0, False, True), (3, True, False)):
        options = llvm.create_pipeline_tuning_options()
        options.speed_level, options.loop_vectorization, options.slp_vectorization = (
            speed_level,
            vectorises_loops,
            False,
        )
        builder = llvm.create_pass_builder(machine, options)
        passes = builder.getModulePassManager()
        if is_cheap:
            passes.add_loop_rotate_pass()
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
        passes.add_refprune_pass()
        passes.run(module, builder)
    return module


@cache
def _make_machine(target: Target) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="small"
    )


def _prepare_ir(kernel: CapturedKernel, target: Target) -> str:
    """Remove the capturing process from the IR, and add the entry."""
    text = re.sub(r"(?m)^(target (triple|datalayout)|source_filename).*$", "", kernel.ir)
    text = re.sub(r"(?m)^(@_ZN08NumbaEnv\S+ = )common ", r"\1internal ", text)  # Numba's environments are never read
    text = re.sub(r"(?m)^declare .*@llvm\.x86\..*$", "", text)
    text = re.sub(r"(?m)^define (linkonce_odr |internal )?", "define internal ", text)
    symbol = make_symbol(kernel.name, target)
    text = re.sub(rf'@("?){re.escape(kernel.symbol)}\1(?=\()', f"@{symbol}__kernel", text)
    text, count = re.subn(
        rf"(?m)^define internal ([^\n]*@{symbol}__kernel\([^\n]*\))( [^\n]*)?{{$",
        r"define hidden \1 noinline \2{",
        text,
    )
    if count != 1:
        message = f"the IR of {kernel.name} has {count} functions {kernel.symbol}"
        raise ValueError(message)
    return f"{text}\n{_EntryWriter().write(kernel, symbol)}"


class _EntryWriter:
    """Writer of the IR of one entry. Numba passes an array as seven or more values; an entry has its slots only."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._arguments: list[str] = []
        self._value_count = 0
        self._slot_count = 0

    def write(self, kernel: CapturedKernel, symbol: str) -> str:
        """Write the entry of a kernel."""
        argument_words, _, result_words = kernel.entry.signature.partition("->")
        for word in argument_words.split():
            self._pass_argument(word)
        result_types = [_NUMBER_TYPES[word] for word in result_words.split()]
        result_type = {0: "ptr", 1: "".join(result_types)}.get(len(result_types), f"{{ {', '.join(result_types)} }}")
        self._lines.append(
            f"  %status = call i32 @{symbol}__kernel(ptr %returned, ptr %exception, {', '.join(self._arguments)})"
        )
        self._store_results(result_types, result_type)
        return "\n".join(
            (
                f"define hidden i32 @{symbol}(ptr %slots, ptr %results) {{",
                f"  %returned = alloca {result_type}",
                "  %exception = alloca ptr",
                f"  store {result_type} zeroinitializer, ptr %returned",
                *self._lines,
                "  ret i32 %status",
                "}",
            )
        )

    def _compute(self, expression: str) -> str:
        """Add an instruction and return the name of its value."""
        value = f"%v{self._value_count}"
        self._value_count += 1
        self._lines.append(f"  {value} = {expression}")
        return value

    def _load_slot(self, llvm_type: str) -> str:
        address = self._compute(f"getelementptr i64, ptr %slots, i64 {self._slot_count}")
        self._slot_count += 1
        return self._compute(f"load {llvm_type}, ptr {address}, align 8")

    def _pass_argument(self, word: str) -> None:
        if word == "b":
            truth = self._compute(f"trunc i64 {self._load_slot('i64')} to i8")
            self._arguments.append(f"i8 {truth}")
        elif word in _NUMBER_TYPES:
            self._arguments.append(f"{_NUMBER_TYPES[word]} {self._load_slot(_NUMBER_TYPES[word])}")
        else:
            self._pass_array(*word.lstrip("wsa"))

    def _pass_array(self, item_letter: str, dimension_count: str) -> None:
        """Pass an array: no owner, number of items, bytes of an item, address, extents, strides."""
        item_bytes = _ITEM_BYTES[item_letter]
        address = self._compute(f"inttoptr i64 {self._load_slot('i64')} to ptr")
        extents = [self._load_slot("i64") for _ in range(int(dimension_count))]
        strides, item_count = [], "1"
        for extent in reversed(extents):
            strides.insert(0, self._compute(f"mul i64 {item_bytes}, {item_count}"))
            item_count = self._compute(f"mul i64 {item_count}, {extent}")
        self._arguments += ["ptr null", "ptr null", f"i64 {item_count}", f"i64 {item_bytes}", f"ptr {address}"]
        self._arguments += [f"i64 {each}" for each in (*extents, *strides)]

    def _store_results(self, result_types: list[str], result_type: str) -> None:
        if not result_types:
            return
        returned = self._compute(f"load {result_type}, ptr %returned")
        for i, number_type in enumerate(result_types):
            value = returned if len(result_types) == 1 else self._compute(f"extractvalue {result_type} {returned}, {i}")
            if number_type == "i8":
                value, number_type = self._compute(f"zext i8 {value} to i64"), "i64"  # noqa: PLW2901
            address = self._compute(f"getelementptr i64, ptr %results, i64 {i}")
            self._lines.append(f"  store {number_type} {value}, ptr {address}")
