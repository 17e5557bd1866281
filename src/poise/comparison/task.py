"""Task of a comparison and its sets of targets. A task has a start, a goal, the tolerances and the sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from poise.errors import InputError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.smoothing import smoothstep
from poise.model.clip import Clip
from poise.model.limits import EulerBox, SwingTwist
from poise.model.pose import Pose, blend_q
from poise.problem.feasibility import compute_reaches
from poise.problem.goal_errors import compute_goal_point
from poise.problem.goals import Orientation, Place, Position
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.random_starts import DRAWS_PER_JOINT, draw_random_starts

OneGoal: TypeAlias = Position | Orientation | Place
TOLERANCE_LEVELS = (100.0, 10.0, 1.0)  # tolerances of the three levels, in units of the finest


@dataclass(frozen=True, eq=False)
class TargetSet:
    """Targets in the same order for every method.

    name                  "reachable", "path", "stretched", "singular", "leaving" or "given"
    text                  one-sentence description
    rows                  (k, W) in the form of the goal: x y z, w x y z, or both [world, file units]
    starts_from_previous  whether each is solved from the previous answer; otherwise all from the start
    start                 (nq,) start of the first target
    """

    name: str
    text: str
    rows: Floats
    starts_from_previous: bool
    start: Floats

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class Task:
    """Task of a comparison.

    Parameters
    ----------
    name
        Name of the rig, for titles.
    start
        A legal pose.
    goal
        Position, Orientation or Place of one joint; its own target is only an example.
    tolerance
        The finest of the three levels, passed to the methods.
    sets
        Sets of targets by name; the first is the main one.
    moved_inside
        Names of the joints with a start outside their limits; they were clamped first.
    """

    name: str
    start: Pose
    goal: OneGoal
    tolerance: Tolerance
    sets: dict[str, TargetSet]
    moved_inside: tuple[str, ...] = ()

    @cached_property
    def problem(self) -> Problem:
        """The start and the goal, packed."""
        return Problem(self.start, (self.goal,))

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the moving joints."""
        return self.problem.joints

    @property
    def main(self) -> TargetSet:
        """The set of targets used for ranking."""
        return next(iter(self.sets.values()))

    @property
    def title(self) -> str:
        """A title such as "humanoid.glb: LeftArm to LeftHand, Position"."""
        chain = f"{self.joints[0]} to {self.goal.joint}" if self.joints else self.goal.joint
        return (
            f"{self.name}: {chain}, {type(self.goal).__name__}" if self.name else f"{chain}, {type(self.goal).__name__}"
        )

    def compute_scores(self, errors: Floats) -> Floats:
        """Compute the largest error (k,) in units of its tolerance. Errors are (k, c); a missing number gives infinity.

        Scores up to 1 are solved at the finest level, up to 10 and 100 at the others.
        """
        scores = (errors / self.allowed).max(axis=1, initial=0.0)
        return np.where(np.isnan(scores), np.inf, scores)

    @cached_property
    def allowed(self) -> Floats:
        """The largest error (c,) of a solved target. It is that of the finest level: a distance, an angle, or both."""
        return self.problem.compute_max_errors(self.tolerance)

    def compute_reach_shares(self, rows: Floats) -> Floats | None:
        """Compute target distances as a share of the longest reach.

        Targets are (k, W), shares (k,). They are measured from the chain's first joint.

        Returns None for a goal without a position or an unbounded reach (a slide without limits).
        """
        reaches = compute_reaches(self.problem, rows)
        if not reaches or not 0 < reaches[0].max_reach < np.inf:
            return None
        return reaches[0].distance / reaches[0].max_reach


# --- Make sets of targets from the rig itself ------------------------------------------------------------------------
#
# They are forward kinematics of legal poses, so that each can be reached.
#
# No solver takes part. Everything follows from the rig, the goal and a seed.


