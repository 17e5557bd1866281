"""Capsules to keep a robot's parts apart.

Radii are those of its collision shapes, else of its size.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np

from poise.ground.robot.clip_descent import NO_PAIRS, CapsulePairs
from poise.ground.robot.tree import RobotTree
from poise.io.bone_end import LinkShape
from poise.io.collision_shapes import CollisionShapes
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import normalise
from poise.model.anatomy.rest_geometry import compute_rest_rotations
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.retargeting.body import Body
from poise.retargeting.robot_body import turn_to_body

# of the leg: radii of parts without shapes, length of a hand, and the margin between parts
_RADII = {"Hand": 0.055, "LowerArm": 0.06, "UpperLeg": 0.12, "LowerLeg": 0.08, "hips": 0.16, "chest": 0.19}
_HAND_LENGTH, MARGIN = 0.18, 0.01
# of the leg: how far thighs without shapes reach out ahead of the line from hip to knee, as covers of motors do; and
# how deep a chest is for its width, which is what thighs meet
_THIGH_AHEAD, _CHEST_DEPTH = 0.04, 0.8
# of these radii: the largest one that a shape may have, and those of robots without collision meshes, which have
# no covers
_MAX_SHARE, _SLIM = 1.5, 0.6
# of the way from the middle of the hip joints to that of the shoulders: what hips and chest fill
_HIPS_ENDS, _CHEST_ENDS = (-0.1, 0.2), (0.4, 0.8)
# directions across a bone in which meshes are measured
_WIDTHS = 12
# of the product of squared lengths: segments with a smaller area between them are parallel
_PARALLEL, _TINY = 1e-9, 1e-12


class Capsule(NamedTuple):
    """A capsule around a part.

    part    its name, such as "leftHand"
    row     the joint that carries it
    ends    (2, 3) at rest, in the axes of the body
    radius  of it
    """

    part: str
    row: int
    ends: Floats
    radius: float


def find_pairs(
    body: Body, tree: RobotTree, shapes: CollisionShapes, corners: Mapping[str, Floats]
) -> tuple[CapsulePairs, tuple[tuple[str, str], ...]]:
    """Find the capsules to keep apart. Also return the names of both parts.

    `corners` are those of `list_mesh_corners`.

    Parts that are nearer to each other at rest may be as near as they are there. Hands that the file does not have are
    left out, and so is the chest of a robot that is hips and legs alone.
    """
    capsules = {
        capsule.part: capsule for capsule in _list_capsules(body, shapes, corners) if capsule.row < len(tree.nodes)
    }
    if len(body.spine.rows) == 1 and all(body.rows[f"{side}UpperArm"] >= len(tree.nodes) for side in SIDES):
        del capsules["chest"]
    names = [pair for pair in _list_pairs() if all(part in capsules for part in pair)]
    if not names:
        return NO_PAIRS, ()
    margin = MARGIN * body.leg_length
    nodes, ends, reaches = list[list[int]](), list[Floats](), list[float]()
    local = {part: _place_ends(body, tree, capsule) for part, capsule in capsules.items()}
    for pair in names:
        first, second = (capsules[part] for part in pair)
        distance = float(measure_distance(*first.ends, *second.ends))
        nodes.append([int(tree.nodes[one.row]) for one in (first, second)])
        ends.append(np.concatenate([local[part] for part in pair]))
        reaches.append(min(_add_radii(first, second) + margin, distance))
    return CapsulePairs(np.array(nodes, dtype=np.int64), np.array(ends), np.array(reaches)), tuple(names)


def _list_pairs() -> list[tuple[str, str]]:
    """List the pairs of parts.

    Arms and all others, both shins, thighs and chest.
    """
    pairs = [
        (f"{side}{arm}", other)
        for side, arm in product(SIDES, ("Hand", "LowerArm"))
        for other in ("hips", "chest", *(f"{leg}UpperLeg" for leg in SIDES))
    ]
    pairs += [(f"left{one}", f"right{other}") for one, other in product(("Hand", "LowerArm"), repeat=2)]
    return [*pairs, ("leftLowerLeg", "rightLowerLeg"), *((f"{side}UpperLeg", "chest") for side in SIDES)]


def _add_radii(first: Capsule, second: Capsule) -> float:
    """Add the radii of a pair. Thighs meet a chest from ahead, where it is less thick than from the side."""
    is_from_ahead = first.part.endswith("UpperLeg") and second.part == "chest"
    return first.radius + (_CHEST_DEPTH if is_from_ahead else 1.0) * second.radius


def _list_capsules(body: Body, shapes: CollisionShapes, corners: Mapping[str, Floats]) -> list[Capsule]:
    to_body = turn_to_body(body.reference.body)
    points = rotations.rotate(to_body, body.reference.body.points)
    place = {role: points[row] for role, row in body.rows.items()}
    hips, shoulders = (0.5 * (place[f"left{part}"] + place[f"right{part}"]) for part in ("UpperLeg", "UpperArm"))
    up, capsules = shoulders - hips, list[Capsule]()
    size = body.leg_length * (1.0 if shapes.meshes else _SLIM)
    for part, row, fractions in (("hips", body.spine.rows[0], _HIPS_ENDS), ("chest", body.spine.rows[-1], _CHEST_ENDS)):
        ends = np.array([hips + fraction * up for fraction in fractions])
        capsules.append(Capsule(part, row, ends, _RADII[part] * size))
    for side, (part, after) in product(SIDES, (("LowerArm", "Hand"), ("UpperLeg", "LowerLeg"), ("LowerLeg", "Foot"))):
        role = f"{side}{part}"
        row = body.segments[role].carrier if part == "UpperLeg" else body.rows[role]
        ends = np.array([place[role], place[f"{side}{after}"]])
        radii = _list_radii(body, shapes, role)
        usual = _RADII[part] * size
        if role in corners and not radii:
            capsules.append(_fit_capsule(role, row, ends, corners[role], _MAX_SHARE * usual))
        else:
            if part == "UpperLeg" and not radii:
                ends = ends + np.array([_THIGH_AHEAD * body.leg_length, 0.0, 0.0])
            capsules.append(Capsule(role, row, ends, min(max(radii), _MAX_SHARE * usual) if radii else usual))
        if part == "LowerArm":
            wrist, hand = place[f"{side}Hand"], body.rows[f"{side}Hand"]
            tip = wrist + _HAND_LENGTH * body.leg_length * normalise(wrist - place[role])
            ends, radius = np.array([wrist, tip]), _RADII["Hand"] * size
            if f"{side}Hand" in corners:
                capsules.append(_fit_capsule(f"{side}Hand", hand, ends, corners[f"{side}Hand"], _MAX_SHARE * radius))
            else:
                capsules.append(Capsule(f"{side}Hand", hand, ends, radius))
    return capsules


def list_mesh_corners(body: Body, shapes: CollisionShapes) -> tuple[dict[str, Floats], str]:
    """List the corners (k, 3) of limbs' readable meshes, by role.

    They are at rest, in the axes of the body; also return why one cannot be read. Those between the hips and a thigh
    count for the thigh, all below a wrist for the hand.
    """
    skeleton, to_body = body.reference.skeleton, turn_to_body(body.reference.body)
    rest = rotations.from_matrix(compute_rest_rotations(skeleton))
    parts = {row: _find_part(body, skeleton.list_path(row)) for row, _ in shapes.meshes}
    read, reason = shapes.read_meshes({row for row, role in parts.items() if role})
    found: dict[str, list[Floats]] = {}
    for row, corners in read:
        origin = rotations.rotate(to_body, body.reference.body.points[row])
        turn = rotations.multiply(to_body, rest[row])
        found.setdefault(parts[row], []).append(rotations.rotate(turn, corners) + origin)
    return {role: np.concatenate(corners) for role, corners in found.items()}, reason


def _find_part(body: Body, path: list[int]) -> str:
    """Find a joint's part of a limb by its path. Empty for others."""
    legs = [body.reference.skeleton.list_path(body.rows[f"{side}UpperLeg"]) for side in SIDES]
    trunk = [row for row in legs[0] if row in legs[1]]
    for side, leg in zip(SIDES, legs, strict=True):
        for part in ("Foot", "LowerLeg"):
            if body.rows[f"{side}{part}"] in path:
                return "" if part == "Foot" else f"{side}LowerLeg"
        if any(row in path for row in leg[len(trunk) :]):
            return f"{side}UpperLeg"
        for part in ("Hand", "LowerArm"):
            if body.rows[f"{side}{part}"] in path:
                return f"{side}{part}"
    return ""


