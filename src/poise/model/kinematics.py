"""Forward kinematics and Jacobians. Rows of a skeleton become tables for kernels/kinematics.py."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.errors import UnsupportedError
from poise.kernels.codes import (
    FK_KIND,
    FK_PARENT,
    FK_RATIO,
    FK_ROW,
    FK_SHIFT,
    FK_SINE,
    FK_START,
    FK_STILL,
    JACOBIAN_FIRST,
    JACOBIAN_ORIGIN,
    JACOBIAN_ROW,
    JACOBIAN_WAYS,
)
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.lanes import lane_width, scratch
from poise.maths.remember import remember
from poise.model import plain
from poise.model.joints import NQ
from poise.model.sheared import angular_velocities
from poise.model.skeleton import Kind, Skeleton

# lanes of the wide kernels
_WIDE = 8
_NO_ROWS = np.empty((0, 0))
_NONE = np.zeros(1, dtype=bool)
# relative deviation from a scaled rotation below which a linear part counts as one; exported scales are noisy
_SIMILAR = 1e-3


class Given(NamedTuple):
    """Translations and scales of a batch of poses. They replace A's translation and B: (k, n, 3) each, or None."""

    translations: Floats | None
    scales: Floats | None


NOTHING = Given(None, None)


def flat_given(translations: Floats | None, scales: Floats | None) -> Given:
    """Flatten the batch of translations and scales."""
    values = (translations, scales)
    return Given(*[None if v is None else v.reshape(math.prod(v.shape[:-2]), *v.shape[-2:]) for v in values])


class Table(NamedTuple):
    """Skeleton rows packed for the kernels. See kernels/kinematics.py.

    free_rows       indices of the free joints in the table
    q_columns       columns of q used by the table
    workspace_size  numbers of scratch memory for forward kinematics
    """

    rows: Ints
    free: Ints
    constants: Floats
    used: Ints
    dofs: Floats
    room: int


def world_maps(skeleton: Skeleton, row: int | None, q: Floats, given: Given = NOTHING) -> Floats:
    """Compute world transforms for poses q (k, nq).

    The result is (k, n, 3, 4) for every joint, or (k, 1, 3, 4) for one.
    """
    table = _table(skeleton, row, given)
    count = len(table.rows) if row is None else 1
    extra = _NO_ROWS if given is NOTHING else given_rows(table, given)
    return maps_by(table, count, q, extra).reshape(len(q), count, 3, 4)


def maps_by(table: Table, count: int, q: Floats, extra: Floats) -> Floats:
    """Compute world transforms (k, 12 count) of a table's last rows.

    `q` is (k, nq), `extra` comes from `pack_local_offsets`. The bits are those of `compute_world_maps`, independent of
    the rest of the table and of the batch.
    """
    out, work = np.empty((len(q), count * 12)), scratch(table.room)
    if plain.Loading.waits and plain.counts(len(q)):
        plain.world_maps(table.constants, q, table.used, extra, out)
        return out
    kernel = kernels.forward.world_maps8 if lane_width() == _WIDE else kernels.forward.world_maps4
    kernel(table.constants, q, table.used, extra, work, out)
    return out


def turns_of(maps: Floats, exact: float, *, poses: int) -> Floats:
    """Compute the rotations (k, 4) nearest to maps (k, 12).

    They are w x y z with w >= 0; `poses` is the number of poses.

    tolerance  relative deviation from a scaled rotation; maps beyond it take a slower path
    """
    turns = np.empty((len(maps), 4))
    plain.forward(poses).turns_of_similar(maps, exact, turns)
    others = turns[:, 0] < 0.0
    if others.any():
        turns[others] = rotations.from_matrix(rotations.rotation_part(maps[others].reshape(-1, 3, 4)[..., :3]))
    return turns


