"""Spread: what pops is spread over the frames around it.

Where a step changes by more than it may, pelvis and feet move by the least after which none does: the pelvis up or
down, feet in the air anywhere, heels about the balls of feet, and toes. So a foot that has a few frames from tread to
tread takes the way along which its speed changes least, and a pelvis comes to meet a leg that would snap straight. Feet
that stand stay where they are, no sole gets deeper into the ground, and no leg longer than it may be.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from weakref import WeakKeyDictionary

import numpy as np

from poise import kernels
from poise.ground.contact.cyclic import Repeats
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, HIP, TOES, rows_of, with_rows
from poise.ground.figure.steps import STEPPING, steps_of, stride_of
from poise.ground.legs.calm import LESS
from poise.ground.legs.keep import OF_ROOM, Locked, chords_of, over_bounds, soles_of, sunk
from poise.ground.legs.legs import bend_axes, bend_legs_of, places_of
from poise.ground.legs.pelvis import chord_limits
from poise.ground.report.jumps import is_even
from poise.ground.report.verdict import OFF, deep_on
from poise.ground.spread.strip import BESIDE, MM, SoleArms, Strip, Swung, moved, swung
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, get_scratch
from poise.maths.frame_masks import find_frames_near, measure_time_from
from poise.maths.vectors import make_vertical

_TIGHT = 0.94 * OF_ROOM  # of the room of an edit: so much is not quite reached, since moves have their cost
_NEAR = 0.25  # [s] before and after a frame that pops in which something moves
_WEIGHTS = np.array([1e-3, 4e-3])  # of moves and of their changes of step, beside what is over a bound, all squared
_SHARES = (1.0, 0.1, 0.01)  # of these, where something stays over its bound with more
_ROUNDS, _INNER = 40, 8
_DAMPING, _RAISE, _LOWER = 1e-3, 8.0, 0.25  # at first; times so much after a try that was worse, and after a better one
_LEAST = 1e-4  # damping that is less is at once as much as this
_GAIN = 1e-3  # of the costs: less is not worth a round
_TOO_MUCH = 10.0  # [mm] over a bound is not what moves cost
_MOST = 1e3  # damping that is more leads nowhere
_BEYOND = 1.0  # [mm] beyond a wall is too far
_IN, _IN_STEPS = 0.001, 0.004  # [m] a sole that is in the ground may stay so deep in it; the second on uneven ground
_FEWEST = 3  # frames have a change of step
_APART = 2  # frames that stay as they are part two strips
_SAME = 1e-3  # [m] a loop whose ends are put so near to each other is to stay one

_KNOWN: WeakKeyDictionary[Footing, dict[bytes, Floats | None]] = WeakKeyDictionary()
"""Moves of strips, as long as one clip is planted: where its stances are tried anew, most strips stay as they were."""


def spread(locked: Locked, deeper: Floats, repeats: Repeats) -> Locked:
    """The figure with pelvis and feet moved where a joint pops, if that leaves less of it; all repeats the same.

    deeper  (F, L) how much deeper soles are in the ground than may be, see `off_ground`
    """
    motion, pops = locked.motion, _pops(locked, deeper, repeats)
    if stride_of(motion.times) > 1 or len(motion) < _FEWEST or not pops.any():
        return locked  # of more than 180 frames a second those in between would be moved each by itself
    whole = _whole(locked, repeats)
    period = len(pops) - 1 if _closes(locked, repeats) else len(motion)
    moves, known = np.zeros(whole.free.shape), _KNOWN.setdefault(locked.footing, {})
    for rows, may in _strips(locked, pops, repeats, period):
        strip = whole.part(rows, may)
        key = strip.digest
        if key not in known:
            known[key] = _settled(strip)
        settled = known[key]
        if settled is not None:
            for row, move in zip(np.arange(rows.start, rows.stop)[may], settled[may], strict=True):
                moves[row % period :: period] = move
    return _bent(locked, whole, moves) if moves.any() else locked


def off_ground(locked: Locked) -> tuple[Floats, Floats]:
    """How much (F, L) [mm] deeper soles are in the ground than may be, and farther off their places feet that stand."""
    deep = deep_on(even=is_even(locked.footing.terrain))
    off = MM * locked.turned.missing * locked.standing
    return np.maximum(MM * sunk(locked, locked.turned) - deep, 0.0), np.maximum(off - OFF, 0.0)


def _pops(locked: Locked, deeper: Floats, repeats: Repeats) -> Bools:
    """The frames (F,) of the clip in which a joint pops, or a sole that can be moved is in the ground."""
    over = over_bounds(locked.motion, locked.turned, locked.bounds(repeats))[repeats.middle]
    sunken = (deeper * (~locked.standing | locked.feet.free))[repeats.middle] > 0.0
    return np.asarray((over > 0.0).any(axis=(1, 2)) | sunken.any(axis=1))


def _closes(locked: Locked, repeats: Repeats) -> bool:
    """Whether a loop is put where it can be repeated: on stairs each of its repeats is another."""
    if not repeats.around:
        return False
    up, ways = locked.turned.up, locked.turned.ankles - locked.motion.places[:, :, ANKLE]
    return all(np.ptp(way[repeats.middle][[0, -1]], axis=0).max() <= _SAME for way in (up, ways))


def _strips(locked: Locked, pops: Bools, repeats: Repeats, period: int) -> Iterator[tuple[slice, Bools]]:
    """The frames near to pops, as strips that do not feel each other, and where (F,) of each something may move.

    A loop is cut open where it is farthest from all pops: the frames there stay as they are.
    """
    times, shots = locked.motion.times, steps_of(locked.motion).first
    rows, marks = np.arange(len(times)), np.zeros(len(times), dtype=np.bool_)
    marks[repeats.middle] = pops
    inner = rows[repeats.middle]
    if period < len(times):
        marks = repeats.spread(pops)
        away = np.minimum(*measure_time_from(times, marks[:, None]))[inner[:-1], 0]
        start = inner[0] + int(away.argmax()) - period * (int(away.argmax()) > period // 2)
        inner = rows[start + _APART : start + period]
    near = inner[(find_frames_near(times, marks, _NEAR) & np.isin(shots, shots[marks]))[inner]]
    for run in np.split(near, np.flatnonzero((np.diff(near) > _APART) | (np.diff(shots[near]) != 0)) + 1):
        around = slice(max(run[0] - _APART, 0), min(run[-1] + _APART + 1, len(times)))
        yield around, np.isin(rows[around], run)


def _whole(locked: Locked, repeats: Repeats) -> Strip:
    """All frames, and the moves that there may be whatever pops."""
    motion, turned = locked.motion, locked.turned
    bounds, may = locked.bounds(repeats, _TIGHT), locked.bounds(repeats)
    slack = float((may - bounds).min())
    ends = np.arange(len(motion))[repeats.middle][[0, -1]]
    if repeats.around:  # both ends are one frame
        period = ends[1] - ends[0]
        bounds[ends[0] % period :: period] = bounds[ends].min(axis=0)
    air = ~locked.standing
    turns = (air | locked.feet.free) & (locked.soles.lengths > 0.0)
    own = np.stack([air, air, air, turns, turns & motion.bends], axis=-1).reshape(len(motion), -1)
    return Strip(
        steps_of(motion).known, bounds, slack, motion.places, bend_axes(motion, locked.soles),
        turned.up, _sole_arms(locked),
        np.maximum(chord_limits(motion, locked.standing)[1], chords_of(motion, turned)), turned.lengths,
        air | turns, np.column_stack([np.ones(len(motion), np.bool_), own]), locked.footing,
        is_even(locked.footing.terrain),
    )  # fmt: skip


def _sole_arms(locked: Locked) -> SoleArms:
    motion, turned = locked.motion, locked.turned
    points = soles_of(locked, turned)
    deep = np.clip(
        locked.footing.heights(points) - points[..., 2], 0.0, _IN if is_even(locked.footing.terrain) else _IN_STEPS
    )
    joint = rotations.rotate(turned.turns[:, :, FOOT], motion.places[:, :, BALL] - motion.places[:, :, ANKLE])
    ends = places_of(motion, turned)[:, :, STEPPING.index(END)]
    arms = np.stack([turned.ankles - points[1], joint, ends - turned.ankles - joint], axis=2)
    soles = points - turned.ankles
    soles[2] -= joint
    return SoleArms(points[1], locked.feet.across, arms, soles, deep, motion.bends)


def _settled(strip: Strip) -> Floats | None:
    """The moves (F, K) [mm] of a strip that leave the least over bounds; None if they are not worth it."""
    begin = best = swung(strip, np.zeros(strip.free.shape))
    for share in _SHARES:
        best = _best(strip, best, share * _WEIGHTS)
        if best.within(strip.slack) or best.over.max(initial=0.0) > _TOO_MUCH:
            break
    over = [np.maximum(state.over - strip.slack, 0.0).sum() for state in (begin, best)]
    less = best.beyond < begin.beyond - LESS and over[1] <= over[0]
    return best.moves if less and (best.walls <= np.maximum(begin.walls, BESIDE * _BEYOND)).all() else None


def _best(strip: Strip, best: Swung, weights: Floats) -> Swung:
    """The strip after the moves of the least cost, by the method of Levenberg and Marquardt.

    Its steps are the best there are for joints that go in straight lines, bounds and walls included
    (`kernels.ground.spread.least`).
    """
    damping, cost, free, step = _DAMPING, best.cost(weights), strip.free.ravel(), np.empty(strip.free.size)
    for _ in range(_ROUNDS):
        if best.within(strip.slack):
            break
        kernels.ground.spread.least(
            best.changes, strip.bounds, strip.counts, best.slopes, best.walls, best.wall_slopes,
            best.moves.ravel(), free, weights, damping, _INNER, step,
            get_scratch(kernels.ground.spread.compute_work_size(len(step), best.walls.shape[1])),
        )  # fmt: skip
        tried = swung(strip, best.moves + step.reshape(best.moves.shape))
        gain = cost - tried.cost(weights)
        if gain > 0.0:
            best, cost, damping = tried, cost - gain, _LOWER * damping
        else:
            damping = max(_RAISE * damping, _LEAST)
        if 0.0 < gain < _GAIN * cost or damping > _MOST:
            break
    return best


def _bent(locked: Locked, whole: Strip, moves: Floats) -> Locked:
    """The figure after moves (F, K) [mm]."""
    motion, turned, feet = locked.motion, locked.turned, whole.feet
    up, balls, angles = moved(whole.up, feet.balls, moves)
    ankles, _, _ = feet.points(balls, angles)
    there = dataclasses.replace(locked.feet, ankles=ankles)
    hips = motion.places[:, :, HIP] + make_vertical(up)[:, None]
    bent = bend_legs_of(motion, whole.axes, there, up, hips, whole.most, turned.lengths)
    turns = np.concatenate([bent.turns[:, :, :FOOT], turned.turns[:, :, FOOT:]], axis=2)
    heel, toe = rotations.about(feet.across, angles[..., 0]), rotations.about(-feet.across, angles[..., 1])
    for part, turn in ((FOOT, heel), (TOES, feet.toes(heel, toe))):
        turns[:, :, part] = rotations.multiply(turn, turns[:, :, part])
    where = np.asarray(moves.any(axis=1))
    new = dataclasses.replace(bent, turns=turns, missing=turned.missing)
    return locked._replace(turned=with_rows(turned, where, rows_of(new, where), where))