_SAMPLE_COUNT = 600  # random poses from which the extreme ones are chosen
_STRETCH_ROUNDS, _STRETCH_TRIES = 40, 16  # rounds and tries per round of the search for the longest pose
_MAX_STRETCH_SHARE, _MIN_STRETCH_SHARE = 0.5, 0.01  # share of the ranges: first and last step of that search
_STRETCHED_SPREAD_SHARE = 0.03  # share of the ranges: distance of stretched poses from the longest one
_PATH_POSE_COUNT = 4  # random poses on a path, which then returns to the start
_PATH_SPREAD_SHARE = 0.3  # share of the ranges: distance of these poses from the start


_FOLLOWS_TEXT = "each solved from the previous answer"
# shares of the longest distance: outer and inner end of the leaving path
_BEYOND_REACH_SHARE, _INSIDE_REACH_SHARE = 1.05, 0.9


class SetSizes(NamedTuple):
    """Number of targets in each set."""

    reachable: int
    path: int
    extreme: int


class TargetSource(NamedTuple):
    """Source of target sets: problem, goal and random generator."""

    problem: Problem
    goal: OneGoal
    rng: np.random.Generator

    @property
    def start(self) -> Floats:
        """Start configuration (nq,)."""
        return self.problem.start.q

    @property
    def moving_rows(self) -> tuple[int, ...]:
        """Skeleton rows of moving joints, coupled ones excluded."""
        skeleton = self.problem.skeleton
        rows = [skeleton.index(name) for name in self.problem.joints]
        return tuple(
            dict.fromkeys(row if (coupling := skeleton.couplings[row]) is None else coupling.leader for row in rows)
        )

    def sample_around(self, q: Floats, range_share: float, *, moves_one_joint: bool = False) -> Floats:
        """Sample legal configurations (k, nq) around q (k, nq). Offsets are at most a share of the ranges.

        moves_one_joint  whether only one random joint moves in each
        """
        skeleton, rows, length = self.problem.skeleton, self.moving_rows, self.length
        joint_rows = [(rows[int(self.rng.integers(len(rows)))],) if moves_one_joint else rows for _ in q]
        return np.concatenate([
            draw_random_starts(
                skeleton, start_q[None], sampled_rows, range_share,
                self.rng.random((len(sampled_rows), DRAWS_PER_JOINT)), unbounded_length=length,
            )
            for start_q, sampled_rows in zip(q, joint_rows, strict=True)
        ])  # fmt: skip

    def sample_poses(self, count: int) -> Floats:
        """Sample legal configurations (count, nq) from the whole range.

        A ball with a limited rotation is interpolated between the start and a sample, which is often clamped to its
        limit. The share makes the samples uniform in volume; otherwise most would lie on the limit itself.
        """
        skeleton = self.problem.skeleton
        q = self.sample_around(np.broadcast_to(self.start, (count, len(self.start))), 1.0)
        for name in self.problem.joints:
            if isinstance(skeleton[name].limit, EulerBox | SwingTwist):
                quaternion_columns = slice(skeleton.q_slice(name).stop - 4, skeleton.q_slice(name).stop)
                radius_share = np.cbrt(self.rng.random(count))
                q[:, quaternion_columns] = rotations.slerp(
                    np.broadcast_to(self.start[quaternion_columns], (count, 4)), q[:, quaternion_columns], radius_share
                )
        return skeleton.legal(q)[0]

    @property
    def length(self) -> float:
        """The longest reach or body size [file units]."""
        if self.problem.plan.max_reach > 0:
            return self.problem.plan.max_reach
        return float(np.ptp(self.problem.start.world.positions, axis=0).max(initial=0.0)) or 1.0

    def compute_rows(self, q: Floats) -> Floats:
        """Compute target rows (k, W) from poses q (k, nq). Each of them can be reached."""
        pose = self.problem.make_pose(q)
        measures = {measure.kind: measure for measure in self.problem.measures}
        joint_rotations = pose.world_of(self.goal.joint).rotations
        if isinstance(self.goal, Orientation):
            return joint_rotations
        points = compute_goal_point(pose, measures[min(measures)], self.goal)
        return points if isinstance(self.goal, Position) else np.concatenate([points, joint_rotations], axis=-1)

    def compute_jacobians(self, q: Floats) -> Floats:
        """Compute goal Jacobians (k, 3|6, dofs) of the moving joints. Lengths are a share of the reach."""
        skeleton = self.problem.skeleton
        offset = getattr(self.goal, "offset", (0.0, 0.0, 0.0))
        dof_slices = [skeleton.v_slice(skeleton.names[row]) for row in self.moving_rows]
        columns = np.concatenate(
            [np.arange(max(dof_slice.start, dof_slice.stop - 3), dof_slice.stop) for dof_slice in dof_slices]
        )
        jacobians = self.problem.make_pose(q).jacobian(self.goal.joint, offset)[..., columns]
        jacobians[:, :3] /= self.length
        if isinstance(self.goal, Position):
            return jacobians[:, :3]
        return jacobians[:, 3:] if isinstance(self.goal, Orientation) else jacobians

    def compute_distances(self, q: Floats) -> Floats:
        """Compute distances (k,) of the goal's point from the chain's first joint.

        Poses are q (k, nq); distances are in file units.
        """
        root_position = self.problem.start.world[self.problem.joints[0]].positions
        return np.linalg.norm(self.compute_rows(q)[:, :3] - root_position, axis=-1)


