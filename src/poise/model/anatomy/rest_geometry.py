"""Rest geometry of a body: positions, bone directions, anatomical axes of joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from poise.errors import InputError, join_names
from poise.maths.arrays import Floats
from poise.maths.rotations import about, rotate, rotation_between, rotation_part
from poise.maths.vectors import cross, measure_length, normalise, remove_component, snap_to_axis
from poise.model.limits import Range
from poise.model.numpy_kinematics import compute_world_transforms
from poise.model.roles.bone_names import SIDES
from poise.model.roles.role_search import MIN_CONFIDENCE, JointRoles, find_joint_roles
from poise.model.skeleton import Kind, Skeleton
from poise.runtime.result_cache import get_or_compute

FIGURE_HEIGHT_M = 1.7  # [m] height of a figure, whatever its file's unit
LEG_HEIGHT_SHARE = 0.49  # thigh and shin of a person, as a share of the height (Drillis & Contini 1966)
# cosine: within 30 degrees of the file's up the trunk counts as upright, and the file's up is used
_UPRIGHT_COSINE = float(np.cos(np.radians(30.0)))
# cosine between thighs and up: above it the rest pose is rejected; sitting characters have level thighs
_MAX_THIGH_COSINE = 0.7
# minimum length of the part of the left vector perpendicular to up, of 2 at most
_MIN_SIDE_FRACTION = 0.3


class BodyFrame(NamedTuple):
    """Body frame of a character at rest. All directions are unit vectors (3,) in the world.

    up       direction of the trunk; the file's up axis where the trunk is within 30 degrees of it
    forward  facing direction: left, rotated by a quarter turn about up
    left     from the right hip and shoulder to the left ones, perpendicular to up
    points   (n, 3) positions of the joints
    """

    up: Floats
    forward: Floats
    left: Floats
    points: Floats


def compute_body_frame(skeleton: Skeleton, joints: Mapping[str, str], points: Floats | None = None) -> BodyFrame:
    """Compute the body frame with every ball joint at identity. Limits and rest_q do not affect it.

    Parameters
    ----------
    skeleton
        Its joints.
    joints
        Roles to joint names; both thighs and both upper arms are required, with correct sides.
    points
        (n, 3) positions of the joints in another pose.

    Raises
    ------
    InputError
        For a rest pose without recognizable left or up, as in BVH files with all bones along one axis.
    """
    missing = [role for part in _PAIRED_PARTS for role in (f"{side}{part}" for side in SIDES) if role not in joints]
    if missing:
        raise InputError(f"no confident joints for a body: {join_names(missing)} missing")
    is_at_rest = points is None
    points = compute_rest_transforms(skeleton)[:, :3, 3] if points is None else points
    hips, shoulders = (
        np.array([points[skeleton.index(joints[side + part])] for side in SIDES]) for part in _PAIRED_PARTS
    )
    trunk = normalise(shoulders.mean(axis=0) - hips.mean(axis=0))
    up = _find_up(skeleton, trunk)
    ways = [hips[0] - hips[1], shoulders[0] - shoulders[1]]
    if is_at_rest:
        ways = [_drop_drive_offsets(skeleton, joints, part, way) for part, way in zip(_PAIRED_PARTS, ways, strict=True)]
    lateral = normalise(ways[0]) + normalise(ways[1])
    left = remove_component(lateral, up)
    knees = [points[skeleton.index(joints[f"{side}LowerLeg"])] for side in SIDES if f"{side}LowerLeg" in joints]
    leg_direction = normalise(np.mean(knees, axis=0) - hips.mean(axis=0)) if knees else -up
    if (
        not np.isfinite(points).all()
        or measure_length(left) < _MIN_SIDE_FRACTION
        or float(leg_direction @ up) > _MAX_THIGH_COSINE
    ):
        message = (
            "the rest pose shows no body directions: trunk and legs, or left and right, point the same way, "
            "as in files with all bones along one axis"
        )
        raise InputError(message)
    left = normalise(left)
    return BodyFrame(up, cross(left, up), left, points)


_PAIRED_PARTS = ("UpperLeg", "UpperArm")


def _drop_drive_offsets(skeleton: Skeleton, joints: Mapping[str, str], part: str, way: Floats) -> Floats:
    """Drop the way along the axes of two parallel hinges.

    Where along its axis a hinge is says nothing of the limb: its drive is there, in some robots in front of one leg and
    behind the other. Axes across the body stay, and so do those that are splayed.
    """
    rows = [skeleton.index(joints[f"{side}{part}"]) for side in SIDES]
    if any(skeleton.kinds[row] != Kind.HINGE for row in rows):
        return way
    left, right = (compute_hinge_axis(skeleton, row) for row in rows)
    cosine = float(left @ right)
    axis = normalise(left + np.copysign(1.0, cosine) * right)
    is_across = abs(float(axis @ way)) >= _MAX_HINGE_COSINE * measure_length(way)
    return way if is_across or abs(cosine) < _PARALLEL_COSINE else remove_component(way, axis)


def compute_hinge_axis(skeleton: Skeleton, row: int) -> Floats:
    """Compute the axis (3,) of a hinge at rest in the world."""
    behind = rotation_part(skeleton.B[row, :, :3])  # a frame behind the hinge turns with it, its axis does not
    return compute_rest_rotations(skeleton)[row] @ (behind.T @ skeleton.axes[row])


def compute_rest_transforms(skeleton: Skeleton) -> Floats:
    """Compute the world transforms (n, 4, 4) with unrotated ball joints.

    Limits and the numbers in q are relative to these.
    """
    return get_or_compute(
        skeleton, "unturned maps", None, lambda: compute_world_transforms(skeleton, build_unrotated_q(skeleton))
    )


def compute_rest_rotations(skeleton: Skeleton) -> Floats:
    """Compute the rotations (n, 3, 3) of `compute_rest_transforms`."""
    return get_or_compute(
        skeleton, "rest rotations", None, lambda: rotation_part(compute_rest_transforms(skeleton)[:, :3, :3])
    )


def build_unrotated_q(skeleton: Skeleton) -> Floats:
    """Return rest_q with every ball joint at identity. This removes the effect of limits on the rest pose."""
    q = skeleton.rest_q.copy()
    for row in np.flatnonzero(skeleton.kinds == Kind.BALL).tolist():
        start = int(skeleton.q_start[row])
        q[start : start + 4] = 1.0, 0.0, 0.0, 0.0
    return q


def _find_up(skeleton: Skeleton, trunk: Floats) -> Floats:
    """Find the up direction of a body.

    It is the file's up, else the nearest file axis, if the trunk is upright along it; else the trunk itself.
    """
    if skeleton.up is None:
        return snap_to_axis(trunk, _UPRIGHT_COSINE)
    axis = np.eye(3)["xyz".index(skeleton.up)]
    return axis if float(axis @ trunk) > _UPRIGHT_COSINE else trunk


# --- Bone directions at rest, and the joints of the trunk ------------------------------------------------------------


_NEXT_PART = {
    "UpperLeg": "LowerLeg", "LowerLeg": "Foot", "Foot": "Toes", "Shoulder": "UpperArm", "UpperArm": "LowerArm",
    "LowerArm": "Hand", "Hand": "MiddleProximal",
}  # fmt: skip
# suffix after a side: a foot detached from its leg's chain; it shows the end of the shin
DETACHED_FOOT = "Foot apart"
# fraction of the character's size: nearer joints count as one position
_SAME_POSITION_FRACTION = 1e-3


def find_trunk_rows(skeleton: Skeleton, joints: Mapping[str, str]) -> tuple[list[int], list[int]]:
    """Find the rows of the spine and of the neck.

    The spine runs from above the joint that carries the legs to the joint that carries the arms, the neck from there to
    the head, included. Both are empty for an unknown head or for arms outside this path.
    """
    if "head" not in joints:
        return [], []
    head_path = skeleton.list_path(skeleton.index(joints["head"]))
    legs_row = _find_common_ancestor(
        skeleton, [head_path[-1], *(skeleton.index(joints[f"{side}UpperLeg"]) for side in SIDES)]
    )
    arms_row = _find_common_ancestor(skeleton, [skeleton.index(joints[f"{side}UpperArm"]) for side in SIDES])
    if arms_row not in head_path or legs_row not in head_path:
        return [], []
    return head_path[head_path.index(legs_row) + 1 : head_path.index(arms_row) + 1], head_path[
        max(head_path.index(arms_row), head_path.index(legs_row)) + 1 :
    ]


def _find_common_ancestor(skeleton: Skeleton, rows: Iterable[int]) -> int:
    """Find the lowest common ancestor of rows, or -1."""
    paths = [skeleton.list_path(row) for row in rows]
    shared_rows = [row for row in paths[0] if all(row in path for path in paths)]
    return shared_rows[-1] if shared_rows else -1


def find_limb_bone(
    skeleton: Skeleton, joints: Mapping[str, str], points: Floats, side: str, part: str
) -> Floats | None:
    """Find the unit vector (3,) along a limb joint's bone.

    It points to the next joint with a role, else to the end of the bone.
    """
    row = skeleton.index(joints[f"{side}{part}"])
    end_parts = [_NEXT_PART[part]] if part in _NEXT_PART else []
    end_parts += [DETACHED_FOOT] if part == "LowerLeg" else []
    end_rows = [skeleton.index(joints[f"{side}{end_part}"]) for end_part in end_parts if f"{side}{end_part}" in joints]
    bones = (_compute_direction(points, row, end_row) for end_row in end_rows)
    bone = next((bone for bone in bones if bone is not None), None)
    return _find_longest_bone(skeleton, points, row) if bone is None else bone


def find_trunk_bone(points: Floats, rows: list[int], index: int) -> Floats | None:
    """Find the unit vector (3,) along a trunk joint's bone.

    It points to the next joint at another position; None for the last joint.
    """
    directions = (_compute_direction(points, rows[index], row) for row in rows[index + 1 :])
    return next((direction for direction in directions if direction is not None), None)


def _find_longest_bone(skeleton: Skeleton, points: Floats, row: int) -> Floats | None:
    """Find the direction of a joint's longest child bone, or None."""
    children = skeleton.children[row]
    if not children:
        return None
    return _compute_direction(points, row, max(children, key=lambda child: measure_length(points[child] - points[row])))


