"""The engine's packed tree as JAX arrays of a few padded sizes. Everything specific to a rig is an argument.

JAX compiles a program per shape of its arguments. A tree is padded to the next size with nodes below the world and
terms of weight zero, so rigs of one size share a program. Padding adds zeros to sums and changes no bit.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from poise.jax import turns
from poise.jax.turns import TracedQuat, TracedVec
from poise.maths.arrays import Floats
from poise.problem.layout import AIM, BALL, DIRECTION, DOFS, FIXED, HINGE, MOVE, NUMBERS, ROTATION, SIZES, SLIDE
from poise.problem.plan import Plan

_LEAST_NODES, _LEAST_TERMS = 16, 4  # smallest padded sizes; most rigs and goals share this program
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


class Constants(NamedTuple):
    """Arrays shared by all lanes. n nodes and t terms with the padding.

    parents  (n + 1,)     the world is row n
    kinds    (n,)
    owners   (n,)         node with the value of a hinge or slide: itself, or the one it is coupled to
    ranges   (2, n, 3)    lowest and highest of each value
    moves    (n, 3)       1 for a degree of freedom, 0 in fixed nodes, followers and padding
    terms    (2, t)       kind and node
    aims     (t, 9)       see kernels/tree_residual.py; without the columns of a POLE
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

    turns: Array
    values: Array


class Lane(NamedTuple):
    """Arrays of one lane: frames (n, 9), targets (t, 4). `steps` (n, 3) converts a step of one to u."""

    frames: Array
    targets: Array
    steps: Array


# --- packing -----------------------------------------------------------------------------------------------------


class Packed:
    """A plan as JAX arrays, with conversion of u."""

    def __init__(self, plan: Plan, aims: Floats) -> None:
        layout = plan.layout
        self.plan = plan
        self.n = _padded(len(layout.nodes), _LEAST_NODES)
        self.t = _padded(len(layout.terms), _LEAST_TERMS)
        nodes = list(enumerate(layout.nodes))
        balls = [(node.at, i) for i, node in nodes if node.kind == BALL]
        self.balls = np.array(balls, dtype=np.int64).reshape(-1, 2)
        own = {node.at: i for i, node in reversed(nodes) if node.kind not in (FIXED, BALL)}
        values = [(at + j, i, j) for at, i in own.items() for j in range(SIZES[layout.nodes[i].kind])]
        self.values = np.array(values, dtype=np.int64).reshape(-1, 3)
        self.rig = self._rig(own, aims)

    def _rig(self, own: dict[int, int], aims: Floats) -> Constants:
        layout, n, t = self.plan.layout, self.n, self.t
        parents, kinds, owners = np.full(n + 1, n), np.full(n, FIXED), np.arange(n)
        ranges, moves = np.zeros((2, n, 3)), np.zeros((n, 3))
        ranges[:] = np.array([-np.inf, np.inf])[:, None, None]
        for i, node in enumerate(layout.nodes):
            parents[i], kinds[i] = node.parent if node.parent >= 0 else n, node.kind
            owners[i] = own[node.at] if node.kind in (HINGE, SLIDE) else i
            if owners[i] == i:
                moves[i, : DOFS[node.kind]] = 1.0
            if node.kind in (HINGE, SLIDE):
                ranges[:, i, 0] = layout.dofs[node.dof, :2]
        terms, padded = np.zeros((2, t), dtype=np.int64), np.zeros((t, 9))
        padded[:, 3:7], padded[:, 8] = _IDENTITY, np.inf
        for i, term in enumerate(layout.terms):
            terms[:, i], padded[i] = (term.kind, term.node if term.node >= 0 else n), aims[i, :9]
        arrays = (parents, kinds, owners, ranges, moves, terms, padded)
        return Constants(*(jnp.asarray(array) for array in arrays))

    def place(self, u: Floats) -> Configuration:
        """Convert u (k, nu) to Configurations (k, ...)."""
        turned, values = np.tile(_IDENTITY, (len(u), self.n, 1)), np.zeros((len(u), self.n, 3))
        turned[:, self.balls[:, 1]] = u[:, self.balls[:, :1] + np.arange(4)]
        values[:, self.values[:, 1], self.values[:, 2]] = u[:, self.values[:, 0]]
        return Configuration(turned, values)  # pyright: ignore[reportArgumentType]  (JAX takes NumPy's arrays)

    def u_of(self, place: Configuration) -> Floats:
        """Convert Configurations (k, ...) to u (k, nu)."""
        turned, values = np.asarray(place.turns), np.asarray(place.values)
        u = np.zeros((len(turned), self.plan.layout.nu))
        u[:, self.balls[:, :1] + np.arange(4)] = turned[:, self.balls[:, 1]]
        u[:, self.values[:, 0]] = values[:, self.values[:, 1], self.values[:, 2]]
        return u

    def lanes(self, targets: Floats) -> Lane:
        """Pack kernel targets (k, width) as inputs of k lanes."""
        layout, k = self.plan.layout, len(targets)
        frames = np.zeros((k, self.n, 9))
        frames[:, :, 3:7], frames[:, :, 7] = _IDENTITY, 1.0
        frames[:, : len(layout.nodes)] = self.plan.frames
        wanted = np.zeros((k, self.t, 4))
        for i, (term, number) in enumerate(zip(layout.terms, self.plan.terms[:, 3], strict=True)):
            wanted[:, i, : NUMBERS[term.kind]] = targets[:, number : number + NUMBERS[term.kind]]
        steps = np.ones((k, self.n, 3))
        slides = [i for i, node in enumerate(layout.nodes) if node.kind == SLIDE]
        steps[:, slides, 0] = 1.0 / np.where(frames[:, slides, 7] == 0.0, 1.0, np.abs(frames[:, slides, 7]))
        return Lane(frames, wanted, steps)  # pyright: ignore[reportArgumentType]


