"""Levenberg-Marquardt and L-BFGS on packed trees in JAX, in lanes.

Everything specific to a rig is an argument.

JAX compiles a program per shape of its arguments. A tree is padded to the next size with nodes below the world and
terms of weight zero, so rigs of one size share a program. Padding adds zeros to sums and changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from poise.call_clock import record_pause
from poise.jax import quaternions
from poise.jax.quaternions import TracedQuat, TracedVec
from poise.kernels.layout import EFFECTOR_TOLERANCE2, EFFECTOR_WEIGHT, FRAME_RATIO, FRAME_ROW, FRAME_VALUE_OFFSET
from poise.maths.arrays import Bools, Floats, Ints
from poise.problem import dof_layout
from poise.problem.plan import Plan

_MIN_NODES, _MIN_TERMS = 16, 4  # smallest padded sizes; most rigs and goals share this program
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


class TreeConstants(NamedTuple):
    """Arrays shared by all lanes. n nodes and t terms with the padding.

    parents      (n + 1,)     the world is row n
    kinds        (n,)
    value_nodes  (n,)         node with the value of a hinge or slide: itself, or the one it is coupled to
    ranges       (2, n, 3)    lowest and highest of each value
    dof_mask     (n, 3)       1 for a degree of freedom, 0 in fixed nodes, followers and padding
    terms        (2, t)       kind and node
    effectors    (t, 9)       see kernels/problem_arrays.py; without the columns of a POLE
    """

    parents: Array
    kinds: Array
    value_nodes: Array
    ranges: Array
    dof_mask: Array
    terms: Array
    effectors: Array


class Configuration(NamedTuple):
    """One configuration: ball rotations (n, 4), other values (n, 3). A hinge's value is the first."""

    rotations: Array
    values: Array


class LaneInputs(NamedTuple):
    """Arrays of one lane: frames (n, 9), targets (t, 4). `u_per_step` (n, 3) converts a step of one to u."""

    frames: Array
    targets: Array
    u_per_step: Array


# --- packing -----------------------------------------------------------------------------------------------------