def _compute_direction(points: Floats, start_row: int, end_row: int) -> Floats | None:
    """Compute the unit vector between two joints. None where both are at the same position."""
    offset = points[end_row] - points[start_row]
    size = float((points.max(axis=0) - points.min(axis=0)).max())
    return normalise(offset) if measure_length(offset) > _SAME_POSITION_FRACTION * size else None


# --- Anatomical axes of joints, transported from the zero pose to rest -----------------------------------------------


# cosine: beyond it two directions count as opposite and the limb is lifted sideways
_OPPOSITE_COSINE = -0.999


class JointAxes(NamedTuple):
    """Anatomical axes of one joint.

    Vectors are unit vectors (3,), in the world at rest unless `express_in` changed the frame.

    joint, row      name and row in the skeleton
    role            role, "" for a trunk joint without one: a spine has more joints than roles
    part            part of the body: the role without its side ("UpperLeg"), "spine" from the hips to the arms, "neck"
                    from there on, the head included
    bone            along the bone at rest, to the next joint of the limb
    zero_bone       bone direction in the anatomical zero pose, all joints above at rest
    flexion_axis    right-handed. Positive flexion: thigh and upper arm go forward, shin backward, the hand to the
                    shoulder, toes up (dorsiflexion; toes are extended), trunk and head forward, the palm to the
                    forearm, a clavicle forward. Perpendicular to the bone
    abduction_axis  a positive rotation moves the bone outward (trunk and head: to the left; hand: to the thumb's side;
                    clavicle: up). Perpendicular to the bone and to `flexion_axis`
    forward, up, outward
                    of the whole body at rest; outward is to the left for the trunk and the left side
    flexion         [rad] angle about `flexion_axis` at rest, from zero
    abduction       [rad] angle about `abduction_axis` at rest
    rotation        [rad] rotation of the bone about itself at rest, positive medially (forearm: pronation; foot:
                    eversion); 0 where the rig does not show it
    side_sign       1.0 on the left and in the middle, -1.0 on the right: a rotation by `side_sign * x` about `bone` is
                    medial (pronation, eversion; of the trunk to the left) for a positive x
    source          evidence for the flexion axis
    is_bend_clear   whether the evidence is clear; False for elbows and knees that are straight at rest

    All describe the joint at rest: `flexion_axis` and `abduction_axis` are those of the zero pose, transported with the
    bone by the shortest rotation. When the joint bends, the end of its bone moves towards `cross(flexion_axis, bone)`.
    """

    joint: str
    row: int
    role: str
    part: str
    bone: Floats
    zero_bone: Floats
    flexion_axis: Floats
    abduction_axis: Floats
    forward: Floats
    up: Floats
    outward: Floats
    flexion: float
    abduction: float
    rotation: float
    side_sign: float
    source: str
    is_bend_clear: bool = True

    def express_in(self, frame: Floats) -> JointAxes:
        """Express the axes in a frame (3, 3). `frame` is its rotation in the world at rest."""
        return self._replace(**{name: getattr(self, name) @ frame for name in _VECTOR_FIELDS})

    def bend_towards(self, flexion_direction: Floats, source: str) -> JointAxes:
        """Replace the plane of bending.

        The end of the bone then moves towards `flexion_direction` (3,) when the joint bends.
        """
        angle = compute_signed_angle(
            cross(self.flexion_axis, self.bone), project_perpendicular(flexion_direction, self.bone), self.bone
        )
        rotation = about(self.bone, angle)
        return self._replace(
            flexion_axis=rotate(rotation, self.flexion_axis),
            abduction_axis=rotate(rotation, self.abduction_axis),
            source=source,
            is_bend_clear=True,
        )


