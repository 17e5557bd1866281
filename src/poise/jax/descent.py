"""Levenberg-Marquardt and L-BFGS in lanes, one problem per lane.

JAX computes the derivatives, projection keeps the ranges.

A LaneState is the state of a lane. `advance` runs every lane up to a number of iterations; a finished lane keeps its
bits. Every call has the same number of lanes, so one compiled program serves all and results do not depend on the
number of targets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

from poise.jax.tree import Configuration, Constants, Lane, left, moved

LANES = 16  # problems per call of the compiled functions
_WINDOW = 4  # iterations between two checks of progress
_LEAST, _MOST = 1e-12, 1e12  # bounds of the damping factor
_MEMORY = 8  # pairs of steps and gradient changes in the L-BFGS history
_HALVINGS = 20  # most halvings of a step
_SLOPE = 1e-4  # share of the predicted decrease required of a step (Armijo)


class State(NamedTuple):
    """State of a lane.

    place       configuration
    error       |r|^2, weighted
    met, done   whether every term is met; whether the lane has ended: met, stalled or out of iterations
    iterations  so far
    mark        error at the last check of progress
    memory      state of the method between steps: Damping or LbfgsHistory
    """

    place: Configuration
    error: Array
    met: Array
    done: Array
    iterations: Array
    mark: Array
    memory: Any


Step: TypeAlias = Callable[[Constants, Lane, State, Array], State]


def begin(rig: Constants, lane: Lane, place: Configuration, memory: Any) -> State:
    """Make the state of a lane before its first step."""
    rest, met = left(rig, lane, place, jnp.zeros_like(place.values))
    error = rest @ rest
    zero = jnp.zeros((), jnp.int32)
    return State(place, error, met, met, zero, error, memory)


def _finished(state: State, before: State, worth: Array, *, stuck: Array) -> State:
    """Count the iteration and end converged or stalled lanes."""
    iterations = state.iterations + 1
    at_mark = iterations % _WINDOW == 0
    stalled = at_mark & (state.error > worth * before.mark)
    mark = jnp.where(at_mark, state.error, before.mark)
    return state._replace(iterations=iterations, mark=mark, done=state.met | stalled | stuck)


def _free(rig: Constants, place: Configuration, down: Array) -> Array:
    """Find the free degrees of freedom (n, 3). Those pushed by `down` against the end of their range are left out."""
    low, high = rig.ranges
    stuck = ((place.values <= low) & (down < 0)) | ((place.values >= high) & (down > 0))
    return jnp.where(stuck, 0.0, rig.moves)


# --- Levenberg-Marquardt -----------------------------------------------------------------------------------------


class Damping(NamedTuple):
    """Damping `factor` |r|^2 and its growth. A failed step multiplies the factor by `growth`, which doubles."""

    factor: Array
    growth: Array


def damped(damping: Array) -> Damping:
    """Make the initial damping."""
    return Damping(damping + jnp.zeros(()), 2.0 + jnp.zeros(()))  # sums: JAX gives Python numbers another type


def damped_step(rig: Constants, lane: Lane, state: State, worth: Array) -> State:
    """Take a Levenberg-Marquardt step if it lowers |r|^2.

    v = -J^T (J J^T + l I)^-1 r; l follows the gain (Nielsen's rule).

    Madsen, Nielsen and Tingleff, "Methods for non-linear least squares problems", 2004, algorithm 3.16. The system is
    in its dual form, of the size of the goals.
    """
    still = jnp.zeros_like(state.place.values)
    rest, pull, _ = jax.vjp(partial(left, rig, lane, state.place), still, has_aux=True)
    (rates,) = jax.vmap(pull)(jnp.eye(rest.shape[0]))
    rates = rates * rig.moves
    rates = rates * _free(rig, state.place, -jnp.tensordot(rest, rates, 1))
    flat = rates.reshape(rest.shape[0], -1)
    factor, growth = state.memory
    damping = jnp.maximum(factor * state.error, _LEAST)
    v = -(_solved(flat @ flat.T + damping * jnp.eye(rest.shape[0]), rest) @ flat).reshape(still.shape)
    place = moved(rig, lane, state.place, v)
    after, met = left(rig, lane, place, still)
    error = after @ after
    linear = rest + jnp.tensordot(rates, v, 2)
    share = (state.error - error) / jnp.maximum(state.error - linear @ linear, 1e-300)
    better = error < state.error
    softer = jnp.clip(1.0 - (2.0 * share - 1.0) ** 3, 0.2, 4.0)
    memory = Damping(
        jnp.clip(factor * jnp.where(better, softer, growth), _LEAST, _MOST), jnp.where(better, 2.0, 2.0 * growth)
    )
    taken = jax.tree.map(partial(jnp.where, better), (place, error, met), (state.place, state.error, state.met))
    now = state._replace(place=taken[0], error=taken[1], met=taken[2], memory=memory)
    return _finished(now, state, worth, stuck=(rates == 0.0).all() | (factor >= _MOST))


def _solved(A: Array, b: Array) -> Array:  # noqa: N803
    """Solve A x = b for a symmetric positive definite A."""
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(A, lower=True), b)


# --- L-BFGS ------------------------------------------------------------------------------------------------------


class Past(NamedTuple):
    """Steps and gradient changes (m, n, 3), the newest last. Also the last step and the gradient before it (n, 3)."""

    steps: Array
    changes: Array
    step: Array
    slope: Array


def forgetful(values: Array) -> Past:
    """Make an empty history of the shape of `values` (n, 3)."""
    none = jnp.zeros((_MEMORY, *values.shape))
    return Past(none, none, jnp.zeros_like(values), jnp.zeros_like(values))


def quasi_newton_step(rig: Constants, lane: Lane, state: State, worth: Array) -> State:
    """Take an L-BFGS step with backtracking. Nocedal and Wright, "Numerical Optimization", algorithm 7.4.

    It has its own two loops: libraries work on vectors of a flat space. Here a step rotates quaternions in the tangent
    space at the lane's configuration and is projected onto ranges.
    """
    still = jnp.zeros_like(state.place.values)

    def half_square(v: Array) -> Array:
        rest, _ = left(rig, lane, state.place, v)
        return 0.5 * (rest @ rest)

    slope = jax.grad(half_square)(still) * rig.moves
    past = _remember(state.memory, slope)
    free = _free(rig, state.place, -slope)
    down = -_two_loops(past, slope * free) * free
    promise = (down * slope).sum()
    steepest = -slope * free
    uphill = promise >= 0.0
    down = jnp.where(uphill, steepest, down)
    promise = jnp.where(uphill, (steepest * slope).sum(), promise)
    length = jnp.sqrt((down * down).max())
    share = jnp.minimum(1.0, 1.0 / jnp.maximum(length, 1e-300))  # at most a radian per step
    place, error, met, share = _searched(rig, lane, state, down, share, promise)
    better = error < state.error
    taken = jax.tree.map(partial(jnp.where, better), (place, error, met), (state.place, state.error, state.met))
    memory = past._replace(step=share * down, slope=slope)
    now = state._replace(place=taken[0], error=taken[1], met=taken[2], memory=memory)
    return _finished(now, state, worth, stuck=~better)


def _searched(
    rig: Constants, lane: Lane, state: State, down: Array, share: Array, promise: Array
) -> tuple[Configuration, Array, Array, Array]:
    """Halve the step until the Armijo condition holds."""
    still = jnp.zeros_like(down)

    def at(share: Array) -> tuple[Configuration, Array, Array]:
        place = moved(rig, lane, state.place, share * down)
        rest, met = left(rig, lane, place, still)
        return place, rest @ rest, met

    def goes_on(tried: tuple[Array, Array, tuple[Configuration, Array, Array]]) -> Array:
        share, halvings, (_, error, _) = tried
        return (error > state.error + 2.0 * _SLOPE * share * promise) & (halvings < _HALVINGS)

    def halved(tried: tuple[Array, Array, Any]) -> tuple[Array, Array, Any]:
        share, halvings, _ = tried
        return 0.5 * share, halvings + 1, at(0.5 * share)

    share, _, found = jax.lax.while_loop(goes_on, halved, (share, jnp.zeros((), jnp.int32), at(share)))
    return *found, share


def _remember(past: Past, slope: Array) -> Past:
    """Add the last step to the history if its curvature is positive.

    The history keeps the step and the change of the gradient.
    """
    change = slope - past.slope
    curved = (past.step * change).sum() > 1e-10 * (change * change).sum()
    steps = jnp.concatenate([past.steps[1:], past.step[None]])
    changes = jnp.concatenate([past.changes[1:], change[None]])
    return past._replace(steps=jnp.where(curved, steps, past.steps), changes=jnp.where(curved, changes, past.changes))


def _two_loops(past: Past, slope: Array) -> Array:
    """Apply the inverse Hessian to a gradient. Empty slots of the history count for nothing."""
    curvature = (past.steps * past.changes).sum(axis=(1, 2))
    inverse = jnp.where(curvature > 0.0, 1.0 / jnp.where(curvature > 0.0, curvature, 1.0), 0.0)

    def back(v: Array, pair: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        step, change, inverse = pair
        share = inverse * (step * v).sum()
        return v - share * change, share

    def forth(v: Array, pair: tuple[Array, Array, Array, Array]) -> tuple[Array, None]:
        step, change, inverse, share = pair
        return v + (share - inverse * (change * v).sum()) * step, None

    v, shares = jax.lax.scan(back, slope, (past.steps, past.changes, inverse), reverse=True)
    square = (past.changes[-1] ** 2).sum()
    v = v * jnp.where(square > 0.0, curvature[-1] / jnp.where(square > 0.0, square, 1.0), 1.0)
    v, _ = jax.lax.scan(forth, v, (past.steps, past.changes, inverse, shares))
    return v


# --- lanes -------------------------------------------------------------------------------------------------------


class Program(NamedTuple):
    """Compiled functions of a method, over lanes.

    initialise(tree, lane, configuration, damping) -> LaneState and advance(tree, lane, state, last, worth) ->
    LaneState.

    last   most iterations of a lane
    worth  error ratio over four iterations above which a lane ends
    """

    begin: Callable[..., State]
    advance: Callable[..., State]


@cache
def program(method: str) -> Program:
    """Compile the functions of a method. JAX compiles them again for every padded size."""
    step: Step = damped_step if method == "levenberg_marquardt" else quasi_newton_step

    def start(rig: Constants, lane: Lane, place: Configuration, damping: Array) -> State:
        memory = damped(damping) if method == "levenberg_marquardt" else forgetful(place.values)
        return begin(rig, lane, place, memory)

    def advance(rig: Constants, lane: Lane, state: State, last: Array, worth: Array) -> State:
        return jax.lax.while_loop(
            lambda state: ~state.done & (state.iterations < last), lambda state: step(rig, lane, state, worth), state
        )

    return Program(
        jax.jit(jax.vmap(start, in_axes=(None, 0, 0, None))),
        jax.jit(jax.vmap(advance, in_axes=(None, 0, 0, None, None))),
    )
