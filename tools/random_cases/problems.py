"""Random problems: goals of every kind with three targets each, two of them met by poses that are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import poise
from poise import Aim, Direction, Kind, LookAt, Near, Orientation, Pin, Place, Pole, Position
from random_cases.kinematics import Array, length, rotation_of, world
from random_cases.trees import Rng, legal_q, pose_of, skeleton_of, turns

ROWS, KNOWN = 3, 2  # targets, and how many of them a legal pose of the joints that move is known to meet


@dataclass(frozen=True, eq=False)
class RequestedProblem:
    """A problem: its start, goals with ROWS targets, how to solve it; `known` (KNOWN, nq) meets the first targets."""

    start: poise.Pose
    goals: tuple[Any, ...]
    how: dict[str, Any]
    known: Array
    unit: float

    def rows(self, rows: slice | int) -> tuple[Any, ...]:
        """The goals with some of the targets."""
        return tuple(goal.with_target(goal.rows()[rows]) if goal.width else goal for goal in self.goals)

    def targets(self, row: int) -> Any:
        """One target of each goal as a prepared problem takes them."""
        given = [goal.rows()[row] for goal in self.goals if goal.width]
        return given if len(given) > 1 else given[0]


def problem_of(seed: int) -> RequestedProblem | None:
    """The problem of a seed; None where the joints drawn allow no goal."""
    rng = np.random.default_rng(seed)
    unit = float(rng.choice([1.0, 10.0 ** rng.uniform(-6, 6)]))
    s = skeleton_of(rng, unit)
    start = pose_of(rng, s, unit)
    free = bool((s.kinds == Kind.FREE).any() and rng.random() < 0.4)
    how = {"tolerance": 1e-5 * unit, "angle_tolerance": 1e-5, "free_root": free}
    kinds = [_some_goal(rng, s, unit) for _ in range(int(rng.choice([1, 2, 3], p=[0.6, 0.25, 0.15])))]
    moving = _moving(start, tuple(kinds), how)
    if moving is None:
        return None
    known = _moved(rng, s, start.q, legal_q(rng, s, unit, KNOWN), moving, free=free)
    goals = [_aimed(rng, goal, start, known, unit) for goal in kinds]
    if rng.random() < 0.1:
        goals.append(Near(start))
    if rng.random() < 0.05 and all(goal.width for goal in goals):
        goals.append(_pin(rng, s))
        known = known[:0]  # the pin may keep them away
    return RequestedProblem(start, tuple(goals), how, known, unit)


def _moving(start: poise.Pose, goals: tuple[Any, ...], how: dict[str, Any]) -> list[str] | None:
    """Names of the joints that move for these goals, whatever their targets; None where they are refused."""
    try:
        return list(poise.solve(start, goals, solver="levenberg_marquardt", **how).problem.joints)
    except poise.UnsupportedError:
        return None


def _pin(rng: Rng, s: poise.Skeleton) -> Pin:
    return Pin(s.names[rng.integers(len(s))])


def _root(rng: Rng, s: poise.Skeleton, tip: str) -> str | None:
    above = s.ancestors(tip)
    return str(rng.choice(above)) if above and rng.random() < 0.6 else None


def _some_goal(rng: Rng, s: poise.Skeleton, unit: float) -> Any:
    """A goal of a random kind for a random joint, with a target that says nothing yet."""
    tip = s.names[rng.integers(1, len(s))]
    root, weight = _root(rng, s, tip), float(rng.choice([1.0, rng.uniform(0.1, 10)]))
    offset = tuple((unit * rng.normal(size=3)).tolist()) if rng.random() < 0.3 else (0.0, 0.0, 0.0)
    axis = tuple(rng.normal(size=3).tolist())
    zero, turn = unit * np.ones(3), np.array([1.0, 0, 0, 0])
    above = s.ancestors(tip)
    draw = int(rng.choice(7, p=[0.35, 0.2, 0.1, 0.1, 0.1, 0.08, 0.07]))
    if draw == 6 and len(above) > 1:
        return Pole(above[-1], zero, root=above[0], tip=tip, weight=weight)
    return (
        Position(tip, zero, offset=offset, root=root, weight=weight),
        Place(tip, zero, turn, offset=offset, root=root, weight=weight),
        Orientation(tip, turn, root=root, weight=weight),
        Direction(tip, axis, axis=axis, root=root, weight=weight),
        Aim(tip, zero, axis=axis, offset=offset, root=root, weight=weight),
        LookAt(tip, zero, axis=axis, offset=offset, weight=weight),
    )[draw % 6]


def _moved(rng: Rng, s: poise.Skeleton, start: Array, other: Array, moving: list[str], *, free: bool) -> Array:
    """Configurations with the numbers of `other` where joints move, those of the start elsewhere."""
    near = rng.random() < 0.5
    out = np.tile(start, (len(other), 1))
    for name in moving:
        row = s.index(name)
        coupling = s.couplings[row]
        at = int(s.q_start[row if coupling is None else coupling.leader])
        kind = s.kinds[row]
        first = at if kind != Kind.FREE or free else at + 3
        last = at + {Kind.HINGE: 1, Kind.SLIDE: 1, Kind.BALL: 4, Kind.FREE: 7}[Kind(kind)]
        out[:, first:last] = other[:, first:last]
        if near and kind in (Kind.HINGE, Kind.SLIDE):
            out[:, at] = start[at] + 0.1 * (other[:, at] - start[at])  # between two legal values
    return out


def _aimed(rng: Rng, goal: Any, start: poise.Pose, known: Array, unit: float) -> Any:
    """The goal with the targets that the known poses meet, and one somewhere."""
    s = start.skeleton
    linear, place = world(start, known)
    if isinstance(goal, Pole):
        rows = place[:, s.index(goal.joint)]
        return goal.with_target(np.concatenate([rows, rows[:1] + 3 * unit * rng.normal(size=(1, 3))]))
    row = s.index(goal.joint)
    turn = rotation_of(linear[:, row])
    at = place[:, row] + linear[:, row] @ np.array(getattr(goal, "offset", (0.0, 0.0, 0.0)))
    quaternions = np.array([_quaternion(m) for m in turn])
    axis = turn @ np.array(getattr(goal, "axis", (0.0, 0.0, 1.0)))
    far = unit * rng.choice([1.0, 5.0, 1e3]) * rng.normal(size=(1, 3))
    points = np.concatenate([at, at[:1] + far])
    if goal.measures == ("position",):
        return goal.with_target(points)
    if goal.measures == ("rotation",):
        return goal.with_target(np.concatenate([quaternions, turns(rng, 1)]))
    if goal.measures == ("direction",):
        return goal.with_target(np.concatenate([axis, rng.normal(size=(1, 3))]))
    if goal.measures == ("aim",):
        ahead = at + unit * rng.uniform(0.5, 3, size=(len(at), 1)) * axis
        return goal.with_target(np.concatenate([ahead, points[-1:]]))
    rows = np.concatenate([quaternions, turns(rng, 1)])
    return goal.with_target(np.concatenate([points, rows], axis=1))


def _quaternion(m: Array) -> Array:
    """A unit quaternion w x y z of a rotation matrix, by the largest of its four numbers."""
    squares = np.array([np.trace(m), m[0, 0], m[1, 1], m[2, 2]])
    i = int(np.argmax(squares))
    if i == 0:
        q = np.array([1 + squares[0], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
    else:
        a, b, c = [(0, 1, 2), (1, 2, 0), (2, 0, 1)][i - 1]
        q = np.zeros(4)
        q[0], q[1 + a] = m[c, b] - m[b, c], 1 + m[a, a] - m[b, b] - m[c, c]
        q[1 + b], q[1 + c] = m[a, b] + m[b, a], m[a, c] + m[c, a]
    return q / length(np.append(q, 0.0).reshape(1, 5))[0]
