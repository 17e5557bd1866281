"""Feet of live robots: stances and swings.

Everything is in axes ahead, left, up. A foot's own axes are heading, up, right.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poise.ground.robot.foot_path import MAX_PITCH_RAD, RobotSole
from poise.ground.robot.frame_solve import build_matrix, turn_by
from poise.ground.robot.mean_speed import MeanSpeed
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import cross

# [s] in which half of a change is over (a foot comes to stand or leaves the ground), and how long until it is firm
_HALF_LIFE_S, _FIRM_S = 0.05, 0.05
# of the weights of standing feet over a whole clip: what live feet have at most. Bodies of slow joints would jump
_MOST_FIRM = 0.2
# of a critically damped spring: its rate times its half-life
_SPRING_RATE = 1.678
_IDENTITY = (1.0, 0.0, 0.0, 0.0)
_LEVEL = np.array([1.0, 1.0, 0.0])
# [leg lengths] and [rad] by which a standing foot is at most beside where the leg leads, and how near it has come when
# it stands again
_FARTHEST_LEGS, _MAX_TURN_RAD, _NEAR_SHARE = 0.17, math.radians(45.0), 0.3
_MIN_LEVEL_LENGTH = 0.5  # of a heading: steeper feet have none


class Offset:
    """What is left of a change, by a critically damped spring."""

    def __init__(self, size: int) -> None:
        self.value, self._speed = np.zeros(size), np.zeros(size)

    def begin(self, value: Floats, speed: Floats) -> None:
        """Begin a change."""
        self.value, self._speed = value, speed

    def decay(self, dt: float) -> None:
        """Go on by `dt` seconds. The step is exact."""
        rate = _SPRING_RATE / _HALF_LIFE_S
        pull, share = self._speed + rate * self.value, math.exp(-rate * dt)
        self.value, self._speed = share * (self.value + dt * pull), share * (self._speed - rate * dt * pull)


class GroundPlane(NamedTuple):
    """Ground of one slope.

    height  at the origin
    slopes  (2,) ahead and to the left
    normal  (3,) a unit vector
    """

    height: float
    slopes: Floats
    normal: Floats

    def measure_heights(self, points: Floats) -> Floats:
        """Measure its heights (...) under points (..., 3)."""
        return self.height + points[..., :2] @ self.slopes


class _Stance(NamedTuple):
    """Ground (3,) under an ankle, and axes (3,) of a flat sole."""

    ground: Floats
    ahead: Floats
    up: Floats
    right: Floats


class _Shown(NamedTuple):
    """A foot in the last frame.

    heel, ball  whether they stood
    free        (3,) where the leg led it
    place       (3,) of its ankle, and turn (3, 3)
    """

    heel: bool
    ball: bool
    free: Floats
    place: Floats
    turn: Floats


class LiveFoot:
    """A foot of a robot, moved frame by frame.

    Parameters
    ----------
    sole, ground
        Its sole, and what it stands on.
    leg_length
        Of the robot.
    """

    def __init__(self, sole: RobotSole, ground: GroundPlane, leg_length: float) -> None:
        self._sole, self._ground, self._corners = sole, ground, sole.list_corners()
        self._farthest = _FARTHEST_LEGS * leg_length
        self.reset()

    def reset(self) -> None:
        """Forget the last frame. The next one is a first one."""
        self.firmness = 0.0
        self._shown: _Shown | None = None
        self._speed, self._free_speed, self._is_left_behind = MeanSpeed(), MeanSpeed(), False
        self._stance: _Stance | None = None
        self._place, self._turn, self._pitch = Offset(3), Offset(3), Offset(1)

    def move(self, ankle: Floats, turn: Floats, stands: tuple[bool, bool], dt: float) -> tuple[Floats, Floats]:
        """Move the foot by a frame. Return the place (3,) of its ankle and its axes (3, 3).

        ankle   (3,) where the directions of the leg lead
        turn    (3, 3) the foot's axes as in the source
        stands  whether heel and ball stand
        """
        free = self._lift(ankle, turn)
        last = self._shown
        for offset in (self._place, self._turn, self._pitch):
            offset.decay(dt)
        self._is_left_behind = any(stands) and self._is_far(free, turn, stands)
        stands = (False, False) if self._is_left_behind else stands
        if any(stands):
            place, axes = self._stand(free, turn, stands, last, dt)
        else:
            place, axes = self._swing(free, turn, last, dt)
        change = _MOST_FIRM * (1.0 if last is None else dt / _FIRM_S)
        self.firmness = min(max(self.firmness + (change if any(stands) else -change), 0.0), _MOST_FIRM)
        if last is not None and dt > 0.0:
            self._speed = self._speed.add(place - last.place, dt)
            self._free_speed = self._free_speed.add(free - last.free, dt)
        self._shown = _Shown(*stands, free, place, axes)
        return place, axes

    def _is_far(self, free: Floats, turn: Floats, stands: tuple[bool, bool]) -> bool:
        """Tell whether a foot is too far away to stand.

        One that was is so until it has come near.
        """
        if self._is_left_behind:
            off, turned, share = self._place.value, float(np.linalg.norm(self._turn.value)), _NEAR_SHARE
        elif self._stance is None:
            return False
        else:
            place, axes = self._roll(self._stance, self._limit_pitch(float(turn[:, 0] @ self._stance.up), stands))
            off, turned, share = place - free, _measure_level_turn(turn[:, 0], axes[:, 0]), 1.0
        return float(np.linalg.norm(off * _LEVEL)) > share * self._farthest or turned > share * _MAX_TURN_RAD

    def _lift(self, ankle: Floats, turn: Floats) -> Floats:
        """Lift a free foot over the ground, with its whole sole."""
        free = np.array(ankle)
        free[2] += float(self._ground.measure_heights(free))
        corners = free + self._corners @ turn.T
        depth = float((self._ground.measure_heights(corners) - corners[:, 2]).max())
        free[2] += max(depth, 0.0)
        return free

    def _stand(
        self, free: Floats, turn: Floats, stands: tuple[bool, bool], last: _Shown | None, dt: float
    ) -> tuple[Floats, Floats]:
        """Place a foot in stance. It keeps its place and heading, and rolls over heel or ball."""
        is_new = self._stance is None
        if self._stance is None:
            shown = free + self._place.value
            self._stance = self._find_stance(shown, turn if last is None else last.turn, stands)
        stance = self._stance
        wanted = self._limit_pitch(float(turn[:, 0] @ stance.up), stands)
        if last is not None and (last.heel, last.ball) != stands:
            shown_pitch = math.asin(max(-1.0, min(1.0, float(last.turn[:, 0] @ stance.up))))
            self._pitch.begin(np.array([shown_pitch - wanted]), np.zeros(1))
        place, axes = self._roll(stance, wanted + float(self._pitch.value[0]))
        if is_new and last is not None:
            self._place.begin(last.place - place, _get_speed(self._speed))
            self._place.decay(dt)
            self._turn.begin(_find_turn(axes, last.turn), np.zeros(3))
        depth = min(float(self._place.value @ stance.up), 0.0)  # a foot that lands does not go on into the ground
        return place + self._place.value - depth * stance.up, self._ease_turn(axes)

    def _swing(self, free: Floats, turn: Floats, last: _Shown | None, dt: float) -> tuple[Floats, Floats]:
        """Place a foot in the air."""
        if self._stance is not None and last is not None:
            free_speed = self._free_speed.add(free - last.free, dt) if dt > 0.0 else self._free_speed
            self._place.begin(last.place - last.free, _get_speed(self._speed) - _get_speed(free_speed))
            self._place.decay(dt)
            self._turn.begin(_find_turn(turn, last.turn), np.zeros(3))
        self._stance = None
        return free + self._place.value, self._ease_turn(turn)

    def _ease_turn(self, axes: Floats) -> Floats:
        """Turn axes by what is left of a change."""
        return build_matrix(turn_by(_IDENTITY, *self._turn.value.tolist())) @ axes

    def _find_stance(self, place: Floats, turn: Floats, stands: tuple[bool, bool]) -> _Stance:
        """Find the stance of a foot on the ground."""
        heel, ball = stands
        pivot = 0.0 if heel and ball else self._sole.heel if heel else self._sole.ball
        heading = turn[:, 0] * _LEVEL
        heading = heading / max(float(np.linalg.norm(heading)), 1e-12)
        point = place + turn @ [pivot, -self._sole.height, 0.0] - pivot * heading
        point[2], up = self._ground.measure_heights(point), self._ground.normal
        ahead = heading - up * float(heading @ up)
        ahead = ahead / float(np.linalg.norm(ahead))
        return _Stance(point, ahead, up, cross(ahead, up))

    def _limit_pitch(self, sine: float, stands: tuple[bool, bool]) -> float:
        """Limit the pitch of a standing foot. Heels are pivots of toes that are up, balls of heels."""
        heel, ball = stands
        pitch = math.asin(max(-1.0, min(1.0, sine)))
        low, high = (0.0 if heel else -MAX_PITCH_RAD), (0.0 if ball else MAX_PITCH_RAD)
        return max(low, min(high, pitch))

    def _roll(self, stance: _Stance, pitch: float) -> tuple[Floats, Floats]:
        """Roll a standing foot over heel or ball by its pitch."""
        cosine, sine = math.cos(pitch), math.sin(pitch)
        ahead, up = cosine * stance.ahead + sine * stance.up, cosine * stance.up - sine * stance.ahead
        axes = np.array([ahead, up, stance.right]).T
        pivot = self._sole.heel if pitch > 0.0 else self._sole.ball if pitch < 0.0 else 0.0
        return stance.ground + pivot * stance.ahead - axes @ [pivot, -self._sole.height, 0.0], axes


def _get_speed(mean: MeanSpeed) -> Floats:
    """Return a speed (3,). Unknown ones are 0."""
    return np.zeros(3) if mean.value is None else mean.value


def _measure_level_turn(heading: Floats, other: Floats) -> float:
    """Measure the level angle between two headings. Steep ones have none."""
    (ahead, left), (other_ahead, other_left) = heading[:2].tolist(), other[:2].tolist()
    if min(math.hypot(ahead, left), math.hypot(other_ahead, other_left)) < _MIN_LEVEL_LENGTH:
        return 0.0
    return abs(math.atan2(ahead * other_left - left * other_ahead, ahead * other_ahead + left * other_left))


def _find_turn(start: Floats, end: Floats) -> Floats:
    """Find the rotation vector (3,) from axes to others."""
    return rotations.as_vector(rotations.from_matrix(end @ start.T))
