"""Robots moved frame by frame."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from poise.errors import UnsupportedError
from poise.ground.robot.clip_descent import JointMotion
from poise.ground.robot.frame_solve import ConfigurationWriter, FrameSolver
from poise.ground.robot.tree import read_configurations
from poise.ground.terrain.terrain import Terrain
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles.bone_names import SIDES
from poise.retargeting.added_joints import LEG_PARTS
from poise.retargeting.live_legs import LiveLegs
from poise.retargeting.match import list_skipped_sides
from poise.retargeting.robot import (
    NO_UP_REASON,
    SKIPPED_REASON,
    RobotJob,
    describe_skipped_feet,
    describe_turns,
    measure_robot,
    solve_robot,
)
from poise.retargeting.robot_tasks import TaskBuilder
from poise.retargeting.root_path import Standing, find_up_axis
from poise.retargeting.source_reader import SourceReader

# [s] a longer pause, and [leg lengths/s] faster hips, are no motion: the robot has no speed after them. Frames that
# come late come in bursts, so that the hips may move in a short frame [s] as far as in a usual one
_PAUSE_S, _MAX_HIP_SPEED_LEGS_PER_S, _USUAL_FRAME_S = 0.25, 30.0, 1.0 / 60.0
_LONGEST_FRAME_S = 1.0  # in which joints of any speed come to where they are to be
# frames of this length [s] in which the robot settles at first: feet come to stand on the ground
_FIRST_FRAMES, _FIRST_FRAME_S = 4, 1.0


class LiveRobot:
    """A robot. Call it with each pose of the source.

    Parameters
    ----------
    job
        The first clip of the source. It shows how the source stands.
    rig
        The source.
    """

    def __init__(self, job: RobotJob, rig: Rig) -> None:
        source, body = job.bodies
        self._job, self.robot = job, measure_robot(job.target, body, job.speed, clear=job.clear)
        has_ground = job.ground not in (None, False)
        no_feet = _check_ground(job) if has_ground else ""
        held = [no_feet] if no_feet else describe_skipped_feet(job) if has_ground else []
        self.notes: tuple[str, ...] = (*self.robot.notes, *held, *describe_turns(job, self.robot))
        self._bodies, self._floor = (source, self.robot.body), Standing(0.0, self.robot.ankle)
        first = Clip(np.zeros(1), job.clip.poses[:1])
        builder = TaskBuilder(first, self._bodies, self.robot.tree, job.match, job.weights, self.robot.freedoms)
        builder.add_segments()
        self._legs = LiveLegs(job, rig, self.robot, builder) if has_ground and not no_feet else None
        for side in SIDES if self._legs is None else self._legs.skipped:
            builder.add_foot_turn(side)
        builder.add_hips(np.zeros((1, 3)))
        tasks = builder.build()
        rows = [*builder.sources, *(self._legs.sources if self._legs is not None else ())]
        # what tasks aim at, and behind it what the feet are led by
        self._aims, self._weights = np.zeros((len(rows), 9)), np.array(tasks.weights[:1])
        self._reader = SourceReader(self._bodies, (job.standing, self._floor), rows, job.root)
        tree, size = self.robot.tree, self.robot.body.leg_length
        self._solver = FrameSolver(
            tree.hold(builder.held), tasks, self.robot.pairs, self.robot.speeds, size, job.weights.smooth
        )
        self._writer = ConfigurationWriter(tree, rotations.inverse(self.robot.body.world_turn))
        self._hips: Floats | None = None
        self._q: Floats | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copy the robot's state for copies. They go on by themselves."""
        parts = {name: copy.copy(vars(self)[name]) for name in ("_solver", "_legs", "_aims", "_weights")}
        return vars(self) | parts

    @property
    def has_ground(self) -> bool:
        """Whether feet are put on the ground."""
        return self._legs is not None

    def reset(self) -> None:
        """Forget the last frame. The next one is a first one."""
        self._hips = None

    def __call__(self, pose: Pose, dt: float) -> Pose:
        """Return the robot's pose, `dt` seconds after the last one. In no time nothing moves."""
        if self._hips is None or self._q is None:
            self._hips = path = self._reader.read(pose, self._aims)
            self._q = self._begin(pose, path)
        elif dt > 0.0:
            self._q = self._go_on(pose, self._hips, min(dt, _LONGEST_FRAME_S))
        return Pose.make_unchecked(self.robot.tree.skeleton, np.array(self._q), None, None)

    def _go_on(self, pose: Pose, last: Floats, dt: float) -> Floats:
        """Solve the next frame.

        last  (3,) the hips in the last frame
        """
        self._hips = path = self._reader.read(pose, self._aims)
        farthest = _MAX_HIP_SPEED_LEGS_PER_S * self.robot.body.leg_length * max(dt, _USUAL_FRAME_S)
        if dt > _PAUSE_S or math.dist(path, last) > farthest:
            self._solver.put(path - last)
            if self._legs is not None:
                self._legs.reset()
        self._aim(pose, path, dt)
        return self._solve(dt)

    def _aim(self, pose: Pose, path: Floats, dt: float) -> None:
        """Find what hips and feet aim at. The source is read."""
        if self._legs is not None:
            path = path + self._legs.move(pose, path, dt, self._aims, self._weights)
        self._aims[self._weights.shape[1] - 1, :3] = path

    def _solve(self, dt: float) -> Floats:
        """Solve for what is aimed at. Return the configuration (nq,)."""
        targets = self._aims[None, : self._weights.shape[1]]
        return self._writer.write(*self._solver.solve(targets, self._weights, dt))

    def _begin(self, pose: Pose, path: Floats) -> Floats:
        """Solve the first frame as a clip."""
        beside = [None if values is None else values[None] for values in (pose.translations, pose.scales)]
        job, clip = self._job, Clip(np.zeros(1), Pose(pose.skeleton, pose.q[None], *beside))
        solved, _ = solve_robot(
            clip, self._bodies[0], self.robot, job.match, path[None], None, np.zeros((1, 0)), None, job.weights
        )
        tree, q = self.robot.tree, solved.poses.q
        places, turns, values = read_configurations(tree, q)
        turn = self.robot.body.world_turn
        self._solver.begin(JointMotion(rotations.rotate(turn, places), rotations.as_matrix(turn) @ turns, values))
        if self._legs is not None:
            self._legs.reset()
        self._aim(pose, path, 0.0)
        for _ in range(_FIRST_FRAMES):
            self._solve(_FIRST_FRAME_S)
            self._solver.put(np.zeros(3))
        q = self._solve(_FIRST_FRAME_S)
        self._solver.put(np.zeros(3))
        return q


def _check_ground(job: RobotJob) -> str:
    """Return a note where no feet can be held. A terrain is then refused."""
    reason = ""
    if find_up_axis(job.bodies[1]) is None:
        reason = NO_UP_REASON
    elif len(list_skipped_sides(job.match, LEG_PARTS)) == len(SIDES):
        reason = SKIPPED_REASON
    if reason and isinstance(job.ground, Terrain):
        raise UnsupportedError(f"no feet can be put on this ground: {reason}")
    return f"no feet were held on the ground: {reason}" if reason else ""
