"""Ten bones, five sets of targets: Poise's CCD with and without its finish, its classic form, three.js CCDIKSolver.

Every answer is judged by forward kinematics written here. `path` is followed: each solve starts from the
answer before; the other sets start from the straight chain.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from typing import NamedTuple

import harness
import numpy as np
from numpy.typing import NDArray

import poise
from poise.maths import rotations

TOLERANCE = 1e-3
ITERATIONS = 100
THREE = "0.187.0"
SETS = ("ball", "fk", "axis", "path", "edge")
SOLVERS = {
    "poise CCD()": poise.CCD(iterations=ITERATIONS),
    "poise CCD, no finish": poise.CCD(iterations=ITERATIONS, finish=False),
    "poise CCD, classic form": poise.CCD(iterations=ITERATIONS, order="tip-first", bend=0, restarts=0, finish=False),
}


class Answers(NamedTuple):
    """Rotations (targets, bones, 4) w x y z relative to the parent bone, and the time of each solve [s]."""

    quaternions: NDArray[np.float64]
    seconds: NDArray[np.float64]
    batch_seconds: float = float("nan")  # per target of one call with all of them


def chain(bones: int, length: float) -> poise.Pose:
    """Return the chain straight along +Y: `bones` ball joints and a fixed tip."""
    names = [*(f"bone_{i}" for i in range(bones)), "tip"]
    kinds = [poise.Kind.BALL] * bones + [poise.Kind.FIXED]
    offsets = [[0.0, length if i else 0.0, 0.0] for i in range(bones + 1)]
    skeleton = poise.Skeleton.build(names, range(-1, bones), kinds, offsets=offsets)
    return poise.Pose(skeleton, skeleton.rest_q)


def tips(quaternions: NDArray[np.float64], length: float) -> NDArray[np.float64]:
    """Tip positions (targets, 3) by forward kinematics of their own, bone by bone.

    A quaternion of length zero, which three.js writes for a target right behind a bone, turns nothing.
    """
    lengths = np.linalg.norm(quaternions, axis=-1, keepdims=True)
    quaternions = np.where(lengths > 0, quaternions / np.where(lengths > 0, lengths, 1.0), rotations.IDENTITY)
    turned = np.tile(rotations.IDENTITY, (len(quaternions), 1))
    position = np.zeros((len(quaternions), 3))
    for i in range(quaternions.shape[1]):
        turned = rotations.multiply(turned, quaternions[:, i])
        position = position + rotations.rotate(turned, np.broadcast_to([0.0, length, 0.0], position.shape))
    return position


def solve_cold(start: poise.Pose, targets: NDArray[np.float64], solver: poise.CCD) -> Answers:
    """Solve every target from the same start: in one call for all, and timed one by one."""
    goal = poise.Position("tip", targets, root="bone_0")
    runs = [harness.timed(lambda: poise.solve(start, goal, solver=solver, tolerance=TOLERANCE)) for _ in range(5)]
    batch, seconds = runs[0][0], min(seconds for _, seconds in runs)
    reach = poise.prepare(start, poise.Position("tip", targets[0], root="bone_0"), solver=solver, tolerance=TOLERANCE)
    times = np.zeros(len(targets))
    for k, target in enumerate(targets):
        began = time.perf_counter()
        reach(target)
        times[k] = time.perf_counter() - began
    return Answers(batch.pose.q.reshape(len(targets), -1, 4), times, seconds / len(targets))


def solve_followed(start: poise.Pose, targets: NDArray[np.float64], solver: poise.CCD) -> Answers:
    """Solve the targets in order, each from the answer before."""
    pose = start
    times, answers = np.zeros(len(targets)), []
    for k, target in enumerate(targets):
        began = time.perf_counter()
        goal = poise.Position("tip", target, root="bone_0")
        pose = poise.solve(pose, goal, solver=solver, tolerance=TOLERANCE).pose
        times[k] = time.perf_counter() - began
        answers.append(pose.q)
    return Answers(np.array(answers).reshape(len(targets), -1, 4), times)


def solve_with_three(bones: int, length: float, sets: dict[str, NDArray[np.float64]]) -> dict[str, Answers]:
    """Solve all sets in one node process; RuntimeError with a sentence where that is not possible."""
    folder = harness.npm_package("three", THREE)
    task = {"bones": bones, "length": length, "cap": ITERATIONS, "tolerance": TOLERANCE}
    task["sets"] = {name: {"targets": targets.tolist(), "warm": name == "path"} for name, targets in sets.items()}
    script = "three_ccd.mjs"
    shutil.copy(harness.HERE / "peers" / script, folder / script)  # node looks for packages beside the script
    try:
        done = subprocess.run(
            ["node", script], input=json.dumps(task), cwd=folder, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        message = f"cannot run three.js: {getattr(error, 'stderr', '') or error}"
        raise RuntimeError(message) from error
    answers = {}
    for name, answer in json.loads(done.stdout).items():
        xyzw = np.array(answer["quaternions"], dtype=np.float64).reshape(len(sets[name]), bones, 4)
        answers[name] = Answers(np.roll(xyzw, 1, axis=-1), np.array(answer["microseconds"]) * 1e-6)
    return answers


def row(solver: str, name: str, answers: Answers, targets: NDArray[np.float64], length: float) -> harness.Row:
    """One line of the table, judged here."""
    errors = np.linalg.norm(tips(answers.quaternions, length) - targets, axis=-1)
    median, slow = harness.spread(answers.seconds, 1e-6)
    batch = f"{answers.batch_seconds * 1e6:.3g}" if np.isfinite(answers.batch_seconds) else "-"
    share = round(100 * float((errors <= TOLERANCE * (1 + 1e-6)).mean()), 1)
    return {
        "solver": solver, "targets": name, "reached [%]": share, "one call, median [us]": median,
        "one call, p99 [us]": slow, "in a batch [us]": batch,
    }  # fmt: skip


def main(limit: int | None = None) -> int:
    """Run everything and write the table."""
    folder = harness.data_folder()
    if folder is None:
        return harness.exit_code("classic_ccd: skipped, the targets are not here: set POISE_DATA")
    document = json.loads((folder / "chain10" / "targets.json").read_text())
    bones, length = document["n_bones"], document["bone_length"]
    sets = {name: np.array(document[name][:limit]) for name in SETS}
    start = chain(bones, length)
    rows, notes = [], []
    for label, solver in SOLVERS.items():
        solve_cold(start, sets["edge"][:2], solver)  # compiles, or loads the compiled kernels
        for name, targets in sets.items():
            run = solve_followed if name == "path" else solve_cold
            rows.append(row(label, name, run(start, targets, solver), targets, length))
    try:
        for name, answers in solve_with_three(bones, length, sets).items():
            rows.append(row(f"three.js r{THREE.split('.')[1]}", name, answers, sets[name], length))
    except RuntimeError as error:
        notes.append(f"three.js left out: {error}")
    rows.sort(key=lambda line: SETS.index(line["targets"]))
    notes.append(
        f"{len(sets['ball'])} targets per set, tolerance {TOLERANCE:g} on a chain of {bones * length:g}, at most "
        f"{ITERATIONS} iterations. One call of Poise is a whole Python call with its result judged by FK: "
        "prepare() for the sets that start afresh, solve() for `path`, which packs its chain anew each time. "
        "In a batch: one call with all targets of the set, the best of five. three.js is timed inside its process, "
        "around the solver only."
    )
    harness.report("classic_ccd", "Ten bones: share of targets reached and time per solve", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
