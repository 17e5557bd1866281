"""Hold the feet of robots on the ground.

What touches it stands still, all else stays near the source.

One least-squares problem over all frames: corners of soles at their paths, base and joints near those of the clip.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError
from poise.ground.contact.contacts import Contacts, find_runs
from poise.ground.contact.soles import Soles, find_facing
from poise.ground.figure.figure import Figure, figure_of
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, FOOT, HIP, KNEE, Motion, rest_motion, rows_of
from poise.ground.figure.speeds import lone_frames
from poise.ground.legs.swing import between_of, interpolate_swings
from poise.ground.robot.clip_descent import NO_PAIRS, JointMotion
from poise.ground.robot.clip_solve import LinkTask, join_tasks, solve_motion
from poise.ground.robot.foot_path import (
    MAX_STRETCH,
    FootPath,
    GroundSampler,
    RobotSole,
    clear_swings,
    fill_between,
    find_foot_path,
    ramp_stance,
    sink_body,
)
from poise.ground.robot.sole import find_robot_sole, list_sole_notes, pair_soles
from poise.ground.robot.tree import RobotTree, build_tree, has_full_freedom, read_configurations, write_configurations
from poise.io.collision_shapes import read_collision_shapes
from poise.kernels.clip_least_squares import PLACE, ROTATION
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.frame_masks import find_following
from poise.maths.smoothing import average_hann
from poise.maths.vectors import make_vertical, normalise
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig

# weights of heels and balls that stand and that swing, in the lengths of `clip_solve`; of rotations of feet [1/rad] in
# stance, in the air and where a foot stands on an edge; and of place and rotation of the base
_STANDING_WEIGHT, _SWING_WEIGHT = 6000.0, 100.0
_STANDING_TURN_WEIGHT, _SWING_TURN_WEIGHT, _TILTED_TURN_WEIGHT = 100.0, 3.0, 0.5
_BASE_PLACE_WEIGHT, _BASE_TURN_WEIGHT = 30.0, 10.0
# a foot that is turned off its path by more cannot be turned so; how often feet are let go
_MISSED_RAD, _TRIES = np.radians(0.5), 3
# [s] half the window over which the height of the ground is averaged for the base, and how long beside a stance a
# corner is held as firmly as in it
_RISE_HALF_WINDOW_S, _STANCE_RAMP_S = 0.15, 0.05


class RobotFeet(NamedTuple):
    """The feet of a robot, measured in metres of the figure.

    tree        its unknowns
    rows        (L,) joints of the feet
    axes        (L, 4) rotations from heading, up, right to these joints
    soles       from the ankles
    points      the same in the joints' frames
    notes       what was assumed
    """

    tree: RobotTree
    rows: Ints
    axes: Floats
    soles: tuple[RobotSole, ...]
    points: Soles
    notes: tuple[str, ...]

    def with_points(self, points: Soles) -> RobotFeet:
        """Return these feet with other soles, as wide as their own."""
        back = rotations.inverse(self.axes)
        heels, balls = rotations.rotate(back, points.heel), rotations.rotate(back, points.ball)
        soles = tuple(
            sole._replace(heel=float(heel[0]), ball=float(ball[0]), height=-float(0.5 * (heel + ball)[1]))
            for heel, ball, sole in zip(heels, balls, self.soles, strict=True)
        )
        return self._replace(soles=soles, points=points)


def measure_robot_feet(figure: Figure, rig: Rig | None) -> RobotFeet:
    """Measure the feet of a robot. `rig` has its collision shapes; by default the skeleton's file."""
    skeleton = figure.skeleton
    shapes = read_collision_shapes(rig or Rig(skeleton, Pose(skeleton, skeleton.rest_q)))
    rest = rest_motion(figure)
    thighs, shins = _measure_legs(rest)
    rows = np.array([skeleton.index(leg.foot) for leg in figure.legs])
    whole = rest if len(figure.legs) > 1 else _stand_on_all_legs(figure, rig)
    ahead, ups = find_facing(whole, np.zeros(1, dtype=np.int64))[0], -normalise(_list_shins(rest)[0])
    found = pair_soles(
        [
            find_robot_sole(skeleton, int(row), axes, shapes, figure.metre * length)
            for row, axes, length in zip(rows, _turn_feet(rest, ahead, ups), thighs + shins, strict=True)
        ]
    )
    soles = tuple(RobotSole(*(np.array(one.sole) / figure.metre).tolist()) for one in found)
    axes = np.array([one.axes for one in found])
    heel, ball = (
        rotations.rotate(axes, np.array([[along, -sole.height, 0.0] for along, sole in zip(reach, soles, strict=True)]))
        for reach in ([sole.heel for sole in soles], [sole.ball for sole in soles])
    )
    return RobotFeet(build_tree(skeleton), rows, axes, soles, Soles(heel, ball, ball), tuple(list_sole_notes(found)))


