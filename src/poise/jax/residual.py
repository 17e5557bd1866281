"""Goals as a residual that JAX can differentiate: what is left, weighted, in the measure of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.goals import Direction, Goal
from poise.jax import turns
from poise.jax.forward import forward
from poise.pose import Pose
from poise.problem import Problem
from poise.tree_layout import POSITION, ROTATION


def residual(pose: Pose, goals: Goal | Sequence[Goal]) -> Callable[..., Array]:
    """A pure function (q (..., nq), targets (..., W)) -> (..., 3 m): three rows for each thing that goals measure.

    pose   a single pose: its translations and scales are used, and a Pin holds where it has its joint
    goals  one or several; their targets are used where the function is given none, and then without batch axes

    `targets` are rows: the numbers of all goals side by side, world, file units (Position 3; Orientation 4; Place 7;
    Direction 3; Pin 7, or 3 where only its position is held). Rows of the result, times the goal's weight:

    position   (target - position) / size, where `size` is about that of the rig, a power of two [file units]
    rotation   2 sin(angle / 2) along the axis of the rotation that is left
    direction  the same, of the shortest turn that takes the axis to the target

    Near measures nothing and has no rows. Gradients are finite at the goal, and where directions are opposite or a
    rotation is half a turn away; there the length has a maximum and its gradient is zero.
    """
    wanted = (goals,) if not isinstance(goals, Sequence) else tuple(goals)
    if pose.shape:
        raise InputError("pose must be a single pose; q may have leading axes")
    problem = Problem(pose, wanted)
    names = tuple(dict.fromkeys(pose.skeleton.names[measure.row] for measure in problem.measures))
    place, size = forward(pose.skeleton, names, pose=pose), problem.tree.size
    given = None if any(goal.shape for goal in wanted) else problem.targets(wanted, 1)[0]

    def left(q: ArrayLike, targets: ArrayLike | None = None) -> Array:
        if targets is None and given is None:
            raise InputError("give targets: those of the goals are a batch")
        at = place(q)
        rows = jnp.asarray(given if targets is None else targets, at.positions.dtype)
        parts: list[Array] = [jnp.zeros((*at.positions.shape[:-2], 0), at.positions.dtype)]
        for measure in problem.measures:
            i, goal = names.index(pose.skeleton.names[measure.row]), problem.goals[measure.goal]
            position, turn = at.positions[..., i, :], at.rotations[..., i, :]
            aim = rows[..., measure.column : measure.column + (4 if measure.kind == ROTATION else 3)]
            if measure.kind == POSITION:
                part = (aim - position) / size
            elif measure.kind == ROTATION:
                part = turns.rotation_left(aim, turn)
            else:
                assert isinstance(goal, Direction)
                axis = jnp.asarray(np.array(goal.axis), position.dtype)
                part = turns.direction_left(aim, turns.rotate(turn, axis))
            parts.append(goal.weight * part)
        batch = jnp.broadcast_shapes(*(part.shape[:-1] for part in parts))
        return jnp.concatenate([jnp.broadcast_to(part, (*batch, part.shape[-1])) for part in parts], axis=-1)

    return left
