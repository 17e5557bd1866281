"""Fit a skeleton to joint positions over time.

Each joint's rotation is found in closed form from the directions to the joints below it, and a least-squares solve then
refines frames with other bone lengths.

All rotations are in the world frame of the base pose. `own` is the rotation of a joint relative to its parent and
`whole` = whole of the parent . own its total rotation; an offset r of a child becomes whole r. Scale and mirroring
cancel.
"""

from __future__ import annotations

import math

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.limits import hinge_axis
from poise.model.limits.base.rows import nearest_angle
from poise.model.pose import Pose
from poise.model.skeleton import Kind

_FLAT = 1e-2  # ratio of the second to the first singular value; directions below it leave the twist open
_NOWHERE = 1e-9  # share of the body size: a shorter bone has no direction
# sine of the hinge angle: no confidence in the twist above it below this, full at twice this
_STRAIGHT = 0.1
_RIGID = 0.1  # [rad] angle change between two directions from which they do not count as one rigid body
_LOOSE = 0.05  # weight of the twist from two such directions
# shares of the spread at rest: no and full confidence in the twist
_SURE_FROM, _SURE = 0.05, 0.25


def turned(base: Pose, tracked: list[int], targets: Floats, anchor: int, *, keep: float) -> Floats:
    """Compute configurations (frames, nq) with bones towards the targets.

    Targets are (frames, tracked, 3); the anchor stays in place.

    twist_retention  the share of an undetermined twist kept from one frame to the next
    """
    fitting = _Fitting(base, tracked, targets, keep)
    for row in range(anchor, len(base.skeleton)):
        if anchor in base.skeleton.way(row):
            fitting.turn(row)
    return base.skeleton.legal(fitting.q)[0]


