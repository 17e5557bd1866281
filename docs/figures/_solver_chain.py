"""Shared parts of the solver figures: chains, and poses as points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import poise

PLAIN: dict[str, Any] = {
    "bend": 0,
    "restarts": 0,
    "clamp": math.inf,
    "max_turn": math.inf,
}  # the textbook's Jacobian methods
NEARLY_STRETCHED = [5.95, 8.0, 0.0]  # 99.7 % of the reach of ten bones
NUMBERS = np.ndarray[Any, np.dtype[np.float64]]


def straight(bones: int, kind: poise.Kind = poise.Kind.BALL, limit: poise.Range | None = None) -> poise.Pose:
    """A chain of bones of length 1, straight up; hinges turn about z."""
    skeleton = poise.Skeleton.build(
        [*(f"bone_{i}" for i in range(bones)), "tip"],
        range(-1, bones),
        [kind] * bones + [poise.Kind.FIXED],
        offsets=[[0, 0, 0], *[[0, 1, 0]] * bones],
        axes=[[0, 0, 1]] * (bones + 1),
        limits=[limit] * bones + [None],
    )
    return poise.Pose(skeleton, skeleton.rest_q)


def solved(start: poise.Pose, target: Any, solver: Any, tolerance: float = 1e-9) -> poise.Result:
    """A solve for the tip, with its trace."""
    return poise.solve(start, poise.Position("tip", target), solver=solver, tolerance=tolerance, trace=True)


def poses(result: poise.Result) -> NUMBERS:
    """The chain before each iteration and at the end (rows, bones + 1, 2), seen along z."""
    assert result.trace is not None
    return poise.Pose(result.problem.skeleton, result.trace.q).world.positions[..., :2]


def errors(result: poise.Result) -> NUMBERS:
    """The error at the start and after each iteration."""
    assert result.trace is not None
    return result.trace.errors


def turns(result: poise.Result) -> NUMBERS:
    """The largest turn of a hinge in each iteration [rad]."""
    assert result.trace is not None
    return np.abs(np.diff(result.trace.q, axis=0)).max(axis=1)
