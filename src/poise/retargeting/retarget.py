"""retarget() moves one character as another one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from poise.calls.argument_checks import check_bool, check_choice, check_type
from poise.calls.progress import Advance, report_progress
from poise.errors import InputError, PoiseError, UnsupportedError
from poise.formatting import format_count
from poise.ground.bearing.parts import carry_bearing
from poise.ground.contact.contacts import Contacts
from poise.ground.figure.figure import Up, figure_of
from poise.ground.found import analyse_clip, with_bearing
from poise.ground.plant import Planted, plant_analysed
from poise.ground.stages import Allowed
from poise.ground.terrain.terrain import Terrain
from poise.maths.arrays import Floats, check_real
from poise.model.clip import Clip, check_rate
from poise.model.pose import Pose, Transforms
from poise.model.rig import Rig, free_root
from poise.model.roles.bone_names import SIDES
from poise.model.roles.character_tree import LEG_PARTS
from poise.model.skeleton import find_free_root
from poise.retargeting.added_joints import (
    ARM_PARTS,
    describe_added_joints,
    extend_poses,
    leave_out_added_joints,
    list_known_arms,
)
from poise.retargeting.body import Body
from poise.retargeting.body_contact import compute_hand_moves
from poise.retargeting.configurations import compute_configurations, plan_frame
from poise.retargeting.detached_feet import place_detached_feet
from poise.retargeting.hand_contact import bring_hands_together, compute_touch_weights
from poise.retargeting.limb_ends import ARM, move_limb_ends
from poise.retargeting.match import Match, is_changed, list_skipped_sides
from poise.retargeting.measured_characters import (
    FirstFrames,
    MeasuredSource,
    make_own_rig,
    measure_source,
    measure_target,
)
from poise.retargeting.report import Measured, RetargetReport, build_report
from poise.retargeting.robot import RobotJob, RobotMotion, retarget_onto_robot
from poise.retargeting.robot_body import measure_robot_body
from poise.retargeting.robot_weights import RobotWeights, check_weights
from poise.retargeting.root_path import (
    KEPT_HIPS_NOTE,
    RootMotion,
    Standing,
    compute_body_shift,
    compute_hip_path,
    find_hip_middle,
    find_level_path,
    find_target_soles,
    find_up_axis,
    move_hips,
    select_legs,
    select_soles,
    turn_positions,
    turn_z_up,
)
from poise.retargeting.step_width import set_step_width
from poise.retargeting.transfer import is_same_tree, plan_rotations

HandMode = Literal["touch", "directions"]

_STAGES = 3  # of the progress: measuring the source, moving the target, planting its feet
_IN_PLACE_NOTE = "skate, depth and floating of feet are not measured in place: the ground passes under the character"
_BLOCK_FRAMES = 1024  # frames whose configurations are made at once


@dataclass(frozen=True, eq=False, repr=False)
class Retargeted(Clip):
    """A clip of the target, with match, contacts and report. It is a Clip, which can be saved.

    Parameters
    ----------
    times, poses, name
        As for Clip.
    match
        Which joint of the source moves which joint of the target.
    bodies
        Both characters as they were measured, the source first.
    contacts
        When the feet of the source stand; None where that is unknown.
    source
        The clip that was retargeted, at the same times.
    planted
        The result of `plant_feet` for the target; None where no feet were planted.
    touching
        (F,) how much the distance of hands from each other counts, 0 to 1.
    near_body
        (F, 2) how much the distance of the left and the right hand from the body counts; 1 while one is pushed out.
    robot
        What a robot keeps beside its clip: soles, contacts, speeds; None for characters.
    root
        How the hips move, as `retarget` was told.
    notes
        What was assumed or given up, a sentence each.
    """

    match: Match = field(kw_only=True)
    bodies: tuple[Body, Body] = field(kw_only=True)
    contacts: Contacts | None = field(kw_only=True, default=None)
    source: Clip = field(kw_only=True)
    planted: Planted | None = field(kw_only=True, default=None)
    touching: Floats = field(kw_only=True)
    near_body: Floats = field(kw_only=True)
    robot: RobotMotion | None = field(kw_only=True, default=None)
    root: RootMotion = field(kw_only=True, default="travel")
    notes: tuple[str, ...] = field(kw_only=True, default=())

    @property
    def clip(self) -> Clip:
        """The clip itself: a Retargeted is one."""
        return self

    @cached_property
    def report(self) -> RetargetReport:
        """Measures of the clip beside its source. Computed on first access."""
        bears = np.zeros(len(self), dtype=np.bool_)
        if self.planted is not None and self.planted.bearing is not None:
            bears = np.asarray(self.planted.bearing.on.any(axis=1), dtype=np.bool_)
        measured = Measured(
            self.source, self, self.bodies, self.match, self.contacts, self.planted,
            moved_arms=bears | (self.touching > 0.0) | (self.near_body > 0.0).any(axis=1), touching=self.touching,
            is_in_place=self.root == "in_place", robot=self.robot, notes=self.notes,
        )  # fmt: skip
        return build_report(measured)


class Options(NamedTuple):
    """The checked options of a call."""

    ground: Terrain | bool | None
    root: RootMotion
    hands: HandMode
    first: FirstFrames
    fps: float | None
    speed: bool | float = True
    clear: bool = True
    weights: RobotWeights | None = None


def retarget(
    clip: Clip | Rig,
    target: Rig,
    *,
    source: Rig | None = None,
    match: Match | None = None,
    ground: Terrain | bool | None = None,
    root: RootMotion = "travel",
    hands: HandMode = "touch",
    first: FirstFrames = "auto",
    fps: float | None = None,
    clear: bool = True,
    speed: bool | float = True,
    weights: Mapping[str, float] | None = None,
    progress: bool | Callable[[int, int, str], None] | None = None,
) -> Retargeted:
    """Move a character as another one.

    Parameters
    ----------
    clip
        The motion, or a rig with one clip.
    target
        The rig that is to move, a character or a robot. It needs known legs.
    source
        The rig of the clip, where its sidecar or its file declares roles. By default the clip's skeleton is asked.
    match
        Which joint moves which; by default `poise.match(source, target)`.
    ground
        The ground under the target; by default level ground at 0 of its file. The feet stand on it when those of the
        source stand. False: no feet are planted.
    root
        "travel": the hips go as far as in the source, times the ratio of leg lengths, and are as high over the ground.
        "in_place": the way over the ground is taken out. "keep": the position of the hips times that ratio; planted
        feet would move the hips, so that none are planted.
    hands
        "touch": hands that are near each other in the source keep their distance, in arm lengths; the arms then leave
        the source's directions, also where a hand touches the body or would be in it. "directions": they do not.
    first
        "auto": frames in front of the clip that no motion leads to, such as a T pose, are left out. "keep": they stay.
    fps
        Sample the clip at this rate first [frames/s]; by default its own frames.
    clear
        Whether arms, trunk and legs of a robot are kept apart, and hands of a character out of its body.
    speed
        The largest speed of a robot's joints. True: that of the file; False: any; a number: of all hinges [rad/s].
        A number is refused for characters.
    weights
        Factors on what a robot's joints weigh against each other, by word: limbs, trunk, feet, hands, head, root (the
        place of the hips), smooth. Left out they are 1. Characters follow every direction, so that nothing is weighed.
    progress
        As for `solve`.

    Returns
    -------
    Retargeted
        The clip of the target, with match, contacts and notes. That of a robot is on its skeleton with a free root.

    Raises
    ------
    UnsupportedError
        For a clip or target without known legs, a clip without known upper arms, and for animals.
    InputError
        For a clip without frames, and for a match without legs, or without the source's upper arms.
    """
    clip, rig = _check_source(clip, source)
    check_type(target, Rig, "the target")
    options = _check_options(ground, root, hands, first, fps)._replace(
        clear=check_bool(clear, "clear"),
        speed=_check_speed(speed),
        weights=None if weights is None else check_weights(weights),
    )
    with report_progress(progress, "retargeting", _STAGES) as advance:
        advance(0, "measuring the source")
        return _retarget_clip(clip, rig, target, match, options, advance)


def _check_source(clip: Clip | Rig, source: Rig | None) -> tuple[Clip, Rig]:
    """Return the clip and its rig."""
    if isinstance(clip, Rig):
        source = source or clip
        if len(clip.clips) != 1:
            names = ", ".join(repr(one.name) for one in clip.clips)
            held = f"{format_count(len(clip.clips), 'clip')}: {names}" if clip.clips else "no clip"
            raise InputError(f"the rig has {held}; give one of its clips, such as rig.clips[0]")
        clip = clip.clips[0]
    check_type(clip, Clip, "the clip")
    if source is None:
        source = make_own_rig(clip)
    check_type(source, Rig, "the source")
    if find_free_root(clip.skeleton) is not None:  # a robot's, whose file has a fixed base
        source = free_root(source)
    clip = clip if clip.skeleton is source.skeleton else clip.on(source.skeleton)
    if not len(clip):
        raise InputError(f"clip {clip.name!r} has no frames: there is nothing to retarget")
    return clip, source


def _check_options(
    ground: Terrain | bool | None, root: RootMotion, hands: HandMode, first: FirstFrames, fps: float | None
) -> Options:
    if ground is not None and not isinstance(ground, bool):
        check_type(ground, Terrain, "the ground")
    check_choice(root, "root", get_args(RootMotion))
    check_choice(hands, "hands", get_args(HandMode))
    check_choice(first, "first", get_args(FirstFrames))
    if root == "keep" and isinstance(ground, Terrain):
        raise InputError('root="keep" holds the hips, and feet on a ground move them: leave out one of the two')
    return Options(ground, root, hands, first, None if fps is None else check_rate(fps))


def _check_speed(speed: bool | float) -> bool | float:
    if isinstance(speed, bool):
        return speed
    value = check_real(speed, "speed")
    if not 0.0 < value < np.inf:
        raise InputError(f"speed is True, False or a number of rad/s above 0, not {value:g}")
    return value


class Transfer(NamedTuple):
    """A clip, both characters, and how they stand."""

    clip: Clip
    target: Rig
    bodies: tuple[Body, Body]
    standings: tuple[Standing, Standing]
    match: Match
    options: Options

    @property
    def is_same_character(self) -> bool:
        """Whether source and target are the same character."""
        return is_same_tree(self.clip.skeleton, self.target.skeleton)


def build_robot_job(measured: MeasuredSource, options: Options) -> RobotJob:
    """Build the job of a robot."""
    body = measure_robot_body(measured.target, measured.pairs.list_joints(of_target=True))
    return RobotJob(
        measured.clip, measured.target, (measured.body, body), measured.standing, measured.pairs, options.ground,
        options.root, options.speed, options.clear, options.weights or RobotWeights(),
    )  # fmt: skip


def _retarget_clip(
    clip: Clip, rig: Rig, target: Rig, match: Match | None, options: Options, advance: Advance
) -> Retargeted:
    measured = measure_source(clip, rig, target, match, options.first, options.fps)
    if measured.is_robot:
        return _retarget_onto_robot(build_robot_job(measured, options), measured.notes, advance)
    clip, target, pairs, ground, body, standing, _, notes = measured
    if options.weights is not None:
        raise UnsupportedError("weights are for robots: a character follows every direction, nothing is weighed")
    if not isinstance(options.speed, bool):
        raise UnsupportedError("speed is for robots: joints of a character have no motors, and follow every direction")
    sources = pairs.list_joints(of_target=False)
    is_same = is_same_tree(clip.skeleton, target.skeleton) and pairs.list_joints(of_target=True) == sources
    target_body, target_standing = (body, standing) if is_same else measure_target(target, pairs)
    standings = standing, target_standing
    job = Transfer(clip, target, (body, target_body), standings, pairs, options)
    advance(1, "moving the target")
    path = compute_hip_path(clip.poses.world.positions, job.bodies, *standings, options.root)
    moved = _move_target(job, path)
    advance(1, "planting feet")
    planted, plant_notes = _plant_feet(job, moved)
    poses = moved.poses if planted is None else planted.poses
    poses, hands = _move_hands(job, poses, planted)
    if options.root == "in_place":
        poses = move_hips(poses, target_body, -find_level_path(moved.times, path))
    all_notes = [
        *notes,
        *ground.notes,
        *describe_bodies(job.bodies),
        *([] if is_same else describe_added_joints("target", target_body)),
        *plant_notes,
        *hands.notes,
        *(planted.notes if planted else ()),
        *([_IN_PLACE_NOTE] if planted and options.root == "in_place" else ()),
    ]
    return Retargeted(
        np.array(moved.times), poses, clip.name, match=pairs, bodies=job.bodies,
        contacts=copy.deepcopy(standing.contacts), source=clip, planted=planted, touching=hands.together,
        near_body=hands.near_body, root=options.root, notes=tuple(dict.fromkeys(all_notes)),
    )  # fmt: skip


def _retarget_onto_robot(job: RobotJob, notes: Sequence[str], advance: Advance) -> Retargeted:
    """Retarget onto a robot: all frames are solved at once."""
    advance(1, "measuring the robot")
    solved, motion, more_notes = retarget_onto_robot(job)
    advance(1, "solved")
    all_notes = [*notes, *describe_bodies(job.bodies), *more_notes]
    if motion.contacts is not None and job.root == "in_place":
        all_notes.append(_IN_PLACE_NOTE)
    bodies = job.bodies[0], leave_out_added_joints(job.bodies[1], solved.skeleton)
    return Retargeted(
        solved.times, solved.poses, solved.name, match=job.match, bodies=bodies,
        contacts=copy.deepcopy(job.standing.contacts), source=job.clip, touching=np.zeros(len(solved)),
        near_body=np.zeros((len(solved), len(SIDES))), robot=motion, root=job.root,
        notes=tuple(dict.fromkeys(all_notes)),
    )  # fmt: skip


def _move_target(job: Transfer, path: Floats) -> Clip:
    """Compute the target's poses before its feet are planted. `path` (F, 3) is that of its hips."""
    clip, (source, body) = job.clip, job.bodies
    plan = plan_frame(plan_rotations(source, body, job.match), job.target.skeleton)
    blocks = [slice(start, start + _BLOCK_FRAMES) for start in range(0, len(clip), _BLOCK_FRAMES)]
    worlds = (Transforms(clip.skeleton, clip.poses.world.affine[block]) for block in blocks)
    pairs = zip(blocks, worlds, strict=True)
    q = np.concatenate([compute_configurations(plan, clip.poses[block], world.rotations) for block, world in pairs])
    kept = (clip.poses.translations, clip.poses.scales) if job.is_same_character else (None, None)
    poses = Pose(job.target.skeleton, q, *kept)
    if not job.is_same_character or is_changed(job.match):
        poses = place_detached_feet(poses, body.detached_feet)
    middle = turn_positions(body, find_hip_middle(poses.world.positions, body))
    return Clip(clip.times, move_hips(poses, body, path - middle), clip.name)


