"""Path of the hips, scaled by leg lengths, and the ground below."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from poise.errors import PoiseError, UnsupportedError
from poise.ground.bearing.parts import Bearing
from poise.ground.contact.contacts import Contacts, Thresholds, find_runs
from poise.ground.contact.plants import STEP_M, find_raised_stances
from poise.ground.contact.soles import BALL_POINT, TIP_POINT, Soles, find_rest_soles, find_soles
from poise.ground.figure.figure import Figure, Up, figure_of
from poise.ground.figure.motion import ANKLE, BALL, Motion, motion_of, rest_motion
from poise.ground.found import analyse_clip, floor_of, with_bearing
from poise.ground.robot.planting import measure_robot_feet
from poise.ground.stages import ClipAnalysis, in_clip
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.frame_masks import count_frames
from poise.maths.smoothing import average_hann
from poise.maths.vectors import find_z_up_rotation, median
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.pose_draft import PoseDraft
from poise.model.rig import Rig
from poise.model.skeleton import Kind
from poise.retargeting.body import Body
from poise.retargeting.flat_feet import measure_flat_feet
from poise.retargeting.paired_soles import FootPair, find_foot_pair

RootMotion = Literal["travel", "in_place", "keep"]
KEPT_HIPS_NOTE = "no feet were planted: the hips keep the source's numbers"

# height of an ankle over the sole, of the length of thigh and shin (Drillis & Contini 1966), and the most that
# counts in a clip and at rest: characters in boots have high ankles
_ANKLE_RATIO, _MAX_ANKLE_RATIO, _MAX_REST_ANKLE_RATIO = 0.08, 0.125, 0.6
# of the height at rest: a higher ankle in a clip is no flat foot
_MAX_RAISED = 1.25
# [m], [degrees] ankles and soles of a rest pose that stands differ by less; those of a stride by more
_MAX_REST_STEP_M, _MAX_REST_PITCH_DEG = 0.03, 10.0
# [s] half the window of the path that root="in_place" takes away
_PATH_HALF_WINDOW_S = 0.5
# [s] half the window over which the body's shift with its standing feet is smoothed
_SHIFT_HALF_WINDOW_S = 0.1
# cosine: an axis of a file that is up
_UP_COSINE = 0.999


class Standing(NamedTuple):
    """How a character stands.

    floor     height of its floor [file units]
    ankle     height of its ankles over the floor while its feet are flat [file units]
    contacts  contacts of its feet, None where they are unknown
    travels   whether the ground does not pass under it
    bearing   when hands, elbows, knees and hips are on the ground; None where none of them ever bears
    soles     soles of the feet of `contacts`
    note      why the contacts are unknown
    above     (F, L) how high above the floor its feet stand, as on a step [leg lengths]; None where all are on it
    """

    floor: float
    ankle: float
    contacts: Contacts | None = None
    travels: bool = True
    bearing: Bearing | None = None
    soles: Soles | None = None
    note: str = ""
    above: Floats | None = None


class ClipGround(NamedTuple):
    """Contacts of a clip with its ground.

    analysis  soles, contacts and other supports; None where the legs are unknown
    note      why they are
    pair      a foot that never stands flat, and the other one
    """

    analysis: ClipAnalysis | None
    note: str = ""
    pair: FootPair | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed about feet."""
        return () if self.pair is None else (self.pair.note,)

    @property
    def contacts(self) -> Contacts | None:
        """Contacts in the frames of the clip."""
        return None if self.analysis is None else in_clip(self.analysis)

    @property
    def motion(self) -> Motion | None:
        """The legs in the frames of the clip."""
        return None if self.analysis is None else self.analysis.repeats.take_middle(self.analysis.motion)

    def measure_flat_feet(self) -> dict[str, Floats]:
        """Measure the axes of flat feet by joint."""
        if self.analysis is None or self.motion is None or self.contacts is None:
            return {}
        stands_at_rest = _stands_at_rest(self.motion.figure)
        return measure_flat_feet(self.motion, self.analysis.soles, self.contacts, stands_at_rest=stands_at_rest)


