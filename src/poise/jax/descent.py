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

from poise.jax import kinematics
from poise.jax.kinematics import TracedQuat, TracedVec
from poise.maths.arrays import Bools, Floats, Ints
from poise.problem import dof_layout
from poise.problem.plan import Plan
from poise.timing import record_pause

_MIN_NODES, _MIN_TERMS = 16, 4  # smallest padded sizes; most rigs and goals share this program
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


class TreeConstants(NamedTuple):
    """Arrays shared by all lanes. n nodes and t terms with the padding.

    parents  (n + 1,)     the world is row n
    kinds    (n,)
    owners   (n,)         node with the value of a hinge or slide: itself, or the one it is coupled to
    ranges   (2, n, 3)    lowest and highest of each value
    moves    (n, 3)       1 for a degree of freedom, 0 in fixed nodes, followers and padding
    terms    (2, t)       kind and node
    aims     (t, 9)       see kernels/tree_arrays.py; without the columns of a POLE
    """

    parents: Array
    kinds: Array
    owners: Array
    ranges: Array
    moves: Array
    terms: Array
    aims: Array


class Configuration(NamedTuple):
    """One configuration: ball rotations (n, 4), other values (n, 3). A hinge's value is the first."""

    rotations: Array
    values: Array


class LaneInputs(NamedTuple):
    """Arrays of one lane: frames (n, 9), targets (t, 4). `steps` (n, 3) converts a step of one to u."""

    frames: Array
    targets: Array
    steps: Array


# --- packing -----------------------------------------------------------------------------------------------------


class PackedTree:
    """A plan as JAX arrays, with conversion of u."""

    def __init__(self, plan: Plan, aims: Floats) -> None:
        layout = plan.layout
        self.plan = plan
        self.n = _round_up_size(len(layout.nodes), _MIN_NODES)
        self.t = _round_up_size(len(layout.terms), _MIN_TERMS)
        nodes = list(enumerate(layout.nodes))
        balls = [(node.u_start, i) for i, node in nodes if node.kind == dof_layout.BALL]
        self.balls = np.array(balls, dtype=np.int64).reshape(-1, 2)
        own = {node.u_start: i for i, node in reversed(nodes) if node.kind not in (dof_layout.FIXED, dof_layout.BALL)}
        values = [(at + j, i, j) for at, i in own.items() for j in range(dof_layout.U_SIZES[layout.nodes[i].kind])]
        self.values = np.array(values, dtype=np.int64).reshape(-1, 3)
        self.rig = self._pack_constants(own, aims)

    def _pack_constants(self, own: dict[int, int], aims: Floats) -> TreeConstants:
        layout, n, t = self.plan.layout, self.n, self.t
        parents, kinds, owners = np.full(n + 1, n), np.full(n, dof_layout.FIXED), np.arange(n)
        ranges, moves = np.zeros((2, n, 3)), np.zeros((n, 3))
        ranges[:] = np.array([-np.inf, np.inf])[:, None, None]
        for i, node in enumerate(layout.nodes):
            parents[i], kinds[i] = node.parent if node.parent >= 0 else n, node.kind
            owners[i] = own[node.u_start] if node.kind in (dof_layout.HINGE, dof_layout.SLIDE) else i
            if owners[i] == i:
                moves[i, : dof_layout.DOF_COUNTS[node.kind]] = 1.0
            if node.kind in (dof_layout.HINGE, dof_layout.SLIDE):
                ranges[:, i, 0] = layout.dofs[node.dof_start, :2]
        terms, padded = np.zeros((2, t), dtype=np.int64), np.zeros((t, 9))
        padded[:, 3:7], padded[:, 8] = _IDENTITY, np.inf
        for i, term in enumerate(layout.terms):
            terms[:, i], padded[i] = (term.kind, term.node if term.node >= 0 else n), aims[i, :9]
        arrays = (parents, kinds, owners, ranges, moves, terms, padded)
        return TreeConstants(*(jnp.asarray(array) for array in arrays))

    def to_configurations(self, u: Floats) -> Configuration:
        """Convert u (k, nu) to Configurations (k, ...)."""
        turned, values = np.tile(_IDENTITY, (len(u), self.n, 1)), np.zeros((len(u), self.n, 3))
        turned[:, self.balls[:, 1]] = u[:, self.balls[:, :1] + np.arange(4)]
        values[:, self.values[:, 1], self.values[:, 2]] = u[:, self.values[:, 0]]
        return Configuration(turned, values)  # pyright: ignore[reportArgumentType]  (JAX takes NumPy's arrays)

    def to_u(self, configurations: Configuration) -> Floats:
        """Convert Configurations (k, ...) to u (k, nu)."""
        turned, values = np.asarray(configurations.rotations), np.asarray(configurations.values)
        u = np.zeros((len(turned), self.plan.layout.nu))
        u[:, self.balls[:, :1] + np.arange(4)] = turned[:, self.balls[:, 1]]
        u[:, self.values[:, 0]] = values[:, self.values[:, 1], self.values[:, 2]]
        return u

    def pack_lanes(self, targets: Floats) -> LaneInputs:
        """Pack kernel targets (k, width) as inputs of k lanes."""
        layout, k = self.plan.layout, len(targets)
        frames = np.zeros((k, self.n, 9))
        frames[:, :, 3:7], frames[:, :, 7] = _IDENTITY, 1.0
        frames[:, : len(layout.nodes)] = self.plan.frames
        wanted = np.zeros((k, self.t, 4))
        for i, (term, number) in enumerate(zip(layout.terms, self.plan.terms[:, 3], strict=True)):
            wanted[:, i, : dof_layout.TARGET_SIZES[term.kind]] = targets[
                :, number : number + dof_layout.TARGET_SIZES[term.kind]
            ]
        steps = np.ones((k, self.n, 3))
        slides = [i for i, node in enumerate(layout.nodes) if node.kind == dof_layout.SLIDE]
        steps[:, slides, 0] = 1.0 / np.where(frames[:, slides, 7] == 0.0, 1.0, np.abs(frames[:, slides, 7]))
        return LaneInputs(frames, wanted, steps)  # pyright: ignore[reportArgumentType]