_VECTOR_FIELDS = ("bone", "zero_bone", "flexion_axis", "abduction_axis", "forward", "up", "outward")


class JointIdentity(NamedTuple):
    """Identity of a joint for its axes. The fields are those of JointAxes."""

    joint: str
    row: int
    role: str
    part: str
    side_sign: float


def build_joint_axes(
    identity: JointIdentity,
    body: BodyFrame,
    bone: Floats,
    zero_bone: Floats,
    flexion_direction: Floats,
    abduction_direction: Floats,
    source: str,
) -> JointAxes:
    """Build joint axes from directions (3,).

    They are the bone at rest, the bone in the zero pose, and the directions of motion from there.

    flexion_direction, abduction_direction  motion of the bone's end in the zero pose under flexion and under abduction
    """
    flexion_axis = normalise(cross(zero_bone, flexion_direction))
    abduction_axis = cross(zero_bone, flexion_axis)
    abduction_axis *= 1.0 if float(abduction_axis @ cross(zero_bone, abduction_direction)) >= 0.0 else -1.0
    flexion, abduction = compute_swing(zero_bone, bone, flexion_axis, abduction_axis)
    axes = transport_vectors(np.stack([flexion_axis, abduction_axis]), zero_bone, bone, abduction_axis)
    return JointAxes(
        joint=identity.joint,
        row=identity.row,
        role=identity.role,
        part=identity.part,
        bone=bone,
        zero_bone=zero_bone,
        flexion_axis=axes[0],
        abduction_axis=axes[1],
        forward=body.forward,
        up=body.up,
        outward=identity.side_sign * body.left,
        flexion=flexion,
        abduction=abduction,
        rotation=0.0,
        side_sign=identity.side_sign,
        source=source,
    )