class PackedTree:
    """A plan as JAX arrays, with conversion of u."""

    def __init__(self, plan: Plan, effectors: Floats) -> None:
        layout = plan.layout
        self.plan = plan
        self.node_count: int = _round_up_size(len(layout.nodes), _MIN_NODES)
        self.term_count: int = _round_up_size(len(layout.terms), _MIN_TERMS)
        nodes = list(enumerate(layout.nodes))
        balls = [(node.u_start, i) for i, node in nodes if node.kind == dof_layout.BALL]
        self.ball_columns: Ints = np.array(balls, dtype=np.int64).reshape(-1, 2)
        node_by_u_start = {
            node.u_start: i for i, node in reversed(nodes) if node.kind not in (dof_layout.FIXED, dof_layout.BALL)
        }
        values = [
            (u_start + component, i, component)
            for u_start, i in node_by_u_start.items()
            for component in range(dof_layout.U_SIZES[layout.nodes[i].kind])
        ]
        self.value_columns: Ints = np.array(values, dtype=np.int64).reshape(-1, 3)
        self.constants: TreeConstants = self._pack_constants(node_by_u_start, effectors)

    def _pack_constants(self, node_by_u_start: dict[int, int], effectors: Floats) -> TreeConstants:
        layout, n, t = self.plan.layout, self.node_count, self.term_count
        parents, kinds, value_nodes = np.full(n + 1, n), np.full(n, dof_layout.FIXED), np.arange(n)
        ranges, dof_mask = np.zeros((2, n, 3)), np.zeros((n, 3))
        ranges[:] = np.array([-np.inf, np.inf])[:, None, None]
        for i, node in enumerate(layout.nodes):
            parents[i], kinds[i] = node.parent if node.parent >= 0 else n, node.kind
            value_nodes[i] = node_by_u_start[node.u_start] if node.kind in (dof_layout.HINGE, dof_layout.SLIDE) else i
            if value_nodes[i] == i:
                dof_mask[i, : dof_layout.DOF_COUNTS[node.kind]] = 1.0
            if node.kind in (dof_layout.HINGE, dof_layout.SLIDE):
                ranges[:, i, 0] = layout.dofs[node.dof_start, :2]
        terms, padded_effectors = np.zeros((2, t), dtype=np.int64), np.zeros((t, 9))
        padded_effectors[:, 3:7], padded_effectors[:, EFFECTOR_TOLERANCE2] = _IDENTITY, np.inf
        for i, term in enumerate(layout.terms):
            terms[:, i], padded_effectors[i] = (
                (term.kind, term.node_index if term.node_index >= 0 else n),
                effectors[i, :9],
            )
        arrays = (parents, kinds, value_nodes, ranges, dof_mask, terms, padded_effectors)
        return TreeConstants(*(jnp.asarray(array) for array in arrays))

    def to_configurations(self, u: Floats) -> Configuration:
        """Convert u (k, nu) to Configurations (k, ...)."""
        ball_rotations, values = (
            np.tile(_IDENTITY, (len(u), self.node_count, 1)),
            np.zeros((len(u), self.node_count, 3)),
        )
        ball_rotations[:, self.ball_columns[:, 1]] = u[:, self.ball_columns[:, :1] + np.arange(4)]
        values[:, self.value_columns[:, 1], self.value_columns[:, 2]] = u[:, self.value_columns[:, 0]]
        return Configuration(ball_rotations, values)  # pyright: ignore[reportArgumentType]  (JAX takes NumPy's arrays)

    def to_u(self, configurations: Configuration) -> Floats:
        """Convert Configurations (k, ...) to u (k, nu)."""
        ball_rotations, values = np.asarray(configurations.rotations), np.asarray(configurations.values)
        u = np.zeros((len(ball_rotations), self.plan.layout.nu))
        u[:, self.ball_columns[:, :1] + np.arange(4)] = ball_rotations[:, self.ball_columns[:, 1]]
        u[:, self.value_columns[:, 0]] = values[:, self.value_columns[:, 1], self.value_columns[:, 2]]
        return u

    def pack_lanes(self, targets: Floats) -> LaneInputs:
        """Pack kernel targets (k, width) as inputs of k lanes."""
        layout, k = self.plan.layout, len(targets)
        frames = np.zeros((k, self.node_count, FRAME_ROW))
        frames[:, :, 3:7], frames[:, :, FRAME_RATIO] = _IDENTITY, 1.0
        frames[:, : len(layout.nodes)] = self.plan.frames
        term_targets = np.zeros((k, self.term_count, 4))
        for i, (term, target_column) in enumerate(zip(layout.terms, self.plan.term_table[:, 3], strict=True)):
            term_targets[:, i, : dof_layout.TARGET_SIZES[term.kind]] = targets[
                :, target_column : target_column + dof_layout.TARGET_SIZES[term.kind]
            ]
        u_per_step = np.ones((k, self.node_count, 3))
        slide_nodes = [i for i, node in enumerate(layout.nodes) if node.kind == dof_layout.SLIDE]
        u_per_step[:, slide_nodes, 0] = 1.0 / np.where(
            frames[:, slide_nodes, FRAME_RATIO] == 0.0, 1.0, np.abs(frames[:, slide_nodes, FRAME_RATIO])
        )
        return LaneInputs(frames, term_targets, u_per_step)  # pyright: ignore[reportArgumentType]


def _round_up_size(count: int, min_size: int) -> int:
    """Round up to a power of two, at least `min_size`."""
    return max(min_size, 1 << max(count - 1, 0).bit_length())


# --- differentiated functions of one lane ----------------------------------------------------------------------------


def apply_step(tree: TreeConstants, lane: LaneInputs, configuration: Configuration, v: Array) -> Configuration:
    """Move a configuration by v (n, 3), clamped to the ranges."""
    values = jnp.clip(configuration.values + v * lane.u_per_step, tree.ranges[0], tree.ranges[1])
    rotations = quaternions.normalise(
        quaternions.multiply(quaternions.exp(quaternions.to_vec(v)), quaternions.to_quat(configuration.rotations))
    )
    return Configuration(
        jnp.where((tree.kinds == dof_layout.BALL)[:, None], quaternions.stack(rotations), configuration.rotations),
        values,
    )


