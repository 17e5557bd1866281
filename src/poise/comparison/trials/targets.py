"""Make sets of targets from the rig itself. They are forward kinematics of legal poses, so that each can be reached.

No solver takes part. Everything follows from the rig, the goal and a seed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.comparison.trials.task import OneGoal, TargetSet
from poise.errors import InputError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.limits import EulerBox, SwingTwist
from poise.model.pose import blend_q
from poise.problem.goals import Orientation, Position
from poise.problem.measuring.measure import point_of
from poise.problem.problem import Problem
from poise.solvers.base.perturb import DRAWS, scattered

_SAMPLES = 600  # random poses from which the extreme ones are chosen
_ROUNDS, _TRIES = 40, 16  # rounds and tries per round of the search for the longest pose
_WIDE, _NARROW = 0.5, 0.01  # share of the ranges: first and last step of that search
_AROUND = 0.03  # share of the ranges: distance of stretched poses from the longest one
_PATH_POSES = 4  # random poses on a path, which then returns to the start
_GENTLE = 0.3  # share of the ranges: distance of these poses from the start


_FOLLOWS = "each solved from the previous answer"
# shares of the longest distance: outer and inner end of the leaving path
_OUT, _IN = 1.05, 0.9


class Sizes(NamedTuple):
    """Number of targets in each set."""

    reachable: int
    path: int
    extreme: int


class Source(NamedTuple):
    """Source of target sets: problem, goal and random generator."""

    problem: Problem
    goal: OneGoal
    rng: np.random.Generator

    @property
    def start(self) -> Floats:
        """Start configuration (nq,)."""
        return self.problem.start.q

    @property
    def rows_that_move(self) -> tuple[int, ...]:
        """Skeleton rows of moving joints, coupled ones excluded."""
        skeleton = self.problem.skeleton
        rows = [skeleton.index(name) for name in self.problem.joints]
        return tuple(dict.fromkeys(row if (c := skeleton.couplings[row]) is None else c.leader for row in rows))

    def around(self, q: Floats, share: float, *, single: bool = False) -> Floats:
        """Sample legal configurations (k, nq) around q (k, nq). Offsets are at most a share of the ranges.

        single  whether only one random joint moves in each
        """
        skeleton, rows, length = self.problem.skeleton, self.rows_that_move, self.length
        chosen = [(rows[int(self.rng.integers(len(rows)))],) if single else rows for _ in q]
        return np.concatenate([
            scattered(skeleton, one[None], some, share, self.rng.random((len(some), DRAWS)), length=length, moves=False)
            for one, some in zip(q, chosen, strict=True)
        ])  # fmt: skip

    def random(self, count: int) -> Floats:
        """Sample legal configurations (count, nq) from the whole range.

        A ball with a limited rotation is interpolated between the start and a sample, which is often clamped to its
        limit. The share makes the samples uniform in volume; otherwise most would lie on the limit itself.
        """
        skeleton = self.problem.skeleton
        q = self.around(np.broadcast_to(self.start, (count, len(self.start))), 1.0)
        for name in self.problem.joints:
            if isinstance(skeleton[name].limit, EulerBox | SwingTwist):
                at = slice(skeleton.q_slice(name).stop - 4, skeleton.q_slice(name).stop)
                share = np.cbrt(self.rng.random(count))
                q[:, at] = rotations.slerp(np.broadcast_to(self.start[at], (count, 4)), q[:, at], share)
        return skeleton.legal(q)[0]

    @property
    def length(self) -> float:
        """The longest reach or body size [file units]."""
        if self.problem.plan.length > 0:
            return self.problem.plan.length
        return float(np.ptp(self.problem.start.world.positions, axis=0).max(initial=0.0)) or 1.0

    def rows(self, q: Floats) -> Floats:
        """Compute target rows (k, W) from poses q (k, nq). Each of them can be reached."""
        pose = self.problem.posed(q)
        measures = {m.kind: m for m in self.problem.measures}
        turns = pose.world_of(self.goal.joint).rotations
        if isinstance(self.goal, Orientation):
            return turns
        points = point_of(pose, measures[min(measures)], self.goal)
        return points if isinstance(self.goal, Position) else np.concatenate([points, turns], axis=-1)

    def goal_jacobians(self, q: Floats) -> Floats:
        """Compute goal Jacobians (k, 3|6, dofs) of the moving joints. Lengths are a share of the reach."""
        skeleton = self.problem.skeleton
        offset = getattr(self.goal, "offset", (0.0, 0.0, 0.0))
        slices = [skeleton.v_slice(skeleton.names[row]) for row in self.rows_that_move]
        columns = np.concatenate([np.arange(max(one.start, one.stop - 3), one.stop) for one in slices])
        whole = self.problem.posed(q).jacobian(self.goal.joint, offset)[..., columns]
        whole[:, :3] /= self.length
        if isinstance(self.goal, Position):
            return whole[:, :3]
        return whole[:, 3:] if isinstance(self.goal, Orientation) else whole

    def away(self, q: Floats) -> Floats:
        """Compute distances (k,) of the goal's point from the chain's first joint.

        Poses are q (k, nq); distances are in file units.
        """
        first = self.problem.start.world[self.problem.joints[0]].positions
        return np.linalg.norm(self.rows(q)[:, :3] - first, axis=-1)


def sets_of(problem: Problem, goal: OneGoal, sizes: Sizes, seed: int, clip: Clip | None = None) -> dict[str, TargetSet]:
    """Build the target sets of a problem, by name."""
    source = Source(problem, goal, np.random.default_rng(seed))
    anywhere = source.random(_SAMPLES)
    found = [_reachable(source, sizes.reachable), _path(source, sizes.path, clip), _singular(source, anywhere, sizes)]
    if not isinstance(goal, Orientation):
        longest = _longest(source, anywhere)
        found += [_stretched(source, longest, sizes.extreme), _leaving(source, longest, sizes.path)]
    return {one.name: one for one in found}


def _reachable(source: Source, count: int) -> TargetSet:
    text = "joint positions in random legal poses, all within reach, each solved from the start pose"
    return TargetSet("reachable", text, source.rows(source.random(count)), follows=False, start=source.start)


def _path(source: Source, count: int, clip: Clip | None) -> TargetSet:
    if clip is not None and len(clip) > 1:
        q = _of_clip(source, clip, count)
        which = "all" if len(q) == len(clip) else "the first"
        text = f"joint positions in the clip {clip.name!r}, {which} {len(q)} of its {len(clip)} frames, {_FOLLOWS}"
    else:
        q = _made_up(source, count)
        text = f"a smooth path through {_PATH_POSES} random poses and back, {len(q)} frames, {_FOLLOWS}"
    return TargetSet("path", text, source.rows(q), follows=True, start=q[0])


def _of_clip(source: Source, clip: Clip, count: int) -> Floats:
    """Read configurations from the first frames of a clip. Joints that do not move keep the start pose."""
    skeleton, played = source.problem.skeleton, clip.poses.q[:count]
    if clip.poses.skeleton.names != skeleton.names:
        raise InputError(f"the clip {clip.name!r} is of another rig: its joints are not those of the start")
    q = np.repeat(source.start[None], len(played), axis=0)
    for row in source.rows_that_move:
        at = skeleton.q_slice(skeleton.names[row])
        at = slice(max(at.start, at.stop - 4), at.stop)  # a free joint rotates and does not translate
        q[:, at] = played[:, at]
    return skeleton.legal(q)[0]


def _made_up(source: Source, count: int) -> Floats:
    """Build a smooth path through random poses and back.

    It starts and ends at the start pose and stops softly at each (3 s^2 - 2 s^3).
    """
    start = source.start[None]
    stops = np.concatenate([start, source.around(np.repeat(start, _PATH_POSES, axis=0), _GENTLE), start])
    along = np.linspace(0.0, len(stops) - 1, count, endpoint=False)
    leg = along.astype(np.int64)
    s = along - leg
    q = blend_q(source.problem.skeleton, stops[leg], stops[leg + 1], s * s * (3 - 2 * s))
    return source.problem.skeleton.legal(q)[0]


def _singular(source: Source, anywhere: Floats, sizes: Sizes) -> TargetSet:
    """Choose poses of the smallest least singular value. Their goal Jacobian has almost lost a direction."""
    least = np.linalg.svd(source.goal_jacobians(anywhere), compute_uv=False)[:, -1]
    nearest = anywhere[source.rng.permutation(np.argsort(least, kind="stable")[: sizes.extreme])]
    text = f"the {len(nearest)} of {len(anywhere)} random legal poses nearest to a singularity"
    return TargetSet("singular", text, source.rows(nearest), follows=False, start=source.start)


def _longest(source: Source, anywhere: Floats) -> Floats:
    """Find a legal pose (1, nq) of nearly the longest distance.

    The distance is from the chain's first joint to the goal's; random steps that increase it are kept.
    """
    known = np.concatenate([source.start[None], anywhere])
    best = known[[int(source.away(known).argmax())]]
    for share in np.geomspace(_WIDE, _NARROW, _ROUNDS):
        again = np.repeat(best, _TRIES, axis=0)
        steps = [source.around(again, float(share), single=single) for single in (False, True)]
        tried = np.concatenate([best, *steps])
        best = tried[[int(source.away(tried).argmax())]]
    return best


def _stretched(source: Source, longest: Floats, count: int) -> TargetSet:
    near = source.around(np.repeat(longest, count, axis=0), _AROUND)
    text = "joint positions in nearly extended poses, all within reach"
    return TargetSet("stretched", text, source.rows(near), follows=False, start=source.start)


def _leaving(source: Source, longest: Floats, count: int) -> TargetSet:
    """Build a path beyond the longest reach and back inside. It starts at the longest pose and first goes inwards."""
    first = source.problem.start.world[source.problem.joints[0]].positions
    row = source.rows(longest)[0]
    share = np.interp(np.linspace(0.0, 1.0, count), (0.0, 0.25, 0.65, 1.0), (1.0, _IN, _OUT, _IN))
    rows = np.repeat(row[None], count, axis=0)
    rows[:, :3] = first + share[:, None] * (row[:3] - first)
    text = f"along a line to {100 * (_OUT - 1):.0f} % beyond the longest reach and back, {_FOLLOWS}"
    return TargetSet("leaving", text, rows, follows=True, start=longest[0])
