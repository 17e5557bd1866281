"""Single calls beside peers: a UR5 to places, two bones, forward kinematics.

Closed forms of EAIK and ssik are asked for one pose by the call that is quickest from Python, three.js in node. All run
in turn, round after round. Every answer is judged by forward kinematics at the same tolerance.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import classic_ccd
import harness
import multiple_solutions
import numpy as np
from numpy.typing import NDArray
from robots import environments, models

import poise

Floats = NDArray[np.float64]
ROBOT = "ur5"
# Environment of the robots' benchmark and the call of peers/quick_calls.py, by the words of the table.
ARM_CALLS = {
    "poise.solve(start, Place(tip, position, rotation))": ("poise", "poise"),
    "poise.solve(start, Place.from_matrix(tip, pose))": ("poise", "poise_matrix"),
    "prepared(target)": ("poise", "poise_prepared"),
    "EAIK: IK(pose), all branches": ("eaik", "eaik"),
    "EAIK: the branch of IK(pose) within the limits and nearest the start": ("eaik", "eaik_nearest"),
    "ssik: solve(pose, max_solutions=1), any branch": ("ssik", "ssik"),
    "ssik: solve(pose, max_solutions=1, q_seed=start), within the limits": ("ssik", "ssik_nearest"),
}
TARGETS = 500
ROUNDS = 5
FK_POSES = 64
REPEATS = 50  # of all poses in a round
BONE_LENGTH = 5.0  # of two bones: the tolerance of 1e-3 is 1e-4 of the chain
SEED = 3


class Timed(NamedTuple):
    """Times of a call, one of each round [us], and the share of right answers; None where nothing is to be judged."""

    microseconds: list[float]
    right: float | None


def measure_arms(count: int, rounds: int) -> tuple[dict[str, Timed], list[str]]:
    """Measure all calls of arms in their environments, and say which are left out."""
    judge = multiple_solutions.Judge(count)
    found: dict[str, Timed] = {}
    notes: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        targets = Path(folder) / "targets.npz"
        np.savez(targets, q=judge.q, T=judge.poses)
        for _ in range(rounds):
            for label, (environment, call) in ARM_CALLS.items():
                try:
                    us, right = run_call(environment, call, targets, judge)
                except RuntimeError as error:
                    notes.append(f"{label} left out: {error}")
                    continue
                found.setdefault(label, Timed([], right)).microseconds.append(us)
    return found, list(dict.fromkeys(notes))


def run_call(environment: str, call: str, targets: Path, judge: multiple_solutions.Judge) -> tuple[float, float]:
    """Run a call for all targets in a fresh process. Returns its time [us] and the share of right answers."""
    out = targets.with_name(f"{call}.npz")
    worker = harness.HERE / "peers" / "quick_calls.py"
    command = [str(environments.python(environment)), str(worker), call, ROBOT, str(targets), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        message = (done.stderr.strip().splitlines() or ["no reason"])[-1]
        raise RuntimeError(message)
    with np.load(out) as answers:
        branches, of, us = answers["branches"], answers["of"], float(answers["us"])
    right = [len(judge.correct(k, branches[of == k])) > 0 for k in range(len(judge.q))]
    return us, float(np.mean(right))


def measure_two_bones(count: int, rounds: int) -> tuple[dict[str, Timed], list[str]]:
    """Measure the closed form and the solver of three.js on two bones, straight at the start."""
    rng = np.random.default_rng(SEED)
    ways = rng.normal(size=(count, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    targets = ways * rng.uniform(0.3, 0.95, size=(count, 1)) * 2 * BONE_LENGTH
    start = classic_ccd.chain(2, BONE_LENGTH)
    goal = poise.Position("tip", targets[0], root="bone_0")
    reach = poise.prepare(start, goal, solver="two_bone", tolerance=classic_ccd.TOLERANCE)
    results = list(map(reach, targets))

    def is_right(quaternions: Floats) -> float:
        errors = np.linalg.norm(classic_ccd.tips(quaternions, BONE_LENGTH) - targets, axis=-1)
        return float((errors <= classic_ccd.TOLERANCE * (1 + 1e-6)).mean())

    found = {
        "prepared(target), two_bone": Timed([], is_right(np.array([each.q for each in results]).reshape(count, -1, 4)))
    }
    notes: list[str] = []
    for _ in range(rounds):
        found["prepared(target), two_bone"].microseconds.append(time_calls(reach, list(targets), 3))
        try:
            answers = classic_ccd.solve_with_three(2, BONE_LENGTH, {"ball": targets})["ball"]
        except RuntimeError as error:
            notes.append(f"three.js left out: {error}")
            break
        three = found.setdefault(
            "three.js: CCDIKSolver.update() until it is there", Timed([], is_right(answers.quaternions))
        )
        three.microseconds.append(float(np.median(answers.seconds)) * 1e6)
    return found, notes


def measure_kinematics(rounds: int) -> tuple[dict[str, Timed], list[str]]:
    """Measure the world transforms of all joints of the UR5 for new joint values."""
    robot = models.load(ROBOT)
    skeleton = poise.load(robot.urdf).skeleton
    rows = list(np.random.default_rng(SEED).uniform(robot.lower, robot.upper, (FK_POSES, len(robot.joints))))

    def ours(q: Floats) -> Floats:
        return poise.Pose(skeleton, q).world.affine

    calls: dict[str, Callable[[Floats], Any]] = {"poise.Pose(skeleton, q).world.affine": ours}
    notes: list[str] = []
    right = None
    try:
        import pinocchio as pin  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        notes.append(f"Pinocchio left out: {error}")
    else:
        model = pin.buildModelFromUrdf(robot.urdf)
        data, tip = model.createData(), model.getFrameId(robot.tip)
        calls["Pinocchio: framesForwardKinematics(model, data, q)"] = partial(pin.framesForwardKinematics, model, data)

        def read_tip(q: Floats) -> Floats:
            pin.framesForwardKinematics(model, data, q)
            return data.oMf[tip].homogeneous

        calls["Pinocchio: the same, and data.oMf[tip].homogeneous"] = read_tip
        differences = [np.abs(read_tip(q)[:3] - ours(q)[skeleton.index(robot.tip)]).max() for q in rows]
        right = float(np.mean(np.array(differences) < 1e-9))
    found = {label: Timed([], right) for label in calls}
    for _ in range(rounds):
        for label, call in calls.items():
            found[label].microseconds.append(time_calls(call, rows, REPEATS))
    return found, notes


def time_calls(call: Callable[[Any], Any], inputs: list[Any], repeats: int) -> float:
    """Time a call, on average of all inputs: the median of some repeats [us]."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        for value in inputs:
            call(value)
        times.append((time.process_time() - began) / len(inputs))
    return 1e6 * float(np.median(times))


