"""Paths of a robot's feet.

Soles stand, roll about heel and ball, and swing between stances.

Everything is in axes ahead, left, up. A foot's own axes are heading, up, right.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from poise.ground.contact.contacts import find_runs
from poise.ground.legs.clear import SwingingSoles, find_way_over
from poise.kernels.robot_feet import EDGE_TILT_RAD, MAX_PITCH_RAD
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.frame_masks import count_frames_to
from poise.maths.smoothing import average_hann, compute_upper_envelope, smoothstep
from poise.maths.vectors import median, normalise, project_horizontal
from poise.runtime.immutable_values import freeze

# [s] over which the pitch of a foot fades in where it ceases to be flat
_PITCH_RAMP_S = 0.07
# [s] half the window over which turns of swinging feet are averaged: one frame to each side at 24 to 30 frames a
# second. With 0.065 the pitch of a walk's feet is off by 4 degrees (95 % of frames), with 0.04 by 2.4, without by 1.5
_SWING_HALF_WINDOW_S = 0.04
# of its length: how far a leg is stretched at most; and [s] over which the body sinks for it
MAX_STRETCH, _SINK_HALF_WINDOW_S = 0.995, 0.1
# places ahead and behind in which even ground is looked for; of the sole's length: what is even, and how far feet
# keep from edges where they stand, and where they swing
_PLACES_TRIED, _MAX_UNEVEN, _EDGE, _PASSING = 20, 0.03, 0.05, 0.01
# of the sole's length: how far around it ground is near; swinging feet get off their path by as much
_AROUND = 0.1
# places tried to each side, within a sole's width; cosine: uneven ground that is steeper is an edge, and has no slope
_SIDE_PLACES_TRIED, _MIN_LEVEL_COSINE = 4, 0.7
# [rad] turns of standing feet from the source's heading that are tried; their weight beside the angle of a leg to the
# foot's plane, and the weight of what an ankle cannot roll: a leg gets off its direction by so many times more
_TURNS_TRIED, _TURN_WEIGHT, _OVER_LIMIT_WEIGHT = np.radians(np.linspace(-30.0, 30.0, 61)), 0.3, 4.0
_HEADING = np.array([1.0, 0.0, 0.0])  # the first axis of a foot
# [s] of a single frame, which has no step of its own
_SINGLE_STEP_S = 1.0 / 30.0
_MAX_SOLES = 64  # whose places around them are kept: those of some dozen robots


class RobotSole(NamedTuple):
    """The sole of a robot's foot, from the ankle.

    Lengths are along the foot's axes, in the unit of its path.

    heel, ball  how far it reaches behind and ahead; the heel's is negative
    height      of the ankle over it
    heel_half_width, ball_half_width
                of both ends: some soles end in one point
    """

    heel: float
    ball: float
    height: float
    heel_half_width: float
    ball_half_width: float

    @property
    def half_width(self) -> float:
        """Half of the largest width."""
        return max(self.heel_half_width, self.ball_half_width)

    def widen(self, width: float) -> RobotSole:
        """Widen the sole to all sides."""
        sides = self.heel_half_width + width, self.ball_half_width + width
        return RobotSole(self.heel - width, self.ball + width, self.height, *sides)

    def list_corners(self) -> Floats:
        """List its corners (4, 3), those of the heel first."""
        return np.array(
            [
                (along, -self.height, across)
                for along, half_width in ((self.heel, self.heel_half_width), (self.ball, self.ball_half_width))
                for across in (-half_width, half_width)
            ]
        )


class LegBend(NamedTuple):
    """How the leg over a foot bends.

    bends      (F, 2) where the knee is ahead of the leg, long as the sine of its bend
    leans      (F, 2) level part of the direction from ankle to hip joint
    most_roll  [rad] by which the ankle rolls at most; infinite where it has no hinge for it
    """

    bends: Floats
    leans: Floats
    most_roll: float

    def take(self, frames: slice | Bools) -> LegBend:
        """Take some frames."""
        return LegBend(self.bends[frames], self.leans[frames], self.most_roll)


class FootPath(NamedTuple):
    """Path of a foot.

    places  (F, 3) of the ankle
    turns   (F, 3, 3) columns are heading, up, right
    shift   (F, 3) from where the directions of the leg lead
    """

    places: Floats
    turns: Floats
    shift: Floats

    def move(self, way: Floats) -> FootPath:
        """Move the foot by a way (F, 3)."""
        return self._replace(places=self.places + way, shift=self.shift + way)

    def find_corners(self, sole: RobotSole) -> Floats:
        """Find the corners (4, F, 3) of the sole."""
        return np.stack([self.places + self.turns @ corner for corner in sole.list_corners()])


# heights (k,) and normals (k, 3) of the ground under points (k, 2)
GroundSampler = Callable[[Floats], tuple[Floats, Floats]]


def find_foot_path(
    ankles: Floats, turns: Floats, heel: Bools, ball: Bools, sole: RobotSole, sample: GroundSampler, step_s: float,
    sides: Floats | None = None, above: Floats | None = None, leg: LegBend | None = None,
) -> FootPath:  # fmt: skip
    """Find the path of a foot.

    ankles      (F, 3) where the directions of the leg lead
    turns       (F, 3, 3) the foot's axes as in the source
    heel, ball  (F,) what stands
    sides       (F, 3) right axis of a foot that stands on an edge; 0 where it stands flat, None: everywhere
    above       (F,) how high above the ground it stands; None: on it
    leg         how it bends: standing feet turn towards it; None: they keep their heading
    """
    on = heel | ball
    places, stood = ankles.copy(), turns.copy()
    for _, start, stop in zip(*find_runs(on[:, None]), strict=True):
        run = slice(start, stop + 1)
        places[run], stood[run] = _stand(
            ankles[run], turns[run], leg and leg.take(run), heel[run], ball[run], sole, sample, step_s
        )
        if sides is not None:
            places[run], stood[run] = _tilt(places[run], stood[run], sides[run], sole)
        if above is not None:
            places[run, 2] += above[run]
    shift = fill_between(places - ankles, on)
    turned = rotations.as_vector(rotations.from_matrix(stood @ np.swapaxes(turns, 1, 2)))
    swung = rotations.as_matrix(rotations.from_vector(fill_between(turned, on))) @ turns
    stood = np.where(on[:, None, None], stood, swung)
    places = np.where(on[:, None], places, ankles + shift)
    return FootPath(places, stood, places - ankles)


def _stand(
    ankles: Floats, turns: Floats, leg: LegBend | None, heel: Bools, ball: Bools, sole: RobotSole,
    sample: GroundSampler, step_s: float,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Find ankles and axes of a foot in one stance.

    It keeps its place and heading, and rolls over heel or ball.
    """
    flat = heel & ball
    shown = flat if flat.any() else np.ones(len(flat), dtype=np.bool_)
    heading = turns[shown, :2, 0].sum(axis=0)
    heading = heading / max(float(np.linalg.norm(heading)), 1e-12)
    if leg is not None:
        heading = _turn_to_leg(heading, leg.take(shown))
    pivots = np.where(heel & ~ball, sole.heel, np.where(ball & ~heel, sole.ball, 0.0))
    points = (
        ankles[:, :2]
        + (turns @ np.stack([pivots, np.full(len(pivots), -sole.height), 0.0 * pivots], axis=1)[:, :, None])[:, :2, 0]
        - pivots[:, None] * heading
    )  # under the ankle, were the foot flat
    place = median(points[shown])
    place, height, up = _find_even_place(place, heading, sole, sample)
    ground = np.append(place, height)
    ahead = np.append(heading, 0.0)
    ahead = ahead - up * float(ahead @ up)
    ahead = ahead / float(np.linalg.norm(ahead))
    right = np.cross(ahead, up)
    pitch = np.arcsin(np.clip(turns[:, :, 0] @ up, -1.0, 1.0))
    pitch = np.where(flat, 0.0, np.where(heel, np.maximum(pitch, 0.0), np.minimum(pitch, 0.0)))
    pitch = np.clip(pitch * _fade_from(flat, step_s), -MAX_PITCH_RAD, MAX_PITCH_RAD)
    cosine, sine = np.cos(pitch)[:, None], np.sin(pitch)[:, None]
    axes = np.stack([cosine * ahead + sine * up, cosine * up - sine * ahead, np.tile(right, (len(pitch), 1))], axis=2)
    pivots = np.where(pitch > 0.0, sole.heel, np.where(pitch < 0.0, sole.ball, 0.0))
    local = np.stack([pivots, np.full(len(pivots), -sole.height), np.zeros(len(pivots))], axis=1)
    return ground + pivots[:, None] * ahead - (axes @ local[:, :, None])[:, :, 0], axes