def project_perpendicular(vector: Floats, axis: Floats) -> Floats:
    """Project a vector (3,) perpendicular to another. `axis` is a unit vector; the result has unit length.

    The result is zero for parallel vectors.
    """
    return normalise(remove_component(vector, axis))


def transport_vectors(vectors: Floats, start: Floats, end: Floats, half_turn_axis: Floats) -> Floats:
    """Parallel-transport vectors (k, 3) from one direction to another.

    For opposite directions the rotation is about `half_turn_axis`.
    """
    if np.array_equal(start, end):
        return vectors
    if float(start @ end) < _OPPOSITE_COSINE:
        return rotate(about(half_turn_axis, np.pi), vectors)
    return rotate(rotation_between(start, end), vectors)


def compute_signed_angle(start: Floats, end: Floats, axis: Floats) -> float:
    """Compute the signed angle [rad] from one direction to another.

    It lies in -pi to pi, about an axis perpendicular to the first direction.
    """
    return float(np.arctan2(cross(start, end) @ axis, start @ end))


def compute_swing(zero_bone: Floats, bone: Floats, flexion_axis: Floats, abduction_axis: Floats) -> tuple[float, float]:
    """Compute the swing from `zero_bone` to `bone` [rad].

    It is the rotation vector of the shortest rotation, along the bend axis and the axis aside.
    """
    rotation_axis = cross(zero_bone, bone)
    sine = float(np.linalg.norm(rotation_axis))
    angle = float(np.arctan2(sine, zero_bone @ bone))
    if sine == 0.0:
        return 0.0, angle
    rotation_vector = rotation_axis * (angle / sine)
    return float(rotation_vector @ flexion_axis), float(rotation_vector @ abduction_axis)


# --- Axes of arms and legs -------------------------------------------------------------------------------------------
#
# Each comes from the bone above, the body's forward direction and the bend of the limb at rest.


# weight of the expected bend direction: that of a bend of 3 degrees at rest
_EXPECTED_BEND_SINE = float(np.sin(np.radians(3.0)))
# sine: a larger bend at rest shows its plane without doubt
_CLEAR_BEND_SINE = float(np.sin(np.radians(5.0)))
# cosine: a rest bend within 60 degrees of the expected direction shows the axis
_MIN_BEND_COSINE = 0.5
# cosine: a hinge within 45 degrees of a bone's direction twists the bone
_MAX_HINGE_COSINE = float(np.sqrt(0.5))
_PARALLEL_COSINE = 0.999  # 2.6 degrees: hinges of both sides whose axes are one direction
# of the smaller part of its range: a hinge that turns so much further to one side of a straight limb bends to that
# side; one of twenty robots turns 3 times as far to the wrong one. Below the second a hinge is locked.
_ONE_SIDED_RATIO, _MIN_RANGE_RAD = 3.5, np.radians(10.0)
# sine of the angle to the vertical: a steeper foot does not show the forward direction
_MIN_FOOT_SINE = 0.25
# of the shin: toes of people are a third of it ahead of the ankle, frames of motors and sensors nearer than this
_MIN_FOOT_SHARE = 0.15
# [rad] a steeper foot does not stand flat; slope of a flat foot
_STEEP_FOOT_RAD, _FLAT_FOOT_RAD = (
    np.radians(60.0),
    np.radians(30.0),
)
# [rad] a bone this steep below the ankle is a heel, not a foot
_HEEL_ANGLE_RAD = np.radians(80.0)
# [rad] from the front: feet of people who stand do not turn out so far
_MAX_SPLAY_RAD = np.radians(60.0)


