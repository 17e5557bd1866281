"""Plant feet: one position and rotation for each stance. A stance is a run of frames in contact."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.contact.edges import Alone, ground_under, off_edges
from poise.ground.contact.soles import BALL_POINT, HEEL_POINT, TIP_POINT, Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import FOOT, Motion
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.vectors import UP, make_vertical, median, normalise, project_horizontal

STEEPEST_RAD = math.radians(40.0)  # [rad] steepest ground for a whole foot, hands and bodies by default
RUNG_M = 0.04  # [m] a stance that is higher above the clip's floor is on something that is not there
STEP_M = 0.1  # [m] clips of robots and other bodies in which a foot stands so much higher go over steps
_TOES_UP = 0.02  # [m] a ball that is higher above its heel, which stood first, has not come down yet


class Stances(NamedTuple):
    """Stances, leg after leg: runs of frames with contact.

    leg, start, end  (P,) which leg; first frame, and the one after the last
    flat             (P,) whether heel and ball stand together at some time
    """

    leg: Ints
    start: Ints
    end: Ints
    flat: Bools


@dataclass(frozen=True, eq=False)
class Plants:
    """Where each of P stances is planted.

    Parameters
    ----------
    stances
        When each foot stands.
    turn
        (P, 4) world rotation of the foot while heel and ball stand.
    tilt
        (P, 4) rotation of level ground to the ground there.
    heel, ball
        (P, 3) where they stand [m].
    rise
        (P,) how much higher that is than in the clip [m].
    shift
        (P,) how far it was moved along the foot, off an edge [m].
    over
        (P,) whether there is an edge under it all the same.
    hangs
        (P, 2) whether heel and ball hang over the edge of the tread that the other one stands on.
    """

    stances: Stances
    turn: Floats
    tilt: Floats
    heel: Floats
    ball: Floats
    rise: Floats
    shift: Floats
    over: Bools
    hangs: Bools


def in_frames(plants: Plants, step: int) -> Plants:
    """Return the plants with stances in every `step`th frame. The stances were found in all frames."""
    leg, start, end, flat = plants.stances
    return dataclasses.replace(plants, stances=Stances(leg, -(-start // step), -(-end // step), flat))


def stances_of(contacts: Contacts) -> Stances:
    """Find the runs of contact of each foot."""
    standing = contacts.any.T
    edges = np.diff(np.pad(standing, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    leg, start = np.nonzero(edges == 1)
    end = np.nonzero(edges == -1)[1]
    both = np.pad(np.cumsum(contacts.heel & contacts.ball, axis=0).T, ((0, 0), (1, 0)))
    return Stances(leg, start, end, both[leg, end] > both[leg, start])


def find_plants(
    motion: Motion,
    soles: Soles,
    contacts: Contacts,
    footing: Footing,
    steepest: float,
    farthest: float,
    floor: float | None = None,
    above: Floats | None = None,
) -> Plants:
    """Decide where each stance is planted.

    The foot is turned as it stands on average while heel and ball stand (else while either does), tilted with the
    ground by at most `steepest` [rad], and then so that heel and ball are both on it. Where the ground has an edge
    under the sole, the place is moved along the foot to the nearest one without, by at most `farthest` [m]; see
    `off_edges` for a foot that is too long for a tread: it is level, and its heel or ball hangs. With the clip's own
    `floor` given, a stance well above it, on a step or a rung, stays as high above the ground. Else `above` (F, L) says
    how high above the ground feet stand [m].
    """
    stances = stances_of(contacts)
    points = soles.points(motion)
    turn, heel, ball = _averages(motion, soles, points, contacts, stances)
    along = ball - heel
    tip = _to_tips(points, stances, along)
    alone = _alone(contacts, stances)
    shift = off_edges(heel, ball, ball + tip, alone, footing, farthest)
    direction = normalise(project_horizontal(along))
    way = shift[:, None] * direction
    moved = ball + way
    under = ground_under(heel + way, moved, moved + tip, alone, footing)
    tilt, planted_heel, planted_ball, hangs = _put_down(moved, along, under.edged, alone, footing, steepest)
    higher = np.zeros(len(ball)) if above is None else _find_largest(above, stances)
    if floor is not None:
        higher = _find_heights(contacts, stances, alone, heel, ball) - floor
        higher = np.where(higher > RUNG_M, higher, 0.0)
    planted_heel, planted_ball = (place + make_vertical(higher) for place in (planted_heel, planted_ball))
    onto = rotations.rotation_between(rotations.rotate(tilt, along), planted_ball - planted_heel)
    onto = np.where(stances.flat[:, None], onto, rotations.IDENTITY)
    turned = rotations.multiply(onto, rotations.multiply(tilt, turn))
    heel_rise, ball_rise = (planted_heel - heel)[:, 2], (planted_ball - ball)[:, 2]
    rise = np.where(alone.heel, heel_rise, np.where(alone.ball, ball_rise, 0.5 * (heel_rise + ball_rise)))
    return Plants(stances, turned, tilt, planted_heel, planted_ball, rise, shift, under.off > 0.0, hangs)


def _find_largest(values: Floats, stances: Stances) -> Floats:
    """Find the largest value (P,) of (F, L) in each stance."""
    return np.array([values[start:end, leg].max() for leg, start, end in zip(*stances[:3], strict=True)])


def find_raised_stances(motion: Motion, soles: Soles, contacts: Contacts, floor: float, least: float) -> Floats:
    """Find how high (F, L) above the clip's floor feet stand [m].

    0 for those in the air or on it, and for all of a clip in which none stands higher by more than `least` [m].
    """
    stances, above = stances_of(contacts), np.zeros(contacts.heel.shape)
    _, heel, ball = _averages(motion, soles, soles.points(motion), contacts, stances)
    heights = _find_heights(contacts, stances, _alone(contacts, stances), heel, ball) - floor
    if heights.max(initial=0.0) <= least:
        return above
    for leg, start, end, height in zip(*stances[:3], heights, strict=True):
        above[start:end, leg] = height if height > RUNG_M else 0.0
    return above


def _find_heights(contacts: Contacts, stances: Stances, alone: Alone, heel: Floats, ball: Floats) -> Floats:
    """Find the heights (P,) of what stands, ball or heel."""
    by_heel = alone.heel | (_end_on_heels(contacts, stances) & ((ball - heel)[:, 2] > _TOES_UP))
    return np.where(by_heel, heel[:, 2], ball[:, 2])


def plants_as_they_are(motion: Motion, soles: Soles, contacts: Contacts, footing: Footing) -> Plants:
    """Return the plants of feet in their present positions."""
    stances, points = stances_of(contacts), soles.points(motion)
    turn, heel, ball = _averages(motion, soles, points, contacts, stances)
    tip = ball + _to_tips(points, stances, ball - heel)
    tilt = rotations.rotation_between(UP, footing.sample(0.5 * (heel + ball))[1])
    for place in (heel, ball):  # the one that does not stand, too
        place[:, 2] = footing.heights(place)
    rise, shift, hangs = np.zeros(len(heel)), np.zeros(len(heel)), np.zeros((len(heel), 2), dtype=np.bool_)
    over = ground_under(heel, ball, tip, _alone(contacts, stances), footing).off > 0.0
    return Plants(stances, turn, tilt, heel, ball, rise, shift, over, hangs)


def _alone(contacts: Contacts, stances: Stances) -> Alone:
    """Return the stances (P,) of the ball alone, and the heel alone."""
    runs = [(slice(start, end), leg) for leg, start, end in zip(*stances[:3], strict=True)]
    heel, ball = (np.array([on[run].any() for run in runs], dtype=bool) for on in (contacts.heel, contacts.ball))
    return Alone(ball & ~heel, heel & ~ball)


def _end_on_heels(contacts: Contacts, stances: Stances) -> Bools:
    """Find stances (P,) from a heel alone to the clip's end."""
    leg, start, end, _ = stances
    return (end == len(contacts.ball)) & ~contacts.ball[start, leg]