def _fit_capsule(part: str, row: int, ends: Floats, corners: Floats, max_radius: float) -> Capsule:
    """Fit a capsule along a bone around the corners of meshes.

    It is as thick as they are where they are widest, but not beyond `max_radius`.
    """
    along = normalise(ends[1] - ends[0])
    across = np.linalg.svd(along[None])[2][1:]
    angles = np.pi / _WIDTHS * np.arange(_WIDTHS)
    spans = np.ptp(corners @ (np.stack([np.cos(angles), np.sin(angles)], axis=1) @ across).T, axis=0)
    radius = min(0.5 * float(spans.max()), max_radius)
    low, high = (pick(corners @ across.T, axis=0) for pick in (np.min, np.max))
    reach = (corners - ends[0]) @ along
    first, last = float(reach.min()) + radius, float(reach.max()) - radius
    middle = 0.5 * (low + high) @ across + along * float(ends[0] @ along)
    if first > last:
        first = last = 0.5 * (first + last)
    return Capsule(part, row, middle + np.outer([first, last], along), radius)


def _list_radii(body: Body, shapes: CollisionShapes, role: str) -> list[float]:
    """List the radii of a part's shapes. Its link and the last joint above the next part carry them."""
    rows = body.rows[role], body.segments[role].carrier
    return [_measure_radius(shape) for row, shape in shapes.shapes if row in rows]


