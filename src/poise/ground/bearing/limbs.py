"""Plant supporting knees, hands and elbows, and keep limbs above the ground.

Hips and shoulders move with knees and elbows that bear.

A limb of two bones reaches with its end, and its middle bears: the middle goes to the nearest place that its first bone
leaves it, and the second bone points from there to the end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from poise import kernels
from poise.ground.bearing.parts import FADE, Bearing
from poise.ground.contact.plants import STEEPEST_RAD
from poise.ground.contact.soles import Soles
from poise.ground.figure.figure import Figure
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, FOOT, HIP, KNEE, SHIN, THIGH, TOES, Motion, motion_of
from poise.ground.figure.steps import runs
from poise.ground.legs.body import Lean
from poise.ground.legs.clear import CLEAR_S
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import Turned, knees_of, leg_lengths, rebend_legs
from poise.ground.legs.swing import fade_offsets, plan_fade, sole_points
from poise.ground.legs.write_back import write_poses
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import compute_fade, measure_step
from poise.maths.smoothing import average_hann, compute_upper_envelope
from poise.maths.vectors import UP, dot, make_vertical, normalise, project_horizontal
from poise.model.clip import Clip
from poise.model.pose import Pose

REACH = 0.998  # of its length an arm reaches at most, and a body sinks for what it lacks
_THIN = 1e-3  # [m] an elbow so near to the line of its arm has no swivel
_LOWEST = np.radians(150.0)  # from the top of its circle on is an elbow near the lowest place
_DAMPED = 0.15  # of 1: thighs that are nearly parallel say nothing of the way between them
_SMOOTH = 0.05  # [s] to each side: over how long the way is averaged
_STEPS = 6  # of Newton's, which the damping slows down


def put_down(bearing: Bearing, columns: Sequence[int], places: Floats, footing: Footing) -> Floats:
    """Plant supporting parts at `places` (F, p, 3).

    Each stays still in its contact, and nowhere is it lower than in the clip. A stance is put down in the middle of its
    way, as high over the ground as in the clip on average.
    """
    on, least = bearing.on[:, columns], bearing.least[:, columns]
    ways = np.zeros_like(places)
    for column in range(len(columns)):
        for rows in runs(on[:, column], bearing.times):
            way = places[rows, column]
            place = 0.5 * (way.min(axis=0) + way.max(axis=0))
            place[2] = footing.heights(place) + least[rows[0], column]
            ways[rows, column] = place - way
    result = places + fade_offsets(bearing.times, ways, on, FADE, bearing.shots)
    sunk = np.maximum(footing.heights(result) + least - result[..., 2], 0.0) * compute_fade(bearing.times, on, CLEAR_S)
    step = measure_step(bearing.times)
    half = round(CLEAR_S / step) if step > 0.0 else 0
    return result + make_vertical(compute_upper_envelope(sunk, half) * compute_fade(bearing.times, on, CLEAR_S))


def with_knees(
    bearing: Bearing, motion: Motion, soles: Soles, turned: Turned, standing: Bools, footing: Footing
) -> Turned:
    """Plant supporting knees. Feet out of contact give way along their shins."""
    columns = bearing.columns(*(f"{leg.name} knee" for leg in motion.figure.legs))
    now, free = knees_of(motion, turned), compute_fade(motion.times, standing, CLEAR_S)
    wanted = now + free[..., None] * (put_down(bearing, columns, now, footing) - now)
    if np.array_equal(wanted, now):
        return turned
    hips = motion.places[:, :, HIP] + make_vertical(turned.up)[:, None]
    bent = _bend_limbs(motion, turned, hips, now, wanted)
    before, after = (np.maximum(_depths(motion, soles, each, footing), 0.0) for each in (turned, bent))
    lift = compute_upper_envelope(np.maximum(after - before, 0.0), motion.frames(CLEAR_S)) * free
    return _bend_limbs(
        motion, dataclasses.replace(turned, ankles=turned.ankles + make_vertical(lift)), hips, now, wanted
    )


def _depths(motion: Motion, soles: Soles, turned: Turned, footing: Footing) -> Floats:
    """Return the depth (F, L) of soles in the ground [m]. It is negative above the ground."""
    feet = rotations.multiply(turned.turns[:, :, FOOT], motion.turns[:, :, FOOT])
    points = np.stack(sole_points(motion, turned.ankles, feet, turned.turns[:, :, TOES], soles))
    return (footing.heights(points) - points[..., 2]).max(axis=0)


def _bend_limbs(motion: Motion, turned: Turned, roots: Floats, now: Floats, wanted: Floats) -> Turned:
    """Bend limbs to bring their middles to wanted positions. The lengths of their first bones limit this."""
    bones = motion.places[:, :, ANKLE] - motion.places[:, :, KNEE]
    knees = roots + np.linalg.norm(now - roots, axis=-1, keepdims=True) * normalise(wanted - roots)
    knees = np.where((wanted == now).all(axis=-1, keepdims=True), now, knees)
    shins = rotations.rotate(turned.turns[:, :, SHIN], bones) * turned.lengths[..., None]
    ankles = knees + np.linalg.norm(shins, axis=-1, keepdims=True) * normalise(turned.ankles - knees)
    first = rotations.rotation_between(now - roots, knees - roots)
    second = rotations.rotation_between(shins, ankles - knees)
    turns = turned.turns.copy()
    turns[:, :, THIGH] = rotations.multiply(first, turns[:, :, THIGH])
    turns[:, :, SHIN] = rotations.multiply(second, turns[:, :, SHIN])
    missing = turned.missing + np.linalg.norm(ankles - turned.ankles, axis=-1)
    return dataclasses.replace(turned, turns=turns, ankles=ankles, missing=missing)


def with_arms(bearing: Bearing, poses: Pose, figure: Figure, lean: Lean, footing: Footing) -> Pose:
    """Return the tilted poses with supporting hands and elbows planted."""
    arms = bearing.arms
    columns = bearing.columns(*(arm.hand for arm in arms))
    if not arms:
        return poses
    motion = motion_of(Clip(bearing.times, poses), dataclasses.replace(figure, legs=tuple(a.joints for a in arms)))
    hands = put_down(bearing, columns, motion.places[:, :, ANKLE], footing)
    elbows = bearing.columns(*(arm.elbow for arm in arms))
    bent = _reach_hands(motion, hands, _hand_turns(bearing, columns, hands, lean, footing))
    now = knees_of(motion, bent)
    free = compute_fade(bearing.times, bearing.on[:, columns], CLEAR_S)[..., None]
    wanted = now + free * (put_down(bearing, elbows, now, footing) - now)
    if not np.array_equal(wanted, now):
        bent = _bend_limbs(motion, bent, motion.places[:, :, HIP], now, wanted)
    now = knees_of(motion, bent)
    low = np.maximum(footing.heights(now) + bearing.least[:, elbows] - now[..., 2], 0.0) * (1.0 - free[..., 0])
    bent = _swivel_limbs(bent, motion.places[:, :, HIP], now, compute_upper_envelope(low, motion.frames(CLEAR_S)))
    still = np.zeros((len(motion), 3))
    return write_poses(poses, motion, bent, still, still)


def _swivel_limbs(turned: Turned, roots: Floats, now: Floats, lift: Floats) -> Turned:
    """Rotate limbs about the line from root to end.

    Their middles become higher by `lift` (F, A), or come to their highest. With u from that line to the middle and v =
    axis x u, the middle is u.z cos + v.z sin = A cos(angle - at) above the line. It goes up the shorter way; near the
    lowest place, where both are as long, always to the same side.
    """
    if not lift.any():
        return turned
    axis = normalise(turned.ankles - roots)
    u = now - roots - axis * dot(axis, now - roots)[..., None]
    v = np.cross(axis, u)
    most, at = np.hypot(u[..., 2], v[..., 2]), np.arctan2(v[..., 2], u[..., 2])
    side = np.where((v[..., 2] * lift).sum(axis=0) < 0.0, -1.0, 1.0)
    at = np.where((at * side < 0.0) & (np.abs(at) > _LOWEST), at + 2.0 * np.pi * side, at)
    left = np.arccos(np.clip((u[..., 2] + lift) / np.maximum(most, 1e-12), -1.0, 1.0))
    angle = np.where((lift > 0.0) & (most > _THIN), np.sign(at) * np.maximum(np.abs(at) - left, 0.0), 0.0)
    turns = turned.turns.copy()
    for part in (THIGH, SHIN):
        turns[:, :, part] = rotations.multiply(rotations.about(axis, angle), turns[:, :, part])
    return dataclasses.replace(turned, turns=turns)


def _reach_hands(motion: Motion, hands: Floats, turns: Floats) -> Turned:
    """Bend arms to bring their hands to positions (F, A, 3). Hands are rotated further by `turns` (F, A, 4)."""
    upper, lower, posed = leg_lengths(motion)
    most = np.maximum(REACH * (upper + lower), posed)
    shape, count = most.shape, most.size
    axes, roots = _elbow_axes(motion), motion.places[:, :, HIP]
    rows = [np.array(v, order="C").reshape(count, *v.shape[2:]) for v in (motion.places, axes, roots, hands)]
    uppers, lowers, reached = np.empty((count, 4)), np.empty((count, 4)), np.empty((count, 3))
    kernels.ground.legs.bend_all(*rows, most.ravel(), np.ones(count), uppers, lowers, reached)
    parts = [uppers.reshape(*shape, 4), lowers.reshape(*shape, 4), turns, turns]
    ends = reached.reshape(*shape, 3)
    return Turned(
        np.zeros(len(motion)), np.stack(parts, axis=2), ends, np.linalg.norm(ends - hands, axis=-1), np.ones(shape)
    )


def _elbow_axes(motion: Motion) -> Floats:
    """Return the bend axis (F, A, 3) of each elbow.

    It is constant over the clip in the upper arm's frame. An arm that is straight all the time bends about any axis
    across it.
    """
    places = motion.places
    upper, lower = (normalise(places[:, :, b] - places[:, :, a]) for a, b in ((HIP, KNEE), (KNEE, ANKLE)))
    turns = motion.turns[:, :, THIGH]
    mean = rotations.rotate(rotations.inverse(turns), np.cross(upper, lower)).mean(axis=0)
    along = rotations.rotate(rotations.inverse(turns), upper).mean(axis=0)
    across = np.cross(along, np.eye(3)[np.abs(along).argmin(axis=-1)])
    mean = np.where(np.linalg.norm(mean, axis=-1, keepdims=True) > np.radians(1.0), mean, across)
    return rotations.rotate(turns, np.broadcast_to(normalise(mean), upper.shape))


def _hand_turns(bearing: Bearing, columns: Sequence[int], hands: Floats, lean: Lean, footing: Footing) -> Floats:
    """Compute the rotations (F, A, 4) of supporting hands onto the ground. They come after the tilt of the body."""
    normals = footing.sample(hands)[1]
    vectors = rotations.as_vector(rotations.rotation_between(UP, normals))
    angle = np.linalg.norm(vectors, axis=-1, keepdims=True)
    tilt = rotations.from_vector(vectors * np.minimum(1.0, STEEPEST_RAD / np.maximum(angle, 1e-9)))
    more = rotations.multiply(tilt, rotations.inverse(lean.turn)[:, None])
    return rotations.slerp(np.broadcast_to(rotations.IDENTITY, more.shape), more, bearing.weights[:, columns])


def shift_for_limbs(bearing: Bearing, motion: Motion, lean: Lean, up: Floats, footing: Footing) -> Floats:
    """Return the displacement (F, 3) [m] of the whole character.

    It brings supporting knees and elbows to their positions.

    up  (F,) how much higher the figure is put than it leans
    """
    columns = _columns(bearing, motion)
    middles = lean.of(bearing.places[:, columns]) + make_vertical(up)[:, None]
    shift = _shift(bearing, columns, _roots(bearing, motion, lean, up), middles, footing)
    shift[:, 2] *= 1.0 - bearing.weights[:, bearing.parts.index("hips")]  # a seat stays on its ground
    return average_hann(shift, motion.frames(_SMOOTH))


def on_knees(
    bearing: Bearing, motion: Motion, soles: Soles, lean: Lean, turned: Turned, feet: Feet, standing: Bools,
    footing: Footing, stretch: float,
) -> tuple[Lean, Turned]:  # fmt: skip
    """Move the character by the remaining displacement.

    Feet stay in position and knees stay planted.

    motion    the clip's, before it leans
    standing  (F, L) when feet do
    """
    columns, body = _columns(bearing, motion), lean.motion(motion)
    elbows = lean.of(bearing.places[:, columns[len(motion.figure.legs) :]]) + make_vertical(turned.up)[:, None]
    middles = np.concatenate([knees_of(body, turned), elbows], axis=1)
    shift = _shift(bearing, columns, _roots(bearing, motion, lean, turned.up), middles, footing)
    if shift.any():
        lean = dataclasses.replace(lean, shift=lean.shift + project_horizontal(shift))
        body, up = lean.motion(motion), turned.up + shift[:, 2]
        bent = rebend_legs(body, soles, feet, turned, turned.ankles, up, stretch)
        turned = dataclasses.replace(bent, missing=turned.missing + bent.missing)
    return lean, with_knees(bearing, body, soles, turned, standing, footing)


def _columns(bearing: Bearing, motion: Motion) -> list[int]:
    """Where knees and then elbows stand among the parts."""
    return bearing.columns(*(f"{leg.name} knee" for leg in motion.figure.legs), *(a.elbow for a in bearing.arms))


def _roots(bearing: Bearing, motion: Motion, lean: Lean, up: Floats) -> Floats:
    """Return hips and shoulders (F, n, 3) of the tilted, raised character."""
    return lean.of(np.concatenate([motion.places[:, :, HIP], bearing.shoulders], axis=1)) + make_vertical(up)[:, None]


def _shift(bearing: Bearing, columns: list[int], roots: Floats, middles: Floats, footing: Footing) -> Floats:
    """Compute the least displacement (F, 3) for limb roots.

    It brings each root to a bone's length from its planted middle joint (F, n, 3). With e the unit vector from such a
    place to its root and r by how much they are farther apart than the bone is long, it has e . d = -r for all of them,
    damped where they are nearly parallel. It fades before and after.
    """
    on = bearing.on[:, columns]
    shift, damped = np.zeros((len(on), 3)), _DAMPED * np.eye(len(columns))
    if not on.any():
        return shift
    length = np.linalg.norm(roots - middles, axis=-1)
    places = np.where(on[..., None], put_down(bearing, columns, middles, footing), middles)
    fade = plan_fade(bearing.times, on, FADE, bearing.shots)
    for _ in range(_STEPS):
        bones = roots + shift[:, None] - places
        apart = fade.apply((np.linalg.norm(bones, axis=-1) - length)[..., None] * on[..., None])
        along = normalise(bones)
        square = np.einsum("fli,fmi->flm", along, along) + damped
        shift = shift - np.einsum("fli,fl->fi", along, np.linalg.solve(square, apart)[..., 0])
    return shift
