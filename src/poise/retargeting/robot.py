"""Robots as targets: one least-squares solve over all frames of a clip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError
from poise.ground.contact.contacts import Contacts
from poise.ground.figure.figure import HEIGHT, LEG_HEIGHT_SHARE
from poise.ground.robot.clip_descent import NO_PAIRS, CapsulePairs, JointMotion
from poise.ground.robot.clip_solve import solve_motion
from poise.ground.robot.foot_path import (
    FootPath,
    GroundSampler,
    RobotSole,
    clear_swings,
    find_foot_path,
    lean_foot,
    measure_heights,
    ramp_stance,
    share_edges,
    shift_body,
    sink_body,
    smooth_swing,
)
from poise.ground.robot.sole import FoundSole, find_robot_sole, list_sole_notes, pair_soles
from poise.ground.robot.tree import RobotTree, build_tree, write_configurations
from poise.ground.terrain.terrain import Terrain
from poise.io.collision_shapes import CollisionShapes, read_collision_shapes
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.frame_masks import measure_step
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles.bone_names import SIDES
from poise.retargeting.added_joints import LEG_PARTS, leave_out_added_joints
from poise.retargeting.body import Body, Segment
from poise.retargeting.match import Match, list_skipped_sides
from poise.retargeting.robot_body import count_freedoms, describe_fixed_limbs
from poise.retargeting.robot_clearance import find_pairs, list_mesh_corners
from poise.retargeting.robot_match import list_idle_turns
from poise.retargeting.robot_soles import StandingRobot, describe_feet
from poise.retargeting.robot_tasks import TaskBuilder
from poise.retargeting.robot_weights import RobotWeights
from poise.retargeting.root_path import (
    KEPT_HIPS_NOTE,
    RootMotion,
    Standing,
    compute_hip_path,
    find_level_path,
    find_up_axis,
    move_hips,
    select_legs,
)
from poise.runtime.immutable_values import freeze
from poise.runtime.result_cache import get_or_compute

# [s] half the window over which the body's shift with its feet is smoothed, and how long beside a stance a foot is
# held as firmly as in it
_SHIFT_HALF_WINDOW_S, _STANCE_RAMP_S = 0.1, 0.05
_DEFAULT_STEP_S = 1.0 / 60.0  # of a clip of one frame
# why no feet are held
NO_UP_REASON = "neither y nor z is up in the target's file"
SKIPPED_REASON = "the match skips rows of the legs that stand in the source"


class Robot(NamedTuple):
    """A robot measured for retargeting.

    body      its joints by role
    tree      its unknowns
    soles     by side
    speeds    (K - 6,) largest speeds that are kept; infinite where there are none
    pairs     parts that are to stay apart, and
    parts     their names
    freedoms  of parts of limbs against the trunk
    notes     what was assumed
    """

    body: Body
    tree: RobotTree
    soles: Mapping[str, RobotSole]
    speeds: Floats
    pairs: CapsulePairs
    parts: tuple[tuple[str, str], ...]
    freedoms: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def fixed(self) -> tuple[str, ...]:
        """Parts of limbs without freedom against the trunk."""
        return tuple(role for role, count in self.freedoms.items() if not count)

    @property
    def ankle(self) -> float:
        """Height of the ankles over the soles."""
        return float(np.mean([sole.height for sole in self.soles.values()]))


class RobotMotion(NamedTuple):
    """How a robot moves, beside the clip itself.

    robot     the robot
    contacts  when its feet stand; None where they are not held
    above     (F, L) how high above the ground they stand, as on a step
    sample    the ground under it
    rounds    how many rounds the solve took
    """

    robot: Robot
    contacts: Contacts | None
    above: Floats
    sample: GroundSampler
    rounds: int

    def stand(self) -> StandingRobot:
        """Return the robot as it stands on its ground. Its feet are held."""
        assert self.contacts is not None
        return StandingRobot(self.robot.body, self.robot.tree, self.robot.soles, self.contacts, self.above, self.sample)


class RobotJob(NamedTuple):
    """A clip for a robot.

    clip, target    the clip, and the robot
    bodies          source and target
    standing        how the source stands
    match           which joint moves which
    ground          as for `retarget`, and so are `root`, `speed` and `clear`
    weights         factors on the weights of its tasks
    """

    clip: Clip
    target: Rig
    bodies: tuple[Body, Body]
    standing: Standing
    match: Match
    ground: Terrain | bool | None
    root: RootMotion
    speed: bool | float
    clear: bool
    weights: RobotWeights


def retarget_onto_robot(job: RobotJob) -> tuple[Clip, RobotMotion, tuple[str, ...]]:
    """Retarget a clip onto a robot. Also return how it moves, and notes."""
    source, body = job.bodies
    robot = measure_robot(job.target, body, job.speed, clear=job.clear)
    contacts, notes = _choose_contacts(job)
    floor = Standing(0.0, robot.ankle)
    path = compute_hip_path(job.clip.poses.world.positions, job.bodies, job.standing, floor, job.root)
    terrain = choose_terrain(job) if contacts is not None else None
    above = _find_raised(job, contacts)
    solved, motion = solve_robot(job.clip, source, robot, job.match, path, contacts, above, terrain, job.weights)
    held = () if terrain is None else describe_feet(solved, motion.stand(), terrain)
    if job.root == "in_place":
        poses = move_hips(
            solved.poses, leave_out_added_joints(body, solved.skeleton), -find_level_path(solved.times, path)
        )
        solved = Clip(solved.times, poses, solved.name)
    return solved, motion, (*robot.notes, *notes, *describe_turns(job, robot), *held)


def describe_turns(job: RobotJob, robot: Robot) -> list[str]:
    """Describe turns of the match without effect."""
    idle = list_idle_turns(robot.body, job.match, robot.freedoms)
    return [f"the match turns {', '.join(idle)}: of a robot they have no effect"] if idle else []


def describe_skipped_feet(job: RobotJob) -> list[str]:
    """Describe feet with a skipped row in their legs."""
    skipped = list_skipped_sides(job.match, LEG_PARTS)
    return [f"the {side} foot is not held on the ground: the match skips a row of its leg" for side in skipped]


def _choose_contacts(job: RobotJob) -> tuple[Contacts | None, tuple[str, ...]]:
    """Choose the contacts of held feet. Also return notes."""
    contacts, reason = job.standing.contacts, job.standing.note
    if job.ground is False:
        return None, ()
    if job.root == "keep":
        return None, (KEPT_HIPS_NOTE,)
    if contacts is not None and not contacts.any.any():
        reason = "those of the source never stand"
    elif contacts is not None and not job.standing.travels:
        reason = "the source walks in place, on ground that passes"
    elif find_up_axis(job.bodies[1]) is None:
        reason = NO_UP_REASON
    skipped = list_skipped_sides(job.match, LEG_PARTS)
    columns = [] if contacts is None else [column for column, leg in enumerate(contacts.legs) if leg not in skipped]
    if contacts is not None and not reason and not contacts.any[:, columns].any():
        reason = SKIPPED_REASON
    if contacts is None or reason:
        if isinstance(job.ground, Terrain):
            raise UnsupportedError(f"no feet can be put on this ground: {reason}")
        return None, (f"no feet were held on the ground: {reason}",)
    notes = describe_skipped_feet(job)
    if job.standing.bearing is not None:
        notes.append("hands and knees of a robot are not held on the ground")
    return (contacts if len(columns) == len(contacts.legs) else select_legs(contacts, columns)), tuple(notes)


def _find_raised(job: RobotJob, contacts: Contacts | None) -> Floats:
    """Find how high (F, L) above the ground feet stand. On a given ground they stand on it."""
    above, known = job.standing.above, job.standing.contacts
    legs = () if contacts is None else contacts.legs
    if above is None or known is None or isinstance(job.ground, Terrain):
        return np.zeros((len(job.clip), len(legs)))
    return above[:, [known.legs.index(leg) for leg in legs]] * job.bodies[1].leg_length


def choose_terrain(job: RobotJob) -> Terrain:
    """Choose the ground in the lengths and axes of the robot's file."""
    up = find_up_axis(job.bodies[1])
    assert up is not None
    if not isinstance(job.ground, Terrain):
        return Terrain.flat(0.0, up=up, unit=1.0)
    return job.ground.for_clip(job.bodies[1].leg_length / (LEG_HEIGHT_SHARE * HEIGHT), up)


