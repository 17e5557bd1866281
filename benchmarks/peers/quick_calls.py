"""Single calls of a library for robot arms, in its own environment: `quick_calls.py CALL ROBOT TARGETS.npz OUT.npz`.

TARGETS holds q (k, n) and their poses T (k, 4, 4). OUT gets us, the median time of a call over several rounds, and the
answers: branches (b, n), and of which target each is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from robots import models
from robots.models import Floats

ROUNDS = 7
SSIK_OPTIONS = {"max_solutions": 1, "enumerate_windings": False, "respect_limits": False, "allow_rescue": False}
EXAMPLES = 50  # poses that show which fixed transform leads to the tip of the URDF
Call = tuple[
    Callable[[Any], Any], list[Any], Callable[[Any], Iterable[Floats]]
]  # call, its inputs, branches of an answer


def call_eaik(robot: models.Robot, q: Floats, poses: Floats, form: str) -> Call:
    """EAIK: `IK(pose)` alone, which gives all branches, or the chosen one nearest the middle of the ranges."""
    from robots.peers.eaik_forms import Nearest  # noqa: PLC0415  (the package of one peer is here)

    peer = Nearest()
    peer.load(robot, 1e-6, q[:EXAMPLES], poses[:EXAMPLES])
    if form == "eaik":
        return peer.arm.IK, list(poses @ peer.back), lambda answer: answer.Q
    return lambda pose: peer.solve(pose, robot.mid), list(poses), lambda branch: [] if branch is None else [branch]


def call_ssik(robot: models.Robot, poses: Floats, form: str) -> Call:
    """Ask the module that ssik ships for the arm: for any one branch, or for the nearest one within the limits."""
    from robots.peers.ssik_forms import First  # noqa: PLC0415  (the package of one peer is here)

    solve = First().module(robot).solve
    options: dict[str, Any] = SSIK_OPTIONS if form == "ssik" else {"max_solutions": 1, "q_seed": robot.mid}
    return lambda pose: solve(pose, **options), list(poses), lambda answer: [branch.q for branch in answer]


def call_poise(robot: models.Robot, poses: Floats, form: str) -> Call:
    """`solve()` with a goal made for each target, or the function of `prepare()`."""
    import poise  # noqa: PLC0415  (only in the environment of Poise)
    from poise import rotations  # noqa: PLC0415

    rig = poise.load(robot.urdf)
    start, tip = poise.Pose(rig.skeleton, robot.mid), robot.tip
    places = [(pose[:3, 3].copy(), rotations.from_matrix(pose[:3, :3])) for pose in poses]
    calls: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
        "poise": (lambda place: poise.solve(start, poise.Place(tip, *place)), places),
        "poise_matrix": (lambda pose: poise.solve(start, poise.Place.from_matrix(tip, pose)), list(poses)),
        "poise_prepared": (
            poise.prepare(start, poise.Place(tip, *places[0])),
            [np.concatenate(place) for place in places],
        ),
    }
    call, inputs = calls[form]
    return call, inputs, _read_poise


def _read_poise(answer: Any) -> list[Floats]:
    return [answer.q] if answer.reached else []


def main(name: str, robot_name: str, targets: str, out: str) -> None:
    """Measure the calls, then keep the answers."""
    robot, given = models.load(robot_name), np.load(targets)
    q, poses = given["q"], given["T"]
    if name.startswith("eaik"):
        call, inputs, read = call_eaik(robot, q, poses, name)
    else:
        call, inputs, read = (call_ssik if name.startswith("ssik") else call_poise)(robot, poses, name)
    answers = [call(value) for value in inputs]
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for value in inputs:
            call(value)
        times.append((time.process_time() - began) / len(inputs))
    found = [(np.array(branch, dtype=np.float64), k) for k, answer in enumerate(answers) for branch in read(answer)]
    branches = np.array([branch for branch, _ in found]).reshape(-1, len(robot.joints))
    np.savez(out, us=1e6 * np.median(times), branches=branches, of=np.array([k for _, k in found], dtype=np.int64))


if __name__ == "__main__":
    main(*sys.argv[1:])
