"""Compute each foot's rotation and ankle: planted in contact, else animated.

A standing foot turns about the point that stands, heel or ball; with both on the ground it does not turn. In the air
the ankle is as animated plus an offset, which goes smoothly from its value at the end of one stance to that at the
start of the next. So does the tilt.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.contact.plants import STEP_M, Plants
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, BALL, FOOT, Motion, rows_of
from poise.ground.figure.speeds import shots_of
from poise.ground.legs.clear import clear_ground, lift_whole
from poise.ground.legs.swing import COAST_S, between_of, fade_offsets, interpolate_swings
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.frame_masks import take_frames
from poise.maths.smoothing import smoothstep
from poise.maths.vectors import UP, cross, make_vertical, normalise, project_horizontal

_SAME_HEIGHT_M = 0.0005  # [m] heights that differ by up to twice as much are one: feet that were drawn onto a floor
# of the time in contact, and frames of both feet at 100 a second or more: what stands lower for less is no floor, but a
# fault of the capture
_LOWEST_SHARE, _FEWEST_FRAMES = 0.02, 5
_DRIFT = 0.03  # [m] a foot that stands so much higher or lower than others is captured so: legs take that up
_DEEP = 0.03  # [m] a heel so deep in the ground is over the tread behind, or came down so: lifted at once it would pop


@dataclass(frozen=True, eq=False)
class Feet:
    """Targets of L feet in F frames, in metres, z up.

    turns   (F, L, 4) world rotation of the foot
    ankles  (F, L, 3)
    tilt    (F, L, 4) rotation of level ground to the ground under the foot
    rise    (F, L) how much higher the ground under the foot is than the clip's
    pivots  (F, L, 3) the point about which the foot may be turned further: the ball
    across  (F, L, 3) the level axis about which that lifts the heel
    free    (F, L) whether the heel is free to be lifted: only the ball stands
    """

    turns: Floats
    ankles: Floats
    tilt: Floats
    rise: Floats
    pivots: Floats
    across: Floats
    free: Bools


def every(feet: Feet, step: int) -> Feet:
    """Return the targets of every so many frames."""
    return rows_of(feet, slice(None, None, step))


def place_feet(
    motion: Motion, soles: Soles, contacts: Contacts, plants: Plants, footing: Footing, floor: float | None = None
) -> Feet:
    """Compute the targets of every foot. `floor` is the height of the clip's own where nothing stands on it."""
    standing, which = contacts.any, _which(plants, contacts)
    between = between_of(motion.times, standing)  # a swing that the clip cuts off ends on the ground that is there
    level = floor_level(motion, soles, contacts) if floor is None or standing.any() else floor
    tilt, rise = _ground_under(motion, plants, which, standing, footing, level)
    share = smoothstep(between.share)
    tilt = rotations.slerp(take_frames(tilt, between.before), take_frames(tilt, between.after), share)
    turns = rotations.multiply(tilt, motion.turns[:, :, FOOT])
    turns = _apply_plants(motion, turns, contacts, plants, which)
    turns = _over_ground(soles, contacts, plants, which, turns, footing)
    ankles = _ankles(motion, soles, contacts, plants, which, turns, rise)
    offsets = interpolate_swings(motion, ankles - motion.places[:, :, ANKLE], between, standing)
    rise = take_frames(rise, between.before) * (1 - share) + take_frames(rise, between.after) * share
    ankles = motion.places[:, :, ANKLE] + offsets
    if not standing.any():
        up = lift_whole(motion, ankles, turns, tilt, soles, footing)[:, None]
        ankles, rise = ankles + make_vertical(up), rise + up
    ankles = clear_ground(motion, ankles, turns, tilt, soles, between, standing, footing)
    pivots = ankles + rotations.rotate(turns, soles.ball)
    free = contacts.ball & ~contacts.heel & (soles.lengths > 0.0)
    return Feet(turns, ankles, tilt, rise, pivots, level_axes(soles, turns, np.arange(turns.shape[1])), free)


