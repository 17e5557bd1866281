"""Roots of figures within reach, with twisted and bent spines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.layout import NATURAL_BEND_LENGTH
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, prepare_for_kernel
from poise.maths.smoothing import smoothstep
from poise.maths.vectors import dot_rows
from poise.model.joint_tree import find_rotation_starts
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.body_maps import BodyMaps, find_body, find_turns, flatten_maps, list_points
from poise.solvers.natural.limbs import Bends, average_points, find_first_joints, find_up

# What of its length a limb is asked to reach before the whole figure is carried nearer: people stand with straight legs
# and do not work with straight arms.
_SPENT = {"leg": 0.9995, "arm": 0.95}
_UNTWISTED_SHARE = 0.9  # of an arm's length: it reaches so far before the trunk twists for it
_FOLDED_SHARE = 0.45  # of a leg's length: as near as hips come to the feet
# Leg lengths of hands below the hips: from the first on a bow turns with a twisted chest, from the second on fully.
# Arm lengths of hands behind the feet, from which on it does so.
_HIGH_LEGS, _LOW_LEGS, _BEHIND_ARMS = 0.2, 0.7, 0.5
_NO_TURN, _NO_SHIFT = np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 3))


class Carried(NamedTuple):
    """How a root is carried nearer to what its limbs reach for.

    place  (k, 7)  of the root
    lean   (k, 4)  by what it turned
    bend   (k,)    by what each joint of the spine bends, about an axis before the root turns
    axis   (k, 3)
    share  (k,)    of the deepest crouch; None where it bows about placed hips
    """

    place: Floats
    lean: Floats
    bend: Floats
    axis: Floats
    share: Floats | None = None


def carry_root(
    bends: Sequence[Bends],
    pose: Pose,
    root: str,
    spine: Sequence[int],
    targets: Floats,
    ahead: Floats,
    turn: Floats | None = None,
    shift: Floats | None = None,
    near: Carried | None = None,
) -> Carried:
    """Carry a root within reach of the tips' places (k, l, 3).

    Legs come first. Where an arm is still too short, the figure crouches and bows.

    ahead  (k, 3) level front of the pelvis
    turn   (k, 4) of the root about its hips before all else
    shift  (k, 3) of the root beside that, to be kept
    near   how it is carried without the shift; crouches are looked for from there
    """
    figure, rows = _find_figure(bends, pose, root, spine)
    count, maps, reaches = len(targets), flatten_maps(figure), find_reaches(pose.skeleton, bends)
    place, lean, bend, axis = np.empty((count, 7)), np.empty((count, 4)), np.empty(count), np.empty((count, 3))
    limb_count, arm_count = len(bends), len(bends) - int(np.count_nonzero(reaches.is_leg))
    points, segments = np.empty((4 * limb_count + len(spine), 3)), np.empty((arm_count, len(spine) + 1, 3))
    turns = _NO_TURN if turn is None else prepare_for_kernel(turn)
    shifts = _NO_SHIFT if shift is None else prepare_for_kernel(shift)
    share = np.zeros(count) if near is None or near.share is None else near.share.copy()
    kernels.posture_root.carry_roots(
        maps, rows.limbs, rows.spine, rows.root, find_turns(pose, pose.skeleton.index(root)),
        prepare_for_kernel(targets), reaches.is_leg, reaches.sizes, prepare_for_kernel(ahead), find_up(pose.skeleton),
        turns, shifts, points, segments, share, place, lean, bend, axis,
    )  # fmt: skip
    return Carried(place, lean, bend, axis, share)


class _FigureRows(NamedTuple):
    """Numbers of first joints, spine and root among maps."""

    limbs: Ints
    spine: Ints
    root: int


def _find_figure(bends: Sequence[Bends], pose: Pose, root: str, spine: Sequence[int]) -> tuple[BodyMaps, _FigureRows]:
    """Find the maps of a figure, and numbers of its joints."""
    skeleton, firsts = pose.skeleton, [one.limb.first for one in bends]
    row = skeleton.index(root)
    body = find_body(pose, [*firsts, *spine, row])

    def number() -> _FigureRows:
        limbs, joints = (np.array([body.numbers[each] for each in rows], dtype=np.int64) for rows in (firsts, spine))
        return _FigureRows(limbs, joints, body.numbers[row])

    return body, get_or_compute(skeleton, "figure rows", (tuple(firsts), tuple(spine), row, len(body.rows)), number)


class _Reaches(NamedTuple):
    """Lengths of limbs (l,), and how far each is asked to reach.

    Beyond that a root is carried nearer.

    legs   (l,) the same of legs; infinite of arms
    sizes  (4, l) see `carry_roots` of kernels/posture_root.py
    """

    lengths: Floats
    is_leg: Bools
    all: Floats
    legs: Floats
    sizes: Floats


def find_reaches(skeleton: Skeleton, bends: Sequence[Bends]) -> _Reaches:
    """Find how far limbs are asked to reach, once."""

    def find() -> _Reaches:
        lengths = np.array([one.limb.numbers[NATURAL_BEND_LENGTH] for one in bends])
        is_leg = np.array([one.limb.kind == "leg" for one in bends])
        reaches = lengths * np.array([_SPENT[one.limb.kind] for one in bends])
        legs, split = np.where(is_leg, reaches, np.inf), np.concatenate([lengths[is_leg], reaches[~is_leg]])
        return _Reaches(lengths, is_leg, reaches, legs, np.stack([lengths * _FOLDED_SHARE, reaches, legs, split]))

    return get_or_compute(skeleton, "limb reaches", tuple([one.limb.tip for one in bends]), find)


def twist_spine(
    bends: Sequence[Bends], pose: Pose, spine: Sequence[int], targets: Floats, ahead: Floats
) -> tuple[Floats, Floats, Floats | None] | None:
    """Twist a spine to bring arms nearer to places (k, l, 3).

    Returns the configurations (k, nq), the twist shared by all joints, and the turn (k, 4) that is left to the pelvis,
    if any. None where nothing twists.

    ahead  (k, 3) level front of the pelvis
    """
    arms = [j for j, one in enumerate(bends) if one.limb.kind == "arm"]
    if not arms or not spine:
        return None
    s, count, joints = pose.skeleton, len(targets), list(spine)
    shoulders = find_first_joints([bends[arm].limb for arm in arms], pose, count)
    pivots = np.broadcast_to(average_points(list_points(pose, joints)), (count, 3))
    up = find_up(s)
    reaches = find_reaches(s, bends).lengths[arms] * _UNTWISTED_SHARE
    twists, pelvis_twists = np.empty(count), np.empty(count)
    figures = map(prepare_for_kernel, (pivots, shoulders, targets[:, arms], ahead, up, reaches))
    kernels.posture_trunk.find_twists(*figures, twists, pelvis_twists)
    if not twists.any():
        return None
    q = np.empty((count, s.nq))
    q[:] = pose.flat_q
    _turn_spine(pose, spine, up[None], twists / len(joints), q)
    return q, twists, rotations.about(up, pelvis_twists) if pelvis_twists.any() else None


def _turn_spine(pose: Pose, spine: Sequence[int], axes: Floats, angles: Floats, q: Floats) -> None:
    """Turn spines of poses q (k, nq) about world axes.

    pose  poses (1|k,) in which these stand
    """
    s, body = pose.skeleton, find_body(pose, spine)
    numbers = np.array([body.numbers[row] for row in spine], dtype=np.int64)
    columns = find_rotation_starts(s.kinds, s.q_start)[list(spine)]
    kernels.posture_root.turn_spines(flatten_maps(body), numbers, columns, axes, angles, q)
    if not s.bounds.is_unlimited:
        rows = np.flatnonzero(angles)
        q[rows] = s.bounds.clamp_by_kernel(q[rows])


def turn_bow(bends: Sequence[Bends], pose: Pose, targets: Floats, twists: Floats, ahead: Floats) -> Floats:
    """Turn fronts (k, 3) of bows with twisted chests.

    It turns the more, the lower a hand is to go and the farther behind the feet.

    twists  (k,) of the spine [rad]
    """
    up, (lengths, is_leg, *_) = find_up(pose.skeleton), find_reaches(pose.skeleton, bends)
    limbs = [one.limb for one in bends if one.limb.kind == "leg"]
    hips = average_points(find_first_joints(limbs, pose, len(targets)))
    drop = dot_rows(hips[:, None] - targets[:, ~is_leg], up) / lengths[is_leg].mean()
    feet = average_points(targets[:, is_leg])
    behind = dot_rows(feet[:, None] - targets[:, ~is_leg], ahead[:, None]) / lengths[~is_leg]
    shares = smoothstep((drop - _HIGH_LEGS) / (_LOW_LEGS - _HIGH_LEGS)) * smoothstep(behind / _BEHIND_ARMS)
    return rotations.rotate(rotations.about(up, shares.max(axis=1) * twists), ahead)


def reach_with_legs(bends: Sequence[Bends], pose: Pose, root: str, targets: Floats, shift: Floats) -> Floats:
    """Limit shifts (k, 3) of a root to its legs' reach."""
    figure, rows = _find_figure(bends, pose, root, ())
    reaches, ways = find_reaches(pose.skeleton, bends), np.empty((len(targets), 3))
    kernels.posture_root.shift_roots(
        flatten_maps(figure), rows.limbs, prepare_for_kernel(targets), reaches.is_leg, reaches.legs,
        prepare_for_kernel(shift), np.empty((len(bends), 3)), ways,
    )  # fmt: skip
    return ways


def bend_spine(found: Carried, before: Pose, after: Pose, spine: Sequence[int]) -> Floats:
    """Bend the spine of carried poses; return (k, nq).

    before  the poses in which the axis of the bend stands
    """
    q = after.flat_q.copy()
    _turn_spine(before, spine, found.axis, found.bend, q)
    return q