def analyse_ground(clip: Clip, rig: Rig) -> ClipGround:
    """Find the contacts of a clip with its ground. A foot that never stands flat has the sole of the other one."""
    try:
        figure = figure_of(clip, rig=rig)
        if figure.is_robot:
            return ClipGround(analyse_clip(clip, figure, None, measure_robot_feet(figure, rig).points, "keep"))
        pairs: list[FootPair] = []

        def pair_soles(motion: Motion, soles: Soles) -> Soles:
            pair = find_foot_pair(motion, soles)
            if pair is None:
                return soles
            pairs.append(pair)
            return pair.pair_soles(soles)

        analysis = analyse_clip(clip, figure, None, None, "keep", mend_soles=pair_soles)
        pair = pairs[0] if pairs else None
        return ClipGround(with_bearing(clip, _lift_feet_on_tips(analysis)), pair=pair)
    except PoiseError as error:
        return ClipGround(None, f"contacts of the source are unknown: {error}")


def _lift_feet_on_tips(analysis: ClipAnalysis) -> ClipAnalysis:
    """Drop contacts of balls far over the tips of their toes.

    A foot on its tip, as that of a leg that kneels, would be pulled down to its ball.
    """
    points, contacts = analysis.soles.points(analysis.fine), analysis.contacts
    on_tip = points[..., BALL_POINT, 2] - points[..., TIP_POINT, 2] > Thresholds().ball_off
    return analysis._replace(contacts=dataclasses.replace(contacts, ball=contacts.ball & ~on_tip))


def measure_standing(clip: Clip, ground: ClipGround, body: Body) -> Standing:
    """Measure the floor and the ankles of a clip."""
    analysis, motion, contacts = ground.analysis, ground.motion, ground.contacts
    if analysis is None or motion is None or contacts is None:
        floor = _find_lowest_ankle(clip, body) - _ANKLE_RATIO * body.leg_length
        return Standing(floor, _ANKLE_RATIO * body.leg_length, note=ground.note)
    metre, floor = motion.figure.metre, floor_of(clip, analysis)
    heights = motion.places[:, :, ANKLE, 2][contacts.heel & contacts.ball] - floor
    rest_ankle = _measure_rest_ankle(motion.figure, body)
    ankle = float(median(heights)) * metre if len(heights) else rest_ankle
    most = max(_MAX_ANKLE_RATIO * body.leg_length, _MAX_RAISED * rest_ankle)
    above = find_raised_stances(motion, analysis.soles, contacts, floor, least=STEP_M)
    return Standing(
        floor * metre,
        ankle if 0.0 < ankle <= most else rest_ankle,
        contacts,
        travels=analysis.velocity is None,
        bearing=analysis.bearing if analysis.bearing is not None and analysis.bearing.on.any() else None,
        soles=analysis.soles,
        above=above * (metre / body.leg_length) if above.any() else None,
    )


def measure_rest_standing(rig: Rig, body: Body) -> Standing:
    """Measure how a character stands on its file's ground, at height 0.

    A clip of its own shows its ankles where its rest pose does not stand.
    """
    try:
        figure, clip = figure_of(rig.rest, rig=rig), _find_own_clip(rig)
        if clip is not None and not _stands_at_rest(figure):
            return Standing(0.0, measure_standing(clip, analyse_ground(clip, rig), body).ankle)
        ankle = _measure_rest_ankle(figure, body)
    except PoiseError:
        ankle = _ANKLE_RATIO * body.leg_length
    return Standing(0.0, ankle)


def find_target_soles(clip: Clip, rig: Rig, legs: Sequence[str]) -> tuple[Soles, tuple[str, ...]]:
    """Find the soles of a character. Also return notes.

    They are those at rest, of a clip of its own where it does not stand at rest, or else of `clip`, its new one.
    """
    figure = figure_of(clip, rig=rig, legs=legs)
    if _stands_at_rest(figure):
        return find_rest_soles(figure), ()
    own = _find_own_clip(rig)
    if own is not None:
        return find_soles(motion_of(own, figure_of(own, rig=rig, legs=legs))), ()
    return find_soles(motion_of(clip, figure)), ("the target does not stand at rest: the new clip shows its soles",)


