"""Packing: a start pose and a goal become flat arrays for the kernels. The only place that knows both worlds.

The kernels see a rigid chain in its base frame and in units of its own size (geometry.py); the target is moved there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.errors import UnsupportedError
from poise.kernels.codes import LIMIT
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.limits import Range, hinge_axis, is_soft
from poise.model.limits.base.rows import nearest_angle, turn_row
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.geometry import BALL, HINGE, MOVE, SIMILAR, SLIDE, Geometry, Link, packed_geometry, reach_of, similar
from poise.problem.goals import Position

_ROUNDING = 1e-12  # of a reach that is a sum of lengths


@dataclass(frozen=True, eq=False)
class Chain:
    """The joints that move for one goal, packed for the kernels. m links, k = 1 or one per start pose.

    kinds, axes, ranges, frames, tips, starts: see kernels/chain/links.py
    limits    (m, LIMIT) of balls: see kernels/limits/rotations.py; zeros where nothing limits one
    size      file units in one kernel unit: a power of two, so that scaling rounds nothing
    bases     (k, 3, 4) world transform of the frame that the chain hangs in
    scale     (k,) the factor of that frame; world distance = kernel distance * |scale| * size
    sheared   whether any scale is not quite uniform (exported animation has noise of 1e-5 in it): the kernels'
              chain is then a little off, and solve() corrects its targets by what forward kinematics says
    length    the chain's longest reach at rest in file units, slides at their ends; infinite where nothing stops one
    """

    skeleton: Skeleton
    start: Pose
    tip: int
    links: tuple[Link, ...]
    kinds: Ints
    axes: Floats
    ranges: Floats
    limits: Floats
    frames: Floats
    tips: Floats
    starts: Floats
    size: float
    bases: Floats
    scale: Floats
    sheared: bool
    length: float

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that can move."""
        return tuple(dict.fromkeys(self.skeleton.names[link.row] for link in self.links))

    @property
    def unit(self) -> Floats:
        """(k,) world units in one kernel unit."""
        return np.abs(self.scale) * self.size

    @cached_property
    def reach(self) -> Floats:
        """(k, 2) shortest and longest distance of the tip from the first link, in kernel units, by lengths alone.

        A hair wider than the lengths say, so that what lies outside is out of reach for sure.
        """
        shortest, longest = reach_of(self.links, self.ranges, self.axes, self.frames, self.tips)
        margin = SIMILAR if self.sheared else _ROUNDING
        return np.stack([shortest * (1 - margin), longest * (1 + margin)], axis=-1)

    def to_kernel(self, targets: Floats) -> Floats:
        """World points (k, 3) in the base frame and size of the chain."""
        linear, origin = self.bases[..., :3], self.bases[..., 3]
        inverse = np.swapaxes(linear, 1, 2) / (self.scale**2)[:, None, None]
        return (inverse @ (targets - origin)[..., None])[..., 0] / self.size

    def motions_of(self, q: Floats) -> Floats:
        """The links' motions (k, m, 4) in poses q (k, nq): what `q_of` puts in."""
        x = _motions(self.skeleton, q, self.links)
        for i, link in enumerate(self.links):
            if link.kind == MOVE:
                where = slice(link.start, link.start + 3)
                x[:, i, :3] = (q[:, where] - self.start.flat_q[:, where]) / self.size
        return x

    def tip_of(self, x: Floats) -> Floats:
        """Where the kernels see the tips (k, 3) for motions x (k, m, 4), in kernel units."""
        tips = np.zeros((len(x), 3))
        kernels.chain.links.tips(self.kinds, self.axes, self.frames, self.tips, np.ascontiguousarray(x), tips)
        return tips

    def q_of(self, x: Floats, moved: Bools) -> Floats:
        """q (k, nq) with the links' motions x (k, m, 4) put in where `moved` (k,); else the start's, bit for bit."""
        q = np.broadcast_to(self.start.flat_q, (len(x), self.skeleton.nq)).copy()
        for i, link in enumerate(self.links):
            part = _motion_to_q(self.skeleton, link, x[:, i])
            where = slice(link.start, link.start + part.shape[-1])
            if link.kind == MOVE:
                part = q[:, where] + part * self.size
            q[:, where] = np.where(moved[:, None], part, q[:, where])
        return q