def raise_heels(feet: Feet, angles: Floats) -> Feet:
    """Raise heels about balls by angles (F, L) [rad]."""
    up = rotations.about(feet.across, angles)
    ankles = feet.pivots + rotations.rotate(up, feet.ankles - feet.pivots)
    return dataclasses.replace(feet, turns=rotations.multiply(up, feet.turns), ankles=ankles)


def level_axes(soles: Soles, turns: Floats, leg: Ints) -> Floats:
    """Return the level axis (..., 3) across feet.

    The feet have these rotations (..., 4) and are those of these legs. It is the sole's normal, towards the ankle,
    times the way to the ball.
    """
    along = normalise(soles.ball - soles.heel)
    across = cross(soles.normals, along)[leg]
    return np.where(
        soles.lengths[leg, None] > 0.0, normalise(project_horizontal(rotations.rotate(turns, across))), [1.0, 0.0, 0.0]
    )


def join_rolls(contacts: Contacts) -> Contacts:
    """Let contacts of heel and ball overlap by a frame.

    Without it the foot would leap where the one takes over from the other.
    """
    heel, ball = contacts.heel.copy(), contacts.ball.copy()
    from_heel = heel[:-1] & ~ball[:-1] & ~heel[1:] & ball[1:]
    from_ball = ball[:-1] & ~heel[:-1] & ~ball[1:] & heel[1:]
    heel[:-1] |= from_ball
    ball[:-1] |= from_heel
    return dataclasses.replace(contacts, heel=heel, ball=ball)


def _which(plants: Plants, contacts: Contacts) -> Ints:
    """(F, L) the stance of each frame, -1 in the air."""
    which = np.full(contacts.heel.shape, -1)
    for i, (leg, start, end) in enumerate(zip(*plants.stances[:3], strict=True)):
        which[start:end, leg] = i
    return which


def floor_level(motion: Motion, soles: Soles, contacts: Contacts) -> float:
    """Compute the height of the clip's own floor [m].

    It is the median of balls in contact; of heels if no ball ever is. That of a figure that never stands is at 0.
    """
    for on, points in ((contacts.ball, soles.ball), (contacts.heel, soles.heel)):
        if on.any():
            arm = rotations.rotate(motion.turns[:, :, FOOT][on], points[np.nonzero(on)[1]])
            return _find_level((motion.places[:, :, ANKLE][on] + arm)[:, 2])
    return 0.0


def _find_level(values: Floats) -> float:
    """Find the floor of standing feet with heights (n,) [m].

    Drawn feet share heights. Where a third or more share one, it is the lowest height of at least half as many feet as
    the commonest. Captured feet share none: their median, or that of the lowest level on which they stand for 2 % of
    the time, if it is a step lower: nothing stands below its floor.
    """
    ordered = np.sort(values)
    ends = np.searchsorted(ordered, ordered + 2.0 * _SAME_HEIGHT_M, side="right")
    counts = ends - np.arange(len(ordered))
    if 3 * counts.max() < len(ordered):
        median = float(np.median(ordered))
        rank = max(int(_LOWEST_SHARE * len(ordered)), _FEWEST_FRAMES)
        lowest = float(ordered[min(rank, len(ordered) - 1)])
        is_step_lower = lowest <= median - STEP_M
        return float(np.median(ordered[ordered <= lowest + 0.5 * STEP_M])) if is_step_lower else median
    low = int((2 * counts >= counts.max()).argmax())
    first = low + int(counts[low : ends[low]].argmax())
    return float(np.median(ordered[first : ends[first]]))