class _Fitting:
    """Partial fit: q, positions and world rotations so far."""

    def __init__(self, base: Pose, tracked: list[int], targets: Floats, keep: float) -> None:
        self.base, self.skeleton, self.keep = base, base.skeleton, keep
        self.targets = {row: targets[:, i] for i, row in enumerate(tracked)}
        self.frames = len(targets)
        self.q = np.tile(base.q, (self.frames, 1))
        self.at = base.world.positions
        self.size = float(np.ptp(self.at, axis=0).max())
        self.whole: dict[int, Floats] = {}
        self.places: dict[int, Floats] = {}
        world = base.world.rotations
        above = [rotations.IDENTITY if parent < 0 else world[parent] for parent in self.skeleton.parents.tolist()]
        self.stands = rotations.multiply(np.array(above).reshape(-1, 4), self.skeleton.A[:, 3:])

    def turn(self, row: int) -> None:
        """Fit the rotation of one joint and store it in q."""
        parent = int(self.skeleton.parents[row])
        whole = self.whole.get(parent, rotations.IDENTITY)
        self.places[row] = self._place(row, parent, whole)
        own = self._turn(row, whole) if self._turns(row) else rotations.IDENTITY
        self.whole[row] = np.broadcast_to(rotations.multiply(*np.broadcast_arrays(whole, own)), (self.frames, 4))

    def _place(self, row: int, parent: int, whole: Floats) -> Floats:
        """Return the target position or the position from the parent.

        The parent counts where the joint has no target.
        """
        if row in self.targets:
            return self.targets[row]
        return self.places[parent] + rotations.rotate(whole, self.at[row] - self.at[parent])

    def _turns(self, row: int) -> bool:
        turning = self.skeleton.kinds[row] in (Kind.HINGE, Kind.BALL, Kind.FREE)
        return turning and not self.skeleton.couplings[row] and bool(self._below(row))

    def _below(self, row: int, beneath: int | None = None) -> list[int]:
        """List the nearest joints below with targets. Joints at the same position are skipped."""
        found: list[int] = []
        for child in self.skeleton.children[row if beneath is None else beneath]:
            away = np.sqrt(((self.at[child] - self.at[row]) ** 2).sum())
            found += [child] if child in self.targets and away > _NOWHERE * self.size else self._below(row, child)
        return found

    def _turn(self, row: int, whole: Floats) -> Floats:
        below = self._below(row)
        rests = self.at[below] - self.at[row]
        back = rotations.inverse(whole)
        aims = np.stack([rotations.rotate(back, self.targets[i] - self.places[row]) for i in below], axis=1)
        axis = self._axis(row)
        if axis is not None:
            return self._bend(row, axis, rests, aims)
        longest = int(np.argmax((rests**2).sum(axis=1)))
        swing, along = rotations.rotation_between(rests[longest], aims[:, longest]), unit(rests[longest])
        spread = np.linalg.svd(rests, compute_uv=False)
        if len(below) > 1 and spread[1] > _FLAT * spread[0]:
            best, sure = best_turns(rests, aims)
            known = rotations.twist_angle(rotations.multiply(rotations.inverse(swing), best), along)
            own = rotations.slerp(self._twisted(swing, along, known, sure), best, sure)
        else:
            known, sure = self._twist_of_hinge(below[longest], aims[:, longest], swing, back)
            own = self._twisted(swing, along, known, sure)
        self._put(row, own)
        return own

    def _axis(self, row: int) -> Floats | None:
        """Return the axis of a hinge joint, or None. It is given in the world frame of the base pose."""
        if self.skeleton.kinds[row] == Kind.HINGE:
            return rotations.rotate(self.stands[row], self.skeleton.axes[row])
        axis = hinge_axis(self.skeleton.limits[row])
        return None if axis is None else rotations.rotate(self.stands[row], np.array(axis))

    def _bend(self, row: int, axis: Floats, rests: Floats, aims: Floats) -> Floats:
        """Fit a hinge angle inside its range. It minimises the distance to the target directions."""
        sine = (np.cross(rests, aims) @ axis).sum(axis=1)
        cosine = ((rests * aims).sum(axis=-1) - (rests @ axis) * (aims @ axis)).sum(axis=1)
        angle = np.unwrap(np.arctan2(sine, cosine))
        if self.skeleton.kinds[row] == Kind.HINGE:
            first = int(self.skeleton.q_start[row])
            still = float(self.base.q[first])
            self.q[:, first] = nearest_angle(still + angle, *self.skeleton.value_ranges[first])
            return rotations.about(axis, self.q[:, first] - still)
        own = rotations.about(axis, angle)
        self._put(row, own)
        return own

    def _twisted(self, swing: Floats, along: Floats, known: Floats, sure: Floats) -> Floats:
        """Add twist to swings (frames, 4).

        Known twist counts by its confidence; otherwise the twist changes as little as possible.
        """
        turned = rotations.multiply(rotations.inverse(swing[:-1]), swing[1:])
        change = [0.0, *(-rotations.twist_angle(turned, along)).tolist()]
        twist, twists = 0.0, np.zeros(self.frames)
        for i, (step, value, weight) in enumerate(zip(change, known.tolist(), sure.tolist(), strict=True)):
            carried = self.keep * wrapped(twist + step)
            twist = carried + weight * wrapped(value - carried)
            twists[i] = twist
        return rotations.multiply(swing, rotations.about(along, twists))

    def _twist_of_hinge(self, child: int, aim: Floats, swing: Floats, back: Floats) -> tuple[Floats, Floats]:
        """Compute twist (frames,) from a hinge below.

        It makes the hinge axis perpendicular to its bending plane. Also returns the confidence, 0 to 1.
        """
        axis, below = self._axis(child), self._below(child)
        if axis is None or not below or child not in self.targets:
            return np.zeros(self.frames), np.zeros(self.frames)
        bone = rotations.rotate(back, self.targets[below[0]] - self.targets[child])
        turned_axis, along = rotations.rotate(swing, axis), unit(aim)
        normal = np.cross(along, unit(bone))
        sine = np.sqrt((normal**2).sum(axis=-1))
        normal *= np.where((normal * turned_axis).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
        flat = turned_axis - (turned_axis * along).sum(axis=-1, keepdims=True) * along
        twist = np.arctan2((np.cross(flat, normal) * along).sum(axis=-1), (flat * normal).sum(axis=-1))
        return twist, np.clip((sine - _STRAIGHT) / _STRAIGHT, 0.0, 1.0)

    def _put(self, row: int, own: Floats) -> None:
        """Write a world rotation into q as a joint rotation after A."""
        stand = np.broadcast_to(self.stands[row], own.shape)
        local = rotations.multiply(rotations.multiply(rotations.inverse(stand), own), stand)
        first = int(self.skeleton.q_start[row]) + (3 if self.skeleton.kinds[row] == Kind.FREE else 0)
        still = np.broadcast_to(self.base.q[first : first + 4], own.shape)
        self.q[:, first : first + 4] = rotations.normalised(rotations.multiply(local, still))


def best_turns(rests: Floats, aims: Floats) -> tuple[Floats, Floats]:
    """Compute rotations (frames, 4) aligning vectors with aims.

    Vectors are (m, 3), aims (frames, m, 3). Also returns the confidence, 0 to 1.

    Kabsch 1976. Aims that have become collinear leave the twist undetermined.
    """
    u, spread, vt = np.linalg.svd(np.einsum("mi,fmj->fij", rests, aims))
    v, back = np.swapaxes(vt, 1, 2).copy(), np.swapaxes(u, 1, 2)
    v[:, :, 2] *= np.where(np.linalg.det(v @ back) < 0, -1.0, 1.0)[:, None]
    still = np.linalg.svd(rests, compute_uv=False) ** 2
    share = spread[:, 1] / np.maximum(spread[:, 0], 1e-300) / (still[1] / still[0])
    sure = np.clip((share - _SURE_FROM) / (_SURE - _SURE_FROM), 0.0, 1.0)
    return rotations.from_matrix(v @ back), sure * (_LOOSE if is_loose_pair(rests, aims) else 1.0)


def is_loose_pair(rests: Floats, aims: Floats) -> bool:
    """Return whether two vectors rotate independently.

    An example is a thumb and a finger attached at the same position.
    """
    if len(rests) != 2:  # noqa: PLR2004  (of three or more, no single one can dominate)
        return False
    still, seen = (np.arccos(np.clip((unit(v)[..., 0, :] * unit(v)[..., 1, :]).sum(-1), -1, 1)) for v in (rests, aims))
    return bool(np.median(np.abs(seen - still)) > _RIGID)


def unit(v: Floats) -> Floats:
    """Normalise vectors (..., 3). Zero stays zero."""
    length = np.sqrt((v**2).sum(axis=-1, keepdims=True))
    return v / np.where(length > 0, length, 1.0)


def wrapped(angle: float) -> float:
    """Wrap an angle to -pi..pi."""
    return math.remainder(angle, 2 * math.pi)
