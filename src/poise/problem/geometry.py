"""The fixed transforms between a chain's motions: rigid, in units of the chain's size, scale taken out.

A joint's linear part must be s R, a rotation times one factor (negative: mirrored), because only then does
turning the joint keep distances; offsets further out are multiplied by the factors before them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import numpy as np

from poise.errors import UnsupportedError
from poise.kernels.codes import BALL, HINGE, MOVE, SLIDE
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.limits import hinge_axis
from poise.model.pose import Pose, rotation_part
from poise.model.skeleton import Kind, Skeleton

SIMILAR = 1e-3  # linear parts this near to a rotation times a factor are solved as one (see Chain.sheared)
_EXACT = 1e-9  # and these are one
_ORIGIN = (0.0, 0.0, 0.0)

Point: TypeAlias = tuple[float, float, float]


class Link(NamedTuple):
    """One motion of a chain: which row of the skeleton, which kernel kind, where its numbers stand in q."""

    row: int
    kind: int
    start: int


class Transform(NamedTuple):
    """Rigid transforms: offset (k, 3) and rotation (k, 4); `factor` (k,) is the scale that stands before them."""

    offset: Floats
    rotation: Floats
    factor: Floats


class Geometry(NamedTuple):
    """The fixed transforms of a chain, scaled to its size."""

    frames: Floats
    tips: Floats
    axes: Floats
    size: float
    sheared: bool


def packed_geometry(start: Pose, links: tuple[Link, ...], rows: list[int], point: Point = _ORIGIN) -> Geometry:
    """Pack the transforms along `rows`, base to tip, of a single pose; it ends at a point of the tip's frame."""
    frames, tips, factors, sheared = _frames(start, links, rows, point)
    size = span_size([frames[..., :3], tips])
    frames[..., :3] /= size
    axes = np.array([_axis(start.skeleton, link) for link in links]).reshape(-1, 3)
    return Geometry(frames, tips / size, axes * _gains(links, factors, size), size, sheared)


def _frames(start: Pose, links: tuple[Link, ...], rows: list[int], point: Point) -> tuple[Floats, Floats, Floats, bool]:
    """Fixed transforms (k, m, 7) between motions, the tips (k, 3), and the scale (k, m) before each motion."""
    skeleton, moving = start.skeleton, {link.row for link in links}
    before, after = constant_parts(start, moving)
    k = len(before)
    carried = np.broadcast_to(np.eye(3, 4), (k, 3, 4))
    factor, sheared = np.ones(k), False
    frames: list[Floats] = []
    factors: list[Floats] = []
    motions = Counter(link.row for link in links)
    for row in rows if any(point) else rows[:-1]:
        carried = compose(carried, before[:, row])
        for _ in range(motions[row]):
            scale, rotation, off = similar(carried[..., :3], skeleton, row)
            sheared |= off
            offset = carried[..., 3] * factor[:, None]
            frames.append(np.concatenate([offset, rotations.from_matrix(rotation)], axis=-1))
            factor = factor * scale
            factors.append(factor)
            carried = np.broadcast_to(np.eye(3, 4), (k, 3, 4))
        carried = compose(carried, after[:, row])
    end = np.column_stack([np.eye(3), point]) if any(point) else before[:, rows[-1]]
    tips = compose(carried, end)[..., 3] * factor[:, None]
    if not links:
        return np.zeros((k, 0, 7)), tips, np.ones((k, 0)), sheared
    return np.stack(frames, axis=1), tips, np.stack(factors, axis=1), sheared


def constant_parts(start: Pose, moving: set[int], translating: Iterable[int] = ()) -> tuple[Floats, Floats]:
    """What stands before and after each joint's solved motion, as affine maps (k, n, 3, 4).

    Before: A with the pose's translation; for a joint that does not move, its motion too; for a free
    joint its translation, unless that is solved for too (`translating`).
    """
    skeleton = start.skeleton
    n = len(skeleton)
    positions = start.local_positions.reshape(-1, n, 3).copy()
    quaternions = start.local_rotations.reshape(-1, n, 4).copy()
    for row in moving:
        quaternions[:, row] = skeleton.A[row, 3:]
        if skeleton.kinds[row] == Kind.SLIDE:
            positions[:, row] = skeleton.A[row, :3] if start.translations is None else start.translations[..., row, :]
    for row in translating:
        positions[:, row] = skeleton.A[row, :3]
    before = np.concatenate([rotations.as_matrix(quaternions), positions[..., None]], axis=-1)
    after = np.broadcast_to(start.b_affine, before.shape)
    return before, after


