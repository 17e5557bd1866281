"""How far configurations leave their hard limits, joint by joint with arrays: the oracle of the judge's kernel."""

from __future__ import annotations

import numpy as np

from poise.model.limit_bounds import _clamp_hinges, clamp_rotations, measure_rotation_excess


def violation(skeleton, q):
    """Largest amount [rad, file units] by which any configuration of q (..., nq) leaves its hard limits."""
    ranges = skeleton.value_ranges
    worst = float(np.maximum(ranges[:, 0] - q, q - ranges[:, 1]).max(initial=0.0))
    hinges = skeleton.ball_hinges
    if hinges.joint_rows:
        worst = max(worst, float(_clamp_hinges(hinges, q[..., hinges.columns])[1].max(initial=0.0)))
    for _, columns, row in zip(*skeleton.ball_limits, strict=True):
        turns = q[..., columns]
        worst = max(worst, float(np.max(measure_rotation_excess(turns, clamp_rotations(row, turns)), initial=0.0)))
    return worst
