"""Bodies of robots, some without hands or moving arms.

Also the axes of their world.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from itertools import product

import numpy as np

from poise.errors import UnsupportedError
from poise.ground.robot.tree import RobotTree
from poise.io.collision_shapes import CollisionShapes, read_collision_shapes
from poise.io.inertials import Inertial
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import normalise, snap_to_axis
from poise.model.anatomy.rest_geometry import BodyFrame, compute_rest_transforms
from poise.model.rig import Rig
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Kind, Skeleton
from poise.retargeting.bend_axes import LIMBS
from poise.retargeting.body import Body, measure_body

ARM_PARTS, LEG_PARTS = LIMBS
_NEEDED_ARM_PARTS = ARM_PARTS[:2]  # forearms may end without a hand
# of the leg: trunk and bones of arms that are added (after Drillis & Contini 1966)
_TRUNK_LENGTH, _ARM_BONE_LENGTH = 0.6, 0.35
_UPPER_PARTS = ("UpperArm", "LowerArm", "upper arm"), ("UpperLeg", "LowerLeg", "thigh")
# cosine: a rest pose that is tilted by more lies, and does not show where the robot looks
_LYING_COSINE = np.cos(np.radians(30.0))
_FORWARD = {"x": (0.0, 1.0, 0.0), "y": (0.0, 0.0, 1.0), "z": (1.0, 0.0, 0.0)}


def measure_robot_body(target: Rig, joints: Mapping[str, str]) -> Body:
    """Measure the body of a robot.

    Without hands its forearms end at twice the way to their centres of mass, without known arms they hang from a trunk
    of human length. Rows of what is added are behind those of the skeleton.
    """
    skeleton, named = _add_arms(target.skeleton, joints)
    missing = [side for side in SIDES if f"{side}Hand" not in named]
    if missing:
        shapes = read_collision_shapes(target)
        for side in missing:
            row = skeleton.index(joints[f"{side}LowerArm"])
            end = 2.0 * _find_centre(target, row, shapes)
            named[f"{side}Hand"] = f"{skeleton.names[row]} end"
            skeleton = _add_fixed_joint(skeleton, named[f"{side}Hand"], row, end)
    return _stand_in_world(measure_body(skeleton, named, []))


def _add_arms(skeleton: Skeleton, joints: Mapping[str, str]) -> tuple[Skeleton, dict[str, str]]:
    """Add fixed arms where none are known. Also return all joints by role.

    They hang from the top of the trunk.
    """
    named, world = dict(joints), compute_rest_transforms(skeleton)
    legs = {side: [world[skeleton.index(joints[f"{side}{part}"]), :3, 3] for part in LEG_PARTS] for side in SIDES}
    stand = np.mean([leg[0] - leg[-1] for leg in legs.values()], axis=0)
    length = float(np.mean([np.linalg.norm(np.diff(leg, axis=0), axis=1).sum() for leg in legs.values()]))
    up = length * (np.eye(3)["xyz".index(skeleton.up)] if skeleton.up else snap_to_axis(stand, 0.0))
    for side, leg in legs.items():
        if all(f"{side}{part}" in joints for part in _NEEDED_ARM_PARTS):
            continue
        parent, place = _find_trunk_top(skeleton, joints), leg[0] + _TRUNK_LENGTH * up
        for part in ARM_PARTS:
            turn, start = world[parent, :3, :3], world[parent, :3, 3]
            offset = turn.T @ (place - start)
            named[f"{side}{part}"] = f"{side}{part} of no joint"
            skeleton = _add_fixed_joint(skeleton, named[f"{side}{part}"], parent, offset)
            parent, place, world = len(skeleton) - 1, place - _ARM_BONE_LENGTH * up, compute_rest_transforms(skeleton)
    return skeleton, named


def _find_trunk_top(skeleton: Skeleton, joints: Mapping[str, str]) -> int:
    """Find the highest known joint of the trunk.

    Without one it is the last one above both legs.
    """
    known = [joints[role] for role in ("upperChest", "chest", "spine", "hips") if role in joints]
    if known:
        return skeleton.index(known[0])
    paths = [skeleton.list_path(skeleton.index(joints[f"{side}UpperLeg"])) for side in SIDES]
    return max(row for row in paths[0][:-1] if row in paths[1])


def _find_centre(target: Rig, row: int, shapes: CollisionShapes) -> Floats:
    """Find the centre of a link, by its mass or its shapes."""
    name = target.skeleton.names[row]
    inertials: Mapping[str, Inertial] = getattr(target.skeleton.source, "inertials", {})
    if name in inertials:
        return np.array(inertials[name].centre)
    centres = [shape.centre for shape_row, shape in shapes.shapes if shape_row == row]
    if not centres:
        raise UnsupportedError(
            f"the target has no known hand, and neither mass nor shape says where the forearm {name!r} ends: "
            "name the hands in the [humanoid] table of its sidecar"
        )
    return np.mean(centres, axis=0)


def _add_fixed_joint(skeleton: Skeleton, name: str, parent: int, offset: Floats) -> Skeleton:
    """Add a fixed joint behind all others."""
    return dataclasses.replace(
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


def _stand_in_world(body: Body) -> Body:
    """Stand a robot along the up axis of its file.

    The trunk of a robot at rest is not quite upright, or lies.
    """
    own = body.reference.body
    up = np.eye(3)["xyz".index(body.skeleton.up)] if body.skeleton.up else snap_to_axis(own.up, 0.0)
    if float(own.up @ up) >= _LYING_COSINE:
        ahead = body.reference.world_axes[0]
    else:
        ahead = np.array(_FORWARD["xyz"[int(np.abs(up).argmax())]])
    ahead = normalise(ahead - up * float(ahead @ up))
    axes = np.stack([ahead, np.cross(up, ahead), up])
    return body._replace(reference=body.reference._replace(world_axes=axes), world_turn=rotations.from_matrix(axes))


def turn_to_body(body: BodyFrame) -> Floats:
    """Compute the rotation (4,) from file axes to body axes.

    Those are ahead, left and up at rest.
    """
    return rotations.from_matrix(np.stack([body.forward, body.left, body.up]))


def leave_out_added_joints(body: Body, skeleton: Skeleton) -> Body:
    """Return the body without what was added behind a skeleton's joints."""
    rows = {role: row for role, row in body.rows.items() if row < len(skeleton)}
    return body._replace(skeleton=skeleton, rows=rows, joints={role: body.joints[role] for role in rows})


