"""Floor: a level height or uneven ground below a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from poise.calls.argument_checks import describe_value
from poise.errors import InputError, UnsupportedError
from poise.maths.arrays import Floats
from poise.maths.vectors import dot_rows
from poise.model.anatomy.rest_geometry import FIGURE_HEIGHT_M, LEG_HEIGHT_SHARE, find_confident_joints
from poise.model.anatomy.standing_pose import compute_standing_transforms, find_standing_frame
from poise.model.joint_tree import list_below
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.model.roles.role_search import find_joint_roles
from poise.model.skeleton import Skeleton
from poise.problem.goals import Goal, Pin, is_joint_goal
from poise.runtime.result_cache import get_or_compute

_LEG = ("UpperLeg", "LowerLeg", "Foot")
_UP_AXES = {"y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class TerrainSample(Protocol):
    """Heights (k,) along the up axis and unit normals (k, 3)."""

    @property
    def heights(self) -> Floats:
        """Heights (k,)."""
        ...

    @property
    def normals(self) -> Floats:
        """Unit normals (k, 3) of the upper side."""
        ...


class FloorTerrain(Protocol):
    """Uneven ground. A `poise.Terrain` is some."""

    def sample(self, points: Floats) -> TerrainSample:
        """Sample heights and normals at points (k, 3)."""
        ...

    def for_clip(self, metre: float, up: str) -> FloorTerrain:
        """Return the ground in lengths and frame of a figure."""
        ...


class Floor(NamedTuple):
    """A level floor, or uneven ground.

    up       unit vector
    height   along that [file units]
    terrain  the ground in place of the height; None of a level floor
    """

    up: tuple[float, float, float]
    height: float
    terrain: FloorTerrain | None = None

    def find_planes(self, points: Floats) -> Floats:
        """Find planes (1|k, 4) below points (k, n, 3).

        They are a normal, and the height along it. On uneven ground they have its normal in the middle of the points,
        and none of these has ground above its plane.
        """
        if self.terrain is None:
            return np.array([[*self.up, self.height]])
        up, count = np.array(self.up), points.shape[1]
        middle = np.add.accumulate(points, axis=1)[:, -1] / count
        normals = self.terrain.sample(middle).normals
        heights = self.terrain.sample(points.reshape(-1, 3)).heights.reshape(-1, count)
        ground = points + (heights - dot_rows(points, up))[..., None] * up
        return np.concatenate([normals, dot_rows(ground, normals[:, None]).max(axis=1)[:, None]], axis=1)


def make_floor(floor: Any, start: Pose, goals: Sequence[Goal]) -> Floor | None:
    """Make a floor from a height, a terrain or pinned feet.

    Raises
    ------
    InputError
        For anything but a finite number, a Terrain, "auto" and None, and for "auto" where no foot is pinned.
    """
    if floor is None:
        return None
    try:
        up = find_standing_frame(start.skeleton).up
    except InputError:
        raise UnsupportedError("floor= is for figures whose arms and legs are known") from None
    axis = float(up[0]), float(up[1]), float(up[2])
    if isinstance(floor, str) and floor == "auto":
        return Floor(axis, _find_height(start, goals, up))
    if _is_terrain(floor):
        terrain: Any = floor
        return Floor(axis, 0.0, _scale_terrain(terrain, start.skeleton, up))
    is_number = isinstance(floor, int | float | np.number) and not isinstance(floor, bool)
    if not is_number or not np.isfinite(float(floor)):
        raise InputError(f'floor is a height along the up axis, a Terrain, or "auto", not {describe_value(floor)}')
    return Floor(axis, float(floor))


def _is_terrain(floor: Any) -> bool:
    """Return whether a floor is a terrain, not the class."""
    has_methods = callable(getattr(floor, "sample", None)) and callable(getattr(floor, "for_clip", None))
    return has_methods and not isinstance(floor, type)


def _scale_terrain(terrain: FloorTerrain, skeleton: Skeleton, up: Floats) -> FloorTerrain:
    """Bring a terrain to a figure's lengths and frame. Planted feet have the same."""
    name = next((name for name, axis in _UP_AXES.items() if np.allclose(up, axis)), None)
    if name is None:
        raise UnsupportedError("a Terrain as floor is for figures whose up axis is y or z")

    def scale() -> FloorTerrain:
        joints = find_confident_joints(find_joint_roles(skeleton))
        points = compute_standing_transforms(skeleton)[:, :3, 3]
        legs = [[skeleton.index(joints[side + part]) for part in _LEG if side + part in joints] for side in SIDES]
        lengths = [np.linalg.norm(np.diff(points[leg], axis=0), axis=1).sum() for leg in legs if len(leg) == len(_LEG)]
        if not lengths or not min(lengths) > 0.0:
            raise UnsupportedError("a Terrain as floor is for figures whose legs are known")
        return terrain.for_clip(float(np.mean(lengths)) / (LEG_HEIGHT_SHARE * FIGURE_HEIGHT_M), name)

    return get_or_compute(skeleton, "terrains as floors", terrain, scale)


def _find_height(start: Pose, goals: Sequence[Goal], up: Floats) -> float:
    """Find the lowest joint of pinned feet in the start."""
    skeleton, joints = start.skeleton, find_confident_joints(find_joint_roles(start.skeleton))
    feet = {skeleton.index(joints[side + "Foot"]) for side in SIDES if side + "Foot" in joints}
    pinned = [skeleton.index(goal.joint) for goal in goals if is_joint_goal(goal) and isinstance(goal, Pin)]
    standing = {foot for foot in feet for row in pinned if foot in skeleton.list_path(row)}
    if not standing:
        raise InputError(
            'floor="auto" is the floor under pinned feet, and no foot is pinned: give the height of the floor, '
            "or a Pin of a foot"
        )
    below = sorted({row for foot in standing for row in list_below(skeleton.parents, foot)})
    heights = start.world.positions.reshape(-1, len(skeleton), 3)[:, below] @ up
    return float(heights.min())