def _turn_to_leg(heading: Floats, leg: LegBend) -> Floats:
    """Turn the heading (2,) of a stance towards its leg.

    Ankles of robots do not turn about the shin: a foot shares the plane of a bent leg, and leans as far as it rolls.
    """
    cosines, sines = np.cos(_TURNS_TRIED), np.sin(_TURNS_TRIED)
    ahead = np.stack([cosines * heading[0] - sines * heading[1], sines * heading[0] + cosines * heading[1]], axis=1)
    left = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
    out_of_plane = leg.bends @ left.T
    over_limit = np.maximum(np.abs(np.arcsin(np.clip(leg.leans @ left.T, -1.0, 1.0))) - leg.most_roll, 0.0)
    costs = (out_of_plane**2 + (_OVER_LIMIT_WEIGHT * over_limit) ** 2).mean(axis=0) + (_TURN_WEIGHT * _TURNS_TRIED) ** 2
    return ahead[costs.argmin()]


def smooth_swing(path: FootPath, on: Bools, step_s: float) -> FootPath:
    """Smooth the turns of a foot where it swings.

    Recorded feet snap in the frame in which a leap begins or ends. Frames of stances, `on` (F,), stay bit for bit.
    """
    half_width, turns = _count_frames(_SWING_HALF_WINDOW_S, step_s), path.turns.copy()
    mean = average_hann(path.turns.reshape(len(on), 9), half_width).reshape(turns.shape)
    turns[~on] = rotations.rotation_part(mean[~on])
    return path._replace(turns=turns)