def compose(a: Floats, b: Floats) -> Floats:
    """The affine maps (..., 3, 4) b, then a."""
    product = a[..., :3] @ b
    product[..., 3] += a[..., 3]
    return product


def similar(linear: Floats, skeleton: Skeleton, row: int) -> tuple[Floats, Floats, bool]:
    """Split linear maps (k, 3, 3) into a signed factor (k,) and rotations, and say whether they are a little off.

    UnsupportedError if they are far off.
    """
    determinant = np.linalg.det(linear)
    scale = np.cbrt(determinant)
    name = skeleton.names[row]
    if (scale == 0).any():
        raise UnsupportedError(f"the scale above {name!r} is zero: its chain has no size")
    rotation = linear / scale[:, None, None]
    off = float(np.abs(rotation @ np.swapaxes(rotation, 1, 2) - np.eye(3)).max(initial=0.0))
    if off > SIMILAR:
        lengths = ", ".join(f"{value:.4g}" for value in np.sqrt((linear[0] ** 2).sum(axis=0)))
        raise UnsupportedError(
            f"the scale at {name!r} is not uniform ({lengths}); joints below it cannot be turned without shear"
        )
    return scale, rotation_part(rotation) if off > _EXACT else rotation, off > _EXACT


def span_size(offsets: Iterable[Floats]) -> float:
    """The power of two next above the longest span, or 1 where nothing has a length."""
    largest = max((np.abs(offset).max(initial=0.0) for offset in offsets), default=0.0)
    return float(2.0 ** np.ceil(np.log2(largest))) if largest > 0 else 1.0


def _gains(links: tuple[Link, ...], factors: Floats, size: float) -> Floats:
    """What multiplies each axis: a slide's displacement grows with the scale before it."""
    slides = np.array([link.kind == SLIDE for link in links], dtype=bool)
    return np.where(slides, factors[0] / size, 1.0)[:, None]


def _axis(skeleton: Skeleton, link: Link) -> tuple[float, float, float]:
    axis = hinge_axis(skeleton.limits[link.row])
    if link.kind == HINGE and axis is not None:
        return axis
    x, y, z = skeleton.axes[link.row]
    return (x, y, z)


def reach_of(
    links: tuple[Link, ...], ranges: Floats, axes: Floats, frames: Floats, tips: Floats
) -> tuple[Floats, Floats]:
    """Shortest and longest distance (k,) of the tip from the first link, by lengths alone.

    A link can put at most its span between its frame's origin and the next one's (the last: the tip).
    """
    ends = np.concatenate([frames[:, 1:, :3], tips[:, None]], axis=1)
    spans = np.sqrt((ends**2).sum(axis=-1))[:, : len(links)]
    for i, link in enumerate(links):
        if link.kind == MOVE:
            spans[:, i] = np.inf
        elif link.kind == SLIDE:
            spans[:, i] = np.max([_slid(ends[:, i], axes[i], value) for value in ranges[i]], axis=0)
    longest = spans.sum(axis=1)
    turning = bool(links) and all(link.kind in (BALL, HINGE) for link in links)
    return np.maximum(2 * spans.max(axis=1) - longest, 0.0) if turning else np.zeros(len(spans)), longest


def _slid(end: Floats, axis: Floats, value: float) -> Floats:
    """Distance (k,) to a slide's far end (k, 3) when it stands at `value`; infinite where nothing stops it."""
    if not np.isfinite(value):
        return np.full(len(end), np.inf)
    return np.sqrt(((end + axis * value) ** 2).sum(axis=-1))
