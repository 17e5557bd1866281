"""Differentiable weighted residual of goals in JAX. It equals that of the Levenberg-Marquardt engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from poise.errors import InputError, UnsupportedError
from poise.jax import quaternions
from poise.jax.kinematics import Frames, check_q, forward
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.problem.dof_layout import AIM, BALANCE, DIRECTION, POLE, POSITION, ROTATION, TARGET_SIZES, Measure
from poise.problem.goal_fields import get_goal_point, get_pointing_axis, get_residual_weight
from poise.problem.goal_ranges import is_set_goal
from poise.problem.goals import AnyGoal, Goals
from poise.problem.problem import Problem


def residual(pose: Pose, goals: Goals) -> Callable[..., Array]:
    """Build a pure residual function of q and targets.

    (q (..., nq), targets (..., W)) -> (..., 3 m): three numbers for each measured term of the goals.

    Parameters
    ----------
    pose
        A single pose. Its translations and scales are used, and a Pin holds its joint at this pose.
    goals
        One or several. Their targets are the default of the function's targets, which needs goals without batch axes.

    Raises
    ------
    UnsupportedError
        For a Pole.

    Notes
    -----
    `targets` has the numbers of all goals side by side, in the world and in file units (Position, Aim and LookAt 3;
    Orientation 4; Place 7; Direction 3; Pin 7, or 3 if only its position is held). Quaternions and directions in it
    must have unit length. The three numbers of a term, times the goal's weight:

    - position: (target - position) / unit; the unit is a power of two near the size of the rig [file units];
    - rotation: 2 sin(angle / 2) along the axis of the remaining rotation;
    - direction: the same for the shortest rotation of the axis to the target;
    - aim: the same for the shortest rotation of the axis to the direction from the goal's point to the target; zero
      where these are one point. A LookAt is measured as an Aim; the solver chooses the joints' shares.

    Near has no term. Gradients are finite at the goal, at opposite directions and at rotations of half a turn; at the
    last two the residual's length has a maximum and its gradient is zero.
    """
    goal_list: tuple[Any, ...] = tuple(goals) if isinstance(goals, Sequence) else (goals,)
    if pose.shape:
        raise InputError("pose must be a single pose; q may have leading axes")
    problem = Problem(pose, goal_list)
    for measure in problem.measures:
        if measure.kind in (POLE, BALANCE):
            raise UnsupportedError(
                f"poise.jax has no residual for {type(goal_list[measure.goal_index]).__name__} goals"
            )
        if is_set_goal(goal_list[measure.goal_index]):
            raise UnsupportedError(
                "poise.jax has residuals for goals with a single target in the world, not `relative_to` or `within`"
            )
    names = tuple(dict.fromkeys(pose.skeleton.names[measure.row] for measure in problem.measures))
    terms = [_build_term(problem, measure, names) for measure in problem.measures]
    compute_frames, kernel_unit = forward(pose.skeleton, names, pose=pose), problem.plan.kernel_unit_in_base
    target_width = sum(TARGET_SIZES[measure.kind] for measure in problem.measures)
    default_targets = None if any(goal.shape for goal in goal_list) else problem.build_targets(goal_list, 1)[0]

    @jax.jit
    def compute_unchecked_residual(q: Array, targets: Array) -> Array:
        frames = compute_frames(q)
        batch_shape = jnp.broadcast_shapes(q.shape[:-1], targets.shape[:-1])
        no_terms = jnp.zeros((*batch_shape, 0), q.dtype)
        term_residuals = [_compute_term_residual(frames, term, targets, kernel_unit) for term in terms]
        return jnp.concatenate(
            [no_terms, *(jnp.broadcast_to(term_residual, (*batch_shape, 3)) for term_residual in term_residuals)],
            axis=-1,
        )

    def compute_residual(q: ArrayLike, targets: ArrayLike | None = None) -> Array:
        if targets is None and default_targets is None:
            raise InputError("give targets: those of the goals are a batch")
        checked_q = check_q(pose.skeleton, q)
        checked_targets = jnp.asarray(default_targets if targets is None else targets, checked_q.dtype)
        if checked_targets.shape[-1:] != (target_width,):
            message = (
                f"targets have {target_width} numbers in their last axis; got an array of shape {checked_targets.shape}"
            )
            raise InputError(message)
        return compute_unchecked_residual(checked_q, checked_targets)

    return compute_residual


class _ResidualTerm(NamedTuple):
    """A measured quantity of a goal.

    frame_index  index of its joint in the computed frames
    axis         (3,) local axis of a direction or aim; zero for other measures
    """

    frame_index: int
    measure: Measure
    goal: AnyGoal
    axis: Floats


def _build_term(problem: Problem, measure: Measure, frame_names: Sequence[str]) -> _ResidualTerm:
    """Build the term of a measure. `frame_names` are the joints of the computed frames."""
    skeleton, goal = problem.skeleton, problem.goals[measure.goal_index]
    has_axis = measure.kind in (DIRECTION, AIM)
    axis = np.array(get_pointing_axis(skeleton, goal)) if has_axis else np.zeros(3)
    return _ResidualTerm(frame_names.index(skeleton.names[measure.row]), measure, goal, axis)


def _compute_term_residual(frames: Frames, term: _ResidualTerm, targets: Array, kernel_unit: float) -> Array:
    """Compute the weighted residual (..., 3) of one term. Lengths are divided by `kernel_unit`."""
    frame_index, measure, goal, local_axis = term
    target = targets[..., measure.target_column : measure.target_column + TARGET_SIZES[measure.kind]]
    affine, rotation = frames.affine[..., frame_index, :, :], quaternions.to_quat(frames.rotations[..., frame_index, :])
    point = quaternions.to_vec(affine[..., :3] @ jnp.asarray(get_goal_point(goal), affine.dtype) + affine[..., 3])
    if measure.kind == POSITION:
        weighted_error = quaternions.scale(quaternions.sub(quaternions.to_vec(target), point), 1.0 / kernel_unit)
    elif measure.kind == ROTATION:
        weighted_error = quaternions.rotation_error(quaternions.to_quat(target), rotation)
    else:
        axis = quaternions.rotate(rotation, quaternions.to_vec(jnp.asarray(local_axis, affine.dtype)))
        direction = quaternions.to_vec(target)
        weighted_error = quaternions.direction_error(
            quaternions.unit_direction(direction, point, axis) if measure.kind == AIM else direction, axis
        )
    return quaternions.stack(weighted_error) * get_residual_weight(goal, measure.kind)