def select_soles(soles: Soles, columns: Sequence[int]) -> Soles:
    """Select the soles of some legs."""
    chosen = list(columns)
    return Soles(soles.heel[chosen], soles.ball[chosen], soles.tip[chosen])


def select_legs(contacts: Contacts, columns: Sequence[int]) -> Contacts:
    """Select the contacts of some legs."""
    chosen = list(columns)
    return Contacts(
        tuple(contacts.legs[column] for column in chosen),
        contacts.times,
        contacts.heel[:, chosen],
        contacts.ball[:, chosen],
        None if contacts.fine is None else select_legs(contacts.fine, chosen),
    )


def _find_own_clip(rig: Rig) -> Clip | None:
    return next((clip for clip in rig.clips if len(clip)), None)


def shows_soles_at_rest(rig: Rig) -> bool:
    """Return whether a rig has a mesh and stands at rest."""
    try:
        return bool(rig.skins) and _stands_at_rest(figure_of(rig.rest, rig=rig))
    except PoiseError:
        return False


def _stands_at_rest(figure: Figure) -> bool:
    """Return whether a rest pose stands on two feet alike. A stride does not."""
    motion = rest_motion(figure)
    ankles, balls = motion.places[0, :, ANKLE], motion.places[0, :, BALL]
    ways = balls - ankles  # zero for feet without toes
    pitches = np.degrees(np.arctan2(ways[:, 2], np.hypot(ways[:, 0], ways[:, 1])))
    is_alike = np.ptp(ankles[:, 2]) <= _MAX_REST_STEP_M and np.ptp(pitches) <= _MAX_REST_PITCH_DEG
    return bool(motion.upright.all()) and bool(is_alike)


def _measure_rest_ankle(figure: Figure, body: Body) -> float:
    motion: Motion = rest_motion(figure)
    if not body.reference.is_rest or not _stands_at_rest(figure):
        return _ANKLE_RATIO * body.leg_length
    soles = find_rest_soles(figure).points(motion)[0, :, 0, 2]
    ankle = float((motion.places[0, :, ANKLE, 2] - soles).mean()) * figure.metre
    return ankle if 0.0 < ankle <= _MAX_REST_ANKLE_RATIO * body.leg_length else _ANKLE_RATIO * body.leg_length


def _find_lowest_ankle(clip: Clip, body: Body) -> float:
    rows = [body.rows["leftFoot"], body.rows["rightFoot"]]
    return float((clip.poses.world.positions[:, rows] @ body.reference.world_axes[2]).min())


def find_hip_middle(positions: Floats, body: Body) -> Floats:
    """Find the middle (F, 3) of the hip joints."""
    return 0.5 * (positions[:, body.rows["leftUpperLeg"]] + positions[:, body.rows["rightUpperLeg"]])


def compute_hip_path(
    positions: Floats, bodies: tuple[Body, Body], standing: Standing, target_standing: Standing, root: RootMotion
) -> Floats:
    """Compute the path (F, 3) of the target's hips.

    It is that of the middle of the hip joints, in axes ahead, left, up.

    positions  (F, n, 3) joints of the source

    It goes `k` as far as that of the source, with k the ratio of leg lengths. Its height is the ankle's, and k times
    the height over the source's ankles. "keep": k times everything.
    """
    ratio, height = scale_hips(bodies, (standing, target_standing), root)
    path = ratio * turn_positions(bodies[0], find_hip_middle(positions, bodies[0]))
    path[:, 2] += height
    return path


def scale_hips(
    bodies: tuple[Body, Body], standings: tuple[Standing, Standing], root: RootMotion
) -> tuple[float, float]:
    """Return scale and rise of the hips' path."""
    (source, target), (standing, target_standing) = bodies, standings
    ratio = target.leg_length / source.leg_length
    if root == "keep":
        return ratio, 0.0
    return ratio, target_standing.floor + target_standing.ankle - ratio * (standing.floor + standing.ankle)