def _stand_on_all_legs(figure: Figure, rig: Rig | None) -> Motion:
    """Return the rest pose with all legs of the robot. With those of the figure where the others are not sure."""
    try:
        pose = Pose(figure.skeleton, figure.skeleton.rest_q)
        return rest_motion(figure_of(pose, rig=rig, up=figure.up, metre=figure.metre))
    except UnsupportedError:
        return rest_motion(figure)


def _turn_feet(rest: Motion, ahead: Floats, ups: Floats) -> Floats:
    """Compute the axes (L, 4) of feet under shins.

    These point along `ups` (L, 3) at rest.
    """
    level = np.array([normalise(ahead - up * float(ahead @ up)) for up in ups])
    world = rotations.from_matrix(np.stack([level, ups, np.cross(level, ups)], axis=2))
    return rotations.multiply(rotations.inverse(rest.turns[0, :, FOOT]), world)


def _list_shins(motion: Motion) -> Floats:
    """List the vectors (F, L, 3) from knees to ankles [m]."""
    return motion.places[:, :, ANKLE] - motion.places[:, :, KNEE]


def _measure_legs(motion: Motion) -> tuple[Floats, Floats]:
    """Measure the rigid thighs and shins (L,) [m]."""
    thighs = motion.places[0, :, KNEE] - motion.places[0, :, HIP]
    return np.linalg.norm(thighs, axis=1), np.linalg.norm(_list_shins(motion)[0], axis=1)


class RobotSource(NamedTuple):
    """The clip of a robot as planting takes it.

    motion    its legs, carried over the ground
    contacts  when they stand, in the same frames
    q         (F, nq) configurations
    offsets   (F, 3) [m] by which the motion was carried
    floor     height of its own floor [m]
    above     (F, L) [m] how high above the ground feet stand, as on a step
    """

    motion: Motion
    contacts: Contacts
    q: Floats
    offsets: Floats
    floor: float
    above: Floats

    def take(self, frames: Bools) -> RobotSource:
        """Take some frames (F,)."""
        motion, contacts = rows_of(self.motion, frames), rows_of(self.contacts, frames)
        return RobotSource(motion, contacts, self.q[frames], self.offsets[frames], self.floor, self.above[frames])


class PlantedRobot(NamedTuple):
    """Configurations of a robot with planted feet.

    q        (F, nq) configurations
    tilts    (F, L) where feet stand on an edge
    missing  (F, L) [m] from ankles to where they are to be
    """

    q: Floats
    tilts: Bools
    missing: Floats


def plant_robot(source: RobotSource, feet: RobotFeet, footing: Footing) -> PlantedRobot:
    """Plant the feet of a robot.

    Feet that cannot be turned flat, as their ankles are at a limit or have too few hinges, stand on an edge as in the
    source.
    """
    figure, tree, motion = source.motion.figure, feet.tree, source.motion
    near = JointMotion(*read_configurations(tree, source.q))
    near = near._replace(places=near.places + _to_file(figure, source.offsets))
    turns = rotations.as_matrix(rotations.multiply(motion.turns[:, :, FOOT], feet.axes))
    tilts: Bools = source.contacts.any & ~find_full_legs(figure)
    sides, solved, q = np.where(tilts[..., None], turns[..., 2], 0.0), near, source.q
    paths = list[FootPath]()
    leg_length = figure.metre * float(np.sum(_measure_legs(motion), axis=0).mean())
    for tries_left in reversed(range(_TRIES)):
        paths = [_find_path(source, feet, leg, turns[:, leg], sides[:, leg], footing) for leg in range(len(feet.rows))]
        paths = _swing(source, feet, paths, footing)
        shift = _to_file(figure, _shift_base(source, feet, paths))
        tasks = [*_list_foot_tasks(source, feet, paths, tilts), *_list_base_tasks(near, shift)]
        solved, _ = solve_motion(
            tree, join_tasks(tasks), NO_PAIRS, solved, motion.times, tree.speeds, leg_length, near=near
        )
        q = write_configurations(tree, solved.places, solved.turns, solved.values)
        turned = _turn_feet_of(feet, figure, q)
        off = source.contacts.any & (
            _measure_angles(turned, np.stack([path.turns for path in paths], axis=1)) > _MISSED_RAD
        )
        missed = _fill_stances(off & ~tilts, source.contacts.any)
        if not tries_left or not missed.any():
            break
        sides = np.where(tilts[..., None], turned[..., 2], np.where(missed[..., None], turns[..., 2], 0.0))
        tilts = tilts | missed
    return PlantedRobot(q, tilts, _measure_missing(q, feet, figure, paths))


