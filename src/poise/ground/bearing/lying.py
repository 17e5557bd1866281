"""Tilt a prone body with the ground and set its height."""

from __future__ import annotations

import dataclasses

import numpy as np

from poise.ground.bearing.limbs import REACH, put_down
from poise.ground.bearing.parts import FADE, FALLS, Bearing
from poise.ground.contact.plants import STEEPEST_RAD
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, FOOT, HIP, Motion
from poise.ground.legs.body import Lean
from poise.ground.legs.clear import CLEAR_S
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import SMOOTH_S
from poise.ground.legs.swing import sole_points
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import compute_fade
from poise.maths.smoothing import average_hann, compute_upper_envelope, smoothstep
from poise.maths.vectors import UP, make_vertical, project_horizontal

_LOW, _UPRIGHT = 0.7, 0.9  # of their height at rest: hips of a body that lies, and of one that does not
_FOOT, _FADES = 0.12, 0.15  # [m] an ankle that is so low bears, and how much higher it no longer does
_RIDGE = 0.005  # [m^2] how far apart what bears has to be to show a slope
_SEAT = 20.0  # hips that bear weigh so much more than a hand: nothing bends between them and the pelvis


def lowness(bearing: Bearing, motion: Motion) -> Floats:
    """Compute how prone (F,) the character is, from 0 to 1.

    It is prone with low hips, a level torso and more than its feet on the ground. A figure that squats, kneels or sits
    with an upright torso is not, nor is one that stands on its hands.
    """
    low = 1.0 - smoothstep((bearing.hip_share - _LOW) / (_UPRIGHT - _LOW))
    down = 1.0 - compute_fade(bearing.times, bearing.lies[:, None], FADE)[:, 0]
    bears = np.maximum(np.minimum(bearing.weights.sum(axis=1), 1.0), down)
    return average_hann(low * bearing.torso_level * bears, motion.frames(SMOOTH_S))


def lean_on(bearing: Bearing, motion: Motion, low: Floats, footing: Footing) -> Lean:
    """Fit the tilt of a prone body to the ground.

    It is that of the plane that fits best the ground under all supporting parts. With p the level places of what bears,
    w its weights, c their middle and r the height of the ground there, the slope g makes sum w (r - mean r - g . (p -
    c))^2 + 0.005 m^2 sum w |g|^2 least.
    """
    points, weights = _support(bearing, motion, low)
    total = weights.sum(axis=1)
    hips = motion.places[:, :, HIP].mean(axis=1)
    centre = ((weights[..., None] * points).sum(axis=1) + 1e-3 * hips) / (total + 1e-3)[:, None]
    away = project_horizontal(points - centre[:, None])[..., :2]
    rise = footing.heights(points)
    rise = rise - ((weights * rise).sum(axis=1) / np.maximum(total, 1e-9))[:, None]
    square = np.einsum("fq,fqi,fqj->fij", weights, away, away) + (_RIDGE * total + 1e-9)[:, None, None] * np.eye(2)
    slope = np.linalg.solve(square, np.einsum("fq,fqi,fq->fi", weights, away, rise)[..., None])[..., 0]
    normal = np.concatenate([-slope, np.ones((len(slope), 1))], axis=1)
    turn = rotations.as_vector(rotations.rotation_between(UP, normal))
    turn *= np.minimum(1.0, STEEPEST_RAD / np.maximum(np.linalg.norm(turn, axis=1), 1e-9))[:, None] * low[:, None]
    half = motion.frames(SMOOTH_S)
    return Lean(rotations.from_vector(average_hann(turn, half)), average_hann(centre, half), np.zeros_like(centre))


