"""Added joints: ends of forearms, forearms and whole arms.

The file of a character does not have them. They are fixed and behind all others, so that q stays as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from poise.errors import PoiseError, UnsupportedError
from poise.io.bone_end import bone_end
from poise.io.collision_shapes import CollisionShapes, read_collision_shapes
from poise.io.inertials import Inertial
from poise.io.mjcf_shapes import MjcfDocument
from poise.io.urdf_xml import UrdfDocument
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import snap_to_axis
from poise.model.anatomy.rest_geometry import compute_rest_transforms
from poise.model.clip import Clip
from poise.model.joint_tree import list_below
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Kind, Skeleton
from poise.retargeting.bend_axes import LIMBS
from poise.retargeting.body import FINGERS, Body

ARM_PARTS, LEG_PARTS = LIMBS
# of the leg: trunk and bones of arms that are added (after Drillis & Contini 1966)
_TRUNK_LENGTH, _ARM_BONE_LENGTH = 0.6, 0.35
# of the bone before: length of a forearm, and of an arm of one joint (forearm by upper arm, after the same)
_FOREARM_SHARE = 0.785
# of that length: joints and meshes that end nearer or farther show no end of a bone
_LEAST_SHARE, _MOST_SHARE = 0.4, 2.5
# cosine to the bone before: joints farther aside are no ends of forearms, but watches or props (as bone_end)
_MIN_ALONG_COSINE = 0.5
_WORDS = {"UpperArm": ("arm", "trunk and legs follow"), "LowerArm": ("forearm", "the upper arm is the whole arm"),
          "Hand": ("hand", "the arm ends with its forearm")}  # fmt: skip


class WholeArms(NamedTuple):
    """A skeleton with whole arms.

    skeleton  with fixed joints behind all others
    joints    roles to joint names, those of the added joints among them
    added     roles of added joints
    """

    skeleton: Skeleton
    joints: dict[str, str]
    added: tuple[str, ...]


def complete_arms(rig: Rig, joints: Mapping[str, str]) -> WholeArms:
    """Complete the arms of a character.

    A bone ends amid fingers that begin at it, or where joints or a mesh below it end, else at a human length. An
    unknown arm hangs from the trunk.
    """
    skeleton, named = rig.skeleton, dict(joints)
    if all(f"{side}{part}" in named for side in SIDES for part in ARM_PARTS):
        return WholeArms(skeleton, named, ())
    without = [side for side in SIDES if f"{side}UpperArm" not in named]
    skeleton, named = add_arms(skeleton, named, without)
    whole = 2.0 * _ARM_BONE_LENGTH * _measure_legs(rig.skeleton, joints)
    for side in (side for side in SIDES if side not in without):
        upper, lower, hand = (f"{side}{part}" for part in ARM_PARTS)
        if lower not in named:
            row = skeleton.index(named[upper])
            end = _find_end(rig, row, whole) if hand not in named else _find_offset(skeleton, row, named[hand])
            skeleton, named[lower] = add_fixed_joint(skeleton, f"{lower} of no joint", row, 0.5 * end)
            if hand not in named:
                skeleton, named[hand] = add_fixed_joint(skeleton, f"{hand} of no joint", row, end)
        if hand not in named:
            row = skeleton.index(named[lower])
            fingers = [
                joint for role, joint in joints.items() if role.startswith(tuple(f"{side}{one}" for one in FINGERS))
            ]
            ends = [joint for joint in fingers if int(skeleton.parents[skeleton.index(joint)]) == row]
            found = (
                np.mean([_find_offset(skeleton, row, joint) for joint in ends], axis=0) if ends else _find_end(rig, row)
            )
            skeleton, named[hand] = add_fixed_joint(skeleton, f"{hand} of no joint", row, found)
    return WholeArms(skeleton, named, tuple(role for role, joint in named.items() if joint not in rig.skeleton))


def _find_offset(skeleton: Skeleton, row: int, joint: str) -> Floats:
    """Find a joint (3,) at rest in the frame of another."""
    world = compute_rest_transforms(skeleton)
    return _solve(world[row, :3, :3], world[skeleton.index(joint), :3, 3] - world[row, :3, 3])


def _find_end(rig: Rig, row: int, whole: float | None = None) -> Floats:
    """Find the end (3,) of a bone in its joint's frame.

    `whole` is the expected length of an arm of one joint, whose collar bone shows neither its length nor its direction.
    """
    skeleton, world = rig.skeleton, compute_rest_transforms(rig.skeleton)
    if isinstance(skeleton.source, (UrdfDocument, MjcfDocument)):
        with suppress(PoiseError):  # neither mass nor shape
            return 2.0 * find_centre(rig, row, read_collision_shapes(rig))
    turn, start, above = world[row, :3, :3], world[row, :3, 3], int(skeleton.parents[row])
    while above > 0 and np.allclose(world[above, :3, 3], start):  # twist joints where the bone begins
        above = int(skeleton.parents[above])
    way = start - world[above, :3, 3] if above >= 0 else np.zeros(3)
    before = float(np.linalg.norm(way))
    length = _FOREARM_SHARE * before if whole is None else whole
    least, most = _LEAST_SHARE * length, _MOST_SHARE * length
    found = [world[below, :3, 3] - start for below in list_below(skeleton.parents, row)]
    found = [
        end for end in found
        if least <= (reach := float(np.linalg.norm(end))) <= most
        and (whole is not None or float(end @ way) >= _MIN_ALONG_COSINE * reach * before)
    ]  # fmt: skip
    if found:
        return _solve(turn, max(found, key=lambda end: float(end @ end)))
    with suppress(PoiseError):  # no mesh, or one that cannot be read
        end = bone_end(rig, skeleton.names[row])
        if least <= float(np.linalg.norm(turn @ end)) <= most:
            return end
    # in most files the bones of a limb are along the same axis of their joints
    return length / before * _solve(world[above, :3, :3], way) if before > 0.0 else np.zeros(3)


def find_centre(target: Rig, row: int, shapes: CollisionShapes) -> Floats:
    """Find the centre (3,) of a link and of all below it.

    It is at rest, in the frame of the link, by masses or by shapes.
    """
    skeleton, world = target.skeleton, compute_rest_transforms(target.skeleton)
    below = list_below(skeleton.parents, row)
    inertials: Mapping[str, Inertial] = getattr(skeleton.source, "inertials", {})
    parts = [(other, inertials[skeleton.names[other]]) for other in below if skeleton.names[other] in inertials]
    centres = [world[other, :3, :3] @ inertial.centre + world[other, :3, 3] for other, inertial in parts]
    masses = [inertial.mass for _, inertial in parts]
    if not any(masses):
        centres = [
            world[other, :3, :3] @ shape.centre + world[other, :3, 3]
            for other, shape in shapes.shapes
            if other in below
        ]
        masses = [1.0] * len(centres)
    if not centres:
        raise UnsupportedError(
            f"the target has no known hand, and neither mass nor shape says where the forearm {skeleton.names[row]!r} "
            "ends: name the hands in the [humanoid] table of its sidecar"
        )
    centre = np.average(centres, axis=0, weights=masses)
    return world[row, :3, :3].T @ (centre - world[row, :3, 3])


def _solve(turn: Floats, vector: Floats) -> Floats:
    """Turn a vector (3,) into a frame. It may be scaled."""
    return np.asarray(np.linalg.lstsq(turn, vector, rcond=None)[0], dtype=np.float64)


def add_arms(skeleton: Skeleton, joints: Mapping[str, str], sides: list[str]) -> tuple[Skeleton, dict[str, str]]:
    """Add fixed arms. Also return all joints by role.

    They hang from the top of the trunk.
    """
    named, world = dict(joints), compute_rest_transforms(skeleton)
    legs = {side: [world[skeleton.index(joints[f"{side}{part}"]), :3, 3] for part in LEG_PARTS] for side in SIDES}
    stand = np.mean([leg[0] - leg[-1] for leg in legs.values()], axis=0)
    length = _measure_legs(skeleton, joints)
    up = length * (np.eye(3)["xyz".index(skeleton.up)] if skeleton.up else snap_to_axis(stand, 0.0))
    for side in sides:
        parent, place = _find_trunk_top(skeleton, joints), legs[side][0] + _TRUNK_LENGTH * up
        for part in ARM_PARTS:
            offset = _solve(world[parent, :3, :3], place - world[parent, :3, 3])
            skeleton, named[f"{side}{part}"] = add_fixed_joint(skeleton, f"{side}{part} of no joint", parent, offset)
            parent, place, world = len(skeleton) - 1, place - _ARM_BONE_LENGTH * up, compute_rest_transforms(skeleton)
    return skeleton, named


def _measure_legs(skeleton: Skeleton, joints: Mapping[str, str]) -> float:
    """Measure the mean length of both legs."""
    world = compute_rest_transforms(skeleton)
    legs = [[world[skeleton.index(joints[f"{side}{part}"]), :3, 3] for part in LEG_PARTS] for side in SIDES]
    return float(np.mean([np.linalg.norm(np.diff(leg, axis=0), axis=1).sum() for leg in legs]))


def _find_trunk_top(skeleton: Skeleton, joints: Mapping[str, str]) -> int:
    """Find the highest known joint of the trunk.

    Without one it is the last one above both legs.
    """
    known = [joints[role] for role in ("upperChest", "chest", "spine", "hips") if role in joints]
    if known:
        return skeleton.index(known[0])
    paths = [skeleton.list_path(skeleton.index(joints[f"{side}UpperLeg"])) for side in SIDES]
    return max(row for row in paths[0][:-1] if row in paths[1])


def add_fixed_joint(skeleton: Skeleton, name: str, parent: int, offset: Floats) -> tuple[Skeleton, str]:
    """Add a fixed joint behind all others. Also return its name, with "_" behind it where it was taken."""
    while name in skeleton.names:
        name += "_"
    added = dataclasses.replace(
        skeleton,
        names=(*skeleton.names, name),
        parents=np.append(skeleton.parents, parent),
        kinds=np.append(skeleton.kinds, int(Kind.FIXED)),
        axes=np.concatenate([skeleton.axes, np.zeros((1, 3))]),
        A=np.concatenate([skeleton.A, np.array([[*offset, *rotations.IDENTITY]])]),
        B=np.concatenate([skeleton.B, np.eye(3, 4)[None]]),
        limits=(*skeleton.limits, None),
        couplings=(*skeleton.couplings, None),
        source_ids=(*skeleton.source_ids, None) if skeleton.source_ids else (),
        euler=(*skeleton.euler, "") if skeleton.euler else (),
        source=None,
    )
    return added, name


def extend_poses(poses: Pose, skeleton: Skeleton) -> Pose:
    """Extend poses by the joints added to their skeleton."""
    start = len(poses.skeleton)
    if start >= len(skeleton):
        return poses
    rest = skeleton.A[start:, :3], np.ones((len(skeleton) - start, 3))
    channels = [
        None if channel is None
        else np.concatenate([channel, np.broadcast_to(added, (*channel.shape[:-2], *added.shape))], axis=-2)
        for channel, added in zip((poses.translations, poses.scales), rest, strict=True)
    ]  # fmt: skip
    return Pose(skeleton, poses.q, *channels)


def extend_clip(clip: Clip, skeleton: Skeleton) -> Clip:
    """Extend a clip by the joints added to its skeleton."""
    if len(clip.skeleton) == len(skeleton):  # its poses need not be sampled from tracks
        return clip
    return Clip(clip.times, extend_poses(clip.poses, skeleton), clip.name)


def leave_out_added_joints(body: Body, skeleton: Skeleton) -> Body:
    """Return the body without what was added behind a skeleton's joints."""
    rows = {role: row for role, row in body.rows.items() if row < len(skeleton)}
    return body._replace(skeleton=skeleton, rows=rows, joints={role: body.joints[role] for role in rows}, added=())


def list_known_arms(*bodies: Body) -> list[str]:
    """List the sides with a known forearm in all bodies."""
    return [side for side in SIDES if not any(f"{side}LowerArm" in body.added for body in bodies)]


def describe_added_joints(name: str, body: Body) -> list[str]:
    """Describe the missing parts of a character's arms."""
    notes: list[str] = []
    for part, above in zip(ARM_PARTS, (None, *ARM_PARTS), strict=False):
        sides = [side for side in SIDES if f"{side}{part}" in body.added and f"{side}{above}" not in body.added]
        if sides:
            word, outcome = _WORDS[part]
            notes.append(f"the {name} has no known {' and '.join(sides)} {word}: {outcome}")
    return notes