def _averages(
    motion: Motion, soles: Soles, points: Floats, contacts: Contacts, stances: Stances
) -> tuple[Floats, Floats, Floats]:
    """Average each stance: rotation (P, 4), heel and ball (P, 3).

    Heel and ball are those of a foot with the mean rotation.
    """
    runs = [(slice(start, end), leg) for leg, start, end in zip(*stances[:3], strict=True)]
    both: Bools = np.logical_and(contacts.heel, contacts.ball)
    flats = [both[run] if flat else slice(None) for run, flat in zip(runs, stances.flat, strict=True)]
    feet = motion.turns[:, :, FOOT]
    turn = np.array([_mean_turn(feet[run][flat]) for run, flat in zip(runs, flats, strict=True)]).reshape(-1, 4)
    along = rotations.rotate(turn, (soles.ball - soles.heel)[stances.leg])
    balls = [
        _middle(points[run][contacts.heel[run], HEEL_POINT] + way, points[run][contacts.ball[run], BALL_POINT])
        for run, way in zip(runs, along, strict=True)
    ]
    ball = np.array(balls).reshape(-1, 3)
    return turn, ball - along, ball


def _middle(*points: Floats) -> Floats:
    """Find the place (3,) of a foot with contact points (k, 3).

    It is the middle of the box around them, half-way along a slide, at their median height.
    """
    every = np.concatenate(points)
    middle = 0.5 * (every.min(axis=0) + every.max(axis=0))
    middle[2] = median(every[:, 2])
    return middle


