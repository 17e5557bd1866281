"""Soles of a retargeted robot: their places, and stances without a hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from poise.ground.contact.contacts import Contacts, find_runs
from poise.ground.robot.foot_path import GroundSampler, RobotSole
from poise.ground.robot.sole_notes import SoleTrack, describe_stances_of, describe_swings_of, find_limits
from poise.ground.robot.tree import RobotTree
from poise.ground.terrain.terrain import Terrain
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.retargeting.body import Body


class StandingRobot(NamedTuple):
    """A robot on its ground.

    body, tree  of the robot
    soles       by side
    contacts    when its feet stand
    above       (F, L) how high above the ground they stand, as on a step
    sample      the ground under it
    """

    body: Body
    tree: RobotTree
    soles: Mapping[str, RobotSole]
    contacts: Contacts
    above: Floats
    sample: GroundSampler


def place_soles(clip: Clip, body: Body, sole: RobotSole, side: str) -> Floats:
    """Place the corners (F, 4, 3) of a sole.

    Axes are ahead, left, up. Corners of the heel come first.
    """
    world, segment = clip.poses.world, body.segments[f"{side}Foot"]
    turns = rotations.multiply(rotations.multiply(body.world_turn, world.rotations[:, segment.row]), segment.row_frame)
    ankles = rotations.rotate(body.world_turn, world.positions[:, segment.row])
    return ankles[:, None] + rotations.rotate(turns[:, None], sole.list_corners())


def track_sole(clip: Clip, robot: StandingRobot, column: int) -> SoleTrack:
    """Track the sole of a leg in metres."""
    contacts, side = robot.contacts, robot.contacts.legs[column]
    corners = place_soles(clip, robot.body, robot.soles[side], side)
    points = np.concatenate([corners, corners.mean(axis=1, keepdims=True)], axis=1)[..., :2]
    ground = robot.sample(points.reshape(-1, 2))[0].reshape(points.shape[:2]) + robot.above[:, column, None]
    ground, middle = ground[:, :-1], ground[:, -1]
    metres = robot.body.skeleton.metres_per_unit or 1.0
    return SoleTrack(
        side, clip.times, metres * corners, metres * (corners[..., 2] - ground), metres * ground, metres * middle,
        contacts.heel[:, column], contacts.ball[:, column],
    )  # fmt: skip


def describe_feet(clip: Clip, robot: StandingRobot, terrain: Terrain) -> tuple[str, ...]:
    """Describe stances without a hold, and deep swings."""
    at_limits, skeleton, notes = find_limits(robot.tree, clip.poses.q), clip.skeleton, list[str]()
    tracks = [track_sole(clip, robot, column) for column in range(len(robot.contacts.legs))]
    for track in tracks:
        row = robot.body.segments[f"{track.leg}Foot"].row
        path = [skeleton.names[joint] for joint in skeleton.list_path(row)]
        notes += describe_stances_of(track, {name: is_at for name, is_at in at_limits.items() if name in path})
    for track in tracks:
        notes += describe_swings_of(track)
    return (*_describe_edge(tracks, robot, terrain), *notes)


def _describe_edge(tracks: list[SoleTrack], robot: StandingRobot, terrain: Terrain) -> list[str]:
    """Describe stances beside the ground. The ball of the foot counts, halfway through the stance."""
    places: list[Floats] = []
    for column, start, stop in zip(*find_runs(robot.contacts.any), strict=True):
        places.append(tracks[column].corners[(int(start) + int(stop)) // 2, 2:].mean(axis=0))
    points = np.array(places).reshape(-1, 3) / (robot.body.skeleton.metres_per_unit or 1.0)
    outside = ~terrain.sample(rotations.rotate(rotations.inverse(robot.body.world_turn), points)).inside
    count = f"{np.count_nonzero(outside)} of {len(outside)} stances"
    sentence = f"{count} are beyond the ground's edge or over a hole: the nearest ground's height was taken"
    return [sentence] * bool(outside.any())