def jacobians(skeleton: Skeleton, row: int, q: Floats, given: Given, points: Floats, *, angular: bool = True) -> Floats:
    """Compute Jacobians (k, 6, nv) of one joint. Points (1|k, 3) are in its frame, poses are q (k, nq).

    Without `angular` the lower halves may be wrong under non-uniform scale; the upper halves are always right.
    """
    table, nv = _table(skeleton, row, given), skeleton.nv
    r, u = len(table.rows), len(table.used)
    gains, sheared = _gains(skeleton, row, given) if angular else (np.ones((1, r)), _NONE)
    out = np.empty((len(q), 6 * nv))
    width = lane_width()
    work = scratch((u + 12 + 6 * nv + 31 * r + 3) * width)
    kernel = kernels.jacobian.jacobians8 if width == _WIDE else kernels.jacobian.jacobians4
    extra = given_rows(table, given)
    kernel(table.constants, table.dofs, q, table.used, extra, gains, points, work, out)
    columns = out.reshape(len(q), 6, nv)
    if sheared.any():
        some = np.flatnonzero(np.broadcast_to(sheared, len(q)))
        maps = maps_by(table, r, q[some], extra[some] if len(extra) else extra).reshape(-1, r, 3, 4)
        columns[some, 3:] = angular_velocities(skeleton, table.rows, maps)
    return columns


def _table(skeleton: Skeleton, row: int | None, given: Given) -> Table:
    """Return the cached table of all rows, or of one path. It leaves out everything replaced by `local_offsets`."""
    moved, scaled = given.translations is not None, given.scales is not None

    def make() -> Table:
        rows = list(range(len(skeleton))) if row is None else skeleton.way(row)
        return table_of(skeleton, rows, moved=moved, scaled=scaled)

    return remember(skeleton, "tables", (row, moved, scaled), make)


def table_of(skeleton: Skeleton, rows: list[int], *, moved: bool = False, scaled: bool = False) -> Table:
    """Build the table of these rows, parents first. The flags leave out translations or scales supplied by poses."""
    offsets, after = skeleton.A[:, :3].copy(), skeleton.B
    if moved:
        offsets[skeleton.kinds != Kind.FREE] = 0.0
    if scaled:
        after = np.broadcast_to(np.eye(3, 4), after.shape)
    return _new_table(skeleton, rows, offsets[rows], after[rows])


def _gains(skeleton: Skeleton, row: int, given: Given) -> tuple[Floats, Bools]:
    """Return 1 / scale (1|k, r) above each row. Also return the poses (1|k,) with shear."""
    rows = skeleton.way(row)
    if given.scales is not None:
        return _new_gains(skeleton, rows, given.scales[:, rows, None, :] * np.eye(3))
    return remember(skeleton, "gains", row, lambda: _new_gains(skeleton, rows, skeleton.B[None, rows, :, :3]))


def _new_table(skeleton: Skeleton, rows: list[int], offsets: Floats, after: Floats) -> Table:
    """Pack the table of rows, parents first. `offsets` (r, 3) are A's translations, `after` (r, 3, 4) is B."""
    s = skeleton
    kinds, axes = s.kinds[rows], s.axes[rows]
    starts = zip(s.q_start[rows].tolist(), kinds.tolist(), strict=True)
    needed = {start + j for start, kind in starts for j in NQ[kind]}
    used = np.array(sorted(needed), dtype=np.int64)
    turn = rotations.as_matrix(s.A[rows, 3:])
    slot = {row: i + 1 for i, row in enumerate(rows)}
    constants = np.zeros((len(rows), FK_ROW))
    constants[:, FK_KIND] = kinds
    constants[:, FK_PARENT] = [slot.get(int(parent), 0) for parent in s.parents[rows]]
    constants[:, FK_START] = np.where(kinds == Kind.FIXED, 0, np.searchsorted(used, s.q_start[rows]))
    constants[:, FK_RATIO : FK_SHIFT + 1] = s.coupling_rows[rows]
    constants[:, FK_STILL:] = _parts(kinds, axes, turn, after).reshape(len(rows), 36)
    constants[:, FK_STILL + 3 : FK_SINE : 4] += offsets  # the last of each row of four
    ways = np.swapaxes(turn, 1, 2).copy()
    one = (kinds == Kind.HINGE) | (kinds == Kind.SLIDE)
    ways[one, 0] = (turn @ axes[:, :, None])[one, :, 0]
    dofs = np.zeros((len(rows), JACOBIAN_ROW))
    dofs[:, JACOBIAN_FIRST], dofs[:, JACOBIAN_ORIGIN:JACOBIAN_WAYS] = s.v_start[rows], offsets
    dofs[:, JACOBIAN_WAYS:] = ways.reshape(len(rows), 9)
    room = (len(used) + 12 * (len(rows) + 1) + 6 * len(rows)) * lane_width()
    return Table(np.array(rows, dtype=np.int64), np.flatnonzero(kinds == Kind.FREE), constants, used, dofs, room)


