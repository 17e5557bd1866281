"""Gaps of closed loops, by forward kinematics.

A loop and the tree form a ring: the joints between its two ends. Only these joints open or close it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from poise.calls.argument_checks import check_type
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, check_finite
from poise.maths.vectors import length
from poise.model.kinematics import (
    KinematicsTable,
    LocalOffsets,
    build_table,
    compute_rotations,
    compute_table_maps,
    flatten_local_offsets,
    pack_local_offsets,
)
from poise.model.loops import Loop
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.runtime.result_cache import get_or_compute

MAX_FILE_GAP = 1e-4  # ratio to the rig's size, and [rad]: rounding of four written digits; wider rest gaps are open
_SIMILARITY_TOLERANCE = 1e-12  # relative deviation from a scaled rotation; beyond it, the nearest rotation is computed


class LoopGaps(NamedTuple):
    """Gaps of the loops of a skeleton, a column each.

    Parameters
    ----------
    distances
        (..., loops) position gaps [file units]; 0 where a loop holds no position.
    angles
        (..., loops) rotation gaps [rad]; 0 where a loop holds no rotation.
    """

    distances: Floats
    angles: Floats


def compute_gaps(skeleton: Skeleton, q: Floats) -> LoopGaps:
    """Compute the gaps of all loops in poses q (..., nq).

    Parameters
    ----------
    skeleton
        The joints, with `Skeleton.loops`.
    q
        (..., nq) the poses; leading axes are a batch.
    """
    skeleton = check_type(skeleton, Skeleton, "the skeleton of loops")
    return compute_pose_gaps(Pose(skeleton, check_finite(q, "q", last_axis_length=skeleton.nq)))


def compute_pose_gaps(pose: Pose) -> LoopGaps:
    """Compute the gaps of all loops in poses (...).

    The translations and scales of the pose count, if it has any.
    """
    skeleton, shape = pose.skeleton, (*pose.shape, len(pose.skeleton.loops))
    if not skeleton.loops:
        return LoopGaps(np.zeros(shape), np.zeros(shape))
    gaps = measure_gaps(skeleton, np.array(pose.flat_q), flatten_local_offsets(pose.translations, pose.scales))
    return LoopGaps(gaps.distances.reshape(shape), gaps.angles.reshape(shape))


def list_ring_rows(skeleton: Skeleton, loop: Loop) -> tuple[int, ...]:
    """List the moving rows of a loop's ring. They lie between its joints, and moving them may open it."""
    paths = [set(skeleton.list_path(skeleton.index(joint))) for joint in loop.joints]
    return tuple(sorted(row for row in paths[0] ^ paths[1] if skeleton.kinds[row] != Kind.FIXED))


def find_touched_loops(skeleton: Skeleton, moving_rows: Iterable[int]) -> tuple[int, ...]:
    """Find the loops of moving rows.

    They may open these loops, which are numbers in `skeleton.loops`. Followers of a row move, too.
    """
    rows = set(moving_rows)
    rows |= {row for row, coupling in enumerate(skeleton.couplings) if coupling and coupling.leader in rows}
    return tuple(i for i, ring in enumerate(_list_rings(skeleton)) if not rows.isdisjoint(ring))


def _list_rings(skeleton: Skeleton) -> tuple[tuple[int, ...], ...]:
    """List the moving rows of each ring."""
    return get_or_compute(
        skeleton, "loop rings", None, lambda: tuple(list_ring_rows(skeleton, loop) for loop in skeleton.loops)
    )


# --- Measurement ------------------------------------------------------------------------------------------------------


class _LoopTable(NamedTuple):
    """Loops of a skeleton as arrays, a row each.

    table                  of the paths to all ends
    slots                  (2, loops) ends a and b in the table
    points                 (2, loops, 3)
    line_indices           loops that hold a line; the others with a distance hold a point
    has_position           (loops,) whether a loop holds a position
    turn_indices, axis_indices  loops that hold a rotation, whole and but for one axis
    rotations              (loops, 4) rotation of b in a; the identity where there is none
    axes                   (loops, 3) in a's frame
    point_ties             (start in the numbers of the maps, point) of a and of b; empty unless all loops hold points
    """

    table: KinematicsTable
    slots: Ints
    points: Floats
    line_indices: Ints
    has_position: Bools
    turn_indices: Ints
    axis_indices: Ints
    rotations: Floats
    axes: Floats
    point_ties: tuple[tuple[Any, ...], ...]


def _get_loop_table(skeleton: Skeleton, local_offsets: LocalOffsets) -> _LoopTable:
    has_translations, has_scales = (values is not None for values in local_offsets)
    key = has_translations, has_scales
    return get_or_compute(
        skeleton,
        "loop tables",
        key,
        lambda: _pack_loops(skeleton, has_translations=has_translations, has_scales=has_scales),
    )