def _measure_missing(q: Floats, feet: RobotFeet, figure: Figure, paths: list[FootPath]) -> Floats:
    """Measure how far (F, L) ankles are from their paths [m]."""
    places = Pose(feet.tree.skeleton, q).world.positions[:, feet.rows]
    ankles = rotations.rotate(figure.turn, places / figure.metre)
    return np.linalg.norm(ankles - np.stack([path.places for path in paths], axis=1), axis=-1)


def _turn_feet_of(feet: RobotFeet, figure: Figure, q: Floats) -> Floats:
    """Compute the axes (F, L, 3, 3) of feet in configurations."""
    world = Pose(feet.tree.skeleton, q).world.rotations[:, feet.rows]
    return rotations.as_matrix(rotations.multiply(rotations.multiply(figure.turn, world), feet.axes))


def _measure_angles(turns: Floats, others: Floats) -> Floats:
    """Measure the angles (...) between axes (..., 3, 3) [rad]."""
    return np.arccos(np.clip(0.5 * ((turns * others).sum(axis=(-2, -1)) - 1.0), -1.0, 1.0))


def _fill_stances(found: Bools, on: Bools) -> Bools:
    """Return the stances (F, L) with a found frame."""
    filled = np.zeros_like(found)
    for leg, start, stop in zip(*find_runs(on), strict=True):
        filled[start : stop + 1, leg] = found[start : stop + 1, leg].any()
    return filled


def find_full_legs(figure: Figure) -> Bools:
    """Find the legs (L,) with six hinges or more."""
    skeleton = figure.skeleton
    above = len(skeleton.list_path(skeleton.index(figure.trunk)))
    paths = [skeleton.list_path(skeleton.index(leg.foot))[above:] for leg in figure.legs]
    return np.array([has_full_freedom(skeleton, path) for path in paths])


def _find_path(
    source: RobotSource, feet: RobotFeet, leg: int, turns: Floats, sides: Floats, footing: Footing
) -> FootPath:
    """Find the path of a foot over the ground. Its axes are `turns` (F, 3, 3) in the source."""
    motion, contacts = source.motion, source.contacts
    return find_foot_path(
        motion.places[:, leg, ANKLE], turns, contacts.heel[:, leg], contacts.ball[:, leg], feet.soles[leg],
        _make_sampler(footing), motion.step, sides, source.above[:, leg],
    )  # fmt: skip


def _make_sampler(footing: Footing) -> GroundSampler:
    def sample(points: Floats) -> tuple[Floats, Floats]:
        heights, normals, _ = footing.sample(np.concatenate([points, np.zeros((len(points), 1))], axis=1))
        return heights, normals

    return sample


def _swing(source: RobotSource, feet: RobotFeet, paths: list[FootPath], footing: Footing) -> list[FootPath]:
    """Let feet swing from stance to stance, over obstacles."""
    motion, on = source.motion, source.contacts.any
    between, swings = between_of(motion.times, on), motion.places[:, :, ANKLE]
    ankles = np.stack([path.places for path in paths], axis=1)
    ankles = swings + interpolate_swings(motion, ankles - swings, between, on)
    swung = [path._replace(places=ankles[:, leg]) for leg, path in enumerate(paths)]
    following = find_following(lone_frames(motion))
    return clear_swings(swung, list(feet.soles), on, motion.times, following, _make_sampler(footing))