class _Layout(NamedTuple):
    """What a chain is, whatever the pose: remembered per skeleton, because packing costs more than solving.

    `rest` is the geometry at rest. It holds for every pose where `constant`: a free joint in the chain, or a tip
    that slides, carries translations in its q. `base_scale` and `base_sheared` are those of the frame it hangs in.
    """

    rows: list[int]
    links: tuple[Link, ...]
    kinds: Ints
    ranges: Floats
    limits: Floats
    rest: Geometry
    constant: bool
    base_scale: Floats
    base_sheared: bool
    length: float


def packs_together(start: Pose, goal: Position, *, free_root: bool = False) -> bool:
    """Whether one packed chain serves every pose of a batch: nothing in its geometry differs between them."""
    layout = _layout(start.skeleton, goal, free_root=free_root)
    sheared = layout.base_sheared or layout.rest.sheared
    return layout.constant and not sheared and start.translations is None and start.scales is None


def pack(start: Pose, goal: Position, *, free_root: bool = False) -> Chain:
    """Pack the chain of a goal from a legal start pose: a single one, or a batch axis of poses that pack together."""
    skeleton = start.skeleton
    layout = _layout(skeleton, goal, free_root=free_root)
    is_rest = layout.constant and start.translations is None and start.scales is None
    geometry = layout.rest if is_rest else packed_geometry(start, layout.links, layout.rows, goal.offset)
    base_row = int(skeleton.parents[layout.rows[0]])
    bases, scale, sheared = _base(start, base_row), layout.base_scale, layout.base_sheared
    if start.scales is not None:
        scale, _, sheared = similar(bases[..., :3], skeleton, base_row)
    return Chain(
        skeleton=skeleton,
        start=start,
        tip=layout.rows[-1],
        links=layout.links,
        kinds=layout.kinds,
        axes=geometry.axes,
        ranges=layout.ranges,
        limits=layout.limits,
        frames=geometry.frames,
        tips=geometry.tips,
        starts=_motions(skeleton, start.flat_q, layout.links),
        size=geometry.size,
        bases=bases,
        scale=scale,
        sheared=sheared or geometry.sheared,
        length=layout.length,
    )


def _layout(skeleton: Skeleton, goal: Position, *, free_root: bool) -> _Layout:
    if any(goal.offset):
        return _new_layout(skeleton, goal, free_root=free_root)  # not remembered: there is no end of points
    known: dict[object, _Layout] = skeleton.__dict__.setdefault("_layouts", {})
    key = (goal.joint, goal.root, free_root)
    if key not in known:
        known[key] = _new_layout(skeleton, goal, free_root=free_root)
    return known[key]


def _new_layout(skeleton: Skeleton, goal: Position, *, free_root: bool) -> _Layout:
    tip = skeleton.index(goal.joint)
    turned = any(goal.offset)  # by its own joint, too
    alone = turned and goal.root is not None and skeleton.index(goal.root) == tip
    moving = [] if alone else [skeleton.index(name) for name in skeleton.chain(goal.root, goal.joint)]
    rows = [*moving, tip]
    moving = rows if turned else moving
    if free_root:
        rows = _from_free_root(skeleton, tip)
        moving = [rows[0], *(row for row in moving if row != rows[0])]
    links = _links(skeleton, moving, free_root=free_root)
    values, rest = skeleton.value_ranges, Pose(skeleton, skeleton.rest_q)
    ranges = np.array([_range(skeleton, link, values) for link in links]).reshape(-1, 2)
    geometry = packed_geometry(rest, links, rows, goal.offset)
    longest = float(reach_of(links, ranges, geometry.axes, geometry.frames, geometry.tips)[1][0])
    base_row = int(skeleton.parents[rows[0]])
    scale, _, sheared = similar(_base(rest, base_row)[..., :3], skeleton, base_row)
    return _Layout(
        rows=rows,
        links=links,
        kinds=np.array([link.kind for link in links], dtype=np.int64),
        ranges=ranges,
        limits=np.array([_turn_limit(skeleton, link) for link in links]).reshape(-1, LIMIT),
        rest=geometry,
        constant=not (skeleton.kinds[rows] == Kind.FREE).any() and (turned or skeleton.kinds[tip] != Kind.SLIDE),
        base_scale=scale,
        base_sheared=sheared,
        length=longest * float(np.abs(scale[0])) * geometry.size,
    )


def _from_free_root(skeleton: Skeleton, tip: int) -> list[int]:
    """Rows from the free joint above the tip down to the tip."""
    above = [skeleton.index(name) for name in skeleton.ancestors(skeleton.names[tip])]
    free = [row for row in above if skeleton.kinds[row] == Kind.FREE]
    if not free:
        message = f"free_root=True needs a free joint above {skeleton.names[tip]!r}; there is none"
        raise UnsupportedError(message)
    return [*above[above.index(free[0]) :], tip]


