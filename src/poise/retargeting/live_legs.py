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
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles.bone_names import SIDES
from poise.retargeting.body import Body
from poise.retargeting.live_feet import GroundPlane, LiveFoot
from poise.retargeting.match import list_skipped_sides
from poise.retargeting.robot import LEG_PARTS, Robot, RobotJob, choose_terrain, make_sampler
from poise.retargeting.robot_tasks import TaskBuilder, measure_nearness
from poise.retargeting.source_reader import SourceReader

_BODY_HALF_LIFE_S = 0.08  # in which half of the shift is over by which the body goes along with its feet
# [s] frames of the source are watched when this much time has passed: speeds of shorter ones show no contacts
_LEAST_WATCHED_S = 1.0 / 125.0
_FOOT_TASKS = 3  # rotation, heel, ball


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
        turns = [builder.find_hips_turn(), *(builder.find_segment_turn(f"{side}Foot") for side in self._sides)]
        bones = [builder.find_bone(f"{side}{part}") for side in self._sides for part in ("UpperLeg", "LowerLeg")]
        self._reader = SourceReader(job.bodies[0], turns, bones)
        self._lengths = np.array([builder.measure_leg(side) for side in self._sides])
        middle = builder.find_hip_middle()
        self._hips = np.array([builder.find_rest(f"{side}UpperLeg") - middle for side in self._sides])
        self._feet = [LiveFoot(robot.soles[side], self._ground, robot.body.leg_length) for side in self._sides]
        self._leg_length = robot.body.leg_length
        self._first_task = len(builder.sources)
        self._add_tasks(builder, robot)
        self._shift: Floats | None = None
        self._unwatched_s: float | None = None

    def _add_tasks(self, builder: TaskBuilder, robot: Robot) -> None:
        """Add the tasks of the feet. Their targets come with each frame."""
        self._points, self._to_nodes, self._weights = list[Floats](), list[Floats](), list[Floats]()
        nowhere = FootPath(np.zeros((1, 3)), np.eye(3)[None], np.zeros((1, 3)))
        for side in self._sides:
            sole = robot.soles[side]
            builder.add_foot(side, nowhere, np.ones(1), np.zeros((1, 2)), sole)
            factors = builder.list_factors_to_node(robot.body.segments[f"{side}Foot"])
            self._to_nodes.append(rotations.as_matrix(rotations.multiply(*factors)))
            self._points.append(np.array([(along, -sole.height, 0.0) for along in (sole.heel, sole.ball)]))
            in_air, at_ground, standing = ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0))
            ends = [
                builder.weigh_foot(side, np.full(1, stands), np.full((1, 2), near))
                for stands, near in (in_air, at_ground, standing)
            ]
            self._weights.append(np.array([(turn[0], *places[0]) for turn, places in ends]))

    def __getstate__(self) -> dict[str, Any]:
        """Copy where feet stand for copies. They go on by themselves."""
        return vars(self) | {
            "_contacts": copy.copy(self._contacts),
            "_feet": [copy.deepcopy(foot) for foot in self._feet],
        }

    def reset(self) -> None:
        """Forget where feet stand."""
        self._contacts.reset()
        self._shift, self._unwatched_s = None, None
        for foot in self._feet:
            foot.reset()

    def move(self, pose: Pose, path: Floats, dt: float, targets: Floats, weights: Floats) -> Floats:
        """Move the feet by a frame, and write their tasks. Return the shift (3,) of the body with them.

        path  (3,) of the hips
        """
        self._watch(pose, dt)
        contacts = self._contacts.contacts
        turns, directions = self._reader.read(pose)
        hips = path + self._hips @ turns[0].reshape(3, 3).T
        shifts = np.zeros(3)
        for foot, column in enumerate(self._columns):
            ankle = hips[foot] + self._lengths[foot] @ directions[2 * foot : 2 * foot + 2]
            heel, ball = contacts[column].tolist()
            place, axes = self._feet[foot].move(ankle, turns[foot + 1].reshape(3, 3), (heel, ball), dt)
            task = self._first_task + _FOOT_TASKS * foot
            targets[task] = (axes @ self._to_nodes[foot]).ravel()
            targets[task + 1 : task + _FOOT_TASKS, :3] = points = place + self._points[foot] @ axes.T
            in_air, at_ground, stands = self._weights[foot]
            swings = in_air.copy()
            near = measure_nearness(points[:, 2] - self._ground.measure_heights(points), self._leg_length)
            swings[1:] += near * (at_ground - in_air)[1:]
            weights[task : task + _FOOT_TASKS] = swings + self._feet[foot].firmness * (stands - swings)
            shifts += (place - ankle) / len(self._feet)
        left = 0.5 ** (dt / _BODY_HALF_LIFE_S)
        shift = shifts if self._shift is None else shifts + left * (self._shift - shifts)
        self._shift = shift
        return shift

    def _watch(self, pose: Pose, dt: float) -> None:
        """Watch the feet of the source."""
        seconds = dt if self._unwatched_s is None else self._unwatched_s + dt
        is_watched = self._unwatched_s is None or seconds >= _LEAST_WATCHED_S
        if is_watched:
            self._contacts(pose, seconds)
        self._unwatched_s = 0.0 if is_watched else seconds


def _find_plane(job: RobotJob, body: Body) -> GroundPlane:
    """Find the ground in axes ahead, left, up."""
    terrain = choose_terrain(job)
    if not isinstance(terrain.surface, Plane):
        raise UnsupportedError(
            "live robots stand on level ground or a slope: other ground needs the whole clip, by retarget()"
        )
    heights, normals = make_sampler(terrain, body)(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    return GroundPlane(float(heights[0]), heights[1:] - heights[0], normals[0])


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
