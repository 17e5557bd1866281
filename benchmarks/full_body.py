"""A whole body: both hands, both feet and the head of the sample humanoid to places, with a free root.

Targets are places in random poses, so that every frame can be met; from the rest pose, to 1e-6 m and 1e-6 rad.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import harness
import numpy as np
from numpy.typing import NDArray

import poise
from poise import samples
from poise.maths import arrays as machine
from poise.maths import rotations

Floats = NDArray[np.float64]
LIMBS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")
FRAMES = 2000
SINGLES = 300  # frames that are solved one at a time
ROUNDS = 7
SPREAD = 0.25  # [rad] standard deviation of each number of a joint's rotation vector
METRES, RADIANS = 1e-6, 1e-6  # what counts as reached
REQUESTED = {8: 15.0, 4: 30.0}  # microseconds a frame, by lanes
SEED = 5


def skeletons() -> dict[str, poise.Skeleton]:
    """The humanoid without limits, and with the ranges of its knees and elbows."""
    limited = poise.load(samples.path("humanoid.bvh")).skeleton
    return {"no limits": limited.with_limits({"*": None}), "knees and elbows limited": limited}


def random_poses(skeleton: poise.Skeleton, count: int) -> poise.Pose:
    """Every joint turned from rest by a random rotation vector; those with a range by a random angle inside it."""
    rng = np.random.default_rng(SEED)
    q = np.tile(skeleton.rest_q, (count, 1))
    for row, (kind, limit) in enumerate(zip(skeleton.kinds, skeleton.limits, strict=True)):
        if kind < poise.Kind.BALL:
            continue
        start = int(skeleton.q_start[row]) + (3 if kind == poise.Kind.FREE else 0)
        turn = rng.normal(scale=SPREAD, size=(count, 3))
        if limit is not None and limit.axis is not None:
            angle = np.clip(np.abs(turn[:, 0]), limit.low, limit.high)
            turn = angle[:, None] * np.array(limit.axis)
        angle = np.linalg.norm(turn, axis=-1)
        by = rotations.about(turn / np.maximum(angle, 1e-300)[:, None], angle)
        where = slice(start, start + 4)
        q[:, where] = rotations.multiply(q[:, where], by)
    return poise.Pose(skeleton, q)


def goals_of(poses: poise.Pose) -> list[poise.Place]:
    """The places of hands, feet and head in these poses."""
    world, root = poses.world, poses.skeleton.names[0]
    return [poise.Place(limb, world[limb].positions, world[limb].rotations, root=root) for limb in LIMBS]


def how(skeleton: poise.Skeleton) -> dict[str, Any]:
    """What counts as reached, in the file's units, and that natural poses are not looked for."""
    return {"natural": False, **tolerances(skeleton)}


def tolerances(skeleton: poise.Skeleton) -> dict[str, float]:
    """What counts as reached, in the file's units."""
    return {"tolerance": METRES / (skeleton.metres_per_unit or 1.0), "angle_tolerance": RADIANS}


def solved(poses: poise.Pose, wanted: poise.Pose) -> float:
    """Share of poses whose limbs are where they are wanted, by forward kinematics, limits kept [%]."""
    allowed = tolerances(poses.skeleton)
    good = np.ones(poses.shape, dtype=bool)
    for limb in LIMBS:
        have, want = poses.world[limb], wanted.world[limb]
        off = np.linalg.norm(have.positions - want.positions, axis=-1)
        left = rotations.multiply(want.rotations, rotations.inverse(have.rotations))
        angle = 2 * np.arctan2(np.linalg.norm(left[..., 1:], axis=-1), np.abs(left[..., 0]))
        good &= (off <= allowed["tolerance"]) & (angle <= allowed["angle_tolerance"])
    kept = np.abs(poses.skeleton.legal(poses.q)[0] - poses.q).max(axis=-1) <= 1e-9
    return 100 * float(np.mean(good & kept))


