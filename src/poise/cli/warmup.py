"""`poise warmup`: compile the kernels ahead of the first solve."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from poise import warmup as compile_all
from poise.cli.terminal import say
from poise.cli.told.bars import bar
from poise.machine.warmup import GROUPS, steps

_WHAT = f"which kernels: {', '.join(GROUPS)}"


def warmup(what: Annotated[str, typer.Argument(metavar="WHAT", help=_WHAT)] = "all") -> None:
    """Compile the kernels for this machine, once. That takes 20 seconds for arms or figures, 90 seconds for all.

    Later calls load the kernels from disk, in a second. The first solve of each kind would compile its own kernels;
    this does it ahead of time for arms (robot arms), figures (limbs and whole bodies), methods (ccd, fabrik and other
    solvers selected by name), feet (planting and the Grounder), or all.
    """
    began, spent = time.perf_counter(), time.process_time()
    with bar("compiling", len(steps(what))) as advance:
        begun: list[str] = []

        def note(name: str) -> None:
            advance(int(bool(begun)), name)
            begun.append(name)

        folder = compile_all(what, progress=note)
    kept = "not cached: no folder is writable" if folder is None else f"cached in {folder}"
    seconds, work = time.perf_counter() - began, time.process_time() - spent
    say(f"kernels ready ({what}) in {seconds:.1f} s, {work:.1f} s of processor time, {kept}")
