"""Soles of robots, from the collision shapes of their feet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from poise.ground.robot.foot_path import RobotSole
from poise.io.bone_end import LinkShape
from poise.io.collision_shapes import CollisionShapes
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.joint_tree import list_below
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton

# of the leg: soles of robots without shapes (height after Drillis & Contini 1966)
_HEIGHT, _HEEL, _BALL, _HALF_WIDTH = 0.08, -0.08, 0.2, 0.04
# of the leg: soles are between these long; those of the robots at hand are 0.19 to 0.47
_MIN_LENGTH, _MAX_LENGTH = 0.1, 0.7
# of its length: the farthest that a sole is to one side of the ankle
_MAX_WIDTH = 0.75
# of the leg: what is this near to the lowest point is part of the sole
_THICKNESS = 0.03
# a foot at rest is level up to this slope; a larger one than the second is no sole
_LEVEL_RAD, _MAX_SLOPE_RAD = np.radians(1.0), np.radians(60.0)
# of the foot's length or width: a shorter side is part of something round or uneven, and shows no slope
_LEAST_SIDE = 0.6
_FEET = 2  # of a robot whose feet have the same soles
_ALONG, _ACROSS = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


class FoundSole(NamedTuple):
    """The sole of a foot.

    sole      its lengths
    axes      rotation (4,) from heading, up, right to the foot's joint
    is_shown  whether collision shapes show it; else it is that of the leg's length
    reason    why its collision meshes do not show it, if there are any
    is_other  whether it is that of the other foot
    """

    sole: RobotSole
    axes: Floats
    is_shown: bool
    reason: str = ""
    is_other: bool = False


def pair_soles(found: Sequence[FoundSole]) -> list[FoundSole]:
    """Pair the soles of two feet. One without shapes gets that of the other foot."""
    shown = [one.sole for one in found if one.is_shown]
    if len(found) != _FEET or len(shown) != 1:
        return list(found)
    return [one if one.is_shown else one._replace(sole=shown[0], is_other=True) for one in found]


def list_sole_notes(found: Iterable[FoundSole]) -> list[str]:
    """Write why soles come from elsewhere. Empty for shown ones."""
    hidden = [sole for sole in found if not sole.is_shown]
    reasons = "; ".join(dict.fromkeys(sole.reason for sole in hidden if sole.reason))
    because = f" ({reasons})" if reasons else ""
    if any(sole.is_other for sole in hidden):
        return [f"no collision shapes show one of the robot's soles{because}: it is taken to be that of the other foot"]
    note = f"no collision shapes show the soles of the robot{because}: they are taken from the length of its legs"
    return [note] if hidden else []


def find_robot_sole(
    skeleton: Skeleton, row: int, axes: Floats, shapes: CollisionShapes, leg_length: float
) -> FoundSole:
    """Find the sole of a foot.

    Its axes are the given ones, turned until the longest sides of the foot from below are level.

    skeleton    in whose rest pose the foot stands
    row         the foot's joint
    axes        rotation (4,) from heading, up, right to the joint, about
    leg_length  thigh and shin [file units]
    """
    below = set(list_below(skeleton.parents, row))
    own = [(shape_row, shape) for shape_row, shape in shapes.shapes if shape_row in below]
    if own:
        return _measure_sole(skeleton, row, axes, own, leg_length)
    corners, reason = shapes.read_meshes(below)
    if corners:
        found = _measure_sole(skeleton, row, axes, corners, leg_length)
        if _can_stand(found.sole, leg_length):
            return found
        reason = "meshes of a foot have the size of no sole"
    sole = RobotSole(*(share * leg_length for share in (_HEEL, _BALL, _HEIGHT, _HALF_WIDTH, _HALF_WIDTH)))
    return FoundSole(sole, axes, is_shown=False, reason=reason)


def _can_stand(sole: RobotSole, leg_length: float) -> bool:
    """Return whether a sole is below the ankle and not odd."""
    length = sole.ball - sole.heel
    is_foot = _MIN_LENGTH * leg_length < length < _MAX_LENGTH * leg_length
    return is_foot and 0.0 < sole.height < length + leg_length * _HEIGHT and sole.half_width < _MAX_WIDTH * length


def _measure_sole(
    skeleton: Skeleton, row: int, axes: Floats, own: Sequence[tuple[int, LinkShape | Floats]], leg_length: float
) -> FoundSole:
    """Measure a sole by shapes, or by corners of meshes."""
    for level_axis, axis in ((0, _ACROSS), (2, -_ALONG)):  # pitch, then roll
        angle = _find_slope(_list_points(skeleton, row, axes, own)[:, [level_axis, 1]])
        if _LEVEL_RAD < abs(angle) <= _MAX_SLOPE_RAD:
            axes = rotations.multiply(axes, rotations.about(axis, angle))
    points = _list_points(skeleton, row, axes, own)
    lowest = float(points[:, 1].min())
    low = points[points[:, 1] <= lowest + _THICKNESS * leg_length]
    heel, ball = float(low[:, 0].min()), float(low[:, 0].max())
    is_ahead = low[:, 0] > 0.5 * (heel + ball)
    half_widths = (float(np.abs(low[ends, 2]).max(initial=0.0)) for ends in (~is_ahead, is_ahead))
    return FoundSole(RobotSole(heel, ball, -lowest, *half_widths), axes, is_shown=True)


def _list_points(
    skeleton: Skeleton, row: int, axes: Floats, shapes: Sequence[tuple[int, LinkShape | Floats]]
) -> Floats:
    """List points (k, 3) of shapes and meshes in a foot's axes."""
    world = Pose(skeleton, skeleton.rest_q).world
    turn = rotations.as_matrix(rotations.multiply(world.rotations[row], axes))
    return np.concatenate(
        [
            _list_corners(shape, turn, rotations.as_matrix(world.rotations[shape_row]))
            + (world.positions[shape_row] - world.positions[row]) @ turn
            for shape_row, shape in shapes
        ]
    )