# --- Limbs that cannot move ------------------------------------------------------------------------------------------


def count_freedoms(body: Body, tree: RobotTree) -> dict[str, int]:
    """Count the freedoms of parts of limbs against the trunk, by role. Locked joints have none."""
    free: dict[int, int] = {row: 1 for row, coupling in enumerate(tree.skeleton.couplings) if coupling is not None}
    for unknown in tree.unknowns:
        if unknown.low < unknown.high:
            free[unknown.row] = 1 + (free.get(unknown.row, 0) if unknown.order else 0)
    trunk, freedoms = {*body.spine.rows}, dict[str, int]()
    for role in (f"{side}{part}" for side, part in product(SIDES, (*ARM_PARTS, *LEG_PARTS))):
        path = body.skeleton.list_path(body.segments[role].carrier)
        below = max((place + 1 for place, row in enumerate(path) if row in trunk), default=0)
        freedoms[role] = sum(free.get(row, 0) for row in path[below:])
    return freedoms


def describe_fixed_limbs(body: Body, tree: RobotTree, fixed: Collection[str]) -> list[str]:
    """Describe unknown arms, and parts of limbs fixed to the trunk."""
    unknown = [side for side in SIDES if body.rows[f"{side}UpperArm"] >= len(tree.nodes)]
    stiff = [f"{side} arm" for side in SIDES if side not in unknown and f"{side}LowerArm" in fixed]
    stiff += [
        f"{side} {word}"
        for side, (part, after, word) in product(SIDES, _UPPER_PARTS)
        if f"{side}{part}" in fixed and f"{side}{after}" not in fixed
    ]
    notes: list[str] = []
    if unknown:
        notes.append(f"the target has no known {' and '.join(unknown)} arm: trunk and legs follow the source")
    if stiff:
        stay = "it stays" if len(stiff) == 1 else "they stay"
        notes.append(f"no joint moves the target's {' and '.join(stiff)} against its trunk: {stay} as at rest")
    return notes