def measure_residual(
    tree: TreeConstants, lane: LaneInputs, configuration: Configuration, v: Array
) -> tuple[Array, Array]:
    """Compute the weighted residual (3 t,) after a step v (n, 3). Also return whether every term is met.

    Ranges are ignored, so derivatives at an end equal those inside.
    """
    values = configuration.values + v * lane.u_per_step
    ball_rotations = quaternions.multiply(
        quaternions.exp(quaternions.to_vec(v)), quaternions.to_quat(configuration.rotations)
    )
    rotations, points = _place_nodes(tree, lane, values, ball_rotations)
    kinds, nodes = tree.terms
    packed_frames = jnp.stack([*rotations, *points])
    packed_frames = packed_frames @ (nodes[None, :] == jnp.arange(packed_frames.shape[1])[:, None]).astype(
        packed_frames.dtype
    )
    node_rotation, point = TracedQuat(*packed_frames[:4]), TracedVec(*packed_frames[4:])
    target_rotation = quaternions.to_quat(lane.targets)
    target_vector = TracedVec(*target_rotation[:3])
    # Targets of other kinds of terms may be no unit vectors; quaternions.py explains both sides of a `where`.
    identity = quaternions.identity_like(point.x)
    pole = TracedVec(*identity[1:3], identity[0])
    is_rotation, is_aim, is_pointing = (
        kinds == dof_layout.ROTATION,
        kinds == dof_layout.AIM,
        (kinds == dof_layout.DIRECTION) | (kinds == dof_layout.AIM),
    )
    point = quaternions.add(point, quaternions.rotate(node_rotation, quaternions.to_vec(tree.effectors)))
    axis = TracedVec(
        *quaternions.choose(is_aim, quaternions.to_vec(tree.effectors[:, 3:6]), quaternions.to_vec(tree.effectors))
    )
    axis = quaternions.rotate(node_rotation, TracedVec(*quaternions.choose(is_pointing, axis, pole)))
    wanted_direction = TracedVec(
        *quaternions.choose(is_aim, quaternions.unit_direction(target_vector, point, axis), target_vector)
    )
    rotation_in_node = quaternions.multiply(node_rotation, quaternions.to_quat(tree.effectors[:, 3:7]))
    rotation = quaternions.rotation_error(
        TracedQuat(*quaternions.choose(is_rotation, target_rotation, identity)), rotation_in_node
    )
    direction = quaternions.direction_error(TracedVec(*quaternions.choose(is_pointing, wanted_direction, axis)), axis)
    position = quaternions.sub(target_vector, point)
    error = TracedVec(
        *quaternions.choose(is_rotation, rotation, TracedVec(*quaternions.choose(is_pointing, direction, position)))
    )
    is_met = (quaternions.dot(error, error) <= tree.effectors[:, EFFECTOR_TOLERANCE2]).all()
    return quaternions.stack(quaternions.scale(error, tree.effectors[:, EFFECTOR_WEIGHT])).ravel(), is_met