def _tilt(places: Floats, stood: Floats, sides: Floats, sole: RobotSole) -> tuple[Floats, Floats]:
    """Tilt a standing foot about its lower edge.

    Its right axis then rises as `sides` (F, 3). Soles of no length tilt about their heading.
    """
    rises = np.clip((sides * stood[:, :, 1]).sum(axis=1), -1.0, 1.0)
    corners = sole.list_corners()
    is_left_low = (rises > 0.0)[:, None]
    heels, balls = np.where(is_left_low, corners[0], corners[1]), np.where(is_left_low, corners[2], corners[3])
    edges = normalise(balls - heels) if sole.heel < sole.ball else np.tile(_HEADING, (len(heels), 1))
    angles = -np.arcsin(np.clip(rises / edges[:, 0], -1.0, 1.0))
    tilted = stood @ rotations.as_matrix(rotations.from_vector(angles[:, None] * edges))
    return places + ((stood - tilted) @ heels[:, :, None])[:, :, 0], tilted


def lean_foot(path: FootPath, hips: Floats, sole: RobotSole, most_roll: float = 0.0) -> FootPath:
    """Tilt a foot about its lower edge as its leg leans.

    An ankle that rolls by at most `most_roll` [rad] keeps the right axis within that of square to the way to its hip
    joint (F, 3).
    """
    _, up, right = np.moveaxis(path.turns, 2, 0)
    leg = hips - path.places
    rolls = np.arctan2(-(leg * right).sum(axis=1), (leg * up).sum(axis=1))[:, None]
    rolls = np.copysign(np.maximum(np.abs(rolls) - most_roll, 0.0), rolls)
    places, turns = _tilt(path.places, path.turns, np.cos(rolls) * right + np.sin(rolls) * up, sole)
    return FootPath(places, turns, path.shift + places - path.places)


