"""The table of the FABRIK paper, on targets that are stated: iterations and time of each method.

Answers are judged by forward kinematics anew.
"""

from __future__ import annotations

import dataclasses
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
SLOW = ("jacobian_transpose", "damped_least_squares", "pseudo_inverse", "selectively_damped")


def value_of(name: str, **options: Any) -> solvers.Solver:
    """Make a solver with those of the options that it has."""
    known = {field.name for field in dataclasses.fields(type(solvers.named(name)))}  # pyright: ignore[reportArgumentType]
    return solvers.named(name, **{option: value for option, value in options.items() if option in known})


def contenders() -> dict[str, tuple[str, solvers.Solver]]:
    """Label, name and value of each solver that exists."""
    plain: dict[str, Any] = {"iterations": SWEEPS, "finish": False, "bend": 0.0, "restarts": 0}
    found = {
        "FABRIK, plain": ("fabrik", value_of("fabrik", **plain)),
        "FABRIK()": ("fabrik", value_of("fabrik")),
        "CCD, classic": ("ccd", value_of("ccd", order="tip-first", **plain)),
        "CCD()": ("ccd", value_of("ccd")),
        "LevenbergMarquardt()": ("levenberg_marquardt", value_of("levenberg_marquardt")),
    }
    for name in SLOW:
        if name in solvers.names():
            found[name] = (name, value_of(name, iterations=SWEEPS))
    return found


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
    """Solve all targets in one call on one thread; the result and the seconds of the better of two calls."""

    def call() -> poise.Result:
        return poise.solve(start, poise.Position("tip", targets), solver=solver, tolerance=tolerance, threads=1)

    poise.solve(start, poise.Position("tip", targets[:2]), solver=solver, tolerance=tolerance)  # compiles
    result, seconds = harness.timed(call)
    return result, min(seconds, harness.timed(call)[1]) if seconds < 10 else seconds


def left_of(pose: poise.Pose, targets: Floats) -> Floats:
    """Distances (k,) by forward kinematics."""
    return np.linalg.norm(pose.world["tip"].positions - targets, axis=-1)


def classic(count: int) -> list[harness.Row]:
    """A row per solver and set."""
    skeleton = chain(BONES, LENGTH)
    bent = np.tile([np.cos(NEARLY / 2), 0.0, 0.0, np.sin(NEARLY / 2)], BONES)
    start, rows = poise.Pose(skeleton, bent), []
    for which, points in sets().items():
        for label, (name, solver) in contenders().items():
            targets = points[: min(count, SLOW_TARGETS) if name in SLOW else count]
            result, seconds = solved(start, targets, solver, TOLERANCE)
            left, iterations = left_of(result.pose, targets), np.asarray(result.iterations)
            beyond = np.maximum(np.linalg.norm(targets, axis=-1) - BONES * LENGTH, 0.0)
            published = PUBLISHED.get(name, ("-", "-"))[1 if which.startswith("un") else 0]
            rows.append({
                "targets": which, "solver": label, "n": len(targets),
                "as near as can be [%]": round(100 * float((left <= beyond + TOLERANCE * (1 + 1e-6)).mean()), 2),
                "iterations, mean": float(iterations.mean()), "p99": float(np.percentile(iterations, 99)),
                "us each": 1e6 * seconds / len(targets), "published [iterations / ms]": published,
            })  # fmt: skip
    return rows


def main(count: int | None = None) -> int:
    """Run everything and write the table."""
    missing = [name for name in SLOW if name not in solvers.names()]
    note = (
        f"{BONES} bones of {LENGTH:g} mm, every joint bent by {NEARLY:g} rad at the start, within {TOLERANCE:g} mm, at "
        f"most {SWEEPS} iterations for the plain forms. One call for all targets, one thread, results judged. "
        "`As near as can be`: for what is unreachable, stretched towards it. Published: Aristidou and Lasenby 2011, "
        "table 1, mean of 20 runs in Matlab on targets that are not stated; not a target of ours."
    )
    notes = [note, *([f"Not here: {', '.join(missing)}."] if missing else [])]
    harness.report("fabrik_table", "The table of the FABRIK paper", classic(count or TARGETS), notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