def _place_nodes(
    tree: TreeConstants, lane: LaneInputs, values: Array, ball_rotations: TracedQuat
) -> tuple[TracedQuat, TracedVec]:
    """Compute rotations and positions of the moved frames. There are n + 1 of each; the last is the world.

    Pointer doubling (Hillis and Steele, CACM 29(12), 1986): every round joins each node with its current
    ancestor. Nodes are picked by products with a matrix of zeros and ones. These are exact and have a product as their
    derivative; that of an indexed read is a slow scattered write.
    """
    value = lane.frames[:, FRAME_RATIO] * values[tree.value_nodes, 0] + lane.frames[:, FRAME_VALUE_OFFSET]
    zero = jnp.zeros_like(value)
    hinge_rotation = TracedQuat(jnp.cos(0.5 * value), zero, zero, jnp.sin(0.5 * value))
    identity = quaternions.identity_like(value)
    motion_rotation = quaternions.choose(
        tree.kinds == dof_layout.BALL,
        ball_rotations,
        TracedQuat(*quaternions.choose(tree.kinds == dof_layout.HINGE, hinge_rotation, identity)),
    )
    zero_vector = TracedVec(zero, zero, zero)
    translation = quaternions.choose(tree.kinds == dof_layout.MOVE, quaternions.to_vec(values), zero_vector)
    motion_translation = quaternions.choose(
        tree.kinds == dof_layout.SLIDE, TracedVec(zero, zero, value), TracedVec(*translation)
    )
    frame_rotations = quaternions.to_quat(lane.frames[:, 3:7])
    rotations = quaternions.multiply(frame_rotations, TracedQuat(*motion_rotation))
    points = quaternions.add(
        quaternions.to_vec(lane.frames), quaternions.rotate(frame_rotations, TracedVec(*motion_translation))
    )
    world = jnp.zeros((7, 1)).at[0].set(1.0)
    packed_frames = jnp.concatenate([jnp.stack([*rotations, *points]), world], axis=1)
    row_count = len(tree.kinds) + 1

    def join_ancestors(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        packed_frames, parents = state
        selection = (parents[None, :] == jnp.arange(row_count)[:, None]).astype(packed_frames.dtype)
        ancestor_frames = packed_frames @ selection
        ancestor_rotations, ancestor_points = TracedQuat(*ancestor_frames[:4]), TracedVec(*ancestor_frames[4:])
        points = quaternions.add(ancestor_points, quaternions.rotate(ancestor_rotations, TracedVec(*packed_frames[4:])))
        packed_frames = jnp.stack([*quaternions.multiply(ancestor_rotations, TracedQuat(*packed_frames[:4])), *points])
        return (packed_frames, parents[parents]), None

    doubling_rounds = (row_count - 2).bit_length()
    # a loop: compiled once
    (packed_frames, _), _ = jax.lax.scan(join_ancestors, (packed_frames, tree.parents), None, length=doubling_rounds)
    return TracedQuat(*packed_frames[:4]), TracedVec(*packed_frames[4:])


# --- Levenberg-Marquardt and L-BFGS in lanes, one problem per lane ---------------------------------------------------
#
# JAX computes the derivatives, projection keeps the ranges.
#
# A LaneState is the state of a lane. `advance` runs every lane up to a number of iterations; a finished lane keeps its
# bits. Every call has the same number of lanes, so one compiled program serves all and results do not depend on the
# number of targets.


LANE_COUNT = 16  # problems per call of the compiled functions
_PROGRESS_WINDOW = 4  # iterations between two checks of progress
_MIN_DAMPING, _MAX_DAMPING = 1e-12, 1e12  # bounds of the damping factor
_HISTORY_PAIRS = 8  # pairs of steps and gradient changes in the L-BFGS history
_MAX_HALVINGS = 20  # most halvings of a step
_ARMIJO_SHARE = 1e-4  # share of the predicted decrease required of a step (Armijo)


class LaneState(NamedTuple):
    """State of a lane.

    configuration    values and rotations now
    error            |r|^2, weighted
    is_met, is_done  whether every term is met; whether the lane has ended: met, stalled or out of iterations
    iterations       so far
    checked_error    error at the last check of progress
    method_state     state of the method between steps: Damping or LbfgsHistory
    """

    configuration: Configuration
    error: Array
    is_met: Array
    is_done: Array
    iterations: Array
    checked_error: Array
    method_state: Any


LaneStep: TypeAlias = Callable[[TreeConstants, LaneInputs, LaneState, Array], LaneState]


def make_initial_state(
    tree: TreeConstants, lane: LaneInputs, configuration: Configuration, method_state: Any
) -> LaneState:
    """Make the state of a lane before its first step."""
    residual, is_met = measure_residual(tree, lane, configuration, jnp.zeros_like(configuration.values))
    error = residual @ residual
    zero = jnp.zeros((), jnp.int32)
    return LaneState(configuration, error, is_met, is_met, zero, error, method_state)


def _update_progress(state: LaneState, previous: LaneState, max_error_ratio: Array, *, is_stuck: Array) -> LaneState:
    """Count the iteration and end converged or stalled lanes."""
    iterations = state.iterations + 1
    is_check = iterations % _PROGRESS_WINDOW == 0
    is_stalled = is_check & (state.error > max_error_ratio * previous.checked_error)
    checked_error = jnp.where(is_check, state.error, previous.checked_error)
    return state._replace(
        iterations=iterations, checked_error=checked_error, is_done=state.is_met | is_stalled | is_stuck
    )


def _find_free_dofs(tree: TreeConstants, configuration: Configuration, direction: Array) -> Array:
    """Find the free degrees of freedom (n, 3).

    Those pushed by `direction` against the end of their range are left out.
    """
    low, high = tree.ranges
    is_blocked = ((configuration.values <= low) & (direction < 0)) | ((configuration.values >= high) & (direction > 0))
    return jnp.where(is_blocked, 0.0, tree.dof_mask)


# --- Levenberg-Marquardt -----------------------------------------------------------------------------------------


class Damping(NamedTuple):
    """Damping `factor` |r|^2 and its growth. A failed step multiplies the factor by `growth`, which doubles."""

    factor: Array
    growth: Array


def make_initial_damping(damping: Array) -> Damping:
    """Make the initial damping."""
    return Damping(damping + jnp.zeros(()), 2.0 + jnp.zeros(()))  # sums: JAX gives Python numbers another type


def take_damped_step(tree: TreeConstants, lane: LaneInputs, state: LaneState, max_error_ratio: Array) -> LaneState:
    """Take a Levenberg-Marquardt step if it lowers |r|^2.

    v = -J^T (J J^T + l I)^-1 r; l follows the gain ratio (Nielsen's rule).

    Madsen, Nielsen and Tingleff, "Methods for non-linear least squares problems", 2004, algorithm 3.16. The system is
    in its dual form, of the size of the goals.
    """
    zero_step = jnp.zeros_like(state.configuration.values)
    residual, pullback, _ = jax.vjp(partial(measure_residual, tree, lane, state.configuration), zero_step, has_aux=True)
    (jacobian,) = jax.vmap(pullback)(jnp.eye(residual.shape[0]))
    jacobian = jacobian * tree.dof_mask
    jacobian = jacobian * _find_free_dofs(tree, state.configuration, -jnp.tensordot(residual, jacobian, 1))
    flat_jacobian = jacobian.reshape(residual.shape[0], -1)
    factor, growth = state.method_state
    damping = jnp.maximum(factor * state.error, _MIN_DAMPING)
    v = -(
        _solve_positive_definite(flat_jacobian @ flat_jacobian.T + damping * jnp.eye(residual.shape[0]), residual)
        @ flat_jacobian
    ).reshape(zero_step.shape)
    configuration = apply_step(tree, lane, state.configuration, v)
    new_residual, is_met = measure_residual(tree, lane, configuration, zero_step)
    error = new_residual @ new_residual
    predicted_residual = residual + jnp.tensordot(jacobian, v, 2)
    gain_ratio = (state.error - error) / jnp.maximum(state.error - predicted_residual @ predicted_residual, 1e-300)
    is_better = error < state.error
    damping_ratio = jnp.clip(1.0 - (2.0 * gain_ratio - 1.0) ** 3, 0.2, 4.0)
    new_damping = Damping(
        jnp.clip(factor * jnp.where(is_better, damping_ratio, growth), _MIN_DAMPING, _MAX_DAMPING),
        jnp.where(is_better, 2.0, 2.0 * growth),
    )
    configuration, error, is_met = jax.tree.map(
        partial(jnp.where, is_better), (configuration, error, is_met), (state.configuration, state.error, state.is_met)
    )
    new_state = state._replace(configuration=configuration, error=error, is_met=is_met, method_state=new_damping)
    return _update_progress(
        new_state, state, max_error_ratio, is_stuck=(jacobian == 0.0).all() | (factor >= _MAX_DAMPING)
    )


def _solve_positive_definite(A: Array, b: Array) -> Array:  # noqa: N803
    """Solve A x = b for a symmetric positive definite A."""
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(A, lower=True), b)