def _round_up_size(count: int, minimum: int) -> int:
    """Round up to a power of two, at least `minimum`."""
    return max(minimum, 1 << max(count - 1, 0).bit_length())


# --- differentiated functions of one lane ----------------------------------------------------------------------------


def apply_step(rig: TreeConstants, lane: LaneInputs, configuration: Configuration, v: Array) -> Configuration:
    """Move a configuration by v (n, 3), clamped to the ranges."""
    values = jnp.clip(configuration.values + v * lane.steps, rig.ranges[0], rig.ranges[1])
    turned = kinematics.normalise(
        kinematics.multiply(kinematics.exp(kinematics.to_vec(v)), kinematics.to_quat(configuration.rotations))
    )
    return Configuration(
        jnp.where((rig.kinds == dof_layout.BALL)[:, None], kinematics.stack(turned), configuration.rotations), values
    )


def measure_residual(
    rig: TreeConstants, lane: LaneInputs, configuration: Configuration, v: Array
) -> tuple[Array, Array]:
    """Compute the weighted residual (3 t,) after a step v (n, 3). Also return whether every term is met.

    Ranges are ignored, so derivatives at an end equal those inside.
    """
    values = configuration.values + v * lane.steps
    ball_rotations = kinematics.multiply(
        kinematics.exp(kinematics.to_vec(v)), kinematics.to_quat(configuration.rotations)
    )
    rotations, points = _place_nodes(rig, lane, values, ball_rotations)
    kinds, nodes = rig.terms
    rows = jnp.stack([*rotations, *points])
    rows = rows @ (nodes[None, :] == jnp.arange(rows.shape[1])[:, None]).astype(rows.dtype)
    node_rotation, point = TracedQuat(*rows[:4]), TracedVec(*rows[4:])
    wanted = kinematics.to_quat(lane.targets)
    aimed = TracedVec(*wanted[:3])
    # Targets of other kinds of terms may be no unit vectors; kinematics.py explains both sides of a `where`.
    none = kinematics.identity_like(point.x)
    pole = TracedVec(*none[1:3], none[0])
    is_rotation, is_aim, is_pointing = (
        kinds == dof_layout.ROTATION,
        kinds == dof_layout.AIM,
        (kinds == dof_layout.DIRECTION) | (kinds == dof_layout.AIM),
    )
    point = kinematics.add(point, kinematics.rotate(node_rotation, kinematics.to_vec(rig.aims)))
    axis = TracedVec(*kinematics.choose(is_aim, kinematics.to_vec(rig.aims[:, 3:6]), kinematics.to_vec(rig.aims)))
    axis = kinematics.rotate(node_rotation, TracedVec(*kinematics.choose(is_pointing, axis, pole)))
    wanted_direction = TracedVec(*kinematics.choose(is_aim, kinematics.unit_direction(aimed, point, axis), aimed))
    rotation_in_node = kinematics.multiply(node_rotation, kinematics.to_quat(rig.aims[:, 3:7]))
    rotation = kinematics.rotation_error(TracedQuat(*kinematics.choose(is_rotation, wanted, none)), rotation_in_node)
    direction = kinematics.direction_error(TracedVec(*kinematics.choose(is_pointing, wanted_direction, axis)), axis)
    position = kinematics.sub(aimed, point)
    error = TracedVec(
        *kinematics.choose(is_rotation, rotation, TracedVec(*kinematics.choose(is_pointing, direction, position)))
    )
    met = (kinematics.dot(error, error) <= rig.aims[:, 8]).all()
    return kinematics.stack(kinematics.scale(error, rig.aims[:, 7])).ravel(), met