def lying_feet(
    bearing: Bearing, motion: Motion, low: Floats, lean: Lean, feet: Feet, soles: Soles, standing: Bools,
    footing: Footing,
) -> Feet:  # fmt: skip
    """Return the targets of a prone body's feet out of contact.

    They lie as in the clip, on the ground under them; feet in contact keep their targets.

    Their `rise` is that of the pelvis: the mean of all that bears, upright legs included.
    """
    share = low[:, None] * compute_fade(motion.times, standing, FALLS)
    feet = dataclasses.replace(feet, rise=_rise(bearing, motion, low, lean, feet, standing, footing))
    if not share.any():
        return feet
    lain, turn = lean.of(motion.places[:, :, ANKLE]), lean.turn[:, None]
    ground = average_hann(footing.heights(lain), motion.frames(SMOOTH_S))
    lain[..., 2] = motion.places[:, :, ANKLE, 2] - bearing.floor + ground
    turns = rotations.slerp(feet.turns, rotations.multiply(turn, motion.turns[:, :, FOOT]), share)
    tilt = rotations.slerp(feet.tilt, turn, share)
    ankles = feet.ankles + share[..., None] * (lain - feet.ankles)
    points = np.stack(sole_points(motion, ankles, turns, tilt, soles))
    sunk = np.maximum((footing.heights(points) - points[..., 2]).max(axis=0), 0.0) * (share > 0.0)
    ankles = ankles + make_vertical(compute_upper_envelope(sunk, motion.frames(CLEAR_S)) * np.minimum(4.0 * share, 1.0))
    pivots = ankles + rotations.rotate(turns, np.broadcast_to(soles.ball, ankles.shape))
    return dataclasses.replace(feet, ankles=ankles, turns=turns, tilt=tilt, pivots=pivots)


def _support(bearing: Bearing, motion: Motion, low: Floats) -> tuple[Floats, Floats]:
    """Return positions (F, Q, 3) and weights (F, Q) of possible supports.

    These are the parts and, of a prone body, ankles and torso.
    """
    ankles = motion.places[:, :, ANKLE]
    feet = low[:, None] * (1.0 - smoothstep((ankles[..., 2] - bearing.floor - _FOOT) / _FADES))
    weights = bearing.weights.copy()
    weights[:, bearing.columns("hips")] *= _SEAT
    torso = np.concatenate([motion.places[:, :, HIP], bearing.shoulders], axis=1)
    lies = np.broadcast_to(low[:, None], torso.shape[:2])
    return np.concatenate([bearing.places, ankles, torso], axis=1), np.concatenate([weights, feet, lies], axis=1)


def _rise(
    bearing: Bearing, motion: Motion, low: Floats, lean: Lean, feet: Feet, standing: Bools, footing: Footing
) -> Floats:
    """Return ground offsets (F, L) of feet.

    Their mean is that of all supports: of legs, those in contact where any other part is.
    """
    points, weights = _support(bearing, motion, low)
    there = lean.of(points)
    needed = footing.heights(there) + points[..., 2] - bearing.floor - there[..., 2]
    legs = feet.rise.mean(axis=1)
    free = np.minimum(weights.sum(axis=1), 1.0)[:, None] * compute_fade(motion.times, standing, FALLS)
    upright = ((1.0 - low[:, None]) * (1.0 - free)).sum(axis=1)
    mean = (upright * legs + (weights * needed).sum(axis=1)) / np.maximum(upright + weights.sum(axis=1), 1e-9)
    missing = _short_arms(bearing, lean, mean, footing) * (1.0 - bearing.weights[:, bearing.parts.index("hips")])
    return feet.rise + (mean - legs - compute_upper_envelope(missing, motion.frames(FALLS)))[:, None]


def _short_arms(bearing: Bearing, lean: Lean, up: Floats, footing: Footing) -> Floats:
    """Compute the drop (F,) of the body for short arms.

    A body raised by `up` (F,) sinks until its supporting hands reach their positions.
    """
    if not bearing.arms:
        return np.zeros(len(up))
    hands = bearing.columns(*(arm.hand for arm in bearing.arms))
    elbows = bearing.columns(*(arm.elbow for arm in bearing.arms))
    upper, lower, posed = (
        np.linalg.norm(ends - starts, axis=-1)
        for starts, ends in (
            (bearing.shoulders, bearing.places[:, elbows]),
            (bearing.places[:, elbows], bearing.places[:, hands]),
            (bearing.shoulders, bearing.places[:, hands]),
        )
    )
    length = np.maximum(REACH * (upper + lower), posed)
    lift = make_vertical(up)[:, None]
    places = put_down(bearing, hands, lean.of(bearing.places[:, hands]) + lift, footing)
    away = lean.of(bearing.shoulders) + lift - places
    high = np.sqrt(np.maximum(length**2 - (away[..., :2] ** 2).sum(axis=-1), 0.0))
    return np.where(bearing.on[:, hands], np.maximum(away[..., 2] - high, 0.0), 0.0).max(axis=1)
