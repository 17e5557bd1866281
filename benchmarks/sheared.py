"""Real figures whose scale is not uniform: what share of what they can reach is reached, and how long that takes.

Every joint of a figure gets three scales of its own, 1 to 1.03 (an export that is not quite right), so that whatever
turns below it is sheared. Targets are the tips of random poses: every ball of the chain turned to a rotation drawn
evenly. Judged here by 4 x 4 matrices multiplied one by one, as glTF does it, never by the package; the rotation of a
sheared joint is the nearest one, by singular values.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np
from numpy.typing import NDArray

import poise
from poise.maths import rotations

Floats = NDArray[np.float64]
FILES = ("glb/*.gl*", "glb/*.vrm", "bvh/*.bvh")
MOST = 0.03  # of each scale
TARGETS = 1000  # of each limb
CLOSE = 1e-4  # of the length: what counts as reached
SEED = 20261123
SOLVERS = {"point": ("auto", "levenberg_marquardt", "ccd", "fabrik"), "place": ("auto", "ccd")}
LIMBS = (
    ("hand", "arm", "UpperArm"),
    ("hand", "arm and collar bone", "Shoulder"),
    ("foot", "leg", "UpperLeg"),
    ("hand", "hips to hand", "hips"),
)


class Limb(NamedTuple):
    """A chain of a figure: what it is, the joint that moves first, and the one that is brought somewhere."""

    what: str
    root: str
    tip: str


def find_limbs(rig: poise.Rig) -> Iterator[Limb]:
    """Arms and legs of both sides, and hands moved from the hips, as far as the figure has them."""
    roles = poise.find_roles(rig).joints
    for side in ("left", "right"):
        for end, what, first in LIMBS:
            root = roles.get(first if first == "hips" else side + first)
            tip = roles.get(side + end.capitalize())
            if root and tip and root != tip:
                yield Limb(what, root, tip)


def scaled(rig: poise.Rig, rng: np.random.Generator) -> poise.Pose:
    """The rest pose, every scale of every joint multiplied by a factor of its own."""
    s = rig.skeleton
    own = np.sqrt((s.B[:, :, :3] ** 2).sum(axis=1))  # what stands there: uniform
    return poise.Pose(s, s.rest_q, scales=own * (1.0 + rng.uniform(0.0, MOST, size=own.shape)))


def random_poses(start: poise.Pose, limb: Limb, count: int, rng: np.random.Generator) -> Floats:
    """Configurations (count, nq) in which the balls of a limb are turned anyhow, its tip included."""
    s = start.skeleton
    q = np.tile(start.q, (count, 1))
    for name in (*s.chain(limb.root, limb.tip), limb.tip):
        if s[name].kind is poise.Kind.BALL:
            q[:, s.q_slice(name)] = rotations.normalise(rng.normal(size=(count, 4)))
    return s.legal(q)[0]


def places(start: poise.Pose, q: Floats, joint: str) -> Floats:
    """The world matrices of a joint (k, 4, 4): local translation . rotation . scale, multiplied from the root down."""
    s, scales = start.skeleton, start.scales
    assert scales is not None
    world = np.tile(np.eye(4), (len(q), 1, 1))
    for row in [s.index(name) for name in (*s.ancestors(joint), joint)]:
        local = np.tile(np.eye(4), (len(q), 1, 1))
        local[:, :3, 3] = s.A[row, :3]
        turn, first = rotations.as_matrix(s.A[row, 3:]), int(s.q_start[row])
        if s.kinds[row] == poise.Kind.FREE:
            local[:, :3, 3] += q[:, first : first + 3] @ turn.T
            first += 3
        if s.kinds[row] in (poise.Kind.BALL, poise.Kind.FREE):
            turn = turn @ rotations.as_matrix(q[:, first : first + 4])
        local[:, :3, :3] = turn * scales[row]
        world = world @ local
    return world


def nearest_rotations(world: Floats) -> Floats:
    """The rotations (k, 3, 3) nearest to world matrices that do not mirror."""
    u, _, vt = np.linalg.svd(world[:, :3, :3])
    return u @ vt


class RequestedProblem(NamedTuple):
    """What came of one limb: distances (k,) as shares of its length, angles (k,), seconds a target, lengths off by."""

    distances: Floats
    angles: Floats
    seconds: float
    off: float


def run(files: list[Path], count: int = TARGETS) -> tuple[list[harness.Row], int]:
    """A row for each kind of limb, goal and solver, over all figures; how many figures there are."""
    found: dict[tuple[str, str, str], list[RequestedProblem]] = {}
    figures = 0
    for number, path in enumerate(files):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rig = poise.load(path)
        limbs = list(find_limbs(rig))
        figures += bool(limbs)
        rng = np.random.default_rng([SEED, number])
        start = scaled(rig, rng)
        for limb in limbs:
            wanted = places(start, random_poses(start, limb, count, rng), limb.tip)
            for goal, solvers in SOLVERS.items():
                for solver in solvers:
                    found.setdefault((limb.what, goal, solver), []).append(
                        _requested(start, limb, wanted, goal, solver)
                    )
    return [_row(*what, each) for what, each in sorted(found.items(), key=lambda item: item[0][:2])], figures


def _requested(start: poise.Pose, limb: Limb, wanted: Floats, goal: str, solver: str) -> RequestedProblem:
    """Solve for the places of world matrices (k, 4, 4), and judge."""
    points, turns = wanted[:, :3, 3], nearest_rotations(wanted)
    requested: Any = poise.Position(limb.tip, points, root=limb.root)
    if goal == "place":
        requested = poise.Place(limb.tip, points, turns, root=limb.root)
    length = float(poise.solve(start, requested, solver=solver).tolerance / CLOSE)  # compiles, too
    result, seconds = harness.quickest(lambda: poise.solve(start, requested, solver=solver, threads=1), 2, 20.0)
    at = places(start, result.pose.q, limb.tip)
    distances = np.linalg.norm(at[:, :3, 3] - points, axis=-1)
    reported = np.abs(result.errors[:, 0] - distances).max() / length
    assert reported < 1e-9, f"the result tells errors that are off by {reported:.2g} of the length"
    apart = np.linalg.norm(nearest_rotations(at) - turns, axis=(1, 2)) if goal == "place" else np.zeros(len(points))
    angles = 2.0 * np.arcsin(np.minimum(apart / np.sqrt(8.0), 1.0))
    return RequestedProblem(distances / length, angles, seconds / len(points), result.problem.plan.length_error)


def _row(what: str, goal: str, solver: str, each: list[RequestedProblem]) -> harness.Row:
    distances, angles = (np.concatenate([one[i] for one in each]) for i in range(2))
    reached = (distances <= CLOSE * (1 + 1e-6)) & (angles <= CLOSE * (1 + 1e-6))
    return {
        "chain": what,
        "goal": goal,
        "method": solver,
        "limbs": len(each),
        "targets": len(distances),
        "lengths off by, most [%]": 100 * max(one.off for one in each),
        "reached [%]": round(100 * float(reached.mean()), 3),
        "worst distance [of the length]": float(distances.max()),
        "a target in a batch, median limb [us]": float(np.median([one.seconds for one in each])) * 1e6,
    }


def main(limit: int | None = None) -> int:
    """Run everything and write the table."""
    folder = harness.data_folder()
    if folder is None:
        print("sheared needs the test data: set POISE_DATA")
        return 1
    files = [path for pattern in FILES for path in sorted(folder.glob(pattern))]
    rows, figures = run(files, limit or TARGETS)
    note = (
        f"{figures} figures of the test data, each joint with three scales of 1 to {1 + MOST}; {limit or TARGETS} "
        f"targets a limb, from random poses; reached: within {CLOSE:g} of the chain's length, and of a radian where a "
        "rotation is asked for, too, by 4 x 4 matrices multiplied one by one; processor time, one thread, the best of "
        "two calls. auto is two_bone for limbs of two bones."
    )
    harness.report("sheared", "Scale that is not uniform", rows, [note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