def _list_corners(shape: LinkShape | Floats, axes: Floats, turn: Floats) -> Floats:
    """List the corners (k, 3) of a shape in a foot's axes. A ball around them counts downwards alone."""
    if not isinstance(shape, LinkShape):
        return shape @ turn.T @ axes
    own = turn @ shape.axes
    signs = np.array(list(np.ndindex(2, 2, 2))) * 2.0 - 1.0
    corners = turn @ shape.centre + (signs * shape.half_extents) @ own.T
    discs = shape.disc_radius * np.concatenate([own[:, :2].T, -own[:, :2].T])
    spread = (corners[:, None] + discs[None]).reshape(-1, 3)
    return spread @ axes - [0.0, shape.ball_radius, 0.0]


def _find_slope(points: Floats) -> float:
    """Find the slope [rad] of the longest lower side.

    It is that of the convex hull of points (k, 2). It is 0 where no side is as long as that of a sole.
    """
    hull: list[Floats] = []
    for point in points[np.lexsort((points[:, 1], points[:, 0]))]:
        while len(hull) > 1 and _turn_left(hull[-2], hull[-1], point) <= 0.0:
            hull.pop()
        hull.append(point)
    sides = np.diff(np.array(hull), axis=0)
    if not len(sides):
        return 0.0
    longest = sides[np.linalg.norm(sides, axis=1).argmax()]
    return float(np.arctan2(longest[1], longest[0])) if longest[0] > _LEAST_SIDE * float(sides[:, 0].sum()) else 0.0


def _turn_left(first: Floats, second: Floats, third: Floats) -> float:
    """Measure by how much a way of three points turns left. Negative: right."""
    ahead, after = second - first, third - second
    return float(ahead[0] * after[1] - ahead[1] * after[0])