def describe_bodies(bodies: tuple[Body, Body]) -> list[str]:
    """Describe what shows a body where the rest pose does not."""
    return [
        f"{name}: its rest pose shows no standing body; {body.reference.description} does"
        for name, body in zip(("the source", "the target"), bodies, strict=True)
        if not body.reference.is_rest
    ]


def _plant_feet(job: Transfer, moved: Clip) -> tuple[Planted | None, tuple[str, ...]]:
    """Plant the target's feet where those of the source stand. Also return notes."""
    standing, ground = job.standings[0], job.options.ground
    if ground is False:
        return None, ()
    if job.options.root == "keep":
        return None, (KEPT_HIPS_NOTE,)
    reason = standing.note
    if standing.contacts is not None and not standing.contacts.any.any():
        reason = "those of the source never stand"
    up = find_up_axis(job.bodies[1])
    if up is None:
        reason = "neither y nor z is up in the target's file"
    if reason or up is None or standing.contacts is None:
        if isinstance(ground, Terrain):
            raise UnsupportedError(f"no feet can be put on this ground: {reason}")
        return None, (f"no feet were planted: {reason}",)
    terrain = ground if isinstance(ground, Terrain) else Terrain.flat(job.standings[1].floor, up=up, unit=1.0)
    try:
        return _plant_contacts(job, moved, terrain, standing.contacts, up)
    except PoiseError as error:
        if isinstance(ground, Terrain):
            raise
        return None, (f"no feet were planted: {error}",)


