"""Cost of FABRIK, as a ratio to plain C++ in the same process: of one sweep, and of a whole solve.

All start from the same slightly bent chain and run in turn, round after round, on the same targets.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

import harness
import numpy as np
from numpy.typing import NDArray

import poise
from poise.extend import Request

Floats = NDArray[np.float64]

BONES = (10, 20)
FINE = 1e-11  # of a bone: so many sweeps that they are what takes the time
SWEEPS = 1000  # at most
TARGETS = 2000
ROUNDS = 40
SEED = 7
BEND = 0.01  # [rad] of each joint at the start
FLAGS = ("-O3", "-march=native", "-ffast-math", "-std=c++17", "-fPIC")


def start_of(bones: int) -> poise.Pose:
    """Build a chain of balls along +Y, one long each, every joint bent a little to the same side."""
    names = [*(f"bone_{i}" for i in range(bones)), "tip"]
    offsets = [[0.0, 1.0 if i else 0.0, 0.0] for i in range(bones + 1)]
    kinds = [poise.Kind.BALL] * bones + [poise.Kind.FIXED]
    skeleton = poise.Skeleton.build(names, range(-1, bones), kinds, offsets=offsets)
    return poise.Pose(skeleton, np.tile([np.cos(BEND / 2), 0.0, 0.0, np.sin(BEND / 2)], bones))


def targets_of(bones: int) -> Floats:
    """Return points (TARGETS, 3) inside the reach, away from its edge."""
    rng = np.random.default_rng(SEED)
    directions = rng.normal(size=(TARGETS, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return directions * bones * rng.uniform(0.15, 0.85, size=(TARGETS, 1))


def compiled() -> ctypes.CDLL:
    """The baseline; RuntimeError says why there is none."""
    return harness.compiled(harness.HERE / "peers" / "fabrik_cpp_baseline.cpp", harness.compiler(), FLAGS)


class Yardstick:
    """The C++ solver, its inputs and what it gave last."""

    def __init__(self, start: poise.Pose, wanted: Floats) -> None:
        bones = len(start.skeleton) - 1
        self.function = compiled().fabrik
        self.lengths, self.wanted = np.ones(bones), wanted
        self.points = np.ascontiguousarray(start.world.positions)
        self.rotations = np.zeros((len(wanted), bones, 4))
        self.counts, self.left = np.zeros(len(wanted), dtype=np.int32), np.zeros(len(wanted))

    def __call__(self, sweeps: int, tolerance: float) -> None:
        """Solve for all targets."""
        arrays = (self.lengths, self.points, self.wanted)
        inputs = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        outputs = [ctypes.c_void_p(array.ctypes.data) for array in (self.rotations, self.counts, self.left)]
        size, count = ctypes.c_int(len(self.lengths)), ctypes.c_int(len(self.wanted))
        self.function(size, *inputs, count, ctypes.c_int(sweeps), ctypes.c_double(tolerance), *outputs)


def processor_time(action: Callable[[], Any]) -> float:
    """Seconds that this thread takes for it; waiting for others does not count."""
    began = time.thread_time()
    action()
    return time.thread_time() - began


def kernel_of(result: poise.Result, solver: poise.FABRIK, wanted: Floats) -> Callable[[], object]:
    """Return a call of the kernel alone, bound to its problem. It converts targets and poses, and measures, too."""
    bound = solver.bind(result.problem, result.tolerances, Request())
    assert bound is not None
    return lambda: bound.solve(wanted)


def measure(bones: int, what: str, tolerance: float, rounds: int) -> harness.Row:
    """Time the kernel, the public call and the baseline in turn."""
    start, wanted = start_of(bones), targets_of(bones)
    theirs = Yardstick(start, wanted)
    solver = poise.FABRIK(iterations=SWEEPS, finish=False, bend=0)

    def ours() -> poise.Result:
        return poise.solve(start, poise.Position("tip", wanted, root="bone_0"), solver=solver, tolerance=tolerance)

    result = ours()
    calls = (kernel_of(result, solver, wanted), ours, lambda: theirs(SWEEPS, tolerance))
    calls[2]()
    sweeps = float(result.iterations.mean()), float(theirs.counts.mean())
    times = np.array([[processor_time(call) for call in calls] for _ in range(rounds)]) / TARGETS
    if what == "a sweep":
        times /= [sweeps[0], sweeps[0], sweeps[1]]
    kernel, public, cpp = np.median(times, axis=0)
    return {
        "bones": bones, "what": what, "kernel [ns]": kernel * 1e9, "solve() [ns]": public * 1e9, "C++ [ns]": cpp * 1e9,
        "kernel / C++": round(kernel / cpp, 3), "solve() / C++": round(public / cpp, 3), "sweeps, ours": sweeps[0],
        "sweeps, C++": sweeps[1], "left, ours (median)": float(np.median(result.errors[:, 0])),
        "left, C++": float(np.median(theirs.left)),
    }  # fmt: skip


def main(rounds: int | None = None) -> int:
    """Run everything and write the table."""
    kinds = (("a sweep", FINE), ("a solve to 1e-3 of a bone", 1e-3))
    try:
        rows = [measure(bones, *kind, rounds or ROUNDS) for bones in BONES for kind in kinds]
    except RuntimeError as error:
        return harness.exit_code(f"fabrik_cpp_baseline: skipped, {error}")
    note = (
        f"`FABRIK(finish=False, bend=0)`, {TARGETS} targets at 15 to 85 % of the reach in one call, medians of "
        f"{rounds or ROUNDS} rounds interleaved on one thread, its processor time. A sweep: a share of a solve to "
        f"{FINE:g} of a bone. The kernel and C++ (g++ {' '.join(FLAGS[:3])}) end with rotations; solve() also packs, "
        "puts them into q and judges. Equal sweeps and equal distances left show that all do the same work."
    )
    harness.report("fabrik_cpp_baseline", "FABRIK beside C++", rows, [note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