def _place_nodes(
    rig: TreeConstants, lane: LaneInputs, values: Array, ball_rotations: TracedQuat
) -> tuple[TracedQuat, TracedVec]:
    """Compute rotations and positions of the moved frames. There are n + 1 of each; the last is the world.

    Pointer doubling (Hillis and Steele, CACM 29(12), 1986): every round joins each node with its current
    ancestor. Nodes are picked by products with a matrix of zeros and ones. These are exact and have a product as their
    derivative; that of an indexed read is a slow scattered write.
    """
    value = lane.frames[:, 7] * values[rig.owners, 0] + lane.frames[:, 8]
    zero = jnp.zeros_like(value)
    hinge_rotation = TracedQuat(jnp.cos(0.5 * value), zero, zero, jnp.sin(0.5 * value))
    identity = kinematics.identity_like(value)
    motion_rotation = kinematics.choose(
        rig.kinds == dof_layout.BALL,
        ball_rotations,
        TracedQuat(*kinematics.choose(rig.kinds == dof_layout.HINGE, hinge_rotation, identity)),
    )
    none = TracedVec(zero, zero, zero)
    move = kinematics.choose(rig.kinds == dof_layout.MOVE, kinematics.to_vec(values), none)
    motion_translation = kinematics.choose(
        rig.kinds == dof_layout.SLIDE, TracedVec(zero, zero, value), TracedVec(*move)
    )
    frame = kinematics.to_quat(lane.frames[:, 3:7])
    rotations = kinematics.multiply(frame, TracedQuat(*motion_rotation))
    points = kinematics.add(kinematics.to_vec(lane.frames), kinematics.rotate(frame, TracedVec(*motion_translation)))
    world = jnp.zeros((7, 1)).at[0].set(1.0)
    rows = jnp.concatenate([jnp.stack([*rotations, *points]), world], axis=1)
    size = len(rig.kinds) + 1

    def join_ancestors(carried: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        rows, parents = carried
        pick = (parents[None, :] == jnp.arange(size)[:, None]).astype(rows.dtype)
        above = rows @ pick
        spin, point = TracedQuat(*above[:4]), TracedVec(*above[4:])
        points = kinematics.add(point, kinematics.rotate(spin, TracedVec(*rows[4:])))
        rows = jnp.stack([*kinematics.multiply(spin, TracedQuat(*rows[:4])), *points])
        return (rows, parents[parents]), None

    rounds = (size - 2).bit_length()
    (rows, _), _ = jax.lax.scan(join_ancestors, (rows, rig.parents), None, length=rounds)  # a loop: compiled once
    return TracedQuat(*rows[:4]), TracedVec(*rows[4:])


# --- Levenberg-Marquardt and L-BFGS in lanes, one problem per lane ---------------------------------------------------
#
# JAX computes the derivatives, projection keeps the ranges.
#
# A LaneState is the state of a lane. `advance` runs every lane up to a number of iterations; a finished lane keeps its
# bits. Every call has the same number of lanes, so one compiled program serves all and results do not depend on the
# number of targets.


LANES = 16  # problems per call of the compiled functions
_PROGRESS_WINDOW = 4  # iterations between two checks of progress
_MIN_DAMPING, _MAX_DAMPING = 1e-12, 1e12  # bounds of the damping factor
_HISTORY_PAIRS = 8  # pairs of steps and gradient changes in the L-BFGS history
_MAX_HALVINGS = 20  # most halvings of a step
_ARMIJO_SHARE = 1e-4  # share of the predicted decrease required of a step (Armijo)


class LaneState(NamedTuple):
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


LaneStep: TypeAlias = Callable[[TreeConstants, LaneInputs, LaneState, Array], LaneState]


def make_initial_state(rig: TreeConstants, lane: LaneInputs, configuration: Configuration, memory: Any) -> LaneState:
    """Make the state of a lane before its first step."""
    residual, met = measure_residual(rig, lane, configuration, jnp.zeros_like(configuration.values))
    error = residual @ residual
    zero = jnp.zeros((), jnp.int32)
    return LaneState(configuration, error, met, met, zero, error, memory)


def _update_progress(state: LaneState, before: LaneState, worth: Array, *, stuck: Array) -> LaneState:
    """Count the iteration and end converged or stalled lanes."""
    iterations = state.iterations + 1
    at_mark = iterations % _PROGRESS_WINDOW == 0
    stalled = at_mark & (state.error > worth * before.mark)
    mark = jnp.where(at_mark, state.error, before.mark)
    return state._replace(iterations=iterations, mark=mark, done=state.met | stalled | stuck)


def _find_free_dofs(rig: TreeConstants, configuration: Configuration, down: Array) -> Array:
    """Find the free degrees of freedom (n, 3). Those pushed by `down` against the end of their range are left out."""
    low, high = rig.ranges
    stuck = ((configuration.values <= low) & (down < 0)) | ((configuration.values >= high) & (down > 0))
    return jnp.where(stuck, 0.0, rig.moves)


# --- Levenberg-Marquardt -----------------------------------------------------------------------------------------


class Damping(NamedTuple):
    """Damping `factor` |r|^2 and its growth. A failed step multiplies the factor by `growth`, which doubles."""

    factor: Array
    growth: Array


def make_initial_damping(damping: Array) -> Damping:
    """Make the initial damping."""
    return Damping(damping + jnp.zeros(()), 2.0 + jnp.zeros(()))  # sums: JAX gives Python numbers another type


def take_damped_step(rig: TreeConstants, lane: LaneInputs, state: LaneState, worth: Array) -> LaneState:
    """Take a Levenberg-Marquardt step if it lowers |r|^2.

    v = -J^T (J J^T + l I)^-1 r; l follows the gain (Nielsen's rule).

    Madsen, Nielsen and Tingleff, "Methods for non-linear least squares problems", 2004, algorithm 3.16. The system is
    in its dual form, of the size of the goals.
    """
    zero_step = jnp.zeros_like(state.place.values)
    residual, pull, _ = jax.vjp(partial(measure_residual, rig, lane, state.place), zero_step, has_aux=True)
    (rates,) = jax.vmap(pull)(jnp.eye(residual.shape[0]))
    rates = rates * rig.moves
    rates = rates * _find_free_dofs(rig, state.place, -jnp.tensordot(residual, rates, 1))
    flat = rates.reshape(residual.shape[0], -1)
    factor, growth = state.memory
    damping = jnp.maximum(factor * state.error, _MIN_DAMPING)
    v = -(_solve_positive_definite(flat @ flat.T + damping * jnp.eye(residual.shape[0]), residual) @ flat).reshape(
        zero_step.shape
    )
    configuration = apply_step(rig, lane, state.place, v)
    after, met = measure_residual(rig, lane, configuration, zero_step)
    error = after @ after
    linear = residual + jnp.tensordot(rates, v, 2)
    share = (state.error - error) / jnp.maximum(state.error - linear @ linear, 1e-300)
    better = error < state.error
    softer = jnp.clip(1.0 - (2.0 * share - 1.0) ** 3, 0.2, 4.0)
    memory = Damping(
        jnp.clip(factor * jnp.where(better, softer, growth), _MIN_DAMPING, _MAX_DAMPING),
        jnp.where(better, 2.0, 2.0 * growth),
    )
    taken = jax.tree.map(partial(jnp.where, better), (configuration, error, met), (state.place, state.error, state.met))
    now = state._replace(place=taken[0], error=taken[1], met=taken[2], memory=memory)
    return _update_progress(now, state, worth, stuck=(rates == 0.0).all() | (factor >= _MAX_DAMPING))


def _solve_positive_definite(A: Array, b: Array) -> Array:  # noqa: N803
    """Solve A x = b for a symmetric positive definite A."""
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(A, lower=True), b)