def share_edges(path: FootPath, sample: GroundSampler) -> Floats:
    """Compute how much each edge of a sole is held.

    The shares are (F, 2), left and right. The lower edge stands.
    """
    normals = sample(path.places[:, :2])[1]
    tilts = np.arcsin(np.clip((path.turns[:, :, 2] * normals).sum(axis=1), -1.0, 1.0))
    left = np.clip(0.5 + 0.5 * tilts / EDGE_TILT_RAD, 0.0, 1.0)
    return np.stack([left, 1.0 - left], axis=1)


def _find_even_place(
    place: Floats, heading: Floats, sole: RobotSole, sample: GroundSampler
) -> tuple[Floats, float, Floats]:
    """Find the nearest place (2,) with even ground. Return it, the height of the sole there and the ground's normal.

    The whole sole is then on one tread. Where there is none near, the foot stays, on the highest ground under its
    corners; ground that is higher by more than the sole is long is a wall, and the foot stands beside it.
    """
    length, axes = sole.ball - sole.heel, np.array([heading, [heading[1], -heading[0]]])
    places = place + _list_shifts(sole) @ axes
    for tried in (places[:1], places):  # most feet stand where they are
        heights, normals = ground = sample(tried)
        even = np.flatnonzero(_measure_unevenness(tried, ground, heading, sole, sample) <= _MAX_UNEVEN * length)
        if len(even):
            return tried[even[0]], float(heights[even[0]]), normals[even[0]]
    under = sample(place + sole.list_corners()[:, [0, 2]] @ axes)[0]
    steps = under[under <= heights[0] + length]
    up = normals[0] if normals[0, 2] > _MIN_LEVEL_COSINE else np.array([0.0, 0.0, 1.0])
    return place, float(steps.max(initial=heights[0])), up


@lru_cache(maxsize=_MAX_SOLES)
def _list_shifts(sole: RobotSole) -> Floats:
    """List shifts (k, 2) along and across a sole, nearest first."""
    length = sole.ball - sole.heel
    along = np.linspace(-length, length, 2 * _PLACES_TRIED + 1)
    across = 2.0 * sole.half_width * np.linspace(-1.0, 1.0, 2 * _SIDE_PLACES_TRIED + 1)
    shifts = np.stack(np.meshgrid(along, across, indexing="ij"), axis=-1).reshape(-1, 2)
    return freeze(shifts[np.argsort(np.linalg.norm(shifts, axis=1), kind="stable")])


def _measure_unevenness(
    places: Floats, ground: tuple[Floats, Floats], heading: Floats, sole: RobotSole, sample: GroundSampler
) -> Floats:
    """Measure how far (k,) the ground under soles is from its plane.

    ground  heights (k,) and normals (k, 3) at the places (k, 2)
    """
    heights, normals = ground
    length, right = sole.ball - sole.heel, np.array([heading[1], -heading[0]])
    ahead = np.array([sole.heel - _EDGE * length, sole.heel, sole.ball, sole.ball + _EDGE * length])
    ways = ahead[:, None, None] * heading + np.array([-sole.half_width, sole.half_width])[:, None] * right
    ways = ways.reshape(-1, 1, 2)  # from a place to those under the sole, all of which are sampled at once
    expected = heights - (normals[:, :2] * ways).sum(axis=-1) / normals[:, 2]
    found = sample((places + ways).reshape(-1, 2))[0].reshape(expected.shape)
    uneven: Floats = np.abs(found - expected).max(axis=0)
    return uneven


def _fade_from(flat: Bools, step_s: float) -> Floats:
    """Compute factors (F,) from 0 at flat frames to 1."""
    return smoothstep(np.minimum(count_frames_to(flat) * (step_s or _SINGLE_STEP_S) / _PITCH_RAMP_S, 1.0))