def _shift_base(source: RobotSource, feet: RobotFeet, paths: list[FootPath]) -> Floats:
    """Compute the shift (F, 3) of the base [m]. It rises with the ground, and sinks where a leg is too short."""
    motion, on = source.motion, source.contacts.any
    floors = source.floor + source.above
    rises = [_find_rise(path, on[:, leg], feet.soles[leg], floors[:, leg]) for leg, path in enumerate(paths)]
    up = average_hann(np.mean(rises, axis=0), motion.frames(_RISE_HALF_WINDOW_S))
    lengths = np.sum(_measure_legs(motion), axis=0)
    for leg, path in enumerate(paths):
        hips, ankles = motion.places[:, leg, HIP], motion.places[:, leg, ANKLE]
        reach = np.maximum(lengths[leg], np.linalg.norm(hips - ankles, axis=1) / MAX_STRETCH)
        up = up - sink_body(hips + make_vertical(up), path.places, reach, motion.step)
    return make_vertical(up)


def _find_rise(path: FootPath, on: Bools, sole: RobotSole, floor: Floats) -> Floats:
    """Find the height (F,) of soles over the clip's floor (F,) [m]. It has one height in a stance."""
    lowest = np.min([path.places[:, 2] + path.turns[:, 2] @ corner for corner in sole.list_corners()], axis=0)
    rise = lowest - floor
    for _, start, stop in zip(*find_runs(on[:, None]), strict=True):
        rise[start : stop + 1] = np.median(rise[start : stop + 1])
    return fill_between(rise[:, None], on)[:, 0]


def _list_foot_tasks(source: RobotSource, feet: RobotFeet, paths: list[FootPath], tilts: Bools) -> list[LinkTask]:
    """List the tasks of all feet: heel, ball and rotation. What stands is held firmly, what swings follows its path."""
    figure, tree, tasks = source.motion.figure, feet.tree, list[LinkTask]()
    ramp, contacts = source.motion.frames(_STANCE_RAMP_S), source.contacts
    for leg, path in enumerate(paths):
        row, sole = int(feet.rows[leg]), feet.soles[leg]
        node, axes = int(tree.nodes[row]), rotations.multiply(tree.turns[row], feet.axes[leg])
        stands = contacts.any[:, leg]
        for along in (sole.heel, sole.ball):
            point = np.array([along, -sole.height, 0.0])
            local = figure.metre * rotations.rotate(axes, point) + tree.centres[row]
            weights = _weigh(stands, ramp, _SWING_WEIGHT, _STANDING_WEIGHT)
            tasks.append(LinkTask(PLACE, node, local, _to_file(figure, path.places + path.turns @ point), weights))
        turned = rotations.as_matrix(rotations.inverse(figure.turn)) @ path.turns @ rotations.as_matrix(axes).T
        weights = _weigh(stands & ~tilts[:, leg], ramp, _SWING_TURN_WEIGHT, _STANDING_TURN_WEIGHT)
        weights = np.where(tilts[:, leg], _TILTED_TURN_WEIGHT, weights)
        tasks.append(LinkTask(ROTATION, node, np.zeros(3), turned.reshape(-1, 9), weights))
    return tasks


def _weigh(stands: Bools, ramp: int, swing: float, standing: float) -> Floats:
    """Weigh a task (F,) by when its point stands."""
    return swing + ramp_stance(stands, ramp) * (standing - swing)


def _list_base_tasks(start: JointMotion, shift: Floats) -> list[LinkTask]:
    """List place and rotation of the base."""
    count = np.ones(len(shift))
    return [
        LinkTask(PLACE, 0, np.zeros(3), start.places + shift, _BASE_PLACE_WEIGHT * count),
        LinkTask(ROTATION, 0, np.zeros(3), start.turns.reshape(-1, 9), _BASE_TURN_WEIGHT * count),
    ]


def _to_file(figure: Figure, vectors: Floats) -> Floats:
    """Convert vectors (..., 3) [m], z up, to file axes and units."""
    return rotations.rotate(rotations.inverse(figure.turn), figure.metre * vectors)


def check_rigid(clip: Clip) -> None:
    """Raise UnsupportedError for moved links of a robot."""
    if clip.poses.translations is not None or clip.poses.scales is not None:
        raise UnsupportedError(
            f"clip {clip.name!r} moves or scales single joints: the links of a robot are rigid, and its joints hinges"
        )
