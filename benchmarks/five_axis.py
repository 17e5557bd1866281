"""A five-axis arm with ranges (the arm of a well-known CCD demo): hinges in closed form against projected ones.

A second table asks for the tip's y axis to point somewhere, too: all five joints have to agree then.

Each target is the tip of a random configuration inside the ranges, so that all of them can be reached.
"""

from __future__ import annotations

import sys
from typing import Any

import harness
import numpy as np
from numpy.typing import NDArray

import poise
from poise import rotations

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
SOLVERS = {
    "exact": poise.CCD(iterations=SWEEPS),
    "exact, no restarts": poise.CCD(iterations=SWEEPS, restarts=0),
    "project": poise.CCD(iterations=SWEEPS, hinge="project"),
    "project, no restarts": poise.CCD(iterations=SWEEPS, hinge="project", restarts=0),
    "exact, no finish": poise.CCD(iterations=SWEEPS, finish=False),
    "exact, no finish, no restarts": poise.CCD(iterations=SWEEPS, finish=False, restarts=0),
    "project, classic form": poise.CCD(
        iterations=SWEEPS, hinge="project", restarts=0, order="tip-first", bend=0, finish=False
    ),
}
POINTING = {
    "CCD": poise.CCD(iterations=SWEEPS),
    "CCD, 1,000 iterations, 100 restarts": poise.CCD(iterations=10 * SWEEPS, restarts=100),
    "CCD, no finish": poise.CCD(iterations=SWEEPS, finish=False),
    "levenberg_marquardt": poise.LevenbergMarquardt(),
}
ANGLE = 1e-3  # [rad] allowed of the direction
_AXIS = np.array([0.0, 1.0, 0.0])


def arm() -> poise.Skeleton:
    """Build the arm: five hinges with symmetric ranges and a fixed tip."""
    names = ["base", "shoulder", "elbow", "wrist", "turn", "tip"]
    kinds = [poise.Kind.HINGE] * 5 + [poise.Kind.FIXED]
    limits: list[Any] = [poise.Range.degrees(-angle, angle) for angle in _DEGREES]
    return poise.Skeleton.build(names, range(-1, 5), kinds, offsets=_OFFSETS, axes=_AXES, limits=[*limits, None])


def poses(skeleton: poise.Skeleton, count: int) -> poise.Pose:
    """Return configurations spread evenly over the ranges; the same every time."""
    half = np.radians(_DEGREES)
    return poise.Pose(skeleton, np.random.default_rng(SEED).uniform(-half, half, size=(count, 5)))


def targets(skeleton: poise.Skeleton, count: int) -> NDArray[np.float64]:
    """Return the tips (count, 3) of those configurations."""
    return poses(skeleton, count).world["tip"].positions


def run(count: int = TARGETS) -> list[harness.Row]:
    """Solve all targets from zero with each solver; one row each, errors and ranges judged here."""
    skeleton = arm()
    start = poise.Pose(skeleton, np.zeros(5))
    wanted = targets(skeleton, count)
    goal = poise.Position("tip", wanted, root="base")
    half = np.radians(_DEGREES)
    rows = []
    for label, solver in SOLVERS.items():
        runs = [
            harness.timed(lambda s=solver: poise.solve(start, goal, solver=s, tolerance=TOLERANCE)) for _ in range(3)
        ]
        result, seconds = runs[0][0], min(seconds for _, seconds in runs)
        q = result.pose.q
        errors = np.linalg.norm(poise.Pose(skeleton, q).world["tip"].positions - wanted, axis=-1)
        rows.append({
            "hinge": label,
            "reached [%]": round(100 * float((errors <= TOLERANCE * (1 + 1e-6)).mean()), 1),
            "worst range violation [rad]": float(np.maximum(np.abs(q) - half, 0.0).max()),
            "sweeps, mean": float(np.mean(result.iterations)),
            "in a batch [us]": seconds / count * 1e6,
        })  # fmt: skip
    return rows


def point(count: int = TARGETS) -> list[harness.Row]:
    """Solve for tips and where their y axes point; one row each, errors and ranges judged here."""
    skeleton, half = arm(), np.radians(_DEGREES)
    start, wanted = poise.Pose(skeleton, np.zeros(5)), poses(skeleton, count).world["tip"]
    ways = rotations.rotate(wanted.rotations, _AXIS)
    goals = [
        poise.Position("tip", wanted.positions, root="base"),
        poise.Direction("tip", ways, axis=_AXIS, root="base"),
    ]
    rows = []
    for label, solver in POINTING.items():

        def solve(s: Any = solver) -> poise.Result:
            return poise.solve(start, goals, solver=s, tolerance=TOLERANCE, angle_tolerance=ANGLE)

        runs = [harness.timed(solve) for _ in range(3)]
        q = runs[0][0].pose.q
        tip = poise.Pose(skeleton, q).world["tip"]
        errors = np.linalg.norm(tip.positions - wanted.positions, axis=-1)
        across = np.linalg.norm(rotations.rotate(tip.rotations, _AXIS) - ways, axis=-1)
        met = (errors <= TOLERANCE * (1 + 1e-6)) & (2 * np.arcsin(across / 2) <= ANGLE * (1 + 1e-6))
        rows.append({
            "solver": label, "reached [%]": round(100 * float(met.mean()), 1),
            "worst range violation [rad]": float(np.maximum(np.abs(q) - half, 0.0).max()),
            "iterations, mean": float(np.mean(runs[0][0].iterations)),
            "in a batch [us]": min(seconds for _, seconds in runs) / count * 1e6,
        })  # fmt: skip
    return rows


def main(limit: int | None = None) -> int:
    """Run everything and write the tables."""
    rows = run(limit or TARGETS)
    note = (
        f"{limit or TARGETS} reachable targets, start all zero, at most {SWEEPS} sweeps, tolerance {TOLERANCE}; "
        "times are the best of three."
    )
    harness.report("five_axis", "Five-axis arm with ranges", rows, [note])
    note = f"The same targets, and the direction of the tip's y axis within {ANGLE} rad; times are the best of three."
    harness.report(
        "five_axis_pointing", "Five-axis arm with ranges: position and direction", point(limit or TARGETS), [note]
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