def _ground_under(
    motion: Motion, plants: Plants, which: Ints, standing: Bools, footing: Footing, level: float
) -> tuple[Floats, Floats]:
    """Compute tilt (F, L, 4) and ground offset (F, L) of feet.

    They are those of plants; where the clip starts or ends in the air, those of the ground there.
    """
    tilt = np.broadcast_to(rotations.IDENTITY, (*which.shape, 4)).copy()
    rise = np.zeros(which.shape)
    if len(plants.rise):
        stands = 0.5 * (plants.heel + plants.ball)[:, 2]
        drifts = np.abs(stands - plants.rise - level) <= _DRIFT
        above = np.where(drifts, stands - level, plants.rise)
        tilt[standing], rise[standing] = plants.tilt[which[standing]], above[which[standing]]
    for frame in (0, -1):
        heights, normals, _ = footing.sample(motion.places[frame, :, BALL])
        air = ~standing[frame]
        rise[frame, air] = (heights - level)[air]
        tilt[frame, air] = rotations.rotation_between(UP, normals)[air]
    return tilt, rise


def _apply_plants(motion: Motion, turns: Floats, contacts: Contacts, plants: Plants, which: Ints) -> Floats:
    """Rotate feet to their planted rotations in flat contact. Before and after, this correction fades."""
    flat = contacts.heel & contacts.ball
    if not flat.any():
        return turns
    needed = np.zeros((*flat.shape, 3))
    planted = plants.turn[which[flat]]
    needed[flat] = rotations.as_vector(rotations.multiply(planted, rotations.inverse(turns[flat])))
    vectors = fade_offsets(motion.times, needed, flat, COAST_S, shots_of(motion), are_turns=True)
    return np.where(
        flat[..., None], _scatter_rotations(planted, flat), rotations.multiply(rotations.from_vector(vectors), turns)
    )


def _scatter_rotations(rows: Floats, mask: Bools) -> Floats:
    """Scatter rows (k, 4) to a mask (F, L). Elsewhere is the identity."""
    result = np.broadcast_to(rotations.IDENTITY, (*mask.shape, 4)).copy()
    result[mask] = rows
    return result


def _over_ground(
    soles: Soles, contacts: Contacts, plants: Plants, which: Ints, turns: Floats, footing: Footing
) -> Floats:
    """Rotate feet about a lone contact point, out of the ground.

    Heel or ball is that point, and the other one is lifted. A ball is lifted however deep it is, a heel up to half of
    `_DEEP`, and less from there on.
    """
    long, length = soles.lengths > 0.0, soles.ball - soles.heel
    heels = (contacts.heel & ~contacts.ball & long, plants.heel, length, -1.0, np.inf)
    balls = (contacts.ball & ~contacts.heel & long, plants.ball, -length, 1.0, _DEEP)
    for stands, places, arms, way, most in (heels, balls):
        frame, leg = np.nonzero(stands)
        point = places[which[frame, leg]] + rotations.rotate(turns[frame, leg], arms[leg])
        depth = footing.heights(point) - point[:, 2]
        share = smoothstep(2.0 * (1.0 - depth / most))
        angle = np.arcsin(np.clip(share * depth / soles.lengths[leg], 0.0, 1.0))
        if not angle.any():
            continue
        turns = turns.copy()
        up = rotations.about(way * level_axes(soles, turns[frame, leg], leg), angle)
        turns[frame, leg] = rotations.multiply(up, turns[frame, leg])
    return turns


def _ankles(
    motion: Motion, soles: Soles, contacts: Contacts, plants: Plants, which: Ints, turns: Floats, rise: Floats
) -> Floats:
    """Compute ankles (F, L, 3) from plants, and raised in the air.

    In contact the point of the foot is where it was planted; in the air as animated.
    """
    ankles = motion.places[:, :, ANKLE].copy()
    ankles[:, :, 2] += rise
    for on, offset, place in ((contacts.heel, soles.heel, plants.heel), (contacts.ball, soles.ball, plants.ball)):
        arm = rotations.rotate(turns, offset)
        ankles[on] = place[which[on]] - arm[on]
    return ankles