# --- L-BFGS ------------------------------------------------------------------------------------------------------


class LbfgsHistory(NamedTuple):
    """Steps and gradient changes (m, n, 3), the newest last. Also the last step and the gradient before it (n, 3)."""

    steps: Array
    gradient_changes: Array
    last_step: Array
    last_gradient: Array


def make_empty_history(values: Array) -> LbfgsHistory:
    """Make an empty history of the shape of `values` (n, 3)."""
    empty_pairs = jnp.zeros((_HISTORY_PAIRS, *values.shape))
    return LbfgsHistory(empty_pairs, empty_pairs, jnp.zeros_like(values), jnp.zeros_like(values))


def take_quasi_newton_step(
    tree: TreeConstants, lane: LaneInputs, state: LaneState, max_error_ratio: Array
) -> LaneState:
    """Take an L-BFGS step with backtracking. Nocedal and Wright, "Numerical Optimization", algorithm 7.4.

    It has its own two loops: libraries work on vectors of a flat space. Here a step rotates quaternions in the tangent
    space at the lane's configuration and is projected onto ranges.
    """
    zero_step = jnp.zeros_like(state.configuration.values)

    def compute_half_square(v: Array) -> Array:
        residual, _ = measure_residual(tree, lane, state.configuration, v)
        return 0.5 * (residual @ residual)

    gradient = jax.grad(compute_half_square)(zero_step) * tree.dof_mask
    history = _update_history(state.method_state, gradient)
    free_dofs = _find_free_dofs(tree, state.configuration, -gradient)
    direction = -_apply_inverse_hessian(history, gradient * free_dofs) * free_dofs
    directional_derivative = (direction * gradient).sum()
    steepest_descent = -gradient * free_dofs
    is_uphill = directional_derivative >= 0.0
    direction = jnp.where(is_uphill, steepest_descent, direction)
    directional_derivative = jnp.where(is_uphill, (steepest_descent * gradient).sum(), directional_derivative)
    max_component = jnp.sqrt((direction * direction).max())
    step_length = jnp.minimum(1.0, 1.0 / jnp.maximum(max_component, 1e-300))  # at most a radian per step
    configuration, error, is_met, step_length = _search_line(
        tree, lane, state, direction, step_length, directional_derivative
    )
    is_better = error < state.error
    configuration, error, is_met = jax.tree.map(
        partial(jnp.where, is_better), (configuration, error, is_met), (state.configuration, state.error, state.is_met)
    )
    new_history = history._replace(last_step=step_length * direction, last_gradient=gradient)
    new_state = state._replace(configuration=configuration, error=error, is_met=is_met, method_state=new_history)
    return _update_progress(new_state, state, max_error_ratio, is_stuck=~is_better)


