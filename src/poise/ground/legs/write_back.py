"""Convert displacements and rotations [m], z up, to poses.

A bone that turns under an uneven scale changes its length: the leg that was worked out with the animated lengths ends
some millimetres off. What it is off, by forward kinematics of the poses that are written, is added to where the ankle
is sent, and the legs are bent anew, until nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poise import kernels
from poise.ground.contact.soles import Soles
from poise.ground.figure.figure import Figure
from poise.ground.figure.motion import ANKLE, FOOT, Motion, motion_of, turning
from poise.ground.legs.body import Lean
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import Turned, rebend_legs
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import make_vertical
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.pose_draft import PoseDraft
from poise.model.roles import Leg
from poise.model.skeleton import Skeleton

_TIMES = 4  # corrections of ankles at most
_SAME = 1e-4  # [m]


def moved_poses(poses: Pose, figure: Figure, offsets: Floats) -> Pose:
    """Return the poses displaced by offsets (F, 3) [m], z up."""
    draft = PoseDraft(poses)
    draft.move(figure.skeleton.index(figure.mover), _in_file(figure, offsets))
    return draft.finish()


def leaning_poses(poses: Pose, figure: Figure, lean: Lean, offsets: Floats) -> Pose:
    """Return the poses of a tilted character with root motion. It was moved by offsets (F, 3) [m], z up."""
    places = rotations.rotate(figure.turn, poses.world_of(figure.trunk).positions / figure.metre) + offsets
    draft = PoseDraft(poses)
    draft.move(figure.skeleton.index(figure.trunk), _in_file(figure, lean.of(places) - places))
    _turn_joint(poses, figure, figure.trunk, rotations.IDENTITY, lean.turn, draft.q)
    return draft.finish()


def write_poses(poses: Pose, motion: Motion, turned: Turned, offsets: Floats, still: Floats) -> Pose:
    """Return the poses with the figure moved and the legs turned.

    offsets  (F, 3) [m] by which the motion was carried over the ground
    still    (F, 3) [m] how much of that is taken back: a figure that is to stay in place
    """
    figure, draft = motion.figure, PoseDraft(poses)
    skeleton, moved = figure.skeleton, _in_file(figure, offsets + make_vertical(turned.up))
    draft.move(skeleton.index(figure.mover), moved - _in_file(figure, still))
    for i, leg in enumerate(figure.legs):
        _turn(poses, figure, leg, turned.turns[:, i], draft.q)
        _lengthen(skeleton, leg, turned.lengths[:, i], draft)
        if not hangs_in(skeleton, leg.foot, leg.lower):  # it goes along with the figure
            draft.place(skeleton.index(leg.foot), _in_file(figure, turned.ankles[:, i]) - moved)
    return draft.finish()


def written_exactly(
    body: Motion, soles: Soles, feet: Feet, turned: Turned, write: Callable[[Turned], Pose], still: Floats
) -> Pose:
    """Return poses with the ankles of `turned`. `write` makes the poses of legs.

    still  (F, 3) [m] by which the written figure is not carried over the ground as `body` is
    """
    poses = write(turned)
    if poses.scales is None or (turned.lengths != 1.0).any():
        return poses
    wanted, sent = turned.ankles, turned.ankles
    for _ in range(_TIMES):
        off = wanted - still[:, None] - _ankles(body, poses)
        if np.abs(off).max(initial=0.0) <= _SAME:
            break
        sent = sent + off
        poses = write(rebend_legs(body, soles, feet, turned, sent, turned.up))
    return poses


def _ankles(body: Motion, poses: Pose) -> Floats:
    return motion_of(Clip(body.times, poses), body.figure).places[:, :, ANKLE]


def hangs_in(skeleton: Skeleton, joint: str, above: str) -> bool:
    """Whether a joint is another, or below it."""
    row, top = skeleton.index(joint), skeleton.index(above)
    while row > top:
        row = int(skeleton.parents[row])
    return row == top


def _in_file(figure: Figure, vectors: Floats) -> Floats:
    """Convert vectors (..., 3) [m], z up, to file axes and units."""
    return rotations.rotate(rotations.inverse(figure.turn), vectors * figure.metre)


def _lengthen(skeleton: Skeleton, leg: Leg, lengths: Floats, draft: PoseDraft) -> None:
    """Make the bones from hip to ankle longer (F,)."""
    if (lengths == 1.0).all():
        return
    row, top = skeleton.index(leg.foot), skeleton.index(leg.upper)
    while row > top:
        draft.translations[:, row] *= lengths[:, None]
        row = int(skeleton.parents[row])


def _turn(poses: Pose, figure: Figure, leg: Leg, turns: Floats, q: Floats) -> None:
    """Write the turns (F, 4, 4) of a leg's parts."""
    names = turning(leg)
    for part, name in enumerate(names if leg.toes else names[: FOOT + 1]):
        above = [i for i in range(part) if hangs_in(figure.skeleton, name, names[i])]
        _turn_joint(poses, figure, name, turns[:, above[-1]] if above else rotations.IDENTITY, turns[:, part], q)


def _turn_joint(poses: Pose, figure: Figure, name: str, over: Floats, under: Floats, q: Floats) -> None:
    """Rotate a joint by `under` (F, 4) in the world. Its parent is rotated by `over`."""
    skeleton = figure.skeleton
    row, stop = skeleton.index(name), skeleton.q_slice(name).stop
    parent = int(skeleton.parents[row])
    world = poses.world[skeleton.names[parent]].rotations if parent >= 0 else rotations.IDENTITY
    rests = rotations.multiply(rotations.multiply(figure.turn, world), skeleton.A[row, 3:])
    own = q[:, stop - 4 : stop].copy()
    kernels.ground.legs.pass_turns_down(
        *(np.array(np.broadcast_to(rows, own.shape), order="C") for rows in (over, under, rests)), own
    )
    q[:, stop - 4 : stop] = own
