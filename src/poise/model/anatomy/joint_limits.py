"""Anatomical limits of ball joints from published ranges of motion.

Ranges are moved from the anatomical zero pose to the rest pose; clips may show the plane of bending, and the arm gets a
cone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Bools, Floats
from poise.maths.rotations import rotate
from poise.model.anatomy.rest_geometry import JointAxes, compute_joint_frame, project_perpendicular
from poise.model.anatomy.roll_bones import RollBone, find_roll_line
from poise.model.clip import Clip, KeyedClip
from poise.model.joint_tree import find_rotation_starts
from poise.model.limit_bounds import clamp_rotations, measure_rotation_excess, pack_limit
from poise.model.limits import Range, SwingTwist, unit_axis
from poise.model.skeleton import Kind, Skeleton
from poise.model.track_sampling import TrackTable, sample_tracks

# --- Published ranges of human joint motion [degrees], with their sources --------------------------------------------
#
# Sources
# -------
# AAOS        American Academy of Orthopaedic Surgeons, Joint Motion: Method of Measuring and Recording, 1965; the same
# figures stand as reference values in Norkin and White, Measurement of Joint Motion: A Guide to Goniometry.
# Floyd       Manual of Structural Kinesiology, appendix 1 (clavicle, horizontal motions of the arm).
# Kapandji    The Physiology of the Joints, volumes 1 and 2 (rotation of the shin, elbow hyperextension, foot aside).
# Levangie    Levangie and Norkin, Joint Structure and Function (forward rotation of the clavicle).
# ours        not measured by goniometers: the play of joints that are hinges in people and balls in rigs.


AAOS, FLOYD, KAPANDJI, LEVANGIE, POISE_SOURCE = "AAOS", "Floyd", "Kapandji", "Levangie", "ours"


class PublishedMotion(NamedTuple):
    """One published motion of a joint: name, range [degrees], source."""

    name: str
    degrees: float
    source: str


class MotionRanges(NamedTuple):
    """Motion ranges about the three axes of JointAxes. Each pair has the negative motion first.

    flexion    about the bend axis: extension and flexion, or their names at the joint
    abduction  about the axis aside: inward and outward
    twist      about the bone: outward (lateral rotation, supination, inversion) and inward
    """

    flexion: tuple[PublishedMotion, PublishedMotion]
    abduction: tuple[PublishedMotion, PublishedMotion]
    twist: tuple[PublishedMotion, PublishedMotion]


def _build_play_range(degrees: float = 5.0) -> tuple[PublishedMotion, PublishedMotion]:
    return PublishedMotion("play inward", degrees, POISE_SOURCE), PublishedMotion("play outward", degrees, POISE_SOURCE)


_PALM_ROTATIONS = (PublishedMotion("supination", 80, AAOS), PublishedMotion("pronation", 80, AAOS))

MOTION_RANGES = {
    "UpperLeg": MotionRanges(
        (PublishedMotion("extension", 30, AAOS), PublishedMotion("flexion", 120, AAOS)),
        (PublishedMotion("adduction", 30, AAOS), PublishedMotion("abduction", 45, AAOS)),
        (PublishedMotion("lateral rotation", 45, AAOS), PublishedMotion("medial rotation", 45, AAOS)),
    ),
    "LowerLeg": MotionRanges(
        (PublishedMotion("hyperextension", 10, AAOS), PublishedMotion("flexion", 135, AAOS)),
        _build_play_range(),
        (PublishedMotion("lateral rotation", 40, KAPANDJI), PublishedMotion("medial rotation", 30, KAPANDJI)),
    ),
    "Foot": MotionRanges(
        (PublishedMotion("plantarflexion", 50, AAOS), PublishedMotion("dorsiflexion", 20, AAOS)),
        (PublishedMotion("adduction", 20, KAPANDJI), PublishedMotion("abduction", 20, KAPANDJI)),
        (PublishedMotion("inversion", 35, AAOS), PublishedMotion("eversion", 15, AAOS)),
    ),
    "Toes": MotionRanges(
        (PublishedMotion("flexion", 45, AAOS), PublishedMotion("extension", 70, AAOS)),
        _build_play_range(15),
        _build_play_range(),
    ),
    "Shoulder": MotionRanges(
        (PublishedMotion("retraction", 15, FLOYD), PublishedMotion("protraction", 15, FLOYD)),
        (PublishedMotion("depression", 5, FLOYD), PublishedMotion("elevation", 45, FLOYD)),
        (PublishedMotion("backward rotation", 45, FLOYD), PublishedMotion("forward rotation", 10, LEVANGIE)),
    ),
    "UpperArm": MotionRanges(
        (PublishedMotion("extension", 60, AAOS), PublishedMotion("flexion", 180, AAOS)),
        (PublishedMotion("adduction", 30, KAPANDJI), PublishedMotion("abduction", 180, AAOS)),
        (PublishedMotion("lateral rotation", 90, AAOS), PublishedMotion("medial rotation", 70, AAOS)),
    ),
    "LowerArm": MotionRanges(
        (PublishedMotion("hyperextension", 10, KAPANDJI), PublishedMotion("flexion", 150, AAOS)),
        _build_play_range(),
        _PALM_ROTATIONS,
    ),
    "Hand": MotionRanges(
        (PublishedMotion("extension", 70, AAOS), PublishedMotion("flexion", 80, AAOS)),
        (PublishedMotion("ulnar deviation", 30, AAOS), PublishedMotion("radial deviation", 20, AAOS)),
        _PALM_ROTATIONS,  # rigs rotate the palm at the forearm or at the hand
    ),
    "spine": MotionRanges(
        (PublishedMotion("extension", 25, AAOS), PublishedMotion("flexion", 80, AAOS)),
        (PublishedMotion("side bend right", 35, AAOS), PublishedMotion("side bend left", 35, AAOS)),
        (PublishedMotion("turn right", 45, AAOS), PublishedMotion("turn left", 45, AAOS)),
    ),
    "neck": MotionRanges(
        (PublishedMotion("extension", 45, AAOS), PublishedMotion("flexion", 45, AAOS)),
        (PublishedMotion("side bend right", 45, AAOS), PublishedMotion("side bend left", 45, AAOS)),
        (PublishedMotion("turn right", 60, AAOS), PublishedMotion("turn left", 60, AAOS)),
    ),
}
"""By part of the body, as in JointAxes. Spine and neck are whole ranges, divided among their joints."""

MAX_JOINT_SHARE = 1.5
"""Range of a spine or neck joint, in equal shares of the whole range: people and rigs bend unevenly."""

STRAIGHT_REST_PLAY = {"LowerArm": _build_play_range(25)}
"""Play of a joint that is straight at rest, in a rig without evidence for its plane of bending."""

ARM_ELEVATION = (
    (-135.0, PublishedMotion("extension with adduction", 15, KAPANDJI)),
    (-90.0, PublishedMotion("extension", 60, AAOS)),
    (-45.0, PublishedMotion("horizontal abduction, arm level", 90, FLOYD)),
    (0.0, PublishedMotion("abduction", 180, AAOS)),
    (90.0, PublishedMotion("flexion", 180, AAOS)),
    (135.0, PublishedMotion("horizontal adduction, arm level", 90, FLOYD)),
    (180.0, PublishedMotion("adduction", 30, KAPANDJI)),
)
"""Elevation [degrees] of an arm from hanging, by the plane of motion: 0 outward, 90 forward.

