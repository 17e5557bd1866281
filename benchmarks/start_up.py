"""How long fresh processes take: to import, to say the version, to solve first, to compile where nothing is cached.

The kernels come from the library (`native`) or from Numba (`jit`), cached on disk or not. Numba itself takes a good
part: what it needs before it runs anything from its cache is measured alone.

    python benchmarks/start_up.py [ROUNDS]
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import harness

import poise

ROUNDS = 9
PATIENCE = 900  # s for compiling everything
NATIVE, JIT = {"POISE_KERNELS": "native"}, {"POISE_KERNELS": "jit"}

IMPORT = "import poise"
BARE = "import numpy"
NUMBA = """
from numba.core.registry import cpu_target
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
"""
ARM = """
import poise
from poise import samples
arm = poise.load(samples.path("arm.urdf"))
tip = arm.skeleton.names[-1]
there = arm.rest.world[tip]
goal = poise.Place(tip, there.positions + [-0.05, 0.03, -0.04], there.rotations)
assert poise.solve(arm.rest, goal).reached
"""
CCD = """
import poise
from poise import samples
body = poise.load(samples.path("humanoid.bvh"))
hand = body.rest.world["LeftHand"].positions
goal = poise.Position("LeftHand", hand + [-0.1, -0.1, 0.1])
assert poise.solve(body.rest, goal, solver="ccd").reached
"""
FIGURE = """
import poise
from poise import samples
body = poise.load(samples.path("humanoid.bvh"))
goals = [poise.Position("LeftHand", (0.4, 1.2, 0.35)), poise.Position("RightHand", (-0.4, 1.2, 0.35))]
assert poise.solve(body.rest, goals, free_root=True).reached
"""
FIRST_SOLVES = {"an arm": ARM, "a body by ccd": CCD, "a figure with two goals": FIGURE}


class Spent(NamedTuple):
    """A process: wall clock [s], processor time of its last `solve` [s], and whether it had imported Numba."""

    seconds: float
    solve_seconds: float
    numba: bool


def fresh(code: str, environment: Mapping[str, str] | None = None) -> Spent:
    """Run code in a new interpreter. Raises RuntimeError with its last words where it fails."""
    timed_code = code.replace(
        "assert poise.solve", "import time; solve = poise.solve; began = time.process_time()\nassert solve"
    )
    asks = "\nimport sys, time\nspent = time.process_time() - globals().get('began', time.process_time())"
    asks += "\nprint(spent, 'numba' in sys.modules)"
    command = [sys.executable, "-c", timed_code + asks]
    whole = {**os.environ, **(environment or {})}
    done, seconds = harness.timed(
        lambda: subprocess.run(command, capture_output=True, text=True, check=False, env=whole, timeout=PATIENCE)
    )
    if done.returncode:
        message = f"a fresh process failed: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}"
        raise RuntimeError(message)
    solve_seconds, numba = done.stdout.split()[-2:]
    return Spent(seconds, float(solve_seconds), numba == "True")


def version() -> Spent:
    """Ask the command line for its version, the way a shell does."""
    command = [sys.executable, "-m", "poise", "--version"]
    done, seconds = harness.timed(lambda: subprocess.run(command, capture_output=True, text=True, check=True))
    if poise.__version__ not in done.stdout:
        message = f"--version said {done.stdout!r}"
        raise RuntimeError(message)
    return Spent(seconds, 0.0, numba=False)


def warm(rounds: int) -> list[harness.Row]:
    """Measure fresh processes with a warm cache, in turn, round after round."""
    jobs: dict[tuple[str, str], Callable[[], Spent]] = {
        ("python, numpy alone", ""): lambda: fresh(BARE),
        ("Numba alone, ready to run", ""): lambda: fresh(NUMBA),
        ("import poise", ""): lambda: fresh(IMPORT),
        ("poise --version", ""): version,
    }
    for name, code in FIRST_SOLVES.items():
        jobs[f"import, load {name}, first solve", "native"] = functools.partial(fresh, code, NATIVE)
        jobs[f"import, load {name}, first solve", "jit"] = functools.partial(fresh, code, JIT)
    for (name, kernels), job in jobs.items():
        print(f"first time: {name} {kernels}", file=sys.stderr, flush=True)
        job()  # compiles what is not cached yet
    spent: dict[tuple[str, str], list[Spent]] = {name: [] for name in jobs}
    for round_index in range(rounds):
        print(f"round {round_index + 1} of {rounds}", file=sys.stderr, flush=True)
        for name, job in jobs.items():
            spent[name].append(job())
    return [
        make_row(name, kernels, "warm" if kernels == "jit" else "", found) for (name, kernels), found in spent.items()
    ]


def cold() -> list[harness.Row]:
    """Measure fresh processes of the JIT with an empty cache: each once, in a folder of its own."""
    rows = []
    for name, code in FIRST_SOLVES.items():
        print(f"empty cache: {name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            spent = fresh(code, {**JIT, "NUMBA_CACHE_DIR": folder})
        rows.append(make_row(f"import, load {name}, first solve", "jit", "empty", [spent]))
    return rows


def make_row(name: str, kernels: str, cache: str, spent: Sequence[Spent]) -> harness.Row:
    """Make a row of the table."""
    median, slow = harness.spread([one.seconds for one in spent], 1.0)
    solve_median, _ = harness.spread([one.solve_seconds for one in spent], 1.0)
    return {
        "fresh process": name, "kernels": kernels, "cache": cache, "median [s]": median, "p99 [s]": slow,
        "the solve, processor [s]": solve_median if kernels else "",
        "Numba imported": "" if name == "poise --version" else "yes" if spent[0].numba else "no",
    }  # fmt: skip


def main(rounds: int = ROUNDS, *, recompile: bool = True) -> int:
    """Run everything and write the table."""
    rows = warm(rounds) + (cold() if recompile else [])
    note = (
        f"Wall clock of whole processes, starting and ending Python included; the median of {rounds}, taking turns. An "
        "empty cache is measured once. The solve is the processor time of the first `solve`, with what it loads."
    )
    harness.report("start_up", "Start-up", rows, [note])
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
