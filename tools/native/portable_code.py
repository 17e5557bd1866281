# pyright: standard
"""Code with the same bits on every processor, for the level `portable`.

The passes run once, for one target; all targets share their result. After them nothing may be fused or reordered: the
permissions for it are removed from the arithmetic. Mathematical functions are those of portable_math.c.
"""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm

_MATH_FUNCTIONS = "acos", "asin", "atan", "atan2", "cos", "exp", "exp2", "expm1", "hypot", "pow", "sin", "tanh"
_MATH_FUNCTION = re.compile(rf"@(?:llvm\.)?({'|'.join(_MATH_FUNCTIONS)})(?:\.f64)?\(")
_PERMISSIONS = re.compile(r"(?<= )((?:fast|reassoc|nnan|ninf|nsz|arcp|contract|afn) )+(?=[\w<\[])")
_ARITHMETIC = re.compile(r"= (?:tail )?(?:f(?:add|sub|mul|div|rem|neg|cmp)|call|select|phi) ")

# Operations with one right result by IEEE 754, and those without arithmetic.
_EXACT_INTRINSICS = re.compile(
    r"llvm\.(abs|assume|bswap|ceil|copysign|ct(lz|pop|tz)|experimental\.noalias|fabs|floor|fsh[lr]|lifetime|masked"
    r"|mem(cpy|move|set)|rint|[su](add|sub|mul|min|max|cmp)|sqrt|stepvector|trunc"
    r"|vector\.(insert|extract|reverse|splice|interleave\d|deinterleave\d|reduce\.(f?add|f?mul|and|or|xor|[su](min|max))))\b"
)

# LLVM leaves the sign of max(-0, 0) open. These take the second value of equal ones, and the number beside a NaN.
_EXTREMUM = """
define internal {type} @poise_{name}_{suffix}({type} %a, {type} %b) alwaysinline {{
  %is_first = fcmp {comparison} {type} %a, %b
  %is_second_nan = fcmp uno {type} %b, %b
  %takes_first = or {truth} %is_first, %is_second_nan
  %taken = select {truth} %takes_first, {type} %a, {type} %b
  ret {type} %taken
}}
"""
_COMPARISONS = {"maxnum": "ogt", "minnum": "olt"}
_SUFFIX = re.compile(r"(?:v(\d+))?f64")


def make_portable(module: Any, machine: Any) -> str:
    """Return the IR of a module with fixed arithmetic, without a platform.

    Raises
    ------
    ValueError
        The module calls a function without a portable form.
    """
    text = re.sub(r"(?m)^target (triple|datalayout).*$", "", str(module))
    text = _MATH_FUNCTION.sub(r"@poise_\1(", text).replace("@sqrt(", "@llvm.sqrt.f64(")
    text = _inline_extrema(_remove_repeated_declarations(text), module, machine)
    lines = (_PERMISSIONS.sub("", line) if _ARITHMETIC.search(line) else line for line in text.splitlines())
    text = "\n".join(lines)
    declared = set(re.findall(r"(?m)^declare [^@\n]*@([\w.]+)\(", text))
    unknown = sorted(name for name in declared if not _is_portable_function(name))
    if unknown:
        message = f"no portable form of {', '.join(unknown)}"
        raise ValueError(message)
    return text


def _remove_repeated_declarations(text: str) -> str:
    """Keep one declaration of each function: two names may have become one."""
    kept, declared = [], set[str]()
    for line in text.splitlines():
        found = re.match(r"declare [^@]*@([\w.]+)\(", line)
        if found is None or found[1] not in declared:
            kept.append(line)
        if found is not None:
            declared.add(found[1])
    return "\n".join(kept)


def _inline_extrema(text: str, module: Any, machine: Any) -> str:
    """Replace the intrinsics of minimum and maximum by a comparison and a choice."""
    definitions = []
    for name, suffix in sorted(set(re.findall(r"@llvm\.(maxnum|minnum)\.(\w+)\(", text))):
        found = _SUFFIX.fullmatch(suffix)
        assert found is not None
        lanes = f"<{found[1]} x {{}}>" if found[1] else "{}"
        types = {"type": lanes.format("double"), "truth": lanes.format("i1")}
        definitions.append(_EXTREMUM.format(name=name, suffix=suffix, comparison=_COMPARISONS[name], **types))
        text = re.sub(rf"(?m)^declare [^\n]*@llvm\.{name}\.{suffix}\(.*$", "", text)
        text = text.replace(f"@llvm.{name}.{suffix}(", f"@poise_{name}_{suffix}(")
    rewritten = llvm.parse_assembly("\n".join((text, *definitions)))
    rewritten.triple, rewritten.data_layout = module.triple, module.data_layout
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = builder.getModulePassManager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(rewritten, builder)
    return re.sub(r"(?m)^target (triple|datalayout).*$", "", str(rewritten))


def _is_portable_function(name: str) -> bool:
    if name.startswith("llvm."):
        return _EXACT_INTRINSICS.match(name) is not None
    return name.startswith("poise_") or name in ("memcpy", "memset", "memmove")
