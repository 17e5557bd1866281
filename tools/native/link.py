"""Linking of object files by zig: with glue.c to a Python module, or to a module of WebAssembly."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from native.optimise import Target, is_built, make_symbol
from poise.kernels.entries import Entry

_FOLDER = Path(__file__).parent
MATH_SOURCE = _FOLDER / "portable_math.c"
_WEB_STACK_BYTES = 1 << 20  # kernels keep some kilobytes there
MATH_FLAGS = "-O2", "-ffp-contract=off", "-fno-math-errno"  # without the second, multiplications and additions fuse


def write_table(
    entries: Mapping[str, Entry],
    targets: Sequence[Target],
    stamps: Mapping[str, str],
    attributes: Mapping[str, str],
) -> str:
    """Write the C table of kernels that glue.c includes. Attributes are texts of the module by name."""
    lines = [f'#define {name.upper()} "{text}"' for name, text in attributes.items()]
    names_by_target = {target: [name for name in sorted(entries) if is_built(name, target)] for target in targets}
    for target, names in names_by_target.items():
        symbols = [make_symbol(name, target) for name in names]
        lines += [f"extern int32_t {symbol}(const int64_t *, int64_t *);" for symbol in symbols]
        lines.append(f"static const Kernel kernels_{target.name}[] = {{")
        lines += [
            f'    {{ "{name}", "{_normalise_signature(entries[name])}", {int(entries[name].releases_gil)}, {symbol} }},'
            for name, symbol in zip(names, symbols, strict=True)
        ]
        lines.append("};")
    lines.append("static const Level levels[] = {")
    lines += [
        f'    {{ "{target.name}", is_{target.name}_supported, kernels_{target.name}, {len(names)} }},'
        for target, names in names_by_target.items()
    ]
    lines += ["};", "static const Stamp stamps[] = {"]
    lines += [f'    {{ "{name}", "{stamp}" }},' for name, stamp in sorted(stamps.items())]
    lines += [
        "};",
        f"enum {{ LEVEL_COUNT = {len(targets)}, MAX_KERNEL_COUNT = {len(entries)}, STAMP_COUNT = {len(stamps)} }};",
    ]
    return "\n".join(lines) + "\n"


def _normalise_signature(entry: Entry) -> str:
    argument_words, _, result_words = entry.signature.partition("->")
    return " ".join((*argument_words.split(), "->", *result_words.split()))


def link(object_folder: Path, zig_target: str, library: Path) -> None:
    """Link the object files and the table of a folder to a Python module."""
    is_windows, is_macos = "windows" in zig_target, "macos" in zig_target
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        zig_target,
        *MATH_FLAGS,
        "-shared",
        "-fvisibility=hidden",
    ]
    command += [
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{object_folder}",
        f"-I{_FOLDER}",
        str(_FOLDER / "glue.c"),
        str(MATH_SOURCE),
    ]
    command += sorted(map(str, object_folder.glob("*.o")))
    command += [_write_import_library(object_folder)] if is_windows else ["-fPIC", "-lm"]
    command += ["-undefined", "dynamic_lookup"] if is_macos else ["-s"]
    subprocess.run([*command, "-o", str(library)], check=True)


def link_web_assembly(objects: Sequence[Path], symbols: Sequence[str], module: Path) -> None:
    """Link object files to a module of WebAssembly without imports. It exports kernels, memory and the heap's start."""
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-freestanding", "-nostdlib", *MATH_FLAGS]
    command += ["-mcpu=generic+simd128+bulk_memory+nontrapping_fptoint+sign_ext", "-Wall", "-Wextra", "-Werror"]
    command += [str(MATH_SOURCE), *map(str, objects), "-s", "-Wl,--no-entry", "-Wl,--gc-sections"]
    command += [f"-Wl,-z,stack-size={_WEB_STACK_BYTES}", "-Wl,--export=__heap_base"]
    command += [f"-Wl,--export={symbol}" for symbol in symbols]
    subprocess.run([*command, "-o", str(module)], check=True)


def _write_import_library(folder: Path) -> str:
    """Write the import library of python3.dll, with the names of the stable ABI in python_abi.h."""
    names = sorted(set(re.findall(r"\b_?Py\w*_\w+", _read_declarations())) - {"PYTHON_API", "Py_ssize_t"})
    definition, library = folder / "python3.def", folder / "libpython3.a"
    data = {name for name in names if name.startswith("PyExc_") or name == "_Py_NoneStruct"}
    lines = [f"    {name}{' DATA' if name in data else ''}" for name in names]
    definition.write_text("\n".join(("LIBRARY python3.dll", "EXPORTS", *lines)) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "ziglang", "dlltool", "-m", "i386:x86-64", "-D", "python3.dll"]
    subprocess.run([*command, "-d", str(definition), "-l", str(library)], check=True)
    return str(library)


def _read_declarations() -> str:
    """Read the functions and values that python_abi.h takes from Python."""
    text = (_FOLDER / "python_abi.h").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if line.startswith("PYTHON_API"))
