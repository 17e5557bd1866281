"""Settling: pelvis, legs and toes for feet on the ground."""

from __future__ import annotations

import dataclasses

import numpy as np

from poise import kernels
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.cyclic import CLOSE_M, Repeats
from poise.ground.contact.soles import MAX_TOE_BEND_RAD, STIFF_TIP_M, TIP_POINT, Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, HIP, KNEE, TOES, Motion, rows_of
from poise.ground.figure.steps import has_neighbours, stride_of
from poise.ground.legs.feet import Feet, level_axes, raise_heels
from poise.ground.legs.legs import (
    STRAIGHT,
    Turned,
    base_heights,
    bend_axes,
    bend_legs,
    find_largest_leans,
    leg_lengths,
    longest_reach,
)
from poise.ground.report.jumps import is_even
from poise.ground.report.measures import knee_bends
from poise.ground.trajectory.leg_problem import FOOT_TAU_S, FeetInMotion, LegProblem
from poise.ground.trajectory.residuals import (
    difference_twice,
    find_plane,
    measure_residuals,
    place_points,
    sample_ground,
    weigh_pops,
)
from poise.ground.trajectory.solver import solve_problem
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import compute_fade, find_following
from poise.maths.smoothing import average_hann, compute_window_max, interpolate_frames, smoothstep
from poise.maths.vectors import cross, dot, length, make_vertical, normalise

_MIN_REACH, _MIN_FOLD = 0.25, 1.5  # of a leg's length, and times the difference of its bones: what a leg folds to
# bones in the problem, see `LegProblem`: at first the slope of a knee is 2.5 at most; from there knees go as they do
_LONGER, _NEARLY_TRUE = 1.02, 1.003
_PELVIS_TAU_S = 0.04  # [s] on level ground, see `_find_pelvis_tau`; elsewhere that of feet
_TAU_RATES = 30.0, 120.0  # [frames/s] between them the first falls; above no step is looked at
_MORE_FOLD_RAD = np.radians(35.0)  # as much more than animated knees may bend on stairs, see the report
_RISES_SLOWER = 5.0  # times as slowly as the pelvis on level ground: in 0.1 s at 120 frames a second
_RISE_CHANGE_M = 0.005  # [m] change of step of an ankle that rises, at most: more pops at 30 frames a second
_LEVEL = 1e-3  # [rad] and [m] ground that is tilted or uneven by less is level
_FIRST_OF_FOOT = 2  # ankle, joint and end of the toes go with it, hip and knee do not


def settle_legs(
    motion: Motion, soles: Soles, contacts: Contacts, feet: Feet, still: Bools, footing: Footing, stretch: float,
    repeats: Repeats | None = None,
) -> Turned:  # fmt: skip
    """Find pelvis, legs and toes for feet on the ground.

    still    (F,) frames that keep their pose, such as a reference pose in front of a clip
    stretch  share by which legs may become longer where they fall short
    repeats  of a loop, whose ends are to meet
    """
    problem, values, feet = _solve(motion, soles, contacts, feet, still, footing, stretch)
    if repeats is not None and _closes(motion, feet, problem, repeats):
        _close(values, repeats.middle, motion.frames(FOOT_TAU_S))
    up, balls, angles = problem.apply(values)
    ankles, _, _ = problem.feet.place_points(balls, angles)
    heel_turn, toe_turn = problem.feet.make_turns(angles)
    foot = rotations.multiply(heel_turn, _turn_feet(motion, feet))
    toes = np.where(motion.bends[:, None], rotations.multiply(toe_turn, feet.tilt), foot)
    hips = motion.places[:, :, HIP] + make_vertical(up)[:, None]
    there = dataclasses.replace(feet, ankles=ankles)
    thigh, shin, posed = leg_lengths(motion)
    longest = np.maximum(STRAIGHT * (thigh + shin), posed)
    bent = bend_legs(motion, problem.axes, there, up, hips, longest, stretch)
    turns = np.concatenate([bent.turns[:, :, :FOOT], np.stack([foot, toes], axis=2)], axis=2)
    return _keep_poses(motion, dataclasses.replace(bent, turns=turns), still)


