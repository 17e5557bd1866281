"""Gaze direction of a character, level and ahead at rest. The head carries it from there on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.remember import remember
from poise.maths.rotations import rotation_part
from poise.model.pose import Pose
from poise.model.roles.facing import facing
from poise.model.roles.figure import Candidate
from poise.model.roles.lookup import roles_of
from poise.model.roles.roles import Leg, Roles, figure_of, maps_of
from poise.model.roles.structure import unit
from poise.model.skeleton import Skeleton

# default gaze: +z of the joint's own frame
AHEAD = (0.0, 0.0, 1.0)
# cosine: hips that disagree more with the forward direction are ignored
_LIKE = 0.8
# cosine: authors make characters face along an axis, while feet may point aside
_SNAP = float(np.cos(np.radians(10.0)))
_CLEAR = 1e-6


class Sight(NamedTuple):
    """Gaze direction of a joint, with its reason. The axis is in the joint's own frame.

    is_known  whether there is evidence; False for the default +z of the joint
    """

    axis: tuple[float, float, float]
    reason: str
    seen: bool = True


def sight_of(skeleton: Skeleton, row: int) -> Sight:
    """Find the gaze direction of the joint in a row.

    The head and the joints above and below it look in the direction of the face, in robots as well. Any other joint,
    and all joints without a known face, look along +z of their own frame. The result is cached per joint.
    """
    return remember(skeleton, "sights", row, lambda: _sight(skeleton, row))


def _sight(skeleton: Skeleton, row: int) -> Sight:
    roles = roles_of(skeleton)
    if "head" not in roles.joints:
        return Sight(AHEAD, "+z of the joint: no head is known", seen=False)
    head = skeleton.index(roles.joints["head"])
    name = skeleton.names[row]
    if row not in skeleton.way(head) and head not in skeleton.way(row):
        why = f"{name!r} is neither above nor below the head"
        return Sight(AHEAD, f"+z of the joint: {why}", seen=False)
    seen, why = remember(skeleton, "face", None, lambda: _face(skeleton, roles))
    if seen is None:
        return Sight(AHEAD, f"+z of the joint: {why}", seen=False)
    own = rotation_part(maps_of(Pose(skeleton, skeleton.rest_q))[row, :3, :3])
    x, y, z = unit(seen @ own).tolist()
    return Sight((x, y, z), why)


def _face(skeleton: Skeleton, roles: Roles) -> tuple[Floats | None, str]:
    """Find the forward direction (3,) of a character at rest.

    It is a unit vector in the world or None; also return the reason.
    """
    figure = figure_of(skeleton)
    if skeleton.faces is not None:
        axis = np.eye(3)["xyz".index(skeleton.faces[-1])]
        return (-axis if skeleton.faces.startswith("-") else axis), "the file's VRM version"
    rows = [
        [skeleton.index(name) for name in (leg.upper, leg.lower, leg.foot, leg.toes) if name] for leg in _legs(roles)
    ]
    up = figure.up if figure.up is not None else _up(figure, rows)
    if up is None:
        return None, "the up direction is unknown"
    for seen, why in _signs(figure, roles, rows, up):
        level = seen - up * float(seen @ up)
        if float(np.linalg.norm(level)) > _CLEAR:
            return _straightened(figure, roles, unit(level), up), why
    return None, "the rest pose does not show the facing direction"


def _legs(roles: Roles) -> Sequence[Leg]:
    return roles.legs or roles.apart


def _up(figure: Candidate, legs: list[list[int]]) -> Floats | None:
    """Find the up direction from the legs.

    None along X, where the rest pose shows no upright character.
    """
    if not legs:
        return None
    up = facing(figure, legs).up
    return up if abs(float(up[0])) < float(np.linalg.norm(up[1:])) else None


def _signs(figure: Candidate, roles: Roles, legs: list[list[int]], up: Floats) -> list[tuple[Floats, str]]:
    """List the forward cues, the most reliable first."""
    points, index = figure.positions, figure.skeleton.index
    found: list[tuple[Floats, str]] = []
    starts = {
        place: [points[rows[0]] for rows, leg in zip(legs, _legs(roles), strict=True) if leg.position == place]
        for place in ("front", "hind")
    }
    if starts["front"] and starts["hind"]:
        found.append((np.mean(starts["front"], axis=0) - np.mean(starts["hind"], axis=0), "the front legs"))
    elif legs:
        looks = facing(figure, legs)
        found += [(looks.forward, looks.source)] if looks.is_seen else []
    eyes = [points[index(roles.joints[role])] for role in ("leftEye", "rightEye") if role in roles.joints]
    if len(eyes) == 2:  # noqa: PLR2004
        found.append((np.mean(eyes, axis=0) - points[index(roles.joints["head"])], "the eyes"))
    return found + [(np.cross(across, up), "left and right") for across in _across(figure, roles)]


def _across(figure: Candidate, roles: Roles) -> list[Floats]:
    """List the vectors across hips and shoulders. They point from right to left."""
    points, index = figure.positions, figure.skeleton.index
    pairs = [[roles.joints.get(f"{side}{part}") for side in ("left", "right")] for part in ("UpperLeg", "UpperArm")]
    sides = {side: [leg.upper for leg in _legs(roles) if leg.side == side] for side in ("left", "right")}
    ways = [points[index(left)] - points[index(right)] for left, right in pairs if left and right]
    if sides["left"] and sides["right"]:
        means = [np.mean([points[index(name)] for name in sides[side]], axis=0) for side in ("left", "right")]
        ways.insert(0, means[0] - means[1])
    return ways


def _straightened(figure: Candidate, roles: Roles, seen: Floats, up: Floats) -> Floats:
    """Align the forward direction with hips and file axis. Feet may point aside."""
    for across in _across(figure, roles):
        square = np.cross(across, up)
        if float(np.linalg.norm(square)) > _CLEAR and float(unit(square) @ seen) > _LIKE:
            seen = unit(square)
            break
    axis = int(np.argmax(np.abs(seen)))
    return np.eye(3)[axis] * np.sign(seen[axis]) if abs(seen[axis]) > _SNAP else seen