def _search_line(
    tree: TreeConstants,
    lane: LaneInputs,
    state: LaneState,
    direction: Array,
    step_length: Array,
    directional_derivative: Array,
) -> tuple[Configuration, Array, Array, Array]:
    """Halve the step until the Armijo condition holds."""
    zero_step = jnp.zeros_like(direction)

    def evaluate_step(step_length: Array) -> tuple[Configuration, Array, Array]:
        configuration = apply_step(tree, lane, state.configuration, step_length * direction)
        residual, is_met = measure_residual(tree, lane, configuration, zero_step)
        return configuration, residual @ residual, is_met

    def needs_halving(search_state: tuple[Array, Array, tuple[Configuration, Array, Array]]) -> Array:
        step_length, halvings, (_, error, _) = search_state
        return (error > state.error + 2.0 * _ARMIJO_SHARE * step_length * directional_derivative) & (
            halvings < _MAX_HALVINGS
        )

    def halve(search_state: tuple[Array, Array, Any]) -> tuple[Array, Array, Any]:
        step_length, halvings, _ = search_state
        return 0.5 * step_length, halvings + 1, evaluate_step(0.5 * step_length)

    step_length, _, result = jax.lax.while_loop(
        needs_halving, halve, (step_length, jnp.zeros((), jnp.int32), evaluate_step(step_length))
    )
    return *result, step_length


def _update_history(history: LbfgsHistory, gradient: Array) -> LbfgsHistory:
    """Add the last step to the history if its curvature is positive.

    The history keeps the step and the change of the gradient.
    """
    gradient_change = gradient - history.last_gradient
    has_curvature = (history.last_step * gradient_change).sum() > 1e-10 * (gradient_change * gradient_change).sum()
    steps = jnp.concatenate([history.steps[1:], history.last_step[None]])
    gradient_changes = jnp.concatenate([history.gradient_changes[1:], gradient_change[None]])
    return history._replace(
        steps=jnp.where(has_curvature, steps, history.steps),
        gradient_changes=jnp.where(has_curvature, gradient_changes, history.gradient_changes),
    )