def _plant_contacts(
    job: Transfer, moved: Clip, terrain: Terrain, contacts: Contacts, up: Up
) -> tuple[Planted, tuple[str, ...]]:
    """Plant the target's feet with the contacts of the source. The body goes along with them.

    Also return notes. A leg with a skipped row stays as it is.
    """
    source, standing = job.standings
    skipped = list_skipped_sides(job.match, LEG_PARTS)
    columns = [column for column, leg in enumerate(contacts.legs) if leg not in skipped]
    notes = tuple(f"the {side} foot is not planted: the match skips a row of its leg" for side in skipped)
    if not contacts.any[:, columns].any():
        raise UnsupportedError("the match skips rows of the legs that stand in the source")
    if source is standing and source.soles is not None:
        soles, sole_notes = source.soles, ()
    else:
        soles, sole_notes = find_target_soles(moved, job.target, contacts.legs)
    above = None
    if source.above is not None and not isinstance(job.options.ground, Terrain):
        above = source.above[:, columns] * job.bodies[1].leg_length
    if len(columns) < len(contacts.legs):
        contacts, soles = select_legs(contacts, columns), select_soles(soles, columns)
    if not job.is_same_character:
        poses = set_step_width(moved.poses, job.clip.poses.world.positions, job.bodies, contacts)
        moved = Clip(moved.times, poses, moved.name)
    if source.travels:
        shift = compute_body_shift(moved, job.target, soles, contacts, standing.floor, above)
        poses = move_hips(moved.poses, job.bodies[1], turn_z_up(job.bodies[1], shift, up))
        moved = Clip(moved.times, poses, moved.name)
    figure = figure_of(moved, rig=job.target, legs=contacts.legs, up=up)
    analysis = analyse_clip(moved, figure, contacts, soles, "keep", travels=source.travels)
    if above is not None:
        analysis = analysis._replace(above=above[analysis.repeats.rows][analysis.rows] / figure.metre)
    if source.bearing and (skipped or list_skipped_sides(job.match, ARM_PARTS)):
        notes += ("hands and knees do not bear: the match skips a row of an arm or leg",)
    elif source.bearing:
        bearing = carry_bearing(source.bearing, moved, analysis.motion, standing.floor / figure.metre)
        analysis = analysis._replace(bearing=bearing) if bearing else with_bearing(moved, analysis)
    return plant_analysed(moved, analysis, terrain, Allowed(), notes=()), (*notes, *sole_notes)


