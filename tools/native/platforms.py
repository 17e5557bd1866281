"""Platforms of the library of kernels, with their processor levels."""

from __future__ import annotations

from typing import NamedTuple

from native.optimise import Target
from poise.kernels.levels import LEVELS, PORTABLE_LEVEL


class Platform(NamedTuple):
    """A platform.

    name           of the library's file, as `poise.kernels.native` looks for it
    suffix         of that file
    zig_target     for zig as the linker; with the oldest C library or system that the file runs on
    targets        the levels, those for any processor first
    is_tested      whether the library runs on the machine that builds it; others are linked only
    """

    name: str
    suffix: str
    zig_target: str
    targets: tuple[Target, ...]
    is_tested: bool = False


def _list_targets(triple: str, portable_cpu: str, *level_names: str) -> tuple[Target, ...]:
    cpus = {PORTABLE_LEVEL: portable_cpu} | {name: LEVELS[name].cpu for name in level_names}
    return tuple(Target(name, triple, cpu, LEVELS[name].lane_count) for name, cpu in cpus.items())


PLATFORMS = {
    platform.name: platform
    for platform in (
        Platform(
            "linux_x86_64",
            ".abi3.so",
            "x86_64-linux-gnu.2.17",
            _list_targets("x86_64-unknown-linux-gnu", "x86-64-v2", "v2", "v3", "v4"),
            is_tested=True,
        ),
        Platform(
            "linux_aarch64",
            ".abi3.so",
            "aarch64-linux-gnu.2.17",
            _list_targets("aarch64-unknown-linux-gnu", "generic", "armv8"),
        ),
        Platform(
            "darwin_aarch64",
            ".abi3.so",
            "aarch64-macos.11.0",
            _list_targets("arm64-apple-macosx11.0.0", "apple-m1", "m1"),
        ),
        Platform(
            "darwin_x86_64",
            ".abi3.so",
            "x86_64-macos.11.0",
            _list_targets("x86_64-apple-macosx11.0.0", "x86-64-v2", "v2", "v3"),
        ),
        Platform(
            "win32_x86_64",
            ".pyd",
            "x86_64-windows-gnu",
            _list_targets("x86_64-pc-windows-gnu", "x86-64-v2", "v2", "v3", "v4"),
        ),
    )
}

# For browsers and node: a module of chosen kernels, no Python module. Every browser since 2023 has these features.
WEB_ASSEMBLY = Platform(
    "wasm32",
    ".wasm",
    "wasm32-freestanding",
    (
        Target(
            PORTABLE_LEVEL,
            "wasm32-unknown-unknown",
            "generic",
            LEVELS[PORTABLE_LEVEL].lane_count,
            "+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext",
        ),
    ),
    is_tested=True,
)
