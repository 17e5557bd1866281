"""The table of the FABRIK paper, on targets that are stated: iterations and time of each method.

Answers are judged by forward kinematics anew.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import harness
import numpy as np
from numpy.typing import NDArray

import poise
from poise import solvers

Floats = NDArray[np.float64]

BONES, LENGTH = 10, 90.0  # [mm]
TOLERANCE = 1e-3  # [mm]
SWEEPS = 5000
TARGETS, SLOW_TARGETS = 2000, 100
SEED = 11
NEARLY = 1e-3  # [rad] that every joint is bent at the start
PUBLISHED = {  # iterations and ms, mean of 20 runs in Matlab at 2.2 GHz; reachable, unreachable
    "fabrik": ("15.5 / 13.3", "67.6 / 62"),
    "ccd": ("26.3 / 124", "390 / 3,930"),
    "jacobian_transpose": ("1,311 / 12,990", "6,549 / 33,900"),
    "damped_least_squares": ("999 / 10,480", "-"),
    "pseudo_inverse": ("809 / 9,300 (SVD-DLS)", "-"),
}
TEXTBOOK: dict[str, Any] = {"iterations": SWEEPS, "bend": 0.0, "restarts": 0, "clamp": math.inf}
CONTENDERS: dict[str, solvers.Solver] = {
    "FABRIK, plain": poise.FABRIK(iterations=SWEEPS, finish=False, bend=0.0),
    "FABRIK()": poise.FABRIK(),
    "CCD, classic": poise.CCD(iterations=SWEEPS, order="tip-first", bend=0.0, finish=False),
    "CCD()": poise.CCD(),
    "JacobianTranspose, textbook (adaptive)": poise.JacobianTranspose(step="adaptive", **TEXTBOOK),
    "JacobianTranspose()": poise.JacobianTranspose(),
    "DampedLeastSquares, textbook (constant)": poise.DampedLeastSquares(
        damping="constant", max_turn=math.inf, **TEXTBOOK
    ),
    "DampedLeastSquares(damping='constant')": poise.DampedLeastSquares(damping="constant"),
    "DampedLeastSquares()": poise.DampedLeastSquares(),
    "PseudoInverse()": poise.PseudoInverse(),
    "SelectivelyDamped()": poise.SelectivelyDamped(),
    "LevenbergMarquardt()": poise.LevenbergMarquardt(),
}
SLOW = ("jacobian_transpose",)  # and the textbook forms of the Jacobian methods


def chain(count: int, length: float, limits: poise.Limit | None = None, axes: Floats | None = None) -> poise.Skeleton:
    """Build joints along +Y and a fixed tip: balls, or hinges if there are axes."""
    names = [*(f"joint_{i}" for i in range(count)), "tip"]
    kind = poise.Kind.BALL if axes is None else poise.Kind.HINGE
    return poise.Skeleton.build(
        names, range(-1, count), [kind] * count + [poise.Kind.FIXED],
        offsets=[[0.0, length if i else 0.0, 0.0] for i in range(count + 1)],
        axes=None if axes is None else [*axes, [0.0, 0.0, 0.0]], limits=[*[limits] * count, None],
    )  # fmt: skip


def sets() -> dict[str, Floats]:
    """Targets [mm]: 600 mm away, anywhere within the reach, and beyond it."""
    rng = np.random.default_rng(SEED)
    directions = rng.normal(size=(3, TARGETS, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    reach = BONES * LENGTH
    far = [600.0, reach * np.cbrt(rng.random((TARGETS, 1))), rng.uniform(1000, 1200, size=(TARGETS, 1))]
    named = zip(("sphere, 600 mm", "ball, uniform", "unreachable, 1.0 to 1.2 m"), far, directions, strict=True)
    return {name: radius * direction for name, radius, direction in named}


def solved(start: poise.Pose, targets: Floats, solver: solvers.Solver | str, tolerance: float) -> tuple[Any, float]:
    """Solve all targets in one call on one thread; the result and the processor time [s] of the better of two."""

    def call() -> poise.Result:
        return poise.solve(start, poise.Position("tip", targets), solver=solver, tolerance=tolerance, threads=1)

    poise.solve(start, poise.Position("tip", targets[:2]), solver=solver, tolerance=tolerance)  # compiles
    return harness.quickest(call, 2)


def left_of(pose: poise.Pose, targets: Floats) -> Floats:
    """Distances (k,) by forward kinematics."""
    return np.linalg.norm(pose.world["tip"].positions - targets, axis=-1)


def classic(count: int) -> list[harness.Row]:
    """A row per solver and set."""
    skeleton = chain(BONES, LENGTH)
    bent = np.tile([np.cos(NEARLY / 2), 0.0, 0.0, np.sin(NEARLY / 2)], BONES)
    start, rows = poise.Pose(skeleton, bent), []
    for which, points in sets().items():
        for label, solver in CONTENDERS.items():
            slow = solver.name in SLOW or "textbook" in label
            targets = points[: min(count, SLOW_TARGETS) if slow else count]
            result, seconds = solved(start, targets, solver, TOLERANCE)
            left, iterations = left_of(result.pose, targets), np.asarray(result.iterations)
            beyond = np.maximum(np.linalg.norm(targets, axis=-1) - BONES * LENGTH, 0.0)
            published = PUBLISHED.get(solver.name, ("-", "-"))[1 if which.startswith("un") else 0]
            rows.append({
                "targets": which, "solver": label, "n": len(targets),
                "as near as can be [%]": round(100 * float((left <= beyond + TOLERANCE * (1 + 1e-6)).mean()), 2),
                "too far, median [mm]": max(float(np.median(left - beyond)), 0.0) if which.startswith("un") else "-",
                "iterations, mean": float(iterations.mean()), "p99": float(np.percentile(iterations, 99)),
                "us each": 1e6 * seconds / len(targets), "published [iterations / ms]": published,
            })  # fmt: skip
    return rows


def main(count: int | None = None) -> int:
    """Run everything and write the table."""
    note = (
        f"{BONES} bones of {LENGTH:g} mm, every joint bent by {NEARLY:g} rad at the start, within {TOLERANCE:g} mm, at "
        f"most {SWEEPS} iterations for the plain, classic and textbook forms. One call for all targets, one thread, "
        "processor time, results judged. `As near as can be`: for what is unreachable, stretched towards it. "
        "Published: Aristidou and Lasenby 2011, table 1, mean of 20 runs in Matlab on targets that are not stated; not "
        "a target of ours."
    )
    harness.report("fabrik_table", "The table of the FABRIK paper", classic(count or TARGETS), [note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
