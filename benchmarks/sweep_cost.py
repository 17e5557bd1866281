"""Cost of one sweep over a chain of 20 joints, as a ratio to plain C++ in the same process.

Both run in turn, round after round, on the same targets with a tolerance of zero, so that (nearly) every
sweep is really done; Poise's time is a public call's, packing and judging included, over the sweeps it counts.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import harness
import numpy as np
from numpy.typing import NDArray

import poise

JOINTS = 20
SWEEPS = 50
TARGETS = 400
ROUNDS = 60
SEED = 7
ORDERS = {
    "tip-first": poise.CCD(iterations=SWEEPS, order="tip-first", bend=0, restarts=0, finish=False),
    "base-first": poise.CCD(iterations=SWEEPS, restarts=0, finish=False),
}


def chain(kind: poise.Kind) -> poise.Skeleton:
    """Build 20 joints along +Y and a fixed tip: ball joints, or hinges about turning axes with ranges."""
    names = [f"joint_{i}" for i in range(JOINTS)] + ["tip"]
    offsets = [[0.0, 1.0 if i else 0.0, 0.0] for i in range(JOINTS + 1)]
    angle = np.arange(JOINTS) * np.radians(50)
    axes = np.stack([np.cos(angle), np.zeros(JOINTS), np.sin(angle)], axis=-1)
    hinged = kind == poise.Kind.HINGE
    limits = [poise.Range(-1.2, 1.2)] * JOINTS if hinged else [None] * JOINTS
    return poise.Skeleton.build(
        names, range(-1, JOINTS), [kind] * JOINTS + [poise.Kind.FIXED], offsets=offsets,
        axes=[*axes, [0, 0, 0]] if hinged else None, limits=[*limits, None],
    )  # fmt: skip


def targets() -> NDArray[np.float64]:
    """Return points (TARGETS, 3) inside the reach, away from its edge."""
    rng = np.random.default_rng(SEED)
    directions = rng.normal(size=(TARGETS, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return directions * rng.uniform(3.0, 17.0, size=(TARGETS, 1))


def compiled() -> ctypes.CDLL:
    """Compile the baseline into the cache (once per source, compiler and processor); RuntimeError says why not."""
    compiler = shutil.which("clang++") or shutil.which("g++")
    if not compiler:
        message = "no C++ compiler (clang++ or g++) is here, so there is no baseline to compare with"
        raise RuntimeError(message)
    source = harness.HERE / "peers" / "ccd_cpp_baseline.cpp"
    flags = ["-O3", "-march=native", "-std=c++17", "-shared", "-fPIC"]
    stamp = hashlib.sha256(
        source.read_bytes() + " ".join([compiler, *flags, harness.machine()["cpu"]]).encode()
    ).hexdigest()[:16]
    library = harness.cache_folder() / f"ccd_cpp_baseline-{stamp}.so"
    if not library.is_file():
        try:
            subprocess.run(
                [compiler, *flags, str(source), "-o", str(library)], check=True, capture_output=True, text=True
            )
        except subprocess.CalledProcessError as error:
            message = f"{Path(compiler).name} could not compile the baseline: {error.stderr}"
            raise RuntimeError(message) from error
    return ctypes.CDLL(str(library))


def build_baseline(skeleton: poise.Skeleton, wanted: NDArray[np.float64]) -> Callable[[], NDArray[np.float64]]:
    """Return a call that runs all sweeps in C++ and returns the distances left."""
    function = compiled().baseline
    kinds = np.ascontiguousarray(skeleton.kinds[:JOINTS], dtype=np.int32)
    axes = np.ascontiguousarray(skeleton.axes[:JOINTS])
    ranges = np.array([(limit.low, limit.high) if limit else (-np.inf, np.inf) for limit in skeleton.limits[:JOINTS]])
    offsets = np.ascontiguousarray(skeleton.A[1:, :3])
    left = np.zeros(len(wanted))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (kinds, axes, ranges, offsets, wanted)]
    arguments = (JOINTS, *pointers, len(wanted), SWEEPS, ctypes.c_void_p(left.ctypes.data))

    def run() -> NDArray[np.float64]:
        function(*arguments)
        return left

    run.__dict__["keeps"] = (kinds, axes, ranges, offsets)  # the library holds bare pointers to them
    return run


def measure(kind: poise.Kind, wanted: NDArray[np.float64], rounds: int) -> list[harness.Row]:
    """Time ours and the baseline in turn; a row per order of sweeps."""
    skeleton = chain(kind)
    start = poise.Pose(skeleton, skeleton.zero_q())
    goal = poise.Position("tip", wanted, root="joint_0")
    theirs = build_baseline(skeleton, wanted)
    calls = {
        name: (lambda s=solver: poise.solve(start, goal, solver=s, tolerance=0.0)) for name, solver in ORDERS.items()
    }
    sweeps = {name: float(call().joint_updates.sum()) / JOINTS for name, call in calls.items()}
    left = {name: call().errors[:, 0] for name, call in calls.items()}
    cpp: list[float] = []
    ours: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        cpp.append(harness.timed(theirs)[1] / (len(wanted) * SWEEPS))
        for name, call in calls.items():
            ours[name].append(harness.timed(call)[1] / sweeps[name])
    rows = []
    for name, times in ours.items():
        (median, slow), (cpp_median, cpp_slow) = harness.spread(times, 1e-9), harness.spread(cpp, 1e-9)
        rows.append({
            "joints": "ball" if kind == poise.Kind.BALL else "hinges with ranges", "order": name,
            "ours [ns/sweep]": median, "p99": slow, "C++ tip-first [ns/sweep]": cpp_median, "p99 ": cpp_slow,
            "ratio": round(median / cpp_median, 3), "left, ours (median)": float(np.median(left[name])),
            "left, C++": float(np.median(theirs())), "sweeps run [%]": 100 * sweeps[name] / (len(wanted) * SWEEPS),
        })  # fmt: skip
    return rows


def main(rounds: int | None = None) -> int:
    """Run everything and write the table."""
    wanted = targets()
    try:
        rows = [row for kind in (poise.Kind.BALL, poise.Kind.HINGE) for row in measure(kind, wanted, rounds or ROUNDS)]
    except RuntimeError as error:
        return harness.exit_code(f"sweep_cost: skipped, {error}")
    note = (
        f"{TARGETS} targets, at most {SWEEPS} sweeps each, tolerance 0, {rounds or ROUNDS} rounds interleaved in one "
        "process, one thread; median and 99th percentile over rounds. `left` is the distance from the target after "
        "the last sweep: equal figures for tip-first show that both do the same work."
    )
    harness.report("sweep_cost", f"Cost of a sweep over {JOINTS} joints", rows, [note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