def _solve(
    motion: Motion, soles: Soles, contacts: Contacts, feet: Feet, still: Bools, footing: Footing, stretch: float
) -> tuple[LegProblem, Floats, Feet]:
    """Solve the problem of a motion.

    Returns it with nearly true bones, values (F, K), and the feet, whose heels may be up where shins leaned too far.

    The search starts from a solution with longer bones. Above 180 frames a second it starts from a solution in every
    nth frame: from a distant start, the solver stops early in so many frames, and knees would leap.
    """
    problem, stride = make_problem(motion, soles, contacts, feet, still, footing, stretch), stride_of(motion.times)
    if not contacts.any.any():
        return problem, np.zeros(problem.free.shape), feet
    if stride == 1:
        start = solve_problem(problem)
        costs = measure_residuals(problem, start).cost
    else:
        rows = np.arange(0, len(motion), stride)
        few, targets = rows_of(motion, rows), rows_of(feet, rows)
        _, values, _ = _solve(few, soles, contacts.every(stride), targets, still[rows], footing, stretch)
        start, costs = interpolate_frames(values, stride, len(motion)) * problem.free, None
    heels = _find_raised_heels(motion, soles, contacts, feet, problem, start)
    if heels.any():
        feet = raise_heels(feet, heels)
        problem = make_problem(motion, soles, contacts, feet, still, footing, stretch)
    problem = _lengthen_bones(problem, _NEARLY_TRUE, motion, soles, contacts)
    problem = dataclasses.replace(problem, emphasis=weigh_pops(problem, start))
    return problem, solve_problem(problem, start=start, costs=costs), feet


def _find_raised_heels(
    motion: Motion, soles: Soles, contacts: Contacts, feet: Feet, problem: LegProblem, values: Floats
) -> Floats:
    """Find how far heels go up (F, L) [rad].

    In a solution (F, K) a free heel of a leg that folds far more than animated goes up by what its shin leans too far,
    as far as toes bend. It does so smoothly, with changes of step that hardly show; heels that stand stay.
    """
    found, points, _ = place_points(problem, values)
    posed = dataclasses.replace(motion, places=found.reshape(motion.places.shape))
    leans = dot(normalise(posed.places[:, :, KNEE] - posed.places[:, :, ANKLE]), normalise(points[:, 1] - points[:, 0]))
    more = np.arcsin(np.clip(leans, -1.0, 1.0)) - np.arcsin(np.minimum(find_largest_leans(motion, soles), 1.0))
    folded = np.radians(knee_bends(posed) - knee_bends(motion)) - _MORE_FOLD_RAD
    more = np.clip(more, 0.0, np.maximum(np.minimum(folded, -problem.bend), 0.0)) * (feet.free & motion.bends)
    if not more.any():
        return more
    seconds = _RISES_SLOWER * _find_pelvis_tau(motion.step)
    reach, near = motion.frames(0.5 * seconds), motion.frames(2.0 * seconds)
    more = average_hann(compute_window_max(more, reach), reach) * compute_fade(motion.times, contacts.heel, seconds)
    changes = np.abs(difference_twice(more)) * np.linalg.norm(feet.ankles - feet.pivots, axis=-1)
    shares = np.minimum(_RISE_CHANGE_M / np.maximum(compute_window_max(changes, near), 1e-12), 1.0)
    return more * average_hann(-compute_window_max(-shares, reach), reach)


def _closes(motion: Motion, feet: Feet, problem: LegProblem, repeats: Repeats) -> bool:
    """Return whether a loop repeats where it is. On stairs each repeat differs."""
    if not repeats.around:
        return False
    ends = [repeats.middle.start, repeats.middle.stop - 1]
    moves = (feet.ankles - motion.places[:, :, ANKLE])[ends], problem.up[ends]
    return all(float(np.ptp(move, axis=0).max()) <= CLOSE_M for move in moves)