def build_target_sets(
    problem: Problem, goal: OneGoal, sizes: SetSizes, seed: int, clip: Clip | None = None
) -> dict[str, TargetSet]:
    """Build the target sets of a problem, by name."""
    source = TargetSource(problem, goal, np.random.default_rng(seed))
    random_q = source.sample_poses(_SAMPLE_COUNT)
    target_sets = [
        _build_reachable(source, sizes.reachable),
        _build_path(source, sizes.path, clip),
        _build_singular(source, random_q, sizes),
    ]
    if not isinstance(goal, Orientation):
        longest_q = _find_longest_pose(source, random_q)
        target_sets += [
            _build_stretched(source, longest_q, sizes.extreme),
            _build_leaving(source, longest_q, sizes.path),
        ]
    return {target_set.name: target_set for target_set in target_sets}


def _build_reachable(source: TargetSource, count: int) -> TargetSet:
    text = "joint positions in random legal poses, all within reach, each solved from the start pose"
    return TargetSet(
        "reachable",
        text,
        source.compute_rows(source.sample_poses(count)),
        starts_from_previous=False,
        start=source.start,
    )


def _build_path(source: TargetSource, count: int, clip: Clip | None) -> TargetSet:
    if clip is not None and len(clip) > 1:
        q = _read_clip_poses(source, clip, count)
        frames_text = "all" if len(q) == len(clip) else "the first"
        text = (
            f"joint positions in the clip {clip.name!r}, {frames_text} {len(q)} of its {len(clip)} frames, "
            f"{_FOLLOWS_TEXT}"
        )
    else:
        q = _build_random_path(source, count)
        text = f"a smooth path through {_PATH_POSE_COUNT} random poses and back, {len(q)} frames, {_FOLLOWS_TEXT}"
    return TargetSet("path", text, source.compute_rows(q), starts_from_previous=True, start=q[0])


def _read_clip_poses(source: TargetSource, clip: Clip, count: int) -> Floats:
    """Read configurations from the first frames of a clip. Joints that do not move keep the start pose."""
    skeleton, clip_q = source.problem.skeleton, clip.poses.q[:count]
    if clip.poses.skeleton.names != skeleton.names:
        raise InputError(f"the clip {clip.name!r} is of another rig: its joints are not those of the start")
    q = np.repeat(source.start[None], len(clip_q), axis=0)
    for row in source.moving_rows:
        columns = skeleton.q_slice(skeleton.names[row])
        # a free joint rotates and does not translate
        columns = slice(max(columns.start, columns.stop - 4), columns.stop)
        q[:, columns] = clip_q[:, columns]
    return skeleton.legal(q)[0]


