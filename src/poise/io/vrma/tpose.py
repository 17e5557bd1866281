"""T pose of a humanoid: bone positions and rotations from rest.

A VRM animation has its rest in a T pose, in metres, +Y up, facing +Z, and rotates its bones from there. The rest pose
of another file may have its arms down or its legs apart. With K the rotation (in the world) of a bone from that rest to
the T pose, W(t) its world rotation and G the rotation to VRM's axes, the animation rotates the bone by

    G . W(t) . W(rest)^-1 . K^-1 . G^-1        in the world, where the T pose is the identity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.errors import InputError, UnsupportedError, listed
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.anatomy.axes import stance
from poise.model.anatomy.stance import Stance
from poise.model.roles.roles import humanoid
from poise.model.roles.vrm import BONES, FINGER_BONES, REQUIRED, SIDES
from poise.model.skeleton import Skeleton

_IN_IT = float(np.cos(np.radians(5.0)))  # bones within 5 degrees of the T pose stay; files differ by that much
_AN_AXIS = float(np.cos(np.radians(10.0)))  # a character within 10 degrees of the axes is aligned exactly
_EYES = ("leftEye", "rightEye")  # the format moves them by a gaze target
_UNITS = (1.0, 0.1, 0.01, 0.001, 0.0254, 0.0254 / 0.45)  # [m] candidates for an unknown unit; the last is CMU's
_USUAL = 1.5  # [m] usual height from a person's lowest to highest joint
_LOWEST, _HIGHEST = -0.1, 0.2  # relative to the height; range of the lowest joint of a character on the floor


class TPose(NamedTuple):
    """Human bones of a skeleton in VRM's frame, parents first.

    rows             (b,) joints of the skeleton
    roles            VRM bone names
    parents          (b,) index of the nearest human ancestor, -1 for the hips
    positions        (b, 3) [m] positions in the T pose
    t_from_rest      (b, 4) K: rotations from rest to the T pose, in the skeleton's world
    vrm_from_world   (3, 3) G: from the skeleton's world to VRM's axes
    metres_per_unit  metres of one unit
    is_guess         whether `metres_per_unit` is a guess
    """

    rows: list[int]
    roles: list[str]
    parents: list[int]
    places: Floats
    to_t: Floats
    axes: Floats
    metres: float
    is_guess: bool

    @property
    def height(self) -> float:
        """Height from the lowest to the highest joint [m]."""
        return float(np.ptp(self.places[:, 1]))


def t_pose(skeleton: Skeleton) -> TPose:
    """Find the T pose of a skeleton.

    UnsupportedError where a required role is unknown or the rest pose is not that of a standing humanoid.
    """
    joints = {role: joint for role, joint in humanoid(skeleton).joints.items() if role not in _EYES}
    missing = [role for role in REQUIRED if role not in joints]
    if missing:
        raise UnsupportedError(
            f"a VRM animation moves the bones of a person, and these roles have no joint: {listed(missing)}; "
            f"a sidecar can name them"
        )
    rows = sorted({skeleton.index(joint) for joint in joints.values()})
    roles = {skeleton.index(joints[role]): role for role in BONES if role in joints}
    above = [next((rows.index(up) for up in skeleton.way(row)[-2::-1] if up in roles), -1) for row in rows]
    if above.count(-1) > 1 or roles[rows[0]] != "hips":
        stray = listed(roles[row] for row, parent in zip(rows, above, strict=True) if parent < 0)
        raise UnsupportedError(f"in a VRM animation every bone is below the hips; these are not: {stray}")
    try:
        seen = stance(skeleton, joints)
    except InputError as error:
        raise UnsupportedError(f"no T pose can be found for this character: {error}") from error
    return _of(skeleton, rows, [roles[row] for row in rows], above, seen)


def placing(skeleton: Skeleton) -> tuple[float, Floats, bool]:
    """Find the unit, axes and unit certainty of a VRM animation.

    Return metres per unit, the rotation (3, 3) to VRM's axes, and whether the unit is a guess.

    UnsupportedError as in `find_t_pose`.
    """
    pose = t_pose(skeleton)
    return pose.metres, pose.axes, pose.is_guess


def _of(skeleton: Skeleton, rows: list[int], roles: list[str], parents: list[int], seen: Stance) -> TPose:
    axes, points = _axes(seen), seen.points[rows]
    turns = _turns(skeleton, rows, roles, parents, seen, axes)
    places = points @ axes.T
    for i, parent in enumerate(parents):
        if parent >= 0:
            places[i] = places[parent] + axes @ rotations.rotate(turns[parent], points[i] - points[parent])
    low, size = float(places[:, 1].min()), float(np.ptp(places[:, 1]))
    if not _LOWEST * size <= low <= _HIGHEST * size:  # such as a BVH file with the hips at zero
        places -= [places[0, 0], low, places[0, 2]]
    metres = skeleton.metres_per_unit
    unit = _unit(size) if metres is None else metres
    return TPose(rows, roles, parents, places * unit, turns, axes, unit, metres is None)


def _unit(size: float) -> float:
    """Guess the metres per unit from a character's height in units."""
    return min(_UNITS, key=lambda unit: abs(np.log(unit * size / _USUAL)))