# --- L-BFGS ------------------------------------------------------------------------------------------------------


class LbfgsHistory(NamedTuple):
    """Steps and gradient changes (m, n, 3), the newest last. Also the last step and the gradient before it (n, 3)."""

    steps: Array
    changes: Array
    step: Array
    slope: Array


def make_empty_history(values: Array) -> LbfgsHistory:
    """Make an empty history of the shape of `values` (n, 3)."""
    none = jnp.zeros((_HISTORY_PAIRS, *values.shape))
    return LbfgsHistory(none, none, jnp.zeros_like(values), jnp.zeros_like(values))


def take_quasi_newton_step(rig: TreeConstants, lane: LaneInputs, state: LaneState, worth: Array) -> LaneState:
    """Take an L-BFGS step with backtracking. Nocedal and Wright, "Numerical Optimization", algorithm 7.4.

    It has its own two loops: libraries work on vectors of a flat space. Here a step rotates quaternions in the tangent
    space at the lane's configuration and is projected onto ranges.
    """
    zero_step = jnp.zeros_like(state.place.values)

    def compute_half_square(v: Array) -> Array:
        residual, _ = measure_residual(rig, lane, state.place, v)
        return 0.5 * (residual @ residual)

    slope = jax.grad(compute_half_square)(zero_step) * rig.moves
    past = _update_history(state.memory, slope)
    free = _find_free_dofs(rig, state.place, -slope)
    down = -_apply_inverse_hessian(past, slope * free) * free
    promise = (down * slope).sum()
    steepest = -slope * free
    uphill = promise >= 0.0
    down = jnp.where(uphill, steepest, down)
    promise = jnp.where(uphill, (steepest * slope).sum(), promise)
    length = jnp.sqrt((down * down).max())
    share = jnp.minimum(1.0, 1.0 / jnp.maximum(length, 1e-300))  # at most a radian per step
    configuration, error, met, share = _search_line(rig, lane, state, down, share, promise)
    better = error < state.error
    taken = jax.tree.map(partial(jnp.where, better), (configuration, error, met), (state.place, state.error, state.met))
    memory = past._replace(step=share * down, slope=slope)
    now = state._replace(place=taken[0], error=taken[1], met=taken[2], memory=memory)
    return _update_progress(now, state, worth, stuck=~better)


