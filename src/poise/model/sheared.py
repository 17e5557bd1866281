"""Angular Jacobians below non-uniform scale. Turning a joint then shears the joints below it.

The rotation of a sheared joint is the one nearest to its linear part M = Q R (Q symmetric, R a rotation). With L the
linear part of the frame in which a joint above turns, a small rotation g changes it by dM = N M with N = L [g]x L^-1,
and R turns with the angular velocity w of

    (tr(Q) I - Q) w = axial(N Q - (N Q)^T)

which is L g where L and M are rotations. It is the antisymmetric part of dM = dQ R + Q dR; for the decomposition see
N. J. Higham, "Functions of Matrices", SIAM 2008, chapter 8.
"""

from __future__ import annotations

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.maths.vectors import cross
from poise.model.skeleton import Kind, Skeleton

# smallest absolute determinant to divide by
_FLAT = 1e-300


def angular_velocities(skeleton: Skeleton, rows: Ints, maps: Floats) -> Floats:
    """Compute the angular Jacobian (k, 3, nv) of the last row. It is the lower half of Pose.jacobian.

    Parameters
    ----------
    skeleton
        The joints.
    rows
        (r,) from the root to the joint.
    maps
        (k, r, 3, 4) their world transforms.
    """
    above = np.concatenate([np.broadcast_to(np.eye(3), (len(maps), 1, 3, 3)), maps[:, :-1, :, :3]], axis=1)
    turning = np.flatnonzero((skeleton.kinds[rows] != Kind.FIXED) & (skeleton.kinds[rows] != Kind.SLIDE))
    spins = _spins(above[:, turning] @ rotations.as_matrix(skeleton.A[rows[turning], 3:]), maps[:, -1, :, :3])
    out = np.zeros((len(maps), 3, skeleton.nv))
    for i, row in enumerate(rows[turning].tolist()):
        first = int(skeleton.v_start[row]) + (3 if skeleton.kinds[row] == Kind.FREE else 0)
        if skeleton.kinds[row] == Kind.HINGE:  # several may share one degree of freedom
            out[:, :, first] += (spins[:, i] * (skeleton.axes[row] * skeleton.coupling_rows[row, 0])).sum(axis=-1)
        else:
            out[:, :, first : first + 3] = spins[:, i]
    return out


def _spins(frames: Floats, last: Floats) -> Floats:
    """Differentiate the rotation nearest to `last` (k, 3, 3).

    The result (k, r, 3, 3) is for small rotations about each axis of frames (k, r, 3, 3).

    With C = L^-1 Q, axial(L [g]x C - (L [g]x C)^T) is linear in g: row i of its matrix is l_j x c_k + c_j x l_k, where
    l are the rows of L, c the columns of C, and i, j, k are cyclic.
    """
    u, sizes, _ = np.linalg.svd(last)
    stretch = (u * sizes[:, None]) @ np.swapaxes(u, 1, 2)
    columns = np.swapaxes(_inverse(frames) @ stretch[:, None], -1, -2)
    j, k = [1, 2, 0], [2, 0, 1]
    mixed = cross(frames[..., j, :], columns[..., k, :]) + cross(columns[..., j, :], frames[..., k, :])
    return _inverse(sizes.sum(axis=-1)[:, None, None] * np.eye(3) - stretch)[:, None] @ mixed


def _inverse(m: Floats) -> Floats:
    """Invert matrices (..., 3, 3). Singular ones give meaningless values."""
    a, b, c = m[..., 0, :], m[..., 1, :], m[..., 2, :]
    columns = np.stack([cross(b, c), cross(c, a), cross(a, b)], axis=-1)
    determinant = (a * columns[..., 0]).sum(axis=-1)
    size = np.maximum(np.abs(determinant), _FLAT) * np.where(determinant < 0.0, -1.0, 1.0)
    return columns / size[..., None, None]