def measure_robot(target: Rig, body: Body, speed: bool | float, *, clear: bool) -> Robot:
    """Measure a robot, once for all clips.

    body   of `measure_robot_body`
    speed  True: its joints keep the speeds of the file; False: any; or the largest one of all hinges [rad/s]
    clear  whether arms, trunk and legs are to stay apart
    """
    key = tuple(body.joints.items()), clear
    robot = get_or_compute(target, "measured robot", key, lambda: freeze(_measure_robot(target, body, clear=clear)))
    return robot if speed is True else robot._replace(speeds=_choose_speeds(robot.tree, speed))


def _measure_robot(target: Rig, body: Body, *, clear: bool) -> Robot:
    tree, shapes = build_tree(target.skeleton), read_collision_shapes(target)
    found = dict(zip(SIDES, pair_soles([_find_sole(side, body, shapes) for side in SIDES]), strict=True))
    freedoms = count_freedoms(body, tree)
    notes = describe_fixed_limbs(body, tree, [role for role, count in freedoms.items() if not count])
    feet = {f"{side}Foot": _turn_foot(body.segments[f"{side}Foot"], sole.axes) for side, sole in found.items()}
    body = body._replace(segments={**body.segments, **feet})
    notes += list_sole_notes(found.values())
    corners, reason = list_mesh_corners(body, shapes) if clear else ({}, "")
    pairs, parts = find_pairs(body, tree, shapes, corners) if clear else (NO_PAIRS, ())
    if clear and not (shapes.shapes or corners):
        because = f" ({reason})" if reason else ""
        notes.append(
            f"no collision shapes show how thick the robot is{because}: "
            "its parts are kept apart by the length of its legs"
        )
    soles = {side: sole.sole for side, sole in found.items()}
    return Robot(body, tree, soles, tree.speeds, pairs, parts, freedoms, tuple(notes))


