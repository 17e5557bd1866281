"""Legs of live robots: places and contacts of their feet."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from poise.errors import UnsupportedError
from poise.ground.figure.figure import figure_of
from poise.ground.grounder import Grounder
from poise.ground.robot.foot_path import FootPath
from poise.ground.terrain.shapes import Plane
from poise.ground.terrain.terrain import Terrain
from poise.kernels.robot_feet import STATE, move_feet
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles.bone_names import SIDES
from poise.retargeting.added_joints import LEG_PARTS
from poise.retargeting.body import Body
from poise.retargeting.match import list_skipped_sides
from poise.retargeting.robot import Robot, RobotJob, choose_terrain, make_sampler
from poise.retargeting.robot_tasks import SourceDirection, SourceTurn, TaskBuilder

# [s] frames of the source are watched when this much time has passed: speeds of shorter ones show no contacts
_LEAST_WATCHED_S = 1.0 / 125.0


class LiveLegs:
    """Legs of a robot on its ground.

    Parameters
    ----------
    job, rig, robot
        As for LiveRobot.
    builder
        The tasks, to which those of the feet are added.
    """

    def __init__(self, job: RobotJob, rig: Rig, robot: Robot, builder: TaskBuilder) -> None:
        self._ground = _find_plane(job, robot.body)
        self.skipped = [side for side in SIDES if side in list_skipped_sides(job.match, LEG_PARTS)]
        self._sides = [side for side in SIDES if side not in self.skipped]
        self._contacts = _watch_source(job, rig)
        self._columns = [[leg.name for leg in self._contacts.figure.legs].index(side) for side in self._sides]
        self.sources: tuple[SourceTurn | SourceDirection, ...] = (
            builder.find_hips_turn(),
            *(builder.find_segment_turn(f"{side}Foot") for side in self._sides),
            *(builder.find_bone(f"{side}{part}") for side in self._sides for part in ("UpperLeg", "LowerLeg")),
        )
        self._first_task = len(builder.sources)
        self._soles = np.array([_add_tasks(builder, robot, side) for side in self._sides])
        self._state, self._shift = np.zeros((len(self._sides), STATE)), np.zeros(4)
        self._matrix = np.empty(9)
        self._unwatched_s: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copy where feet stand for copies. They go on by themselves."""
        names = ("_contacts", "_state", "_shift", "_matrix")
        return vars(self) | {name: copy.copy(vars(self)[name]) for name in names}

    def reset(self) -> None:
        """Forget where feet stand."""
        self._contacts.reset()
        self._unwatched_s = None
        self._state[:], self._shift[:] = 0.0, 0.0

    def move(self, pose: Pose, path: Floats, dt: float, aims: Floats, weights: Floats) -> Floats:
        """Move the feet by a frame, and write their tasks. Return the shift (3,) of the body with them.

        path  (3,) of the hips
        aims  what tasks aim at, and behind it what was read of `sources`
        """
        self._watch(pose, dt)
        move_feet(
            self._soles, self._ground, self._contacts.contacts[self._columns], path, self._first_task, weights.shape[1],
            dt, self._shift, self._state, aims, weights, self._matrix,
        )  # fmt: skip
        return self._shift[:3]

    def _watch(self, pose: Pose, dt: float) -> None:
        """Watch the feet of the source."""
        seconds = dt if self._unwatched_s is None else self._unwatched_s + dt
        is_watched = self._unwatched_s is None or seconds >= _LEAST_WATCHED_S
        if is_watched:
            self._contacts(pose, seconds)
        self._unwatched_s = 0.0 if is_watched else seconds


def _add_tasks(builder: TaskBuilder, robot: Robot, side: str) -> Floats:
    """Add the tasks of a foot. Return what is the same in all frames, as in `kernels/robot_feet.py`."""
    sole = robot.soles[side]
    nowhere = FootPath(np.zeros((1, 3)), np.eye(3)[None], np.zeros((1, 3)))
    most_roll = builder.measure_roll_range(side)
    edges = None if most_roll == np.inf else np.ones((1, 2))
    builder.add_foot(side, nowhere, np.ones(1), np.zeros((1, 2)), sole, edges)
    to_node = rotations.as_matrix(rotations.multiply(*builder.list_factors_to_node(robot.body.segments[f"{side}Foot"])))
    in_air, at_ground, standing = ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0))
    ends = [
        builder.weigh_foot(side, np.full(1, stands), np.full((1, 2), near))
        for stands, near in (in_air, at_ground, standing)
    ]
    weights = [(turn[0], *places[0]) for turn, places in ends]
    hip = builder.find_rest(f"{side}UpperLeg") - builder.find_hip_middle()
    numbers = (*sole, *builder.measure_leg(side), *hip, robot.body.leg_length, most_roll)
    return np.concatenate([numbers, to_node.ravel(), np.ravel(weights)])


def _find_plane(job: RobotJob, body: Body) -> Floats:
    """Find the ground in axes ahead, left, up. It is the plane of `kernels/robot_feet.py`."""
    terrain = choose_terrain(job)
    if not isinstance(terrain.surface, Plane):
        raise UnsupportedError(
            "live robots stand on level ground or a slope: other ground needs the whole clip, by retarget()"
        )
    heights, normals = make_sampler(terrain, body)(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    return np.concatenate([heights[:1], heights[1:] - heights[0], normals[0]])


def _watch_source(job: RobotJob, rig: Rig) -> Grounder:
    """Return what finds when feet of the source stand. Where it would put them does not matter."""
    reference = Clip(job.clip.times, job.clip.poses, job.clip.name) if rig.clips else rig.rest
    figure = figure_of(reference, rig=rig)
    if figure.is_robot:
        raise UnsupportedError(
            "the source is a robot, whose feet are not found standing live: leave out the ground, "
            "or retarget a whole clip by retarget()"
        )
    return Grounder(reference, Terrain.flat(up=figure.up, unit=1.0), rig=rig)