def compute_body_shift(
    clip: Clip, rig: Rig, soles: Soles, contacts: Contacts, floor: float, above: Floats | None = None
) -> Floats:
    """Compute the mean displacement (F, 3) of standing feet [file units].

    It is that to their stances, z up.

    soles     of the target
    contacts  of the source
    floor     height of the ground
    above     (F, L) how high above it feet stand [file units]; None where they stand on it

    Each heel or ball stands at the median of its stance, on the floor. Between stances the shift is interpolated; it is
    smoothed over 0.2 s.
    """
    figure = figure_of(clip, rig=rig, legs=contacts.legs)
    motion = motion_of(clip, figure)
    points = soles.points(motion)[:, :, :2]
    stands = np.stack([contacts.heel, contacts.ball], axis=2)
    ways = np.zeros_like(points)
    heights = np.full(contacts.heel.shape, floor) if above is None else floor + above
    place = np.zeros(3)
    for column, start, stop in zip(*find_runs(stands.reshape(len(stands), -1)), strict=True):
        run = (slice(start, stop + 1), *divmod(int(column), stands.shape[2]))
        place[:2], place[2] = median(points[run][:, :2]), heights[start, run[1]] / figure.metre
        ways[run] = place - points[run]
    weights = stands / np.maximum(stands.sum(axis=2, keepdims=True), 1)  # a foot on heel and ball counts once
    frames = np.flatnonzero(contacts.any.any(axis=1))
    means = (ways * weights[..., None]).sum(axis=(1, 2))[frames] / contacts.any.sum(axis=1)[frames, None]
    shift = np.stack([np.interp(np.arange(len(clip)), frames, means[:, axis]) for axis in range(3)], axis=1)
    return average_hann(shift, motion.frames(_SHIFT_HALF_WINDOW_S)) * figure.metre


def find_level_path(times: Floats, path: Floats) -> Floats:
    """Find the level path (F, 3) for root="in_place" to remove.

    It is smoothed over a second, and begins at zero.
    """
    smooth = average_hann(path, count_frames(times, _PATH_HALF_WINDOW_S))
    return (smooth - smooth[:1]) * [1.0, 1.0, 0.0]


def turn_positions(body: Body, points: Floats) -> Floats:
    """Turn points (F, 3) from the file's axes to ahead, left, up."""
    axes = body.reference.world_axes
    return points[:, :1] * axes[:, 0] + points[:, 1:2] * axes[:, 1] + points[:, 2:] * axes[:, 2]


def turn_z_up(body: Body, vectors: Floats, up: Up) -> Floats:
    """Turn vectors (F, 3) with z up to ahead, left, up. `up` is the axis of the file."""
    return turn_positions(body, rotations.rotate(rotations.inverse(find_z_up_rotation(up)), vectors))


def turn_back(body: Body, vectors: Floats) -> Floats:
    """Turn vectors (F, 3) from ahead, left, up to the file's axes."""
    axes = body.reference.world_axes
    return vectors[:, :1] * axes[0] + vectors[:, 1:2] * axes[1] + vectors[:, 2:] * axes[2]


def find_mover(body: Body) -> int:
    """Find the joint to move the whole character with."""
    row = body.spine.rows[0]
    while row >= 0 and body.skeleton.kinds[row] not in (Kind.BALL, Kind.FREE):
        row = int(body.skeleton.parents[row])
    if row < 0:
        raise UnsupportedError("no joint at the hips of the target, or above them, can move")
    return row


def move_hips(poses: Pose, body: Body, displacement: Floats) -> Pose:
    """Move a character by (F, 3) in axes ahead, left, up.

    The joint of the hips carries it. Feet beside their legs go along.
    """
    mover, vectors = find_mover(body), turn_back(body, displacement)
    beside = [foot.row for foot in body.detached_feet if mover not in body.skeleton.list_path(foot.row)]
    draft = PoseDraft(poses)
    for row in (mover, *beside):
        draft.move(row, vectors)
    return draft.finish()


def find_up_axis(body: Body) -> Up | None:
    """Find the up axis of a file. None where it is neither y nor z."""
    up = body.reference.world_axes[2]
    axes: tuple[tuple[Up, int], ...] = (("y", 1), ("z", 2))
    return next((name for name, index in axes if up[index] > _UP_COSINE), None)
