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
from poise.kernels.codes import (
    FK_AFTER,
    FK_COSINE,
    FK_KIND,
    FK_PARENT,
    FK_RATIO,
    FK_SHIFT,
    FK_SINE,
    FK_START,
    FK_STILL,
)
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.joints import Kind

# largest batch for NumPy; above it compiling the kernels is faster
_MOST = 64


class Loading(threading.local):
    """State of kernel loading. `is_pending` is a class attribute, so frequent callers read it without a call.

    is_pending    of the class, for all threads: kernels are still to be loaded or compiled
    is_compiling  of one thread: it compiles the kernels
    """

    waits = False
    compiles = False


_STATE = Loading()


@contextmanager
def first_picture() -> Generator[None]:
    """Defer the kernels: use NumPy until `compile_kernels` has run.

    Inside this context kernels need not even be loaded.
    """
    Loading.waits = True
    try:
        yield
    finally:
        Loading.waits = False


def waits() -> bool:
    """Return whether kernels are still to be compiled."""
    return Loading.waits


def counts(poses: int) -> bool:
    """Return whether this thread computes a batch with NumPy. It depends on the number of poses."""
    return Loading.waits and not _STATE.compiles and poses <= _MOST


def forward(poses: int) -> Any:
    """Select the backend for a batch: kernels or this module."""
    return sys.modules[__name__] if counts(poses) else kernels.forward


def compiled(use: Callable[[], Any]) -> None:
    """Compile the kernels by calling `use`. Other threads keep using NumPy meanwhile."""
    _STATE.compiles = True
    try:
        use()
    finally:
        _STATE.compiles = Loading.waits = False


def world_maps(table: Floats, q: Floats, used: Ints, given: Floats, out: Floats) -> None:
    """Compute world transforms like kernels.kinematics.compute_world_maps, for a few poses."""
    numbers, count = q[:, used], len(q)
    maps = np.tile(np.eye(4), (len(table) + 1, count, 1, 1))
    for i, row in enumerate(table):
        local = _local(row, numbers)
        if len(given):
            extra = given[:, 6 * i : 6 * i + 6]
            local[:, :3, 3] += extra[:, :3]
            local[:, :3, :3] *= extra[:, None, 3:]
        maps[i + 1] = maps[int(row[FK_PARENT])] @ local
    shown = out.shape[1] // 12
    out[:] = np.swapaxes(maps[len(maps) - shown :, :, :3], 0, 1).reshape(count, 12 * shown)


def _local(row: Floats, numbers: Floats) -> Floats:
    """Compute the local transforms (k, 4, 4) of one row, A . J . B."""
    kind, at = int(row[FK_KIND]), int(row[FK_START])
    still, sine, cosine = (row[start : start + 12].reshape(3, 4) for start in (FK_STILL, FK_SINE, FK_COSINE))
    found = np.zeros((len(numbers), 4, 4))
    found[:, 3, 3] = 1.0
    if kind in (Kind.BALL, Kind.FREE):
        motion = np.tile(np.eye(4), (len(numbers), 1, 1))
        if kind == Kind.FREE:
            motion[:, :3, 3], at = numbers[:, at : at + 3], at + 3
        motion[:, :3, :3] = rotations.as_matrix(numbers[:, at : at + 4])
        found[:, :3] = still @ motion
        return found @ np.vstack([sine, [0.0, 0.0, 0.0, 1.0]]) if row[FK_AFTER] > 0.0 else found
    found[:, :3] = still
    if kind != Kind.FIXED:
        value = (numbers[:, at] * row[FK_RATIO] + row[FK_SHIFT])[:, None, None]
        found[:, :3] += np.sin(value) * sine + np.cos(value) * cosine if kind == Kind.HINGE else value * sine
    return found


def turns_of_similar(_maps: Floats, _exact: float, turns: Floats) -> None:
    """Mark every rotation (k, 4) as not yet computed. The kernel does the same for maps with strong shear."""
    turns[:, 0] = -1.0


def local_transforms(
    kinds: Ints, axes: Floats, rigid: Floats, starts: Ints, couplings: Floats, q: Floats, positions: Floats,
    turns: Floats,
) -> None:  # fmt: skip
    """Compute local transforms like kernels.kinematics, for a few poses."""
    positions[:], turns[:] = rigid[:, :3], rigid[:, 3:]
    alone: Bools = (kinds == Kind.HINGE) | (kinds == Kind.SLIDE)
    for i in np.flatnonzero(kinds != Kind.FIXED):
        at, turn = int(starts[i]), np.broadcast_to(rigid[i, 3:], (len(q), 4))
        value = couplings[i, 0] * q[:, at] + couplings[i, 1] if alone[i] else np.zeros(len(q))
        if kinds[i] == Kind.HINGE:
            turns[:, i] = rotations.multiply(turn, rotations.about(axes[i], value))
        elif kinds[i] == Kind.SLIDE:
            positions[:, i] += rotations.rotate(turn, axes[i] * value[:, None])
        else:
            if kinds[i] == Kind.FREE:
                positions[:, i] += rotations.rotate(turn, q[:, at : at + 3])
                at += 3
            turns[:, i] = rotations.multiply(turn, q[:, at : at + 4])
