"""What is asked of a robot's tip: places that forward kinematics says it can be at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import poise
from poise import Kind
from robot_cases.robot_files import moved_by

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Limb(NamedTuple):
    """A robot at rest, one of its tips, and the numbers of q that move it: their columns, lowest and highest."""

    rest: poise.Pose
    tip: str
    columns: NDArray[np.int64]
    low: Floats
    high: Floats

    @property
    def first(self) -> str:
        """The joint next to the base."""
        s = self.rest.skeleton
        return s.names[moved_by(s, self.tip)[0]]

    @property
    def hinges(self) -> Bools:
        """Which of the columns may turn by whole turns: hinges that no other joint follows."""
        s = self.rest.skeleton
        led = {c.leader for c in s.couplings if c is not None}
        rows = {int(s.q_start[row]): row for row, c in enumerate(s.couplings) if c is None and s.kinds[row]}
        return np.array([s.kinds[rows[c]] == Kind.HINGE and rows[c] not in led for c in self.columns.tolist()])

    @property
    def ranges(self) -> Floats:
        """(m, 2) the legal values themselves, infinite where nothing limits them."""
        return self.rest.skeleton.value_ranges[self.columns]


def limb_of(rest: poise.Pose, tip: str) -> Limb:
    """All joints from the base to the tip, a free root left out; what nothing limits is drawn from one turn, or 2 m."""
    s = rest.skeleton
    leads = [row if (c := s.couplings[row]) is None else c.leader for row in moved_by(s, tip)]
    rows = list(dict.fromkeys(leads))
    columns = np.array([int(s.q_start[row]) for row in rows], dtype=np.int64)
    ranges = s.value_ranges[columns]
    reach = np.where(s.kinds[rows] == Kind.HINGE, np.pi, 1.0)
    low, high = np.maximum(ranges[:, 0], -4 * np.pi), np.minimum(ranges[:, 1], 4 * np.pi)
    free = np.isinf(ranges).any(axis=1)
    return Limb(rest, tip, columns, np.where(free, -reach, low), np.where(free, reach, high))


def anywhere(limb: Limb, rng: np.random.Generator, count: int) -> Floats:
    """Configurations (count, nq): each value anywhere in its range, what does not move the tip at rest."""
    return _put(limb, rng.uniform(limb.low, limb.high, (count, len(limb.low))))


def corners(limb: Limb, rng: np.random.Generator, count: int, *, all_of_them: bool) -> Floats:
    """Configurations (count, nq) with all values at an end of their ranges, or half of them, drawn anew for each."""
    m = len(limb.low)
    ends = np.where(rng.random((count, m)) < 0.5, limb.low, limb.high)
    order = rng.random((count, m)).argsort(axis=1)
    chosen = order < (m if all_of_them else (m + 1) // 2)
    return _put(limb, np.where(chosen, ends, rng.uniform(limb.low, limb.high, (count, m))))


def _put(limb: Limb, values: Floats) -> Floats:
    q = np.tile(limb.rest.q, (len(values), 1))
    q[:, limb.columns] = values
    return q


def places(limb: Limb, q: Floats) -> poise.Place:
    """The goal that the tip is where it is in these configurations (k, nq)."""
    at = poise.Pose(limb.rest.skeleton, q).world_of(limb.tip)
    return poise.Place(limb.tip, at.positions, at.rotations)


def made_up(seed: int, joints: int, *, widths: tuple[float, float]) -> poise.Pose:
    """An arm of hinges whose axes and offsets nothing makes convenient, at the middle of its ranges.

    widths  the least and the largest width of a range [rad]
    """
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(joints, 3))
    offsets = rng.normal(size=(joints + 1, 3)) * rng.uniform(0.05, 0.25, (joints + 1, 1))
    width, middle = rng.uniform(*widths, joints), rng.uniform(-1, 1, joints)
    limits = [poise.Range(m - w / 2, m + w / 2) for m, w in zip(middle, width, strict=True)]
    s = poise.Skeleton.build(
        [*(f"joint {i + 1}" for i in range(joints)), "tip"], range(-1, joints), [*[Kind.HINGE] * joints, Kind.FIXED],
        axes=[*axes, (0, 0, 0)], offsets=offsets, limits=[*limits, None], rest_q=middle,
    )  # fmt: skip
    return poise.Pose(s, middle)
