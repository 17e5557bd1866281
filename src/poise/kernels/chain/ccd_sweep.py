# pyright: standard
"""CCD sweeps for a position goal, in O(n). They transform points only, no frames.

Moving a joint moves everything between it and the tip as one rigid body, and nothing between it and the base. A sweep
from the tip needs the target in every joint's frame, which does not depend on joints nearer to the tip: the target is
transformed from the base to the tip once, then the tip from joint to joint towards the base. A sweep from the base
transforms the tip towards the base once, then the target towards the tip. Both end with the remaining distance and need
no further forward kinematics. The textbook sweep, with forward kinematics after each joint, is O(n^2).
"""

from __future__ import annotations

from poise.kernels.chain.ccd_steps import step
from poise.kernels.chain.links import carry_up, into_link, out_of_link, out_of_moved
from poise.kernels.compiled import apart
from poise.kernels.values.linear import norm, put_vec, sub, vec_at


@apart
def sweep_from_tip(links, tip, target, hinge, max_turn, x, turns, points):
    """Sweep tip to base; return the remaining distance.

    `points` holds the target in each link's frame.
    """
    kinds, axes, ranges, limits, frames = links
    m = kinds.shape[0]
    carry_up(kinds, axes, frames, target, x, turns, points)
    point = tip
    for k in range(m):
        i = m - 1 - k
        low, high, d = ranges[i, 0], ranges[i, 1], vec_at(points, i)
        # `points` has the target in the joint's frame, before the joint's own rotation.
        point, _ = step(kinds[i], vec_at(axes, i), low, high, limits[i], hinge, max_turn, x, turns, i, point, d)
        point = out_of_link(frames, i, point)
    return norm(sub(target, point))


@apart
def sweep_from_base(links, tip, target, hinge, max_turn, x, turns, points):
    """Sweep base to tip; return the remaining distance.

    `points` holds the tip in each moved frame.
    """
    kinds, axes, ranges, limits, frames = links
    m = kinds.shape[0]
    point = tip
    for k in range(m):
        i = m - 1 - k
        put_vec(points, i, point)
        point = out_of_link(frames, i, out_of_moved(kinds[i], vec_at(axes, i), x, turns, i, point))
    d = target
    for i in range(m):
        d = into_link(frames, i, d)
        low, high, point = ranges[i, 0], ranges[i, 1], vec_at(points, i)
        # The joints towards the tip have not moved yet: `points` has the tip from before the sweep.
        _, d = step(kinds[i], vec_at(axes, i), low, high, limits[i], hinge, max_turn, x, turns, i, point, d)
    return norm(sub(d, tip))
