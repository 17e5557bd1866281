"""plant_feet() puts feet on the ground; lock_feet() stops foot sliding.

The second keeps feet on the floor of the clip itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, Literal, get_args

import numpy as np

from poise.calls.argument_checks import check_bool, check_choice
from poise.calls.progress import Advance, ignore_progress, report_progress
from poise.errors import FileError, InputError, UnsupportedError
from poise.ground.bearing.limbs import with_arms
from poise.ground.bearing.parts import Bearing, leaning
from poise.ground.checks import check_reach, check_soles, check_terrain, check_under
from poise.ground.contact.contact_files import load_contacts
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.planted_clips import find_planted_clip
from poise.ground.contact.plants import STEEPEST_RAD, STEP_M, Plants, find_raised_stances, plants_as_they_are
from poise.ground.contact.soles import Soles
from poise.ground.figure.figure import Figure, Up, figure_of
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import BALL, motion_of
from poise.ground.figure.speeds import lone_frames
from poise.ground.found import analyse_clip, floor_of, with_bearing
from poise.ground.legs.feet import floor_level, join_rolls
from poise.ground.legs.legs import Turned
from poise.ground.legs.write_back import leaning_poses, moved_poses, write_poses, written_exactly
from poise.ground.notes import notes_of
from poise.ground.report.report import Report, report_of
from poise.ground.robot.planting import (
    PlantedRobot,
    RobotFeet,
    RobotSource,
    check_rigid,
    measure_robot_feet,
    plant_robot,
)
from poise.ground.robot.stance_notes import describe_stances
from poise.ground.stages import Allowed, ClipAnalysis, InPlace, in_clip, stand
from poise.ground.strides.fit import PlantedSteps, WithStrides, fits, judge_steps, keep_strides
from poise.ground.terrain.terrain import Terrain
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import find_following
from poise.maths.vectors import median
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, find_free_root

Stride = Literal["keep", "fit"]

_SLOWEST, _ENOUGH = 24.0, 30.0  # [frames/s] clips with fewer than the first are sampled at the second
_FILM = 0.002  # a rate that is lower by this share is the same: film has 23.976
_LESS_FAR = 0.3  # of `farthest`, where plants that were moved off an edge by more leave out a tread
_ROUNDED = 1e-9  # [rad]
_STAGES = 3  # of the progress: finding contacts, placing feet, writing poses
_UNEVEN = 0.1  # frames whose distances differ by more than this share are sampled evenly


@dataclass(frozen=True, eq=False, repr=False)
class Planted(Clip):
    """A clip with planted feet, and a record of the changes. It is a Clip, which can be saved.

    Parameters
    ----------
    times, poses, name
        As for Clip.
    source
        The clip as it came, at the same times.
    travelled
        The source, carried over the ground if it walked in place, with the strides that fit if these were asked for:
        the result is measured against it.
    contacts
        When heel and ball of each foot stand; also where they hang over the edge of a tread that is too short.
    soles
        The points of the feet that stand.
    figure
        Legs, up axis and metre.
    terrain
        The ground in the clip's own lengths and axes, whatever it was made in: `planted.terrain.heights(points)` takes
        points of the clip.
    plants
        Where each stance was planted.
    velocity
        (2,) [m/s] at which the ground passes under a clip that walks in place; None if it does not.
    passed
        (F, 3) [m] how far the ground has passed under a clip that was kept in place; None otherwise.
    kept
        (F, L) where a leg keeps its pose: in a reference pose in front of the clip, which no motion leads to.
    bearing
        When hands, elbows, knees and hips are on the ground; None where none of them ever is.
    notes
        What was assumed or given up, a sentence each.
    """

    source: Clip = field(kw_only=True)
    travelled: Clip = field(kw_only=True)
    contacts: Contacts = field(kw_only=True)
    soles: Soles = field(kw_only=True)
    figure: Figure = field(kw_only=True)
    terrain: Terrain = field(kw_only=True)
    plants: Plants = field(kw_only=True)
    velocity: Floats | None = field(kw_only=True)
    passed: Floats | None = field(kw_only=True, default=None)
    kept: Bools = field(kw_only=True)
    bearing: Bearing | None = field(kw_only=True, default=None)
    notes: tuple[str, ...] = field(kw_only=True, default=())

    @property
    def clip(self) -> Clip:
        """The clip itself: a Planted is one."""
        return self

    @cached_property
    def report(self) -> Report:
        """Measures of the feet before and after. Computed on first access."""
        held = dataclasses.replace(
            self.contacts, heel=self.contacts.heel & ~self.kept, ball=self.contacts.ball & ~self.kept
        )
        source, result = (_without_lone_frames(clip, self.kept) for clip in (self.travelled, self))
        return report_of(
            source, result, held, self.soles, self.figure, self.terrain,
            passed=self.passed, higher=self._higher, bearing=self.bearing, notes=self.notes,
        )  # fmt: skip

    @property
    def _higher(self) -> Floats:
        """Heights (F, L) [m] of planted feet above the ground. They stand on rungs that the terrain does not have."""
        stands = np.where(self.plants.hangs[:, 1:], self.plants.heel, self.plants.ball)
        over = stands[:, 2] - Footing(self.terrain, self.figure).heights(stands)
        higher = np.zeros(self.contacts.heel.shape)
        for leg, start, end, height in zip(*self.plants.stances[:3], over, strict=True):
            higher[start:end, leg] = height
        return higher


def _without_lone_frames(clip: Clip, kept: Bools) -> Clip:
    """Return a clip with the kept frames (F, L) as the next. No motion leads from them."""
    lone = np.asarray(kept.all(axis=1), dtype=np.bool_)
    if not lone.any() or lone.all():
        return clip
    return Clip(clip.times, clip.poses[find_following(lone)], clip.name)


def plant_feet(
    clip: Clip,
    terrain: Terrain,
    *,
    rig: Rig | None = None,
    legs: Sequence[str] | None = None,
    contacts: Contacts | str | PathLike[str] | None = None,
    soles: Soles | None = None,
    in_place: InPlace = "travel",
    stride: Stride = "keep",
    feet_only: bool = False,
    up: Up | None = None,
    metre: float | None = None,
    steepest: float = STEEPEST_RAD,
    farthest: float = 0.15,
    stretch: float = 0.0,
    progress: bool | Callable[[int, int, str], None] | None = None,
) -> Planted:
    """Put the feet of a clip on the ground.

    Parameters
    ----------
    clip
        What the figure does. A figure that walks in place is carried over the ground first; see `in_place`.
    terrain
        The ground. Lengths of the built-in shapes are metres of the figure, those of files the clip's own.
    rig
        The rig whose roles say which joints are legs (its sidecar counts); by default the clip's skeleton is asked. A
        robot's has the collision shapes of its soles, too.
    legs
        Names of the legs to plant, of `rig.roles.legs` and `.apart`; by default all.
    contacts
        When feet stand; by default found by the speed and height of heel and ball. A path is a .json file, or a
        sidecar (.toml) with contacts of this clip, as for `--contacts` of the command line.
    soles
        The points of the feet that stand, such as those of another clip of this figure; by default found.
    in_place
        "travel": a figure that walks in place gets the motion that its standing feet imply. "keep": it stays where it
        is, and its feet stand on ground that passes under it. "refuse": UnsupportedError.
    stride
        "keep": steps are as long as in the clip. "fit": where a step would climb two treads of stairs or more, steps
        are made shorter, or a little longer, so that each climbs one; the timing stays. The clip then goes less far.
    feet_only
        Leave hands, elbows, knees and hips as they are, also where they are on the ground.
    up
        "y" or "z"; by default the axis that the legs lead away from.
    metre
        File units per metre; by default the figure counts as 1.7 m tall.
    steepest
        [rad] by which a foot is tilted at most.
    farthest
        [m] by which a plant is moved at most, along the foot, to get off an edge.
    stretch
        Share by which legs may become longer where nothing else helps; 0.02 is not analysis. Bones then change their
        lengths, which BVH cannot hold.
    progress
        As for `solve`. A function is called with the number of stages done, the number of all stages and the name of
        the present one.

    Returns
    -------
    Planted
        The clip on the ground, with contacts, plants and a report.

    Raises
    ------
    InputError
        For ground that is under none of the places where feet stand, or farther from a foot than half its leg.
    UnsupportedError
        For a figure that walks in place, with in_place="refuse", or with stride="fit" and in_place="keep"; for a robot
        with steepest, farthest or stretch, or with stride="fit".

    Notes
    -----
    Standing, heel and ball keep their places; the foot turns about the point that stands. The pelvis follows the ground
    and sinks where a leg would be too short, after its heel was lifted. Knees keep the side that they were animated on.
    Hands, elbows and knees that bear stay where they are put down, too, and a body that lies leans with the ground.
    In the air feet go smoothly from stance to stance, over what is in their way. See docs/feet.md.

    Of a robot, whose legs turn on hinges, the whole body is solved over all frames, within limits and speeds. Notes
    name stances that are not held. Its knees bend either way, up to the limits of its file. Its hands and knees are not
    planted.

    A clip whose frames lie unevenly in time, or below 24 a second, is sampled evenly first, at 30 or more. One that
    stands on this ground already, feet still and on it, comes back as it is, so that planting a figure twice is
    planting it once. Contacts of a robot may be found anew then.
    """
    clip, note = even(clip)
    feet_only = check_bool(feet_only, "feet_only")
    options = Allowed(steepest, farthest, stretch).check_ranges()
    check_terrain(terrain)
    clip = free_base(clip)
    figure = figure_of(clip, rig=rig, legs=legs, up=up, metre=metre)
    robot = _measure_robot(clip, figure, rig, soles, options)
    feet_only, soles = feet_only or robot is not None, robot.points if robot else soles
    found_contacts = _load_given(contacts, clip, rig, legs)
    with report_progress(progress, "planting", _STAGES) as advance:
        advance(0, "finding contacts")
        analysis = analyse_clip(clip, figure, found_contacts, soles, _one_of(in_place, "in_place", InPlace))
        if _one_of(stride, "stride", Stride) == "fit":
            if robot:
                raise UnsupportedError(
                    "strides of a robot are not fitted to treads: fit those of the clip that it is retargeted from"
                )
            advance(1, "fitting strides")
            return _plant_with_strides(clip, analysis, terrain, options, feet_only=feet_only, notes=note)
        known = (*note, *(robot.notes if robot else ()))
        left = _keep_if_planted(clip, analysis, terrain, soles, options, feet_only=feet_only, notes=known)
        if left is not None:
            return left
        if robot:
            return _plant_robot(clip, analysis, robot, terrain, notes=known, advance=advance)
        analysis = analysis if feet_only else with_bearing(clip, analysis)
        return plant_analysed(clip, analysis, terrain, options, notes=note, advance=advance)


def lock_feet(
    clip: Clip,
    *,
    rig: Rig | None = None,
    legs: Sequence[str] | None = None,
    contacts: Contacts | str | PathLike[str] | None = None,
    soles: Soles | None = None,
    in_place: InPlace = "keep",
    feet_only: bool = False,
    up: Up | None = None,
    metre: float | None = None,
    stretch: float = 0.0,
    progress: bool | Callable[[int, int, str], None] | None = None,
) -> Planted:
    """Remove foot sliding from a clip on level ground. `plant_feet` on the floor that the clip itself has.

    Parameters
    ----------
    clip
        What the figure does. A clip that walks in place stays there, on ground that passes under it.
    rig, legs, contacts, soles, in_place, feet_only, up, metre, stretch, progress
        As for `plant_feet`.

    Returns
    -------
    Planted
        The clip with feet that stand. Feet that stand well above the floor, on a step or a rung, stay as high.
    """
    clip, note = even(clip)
    feet_only = check_bool(feet_only, "feet_only")
    options = Allowed(stretch=stretch).check_ranges()
    clip = free_base(clip)
    figure = figure_of(clip, rig=rig, legs=legs, up=up, metre=metre)
    robot = _measure_robot(clip, figure, rig, soles, options)
    feet_only, soles = feet_only or robot is not None, robot.points if robot else soles
    found_contacts = _load_given(contacts, clip, rig, legs)
    with report_progress(progress, "locking", _STAGES) as advance:
        advance(0, "finding contacts")
        analysis = analyse_clip(clip, figure, found_contacts, soles, _one_of(in_place, "in_place", InPlace))
        known = (*note, *(robot.notes if robot else ()))
        left = _keep_if_planted(clip, analysis, None, soles, options, feet_only=feet_only, notes=known)
        if left is not None:
            return left
        analysis = analysis if feet_only else with_bearing(clip, analysis, near=0.0)  # nothing is to be in the ground
        floor = floor_of(clip, analysis, near=0.0)
        options, ground = options._replace(floor=floor), Terrain.flat(floor, up=figure.up)
        if robot:
            return _plant_robot(clip, analysis, robot, ground, on_own_floor=True, notes=known, advance=advance)
        return plant_analysed(clip, analysis, ground, options, notes=note, advance=advance)


def free_base(clip: Clip) -> Clip:
    """Return the clip of a robot on a free base. Other clips are returned as they are."""
    skeleton = clip.skeleton
    if not {Kind.HINGE, Kind.SLIDE}.intersection(skeleton.kinds) or find_free_root(skeleton) is not None:
        return clip
    return Clip(np.array(clip.times), clip.poses.on(skeleton.with_free_root()), clip.name)


def _measure_robot(
    clip: Clip, figure: Figure, rig: Rig | None, soles: Soles | None, options: Allowed
) -> RobotFeet | None:
    """Measure the feet of a robot. None for figures whose legs turn freely."""
    if not figure.is_robot:
        return None
    check_rigid(clip)
    if options.stretch:
        raise UnsupportedError("legs of a robot are rigid: they have no stretch")
    if options != Allowed():
        raise UnsupportedError("feet of a robot stand as the ground does: leave out steepest and farthest")
    check_soles(soles, figure)
    feet = measure_robot_feet(figure, rig)
    return feet if soles is None else feet.with_points(soles)


def _load_given(
    contacts: Contacts | str | PathLike[str] | None, clip: Clip, rig: Rig | None, legs: Sequence[str] | None
) -> Contacts | None:
    """Load contacts given by a path; return others as they are."""
    if not isinstance(contacts, str | PathLike):
        return contacts
    loaded = load_clip_contacts(contacts, clip, rig, legs)
    if loaded is None:
        raise FileError(contacts, f"holds no contacts of the clip {clip.name!r}")
    return loaded


def load_clip_contacts(
    path: str | PathLike[str], clip: Clip, rig: Rig | None, legs: Sequence[str] | None
) -> Contacts | None:
    """Load the contacts of some legs of a clip.

    The file may also have other legs of the figure. Returns None for a sidecar without contacts of the clip.
    """
    leg_names, times = tuple(leg.name for leg in figure_of(free_base(clip), rig=rig).legs), even(clip)[0].times
    contacts = load_contacts(path, clip.name, leg_names, times)
    if contacts is None or legs is None:
        return contacts
    intervals = {leg: points for leg, points in contacts.intervals().items() if leg in legs}
    return Contacts.from_intervals(intervals, tuple(legs), times)


def _one_of(word: Any, name: str, known: Any) -> Any:
    """Return a word. InputError if it is unknown."""
    check_choice(word, name, get_args(known))
    return word


def even(clip: Clip) -> tuple[Clip, tuple[str, ...]]:
    """Resample a clip to a constant frame rate. With a sentence if it was needed."""
    if not isinstance(clip, Clip):
        what: Any = type(clip).__name__
        raise InputError(f"give a Clip, such as rig.clips[0], not a {what}")
    steps = np.diff(clip.times)
    if len(steps) == 0:
        return clip, ()
    middle = float(median(steps))
    regular = bool((np.abs(steps - middle) <= _UNEVEN * middle).all())
    if regular and middle * _SLOWEST <= 1.0 + _FILM:
        return clip, ()
    rate = float(np.clip(1.0 / middle if middle > 0 else _ENOUGH, _ENOUGH, 120.0))
    why = "its frames are few" if regular else "its frames lie unevenly in time"
    return clip.resample(rate), (f"sampled at {rate:.3g} frames a second: {why}",)


def _plant_with_strides(
    clip: Clip, analysis: ClipAnalysis, terrain: Terrain, options: Allowed, *, feet_only: bool, notes: tuple[str, ...]
) -> Planted:
    """Plant a clip with strides fitted to the treads. As if it had come so."""
    if analysis.velocity is not None and analysis.mode == "keep":
        raise UnsupportedError(
            f"clip {clip.name!r} walks in place and is kept there, where no stride can be fitted to treads: "
            '"travel" for in_place carries it over the ground, "keep" for stride leaves its strides'
        )
    footing, tries = Footing(terrain, analysis.motion.figure), list[tuple[PlantedSteps, Planted]]()

    def try_strides(made: WithStrides, share: float = 1.0) -> tuple[PlantedSteps, Planted]:
        allowed = options._replace(farthest=share * options.farthest)
        found = made.analysis if feet_only else with_bearing(made.clip, made.analysis)
        planted = plant_analysed(made.clip, found, terrain, allowed, notes=(*notes, *made.notes))
        steps = judge_steps((clip, planted.travelled, planted), planted.plants, planted.report.worse, footing)
        return steps, dataclasses.replace(planted, source=clip, notes=(*planted.notes, *steps.notes))

    for made in fits(clip, analysis, footing):
        tries.append(try_strides(made))
        if made.clip is clip:
            return tries[-1][1]
        if tries[-1][0].over:
            tries.append(try_strides(made, _LESS_FAR))
        if tries[-1][0].fine:
            break
    best = min(tries, key=lambda one: one[0].rank)
    if best[0].over:
        best = min(try_strides(keep_strides(clip, analysis)), best, key=lambda one: one[0].over)
    return best[1]


def _keep_if_planted(
    clip: Clip,
    analysis: ClipAnalysis,
    terrain: Terrain | None,
    soles: Soles | None,
    options: Allowed,
    *,
    feet_only: bool,
    notes: tuple[str, ...],
) -> Planted | None:
    """Return the unchanged clip if it is planted on this ground.

    Nothing of it may be worse than its bound, unless its feet turn about points of their soles or stand at different
    heights: planted once more it would climb its ground twice.

    terrain  None for the clip's own floor
    """
    if analysis.velocity is not None:
        return None
    figure, own = analysis.motion.figure, terrain is None
    terrain = terrain or Terrain.flat(floor_of(clip, analysis, near=0.0), up=figure.up)
    footing, given = Footing(terrain, figure), in_clip(analysis) if analysis.given else None
    found = find_planted_clip(analysis.motion, footing, analysis.soles, soles, given, own=own)
    if found is None:
        return None
    if own:
        terrain = Terrain.flat(floor_level(analysis.motion, found.soles, found.contacts), up=figure.up)
        footing = Footing(terrain, figure)
    plants = plants_as_they_are(analysis.motion, found.soles, found.contacts, footing)
    if (2.0 * np.arccos(np.minimum(np.abs(plants.tilt[:, 0]), 1.0)) > options.steepest + _ROUNDED).any():
        return None
    analysis = analysis._replace(soles=found.soles, contacts=found.contacts.at(analysis.fine.times))
    ground = footing.heights(analysis.motion.places[:, :, BALL])
    level = np.ptp(ground) == 0.0  # else nobody knows how high its floor is
    bearing = with_bearing(clip, analysis).bearing if level and not feet_only else None
    as_it_is = Planted(
        np.array(clip.times), clip.poses, clip.name, source=clip, travelled=clip, contacts=found.contacts,
        soles=found.soles, figure=analysis.motion.figure, terrain=_in_clip(terrain, analysis.motion.figure),
        velocity=None, plants=plants,
        kept=np.repeat(lone_frames(analysis.motion)[:, None], len(found.contacts.legs), axis=1),
        bearing=bearing, notes=(*notes, "it stands on this ground already, and is left as it is"),
    )  # fmt: skip
    if found.turned or np.ptp(ground[found.contacts.any]) > 0.0:
        return as_it_is
    return as_it_is if as_it_is.report.ok else None


def _plant_robot(
    clip: Clip,
    analysis: ClipAnalysis,
    robot: RobotFeet,
    terrain: Terrain,
    *,
    on_own_floor: bool = False,
    notes: tuple[str, ...],
    advance: Advance,
) -> Planted:
    """Plant the clip of a robot. It is solved over all frames."""
    motion, repeats, figure = analysis.motion, analysis.repeats, analysis.motion.figure
    footing, lone = Footing(terrain, figure), lone_frames(motion)
    held = join_rolls(analysis.contacts).every(analysis.finer)
    advance(1, "placing feet")
    floor = floor_level(analysis.fine, analysis.soles, analysis.contacts)
    above = np.zeros(held.heel.shape)
    if on_own_floor:
        above = find_raised_stances(motion, analysis.soles, held, floor, least=STEP_M)
    source = RobotSource(motion, held, clip.poses.q[repeats.rows], analysis.offsets, floor, above)
    planted = _solve_robot(source, robot, footing, lone)
    advance(1, "writing poses")
    offsets, rows, contacts = analysis.offsets[repeats.middle], repeats.middle, in_clip(analysis)
    kept = np.broadcast_to(lone[rows, None], contacts.heel.shape).copy()
    poses = carried = Pose(clip.skeleton, planted.q[rows])
    still = np.zeros_like(offsets)
    if analysis.velocity is not None and analysis.mode == "keep":
        still, poses = offsets, moved_poses(carried, figure, -offsets)
    travelled = clip
    if analysis.velocity is not None and analysis.mode == "travel":
        travelled = Clip(clip.times, moved_poses(clip.poses, figure, offsets), clip.name)
    moved = motion_of(Clip(clip.times, carried), figure)
    standing = dataclasses.replace(contacts, heel=contacts.heel & ~kept, ball=contacts.ball & ~kept)
    check_reach(moved, standing, planted.missing[rows])
    plants = plants_as_they_are(moved, robot.points, standing, footing)
    faults = describe_stances(moved, standing, robot, footing, above[rows], planted.tilts[rows], carried.q)
    return Planted(
        np.array(clip.times), poses, clip.name,
        source=clip, travelled=travelled, contacts=contacts, soles=robot.points, figure=figure,
        terrain=_in_clip(terrain, figure), plants=plants, velocity=analysis.velocity,
        passed=still if analysis.mode == "keep" else None, kept=kept,
        notes=(*notes, *faults),
    )  # fmt: skip


def _solve_robot(source: RobotSource, robot: RobotFeet, footing: Footing, lone: Bools) -> PlantedRobot:
    """Plant a robot. Lone frames (F,) keep their pose."""
    check_under(plants_as_they_are(source.motion, robot.points, source.contacts, footing), footing)
    if not lone.any():
        return plant_robot(source, robot, footing)
    figure, on = source.motion.figure, source.contacts.any
    q = moved_poses(Pose(figure.skeleton, source.q), figure, source.offsets).q.copy()
    tilts, missing = np.zeros(on.shape, dtype=np.bool_), np.zeros(on.shape)
    if not lone.all():
        q[~lone], tilts[~lone], missing[~lone] = plant_robot(source.take(~lone), robot, footing)
    return PlantedRobot(q, tilts, missing)


def _in_clip(terrain: Terrain, figure: Figure) -> Terrain:
    return terrain.for_clip(figure.metre, figure.up)


def plant_analysed(
    clip: Clip, analysis: ClipAnalysis, terrain: Terrain, options: Allowed, notes: tuple[str, ...],
    *, advance: Advance = ignore_progress,
) -> Planted:  # fmt: skip
    """Plant an analysed clip.

    clip      at an even frame rate
    analysis  of this clip, by `analyse_clip`
    """
    motion, repeats, offsets = analysis.motion, analysis.repeats, analysis.offsets[analysis.repeats.middle]
    footing = Footing(terrain, motion.figure)
    advance(1, "placing feet")
    standing = stand(analysis, footing, options)
    advance(1, "writing poses")
    contacts = in_clip(standing.analysis)
    lean, upright = standing.down.lean, clip.poses
    if lean:
        figure = leaning(motion.figure, analysis.bearing.arms) if analysis.bearing else motion.figure
        upright = leaning_poses(upright, figure, repeats.take_middle(lean), offsets)
    turned, still_frames = repeats.take_middle(standing.turned), standing.still[repeats.middle]
    kept = np.broadcast_to(still_frames[:, None], contacts.heel.shape).copy()
    plants = repeats.plants(standing.down.plants)
    still = offsets if analysis.mode == "keep" else np.zeros_like(offsets)
    body, feet = repeats.take_middle(standing.body), repeats.take_middle(standing.down.feet)

    def write(legs: Turned) -> Pose:
        return write_poses(upright, body, legs, offsets, still)

    if analysis.bearing and analysis.bearing.on.any():  # knees that bear are where they are to be: no leg is bent anew
        poses = write(turned)
    else:
        poses = written_exactly(body, analysis.soles, feet, turned, write, still)
    if analysis.bearing and lean:
        poses = with_arms(analysis.bearing, poses, motion.figure, lean, footing)
    carried = clip
    if analysis.velocity is not None and analysis.mode == "travel":
        carried = Clip(clip.times, moved_poses(clip.poses, motion.figure, offsets), clip.name)
    descriptions = notes_of(analysis.velocity, analysis.mode, contacts, plants, turned, footing, kept, analysis.bearing)
    return Planted(
        np.array(clip.times), poses, clip.name,
        source=clip, travelled=carried, contacts=contacts, soles=analysis.soles, figure=motion.figure,
        terrain=_in_clip(terrain, motion.figure),
        plants=plants, velocity=analysis.velocity, passed=still if analysis.mode == "keep" else None,
        kept=kept, bearing=analysis.bearing,
        notes=(*notes, *descriptions),
    )  # fmt: skip
