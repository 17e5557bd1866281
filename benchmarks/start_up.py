"""How long fresh processes take: to import, to say the version, to solve first, to compile where nothing is cached.

Numba itself takes a good part: what it needs before it runs anything from its cache is measured alone. Where SciPy is
installed Numba imports it to ask for its linear algebra, which Poise does not use; a row tells what that costs.

    python benchmarks/start_up.py [ROUNDS]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import NamedTuple

import harness

import poise

ROUNDS = 9
PATIENCE = 900  # s for compiling everything
REQUESTED = "0.5"  # s for a first solve of both solvers, with a warm cache

IMPORT = "import poise"
BARE = "import numpy"
NUMBA = """
from numba.core.registry import cpu_target
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
"""
NO_SCIPY = "import sys; sys.modules['scipy'] = None\n"
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
WARMUP = "import poise; poise.warmup()"


class Spent(NamedTuple):
    """Wall clock of a process [s], and whether it had imported Numba when it ended."""

    seconds: float
    numba: bool


def fresh(code: str, environment: Mapping[str, str] | None = None) -> Spent:
    """Run code in a new interpreter. Raises RuntimeError with its last words where it fails."""
    asks = "\nimport sys\nprint('numba' in sys.modules)"
    command = [sys.executable, "-c", code + asks]
    whole = {**os.environ, **(environment or {})}
    done, seconds = harness.timed(
        lambda: subprocess.run(command, capture_output=True, text=True, check=False, env=whole, timeout=PATIENCE)
    )
    if done.returncode:
        message = f"a fresh process failed: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}"
        raise RuntimeError(message)
    return Spent(seconds, done.stdout.split()[-1] == "True")


def version() -> Spent:
    """Ask the command line for its version, the way a shell does."""
    command = [sys.executable, "-m", "poise", "--version"]
    done, seconds = harness.timed(lambda: subprocess.run(command, capture_output=True, text=True, check=True))
    if poise.__version__ not in done.stdout:
        message = f"--version said {done.stdout!r}"
        raise RuntimeError(message)
    return Spent(seconds, numba=False)


def warm(rounds: int) -> list[harness.Row]:
    """Fresh processes with a warm cache, in turn, round after round."""
    jobs = {
        "python, numpy alone": (lambda: fresh(BARE), ""),
        "Numba alone, ready to run": (lambda: fresh(NUMBA), ""),
        "Numba alone, no SciPy": (lambda: fresh(NO_SCIPY + NUMBA), ""),
        "import poise": (lambda: fresh(IMPORT), ""),
        "poise --version": (version, ""),
        "import, load an arm, first solve": (lambda: fresh(ARM), REQUESTED),
        "import, load a body, first solve by ccd": (lambda: fresh(CCD), REQUESTED),
        "both in one process": (lambda: fresh(ARM + CCD), REQUESTED),
        "both in one process, no SciPy": (lambda: fresh(NO_SCIPY + ARM + CCD), REQUESTED),
    }
    for name, (job, _) in jobs.items():
        print(f"first time: {name}", file=sys.stderr, flush=True)
        job()  # compiles what is not cached yet
    spent: dict[str, list[Spent]] = {name: [] for name in jobs}
    for round_index in range(rounds):
        print(f"round {round_index + 1} of {rounds}", file=sys.stderr, flush=True)
        for name, (job, _) in jobs.items():
            spent[name].append(job())
    rows = []
    for name, (_, requested) in jobs.items():
        median, slow = harness.spread([one.seconds for one in spent[name]], 1.0)
        numba = "" if name == "poise --version" else "yes" if spent[name][0].numba else "no"
        rows.append({
            "fresh process": name, "cache": "warm", "median [s]": median, "p99 [s]": slow, "asked [s]": requested,
            "Numba imported": numba,
        })  # fmt: skip
    return rows


def cold() -> list[harness.Row]:
    """Fresh processes with an empty cache: each once, in a folder of its own."""
    jobs = {"import, load an arm, first solve": ARM, "import, load a body, first solve by ccd": CCD}
    if hasattr(poise, "warmup"):
        jobs["poise.warmup()"] = WARMUP
    rows = []
    for name, code in jobs.items():
        print(f"empty cache: {name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            spent = fresh(code, {"NUMBA_CACHE_DIR": folder})
        rows.append({
            "fresh process": name, "cache": "empty", "median [s]": spent.seconds, "p99 [s]": spent.seconds,
            "asked [s]": "", "Numba imported": "yes" if spent.numba else "no",
        })  # fmt: skip
    return rows


def main(rounds: int = ROUNDS, *, recompile: bool = True) -> int:
    """Run everything and write the table."""
    rows = warm(rounds) + (cold() if recompile else [])
    note = (
        f"Wall clock of whole processes, starting and ending Python included; the median of {rounds}, taking turns. An "
        "empty cache is measured once."
    )
    harness.report("start_up", "Start-up", rows, [note])
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