class BendHinge(NamedTuple):
    """A hinge between two bones.

    axis          unit vector (3,) in the world at rest
    is_bend_side  whether its range shows to which side it bends: then the axis points so that it is positive
    """

    axis: Floats
    is_bend_side: bool

    def point_like(self, axis: Floats) -> Floats:
        """Point the axis (3,) like another one, where no range decides."""
        return self.axis * (-1.0 if not self.is_bend_side and float(self.axis @ axis) < 0.0 else 1.0)


def find_bend_hinge(skeleton: Skeleton, row: int, upper_bone: Floats, lower_bone: Floats) -> BendHinge | None:
    """Find the hinge between two bones.

    None for other joints, and for a hinge that rather twists one of the bones.
    """
    if skeleton.kinds[row] != Kind.HINGE:
        return None
    axis = compute_hinge_axis(skeleton, row)
    if any(abs(float(axis @ bone)) >= _MAX_HINGE_COSINE for bone in (upper_bone, lower_bone)):
        return None
    limit = skeleton.limits[row]
    if not isinstance(limit, Range):
        return BendHinge(axis, is_bend_side=False)
    upper, lower = (project_perpendicular(bone, axis) for bone in (upper_bone, lower_bone))
    straight = float(skeleton.rest_q[skeleton.q_start[row]]) - compute_signed_angle(upper, lower, axis)
    below, above = straight - limit.low, limit.high - straight
    is_one_sided = below + above > _MIN_RANGE_RAD and max(below, above) > _ONE_SIDED_RATIO * min(below, above)
    return BendHinge(axis if above >= below or not is_one_sided else -axis, is_one_sided)


class BodySide(NamedTuple):
    """One side of a body, "left" or "right"."""

    skeleton: Skeleton
    joints: Mapping[str, str]
    body: BodyFrame
    side: str

    @property
    def outward(self) -> Floats:
        """Direction (3,) away from the middle of the body."""
        return self.body.left if self.side == "left" else -self.body.left

    def has_joint(self, part: str) -> bool:
        """Return whether this side has a confident joint for a part."""
        return f"{self.side}{part}" in self.joints

    def has_toes_ahead(self) -> bool:
        """Return whether toes show where the foot points. They move, or are as far as toes."""
        if not self.has_joint("Toes"):
            return False
        if self.skeleton.kinds[self.skeleton.index(self.joints[f"{self.side}Toes"])] != Kind.FIXED:
            return True
        foot = self.get_position("Toes") - self.get_position("Foot")
        shin = self.get_position("Foot") - self.get_position("LowerLeg")
        drop = abs(float(foot @ self.body.up))
        return measure_length(remove_component(foot, self.body.up)) > max(drop, _MIN_FOOT_SHARE * measure_length(shin))

    def get_position(self, part: str) -> Floats:
        """Return the rest position of a joint."""
        return self.body.points[self.skeleton.index(self.joints[f"{self.side}{part}"])]

    def find_bone(self, part: str, default: Floats) -> Floats:
        """Find the direction of a joint's bone, or return a default."""
        bone = find_limb_bone(self.skeleton, self.joints, self.body.points, self.side, part)
        return default if bone is None else bone

    def find_hinge(self, part: str, upper_bone: Floats, lower_bone: Floats) -> BendHinge | None:
        """Find the hinge of an elbow or knee. None for other joints."""
        row = self.skeleton.index(self.joints[f"{self.side}{part}"])
        return find_bend_hinge(self.skeleton, row, upper_bone, lower_bone)

    def build_axes(
        self,
        part: str,
        bone: Floats,
        zero_bone: Floats,
        flexion_direction: Floats,
        abduction_direction: Floats,
        source: str,
    ) -> JointAxes:
        """Build the axes of a joint of this side. See `build_joint_axes`."""
        role = f"{self.side}{part}"
        row = self.skeleton.index(self.joints[role])
        identity = JointIdentity(self.skeleton.names[row], row, role, part, 1.0 if self.side == "left" else -1.0)
        return build_joint_axes(identity, self.body, bone, zero_bone, flexion_direction, abduction_direction, source)


