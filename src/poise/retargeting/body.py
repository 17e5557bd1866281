"""Body: a character measured for retargeting. Joints by role, and a frame for each segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from poise.errors import InputError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import cross, length, measure_length, normalise, remove_component
from poise.model.anatomy.carrier import find_standing_turn
from poise.model.anatomy.rest_geometry import (
    BendHinge,
    compute_rest_rotations,
    find_bend_hinge,
    find_limb_axes,
)
from poise.model.clip import Clip
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Kind, Skeleton
from poise.retargeting.bend_axes import LIMBS, measure_bend_axes, sample_worlds
from poise.retargeting.detached_feet import DetachedFoot, find_detached_feet, is_foot_detached, name_detached_feet
from poise.retargeting.reference_pose import ReferencePose, average_trunk_frames, find_reference_pose
from poise.retargeting.roll import RolledJoint, correct_rolls

FINGERS = ("Thumb", "Index", "Middle", "Ring", "Little")
FINGER_PARTS = ("Metacarpal", "Proximal", "Intermediate", "Distal")
NEXT_PARTS = {
    "UpperLeg": "LowerLeg", "LowerLeg": "Foot", "UpperArm": "LowerArm", "LowerArm": "Hand",
    **{f"{finger}{part}": f"{finger}{after}" for finger in FINGERS for part, after in
       (("Metacarpal", "Proximal"), ("Proximal", "Intermediate"), ("Intermediate", "Distal"))},
    "ThumbProximal": "ThumbDistal",
}  # fmt: skip
REQUIRED_PARTS = ("UpperLeg", "LowerLeg", "Foot", "UpperArm", "LowerArm", "Hand")

_TURNING_PARTS = ("Shoulder", *(part for limb in LIMBS for part in limb[:2]))  # whose rotations show axes
_MAX_ROLES = 256  # whose sides and parts are kept: there are 55, and as many joints of trunks
# length of a bone relative to the character: below it a joint is where its parent is
_SAME_POSITION_FRACTION = 1e-6
# length of a direction without its part along the bone: below it the axis is that of the body's side
_MIN_AXIS_LENGTH = 0.05
# sine of the angle from the hand to the thumb: a smaller one does not show the palm
_MIN_THUMB_SINE = 0.25


class JointChain(NamedTuple):
    """Joints of a trunk or neck, from the lowest.

    rows       the joints
    fractions  (k,) where each of them is, as a fraction of the length: 0 for the first, 1 for the last
    """

    rows: tuple[int, ...]
    fractions: Floats


class Segment(NamedTuple):
    """A segment: a role and the next one of its limb.

    row            the joint of the role
    carrier        the last joint above the next role: a twist bone, or the joint itself
    row_frame      rotation (4,) from segment axes to the joint
    carrier_frame  rotation (4,) from segment axes to the carrier
    """

    row: int
    carrier: int
    row_frame: Floats
    carrier_frame: Floats


class Body(NamedTuple):
    """A character measured for retargeting.

    skeleton     its joints
    joints       roles to joint names
    rows         roles to rows
    reference    its reference pose
    world_turn   rotation (4,) from the file's axes to ahead, left, up
    segments     segments by role; "joint 7" is the joint in row 7, of trunk or neck
    spine        from the hips to the joint that carries the arms
    neck         from there to the head; empty for an unknown head
    leg_length   thigh and shin [file units], mean of both sides
    arm_length   upper arm and forearm [file units], mean of both sides

    detached_feet  feet that hang beside their legs
    added          roles of joints that the file does not have, behind those of its skeleton
    """

    skeleton: Skeleton
    joints: Mapping[str, str]
    rows: Mapping[str, int]
    reference: ReferencePose
    world_turn: Floats
    segments: Mapping[str, Segment]
    spine: JointChain
    neck: JointChain
    leg_length: float
    arm_length: float
    detached_feet: tuple[DetachedFoot, ...] = ()
    added: tuple[str, ...] = ()


def measure_body(
    skeleton: Skeleton,
    joints: Mapping[str, str],
    clips: Sequence[Clip],
    *,
    front: Clip | None = None,
    flat_feet: Mapping[str, Floats] | None = None,
) -> Body:
    """Measure a character.

    joints     roles to joint names, arms and legs among them
    clips      they show how elbows and knees bend, and an upright frame where the rest pose shows no body
    front      frames of a reference pose in front of a clip
    flat_feet  axes (3, 3) of feet and toes in their joints' frames, by role, where a clip shows them
    """
    rows = {role: skeleton.index(joint) for role, joint in joints.items()}
    named = name_detached_feet(skeleton, _drop_shared_joints(joints))
    reference = find_reference_pose(skeleton, named, clips, front)
    carriers = {role: _find_carrier(skeleton, rows, role) for role in rows}
    spine, neck = _find_trunk(skeleton, rows, reference.body.points)
    turning = [carriers[role] for role in rows if split_role(role)[1] in _TURNING_PARTS]
    worlds = sample_worlds(clips, (*turning, *spine.rows, *neck.rows))
    measured_axes = measure_bend_axes(rows, carriers, worlds)
    builder = _SegmentBuilder(reference, named, (rows, carriers), measured_axes, flat_feet or {})
    segments = builder.build_segments((*spine.rows, *neck.rows))
    if reference.poses is not None:
        segments |= _average_trunk(reference, joints, rows, (*spine.rows, *neck.rows))
    rolled = _list_rolled_joints(segments, rows, (spine, neck), builder.find_bones((*spine.rows, *neck.rows)))
    for name, frame in correct_rolls(rolled, worlds).items():
        segments[name] = Segment(rolled[name].row, rolled[name].row, frame, frame)
    lengths = [
        np.mean([_measure_limb(reference.body.points, [rows[f"{side}{part}"] for part in parts]) for side in SIDES])
        for parts in LIMBS
    ]
    return Body(
        skeleton, dict(joints), rows, reference, rotations.from_matrix(reference.world_axes), segments,
        spine, neck,
        float(lengths[1]), float(lengths[0]), find_detached_feet(skeleton, rows),
    )  # fmt: skip


def stand_with_carrier(body: Body, clip: Clip) -> Body:
    """Turn the directions of a file as its clip does."""
    axes = body.reference.world_axes
    turn = find_standing_turn(clip.poses, body.spine.rows[0], axes[2])
    if turn is None:
        return body
    axes = axes @ turn
    return body._replace(reference=body.reference._replace(world_axes=axes), world_turn=rotations.from_matrix(axes))


def _average_trunk(
    reference: ReferencePose, joints: Mapping[str, str], rows: Mapping[str, int], trunk: Sequence[int]
) -> dict[str, Segment]:
    """Average the axes of the trunk over upright frames."""
    named = {f"joint {row}": row for row in trunk}
    named |= {f"{side}Shoulder": rows[f"{side}Shoulder"] for side in SIDES if f"{side}Shoulder" in rows}
    frames = rotations.from_matrix(average_trunk_frames(reference, joints, list(named.values())))
    return {name: Segment(row, row, frame, frame) for (name, row), frame in zip(named.items(), frames, strict=True)}


def _list_rolled_joints(
    segments: Mapping[str, Segment],
    rows: Mapping[str, int],
    chains: tuple[JointChain, JointChain],
    bones: Mapping[str, Floats],
) -> dict[str, RolledJoint]:
    """List the joints with one child in trunk and neck."""
    joints: dict[str, RolledJoint] = {}
    spine, neck = chains
    for chain in chains:
        ends = [(row, segments[f"joint {row}"].row_frame) for row in chain.rows[:1] + chain.rows[-1:]]
        for row, fraction in zip(chain.rows[1:-1], chain.fractions[1:-1].tolist(), strict=True):
            name = f"joint {row}"
            joints[name] = RolledJoint(row, segments[name].row_frame, (ends[0], ends[1]), fraction, bones[name])
    carrier = spine.rows[-1], segments[f"joint {spine.rows[-1]}"].row_frame
    if len(neck.rows) > 1:
        name = f"joint {neck.rows[-1]}"
        frame = segments[name].row_frame
        joints[name] = RolledJoint(neck.rows[-1], frame, (carrier, carrier), 0.0, bones[name])
    for role in (f"{side}Shoulder" for side in SIDES if f"{side}Shoulder" in rows):
        joints[role] = RolledJoint(rows[role], segments[role].row_frame, (carrier, carrier), 0.0, bones[role])
    return joints


def _drop_shared_joints(joints: Mapping[str, str]) -> dict[str, str]:
    """Drop roles of joints with another role.

    These are fingers that follow a finger of the source.
    """
    roles = {joint: role for role, joint in reversed(list(joints.items()))}
    for role, joint in joints.items():
        if roles[joint] != role and not split_role(role)[1].startswith(FINGERS):
            raise InputError(f"{joint!r} is both {roles[joint]} and {role}")
    return {role: joint for role, joint in joints.items() if roles[joint] == role}


def check_limb_order(skeleton: Skeleton, joints: Mapping[str, str]) -> None:
    """Check the order of joints in each limb."""
    rows = {role: skeleton.index(joint) for role, joint in joints.items()}
    for role, row in rows.items():
        side, part = split_role(role)
        after = NEXT_PARTS.get(part)
        next_role = f"{side}{after}"
        if after is None or next_role not in rows:
            continue
        is_below = row in skeleton.list_path(rows[next_role])[:-1]
        if not is_below and not (after == "Foot" and is_foot_detached(skeleton, rows, side)):
            raise InputError(f"{joints[next_role]!r} ({next_role}) is not below {joints[role]!r} ({role})")


@lru_cache(maxsize=_MAX_ROLES)
def split_role(role: str) -> tuple[str, str]:
    """Split a role into side and part.

    "leftHand" gives "left" and "Hand"; the side of "head" is empty.
    """
    side = next((side for side in SIDES if role.startswith(side)), "")
    return side, role[len(side) :]


def _find_carrier(skeleton: Skeleton, rows: Mapping[str, int], role: str) -> int:
    """Find the last joint above the next role."""
    side, part = split_role(role)
    next_row = rows.get(f"{side}{NEXT_PARTS.get(part, '')}")
    if next_row is None or not side or rows[role] not in skeleton.list_path(next_row):  # a foot beside its leg
        return rows[role]
    return int(skeleton.parents[next_row])


def _find_trunk(skeleton: Skeleton, rows: Mapping[str, int], points: Floats) -> tuple[JointChain, JointChain]:
    """Find the joints of spine and neck."""
    arm_paths = [skeleton.list_path(rows[f"{side}UpperArm"]) for side in SIDES]
    leg_paths = [skeleton.list_path(rows[f"{side}UpperLeg"]) for side in SIDES]
    shared_arms = [row for row in arm_paths[0][:-1] if row in arm_paths[1]]
    shared_all = [row for row in shared_arms if all(row in path for path in leg_paths)]
    if not shared_all:
        raise InputError("arms and legs have no joint above them in common")
    hips = rows.get("hips", shared_all[-1])
    if hips in shared_all:
        spine = shared_arms[shared_arms.index(hips) :]
    elif all(hips in path for path in leg_paths):  # a robot whose base is its chest: hips hang below
        path = skeleton.list_path(hips)
        spine = [*reversed([row for row in path if row not in shared_all]), *shared_arms[len(shared_all) - 1 :]]
    else:
        raise InputError(f"{skeleton.names[hips]!r} (hips) is not above arms and legs")
    head_path = skeleton.list_path(rows["head"]) if "head" in rows else []
    neck = head_path[head_path.index(spine[-1]) :] if spine[-1] in head_path else []
    return _measure_chain(spine, points), _measure_chain(neck, points)


def _measure_chain(rows: list[int], points: Floats) -> JointChain:
    lengths = length(np.diff(points[rows], axis=0)) if rows else np.zeros(0)
    total = float(lengths.sum())
    steps = lengths / total if total > 0.0 else np.full(len(lengths), 1.0 / max(len(lengths), 1))
    fractions = np.concatenate([[0.0], np.cumsum(steps)])[: len(rows)]
    if len(rows) > 1:
        fractions[-1] = 1.0
    return JointChain(tuple(rows), fractions)


def _measure_limb(points: Floats, rows: list[int]) -> float:
    return float(length(np.diff(points[rows], axis=0)).sum())


class _SegmentBuilder:
    """Builds the frames of segments from a reference pose."""

    def __init__(
        self,
        reference: ReferencePose,
        joints: Mapping[str, str],
        rows_and_carriers: tuple[Mapping[str, int], Mapping[str, int]],
        measured_axes: Mapping[str, Floats],
        flat_feet: Mapping[str, Floats],
    ) -> None:
        self._reference, (self._rows, self._carriers) = reference, rows_and_carriers
        self._measured_axes, self._flat_feet = measured_axes, flat_feet
        self._turns: Floats = compute_rest_rotations(reference.skeleton)
        body = reference.body
        self._points, self._body_axes = body.points, np.stack([body.forward, body.left, body.up], axis=1)
        self._axes = find_limb_axes(reference.skeleton, joints)
        self._size = float(np.ptp(self._points, axis=0).max())
        self._hand_axes = {side: self._find_hand_axes(side) for side in SIDES}

    def build_segments(self, trunk_rows: Sequence[int]) -> dict[str, Segment]:
        """Build the segments of roles, and of joints of trunk and neck. The axes of the latter are the body's."""
        joints = {role: (self._rows[role], self._carriers[role], self._find_frames(role)) for role in self._rows}
        for row in trunk_rows:  # joints without a role, too
            joints[f"joint {row}"] = row, row, np.repeat((self._turns[row].T @ self._body_axes)[None], 2, axis=0)
        frames = rotations.from_matrix(np.stack([axes for _, _, axes in joints.values()]))
        return {
            name: Segment(row, carrier, *pair)
            for (name, (row, carrier, _)), pair in zip(joints.items(), frames, strict=True)
        }

    def _find_frames(self, role: str) -> Floats:
        """Find the axes (2, 3, 3) of a segment. They are in its joint and its carrier."""
        if role in self._flat_feet:
            return np.repeat(self._flat_feet[role][None], 2, axis=0)
        axes, row, carrier = self._find_segment_axes(role), self._rows[role], self._carriers[role]
        own = self._turns[row].T @ axes
        return np.array([own, own if carrier == row else self._turns[carrier].T @ axes])

    def find_bones(self, trunk_rows: Sequence[int]) -> dict[str, Floats]:
        """Find the bone directions of collar bones, trunk and neck."""
        bones = {f"{side}Shoulder": self._find_shoulder_bone(side) for side in SIDES if f"{side}Shoulder" in self._rows}
        for row, after in zip(trunk_rows, [*trunk_rows[1:], -1], strict=True):
            bone = self._points[after] - self._points[row] if after >= 0 else np.zeros(3)
            is_long = measure_length(bone) > _SAME_POSITION_FRACTION * self._size
            bones[f"joint {row}"] = normalise(bone) if is_long else self._reference.body.up
        return {name: bone @ self._body_axes for name, bone in bones.items()}

    def _find_shoulder_bone(self, side: str) -> Floats:
        bone = self._points[self._rows[f"{side}UpperArm"]] - self._points[self._rows[f"{side}Shoulder"]]
        return normalise(bone) if measure_length(bone) > 0.0 else self._reference.body.left

    def _find_segment_axes(self, role: str) -> Floats:
        """Find the axes (3, 3) of a segment in the reference pose.

        They are along the bone, about the hinge, and across.
        """
        side, part = split_role(role)
        if part in ("UpperArm", "LowerArm", "UpperLeg", "LowerLeg"):
            hinge, bone = self._find_bend_hinge(role), self._find_bone(role)
            if hinge is not None:  # where along its axis a hinge is says nothing of the bones
                bone = remove_component(bone, hinge.axis)
            return _build_axes(bone, self._find_hinge(role), self._reference.body.left)
        if part == "Hand":
            return self._hand_axes[side]
        if part in ("Foot", "Toes"):
            return self._find_foot_axes(side)
        if side and part.startswith(FINGERS) and f"{side}Hand" in self._rows:
            return self._find_finger_axes(side, part)
        return self._body_axes

    def _find_hinge(self, role: str) -> Floats:
        """Find the axis (3,) of a segment's elbow or knee."""
        if role in self._measured_axes:
            return self._turns[self._carriers[role]] @ self._measured_axes[role]
        hinge_role, hinge = role.replace("Upper", "Lower"), self._find_bend_hinge(role)
        shown = self._axes[hinge_role].flexion_axis if hinge_role in self._axes else self._reference.body.left
        return shown if hinge is None else hinge.point_like(shown)

    def _find_bend_hinge(self, role: str) -> BendHinge | None:
        """Find the hinge of a segment's elbow or knee. None for other joints."""
        upper, lower = role.replace("Lower", "Upper"), role.replace("Upper", "Lower")
        skeleton, row = self._reference.skeleton, self._rows[lower]
        if skeleton.joint_lists.kinds[row] != Kind.HINGE:
            return None
        return find_bend_hinge(skeleton, row, self._find_bone(upper), self._find_bone(lower))

    def _find_bone(self, role: str) -> Floats:
        """Find the direction (3,) to the next role of a limb."""
        side, part = split_role(role)
        next_row = self._rows.get(f"{side}{NEXT_PARTS.get(part, '')}")
        bone = np.zeros(3) if next_row is None else self._points[next_row] - self._points[self._rows[role]]
        if measure_length(bone) <= _SAME_POSITION_FRACTION * self._size:
            return self._axes[role].bone if role in self._axes else -self._reference.body.up
        return normalise(bone)

    def _find_foot_axes(self, side: str) -> Floats:
        """Find the axes of a foot: heading and normal of the sole.

        The sole is level in the reference pose.
        """
        up, role = self._reference.body.up, f"{side}Foot"
        forward = self._reference.body.forward
        if role in self._axes:
            axis = self._axes[role].flexion_axis  # level, and square to the foot
            forward = normalise(remove_component(cross(up, axis), up))
            forward *= 1.0 if float(forward @ self._reference.body.forward) >= 0.0 else -1.0
        return _build_axes(forward, up, self._reference.body.left)

    def _find_hand_axes(self, side: str) -> Floats:
        """Find the axes of a hand: bone and flexion axis.

        Without knuckles the thumb shows the palm; without a thumb it is that of an unrotated forearm.
        """
        role = f"{side}Hand"
        bone = self._axes[role].bone if role in self._axes else self._find_bone(f"{side}LowerArm")
        knuckles = {self._rows.get(f"{side}{finger}Proximal") for finger in ("Index", "Little")}
        if len(knuckles - {None}) == len(("Index", "Little")):
            return _build_axes(bone, self._axes[role].flexion_axis, self._reference.body.left)
        sign = -1.0 if side == "left" else 1.0
        thumb = remove_component(self._find_thumb(side), bone)
        if measure_length(thumb) < _MIN_THUMB_SINE:
            thumb = cross(self._find_hinge(f"{side}LowerArm"), self._find_bone(f"{side}LowerArm"))
        return _build_axes(bone, sign * thumb, self._reference.body.left)

    def _find_thumb(self, side: str) -> Floats:
        """Find the direction (3,) of the thumb; zero if unknown."""
        thumbs = [self._rows[f"{side}Thumb{part}"] for part in FINGER_PARTS if f"{side}Thumb{part}" in self._rows]
        if not thumbs:
            return np.zeros(3)
        end = thumbs[-1]
        while self._reference.skeleton.children[end]:
            end = self._reference.skeleton.children[end][0]
        way = self._points[end] - self._points[self._rows[f"{side}Hand"]]
        return normalise(way) if measure_length(way) > _SAME_POSITION_FRACTION * self._size else np.zeros(3)

    def _find_finger_axes(self, side: str, part: str) -> Floats:
        """Find the axes of a finger's joint: bone and flexion axis."""
        hand = self._hand_axes[side]
        bone = self._find_finger_bone(f"{side}{part}", hand[:, 0])
        return _build_axes(bone, hand[:, 2] if part.startswith("Thumb") else hand[:, 1], hand[:, 2])

    def _find_finger_bone(self, role: str, default: Floats) -> Floats:
        side, part = split_role(role)
        row = self._rows[role]
        next_row = self._rows.get(f"{side}{NEXT_PARTS.get(part, '')}")
        ends = list(self._reference.skeleton.children[row]) if next_row is None else [next_row]
        bones: list[Floats] = [self._points[end] - self._points[row] for end in ends]
        bone = bones[0] if len(bones) == 1 else max(bones, key=measure_length, default=np.zeros(3))
        return normalise(bone) if measure_length(bone) > _SAME_POSITION_FRACTION * self._size else default


def _build_axes(first: Floats, second: Floats, substitute: Floats) -> Floats:
    """Build axes (3, 3) from two directions. The second is made square to the first.

    `substitute` replaces a second direction that is parallel to the first.
    """
    first = normalise(first)
    for replacement in range(3):
        direction = second if replacement == 0 else np.roll(substitute, replacement - 1)
        across = remove_component(direction, first)
        if measure_length(across) > _MIN_AXIS_LENGTH:
            across, axes = normalise(across), np.empty((3, 3))
            axes[:, 0], axes[:, 1], axes[:, 2] = first, across, cross(first, across)
            return axes
    raise InputError("a joint of the character has no direction")
