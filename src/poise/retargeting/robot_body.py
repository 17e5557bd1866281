"""Bodies of robots, some without hands or moving arms.

Also the axes of their world.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product

import numpy as np

from poise.ground.robot.tree import RobotTree, Unknown
from poise.io.collision_shapes import read_collision_shapes
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import normalise, snap_to_axis
from poise.model.anatomy.rest_geometry import BodyFrame, compute_rest_rotations
from poise.model.rig import Rig
from poise.model.roles.bone_names import SIDES
from poise.model.roles.character_tree import SAME_AXIS
from poise.model.skeleton import Kind
from poise.retargeting.added_joints import ARM_PARTS, LEG_PARTS, add_arms, add_fixed_joint, find_centre
from poise.retargeting.body import NEXT_PARTS, Body, measure_body, split_role
from poise.runtime.immutable_values import freeze
from poise.runtime.result_cache import get_or_compute

_NEEDED_ARM_PARTS = ARM_PARTS[:2]  # forearms may end without a hand
# words for a limb's bones, by which of both are fixed
_STIFF_WORDS = {
    parts[:2]: {(True, True): limb, (True, False): upper, (False, True): lower}
    for parts, limb, upper, lower in (
        (ARM_PARTS, "arm", "upper arm", "forearm"),
        (LEG_PARTS, "leg", "thigh", "shin"),
    )
}
# cosine: a rest pose that is tilted by more lies, and does not show where the robot looks
_LYING_COSINE = np.cos(np.radians(30.0))
_FORWARD = {"x": (0.0, 1.0, 0.0), "y": (0.0, 0.0, 1.0), "z": (1.0, 0.0, 0.0)}


def measure_robot_body(target: Rig, joints: Mapping[str, str]) -> Body:
    """Measure the body of a robot, once for all clips.

    Without hands its forearms end at twice the way to their centres of mass, without known arms they hang from a trunk
    of human length. Rows of what is added are behind those of the skeleton.
    """
    return get_or_compute(target, "robot's body", tuple(joints.items()), lambda: freeze(_measure_body(target, joints)))


def _measure_body(target: Rig, joints: Mapping[str, str]) -> Body:
    unknown = [side for side in SIDES if any(f"{side}{part}" not in joints for part in _NEEDED_ARM_PARTS)]
    skeleton, named = add_arms(target.skeleton, joints, unknown)
    missing = [side for side in SIDES if f"{side}Hand" not in named]
    if missing:
        shapes = read_collision_shapes(target)
        for side in missing:
            row = skeleton.index(joints[f"{side}LowerArm"])
            end = 2.0 * find_centre(target, row, shapes)
            skeleton, named[f"{side}Hand"] = add_fixed_joint(skeleton, f"{skeleton.names[row]} end", row, end)
    return _stand_in_world(measure_body(skeleton, named, []))


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


# --- Limbs that cannot move ------------------------------------------------------------------------------------------


def list_movers(body: Body, tree: RobotTree, role: str) -> dict[int, set[int]]:
    """List the unknowns behind each joint of a limb.

    Its path leads from below the trunk to the part's carrier. Followers are turned by their leaders; slides and locked
    joints by none.
    """
    path = body.skeleton.list_path(body.segments[role].carrier)
    below = max((place + 1 for place, row in enumerate(path) if row in body.spine.rows), default=0)
    skeleton, movers = tree.skeleton, dict[int, set[int]]()
    for row in path[below:]:
        if row >= len(tree.nodes) or skeleton.kinds[row] == Kind.SLIDE:
            continue
        coupling = skeleton.couplings[row]
        leader = row if coupling is None else coupling.leader
        is_still = coupling is not None and coupling.ratio == 0.0
        movers[row] = {
            column
            for column, unknown in enumerate(tree.unknowns)
            if unknown.row == leader and unknown.low < unknown.high and not is_still
        }
    return movers


def count_freedoms(body: Body, tree: RobotTree) -> dict[str, int]:
    """Count the freedoms of parts of limbs against the trunk, by role.

    Locked joints have none, followers that of their leader. Bones whose hinges all turn about them, or behind their
    joint, keep their direction, and have none.
    """
    freedoms = dict[str, int]()
    for role in (f"{side}{part}" for side, part in product(SIDES, (*ARM_PARTS, *LEG_PARTS))):
        movers = list_movers(body, tree, role)
        is_end = role.endswith((ARM_PARTS[-1], LEG_PARTS[-1]))
        can_move = is_end or _can_point(body, tree, role, movers)
        freedoms[role] = len(set[int]().union(*movers.values())) if can_move else 0
    return freedoms


def _can_point(body: Body, tree: RobotTree, role: str, movers: Mapping[int, Collection[int]]) -> bool:
    """Return whether a hinge turns the direction of a bone."""
    side, part = split_role(role)
    start, end = body.segments[role].row, body.rows[f"{side}{NEXT_PARTS[part]}"]
    points, turns = body.reference.body.points, rotations.from_matrix(compute_rest_rotations(body.reference.skeleton))
    way = normalise(points[end] - points[start])
    for row in (row for row in movers if row <= start):
        to_world = rotations.multiply(turns[row], rotations.inverse(tree.turns[row]))
        axes = [find_axis(tree, row, tree.unknowns[column]) for column in movers[row]]
        if any(abs(float(rotations.rotate(to_world, axis) @ way)) < SAME_AXIS for axis in axes):
            return True
    return False


def find_axis(tree: RobotTree, row: int, unknown: Unknown) -> Floats:
    """Find the axis (3,) of a hinge in its node."""
    if unknown.axis is not None:
        return unknown.axis
    return np.eye(3)["XYZ".index(unknown.order[unknown.place])] if unknown.order else tree.skeleton.axes[row]


def describe_fixed_limbs(body: Body, tree: RobotTree, fixed: Collection[str]) -> list[str]:
    """Describe unknown arms, and parts of limbs fixed to the trunk."""
    unknown = [side for side in SIDES if body.rows[f"{side}UpperArm"] >= len(tree.nodes)]
    stiff = dict[str, list[str]]()
    for (parts, words), side in product(_STIFF_WORDS.items(), SIDES):
        word = words.get((f"{side}{parts[0]}" in fixed, f"{side}{parts[1]}" in fixed))
        if word and not (side in unknown and parts == _NEEDED_ARM_PARTS):
            stiff.setdefault(word, []).append(side)
    notes: list[str] = []
    if unknown:
        rest = "trunk and legs follow" if len(unknown) == len(SIDES) else "the remaining body follows"
        notes.append(f"the target has no known {' and '.join(unknown)} arm: {rest} the source")
    if stiff:
        names = " and ".join(f"{' and '.join(sides)} {word}" for word, sides in stiff.items())
        stay = "it stays" if sum(map(len, stiff.values())) == 1 else "they stay"
        notes.append(f"no joint moves the target's {names} against its trunk: {stay} as at rest")
    return notes