def compute_leg_axes(limb: BodySide) -> list[JointAxes]:
    """Compute the axes of thigh, shin, foot and toes. Unknown parts are left out."""
    body, down = limb.body, -limb.body.up
    thigh = limb.build_axes(
        "UpperLeg", limb.find_bone("UpperLeg", down), down, body.forward, limb.outward, "the figure's front"
    )
    if not limb.has_joint("LowerLeg"):
        return [thigh]
    shin_bone = limb.find_bone("LowerLeg", thigh.bone)
    hinge = limb.find_hinge("LowerLeg", thigh.bone, shin_bone)
    foot_forward = foot_bone = body.forward
    if limb.has_joint("Foot"):
        foot_bone = _find_foot_bone(limb, hinge)
        level_foot = foot_bone - body.up * float(foot_bone @ body.up)
        foot_forward = (
            foot_forward + normalise(level_foot) if measure_length(level_foot) > _MIN_FOOT_SINE else foot_forward
        )
    flexion_direction, source, is_clear = _find_bend(
        thigh.bone, shin_bone, -foot_forward, "the figure's front and the foot", hinge
    )
    knee = limb.build_axes("LowerLeg", shin_bone, thigh.bone, flexion_direction, limb.outward, source)._replace(
        is_bend_clear=is_clear
    )
    rotation = compute_signed_angle(
        -thigh.flexion_axis, project_perpendicular(knee.flexion_axis, thigh.bone), thigh.bone
    )
    axes = [thigh._replace(rotation=thigh.side_sign * rotation), knee]
    if limb.has_joint("Foot"):
        axes.append(_compute_foot_axes(limb, shin_bone, foot_bone))
        if limb.has_joint("Toes"):
            bone = limb.find_bone("Toes", project_perpendicular(axes[-1].bone, body.up))
            axes.append(limb.build_axes("Toes", bone, bone, body.up, limb.outward, "the way up"))
    return axes


def _find_foot_bone(limb: BodySide, knee_hinge: BendHinge | None) -> Floats:
    """Find the bone of a foot. The figure's front takes its place where that is a heel.

    Below a knee of one hinge a foot points ahead and square to the hinge, unless it has toes at its front: frames that
    are fixed to feet of robots lie anywhere.
    """
    body = limb.body
    if knee_hinge is not None and not limb.has_toes_ahead():
        ahead = project_perpendicular(cross(body.up, knee_hinge.axis), body.up)
        cosine = float(ahead @ body.forward)
        if abs(cosine) > np.cos(_MAX_SPLAY_RAD):
            return ahead * np.sign(cosine)
    bone = limb.find_bone("Foot", body.forward)
    return body.forward if -float(bone @ body.up) > np.sin(_HEEL_ANGLE_RAD) else bone


def _find_bend(
    upper_bone: Floats, lower_bone: Floats, expected_direction: Floats, reason: str, hinge: BendHinge | None
) -> tuple[Floats, str, bool]:
    """Find the bend direction of the lower bone. Also return its source, and whether the rest bend is clear.

    It is the bend at rest, if that is within 60 degrees of the expected one, plus the expected one weighted like a bend
    of 3 degrees: the bones of a straight limb are slightly askew in every rig. A hinge bends about its axis: the drives
    of a robot are beside its bones, so that its joints show other planes.
    """
    bend_offset = lower_bone - upper_bone * float(lower_bone @ upper_bone)
    expected_direction = project_perpendicular(expected_direction, upper_bone)
    bend_sine = measure_length(bend_offset)
    if hinge is not None:
        axis = hinge.point_like(cross(upper_bone, expected_direction))
        is_clear = hinge.is_bend_side or bend_sine > _CLEAR_BEND_SINE
        return project_perpendicular(cross(axis, upper_bone), upper_bone), "its hinge", is_clear
    if float(bend_offset @ expected_direction) <= _MIN_BEND_COSINE * bend_sine:
        return expected_direction, reason, False
    return (
        project_perpendicular(bend_offset + _EXPECTED_BEND_SINE * expected_direction, upper_bone),
        f"the bend at rest and {reason}",
        bend_sine > _CLEAR_BEND_SINE,
    )