class Hands(NamedTuple):
    """How hands were moved.

    together   (F,) how much their distance from each other counts, 0 to 1
    near_body  (F, 2) how much their distance from the body counts
    notes      what was given up
    """

    together: Floats
    near_body: Floats
    notes: tuple[str, ...] = ()


def _move_hands(job: Transfer, bare: Pose, planted: Planted | None) -> tuple[Pose, Hands]:
    """Move hands near the body or each other."""
    poses, hands = _move_arm_ends(job, bare, planted)
    if poses.skeleton is bare.skeleton:
        return poses, hands
    is_same = poses.q is bare.q
    return (bare if is_same else Pose(bare.skeleton, poses.q, bare.translations, bare.scales)), hands


def _move_arm_ends(job: Transfer, bare: Pose, planted: Planted | None) -> tuple[Pose, Hands]:
    """Move the ends of arms. The poses have the joints that were added."""
    clip = job.clip
    nothing = Hands(np.zeros(len(clip)), np.zeros((len(clip), len(SIDES))))
    if job.options.hands == "directions" or job.is_same_character or len(list_known_arms(*job.bodies)) < len(SIDES):
        return bare, nothing
    bears = np.zeros(len(clip), dtype=np.bool_)
    if planted is not None and planted.bearing is not None:
        arms = [name.endswith(("hand", "elbow")) for name in planted.bearing.parts]
        bears = np.asarray(planted.bearing.on[:, arms].any(axis=1), dtype=np.bool_)
    source_poses, poses = (
        extend_poses(own, body.skeleton) for own, body in zip((clip.poses, bare), job.bodies, strict=True)
    )
    positions = source_poses.world.positions
    together = compute_touch_weights(clip.times, positions, job.bodies[0], bears)
    if list_skipped_sides(job.match, ARM_PARTS):
        sentence = "hands are not brought together: the match skips a row of an arm"
        return poses, nothing._replace(notes=(sentence,) if together.any() else ())
    poses = bring_hands_together(poses, together, positions, job.bodies)
    if not job.options.clear:
        return poses, nothing._replace(together=together)
    moves, near_body = compute_hand_moves(clip.times, (source_poses, poses), job.bodies, bears)
    return move_limb_ends(poses, job.bodies[1], ARM, moves), Hands(together, near_body)