def _axes(seen: Stance) -> Floats:
    """Find the rotation (3, 3) to left, up and forward.

    It starts from the world. It is snapped to the axes if the character is nearly aligned with them.
    """
    turn = np.stack([seen.left, seen.up, seen.forward])
    near = np.zeros((3, 3))
    near[np.arange(3), np.abs(turn).argmax(axis=1)] = 1.0
    near *= np.sign(turn)
    along = bool(((near * turn).sum(axis=1) > _AN_AXIS).all())
    return near if along and abs(float(np.linalg.det(near)) - 1.0) < 1e-9 else turn  # noqa: PLR2004


def _turns(
    skeleton: Skeleton, rows: list[int], roles: list[str], parents: list[int], seen: Stance, axes: Floats
) -> Floats:
    """Compute K of every bone. Arms get the shortest rotation to the sides, legs down; the other bones stay."""
    turns = np.tile(rotations.IDENTITY, (len(rows), 1))
    place = {role: i for i, role in enumerate(roles)}
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        for above, below, way in _limb(skeleton, rows, place, side, sign):
            bone = seen.points[below] - seen.points[rows[above]]
            wanted = way @ axes  # in the skeleton's world
            if float(np.linalg.norm(bone)) > 0.0 and float(bone @ wanted) < _IN_IT * float(np.linalg.norm(bone)):
                turns[above] = rotations.rotation_between(bone, wanted)
    for i, role in enumerate(roles):
        if any(role.endswith(finger) for finger in FINGER_BONES):
            turns[i] = turns[parents[i]]
    return turns


def _limb(
    skeleton: Skeleton, rows: list[int], place: dict[str, int], side: str, sign: float
) -> list[tuple[int, int, Floats]]:
    """List the bones of an arm and a leg. Each has its index, the row of its end, and its direction in a T pose."""
    out, down = np.array([sign, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])
    found: list[tuple[int, int, Floats]] = []
    for (upper, middle, end), way in (
        (("UpperArm", "LowerArm", "Hand"), out),
        (("UpperLeg", "LowerLeg", "Foot"), down),
    ):
        for above, below in ((upper, middle), (middle, end)):
            found.append((place[side + above], rows[place[side + below]], way))
    hand = place[f"{side}Hand"]
    fingers = (f"{side}{finger}Proximal" for finger in ("Middle", "Index", "Ring", "Little"))
    end = next((rows[place[finger]] for finger in fingers if finger in place), None)
    return [*found, (hand, _hand_end(skeleton, rows[hand]) if end is None else end, out)]


def _hand_end(skeleton: Skeleton, row: int) -> int:
    """Find the farthest child joint of a hand. Without children it is the hand itself."""
    lengths = {child: float(np.linalg.norm(skeleton.A[child, :3])) for child in skeleton.children[row]}
    return max(lengths, key=lambda child: lengths[child], default=row)