def _padded(count: int, least: int) -> int:
    """Round up to a power of two, at least `minimum`."""
    return max(least, 1 << max(count - 1, 0).bit_length())


# --- differentiated functions of one lane ----------------------------------------------------------------------------


def moved(rig: Constants, lane: Lane, place: Configuration, v: Array) -> Configuration:
    """Move a configuration by v (n, 3), clamped to the ranges."""
    values = jnp.clip(place.values + v * lane.steps, rig.ranges[0], rig.ranges[1])
    turned = turns.normalised(turns.multiply(turns.exp(turns.vec(v)), turns.quat(place.turns)))
    return Configuration(jnp.where((rig.kinds == BALL)[:, None], turns.stacked(turned), place.turns), values)


def left(rig: Constants, lane: Lane, place: Configuration, v: Array) -> tuple[Array, Array]:
    """Compute the weighted residual (3 t,) after a step v (n, 3). Also return whether every term is met.

    Ranges are ignored, so derivatives at an end equal those inside.
    """
    values = place.values + v * lane.steps
    turned = turns.multiply(turns.exp(turns.vec(v)), turns.quat(place.turns))
    spins, points = _world(rig, lane, values, turned)
    kinds, nodes = rig.terms
    rows = jnp.stack([*spins, *points])
    rows = rows @ (nodes[None, :] == jnp.arange(rows.shape[1])[:, None]).astype(rows.dtype)
    spin, point = TracedQuat(*rows[:4]), TracedVec(*rows[4:])
    wanted = turns.quat(lane.targets)
    aimed = TracedVec(*wanted[:3])
    # Targets of other kinds of terms may be no unit vectors; quaternions.py explains both sides of a `where`.
    none = turns.identity_like(point.x)
    pole = TracedVec(*none[1:3], none[0])
    is_rotation, is_aim, is_pointing = kinds == ROTATION, kinds == AIM, (kinds == DIRECTION) | (kinds == AIM)
    point = turns.add(point, turns.rotate(spin, turns.vec(rig.aims)))
    axis = TracedVec(*turns.chosen(is_aim, turns.vec(rig.aims[:, 3:6]), turns.vec(rig.aims)))
    axis = turns.rotate(spin, TracedVec(*turns.chosen(is_pointing, axis, pole)))
    way = TracedVec(*turns.chosen(is_aim, turns.way_to(aimed, point, axis), aimed))
    turn = turns.multiply(spin, turns.quat(rig.aims[:, 3:7]))
    rotation = turns.rotation_left(TracedQuat(*turns.chosen(is_rotation, wanted, none)), turn)
    direction = turns.direction_left(TracedVec(*turns.chosen(is_pointing, way, axis)), axis)
    position = turns.sub(aimed, point)
    rest = TracedVec(*turns.chosen(is_rotation, rotation, TracedVec(*turns.chosen(is_pointing, direction, position))))
    met = (turns.dot(rest, rest) <= rig.aims[:, 8]).all()
    return turns.stacked(turns.scale(rest, rig.aims[:, 7])).ravel(), met


def _world(rig: Constants, lane: Lane, values: Array, turned: TracedQuat) -> tuple[TracedQuat, TracedVec]:
    """Compute rotations and positions of the moved frames. There are n + 1 of each; the last is the world.

    Pointer doubling (Hillis and Steele, CACM 29(12), 1986): every round joins each node with its current
    ancestor. Nodes are picked by products with a matrix of zeros and ones. These are exact and have a product as their
    derivative; that of an indexed read is a slow scattered write.
    """
    value = lane.frames[:, 7] * values[rig.owners, 0] + lane.frames[:, 8]
    zero = jnp.zeros_like(value)
    about = TracedQuat(jnp.cos(0.5 * value), zero, zero, jnp.sin(0.5 * value))
    still = turns.identity_like(value)
    turn = turns.chosen(rig.kinds == BALL, turned, TracedQuat(*turns.chosen(rig.kinds == HINGE, about, still)))
    none = TracedVec(zero, zero, zero)
    move = turns.chosen(rig.kinds == MOVE, turns.vec(values), none)
    slid = turns.chosen(rig.kinds == SLIDE, TracedVec(zero, zero, value), TracedVec(*move))
    frame = turns.quat(lane.frames[:, 3:7])
    spins = turns.multiply(frame, TracedQuat(*turn))
    points = turns.add(turns.vec(lane.frames), turns.rotate(frame, TracedVec(*slid)))
    world = jnp.zeros((7, 1)).at[0].set(1.0)
    rows = jnp.concatenate([jnp.stack([*spins, *points]), world], axis=1)
    size = len(rig.kinds) + 1

    def joined(carried: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        rows, parents = carried
        pick = (parents[None, :] == jnp.arange(size)[:, None]).astype(rows.dtype)
        above = rows @ pick
        spin, point = TracedQuat(*above[:4]), TracedVec(*above[4:])
        points = turns.add(point, turns.rotate(spin, TracedVec(*rows[4:])))
        rows = jnp.stack([*turns.multiply(spin, TracedQuat(*rows[:4])), *points])
        return (rows, parents[parents]), None

    rounds = (size - 2).bit_length()
    (rows, _), _ = jax.lax.scan(joined, (rows, rig.parents), None, length=rounds)  # a loop: compiled once
    return TracedQuat(*rows[:4]), TracedVec(*rows[4:])