def _apply_inverse_hessian(history: LbfgsHistory, gradient: Array) -> Array:
    """Apply the inverse Hessian to a gradient. Empty slots of the history count for nothing."""
    curvature = (history.steps * history.gradient_changes).sum(axis=(1, 2))
    inverse_curvature = jnp.where(curvature > 0.0, 1.0 / jnp.where(curvature > 0.0, curvature, 1.0), 0.0)

    def scan_backwards(v: Array, pair: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        step, change, inverse_curvature = pair
        coefficient = inverse_curvature * (step * v).sum()
        return v - coefficient * change, coefficient

    def scan_forwards(v: Array, pair: tuple[Array, Array, Array, Array]) -> tuple[Array, None]:
        step, change, inverse_curvature, coefficient = pair
        return v + (coefficient - inverse_curvature * (change * v).sum()) * step, None

    v, coefficients = jax.lax.scan(
        scan_backwards, gradient, (history.steps, history.gradient_changes, inverse_curvature), reverse=True
    )
    change_norm2 = (history.gradient_changes[-1] ** 2).sum()
    v = v * jnp.where(change_norm2 > 0.0, curvature[-1] / jnp.where(change_norm2 > 0.0, change_norm2, 1.0), 1.0)
    v, _ = jax.lax.scan(scan_forwards, v, (history.steps, history.gradient_changes, inverse_curvature, coefficients))
    return v


# --- lanes -------------------------------------------------------------------------------------------------------


class CompiledMethod(NamedTuple):
    """Compiled functions of a method, over lanes.

    initialise(tree, lane, configuration, damping) -> LaneState
    advance(tree, lane, state, max_iterations, max_error_ratio) -> LaneState

    max_iterations   most iterations of a lane
    max_error_ratio  error ratio over four iterations above which a lane ends
    """

    initialise: Callable[..., LaneState]
    advance: Callable[..., LaneState]


@cache
def compile_method(method: str) -> CompiledMethod:
    """Compile the functions of a method. JAX compiles them again for every padded size."""
    step: LaneStep = take_damped_step if method == "levenberg_marquardt" else take_quasi_newton_step

    def initialise(tree: TreeConstants, lane: LaneInputs, configuration: Configuration, damping: Array) -> LaneState:
        method_state = (
            make_initial_damping(damping)
            if method == "levenberg_marquardt"
            else make_empty_history(configuration.values)
        )
        return make_initial_state(tree, lane, configuration, method_state)

    def advance(
        tree: TreeConstants, lane: LaneInputs, state: LaneState, max_iterations: Array, max_error_ratio: Array
    ) -> LaneState:
        return jax.lax.while_loop(
            lambda state: ~state.is_done & (state.iterations < max_iterations),
            lambda state: step(tree, lane, state, max_error_ratio),
            state,
        )

    return CompiledMethod(
        jax.jit(jax.vmap(initialise, in_axes=(None, 0, 0, None))),
        jax.jit(jax.vmap(advance, in_axes=(None, 0, 0, None, None))),
    )


# --- Batches of targets in blocks of lanes ---------------------------------------------------------------------------
#
# Blocks have equal size and the last one is filled up, so one compiled program serves all.


def _pause_for_compilation(event: str, duration_secs: float, **_more: Any) -> None:
    """Exclude JAX compilation from the time of a call."""
    if event.startswith("/jax/core/compile/"):
        record_pause(duration_secs)


jax.monitoring.register_event_duration_secs_listener(_pause_for_compilation)


@dataclass(frozen=True, eq=False)
class BatchResult:
    """Result of a batch: u, squared error, met and iterations. u is (k, nu), the others (k,)."""

    u: Floats
    errors: Floats
    met: Bools
    iterations: Ints

    def merge_retry(self, rows: Ints, retry: BatchResult) -> BatchResult:
        """Merge a second attempt for some rows. Met or smaller errors win; iterations add up."""
        u, errors, met, iterations = self.u.copy(), self.errors.copy(), self.met.copy(), self.iterations.copy()
        iterations[rows] += retry.iterations
        is_better = retry.met | (retry.errors < errors[rows])
        better_rows = rows[is_better]
        u[better_rows], errors[better_rows], met[better_rows] = (
            retry.u[is_better],
            retry.errors[is_better],
            retry.met[is_better],
        )
        return BatchResult(u, errors, met, iterations)


class AttemptTrace(NamedTuple):
    """Trace of one attempt: squared errors (rows,) and u (rows, nu).

    The first row is its start, the others are its iterations.
    """

    squared_errors: Floats
    u: Floats


class BatchDescent:
    """Batch of targets with its compiled method.

    attempt_traces  of every attempt for the single target, if traced
    """

    def __init__(
        self, plan: Plan, effectors: Floats, targets: Floats, method: str, damping: float, *, is_traced: bool
    ) -> None:
        self.plan = plan
        self.effectors = effectors
        self.targets = targets
        self.target_count: int = len(targets)
        self.damping = damping
        self.is_traced = is_traced
        self.attempt_traces: list[AttemptTrace] = []
        self.compiled_method: CompiledMethod = compile_method(method)
        with jax.enable_x64(True):
            self.packed_tree: PackedTree = PackedTree(plan, effectors)
        self.lanes: LaneInputs = self.packed_tree.pack_lanes(targets)

    def find_reachable(self) -> Bools:
        """Find the targets (k,) within reach of the bone lengths."""
        is_reachable = np.ones(self.target_count, dtype=bool)
        for i, term in enumerate(self.plan.layout.terms):
            if term.kind == dof_layout.POSITION:
                min_distance, max_distance, origin = self.plan.term_reaches[i]
                target_column, tolerance = self.plan.term_table[i, 3], np.sqrt(self.effectors[i, EFFECTOR_TOLERANCE2])
                distance = np.sqrt(((self.targets[:, target_column : target_column + 3] - origin) ** 2).sum(axis=-1))
                is_reachable &= (distance <= max_distance + tolerance) & (distance >= min_distance - tolerance)
        return is_reachable

    def solve(self, rows: Ints, u: Floats, max_iterations: int, max_error_ratio: float) -> BatchResult:
        """Run one attempt for some targets. It starts at u (len(rows), nu)."""
        blocks: list[BatchResult] = []
        with jax.enable_x64(True):
            for block_start in range(0, len(rows), LANE_COUNT):
                # the last target fills up the block
                block_rows = np.minimum(np.arange(block_start, block_start + LANE_COUNT), len(rows) - 1)
                state = self._solve_block(rows[block_rows], u[block_rows], max_iterations, max_error_ratio)
                used_lanes = slice(min(LANE_COUNT, len(rows) - block_start))
                output = (self.packed_tree.to_u(state.configuration), state.error, state.is_met, state.iterations)
                blocks.append(BatchResult(*(np.asarray(array)[used_lanes] for array in output)))
        field_names = ("u", "errors", "met", "iterations")
        return BatchResult(*(np.concatenate([getattr(block, name) for block in blocks]) for name in field_names))

    def _solve_block(self, rows: Ints, u: Floats, max_iterations: int, max_error_ratio: float) -> LaneState:
        constants, lanes = self.packed_tree.constants, LaneInputs(*(array[rows] for array in self.lanes))
        state = self.compiled_method.initialise(constants, lanes, self.packed_tree.to_configurations(u), self.damping)
        if not self.is_traced:
            return self.compiled_method.advance(constants, lanes, state, max_iterations, max_error_ratio)
        states = [state]
        while int(state.iterations[0]) < max_iterations and not bool(state.is_done[0]):
            state = self.compiled_method.advance(constants, lanes, state, int(state.iterations[0]) + 1, max_error_ratio)
            states.append(state)
        errors = np.array([float(state.error[0]) for state in states])
        u = np.concatenate([self.packed_tree.to_u(state.configuration)[:1] for state in states])
        self.attempt_traces.append(AttemptTrace(errors, u))
        return state