def _search_line(
    rig: TreeConstants, lane: LaneInputs, state: LaneState, down: Array, share: Array, promise: Array
) -> tuple[Configuration, Array, Array, Array]:
    """Halve the step until the Armijo condition holds."""
    zero_step = jnp.zeros_like(down)

    def evaluate_share(share: Array) -> tuple[Configuration, Array, Array]:
        configuration = apply_step(rig, lane, state.place, share * down)
        residual, met = measure_residual(rig, lane, configuration, zero_step)
        return configuration, residual @ residual, met

    def needs_halving(tried: tuple[Array, Array, tuple[Configuration, Array, Array]]) -> Array:
        share, halvings, (_, error, _) = tried
        return (error > state.error + 2.0 * _ARMIJO_SHARE * share * promise) & (halvings < _MAX_HALVINGS)

    def halve(tried: tuple[Array, Array, Any]) -> tuple[Array, Array, Any]:
        share, halvings, _ = tried
        return 0.5 * share, halvings + 1, evaluate_share(0.5 * share)

    share, _, result = jax.lax.while_loop(
        needs_halving, halve, (share, jnp.zeros((), jnp.int32), evaluate_share(share))
    )
    return *result, share


def _update_history(past: LbfgsHistory, slope: Array) -> LbfgsHistory:
    """Add the last step to the history if its curvature is positive.

    The history keeps the step and the change of the gradient.
    """
    change = slope - past.slope
    curved = (past.step * change).sum() > 1e-10 * (change * change).sum()
    steps = jnp.concatenate([past.steps[1:], past.step[None]])
    changes = jnp.concatenate([past.changes[1:], change[None]])
    return past._replace(steps=jnp.where(curved, steps, past.steps), changes=jnp.where(curved, changes, past.changes))


