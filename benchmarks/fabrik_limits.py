"""A table that nobody publishes: chains of 20 joints with limits, solved by each method, and how well limits hold.

Answers are judged by forward kinematics anew, limits by formulas of this script.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import harness
import numpy as np
from fabrik_table import Floats, chain, left_of, solved

import poise

JOINTS = 20
TARGETS, FEW = 1000, 200
SEED = 11
TOLERANCE = 1e-4 * JOINTS
SLOW = ("fabrik, plain", "anneal around ccd")
SOLVERS: dict[str, Any] = {
    "auto": "auto",
    "levenberg_marquardt": "levenberg_marquardt",
    "ccd": "ccd",
    "fabrik": "fabrik",
    "fabrik, plain": poise.FABRIK(finish=False),
    "damped_least_squares": "damped_least_squares",
    "anneal around ccd": poise.Anneal(),
}
Outside = Callable[[Floats], Floats]
ANGLES = ((-40.0, 25.0), (-20.0, 20.0), (-15.0, 50.0))  # about x, y and z [degrees]


def turning_axes() -> Floats:
    """Hinge axes across the chain, each 50 degrees on."""
    angle = np.arange(JOINTS) * np.radians(50)
    return np.stack([np.cos(angle), np.zeros(JOINTS), np.sin(angle)], axis=-1)


def outside_range(q: Floats) -> Floats:
    """How far hinges (k, joints) are outside -1.2..1.2 [rad]."""
    return np.abs(q) - 1.2


def outside_cone(q: Floats, low: tuple[float, float], high: tuple[float, float], twist: float) -> Floats:
    """How far balls (k, 4 joints) are outside a swing-twist limit about y; swing about z, then about x [degrees].

    Of the swing, as a share of the cone that it takes more than it may; of the twist in radians.
    """
    w, x, y, z = np.moveaxis(q.reshape(len(q), JOINTS, 4), -1, 0)
    turn = 2 * np.arctan2(y, w)
    turn = (turn + np.pi) % (2 * np.pi) - np.pi
    c, s = np.cos(turn / 2), np.sin(turn / 2)
    w, x, z = c * w + s * y, c * x + s * z, c * z - s * x  # q, then back by the twist
    sign = np.where(w < 0, -1.0, 1.0)
    n = np.sqrt(x**2 + z**2)
    k = 2 * np.arctan2(n, np.abs(w)) / np.where(n > 0, n, 1.0) * sign
    swings = np.stack([k * z, k * x], axis=-1)
    ends = np.radians(np.where(swings < 0, -np.array(low), np.array(high)))
    return np.maximum(np.sqrt(((swings / ends) ** 2).sum(axis=-1)) - 1.0, np.abs(turn) - np.radians(twist))


def cone(low: tuple[float, float], high: tuple[float, float], twist: float) -> tuple[poise.Limit, Outside]:
    """Make a limit and what measures how far outside of it a configuration is."""
    swing = ((low[0], high[0]), (low[1], high[1]))
    limit = poise.SwingTwist.degrees((0, 1, 0), swing=swing, twist=(-twist, twist))
    return limit, lambda q: outside_cone(q, low, high, twist)


def outside_box(q: Floats) -> Floats:
    """How far balls (k, 4 joints) are outside ANGLES, taken apart as a turn about z, about y, then about x [rad]."""
    w, x, y, z = np.moveaxis(q.reshape(len(q), JOINTS, 4), -1, 0)
    about = [
        np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
        np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0)),
        np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
    ]
    over = [np.maximum(np.radians(low) - a, a - np.radians(high)) for a, (low, high) in zip(about, ANGLES, strict=True)]
    return np.max(over, axis=0)


def chains() -> dict[str, tuple[poise.Skeleton, Outside]]:
    """Each kind of limit, and what measures how far outside of it a configuration is."""
    box = poise.EulerBox.degrees("ZYX", z=ANGLES[2], y=ANGLES[1], x=ANGLES[0])
    limits: dict[str, tuple[poise.Limit, Outside]] = {
        "balls, round cone of 30, twist 20": cone((-30, -30), (30, 30), 20),
        "balls, cone of four sides, twist 20": cone((-10, -20), (40, 30), 20),
        "balls, angles about x, y, z": (box, outside_box),
    }
    hinges = chain(JOINTS, 1.0, poise.Range(-1.2, 1.2), turning_axes())
    balls = {name: (chain(JOINTS, 1.0, limit), outside) for name, (limit, outside) in limits.items()}
    return {"hinges, 50 deg apart, +-1.2 rad": (hinges, outside_range), **balls}


def legal_poses(skeleton: poise.Skeleton, count: int) -> poise.Pose:
    """Random poses inside the limits."""
    rng = np.random.default_rng(SEED)
    if skeleton.nq == JOINTS:
        return poise.Pose(skeleton, rng.uniform(-1.2, 1.2, size=(count, JOINTS)))
    q = rng.normal(size=(count, JOINTS, 4))
    q = (q / np.linalg.norm(q, axis=-1, keepdims=True)).reshape(count, -1)
    return poise.Pose(skeleton, skeleton.legal(q)[0])


def limited(count: int) -> tuple[list[harness.Row], list[str]]:
    """A row per chain and solver, and what was refused."""
    rows, refused = [], []
    for which, (skeleton, outside) in chains().items():
        every = legal_poses(skeleton, count).world["tip"].positions
        start = poise.Pose(skeleton, skeleton.rest_q)
        for name, solver in SOLVERS.items():
            targets = every[: FEW if name in SLOW else None]
            try:
                result, seconds = solved(start, targets, solver, TOLERANCE)
            except poise.UnsupportedError as error:
                refused.append(f"{which}: {error}")
                continue
            over = outside(result.pose.q).max(axis=-1)
            near = left_of(result.pose, targets) <= TOLERANCE * (1 + 1e-6)
            rows.append({
                "joints": which, "solver": name if name != "auto" else f"auto ({result.solver})", "of": len(targets),
                "solved [%]": round(100 * float(near.mean()), 2),
                "iterations, mean": float(np.mean(result.iterations)), "us each": 1e6 * seconds / len(targets),
                "outside by > 1e-9": int((over > 1e-9).sum()), "worst": max(float(over.max()), 0.0),
            })  # fmt: skip
    return rows, refused


def main(count: int | None = None) -> int:
    """Run everything and write the table."""
    rows, refused = limited(count or TARGETS)
    note = (
        f"{JOINTS} joints one long, straight at the start; targets are the tips of random legal poses; within 1e-4 of "
        "the length, default options (plain: `FABRIK(finish=False)`). One call for all targets, one thread, "
        "processor time. Outside: results in which any joint is, by formulas of this script, and by "
        "how much at most [rad; a share of a cone]."
    )
    harness.report("fabrik_limits", "Chains of 20 joints with limits", rows, [note, *dict.fromkeys(refused)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
