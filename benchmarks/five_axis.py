"""A five-axis arm with ranges (the arm of a well-known CCD demo): hinges in closed form against projected ones.

Each target is the tip of a random configuration inside the ranges, so that all of them can be reached.
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
SOLVERS = {
    "exact": poise.CCD(iterations=SWEEPS),
    "exact, no restarts": poise.CCD(iterations=SWEEPS, restarts=0),
    "project": poise.CCD(iterations=SWEEPS, hinge="project"),
    "project, no restarts": poise.CCD(iterations=SWEEPS, hinge="project", restarts=0),
    "project, classic form": poise.CCD(iterations=SWEEPS, hinge="project", restarts=0, order="tip-first", bend=0),
}


def arm() -> poise.Skeleton:
    """Build the arm: five hinges with symmetric ranges and a fixed tip."""
    names = ["base", "shoulder", "elbow", "wrist", "turn", "tip"]
    kinds = [poise.Kind.HINGE] * 5 + [poise.Kind.FIXED]
    limits: list[Any] = [poise.Range.degrees(-angle, angle) for angle in _DEGREES]
    return poise.Skeleton.build(names, range(-1, 5), kinds, offsets=_OFFSETS, axes=_AXES, limits=[*limits, None])


def targets(skeleton: poise.Skeleton, count: int) -> NDArray[np.float64]:
    """Return tips (count, 3) of configurations spread evenly over the ranges; the same every time."""
    half = np.radians(_DEGREES)
    q = np.random.default_rng(SEED).uniform(-half, half, size=(count, 5))
    return poise.Pose(skeleton, q).world["tip"].positions


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


def main(limit: int | None = None) -> int:
    """Run everything and write the table."""
    rows = run(limit or TARGETS)
    note = (
        f"{limit or TARGETS} reachable targets, start all zero, at most {SWEEPS} sweeps, tolerance {TOLERANCE}; "
        "times are the best of three."
    )
    harness.report("five_axis", "Five-axis arm with ranges", rows, [note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