Horizontal abduction of 45 and adduction of 135 degrees bound the planes of a level arm. Between planes the elevation is
interpolated linearly.
"""


# --- Published reach of the arm, and its SwingTwist cone -------------------------------------------------------------
#
# Goniometry measures the elevation of an arm from hanging in each plane (`ARM_ELEVATION`). A SwingTwist is a cone
# around the rest pose: hanging, level or up. Its four sides and its rotation about the arm are chosen for the least
# difference from the published reach, counted over all arm directions.


# number of arm directions, spread evenly over the sphere
_DIRECTION_COUNT = 1500
_CONE_ROTATIONS_RAD = np.radians(np.arange(-45.0, 45.0, 5.0))
_HALF_ANGLES_RAD = np.radians(np.arange(15.0, 181.0, 15.0))
_REFINEMENT_STEPS_RAD = np.radians((-10.0, -5.0, 0.0, 5.0, 10.0))
# cost of a direction in the cone but outside the published range; one left out costs 1
_EXCESS_WEIGHT = 1.5
# cost of leaving out a required direction: hanging, ahead, level, straight up
_REQUIRED_WEIGHT = 400.0


class ArmCone(NamedTuple):
    """Cone around the arm at rest.

    Fields: its first swing axis (3,), and (low, high) [rad] about the first and the second axis.
    """

    swing_axis: Floats
    swing_ranges: tuple[tuple[float, float], tuple[float, float]]


def fit_arm_cone(axes: JointAxes) -> ArmCone:
    """Fit the cone of an upper arm. The second swing axis is bone x across, as in SwingTwist."""
    second_axis = np.cross(axes.bone, axes.flexion_axis)
    mirror_sign = (
        1.0 if float(second_axis @ axes.abduction_axis) >= 0.0 else -1.0
    )  # the same orientation for left and right
    arm_directions, weights = _sample_directions(axes)
    fits: list[tuple[float, int, list[Floats]]] = []
    swings = [
        _compute_swing_vectors(
            axes.bone,
            _rotate_axis(axes.flexion_axis, second_axis, mirror_sign * cone_rotation),
            mirror_sign,
            arm_directions,
        )
        for cone_rotation in _CONE_ROTATIONS_RAD
    ]
    for cone_index, swing in enumerate(swings):
        cost, half_angles = _fit_sides(swing, weights, [_HALF_ANGLES_RAD] * 4)
        fits.append((cost, cone_index, half_angles))
    _, cone_index, half_angles = min(fits, key=lambda cone_fit: cone_fit[:2])
    refined_angles = [np.clip(side + _REFINEMENT_STEPS_RAD, _REFINEMENT_STEPS_RAD[-2], np.pi) for side in half_angles]
    a, b, c, d = (float(side) for side in _fit_sides(swings[cone_index], weights, refined_angles)[1])
    swing_axis = _rotate_axis(axes.flexion_axis, second_axis, mirror_sign * _CONE_ROTATIONS_RAD[cone_index])
    return ArmCone(swing_axis, ((-c, a), (-d, b) if mirror_sign > 0.0 else (-b, d)))


def is_arm_in_range(axes: JointAxes, arm_directions: Floats, slack: float = 0.0) -> Bools:
    """Return whether arm directions (..., 3) are in the published range. `slack` [rad] widens the range."""
    elevation = np.arccos(np.clip(arm_directions @ axes.zero_bone, -1.0, 1.0))
    plane = np.degrees(np.arctan2(arm_directions @ axes.forward, arm_directions @ axes.outward))
    known_planes, known_elevations = zip(*((plane, motion.degrees) for plane, motion in ARM_ELEVATION), strict=True)
    return elevation <= np.radians(np.interp(plane, known_planes, known_elevations, period=360.0)) + slack


def _rotate_axis(first: Floats, second: Floats, angle: float) -> Floats:
    return np.cos(angle) * first + np.sin(angle) * second


def _sample_directions(axes: JointAxes) -> tuple[Floats, Floats]:
    """Sample unit directions (n, 3) with their weights.

    Directions are mirrored for right arms; weights are negative inside the published range.
    """
    sample_numbers = np.arange(_DIRECTION_COUNT) + 0.5
    height, azimuth = 1.0 - 2.0 * sample_numbers / _DIRECTION_COUNT, np.pi * (1.0 + np.sqrt(5.0)) * sample_numbers
    level_radius = np.sqrt(1.0 - height**2)
    body_axes = np.stack([axes.outward, axes.forward, axes.up])
    arm_directions = (
        np.stack([level_radius * np.cos(azimuth), level_radius * np.sin(azimuth), height], axis=-1) @ body_axes
    )
    weights = np.where(is_arm_in_range(axes, arm_directions), -1.0, _EXCESS_WEIGHT)
    required_directions = np.stack([axes.zero_bone, axes.forward, axes.outward, -axes.zero_bone])
    return np.concatenate([arm_directions, required_directions]), np.concatenate(
        [weights, np.full(len(required_directions), -_REQUIRED_WEIGHT)]
    )


def _compute_swing_vectors(bone: Floats, swing_axis: Floats, mirror_sign: float, arm_directions: Floats) -> Floats:
    """Compute the swings (n, 2) [rad] to directions (n, 3). They start at rest.

    The second component is mirrored for right arms.
    """
    axis = np.cross(bone, arm_directions)
    sine = np.linalg.norm(axis, axis=1)
    vectors = axis * (np.arctan2(sine, arm_directions @ bone) / np.maximum(sine, 1e-12))[:, None]
    return np.stack([vectors @ swing_axis, mirror_sign * (vectors @ np.cross(bone, swing_axis))], axis=-1)


def _fit_sides(swings: Floats, weights: Floats, half_angles: list[Floats]) -> tuple[float, list[Floats]]:
    """Fit the four half-angles of a cone with the lowest cost.

    Return the cost, and the sides with high and low in turn.

    Each quarter of the cone depends on two sides only, so all combinations are cheap to evaluate.
    """
    x, y = np.abs(swings).T
    quadrant_of_swing = np.where(
        swings[:, 0] >= 0.0, np.where(swings[:, 1] >= 0.0, 0, 3), np.where(swings[:, 1] >= 0.0, 1, 2)
    )
    cost_tables: list[Floats] = []
    for quadrant in range(4):
        is_in_quadrant = quadrant_of_swing == quadrant
        first, second = (0, 1) if quadrant == 0 else (2, 1) if quadrant == 1 else (2, 3) if quadrant == 2 else (0, 3)  # noqa: PLR2004
        a, b = half_angles[first][:, None, None], half_angles[second][None, :, None]
        is_inside = (x[is_in_quadrant] / a) ** 2 + (y[is_in_quadrant] / b) ** 2 <= 1.0 + 1e-6
        cost_tables.append((is_inside * weights[is_in_quadrant]).sum(axis=-1))
    total_cost = (
        cost_tables[0][:, :, None, None]
        + cost_tables[1].T[None, :, :, None]
        + cost_tables[2][None, None]
        + cost_tables[3][:, None, None]
    )
    best_indices = np.unravel_index(int(np.argmin(total_cost)), total_cost.shape)
    return float(total_cost[best_indices]), [
        side[angle_index] for side, angle_index in zip(half_angles, best_indices, strict=True)
    ]


# --- Evidence from clips: planes of bending, and wrong limits --------------------------------------------------------


_HINGE_PARTS = ("LowerLeg", "LowerArm")
# sine of the bend angle: frames bent by less than 20 degrees do not show a plane
_MIN_BEND_SINE = float(np.sin(np.radians(20.0)))
_MIN_FRAME_COUNT = 5
# mean length of the unit vectors: frames must agree within about 15 degrees
_MIN_AGREEMENT_COSINE = float(np.cos(np.radians(15.0)))
# cosine: the plane must lie within 60 degrees of the expected one
_MIN_PLANE_COSINE = 0.5
# [rad] a frame counts as outside from here on: a person cannot reach it by bending a little more
_MIN_VIOLATION_RAD = np.radians(15.0)
# frames of all clips, eleven minutes at 30 Hz; more give the same planes and shares and take more time
_MAX_FRAMES = 20_000


def read_clip_rotations(skeleton: Skeleton, clips: Sequence[Clip], rows: Sequence[int]) -> dict[int, Floats]:
    """Read the quaternions (f, 4) of ball and free joints in clips.

    Of more than 20,000 frames that many are read, evenly spaced. Of a keyed clip only tracks of these joints are
    sampled.
    """
    columns = find_rotation_starts(skeleton.kinds[rows], skeleton.q_start[rows])[:, None] + np.arange(4)
    ends = np.cumsum([0, *(len(clip) for clip in clips)])
    frames = np.arange(ends[-1])
    if len(frames) > _MAX_FRAMES:
        frames = np.linspace(0, ends[-1] - 1, _MAX_FRAMES).astype(np.int64)
    chunks = [np.zeros((0, len(rows), 4))]
    for clip, start, end in zip(clips, ends[:-1], ends[1:], strict=True):
        clip_frames = frames[np.searchsorted(frames, start) : np.searchsorted(frames, end)] - start
        if isinstance(clip, KeyedClip):
            tracks = [track for track in clip.tracks if track.path == "rotation" and track.joint in rows]
            q = sample_tracks(skeleton, TrackTable(tracks), clip.times[clip_frames]).q
        else:
            q = clip.poses.q[clip_frames]
        chunks.append(q[:, columns])
    return dict(zip(rows, np.concatenate(chunks).transpose(1, 0, 2), strict=True))


def refine_bend_axes(
    skeleton: Skeleton, clip_rotations: dict[int, Floats], axes: Sequence[JointAxes]
) -> list[JointAxes]:
    """Refine the bend axes of elbows and knees from clips.

    `clip_rotations` has the quaternions (f, 4) of each row.

    A plane needs five frames, bent by 20 degrees or more, that agree within 15 degrees, and must lie within 60 degrees
    of the plane from the rest pose.
    """
    return [
        _refine_bend_axis(skeleton, clip_rotations[joint_axes.row], joint_axes)
        if joint_axes.part in _HINGE_PARTS
        else joint_axes
        for joint_axes in axes
    ]


def _refine_bend_axis(skeleton: Skeleton, quaternions: Floats, axes: JointAxes) -> JointAxes:
    joint_frame = compute_joint_frame(skeleton, axes.row)
    joint_axes = axes.express_in(joint_frame)
    bend_directions = rotate(quaternions, joint_axes.bone)
    bend_directions = bend_directions - (bend_directions @ joint_axes.bone)[:, None] * joint_axes.bone
    bend_sines = np.linalg.norm(bend_directions, axis=1)
    bend_directions = bend_directions[bend_sines > _MIN_BEND_SINE] / bend_sines[bend_sines > _MIN_BEND_SINE, None]
    if len(bend_directions) < _MIN_FRAME_COUNT:
        return axes
    mean_direction = bend_directions.mean(axis=0)
    expected_direction = np.cross(joint_axes.flexion_axis, joint_axes.bone)
    if (
        float(np.linalg.norm(mean_direction)) < _MIN_AGREEMENT_COSINE
        or float(project_perpendicular(mean_direction, joint_axes.bone) @ expected_direction) < _MIN_PLANE_COSINE
    ):
        return axes
    return axes.bend_towards(joint_frame @ mean_direction, "the file's clips")


def compute_violation_share(quaternions: Floats, limit: SwingTwist) -> float:
    """Compute the fraction of rotations (f, 4) outside a limit.

    A rotation counts from 15 degrees outside; the result is 0 without rotations.
    """
    if not len(quaternions):
        return 0.0
    return float(
        (
            measure_rotation_excess(quaternions, clamp_rotations(pack_limit(limit), quaternions)) > _MIN_VIOLATION_RAD
        ).mean()
    )


# --- Anatomical limits of a rig --------------------------------------------------------------------------------------


LIMIT_SOURCE = "anatomy"
# [rad] a rest pose further outside the range gives no limit
_MAX_REST_EXCESS_RAD = math.radians(30.0)
# fraction of frames outside a limit, above which the limit is dropped
_MAX_OUTSIDE_SHARE = 0.5
# [rad] rounding of the ends
_ROUNDING_RAD = math.radians(0.1)
# parts whose bones are slightly askew at rest: their play is around the rest pose
_CURVED_PARTS = ("LowerLeg", "LowerArm")


class JointLimit(NamedTuple):
    """Limit of one joint, with its reason.

    joint, role, part  as in JointAxes; of a roll bone the part that it rolls with, and no role
    limit              in the joint's own rest frame, as `Skeleton.with_limits` takes it; None without a limit
    reason             the published motions in degrees with their sources, divided among several joints;
                       the widening to the rest pose; or why there is no limit
    """

    joint: str
    role: str
    part: str
    limit: SwingTwist | Range | None
    reason: str


def compute_joint_limits(
    skeleton: Skeleton, axes: Iterable[JointAxes], clips: Sequence[Clip] = (), roll_bones: Sequence[RollBone] = ()
) -> tuple[JointLimit, ...]:
    """Compute the limits of ball and free joints from their axes. Hinges are left out: they have limits of their own.

    Roll bones become hinges about their line, with the twist of the bone that they roll with.

    A range counts from the anatomical zero pose, a limit from rest: the angles of the joint at rest are subtracted. An
    end that would exclude the rest pose is moved to it, and `reason` says so; a joint with a rest pose more than 30
    degrees outside gets no limit. Neither does a joint more than 15 degrees outside in most frames of the clips: then
    the rest pose does not show the rotation of the bone.
    """
    candidates = [joint_axes for joint_axes in axes if skeleton.kinds[joint_axes.row] in (Kind.BALL, Kind.FREE)]
    joint_counts = {part: sum(joint_axes.part == part for joint_axes in candidates) for part in ("spine", "neck")}
    roll_bones = [bone for bone in roll_bones if not bone.is_leaf]
    clip_rows = [each.row for each in (*candidates, *roll_bones)]
    clip_rotations = read_clip_rotations(skeleton, clips, clip_rows)
    candidates = refine_bend_axes(skeleton, clip_rotations, candidates)
    axes_of_row = {joint_axes.row: joint_axes for joint_axes in candidates}
    return (
        *[
            _compute_joint_limit(skeleton, each, joint_counts.get(each.part, 1), clip_rotations[each.row])
            for each in candidates
        ],
        *[
            _compute_roll_limit(skeleton, bone, axes_of_row[bone.upper], clip_rotations[bone.row])
            for bone in roll_bones
            if bone.upper in axes_of_row
        ],
    )


def _compute_roll_limit(skeleton: Skeleton, bone: RollBone, axes: JointAxes, quaternions: Floats) -> JointLimit:
    motions, name = MOTION_RANGES[axes.part].twist, skeleton.names[bone.row]
    (twist,), rest_excess = _shift_to_rest([_scale_range(motions, 1.0)], (axes.rotation,))
    low, high = map(_round_angle, twist if axes.side_sign > 0.0 else _mirror_range(twist))
    range_text = f"a roll bone, a hinge about its line: {_format_motions(motions, 1.0)}"
    if rest_excess > _MAX_REST_EXCESS_RAD:
        return JointLimit(name, "", axes.part, None, f"rests {_format_degrees(rest_excess)} outside of {range_text}")
    line = unit_axis(find_roll_line(skeleton, bone) @ compute_joint_frame(skeleton, bone.row))
    violation_share = compute_violation_share(quaternions, SwingTwist(line, 0.0, (low, high)))
    if violation_share > _MAX_OUTSIDE_SHARE:
        reason = f"clips of the file leave it in {100.0 * violation_share:.0f} % of their frames: {range_text}"
        return JointLimit(name, "", axes.part, None, reason)
    widening_note = f"; widened by {_format_degrees(rest_excess)} to its rest" if rest_excess > _ROUNDING_RAD else ""
    return JointLimit(name, "", axes.part, Range(low, high, line, LIMIT_SOURCE), range_text + widening_note)


def _compute_joint_limit(skeleton: Skeleton, axes: JointAxes, joint_count: int, quaternions: Floats) -> JointLimit:
    ranges = MOTION_RANGES[axes.part]
    if axes.part in STRAIGHT_REST_PLAY and not axes.is_bend_clear:
        ranges = ranges._replace(abduction=STRAIGHT_REST_PLAY[axes.part])
    range_share = 1.0 if joint_count == 1 else min(1.0, MAX_JOINT_SHARE / joint_count)
    swing = _compute_arm_swing(axes) if axes.part == "UpperArm" else _compute_swing_range(axes, ranges, range_share)
    (twist,), twist_excess = _shift_to_rest([_scale_range(ranges.twist, range_share)], (axes.rotation,))
    twist = twist if axes.side_sign > 0.0 else _mirror_range(twist)
    rest_excess = max(swing.rest_excess, twist_excess)
    range_text = _format_motions([*swing.published_motions, *ranges.twist], range_share)
    if rest_excess > _MAX_REST_EXCESS_RAD:
        return JointLimit(
            axes.joint, axes.role, axes.part, None, f"rests {_format_degrees(rest_excess)} outside of {range_text}"
        )
    limit = _build_limit(compute_joint_frame(skeleton, axes.row), axes, swing, twist)
    violation_share = compute_violation_share(quaternions, limit)
    if violation_share > _MAX_OUTSIDE_SHARE:
        reason = f"clips of the file leave it in {100.0 * violation_share:.0f} % of their frames: {range_text}"
        return JointLimit(axes.joint, axes.role, axes.part, None, reason)
    widening_note = f"; widened by {_format_degrees(rest_excess)} to its rest" if rest_excess > _ROUNDING_RAD else ""
    return JointLimit(axes.joint, axes.role, axes.part, limit, range_text + widening_note)


class _SwingRange(NamedTuple):
    """Swing range of a joint.

    Fields: the first swing axis in the world, (low, high) about both axes, the published motions, and the distance
    [rad] of the rest pose outside.
    """

    swing_axis: Floats
    swing_ranges: tuple[tuple[float, float], tuple[float, float]]
    published_motions: list[PublishedMotion]
    rest_excess: float


def _compute_arm_swing(axes: JointAxes) -> _SwingRange:
    cone = fit_arm_cone(axes)
    return _SwingRange(cone.swing_axis, cone.swing_ranges, [motion for _, motion in ARM_ELEVATION], 0.0)


def _compute_swing_range(axes: JointAxes, ranges: MotionRanges, range_share: float) -> _SwingRange:
    rest_angles = (axes.flexion, 0.0 if axes.part in _CURVED_PARTS else axes.abduction)
    (flexion_range, abduction_range), rest_excess = _shift_to_rest(
        [_scale_range(ranges.flexion, range_share), _scale_range(ranges.abduction, range_share)], rest_angles
    )
    is_mirrored = float(np.cross(axes.bone, axes.flexion_axis) @ axes.abduction_axis) < 0.0
    return _SwingRange(
        axes.flexion_axis,
        (flexion_range, _mirror_range(abduction_range) if is_mirrored else abduction_range),
        [*ranges.flexion, *ranges.abduction],
        rest_excess,
    )


def _build_limit(frame: Floats, axes: JointAxes, swing: _SwingRange, twist: tuple[float, float]) -> SwingTwist:
    bone, across = (unit_axis(vector @ frame) for vector in (axes.bone, swing.swing_axis))
    first, second, twist_range = ((_round_angle(low), _round_angle(high)) for low, high in (*swing.swing_ranges, twist))
    return SwingTwist(bone, (first, second), twist_range, across, LIMIT_SOURCE)


def _scale_range(motion_pair: tuple[PublishedMotion, PublishedMotion], range_share: float) -> tuple[float, float]:
    return -math.radians(motion_pair[0].degrees) * range_share, math.radians(motion_pair[1].degrees) * range_share


def _shift_to_rest(
    angle_ranges: list[tuple[float, float]], rest_angles: tuple[float, ...]
) -> tuple[list[tuple[float, float]], float]:
    """Shift ranges to the rest pose, and widen them to it.

    Also return the distance [rad] of the rest pose outside.
    """
    shifted_ranges = [
        (low - rest_angle, high - rest_angle) for (low, high), rest_angle in zip(angle_ranges, rest_angles, strict=True)
    ]
    rest_excess = max(max(low, -high, 0.0) for low, high in shifted_ranges)
    return [(max(min(low, 0.0), -math.pi), min(max(high, 0.0), math.pi)) for low, high in shifted_ranges], rest_excess


def _mirror_range(angle_range: tuple[float, float]) -> tuple[float, float]:
    return -angle_range[1], -angle_range[0]


def _round_angle(angle: float) -> float:
    return min(max(round(angle / _ROUNDING_RAD) * _ROUNDING_RAD, -math.pi), math.pi) + 0.0


def _format_degrees(angle: float) -> str:
    return f"{math.degrees(angle):.1f} degrees"


def _format_motions(motions: Iterable[PublishedMotion], range_share: float) -> str:
    """Format motions in degrees, grouped by source."""
    motions_by_source: dict[str, list[str]] = {}
    for motion in motions:
        motions_by_source.setdefault(motion.source, []).append(
            f"{motion.name} {round(motion.degrees * range_share, 1):g}"
        )
    text = "; ".join(f"{', '.join(motion_texts)} ({source})" for source, motion_texts in motions_by_source.items())
    return text if range_share == 1.0 else f"{text}, {range_share:.2g} of the whole"
