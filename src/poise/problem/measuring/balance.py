"""Error and Jacobian of the centre of mass of a Balance.

The error is the offset of the centre of mass from the area between the supports.

c is the centre of mass and s_i are the support points, shrunk towards their mean; both are projected along `up`. For c
outside their hull the nearest point of the hull is n = sum l_i s_i, with shares l_i of two corners. The residual is
e = n - c, and 0 inside. For constant shares e decreases by dc - sum l_i ds_i; this is exact to first order, because n
moves along its edge, perpendicular to e. A joint rotates all mass below it: dc = m / M (v + w x (b - p)), where b is
the centre of the mass m below it, and v and w are the velocities of any point p below it (a column of its Jacobian).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from poise.maths.arrays import Bools, Floats
from poise.maths.remember import remember
from poise.maths.vectors import dots, units
from poise.model.mass import MassShares
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.problem.goals import Balance
from poise.problem.layout import DOFS, FIXED
from poise.problem.plan import Plan

_TINY = 1e-300  # lower bound of squared lengths in divisions


def left_of_balance(pose: Pose, goal: Balance) -> tuple[Floats, Floats]:
    """Compute the balance error (k, 2) and support shares (k, b).

    The error is in the plane; the shares give the nearest point of the area.
    """
    skeleton, maps = pose.skeleton, pose.world.affine
    plane = level(goal, skeleton)
    points = np.stack(
        [maps[:, row, :, :3] @ np.array(at) + maps[:, row, :, 3] for row, at in goal.support(skeleton)], 1
    )
    centre = dots(goal.carried(skeleton).centre(maps)[:, None], plane)
    corners = dots(points[:, :, None], plane)
    shares = nearest_shares(drawn_in(corners, goal.margin), centre)
    mean = (1.0 - goal.margin) * shares + goal.margin * shares.sum(axis=1, keepdims=True) / corners.shape[1]
    nearest = (mean[:, :, None] * corners).sum(axis=1)
    return np.where(_stands(shares)[:, None], 0.0, nearest - centre), mean


def _stands(shares: Floats) -> Bools:
    """Return whether the centre is inside, by its shares (k, b)."""
    return shares.sum(axis=1) == 0.0


def level(goal: Balance, skeleton: Skeleton) -> Floats:
    """Return two orthogonal unit vectors (2, 3) perpendicular to up."""
    up = goal.upward(skeleton)
    first = units(np.asarray(np.cross(up, np.eye(3)[np.argmin(abs(up))]), dtype=np.float64))
    return np.stack([first, np.cross(up, first)])


def drawn_in(corners: Floats, margin: float) -> Floats:
    """Move points (k, b, 2) towards their mean by a share."""
    return corners + margin * (corners.mean(axis=1, keepdims=True) - corners)


def nearest_shares(corners: Floats, at: Floats) -> Floats:
    """Compute the shares (k, b) of corners in the nearest hull point.

    It is the point of the hull of `corners` (k, b, 2) nearest to `point` (k, 2); inside the hull all shares are 0. All
    pairs of corners are tried, as the nearest point is on a segment between two of them.
    """
    k, b = corners.shape[:2]
    shares, best = np.zeros((k, b)), np.full(k, np.inf)
    for i, j in combinations(range(b), 2) if b > 1 else [(0, 0)]:
        way, begin = corners[:, j] - corners[:, i], corners[:, i]
        t = np.clip(((at - begin) * way).sum(axis=1) / np.maximum((way**2).sum(axis=1), _TINY), 0.0, 1.0)
        far = ((begin + t[:, None] * way - at) ** 2).sum(axis=1)
        nearer = far < best
        best = np.where(nearer, far, best)
        shares[nearer] = 0.0
        shares[nearer, i] += 1.0 - t[nearer]
        shares[nearer, j] += t[nearer]
    return np.where(_is_inside(corners, at)[:, None], 0.0, shares)


def _is_inside(corners: Floats, at: Floats) -> Bools:
    """Return whether points (k, 2) lie in the corners' hulls.

    Seen from inside, no half circle of directions is empty.
    """
    ways = corners - at[:, None]
    angles = np.sort(np.arctan2(ways[..., 1], ways[..., 0]), axis=1)
    gaps = np.diff(angles, axis=1, append=angles[:, :1] + 2.0 * np.pi)
    return gaps.max(axis=1) < np.pi


def balance_rates(plan: Plan, pose: Pose, goal: Balance, columns: dict[int, Floats]) -> tuple[Floats, Floats]:
    """Compute the balance Jacobian (k, 2, nd) and error e (k, 2).

    The Jacobian is the rate at which e decreases; `columns` are the Jacobians (k, 6, nd) of joint origins, by row.
    """
    skeleton, maps, plane = plan.skeleton, pose.world.affine, level(goal, plan.skeleton)
    left, shares = left_of_balance(pose, goal)
    rates = _mass_rates(plan, goal.carried(skeleton), maps, columns)
    for i, (row, at) in enumerate(goal.support(skeleton)):
        arm = maps[:, row, :, :3] @ np.array(at)
        point = columns[row][:, :3] + np.cross(columns[row][:, 3:], arm[:, :, None], axis=1)
        rates -= shares[:, i, None, None] * point
    return np.where(_stands(shares)[:, None, None], 0.0, plane @ rates), left


def _mass_rates(plan: Plan, carried: MassShares, maps: Floats, columns: dict[int, Floats]) -> Floats:
    """Compute the Jacobian (k, 3, nd) of the centre of mass."""
    behind = _behind(plan.skeleton)
    moments = carried.shares[:, None] * carried.moments(maps)
    rates = np.zeros((len(maps), 3, len(plan.layout.dofs)))
    for node in plan.layout.nodes:
        if node.kind == FIXED:
            continue
        tip = next(row for row in columns if node.row in plan.skeleton.way(row))
        below, dofs = behind[node.row], slice(node.dof, node.dof + DOFS[node.kind])
        mass = carried.shares[below].sum()
        moment = moments[:, below].sum(axis=1) - mass * maps[:, tip, :, 3]
        velocity, turn = columns[tip][:, :3, dofs], columns[tip][:, 3:, dofs]
        rates[:, :, dofs] += mass * velocity + np.cross(turn, moment[:, :, None], axis=1)
    return rates


def _behind(skeleton: Skeleton) -> Bools:
    """Return the descendant mask (n, n) of the skeleton's rows.

    Entry (i, j) says whether row j is row i or below it.
    """

    def make() -> Bools:
        found = np.zeros((len(skeleton), len(skeleton)), dtype=bool)
        for row in range(len(skeleton)):
            found[skeleton.way(row), row] = True
        return found

    return remember(skeleton, "behind", None, make)