def _measure_radius(shape: LinkShape) -> float:
    """Measure the radius of a shape about its longest axis."""
    across = np.sort(shape.half_extents)[:2]
    return float(across.mean()) + max(shape.ball_radius, shape.disc_radius)


def _place_ends(body: Body, tree: RobotTree, capsule: Capsule) -> Floats:
    """Place the ends (2, 3) of a capsule in its node."""
    to_body = turn_to_body(body.reference.body)
    rest = rotations.from_matrix(compute_rest_rotations(body.reference.skeleton)[capsule.row])
    turn = rotations.multiply(to_body, rest)
    origin = rotations.rotate(to_body, body.reference.body.points[capsule.row])
    local = rotations.rotate(rotations.inverse(turn), capsule.ends - origin)
    return rotations.rotate(tree.turns[capsule.row], local) + tree.centres[capsule.row]


def measure_distance(first: Floats, second: Floats, third: Floats, fourth: Floats) -> Floats:
    """Measure distances (...) of segments.

    One is from the first to the second end (..., 3), the other from the third to the fourth.
    """
    u, v, w = second - first, fourth - third, first - third
    a, b, c = ((one * other).sum(axis=-1) for one, other in ((u, u), (u, v), (v, v)))
    d, e = (u * w).sum(axis=-1), (v * w).sum(axis=-1)
    area = a * c - b * b
    s = np.where(area > _PARALLEL * a * c, np.clip((b * e - c * d) / np.maximum(area, _TINY), 0.0, 1.0), 0.0)
    t = np.clip((b * s + e) / np.maximum(c, _TINY), 0.0, 1.0)
    s = np.clip((b * t - d) / np.maximum(a, _TINY), 0.0, 1.0)
    return np.linalg.norm(w + s[..., None] * u - t[..., None] * v, axis=-1)


def measure_clearance(poses: Pose, tree: RobotTree, pairs: CapsulePairs, margin: float) -> Floats:
    """Measure by how much (F, p) parts are apart. Negative: they are in each other."""
    world = poses.world
    rows = {int(node): row for row, node in enumerate(tree.nodes.tolist()) if node >= 0}
    ends: list[Floats] = []
    for column in range(4):
        row = [rows[node] for node in pairs.nodes[:, column // 2].tolist()]
        local = pairs.ends[:, column] - tree.centres[row]
        local = rotations.rotate(rotations.inverse(tree.turns[row]), local)
        ends.append(world.positions[:, row] + rotations.rotate(world.rotations[:, row], local))
    return measure_distance(*ends) - (pairs.reaches - margin)