def _mean_turn(turns: Floats) -> Floats:
    """Average rotations (4,) near to each other. The mean is their normalised sum."""
    total = np.where((turns @ turns[0])[:, None] < 0, -turns, turns).sum(axis=0)
    return total / np.sqrt(total @ total)


def _clamp_angles(turns: Floats, most: float) -> Floats:
    """Rotations of at most an angle [rad]."""
    angle = 2.0 * np.arctan2(np.linalg.norm(turns[:, 1:], axis=1), turns[:, 0])
    share = np.minimum(1.0, most / np.maximum(angle, 1e-12))
    return rotations.slerp(np.broadcast_to(rotations.IDENTITY, turns.shape), turns, share)


def _put_down(
    ball: Floats, along: Floats, edged: Bools, alone: Alone, footing: Footing, steepest: float
) -> tuple[Floats, Floats, Floats, Bools]:
    """Plant feet: tilt (P, 4), heel, ball (P, 3), overhangs (P, 2).

    The last say whether heel and ball hang over an edge.
    """
    normal = footing.sample(ball - 0.5 * along)[1]
    tilt = _clamp_angles(rotations.rotation_between(UP, normal), steepest)
    placed = (
        tilt,
        *_standing(ball, rotations.rotate(tilt, along), normalise(project_horizontal(along)), footing, steepest),
    )
    hangs = np.zeros((len(ball), 2), dtype=np.bool_)
    if edged.any():
        over = _over_edge(ball[edged], along[edged], alone.of(edged), footing, steepest)
        for rows, some in zip((*placed, hangs), over, strict=True):
            rows[edged] = some
    return *placed, hangs


def _standing(
    ball: Floats, along: Floats, direction: Floats, footing: Footing, steepest: float
) -> tuple[Floats, Floats]:
    """Place heel and ball (P, 3) on the ground.

    Their distance stays: the ball keeps its place, and the heel is sought behind it.
    """
    length = np.linalg.norm(along, axis=1)
    ball = np.concatenate([ball[:, :2], footing.heights(ball)[:, None]], axis=1)
    reach = np.linalg.norm(along[:, :2], axis=1)
    most = length * np.sin(steepest)
    drop = np.zeros_like(length)
    for _ in range(4):
        heel = ball - direction * reach[:, None]
        drop = np.clip(footing.heights(heel) - ball[:, 2], -most, most)
        reach = length * reach / np.maximum(np.hypot(reach, drop), 1e-300)  # on a plane that is it
    reach = np.sqrt(np.maximum(length**2 - drop**2, 0.0))
    heel = ball - direction * reach[:, None]
    heel[:, 2] = ball[:, 2] + drop
    return heel, ball


def _over_edge(
    ball: Floats, along: Floats, alone: Alone, footing: Footing, steepest: float
) -> tuple[Floats, Floats, Floats, Bools]:
    """Plant feet over an edge, like `_put_down`.

    They are in line with the higher tread, or that of the end in contact alone.
    """
    length = np.linalg.norm(along, axis=1)[:, None] * normalise(project_horizontal(along))
    heel = ball - length
    first, last = footing.sample(heel), footing.sample(ball)
    by_heel = (alone.heel | ((first[0] > last[0]) & ~alone.ball))[:, None]
    tilt = _clamp_angles(rotations.rotation_between(UP, np.where(by_heel, first[1], last[1])), steepest)
    way = rotations.rotate(tilt, length)
    heel[:, 2] = first[0]
    ball = np.concatenate([ball[:, :2], last[0][:, None]], axis=1)
    hangs = np.concatenate([~by_heel, by_heel], axis=1)
    return tilt, np.where(by_heel, heel, ball - way), np.where(by_heel, heel + way, ball), hangs


def _to_tips(points: Floats, stances: Stances, along: Floats) -> Floats:
    """Return vectors (P, 3) from balls to tips of straight feet. Their vectors from heel to ball are `along`."""
    return along * (_toe_lengths(points)[stances.leg] / np.maximum(np.linalg.norm(along, axis=1), 1e-12))[:, None]


def _toe_lengths(points: Floats) -> Floats:
    """Measure the distance (L,) from ball to tip [m]. Bending toes keep below it nearly all the time."""
    return np.percentile(np.linalg.norm(points[:, :, TIP_POINT] - points[:, :, BALL_POINT], axis=-1), 95.0, axis=0)