def _apply_inverse_hessian(past: LbfgsHistory, slope: Array) -> Array:
    """Apply the inverse Hessian to a gradient. Empty slots of the history count for nothing."""
    curvature = (past.steps * past.changes).sum(axis=(1, 2))
    inverse = jnp.where(curvature > 0.0, 1.0 / jnp.where(curvature > 0.0, curvature, 1.0), 0.0)

    def scan_backwards(v: Array, pair: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        step, change, inverse = pair
        share = inverse * (step * v).sum()
        return v - share * change, share

    def scan_forwards(v: Array, pair: tuple[Array, Array, Array, Array]) -> tuple[Array, None]:
        step, change, inverse, share = pair
        return v + (share - inverse * (change * v).sum()) * step, None

    v, shares = jax.lax.scan(scan_backwards, slope, (past.steps, past.changes, inverse), reverse=True)
    square = (past.changes[-1] ** 2).sum()
    v = v * jnp.where(square > 0.0, curvature[-1] / jnp.where(square > 0.0, square, 1.0), 1.0)
    v, _ = jax.lax.scan(scan_forwards, v, (past.steps, past.changes, inverse, shares))
    return v


# --- lanes -------------------------------------------------------------------------------------------------------


class CompiledMethod(NamedTuple):
    """Compiled functions of a method, over lanes.

    initialise(tree, lane, configuration, damping) -> LaneState and advance(tree, lane, state, last, worth) ->
    LaneState.

    last   most iterations of a lane
    worth  error ratio over four iterations above which a lane ends
    """

    initialise: Callable[..., LaneState]
    advance: Callable[..., LaneState]


@cache
def compile_method(method: str) -> CompiledMethod:
    """Compile the functions of a method. JAX compiles them again for every padded size."""
    step: LaneStep = take_damped_step if method == "levenberg_marquardt" else take_quasi_newton_step

    def start(rig: TreeConstants, lane: LaneInputs, configuration: Configuration, damping: Array) -> LaneState:
        memory = (
            make_initial_damping(damping)
            if method == "levenberg_marquardt"
            else make_empty_history(configuration.values)
        )
        return make_initial_state(rig, lane, configuration, memory)

    def advance(rig: TreeConstants, lane: LaneInputs, state: LaneState, last: Array, worth: Array) -> LaneState:
        return jax.lax.while_loop(
            lambda state: ~state.done & (state.iterations < last), lambda state: step(rig, lane, state, worth), state
        )

    return CompiledMethod(
        jax.jit(jax.vmap(start, in_axes=(None, 0, 0, None))),
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

    def merge_retry(self, rows: Ints, other: BatchResult) -> BatchResult:
        """Merge a second attempt for some rows. Met or smaller errors win; iterations add up."""
        u, errors, met, iterations = self.u.copy(), self.errors.copy(), self.met.copy(), self.iterations.copy()
        iterations[rows] += other.iterations
        wins = other.met | (other.errors < errors[rows])
        chosen = rows[wins]
        u[chosen], errors[chosen], met[chosen] = other.u[wins], other.errors[wins], other.met[wins]
        return BatchResult(u, errors, met, iterations)


class BatchDescent:
    """Batch of targets with its compiled method.

    history  with trace: squared errors (rows,) and u (rows, nu) of every attempt for the single target
    """

    def __init__(self, plan: Plan, aims: Floats, targets: Floats, method: str, damping: float, trace: bool) -> None:
        self.plan, self.aims, self.targets = plan, aims, targets
        self.count, self.damping, self.trace = len(targets), damping, trace
        self.history: list[tuple[Floats, Floats]] = []
        self.program = compile_method(method)
        with jax.enable_x64(True):
            self.packed = PackedTree(plan, aims)
        self.lanes = self.packed.pack_lanes(targets)

    def find_reachable(self) -> Bools:
        """Find the targets (k,) within reach of the bone lengths."""
        is_reachable = np.ones(self.count, dtype=bool)
        for i, term in enumerate(self.plan.layout.terms):
            if term.kind == dof_layout.POSITION:
                shortest, longest, origin = self.plan.reaches[i]
                number, slack = self.plan.terms[i, 3], np.sqrt(self.aims[i, 8])
                distance = np.sqrt(((self.targets[:, number : number + 3] - origin) ** 2).sum(axis=-1))
                is_reachable &= (distance <= longest + slack) & (distance >= shortest - slack)
        return is_reachable

    def solve(self, rows: Ints, u: Floats, max_iterations: int, worth: float) -> BatchResult:
        """Run one attempt for some targets. It starts at u (len(rows), nu)."""
        blocks: list[BatchResult] = []
        with jax.enable_x64(True):
            for first in range(0, len(rows), LANES):
                own = np.minimum(np.arange(first, first + LANES), len(rows) - 1)  # the last target fills up the block
                state = self._solve_block(rows[own], u[own], max_iterations, worth)
                own_lanes = slice(min(LANES, len(rows) - first))
                output = (self.packed.to_u(state.place), state.error, state.met, state.iterations)
                blocks.append(BatchResult(*(np.asarray(part)[own_lanes] for part in output)))
        names = ("u", "errors", "met", "iterations")
        return BatchResult(*(np.concatenate([getattr(block, name) for block in blocks]) for name in names))

    def _solve_block(self, rows: Ints, u: Floats, max_iterations: int, worth: float) -> LaneState:
        rig, lane = self.packed.rig, LaneInputs(*(part[rows] for part in self.lanes))
        state = self.program.initialise(rig, lane, self.packed.to_configurations(u), self.damping)
        if not self.trace:
            return self.program.advance(rig, lane, state, max_iterations, worth)
        states = [state]
        while int(state.iterations[0]) < max_iterations and not bool(state.done[0]):
            state = self.program.advance(rig, lane, state, int(state.iterations[0]) + 1, worth)
            states.append(state)
        errors = np.array([float(state.error[0]) for state in states])
        self.history.append((errors, np.concatenate([self.packed.to_u(state.place)[:1] for state in states])))
        return state
