"""Differentiable weighted residual of goals in JAX, in the engine's measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from poise.errors import InputError, UnsupportedError
from poise.jax import turns
from poise.jax.forward import Frames, as_q, forward
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.problem.goals import AnyGoal, Goal
from poise.problem.layout import AIM, BALANCE, DIRECTION, NUMBERS, POLE, POSITION, ROTATION, Measure
from poise.problem.packing import axis_in, offset_of, weight_of
from poise.problem.problem import Problem


def residual(pose: Pose, goals: Goal | Sequence[Goal]) -> Callable[..., Array]:
    """Build a pure residual function of q and targets.

    (q (..., nq), targets (..., W)) -> (..., 3 m): three rows for each measured term of the goals.

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

    Notes ----- `targets` are rows with the numbers of all goals, world, file units (Position, Aim and LookAt 3;
    Orientation 4; Place 7; Direction 3; Pin 7, or 3 if only its position is held). Quaternions and directions in them
    must have unit length. Rows of the result, times the goal's weight:

    - position: (target - position) / size, with `size` about the rig's size, a power of two [file units];
    - rotation: 2 sin(angle / 2) along the axis of the remaining rotation;
    - direction: the same for the shortest rotation of the axis to the target;
    - aim: the same for the shortest rotation of the axis to the direction from the goal's point to the target; zero
      where these are one point. A LookAt is measured as an Aim; the solver chooses the joints' shares.

    Near has no rows. Gradients are finite at the goal, at opposite directions and at rotations of half a turn; at the
    last two the residual's length has a maximum and its gradient is zero.
    """
    wanted = tuple(goals) if isinstance(goals, Sequence) else (goals,)
    if pose.shape:
        raise InputError("pose must be a single pose; q may have leading axes")
    problem = Problem(pose, wanted)
    for measure in problem.measures:
        if measure.kind in (POLE, BALANCE):
            raise UnsupportedError(f"poise.jax has no residual for {type(wanted[measure.goal]).__name__} goals")
    names = tuple(dict.fromkeys(pose.skeleton.names[measure.row] for measure in problem.measures))
    asked = [
        (names.index(pose.skeleton.names[measure.row]), measure, goal, _axis(pose, measure, goal))
        for measure, goal in ((measure, problem.goals[measure.goal]) for measure in problem.measures)
    ]
    place, size = forward(pose.skeleton, names, pose=pose), problem.plan.size
    width = sum(NUMBERS[measure.kind] for measure in problem.measures)
    given = None if any(goal.shape for goal in wanted) else problem.targets(wanted, 1)[0]

    @jax.jit
    def rest(q: Array, targets: Array) -> Array:
        at = place(q)
        batch = jnp.broadcast_shapes(q.shape[:-1], targets.shape[:-1])
        rows = [_rows(at, i, measure, goal, axis, targets, size) for i, measure, goal, axis in asked]
        none = jnp.zeros((*batch, 0), q.dtype)
        return jnp.concatenate([none, *(jnp.broadcast_to(part, (*batch, 3)) for part in rows)], axis=-1)

    def left(q: ArrayLike, targets: ArrayLike | None = None) -> Array:
        if targets is None and given is None:
            raise InputError("give targets: those of the goals are a batch")
        at = as_q(pose.skeleton, q)
        rows = jnp.asarray(given if targets is None else targets, at.dtype)
        if rows.shape[-1:] != (width,):
            message = f"targets have {width} numbers in their last axis; got an array of shape {rows.shape}"
            raise InputError(message)
        return rest(at, rows)

    return left


def _axis(pose: Pose, measure: Measure, goal: AnyGoal) -> Floats:
    """Return the local axis (3,) of a direction or aim. Zero for other measures."""
    return np.array(axis_in(pose.skeleton, goal)) if measure.kind in (DIRECTION, AIM) else np.zeros(3)


def _rows(at: Frames, i: int, measure: Measure, goal: AnyGoal, own: Floats, targets: Array, size: float) -> Array:
    """Compute the weighted residual (..., 3) of one measure. It belongs to joint i of the frames."""
    wanted = targets[..., measure.column : measure.column + NUMBERS[measure.kind]]
    affine, turn = at.affine[..., i, :, :], turns.quat(at.rotations[..., i, :])
    point = turns.vec(affine[..., :3] @ jnp.asarray(offset_of(goal), affine.dtype) + affine[..., 3])
    if measure.kind == POSITION:
        part = turns.scale(turns.sub(turns.vec(wanted), point), 1.0 / size)
    elif measure.kind == ROTATION:
        part = turns.rotation_left(turns.quat(wanted), turn)
    else:
        axis = turns.rotate(turn, turns.vec(jnp.asarray(own, affine.dtype)))
        way = turns.vec(wanted)
        part = turns.direction_left(turns.way_to(way, point, axis) if measure.kind == AIM else way, axis)
    return turns.stacked(part) * weight_of(goal, measure.kind)
