"""How joints go from one configuration towards another, with arrays: the oracle of kernels/speed_limited_motion.py."""

from __future__ import annotations

import numpy as np

from poise.maths import rotations
from poise.model.limit_bounds import clamp_angles
from poise.model.skeleton import Kind

TURN = 2 * np.pi


def left_of(distance, seconds, speed, half_life):
    """What is left of distances after so many seconds; a half-life of 0 and an infinite speed are no bounds."""
    with np.errstate(over="ignore"):  # any time is endless against a half-life, or a pace, that is next to nothing
        corner = speed * half_life / np.log(2) if half_life else np.zeros_like(speed)
        bounded = np.isfinite(speed)
        pace = np.where(bounded, speed, 1.0)
        straight = np.where(bounded, np.clip((distance - np.where(bounded, corner, 0.0)) / pace, 0.0, seconds), 0.0)
        rest = seconds - straight
        if half_life:
            return (distance - pace * straight) * np.exp2(-rest / half_life)
    return np.where(rest > 0, 0.0, distance - pace * straight)


def rotation_angle(a, b):
    """The angle [rad] between rotations (..., 4), 0 to pi."""
    chord = rotations.multiply(b, rotations.inverse(a))
    return 2 * np.arctan2(np.sqrt((chord[..., 1:] ** 2).sum(axis=-1)), np.abs(chord[..., 0]))


def approached(skeleton, q, goal, seconds, half_life, speeds):
    """The legal configuration (nq,) so many seconds on the way from q to goal, with a speed for each joint (n,)."""

    def done(distance, speed):
        is_there = distance == 0
        left = left_of(distance, seconds, speed, half_life)
        return np.where(is_there, 1.0, 1.0 - left / np.where(is_there, 1.0, distance))

    out, kinds = goal.copy(), skeleton.kinds
    own = np.array([coupling is None for coupling in skeleton.couplings], dtype=bool)
    single = np.flatnonzero(((kinds == Kind.HINGE) | (kinds == Kind.SLIDE)) & own)
    if len(single):
        out[skeleton.q_start[single]] = _along(skeleton, single, q, goal, lambda way: done(way, speeds[single]))
    for row in np.flatnonzero(kinds == Kind.FREE):
        columns = skeleton.q_start[row] + np.arange(3)
        way = goal[columns] - q[columns]
        share = done(np.sqrt((way**2).sum())[None], speeds[row][None])[0]
        out[columns] = goal[columns] if share >= 1 else q[columns] + share * way
    hinges, turning = skeleton.ball_hinges, np.flatnonzero(kinds >= Kind.BALL)
    is_free = np.array([row not in set(hinges.joint_rows) for row in turning.tolist()], dtype=bool)
    columns = skeleton.quaternion_columns[is_free]
    if len(columns):
        a, b = q[columns], goal[columns]
        share = done(rotation_angle(a, b), speeds[turning[is_free]])
        out[columns] = np.where((share >= 1)[:, None], b, rotations.slerp(a, b, share))
    if hinges.joint_rows:
        a, b = (
            clamp_angles(rotations.twist_angle(value[hinges.columns], hinges.axes), hinges.low, hinges.high)
            for value in (q, goal)
        )
        share = done(np.abs(b - a), speeds[list(hinges.joint_rows)])
        turned = rotations.about(hinges.axes, a + share * (b - a))
        out[hinges.columns] = np.where((share >= 1)[:, None], goal[hinges.columns], turned)
    return skeleton.legal(out)[0]


def _along(skeleton, rows, q, goal, done):
    """Hinges and slides; a hinge that leads no other takes the shorter way round where its range allows."""
    leaders = {coupling.leader for coupling in skeleton.couplings if coupling}
    wraps = np.array([skeleton.kinds[row] == Kind.HINGE and row not in leaders for row in rows.tolist()], dtype=bool)
    columns = skeleton.q_start[rows]
    low, high = skeleton.value_ranges[columns].T
    a, b = q[columns], goal[columns]
    near = b + TURN * np.round((a - b) / TURN)
    b = np.where(wraps & (near >= low) & (near <= high), near, b)
    share = done(np.abs(b - a))
    return np.where(share >= 1, b, a + share * (b - a))
