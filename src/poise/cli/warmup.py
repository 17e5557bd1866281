"""`poise warmup`: compile the kernels now, so that the first solve need not wait for it."""

from __future__ import annotations

import time

import typer

from poise import warmup as compile_all
from poise.cli.told.bars import bar
from poise.machine.warmup import steps


def warmup() -> None:
    """Compile every kernel for this machine; takes about a minute once, then a second."""
    began = time.perf_counter()
    with bar("compiling", len(steps())) as advance:
        begun: list[str] = []

        def note(name: str) -> None:
            advance(int(bool(begun)), name)
            begun.append(name)

        folder = compile_all(note)
    typer.echo(f"kernels ready in {time.perf_counter() - began:.1f} s, cached in {folder}")
