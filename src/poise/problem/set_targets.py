"""Targets and errors of relative goals and of ranges.

A relative goal has its target in the frame of another joint; a range is a set about the target. The kernels get the
target in the frame of the reference's node, and the axes of a box behind all targets (kernels/goal_sets.py). Errors are
measured in the frame of the reference: its units are those of the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.kernels.layout import NO_SET, TARGET_BOX, TERM_AXES_START
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints
from poise.problem import dof_layout
from poise.problem.frame_packing import REFERENCE_ORIGIN, REFERENCE_ROTATION, REFERENCE_SCALE
from poise.problem.goal_ranges import clamp_turns, get_set_kind, get_within, pack_turn
from poise.problem.goals import AnyGoal
from poise.problem.plan import AXES_SIZE, TERM_TARGET_START, Plan
from poise.runtime.result_cache import get_or_compute

_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


# --- targets for the kernels ---------------------------------------------------------------------------------------


def write_set_targets(plan: Plan, rows: Floats, base_transforms: Floats, out: Floats) -> None:
    """Write kernel targets of relative goals and axes of boxes.

    They are columns of `out` (k, width).

    rows             (k, W) targets: in the frames of the references, or in the world
    base_transforms  (1|k, 12) transforms of the base without scale
    """
    if plan.layout.ties:
        columns, values = get_or_compute(plan, "targets of loops", None, lambda: _pack_tie_targets(plan))
        out[:, columns] = values
    for i, term in enumerate(plan.layout.terms):
        if term.is_plain or term.is_tie:
            continue
        size, start = dof_layout.TARGET_SIZES[term.kind], int(plan.term_table[i, TERM_TARGET_START])
        if term.reference_row >= 0:
            target = rows[:, term.target_column : term.target_column + size]
            out[:, start : start + size] = _move_to_node(plan.references[i], term.kind, target)
        if term.set_kind == TARGET_BOX:
            axes = read_target_axes(plan.measures, term.goal_index, rows)
            if term.reference_row >= 0:
                axes = rotations.multiply(plan.references[i, REFERENCE_ROTATION:REFERENCE_SCALE], axes)
            else:
                base_rotations = rotations.from_matrix(base_transforms.reshape(-1, 3, 4)[:, :, :3])
                axes = rotations.multiply(rotations.inverse(base_rotations), axes)
            axes_start = int(plan.term_table[i, TERM_AXES_START])
            out[:, axes_start : axes_start + AXES_SIZE] = axes


def _pack_tie_targets(plan: Plan) -> tuple[Ints, Floats]:
    """Pack the constant kernel targets of loops. Returns their columns and values."""
    columns: list[int] = []
    values: list[float] = []
    for i, term in enumerate(plan.layout.terms):
        tie, start = plan.layout.find_tie(term), int(plan.term_table[i, TERM_TARGET_START])
        if tie is None:
            continue
        target = _move_to_node(plan.references[i], term.kind, tie.goal.rows()[None])[0]
        columns += range(start, start + len(target))
        values += target.tolist()
        if term.set_kind == TARGET_BOX:
            axes_start = int(plan.term_table[i, TERM_AXES_START])
            axes = rotations.multiply(plan.references[i, REFERENCE_ROTATION:REFERENCE_SCALE], tie.axes)
            columns += range(axes_start, axes_start + AXES_SIZE)
            values += axes.tolist()
    return np.array(columns, dtype=np.int64), np.array(values)


def _move_to_node(reference: Floats, kind: int, target: Floats) -> Floats:
    """Move targets (k, 3|4) from a reference's frame to its node's."""
    rotation = reference[REFERENCE_ROTATION:REFERENCE_SCALE]
    if kind == dof_layout.ROTATION:
        return rotations.multiply(rotation, target)
    if kind == dof_layout.DIRECTION:
        return rotations.rotate(rotation, target)
    linear = reference[:REFERENCE_ORIGIN].reshape(3, 3)
    # Sums in a fixed order: a matrix product would have other last bits for other numbers of rows.
    return (linear * target[:, None]).sum(axis=-1) + reference[REFERENCE_ORIGIN:REFERENCE_ROTATION]


def read_target_axes(measures: Sequence[dof_layout.Measure], goal_index: int, rows: Floats) -> Floats:
    """Return the rotations (k, 4) of a goal's targets. A goal without rotation has the identity."""
    for measure in measures:
        if measure.goal_index == goal_index and measure.kind == dof_layout.ROTATION:
            return rows[:, measure.target_column : measure.target_column + 4]
    return np.broadcast_to(_IDENTITY, (len(rows), 4))


# --- errors ----------------------------------------------------------------------------------------------------------


class ReferenceFrame(NamedTuple):
    """World transforms of a reference.

    affine     (k, 3, 4) maps, with scale
    rotations  (k, 4) rotations
    """

    affine: Floats
    rotations: Floats

    def find_points(self, world_points: Floats) -> Floats:
        """Return world points (k, 3) in the frame."""
        offsets = (world_points - self.affine[:, :, 3])[..., None]
        return np.asarray(np.linalg.solve(self.affine[:, :, :3], offsets)[..., 0], dtype=np.float64)

    def move_points(self, points: Floats) -> Floats:
        """Return points (k, 3) of the frame in the world."""
        return (self.affine[:, :, :3] * points[:, None]).sum(axis=-1) + self.affine[:, :, 3]


def compute_offset(
    frame: ReferenceFrame | None,
    goal: AnyGoal,
    world_points: Floats,
    world_rotations: Floats | None,
    target: Floats,
    target_axes: Floats,
) -> Floats:
    """Compute the way (k, 3) from points to their set.

    It is in the axes of the frame.

    `target_axes` are the rotations (k, 4) of the targets, `world_rotations` those of the joint, for boxes with its
    axes.
    """
    offset = (world_points if frame is None else frame.find_points(world_points)) - target
    within = get_within(goal)
    if within is None or get_set_kind(goal, "position") == NO_SET:
        return -offset
    axes = target_axes
    if within.axes == "joint":
        assert world_rotations is not None
        axes = world_rotations
        if frame is not None:
            axes = rotations.multiply(rotations.inverse(frame.rotations), axes)
    local_offset = rotations.rotate(rotations.inverse(axes), offset)
    nearest = np.clip(local_offset, *np.array(within.intervals).T)
    return rotations.rotate(axes, nearest - local_offset)


def find_nearest_rotation(
    frame: ReferenceFrame | None, goal: AnyGoal, world_rotations: Floats, target: Floats
) -> Floats:
    """Return the nearest world rotation (k, 4) of a set."""
    target = target if frame is None else rotations.multiply(frame.rotations, target)
    within = get_within(goal)
    if within is None or within.turn is None or get_set_kind(goal, "rotation") == NO_SET:
        return target
    turn = rotations.multiply(rotations.inverse(target), world_rotations)
    return rotations.multiply(target, clamp_turns(pack_turn(within.turn), turn))
