"""Forward kinematics in NumPy, used until the kernels are compiled.

It makes the first picture of the viewer appear seconds sooner. It is used inside `defer_kernels()` only: elsewhere
kernels are compiled on first use, and a pose has the same bits everywhere. The results here agree to rounding.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from poise import kernels
from poise.kernels.layout import (
    FK_AFTER,
    FK_CONSTANT,
    FK_COSINE,
    FK_KIND,
    FK_PARENT,
    FK_RATIO,
    FK_SHIFT,
    FK_SINE,
    FK_START,
)
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.joints import Kind

# largest batch for NumPy; above it compiling the kernels is faster
_MAX_POSES = 64


class KernelState(threading.local):
    """State of kernel loading. `is_pending` is a class attribute, so frequent callers read it without a call.

    is_pending    of the class, for all threads: kernels are still to be loaded or compiled
    is_compiling  of one thread: it compiles the kernels
    """

    is_pending = False
    is_compiling = False


_STATE = KernelState()


@contextmanager
def defer_kernels() -> Generator[None]:
    """Defer the kernels: use NumPy until `compile_kernels` has run.

    Inside this context kernels need not even be loaded.
    """
    KernelState.is_pending = True
    try:
        yield
    finally:
        KernelState.is_pending = False


def are_kernels_pending() -> bool:
    """Return whether kernels are still to be compiled."""
    return KernelState.is_pending


def can_skip_kernels(poses: int) -> bool:
    """Return whether this thread computes a batch with NumPy. It depends on the number of poses."""
    return KernelState.is_pending and not _STATE.is_compiling and poses <= _MAX_POSES


def select_backend(poses: int) -> Any:
    """Select the backend for a batch: kernels or this module."""
    return sys.modules[__name__] if can_skip_kernels(poses) else kernels.kinematics


def compile_kernels(use: Callable[[], Any]) -> None:
    """Compile the kernels by calling `use`. Other threads keep using NumPy meanwhile."""
    _STATE.is_compiling = True
    try:
        use()
    finally:
        _STATE.is_compiling = KernelState.is_pending = False


def compute_world_maps(table: Floats, q: Floats, used: Ints, local_offsets: Floats, out: Floats) -> None:
    """Compute world transforms like kernels.kinematics.compute_world_maps, for a few poses."""
    numbers, count = q[:, used], len(q)
    maps = np.tile(np.eye(4), (len(table) + 1, count, 1, 1))
    for i, row in enumerate(table):
        local = _compute_local(row, numbers)
        if len(local_offsets):
            extra = local_offsets[:, 6 * i : 6 * i + 6]
            local[:, :3, 3] += extra[:, :3]
            local[:, :3, :3] *= extra[:, None, 3:]
        maps[i + 1] = maps[int(row[FK_PARENT])] @ local
    shown = out.shape[1] // 12
    out[:] = np.swapaxes(maps[len(maps) - shown :, :, :3], 0, 1).reshape(count, 12 * shown)


def _compute_local(row: Floats, numbers: Floats) -> Floats:
    """Compute the local transforms (k, 4, 4) of one row, A . J . B."""
    kind, column = int(row[FK_KIND]), int(row[FK_START])
    still, sine, cosine = (row[start : start + 12].reshape(3, 4) for start in (FK_CONSTANT, FK_SINE, FK_COSINE))
    local = np.zeros((len(numbers), 4, 4))
    local[:, 3, 3] = 1.0
    if kind in (Kind.BALL, Kind.FREE):
        motion = np.tile(np.eye(4), (len(numbers), 1, 1))
        if kind == Kind.FREE:
            motion[:, :3, 3], column = numbers[:, column : column + 3], column + 3
        motion[:, :3, :3] = rotations.as_matrix(numbers[:, column : column + 4])
        local[:, :3] = still @ motion
        return local @ np.vstack([sine, [0.0, 0.0, 0.0, 1.0]]) if row[FK_AFTER] > 0.0 else local
    local[:, :3] = still
    if kind != Kind.FIXED:
        value = (numbers[:, column] * row[FK_RATIO] + row[FK_SHIFT])[:, None, None]
        local[:, :3] += np.sin(value) * sine + np.cos(value) * cosine if kind == Kind.HINGE else value * sine
    return local


def similarities_to_quaternions(_maps: Floats, _exact: float, quaternions: Floats) -> None:
    """Mark every rotation (k, 4) as not yet computed. The kernel does the same for maps with strong shear."""
    quaternions[:, 0] = -1.0


def compute_local_transforms(
    kinds: Ints, axes: Floats, rigid: Floats, starts: Ints, couplings: Floats, q: Floats, positions: Floats,
    quaternions: Floats,
) -> None:  # fmt: skip
    """Compute local transforms like kernels.kinematics, for a few poses."""
    positions[:], quaternions[:] = rigid[:, :3], rigid[:, 3:]
    alone: Bools = (kinds == Kind.HINGE) | (kinds == Kind.SLIDE)
    for i in np.flatnonzero(kinds != Kind.FIXED):
        column, rotation = int(starts[i]), np.broadcast_to(rigid[i, 3:], (len(q), 4))
        value = couplings[i, 0] * q[:, column] + couplings[i, 1] if alone[i] else np.zeros(len(q))
        if kinds[i] == Kind.HINGE:
            quaternions[:, i] = rotations.multiply(rotation, rotations.about(axes[i], value))
        elif kinds[i] == Kind.SLIDE:
            positions[:, i] += rotations.rotate(rotation, axes[i] * value[:, None])
        else:
            if kinds[i] == Kind.FREE:
                positions[:, i] += rotations.rotate(rotation, q[:, column : column + 3])
                column += 3
            quaternions[:, i] = rotations.multiply(rotation, q[:, column : column + 4])