def _parts(kinds: Ints, axes: Floats, turn: Floats, after: Floats) -> Floats:
    """Pack the constant, sine and cosine parts (r, 3, 3, 4).

    A's translation is left out; `rotation` (r, 3, 3) is A's.
    """
    along = axes[:, :, None] * axes[:, None, :]
    across = np.cross(np.eye(3), axes[:, None, :])  # row i is e_i x a: across @ v is a x v
    parts = np.zeros((len(kinds), 3, 3, 4))
    parts[:, 0] = turn @ after
    hinge, slide, ball = kinds == Kind.HINGE, kinds == Kind.SLIDE, kinds >= Kind.BALL
    for j, spin in enumerate((along, across, np.eye(3) - along)):
        parts[hinge, j] = (turn @ spin @ after)[hinge]
    parts[slide, 1, :, 3] = (turn @ axes[:, :, None])[slide, :, 0]
    parts[ball, 0] = np.eye(3, 4)
    parts[ball, 0, :, :3] = turn[ball]
    parts[ball, 1] = after[ball]
    parts[ball, 2, 0, 0] = (after[ball] != np.eye(3, 4)).any(axis=(1, 2))
    return parts


def given_rows(table: Table, given: Given) -> Floats:
    """Pack translations and scales for the kernels, (0|k, 6 r). The translation of a free joint is in q."""
    first, count = given.scales if given.translations is None else given.translations, len(table.rows)
    if first is None:
        return np.empty((0, 6 * count))
    numbers = np.ones((len(first), count, 6))
    numbers[..., :3] = 0.0 if given.translations is None else given.translations.take(table.rows, axis=1)
    if given.scales is not None:
        numbers[..., 3:] = given.scales.take(table.rows, axis=1)
    if len(table.free):
        numbers[:, table.free, :3] = 0.0
    return numbers.reshape(len(first), 6 * count)


def _new_gains(skeleton: Skeleton, rows: list[int], linear: Floats) -> tuple[Floats, Bools]:
    """Compute 1 / scale (k, r) above each row.

    `linear` (k, r, 3, 3) is B's linear part. Also return where a joint turns below a non-uniform scale.

    UnsupportedError for a rotating joint below a scale of zero.
    """
    scale = np.cbrt(np.linalg.det(linear))
    flat = scale == 0.0
    scale = np.where(flat, 1.0, scale)
    unit = linear / scale[..., None, None]
    uneven = flat | (np.abs(unit @ np.swapaxes(unit, -1, -2) - np.eye(3)).max(axis=(2, 3)) > _SIMILAR)
    turns = ~np.isin(skeleton.kinds[rows], (Kind.FIXED, Kind.SLIDE))
    flattened = np.flatnonzero(turns & _are_below(flat).any(axis=0))
    if len(flattened):
        name = skeleton.names[rows[int(flattened[0])]]
        raise UnsupportedError(f"the scale above {name!r} is zero; turning {name!r} is then no rotation")
    gains = np.ones(scale.shape)
    gains[:, 1:] = 1.0 / np.cumprod(scale, axis=1)[:, :-1]
    return gains, np.any(turns & _are_below(uneven), axis=1)


def _are_below(rows: Bools) -> Bools:
    """Find the rows of paths (k, r) with one of these above."""
    return np.cumsum(rows, axis=1) > rows