def _pack_loops(skeleton: Skeleton, *, has_translations: bool, has_scales: bool) -> _LoopTable:
    loops = skeleton.loops
    end_rows = [[skeleton.index(joint) for joint in (loop.a, loop.b)] for loop in loops]
    rows = sorted({row for ends in end_rows for end in ends for row in skeleton.list_path(end)})
    slot_by_row = {row: i for i, row in enumerate(rows)}
    table = build_table(skeleton, rows, has_translations=has_translations, has_scales=has_scales)
    holds = [set(loop.holds) for loop in loops]

    def find(*names: str) -> Ints:
        return np.array([i for i, held in enumerate(holds) if held.intersection(names)], dtype=np.int64)

    return _LoopTable(
        table,
        np.array([[slot_by_row[ends[i]] for ends in end_rows] for i in range(2)], dtype=np.int64),
        np.array([[loop.point_a for loop in loops], [loop.point_b for loop in loops]]),
        np.array([i for i in find("line") if "point" not in holds[i]], dtype=np.int64),
        np.array([bool(held.intersection(("point", "line"))) for held in holds], dtype=np.bool_),
        find("turn"),
        np.array([i for i in find("axis") if "turn" not in holds[i]], dtype=np.int64),
        np.array([loop.rotation or (1.0, 0.0, 0.0, 0.0) for loop in loops]),
        np.array([loop.axis for loop in loops]),
        tuple(
            (12 * slot_by_row[row_a], loop.point_a, 12 * slot_by_row[row_b], loop.point_b)
            for loop, (row_a, row_b) in zip(loops, end_rows, strict=True)
        )
        if all(held == {"point"} for held in holds)
        else (),
    )


def measure_gaps(skeleton: Skeleton, q: Floats, local_offsets: LocalOffsets) -> LoopGaps:
    """Measure the gaps (k, loops) in poses q (k, nq). They are not checked."""
    loops = _get_loop_table(skeleton, local_offsets)
    row_count = len(loops.table.joint_rows)
    packed_offsets = pack_local_offsets(loops.table, local_offsets)
    flat_maps = compute_table_maps(loops.table, row_count, q, packed_offsets)
    if len(q) == 1 and loops.point_ties:
        distances = _measure_points(loops.point_ties, flat_maps[0].tolist())
        return LoopGaps(np.array([distances]), np.zeros((1, len(distances))))
    maps = flat_maps.reshape(len(q), row_count, 3, 4)
    maps_a, maps_b = (maps[:, slots] for slots in loops.slots)
    offsets = _map_points(maps_b, loops.points[1]) - _map_points(maps_a, loops.points[0])
    angles = np.zeros((len(q), len(skeleton.loops)))
    rotated = np.concatenate([loops.line_indices, loops.turn_indices, loops.axis_indices])
    if len(rotated):
        _measure_rotations(loops, maps_a, maps_b, offsets, angles)
    return LoopGaps(np.where(loops.has_position, length(offsets), 0.0), angles)


def _measure_points(point_ties: tuple[tuple[Any, ...], ...], numbers: list[float]) -> list[float]:
    """Measure the distances of one pose. Python floats have the bits of arrays, in a third of the time."""
    distances: list[float] = []
    for start_a, (ax, ay, az), start_b, (bx, by, bz) in point_ties:
        squared_distance = 0.0
        for row in (0, 4, 8):
            a0, a1, a2, a3 = numbers[start_a + row : start_a + row + 4]
            b0, b1, b2, b3 = numbers[start_b + row : start_b + row + 4]
            offset = (b0 * bx + b1 * by + b2 * bz + b3) - (a0 * ax + a1 * ay + a2 * az + a3)
            squared_distance += offset * offset
        distances.append(math.sqrt(squared_distance))
    return distances


def _map_points(maps: Floats, points: Floats) -> Floats:
    """Map points (loops, 3) of joints to the world. The maps are (k, loops, 3, 4)."""
    return (maps[..., :3] * points[:, None, :]).sum(axis=-1) + maps[..., 3]


def _measure_rotations(loops: _LoopTable, maps_a: Floats, maps_b: Floats, offsets: Floats, angles: Floats) -> None:
    """Write the angles, and the offsets across lines.

    The offsets of loops that hold a line lose their part along it.
    """
    line, turn, axis = loops.line_indices, loops.turn_indices, loops.axis_indices
    rotations_a = _compute_rotations(maps_a)
    world_axes = rotations.rotate(rotations_a, np.broadcast_to(loops.axes, offsets.shape))
    along = (offsets[:, line] * world_axes[:, line]).sum(axis=-1, keepdims=True)
    offsets[:, line] -= along * world_axes[:, line]
    if not len(turn) + len(axis):
        return
    # rotation of b as seen from where a holds it; the identity in a closed loop
    held = rotations.multiply(rotations_a, np.broadcast_to(loops.rotations, rotations_a.shape))
    rotations_b = _compute_rotations(maps_b)
    error = rotations.multiply(rotations_b[:, turn], rotations.inverse(held[:, turn]))
    angles[:, turn] = 2.0 * np.arctan2(length(error[..., 1:]), np.abs(error[..., 0]))
    axes_in_b = rotations.rotate(rotations.inverse(loops.rotations[axis]), loops.axes[axis])
    axes_b = rotations.rotate(rotations_b[:, axis], np.broadcast_to(axes_in_b, (len(offsets), *axes_in_b.shape)))
    cosine = (world_axes[:, axis] * axes_b).sum(axis=-1) + 0.0  # no -0: half a turn
    angles[:, axis] = np.arctan2(length(np.cross(world_axes[:, axis], axes_b)), cosine)


def _compute_rotations(maps: Floats) -> Floats:
    """Compute rotations (k, loops, 4). They are the nearest to maps (k, loops, 3, 4)."""
    flat_maps = np.ascontiguousarray(maps.reshape(-1, 12))
    return compute_rotations(flat_maps, _SIMILARITY_TOLERANCE, pose_count=len(maps)).reshape(*maps.shape[:-2], 4)
