"""A five-axis arm with ranges (the arm of a well-known CCD demo): closed-form against projected hinges, restarts.

Each target is the tip of a random configuration inside the ranges, so that all of them can be reached: its position, or
its position and the direction of its y axis, which five hinges can just about meet.
"""

from __future__ import annotations

import sys
from typing import Any

import harness
import numpy as np
from numpy.typing import NDArray

import poise

TARGETS = 1000
SWEEPS = 100
TOLERANCE = 0.08
SEED = 20240229

_OFFSETS = [
    (0.0, 11.52001, 0.0),
    (-6.55, 4.6, 0.0),
    (1.247041, 32.02634, -0.0739485),
    (2.984276, 30.01859, 0.0),
    (4.333822, 4.200262, 0.0),
    (8.3, 1.0, 0.0),
]
_AXES = [(0, 1, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 0)]
_DEGREES = (180.0, 90.0, 150.0, 130.0, 180.0)
ANGLE_TOLERANCE = 1e-3
AXIS = (0.0, 1.0, 0.0)
SOLVERS = {
    "ccd": poise.CCD(iterations=SWEEPS),
    "ccd, no restarts": poise.CCD(iterations=SWEEPS, restarts=0),
    "ccd, no finish": poise.CCD(iterations=SWEEPS, finish=False),
    "ccd, project": poise.CCD(iterations=SWEEPS, hinge="project"),
    "ccd, project, classic form": poise.CCD(
        iterations=SWEEPS, hinge="project", restarts=0, order="tip-first", bend=0, finish=False
    ),
    "anneal around ccd": poise.Anneal(solver=poise.CCD(iterations=SWEEPS)),
    "anneal around ccd, no finish, no restarts": poise.Anneal(
        solver=poise.CCD(iterations=SWEEPS, finish=False, restarts=0)
    ),
    "auto": "auto",
}
POINTING = {
    "ccd": poise.CCD(iterations=SWEEPS),
    "ccd, no restarts": poise.CCD(iterations=SWEEPS, restarts=0),
    "ccd, no finish": poise.CCD(iterations=SWEEPS, finish=False),
    "anneal around ccd": poise.Anneal(solver=poise.CCD(iterations=SWEEPS)),
    "anneal around levenberg_marquardt, no restarts": poise.Anneal(solver=poise.LevenbergMarquardt(restarts=0)),
    "auto": "auto",
}


def arm() -> poise.Skeleton:
    """Build the arm: five hinges with symmetric ranges and a fixed tip."""
    names = ["base", "shoulder", "elbow", "wrist", "turn", "tip"]
    kinds = [poise.Kind.HINGE] * 5 + [poise.Kind.FIXED]
    limits: list[Any] = [poise.Range.degrees(-angle, angle) for angle in _DEGREES]
    return poise.Skeleton.build(names, range(-1, 5), kinds, offsets=_OFFSETS, axes=_AXES, limits=[*limits, None])


def targets(skeleton: poise.Skeleton, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return positions and directions (count, 3) of tips spread evenly over the ranges; the same every time."""
    half = np.radians(_DEGREES)
    q = np.random.default_rng(SEED).uniform(-half, half, size=(count, 5))
    return _tips(skeleton, q)


def _tips(skeleton: poise.Skeleton, q: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    tip = poise.Pose(skeleton, q).world["tip"]
    return tip.positions, tip.affine[..., :3] @ np.array(AXIS)


def run(count: int = TARGETS) -> list[harness.Row]:
    """Solve all targets from zero with each solver; one row each, errors and ranges judged here."""
    skeleton = arm()
    positions, directions = targets(skeleton, count)
    position = poise.Position("tip", positions, root="base")
    direction = poise.Direction("tip", directions, axis=AXIS, root="base")
    rows = [_row(skeleton, "position", label, solver, [position]) for label, solver in SOLVERS.items()]
    both = "position and direction"
    return rows + [_row(skeleton, both, label, solver, [position, direction]) for label, solver in POINTING.items()]


def _row(skeleton: poise.Skeleton, goal: str, label: str, solver: Any, goals: list[Any]) -> harness.Row:
    """Time a solver and judge what it found."""
    start = poise.Pose(skeleton, np.zeros(5))
    tolerances = {"tolerance": TOLERANCE, "angle_tolerance": ANGLE_TOLERANCE}
    result, seconds = harness.quickest(  # the first compiles, or loads the compiled kernels
        lambda: poise.solve(start, goals, solver=solver, threads=1, **tolerances), 4, 60.0
    )
    q, half = result.pose.q, np.radians(_DEGREES)
    at, pointing = _tips(skeleton, q)
    reached = np.linalg.norm(at - goals[0].target, axis=-1) <= TOLERANCE * (1 + 1e-6)
    if len(goals) > 1:
        off = 2 * np.arcsin(np.minimum(np.linalg.norm(pointing - goals[1].direction, axis=-1) / 2, 1.0))
        reached &= off <= ANGLE_TOLERANCE * (1 + 1e-6)
    return {
        "goal": goal,
        "method": label,
        "reached [%]": round(100 * float(reached.mean()), 1),
        "worst range violation [rad]": float(np.maximum(np.abs(q) - half, 0.0).max()),
        "iterations, mean": float(np.mean(result.iterations)),
        "in a batch [us]": seconds / len(q) * 1e6,
    }


def main(limit: int | None = None) -> int:
    """Run everything and write the table."""
    rows = run(limit or TARGETS)
    note = (
        f"{limit or TARGETS} reachable targets, start all zero, ccd at most {SWEEPS} sweeps an attempt, tolerance "
        f"{TOLERANCE} and {ANGLE_TOLERANCE} rad; processor time, one thread, the best of four calls. anneal: "
        "iterations of all attempts."
    )
    harness.report("five_axis", "Five-axis arm with ranges", rows, [note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