def make_rows(task: str, found: dict[str, Timed]) -> list[harness.Row]:
    """Make rows of the table: the time, and how many times as long as Poise's first call it is."""
    medians = {label: float(np.median(timed.microseconds)) for label, timed in found.items()}
    first = next(iter(medians.values()))
    return [
        {
            "task": task, "call": f"`{label}`" if ":" not in label else label, "us": medians[label],
            "times the first": medians[label] / first,
            "right [%]": "" if timed.right is None else round(100 * timed.right, 1),
        }
        for label, timed in found.items()
    ]  # fmt: skip


def main(count: int = TARGETS, rounds: int = ROUNDS) -> int:
    """Run everything and write the table."""
    rows: list[harness.Row] = []
    notes: list[str] = []
    for task, measured in (
        ("a UR5 to places", partial(measure_arms, count, rounds)),
        ("two bones to points", partial(measure_two_bones, count, rounds)),
        ("forward kinematics of a UR5", partial(measure_kinematics, rounds)),
    ):
        try:
            found, missing = measured()
        except OSError as error:
            notes.append(f"{task} left out: {error}")
            continue
        rows += make_rows(task, found)
        notes += missing
    if not rows:
        return harness.exit_code(f"calls_peers: skipped, {' '.join(notes)}")
    how = (
        f"{count} targets, {rounds} rounds in turn, medians. Processor time of one call from Python; of three.js the "
        "time around its solver within node. The UR5: poses of random configurations, each call in processes of its "
        f"own; right are targets with an answer within {multiple_solutions.CORRECT:g} m and rad and, modulo whole "
        "turns, within the limits. Poise starts in the middle of the ranges, and keeps the limits. The closed forms "
        "are asked in two ways: for what costs them least, and for what a call of Poise answers. "
        f"Two bones: right within {classic_ccd.TOLERANCE:g} of {2 * BONE_LENGTH:g}. Forward kinematics: all frames; "
        "right where the tip of both libraries is the same to 1e-9."
    )
    harness.report("calls_peers", "Single calls beside peers", rows, [how, *notes])
    return 0


if __name__ == "__main__":
    sys.exit(main())
