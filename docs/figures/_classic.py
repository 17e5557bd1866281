"""CCD and Jacobian transpose in their classic forms, on the same chain and targets.

Everything that docs/classic.md shows comes from here: what they passed through for many targets (`reaching`), and what
they answered along a path (`following`).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import poise
from figures._rope import rope

NUMBERS = np.ndarray[Any, np.dtype[np.float64]]
BONES = 10
TOLERANCE = 1e-3  # of a bone
LONGEST = 2000  # iterations
TARGETS = 40
NEAR, FAR, BEYOND = 0.2, 0.9, 1.2  # of the reach: between which targets are, and where those beyond are
FRAMES = 240
CLOSE = 1e-3  # of the reach: how near to the best possible counts as having come there

CLASSIC: dict[str, Any] = {
    "CCD": poise.CCD(order="tip-first", bend=0, finish=False, iterations=LONGEST),
    "Jacobian transpose": poise.JacobianTranspose(
        step="adaptive", bend=0, restarts=0, clamp=math.inf, max_turn=math.inf, iterations=LONGEST
    ),
}
OURS: dict[str, Any] = {
    "`CCD()`": poise.CCD(),
    "`JacobianTranspose()`": poise.JacobianTranspose(),
    "`LevenbergMarquardt()`": poise.LevenbergMarquardt(),
}
SOLVERS = CLASSIC | OURS
COLOURS = {"CCD": "#0072b2", "Jacobian transpose": "#d55e00"}
LINES = {"CCD": "-", "Jacobian transpose": "--"}
MARKS = {"CCD": "o", "Jacobian transpose": "s"}


class Reaching(NamedTuple):
    """What a method did with targets, each from the straight chain.

    left   (targets, iterations + 1) distance left beyond the least possible, the least so far [share of the reach]
    turns  (targets, iterations) largest turn of a joint in an iteration [degrees], 0 once it has ended
    """

    left: NUMBERS
    turns: NUMBERS

    def after(self, iterations: int) -> float:
        """The part of the first distance that is left after so many iterations, in the middle of the targets."""
        column = min(iterations, self.left.shape[1] - 1)
        return float(np.median(self.left[:, column] / self.left[:, 0]))

    @property
    def arrivals(self) -> NUMBERS:
        """Iterations until CLOSE to the best possible (targets,); infinite where it never came."""
        there = self.left <= CLOSE
        return np.where(there.any(axis=1), there.argmax(axis=1), np.inf)


class Following(NamedTuple):
    """What a method answered along a path, each from the answer before.

    points      (frames, bones + 1, 2) the chain, seen along z
    turns       (frames - 1,) largest turn of a joint from frame to frame [degrees]
    iterations  (frames,)
    bends       (bones,) how far joints are bent in the last frame [degrees]
    """

    points: NUMBERS
    turns: NUMBERS
    iterations: NUMBERS
    bends: NUMBERS


@cache
def targets(away: float | None = None) -> NUMBERS:
    """Targets (n, 3) in all directions: spread evenly over the reach, or all so far away [share of the reach]."""
    rng = np.random.default_rng(4)
    ways = rng.normal(size=(TARGETS, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    shares = np.cbrt(rng.uniform(NEAR**3, FAR**3, (TARGETS, 1))) if away is None else away
    return BONES * shares * ways


@cache
def reaching(method: str, away: float | None = None) -> Reaching:
    """Follow a method's iterations for all targets."""
    start, solver = rope(BONES), SOLVERS[method]
    left, turns = [], []
    for target in targets(away):
        trace = poise.solve(start, poise.Position("tip", target), solver=solver, tolerance=TOLERANCE, trace=True).trace
        assert trace is not None
        least = max(float(np.linalg.norm(target)) - BONES, 0.0)
        left.append(np.minimum.accumulate(np.maximum(trace.errors - least, 0.0)) / BONES)
        turns.append(_turns(trace.q))
    length = max(len(one) for one in left)
    return Reaching(
        np.array([np.pad(one, (0, length - len(one)), mode="edge") for one in left]),
        np.array([np.pad(one, (0, length - 1 - len(one))) for one in turns]),
    )


def path() -> NUMBERS:
    """A figure of eight in the plane of the picture (FRAMES, 3)."""
    t = np.arange(FRAMES) / FRAMES * 2 * np.pi
    return np.stack([5.5 * np.sin(t), 4.5 + 3.0 * np.sin(2 * t), np.zeros(FRAMES)], axis=-1)


@cache
def following(method: str) -> Following:
    """Follow the path, from the same first pose for every method."""
    solver = SOLVERS[method]
    pose = poise.solve(rope(BONES), poise.Position("tip", path()[0]), solver="levenberg_marquardt").pose
    reach = poise.prepare(pose, poise.Position("tip", path()[0]), solver=solver, tolerance=TOLERANCE)
    q, iterations = pose.q, []
    answers = []
    for target in path():
        result = reach(target, q)
        assert result.reached
        q = np.array(result.q)
        answers.append(q)
        iterations.append(float(result.iterations))
    moved = poise.Pose(pose.skeleton, np.array(answers))
    bends = 2 * np.degrees(np.arccos(np.clip(np.abs(np.array(answers)[-1].reshape(BONES, 4)[:, 0]), 0, 1)))
    return Following(moved.world.positions[..., :2], _turns(moved.q), np.array(iterations), bends)


def _turns(q: NUMBERS) -> NUMBERS:
    """Largest turn of a ball from each row of q (rows, 4 bones) to the next [degrees]."""
    balls = q.reshape(len(q), -1, 4)
    cosines = np.abs((balls[1:] * balls[:-1]).sum(axis=-1))
    return 2 * np.degrees(np.arccos(np.clip(cosines, 0, 1))).max(axis=1)