def _find_sole(side: str, body: Body, shapes: CollisionShapes) -> FoundSole:
    """Find the sole of a side's foot in the reference pose."""
    segment = body.segments[f"{side}Foot"]
    return find_robot_sole(body.reference.skeleton, segment.row, segment.row_frame, shapes, body.leg_length)


def _turn_foot(segment: Segment, axes: Floats) -> Segment:
    """Return a foot's segment with other axes. Equal ones leave it as it is."""
    same = np.array_equal(axes, segment.row_frame)
    return segment if same else Segment(segment.row, segment.row, axes, axes)


def _choose_speeds(tree: RobotTree, speed: bool | float) -> Floats:
    if isinstance(speed, bool):
        return np.full_like(tree.speeds, np.inf)
    gains = tree.gains
    return np.where(gains > 0.0, speed / np.where(gains > 0.0, gains, 1.0), np.inf)


def make_sampler(terrain: Terrain | None, body: Body) -> GroundSampler:
    """Make a sampler of the ground in axes ahead, left, up.

    Without terrain nothing is in the way.
    """

    def sample(points: Floats) -> tuple[Floats, Floats]:
        if terrain is None:
            return np.full(len(points), -np.inf), np.tile([0.0, 0.0, 1.0], (len(points), 1))
        level = np.concatenate([points, np.zeros((len(points), 1))], axis=1)
        ground = terrain.sample(rotations.rotate(rotations.inverse(body.world_turn), level))
        return ground.heights, rotations.rotate(body.world_turn, ground.normals)

    return sample


