"""Cost of FABRIK, as a ratio to plain C++ in the same process: of one sweep, and of a whole solve.

Both start from the same slightly bent chain and run in turn, round after round, on the same targets. Poise's time is
that of a public call, packing, rotations and judging included; C++ makes rotations, too, and judges nothing.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import harness
import numpy as np
from numpy.typing import NDArray

import poise

BONES = (10, 20)
SWEEPS = 50
TARGETS = 2000
ROUNDS = 40
SEED = 7
BEND = 0.01  # [rad] of each joint at the start
FLAGS = ("-O3", "-march=native", "-ffast-math", "-std=c++17", "-shared", "-fPIC")


def start_of(bones: int) -> poise.Pose:
    """Build a chain of balls along +Y, one long each, every joint bent a little to the same side."""
    names = [*(f"bone_{i}" for i in range(bones)), "tip"]
    offsets = [[0.0, 1.0 if i else 0.0, 0.0] for i in range(bones + 1)]
    kinds = [poise.Kind.BALL] * bones + [poise.Kind.FIXED]
    skeleton = poise.Skeleton.build(names, range(-1, bones), kinds, offsets=offsets)
    return poise.Pose(skeleton, np.tile([np.cos(BEND / 2), 0.0, 0.0, np.sin(BEND / 2)], bones))


def targets_of(bones: int) -> NDArray[np.float64]:
    """Return points (TARGETS, 3) inside the reach, away from its edge."""
    rng = np.random.default_rng(SEED)
    directions = rng.normal(size=(TARGETS, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return directions * bones * rng.uniform(0.15, 0.85, size=(TARGETS, 1))


def compiled() -> ctypes.CDLL:
    """Compile the yardstick into the cache (once per source, compiler and processor); RuntimeError says why not."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        message = "no C++ compiler (g++ or clang++) is here, so there is no yardstick to compare with"
        raise RuntimeError(message)
    source = harness.HERE / "peers" / "fabrik_yardstick.cpp"
    what = " ".join([compiler, *FLAGS, harness.machine()["cpu"]])
    stamp = hashlib.sha256(source.read_bytes() + what.encode()).hexdigest()[:16]
    library = harness.cache_folder() / f"fabrik_yardstick-{stamp}.so"
    if not library.is_file():
        command = [compiler, *FLAGS, str(source), "-o", str(library)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except subprocess.CalledProcessError as error:
            message = f"{Path(compiler).name} could not compile the yardstick: {error.stderr}"
            raise RuntimeError(message) from error
    return ctypes.CDLL(str(library))


class Yardstick:
    """The C++ solver, its inputs and what it gave last."""

    def __init__(self, start: poise.Pose, wanted: NDArray[np.float64]) -> None:
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


def measure(bones: int, what: str, sweeps: int, tolerance: float, rounds: int) -> harness.Row:
    """Time ours and the yardstick in turn."""
    start, wanted = start_of(bones), targets_of(bones)
    theirs = Yardstick(start, wanted)
    solver = poise.FABRIK(iterations=sweeps, finish=False, bend=0)

    def ours() -> Any:
        return poise.solve(start, poise.Position("tip", wanted, root="bone_0"), solver=solver, tolerance=tolerance)

    result = ours()
    theirs(sweeps, tolerance)
    per_sweep = what == "a sweep"
    mine, cpp = (float(n.sum()) if per_sweep else float(TARGETS) for n in (result.iterations, theirs.counts))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        times[0].append(harness.timed(ours)[1] / mine)
        times[1].append(harness.timed(lambda: theirs(sweeps, tolerance))[1] / cpp)
    (median, slow), (cpp_median, cpp_slow) = (harness.spread(each, 1e-9) for each in times)
    return {
        "bones": bones, "what": what, "ours [ns]": median, "p99": slow, "C++ [ns]": cpp_median, "p99 ": cpp_slow,
        "ratio": round(median / cpp_median, 3), "sweeps, ours": float(result.iterations.mean()),
        "sweeps, C++": float(theirs.counts.mean()), "left, ours (median)": float(np.median(result.errors[:, 0])),
        "left, C++": float(np.median(theirs.left)),
    }  # fmt: skip


def main(rounds: int | None = None) -> int:
    """Run everything and write the table."""
    kinds = (("a sweep", SWEEPS, 0.0), ("a solve to 1e-3 of a bone", 1000, 1e-3))
    try:
        rows = [measure(bones, *kind, rounds or ROUNDS) for bones in BONES for kind in kinds]
    except RuntimeError as error:
        return harness.exit_code(f"fabrik_yardstick: skipped, {error}")
    note = (
        f"`FABRIK(finish=False, bend=0)`, {TARGETS} targets at 15 to 85 % of the reach in one call, "
        f"{rounds or ROUNDS} rounds interleaved in one process, one thread; median and 99th percentile over rounds. "
        f"A sweep: {SWEEPS} of them with a tolerance of zero. C++: g++ {' '.join(FLAGS[:3])}. Equal sweeps and equal "
        "distances left show that both do the same work."
    )
    harness.report("fabrik_yardstick", "FABRIK beside C++", rows, [note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
