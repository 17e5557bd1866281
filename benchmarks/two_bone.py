"""Two bones in closed form: the kernel over a long array and the public batch, beside plain C++ in the same process.

All run in turn, round after round, on the same leg and targets. Answers must agree before anything is timed.
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
from poise import kernels
from poise.limb import limb_of
from poise.limb_space import limb_rows
from poise.problem import Problem, Tolerance

Floats = NDArray[np.float64]
TARGETS, BATCH = 1_000_000, 100_000
ROUNDS = 30
SEED = 5
SAME = 1e-9  # by how much the answers of both may differ
FLAGS = ("-O3", "-march=native", "-ffast-math", "-std=c++17", "-shared", "-fPIC")
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
    """Compile the yardstick into the cache (once per source, compiler and processor); RuntimeError says why not."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        message = "no C++ compiler (g++ or clang++) is here, so there is no yardstick to compare with"
        raise RuntimeError(message)
    source = harness.HERE / "peers" / "two_bone_yardstick.cpp"
    known = source.read_bytes() + " ".join([compiler, *FLAGS, harness.machine()["cpu"]]).encode()
    library = harness.cache_folder() / f"two_bone_yardstick-{hashlib.sha256(known).hexdigest()[:16]}.so"
    if not library.is_file():
        command = [compiler, *FLAGS, str(source), "-o", str(library)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except subprocess.CalledProcessError as error:
            message = f"{Path(compiler).name} could not compile the yardstick: {error.stderr}"
            raise RuntimeError(message) from error
    return ctypes.CDLL(str(library))


def yardstick(row: Floats, wanted: Floats, q: Floats) -> Callable[[], object]:
    """A call that fills q (k, 12) in C++. `row` is one row of poise.limb_space.limb_rows, the C++ takes part of it."""
    parts = [row[0:10], row[13:22], row[28:31], row[40:42], row[43:46], row[50:54], row[46:50]]
    numbers = np.concatenate([row[0:7], row[7:10], row[13:22], row[28:31], *parts[3:]])
    function = compiled().yardstick
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (numbers, wanted)]
    arguments = (*pointers, ctypes.c_long(len(wanted)), ctypes.c_void_p(q.ctypes.data))

    def run() -> object:
        return function(*arguments)

    run.__dict__["keeps"] = (numbers, wanted, q)  # the library holds bare pointers to them
    return run