def fill_between(values: Floats, known: Bools) -> Floats:
    """Fill unknown frames of values (F, n).

    They go from the last known to the next one, without speed at both.
    """
    frames = np.flatnonzero(known)
    if not len(frames):
        return np.zeros_like(values)
    filled = np.where(known[:, None], values, 0.0)
    filled[: frames[0]], filled[frames[-1] :] = values[frames[0]], values[frames[-1]]
    for before, after in zip(frames[:-1].tolist(), frames[1:].tolist(), strict=True):
        if after > before + 1:
            shares = smoothstep(np.arange(after - before + 1) / (after - before))[:, None]
            filled[before : after + 1] = values[before] + shares * (values[after] - values[before])
    return filled


def clear_swings(
    paths: list[FootPath], soles: list[RobotSole], on: Bools, times: Floats, following: Ints, sample: GroundSampler,
    metre: float = 1.0,
) -> list[FootPath]:  # fmt: skip
    """Lead swinging feet over the ground with all corners of their soles.

    on         (F, L) which feet stand
    following  (F,) frames in whose stead others lift a foot
    metre      a metre of a figure of human size, in the lengths of the paths
    """
    heights = np.concatenate([sample(path.places[:, :2])[0] for path in paths])
    has_edges = float(np.ptp(heights)) > 0.0  # level ground has none, and wider soles would touch it sooner
    wide = [sole.widen(_PASSING * (sole.ball - sole.heel) if has_edges else 0.0) for sole in soles]
    corners = np.stack([path.find_corners(sole) for path, sole in zip(paths, wide, strict=True)], axis=2) / metre
    ahead = np.stack([path.turns[:, :, 0] for path in paths], axis=1)
    swing = SwingingSoles(
        times, corners, np.zeros(corners.shape[:3]), normalise(project_horizontal(ahead)), on, following
    )

    def measure_ground(points: Floats) -> Floats:
        return sample(metre * points[..., :2].reshape(-1, 2))[0].reshape(points.shape[:-1]) / metre

    way = find_way_over(swing, measure_ground)
    return paths if way is None else [path.move(metre * way[:, leg]) for leg, path in enumerate(paths)]


def measure_heights(path: FootPath, sole: RobotSole, sample: GroundSampler) -> Floats:
    """Measure heights (F, 2) of heel and ball over the ground.

    The lower corner of each counts, and the highest ground under the sole and around it: a foot that passes beside an
    edge is near it.
    """
    corners, around = path.find_corners(sole), path.find_corners(sole.widen(_AROUND * (sole.ball - sole.heel)))
    ground = np.max([sample(corner[:, :2])[0] for corner in (*corners, *around)], axis=0)
    return (corners[..., 2] - ground).reshape(2, 2, -1).min(axis=1).T


def shift_body(paths: list[FootPath], step_s: float, half_window_s: float) -> Floats:
    """Compute the shift (F, 3) of the body with its feet.

    It is the mean of theirs, smoothed.
    """
    shift = np.mean([path.shift for path in paths], axis=0)
    return average_hann(shift, _count_frames(half_window_s, step_s))


def sink_body(hips: Floats, ankles: Floats, leg_length: float, step_s: float) -> Floats:
    """Compute how far (F,) the body sinks for a leg.

    The leg then reaches from the hip joint (F, 3) to its ankle (F, 3).
    """
    ways = hips - ankles
    level = (ways[:, :2] ** 2).sum(axis=1)
    highest = np.sqrt(np.maximum((MAX_STRETCH * leg_length) ** 2 - level, 0.0))
    depth = np.maximum(ways[:, 2] - highest, 0.0)
    return compute_upper_envelope(depth, _count_frames(_SINK_HALF_WINDOW_S, step_s))


def _count_frames(seconds: float, step_s: float) -> int:
    """Convert a duration to a number of frames."""
    return round(seconds / (step_s or _SINGLE_STEP_S))


def ramp_stance(stands: Bools, half_width: int) -> Floats:
    """Compute how much (F,) a foot stands.

    1 in stance, falling to 0 beside it.
    """
    return np.maximum(1.0 - count_frames_to(stands) / max(half_width, 1), 0.0)
