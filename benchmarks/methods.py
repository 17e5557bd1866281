"""Every method of Poise beside the libraries that have one like it: ten free bones to points, a Panda to places.

Poise is measured through solve(), judging included: in one call with all targets, and one call a target (prepare()).
Peers are measured around their solve call alone. Answers are judged here: bone lengths, limits and what is left.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any, NamedTuple

import classic_ccd
import harness
import numpy as np
from numpy.typing import NDArray
from robots import environments

import poise
from poise import solvers

TOLERANCE = 1e-3
SECONDS = 20.0  # of each peer; at least one target is solved
SINGLES = 200
LIKE = {  # the methods that do the same work as a peer's
    "pyfabrik": ("fabrik",),
    "three.js CCDIKSolver": ("ccd",),
    "tinyik (BFGS)": ("autodiff", "damped_least_squares", "levenberg_marquardt"),
    "tinyik CCD": ("ccd",),
    "ikpy": ("damped_least_squares", "levenberg_marquardt", "pseudo_inverse", "selectively_damped"),
}


class Measured(NamedTuple):
    """Who solved how many of how many targets, and how long one took [us]: in a batch, and alone."""

    who: str
    share: float
    targets: int
    batch: float
    single: float


def poise_rows(start: poise.Pose, targets: NDArray[np.float64]) -> list[Measured]:
    """Each solver of the folder that takes a position of a chain of balls."""
    rows = []
    for name in solvers.names():
        try:
            rows.append(poise_row(name, start, targets))
        except poise.UnsupportedError as error:
            print(f"{name}: {error}", flush=True)
    return rows


def poise_row(name: str, start: poise.Pose, targets: NDArray[np.float64]) -> Measured:
    """One solver: the best of three calls with all targets; the median of single calls."""
    goal = poise.Position("tip", targets, root="bone_0")
    poise.solve(start, poise.Position("tip", targets[:2], root="bone_0"), solver=name, tolerance=TOLERANCE)
    runs = [harness.timed(lambda: poise.solve(start, goal, solver=name, tolerance=TOLERANCE, threads=1))
            for _ in range(3)]  # fmt: skip
    result, seconds = runs[0][0], min(seconds for _, seconds in runs)
    left = np.linalg.norm(classic_ccd.tips(result.pose.q.reshape(len(targets), -1, 4), 1.0) - targets, axis=-1)
    reach = poise.prepare(start, poise.Position("tip", targets[0], root="bone_0"), solver=name, tolerance=TOLERANCE)
    reach(targets[0])
    singles = []
    for target in targets[:SINGLES]:
        began = time.perf_counter()
        reach(target)
        singles.append(time.perf_counter() - began)
    share = float((left <= TOLERANCE * (1 + 1e-6)).mean())
    return Measured(name, share, len(targets), seconds / len(targets) * 1e6, float(np.median(singles)) * 1e6)


def peer_row(peer: str, environment: str, targets: NDArray[np.float64]) -> Measured:
    """A Python library in its own environment; RuntimeError with a sentence where it cannot be run."""
    task = {"peer": peer, "bones": 10, "length": 1.0, "tolerance": TOLERANCE, "seconds": SECONDS,
            "targets": targets.tolist()}  # fmt: skip
    command = [environments.python(environment), harness.HERE / "peers" / "chains.py"]
    done = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{peer}: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}")
    answer = json.loads(done.stdout)
    joints = np.array(answer["joints"])
    lengths = np.linalg.norm(np.diff(joints, axis=1), axis=-1)
    left = np.linalg.norm(joints[:, -1] - targets[: len(joints)], axis=-1)
    held = np.abs(lengths - 1).max(axis=-1) <= 1e-5  # pyfabrik's bones stretch by 5e-7
    return Measured(
        peer, float((held & (left <= TOLERANCE * (1 + 1e-6))).mean()), len(joints), float("nan"),
        float(np.mean(answer["microseconds"])),
    )  # fmt: skip


def three_row(targets: NDArray[np.float64]) -> Measured:
    """three.js through node."""
    answers = classic_ccd.solve_with_three(10, 1.0, {"ball": targets})["ball"]
    left = np.linalg.norm(classic_ccd.tips(answers.quaternions, 1.0) - targets, axis=-1)
    share = float((left <= TOLERANCE * (1 + 1e-6)).mean())
    return Measured("three.js CCDIKSolver", share, len(targets), float("nan"), float(answers.seconds.mean()) * 1e6)


def peers(targets: NDArray[np.float64], notes: list[str]) -> list[Measured]:
    """Every peer that can be run here."""
    runs: list[Any] = [
        lambda: three_row(targets),
        lambda: peer_row("pyfabrik", "pyfabrik", targets),
        lambda: peer_row("tinyik", "tinyik", targets)._replace(who="tinyik (BFGS)"),
        lambda: peer_row("tinyik CCD", "tinyik", targets),
        lambda: peer_row("ikpy", "ikpy", targets),
    ]
    rows = []
    for run in runs:
        try:
            rows.append(run())
        except RuntimeError as error:
            notes.append(f"left out: {error}")
    return rows


def per_solved(row: Measured, time_of_one: float) -> float:
    """Microseconds per target that was solved; infinite where none was."""
    return time_of_one / row.share if row.share else float("inf")


def line(name: str, row: Measured, against: list[Measured]) -> harness.Row:
    """One line of the table; the ratio is to the slowest method of ours that is like the peer's."""
    own = [other for other in against if other.who in LIKE.get(row.who, ())]
    ratio = min((per_solved(row, row.single) / per_solved(other, other.batch) for other in own), default=None)
    return {
        "targets": name, "solver": row.who, "reached [%]": round(100 * row.share, 1), "of": row.targets,
        "batch [us]": f"{row.batch:.3g}" if np.isfinite(row.batch) else "-", "one call [us]": row.single,
        "times slower than ours": "-" if ratio is None else f"{ratio:,.0f} ({', '.join(o.who for o in own)})",
    }  # fmt: skip


def main(limit: int | None = None) -> int:
    """Run everything and write the table."""
    folder = harness.data_folder()
    if folder is None:
        return harness.exit_code("methods: skipped, the targets are not here: set POISE_DATA")
    document = json.loads((folder / "chain10" / "targets.json").read_text())
    start = classic_ccd.chain(10, 1.0)
    rows: list[harness.Row] = []
    notes: list[str] = []
    for name in ("ball", "fk"):
        targets = np.array(document[name][:limit])
        own = poise_rows(start, targets)
        rows += [line(name, row, own) for row in [*own, *peers(targets, notes)]]
    notes.append(
        f"Ten free bones of length 1, tolerance {TOLERANCE:g}, from straight. Times are means of all targets, also of "
        f"those that are missed; the ratio is per target solved, the peer's call against our batch. A peer stops after "
        f"{SECONDS:g} s. tinyik and ikpy get three hinges a bone and a start that is bent by 0.02 rad, pyfabrik one "
        "bent by a thousandth: straight is a place where they cannot start."
    )
    harness.report("methods", "Every method, beside libraries that have one like it", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
