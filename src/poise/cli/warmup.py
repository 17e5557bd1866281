"""`poise warmup`: compile kernels ahead of the first solve."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from poise.cli.terminal import say
from poise.kernels.entries import can_compile, has_code_of_all
from poise.precompile import GROUP_NAMES, list_steps
from poise.precompile import warmup as compile_kernels

_WHAT_HELP = f"which kernels: {', '.join(GROUP_NAMES)}"


def warmup(what: Annotated[str, typer.Argument(metavar="WHAT", help=_WHAT_HELP)] = "all") -> None:
    """Compile kernels for this machine, once, where no library has their code.

    With a library of kernels there is nothing to do. Elsewhere it takes 20 seconds for arms or figures, 90 seconds for
    all, and later calls load the kernels from disk, in a second. The groups are arms (robot arms), figures (limbs and
    whole bodies), methods (ccd, fabrik and other solvers selected by name), feet (planting and the Grounder), and all.
    """
    list_steps(what)  # an unknown group is an error in any case
    if has_code_of_all():
        say("nothing to do: the library has the code of all kernels")
        return
    if not can_compile():
        say("nothing to do: kernels run as plain Python here; `pip install poise[jit]` brings Numba")
        return
    start_time, cpu_start_time = time.perf_counter(), time.process_time()
    folder = compile_kernels(what, progress=True)
    location = "not cached: no folder is writable" if folder is None else f"cached in {folder}"
    seconds, cpu_seconds = time.perf_counter() - start_time, time.process_time() - cpu_start_time
    say(f"kernels ready ({what}) in {seconds:.1f} s, {cpu_seconds:.1f} s of processor time, {location}")
