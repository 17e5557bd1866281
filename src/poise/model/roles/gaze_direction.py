"""Gaze direction of a character, level and ahead at rest. The head carries it from there on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.rotations import rotation_part
from poise.maths.vectors import normalise, remove_component, snap_to_axis
from poise.model.joint_tree import JointTree
from poise.model.numpy_kinematics import compute_world_transforms
from poise.model.roles.character_tree import CharacterTree
from poise.model.roles.limb_structure import find_facing
from poise.model.roles.role_search import JointRoles, Leg, build_character_tree, find_joint_roles
from poise.runtime.result_cache import get_or_compute

# default gaze: +z of the joint's own frame
DEFAULT_GAZE_AXIS = (0.0, 0.0, 1.0)
# cosine: hips that disagree more with the forward direction are ignored
_HIP_AGREEMENT_COSINE = 0.8
# cosine: authors make characters face along an axis, while feet may point aside
_AXIS_SNAP_COSINE = float(np.cos(np.radians(10.0)))
_MIN_VECTOR_LENGTH = 1e-6


class GazeDirection(NamedTuple):
    """Gaze direction of a joint, with its reason. The axis is in the joint's own frame.

    is_known  whether there is evidence; False for the default +z of the joint
    """

    axis: tuple[float, float, float]
    reason: str
    is_known: bool = True


def find_gaze(skeleton: JointTree, row: int) -> GazeDirection:
    """Find the gaze direction of the joint in a row.

    The head and the joints above and below it look in the direction of the face, in robots as well. Any other joint,
    and all joints without a known face, look along +z of their own frame. The result is cached per joint.
    """
    return get_or_compute(skeleton, "gaze directions", row, lambda: _compute_gaze(skeleton, row))


def _compute_gaze(skeleton: JointTree, row: int) -> GazeDirection:
    roles = find_joint_roles(skeleton)
    if "head" not in roles.joints:
        return GazeDirection(DEFAULT_GAZE_AXIS, "+z of the joint: no head is known", is_known=False)
    head_row = skeleton.index(roles.joints["head"])
    joint_name = skeleton.names[row]
    tree = build_character_tree(skeleton)
    if not (tree.is_above(row, head_row) or tree.is_above(head_row, row)):
        reason = f"{joint_name!r} is neither above nor below the head"
        return GazeDirection(DEFAULT_GAZE_AXIS, f"+z of the joint: {reason}", is_known=False)
    forward, reason = get_or_compute(skeleton, "face direction", None, lambda: _find_face_direction(tree, roles))
    if forward is None:
        return GazeDirection(DEFAULT_GAZE_AXIS, f"+z of the joint: {reason}", is_known=False)
    joint_rotation = rotation_part(compute_world_transforms(skeleton, skeleton.rest_q)[row, :3, :3])
    x, y, z = normalise(forward @ joint_rotation).tolist()
    return GazeDirection((x, y, z), reason)


def _find_face_direction(tree: CharacterTree, roles: JointRoles) -> tuple[Floats | None, str]:
    """Find the forward direction (3,) of a character at rest.

    It is a unit vector in the world or None; also return the reason.
    """
    skeleton = tree.skeleton
    if skeleton.faces is not None:
        axis = np.eye(3)["xyz".index(skeleton.faces[-1])]
        return (-axis if skeleton.faces.startswith("-") else axis), "the file's VRM version"
    leg_rows = [
        [skeleton.index(name) for name in (leg.upper, leg.lower, leg.foot, leg.toes) if name]
        for leg in _list_legs(roles)
    ]
    up = tree.up if tree.up is not None else _find_up(tree, leg_rows)
    if up is None:
        return None, "the up direction is unknown"
    for forward, reason in _list_cues(tree, roles, leg_rows, up):
        level_forward = remove_component(forward, up)
        if float(np.linalg.norm(level_forward)) > _MIN_VECTOR_LENGTH:
            return _align_forward(tree, roles, normalise(level_forward), up), reason
    return None, "the rest pose does not show the facing direction"


def _list_legs(roles: JointRoles) -> Sequence[Leg]:
    return roles.legs or roles.apart


def _find_up(tree: CharacterTree, leg_rows: list[list[int]]) -> Floats | None:
    """Find the up direction from the legs.

    None along X, where the rest pose shows no upright character.
    """
    if not leg_rows:
        return None
    up = find_facing(tree, leg_rows).up
    return up if abs(float(up[0])) < float(np.linalg.norm(up[1:])) else None


def _list_cues(
    tree: CharacterTree, roles: JointRoles, leg_rows: list[list[int]], up: Floats
) -> list[tuple[Floats, str]]:
    """List the forward cues, the most reliable first."""
    points, find_row = tree.positions, tree.skeleton.index
    cues: list[tuple[Floats, str]] = []
    leg_starts = {
        leg_position: [
            points[rows[0]]
            for rows, leg in zip(leg_rows, _list_legs(roles), strict=True)
            if leg.position == leg_position
        ]
        for leg_position in ("front", "hind")
    }
    if leg_starts["front"] and leg_starts["hind"]:
        cues.append((np.mean(leg_starts["front"], axis=0) - np.mean(leg_starts["hind"], axis=0), "the front legs"))
    elif leg_rows:
        facing = find_facing(tree, leg_rows)
        cues += [(facing.forward, facing.source)] if facing.is_observed else []
    eyes = [points[find_row(roles.joints[role])] for role in ("leftEye", "rightEye") if role in roles.joints]
    if len(eyes) == 2:  # noqa: PLR2004
        cues.append((np.mean(eyes, axis=0) - points[find_row(roles.joints["head"])], "the eyes"))
    return cues + [(np.cross(lateral, up), "left and right") for lateral in _list_lateral_vectors(tree, roles)]


def _list_lateral_vectors(tree: CharacterTree, roles: JointRoles) -> list[Floats]:
    """List the vectors across hips and shoulders. They point from right to left."""
    points, find_row = tree.positions, tree.skeleton.index
    joint_pairs = [
        [roles.joints.get(f"{side}{part}") for side in ("left", "right")] for part in ("UpperLeg", "UpperArm")
    ]
    hips_by_side = {side: [leg.upper for leg in _list_legs(roles) if leg.side == side] for side in ("left", "right")}
    lateral_vectors = [
        points[find_row(left)] - points[find_row(right)] for left, right in joint_pairs if left and right
    ]
    if hips_by_side["left"] and hips_by_side["right"]:
        hip_centres = [
            np.mean([points[find_row(name)] for name in hips_by_side[side]], axis=0) for side in ("left", "right")
        ]
        lateral_vectors.insert(0, hip_centres[0] - hip_centres[1])
    return lateral_vectors


def _align_forward(tree: CharacterTree, roles: JointRoles, forward: Floats, up: Floats) -> Floats:
    """Align the forward direction with hips and file axis. Feet may point aside."""
    for lateral in _list_lateral_vectors(tree, roles):
        perpendicular = np.cross(lateral, up)
        if (
            float(np.linalg.norm(perpendicular)) > _MIN_VECTOR_LENGTH
            and float(normalise(perpendicular) @ forward) > _HIP_AGREEMENT_COSINE
        ):
            forward = normalise(perpendicular)
            break
    return snap_to_axis(forward, _AXIS_SNAP_COSINE)
