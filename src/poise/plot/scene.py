"""Layout of a picture: characters, ground grid, error curve, projection.

Everything has z up and is computed before drawing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths.arguments import names, several, text
from poise.maths.arrays import Bools, Floats, Ints, finite, short
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.plot.curve import trail_of
from poise.plot.limits import Outline, outlines
from poise.solving.result import Result

_AZIMUTH, _ELEVATION = math.radians(38.0), math.radians(14.0)
_TO_Z_UP = {"x": [1, 2, 0], "y": [2, 0, 1], "z": [0, 1, 2]}  # cyclic, which keeps left on the left
_FAR = 0.3  # smallest length of a helper bone, as a fraction of the figure
_FEW = 6  # joints; skeletons of at most this size have no helper bones
_LONGEST = 200  # characters of a title or a label: at 0.11 inch each they already make a picture 22 inches wide


class Panel(NamedTuple):
    """One pose for drawing, with z up, in file units."""

    label: str
    pose: Pose
    points: Floats  # (n, 3)
    joints: Ints  # joints of the figure without helpers
    bones: Ints  # (k, 2) rows parent, child
    faint: Bools  # (k,) helper bones
    chain: Ints  # joints to highlight
    limits: list[Outline]
    trail: Floats | None  # (t, 3) path of the tip
    poles: Floats  # (p, 2, 3) from each middle joint to the point of its pole


class Scene(NamedTuple):
    """Target, ground and extent, shared by all panels."""

    target: Floats | None
    ground: float
    step: float  # between grid lines
    grid: Floats  # (k, 2, 3) line segments
    low: Floats  # (2,) of the projected picture
    high: Floats


def prepared(
    poses: Sequence[tuple[str, Pose]],
    target: ArrayLike | None,
    chain: Sequence[str],
    *,
    limited: Sequence[str] = (),
    trail: Result | None = None,
    poles: Sequence[tuple[str, Floats]] = (),
) -> tuple[list[Panel], Scene]:
    """Check the arguments of draw_poses and compute the layout.

    Parameters
    ----------
    poses, target, chain
        See `draw_poses`.
    limited
        Names of the joints with drawn limits.
    trail
        The result for the tip path in the last pose.
    poles
        Middle joint and world point (3,) of each drawn pole.
    """
    given = several(poses, "the poses to draw", "[('rest', rig.rest)]")
    poses = [_check_pair(one) for one in given]
    chain = names(chain, "the joints of the chain")
    if not poses:
        message = "draw_poses needs at least one (label, pose)"
        raise InputError(message)
    order = z_up_order(poses[0][1])
    panels = [_panel(label, pose, chain, order, limited, poles) for label, pose in poses]
    way = None if trail is None or not chain else trail_of(trail, chain[-1])
    if way is not None:
        panels[-1] = panels[-1]._replace(trail=way[:, order])
    point = None
    if target is not None:
        point = finite(target, "the target", last=3)
        if point.shape != (3,):
            message = f"the target is one point of three numbers; got an array of shape {point.shape}"
            raise InputError(message)
        point = point[order]
    return panels, _scene(panels, point)


def check_words(value: Any, what: str) -> str:
    """Check and return a title or a label. It has at most 200 characters, because a picture is as wide as its text."""
    found = text(value, what)
    if len(found) > _LONGEST:
        message = f"{what} of a picture has at most {_LONGEST} characters, not {len(found)}"
        raise InputError(message)
    return found


def _check_pair(pair: Any) -> tuple[str, Pose]:
    if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], Pose):  # noqa: PLR2004  # pyright: ignore[reportUnknownArgumentType]
        message = f"poses are drawn as pairs such as ('rest', rig.rest), not {short(pair)}"
        raise InputError(message)
    label, pose = cast("tuple[Any, Pose]", pair)
    return check_words(label, "the label"), pose


def _panel(
    label: str, pose: Pose, chain: Sequence[str], order: list[int], limited: Sequence[str] = (),
    poles: Sequence[tuple[str, Floats]] = (),
) -> Panel:  # fmt: skip
    if pose.shape:
        message = f"pose {label!r} is a batch of shape {pose.shape}; draw one of it: pose[0]"
        raise InputError(message)
    skeleton = pose.skeleton
    points = pose.world.positions[:, order]
    rows = np.array([skeleton.index(name) for name in chain], dtype=np.int64)
    drawn = _drawn(skeleton)
    faint = _helpers(skeleton, pose.with_q(skeleton.rest_q).world.positions, drawn)
    faint[rows] = False
    child = np.flatnonzero(drawn & (skeleton.parents >= 0) & drawn[skeleton.parents])
    bones = np.stack([skeleton.parents[child], child], axis=-1)
    alone = np.setdiff1d(np.flatnonzero(drawn), bones)  # a flat hand rig consists of these only
    joints = np.unique(np.concatenate([bones[~faint[child]].ravel(), alone, rows]))
    size = float(np.ptp(points[joints], axis=0).max(initial=0.0)) or 1.0
    limits = [Outline([line[:, order] for line in lines], end) for lines, end in outlines(pose, limited, size)]
    ends = np.array([[points[skeleton.index(name)], point[order]] for name, point in poles]).reshape(-1, 2, 3)
    return Panel(label, pose, points, joints, bones, faint[child], rows, limits, None, ends)


def z_up_order(pose: Pose) -> list[int]:
    """Find the coordinate order for drawing with the third axis up.

    It uses the file's own up axis; without one, the longer extent of y and z.
    """
    up = pose.skeleton.up
    if up is None:
        extent = np.ptp(pose.world.positions, axis=0)
        up = "z" if extent[2] > extent[1] else "y"
    return _TO_Z_UP[up]


def _drawn(skeleton: Skeleton) -> Bools:
    """Find the drawn joints (n,) of a skeleton.

    Joints above the first moving one are omitted, except the base of a robot.
    """
    drawn = np.zeros(len(skeleton), dtype=bool)
    for i, parent in enumerate(skeleton.parents):
        drawn[i] = skeleton.kinds[i] != Kind.FIXED or (parent >= 0 and drawn[parent])
    if not drawn.any() or skeleton.kinds[drawn.argmax()] in (Kind.HINGE, Kind.SLIDE):
        drawn[:] = True
    return drawn


def _helpers(skeleton: Skeleton, points: Floats, drawn: Bools) -> Bools:
    """Find the joints (n,) with a helper bone to their parent. Helper bones are drawn faintly.

    Control and pole bones are long, start at the top of the tree and have few descendants. The long bone from a root on
    the ground to the hips differs: it leads to the figure. `points` (n, 3) are the rest positions, so that all panels
    of a figure agree.
    """
    faint = np.zeros(len(skeleton), dtype=bool)
    if len(skeleton) <= _FEW or not (skeleton.kinds >= Kind.BALL).any():
        return faint
    lengths = np.linalg.norm(points - points[np.maximum(skeleton.parents, 0)], axis=-1)
    limit = _FAR * np.ptp(points[drawn], axis=0).max()
    depth = np.zeros(len(skeleton), dtype=np.int64)  # drawn joints above
    for i, parent in enumerate(skeleton.parents):
        if parent < 0 or not drawn[parent]:
            continue
        depth[i] = depth[parent] + 1
        control = skeleton.moving_depth[i] <= 2  # noqa: PLR2004  (a hand or foot with its toe)
        limbs = [child for child in skeleton.children[parent] if skeleton.moving_depth[child] > 2]  # noqa: PLR2004
        faint[i] = depth[i] <= 2 and lengths[i] > limit and (control or limbs == [i])  # noqa: PLR2004
        faint[i] |= control and faint[parent] and skeleton.moving_depth[parent] <= 3  # noqa: PLR2004  (hangs from one)
    return faint


def _scene(panels: list[Panel], target: Floats | None) -> Scene:
    solid = np.concatenate([panel.points[panel.joints] for panel in panels])
    points = solid if target is None else np.concatenate([solid, target[None]])
    ground = float(points[:, 2].min())
    size = float(np.ptp(points, axis=0).max()) or 1.0
    step = _nice(size / 6)
    grid = _grid(points, ground, step)
    lines = [line for panel in panels for outline in panel.limits for line in outline.lines]
    trails = [panel.trail for panel in panels if panel.trail is not None]
    poles = [panel.poles.reshape(-1, 3) for panel in panels]
    seen = projected(np.concatenate([points, grid.reshape(-1, 3), *lines, *trails, *poles]))
    margin = 0.03 * size
    return Scene(target, ground, step, grid, seen.min(axis=0) - margin, seen.max(axis=0) + margin)


def _nice(length: float) -> float:
    """Choose a grid step of 1, 2 or 5 powers of ten. It is the largest at most `length`."""
    power = 10.0 ** math.floor(math.log10(length))
    return power * max(factor for factor in (1, 2, 5) if factor * power <= length * (1 + 1e-9))


def _grid(points: Floats, ground: float, step: float) -> Floats:
    """Build the ground grid as line segments (k, 2, 3). They lie under the points, on multiples of the step."""
    low = np.floor(points[:, :2].min(axis=0) / step - 0.5)
    high = np.ceil(points[:, :2].max(axis=0) / step + 0.5)
    along_x = [[(low[0], j, 0.0), (high[0], j, 0.0)] for j in np.arange(low[1], high[1] + 1)]
    along_y = [[(i, low[1], 0.0), (i, high[1], 0.0)] for i in np.arange(low[0], high[0] + 1)]
    return np.array(along_x + along_y) * step + [0.0, 0.0, ground]


def projected(points: Floats) -> Floats:
    """Project points (..., 3) to screen coordinates (..., 2).

    It is a parallel projection, right and up, in file units.
    """
    a, e = _AZIMUTH, _ELEVATION
    right = [-math.sin(a), math.cos(a), 0.0]
    up = [-math.sin(e) * math.cos(a), -math.sin(e) * math.sin(a), math.cos(e)]
    return points @ np.array([right, up]).T


def nearness(points: Floats) -> Floats:
    """Compute the depth of points (..., 3) towards the viewer."""
    a, e = _AZIMUTH, _ELEVATION
    return points @ np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
