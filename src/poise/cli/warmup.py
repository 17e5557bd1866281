"""`poise warmup`: compile the kernels ahead of the first solve."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from poise import warmup as compile_all
from poise.cli.progress import show_progress
from poise.cli.terminal import say
from poise.precompile import GROUPS, list_steps

_WHAT_HELP = f"which kernels: {', '.join(GROUPS)}"


def warmup(what: Annotated[str, typer.Argument(metavar="WHAT", help=_WHAT_HELP)] = "all") -> None:
    """Compile the kernels for this machine, once. That takes 20 seconds for arms or figures, 90 seconds for all.

    Later calls load the kernels from disk, in a second. The first solve of each kind would compile its own kernels;
    this does it ahead of time for arms (robot arms), figures (limbs and whole bodies), methods (ccd, fabrik and other
    solvers selected by name), feet (planting and the Grounder), or all.
    """
    began, cpu_began = time.perf_counter(), time.process_time()
    with show_progress("compiling", len(list_steps(what))) as advance:
        started_steps: list[str] = []

        def report_step(name: str) -> None:
            advance(int(bool(started_steps)), name)
            started_steps.append(name)

        folder = compile_all(what, progress=report_step)
    location = "not cached: no folder is writable" if folder is None else f"cached in {folder}"
    seconds, work = time.perf_counter() - began, time.process_time() - cpu_began
    say(f"kernels ready ({what}) in {seconds:.1f} s, {work:.1f} s of processor time, {location}")
