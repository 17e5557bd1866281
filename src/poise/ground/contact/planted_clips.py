"""Detect clips with feet already planted on the terrain.

Contacts that are found by speed and height alone begin a little before a foot is still and end a little after, however
well it stands; a clip that was planted would be planted elsewhere each time. Here only what does not move counts.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from poise.ground.contact.contacts import Contacts, find_contacts, stances
from poise.ground.contact.edges import hanging, over_edges
from poise.ground.contact.pivots import find_pivots
from poise.ground.contact.plants import stances_of
from poise.ground.contact.soles import (
    BALL_POINT,
    FLAT_M,
    HEEL,
    HEEL_POINT,
    TIP_POINT,
    Soles,
    find_soles,
    floor_under,
    steep,
)
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, HIP, KNEE, TOES, Motion, fineness, rest_motion
from poise.ground.figure.speeds import shots_of
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.vectors import UP, dot, make_vertical, normalise, project_horizontal

_STILL = 0.003  # [m/s] what is slower does not move
_ROUNDING = 2e-5  # [m] by which what stands still may seem to move: files are rounded
_SLIP = 0.001  # [m] at most in one contact
_ENDS = 0.25  # [s] before and after in which a foot that is slow and low comes to its place, or leaves it
_GAP = 0.11  # [s] in which it may turn between two points that stand
_BRIEF, _SLID = 0.05, 0.004  # [s], [m] a foot that is slow and low for no longer, and slides no farther, only passes
_SOME = 0.01  # of all frames: a clip with fewer in which a foot is still does not stand
_TURNS = 50  # times at most that a foot is turned with the ground under it, which is elsewhere then
_TURNED = 1e-6  # where that changes nothing any more
_LEVEL = np.cos(np.radians(1.0))  # ground that is tilted by less is level
_UNLIKE = 0.045  # [m] by which soles may differ from those at rest: so much the ground could be too high or too low
_FAR = 0.3  # [m] no ball of a foot that stands is so far above the ground
_ONE_FLOOR = 0.05  # [m] ground under feet that is one floor differs by less in height
_BACK = np.array([0.0, 0.1, 0.25, 0.5, 1.0])  # tried, of as far as a tip may be moved
_NEAR_M = 0.05  # [m] a point about which a foot turns is so near to the heel or ball that it is
_MOST = 0.5  # share of the time in which feet are slow and low that planted ones stand, at least
_RUNG_M = 0.15  # [m] above its own floor a foot stands on a step that is not there
_SETTLINGS = 3  # times that soles are moved onto the ground: on hills the ground under them is elsewhere then
_TIP = 0.02  # [m] by which a tip may be elsewhere than it was found, as its toes were bent out of the ground


class PlantedContacts(NamedTuple):
    """Soles and contacts of a clip with planted feet.

    turned  whether a foot turns about a point of its sole to the last digit
    """

    soles: Soles
    contacts: Contacts
    turned: bool


def find_planted_clip(
    motion: Motion,
    footing: Footing,
    level_soles: Soles,
    soles: Soles | None = None,
    given: Contacts | None = None,
    *,
    own: bool = False,
) -> PlantedContacts | None:
    """Return soles and contacts of a motion planted on this ground.

    Returns None for any other motion. A contact is where a point of a sole is slow and low, and does not move. A motion
    stands if every foot that is slow and low has such a contact, up to a quarter of a second before and after, slips in
    none by more than 1 mm and is within 2 mm of the ground in all. Feet that turn about points of their soles to the
    last digit were planted; they may shuffle from place to place, too. Contacts that were given must be still from
    first to last.

    level_soles  those that are found if the motion was made for level ground
    own          whether the ground is the motion's own floor, about: its height is what feet stand on
    """
    still: Bools = np.logical_and(*(_still(motion, motion.places[:, :, joint]) for joint in (ANKLE, BALL)))
    pivots = find_pivots(motion, (soles or level_soles).ball)
    if len(motion) > 1 and still.mean() < _SOME and not any(len(points) for points in pivots):
        return None  # most clips end here
    high = max(_FAR, float(np.linalg.norm((soles or level_soles).ball, axis=-1).max()))
    if not own and _elsewhere(motion.places[:, :, BALL][still], high, footing):
        return None
    flat = laid_flat(motion, footing, still)
    turned, tries = False, [(soles, True)] if soles else []
    if not soles:
        measured, turned = _measure_soles(motion, flat, footing, given, pivots, own=own)
        sure = turned or own
        tries = [(measured, True)] if sure else [(find_soles(rest_motion(motion.figure)), True), (measured, False)]
    for tried, sure in tries:
        contacts = _find_contacts(motion, flat, tried, given, footing, turned=turned, own=own)
        if contacts and (sure or _made_for_it(motion, flat, contacts.any, tried, level_soles, footing)):
            return PlantedContacts(_lift_tips(motion, tried, footing), contacts, turned)
    return None


def _find_contacts(
    motion: Motion, flat: Motion, soles: Soles, given: Contacts | None, footing: Footing, *, turned: bool, own: bool
) -> Contacts | None:
    """Find the contacts of soles; None for soles off the ground."""
    loose = given or _find_loose(motion, flat, soles)
    points = soles.ends(motion)
    core = _cores(motion, points, loose) & ~hanging(points, footing.heights(points), footing)
    if not core.any() or not _on_ground(points, core, footing, own=own, exact=own and not turned):
        return None
    stands = np.array_equal(core, np.stack([loose.heel, loose.ball], axis=2)) if given else True
    if not (stands and (_is_mostly(core, loose) if turned else _stands(motion, points, core, loose))):
        return None
    return dataclasses.replace(loose, heel=core[..., 0], ball=core[..., 1], fine=None)


def _elsewhere(balls: Floats, high: float, footing: Footing) -> bool:
    """Return whether still balls (n, 3) are too far from the ground.

    high  [m] above it at most
    """
    away = balls[:, 2] - footing.heights(balls)
    return bool(len(away)) and (away.min() < -FLAT_M or float(np.median(away)) > high)


def laid_flat(motion: Motion, footing: Footing, still: Bools) -> Motion:
    """Return the motion on level ground at height 0.

    Every foot is rotated back with the ground under it, and hips are lowered. A foot that is still (F, L) over an edge
    is level already.
    """
    places, turns = motion.places.copy(), motion.turns.copy()
    balls = motion.places[:, :, BALL]
    tilt = rotations.rotation_between(UP, footing.sample(balls)[1])
    ground, foot = _along_ground(motion.places[:, :, ANKLE], balls, tilt, ~motion.bends | steep(motion), footing)
    _level_over_edges(motion.places[:, :, ANKLE], ground, foot, still & motion.bends & ~steep(motion), footing)
    floor = ground * [1.0, 1.0, 0.0]
    for part, turn in ((FOOT, foot), (TOES, tilt)):
        turns[:, :, part] = rotations.multiply(rotations.inverse(turn), turns[:, :, part])
    for place in (ANKLE, BALL):
        places[:, :, place] = floor + rotations.rotate(rotations.inverse(foot), motion.places[:, :, place] - ground)
    toes = rotations.rotate(rotations.inverse(tilt), motion.places[:, :, END] - balls)
    places[:, :, END] = places[:, :, BALL] + toes
    places[:, :, [HIP, KNEE]] -= make_vertical(ground[..., 2])[:, :, None]
    return dataclasses.replace(motion, places=places, turns=turns)


def _along_ground(ankles: Floats, balls: Floats, tilt: Floats, short: Bools, footing: Footing) -> tuple[Floats, Floats]:
    """Return ground points (F, L, 3) under balls, and rotations of feet.

    The rotations go from level ground to the line from heel to ball.

    short  (L,) feet that have no such line
    """
    turn, ground = tilt, balls
    for _ in range(_TURNS):
        before, up = turn, rotations.rotate(turn, np.broadcast_to(UP, balls.shape))
        ground = balls - dot(balls - ground, up)[..., None] * up
        ground[..., 2] = footing.heights(ground)
        back = project_horizontal(rotations.rotate(rotations.inverse(turn), ankles - ground))
        heel = ground + (1.0 + HEEL) * rotations.rotate(turn, back)
        heel[..., 2] = footing.heights(heel)
        turn = rotations.multiply(rotations.rotation_between(rotations.rotate(tilt, back), heel - ground), tilt)
        turn = np.where(short[:, None], tilt, turn)
        if np.abs(turn - before).max() < _TURNED:
            break
    return ground, turn


def _level_over_edges(ankles: Floats, ground: Floats, turns: Floats, still: Bools, footing: Footing) -> None:
    """Lay still feet level over edges.

    They lie on the higher tread.
    """
    frame, leg = np.nonzero(still)
    ball = ground[frame, leg]
    heel = ball + (1.0 + HEEL) * project_horizontal(ankles[frame, leg] - ball)
    edged = over_edges(heel, ball, footing)
    frame, leg = frame[edged], leg[edged]
    turns[frame, leg] = rotations.IDENTITY
    ground[frame, leg, 2] = np.maximum(footing.heights(heel[edged]), ball[edged, 2])


def _find_loose(motion: Motion, flat: Motion, soles: Soles) -> Contacts:
    """Find contacts by speed and height."""
    finer = fineness(motion.times)
    fine, shots = flat.finer(finer), shots_of(motion.finer(finer))  # risers of flattened ground are no cuts
    return dataclasses.replace(find_contacts(fine, soles, shots=shots).every(finer), fine=None)


def _measure_soles(
    motion: Motion, flat: Motion, footing: Footing, given: Contacts | None, pivots: list[Floats], *, own: bool
) -> tuple[Soles, bool]:
    """Measure soles on the ground while heel and ball are still.

    Also returns whether a foot turned about a point of one.
    """
    finer = fineness(motion.times)
    soles, loose = stances(flat.finer(finer), shots=shots_of(motion.finer(finer)))
    core = _cores(motion, soles.ends(motion), given or loose.every(finer))
    both = core[..., 0] & core[..., 1]
    known, measured = np.atleast_1d(both.any(axis=0))[:, None], find_soles(flat, both)
    names = [field.name for field in dataclasses.fields(Soles)]
    soles = Soles(*(np.where(known, getattr(measured, name), getattr(soles, name)) for name in names))
    ends, turned = np.stack([soles.heel, soles.ball], axis=1), np.zeros((len(pivots), 2), dtype=np.bool_)
    for leg, points in enumerate(pivots):
        for point in points:
            away = np.linalg.norm(ends[leg] - point, axis=-1)
            if away.min() < _NEAR_M:
                ends[leg, away.argmin()], turned[leg, away.argmin()] = point, True
    soles = dataclasses.replace(soles, heel=ends[:, HEEL_POINT], ball=ends[:, BALL_POINT])
    return _settle_soles(motion, soles, both, turned, footing, own=own), bool(turned.any())


def _settle_soles(motion: Motion, soles: Soles, flat: Bools, known: Bools, footing: Footing, *, own: bool) -> Soles:
    """Move heels, balls and tips of flat feet onto the ground.

    flat   (F, L) where feet stand so
    known  (L, 2) heels and balls that stay
    own    whether the ground is where those stand that are known
    """
    turns = motion.turns[:, :, [FOOT, FOOT, TOES]]
    up = rotations.rotate(rotations.inverse(turns), np.broadcast_to(UP, (*turns.shape[:-1], 3)))
    places = np.stack([soles.heel, soles.ball, soles.tip], axis=1)
    for _ in range(_SETTLINGS):
        points = Soles(*places.swapaxes(0, 1)).points(motion)
        ground = footing.heights(points)
        stands = flat[..., None] & (np.abs(points[..., 2] - ground) < _NEAR_M)
        stands[:, :, :TIP_POINT] &= ~hanging(points[:, :, :TIP_POINT], ground[:, :, :TIP_POINT], footing)
        on_known = stands[:, :, :TIP_POINT] & known
        if own and on_known.any():
            ground += np.median((points[..., 2] - ground)[:, :, :TIP_POINT][on_known])
        rise = (ground - points[..., 2])[..., None] * up
        for leg in range(len(places)):
            for point in range(places.shape[1]):
                on = stands[:, leg, point]
                if on.any() and (point == TIP_POINT or not known[leg, point]):
                    places[leg, point] += np.median(rise[on, leg, point], axis=0)
    return Soles(*places.swapaxes(0, 1))


def _still(motion: Motion, points: Floats) -> Bools:
    """Return whether points (F, ..., 3) keep still. They do not move to the frame before, or to the one after."""
    still = np.linalg.norm(np.diff(points, axis=0), axis=-1) < max(_STILL * motion.step, _ROUNDING)
    either = np.full(points.shape[:-1], len(motion) == 1)
    either[1:] |= still
    either[:-1] |= still
    return either


def _cores(motion: Motion, points: Floats, loose: Contacts) -> Bools:
    """Where (F, L, 2) heel and ball are still while they stand."""
    return _still(motion, points) & np.stack([loose.heel, loose.ball], axis=2)


def _on_ground(points: Floats, core: Bools, footing: Footing, *, own: bool, exact: bool) -> bool:
    """Return whether points in contact are on the ground.

    They slip in no contact.

    points  (F, L, 2, 3) heels and balls
    core    (F, L, 2) where they are in contact
    own     whether the ground is about the motion's own floor
    exact   whether they may slip by roundings only: on its own floor any slide is to be taken out
    """
    slip = _ROUNDING if exact else _SLIP
    heights, _, inside = footing.sample(points)
    away = (points[..., 2] - heights)[core]
    if own:
        away -= np.median(away)
    off = (np.abs(away) > FLAT_M) & ~(own & (away > _RUNG_M))
    return bool(inside[core].all()) and not off.any() and all(_slip(run) <= slip for run in _runs_of(points, core))


def _is_mostly(core: Bools, loose: Contacts) -> bool:
    """Return whether slow and low feet are mostly still."""
    return bool(core.any(axis=2).sum() >= _MOST * loose.any.sum())


def _stands(motion: Motion, points: Floats, core: Bools, loose: Contacts) -> bool:
    """Return whether feet are still in all contacts."""
    held = core[..., 0] | core[..., 1]
    times = motion.times
    for leg, start, end in zip(*stances_of(loose)[:3], strict=True):
        frames = start + np.flatnonzero(held[start:end, leg])
        if not len(frames):
            if times[end - 1] - times[start] > _BRIEF or _slip(points[start:end, leg, :, :2]).min() > _SLID:
                return False
            continue
        away = max(times[frames[0]] - times[start], times[end - 1] - times[frames[-1]])
        if away > _ENDS or np.diff(times[frames]).max(initial=0.0) > _GAP:
            return False
    return True


def _runs_of(points: Floats, core: Bools) -> list[Floats]:
    """Return the positions (n, 3) of each contact run.

    The points are (F, L, 2, 3), and they are in contact where (F, L, 2) says.
    """
    columns, stands = points.reshape(len(core), -1, 3), core.reshape(len(core), -1).T
    changes = np.diff(stands, axis=1, prepend=False, append=False)
    ends = [(column, np.flatnonzero(row).reshape(-1, 2)) for column, row in enumerate(changes)]
    return [columns[start:end, column] for column, runs in ends for start, end in runs]


def _slip(places: Floats) -> Floats:
    """Measure the distance (...) of points (n, ..., 3) from the first."""
    return np.linalg.norm(places - places[0], axis=-1).max(axis=0)


def _made_for_it(motion: Motion, flat: Motion, held: Bools, soles: Soles, level_soles: Soles, footing: Footing) -> bool:
    """Return whether a motion is made for this ground.

    Otherwise it is made for a floor of its own. Soles are measured on either to fit. On level ground it is where that
    is the motion's own floor. Elsewhere the soles have to be about those at rest, and more like these than those that
    are found if the motion was made for level ground, which feet at different heights were not.
    """
    back = rotations.multiply(flat.turns[:, :, FOOT], rotations.inverse(motion.turns[:, :, FOOT]))[held]
    upright = rotations.rotate(back, np.broadcast_to(UP, (len(back), 3)))[:, 2]
    ground = footing.heights(motion.places[:, :, BALL])[held]
    on_steps = np.ptp(ground) > _ONE_FLOOR
    if upright.min() > _LEVEL and not on_steps:
        lowest = motion.places[:, :, ANKLE:, 2].min(axis=2)
        levels = [np.median(lowest[held[:, leg], leg]) for leg in np.flatnonzero(held.any(axis=0))]
        return abs(float(np.median(ground)) - floor_under(np.array(levels))) <= FLAT_M
    rest = find_soles(rest_motion(motion.figure))
    here, there = (
        float(np.linalg.norm([found.heel - rest.heel, found.ball - rest.ball], axis=-1).mean())
        for found in (soles, level_soles)
    )
    return here <= (_UNLIKE if on_steps else min(there, _UNLIKE))


def _lift_tips(motion: Motion, soles: Soles, footing: Footing) -> Soles:
    """Raise tips of soles out of the ground.

    Toes may have been bent up where the tips were measured. A tip goes up, in front of a riser back towards its toes,
    by 2 cm at most.
    """
    tips, best = soles.tip, np.full(len(soles.tip), np.inf)
    for back in _BACK * _TIP:
        tried, depths = _move_tips(motion, soles, footing, back)
        better = (best > FLAT_M) & ((depths <= FLAT_M) | (depths < best))
        tips, best = np.where(better[:, None], tried, tips), np.where(better, depths, best)
        if (best <= FLAT_M).all():
            break
    return dataclasses.replace(soles, tip=tips)


def _move_tips(motion: Motion, soles: Soles, footing: Footing, back: float) -> tuple[Floats, Floats]:
    """Return displaced tips (L, 3) and their depth (L,) [m].

    They go back by `back` [m] and then up, out of the ground.
    """
    legs = range(len(soles.tip))

    def deepest(tip: Floats) -> tuple[Ints, Floats]:
        points = dataclasses.replace(soles, tip=tip).tips(motion)
        depth = footing.heights(points) - points[..., 2]
        worst = depth.argmax(axis=0)
        return worst, depth[worst, legs]

    tip = soles.tip - back * normalise(soles.tip)
    for _ in range(3):
        worst, depth = deepest(tip)
        up = rotations.rotate(rotations.inverse(motion.turns[worst, legs, TOES]), np.broadcast_to(UP, tip.shape))
        tip = tip + np.maximum(depth, 0.0)[:, None] * up
    way = tip - soles.tip
    far = np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-12)
    tip = soles.tip + way * np.minimum(1.0, _TIP / far)
    return tip, deepest(tip)[1]
