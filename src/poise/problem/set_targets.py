"""Targets and errors of relative goals and of ranges.

A relative goal has its target in the frame of another joint; a range is a set about the target. The kernels get the
target in the frame of the reference's node, and the axes of a box behind all targets (kernels/goal_sets.py). Errors are
measured in the frame of the reference: its units are those of the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.kernels.layout import (
    NO_SET,
    SET_IS_RELATIVE,
    SET_KERNEL_AXES,
    SET_KERNEL_COLUMN,
    SET_REFERENCE,
    SET_TARGET_ROW,
    SET_TERM_KIND,
    SET_WORLD_AXES,
    SET_WORLD_COLUMN,
    TARGET_BOX,
    TERM_AXES_START,
)
from poise.maths import rotations
from poise.maths.arrays import Floats, prepare_for_kernel
from poise.problem import dof_layout
from poise.problem.goal_ranges import clamp_turns, get_set_kind, get_within, pack_turn
from poise.problem.goals import AnyGoal
from poise.problem.plan import TERM_TARGET_START, Plan
from poise.problem.world_measures import find_axes_column
from poise.runtime.result_cache import get_or_compute

_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


# --- targets for the kernels ---------------------------------------------------------------------------------------


class SetTargets(NamedTuple):
    """Kernel input for targets of relative goals, boxes and closed loops.

    rows      (s, SET_TARGET_ROW)  see kernels/kernel_coordinates.py
    template  (width,) kernel targets of closed loops, which are constant; else zeros
    """

    rows: Floats
    template: Floats


def pack_set_targets(plan: Plan) -> SetTargets:
    """Pack the targets of relative goals, boxes and closed loops. They do not depend on widths."""

    def pack() -> SetTargets:
        template = np.zeros(plan.target_width)
        rows = [
            _pack_set_row(plan, i, term)
            for i, term in enumerate(plan.layout.terms)
            if not term.is_plain and not term.is_tie
        ]
        for i, term in enumerate(plan.layout.terms):
            tie = plan.layout.find_tie(term)
            if tie is not None:
                _write_constants(plan, i, term, tie.goal.rows()[None], tie.axes, template)
        return SetTargets(np.array(rows).reshape(-1, SET_TARGET_ROW), template)

    return get_or_compute(plan.tree, "set targets", plan.kernel_unit_in_base, pack)


def _pack_set_row(plan: Plan, i: int, term: dof_layout.Term) -> Floats:
    row = np.zeros(SET_TARGET_ROW)
    is_box = term.set_kind == TARGET_BOX
    row[SET_TERM_KIND], row[SET_WORLD_COLUMN] = term.kind, term.target_column
    row[SET_KERNEL_COLUMN] = plan.term_table[i, TERM_TARGET_START]
    row[SET_WORLD_AXES] = find_axes_column(plan.measures, term.goal_index)
    row[SET_KERNEL_AXES] = plan.term_table[i, TERM_AXES_START] if is_box else -1
    row[SET_IS_RELATIVE] = term.reference_row >= 0
    row[SET_REFERENCE:] = plan.references[i]
    return row


def _write_constants(plan: Plan, i: int, term: dof_layout.Term, target: Floats, axes: Floats, template: Floats) -> None:
    """Write the constant kernel targets of a closed loop. `target` is (1, 3|4)."""
    row = _pack_set_row(plan, i, term)
    row[SET_WORLD_COLUMN], row[SET_WORLD_AXES] = 0, target.shape[1]
    world = np.concatenate([target, axes.reshape(1, -1)], axis=1)
    convert_set_targets(row[None], world, np.eye(3, 4).reshape(1, 12), template[None])


def convert_set_targets(rows: Floats, targets: Floats, base_transforms: Floats, out: Floats) -> None:
    """Write kernel targets of relative goals, and axes of boxes.

    They are columns of `out` (k, width).

    targets          (k, W) in the frames of the references, or in the world
    base_transforms  (1|k, 12) transforms of the base without scale
    """
    kernels.kernel_coordinates.convert_set_targets(prepare_for_kernel(targets), base_transforms, rows, out)


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