def _compute_foot_axes(limb: BodySide, shin_bone: Floats, bone: Floats) -> JointAxes:
    """Compute the axes of a foot.

    Its zero is a sole perpendicular to the shin; at rest it counts as flat if it slopes little.
    """
    up = limb.body.up
    level_bone = project_perpendicular(bone, up)
    axis = cross(level_bone, up)
    slope = float(np.arctan2(-(bone @ up), bone @ level_bone))
    toe_drop = slope - _FLAT_FOOT_RAD if slope > _STEEP_FOOT_RAD else 0.0  # the foot points down at rest
    shin_tilt = compute_signed_angle(
        -up, project_perpendicular(shin_bone, axis), axis
    )  # the shin tilted forward bends the ankle
    zero_bone = rotate(about(axis, toe_drop + shin_tilt), bone)
    return limb.build_axes("Foot", bone, zero_bone, up, limb.outward, "the foot, flat on the ground at rest")


def compute_arm_axes(limb: BodySide) -> list[JointAxes]:
    """Compute the axes of clavicle, upper arm, forearm and hand. Unknown parts are left out."""
    body, down = limb.body, -limb.body.up
    axes: list[JointAxes] = []
    if limb.has_joint("Shoulder"):
        bone = limb.find_bone("Shoulder", limb.outward)
        axes.append(limb.build_axes("Shoulder", bone, bone, body.forward, body.up, "the figure's front"))
    upper_arm = limb.build_axes(
        "UpperArm", limb.find_bone("UpperArm", down), down, body.forward, limb.outward, "the figure's front"
    )
    if not limb.has_joint("LowerArm"):
        return [*axes, upper_arm]
    forearm_bone = limb.find_bone("LowerArm", upper_arm.bone)
    arm_forward, arm_outward = (
        cross(upper_arm.flexion_axis, upper_arm.bone),
        cross(upper_arm.abduction_axis, upper_arm.bone),
    )
    flexion_direction, source, is_clear = _find_bend(
        upper_arm.bone, forearm_bone, arm_forward, "the figure's front, carried along with the arm",
        limb.find_hinge("LowerArm", upper_arm.bone, forearm_bone),
    )  # fmt: skip
    elbow = limb.build_axes("LowerArm", forearm_bone, upper_arm.bone, flexion_direction, arm_outward, source)._replace(
        is_bend_clear=is_clear
    )
    rotation = compute_signed_angle(
        upper_arm.flexion_axis, project_perpendicular(elbow.flexion_axis, upper_arm.bone), upper_arm.bone
    )
    axes += [upper_arm._replace(rotation=upper_arm.side_sign * rotation), elbow]
    return [*axes[:-1], *_compute_hand_axes(limb, elbow)] if limb.has_joint("Hand") else axes


def _compute_hand_axes(limb: BodySide, elbow: JointAxes) -> list[JointAxes]:
    """Compute the hand's axes and the forearm's rotation. The thumb side shows that rotation."""
    thumb_direction = cross(
        elbow.flexion_axis, elbow.bone
    )  # in the zero pose the thumb points in the elbow's flexion direction
    bone, source = limb.find_bone("Hand", elbow.bone), "the bend of the elbow, palms to the thighs"
    if limb.has_joint("IndexProximal") and limb.has_joint("LittleProximal"):
        knuckle_direction = project_perpendicular(
            limb.get_position("IndexProximal") - limb.get_position("LittleProximal"), bone
        )
        rotation = compute_signed_angle(
            thumb_direction, project_perpendicular(knuckle_direction, elbow.bone), elbow.bone
        )
        elbow = elbow._replace(rotation=elbow.side_sign * rotation)
        thumb_direction, source = knuckle_direction, "the knuckles"
    palm_direction = elbow.side_sign * cross(bone, project_perpendicular(thumb_direction, bone))
    return [elbow, limb.build_axes("Hand", bone, bone, palm_direction, thumb_direction, source)]


# --- Anatomical joint axes of a character ----------------------------------------------------------------------------
#
# An example is the knee's flexion axis.
#
# `find_joint_axes(skeleton)` returns a `JointAxes` for each joint with a confident role and for all joints of spine and
# neck. It depends on joint positions at rest only, not on joint frames: bones may be rolled in any way.
#
# find_joint_axes(skeleton)                         in the world at rest
# one.express_in(compute_joint_frame(s, one.row))   in the joint's own rest frame, the frame of limits and q
# one.express_in(compute_parent_frame(s, one.row))  in the parent's frame: the pelvis of a thigh, the thigh of a shin;
# in a pose, world = parent's rotation @ axis
#
# The anatomical zero pose is that of goniometry: standing, legs straight down, arms hanging, palms to the thighs, head
# up. Few rest poses are like it. Thighs and upper arms are measured from straight down, in the trunk's direction; knees
# and elbows from the line of the bone above; feet from a sole perpendicular to the shin. Trunk, neck, head, clavicles,
# hands and toes have different curves in every rig, so their zero is their rest.
#
# Example: `knee = find_joint_axes(skeleton)[rig.roles.joints["leftLowerLeg"]]`,
# then `np.cross(knee.flexion_axis, knee.bone)` is the motion of the foot when the knee bends, in the world at rest.