def _build_random_path(source: TargetSource, count: int) -> Floats:
    """Build a smooth path through random poses and back.

    It starts and ends at the start pose and stops softly at each (3 s^2 - 2 s^3).
    """
    start = source.start[None]
    waypoints = np.concatenate(
        [start, source.sample_around(np.repeat(start, _PATH_POSE_COUNT, axis=0), _PATH_SPREAD_SHARE), start]
    )
    path_parameter = np.linspace(0.0, len(waypoints) - 1, count, endpoint=False)
    segment = path_parameter.astype(np.int64)
    q = blend_q(
        source.problem.skeleton, waypoints[segment], waypoints[segment + 1], smoothstep(path_parameter - segment)
    )
    return source.problem.skeleton.legal(q)[0]


def _build_singular(source: TargetSource, random_q: Floats, sizes: SetSizes) -> TargetSet:
    """Choose poses of the smallest least singular value. Their goal Jacobian has almost lost a direction."""
    min_singular_values = np.linalg.svd(source.compute_jacobians(random_q), compute_uv=False)[:, -1]
    singular_q = random_q[source.rng.permutation(np.argsort(min_singular_values, kind="stable")[: sizes.extreme])]
    text = f"the {len(singular_q)} of {len(random_q)} random legal poses nearest to a singularity"
    return TargetSet("singular", text, source.compute_rows(singular_q), starts_from_previous=False, start=source.start)


def _find_longest_pose(source: TargetSource, random_q: Floats) -> Floats:
    """Find a legal pose (1, nq) of nearly the longest distance.

    The distance is from the chain's first joint to the goal's; random steps that increase it are kept.
    """
    start_candidates = np.concatenate([source.start[None], random_q])
    longest_q = start_candidates[[int(source.compute_distances(start_candidates).argmax())]]
    for range_share in np.geomspace(_MAX_STRETCH_SHARE, _MIN_STRETCH_SHARE, _STRETCH_ROUNDS):
        repeated_q = np.repeat(longest_q, _STRETCH_TRIES, axis=0)
        sampled_q = [
            source.sample_around(repeated_q, float(range_share), moves_one_joint=only_one_joint)
            for only_one_joint in (False, True)
        ]
        candidates = np.concatenate([longest_q, *sampled_q])
        longest_q = candidates[[int(source.compute_distances(candidates).argmax())]]
    return longest_q


def _build_stretched(source: TargetSource, longest_q: Floats, count: int) -> TargetSet:
    stretched_q = source.sample_around(np.repeat(longest_q, count, axis=0), _STRETCHED_SPREAD_SHARE)
    text = "joint positions in nearly extended poses, all within reach"
    return TargetSet(
        "stretched", text, source.compute_rows(stretched_q), starts_from_previous=False, start=source.start
    )


def _build_leaving(source: TargetSource, longest_q: Floats, count: int) -> TargetSet:
    """Build a path beyond the longest reach and back inside. It starts at the longest pose and first goes inwards."""
    root_position = source.problem.start.world[source.problem.joints[0]].positions
    longest_row = source.compute_rows(longest_q)[0]
    reach_shares = np.interp(
        np.linspace(0.0, 1.0, count),
        (0.0, 0.25, 0.65, 1.0),
        (1.0, _INSIDE_REACH_SHARE, _BEYOND_REACH_SHARE, _INSIDE_REACH_SHARE),
    )
    rows = np.repeat(longest_row[None], count, axis=0)
    rows[:, :3] = root_position + reach_shares[:, None] * (longest_row[:3] - root_position)
    text = f"along a line to {100 * (_BEYOND_REACH_SHARE - 1):.0f} % beyond the longest reach and back, {_FOLLOWS_TEXT}"
    return TargetSet("leaving", text, rows, starts_from_previous=True, start=longest_q[0])