@contextmanager
def lanes(width: int) -> Iterator[None]:
    """Let the kernels solve so many problems side by side."""
    before = os.environ.get("POISE_LANES")
    os.environ["POISE_LANES"] = str(width)
    machine.find_simd_width.cache_clear()
    try:
        yield
    finally:
        os.environ.pop("POISE_LANES")
        if before is not None:
            os.environ["POISE_LANES"] = before
        machine.find_simd_width.cache_clear()


def in_a_batch(skeleton: poise.Skeleton, frames: int, rounds: int) -> harness.Row:
    """Solve all frames in one call."""
    wanted, start = random_poses(skeleton, frames), poise.Pose(skeleton, skeleton.rest_q)
    goals, options = goals_of(wanted), how(skeleton)
    times = []
    for i in range(rounds + 1):
        fresh = start.with_q(start.q)  # nothing is remembered for it: packing counts
        found, seconds = harness.timed(
            lambda fresh=fresh: poise.solve(fresh, goals, free_root=True, threads=1, **options)
        )
        times += [seconds / frames] if i else []
    median, slow = harness.spread(times, 1e-6)
    width = machine.find_simd_width()
    return {
        "way": f"batch of {frames}, {width} lanes", "median [us]": median, "p99 [us]": slow,
        "asked [us]": REQUESTED[width],
        "solved [%]": solved(poise.Pose(skeleton, found.q), wanted),
        "iterations": float(found.iterations.mean()),
    }  # fmt: skip


def one_by_one(skeleton: poise.Skeleton, frames: int) -> harness.Row:
    """Solve frame after frame with a prepared problem, always from the rest pose."""
    wanted, start = random_poses(skeleton, frames), poise.Pose(skeleton, skeleton.rest_q)
    goals = goals_of(wanted)
    reach = poise.prepare(start, goals_of(wanted[0]), free_root=True, **how(skeleton))
    given = [[(goal.position[i], goal.rotation[i]) for goal in goals] for i in range(frames)]
    reach(given[0])
    answers, times = zip(*(harness.timed(lambda one=one: reach(one)) for one in given), strict=True)
    median, slow = harness.spread(times, 1e-6)
    return {
        "way": "one at a time, prepared", "median [us]": median, "p99 [us]": slow, "asked [us]": "",
        "solved [%]": solved(poise.Pose(skeleton, np.stack([answer.q for answer in answers])), wanted),
        "iterations": float(np.mean([answer.iterations for answer in answers])),
    }  # fmt: skip


def dofs(skeleton: poise.Skeleton) -> tuple[int, int]:
    """Degrees of freedom of the skeleton, and how many of them move for the goals."""
    free = int(np.sum(skeleton.kinds == poise.Kind.FREE)) * 6 + int(np.sum(skeleton.kinds == poise.Kind.BALL)) * 3
    start = poise.Pose(skeleton, skeleton.rest_q)
    problem = poise.prepare(start, goals_of(start), free_root=True).problem
    return free, len(problem.plan.layout.dofs)


def run(frames: int, singles: int, rounds: int) -> list[harness.Row]:
    """Measure every way; the rows of the table."""
    rows: list[harness.Row] = []
    widths = [width for width in (8, 4) if width <= machine.find_simd_width()]
    for name, skeleton in skeletons().items():
        for width in widths:
            with lanes(width):
                rows.append({"humanoid": name, **in_a_batch(skeleton, frames, rounds)})
        rows.append({"humanoid": name, **one_by_one(skeleton, singles)})
    return rows


def main(frames: int = FRAMES, singles: int = SINGLES, rounds: int = ROUNDS) -> int:
    """Run everything and write the table."""
    free, moving = dofs(skeletons()["no limits"])
    note = (
        f"{free} degrees of freedom, of which {moving} move for the five places; 30 numbers to meet, to {METRES:g} m "
        f"and {RADIANS:g} rad, from the rest pose. Times are of the public call over its frames, packing and judging "
        f"included, one thread, natural=False; of batches the median over {rounds} calls. Targets: every joint turned "
        f"by a rotation vector whose numbers have a standard deviation of {SPREAD} rad, those with a range inside it. "
        "4 lanes stand for AVX2. Solved and limits are judged by forward kinematics of the benchmark's own."
    )
    harness.report("full_body", "A whole body with five goals", run(frames, singles, rounds), [note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