def _close(values: Floats, middle: slice, frames: int) -> None:
    """Make values (F, K) equal at both ends of a loop.

    frames  so many beside each end are moved
    """
    first, last = middle.start, middle.stop - 1
    apart = 0.5 * (values[last] - values[first])
    count = min(frames, (last - first) // 2)
    share = smoothstep(1.0 - np.arange(count + 1) / (count + 1))[:, None]
    values[first : first + count + 1] += share * apart
    values[last - count : last + 1] -= share[::-1] * apart


def _keep_poses(motion: Motion, turned: Turned, frames: Bools) -> Turned:
    """Keep the poses of frames (F,). They go up or down with the next frame."""
    if not frames.any() or frames.all():
        return turned
    up, turns, ankles = turned.up.copy(), turned.turns.copy(), turned.ankles.copy()
    lengths, missing = turned.lengths.copy(), turned.missing.copy()
    up = up[find_following(frames)]
    turns[frames], lengths[frames], missing[frames] = rotations.IDENTITY, 1.0, 0.0
    ankles[frames] = (motion.places[:, :, ANKLE] + make_vertical(up)[:, None])[frames]
    return Turned(up, turns, ankles, missing, lengths)


def make_problem(
    motion: Motion, soles: Soles, contacts: Contacts, feet: Feet, still: Bools, footing: Footing, stretch: float
) -> LegProblem:
    """Make the problem of a motion with feet on the ground."""
    shape, axes, moving = contacts.any.shape, bend_axes(motion, soles), _move_feet(motion, soles, feet)
    thigh, shin, posed = leg_lengths(motion)
    shortest = np.minimum(np.maximum(_MIN_REACH * (thigh + shin), _MIN_FOLD * np.abs(thigh - shin)), posed)
    known = has_neighbours(motion) & ~still
    known[1:] &= ~still[:-1]
    known[:-1] &= ~still[1:]
    air = ~contacts.any
    turns = (air | feet.free) & (soles.lengths > 0.0)
    own = np.stack([air, air, air, turns, moving.bends], axis=-1).reshape(shape[0], -1)
    free = np.column_stack([np.ones(shape[0], dtype=np.bool_), own]) & ~still[:, None]
    uneven = _is_uneven(feet, footing)
    problem = LegProblem(
        step=motion.step or 1.0,  # frames without time have no changes of step
        pelvis_tau=FOOT_TAU_S if uneven else _find_pelvis_tau(motion.step),
        footing=footing,
        plane=find_plane(footing) if is_even(footing.terrain) else None,
        wanted=np.empty(0),
        emphasis=np.ones((shape[0], kernels.ground.leg_moves.POINTS * shape[1])),
        has_change=known,
        places=motion.places,
        axes=axes,
        lengths=np.empty(0),
        up=base_heights(motion, feet.rise),
        feet=moving,
        longest=(1.0 + stretch) * longest_reach(motion),
        shortest=shortest,
        depths=_allowed_depths(moving, contacts, footing),
        bend=_excess_bend(motion, soles, feet),
        free=free,
    )
    return _lengthen_bones(problem, _LONGER, motion, soles, contacts)


def _lengthen_bones(problem: LegProblem, longer: float, motion: Motion, soles: Soles, contacts: Contacts) -> LegProblem:
    """Return a problem with longer bones, and what is wanted of them."""
    problem = dataclasses.replace(problem, lengths=np.full(problem.longest.shape, longer))
    return dataclasses.replace(problem, wanted=_want_changes(_place_source(motion, soles, problem), contacts, problem))


def _find_pelvis_tau(step: float) -> float:
    """Find the decay time of the pelvis on level ground [s].

    There a figure is to keep its height. On slopes and steps it goes up and down with its steps, and that must be
    smooth. An eye sees changes of step, in millimetres a frame, and these are smaller for the same acceleration where
    frames are many: there the pelvis need not sink for the accelerations of knees.

    step  [s] between frames
    """
    rate = float(np.clip(1.0 / step if step > 0.0 else 0.0, *_TAU_RATES))
    return _PELVIS_TAU_S * (_TAU_RATES[0] / rate) ** 0.5


def _is_uneven(feet: Feet, footing: Footing) -> bool:
    """Return whether the ground under feet is tilted or uneven."""
    tilt = 2.0 * np.arccos(np.clip(np.abs(feet.tilt[..., 0]), 0.0, 1.0)).max(initial=0.0)
    return max(float(tilt), float(np.ptp(footing.heights(feet.ankles)))) > _LEVEL


def _turn_feet(motion: Motion, feet: Feet) -> Floats:
    """Return the rotations (F, L, 4) before the animated ones of feet."""
    return rotations.multiply(feet.turns, rotations.inverse(motion.turns[:, :, FOOT]))


def _move_feet(motion: Motion, soles: Soles, feet: Feet) -> FeetInMotion:
    """Return the feet on the ground."""
    foot = _turn_feet(motion, feet)
    bends = np.broadcast_to(motion.bends, feet.free.shape)
    toes = np.where(bends[..., None], feet.tilt, foot)
    heel, ball = (rotations.rotate(feet.turns, point) for point in (soles.heel, soles.ball))
    joint = rotations.rotate(foot, motion.places[:, :, BALL] - motion.places[:, :, ANKLE])
    end = rotations.rotate(toes, motion.places[:, :, END] - motion.places[:, :, BALL])
    toe_turns = rotations.multiply(toes, motion.turns[:, :, TOES])
    tip = rotations.rotate(toe_turns, soles.tip)
    arms = np.ascontiguousarray(np.stack([-ball, joint, end], axis=2))
    return FeetInMotion(
        feet.ankles + ball, np.ascontiguousarray(feet.across), arms,
        np.ascontiguousarray(np.stack([heel, ball, tip], axis=1)), np.ascontiguousarray(bends),
    )  # fmt: skip


def _place_source(motion: Motion, soles: Soles, problem: LegProblem) -> Floats:
    """Place joints (F, 5 L, 3) as animated, with longer bones."""
    places = motion.places
    ball = rotations.rotate(motion.turns[:, :, FOOT], soles.ball)
    arms = np.stack([-ball, places[:, :, BALL] - places[:, :, ANKLE], places[:, :, END] - places[:, :, BALL]], axis=2)
    balls = np.ascontiguousarray(places[:, :, ANKLE] + ball)
    feet = dataclasses.replace(problem.feet, balls=balls, arms=np.ascontiguousarray(arms))
    problem = dataclasses.replace(problem, up=np.zeros_like(problem.up), feet=feet)
    return place_points(problem, np.zeros(problem.free.shape))[0]


def _want_changes(source: Floats, contacts: Contacts, problem: LegProblem) -> Floats:
    """Return the wanted changes of step (F, 5 L, 3), see `LegProblem`."""
    put, _, _ = place_points(problem, np.zeros(problem.free.shape))
    stands = contacts.ball.copy()
    stands[1:] &= contacts.ball[:-1]
    stands[:-1] &= contacts.ball[1:]
    foot = np.arange(kernels.ground.leg_moves.POINTS) >= _FIRST_OF_FOOT
    of_foot = (stands[..., None] & foot).reshape(len(source), -1, 1)
    return np.where(of_foot, difference_twice(put), difference_twice(source))


def _allowed_depths(feet: FeetInMotion, contacts: Contacts, footing: Footing) -> Floats:
    """Return the largest depths (F, 3, L) of heels, balls and tips.

    What stands may be as deep as it was put. So may tips of feet without toes while the ball stands, up to a bound:
    toes would bend.
    """
    _, _, points = feet.place_points(feet.balls, np.zeros((*contacts.heel.shape, 2)))
    ground, _ = sample_ground(footing, points, find_plane(footing) if is_even(footing.terrain) else None)
    now = np.maximum(ground - points[..., 2], 0.0)
    now[:, TIP_POINT] = np.minimum(now[:, TIP_POINT], STIFF_TIP_M)
    stands = np.stack([contacts.heel, contacts.ball, contacts.ball & ~feet.bends], axis=1)
    return np.where(stands, now, 0.0)


def _excess_bend(motion: Motion, soles: Soles, feet: Feet) -> Floats:
    """Return the excess bend (F, L) of toes [rad].

    They may bend by 60 degrees, or as far as in the source.
    """
    animated = motion.turns[:, :, FOOT], motion.turns[:, :, TOES]
    down = feet.turns, rotations.multiply(feet.tilt, motion.turns[:, :, TOES])
    most = np.maximum(MAX_TOE_BEND_RAD, _toe_bend(motion, soles, *animated).max(axis=0))
    return _toe_bend(motion, soles, *down) - most


def _toe_bend(motion: Motion, soles: Soles, foot: Floats, toes: Floats) -> Floats:
    """Return the angles (F, L) from flat soles to toes [rad]."""
    shape = motion.places[:, :, BALL].shape
    joint = rotations.rotate(
        rotations.inverse(motion.turns[:, :, FOOT]), motion.places[:, :, BALL] - motion.places[:, :, ANKLE]
    )
    along = normalise(soles.ball - soles.heel)
    over = joint - soles.ball
    height = length(over - dot(over, along)[..., None] * along)
    flat = np.arcsin(np.clip(height / np.maximum(length(soles.tip), 1e-9), 0.0, 1.0))
    ahead, tip = (
        rotations.rotate(foot, along),
        rotations.rotate(toes, soles.tip),
    )
    across = level_axes(soles, foot, np.arange(shape[1]))
    return np.arctan2(-dot(across, cross(ahead, tip)), dot(ahead, tip)) + flat
