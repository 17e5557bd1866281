"""Two bones in closed form: the kernel over a long array and the public batch, beside plain C++ in the same process.

All run in turn, round after round, on the same leg and targets, timed by what the processor worked. Answers must agree
before anything is timed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

import harness
import numpy as np
from numpy.typing import NDArray

import poise
from poise import kernels
from poise.kernels.layout import LIMB_WORKSPACE_SIZE
from poise.maths.arrays import allocate_aligned, find_simd_width
from poise.problem.goal_errors import NO_ERROR_PATHS
from poise.problem.problem import Problem, Tolerance
from poise.problem.two_bone_limb import pack_limb

Floats = NDArray[np.float64]
TARGETS, BATCH = 1_000_000, 100_000
ROUNDS = 30
SEED = 5
SAME = 1e-9  # by how much the answers of both may differ
FLAGS = ("-O3", "-march=native", "-ffast-math", "-std=c++17", "-fPIC")
KNEE = poise.Range.degrees(0, 150, axis=(1, 0, 0))


def leg() -> poise.Pose:
    """A leg of ball joints, slightly bent."""
    names, offsets = ["hip", "knee", "foot"], [(0.1, 0.9, 0.0), (0.0, -0.45, 0.02), (0.0, -0.42, -0.03)]
    skeleton = poise.Skeleton.build(names, [-1, 0, 1], [poise.Kind.BALL] * 3, offsets=offsets)
    return poise.Pose(skeleton, skeleton.rest_q)


def targets(count: int) -> Floats:
    """Points (count, 3) around the hip that the foot can reach."""
    rng = np.random.default_rng(SEED)
    away = rng.normal(size=(count, 3))
    away /= np.linalg.norm(away, axis=-1, keepdims=True)
    return away * rng.uniform(0.2, 0.85, size=(count, 1)) + [0.1, 0.9, 0.0]


def compiled() -> ctypes.CDLL:
    """The baseline; RuntimeError says why there is none."""
    return harness.compiled(harness.HERE / "peers" / "two_bone_cpp_baseline.cpp", harness.compiler(), FLAGS)


def build_baseline(row: Floats, wanted: Floats, q: Floats) -> Callable[[], object]:
    """Return a call that fills q (k, 12) in C++, from what it knows of one row of kernels/limb_packing.py."""
    numbers = np.concatenate([row[:10], row[13:22], row[28:31], row[40:42], row[43:46], row[50:54], row[46:50]])
    function = compiled().baseline
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (numbers, wanted)]
    arguments = (*pointers, ctypes.c_long(len(wanted)), ctypes.c_void_p(q.ctypes.data))

    def run() -> object:
        return function(*arguments)

    run.__dict__["keeps"] = (numbers, wanted, q)  # the library holds bare pointers to them
    return run


def kernel(start: poise.Pose, solver: poise.TwoBone, wanted: Floats, q: Floats) -> tuple[Callable[[], object], Floats]:
    """Return a call that fills q (k, 12) by Poise's kernel alone, and the row that the limb is packed in."""
    problem = Problem(start, (poise.Position("foot", wanted[0]),))
    plan, rows, starts = pack_limb(problem, solver.packing)
    settings = solver.settings(Tolerance(0.0, 0.0))
    width = find_simd_width()
    solve = kernels.two_bone.solve8 if width == 8 else kernels.two_bone.solve4
    found, work = np.empty((len(wanted), 2), dtype=np.bool_), allocate_aligned(LIMB_WORKSPACE_SIZE * width)
    no_poles, no_errors = np.zeros((0, 3)), np.zeros((len(wanted), 0, 2))
    limb = rows, wanted, no_poles, plan.q_columns, settings, starts
    return lambda: solve(*limb, *NO_ERROR_PATHS[:4], wanted, q, found, no_errors, work), rows[0]


def batch(start: poise.Pose, solver: poise.TwoBone, wanted: Floats) -> Callable[[], poise.Result]:
    """Return a call of the public solve(), judging included, on one thread."""
    goal = poise.Position("foot", wanted)
    return lambda: poise.solve(start, goal, solver=solver, threads=1)


def measure(count: int, of_batch: int, rounds: int) -> list[harness.Row]:
    """Time all in turn; a row each."""
    start, wanted = leg(), targets(count)
    hinged = poise.Pose(start.skeleton.with_limits({"knee": KNEE}), start.q)
    theirs, ours, other = (np.empty((count, 12)) for _ in range(3))
    thigh, row = kernel(start, poise.TwoBone(bend="thigh"), wanted, ours)
    turn, _ = kernel(start, poise.TwoBone(), wanted, other)
    calls: dict[str, tuple[int, Callable[[], object]]] = {
        'kernel, bend="thigh"': (count, thigh),
        "kernel, default": (count, turn),
        "solve(), default": (of_batch, batch(start, poise.TwoBone(), wanted[:of_batch])),
        "solve(), knee a hinge with a range": (of_batch, batch(hinged, poise.TwoBone(), legal(hinged, of_batch))),
    }
    cpp = build_baseline(row, wanted, theirs)
    cpp(), thigh()
    if not np.abs(ours - theirs).max() < SAME:
        message = f"the answers differ by {np.abs(ours - theirs).max():g}"
        raise RuntimeError(message)
    times: dict[str, list[float]] = {name: [] for name in calls}
    yard: list[float] = []
    for _ in range(rounds):
        yard.append(harness.worked(cpp)[1] / count)
        for name, (targets_, call) in calls.items():
            times[name].append(harness.worked(call)[1] / targets_)
    (theirs_median, theirs_slow) = harness.spread(yard, 1e-9)
    rows = []
    for name, taken in times.items():
        median, slow = harness.spread(taken, 1e-9)
        same = name.startswith('kernel, bend="thigh"')
        rows.append({
            "what": name, "targets": calls[name][0], "ours [ns]": median, "p99": slow, "least": min(taken) * 1e9,
            "C++ [ns]": theirs_median if same else "", "p99 ": theirs_slow if same else "",
            "ratio": round(median / theirs_median, 3) if same else "",
        })  # fmt: skip
    return rows


def legal(start: poise.Pose, count: int) -> Floats:
    """Targets (count, 3) that the leg can reach with its knee in its range."""
    wanted = targets(count)
    reached = poise.solve(start, poise.Position("foot", wanted), solver=poise.TwoBone(), threads=1).reached
    return np.resize(wanted[reached], (count, 3))


def main(rounds: int | None = None, count: int = TARGETS, of_batch: int = BATCH) -> int:
    """Run everything and write the table."""
    try:
        rows = measure(count, of_batch, rounds or ROUNDS)
    except RuntimeError as error:
        return harness.exit_code(f"two_bone: skipped, {error}")
    note = (
        f"A leg of three ball joints, targets in its reach, {rounds or ROUNDS} rounds interleaved in one process, one "
        "thread; processor time per target: median, 99th percentile and least over rounds. The C++ is the same closed "
        "form without limits, options and checks, and gives the same answers to 1e-9. solve() packs, solves and judges."
    )
    harness.report("two_bone", "Two bones in closed form", rows, [note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
