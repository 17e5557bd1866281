"""Fit local rotations to joint positions over time. Bone lengths are kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError, listed
from poise.maths import rotations
from poise.maths.arguments import make_kind_error, names
from poise.maths.arrays import Bools, Floats, copy_numbers_or_nan, frozen, real
from poise.maths.in_words import counted, in_words, write_number
from poise.maths.options import truth
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Position
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving import fit_closed as fit_turns
from poise.solving.solve import solve

_WORTH_REFINING = 1e-5  # share of the body size: a closed form with smaller errors is not refined
_STEPS = 20  # iterations of the refinement


@dataclass(frozen=True, eq=False)
class Fitted(Clip):
    """Clip fitted to positions, with the remaining distances.

    Parameters
    ----------
    times, poses, name
        As for Clip.
    joints
        Names of the joints with positions.
    residuals
        (frames, joints) distance between each joint and its position [file units]; NaN where the position was missing.
    """

    __repr__ = in_words

    joints: tuple[str, ...] = field(kw_only=True)
    residuals: Floats = field(kw_only=True)

    def message(self) -> str:
        """Describe the quality of the fit in one sentence."""
        if not np.isfinite(self.residuals).any():
            return f"{counted(len(self), 'frame')}; no positions to compare with"
        frame, column = np.unravel_index(np.nanargmax(self.residuals), self.residuals.shape)
        worst = write_number(float(self.residuals[frame, column]), 3)
        mean = write_number(float(np.nanmean(self.residuals)), 3)
        where = f"{self.joints[column]!r} in frame {frame}"
        return f"{counted(len(self), 'frame')}; {mean} left on average, at most {worst}: {where}"


def fit(
    on: Skeleton | Pose,
    positions: ArrayLike,
    *,
    joints: Iterable[str] | None = None,
    fps: float = 30.0,
    twist_half_life: float = 0.5,
    refine: bool = True,
    name: str = "",
) -> Fitted:
    """Fit the motion of a skeleton to joint positions. The positions come from motion capture or a motion model.

    Parameters
    ----------
    on
        A skeleton, or a pose. Its rest pose, or the given pose, defines zero twist and the bone lengths.
    positions
        (frames, joints, 3) [file units]; NaN where a joint was not observed. Gaps are interpolated linearly in time;
        before the first and after the last observation the position is constant. Joints without any observation are
        left out.
    joints
        Names of the columns; by default all joints of the skeleton, in order.
    fps
        Frames per second of the positions, and of the clip.
    twist_half_life
        [s] Half-life with which twist that the positions do not determine decays to zero; see the notes.
    refine
        Whether frames with bone lengths other than the skeleton's are refined by least squares over all joints at once.
        Without it each bone has exactly the direction of its positions.
    name
        Name of the clip.

    Returns
    -------
    Fitted
        The clip, with the remaining distance to each position.

    Notes
    -----
    Joints are fitted parents first, in closed form for all frames at once: the topmost joint is moved to its position;
    a joint with children in several directions takes the best rotation for all of them, one with a single direction the
    shortest arc, and a hinge the best angle. Where a direction leaves the twist open, a bent hinge below determines it.
    Without one the twist changes as little as possible from frame to frame (parallel transport) and decays with the
    given half-life, so that it does not accumulate. Joints without positions below them keep the given pose. Limits are
    kept; slides do not move.

    References
    ----------
    The best rotation: Kabsch, Acta Cryst. A32, 1976.
    """
    refine = truth("refine", refine)
    if not isinstance(on, Pose | Skeleton):
        raise make_kind_error(on, (Skeleton, Pose), "what fit() moves")
    base = on if isinstance(on, Pose) else Pose(on, on.rest_q)
    if base.shape:
        raise InputError("fit() takes a skeleton or a single pose")
    rows, given = _columns(base.skeleton, positions, joints)
    half_life, rate = real(twist_half_life, "twist_half_life"), real(fps, "fps")
    if not half_life > 0 or not 0 < rate < np.inf:
        raise InputError("twist_half_life and fps are finite numbers above 0")
    seen = {int(column) for column in np.nonzero(np.isfinite(given).all(axis=2))[1]}
    anchor, used = _anchored(base.skeleton, rows, seen, named=joints is not None)
    tracked, targets = [rows[i] for i in used], _filled(given[:, used])
    q = fit_turns.turned(base, tracked, targets, anchor, keep=2.0 ** (-1 / (rate * half_life)))
    shift = targets[:, tracked.index(anchor)] - base.world.positions[anchor]
    poses = _moved(base, q, anchor, shift)
    if refine:
        poses = _refined(poses, tracked, targets, anchor)
    left = np.sqrt(((poses.world.positions[:, rows] - given) ** 2).sum(axis=-1))
    columns = tuple(base.skeleton.names[row] for row in rows)
    frozen(left)
    return Fitted(np.arange(len(q)) / rate, poses, name, joints=columns, residuals=left)


def _columns(skeleton: Skeleton, positions: ArrayLike, joints: Iterable[str] | None) -> tuple[list[int], Floats]:
    """Parse joint names and positions (frames, columns, 3).

    Returns the skeleton rows of the columns and the positions.
    """
    named = None if joints is None else names(joints, "joints")
    rows = list(range(len(skeleton))) if named is None else [skeleton.index(joint) for joint in named]
    if len(set(rows)) != len(rows):
        twice = listed(sorted({skeleton.names[row] for row in rows if rows.count(row) > 1}))
        raise InputError(f"a joint has one column of positions; given twice: {twice}")
    given = copy_numbers_or_nan(positions, "positions")
    if given.ndim != 3 or given.shape[1:] != (len(rows), 3):  # noqa: PLR2004  (frames, joints, x y z)
        shape = f"(frames, {len(rows)}, 3)"
        raise InputError(f"positions of {len(rows)} joints are numbers of shape {shape}, not {given.shape}")
    if np.isinf(given).any():
        raise InputError("positions are finite numbers, or NaN where a joint was not seen")
    return rows, given


def _filled(given: Floats) -> Floats:
    """Interpolate missing positions linearly in time."""
    filled = given.copy()
    frames = np.arange(len(given))
    lost: Bools = np.asarray(np.isnan(given).any(axis=2))
    for column in np.flatnonzero(lost.any(axis=0)):
        here = ~lost[:, column]
        for axis in range(3):
            filled[~here, column, axis] = np.interp(frames[~here], frames[here], given[here, column, axis])
    return filled


def _anchored(skeleton: Skeleton, rows: list[int], seen: set[int], *, named: bool) -> tuple[int, list[int]]:
    """Find the topmost joint with positions. Also returns the columns of observed joints at or below it.

    Of several topmost joints it is the one with the most joints below it. Other roots, such as those of meshes, stay
    where they are; they raise InputError if they were named.
    """
    if not seen:
        raise InputError("no joint has a position in any frame")
    above = {i: set(skeleton.way(rows[i])) for i in seen}
    anchor = max((rows[i] for i in seen), key=lambda top: (sum(top in above[i] for i in seen), -top))
    used = [i for i in sorted(seen) if anchor in above[i]]
    if named and len(used) < len(seen):
        other = next(skeleton.names[rows[i]] for i in seen if i not in used)
        message = f"{other!r} is not below {skeleton.names[anchor]!r}"
        raise InputError(f"{message}; give the positions of a joint above both, such as the hips")
    return anchor, used


def _moved(base: Pose, q: Floats, anchor: int, shift: Floats) -> Pose:
    """Translate the anchor of poses q by `shift` (frames, 3), world.

    The offset goes into q for a free joint, else into its translation.
    """
    skeleton, parent = base.skeleton, int(base.skeleton.parents[anchor])
    linear = np.eye(3) if parent < 0 else base.world.affine[parent, :, :3]
    local = shift @ np.linalg.inv(linear).T
    frames = len(q)
    scales = None if base.scales is None else np.broadcast_to(base.scales, (frames, *base.scales.shape))
    given = skeleton.A[:, :3] if base.translations is None else base.translations
    translations = None if base.translations is None else np.broadcast_to(given, (frames, *given.shape)).copy()
    if skeleton.kinds[anchor] == Kind.FREE:
        q = q.copy()
        first = int(skeleton.q_start[anchor])
        q[:, first : first + 3] += rotations.rotate(rotations.inverse(skeleton.A[anchor, 3:]), local)
    else:
        translations = np.broadcast_to(given, (frames, *given.shape)).copy()
        translations[:, anchor] += local
    return Pose(skeleton, q, translations, scales)


def _refined(poses: Pose, tracked: list[int], targets: Floats, anchor: int) -> Pose:
    """Refine inaccurate frames by least squares over all joints. The closed form is the initial guess."""
    skeleton, first = poses.skeleton, poses.world.positions
    size = float(np.ptp(first, axis=1).max(initial=0.0))
    left = ((first[:, tracked] - targets) ** 2).sum(axis=(1, 2))
    off = np.flatnonzero(left > (_WORTH_REFINING * size) ** 2)
    moves, top = skeleton.kinds[anchor] == Kind.FREE, skeleton.names[anchor]
    goals = [
        Position(skeleton.names[row], targets[off, i], root=None if row == anchor else top)
        for i, row in enumerate(tracked)
        if moves or row != anchor
    ]
    if not len(off) or not goals:
        return poses
    solver = LevenbergMarquardt(iterations=_STEPS, restarts=0, damping=1.0)
    found = solve(poses[off], goals, solver=solver, tolerance=_WORTH_REFINING * size, free_root=bool(moves))
    now = ((found.pose.world.positions[:, tracked] - targets[off]) ** 2).sum(axis=(1, 2))
    better = now < left[off]
    q = poses.q.copy()
    q[off[better]] = found.q[better]
    return poses.with_q(q)