def _links(skeleton: Skeleton, rows: list[int], *, free_root: bool) -> tuple[Link, ...]:
    links: list[Link] = []
    for row in rows:
        kind, start = Kind(skeleton.kinds[row]), int(skeleton.q_start[row])
        turn = BALL if hinge_axis(skeleton.limits[row]) is None else HINGE
        if kind == Kind.FREE:
            if free_root and not links:
                links.append(Link(row, MOVE, start))
            links.append(Link(row, turn, start + 3))
        elif kind == Kind.BALL:
            links.append(Link(row, turn, start))
        elif kind != Kind.FIXED and skeleton.coupling_rows[row, 0] != 0.0:
            links.append(Link(row, HINGE if kind == Kind.HINGE else SLIDE, start))
    return tuple(links)


def coupled_on_the_way(skeleton: Skeleton, goal: Position, *, free_root: bool) -> tuple[str, str] | None:
    """Two joints on the way to the tip that move together, if there are: a chain holds the rest when one moves."""
    tip = skeleton.index(goal.joint)
    way = [skeleton.index(name) for name in skeleton.ancestors(skeleton.names[tip])]
    if skeleton.kinds[tip] == Kind.SLIDE or any(goal.offset):
        way.append(tip)
    ratios = skeleton.coupling_rows[:, 0]
    movers = [row for row in way if skeleton.kinds[row] in (Kind.HINGE, Kind.SLIDE) and ratios[row] != 0.0]
    if len({int(skeleton.q_start[row]) for row in movers}) == len(movers):
        return None
    for link in _layout(skeleton, goal, free_root=free_root).links:
        together = [row for row in movers if row != link.row and skeleton.q_start[row] == link.start]
        if together:
            return skeleton.names[link.row], skeleton.names[together[0]]
    return None


def _base(start: Pose, row: int) -> Floats:
    """World transforms (k, 3, 4) of a row; the identity for -1."""
    if row < 0:
        return np.eye(3, 4)[None]
    return start.world.affine.reshape(-1, len(start.skeleton), 3, 4)[:, row]


def _range(skeleton: Skeleton, link: Link, values: Floats) -> tuple[float, float]:
    if link.kind in (BALL, MOVE):
        return (-np.inf, np.inf)
    limit = skeleton.limits[link.row]
    if isinstance(limit, Range) and limit.axis is not None:
        return (-np.inf, np.inf) if limit.soft else (limit.low, limit.high)
    ratio, offset = skeleton.coupling_rows[link.row]
    low, high = sorted(ratio * values[link.start] + offset)
    return (low, high)


def _turn_limit(skeleton: Skeleton, link: Link) -> Floats:
    """The row of a ball's hard limit."""
    limit = skeleton.limits[link.row]
    return turn_row(None if link.kind != BALL or is_soft(limit) else limit)


def _motions(skeleton: Skeleton, q: Floats, links: tuple[Link, ...]) -> Floats:
    """Each link's motion in poses q (k, m, 4); a move's is what is added to its start: zero."""
    x = np.zeros((len(q), len(links), 4))
    for i, link in enumerate(links):
        limit = skeleton.limits[link.row]
        if link.kind == BALL:
            x[:, i] = q[:, link.start : link.start + 4]
        elif link.kind == MOVE:
            continue  # its translation stands in the frame; the motion is what is added to it
        elif isinstance(limit, Range) and limit.axis is not None:
            angle = rotations.twist_angle(q[:, link.start : link.start + 4], np.array(limit.axis))
            x[:, i, 0] = nearest_angle(angle, *_range(skeleton, link, skeleton.value_ranges))
        else:
            ratio, offset = skeleton.coupling_rows[link.row]
            x[:, i, 0] = ratio * q[:, link.start] + offset
    return x


def _motion_to_q(skeleton: Skeleton, link: Link, x: Floats) -> Floats:
    """A link's numbers in q (k, 1, 3 or 4) from its motion x (k, 4); for a move, what is added to them."""
    axis = hinge_axis(skeleton.limits[link.row])
    if link.kind == MOVE:
        return x[:, :3]
    if link.kind == BALL:
        return x
    if axis is not None:
        return rotations.about(np.array(axis), x[:, 0])
    ratio, offset = skeleton.coupling_rows[link.row]
    low, high = skeleton.value_ranges[link.start]
    return np.clip((x[:, :1] - offset) / ratio, low, high)