# cosine: a trunk bone that rises less is replaced by the up direction
_MIN_TRUNK_COSINE = 0.3


def find_confident_joints(roles: JointRoles) -> dict[str, str]:
    """Map confident roles to joint names. Confident means a confidence of 0.8 or more.

    A foot detached from its leg (an IK bone) has the key "leftFoot apart": the shin ends there.
    """
    confident_joints = {role: joint for role, joint in roles.joints.items() if roles.confidence[role] >= MIN_CONFIDENCE}
    return confident_joints | {f"{leg.side}{DETACHED_FOOT}": leg.foot for leg in roles.apart}


def find_joint_axes(skeleton: Skeleton, joints: Mapping[str, str] | None = None) -> dict[str, JointAxes]:
    """Find the anatomical axes of joints, by joint name. The result is cached per skeleton.

    Parameters
    ----------
    skeleton
        Its joints.
    joints
        Roles to joint names, both thighs and both upper arms among them; by default the confident ones.

    Raises
    ------
    InputError
        For unknown thighs or upper arms, and for a rest pose without recognizable body directions.
    """
    role_joints = find_confident_joints(find_joint_roles(skeleton)) if joints is None else dict(joints)
    return get_or_compute(
        skeleton, "anatomical axes", tuple(role_joints.items()), lambda: _compute_axes(skeleton, role_joints)
    )


def find_limb_axes(skeleton: Skeleton, joints: Mapping[str, str]) -> dict[str, JointAxes]:
    """Find the anatomical axes of arms and legs, by role.

    They are those of `find_joint_axes`, in two thirds of the time.
    """

    def compute() -> dict[str, JointAxes]:
        axes = _compute_limb_axes(skeleton, joints, find_body_frame(skeleton, joints))
        return {joint_axes.role: joint_axes for joint_axes in axes}

    return get_or_compute(skeleton, "limb axes", tuple(joints.items()), compute)


def find_body_frame(skeleton: Skeleton, joints: Mapping[str, str] | None = None) -> BodyFrame:
    """Find the body frame of a character at rest.

    The result is cached; `joints` and errors are those of `find_joint_axes`.
    """
    role_joints = find_confident_joints(find_joint_roles(skeleton)) if joints is None else dict(joints)
    return get_or_compute(
        skeleton, "body frames", tuple(role_joints.items()), lambda: compute_body_frame(skeleton, role_joints)
    )


def compute_joint_frame(skeleton: Skeleton, row: int) -> Floats:
    """Compute a joint's rest frame (3, 3) in the world. Limits and q are given in this frame."""
    return compute_rest_rotations(skeleton)[row]


def compute_parent_frame(skeleton: Skeleton, row: int) -> Floats:
    """Compute the rest frame (3, 3) of a joint's parent. For a root it is the identity."""
    parent = int(skeleton.parents[row])
    return np.eye(3) if parent < 0 else compute_rest_rotations(skeleton)[parent]


def _compute_axes(skeleton: Skeleton, joints: Mapping[str, str]) -> dict[str, JointAxes]:
    body = find_body_frame(skeleton, joints)
    axes = [*_compute_trunk_axes(skeleton, joints, body), *_compute_limb_axes(skeleton, joints, body)]
    return {joint_axes.joint: joint_axes for joint_axes in axes}


def _compute_limb_axes(skeleton: Skeleton, joints: Mapping[str, str], body: BodyFrame) -> list[JointAxes]:
    limbs = [BodySide(skeleton, joints, body, side) for side in SIDES]
    return [
        joint_axes
        for limb in limbs
        for compute_limb in (compute_arm_axes, compute_leg_axes)
        for joint_axes in compute_limb(limb)
    ]


def _compute_trunk_axes(skeleton: Skeleton, joints: Mapping[str, str], body: BodyFrame) -> list[JointAxes]:
    """Compute the axes of all spine and neck joints. Joints without a role are included."""
    roles = {joint: role for role, joint in joints.items()}
    spine, neck = find_trunk_rows(skeleton, joints)
    rows = [*spine, *neck]
    axes: list[JointAxes] = []
    for index, row in enumerate(rows):
        bone = find_trunk_bone(body.points, rows, index)
        if bone is None or float(bone @ body.up) < _MIN_TRUNK_COSINE:  # below a head are hair, eyes, a jaw or nothing
            bone = body.up
        name = skeleton.names[row]
        identity = JointIdentity(name, row, roles.get(name, ""), "spine" if index < len(spine) else "neck", 1.0)
        axes.append(build_joint_axes(identity, body, bone, bone, body.forward, body.left, "the figure's front"))
    return axes
