"""Feet of live robots: stances and swings.

Everything is in axes ahead, left, up. A foot's own axes are heading, up, right.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poise.ground.robot.foot_path import MAX_PITCH_RAD, RobotSole
from poise.maths import rotations
from poise.maths.arrays import Floats

# [s] in which half of a change is over (a foot is let go or comes to stand), and how long a foot takes to stand firmly
_HALF_LIFE_S, _FIRM_S = 0.05, 0.05
# of the weights of standing feet over a whole clip: what live feet have at most. Bodies of slow joints would jump
_MOST_FIRM = 0.2
# of a critically damped spring: its rate times its half-life
_SPRING_RATE = 1.678
_LEVEL = np.array([1.0, 1.0, 0.0])


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


class _Shown(NamedTuple):
    """A foot in the last frame.

    heel, ball  whether they stood
    free        (3,) where the leg led it
    place       (3,) of its ankle, with its speed and turn (3, 3)
    """

    heel: bool
    ball: bool
    free: Floats
    place: Floats
    turn: Floats
    speed: Floats


class LiveFoot:
    """A foot of a robot, moved frame by frame.

    Parameters
    ----------
    sole, ground
        Its sole, and what it stands on.
    """

    def __init__(self, sole: RobotSole, ground: GroundPlane) -> None:
        self._sole, self._ground, self._corners = sole, ground, sole.list_corners()
        self.reset()

    def reset(self) -> None:
        """Begin anew with the next frame."""
        self.firmness = 0.0
        self._shown: _Shown | None = None
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
        if any(stands):
            place, axes = self._stand(free, turn, stands, last, dt)
        else:
            place, axes = self._swing(free, turn, last, dt)
        change = _MOST_FIRM * (1.0 if last is None else dt / _FIRM_S)
        self.firmness = min(max(self.firmness + (change if any(stands) else -change), 0.0), _MOST_FIRM)
        speed = np.zeros(3) if last is None or dt <= 0.0 else (place - last.place) / dt
        self._shown = _Shown(*stands, free, place, axes, speed)
        return place, axes

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
            self._place.begin(last.place + dt * last.speed - place, last.speed)
            self._turn.begin(_find_turn(axes, last.turn), np.zeros(3))
        depth = min(float(self._place.value @ stance.up), 0.0)  # a foot that lands does not go on into the ground
        return place + self._place.value - depth * stance.up, self._ease_turn(axes)

    def _swing(self, free: Floats, turn: Floats, last: _Shown | None, dt: float) -> tuple[Floats, Floats]:
        """Place a foot in the air."""
        if self._stance is not None and last is not None:
            self._place.begin(last.place + dt * last.speed - free, last.speed - (free - last.free) / max(dt, 1e-9))
            self._turn.begin(_find_turn(turn, last.turn), np.zeros(3))
        self._stance = None
        return free + self._place.value, self._ease_turn(turn)

    def _ease_turn(self, axes: Floats) -> Floats:
        """Turn axes by what is left of a change."""
        return rotations.as_matrix(rotations.from_vector(self._turn.value)) @ axes

    def _find_stance(self, place: Floats, turn: Floats, stands: tuple[bool, bool]) -> _Stance:
        """Find the stance of a foot on the ground."""
        heel, ball = stands
        pivot = 0.0 if heel and ball else self._sole.heel if heel else self._sole.ball
        heading = turn[:, 0] * _LEVEL
        heading = heading / max(float(np.linalg.norm(heading)), 1e-12)
        point = place + turn @ [pivot, -self._sole.height, 0.0] - pivot * heading
        point[2], up = self._ground.measure_heights(point), self._ground.normal
        ahead = heading - up * float(heading @ up)
        return _Stance(point, ahead / float(np.linalg.norm(ahead)), up)

    def _limit_pitch(self, sine: float, stands: tuple[bool, bool]) -> float:
        """Limit the pitch of a standing foot. Heels are pivots of toes that are up, balls of heels."""
        heel, ball = stands
        pitch = math.asin(max(-1.0, min(1.0, sine)))
        low, high = (0.0 if heel else -MAX_PITCH_RAD), (0.0 if ball else MAX_PITCH_RAD)
        return max(low, min(high, pitch))

    def _roll(self, stance: _Stance, pitch: float) -> tuple[Floats, Floats]:
        """Roll a standing foot over heel or ball by its pitch."""
        cosine, sine = math.cos(pitch), math.sin(pitch)
        right = np.cross(stance.ahead, stance.up)
        axes = np.array([cosine * stance.ahead + sine * stance.up, cosine * stance.up - sine * stance.ahead, right]).T
        pivot = self._sole.heel if pitch > 0.0 else self._sole.ball if pitch < 0.0 else 0.0
        return stance.ground + pivot * stance.ahead - axes @ [pivot, -self._sole.height, 0.0], axes


def _find_turn(start: Floats, end: Floats) -> Floats:
    """Find the rotation vector (3,) from axes to others."""
    return rotations.as_vector(rotations.from_matrix(end @ start.T))