def solve_robot(
    clip: Clip,
    source: Body,
    robot: Robot,
    match: Match,
    path: Floats,
    contacts: Contacts | None,
    above: Floats,
    terrain: Terrain | None,
    weights: RobotWeights,
) -> tuple[Clip, RobotMotion]:
    """Solve the clip of a robot.

    path      (F, 3) of its hips, in axes ahead, left, up
    contacts  when its feet stand; None: they follow the directions of the legs
    above     (F, L) how high above the ground they stand
    weights   factors on the weights of its tasks
    """
    builder = TaskBuilder(clip, (source, robot.body), robot.tree, match, weights, robot.freedoms)
    builder.add_segments()
    sample = make_sampler(terrain, robot.body)
    if contacts is None:
        for side in SIDES:
            builder.add_foot_turn(side)
    else:
        path = _add_feet(builder, robot, path, contacts, above, sample, clip.times)
    builder.add_hips(path)
    motion, rounds = solve_motion(
        robot.tree.hold(builder.held), builder.build(), robot.pairs, _begin(builder, path), clip.times, robot.speeds,
        robot.body.leg_length, weights.smooth,
    )  # fmt: skip
    back = rotations.inverse(robot.body.world_turn)
    q = write_configurations(
        robot.tree, rotations.rotate(back, motion.places), rotations.as_matrix(back) @ motion.turns, motion.values
    )
    solved = Clip(np.array(clip.times), Pose(robot.tree.skeleton, q), clip.name)
    return solved, RobotMotion(robot, contacts, above, sample, rounds)


def _add_feet(
    builder: TaskBuilder, robot: Robot, path: Floats, contacts: Contacts, above: Floats, sample: GroundSampler,
    times: Floats,
) -> Floats:  # fmt: skip
    """Add the paths of the feet. Return that of the hips, which go along with them."""
    step_s = measure_step(times) or _DEFAULT_STEP_S
    feet = _find_foot_paths(builder, robot, path, contacts, above, sample, times)
    for column, (side, foot) in enumerate(zip(contacts.legs, feet, strict=True)):
        stands, sole = ramp_stance(contacts.any[:, column], round(_STANCE_RAMP_S / step_s)), robot.soles[side]
        edges = share_edges(foot, sample) if builder.measure_roll_range(side) < np.inf else None
        builder.add_foot(side, foot, stands, measure_heights(foot, sole, sample), sole, edges)
    for side in SIDES:
        if side not in contacts.legs:
            builder.add_foot_turn(side)
    path = path + shift_body(feet, step_s, _SHIFT_HALF_WINDOW_S)
    for side, foot in zip(contacts.legs, feet, strict=True):
        sunk = sink_body(builder.find_hip(side, path), foot.places, sum(builder.measure_leg(side)), step_s)
        path = path - sunk[:, None] * [0.0, 0.0, 1.0]
    return path


def _find_foot_paths(
    builder: TaskBuilder, robot: Robot, path: Floats, contacts: Contacts, above: Floats, sample: GroundSampler,
    times: Floats,
) -> list[FootPath]:  # fmt: skip
    """Find the paths of the feet over what is in their way."""
    step_s = measure_step(times) or _DEFAULT_STEP_S
    feet: list[FootPath] = []
    for column, side in enumerate(contacts.legs):
        foot = find_foot_path(
            builder.find_ankles(side, path), builder.find_foot_turns(side), contacts.heel[:, column],
            contacts.ball[:, column], robot.soles[side], sample, step_s, above=above[:, column],
            leg=builder.find_bend(side),
        )  # fmt: skip
        feet.append(smooth_swing(foot, contacts.any[:, column], step_s))
    hips = path + shift_body(feet, step_s, _SHIFT_HALF_WINDOW_S)
    feet = [
        lean_foot(foot, builder.find_hip(side, hips), robot.soles[side], builder.measure_roll_range(side))
        for side, foot in zip(contacts.legs, feet, strict=True)
    ]
    soles = [robot.soles[side] for side in contacts.legs]
    metre = robot.body.leg_length / (LEG_HEIGHT_SHARE * HEIGHT)
    return clear_swings(feet, soles, contacts.any, times, np.arange(len(times)), sample, metre)


def _begin(builder: TaskBuilder, path: Floats) -> JointMotion:
    """Begin with the robot at rest, its hips at their path."""
    tree, root = builder.tree, builder.tree.root
    turned = rotations.multiply(builder.turn_hips(), builder.rest_turns[root])
    base_turns = rotations.multiply(turned, rotations.inverse(tree.turns[root]))
    from_root = rotations.rotate(builder.turn_hips(), builder.find_hip_middle() - builder.rest[root])
    places = path - from_root - rotations.rotate(base_turns, tree.centres[root])
    return JointMotion(places, rotations.as_matrix(base_turns), np.tile(tree.rest_values, (len(path), 1)))
